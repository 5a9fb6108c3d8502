//! From what a Lark grammar says to its rules: templates and rules with a parameter are written out
//! for what they are used with, and what is ignored is put behind every terminal of a rule (and
//! before the first).

use rustc_hash::FxHashMap;

use super::ast::{Definition, Expr, ExprKind, File, is_terminal};
use super::parameter::Function;
use super::{EMBEDDING, common, parse_nested, substring};
use crate::ebnf::environment::Environment;
use crate::ebnf::rules::{Item, Kind, Rules, defined_twice};
use crate::ebnf::text::{Text, nearest};
use crate::ebnf::tokens;
use crate::error::Result;
use crate::grammar::{Grammar, SpecialToken};

/// How many different uses of templates a grammar may have.
const INSTANCES: usize = 2_000;
/// How long the arguments of a template may grow, printed.
const ARGUMENTS: usize = 10_000;
/// How many values of parameters the calls of a grammar may reach, all rules together.
const VALUES: usize = 1 << 14;
/// The greatest set of special tokens that is given by ranges.
const TOKENS: u32 = 4_096;
/// The rule of what is ignored; no name that can be written.
const IGNORED: &str = "%ignore";

pub(super) fn lower(
    text: &Text<'_>,
    file: &File,
    environment: &dyn Environment,
    depth: usize,
) -> Result<Grammar> {
    let mut lowering = Lowering {
        text,
        rules: Rules::new(":", environment).lazy_first(),
        templates: templates(text, file)?,
        ignores: !file.ignored.is_empty(),
        depth,
        instances: 0,
        values: 0,
        todo: Vec::new(),
    };
    lowering.file(file)?;
    lowering.rules.finish(text, "start")
}

/// The rules that are written out for what they are used with.
fn templates<'f>(text: &Text<'_>, file: &'f File) -> Result<FxHashMap<&'f str, &'f Definition>> {
    let mut templates: FxHashMap<&str, &Definition> = FxHashMap::default();
    for definition in file.definitions.iter().filter(|definition| definition.is_template()) {
        let Definition { at, name, .. } = definition;
        if is_terminal(name) {
            return Err(text
                .error(*at, "a terminal takes no parameters")
                .with_help("write the name of a template in small letters"));
        }
        if definition.parametric && !definition.parameters.is_empty() {
            return Err(text
                .error(*at, format!("`{name}` has arguments and a parameter of bits"))
                .with_help("let a template call a rule with a parameter"));
        }
        templates.insert(name, definition);
    }
    for definition in &file.definitions {
        let known = templates.get(definition.name.as_str());
        if known.is_some_and(|known| known.at != definition.at) {
            return Err(defined_twice(text, definition.at, &definition.name));
        }
    }
    Ok(templates)
}

/// What is a piece of text: a part of a terminal, or a part of a rule?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Terminal,
    Rule,
}

struct Lowering<'a> {
    text: &'a Text<'a>,
    rules: Rules<'a>,
    templates: FxHashMap<&'a str, &'a Definition>,
    /// Is anything ignored?
    ignores: bool,
    /// How many grammars this one is embedded in.
    depth: usize,
    instances: usize,
    values: usize,
    /// Uses of templates that have a name but no body yet.
    todo: Vec<(String, &'a Definition, Arguments)>,
}

/// What a template is used with.
enum Arguments {
    Exprs(Vec<Expr>),
    Value(u64),
}

