//! tokenizer.json files, the format of the `tokenizers` crate.
//!
//! Only the model's vocabulary, the added tokens and the decoder are used. The normalizer and the
//! pre-tokenizer change the text before there are tokens; padding and truncation are a host's
//! settings. Merges are checked and not kept: a file whose merges name tokens that do not exist is
//! damaged, and no tokenizer would load it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::Value;

use super::end_tokens::{self, ConfiguredEndTokens};
use super::json_error::json_error;
use super::token_spelling::TokenSpelling;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::draft::VocabularyDraft;
use crate::vocabulary::token_table::{TokenKind, TokenTable};

/// The file, as far as it is used.
#[derive(Deserialize)]
struct TokenizerFile<'a> {
    #[serde(borrow)]
    model: ModelSection<'a>,
    #[serde(default, borrow)]
    added_tokens: Option<Vec<AddedToken<'a>>>,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    decoder: Value,
}

/// The object under `model`.
#[derive(Deserialize)]
struct ModelSection<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(borrow)]
    vocab: Option<VocabEntries<'a>>,
    #[serde(default, borrow)]
    merges: Option<Vec<Merge<'a>>>,
    unk_token: Option<String>,
    unk_id: Option<u32>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    byte_fallback: Option<bool>,
}

/// An entry of `added_tokens`.
#[derive(Deserialize)]
struct AddedToken<'a> {
    id: u32,
    #[serde(borrow)]
    content: BorrowedText<'a>,
    #[serde(default)]
    special: bool,
}

/// A string, borrowed from the file where it has no escapes.
struct BorrowedText<'a>(Cow<'a, str>);

/// The model's vocabulary: `{"token": id}`, or Unigram's `[["token", score]]` with the index as id.
struct VocabEntries<'a> {
    list: Vec<(BorrowedText<'a>, u32)>,
    is_unigram: bool,
}

/// A merge of byte-pair encoding: `"a b"` or `["a", "b"]`.
enum Merge<'a> {
    Line(BorrowedText<'a>),
    Pair(BorrowedText<'a>, BorrowedText<'a>),
}

/// Reads a tokenizer.json; `configured` are the end tokens that the files beside it name.
///
/// Errors, with JSON pointer or line, on damaged files and on tokenizers without exact token bytes.
pub(crate) fn read(json: &[u8], configured: &ConfiguredEndTokens) -> Result<VocabularyDraft> {
    let TokenizerFile { model, added_tokens, normalizer, pre_tokenizer, decoder } =
        serde_json::from_slice(json).map_err(|e| json_error(&e))?;
    let added_tokens = added_tokens.unwrap_or_default();
    let Some(entries) = &model.vocab else {
        return Err(error("the model has no vocabulary").at_pointer("/model/vocab"));
    };
    let is_unigram = check_model(&model, entries)?;
    let spelling = TokenSpelling::from_parts(
        &decoder,
        &pre_tokenizer,
        &normalizer,
        model.byte_fallback.unwrap_or(false),
    )?;
    if is_unigram && !spelling.has_byte_fallback() {
        return Err(refused_model(
            "Unigram",
            "it has no byte tokens, and text outside of its pieces becomes an unknown token",
        ));
    }

    let mut draft = VocabularyDraft {
        strips_leading_space: spelling.strips_leading_space,
        ..VocabularyDraft::default()
    };
    let mut bytes = Vec::new();
    for (BorrowedText(string), id) in &entries.list {
        if draft.table.kind(*id) != TokenKind::Missing {
            let message = format!("id {id} is given to `{string}` and to another token");
            return Err(error(message).at_pointer("/model/vocab"));
        }
        spelling.token(string, &mut bytes);
        draft.table.set(*id, &bytes, TokenKind::Text)?;
    }
    let ids: FxHashMap<&str, u32> =
        entries.list.iter().map(|(BorrowedText(string), id)| (&**string, *id)).collect();
    check_merges(model.merges.as_deref().unwrap_or_default(), &ids)?;

    // The unknown token stands for any text, so it writes none of its own.
    let unknown = model.unk_token.as_deref().and_then(|name| ids.get(name).copied());
    if let Some(id) = unknown.or(model.unk_id) {
        draft.table.set(id, b"", TokenKind::Special)?;
        draft.names.extend(model.unk_token.map(|name| (id, name)));
    }
    for AddedToken { id, content: BorrowedText(content), special } in &added_tokens {
        if *special {
            bytes.clear();
        } else {
            spelling.added_token(content, &mut bytes);
        }
        let kind = if *special { TokenKind::Special } else { TokenKind::Text };
        draft.table.set(*id, &bytes, kind)?;
        draft.names.push((*id, content.clone().into_owned()));
    }
    draft.end = choose_end_tokens(&draft.table, &added_tokens, &ids, configured);
    Ok(draft)
}

