//! Advice about JSON Schemas: the effect of each keyword on generation, and probable mistakes.
//!
//! ```
//! use maskwright::json_schema::{Options, Schema};
//! use maskwright::lint::FindingKind;
//! let schema = Schema::from_text(r#"{"type": "object", "properties": {"name": {"type": "string",
//!     "maxLenght": 5}}, "required": ["nmae"]}"#)?;
//! let lint = schema.lint(&Options::default());
//! let hints: Vec<&str> = lint.findings.iter().filter(|f| f.kind == FindingKind::Hint)
//!     .map(|f| f.message.as_str()).collect();
//! assert!(hints.iter().any(|hint| hint.contains("did you mean `maxLength`?")));
//! assert!(hints.iter().any(|hint| hint.contains("did you mean `name`?")));
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! A `Linter` walks all schemas of a document and adds [`Finding`]s; it asks the compiler's own
//! sets whether a schema has values, so an "impossible schema" is a proof and not a guess. The
//! schema is compiled as well: its errors are findings, too.
//!
//! # Adding a finding
//!
//! 1. Choose the file by the subject: `keywords` (one keyword by itself), `effects` (the table of
//!    keywords), `foreign` (keywords of other notations), `members` (names and closed objects),
//!    `values` (`enum`, `const`, `default`), `patterns` (regular expressions), `mistakes` (types,
//!    branches, impossible schemas).
//! 2. Add a method to `Linter` there that takes the schema's `ValueId` and calls `Linter::find`
//!    with the value that the author should look at, a [`FindingKind`] and a message: lower case,
//!    keywords in backticks, no full stop, the cure as `did you mean …?`. Call it from the first
//!    method of that file.
//! 3. Add the schema and the message to `tests/json_schema/lint.rs`, and a schema that must *not*
//!    get it: a hint that is wrong once in ten times is worse than none.

mod effects;
mod finding;
mod foreign;
mod keywords;
mod linter;
mod members;
mod mistakes;
mod object_fault;
mod patterns;
mod text_check;
mod text_size;
mod values;

pub use finding::{Finding, FindingKind, Lint};
pub use object_fault::{
    Certainty, MissingMembers, ObjectFault, ObjectFaultKind, enclosing_content,
};
pub use text_check::{Rejection, TextCheck, Verdict};

use crate::constraint::Compiler;
use crate::error::Error;
use crate::json_schema::Schema;
use crate::json_schema::document::resources::Resources;
use crate::json_schema::options::Options;
use crate::json_schema::satisfiability::unsat_core::schemas;
use crate::limits::Limits;
use crate::vocabulary::Vocabulary;
use linter::Linter;

impl Schema {
    /// The findings about this schema under these options: the effect of each keyword on
    /// generation, the order of members, costs, and probable mistakes; and the least and greatest
    /// size of its texts.
    pub fn lint(&self, options: &Options) -> Lint {
        self.lint_within(options, &Limits::default())
    }

    /// The parts of it that are not enforced although they look so: formats, if formats are
    /// enforced under these options (unknown ones, `idn-hostname`, and `regex` beside other
    /// conditions on the string), and a `$schema` that names no draft that is known. Linear in the
    /// schema.
    ///
    /// ```
    /// use maskwright::json_schema::{Options, Schema};
    /// let schema = Schema::from_text(r#"{"properties": {"host": {"format": "idn-hostname"}}}"#)?;
    /// let left_out = schema.not_enforced(&Options::default());
    /// assert_eq!(left_out[0].pointer, "/properties/host/format");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn not_enforced(&self, options: &Options) -> Vec<Finding> {
        let supplied = self.clone().with_resources(&options.resources);
        let document = supplied.as_ref().map_or(&self.document, |schema| &schema.document);
        let mut linter = Linter::new(document, options);
        for schema in schemas(document, document.root()) {
            if let Some(at) = document.get(schema, "$schema")
                && let Some(message) = linter.unknown_draft(at)
            {
                linter.find(at, FindingKind::Hint, message);
            }
            let Some(at) = document.get(schema, "format") else { continue };
            let Ok(dialect) = linter.references.dialect(document, schema) else { continue };
            if options.formats || dialect.asserts_formats() {
                linter.format(schema, at, "", dialect);
            }
        }
        let mut findings = linter.findings;
        findings.retain(|finding| finding.kind != FindingKind::Enforced);
        findings.sort_by_key(|finding| finding.line_column);
        findings
    }

    /// As [`lint`](Self::lint), for a compiler with these limits.
    pub fn lint_within(&self, options: &Options, limits: &Limits) -> Lint {
        match self.clone().with_resources(&options.resources) {
            Ok(supplied) => supplied.lint_supplied(options, limits),
            Err(error) => Lint { error: Some(error), ..self.lint_supplied(options, limits) },
        }
    }

    /// As [`lint_within`](Self::lint_within), for a schema with all documents that it refers to.
    fn lint_supplied(&self, options: &Options, limits: &Limits) -> Lint {
        let document = &self.document;
        let mut linter = Linter::new(document, options);
        let root = document.root();
        if let Some(schema) = foreign::wrapped(document, root) {
            let message = format!(
                "this is what OpenAI's and other APIs wrap around a schema, and says nothing of the \
                 text: did you mean what stands at `{}` alone?",
                document.pointer(schema)
            );
            linter.find(root, FindingKind::Hint, message);
        }
        // Findings that take longer are left out.
        let _ = limits.compiling(|| {
            linter.schema(root, "");
            Ok(())
        });
        let error = self.refused(options, limits);
        let (least_bytes, most_bytes) = match &error {
            Some(_) => (None, None),
            None => limits
                .compiling(|| Ok(text_size::bounds(document, options, &mut linter.sets, root)))
                .unwrap_or_default(),
        };
        let mut findings = linter.findings;
        let malformed = linter.sets.malformed_everywhere(root);
        let mut refusals: Vec<Finding> = malformed.iter().map(refusal).collect();
        refusals.extend(error.as_ref().map(refusal).filter(|first| !refusals.contains(first)));
        findings.extend(refusals);
        // The findings of a place stand together.
        findings.sort_by_key(|finding| finding.line_column);
        Lint { findings, least_bytes, most_bytes, error }
    }

    /// The error of a compiler with these limits, in compiling the schema or computing its first
    /// mask.
    fn refused(&self, options: &Options, limits: &Limits) -> Option<Error> {
        let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
        let compile = |vocabulary| {
            let compiler = Compiler::new(vocabulary)
                .with_limits(limits.clone())
                // The documents are part of the schema already.
                .with_json_options(Options { resources: Resources::default(), ..options.clone() });
            compiler.json_schema_document(self.clone())?.matcher().mask().map(drop)
        };
        Vocabulary::from_tokens(bytes, &[], &[]).and_then(compile).err()
    }
}

/// The finding for an error.
fn refusal(error: &Error) -> Finding {
    Finding {
        pointer: error.place().pointer.clone().unwrap_or_default(),
        line_column: error.place().line_column,
        kind: FindingKind::Error,
        message: match error.help() {
            Some(help) => format!("{}; {help}", error.message()),
            None => error.message().to_owned(),
        },
    }
}
