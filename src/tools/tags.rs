//! Tags in free text: text until a trigger, then a constrained body, then text again.

use serde_json::Value;

use crate::constraint::{Compiler, Constraint};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder, NodeId};
use crate::json_schema::{Options, Schema};
use crate::regular;
use crate::regular::{Triggers, Utf8};

/// Body of a tag.
#[derive(Clone, Debug)]
pub enum TagBody {
    /// JSON that a schema accepts.
    Json(Value),
    /// Text of another grammar.
    Grammar(Box<Grammar>),
    /// Text that matches a pattern, whole, in the syntax of Rust's `regex` crate.
    Regex(String),
}

/// A tag: a beginning, a body, an end.
#[derive(Clone, Debug)]
pub struct Tag {
    /// Text that begins the tag, and begins with one of the triggers.
    pub begin: String,
    /// Content of the tag.
    pub body: TagBody,
    /// Text that ends the tag.
    pub end: String,
}

/// Free text with tags in it. Where a trigger has been written, one of the tags that begin with it
/// must follow; nothing else is asked of the text.
#[derive(Clone, Debug)]
pub struct Tags {
    /// Texts that tags begin with; free text never holds one.
    pub triggers: Vec<String>,
    /// The tags.
    pub tags: Vec<Tag>,
    /// Whether a tag must be written. As in XGrammar, the text then begins with it.
    pub at_least_one: bool,
    /// Whether the text ends after the first tag.
    pub at_most_one: bool,
}

impl Tags {
    /// The grammar of such texts.
    ///
    /// Errors if a tag begins with none of the triggers, if a trigger is empty, or if a body is not
    /// usable.
    pub fn grammar(&self, options: &Options) -> Result<Grammar> {
        let mut builder = GrammarBuilder::new();
        let triggers = Triggers::new(builder.languages(), &self.triggers, &[])?;
        let mut tags = Vec::new();
        for tag in &self.tags {
            let mut found = self.triggers.iter().enumerate();
            let found = found.find(|(_, trigger)| tag.begin.starts_with(trigger.as_str()));
            let Some((number, trigger)) = found else {
                let message = format!("the tag `{}` begins with none of the triggers", tag.begin);
                return Err(Error::new(ErrorKind::Request, message)
                    .with_help("add a trigger, or a tag that begins with one"));
            };
            let rest = builder.literal(&tag.begin.as_bytes()[trigger.len()..]);
            let body = match &tag.body {
                TagBody::Json(schema) => {
                    let grammar = Schema::from_value(schema)?.grammar(options)?;
                    let rule = builder.embed(&grammar)?;
                    builder.call(rule)
                }
                TagBody::Grammar(grammar) => {
                    let rule = builder.embed(grammar)?;
                    builder.call(rule)
                }
                TagBody::Regex(pattern) => {
                    let options = regular::Options::default();
                    let language = regular::parse(builder.languages(), pattern, options, &Utf8)?;
                    builder.regular(language)
                }
            };
            let end = builder.literal(tag.end.as_bytes());
            let whole = builder.sequence([rest, body, end]);
            tags.push((number, builder.mark(whole, format!("tag `{}`", tag.begin))));
        }
        let text = TaggedText { triggers: &triggers, tags, names: &self.triggers };
        let text = text.node(&mut builder, self.at_least_one, self.at_most_one);
        let start = builder.rule("tags", text);
        builder.finish(start)
    }

    /// The constraint of such texts, JSON by the compiler's options.
    pub fn compile(&self, compiler: &Compiler) -> Result<Constraint> {
        compiler.compile(self.grammar(compiler.json_options())?)
    }
}

/// Compiled tags of a text.
struct TaggedText<'a> {
    triggers: &'a Triggers,
    /// For each tag, the index of its trigger and the node of the rest.
    tags: Vec<(usize, NodeId)>,
    /// The texts of the triggers.
    names: &'a [String],
}

impl TaggedText<'_> {
    /// Free text with tags in it. With `at_least_one` the text begins with a tag; with
    /// `stop_after_first` it ends after the first one.
    fn node(
        &self,
        builder: &mut GrammarBuilder,
        at_least_one: bool,
        stop_after_first: bool,
    ) -> NodeId {
        let mut first = Vec::with_capacity(self.tags.len());
        let mut later = Vec::with_capacity(self.tags.len());
        for &(number, rest) in &self.tags {
            let trigger = builder.literal(self.names[number].as_bytes());
            first.push(builder.sequence([trigger, rest]));
            let head = builder.regular(self.triggers.heads[number]);
            let head = builder.mark(head, "free text");
            later.push(builder.sequence([head, rest]));
        }
        let (first, later) = (builder.choice(first), builder.choice(later));
        if at_least_one && stop_after_first {
            return first;
        }
        let text = text_and_tags(builder, self.triggers, later, stop_after_first);
        if at_least_one { builder.sequence([first, text]) } else { text }
    }
}

/// Free text around tags, each of which holds the free text before it.
fn text_and_tags(
    builder: &mut GrammarBuilder,
    triggers: &Triggers,
    tag: NodeId,
    at_most_one: bool,
) -> NodeId {
    let free = builder.regular(triggers.free);
    let free = builder.mark(free, "free text");
    if at_most_one {
        // After the tag nothing follows.
        return builder.choice([tag, free]);
    }
    let tags = builder.repeat(tag, 0, None);
    builder.sequence([tags, free])
}
