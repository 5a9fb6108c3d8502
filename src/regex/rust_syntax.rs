//! The syntax of the `regex` crate, by way of its own parser.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look as HirLook};

use super::parse::{NEST_LIMIT, error};
use super::pattern::{Look, Mark, Pattern, class};
use crate::error::Result;

pub(super) fn parse(text: &str) -> Result<Pattern> {
    let hir = ParserBuilder::new().utf8(true).nest_limit(NEST_LIMIT).build().parse(text);
    let hir = hir.map_err(|e| {
        let (byte, message, lookaround) = match &e {
            regex_syntax::Error::Parse(e) => {
                let unsupported = regex_syntax::ast::ErrorKind::UnsupportedLookAround;
                (e.span().start.offset, e.kind().to_string(), *e.kind() == unsupported)
            }
            regex_syntax::Error::Translate(e) => {
                (e.span().start.offset, e.kind().to_string(), false)
            }
            other => (0, other.to_string(), false),
        };
        let help = if lookaround {
            "the ECMA-262 dialect of patterns has look-around"
        } else {
            "write it in the syntax of Rust's `regex` crate"
        };
        error(byte, message).with_help(help)
    })?;
    convert(&hir)
}

fn convert(hir: &Hir) -> Result<Pattern> {
    Ok(match hir.kind() {
        HirKind::Empty => Pattern::empty(),
        HirKind::Literal(literal) => {
            // In UTF-8 mode a literal is valid UTF-8.
            let text = std::str::from_utf8(&literal.0).map_err(|_| not_text())?;
            Pattern::Concat(text.chars().map(Pattern::char).collect())
        }
        HirKind::Class(Class::Unicode(class)) => Pattern::Class(class.clone()),
        HirKind::Class(Class::Bytes(bytes)) => {
            Pattern::Class(bytes.to_unicode_class().ok_or_else(not_text)?)
        }
        HirKind::Look(look) => assertion(*look),
        HirKind::Repetition(repetition) => {
            let body = Box::new(convert(&repetition.sub)?);
            Pattern::Repeat { body, min: repetition.min, max: repetition.max }
        }
        HirKind::Capture(capture) => convert(&capture.sub)?,
        HirKind::Concat(parts) => {
            Pattern::Concat(parts.iter().map(convert).collect::<Result<_>>()?)
        }
        HirKind::Alternation(parts) => {
            Pattern::Alternate(parts.iter().map(convert).collect::<Result<_>>()?)
        }
    })
}

fn not_text() -> crate::error::Error {
    error(0, "the pattern matches bytes that are not UTF-8").with_help("leave out `(?-u)`")
}

fn assertion(look: HirLook) -> Pattern {
    // The tree of `regex-syntax` carries no places; no assertion of this dialect needs one.
    let at = Mark { byte: 0, name: "assertion" };
    let newline = || class([('\n', '\n')]);
    let one = |look| Pattern::look(look, at);
    let word = |unicode: bool| if unicode { unicode_word() } else { ascii_word() };
    let behind = |word, negated| Pattern::behind(Pattern::Class(word), negated, at);
    let ahead = |word, negated| Pattern::ahead(Pattern::Class(word), negated, at);
    match look {
        HirLook::Start => one(Look::Start),
        HirLook::End => one(Look::End),
        HirLook::StartLF => Pattern::line_start(newline(), at),
        HirLook::EndLF => Pattern::line_end(newline(), at),
        // Not between `\r` and `\n`, which are one line break together.
        HirLook::StartCRLF => Pattern::Alternate(vec![
            Pattern::line_start(newline(), at),
            Pattern::Concat(vec![behind(class([('\r', '\r')]), false), ahead(newline(), true)]),
        ]),
        HirLook::EndCRLF => Pattern::Alternate(vec![
            Pattern::line_end(class([('\r', '\r')]), at),
            Pattern::Concat(vec![behind(class([('\r', '\r')]), true), ahead(newline(), false)]),
        ]),
        HirLook::WordAscii => Pattern::word_boundary(&word(false), false, at),
        HirLook::WordAsciiNegate => Pattern::word_boundary(&word(false), true, at),
        HirLook::WordUnicode => Pattern::word_boundary(&word(true), false, at),
        HirLook::WordUnicodeNegate => Pattern::word_boundary(&word(true), true, at),
        HirLook::WordStartAscii | HirLook::WordStartUnicode => {
            let unicode = look == HirLook::WordStartUnicode;
            Pattern::Concat(vec![behind(word(unicode), true), ahead(word(unicode), false)])
        }
        HirLook::WordEndAscii | HirLook::WordEndUnicode => {
            let unicode = look == HirLook::WordEndUnicode;
            Pattern::Concat(vec![behind(word(unicode), false), ahead(word(unicode), true)])
        }
        HirLook::WordStartHalfAscii => behind(word(false), true),
        HirLook::WordEndHalfAscii => ahead(word(false), true),
        HirLook::WordStartHalfUnicode => behind(word(true), true),
        HirLook::WordEndHalfUnicode => ahead(word(true), true),
    }
}

fn ascii_word() -> ClassUnicode {
    class([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')])
}

fn unicode_word() -> ClassUnicode {
    match regex_syntax::parse(r"\w").map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // `\w` is always a class of code points.
        _ => ascii_word(),
    }
}
