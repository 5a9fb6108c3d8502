//! From the syntax of a Lark grammar to the rules that all notations share.
//!
//! Templates and rules with a parameter are instantiated for what they are used with. What
//! `%ignore` names becomes a rule that is called after every terminal of a rule, and before the
//! first:
//!
//! ```text
//! start: "a" B     %ignore " "
//! start: %ignore "a" %ignore B %ignore     %ignore: " "*
//! ```

mod instances;
mod token_set;

use rustc_hash::FxHashMap;

use token_set::token_set;

use super::ast::{
    LarkDefinition, LarkExpr, LarkExprKind, MODULE_SEPARATOR, RuleAttributes, is_terminal,
};
use super::longest_match::{IgnoredText, OpenText, after_open, before_end};
use super::modules::{IgnoreGroup, LinkedDefinition, LinkedGrammar};
use super::templates::{self, TemplateArguments};
use super::terminal_languages::{TerminalLanguages, written_out};
use super::{MAX_EMBEDDING, blank_columns, parse_nested, substring};
use crate::ebnf::environment::Environment;
use crate::ebnf::expression::{ParameterExpr, RuleAttribute, RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::GrammarText;
use crate::ebnf::notation::grammar_by_name;
use crate::ebnf::rule_table::RuleTable;
use crate::error::{Error, Result};
use crate::grammar::{Grammar, RuleId, TokenSet};
use crate::regular::{Dialect, Language};

/// Values of parameters that are written out at once, all rules together; each is a rule.
const MAX_PARAMETER_VALUES: usize = 1 << 9;
/// The same in grammars with lazy rules, which need all values at once.
const MAX_VALUES_WITH_LAZY_RULES: usize = 1 << 14;
/// Tokens that the sets of a grammar list in all, of 24 bytes each.
const MAX_LISTED_TOKENS: usize = 1 << 18;
/// The rule of a text that may end in ignored text that could go on; no grammar can define a rule of this
/// name.
const WHOLE: &str = "%text";
/// The start rule, unless another one is chosen.
const START: &str = "start";

/// The grammar of a linked text that is embedded in `depth` others.
pub(super) fn lower(
    text: &GrammarText<'_>,
    grammar: &LinkedGrammar,
    environment: &dyn Environment,
    depth: usize,
    mode: ParameterMode,
) -> Result<Grammar> {
    let is_lazy = |linked: &&LinkedDefinition| linked.definition.attributes.is_lazy;
    let lazy = grammar.definitions.iter().find(is_lazy);
    if mode == ParameterMode::Entered {
        if let Some(linked) = lazy {
            return Err(text
                .error(linked.definition.at, "a lazy rule stands in a grammar with indentation")
                .with_help("describe its end in the pattern"));
        }
        let lowered = lower_as(text, grammar, environment, depth, mode);
        return lowered
            .map_err(|(Unlowered::Error(error) | Unlowered::TooManyValues(error))| error);
    }
    let expanded = lower_as(text, grammar, environment, depth, ParameterMode::Expanded);
    match expanded {
        Err(Unlowered::TooManyValues(_)) if lazy.is_none() => {
            lower_as(text, grammar, environment, depth, ParameterMode::Entered)
        }
        other => other,
    }
    .map_err(|error| match error {
        Unlowered::Error(error) | Unlowered::TooManyValues(error) => error,
    })
}

/// The time at which rules with a parameter are written out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterMode {
    /// Now, for all values that calls reach: regular ones become terminals, and lazy rules may
    /// stand among them.
    Expanded,
    /// On demand, when a text enters a rule.
    Entered,
}

/// The reason why a grammar was not lowered.
enum Unlowered {
    Error(Error),
    /// Calls reach more values of parameters than are written out.
    TooManyValues(Error),
}

