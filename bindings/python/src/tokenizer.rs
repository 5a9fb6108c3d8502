//! `Tokenizer`: the vocabulary of a model.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use maskwright::Vocabulary;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::NativeError;

/// The tokens of a model: the bytes that each writes, special tokens, and the tokens that end a text.
#[pyclass(frozen, module = "maskwright._native")]
pub(crate) struct Tokenizer {
    pub(crate) vocabulary: Arc<Vocabulary>,
}

impl Tokenizer {
    fn new(vocabulary: Vocabulary) -> Self {
        Self { vocabulary: Arc::new(vocabulary) }
    }
}

/// The greatest width of logits. Vocabularies of models have up to a million tokens.
const MAX_WIDTH: usize = 1 << 24;

type Native<T> = Result<T, NativeError>;

/// The id of a token that Python gave. A negative one is an error here, since the error of its conversion would name
/// neither it nor the vocabulary.
pub(crate) fn token_id(token: i64, width: usize) -> Native<u32> {
    u32::try_from(token).map_err(|_| {
        let message = format!("there is no token {token} in a vocabulary of {width} tokens");
        crate::error::request(message, "give ids from 0")
    })
}

/// The ids of tokens that Python gave.
pub(crate) fn token_ids(tokens: &[i64], width: usize) -> Native<Vec<u32>> {
    tokens.iter().map(|&token| token_id(token, width)).collect()
}

#[pymethods]
impl Tokenizer {
    /// Reads a `tokenizer.json` (or its folder), a tiktoken or a GGUF file. With `index`, a folder, the next
    /// process loads it faster.
    #[staticmethod]
    #[pyo3(signature = (path, index=None))]
    fn _from_file(py: Python<'_>, path: PathBuf, index: Option<PathBuf>) -> Native<Self> {
        py.detach(|| match index {
            Some(folder) => Vocabulary::from_file_indexed(path, folder),
            None => Vocabulary::from_file(path),
        })
        .map(Self::new)
        .map_err(NativeError)
    }

    /// Reads the text of a `tokenizer.json`.
    #[staticmethod]
    fn _from_json(py: Python<'_>, json: Cow<'_, [u8]>) -> Native<Self> {
        Ok(Self::new(py.detach(|| Vocabulary::from_tokenizer_json(&json))?))
    }

    /// Takes the bytes of each token, the names of special tokens and the ids of end tokens.
    #[staticmethod]
    fn _from_tokens(
        py: Python<'_>,
        tokens: Vec<Option<Vec<u8>>>,
        special: Vec<(u32, String)>,
        end: Vec<u32>,
    ) -> Native<Self> {
        py.detach(|| {
            let special: Vec<(u32, &str)> =
                special.iter().map(|(id, name)| (*id, name.as_str())).collect();
            Vocabulary::from_tokens(tokens, &special, &end)
        })
        .map(Self::new)
        .map_err(NativeError)
    }

    /// The same with another width of the logits, or other tokens that end a text.
    #[pyo3(signature = (width=None, stop_token_ids=None))]
    fn _with(
        &self,
        py: Python<'_>,
        width: Option<usize>,
        stop_token_ids: Option<Vec<u32>>,
    ) -> Native<Self> {
        py.detach(|| {
            let mut vocabulary = (*self.vocabulary).clone();
            // First, since the tokenizer's own end tokens may lie beyond the logits.
            if let Some(ids) = stop_token_ids {
                vocabulary = vocabulary.with_end_tokens(&ids)?;
            }
            if let Some(width) = width {
                if width > MAX_WIDTH {
                    return Err(crate::error::request(
                        format!("a width of {width} logits"),
                        "give the width of the model's logits, at most 2^24",
                    ));
                }
                vocabulary = vocabulary.with_logits_width(width)?;
            }
            Ok(Self::new(vocabulary))
        })
    }

    /// The width of the logits, padding included, in tokens.
    #[getter]
    fn width(&self) -> usize {
        self.vocabulary.len()
    }

    /// The tokens that end a text.
    #[getter]
    fn stop_token_ids(&self) -> Vec<u32> {
        self.vocabulary.end_tokens().to_vec()
    }

    /// The bytes that these tokens write.
    fn decode<'py>(&self, py: Python<'py>, ids: Vec<i64>) -> Native<Bound<'py, PyBytes>> {
        let ids = token_ids(&ids, self.vocabulary.len())?;
        Ok(PyBytes::new(py, &self.vocabulary.decode(&ids)))
    }

    /// The bytes that a token writes; `None` for special and end tokens and ids without a token.
    fn token_bytes<'py>(&self, py: Python<'py>, id: i64) -> Native<Option<Bound<'py, PyBytes>>> {
        let id = token_id(id, self.vocabulary.len())?;
        Ok(self.vocabulary.token_bytes(id).map(|bytes| PyBytes::new(py, bytes)))
    }

    /// A token as messages show it.
    fn token_name(&self, id: i64) -> Native<String> {
        let id = token_id(id, self.vocabulary.len())?;
        Ok(self.vocabulary.token_name(id).into_owned())
    }

    /// The id of a special or added token by its name.
    fn special(&self, name: &str) -> Option<u32> {
        self.vocabulary.token_named(name)
    }

    /// Whether a token writes no text.
    fn is_special(&self, id: i64) -> Native<bool> {
        Ok(self.vocabulary.is_special(token_id(id, self.vocabulary.len())?))
    }

    /// The ids of tokens, one after the other, the longest first at each place. A model's own tokenizer
    /// may cut otherwise.
    fn encode_greedily(&self, text: Cow<'_, [u8]>) -> Native<Vec<u32>> {
        let trie = self.vocabulary.trie();
        let mut ids = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let found = (at + 1..=text.len().min(at + self.vocabulary.longest_token()))
                .rev()
                .find_map(|end| {
                    let node = trie.find(&text[at..end])?;
                    Some((*trie.tokens(node).first()?, end))
                });
            let Some((id, end)) = found else {
                return Err(crate::error::request(
                    format!("no token writes byte {at} of the text"),
                    "give a text that the tokenizer can write",
                ));
            };
            ids.push(id);
            at = end;
        }
        Ok(ids)
    }

    fn __len__(&self) -> usize {
        self.vocabulary.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<maskwright.Tokenizer of {} tokens, stop tokens {:?}>",
            self.vocabulary.len(),
            self.vocabulary.end_tokens()
        )
    }
}
