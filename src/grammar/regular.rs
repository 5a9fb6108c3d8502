//! A grammar as a regular language, where its rules say that it is one.

use rustc_hash::FxHashMap;

use super::{Grammar, Node, NodeId, RuleId};
use crate::error::{Error, ErrorKind, Result};
use crate::regular::{Language, Languages, Utf8, any_text};

/// Calls within calls, and groups within groups.
const DEEPEST: u32 = 1_000;

impl Grammar {
    /// Its language, in another arena.
    ///
    /// Errors, naming the rule, if a rule calls itself (directly or through others) or names a
    /// special token: whether a recursive grammar is regular cannot be decided.
    pub fn language(&self, languages: &mut Languages) -> Result<Language> {
        let mut reader = Regular {
            grammar: self,
            languages,
            moved: FxHashMap::default(),
            rules: FxHashMap::default(),
            holes: FxHashMap::default(),
        };
        reader.rule(self.start, 0)
    }
}

/// States of a grammar's language that are looked at for a text outside it.
const MAX_STATES: usize = 10_000;

impl Grammar {
    /// Whether it is known to accept every text, so that it constrains nothing. False where a rule
    /// calls itself, and where it takes long to find out.
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
        languages.set_limit(MAX_STATES);
        let Ok(language) = self.language(&mut languages) else { return false };
        let text = any_text(&mut languages, &Utf8);
        let rejected = languages.difference(text, language);
        matches!(languages.is_live(rejected), Ok(false))
    }
}

struct Regular<'a> {
    grammar: &'a Grammar,
    languages: &'a mut Languages,
    moved: FxHashMap<Language, Language>,
    /// Rules met so far; `None` while what they call is looked at.
    rules: FxHashMap<RuleId, Option<Language>>,
    /// What holes are, by their index.
    holes: FxHashMap<u32, Language>,
}

impl Regular<'_> {
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
        if depth > DEEPEST {
            return Err(self.error(rule, "is nested too deep"));
        }
        self.rules.insert(rule, None);
        let language = self.node(self.grammar.rule(rule).body(), rule, depth + 1)?;
        self.rules.insert(rule, Some(language));
        Ok(language)
    }

    /// A part that is made while a text is read.
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
        if depth > DEEPEST {
            return Err(self.error(rule, "is nested too deep"));
        }
        let grammar = self.grammar;
        let depth = depth + 1;
        match grammar.node(id) {
            Node::Regular(language) | Node::Text(language) => {
                grammar.languages.transfer(*language, self.languages, &mut self.moved)
            }
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
            Node::Special(_) => Err(self.error(rule, "names a special token")),
            &Node::Hole(hole) => self.hole(hole, rule),
            // Only in grammars that are made as they are read.
            Node::Names(_) | Node::Capture(..) | Node::Scope(..) => {
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
