//! `Constraint`: a compiled constraint, checks and samples of it; `lint`.

use std::sync::Arc;

use maskwright::error::line_column;
use maskwright::json_schema::Schema;
use maskwright::sample::{Bounds, Texts};
use maskwright::{Error, ErrorKind, Vocabulary};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::NativeError;
use crate::matcher::Matcher;
use crate::spec::{Kind, Spec};

/// A compiled constraint, shared by any number of matchers and threads.
#[pyclass(frozen, module = "maskwright._native")]
pub(crate) struct Constraint {
    pub(crate) native: maskwright::Constraint,
    pub(crate) spec: Arc<str>,
    pub(crate) kind: Kind,
}

/// The verdict about a text that is not accepted.
struct Rejection {
    byte: usize,
    message: String,
    expected: String,
    parts: Vec<String>,
}

impl Constraint {
    fn rejection(&self, text: &[u8]) -> Result<Option<Rejection>, Error> {
        let mut matcher = self.native.matcher();
        let (byte, message) = match matcher.accept_bytes(text) {
            Ok(()) if matcher.is_accepting() => return Ok(None),
            Ok(()) => (text.len(), "the text ends too early".to_owned()),
            Err(error) if error.kind() == ErrorKind::Rejected => {
                let byte = error.place().byte.unwrap_or(0);
                matcher.accept_bytes(&text[..byte])?;
                (byte, error.message().to_owned())
            }
            Err(error) => return Err(error),
        };
        let expected = matcher.expected()?;
        let parts = expected.sources.iter().map(|part| part.as_str().to_owned()).collect();
        Ok(Some(Rejection { byte, message, expected: expected.describe(), parts }))
    }
}

#[pymethods]
impl Constraint {
    /// A matcher at the start of a text.
    fn matcher(&self, py: Python<'_>) -> Matcher {
        Matcher::new(py.detach(|| self.native.matcher()))
    }

    /// The kind: `json_schema`, `regex`, `lark` and so on.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// The spec that it was compiled from, as JSON.
    #[getter]
    fn spec(&self) -> &str {
        &self.spec
    }

    /// The words of a mask row.
    #[getter]
    fn words(&self) -> usize {
        self.native.vocabulary().len().div_ceil(32)
    }

    /// The tokens that end its texts.
    #[getter]
    fn stop_token_ids(&self) -> Vec<u32> {
        self.native.vocabulary().end_tokens().to_vec()
    }

    /// About how many bytes it takes, with what its matchers have learned.
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> usize {
        // Its lock is held while a memory is made.
        py.detach(|| self.native.cache_bytes())
    }

    /// Whether its grammar names parts of the text.
    #[getter]
    fn has_captures(&self) -> bool {
        self.native.has_captures()
    }

    /// An upper bound on the tokens of its shortest text, and whether it is exact.
    fn tokens_needed(&self, py: Python<'_>) -> Result<(u32, bool), NativeError> {
        let needed = py.detach(|| self.native.matcher().tokens_to_finish())?;
        Ok((needed.tokens, needed.exact))
    }

    /// Computes masks that texts will probably need, within some seconds: texts tried, masks found, and whether the
    /// time was over first.
    fn precompute_masks(
        &self,
        py: Python<'_>,
        seconds: f64,
    ) -> Result<(usize, usize, bool), NativeError> {
        let time = crate::compiler::seconds(seconds)?;
        let done = py.detach(|| maskwright::precompute::precompute_masks(&self.native, time))?;
        Ok((done.texts, done.masks, done.out_of_time))
    }

    /// Whether a text is accepted, and if not, where and why.
    fn _check<'py>(&self, py: Python<'py>, text: Vec<u8>) -> PyResult<Bound<'py, PyDict>> {
        let answer = PyDict::new(py);
        let found = py.detach(|| self.rejection(&text)).map_err(NativeError)?;
        answer.set_item("accepted", found.is_none())?;
        let Some(found) = found else { return Ok(answer) };
        let (line, column) = line_column(&text, found.byte);
        answer.set_item("byte", found.byte)?;
        answer.set_item("line", line)?;
        answer.set_item("column", column)?;
        answer.set_item("message", found.message)?;
        answer.set_item("expected", found.expected)?;
        answer.set_item("decided_by", found.parts)?;
        Ok(answer)
    }

    /// Random texts, and near misses of them if asked for: the same for the same seed.
    fn _sample<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
        bounds: (usize, usize, Option<usize>),
        near_misses: bool,
    ) -> Result<Vec<Bound<'py, PyBytes>>, NativeError> {
        let (min_bytes, max_bytes, max_depth) = bounds;
        let texts = py.detach(|| -> Result<Vec<Vec<u8>>, Error> {
            let bounds = Bounds { min_bytes, max_bytes, max_depth };
            let mut texts = Texts::new(&self.native, seed)?.within(bounds);
            let mut drawn = Vec::new();
            for _ in 0..count {
                let text = texts.draw()?;
                if !near_misses {
                    drawn.push(text);
                } else if let Some(miss) = texts.near_miss(&text)? {
                    drawn.push(miss);
                }
            }
            Ok(drawn)
        })?;
        Ok(texts.iter().map(|text| PyBytes::new(py, text)).collect())
    }

    fn __repr__(&self) -> String {
        format!("<maskwright.Constraint {}>", self.kind.name())
    }
}

/// A finding: pointer, line, column, kind and message.
type FoundRow = (String, Option<usize>, Option<usize>, &'static str, String);

/// Findings, and the least and the greatest size of the texts in bytes.
type Found = (Vec<FoundRow>, Option<u64>, Option<u64>);

/// The findings about the schema of a spec.
#[pyfunction(name = "_lint")]
pub(crate) fn lint(py: Python<'_>, spec: &str) -> Result<Found, NativeError> {
    py.detach(|| {
        let spec = Spec::read(spec)?;
        if spec.kind != Kind::JsonSchema {
            let message = format!("{} has nothing to lint", spec.kind.name());
            return Err(crate::error::request(message, "give a JSON Schema"));
        }
        let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
        let compiler = maskwright::Compiler::new(Vocabulary::from_tokens(bytes, &[], &[])?);
        let compiler = spec.configured(&compiler)?;
        let found = Schema::from_text(&spec.text)?.lint(compiler.json_options());
        let rows = found.findings.into_iter().map(|finding| {
            let (line, column) = finding.line_column.unzip();
            (finding.pointer, line, column, finding.kind.name(), finding.message)
        });
        Ok((rows.collect(), found.least_bytes, found.most_bytes))
    })
}
