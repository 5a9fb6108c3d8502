//! Grammars that come with the program against real parsers of their formats: on random texts of
//! each grammar, and on texts one edit away.
//!
//! What a grammar accepts its parser must accept, but for the disagreements that are named here
//! with their reason. What a grammar rejects a parser may accept where the grammar describes a part
//! of the format; where it describes all of it, the two must agree on near-misses too.
//!
//! `MASKWRIGHT_GRAMMAR_SAMPLES` is the number of samples for each grammar, and of near-misses;
//! `MASKWRIGHT_GRAMMAR` names a grammar if only one is to be compared.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use maskwright::ebnf;
use maskwright::sample::Texts;

use crate::library::built_in;
use crate::{accepts, compiler, readers};

/// A parser's verdicts on texts, with its message where it refuses.
type Verdicts = Vec<Result<(), String>>;

struct Peer {
    grammar: &'static str,
    parser: &'static str,
    /// Whether the grammar describes all that the parser reads.
    whole: bool,
    judge: fn(&[String]) -> Verdicts,
    /// Why the parser may refuse what the grammar accepts: a part of its message, and the reason.
    refuses: &'static [(&'static str, &'static str)],
    /// Texts that the parser may accept and the grammar not, though it describes all of the format.
    lenient: fn(&str) -> bool,
}

