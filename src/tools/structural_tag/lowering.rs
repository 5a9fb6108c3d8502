//! From formats to nodes of a grammar.

use super::format::{
    AfterTrigger, Format, JsonFormat, NumberOfTags, TagBegin, TagEnd, TagFormat, TextDispatch,
    TokenDispatch,
};
use super::members::{NamedToken, bad};
use crate::constraint::Compiler;
use crate::ebnf::{Dialect, Environment as _};
use crate::error::Result;
use crate::grammar::{Grammar, GrammarBuilder, NodeId, SpecialToken, TokenSet};
use crate::json_schema::{PropertyOrder, Schema, Style, Whitespace};
use crate::recognizer::program::find_token;
use crate::regular::{self, Anchoring, CodePoints as _, Language, Triggers, Utf8, any_text};
use crate::vocabulary::{SpecialTokenNames, TextPart};

/// The end of the innermost tag around a format.
#[derive(Clone, Copy)]
enum EndOfTag<'a> {
    /// There is no tag around it.
    None,
    Texts(&'a [String]),
    Token(&'a NamedToken),
}

/// Builder of the grammar of a structural tag.
pub(super) struct TagLowering<'a> {
    builder: GrammarBuilder,
    compiler: &'a Compiler,
    names: SpecialTokenNames,
}

impl<'a> TagLowering<'a> {
    pub(super) fn new(compiler: &'a Compiler) -> Self {
        let names = SpecialTokenNames::new(compiler.vocabulary());
        Self { builder: GrammarBuilder::new(), compiler, names }
    }

    /// The grammar of a format.
    pub(super) fn grammar(mut self, format: &Format) -> Result<Grammar> {
        let node = self.format(format, EndOfTag::None)?;
        let start = self.builder.rule("structural tag", node);
        self.builder.finish(start)
    }

    fn format(&mut self, format: &Format, end: EndOfTag<'_>) -> Result<NodeId> {
        match format {
            Format::Text(text) => Ok(self.text(text)),
            Format::Json(json) => self.json(json),
            Format::Regex { pattern, at } => {
                // As in XGrammar, a point is any character.
                let dialect = self.compiler.regex_dialect().unwrap_or(regular::Dialect::Ecma);
                let dotted = dialect.with_flags("s", pattern);
                let compiler = self.compiler.clone().with_regex_dialect(dialect);
                // The pattern alone says whether it is one, and the places of its errors.
                let grammar = compiler.regex_grammar(pattern, Anchoring::Whole);
                let grammar =
                    grammar.and_then(|_| compiler.regex_grammar(&dotted, Anchoring::Whole));
                self.embed(grammar, at)
            }
            Format::Grammar { text, at } => {
                let dialect = Dialect::guess(text).unwrap_or(Dialect::Gbnf);
                self.embed(self.compiler.parse_grammar(text, dialect), at)
            }
            Format::AnyText { excludes, max_chars, max_tokens } => {
                let excludes = with_ends(excludes, end);
                let language = self.text_without(&excludes, *max_chars);
                let text = self.builder.regular(language);
                let text = self.builder.mark(text, "free text");
                Ok(self.within(*max_tokens, text))
            }
            Format::Token(token) => {
                let token = self.token(token)?;
                Ok(self.builder.special(SpecialToken::Id(token)))
            }
            Format::OtherToken(excludes) => self.other_token(excludes, &[], end),
            Format::AnyTokens { excludes, max_tokens } => {
                let one = self.other_token(excludes, &[], end)?;
                let all = self.builder.repeat(one, 0, None);
                Ok(self.within(*max_tokens, all))
            }
            Format::Sequence(elements) => {
                let parts = self.formats(elements, end)?;
                Ok(self.builder.sequence(parts))
            }
            Format::Or(elements) => {
                let parts = self.formats(elements, end)?;
                Ok(self.builder.choice(parts))
            }
            Format::Repeat { content, min, max } => {
                let content = self.format(content, end)?;
                Ok(self.builder.repeat(content, *min, *max))
            }
            Format::Tag(tag) => {
                let (begin, rest) = (self.begin(&tag.begin)?, self.after_begin(tag)?);
                let whole = self.builder.sequence([begin, rest]);
                Ok(self.marked(whole, tag))
            }
            Format::Separated { tags, separator, number } => {
                self.separated(tags, separator, *number)
            }
            Format::Dispatch(dispatch) => self.dispatch(dispatch, end),
            Format::TokenDispatch(dispatch) => self.token_dispatch(dispatch, end),
        }
    }

