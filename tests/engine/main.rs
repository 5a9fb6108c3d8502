//! The engine without a model: masks against a walk of the whole vocabulary, matchers, guaranteed
//! ends, random grammars and texts, tool formats.

mod captures;
mod choices;
mod combinations;
#[path = "../common/mod.rs"]
mod common;
mod completion;
mod mask_strategies;
mod masks;
mod matcher;
#[path = "../common/messages.rs"]
mod message_format;
mod messages;
mod random_grammars;
mod rule_budgets;
mod sample;
mod structural_tag_reference;
mod structural_tags;
mod tools;
