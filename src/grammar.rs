//! The intermediate form that every front end produces: a context-free grammar over byte-level
//! regular terminals.
//!
//! A [`Grammar`] is a set of rules over byte-level regular terminals
//! ([`Language`](crate::regular::Language)), sequence, choice, bounded repeat, rule calls and
//! special tokens. Its meaning is a language of byte strings and special tokens: no hidden lexer,
//! no longest match, no priority. Left recursion, ambiguity and empty rules are all allowed.
//!
//! A front end hands over its grammar in one of two ways: whole, as a [`Grammar`] made with a
//! [`GrammarBuilder`], or rule by rule while a text is read, as a `source::Source` (JSON Schema
//! does, since most of a large schema is never visited by one text).
//!
//! | module | concept |
//! |---|---|
//! | `form`, `builder` | the data and how it is made |
//! | `embed` | one grammar inside another |
//! | `hole` | parts whose rules are made while a text is read (JSON Schemas) |
//! | `family`, `parameter` | rules with a parameter, made value by value |
//! | `analysis` | least fixed points: nullable, productive |
//! | `normal` | normal form: no empty rule, no left recursion |
//! | `regular` | a grammar without recursion as one regular language |
//! | `contextual` | rewriting for Lark's lazy rules and for look-around in its terminals |
//! | `source`, `key_choice` | grammars whose rules are made on demand, and their choices of keys |
//!
//! ```
//! use maskwright::grammar::GrammarBuilder;
//! // value = [0-9]+ | "(" value ")"
//! let mut g = GrammarBuilder::new();
//! let digit = g.languages().byte_range(b'0', b'9');
//! let digits = g.languages().repeat(digit, 1, None);
//! let value = g.declare("value");
//! let (open, call, close) = (g.literal(b"("), g.call(value), g.literal(b")"));
//! let nested = g.sequence([open, call, close]);
//! let number = g.regular(digits);
//! let body = g.choice([number, nested]);
//! g.define(value, body);
//! let grammar = g.finish(value).unwrap();
//! assert_eq!(grammar.rules().len(), 1);
//! ```

pub(crate) mod analysis;
mod builder;
mod contextual;
mod embed;
pub(crate) mod family;
mod form;
pub(crate) mod hole;
pub(crate) mod key_choice;
pub(crate) mod normal;
pub(crate) mod parameter;
mod regular;
pub(crate) mod source;

pub use builder::GrammarBuilder;
pub use form::{
    Attribute, Grammar, Node, NodeId, Rule, RuleId, SpecialToken, Temperature, TokenSet,
};

pub(crate) use contextual::{ContextualTerminals, resolve_contextual};
pub(crate) use form::{Origin, SourceTag};