    fn formats(&mut self, formats: &[Format], end: EndOfTag<'_>) -> Result<Vec<NodeId>> {
        formats.iter().map(|format| self.format(format, end)).collect()
    }

    /// Exactly a text, each name of a special token in it as that token or spelled.
    fn text(&mut self, text: &str) -> NodeId {
        let parts = self.names.parts(text).into_iter().map(|part| match part {
            TextPart::Text(text) => self.builder.literal(text.as_bytes()),
            TextPart::Token(name, token) => {
                let spelled = self.builder.literal(name.as_bytes());
                let token = self.builder.special(SpecialToken::Id(token));
                self.builder.choice([spelled, token])
            }
        });
        let parts: Vec<NodeId> = parts.collect();
        self.builder.sequence(parts)
    }

    fn json(&mut self, json: &JsonFormat) -> Result<NodeId> {
        let mut options = self.compiler.json_options().clone();
        if json.any_order {
            options.property_order = PropertyOrder::Any;
        }
        if let Some(most) = json.max_whitespace {
            options.whitespace = Whitespace::Pattern(format!("[ \\t\\n\\r]{{0,{most}}}"));
        }
        if let Some(style) = &json.style {
            let style = Style::named(style);
            options.style =
                style.map_err(|error| error.at_pointer(format!("{}/style", json.at)))?;
        }
        options.excludes.extend_from_slice(&json.excludes);
        let schema = Schema::from_value(&json.schema);
        self.embed(schema.and_then(|schema| schema.tag_grammar(&options)), &json.schema_at)
    }

    fn embed(&mut self, grammar: Result<Grammar>, at: &str) -> Result<NodeId> {
        let rule = grammar.and_then(|grammar| self.builder.embed(&grammar));
        Ok(self.builder.call(rule.map_err(|error| error.below_pointer(at))?))
    }

    /// The node, within a number of tokens.
    fn within(&mut self, max_tokens: Option<u32>, node: NodeId) -> NodeId {
        match max_tokens {
            Some(max_tokens) => self.builder.budget(node, max_tokens),
            None => node,
        }
    }

    /// Text of at most `max_chars` characters that holds none of some texts.
    fn text_without(&mut self, excludes: &[String], max_chars: Option<u32>) -> Language {
        let languages = self.builder.languages();
        let text = any_text(languages, &Utf8);
        let bounded = match max_chars {
            Some(most) => {
                let character = Utf8.class(languages, &[(0, char::MAX.into())]);
                languages.repeat(character, 0, Some(most))
            }
            None => text,
        };
        if excludes.is_empty() {
            return bounded;
        }
        let any = languages.literals(excludes.iter().map(String::as_bytes));
        let holds = languages.concat([text, any, text]);
        languages.difference(bounded, holds)
    }

    fn token(&self, NamedToken { token, at }: &NamedToken) -> Result<u32> {
        find_token(self.compiler.vocabulary(), token).map_err(|error| error.at_pointer(at.as_str()))
    }

    fn tokens(&self, tokens: &[NamedToken]) -> Result<Vec<u32>> {
        tokens.iter().map(|token| self.token(token)).collect()
    }

    /// One token that is neither excluded nor a trigger nor the end of the tag around.
    fn other_token(
        &mut self,
        excludes: &[NamedToken],
        triggers: &[u32],
        end: EndOfTag<'_>,
    ) -> Result<NodeId> {
        let mut tokens = self.tokens(excludes)?;
        tokens.extend_from_slice(triggers);
        if let EndOfTag::Token(end) = end {
            tokens.push(self.token(end)?);
        }
        tokens.sort_unstable();
        tokens.dedup();
        let tokens = tokens.into_iter().map(SpecialToken::Id).collect();
        Ok(self.builder.special(TokenSet::Except(tokens)))
    }

    fn begin(&mut self, begin: &TagBegin) -> Result<NodeId> {
        match begin {
            TagBegin::Text(text) => Ok(self.text(text)),
            TagBegin::Token(token) => {
                let token = self.token(token)?;
                Ok(self.builder.special(SpecialToken::Id(token)))
            }
        }
    }