const PEERS: &[Peer] = &[
    Peer {
        grammar: "json",
        // Without values: lone surrogates and numbers beyond a double are left to the reader
        // (RFC 8259, sections 6 and 8.2).
        parser: "serde_json",
        whole: true,
        judge: |texts| each(texts, |text| serde_json::from_str::<serde::de::IgnoredAny>(text)),
        refuses: &[],
        lenient: |_| false,
    },
    Peer {
        grammar: "json-lines",
        parser: "serde_json, line by line",
        whole: true,
        judge: |texts| {
            each(texts, |text| {
                let text = text.strip_suffix('\n').unwrap_or(text);
                text.split('\n').try_for_each(|line| {
                    serde_json::from_str::<serde::de::IgnoredAny>(line).map(|_| ())
                })
            })
        },
        refuses: &[],
        // A carriage return at the end of a line is white space to serde_json.
        lenient: |text| text.contains('\r'),
    },
    Peer {
        grammar: "csv",
        parser: "csv",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let mut reader = csv::ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .from_reader(text.as_bytes());
                reader.records().try_for_each(|record| record.map(|_| ()))
            })
        },
        refuses: &[],
        lenient: |_| false,
    },
    Peer {
        grammar: "xml",
        parser: "roxmltree, end tags put right and colons taken out",
        whole: false,
        judge: |texts| {
            each(texts, |text| roxmltree::Document::parse(&match_tags(text)).map(|_| ()))
        },
        refuses: &[
            ("already defined", "an attribute twice"),
            ("unexpected XML declaration", "a name that begins with `xml`"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "html",
        parser: "roxmltree, within one element",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let text = format!("<body>{text}</body>");
                roxmltree::Document::parse(&text).map(|_| ())
            })
        },
        refuses: &[("invalid character reference", "a number of a control character")],
        lenient: |_| false,
    },
    Peer {
        grammar: "yaml",
        parser: "yaml-rust2",
        whole: false,
        judge: |texts| each(texts, |text| yaml_rust2::YamlLoader::load_from_str(text).map(|_| ())),
        refuses: &[
            ("duplicated key", "a key twice in one mapping"),
            ("Unicode character", "an escape of a code point that is no character"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "toml",
        parser: "toml",
        whole: false,
        judge: |texts| each(texts, |text| toml::from_str::<toml::Table>(text).map(|_| ())),
        refuses: &[
            ("duplicate key", "a key or table twice"),
            ("cannot extend value", "a table added to a value"),
            ("redefin", "a table twice"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "url",
        parser: "url",
        whole: false,
        judge: |texts| each(texts, |text| url::Url::parse(text).map(|_| ())),
        refuses: &[
            ("invalid port number", "RFC 3986 has no greatest port"),
            ("invalid international domain name", "special schemes take domain names only"),
            ("invalid IPv4 address", "special schemes read any number as an address"),
            ("invalid IPv6 address", "RFC 3986 has addresses of future versions"),
            ("empty host", "a scheme that asks for a host"),
            ("invalid domain character", "RFC 3986 lets percent-encoding stand in a name"),
            ("relative URL with a cannot-be-a-base base", "an empty path"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "email",
        parser: "email_address",
        whole: false,
        judge: |texts| each(texts, |text| text.parse::<email_address::EmailAddress>().map(|_| ())),
        refuses: &[
            ("too long", "64 characters before the `@`"),
            ("Local part is too long", "the same"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "iso8601",
        parser: "chrono (dates, times with an offset)",
        whole: false,
        judge: |texts| each(texts, chrono_reads),
        refuses: &[],
        lenient: |_| false,
    },
    Peer {
        grammar: "semver",
        parser: "semver",
        whole: true,
        judge: |texts| each(texts, |text| text.parse::<semver::Version>().map(|_| ())),
        refuses: &[],
        // 2^64 has 20 digits.
        lenient: |text| text.bytes().filter(u8::is_ascii_digit).count() > 19,
    },
    Peer {
        grammar: "sql",
        parser: "sqlparser (generic dialect)",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let dialect = sqlparser::dialect::GenericDialect {};
                sqlparser::parser::Parser::parse_sql(&dialect, text).map(|_| ()).map_err(|error| {
                    let words: Vec<&str> = text.split_whitespace().collect();
                    let excepts = words.join(" ").to_lowercase().contains("* except");
                    format!("{}{error}", if excepts { "columns except: " } else { "" })
                })
            })
        },
        refuses: &[
            ("recursion limit", "deep nesting"),
            ("columns except", "`* EXCEPT` begins BigQuery's columns left out, in every dialect"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "graphql",
        parser: "graphql-parser",
        whole: false,
        judge: |texts| each(texts, |text| graphql_parser::parse_query::<String>(text).map(|_| ())),
        refuses: &[(
            "unsupported float",
            "an exponent that begins with 0, which section 2.9.2 allows",
        )],
        lenient: |_| false,
    },
    Peer {
        grammar: "regex",
        parser: "regex-syntax",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                regex_syntax::Parser::new()
                    .parse(text)
                    .map(|_| ())
                    .map_err(|error| error.to_string())
            })
        },
        refuses: &[("Unicode scalar value", "an escape of a surrogate")],
        lenient: |_| false,
    },
    Peer {
        grammar: "c",
        parser: "lang-c",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let config = lang_c::driver::Config::with_gcc();
                let function = format!("void f(void) {{ ({text}); }}");
                lang_c::driver::parse_preprocessed(&config, function).map(|_| ())
            })
        },
        refuses: &[],
        lenient: |_| false,
    },
    Peer {
        grammar: "lisp",
        parser: "lexpr",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let mut parser = lexpr::Parser::from_str(text);
                loop {
                    match parser.next_value() {
                        Ok(Some(_)) => {}
                        Ok(None) => return Ok(()),
                        Err(error) => return Err(error),
                    }
                }
            })
        },
        refuses: &[
            ("invalid number", "no comment may stand right after a sign"),
            ("invalid symbol", "no comment may stand right after a dot"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "diff",
        parser: "diffy, the counts of lines put right",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let counted = count_lines(text);
                split_files(&counted)
                    .into_iter()
                    .try_for_each(|file| diffy::Patch::from_str(&file).map(|_| ()))
            })
        },
        refuses: &[("hunks not in order", "hunks that overlap or run backwards")],
        lenient: |_| false,
    },
    Peer {
        grammar: "cron",
        parser: "cron, seconds put before, ranges turned forwards, Sunday as 7",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let unknown = ["@annually", "@midnight", "@reboot"];
                if unknown.contains(&text) {
                    return Err(format!("nickname {text}"));
                }
                let seconds = if text.starts_with('@') { "" } else { "0 " };
                let schedule = format!("{seconds}{}", forwards(text)).parse::<cron::Schedule>();
                schedule.map(|_| ()).map_err(|error| error.to_string())
            })
        },
        refuses: &[
            ("nickname", "names that this crate does not know"),
            (
                "Days of Week must be between",
                "Sunday as 0, which crontab(5) has and this crate not",
            ),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "python",
        parser: "python3's own `compile`",
        whole: false,
        judge: python,
        refuses: &[
            ("duplicate argument", "two parameters of one name"),
            ("keyword argument repeated", "two arguments of one name"),
            ("no python3", "not installed"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "ini",
        parser: "rust-ini, without quotes and escapes, what it reads beside the lines",
        whole: false,
        judge: |texts| each(texts, readers::ini),
        refuses: &[
            ("a comment becomes a key", "it knows no comments after blanks in the first section"),
            ("inline comment", "nor in others"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "pgn",
        parser: "@mliebelt/pgn-parser under Node.js, the moves it reads beside the words",
        whole: false,
        judge: readers::pgn,
        refuses: &[("is not installed", "MASKWRIGHT_PGN names no folder")],
        lenient: |_| false,
    },
    Peer {
        grammar: "markdown-table",
        parser: "pulldown-cmark, one table of as many rows and columns",
        whole: false,
        judge: |texts| each(texts, readers::markdown_table),
        refuses: &[],
        lenient: |_| false,
    },
    Peer {
        grammar: "arithmetic",
        parser: "fasteval",
        whole: false,
        judge: |texts| {
            each(texts, |text| {
                let mut slab = fasteval::Slab::new();
                fasteval::Parser::new().parse(text, &mut slab.ps).map(|_| ())
            })
        },
        refuses: &[
            ("TooDeep", "deep nesting"),
            ("SlabOverflow", "more parts than it has room for"),
            ("expected no args", "`e` and `pi` are functions without arguments"),
        ],
        lenient: |_| false,
    },
    Peer {
        grammar: "mermaid",
        parser: "Mermaid's own, under Node.js",
        whole: false,
        judge: readers::mermaid,
        refuses: &[("Mermaid is not installed", "MASKWRIGHT_MERMAID names no folder")],
        lenient: |_| false,
    },
];

fn each<T, E: std::fmt::Display>(
    texts: &[String],
    parse: impl Fn(&str) -> Result<T, E>,
) -> Verdicts {
    texts.iter().map(|text| parse(text).map(|_| ()).map_err(|error| error.to_string())).collect()
}

/// Dates and times with an offset; of everything else it knows nothing.
fn chrono_reads(text: &str) -> Result<(), String> {
    let is_other = text.starts_with('P') || text.contains('W') || text.len() == 8;
    let time = text.split_once('T').map(|(_, time)| time);
    let offset = time.is_some_and(|time| time.contains(['Z', '+', '-']));
    match (is_other, time, offset) {
        (true, ..) => Ok(()),
        (_, None, _) => text.parse::<chrono::NaiveDate>().map(|_| ()).map_err(|e| e.to_string()),
        (_, Some(_), false) => {
            text.parse::<chrono::NaiveDateTime>().map(|_| ()).map_err(|e| e.to_string())
        }
        (_, Some(_), true) => {
            chrono::DateTime::parse_from_rfc3339(text).map(|_| ()).map_err(|e| e.to_string())
        }
    }
}

/// The document with each end tag named as its start tag, and without colons: names with prefixes
/// are a matter of Namespaces in XML.
fn match_tags(text: &str) -> String {
    let text = text.replace(':', "_");
    let (mut out, mut open, mut rest) = (String::new(), Vec::new(), text.as_str());
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let special = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((_, end)) = special.iter().find(|(start, _)| rest.starts_with(start)) {
            let end = rest[2..].find(end).map_or(rest.len(), |at| 2 + at + end.len());
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let is_end = rest.starts_with("</");
        let from = 1 + usize::from(is_end);
        let name =
            rest[from..].find([' ', '\t', '\r', '\n', '/', '>']).unwrap_or(rest.len() - from);
        // The sign that closes a tag may stand in a value.
        let (mut quote, mut end) = (None, rest.len());
        for (at, c) in rest.char_indices() {
            match (quote, c) {
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), _) if open == c => quote = None,
                (None, '>') => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        if is_end {
            out.push_str("</");
            out.push_str(open.pop().unwrap_or(&rest[from..from + name]));
            out.push_str(rest.get(from + name..end).unwrap_or_default());
        } else {
            if !rest[..end].ends_with('/') {
                open.push(&rest[from..from + name]);
            }
            out.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    out + rest
}

/// The schedule without what crontab(5) leaves open and the crate does not take: ranges that run
/// backwards, and 0 for Sunday.
fn forwards(text: &str) -> String {
    const NAMES: &str =
        "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC SUN MON TUE WED THU FRI SAT";
    let place = |value: &str| value.parse::<usize>().ok().or_else(|| NAMES.find(value));
    let turned = |item: &str| {
        let (range, step) = item.split_once('/').map_or((item, None), |(r, s)| (r, Some(s)));
        let range = match range.split_once('-') {
            Some((a, b)) if place(a) > place(b) => format!("{b}-{a}"),
            _ => range.to_owned(),
        };
        step.map_or(range.clone(), |step| format!("{range}/{step}"))
    };
    let fields: Vec<String> = text
        .split(' ')
        .enumerate()
        .map(|(i, field)| {
            let items = field.split(',').map(|item| match i {
                4 => turned(&item.replace('0', "7")),
                _ => turned(item),
            });
            items.collect::<Vec<_>>().join(",")
        })
        .collect();
    fields.join(" ")
}

/// The diff with the counts that its hunks have.
fn count_lines(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("@@ -") else {
            out.push_str(line);
            continue;
        };
        let body = lines[i + 1..].iter().take_while(|l| {
            !(l.starts_with("@@ ") || l.starts_with("--- ") && l.trim_end().len() > 4)
        });
        let (mut old, mut new) = (0, 0);
        for line in body {
            old += usize::from(line.starts_with([' ', '-']));
            new += usize::from(line.starts_with([' ', '+']));
        }
        let tail = rest.split_once(" @@").map_or("\n", |(_, tail)| tail);
        out.push_str(&format!("@@ -{},{old} +{},{new} @@{tail}", 10 * i + 1, 10 * i + 1));
    }
    out
}

/// The parts of a diff, one for each file.
fn split_files(text: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (i, line) in lines.iter().enumerate() {
        let head =
            line.starts_with("--- ") && lines.get(i + 1).is_some_and(|l| l.starts_with("+++ "));
        match files.last_mut() {
            Some(file) if !head => file.push_str(line),
            _ => files.push((*line).to_owned()),
        }
    }
    files
}

/// Python's verdict on each text; all in one process.
fn python(texts: &[String]) -> Verdicts {
    const SCRIPT: &str = "
import sys, json, warnings
warnings.simplefilter('ignore')
out = []
for text in json.load(sys.stdin):
    try:
        compile(text, 'x', 'exec')
        out.append(None)
    except Exception as e:
        out.append(str(e))
json.dump(out, sys.stdout)
";
    let child = Command::new("python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("python3 is not installed: skipped");
        return texts.iter().map(|_| Err("no python3".into())).collect();
    };
    let input = serde_json::to_string(texts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let verdicts: Vec<Option<String>> = serde_json::from_slice(&output.stdout).unwrap();
    verdicts.into_iter().map(|verdict| verdict.map_or(Ok(()), Err)).collect()
}

#[test]
fn grammars_agree_with_parsers_of_their_formats() {
    let asked = std::env::var("MASKWRIGHT_GRAMMAR_SAMPLES").ok();
    let count: usize = asked.map_or(40, |count| count.parse().unwrap());
    let only = std::env::var("MASKWRIGHT_GRAMMAR").ok();
    let mut wrong = Vec::new();
    println!(
        "grammar, parser: samples, near-misses, those that the parser accepts; places reached"
    );
    for peer in PEERS.iter().filter(|peer| only.as_ref().is_none_or(|only| only == peer.grammar)) {
        let constraint = built_in(peer.grammar);
        let known = ebnf::builtin(peer.grammar).unwrap();
        let by_rules = compiler().grammar_by_rules(known.text, known.dialect).unwrap();
        let mut drawn = Texts::new(&by_rules, 7).unwrap();
        let mut texts = Vec::new();
        while texts.len() < 2 * count {
            let text = drawn.draw().unwrap();
            let Some(miss) = drawn.near_miss(&text).unwrap() else { continue };
            let (text, miss) = (String::from_utf8(text).unwrap(), String::from_utf8(miss).unwrap());
            assert!(accepts(&constraint, &text), "{}: {text:?}", peer.grammar);
            assert!(!accepts(&constraint, &miss), "{}: {miss:?}", peer.grammar);
            texts.extend([text, miss]);
        }
        let coverage = drawn.coverage();
        let verdicts = (peer.judge)(&texts);
        let mut alone = 0;
        let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, (text, verdict)) in texts.iter().zip(verdicts).enumerate() {
            let ours = i % 2 == 0;
            match verdict {
                Err(message) if ours => {
                    let known = peer.refuses.iter().find(|(part, _)| message.contains(part));
                    if let Some((_, reason)) = known {
                        *refused.entry(reason).or_default() += 1;
                    } else {
                        wrong.push(format!(
                            "{}: {} refuses ({message}): {text:?}",
                            peer.grammar, peer.parser
                        ));
                    }
                }
                Ok(()) if !ours => {
                    alone += 1;
                    if peer.whole && !(peer.lenient)(text) {
                        wrong.push(format!("{}: {} accepts {text:?}", peer.grammar, peer.parser));
                    }
                }
                _ => {}
            }
        }
        println!(
            "{}, {}: {count}, {count}, {alone}; {}",
            peer.grammar, peer.parser, coverage.places
        );
        refused.iter().for_each(|(reason, times)| println!("    refused {times} times: {reason}"));
    }
    assert!(
        wrong.is_empty(),
        "{} disagreements:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}
