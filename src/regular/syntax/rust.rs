//! The syntax of the `regex` crate, by way of its own parser, with look-around, atomic groups and
//! possessive repeats.

mod lookaround_syntax;

use regex_syntax::ParserBuilder;
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look as HirLook};

use self::lookaround_syntax::{GroupExtension, RewrittenPattern, rewrite};
use super::pattern::{Assertion, AssertionSource, Pattern, class_of};
use super::pattern_error::{MAX_NESTED_GROUPS, error_at};
use crate::error::Result;

/// The syntax tree of a pattern.
pub(crate) fn parse(text: &str) -> Result<Pattern> {
    let rewritten = rewrite(text)?;
    let parser = ParserBuilder::new()
        .utf8(true)
        .nest_limit(MAX_NESTED_GROUPS)
        .build()
        .parse(&rewritten.text);
    let hir = parser.map_err(|e| {
        if let regex_syntax::Error::Parse(e) = &e
            && let ErrorKind::NestLimitExceeded(most) = e.kind()
        {
            let at = rewritten.place(e.span().start.offset);
            return error_at(at, format!("groups nest deeper than {most}"))
                .with_help("write fewer groups within groups");
        }
        let (byte, message) = match &e {
            regex_syntax::Error::Parse(e) => (e.span().start.offset, e.kind().to_string()),
            regex_syntax::Error::Translate(e) => (e.span().start.offset, e.kind().to_string()),
            other => (0, other.to_string()),
        };
        let help = match &e {
            regex_syntax::Error::Translate(e)
                if matches!(e.kind(), regex_syntax::hir::ErrorKind::InvalidUtf8) =>
            {
                "leave out the flag `-u`: what a pattern matches is UTF-8"
            }
            _ => "write it in the syntax of Rust's `regex` crate",
        };
        error_at(rewritten.place(byte), message).with_help(help)
    })?;
    convert(&hir, &rewritten)
}

/// The tree of `regex-syntax` as a [`Pattern`].
fn convert(hir: &Hir, rewritten: &RewrittenPattern) -> Result<Pattern> {
    let all = |parts: &[Hir]| {
        parts.iter().map(|part| convert(part, rewritten)).collect::<Result<Vec<_>>>()
    };
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
            let body = Box::new(convert(&repetition.sub, rewritten)?);
            Pattern::Repeat {
                body,
                min: repetition.min,
                max: repetition.max,
                greedy: repetition.greedy,
            }
        }
        HirKind::Capture(capture) => {
            let body = convert(&capture.sub, rewritten)?;
            let name = capture.name.as_deref().unwrap_or_default();
            match rewritten.group(name) {
                None => body,
                Some((GroupExtension::Look { behind: true, negated }, byte)) => {
                    Pattern::behind(body, negated, AssertionSource { byte, name: "a lookbehind" })
                }
                Some((GroupExtension::Look { behind: false, negated }, byte)) => {
                    Pattern::ahead(body, negated, AssertionSource { byte, name: "a lookahead" })
                }
                Some((GroupExtension::Atomic, byte)) => {
                    let greedy =
                        matches!(capture.sub.kind(), HirKind::Repetition(repeat) if repeat.greedy);
                    let at = AssertionSource { byte, name: "an atomic group or possessive repeat" };
                    Pattern::Atomic { body: Box::new(body), greedy, at }
                }
            }
        }
        HirKind::Concat(parts) => Pattern::Concat(all(parts)?),
        HirKind::Alternation(parts) => Pattern::Alternate(all(parts)?),
    })
}

fn not_text() -> crate::error::Error {
    error_at(0, "the pattern matches bytes that are not UTF-8").with_help("leave out `(?-u)`")
}

/// An anchor or a word boundary.
fn assertion(look: HirLook) -> Pattern {
    // The tree of `regex-syntax` carries no places.
    let at = AssertionSource { byte: 0, name: "an anchor or word boundary" };
    let newline = || class_of([('\n', '\n')]);
    let one = |look| Pattern::look(look, at);
    let word = |unicode: bool| if unicode { unicode_word() } else { ascii_word() };
    let behind = |word, negated| Pattern::behind(Pattern::Class(word), negated, at);
    let ahead = |word, negated| Pattern::ahead(Pattern::Class(word), negated, at);
    match look {
        HirLook::Start => one(Assertion::Start),
        HirLook::End => one(Assertion::End),
        HirLook::StartLF => Pattern::line_start(newline(), at),
        HirLook::EndLF => Pattern::line_end(newline(), at),
        // Not between `\r` and `\n`, which are one line break together.
        HirLook::StartCRLF => Pattern::Alternate(vec![
            Pattern::line_start(newline(), at),
            Pattern::Concat(vec![behind(class_of([('\r', '\r')]), false), ahead(newline(), true)]),
        ]),
        HirLook::EndCRLF => Pattern::Alternate(vec![
            Pattern::line_end(class_of([('\r', '\r')]), at),
            Pattern::Concat(vec![behind(class_of([('\r', '\r')]), true), ahead(newline(), false)]),
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
    class_of([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')])
}

fn unicode_word() -> ClassUnicode {
    match regex_syntax::parse(r"\w").map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // `\w` is always a class of code points.
        _ => ascii_word(),
    }
}
