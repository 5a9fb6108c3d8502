//! From the rules of a dialect to a [`Grammar`].
//!
//! A rule that reaches no cycle, no special token and no embedded grammar is a regular language.
//! Such rules become part of the terminals that use them, so that a string or a number is one
//! terminal however many rules it is written in: masks are cut from whole terminals. And, not,
//! difference and laziness have a meaning for regular languages only.

use rustc_hash::FxHashMap;

use super::rules::{Item, Kind};
use super::text::Text;
use crate::error::{ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder, NodeId, RuleId, prefer_lazy};
use crate::regular;
use crate::regular::{ByteSet, Language, Utf8};

/// A regular rule of more leaves than this stays a rule: copying it into every terminal that uses
/// it could make terminals with too many states.
const INLINE_LEAVES: usize = 600;

/// Alternatives of a choice that stay apart where all do; more of them are read side by side, and
/// exceed the limit on parallel states.
const MAX_APART: usize = 1_000;

/// Does a repeat need a counter?
fn counts(min: u32, max: Option<u32>) -> bool {
    min > 1 || max.is_some_and(|max| max > 1)
}

/// What has been lowered: as long as it is regular, one terminal grows.
#[derive(Clone, Copy)]
enum Part {
    Regular(Language),
    Node(NodeId),
}