fn lower_as(
    text: &GrammarText<'_>,
    grammar: &LinkedGrammar,
    environment: &dyn Environment,
    depth: usize,
    mode: ParameterMode,
) -> std::result::Result<Grammar, Unlowered> {
    let rules = RuleTable::new(":", environment).lazy_first();
    let start = if depth == 0 { rules.start_rule(START) } else { START };
    let mut lowering = LarkLowering {
        text,
        mode,
        has_parameter: false,
        rules,
        start,
        templates: templates::collect(text, grammar).map_err(Unlowered::Error)?,
        grammar,
        open: Vec::new(),
        groups: &grammar.groups,
        declared: &grammar.declared,
        group: 0,
        embedded: FxHashMap::default(),
        depth,
        instances: 0,
        listed_tokens: 0,
        values: 0,
        max_values: if grammar.definitions.iter().any(|l| l.definition.attributes.is_lazy) {
            MAX_VALUES_WITH_LAZY_RULES
        } else {
            MAX_PARAMETER_VALUES
        },
        todo: Vec::new(),
    };
    if let Err(error) = lowering.grammar(grammar) {
        let is_limit = lowering.values > lowering.max_values;
        return Err(if is_limit { Unlowered::TooManyValues } else { Unlowered::Error }(error));
    }
    let start = lowering.start;
    lowering.rules.finish(text, start).map_err(Unlowered::Error)
}

/// The kind of definition that an expression is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LarkContext {
    Terminal,
    Rule,
}

/// More than 12 fields: what is looked up, what is counted, and the place that is being lowered.
struct LarkLowering<'a> {
    text: &'a GrammarText<'a>,
    rules: RuleTable<'a>,
    /// The name of the start rule.
    start: &'a str,
    templates: FxHashMap<&'a str, &'a LinkedDefinition>,
    grammar: &'a LinkedGrammar,
    /// By group, the ignored text that could go on.
    open: Vec<Vec<OpenText>>,
    groups: &'a [IgnoreGroup],
    declared: &'a FxHashMap<String, usize>,
    /// The group of the definition that is being lowered.
    group: usize,
    /// Grammars in other notations, by the name that they are referred to by.
    embedded: FxHashMap<String, RuleId>,
    /// The number of grammars that this one is embedded in.
    depth: usize,
    mode: ParameterMode,
    /// Whether the rule that is being lowered has a parameter to pass on.
    has_parameter: bool,
    /// Uses of templates so far.
    instances: usize,
    /// Tokens that sets have listed so far.
    listed_tokens: usize,
    /// Values of parameters so far.
    values: usize,
    /// Values of parameters that are written out.
    max_values: usize,
    /// Instances that have a name and no body yet.
    todo: Vec<(String, &'a LinkedDefinition, TemplateArguments)>,
}

/// An expression with the attributes of its rule that apply to the text of the rule as a whole.
fn with_attributes(item: RuleExpr, attributes: &RuleAttributes) -> RuleExpr {
    item.with(attributes.max_tokens.map(RuleAttribute::MaxTokens))
        .with(attributes.temperature.map(RuleAttribute::Temperature))
        .with(attributes.capture.clone().map(RuleAttribute::Capture))
}

