//! From what a Lark grammar says to its rules: templates are written out, and what is ignored is
//! put behind every terminal of a rule (and before the first).

use rustc_hash::FxHashMap;

use super::ast::{Definition, Expr, ExprKind, File, is_terminal};
use super::{EMBEDDING, common, parse_nested, substring};
use crate::ebnf::environment::Environment;
use crate::ebnf::rules::{Item, Kind, Rules};
use crate::ebnf::text::{Text, nearest};
use crate::ebnf::tokens;
use crate::error::Result;
use crate::grammar::{Grammar, SpecialToken};

/// How many different uses of templates a grammar may have.
const INSTANCES: usize = 2_000;
/// How long the arguments of a template may grow, printed.
const ARGUMENTS: usize = 10_000;
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
    let templates = file.definitions.iter().filter(|definition| !definition.parameters.is_empty());
    let templates = templates.map(|definition| (definition.name.as_str(), definition)).collect();
    let ignores = !file.ignored.is_empty();
    let rules = Rules::new(":", environment);
    let todo = Vec::new();
    let mut lowering = Lowering { text, rules, templates, ignores, depth, instances: 0, todo };
    lowering.file(file)?;
    lowering.rules.finish(text, "start")
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
    /// Uses of templates that have a name but no body yet: name, template, arguments.
    todo: Vec<(String, &'a Definition, Vec<Expr>)>,
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
            let body = Item::choice(first.at, ignored).repeat(0, None);
            self.rules.define(self.text, IGNORED, first.at, body)?;
        }
        for definition in &file.definitions {
            let Definition { at, name, body, .. } = definition;
            if !definition.parameters.is_empty() {
                if is_terminal(name) {
                    return Err(self
                        .text
                        .error(*at, "a terminal takes no parameters")
                        .with_help("write the name of a template in small letters"));
                }
                continue;
            }
            let mut item = if definition.lazy {
                let body = self.expr(body, Mode::Terminal)?;
                let body = match &definition.suffix {
                    Some(suffix) => {
                        let suffix = self.expr(suffix, Mode::Terminal)?;
                        Item::sequence(*at, vec![body, suffix])
                    }
                    None => body,
                };
                let item = Item::new(*at, Kind::Lazy(Box::new(body)));
                if is_terminal(name) { item } else { self.followed(item) }
            } else if is_terminal(name) {
                self.expr(body, Mode::Terminal)?
            } else {
                self.expr(body, Mode::Rule)?
            };
            if name == "start" && self.ignores {
                let ignored = self.rules.call(IGNORED, *at);
                item = Item::sequence(*at, vec![ignored, item]);
            }
            if is_terminal(name) {
                self.rules.require_regular(name, *at);
            }
            self.rules.define(self.text, name, *at, item)?;
        }
        while let Some((name, template, arguments)) = self.todo.pop() {
            let parameters = template.parameters.iter().map(String::as_str);
            let scope: FxHashMap<&str, &Expr> = parameters.zip(&arguments).collect();
            let body = substitute(&template.body, &scope);
            let item = self.expr(&body, Mode::Rule)?;
            self.rules.define(self.text, &name, template.at, item)?;
        }
        Ok(())
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
                if self.templates.contains_key(name.as_str()) {
                    return Err(self.arguments(at, name, 0));
                }
                Ok(self.rules.call(name, at))
            }
            ExprKind::Template(name, arguments) => self.instance(at, name, arguments, mode),
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
            | ExprKind::Template(..) => self.expr(expr, mode),
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
        let Some(&template) = self.templates.get(name) else {
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
            self.todo.push((printed, template, arguments.to_vec()));
        }
        Ok(item)
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

/// The expression with arguments in the place of parameters.
fn substitute(expr: &Expr, scope: &FxHashMap<&str, &Expr>) -> Expr {
    let all = |exprs: &[Expr]| exprs.iter().map(|expr| substitute(expr, scope)).collect();
    let kind = match &expr.kind {
        ExprKind::Name(name) => match scope.get(name.as_str()) {
            Some(&argument) => return argument.clone(),
            None => expr.kind.clone(),
        },
        ExprKind::Template(name, arguments) => ExprKind::Template(name.clone(), all(arguments)),
        ExprKind::Sequence(parts) => ExprKind::Sequence(all(parts)),
        ExprKind::Choice(parts) => ExprKind::Choice(all(parts)),
        ExprKind::And(parts) => ExprKind::And(all(parts)),
        ExprKind::Not(inner) => ExprKind::Not(Box::new(substitute(inner, scope))),
        ExprKind::Repeat(inner, min, max) => {
            ExprKind::Repeat(Box::new(substitute(inner, scope)), *min, *max)
        }
        other => other.clone(),
    };
    Expr { at: expr.at, kind }
}