/// Errors on models whose tokens have no exact bytes. Returns whether the model is a Unigram.
fn check_model(model: &ModelSection<'_>, entries: &VocabEntries<'_>) -> Result<bool> {
    // Old files leave the type out; then the fields tell it.
    let implied = match (&model.merges, &model.continuing_subword_prefix) {
        _ if entries.is_unigram => "Unigram",
        (Some(_), _) => "BPE",
        (None, Some(_)) => "WordPiece",
        (None, None) => "WordLevel",
    };
    let kind = model.kind.as_deref().unwrap_or(implied);
    let affix = |affix: &Option<String>| affix.as_ref().is_some_and(|affix| !affix.is_empty());
    match kind {
        "Unigram" => Ok(true),
        "BPE" if affix(&model.continuing_subword_prefix) || affix(&model.end_of_word_suffix) => {
            let why = "its tokens carry marks for the parts of a word, and blanks are not kept";
            Err(refused_model("BPE", why))
        }
        "BPE" => Ok(false),
        "WordPiece" | "WordLevel" => {
            let why = "its tokens are words and parts of words without the blanks between them";
            Err(refused_model(kind, why))
        }
        kind => Err(refused_model(kind, "this kind of model is not known")),
    }
}

fn refused_model(kind: &str, why: &str) -> Error {
    error(format!("the {kind} model has no exact bytes for each token: {why}"))
        .at_pointer("/model")
        .with_help("use a tokenizer with byte-level BPE, or SentencePiece with byte fallback")
}

fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Vocabulary, message)
}

