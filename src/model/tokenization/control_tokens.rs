//! Control tokens, and how the text of a conversation is kept from becoming them.
//!
//! A chat template writes control tokens by their names (`<|im_start|>`, `[INST]`), and a tokenizer
//! finds names wherever they stand. A user who writes `<|im_end|>` would end the turn, and could go
//! on as the system. So before the template sees a conversation, one character inside each name in
//! its strings is replaced by a *stand-in*, a private-use character that occurs nowhere else. What
//! the tokenizer then finds is the template's own. Afterwards the character is put back, and the
//! pieces between control tokens are tokenised as whole texts.
//!
//! Example, with the name `<|im_end|>` and the stand-in `◆` for its `n`:
//!
//! ```text
//! content               a<|im_end|>b
//! disguised             a<|im_e◆d|>b
//! rendered              <|im_start|>user␊a<|im_e◆d|>b<|im_end|>
//! control tokens found  [im_start] "user␊a<|im_e◆d|>b" [im_end]
//! tokenised             [im_start] "user␊a<|im_end|>b" [im_end]
//! ```
//!
//! Every string of the request is content: texts, names, tool descriptions, results, arguments,
//! keys of objects, documents and other values of the template's variables; also the turns of the assistant, whose control tokens are no part of its text.
//! A name that content and its surroundings would only form together is disguised as well: the
//! beginning of a name at the end of a string, and the end of one at its start.
//!
//! A stand-in is one character, like its original, so templates measure, trim and split content as
//! without it. They only do not find a control token's name in it. Added tokens that the tokenizer
//! does not call special (`<tool_call>`, `</think>` in Qwen) are text that is written as one token:
//! they are left as they are, for templates look for them, and found in content as the
//! `transformers` library finds them. The exception are end tokens, whatever their kind.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json};

use crate::error::{Error, ErrorKind, Result};
use crate::model::chat_template::Message;
use crate::vocabulary::{Vocabulary, is_well_known_end};

/// Roles that templates compare with; other ones are content.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "ipython"];

/// The tokens that only a template may write.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlTokens {
    /// By id, as the tokenizer spells them.
    by_id: FxHashMap<u32, String>,
    /// In lower case, for templates may change the case of content.
    names: FxHashSet<Box<str>>,
    /// Proper prefixes of the names.
    prefixes: FxHashSet<Box<str>>,
    /// Proper suffixes of the names.
    suffixes: FxHashSet<Box<str>>,
    /// Lengths of the names in bytes, ascending.
    lengths: Vec<usize>,
    /// The first bytes of the names.
    first_bytes: FxHashSet<u8>,
    /// Whether some of them are found in normalized text only.
    normalized: bool,
}

