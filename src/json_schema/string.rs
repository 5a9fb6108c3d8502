//! Sets of strings, as regular languages of their canonical spelling in JSON.

pub(crate) mod format;
pub(crate) mod quotation;

use std::sync::Arc;

use super::document::ValueId;
use super::options::Spelling;
use super::set::Sets;
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::string::format::{Format, Texts, format};
use crate::regular;
use crate::regular::{
    Anchoring, AnyJsonString, CodePoints, Dialect, JsonString, Language, Languages, Options,
    any_text,
};

/// Bytes of texts beyond which these are not spelled out; so many characters of patterns are shown.
const LONG: usize = 100;

/// The languages that all string sets are made of; without quotes.
#[derive(Clone, Debug)]
pub(crate) struct Strings {
    /// Every text.
    pub(crate) any: Language,
    /// Every text of one code point.
    pub(crate) char: Language,
    spelling: Spelling,
}

impl Strings {
    pub(crate) fn new(l: &mut Languages, spelling: Spelling) -> Self {
        let code_points = code_points(spelling);
        let char = code_points.class(l, &[(0, 0x10_FFFF)]);
        Self { any: l.repeat(char, 0, None), char, spelling }
    }

    /// The canonical spelling of a text, without quotes.
    pub(crate) fn spell(&self, text: &str) -> Vec<u8> {
        spell(text)
    }

    /// Any of these texts, in every spelling that counts.
    pub(crate) fn texts<'t>(
        &self,
        l: &mut Languages,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Language {
        if self.spelling == Spelling::Any {
            let mut texts: Vec<Vec<char>> =
                texts.into_iter().map(|t| t.chars().collect()).collect();
            texts.sort_unstable();
            texts.dedup();
            return every_spelling(l, &texts, 0);
        }
        let spelled: Vec<Vec<u8>> = texts.into_iter().map(spell).collect();
        l.literals(spelled.iter().map(Vec::as_slice))
    }

    /// The same for texts that were just written: each asked of once, and perhaps long.
    pub(crate) fn written<'t>(
        &self,
        l: &mut Languages,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Language {
        let texts: Vec<&str> = texts.into_iter().collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        match self.spelling {
            Spelling::Canonical if bytes > LONG => {
                regular::listed(l, texts.into_iter().map(spell).collect())
            }
            _ => self.texts(l, texts),
        }
    }

    /// The names of members: of most, only the first bytes are looked at. A schema has so many and
    /// no more; of what is written without end, short texts had better share their states.
    pub(crate) fn names<'t>(
        &self,
        l: &mut Languages,
        names: impl IntoIterator<Item = &'t str>,
    ) -> Language {
        match self.spelling {
            Spelling::Canonical => regular::listed(l, names.into_iter().map(spell).collect()),
            Spelling::Any => self.texts(l, names),
        }
    }

    /// Any of these texts, in every spelling but the canonical one.
    pub(crate) fn escaped(&self, l: &mut Languages, texts: &[&str]) -> Language {
        let all = self.texts(l, texts.iter().copied());
        let canonical: Vec<Vec<u8>> = texts.iter().map(|text| spell(text)).collect();
        let canonical = l.literals(canonical.iter().map(Vec::as_slice));
        l.difference(all, canonical)
    }

    /// Of a set of texts the canonical spellings alone.
    pub(crate) fn canonical(&self, l: &mut Languages, texts: Language) -> Language {
        match self.spelling {
            Spelling::Canonical => texts,
            Spelling::Any => {
                let canonical = any_text(l, &JsonString);
                l.intersect([texts, canonical])
            }
        }
    }

    /// Texts of so many code points.
    pub(crate) fn of_length(&self, l: &mut Languages, min: u32, max: Option<u32>) -> Language {
        l.repeat(self.char, min, max)
    }
}

/// How code points are spelled.
fn code_points(spelling: Spelling) -> &'static dyn CodePoints {
    match spelling {
        Spelling::Canonical => &JsonString,
        Spelling::Any => &AnyJsonString,
    }
}

/// The texts from a depth on in every spelling; they are sorted and alike up to there.
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