impl<'a> LarkLowering<'a> {
    /// Lowers all imports, definitions and instances.
    fn grammar(&mut self, grammar: &LinkedGrammar) -> Result<()> {
        for (at, name, pattern) in &grammar.library {
            let terminals = self.terminals();
            let body = terminals.of_library(&mut self.rules, *at, pattern)?;
            self.rules.define(self.text, name, *at, body)?;
        }
        let is_captured =
            |linked: &LinkedDefinition| linked.definition.attributes.capture.is_some();
        let has_captures = grammar.definitions.iter().any(is_captured);
        for (index, group) in grammar.groups.iter().enumerate() {
            self.group = index;
            let text = if grammar.newline.is_some() || group.options.ignored_once {
                IgnoredText::closed(&group.ignored)
            } else {
                IgnoredText::split(self.terminals(), &mut self.rules, &group.ignored, index)?
            };
            let Some(first) = group.ignored.first() else {
                self.open.push(Vec::new());
                continue;
            };
            let ignored = text.ways(first.at, |closed| {
                closed.iter().map(|expr| self.whole_terminal(expr)).collect()
            })?;
            let open = text.open.into_iter();
            self.open.push(if has_captures {
                open.map(OpenText::marked).collect()
            } else {
                open.collect()
            });
            let most = group.options.ignored_once.then_some(1);
            let body = RuleExpr::choice(first.at, ignored).repeat(0, most);
            let body = body.with(has_captures.then_some(RuleAttribute::Ignored));
            self.rules.define(self.text, &group.rule, first.at, body)?;
        }
        if let Some(newline) = &grammar.newline {
            self.group = 0;
            blank_columns::check_newline(self.terminals(), &mut self.rules, newline)?;
        }
        for LinkedDefinition { definition, group } in &grammar.definitions {
            if definition.is_template() {
                continue;
            }
            self.group = *group;
            self.has_parameter = false;
            let LarkDefinition { at, name, body, .. } = definition;
            let mut item = self.body(definition, body)?;
            let group = &self.groups[*group];
            let start = if self.group == 0 { self.start } else { &group.start };
            if name == start && self.has_ignored() && !group.options.begins_with_text {
                let ignored = self.rules.call(&group.rule, *at);
                item = RuleExpr::sequence(*at, vec![ignored, item]);
            }
            if name == start && self.group > 0 {
                item = before_end(item, &self.open[self.group]);
            }
            if is_terminal(name) {
                self.rules.require_regular(name, *at);
            }
            self.rules.define(self.text, name, *at, item)?;
        }
        while let Some((name, template, arguments)) = self.todo.pop() {
            let LinkedDefinition { definition, group } = template;
            self.group = *group;
            let bindings = arguments.bindings(definition);
            self.has_parameter = arguments.pass_parameter();
            let item = self.body(definition, &bindings.substitute(&definition.body))?;
            self.rules.define(self.text, &name, definition.at, item)?;
        }
        self.group = 0;
        if self.rules.is_defined(self.start) && !self.open.iter().take(1).all(Vec::is_empty) {
            let start = self.rules.call(self.start, 0);
            let whole = before_end(start, &self.open[0]);
            self.start = WHOLE;
            self.rules.define(self.text, WHOLE, 0, whole)?;
        }
        Ok(())
    }