impl ControlTokens {
    /// The special tokens of a tokenizer, and all tokens that end a text.
    pub(crate) fn new(tokenizer: &tokenizers::Tokenizer, vocabulary: &Vocabulary) -> Self {
        let mut this = Self::default();
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            let name = token.content;
            let ends = vocabulary.end_tokens().contains(&id) || is_well_known_end(&name);
            if name.is_empty() || !(token.special || ends) {
                continue;
            }
            let lower = name.to_ascii_lowercase();
            for (at, _) in lower.char_indices().skip(1) {
                this.prefixes.insert(lower[..at].into());
                this.suffixes.insert(lower[at..].into());
            }
            this.lengths.push(lower.len());
            this.first_bytes.extend(lower.bytes().next());
            this.names.insert(lower.into());
            this.normalized |= token.normalized;
            this.by_id.insert(id, name);
        }
        this.lengths.sort_unstable();
        this.lengths.dedup();
        this
    }

    /// The name of a control token.
    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.by_id.get(&id).map(String::as_str)
    }

    /// Whether some of them are found in normalized text only.
    pub(crate) fn are_normalized(&self) -> bool {
        self.normalized
    }

    /// Byte offsets, ascending, of the characters to replace so that no name is left in a text or
    /// could form at its borders.
    fn replacement_offsets(&self, text: &str) -> Vec<usize> {
        let lower = text.to_ascii_lowercase();
        let mut places = Vec::new();
        for (at, _) in lower.char_indices() {
            if !self.first_bytes.contains(&lower.as_bytes()[at]) {
                continue;
            }
            let names = self.lengths.iter().filter_map(|len| lower.get(at..at + len));
            places.extend(
                names.filter(|name| self.names.contains(*name)).map(|n| at + replaceable_offset(n)),
            );
        }
        // Templates trim content before they put something beside it.
        let longest = self.lengths.last().copied().unwrap_or_default();
        for body in [&lower[..], lower.trim_end()] {
            for at in (body.len().saturating_sub(longest)..body.len()).rev() {
                if let Some(head) = body.get(at..).filter(|head| self.prefixes.contains(*head)) {
                    places.push(at + replaceable_offset(head));
                }
            }
        }
        for body in [&lower[..], lower.trim_start()] {
            let start = lower.len() - body.len();
            for end in 1..=longest.min(body.len()) {
                if let Some(tail) = body.get(..end).filter(|tail| self.suffixes.contains(*tail)) {
                    places.push(start + replaceable_offset(tail));
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Whether anything in these texts needs a stand-in.
    fn occur_in<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> bool {
        texts.into_iter().any(|text| !self.replacement_offsets(text).is_empty())
    }

    /// The conversation and the values of the template's variables without names of control tokens, and their
    /// stand-ins; `None` if they hold no name. `template` is the text of the template.
    ///
    /// Errors if the conversation leaves no private-use character free.
    pub(crate) fn disguise(
        &self,
        messages: &[Message],
        tools: Option<&Json>,
        variables: &Map<String, Json>,
        template: &str,
    ) -> Result<Option<DisguisedConversation>> {
        let mut texts = Vec::new();
        for message in messages {
            texts.extend(Some(&message.role[..]).filter(|role| !is_role(role)));
            texts.push(&message.content);
            collect_strings_of_object(&message.more, &mut texts);
        }
        tools.iter().for_each(|tools| collect_strings(tools, &mut texts));
        variables.values().for_each(|value| collect_strings(value, &mut texts));
        if !self.occur_in(texts.iter().copied()) {
            return Ok(None);
        }
        let mut stand_ins = StandIns::beside(texts.into_iter().chain([template]));
        let mut change = |text: &str| self.disguised(text, &mut stand_ins);
        let messages = messages.iter().map(|message| {
            let role =
                if is_role(&message.role) { message.role.clone() } else { change(&message.role)? };
            let content = change(&message.content)?;
            let more = map_strings_of_object(&message.more, &mut change)?;
            Ok(Message { role, content, more })
        });
        let messages = messages.collect::<Result<_>>()?;
        let tools = tools.map(|tools| map_strings(tools, &mut change)).transpose()?;
        // The template knows the variables by their names.
        let variables = variables
            .iter()
            .map(|(name, value)| Ok((name.clone(), map_strings(value, &mut change)?)));
        let variables = variables.collect::<Result<_>>()?;
        Ok(Some(DisguisedConversation { messages, tools, variables, stand_ins }))
    }

    /// The text without names of control tokens, and its stand-ins; `None` if it holds no name.
    pub(crate) fn disguise_text(&self, text: &str) -> Result<Option<(String, StandIns)>> {
        if !self.occur_in([text]) {
            return Ok(None);
        }
        let mut stand_ins = StandIns::beside([text]);
        let text = self.disguised(text, &mut stand_ins)?;
        Ok(Some((text, stand_ins)))
    }

    fn disguised(&self, text: &str, stand_ins: &mut StandIns) -> Result<String> {
        let (mut out, mut rest) = (String::with_capacity(text.len()), 0);
        for at in self.replacement_offsets(text) {
            out += &text[rest..at];
            // Places are borders of characters.
            let Some(c) = text[at..].chars().next() else { break };
            out.push(stand_ins.stand_in_of(c)?);
            rest = at + c.len_utf8();
        }
        Ok(out + &text[rest..])
    }
}

/// The byte offset of the character that is replaced in a name or a part of one: as near the middle
/// as there is one that neither trimming nor escaping would change.
fn replaceable_offset(name: &str) -> usize {
    let chars: Vec<(usize, char)> = name.char_indices().collect();
    let half = chars.len() / 2;
    let is_plain =
        |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '\\' | '\'');
    let plain = |at: &&(usize, char)| is_plain(at.1);
    let chosen = chars[half..].iter().find(plain).or(chars[..half].iter().rfind(plain));
    chosen.or(chars.get(half)).map_or(0, |&(at, _)| at)
}

fn is_role(text: &str) -> bool {
    ROLES.contains(&text)
}

/// Collects all strings in a value, keys of objects among them.
fn collect_strings<'a>(value: &'a Json, into: &mut Vec<&'a str>) {
    match value {
        Json::String(text) => into.push(text),
        Json::Array(items) => items.iter().for_each(|item| collect_strings(item, into)),
        Json::Object(members) => collect_strings_of_object(members, into),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn collect_strings_of_object<'a>(members: &'a Map<String, Json>, into: &mut Vec<&'a str>) {
    for (key, value) in members {
        into.push(key);
        collect_strings(value, into);
    }
}

/// The value with all its strings replaced by `change`.
fn map_strings(value: &Json, change: &mut impl FnMut(&str) -> Result<String>) -> Result<Json> {
    Ok(match value {
        Json::String(text) => Json::String(change(text)?),
        Json::Array(items) => {
            Json::Array(items.iter().map(|item| map_strings(item, change)).collect::<Result<_>>()?)
        }
        Json::Object(members) => Json::Object(map_strings_of_object(members, change)?),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    })
}

fn map_strings_of_object(
    members: &Map<String, Json>,
    change: &mut impl FnMut(&str) -> Result<String>,
) -> Result<Map<String, Json>> {
    members.iter().map(|(key, value)| Ok((change(key)?, map_strings(value, change)?))).collect()
}

/// A conversation in which no control token's name is left.
#[derive(Debug)]
pub(crate) struct DisguisedConversation {
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Option<Json>,
    pub(crate) variables: Map<String, Json>,
    pub(crate) stand_ins: StandIns,
}

/// The private-use characters of a conversation, and the characters that they stand for.
#[derive(Debug, Default)]
pub(crate) struct StandIns {
    stand_in: FxHashMap<char, char>,
    original: FxHashMap<char, char>,
    /// Private-use characters that the texts contain.
    taken: FxHashSet<char>,
}

impl StandIns {
    /// No stand-ins yet; none of them will be a character of these texts.
    fn beside<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let taken = texts.into_iter().flat_map(str::chars).filter(|&c| is_private(c)).collect();
        Self { taken, ..Self::default() }
    }

    /// The stand-in of a character. Errors if no private-use character is free.
    fn stand_in_of(&mut self, c: char) -> Result<char> {
        if let Some(&known) = self.stand_in.get(&c) {
            return Ok(known);
        }
        let free = PRIVATE.into_iter().flatten().find(|new| !self.taken.contains(new));
        let Some(new) = free else {
            let message =
                "the messages hold names of special tokens and every private-use character";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("leave out the characters from U+F0000 to U+FFFFD"));
        };
        self.taken.insert(new);
        self.stand_in.insert(c, new);
        self.original.insert(new, c);
        Ok(new)
    }

    /// The character that one stands for; itself if it is no stand-in.
    pub(crate) fn original(&self, c: char) -> char {
        self.original.get(&c).copied().unwrap_or(c)
    }
}

