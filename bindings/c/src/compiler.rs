//! Compilers and constraints.

use std::ffi::c_char;
use std::sync::Arc;

use maskwright::ebnf::Dialect;
use maskwright::tools::structural_tag;
use maskwright::{ErrorKind, Result, strict_json};

use crate::border::border;
use crate::error::Error;
use crate::pointer::{array, free, handle, object, text_of};
use crate::vocabulary::Vocabulary;

/// Makes constraints for one vocabulary. They share what they learn about it.
pub struct Compiler(maskwright::Compiler);

/// A language over the tokens of a vocabulary.
pub struct Constraint(pub(crate) maskwright::Constraint);

/// The notation of a constraint.
// Passed as an integer: a value that is none of these is then an error, not undefined behaviour.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// A JSON Schema, as JSON text.
    JsonSchema = 0,
    /// A regular expression; it describes the whole text.
    Regex = 1,
    /// A JSON array of texts, of which one is written.
    Choice = 2,
    /// A structural tag, as JSON text.
    StructuralTag = 3,
    /// A grammar in the notation of Lark.
    Lark = 4,
    /// A grammar in the notation of llama.cpp.
    Gbnf = 5,
    /// A grammar in the notation of RFC 5234.
    Abnf = 6,
    /// A grammar in the notation of the W3C.
    W3cEbnf = 7,
    /// A grammar in the notation of ISO/IEC 14977.
    IsoEbnf = 8,
}

/// Makes a compiler. `settings` is a JSON object of settings by name, or NULL for the defaults:
///
///     {"whitespace": "compact", "strict": true, "limits": {"time_per_constraint": 2.5}}
///
/// The names are `whitespace` (tidy, plain, compact, indent-2, indent-4, indent-tab, flexible, any, or a
/// pattern), `max_whitespace`, `spelling` (canonical, escapes, any), `property_order` (schema, any), `style`,
/// `strict`, `one_of` (exactly, at-least), `excludes`, `escapes`, `digits`, `formats`, `draft` (4, 6, 7, 2019-09,
/// 2020-12), `resources` (documents by URI) and `limits` (by name, times in seconds).
///
/// Returns NULL with an error on other names and values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_new(
    vocabulary: *const Vocabulary,
    settings: *const c_char,
    error: *mut *mut Error,
) -> *mut Compiler {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let vocabulary = unsafe { object(vocabulary, "vocabulary") }?;
        let compiler = maskwright::Compiler::new(Arc::clone(&vocabulary.0));
        if settings.is_null() {
            return Ok(handle(Compiler(compiler)));
        }
        // SAFETY: as the crate requires.
        let settings = strict_json::parse(unsafe { text_of(settings, "settings") }?)?;
        Ok(handle(Compiler(compiler.with_settings(&settings)?)))
    })
}

/// Compiles a constraint from `len` bytes of UTF-8 text. `kind` is a `mw_constraint_kind`.
///
/// Returns NULL with an error if the text has no such meaning, if no text satisfies it, or if a limit is
/// reached. May be called by several threads with one compiler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compile(
    compiler: *const Compiler,
    kind: u32,
    text: *const c_char,
    len: usize,
    error: *mut *mut Error,
) -> *mut Constraint {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let (compiler, text) =
            unsafe { (object(compiler, "compiler")?, array(text.cast::<u8>(), len, "text")?) };
        let text = std::str::from_utf8(text).map_err(|error| {
            maskwright::Error::new(ErrorKind::Request, "the text is not UTF-8")
                .at_byte(error.valid_up_to())
        })?;
        Ok(handle(Constraint(compile(&compiler.0, constraint_kind(kind)?, text)?)))
    })
}

fn constraint_kind(kind: u32) -> Result<ConstraintKind> {
    KINDS.into_iter().find(|&known| known as u32 == kind).ok_or_else(|| {
        let message = format!("there is no kind {kind} of constraints");
        maskwright::Error::new(ErrorKind::Request, message)
            .with_help("use a value of mw_constraint_kind")
    })
}

const KINDS: [ConstraintKind; 9] = [
    ConstraintKind::JsonSchema,
    ConstraintKind::Regex,
    ConstraintKind::Choice,
    ConstraintKind::StructuralTag,
    ConstraintKind::Lark,
    ConstraintKind::Gbnf,
    ConstraintKind::Abnf,
    ConstraintKind::W3cEbnf,
    ConstraintKind::IsoEbnf,
];

fn compile(
    compiler: &maskwright::Compiler,
    kind: ConstraintKind,
    text: &str,
) -> Result<maskwright::Constraint> {
    let dialect = match kind {
        ConstraintKind::JsonSchema => return compiler.json_schema_str(text),
        ConstraintKind::Regex => return compiler.regex(text),
        ConstraintKind::Choice => {
            let choices: Vec<String> = serde_json::from_str(text).map_err(|error| {
                let message = format!("the choices are no JSON array of texts: {error}");
                maskwright::Error::new(ErrorKind::Request, message)
            })?;
            return compiler.choice(&choices);
        }
        ConstraintKind::StructuralTag => {
            return compiler.compile(structural_tag(&strict_json::parse(text)?, compiler)?);
        }
        ConstraintKind::Lark => Dialect::Lark,
        ConstraintKind::Gbnf => Dialect::Gbnf,
        ConstraintKind::Abnf => Dialect::Abnf,
        ConstraintKind::W3cEbnf => Dialect::W3c,
        ConstraintKind::IsoEbnf => Dialect::Iso,
    };
    compiler.grammar(text, dialect)
}

/// Frees a compiler. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_free(compiler: *mut Compiler) {
    // SAFETY: as the crate requires.
    unsafe { free(compiler) };
}

/// Frees a constraint. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_constraint_free(constraint: *mut Constraint) {
    // SAFETY: as the crate requires.
    unsafe { free(constraint) };
}