/// Rules on their way into a grammar.
pub(super) struct Lowering<'a> {
    text: &'a Text<'a>,
    builder: GrammarBuilder,
    names: &'a [String],
    bodies: &'a [Item],
    /// Rules that reach no cycle, each after the rules that it calls.
    acyclic: Vec<usize>,
    /// By rule: what it is, if it is regular and has been asked for.
    languages: Vec<Option<Language>>,
    /// By rule: does it become part of the terminals that use it?
    inline: Vec<bool>,
    /// By rule: is something in it counted?
    counted: Vec<bool>,
    /// By rule: its place in the grammar, if it has one.
    ids: Vec<Option<RuleId>>,
    /// Rules that have a place but no body yet.
    todo: Vec<usize>,
    /// The rule that is being lowered.
    rule: usize,
    /// Do all rules and alternatives stay apart?
    by_rules: bool,
    /// By rule: does it have to be regular?
    terminal: Vec<bool>,
    /// By rule: does a lazy terminal stand in it as a terminal of its own?
    has_lazy: Vec<bool>,
    /// The lazy terminals that were made, with their places.
    lazy: Vec<(NodeId, usize)>,
    /// Do lazy terminals take precedence over what else may begin where they do?
    lazy_first: bool,
    /// Where they do, by terminal that others were put together to: the same kept apart, if a
    /// text may end between two of these.
    apart: FxHashMap<NodeId, NodeId>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        text: &'a Text<'a>,
        builder: GrammarBuilder,
        names: &'a [String],
        bodies: &'a [Item],
        by_rules: bool,
    ) -> Self {
        let count = bodies.len();
        Self {
            text,
            builder,
            names,
            bodies,
            acyclic: Vec::new(),
            languages: vec![None; count],
            inline: vec![false; count],
            counted: vec![false; count],
            ids: vec![None; count],
            todo: Vec::new(),
            rule: 0,
            by_rules,
            terminal: vec![false; count],
            has_lazy: vec![false; count],
            lazy: Vec::new(),
            lazy_first: false,
            apart: FxHashMap::default(),
        }
    }

    /// Lazy terminals take precedence; `terminals` are the rules that are one terminal each.
    pub(super) fn with_lazy_first(mut self, terminals: &[usize]) -> Self {
        terminals.iter().for_each(|&rule| self.terminal[rule] = true);
        self.lazy_first = true;
        self
    }

    /// Finds the regular rules, callees first, and makes languages of those that are small.
    pub(super) fn regular_rules(&mut self) -> Result<()> {
        let bodies = self.bodies;
        let count = bodies.len();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut waiting = vec![0usize; count];
        for (rule, body) in bodies.iter().enumerate() {
            let mut calls = Vec::new();
            body.visit(|item| {
                if let Kind::Rule(callee) = item.kind {
                    calls.push(callee);
                }
            });
            calls.sort_unstable();
            calls.dedup();
            waiting[rule] = calls.len();
            calls.iter().for_each(|&callee| callers[callee].push(rule));
        }
        let mut ready: Vec<usize> = (0..count).filter(|&rule| waiting[rule] == 0).collect();
        let mut leaves = vec![usize::MAX; count];
        while let Some(rule) = ready.pop() {
            self.acyclic.push(rule);
            let mut size = 0usize;
            self.counted[rule] = self.is_counted(&bodies[rule]);
            bodies[rule].visit(|item| {
                let more = match &item.kind {
                    // Counters in counters are left to the engine.
                    Kind::Repeat(inner, min, max)
                        if counts(*min, *max) && self.is_counted(inner) =>
                    {
                        usize::MAX
                    }
                    Kind::Regular(_) => 1,
                    Kind::Rule(callee) => leaves[*callee],
                    Kind::Special(_) | Kind::Embedded(_) => usize::MAX,
                    _ => 0,
                };
                size = size.saturating_add(more);
            });
            self.has_lazy[rule] = self.lazy_first && self.holds_lazy(rule);
            if self.has_lazy[rule] {
                // Lazy terminals stay apart: they take precedence where they begin.
                size = usize::MAX;
            }
            leaves[rule] = size;
            if size <= INLINE_LEAVES && !self.by_rules {
                self.rule = rule;
                let language = self.regular(&bodies[rule])?;
                self.languages[rule] = Some(language);
                self.inline[rule] = true;
            }
            for &caller in &callers[rule] {
                waiting[caller] -= 1;
                if waiting[caller] == 0 {
                    ready.push(caller);
                }
            }
        }
        Ok(())
    }

    /// Is something in it counted, rules that it calls included (as far as they are known)?
    fn is_counted(&self, item: &Item) -> bool {
        let mut found = false;
        item.visit(|item| {
            found |= match item.kind {
                Kind::Repeat(_, min, max) => counts(min, max),
                Kind::Rule(rule) => self.counted[rule],
                _ => false,
            };
        });
        found
    }

    /// Whether a lazy terminal stands in a rule as a terminal of its own, rules that it calls
    /// included (as far as they are known).
    fn holds_lazy(&self, rule: usize) -> bool {
        let body = &self.bodies[rule];
        if self.terminal[rule] {
            return matches!(body.kind, Kind::Lazy(_));
        }
        let mut todo = vec![body];
        while let Some(item) = todo.pop() {
            match &item.kind {
                Kind::Lazy(_) => return true,
                Kind::Rule(callee) if self.has_lazy[*callee] => return true,
                Kind::Sequence(items) | Kind::Choice(items) => todo.extend(items),
                Kind::Repeat(item, ..) => todo.push(item),
                _ => {}
            }
        }
        false
    }

    /// The grammar whose texts are those of the rule `start`.
    pub(super) fn grammar(mut self, start: usize) -> Result<Grammar> {
        let id = self.id(start);
        while let Some(rule) = self.todo.pop() {
            self.rule = rule;
            let body = &self.bodies[rule];
            let part = match self.languages[rule] {
                Some(language) if !self.by_rules && !self.has_lazy[rule] => Part::Regular(language),
                _ => self.part(body)?,
            };
            let node = self.terminal(part, &[body]);
            if let Some(id) = self.ids[rule] {
                self.builder.define(id, node);
            }
        }
        let grammar = self.builder.finish(id)?;
        let Some(&(_, at)) = self.lazy.first() else { return Ok(grammar) };
        let lazy: Vec<NodeId> = self.lazy.iter().map(|&(node, _)| node).collect();
        prefer_lazy(grammar, &lazy, self.apart).map_err(|error| match error.kind() {
            ErrorKind::Grammar => self.text.embed(at, &error),
            _ => error,
        })
    }

    fn id(&mut self, rule: usize) -> RuleId {
        if let Some(id) = self.ids[rule] {
            return id;
        }
        let id = self.builder.declare(format!("rule `{}`", self.names[rule]));
        self.ids[rule] = Some(id);
        self.todo.push(rule);
        id
    }

    fn source(&self, at: usize) -> String {
        let (line, column) = self.text.line_column(at);
        format!("rule `{}` ({line}:{column})", self.names[self.rule])
    }

    fn node(&mut self, part: Part, at: usize) -> NodeId {
        match part {
            Part::Node(node) => node,
            Part::Regular(language) => {
                let source = self.source(at);
                let node = self.builder.regular(language);
                self.builder.mark(node, source)
            }
        }
    }

    /// The node of a part that is the sequence of some items.
    fn terminal(&mut self, part: Part, items: &[&Item]) -> NodeId {
        let at = items.first().map_or(0, |item| item.at);
        let node = self.node(part, at);
        if self.lazy_first && matches!(part, Part::Regular(_)) && self.is_open(items) {
            let apart: Vec<NodeId> = items.iter().map(|item| self.keep_apart(item)).collect();
            let apart = self.builder.sequence(apart);
            self.apart.insert(node, apart);
        }
        node
    }

    /// Whether regular items in sequence are made of terminals between which a text may end.
    fn is_open(&mut self, items: &[&Item]) -> bool {
        let mut rest_is_nullable = true;
        for (i, item) in items.iter().enumerate().rev() {
            if rest_is_nullable && (self.is_open_inside(item) || (i + 1 < items.len())) {
                return true;
            }
            rest_is_nullable &= self.is_nullable(item);
        }
        false
    }

    fn is_open_inside(&mut self, item: &Item) -> bool {
        match &item.kind {
            Kind::Repeat(inner, _, max) => *max != Some(1) || self.is_open_inside(inner),
            Kind::Sequence(items) => self.is_open(&items.iter().collect::<Vec<_>>()),
            Kind::Choice(items) => items.iter().any(|item| self.is_open_inside(item)),
            &Kind::Rule(rule) if !self.terminal[rule] => {
                let bodies = self.bodies;
                !self.inline[rule] || self.is_open_inside(&bodies[rule])
            }
            _ => false,
        }
    }

    fn is_nullable(&mut self, item: &Item) -> bool {
        match &item.kind {
            Kind::Regular(language) => self.builder.languages().is_nullable(*language),
            &Kind::Rule(rule) => match self.languages[rule] {
                Some(language) => self.builder.languages().is_nullable(language),
                None => true,
            },
            Kind::Sequence(items) => items.iter().all(|item| self.is_nullable(item)),
            Kind::Choice(items) => items.iter().any(|item| self.is_nullable(item)),
            Kind::Repeat(inner, min, _) => *min == 0 || self.is_nullable(inner),
            // Asked for to save work only.
            _ => true,
        }
    }

    /// Regular items as nodes, with the terminals of rules as nodes of their own.
    fn keep_apart(&mut self, item: &Item) -> NodeId {
        let bodies = self.bodies;
        match &item.kind {
            &Kind::Rule(rule) if !self.terminal[rule] && self.inline[rule] => {
                self.keep_apart(&bodies[rule])
            }
            &Kind::Rule(rule) if !self.terminal[rule] => {
                let rule = self.id(rule);
                self.builder.call(rule)
            }
            Kind::Sequence(items) => {
                let parts: Vec<NodeId> = items.iter().map(|item| self.keep_apart(item)).collect();
                self.builder.sequence(parts)
            }
            Kind::Choice(items) => {
                let parts: Vec<NodeId> = items.iter().map(|item| self.keep_apart(item)).collect();
                self.builder.choice(parts)
            }
            Kind::Repeat(inner, min, max) => {
                let inner = self.keep_apart(inner);
                self.builder.repeat(inner, *min, *max)
            }
            _ => {
                // It was made a language before, so there is one.
                let language = self.regular(item).unwrap_or(Language::EMPTY);
                self.node(Part::Regular(language), item.at)
            }
        }
    }

    fn part(&mut self, item: &Item) -> Result<Part> {
        Ok(match &item.kind {
            Kind::Regular(language) => Part::Regular(*language),
            &Kind::Rule(rule) => match self.languages[rule] {
                Some(language) if self.inline[rule] => Part::Regular(language),
                _ => {
                    let id = self.id(rule);
                    let call = self.builder.call(id);
                    if self.by_rules {
                        let source = self.source(item.at);
                        self.builder.mark(call, source);
                    }
                    Part::Node(call)
                }
            },
            Kind::Special(tokens) => {
                let source = self.source(item.at);
                let mut nodes = Vec::with_capacity(tokens.len());
                for token in tokens {
                    let node = self.builder.special(token.clone());
                    nodes.push(self.builder.mark(node, source.clone()));
                }
                Part::Node(self.builder.choice(nodes))
            }
            Kind::Embedded(rule) => Part::Node(self.builder.call(*rule)),
            Kind::Sequence(items) => self.sequence(&items.iter().collect::<Vec<_>>())?,
            Kind::Choice(items) => self.choice(items, item.at)?,
            Kind::Repeat(inner, min, max) => match self.part(inner)? {
                Part::Regular(language) if counts(*min, *max) && self.is_counted(inner) => {
                    let node = self.terminal(Part::Regular(language), &[inner]);
                    Part::Node(self.builder.repeat(node, *min, *max))
                }
                Part::Regular(language) => {
                    Part::Regular(self.builder.languages().repeat(language, *min, *max))
                }
                Part::Node(node) => Part::Node(self.builder.repeat(node, *min, *max)),
            },
            Kind::Lazy(_) if self.lazy_first => {
                let language = self.regular(item)?;
                let node = self.node(Part::Regular(language), item.at);
                self.lazy.push((node, item.at));
                Part::Node(node)
            }
            Kind::And(_) | Kind::Not(_) | Kind::Except(..) | Kind::Lazy(_) => {
                Part::Regular(self.regular(item)?)
            }
        })
    }

    fn sequence(&mut self, items: &[&Item]) -> Result<Part> {
        let (mut nodes, mut run) = (Vec::new(), Vec::new());
        let mut run_start = 0;
        for (i, item) in items.iter().enumerate() {
            match self.part(item)? {
                Part::Regular(language) => {
                    if run.is_empty() {
                        run_start = i;
                    }
                    run.push(language);
                }
                Part::Node(node) => {
                    if !run.is_empty() {
                        let run = self.builder.languages().concat(run.drain(..));
                        nodes.push(self.terminal(Part::Regular(run), &items[run_start..i]));
                    }
                    nodes.push(node);
                }
            }
        }
        // At once, not one by one: a concatenation is made from its end.
        let rest = !run.is_empty();
        let run = self.builder.languages().concat(run);
        if nodes.is_empty() {
            return Ok(Part::Regular(run));
        }
        if rest {
            nodes.push(self.terminal(Part::Regular(run), &items[run_start..]));
        }
        Ok(Part::Node(self.builder.sequence(nodes)))
    }

    fn choice(&mut self, items: &[Item], at: usize) -> Result<Part> {
        let (mut regular, mut nodes, mut merged) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            let part = self.part(item)?;
            match part {
                Part::Regular(_) if self.by_rules && items.len() <= MAX_APART => {
                    nodes.push(self.terminal(part, &[item]))
                }
                Part::Regular(language) => {
                    regular.push(language);
                    merged.push(item);
                }
                Part::Node(node) => nodes.push(node),
            }
        }
        if !regular.is_empty() || nodes.is_empty() {
            let union = self.builder.languages().union(regular);
            if nodes.is_empty() {
                return Ok(Part::Regular(union));
            }
            let node = self.node(Part::Regular(union), at);
            if self.lazy_first && merged.iter().any(|item| self.is_open_inside(item)) {
                let ways: Vec<NodeId> = merged.iter().map(|item| self.keep_apart(item)).collect();
                let apart = self.builder.choice(ways);
                self.apart.insert(node, apart);
            }
            nodes.push(node);
        }
        Ok(Part::Node(self.builder.choice(nodes)))
    }

    /// The language of an item that must be regular.
    fn regular(&mut self, item: &Item) -> Result<Language> {
        Ok(match &item.kind {
            Kind::Regular(language) => *language,
            &Kind::Rule(rule) => self.rule_language(rule, item.at)?,
            Kind::Special(_) => {
                return Err(self
                    .text
                    .error(item.at, "a special token is no text, and this part must be regular")
                    .with_help("move the token out of it"));
            }
            Kind::Embedded(_) => {
                return Err(self
                    .text
                    .error(item.at, "an embedded grammar stands where the text must be regular")
                    .with_help("move it out of the terminal"));
            }
            Kind::Sequence(items) => {
                let parts = self.regulars(items)?;
                self.builder.languages().concat(parts)
            }
            Kind::Choice(items) => {
                let parts = self.regulars(items)?;
                self.builder.languages().union(parts)
            }
            Kind::And(items) => {
                let parts = self.regulars(items)?;
                self.builder.languages().intersect(parts)
            }
            Kind::Repeat(inner, min, max) => {
                let inner = self.regular(inner)?;
                self.builder.languages().repeat(inner, *min, *max)
            }
            Kind::Not(inner) => {
                let inner = self.regular(inner)?;
                let text = regular::any_text(self.builder.languages(), &Utf8);
                self.builder.languages().difference(text, inner)
            }
            Kind::Except(a, b) => {
                let (a, b) = (self.regular(a)?, self.regular(b)?);
                self.builder.languages().difference(a, b)
            }
            Kind::Lazy(inner) => {
                let inner = self.regular(inner)?;
                let languages = self.builder.languages();
                let byte = languages.byte_set(ByteSet::ALL);
                let more = languages.repeat(byte, 1, None);
                let longer = languages.concat([inner, more]);
                languages.difference(inner, longer)
            }
        })
    }

    fn regulars(&mut self, items: &[Item]) -> Result<Vec<Language>> {
        items.iter().map(|item| self.regular(item)).collect()
    }

    /// The language of a rule, made from those of the rules that it calls.
    pub(super) fn rule_language(&mut self, rule: usize, at: usize) -> Result<Language> {
        if let Some(language) = self.languages[rule] {
            return Ok(language);
        }
        let mut needed = vec![false; self.bodies.len()];
        let mut todo = vec![rule];
        while let Some(rule) = todo.pop() {
            if std::mem::replace(&mut needed[rule], true) || self.languages[rule].is_some() {
                continue;
            }
            self.bodies[rule].visit(|item| {
                if let Kind::Rule(callee) = item.kind {
                    todo.push(callee);
                }
            });
        }
        let outer = self.rule;
        // Callees first, so that no call goes deeper than one body.
        for &known in &self.acyclic.clone() {
            if needed[known] && self.languages[known].is_none() {
                self.rule = known;
                let language = self.regular(&self.bodies[known])?;
                self.languages[known] = Some(language);
            }
        }
        self.rule = outer;
        self.languages[rule].ok_or_else(|| {
            let name = &self.names[rule];
            self.text
                .error(at, format!("`{name}` calls itself where the text must be regular"))
                .with_help("and, not, exceptions and terminals take no recursive rules")
        })
    }
}