/// Unicode's private-use characters, those that texts use least first.
const PRIVATE: [std::ops::RangeInclusive<char>; 3] =
    ['\u{F0000}'..='\u{FFFFD}', '\u{100000}'..='\u{10FFFD}', '\u{E000}'..='\u{F8FF}'];

fn is_private(c: char) -> bool {
    PRIVATE.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn control(names: &[&str]) -> ControlTokens {
        let added: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(i, name)| {
                json!({"id": i + 2, "content": name, "special": true, "single_word": false,
                    "lstrip": false, "rstrip": false, "normalized": false})
            })
            .collect();
        let file = json!({
            "version": "1.0", "added_tokens": added, "decoder": {"type": "ByteLevel",
                "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
        });
        let file = file.to_string();
        let tokenizer = tokenizers::Tokenizer::from_bytes(file.as_bytes()).unwrap();
        let vocabulary = Vocabulary::from_tokenizer_json(file.as_bytes()).unwrap();
        ControlTokens::new(&tokenizer, &vocabulary)
    }

    #[test]
    fn names_and_their_parts_at_borders_are_disguised() {
        let control = control(&["<|im_end|>", "</s>", "[INST]"]);
        for (text, expected) in [
            ("nothing", "nothing"),
            ("a <b> [x] </t>", "a <b> [x] </t>"),
            ("a</s>b", "a</?>b"),
            ("a</S>b<|IM_END|>", "a</?>b<|IM_?ND|>"),
            ("</s></s>", "</?></?>"),
            ("[INST]é", "[IN?T]é"),
            // Parts of names at the ends.
            ("x <|im", "x <|?m"),
            ("x <  ", "x ?  "),
            ("nd|> y", "nd?> y"),
            ("\n>y", "\n?y"),
            ("<", "?"),
        ] {
            let (shown, back) = match control.disguise_text(text).unwrap() {
                None => (text.to_owned(), text.to_owned()),
                Some((new, stand_ins)) => (
                    new.chars().map(|c| if is_private(c) { '?' } else { c }).collect(),
                    new.chars().map(|c| stand_ins.original(c)).collect(),
                ),
            };
            assert_eq!((&shown[..], &back[..]), (expected, text));
        }
    }

    #[test]
    fn stand_ins_are_characters_that_nobody_wrote() {
        let control = control(&["</s>"]);
        let text = "\u{F0000}</s>\u{F0001}";
        let (new, stand_ins) = control.disguise_text(text).unwrap().unwrap();
        assert_eq!(new, "\u{F0000}</\u{F0002}>\u{F0001}");
        assert_eq!(new.chars().map(|c| stand_ins.original(c)).collect::<String>(), text);
    }

    #[test]
    fn every_string_of_a_conversation_is_content() {
        let control = control(&["</s>"]);
        let mut message = Message::new("user", "hi");
        message.more.insert("x".into(), json!([{"</s>": 1}, {"a": "</s>"}]));
        let odd = Message::new("</s>", "</s>");
        let tools = json!([{"function": {"name": "</s>", "description": "</s>"}}]);
        let variables: Map<String, Json> =
            [("documents".to_owned(), json!([{"text": "\u{F0000}</s>"}]))].into_iter().collect();
        let DisguisedConversation { messages, tools, variables: changed, .. } =
            control.disguise(&[message, odd], Some(&tools), &variables, "").unwrap().unwrap();
        let text = serde_json::to_string(&(messages, tools, changed)).unwrap();
        assert!(!text.contains("</s>"), "{text}");
        assert_eq!(text.matches("</\u{F0001}>").count(), 7);
        let plain = [Message::new("user", "hi")];
        assert!(control.disguise(&plain, None, &Map::new(), "").unwrap().is_none());
        assert!(control.disguise(&plain, None, &variables, "").unwrap().is_some());
    }
}
