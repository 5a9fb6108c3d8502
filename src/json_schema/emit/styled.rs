//! Values in a style of a model family: tags around them, strings as they are.
//!
//! ```text
//! {"city": "Rome"}   "<parameter=" names             S0 of the object of arguments
//!                    'city>'                         a name, with the sign after it
//!                    "\n" text "\n</parameter>"      a string: one terminal with what ends it
//! ```
//!
//! The end tag of a value is part of the value, so that no rule is empty. The object of all arguments
//! may have no sign around it; its last member then is the end of the text, or is followed by a rule
//! with more members.
//!
//! A name of a special token of the vocabulary in a sign is that token, not its text: where `<|"|>`
//! is a special token, a string of `gemma_4` is a terminal between two tokens.

use std::sync::Arc;

use super::interned::Interned;
use super::{Emitter, PunctuationNodes};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{NodeId, Origin, SpecialToken};
use crate::json_schema::document::canonical_text::canonical;
use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::layout::{Layout, StyleEndId};
use crate::json_schema::options::Options;
use crate::json_schema::punctuation::Punctuation;
use crate::json_schema::read::{json_of_python, python_word};
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Shape};
use crate::json_schema::style::{ANY_KEY, Notation, ValueSign, Written, sign, unstripped};
use crate::regular::compact;
use crate::regular::{CodePoints, Language, Languages, Utf8, any_text};
use crate::vocabulary::{SpecialTokenNames, TextPart};

/// The signs of a style that were asked for.
pub(super) struct StyleSigns {
    /// Texts after values, by number.
    pub(super) ends: Interned<Box<str>>,
    /// The special tokens of the vocabulary, which signs may name.
    pub(super) tokens: Arc<SpecialTokenNames>,
}

