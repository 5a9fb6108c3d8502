//! Languages as the oracle knows them: a small grammar form of its own, the tokens that spell
//! them, and both in readable form.

use std::fmt;

/// One position of a text: a byte, or a special token ([`special`]).
pub(crate) type Symbol = u16;

/// The symbol of the special token with this id.
pub(crate) fn special(id: u32) -> Symbol {
    256 + u16::try_from(id).expect("test vocabularies are small")
}

/// A text as symbols.
pub(crate) fn symbols(bytes: &[u8]) -> Vec<Symbol> {
    bytes.iter().copied().map(Symbol::from).collect()
}

/// A regular expression over bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expr {
    Class(Vec<u8>),
    Literal(Vec<u8>),
    Concat(Vec<Expr>),
    Union(Vec<Expr>),
    /// `min` to `max` times, `None` for no bound.
    Repeat(Box<Expr>, u32, Option<u32>),
    And(Vec<Expr>),
    Not(Box<Expr>),
}

/// The right-hand side of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Terminal(Expr),
    /// The special token with this id.
    Special(u32),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    /// `min` to `max` times, `None` for no bound.
    Repeat(Box<Node>, u32, Option<u32>),
    /// The texts that at most so many tokens spell.
    Budget(Box<Node>, u32),
    /// The language of a rule, by its index.
    Call(usize),
}

/// Rules; the first is the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grammar {
    pub(crate) rules: Vec<Node>,
}

/// The kind of one id of a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// No token has this id.
    Missing,
    /// These bytes, possibly none.
    Text(Vec<u8>),
    Special,
    /// An end token; the bytes that the file may give for it are no text.
    End(Option<Vec<u8>>),
}

impl Token {
    /// The symbols that the token adds to a text, if it may stand in one.
    pub(crate) fn symbols(&self, id: u32) -> Option<Vec<Symbol>> {
        match self {
            Self::Text(bytes) if !bytes.is_empty() => Some(symbols(bytes)),
            Self::Special => Some(vec![special(id)]),
            Self::Text(_) | Self::Missing | Self::End(_) => None,
        }
    }
}

/// A vocabulary, by id.
pub(crate) type Tokens = Vec<Token>;

/// Every byte that occurs in one of the tokens or in the grammar, ascending.
pub(crate) fn alphabet(grammar: &Grammar, tokens: &[Token]) -> Vec<u8> {
    fn expr(e: &Expr, out: &mut Vec<u8>) {
        match e {
            Expr::Class(bytes) | Expr::Literal(bytes) => out.extend(bytes),
            Expr::Concat(xs) | Expr::Union(xs) | Expr::And(xs) => {
                xs.iter().for_each(|x| expr(x, out));
            }
            Expr::Repeat(x, ..) | Expr::Not(x) => expr(x, out),
        }
    }
    fn node(n: &Node, out: &mut Vec<u8>) {
        match n {
            Node::Terminal(e) => expr(e, out),
            Node::Sequence(xs) | Node::Choice(xs) => xs.iter().for_each(|x| node(x, out)),
            Node::Repeat(x, ..) | Node::Budget(x, _) => node(x, out),
            Node::Special(_) | Node::Call(_) => {}
        }
    }
    let mut out = Vec::new();
    grammar.rules.iter().for_each(|rule| node(rule, &mut out));
    for token in tokens {
        if let Token::Text(bytes) = token {
            out.extend(bytes);
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Bytes of a class, one by one.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|&b| format_byte(b)).collect()
}

/// Bytes as quoted text: what is a character is shown as one.
fn quoted(bytes: &[u8]) -> String {
    let chunks = bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|c| c.to_string());
        valid.chain(chunk.invalid().iter().map(|&b| format_byte(b)))
    });
    format!("\"{}\"", chunks.collect::<String>())
}

fn format_byte(b: u8) -> String {
    if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("\\x{b:02X}") }
}

fn bounds(f: &mut fmt::Formatter<'_>, min: u32, max: Option<u32>) -> fmt::Result {
    match (min, max) {
        (0, None) => f.write_str("*"),
        (1, None) => f.write_str("+"),
        (0, Some(1)) => f.write_str("?"),
        (min, None) => write!(f, "{{{min},}}"),
        (min, Some(max)) => write!(f, "{{{min},{max}}}"),
    }
}

fn joined<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    parts: &[T],
    separator: &str,
    none: &str,
) -> fmt::Result {
    if parts.is_empty() {
        return f.write_str(none);
    }
    f.write_str("(")?;
    for (i, part) in parts.iter().enumerate() {
        let before = if i == 0 { "" } else { separator };
        write!(f, "{before}{part}")?;
    }
    f.write_str(")")
}

/// As GBNF where GBNF has a spelling; `∅`, `&` and `!` where it has none.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(bytes) if bytes.is_empty() => f.write_str("∅"),
            Self::Class(bytes) => write!(f, "[{}]", escaped(bytes)),
            Self::Literal(bytes) => f.write_str(&quoted(bytes)),
            Self::Concat(xs) => joined(f, xs, " ", "\"\""),
            Self::Union(xs) => joined(f, xs, " | ", "∅"),
            Self::And(xs) => joined(f, xs, " & ", "!∅"),
            Self::Not(x) => write!(f, "!{x}"),
            Self::Repeat(x, min, max) => {
                write!(f, "({x})")?;
                bounds(f, *min, *max)
            }
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal(e) => write!(f, "{e}"),
            Self::Special(id) => write!(f, "<[{id}]>"),
            Self::Sequence(xs) => joined(f, xs, " ", "\"\""),
            Self::Choice(xs) => joined(f, xs, " | ", "∅"),
            Self::Budget(x, max) => write!(f, "({x})<={max}"),
            Self::Call(rule) => f.write_str(&rule_name(*rule)),
            Self::Repeat(x, min, max) => {
                write!(f, "({x})")?;
                bounds(f, *min, *max)
            }
        }
    }
}

/// The name of a rule: `root` is the start.
pub(crate) fn rule_name(rule: usize) -> String {
    if rule == 0 { "root".into() } else { format!("r{rule}") }
}

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules
            .iter()
            .enumerate()
            .try_for_each(|(i, rule)| writeln!(f, "{} ::= {rule}", rule_name(i)))
    }
}

/// A vocabulary on one line, missing ids as `·`.
pub(crate) fn show_tokens(tokens: &[Token]) -> String {
    let one = |token: &Token| match token {
        Token::Missing => "·".into(),
        Token::Text(bytes) => quoted(bytes),
        Token::Special => "special".into(),
        Token::End(_) => "end".into(),
    };
    tokens.iter().map(one).collect::<Vec<String>>().join(" ")
}

/// A text, special tokens as `<[id]>`.
pub(crate) fn show_text(text: &[Symbol]) -> String {
    let one = |&symbol: &Symbol| match u8::try_from(symbol) {
        Ok(byte) => format_byte(byte),
        Err(_) => format!("<[{}]>", symbol - 256),
    };
    text.iter().map(one).collect()
}