    /// The languages of terminals.
    fn terminals(&self) -> TerminalLanguages<'a> {
        TerminalLanguages { text: self.text, grammar: self.grammar }
    }

    /// Whether something may stand between terminals.
    fn has_ignored(&self) -> bool {
        !self.groups[self.group].ignored.is_empty()
    }

    /// Whether a terminal is declared and not defined.
    fn is_declared_only(&self, name: &str) -> bool {
        self.declared.contains_key(name)
    }

    /// The right-hand side of a definition, `body` being its own or an instance of it.
    fn body(&mut self, definition: &LarkDefinition, body: &LarkExpr) -> Result<RuleExpr> {
        let is_terminal = is_terminal(&definition.name);
        let (at, attributes) = (definition.at, &definition.attributes);
        if is_terminal && attributes.are_of_rules() {
            let message = format!(
                "`{}` is a terminal, and rules have captures, temperatures and bounds of tokens",
                definition.name
            );
            return Err(self
                .text
                .error(at, message)
                .with_help("give the attribute to a rule of this terminal alone"));
        }
        if !attributes.is_lazy {
            let is_sampled = attributes.max_tokens.is_some() || attributes.temperature.is_some();
            let is_one_terminal = is_terminal || is_sampled && body.is_of_terminals();
            if !is_one_terminal && !attributes.bound_text() {
                let item = self.expr(body, LarkContext::Rule)?;
                return Ok(with_attributes(item, attributes));
            }
            let item = if attributes.bound_text() {
                self.bounded(definition, body)?
            } else {
                self.whole_terminal(body)?
            };
            let item = with_attributes(item, attributes);
            return Ok(if is_terminal { item } else { self.with_ignored_after(item) });
        }
        let body = match &body.kind {
            LarkExprKind::Sequence(parts) => parts.clone(),
            _ => vec![body.clone()],
        };
        let mut parts = body.clone();
        parts.extend(attributes.suffix.clone());
        let stop_capture = attributes.stop_capture.clone().map(RuleAttribute::Capture);
        if let Some((LarkExpr { at, kind: LarkExprKind::Special(inner) }, before)) =
            parts.split_last()
        {
            let token = self.token_set(*at, inner)?;
            if self.is_no_text(&token)? {
                // The text before it holds no such token, so it ends at the first one anyway.
                let before = RuleExpr::sequence(*at, self.all(before, LarkContext::Terminal)?);
                let capture = attributes.capture.clone().map(RuleAttribute::Capture);
                let token = self.with_ignored_after(token.with(stop_capture));
                let whole = RuleExpr::sequence(*at, vec![before.with(capture), token]);
                let attributes = RuleAttributes { capture: None, ..attributes.clone() };
                return Ok(with_attributes(whole, &attributes));
            }
        }
        let text = LarkExpr { at, kind: LarkExprKind::Sequence(parts) };
        let text = self.bounded(definition, &text)?;
        let mut item = RuleExpr::new(at, RuleExprKind::Lazy(Box::new(text)));
        let mut attributes = attributes.clone();
        if let Some(suffix) = &attributes.suffix
            && (attributes.capture.is_some() || stop_capture.is_some())
        {
            // The suffix is no part of the rule's own capture.
            let capture = attributes.capture.take().map(RuleAttribute::Capture);
            let before = RuleExpr::sequence(at, self.all(&body, LarkContext::Terminal)?);
            let suffix = self.expr(suffix, LarkContext::Terminal)?;
            let parts = vec![before.with(capture), suffix.with(stop_capture)];
            let parts = RuleExpr::new(at, RuleExprKind::Sequence(parts));
            item = item.with(Some(RuleAttribute::CaptureFrom(Box::new(parts))));
        }
        let item = with_attributes(item, &attributes);
        Ok(if is_terminal { item } else { self.with_ignored_after(item) })
    }

    /// A text of terminals within the bounds of its rule; its tokens are counted by the caller.
    fn bounded(&mut self, definition: &LarkDefinition, body: &LarkExpr) -> Result<RuleExpr> {
        let at = definition.at;
        let mut item = self.expr(body, LarkContext::Terminal)?;
        if let Some(stop) = &definition.attributes.stop {
            // It begins with no text of the rule and the stop text after that.
            let again = self.expr(body, LarkContext::Terminal)?;
            let stop = self.expr(stop, LarkContext::Terminal)?;
            let any = RuleExpr::new(at, RuleExprKind::Regular(Language::ALL));
            let stopped = RuleExpr::sequence(at, vec![again, stop, any]);
            item = RuleExpr::new(at, RuleExprKind::Except(Box::new(item), Box::new(stopped)));
        }
        if let Some(most) = definition.attributes.max_chars {
            let characters =
                self.rules.pattern(self.text, at, &format!("(?s:.){{0,{most}}}"), Dialect::Rust)?;
            item = RuleExpr::new(at, RuleExprKind::And(vec![item, characters]));
        }
        Ok(item)
    }

    /// Whether an expression is a set of special tokens of which no text has any.
    fn is_no_text(&self, item: &RuleExpr) -> Result<bool> {
        let RuleExprKind::Special(TokenSet::OneOf(tokens)) = &item.kind else { return Ok(false) };
        for token in tokens {
            let special = self.rules.environment.is_special(token);
            if special.map_err(|error| self.text.embed(item.at, &error))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The expression with ignored text after it.
    fn with_ignored_after(&mut self, item: RuleExpr) -> RuleExpr {
        if !self.has_ignored() {
            return item;
        }
        let at = item.at;
        let ignored = self.rules.call(&self.groups[self.group].rule, at);
        RuleExpr::new(at, RuleExprKind::Sequence(vec![item, ignored]))
    }

    fn all(&mut self, exprs: &[LarkExpr], context: LarkContext) -> Result<Vec<RuleExpr>> {
        exprs.iter().map(|expr| self.expr(expr, context)).collect()
    }

    /// A terminal that is not a part of another one.
    fn whole_terminal(&mut self, expr: &LarkExpr) -> Result<RuleExpr> {
        let at = expr.at;
        if let LarkExprKind::Choice(parts) = &expr.kind {
            let parts: Result<_> = parts.iter().map(|part| self.whole_terminal(part)).collect();
            return Ok(RuleExpr::choice(at, parts?));
        }
        match self.terminals().joined(&mut self.rules, expr, self.group)? {
            Some(joined) => Ok(joined),
            None => self.expr(expr, LarkContext::Terminal),
        }
    }

    fn expr(&mut self, expr: &LarkExpr, context: LarkContext) -> Result<RuleExpr> {
        let at = expr.at;
        match &expr.kind {
            LarkExprKind::Sequence(parts) => Ok(RuleExpr::sequence(at, self.all(parts, context)?)),
            LarkExprKind::Choice(parts) => Ok(RuleExpr::choice(at, self.all(parts, context)?)),
            LarkExprKind::Repeat(inner, min, max) => {
                Ok(self.expr(inner, context)?.repeat(*min, *max))
            }
            LarkExprKind::Name(name) if !is_terminal(name) => {
                if context == LarkContext::Terminal {
                    return Err(self
                        .text
                        .error(
                            at,
                            format!("`{name}` is a rule, and a terminal is made of terminals"),
                        )
                        .with_help("write its name in capital letters"));
                }
                if let Some(template) = self.templates.get(name.as_str()) {
                    return Err(if template.definition.is_parametric {
                        self.text
                            .error(at, format!("`{name}` takes a parameter"))
                            .with_help(format!("write `{name}::0x0`, or `{name}::_` to pass on"))
                    } else {
                        self.wrong_count(at, name, 0)
                    });
                }
                Ok(self.rules.call(name, at))
            }
            LarkExprKind::Template(name, arguments) => self.instance(at, name, arguments, context),
            LarkExprKind::Parametric(name, function) => self.value(at, name, *function, context),
            &LarkExprKind::Blanks { tab, less } => {
                let blanks = ParameterExpr::Blanks { tab, less };
                Ok(RuleExpr::new(at, RuleExprKind::Parameter(blanks)))
            }
            LarkExprKind::If(inner, condition) if self.has_parameter => {
                let condition = ParameterExpr::If(condition.clone());
                let condition = RuleExpr::new(at, RuleExprKind::Parameter(condition));
                Ok(RuleExpr::sequence(at, vec![condition, self.expr(inner, context)?]))
            }
            LarkExprKind::If(..) => Err(self
                .text
                .error(at, "`%if` asks for a parameter, and this rule has none")
                .with_help("define the rule as `name::_: …`")),
            // Everything else is a terminal or takes its place.
            _ => {
                if context == LarkContext::Rule && self.group == 0 && self.grammar.newline.is_some()
                {
                    blank_columns::check_terminal(self.terminals(), &mut self.rules, expr)?;
                }
                // None while ignored text itself is read.
                let open = self.open.get(self.group).map_or(&[][..], Vec::as_slice);
                // JSON begins with nothing that ends a comment.
                let is_json = matches!(expr.kind, LarkExprKind::Json(_));
                let item = if context == LarkContext::Rule && !open.is_empty() && !is_json {
                    let open = open.to_vec();
                    self.after_open(expr, &open)?
                } else {
                    self.terminal(expr, context)?
                };
                Ok(if context == LarkContext::Rule { self.with_ignored_after(item) } else { item })
            }
        }
    }

    /// A terminal of a rule, perhaps after ignored text that could go on.
    fn after_open(&mut self, expr: &LarkExpr, open: &[OpenText]) -> Result<RuleExpr> {
        let found = self.terminals().language(&mut self.rules, expr, self.group)?;
        let mut items = Vec::new();
        for _ in 0..=open.len() {
            items.push(self.terminal(expr, LarkContext::Rule)?);
        }
        after_open(&mut self.rules, (expr.at, found), open, items)
    }

    fn token_set(&mut self, at: usize, inner: &str) -> Result<RuleExpr> {
        let set = token_set(self.text, at, inner)?;
        if let RuleExprKind::Special(TokenSet::OneOf(tokens) | TokenSet::Except(tokens)) = &set.kind
        {
            self.listed_tokens += tokens.len();
        }
        if self.listed_tokens > MAX_LISTED_TOKENS {
            let message = format!("sets list more than {MAX_LISTED_TOKENS} tokens in all");
            return Err(self.text.error(at, message).with_help("write a set once, as a rule"));
        }
        Ok(set)
    }

    fn terminal(&mut self, expr: &LarkExpr, context: LarkContext) -> Result<RuleExpr> {
        let at = expr.at;
        if context == LarkContext::Terminal
            && let LarkExprKind::Special(_)
            | LarkExprKind::Json(_)
            | LarkExprKind::Lark(_)
            | LarkExprKind::Grammar(_) = &expr.kind
        {
            return Err(self
                .text
                .error(at, "a terminal holds no special token and no other grammar")
                .with_help("write the name of what holds it in small letters"));
        }
        if context == LarkContext::Rule
            && let Some(joined) = self.terminals().joined(&mut self.rules, expr, self.group)?
        {
            return Ok(joined);
        }
        if let Some(item) = written_out(&mut self.rules, self.text, expr, self.group)? {
            return Ok(item);
        }
        match &expr.kind {
            LarkExprKind::And(parts) => {
                let parts = self.all(parts, LarkContext::Terminal)?;
                Ok(RuleExpr::new(at, RuleExprKind::And(parts)))
            }
            LarkExprKind::Not(inner) => {
                let inner = self.expr(inner, LarkContext::Terminal)?;
                Ok(RuleExpr::new(at, RuleExprKind::Not(Box::new(inner))))
            }
            LarkExprKind::Name(name) if self.is_declared_only(name) => Err(self
                .text
                .error(at, format!("`{name}` is declared, and no pattern says what it reads"))
                .with_help("define the terminal in this grammar")),
            LarkExprKind::Name(name) => Ok(self.rules.call(name, at)),
            LarkExprKind::Special(inner) => self.token_set(at, inner),
            LarkExprKind::Json(schema) => {
                let grammar = self.rules.environment.json_schema(schema);
                self.rules.embed(self.text, at, grammar)
            }
            LarkExprKind::Grammar(name) => {
                if name.contains(MODULE_SEPARATOR) {
                    return Ok(self.rules.call(name, at));
                }
                if let Some(&rule) = self.embedded.get(name) {
                    return Ok(RuleExpr::new(at, RuleExprKind::Embedded(rule)));
                }
                let grammar = grammar_by_name(self.rules.environment, name);
                let expr = self.rules.embed(self.text, at, grammar)?;
                if let RuleExprKind::Embedded(rule) = expr.kind {
                    self.embedded.insert(name.clone(), rule);
                }
                Ok(expr)
            }
            LarkExprKind::Lark(inner) => {
                if self.depth == MAX_EMBEDDING {
                    let message = format!("grammars nest more than {MAX_EMBEDDING} deep");
                    return Err(self.text.error(at, message));
                }
                let grammar = parse_nested(inner, self.rules.environment, self.depth + 1);
                self.rules.embed(self.text, at, grammar)
            }
            LarkExprKind::Regex(json) => {
                let chunks =
                    substring::chunks(json).map_err(|error| self.text.embed(at, &error))?;
                let language = substring::language(self.rules.builder.languages(), &chunks)
                    .map_err(|error| self.text.embed(at, &error))?;
                Ok(RuleExpr::new(at, RuleExprKind::Regular(language)))
            }
            // `expr` handles these before it calls this, and some are written out.
            LarkExprKind::Text { .. }
            | LarkExprKind::Range(..)
            | LarkExprKind::Pattern(_)
            | LarkExprKind::Sequence(_)
            | LarkExprKind::Choice(_)
            | LarkExprKind::Repeat(..)
            | LarkExprKind::Template(..)
            | LarkExprKind::Parametric(..)
            | LarkExprKind::Blanks { .. }
            | LarkExprKind::If(..) => self.expr(expr, context),
        }
    }
}