impl Lowering<'_> {
    fn file(&mut self, file: &File) -> Result<()> {
        for import in &file.imports {
            let known = common::TERMINALS.iter().find(|(name, _)| *name == import.name);
            let Some((_, pattern)) = known else {
                let error = self.text.error(
                    import.at,
                    format!("the library `common` has no terminal `{}`", import.name),
                );
                let names = common::TERMINALS.iter().map(|(name, _)| *name);
                return Err(match nearest(&import.name, names) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => {
                        error.with_help("it has INT, NUMBER, WORD, CNAME, ESCAPED_STRING, WS, …")
                    }
                });
            };
            let body = self.rules.pattern(self.text, import.at, pattern)?;
            self.rules.define(self.text, &import.alias, import.at, body)?;
        }
        if let Some(first) = file.ignored.first() {
            let mut ignored = Vec::new();
            for expr in &file.ignored {
                ignored.push(self.expr(expr, Mode::Terminal)?);
            }
            let most = file.options.ignored_once.then_some(1);
            let body = Item::choice(first.at, ignored).repeat(0, most);
            self.rules.define(self.text, IGNORED, first.at, body)?;
        }
        for definition in file.definitions.iter().filter(|definition| !definition.is_template()) {
            let Definition { at, name, body, .. } = definition;
            let mut item = self.body(definition, body)?;
            if name == "start" && self.ignores && !file.options.begins_with_text {
                let ignored = self.rules.call(IGNORED, *at);
                item = Item::sequence(*at, vec![ignored, item]);
            }
            if is_terminal(name) {
                self.rules.require_regular(name, *at);
            }
            self.rules.define(self.text, name, *at, item)?;
        }
        while let Some((name, template, arguments)) = self.todo.pop() {
            let mut scope = Scope::default();
            match &arguments {
                Arguments::Exprs(exprs) => {
                    let parameters = template.parameters.iter().map(String::as_str);
                    scope.exprs = parameters.zip(exprs).collect();
                }
                Arguments::Value(value) => scope.value = Some(*value),
            }
            let item = self.body(template, &scope.substitute(&template.body))?;
            self.rules.define(self.text, &name, template.at, item)?;
        }
        Ok(())
    }

    /// The right-hand side of a definition, `body` being its own or an instance of it.
    fn body(&mut self, definition: &Definition, body: &Expr) -> Result<Item> {
        let is_terminal = is_terminal(&definition.name);
        if !definition.lazy {
            return self.expr(body, if is_terminal { Mode::Terminal } else { Mode::Rule });
        }
        let at = definition.at;
        let mut parts = match &body.kind {
            ExprKind::Sequence(parts) => parts.clone(),
            _ => vec![body.clone()],
        };
        parts.extend(definition.suffix.clone());
        if let Some((Expr { at, kind: ExprKind::Special(inner) }, before)) = parts.split_last() {
            let token = self.special(*at, inner)?;
            if self.is_no_text(&token)? {
                // The text before it holds no such token, so it ends at the first one anyway.
                let mut items = self.all(before, Mode::Terminal)?;
                items.push(self.followed(token));
                return Ok(Item::sequence(*at, items));
            }
        }
        let text = Item::sequence(at, self.all(&parts, Mode::Terminal)?);
        let item = Item::new(at, Kind::Lazy(Box::new(text)));
        Ok(if is_terminal { item } else { self.followed(item) })
    }

    /// Is it one of some tokens that no text spells?
    fn is_no_text(&self, item: &Item) -> Result<bool> {
        let Kind::Special(tokens) = &item.kind else { return Ok(false) };
        for token in tokens {
            let special = self.rules.environment.is_special(token);
            if special.map_err(|error| self.text.embed(item.at, &error))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What is ignored may stand behind it.
    fn followed(&mut self, item: Item) -> Item {
        if !self.ignores {
            return item;
        }
        let at = item.at;
        let ignored = self.rules.call(IGNORED, at);
        Item::new(at, Kind::Sequence(vec![item, ignored]))
    }

    fn all(&mut self, exprs: &[Expr], mode: Mode) -> Result<Vec<Item>> {
        exprs.iter().map(|expr| self.expr(expr, mode)).collect()
    }

    fn expr(&mut self, expr: &Expr, mode: Mode) -> Result<Item> {
        let at = expr.at;
        match &expr.kind {
            ExprKind::Sequence(parts) => Ok(Item::sequence(at, self.all(parts, mode)?)),
            ExprKind::Choice(parts) => Ok(Item::choice(at, self.all(parts, mode)?)),
            ExprKind::Repeat(inner, min, max) => Ok(self.expr(inner, mode)?.repeat(*min, *max)),
            ExprKind::Name(name) if !is_terminal(name) => {
                if mode == Mode::Terminal {
                    return Err(self
                        .text
                        .error(
                            at,
                            format!("`{name}` is a rule, and a terminal is made of terminals"),
                        )
                        .with_help("write its name in capital letters"));
                }
                if let Some(template) = self.templates.get(name.as_str()) {
                    return Err(match template.parametric {
                        false => self.arguments(at, name, 0),
                        true => self
                            .text
                            .error(at, format!("`{name}` takes a parameter"))
                            .with_help(format!("write `{name}::0x0`, or `{name}::_` to pass on")),
                    });
                }
                Ok(self.rules.call(name, at))
            }
            ExprKind::Template(name, arguments) => self.instance(at, name, arguments, mode),
            ExprKind::Parametric(name, function) => self.value(at, name, *function, mode),
            ExprKind::If(..) => Err(self
                .text
                .error(at, "`%if` asks for a parameter, and this rule has none")
                .with_help("define the rule as `name::_: …`")),
            // Everything else is a terminal or takes its place.
            _ => {
                let item = self.terminal(expr, mode)?;
                Ok(if mode == Mode::Rule { self.followed(item) } else { item })
            }
        }
    }

    fn terminal(&mut self, expr: &Expr, mode: Mode) -> Result<Item> {
        let at = expr.at;
        if mode == Mode::Terminal
            && let ExprKind::Special(_)
            | ExprKind::Json(_)
            | ExprKind::Lark(_)
            | ExprKind::Grammar(_) = &expr.kind
        {
            return Err(self
                .text
                .error(at, "a terminal holds no special token and no other grammar")
                .with_help("write the name of what holds it in small letters"));
        }
        match &expr.kind {
            ExprKind::Text { text, caseless: false } => Ok(self.rules.literal(at, text)),
            ExprKind::Text { text, caseless: true } => {
                Ok(self.rules.caseless_literal(at, text, true))
            }
            ExprKind::Range(first, last) => {
                Ok(self.rules.class(at, &[(u32::from(*first), u32::from(*last))]))
            }
            ExprKind::Pattern(pattern) => self.rules.pattern(self.text, at, pattern),
            ExprKind::And(parts) => {
                let parts = self.all(parts, Mode::Terminal)?;
                Ok(Item::new(at, Kind::And(parts)))
            }
            ExprKind::Not(inner) => {
                let inner = self.expr(inner, Mode::Terminal)?;
                Ok(Item::new(at, Kind::Not(Box::new(inner))))
            }
            ExprKind::Name(name) => Ok(self.rules.call(name, at)),
            ExprKind::Special(inner) => self.special(at, inner),
            ExprKind::Json(schema) => {
                let grammar = self.rules.environment.json_schema(schema);
                self.rules.embed(self.text, at, grammar)
            }
            ExprKind::Grammar(name) => {
                let grammar = self.rules.environment.grammar(name);
                self.rules.embed(self.text, at, grammar)
            }
            ExprKind::Lark(inner) => {
                if self.depth == EMBEDDING {
                    let message = format!("grammars nest more than {EMBEDDING} deep");
                    return Err(self.text.error(at, message));
                }
                let grammar = parse_nested(inner, self.rules.environment, self.depth + 1);
                self.rules.embed(self.text, at, grammar)
            }
            ExprKind::Regex(json) => {
                let chunks =
                    substring::chunks(json).map_err(|error| self.text.embed(at, &error))?;
                let language = substring::language(self.rules.builder.languages(), &chunks)
                    .map_err(|error| self.text.embed(at, &error))?;
                Ok(Item::new(at, Kind::Regular(language)))
            }
            // `expr` has taken these.
            ExprKind::Sequence(_)
            | ExprKind::Choice(_)
            | ExprKind::Repeat(..)
            | ExprKind::Template(..)
            | ExprKind::Parametric(..)
            | ExprKind::If(..) => self.expr(expr, mode),
        }
    }

    fn arguments(&self, at: usize, name: &str, given: usize) -> crate::error::Error {
        let wanted = self.templates.get(name).map_or(0, |template| template.parameters.len());
        self.text.error(at, format!("`{name}` takes {wanted} arguments, {given} are given"))
    }

    /// The rule of one use of a template.
    fn instance(&mut self, at: usize, name: &str, arguments: &[Expr], mode: Mode) -> Result<Item> {
        if mode == Mode::Terminal {
            return Err(self.text.error(at, "a template is a rule, and a terminal holds no rules"));
        }
        let template = self.templates.get(name).filter(|template| !template.parametric);
        let Some(&template) = template else {
            let error = self.text.error(at, format!("there is no template `{name}`"));
            return Err(match nearest(name, self.templates.keys().copied()) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help(format!("define it as `{name}{{item}}: …`")),
            });
        };
        if template.parameters.len() != arguments.len() {
            return Err(self.arguments(at, name, arguments.len()));
        }
        let printed = format!("{name}{arguments:?}");
        self.instances += 1;
        if printed.len() > ARGUMENTS || self.instances > INSTANCES {
            return Err(self
                .text
                .error(at, format!("the template `{name}` is used with ever more arguments"))
                .with_help("let a template call itself with its own arguments only"));
        }
        let known = self.rules.is_known(&printed);
        let item = self.rules.call(&printed, at);
        if !known {
            self.todo.push((printed, template, Arguments::Exprs(arguments.to_vec())));
        }
        Ok(item)
    }

    /// The rule of one value of a parameter.
    fn value(&mut self, at: usize, name: &str, function: Function, mode: Mode) -> Result<Item> {
        if mode == Mode::Terminal {
            let message = "a rule with a parameter is no part of a terminal";
            return Err(self.text.error(at, message));
        }
        let Some(&template) = self.templates.get(name).filter(|template| template.parametric)
        else {
            return Err(self
                .text
                .error(at, format!("there is no rule `{name}` with a parameter"))
                .with_help(format!("define it as `{name}::_: …`")));
        };
        let Function::Constant(value) = function else {
            return Err(self
                .text
                .error(at, "the rule that this stands in has no parameter to pass on")
                .with_help(format!("begin with a number, such as `{name}::0x0`")));
        };
        let written = format!("{name}::{value:#x}");
        if !self.rules.is_known(&written) {
            self.values += 1;
            if self.values > VALUES {
                let message = format!("calls reach more than {VALUES} values of parameters");
                return Err(self
                    .text
                    .error(at, message)
                    .with_help("use fewer bits, or ask in `%if` for what bounds the parameter"));
            }
            self.todo.push((written.clone(), template, Arguments::Value(value)));
        }
        Ok(self.rules.call(&written, at))
    }

    /// `name`, `[7]`, `[7-9,12]`, `[^7]` or `[*]`, from between angle brackets.
    fn special(&mut self, at: usize, inner: &str) -> Result<Item> {
        let ids = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let Some(ids) = ids else {
            let name = SpecialToken::Name(format!("<{inner}>"));
            return Ok(Item::new(at, Kind::Special(vec![name])));
        };
        if ids == "*" {
            return tokens::any_but(&mut self.rules, self.text, at, &[]);
        }
        let negated = ids.strip_prefix('^');
        let mut tokens = Vec::new();
        for range in negated.unwrap_or(ids).split(',') {
            let bad = || {
                self.text
                    .error(at, format!("`{range}` is no token id and no range of them"))
                    .with_help("write `<[7]>`, `<[7-9,12]>`, `<[^7]>` or `<[*]>`")
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let first: u32 = first.trim().parse().map_err(|_| bad())?;
            let last: u32 = last.trim().parse().map_err(|_| bad())?;
            if last < first {
                return Err(self.text.error(at, "the range ends before it begins"));
            }
            if last - first >= TOKENS || tokens.len() >= TOKENS as usize {
                return Err(self
                    .text
                    .error(at, format!("a set of more than {TOKENS} tokens"))
                    .with_help("describe ordinary text by patterns"));
            }
            tokens.extend((first..=last).map(SpecialToken::Id));
        }
        match negated {
            Some(_) => {
                // Ordinary text has no ids; only special tokens can be left out.
                tokens::any_but(&mut self.rules, self.text, at, &tokens)
            }
            None => Ok(Item::new(at, Kind::Special(tokens))),
        }
    }
}

/// What parameters stand for in one use of a template.
#[derive(Default)]
struct Scope<'s> {
    exprs: FxHashMap<&'s str, &'s Expr>,
    value: Option<u64>,
}

