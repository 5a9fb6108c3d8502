//! A grammar without recursion as one regular language, for `not` and `allOf` of constraints and
//! for the check that a grammar constrains anything at all.
//!
//! Whether a recursive context-free grammar is regular is undecidable, so recursion is refused.

use rustc_hash::FxHashMap;

use super::form::{Attribute, Grammar, Node, NodeId, RuleId};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::regular::{Language, Languages, Utf8, any_text, arena_copy};

/// Nesting of calls and groups that is followed; bounds the depth of the native stack.
const MAX_DEPTH: u32 = 1_000;

/// DFA states that are searched for a text outside a grammar's language.
const MAX_SEARCHED_STATES: usize = 10_000;

impl Grammar {
    /// The grammar's language, in another arena.
    ///
    /// Errors, naming the rule, if a rule calls itself (directly or through others) or names a
    /// special token: whether a recursive grammar is regular cannot be decided.
    pub fn language(&self, languages: &mut Languages) -> Result<Language> {
        let mut reader = RegularReader {
            grammar: self,
            languages,
            transferred: FxHashMap::default(),
            rules: FxHashMap::default(),
            holes: FxHashMap::default(),
        };
        reader.rule(self.start, 0)
    }
}

impl Grammar {
    /// Whether the grammar provably accepts every text, so that it constrains nothing. False where
    /// a rule calls itself, and where the search would exceed its limit.
    ///
    /// ```
    /// use maskwright::ebnf::{self, Dialect};
    /// let grammar = |text| ebnf::parse(text, Dialect::Lark, &());
    /// assert!(grammar(r"start: /(.|\n)*/")?.accepts_every_text());
    /// assert!(!grammar(r"start: /.*/")?.accepts_every_text());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn accepts_every_text(&self) -> bool {
        let mut languages = Languages::new();
        languages.set_limit(MAX_SEARCHED_STATES);
        let Ok(language) = self.clone().without_captures().language(&mut languages) else {
            return false;
        };
        let text = any_text(&mut languages, &Utf8);
        let rejected = languages.difference(text, language);
        matches!(languages.is_live(rejected), Ok(false))
    }
}

/// Builds the language of a grammar bottom-up, rule by rule.
struct RegularReader<'a> {
    grammar: &'a Grammar,
    languages: &'a mut Languages,
    /// Terminals of the grammar's arena, transferred to `languages`.
    transferred: FxHashMap<Language, Language>,
    /// Rules met so far; `None` while their bodies are being read.
    rules: FxHashMap<RuleId, Option<Language>>,
    /// Holes met so far, by their index.
    holes: FxHashMap<u32, Language>,
}

impl RegularReader<'_> {
    fn error(&self, rule: RuleId, what: &str) -> Error {
        let name = self.grammar.rule(rule).name();
        Error::new(ErrorKind::Grammar, format!("not regular: {name} {what}"))
            .with_help("`allOf` and `not` are for regular constraints only")
    }

    fn rule(&mut self, rule: RuleId, depth: u32) -> Result<Language> {
        match self.rules.get(&rule) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Err(self.error(rule, "calls itself")),
            None => {}
        }
        if depth > MAX_DEPTH {
            return Err(self.error(rule, "is nested too deep"));
        }
        self.rules.insert(rule, None);
        let language = self.node(self.grammar.rule(rule).body(), rule, depth + 1)?;
        self.rules.insert(rule, Some(language));
        Ok(language)
    }

    /// A part whose rules are made while a text is read.
    fn hole(&mut self, hole: u32, rule: RuleId) -> Result<Language> {
        if let Some(&known) = self.holes.get(&hole) {
            return Ok(known);
        }
        let language = self.grammar.holes[hole as usize].language(self.languages);
        let language = language.map_err(|error| match error.kind() {
            ErrorKind::Grammar => self.error(rule, error.message()),
            _ => error,
        })?;
        self.holes.insert(hole, language);
        Ok(language)
    }

    fn node(&mut self, id: NodeId, rule: RuleId, depth: u32) -> Result<Language> {
        if depth > MAX_DEPTH {
            return Err(self.error(rule, "is nested too deep"));
        }
        deadline::check()?;
        let grammar = self.grammar;
        let depth = depth + 1;
        match grammar.node(id) {
            Node::Regular(language) | Node::JsonString(language) => arena_copy::copy(
                &grammar.languages,
                *language,
                self.languages,
                &mut self.transferred,
            ),
            Node::Sequence(parts) => {
                let parts: Result<Vec<Language>> =
                    parts.iter().map(|&part| self.node(part, rule, depth)).collect();
                Ok(self.languages.concat(parts?))
            }
            Node::Choice(parts) => {
                let parts: Result<Vec<Language>> =
                    parts.iter().map(|&part| self.node(part, rule, depth)).collect();
                Ok(self.languages.union(parts?))
            }
            &Node::Repeat { node, min, max } => {
                let part = self.node(node, rule, depth)?;
                Ok(self.languages.repeat(part, min, max))
            }
            &Node::Call(callee) => self.rule(callee, depth),
            &Node::Attributed { node, ref attribute } => match attribute {
                Attribute::MaxTokens(_) => Err(self.error(rule, "counts tokens")),
                Attribute::Temperature(_) => Err(self.error(rule, "has a temperature")),
                Attribute::Capture(_) => Err(self.error(rule, "has a capture")),
                Attribute::Ignored | Attribute::CaptureFrom(_) => self.node(node, rule, depth),
            },
            Node::Special(_) => Err(self.error(rule, "names a special token")),
            &Node::Hole(hole) => self.hole(hole, rule),
            // Only in grammars of a source.
            Node::KeyChoice(_) | Node::Capture(..) | Node::Scope(..) => {
                Err(self.error(rule, "depends on what was read"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::GrammarBuilder;
    use super::*;

    #[test]
    fn rules_that_call_no_rule_again_are_regular() {
        let mut builder = GrammarBuilder::new();
        let digit = builder.languages().byte_range(b'0', b'9');
        let digit = builder.regular(digit);
        let pair = builder.repeat(digit, 2, Some(2));
        let pair = builder.rule("pair", pair);
        let (first, colon, second) =
            (builder.call(pair), builder.literal(b":"), builder.call(pair));
        let time = builder.sequence([first, colon, second]);
        let noon = builder.literal(b"noon");
        let body = builder.choice([time, noon]);
        let start = builder.rule("start", body);
        let grammar = builder.finish(start).unwrap();
        let mut l = Languages::new();
        let language = grammar.language(&mut l).unwrap();
        for (text, expected) in [("12:30", true), ("noon", true), ("1:30", false), ("", false)] {
            assert_eq!(l.matches(language, text.as_bytes()).unwrap(), expected, "{text}");
        }

        let mut builder = GrammarBuilder::new();
        let list = builder.declare("list");
        let (a, more) = (builder.literal(b"a"), builder.call(list));
        let long = builder.sequence([a, more]);
        let body = builder.choice([a, long]);
        builder.define(list, body);
        let error = builder.finish(list).unwrap().language(&mut l).unwrap_err();
        assert!(error.to_string().contains("list calls itself"), "{error}");
    }
}