impl Emitter<'_> {
    /// The signs of the options' style, if that is not JSON.
    pub(super) fn style(&self) -> Option<Arc<Notation>> {
        self.sets.options.style.notation().cloned()
    }

    /// A gap between signs.
    fn sign_gap(&mut self) -> Language {
        let languages = &mut self.sets.languages;
        let line = languages.literal(b"\n");
        let gap = match Layout::of(&self.sets.options.whitespace) {
            Layout::Gaps => self.separators.gap,
            _ => Language::EPSILON,
        };
        languages.union([Language::EPSILON, line, gap])
    }

    /// The texts of any key, if a sign repeats it.
    fn any_key(&mut self, sign: &str) -> Language {
        let style = self.sets.options.style.notation().filter(|_| sign.contains(ANY_KEY));
        let Some(style) = style else { return Language::EMPTY };
        let languages = &mut self.sets.languages;
        let text = any_text(languages, &Utf8);
        let named = languages.literal(style.object.named.as_bytes());
        let ends = languages.concat([text, named, text]);
        let some = languages.difference(text, Language::EPSILON);
        languages.difference(some, ends)
    }

    /// A sign and what ends the value after it, in parts.
    fn sign_parts(&mut self, text: &str, end: StyleEndId) -> Vec<SignPart> {
        let gap = self.sign_gap();
        let text = [text, &**self.signs.ends.get(end.0)].concat();
        let key = self.any_key(&text);
        let parts = self.signs.tokens.parts(&text).into_iter().map(|part| match part {
            TextPart::Text(text) => {
                SignPart::Text(sign(&mut self.sets.languages, text, (gap, key)))
            }
            TextPart::Token(_, token) => SignPart::Token(token),
        });
        parts.filter(|part| *part != SignPart::Text(Language::EPSILON)).collect()
    }

    fn nodes_of(&mut self, parts: Vec<SignPart>) -> NodeId {
        let nodes = parts.into_iter().map(|part| match part {
            SignPart::Text(text) => self.builder.regular(text),
            SignPart::Token(token) => self.builder.special(SpecialToken::Id(token)),
        });
        let nodes: Vec<NodeId> = nodes.collect();
        self.builder.sequence(nodes)
    }

    fn sign_node(&mut self, text: &str, end: StyleEndId) -> Option<NodeId> {
        let parts = self.sign_parts(text, end);
        (!parts.is_empty()).then(|| self.nodes_of(parts))
    }

    /// The signs of an object or array with this end.
    pub(super) fn styled_punctuation(
        &mut self,
        style: &Notation,
        end: StyleEndId,
    ) -> PunctuationNodes {
        let end = self.signs.ends.get(end.0).clone();
        Punctuation::styled(style, &end, |text| {
            let parts = self.sign_parts(text, StyleEndId::default());
            self.nodes_of(parts)
        })
    }

    /// The layout of the value of a member in a layout; without a key, of any.
    pub(super) fn member_layout(&mut self, layout: Layout, key: Option<&str>) -> Layout {
        match (layout, self.style()) {
            (Layout::Styled(_), Some(style)) => {
                let end = style.member_end(key.unwrap_or(ANY_KEY));
                Layout::StyledValue(StyleEndId(self.signs.ends.id(end.into())))
            }
            _ => layout.inside(),
        }
    }

    /// The layout of the items of an array in a layout.
    pub(super) fn item_layout(&mut self, layout: Layout) -> Layout {
        match (layout, self.style()) {
            (Layout::Styled(_), Some(style)) => {
                Layout::StyledValue(StyleEndId(self.signs.ends.id(style.item_end.as_str().into())))
            }
            _ => layout.inside(),
        }
    }

    /// A key as it is written in a layout, with what ends it; `spelled` is its canonical spelling.
    pub(super) fn written_key(&self, layout: Layout, key: &str, spelled: &[u8]) -> Vec<u8> {
        match (layout, self.sets.options.style.notation()) {
            (Layout::Styled(_), Some(style)) => [key, &style.object.named].concat().into_bytes(),
            _ => [b"\"", spelled, b"\""].concat(),
        }
    }

    /// Keys as they are written in a style, with what ends them.
    pub(super) fn styled_keys(&mut self, keys: Language) -> Language {
        let named = match self.sets.options.style.notation() {
            Some(style) => self.sets.languages.literal(style.object.named.as_bytes()),
            None => Language::EPSILON,
        };
        let keys = self.plain_text(keys);
        self.sets.languages.concat([keys, named])
    }

    /// The key that was written in a layout.
    pub(super) fn read_key(&self, layout: Layout, written: &[u8]) -> Option<Arc<str>> {
        match (layout, self.sets.options.style.notation()) {
            (Layout::Styled(_), Some(style)) => {
                let key = written.strip_suffix(style.object.named.as_bytes())?;
                Some(std::str::from_utf8(key).ok()?.into())
            }
            // A text that the terminal has accepted is a JSON string.
            _ => serde_json::from_slice::<String>(written).ok().map(Arc::from),
        }
    }

    /// Texts without quotes and escapes.
    fn plain_text(&mut self, strings: Language) -> Language {
        let languages = &mut self.sets.languages;
        let text = languages.unescaped(strings);
        let unit = Utf8.class(languages, &[(0, 0x10_FFFF)]);
        // What cannot be finished stays as it is; so does an error, for when it is read.
        compact::compacted(languages, text, Some(unit)).unwrap_or(text)
    }

    /// The objects of a set as the arguments of a tool; `None` if none can be written.
    pub(super) fn arguments(&mut self, set: Set) -> Result<Option<NodeId>> {
        let shape = self.sets.shape(set)?;
        let name = self.name(set);
        let layout = Layout::Styled(StyleEndId::default());
        let mut ways = Vec::new();
        for object in &self.sets.gather(&shape.objects)? {
            ways.extend(self.object(object, &name, layout)?);
        }
        for &value in &shape.listed {
            for object in &self.sets.unlisted(value)?.objects {
                ways.extend(self.object(object, &name, layout)?);
            }
        }
        Ok((!ways.is_empty()).then(|| self.builder.choice(ways)))
    }

    /// The ways to write a value of a shape that has neither arrays nor objects, with its end.
    pub(super) fn styled_scalars(&mut self, shape: &Shape, end: StyleEndId) -> Result<Vec<NodeId>> {
        let Some(style) = self.style() else { return Ok(Vec::new()) };
        let signs = &style.values;
        let mut booleans = Vec::new();
        booleans.extend(shape.booleans[0].then_some("false"));
        booleans.extend(shape.booleans[1].then_some("true"));
        let null = if shape.null { self.words(&["null"]) } else { Language::EMPTY };
        let booleans = self.words(&booleans);
        let numbers = self.sets.number_text(shape.numbers)?;
        let strings = match signs.string.written {
            Written::Text => self.string_text(shape.strings, &signs.string)?,
            _ => {
                let quoted = self.quoted_text(shape.strings);
                let single = self.single_quoted(shape.strings);
                self.sets.languages.union([quoted, single])
            }
        };
        let mut ways = Vec::new();
        for (values, signs) in [
            (null, &signs.null),
            (booleans, &signs.boolean),
            (numbers, &signs.number),
            (strings, &signs.string),
        ] {
            if !self.sets.languages.is_live(values)? {
                continue;
            }
            let node = match signs.written {
                // With the text at its end, since it may be empty.
                Written::Text => {
                    let mut parts = self.sign_parts(&signs.open, StyleEndId::default());
                    parts.push(SignPart::Text(values));
                    parts.extend(self.sign_parts(&signs.close, end));
                    let joined = joined(&mut self.sets.languages, parts);
                    self.nodes_of(joined)
                }
                _ => {
                    let node = self.builder.regular(values);
                    self.between_signs(signs, end, node)
                }
            };
            ways.push(self.mark(node, &shape.origins));
        }
        Ok(ways)
    }

    fn is_python(&self) -> bool {
        self.sets.options.style.notation().is_some_and(|style| style.is_python())
    }

    /// Words of JSON, and those that Python has for them where the style allows these.
    pub(super) fn words(&mut self, words: &[&'static str]) -> Language {
        let python = words.iter().filter_map(|word| python_word(word));
        let python: Vec<&str> = python.filter(|_| self.is_python()).collect();
        let texts = words.iter().copied().chain(python).map(str::as_bytes);
        self.sets.languages.literals(texts.collect::<Vec<_>>())
    }

    /// Strings between single quotes, where the style allows these: strings without quotes, escaped
    /// as in JSON, and such as need no escape.
    pub(super) fn single_quoted(&mut self, strings: Language) -> Language {
        if !self.is_python() {
            return Language::EMPTY;
        }
        let languages = &mut self.sets.languages;
        let text = any_text(languages, &Utf8);
        let mut without = |texts: Language, bytes: &[u8]| {
            let byte = languages.byte_set(bytes.iter().copied().collect());
            let holds = languages.concat([text, byte, text]);
            languages.difference(texts, holds)
        };
        let escaped = without(strings, b"\"'");
        let controls = (0..b' ').chain([b'\'', b'\\']);
        let controls: Vec<u8> = controls.collect();
        let plain = without(text, &controls);
        let languages = &mut self.sets.languages;
        let unescaped = languages.unescaped(strings);
        let plain = languages.intersect([plain, unescaped]);
        let texts = languages.union([escaped, plain]);
        let unit = Utf8.class(languages, &[(0, 0x10_FFFF)]);
        // What cannot be finished stays as it is; so does an error, for when it is read.
        let texts = compact::compacted(languages, texts, Some(unit)).unwrap_or(texts);
        let quote = languages.literal(b"'");
        languages.concat([quote, texts, quote])
    }

    /// A value that was read, as JSON.
    pub(super) fn read_value(&self, text: &[u8]) -> Option<String> {
        if !self.is_python() {
            return canonical(text);
        }
        canonical(json_of_python(std::str::from_utf8(text).ok()?).as_bytes())
    }

    /// Strings as they are, with what a reader strips from them.
    fn string_text(&mut self, strings: Language, signs: &ValueSign) -> Result<Language> {
        if !self.sets.languages.is_live(strings)? {
            return Ok(Language::EMPTY);
        }
        let text = self.sets.languages.unescaped(strings);
        let text = unstripped(&mut self.sets.languages, text, signs.strip);
        let languages = &mut self.sets.languages;
        let unit = Utf8.class(languages, &[(0, 0x10_FFFF)]);
        Ok(compact::compacted(languages, text, Some(unit)).unwrap_or(text))
    }

    fn between_signs(&mut self, signs: &ValueSign, end: StyleEndId, value: NodeId) -> NodeId {
        let open = self.sign_node(&signs.open, StyleEndId::default());
        let close = self.sign_node(&signs.close, end);
        self.builder.sequence(open.into_iter().chain([value]).chain(close))
    }

    /// The ways to write a value of a shape with its end, listed values aside.
    pub(super) fn styled_ways(
        &mut self,
        shape: &Shape,
        objects: &[ObjectSet],
        name: &Origin,
        end: StyleEndId,
    ) -> Result<Vec<NodeId>> {
        let Some(style) = self.style() else { return Ok(Vec::new()) };
        let mut ways = self.styled_scalars(shape, end)?;
        let json = Layout::of(&self.sets.options.whitespace);
        for array in &shape.arrays {
            let signs = &style.values.array;
            ways.extend(match signs.written {
                Written::Style => {
                    let layout = self.layout_within(signs, end);
                    let node = self.array(array, name, layout)?;
                    node.map(|node| self.after_sign(signs, node))
                }
                _ => {
                    let node = self.array(array, name, json)?;
                    node.map(|node| self.between_signs(signs, end, node))
                }
            });
        }
        for object in objects {
            let signs = &style.values.object;
            ways.extend(match signs.written {
                Written::Style => {
                    let layout = self.layout_within(signs, end);
                    let node = self.object(object, name, layout)?;
                    node.map(|node| self.after_sign(signs, node))
                }
                _ => {
                    let node = self.object(object, name, json)?;
                    node.map(|node| self.between_signs(signs, end, node))
                }
            });
        }
        Ok(ways)
    }

    /// The layout of an object or array in the style whose last sign goes on with what ends it.
    fn layout_within(&mut self, signs: &ValueSign, end: StyleEndId) -> Layout {
        let end = [&signs.close, &**self.signs.ends.get(end.0)].concat();
        Layout::Styled(StyleEndId(self.signs.ends.id(end.into())))
    }

    fn after_sign(&mut self, signs: &ValueSign, node: NodeId) -> NodeId {
        let open = self.sign_node(&signs.open, StyleEndId::default());
        self.builder.sequence(open.into_iter().chain([node]))
    }

    /// The error for an array in a style whose items must differ.
    pub(super) fn items_that_differ(&self, array: &ArraySet) -> Error {
        let place = array.origins.0.first().copied();
        let document = self.sets.document;
        unique_items(document, self.sets.options, place.unwrap_or_else(|| document.root()))
    }
}

