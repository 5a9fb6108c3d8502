//! Structural tags in the JSON of XGrammar, vLLM and SGLang, as a grammar.
//!
//! A structural tag is a tree of *formats* ([`format`]); each stands for a language over the
//! vocabulary's bytes and tokens ([`lowering`]). The definitions, exactly:
//!
//! - **Free text** is UTF-8. That of `any_text`, `triggered_tags` and `dispatch` holds no trigger and
//!   none of its `excludes`, as a text; that of `any_text` and `triggered_tags` also holds no end of
//!   the innermost tag around it (an empty end ends nothing). Only the free text itself is searched,
//!   so an end may begin in it: `any_text` in a tag that ends with `</a>` may end with `<`.
//! - **A trigger** takes effect at the leftmost place where one begins and is completed: of triggers
//!   that begin at different places the earlier wins, of those that begin at the same place any may
//!   be completed. What follows is the content of its rule, or the rest of one of its tags. A trigger
//!   in which an excluded text ends can thus never be written.
//! - **`at_least_one`** lets the text begin with a tag at once, without free text before it;
//!   **`stop_after_first`** (and `loop: false`) ends it after the first.
//! - **A token** that is given by its id or its text is that token alone, special or ordinary; the
//!   same text spelled by other tokens is not. Runs of tokens (`exclude_token`, `any_tokens`, the free
//!   part of `token_triggered_tags` and `token_dispatch`) hold special tokens, too, but no end token;
//!   within a tag that ends with a token all but `token_dispatch` leave that token out.
//! - **Names of special tokens** in the texts of `const_string`, of triggers, beginnings, ends and
//!   separators may be written as those tokens, or spelled by ordinary ones. XGrammar takes every
//!   special token for the text of its name, also in strings of JSON and in free text; here it stands
//!   where a text names it, and nowhere else.
//!
//! Example: `{"type": "triggered_tags", "triggers": ["<f"], "tags": [{"begin": "<f=1>", "content":
//! {"type": "const_string", "value": "a"}, "end": "</f>"}]}` accepts `so <f=1>a</f> then` and `<`, and
//! rejects `<f`.
//!
//! Source: XGrammar 0.2.8, `docs/structural_tag/structural_tag.md` and `advanced_usage.md`.

mod format;
mod lowering;
mod members;

use serde_json::Value;

use self::format::Format;
use self::lowering::TagLowering;
use self::members::{Members, bad};
use crate::constraint::Compiler;
use crate::error::Result;
use crate::grammar::Grammar;

/// The grammar of a structural tag: `{"type": "structural_tag", "format": …}`, or the older
/// `{"structures": [{"begin", "schema", "end"}], "triggers": […]}`.
///
/// Formats, with the members that XGrammar's classes write: `const_string`, `json_schema` (and
/// `qwen_xml_parameter`), `regex`, `grammar`, `any_text`, `token`, `exclude_token`, `any_tokens`,
/// `sequence`, `or`, `optional`, `plus`, `star`, `repeat`, `tag`, `triggered_tags`,
/// `token_triggered_tags`, `tags_with_separator`, `dispatch` and `token_dispatch`. JSON is by the
/// compiler's options, but for what a format says. Grammars are GBNF unless they look like Lark.
///
/// Errors name the place by a JSON pointer: a member that is not known, what XGrammar refuses, and
/// tokens that the vocabulary does not have.
///
/// ```
/// use maskwright::{Compiler, Vocabulary, tools};
/// use serde_json::json;
///
/// let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
/// let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[(256, "<|end|>")], &[])?);
/// let tag = json!({"type": "structural_tag", "format": {
///     "type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "<|end|>"}});
/// let mut matcher = compiler.compile(tools::structural_tag(&tag, &compiler)?)?.matcher();
/// matcher.accept_bytes(b"<think>hm")?;
/// matcher.accept(256)?;
/// assert!(matcher.is_accepting());
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn structural_tag(value: &Value, compiler: &Compiler) -> Result<Grammar> {
    let members = Members::new(value, "")?;
    if let Some(kind) = members.get("type")
        && kind != "structural_tag"
    {
        return Err(bad("/type", "the type is not \"structural_tag\""));
    }
    let format = if members.get("structures").is_some() || members.get("triggers").is_some() {
        Format::read_older(&members)?
    } else {
        members.only(&["type", "format"])?;
        Format::read(members.member("format")?, "/format", 0)?
    };
    TagLowering::new(compiler).grammar(&format)
}