/// Each merge must join two tokens into a third.
fn check_merges(merges: &[Merge<'_>], ids: &FxHashMap<&str, u32>) -> Result<()> {
    let mut joined = String::new();
    for (index, merge) in merges.iter().enumerate() {
        let broken = |why: String| {
            error(format!("broken merge: {why}"))
                .at_pointer(format!("/model/merges/{index}"))
                .with_help("get an undamaged copy of the file")
        };
        let (left, right) = match merge {
            Merge::Pair(BorrowedText(left), BorrowedText(right)) => (&**left, &**right),
            Merge::Line(BorrowedText(line)) if line.starts_with("#version") => continue,
            Merge::Line(BorrowedText(line)) => match line.split_once(' ') {
                Some((left, right)) if !right.contains(' ') => (left, right),
                _ => return Err(broken(format!("{line:?} is not two tokens with one space"))),
            },
        };
        joined.clear();
        joined.push_str(left);
        joined.push_str(right);
        if let Some(missing) = [left, right, &joined].into_iter().find(|t| !ids.contains_key(t)) {
            return Err(broken(format!("{missing:?} is not in the vocabulary")));
        }
    }
    Ok(())
}

/// The end tokens, as [`end_tokens`] orders their sources; where those name none, text tokens with
/// well-known names.
fn choose_end_tokens(
    table: &TokenTable,
    added: &[AddedToken<'_>],
    ids: &FxHashMap<&str, u32>,
    configured: &ConfiguredEndTokens,
) -> Vec<u32> {
    let mut by_name: FxHashMap<&str, u32> = FxHashMap::default();
    for token in added {
        by_name.entry(&token.content.0).or_insert(token.id);
    }
    let find = |name: &str| by_name.get(name).or_else(|| ids.get(name)).copied();
    let mut end: Vec<u32> = configured.name.as_deref().and_then(find).into_iter().collect();
    // A config.json may carry the default id of its architecture, which is some other tokenizer's:
    // an ordinary piece of text is no end token.
    let ends: BTreeSet<u32> = by_name
        .values()
        .copied()
        .chain(end_tokens::well_known(find))
        .chain(end.iter().copied())
        .collect();
    let is_known = |id: &u32| (*id as usize) < table.len();
    let may_end =
        |id: &u32| is_known(id) && (table.kind(*id) != TokenKind::Text || ends.contains(id));
    // Every id of a generation_config.json is an end token, text tokens included.
    end.extend(configured.generation.iter().copied().filter(is_known));
    end.extend(configured.config.iter().copied().filter(may_end));
    if configured.generation.is_empty() || end.is_empty() {
        end.extend(end_tokens::well_known(|name| {
            find(name).filter(|&id| table.kind(id) == TokenKind::Special)
        }));
    }
    if end.is_empty() {
        end.extend(end_tokens::well_known(find));
    }
    end
}

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = BorrowedText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(
                self,
                v: &'de str,
            ) -> std::result::Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Borrowed(v)))
            }
            fn visit_str<E>(self, v: &str) -> std::result::Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Owned(v.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for VocabEntries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = VocabEntries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tokens and ids, or an array of tokens and scores")
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(VocabEntries { list, is_unigram: false })
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some((text, _)) = seq.next_element::<(BorrowedText<'de>, f64)>()? {
                    list.push((text, u32::try_from(list.len()).unwrap_or(u32::MAX)));
                }
                Ok(VocabEntries { list, is_unigram: true })
            }
        }
        deserializer.deserialize_any(EntriesVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct MergeVisitor;
        impl<'de> Visitor<'de> for MergeVisitor {
            type Value = Merge<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a merge: \"a b\" or [\"a\", \"b\"]")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> std::result::Result<Merge<'de>, E> {
                Ok(Merge::Line(BorrowedText(Cow::Borrowed(v))))
            }
            fn visit_str<E>(self, v: &str) -> std::result::Result<Merge<'de>, E> {
                Ok(Merge::Line(BorrowedText(Cow::Owned(v.to_owned()))))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut part = |at| {
                    seq.next_element()?.ok_or_else(|| de::Error::invalid_length(at, &"two tokens"))
                };
                Ok(Merge::Pair(part(0)?, part(1)?))
            }
        }
        deserializer.deserialize_any(MergeVisitor)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::vocabulary::Vocabulary;
    use serde_json::json;

    fn byte_level() -> Value {
        json!({
            "truncation": {"max_length": 2}, "padding": {"strategy": {"Fixed": 9}},
            "added_tokens": [
                {"id": 7, "content": "<|im_end|>", "special": true},
                {"id": 8, "content": "<tool_call>", "special": false},
                {"id": 4, "content": "é", "special": false},
            ],
            "decoder": {"type": "ByteLevel"},
            "model": {
                "type": "BPE",
                "vocab": {"Ġ": 0, "a": 1, "Ġa": 2, "\u{c3}": 3, "é": 4, "": 5},
                "merges": ["#version: 0.2", "Ġ a", ["Ġ", "a"]],
            },
        })
    }

    fn vocabulary(json: &Value) -> Result<Vocabulary> {
        Vocabulary::from_tokenizer_json(json.to_string().as_bytes())
    }

    #[test]
    fn text_special_and_added_tokens() {
        let vocab = vocabulary(&byte_level()).unwrap();
        let text: Vec<_> = (0..9).map(|id| vocab.token_bytes(id)).collect();
        let expected: [Option<&[u8]>; 9] = [
            Some(b" "),
            Some(b"a"),
            Some(b" a"),
            Some(b"\xC3"),
            Some("é".as_bytes()),
            Some(b""),
            None,
            None,
            Some(b"<tool_call>"),
        ];
        assert_eq!(text, expected);
        assert_eq!(vocab.end_tokens(), [7]);
        assert_eq!(vocab.token_named("<tool_call>"), Some(8));
        assert!(!vocab.is_special(8) && vocab.is_special(7));
        assert_eq!(vocab.token_name(8), "<tool_call>");
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_place() {
        type Edit = fn(&mut Value);
        let cases: [(Edit, &str); 12] = [
            (|f| f["model"]["merges"][1] = json!("Ġ  a"), "/model/merges/1: broken merge"),
            (|f| f["model"]["merges"][1] = json!("Ġ b"), "\"b\" is not in the vocabulary"),
            (|f| f["model"]["merges"][2] = json!(["a", "a"]), "\"aa\" is not in the vocabulary"),
            (|f| f["model"]["merges"][2] = json!(["a"]), "two tokens"),
            (|f| f["model"]["vocab"]["x"] = json!(0), "id 0 is given to `x`"),
            (|f| f["model"]["vocab"]["x"] = json!(-1), "column"),
            (|f| f["model"]["vocab"]["x"] = json!(99_999_999), "too large"),
            (|f| f["model"]["vocab"] = Value::Null, "no vocabulary"),
            (|f| f["model"] = json!([]), "line 1, column"),
            (|f| f["model"]["type"] = json!("WordPiece"), "the WordPiece model has no exact"),
            (|f| f["model"]["end_of_word_suffix"] = json!("</w>"), "blanks are not kept"),
            (|f| f["decoder"] = json!({"type": "CTC"}), "the step `CTC`"),
        ];
        for (edit, expected) in cases {
            let mut file = byte_level();
            edit(&mut file);
            let error = vocabulary(&file).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Vocabulary);
            assert!(error.to_string().contains(expected), "{error} lacks {expected}");
        }
    }

    #[test]
    fn the_type_may_be_left_out() {
        let mut file = byte_level();
        file["model"].as_object_mut().unwrap().remove("type");
        assert!(vocabulary(&file).is_ok());
    }

    #[test]
    fn a_unigram_with_byte_tokens_is_exact() {
        let mut file = json!({
            "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
            "model": {"unk_id": 0, "byte_fallback": true, "vocab": [
                ["<unk>", 0], ["▁a", -1.5], ["<0x0A>", -2], ["</s>", 0],
            ]},
        });
        let vocab = vocabulary(&file).unwrap();
        assert_eq!(vocab.decode(&[0, 1, 2, 3]), b" a\n");
        assert_eq!(vocab.end_tokens(), [3]);
        assert!(vocab.strips_leading_space());
        file["model"]["byte_fallback"] = json!(false);
        let error = vocabulary(&file).unwrap_err();
        assert!(error.message().contains("Unigram"), "{error}");
    }

    #[test]
    fn end_tokens_by_configuration_and_by_name() {
        let file = json!({
            "added_tokens": [
                {"id": 1, "content": "<|end|>", "special": true},
                {"id": 2, "content": "<|endoftext|>", "special": true},
                {"id": 3, "content": "</s>", "special": false},
            ],
            "decoder": {"type": "ByteLevel"},
            "model": {"vocab": {"a": 0}, "merges": []},
        });
        let end = |name: Option<&str>, generation: &[u32], config: &[u32]| {
            let name = name.map(str::to_owned);
            let (generation, config) = (generation.to_vec(), config.to_vec());
            let configured = ConfiguredEndTokens { name, generation, config };
            read(file.to_string().as_bytes(), &configured).unwrap().end
        };
        assert_eq!(end(None, &[], &[]), [1, 2]);
        assert_eq!(end(Some("<|endoftext|>"), &[], &[]), [2, 1, 2]);
        assert_eq!(end(Some("</s>"), &[1], &[]), [3, 1]);
        // Text, and an id of another tokenizer.
        assert_eq!(end(None, &[0, 99, 2], &[]), [0, 2]);
        assert_eq!(end(None, &[2], &[0, 99, 1]), [2, 1]);
        assert_eq!(end(Some("<gone>"), &[99], &[0]), [1, 2]);
    }
}