impl Scope<'_> {
    /// The expression with arguments in the place of parameters.
    fn substitute(&self, expr: &Expr) -> Expr {
        let all = |exprs: &[Expr]| exprs.iter().map(|expr| self.substitute(expr)).collect();
        let kind = match (&expr.kind, self.value) {
            (ExprKind::Name(name), _) => match self.exprs.get(name.as_str()) {
                Some(&argument) => return argument.clone(),
                None => expr.kind.clone(),
            },
            (ExprKind::Parametric(name, function), Some(value)) => {
                ExprKind::Parametric(name.clone(), Function::Constant(function.apply(value)))
            }
            // Without any way there is no text.
            (ExprKind::If(inner, condition), Some(value)) => match condition.holds(value) {
                true => return self.substitute(inner),
                false => ExprKind::Choice(Vec::new()),
            },
            (ExprKind::Template(name, arguments), _) => {
                ExprKind::Template(name.clone(), all(arguments))
            }
            (ExprKind::Sequence(parts), _) => ExprKind::Sequence(all(parts)),
            (ExprKind::Choice(parts), _) => ExprKind::Choice(all(parts)),
            (ExprKind::And(parts), _) => ExprKind::And(all(parts)),
            (ExprKind::Not(inner), _) => ExprKind::Not(Box::new(self.substitute(inner))),
            (ExprKind::Repeat(inner, min, max), _) => {
                ExprKind::Repeat(Box::new(self.substitute(inner)), *min, *max)
            }
            (other, _) => other.clone(),
        };
        Expr { at: expr.at, kind }
    }
}