/// Escapes only what must be, in the short form where JSON has one (RFC 8259, section 7).
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

impl Sets<'_> {
    /// The texts that a pattern matches somewhere; `at` is where it stands.
    pub(crate) fn pattern(&mut self, pattern: &str, at: ValueId) -> Result<Language> {
        let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
        self.compiled(pattern, options).map_err(|e| self.pattern_error(pattern, at, &e))
    }

    /// What is wrong with a pattern, and where it stands.
    pub(crate) fn pattern_error(&self, pattern: &str, at: ValueId, e: &Error) -> Error {
        let byte = e.place().byte.map_or(String::new(), |b| format!(" (byte {b})"));
        let shown = match pattern.char_indices().nth(LONG) {
            Some((end, _)) => format!("{:?}…", &pattern[..end]),
            None => format!("{pattern:?}"),
        };
        let message = format!("the pattern {shown}{byte}: {}", e.message());
        let kind = if e.kind() == ErrorKind::Limit { e.kind() } else { ErrorKind::Schema };
        let error = self.document.error(kind, at, message);
        match e.help() {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    fn compiled(&mut self, pattern: &str, options: Options) -> Result<Language> {
        let key = (options.anchoring, pattern.to_owned());
        if let Some(&known) = self.patterns.get(&key) {
            return Ok(known);
        }
        let language = regular::parse(
            &mut self.languages,
            pattern,
            options,
            code_points(self.options.spelling),
        )?;
        self.patterns.insert(key, language);
        Ok(language)
    }

    /// The texts of a format; `None` if it is an annotation. `asserted`: enforced whatever the
    /// options say.
    pub(crate) fn format(&mut self, name: &str, asserted: bool) -> Result<Option<Language>> {
        if !self.options.formats && !asserted {
            return Ok(None);
        }
        if let Some(&known) = self.formats.get(name) {
            return Ok(Some(known));
        }
        let Format::Texts(texts) = format(name) else { return Ok(None) };
        let language = self.texts_of(&texts)?;
        let text = self.languages.repeat(self.strings.char, 0, None);
        self.languages.note_within(language, text);
        self.formats.insert(name.into(), language);
        Ok(Some(language))
    }

    /// Strings, if they do not ask for the format `regex` and something else at once.
    pub(crate) fn few_enough(&self, strings: Language) -> Result<Language> {
        match self.languages.multiplies_endless(strings) {
            false => Ok(strings),
            true => {
                let message = "the format `regex` cannot be enforced together with other \
                               conditions on the same string, but for a small `minLength`";
                let help =
                    "leave one of them out, or let formats be annotations (the option `formats`)";
                Err(Error::new(ErrorKind::Limit, message).with_help(help))
            }
        }
    }

    fn texts_of(&mut self, texts: &Texts) -> Result<Language> {
        let whole = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Whole };
        Ok(match texts {
            Texts::Pattern(pattern) => self.compiled(pattern, whole)?,
            Texts::Finished(pattern) => {
                let name = format!("{:?} {pattern}", self.options.spelling);
                match self.languages.named(&name) {
                    Some(known) => known,
                    None => {
                        let language = self.compiled(pattern, whole)?;
                        self.languages.finish(&name, language, self.strings.char)?
                    }
                }
            }
            Texts::Patterns => {
                let canonical = self.options.spelling == Spelling::Canonical;
                regular::spelled(&mut self.languages, Arc::new(regular::Syntax), canonical)
            }
            &Texts::Length(min, max) => self.languages.repeat(self.strings.char, min, Some(max)),
            Texts::Sequence(parts) => {
                let parts = self.each_of(parts)?;
                self.languages.concat(parts)
            }
            Texts::Any(parts) => {
                let parts = self.each_of(parts)?;
                self.languages.union(parts)
            }
            Texts::All(parts) => {
                let parts = self.each_of(parts)?;
                self.languages.intersect(parts)
            }
        })
    }

    fn each_of(&mut self, parts: &[Texts]) -> Result<Vec<Language>> {
        parts.iter().map(|part| self.texts_of(part)).collect()
    }
}