/// A part of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignPart {
    Text(Language),
    /// A special token.
    Token(u32),
}

/// The same parts, texts that follow each other as one terminal.
fn joined(languages: &mut Languages, parts: Vec<SignPart>) -> Vec<SignPart> {
    let mut joined: Vec<SignPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(SignPart::Text(before)), SignPart::Text(text)) => {
                *before = languages.concat([*before, text]);
            }
            _ => joined.push(part),
        }
    }
    joined
}

/// Errors if the vocabulary cannot write the style of the options, or if the schema has a keyword
/// that it cannot enforce.
pub(super) fn check_style(
    document: &Document,
    options: &Options,
    tokens: &SpecialTokenNames,
) -> Result<()> {
    let Some(style) = options.style.notation() else { return Ok(()) };
    if tokens.is_in(&style.object.named) {
        let (name, sign) = (&style.name, &style.object.named);
        let message = format!("the style `{name}` ends keys with `{sign}` as text");
        let help = "the vocabulary has it as a special token; a tokenizer file that says \
                    `\"special\": false` of it makes it text";
        return Err(Error::new(ErrorKind::Request, message).with_help(help));
    }
    if style.values.array.written != Written::Style {
        return Ok(());
    }
    let mut values = (0..document.len() as u32).map(ValueId::from_number);
    let unique = values.find(|&value| {
        document.key(value) == Some("uniqueItems")
            && matches!(document.value(value), Value::Bool(true))
    });
    unique.map_or(Ok(()), |at| Err(unique_items(document, options, at)))
}

fn unique_items(document: &Document, options: &Options, at: ValueId) -> Error {
    let message = format!(
        "`uniqueItems` cannot be enforced in a list that is written in the style `{}`",
        options.style.name()
    );
    let error = document.error(ErrorKind::Schema, at, message);
    error.with_help("leave `uniqueItems` out")
}