    /// The content and the end of a tag.
    fn after_begin(&mut self, tag: &TagFormat) -> Result<NodeId> {
        let (content, end) = match &tag.end {
            TagEnd::Texts(ends) => {
                let content = self.format(&tag.content, EndOfTag::Texts(ends))?;
                let ends: Vec<NodeId> = ends.iter().map(|end| self.text(end)).collect();
                (content, self.builder.choice(ends))
            }
            TagEnd::Token(end) => {
                let content = self.format(&tag.content, EndOfTag::Token(end))?;
                let end = self.token(end)?;
                (content, self.builder.special(SpecialToken::Id(end)))
            }
        };
        Ok(self.builder.sequence([content, end]))
    }

    /// The node, named by its tag for messages.
    fn marked(&mut self, node: NodeId, tag: &TagFormat) -> NodeId {
        let begin = match &tag.begin {
            TagBegin::Text(text) => text.clone(),
            TagBegin::Token(NamedToken { token: SpecialToken::Name(name), .. }) => name.clone(),
            TagBegin::Token(NamedToken { token: SpecialToken::Id(id), .. }) => format!("<[{id}]>"),
        };
        self.builder.mark(node, format!("tag `{begin}`"))
    }

    /// Tags and nothing else, with a text between them.
    fn separated(
        &mut self,
        tags: &[TagFormat],
        separator: &str,
        number: NumberOfTags,
    ) -> Result<NodeId> {
        let mut nodes = Vec::with_capacity(tags.len());
        for tag in tags {
            let (begin, rest) = (self.begin(&tag.begin)?, self.after_begin(tag)?);
            let whole = self.builder.sequence([begin, rest]);
            nodes.push(self.marked(whole, tag));
        }
        let tag = self.builder.choice(nodes);
        let mut all = vec![tag];
        if !number.stop_after_first {
            let separator = self.text(separator);
            let more = self.builder.sequence([separator, tag]);
            all.push(self.builder.repeat(more, 0, None));
        }
        let all = self.builder.sequence(all);
        Ok(self.builder.repeat(all, number.at_least_one.into(), Some(1)))
    }

    /// Free text with triggers in it.
    fn dispatch(&mut self, dispatch: &TextDispatch, end: EndOfTag<'_>) -> Result<NodeId> {
        let TextDispatch { rules, excludes, number, stops_at_end } = dispatch;
        let excludes = if *stops_at_end { with_ends(excludes, end) } else { excludes.clone() };
        let mut patterns: Vec<String> = Vec::new();
        for rule in rules {
            if !patterns.contains(&rule.trigger) {
                patterns.push(rule.trigger.clone());
            }
        }
        let triggers = Triggers::new(self.builder.languages(), &patterns, &excludes)?;
        let (mut first, mut later) = (Vec::new(), Alternatives::default());
        for rule in rules {
            let (begin, content) = match &rule.then {
                AfterTrigger::Format(format) => (&rule.trigger, self.format(format, end)?),
                AfterTrigger::Tag(tag) => {
                    let rest = self.after_begin(tag)?;
                    let begin = match &tag.begin {
                        TagBegin::Text(begin) => begin,
                        // Triggers are texts, and begin their tags.
                        TagBegin::Token(_) => &rule.trigger,
                    };
                    (begin, self.marked(rest, tag))
                }
            };
            let whole = self.text(begin);
            first.push(self.builder.sequence([whole, content]));
            let index = patterns.iter().position(|pattern| *pattern == rule.trigger).unwrap_or(0);
            let rest = self.text(&begin[rule.trigger.len()..]);
            let rest = self.builder.sequence([rest, content]);
            later.add((triggers.heads[index], None), rest);
            // A special token that begins within the trigger, after its first bytes.
            for name in self.names.find(begin) {
                if name.from < rule.trigger.len() {
                    let head = self.free_and(triggers.free, &begin.as_bytes()[..name.from]);
                    let rest = self.text(&begin[name.to..]);
                    let rest = self.builder.sequence([rest, content]);
                    later.add((head, Some(name.token)), rest);
                }
            }
        }
        let first = self.builder.choice(first);
        if number.at_least_one && number.stop_after_first {
            return Ok(first);
        }
        let mut alternatives = Vec::new();
        for ((head, token), rests) in later.groups {
            let head = self.builder.regular(head);
            let mut parts = vec![self.builder.mark(head, "free text")];
            parts.extend(token.map(|token| self.builder.special(SpecialToken::Id(token))));
            parts.push(self.builder.choice(rests));
            alternatives.push(self.builder.sequence(parts));
        }
        let free = self.builder.regular(triggers.free);
        let free = self.builder.mark(free, "free text");
        let text = if number.stop_after_first {
            self.builder.choice(alternatives.into_iter().chain([free]))
        } else {
            let one = self.builder.choice(alternatives);
            let all = self.builder.repeat(one, 0, None);
            self.builder.sequence([all, free])
        };
        Ok(if number.at_least_one { self.builder.sequence([first, text]) } else { text })
    }

