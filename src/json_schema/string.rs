//! Sets of strings, as regular languages of their canonical spelling in JSON.

pub(crate) mod byte_texts;
pub(crate) mod format;
pub(crate) mod patterns;
pub(crate) mod written;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use self::byte_texts::spelled_texts;
use super::options::Spelling;
use crate::regular;
use crate::regular::{
    Anchoring, AnyJsonString, CodePoints, JsonString, Language, Languages, any_text,
};

/// Bytes of a list of texts up to which it is one expression; longer lists become an automaton
/// whose states are made as they are visited.
const MAX_SPELLED_BYTES: usize = 100;

/// The languages that all string sets are made of, without quotes, and memo tables of those made
/// from schemas.
#[derive(Clone, Debug)]
pub(crate) struct StringSets {
    /// Every text.
    pub(crate) any: Language,
    /// Every text of one code point.
    pub(crate) char: Language,
    spelling: Spelling,
    /// Patterns compiled so far.
    pub(crate) patterns: FxHashMap<(Anchoring, String), Language>,
    /// The texts of formats met so far.
    pub(crate) formats: FxHashMap<Box<str>, Language>,
    /// The languages of lists of keys.
    key_lists: FxHashMap<Box<[Arc<str>]>, Language>,
}

impl StringSets {
    pub(crate) fn new(l: &mut Languages, spelling: Spelling) -> Self {
        let code_points = code_points(spelling);
        let char = code_points.class(l, &[(0, 0x10_FFFF)]);
        Self {
            any: l.repeat(char, 0, None),
            char,
            spelling,
            patterns: FxHashMap::default(),
            formats: FxHashMap::default(),
            key_lists: FxHashMap::default(),
        }
    }

    /// The canonical spelling of a text, without quotes.
    pub(crate) fn spell(&self, text: &str) -> Vec<u8> {
        spell(text)
    }

    /// Any of these texts, in every spelling of the options.
    pub(crate) fn texts<'t>(
        &self,
        l: &mut Languages,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Language {
        let texts: Vec<&str> = texts.into_iter().collect();
        if self.spelling != Spelling::Canonical {
            if let Some(list) = regular::list_of_many(&texts) {
                return spelled_texts(l, list.automaton(), Spelling::Any);
            }
            let mut texts: Vec<Vec<char>> =
                texts.into_iter().map(|t| t.chars().collect()).collect();
            texts.sort_unstable();
            texts.dedup();
            return every_spelling(l, &texts, 0);
        }
        let spelled: Vec<Vec<u8>> = texts.into_iter().map(spell).collect();
        regular::any_of(l, spelled.iter().map(Vec::as_slice).collect())
    }

    /// The language of texts that were just written: each is looked up once, and may be long.
    pub(crate) fn written<'t>(
        &self,
        l: &mut Languages,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Language {
        let texts: Vec<&str> = texts.into_iter().collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        match self.spelling {
            Spelling::Canonical if bytes > MAX_SPELLED_BYTES => {
                regular::listed(l, texts.into_iter().map(spell).collect())
            }
            _ => self.texts(l, texts),
        }
    }

    /// The language of the keys of a schema, of which most are read no further than their first
    /// bytes: their states are made as they are visited.
    pub(crate) fn names<'t>(
        &self,
        l: &mut Languages,
        names: impl IntoIterator<Item = &'t str>,
    ) -> Language {
        match self.spelling {
            Spelling::Canonical => regular::listed(l, names.into_iter().map(spell).collect()),
            Spelling::Escapes | Spelling::Any => self.texts(l, names),
        }
    }

    /// The language of a list of keys, which is made once.
    pub(crate) fn key_list(&mut self, l: &mut Languages, keys: Box<[Arc<str>]>) -> Language {
        if let Some(&known) = self.key_lists.get(&keys) {
            return known;
        }
        let language = self.names(l, keys.iter().map(|key| &**key));
        self.key_lists.insert(keys, language);
        language
    }

    /// Any of these texts, in every spelling but the canonical one.
    pub(crate) fn escaped(&self, l: &mut Languages, texts: &[&str]) -> Language {
        let all = self.texts(l, texts.iter().copied());
        let canonical: Vec<Vec<u8>> = texts.iter().map(|text| spell(text)).collect();
        let canonical = l.literals(canonical.iter().map(Vec::as_slice));
        l.difference(all, canonical)
    }

    /// The canonical spellings in a set of texts.
    pub(crate) fn canonical(&self, l: &mut Languages, texts: Language) -> Language {
        match self.spelling {
            Spelling::Canonical => texts,
            Spelling::Escapes | Spelling::Any => {
                let canonical = any_text(l, &JsonString);
                l.intersect([texts, canonical])
            }
        }
    }

    /// Texts whose number of code points is within bounds.
    pub(crate) fn of_length(&self, l: &mut Languages, min: u32, max: Option<u32>) -> Language {
        l.repeat(self.char, min, max)
    }
}

/// The spelling of code points.
pub(crate) fn code_points(spelling: Spelling) -> &'static dyn CodePoints {
    match spelling {
        Spelling::Canonical => &JsonString,
        Spelling::Escapes | Spelling::Any => &AnyJsonString,
    }
}

/// The texts from a depth on in every spelling; they are sorted, and equal up to the depth.
fn every_spelling(l: &mut Languages, texts: &[Vec<char>], depth: usize) -> Language {
    if let [one] = texts {
        return one[depth..].iter().rev().fold(Language::EPSILON, |rest, &c| {
            let c = AnyJsonString.class(l, &[(c.into(), c.into())]);
            l.concat([c, rest])
        });
    }
    let mut parts = Vec::new();
    for group in texts.chunk_by(|a, b| a.get(depth) == b.get(depth)) {
        parts.push(match group[0].get(depth) {
            None => Language::EPSILON,
            Some(&c) => {
                let rest = every_spelling(l, group, depth + 1);
                let c = AnyJsonString.class(l, &[(c.into(), c.into())]);
                l.concat([c, rest])
            }
        });
    }
    l.union(parts)
}

/// The canonical spelling of a text: only what must be escaped is, in the short form where JSON has
/// one (RFC 8259, section 7).
pub(crate) fn spell(text: &str) -> Vec<u8> {
    if !text.bytes().any(|b| b < b' ' || matches!(b, b'"' | b'\\')) {
        return text.as_bytes().to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        let short = match c {
            '"' | '\\' => Some(c),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        match short {
            Some(short) => out.extend([b'\\', short as u8]),
            None if c < ' ' => out.extend(format!("\\u{:04x}", c as u32).bytes()),
            None => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    out
}