    /// Free text that ends with some bytes.
    fn free_and(&mut self, free: Language, bytes: &[u8]) -> Language {
        if bytes.is_empty() {
            return free;
        }
        let languages = self.builder.languages();
        let (text, end) = (any_text(languages, &Utf8), languages.literal(bytes));
        let ends = languages.concat([text, end]);
        languages.intersect([free, ends])
    }

    /// Free tokens with triggers among them.
    fn token_dispatch(&mut self, dispatch: &TokenDispatch, end: EndOfTag<'_>) -> Result<NodeId> {
        let TokenDispatch { rules, excludes, number, stops_at_end, triggers: wanted } = dispatch;
        let mut triggers = Vec::with_capacity(rules.len());
        for rule in rules {
            let token = self.token(&rule.trigger)?;
            if self.tokens(excludes)?.contains(&token) {
                let message = "this token is excluded, so it cannot be a trigger";
                return Err(bad(rule.trigger.at.as_str(), message));
            }
            triggers.push(token);
        }
        if let Some(wanted) = wanted {
            let ids = self.tokens(wanted)?;
            for (rule, token) in rules.iter().zip(&triggers) {
                if !ids.contains(token) {
                    let message = "this token begins a tag, and is no trigger";
                    return Err(bad(rule.trigger.at.as_str(), message));
                }
            }
            for (trigger, id) in wanted.iter().zip(ids) {
                if !triggers.contains(&id) {
                    return Err(bad(trigger.at.as_str(), "no tag begins with this token"));
                }
            }
        }
        let mut calls = Vec::with_capacity(rules.len());
        for (rule, &token) in rules.iter().zip(&triggers) {
            let token = self.builder.special(SpecialToken::Id(token));
            let content = match &rule.then {
                AfterTrigger::Format(format) => self.format(format, end)?,
                AfterTrigger::Tag(tag) => {
                    let rest = self.after_begin(tag)?;
                    self.marked(rest, tag)
                }
            };
            calls.push(self.builder.sequence([token, content]));
        }
        let call = self.builder.choice(calls);
        if number.at_least_one && number.stop_after_first {
            return Ok(call);
        }
        let end = if *stops_at_end { end } else { EndOfTag::None };
        let free = self.other_token(excludes, &triggers, end)?;
        let text = if number.stop_after_first {
            let (free, last) =
                (self.builder.repeat(free, 0, None), self.builder.repeat(call, 0, Some(1)));
            self.builder.sequence([free, last])
        } else {
            let one = self.builder.choice([free, call]);
            self.builder.repeat(one, 0, None)
        };
        Ok(if number.at_least_one { self.builder.sequence([call, text]) } else { text })
    }
}

/// Free text that ends with a trigger, or with the beginning of one and this special token.
type Head = (Language, Option<u32>);

/// Continuations of free text, by its head.
#[derive(Default)]
struct Alternatives {
    groups: Vec<(Head, Vec<NodeId>)>,
}

impl Alternatives {
    fn add(&mut self, head: Head, rest: NodeId) {
        match self.groups.iter_mut().find(|(known, _)| *known == head) {
            Some((_, rests)) => rests.push(rest),
            None => self.groups.push((head, vec![rest])),
        }
    }
}

/// Texts that free text must not hold: excluded ones, and the ends of the tag around it. An empty end
/// is no text that could be left out.
fn with_ends(excludes: &[String], end: EndOfTag<'_>) -> Vec<String> {
    let mut all = excludes.to_vec();
    if let EndOfTag::Texts(ends) = end {
        all.extend(ends.iter().filter(|end| !end.is_empty()).cloned());
    }
    all
}
