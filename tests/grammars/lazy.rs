//! Lazy rules against their definition, followed text by text.
//!
//! The definition: at every place of a parse, what may begin there is a set of terminals. If the
//! rest of the text begins with a string of a lazy one, the lazy one whose string ends first reads
//! it, and nothing else does. Otherwise any other terminal reads any of its strings.

use std::collections::HashSet;

use maskwright::ebnf::Dialect;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use regex::Regex;

use super::{accepts, compiler, judge};

/// A right-hand side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Terminal(usize),
    Rule(usize),
    Sequence(Vec<Part>),
    Choice(Vec<Part>),
    Repeat(Box<Part>, u32, Option<u32>),
}

/// Lazy ones first.
const TERMINALS: [&str; 13] = [
    "[ab;]*;", "a*;", "aab", "a?b", "[ab;]*ab", "b+a", "[ab;]*", "a", "[ab]+", ";", "ab", "a*", "b",
];
const LAZY: usize = 6;

struct Grammar {
    rules: Vec<Part>,
    terminals: Vec<Regex>,
}

/// Alternatives with a common beginning, and the rest of each.
type Group = (Option<Part>, Vec<Vec<Part>>);

impl Part {
    fn is_nullable(&self) -> bool {
        match self {
            Self::Terminal(t) => TERMINALS[*t].ends_with('*'),
            // Something stands before every call.
            Self::Rule(_) => false,
            Self::Sequence(parts) => parts.iter().all(Self::is_nullable),
            Self::Choice(parts) => parts.iter().any(Self::is_nullable),
            Self::Repeat(part, min, _) => *min == 0 || part.is_nullable(),
        }
    }

    /// In Lark's notation.
    fn text(&self) -> String {
        match self {
            Self::Terminal(t) if *t < LAZY => format!("h{t}"),
            Self::Terminal(t) => format!("/{}/", TERMINALS[*t]),
            Self::Rule(0) => "start".into(),
            Self::Rule(r) => format!("r{r}"),
            Self::Sequence(parts) => {
                format!("({})", parts.iter().map(Self::text).collect::<Vec<_>>().join(" "))
            }
            Self::Choice(parts) => {
                format!("({})", parts.iter().map(Self::text).collect::<Vec<_>>().join(" | "))
            }
            Self::Repeat(part, min, max) => {
                let max = max.map_or(String::new(), |max| max.to_string());
                format!("({}){{{min},{max}}}", part.text())
            }
        }
    }

    /// Between alternatives that begin alike the choice is made after what they begin with.
    fn factored(self) -> Self {
        fn parts(part: Part) -> Vec<Part> {
            match part {
                Part::Sequence(all) => all.into_iter().flat_map(parts).collect(),
                Part::Choice(mut all) if all.len() == 1 => parts(all.remove(0)),
                part => vec![part],
            }
        }
        fn alternatives(part: Part) -> Vec<Part> {
            match part {
                Part::Choice(all) => all.into_iter().flat_map(alternatives).collect(),
                part => vec![part],
            }
        }
        fn choice(ways: Vec<Vec<Part>>) -> Part {
            let mut groups: Vec<Group> = Vec::new();
            for way in ways {
                let head = way.first().cloned();
                let rest = way.into_iter().skip(1).collect();
                match groups.iter_mut().find(|(known, _)| *known == head) {
                    Some((_, rests)) => rests.push(rest),
                    None => groups.push((head, vec![rest])),
                }
            }
            let groups = groups.into_iter().map(|(head, mut rests)| match head {
                None => Part::Sequence(Vec::new()),
                Some(head) if rests.len() == 1 => {
                    Part::Sequence([vec![head], rests.remove(0)].concat())
                }
                Some(head) => Part::Sequence(vec![head, choice(rests)]),
            });
            Part::Choice(groups.collect())
        }
        match self {
            Self::Sequence(all) => Self::Sequence(all.into_iter().map(Self::factored).collect()),
            Self::Choice(all) => choice(
                all.into_iter().map(Self::factored).flat_map(alternatives).map(parts).collect(),
            ),
            Self::Repeat(part, min, max) => Self::Repeat(Box::new(part.factored()), min, max),
            leaf => leaf,
        }
    }
}

impl Grammar {
    fn text(&self) -> String {
        let mut text = String::new();
        for (r, rule) in self.rules.iter().enumerate() {
            text += &format!("{}: {}\n", Part::Rule(r).text(), rule.text());
        }
        for (h, pattern) in TERMINALS[..LAZY].iter().enumerate() {
            text += &format!("h{h}[lazy]: /{pattern}/\n");
        }
        text
    }

    /// Terminals that may come first, each with what is left after it, and whether nothing need
    /// come.
    fn firsts(&self, stack: &[Part]) -> (HashSet<(usize, Vec<Part>)>, bool) {
        let (mut found, mut may_end) = (HashSet::new(), false);
        let (mut todo, mut seen) = (vec![stack.to_vec()], HashSet::new());
        while let Some(mut stack) = todo.pop() {
            if !seen.insert(stack.clone()) {
                continue;
            }
            let Some(top) = stack.pop() else {
                may_end = true;
                continue;
            };
            match top {
                Part::Terminal(t) => {
                    if self.terminals[t].is_match("") {
                        todo.push(stack.clone());
                    }
                    found.insert((t, stack));
                }
                Part::Rule(r) => todo.push([stack, vec![self.rules[r].clone()]].concat()),
                Part::Sequence(parts) => {
                    stack.extend(parts.into_iter().rev());
                    todo.push(stack);
                }
                Part::Choice(parts) => {
                    for part in parts {
                        todo.push([stack.clone(), vec![part]].concat());
                    }
                }
                Part::Repeat(part, min, max) => {
                    if min == 0 {
                        todo.push(stack.clone());
                    }
                    if max != Some(0) {
                        let max = max.map(|max| max - 1);
                        let again = Part::Repeat(part.clone(), min.saturating_sub(1), max);
                        todo.push([stack, vec![again, *part]].concat());
                    }
                }
            }
        }
        (found, may_end)
    }

    fn accepts(&self, text: &str) -> bool {
        let (mut todo, mut seen) = (vec![(0, vec![Part::Rule(0)])], HashSet::new());
        while let Some((at, stack)) = todo.pop() {
            if !seen.insert((at, stack.clone())) {
                continue;
            }
            let (firsts, may_end) = self.firsts(&stack);
            let rest = &text[at..];
            let shortest =
                |t: usize| (1..=rest.len()).find(|&n| self.terminals[t].is_match(&rest[..n]));
            let lazy = firsts.iter().filter(|(t, _)| *t < LAZY);
            match lazy.filter_map(|(t, _)| shortest(*t)).min() {
                Some(length) => {
                    for (t, stack) in firsts {
                        if t < LAZY && shortest(t) == Some(length) {
                            todo.push((at + length, stack));
                        }
                    }
                }
                None if rest.is_empty() && may_end => return true,
                None => {
                    for (t, stack) in firsts.into_iter().filter(|(t, _)| *t >= LAZY) {
                        for n in
                            (1..=rest.len()).filter(|&n| self.terminals[t].is_match(&rest[..n]))
                        {
                            todo.push((at + n, stack.clone()));
                        }
                    }
                }
            }
        }
        false
    }
}

/// A random right-hand side; rules are called after a terminal only, so that none is left-recursive.
fn part(rng: &mut ChaCha8Rng, depth: u32, rules: usize) -> Part {
    match rng.random_range(0..if depth == 0 { 3 } else { 9 }) {
        0 => Part::Terminal(rng.random_range(0..LAZY)),
        1 | 2 => Part::Terminal(rng.random_range(LAZY..TERMINALS.len())),
        3 | 4 => Part::Choice(many(rng, depth, rules)),
        5 | 6 => Part::Sequence(many(rng, depth, rules)),
        7 => {
            let terminal = [7, 9, 12][rng.random_range(0..3)];
            Part::Sequence(vec![Part::Terminal(terminal), Part::Rule(rng.random_range(0..rules))])
        }
        _ => {
            let repeated = part(rng, depth - 1, rules);
            // An empty turn is none, so a bound on turns that may be empty is no bound.
            let bounds = if repeated.is_nullable() {
                &[(0, None)][..]
            } else {
                &[(0, None), (1, None), (0, Some(1)), (1, Some(2)), (2, None), (0, Some(2))][..]
            };
            let (min, max) = bounds[rng.random_range(0..bounds.len())];
            Part::Repeat(Box::new(repeated), min, max)
        }
    }
}

fn many(rng: &mut ChaCha8Rng, depth: u32, rules: usize) -> Vec<Part> {
    (0..rng.random_range(2..4)).map(|_| part(rng, depth - 1, rules)).collect()
}

fn texts(most: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut last = texts.clone();
    for _ in 0..most {
        last = last.iter().flat_map(|text| ["a", "b", ";"].map(|c| format!("{text}{c}"))).collect();
        texts.extend(last.iter().cloned());
    }
    texts
}

#[test]
fn random_grammars_are_read_by_the_definition() {
    let count = std::env::var("MASKWRIGHT_LAZY_GRAMMARS").map_or(300, |n| n.parse().unwrap());
    let texts = texts(5);
    let terminals: Vec<Regex> =
        TERMINALS.iter().map(|t| Regex::new(&format!("^(?:{t})$")).unwrap()).collect();
    for seed in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rules: Vec<Part> = (0..2).map(|_| part(&mut rng, 3, 2)).collect();
        let written = Grammar { rules: rules.clone(), terminals: terminals.clone() };
        let reference = Grammar {
            rules: rules.into_iter().map(Part::factored).collect(),
            terminals: terminals.clone(),
        };
        let grammar = written.text();
        let constraint = match compiler().lark(&grammar) {
            Ok(constraint) => constraint,
            Err(error) => {
                // Only a grammar without any text is refused.
                assert!(error.to_string().contains("no text"), "{seed}\n{grammar}\n{error}");
                assert!(!texts.iter().any(|text| reference.accepts(text)), "{seed}\n{grammar}");
                continue;
            }
        };
        for text in &texts {
            assert_eq!(
                accepts(&constraint, text),
                reference.accepts(text),
                "{seed}\n{grammar}\non {text:?}"
            );
        }
    }
}

const TEXT: &str = "TEXT: /(\\n|.)*/";

/// llguidance's "Tool calling" and XGrammar's "Dynamic Tool-Call Dispatch".
#[test]
fn a_lazy_head_comes_before_free_text() {
    let dispatch = format!(
        "start: tool* tail\ntail: TEXT\nhead[lazy]: TEXT \"<tool>\"\n\
         tool: head /[0-9]+/ \"</tool>\"\n{TEXT}"
    );
    let functions = format!(
        "start: ( f_foo | f_bar )* f_end\nf_end: TEXT\n{TEXT}\n\
         f_foo_hd[lazy]: TEXT \"<function\"\n\
         f_foo: f_foo_hd \"=foo>\" %json {{ \"type\": \"object\" }} \"</function>\"\n\
         f_bar_hd[lazy]: TEXT \"<function\"\nf_bar: f_bar_hd \"=bar>\" /[0-9]+/ \"</function>\""
    );
    let no =
        &["<tool>x", "<tool>", "a<tool>1</tool><tool>x", "<tool>1</tool", "é\n<tool>not a number"];
    let yes = &[
        "",
        "free",
        "<tool>1</tool>",
        "a<tool>12</tool>b<tool>3</tool>c",
        "a <tool",
        "<<tool>1</tool>",
    ];
    judge(
        Dialect::Lark,
        &[
            (&dispatch, yes, no),
            (
                &dispatch.replace("head[lazy]: TEXT \"<tool>\"", "head[suffix=\"<tool>\"]: TEXT"),
                yes,
                no,
            ),
            (&dispatch.replace("TEXT \"<tool>\"", "/(\\n|.)*<tool>/"), yes, no),
            (&dispatch.replace("start: tool* tail", "start: tail | tool start"), yes, no),
            (&dispatch.replace("start: tool* tail", "start: (TEXT | tool)*"), yes, no),
            (&dispatch.replace("tail: TEXT", "tail: /./s*"), yes, no),
            (&dispatch.replace("tail: TEXT", "tail: | /./s tail"), yes, no),
            (
                &dispatch.replace(
                    "start: tool* tail",
                    "start: plain | calls\nplain: tail\ncalls: tool+ tail",
                ),
                yes,
                no,
            ),
            (
                &format!("%ignore /[ \\n]/\n{dispatch}"),
                &["", "free", " <tool> 1 </tool> a", "<tool>1</tool>"],
                &["<tool>x", "<tool>", "a<tool>1</tool> <tool>x"],
            ),
            (
                &dispatch.replace("start: tool* tail", "start: \"<t>\" tail | \"<t>\" tool+ tail"),
                &["<t>", "<t>a", "<t>a<tool>1</tool>b"],
                &["<t><tool>x", "<t>a<tool>1</tool><tool>"],
            ),
            (
                &dispatch.replace("start: tool* tail", "start: tool{0,2} tail"),
                &["a<tool>1</tool><tool>2</tool>b<tool>c"],
                &["<tool>x", "<tool>1</tool>b<tool>c"],
            ),
            (
                &functions,
                &[
                    "",
                    "a<function=foo>{\"a\": 1}</function> b <function=bar>12</function>c",
                    "a<functio",
                ],
                &[
                    "<function=baz>1</function>",
                    "<function=bar>x</function>",
                    "<function",
                    "a<function=foo>{}</function><function",
                ],
            ),
            // Triggers that overlap: the one that ends first is read.
            (
                &format!(
                    "start: (a | b)* TEXT\na: ah \"1\"\nb: bh \"2\"\nah[lazy]: TEXT \"<t\"\nbh[lazy]: TEXT \"<tool>\"\n{TEXT}"
                ),
                &["<t1", "x<t1<t1y", "<"],
                &["<tool>2", "<tool>1", "<t2"],
            ),
            // Both end at once: what follows decides.
            (
                &format!(
                    "start: (a | b)* TEXT\na: ah \"1\"\nb: bh \"2\"\nah[lazy]: TEXT \"ab\"\nbh[lazy]: TEXT \"b\"\n{TEXT}"
                ),
                &["ab1", "ab2", "b2", "xx"],
                &["b1", "ab3", "b"],
            ),
            // JSON beside a lazy rule holds no trigger.
            (
                &format!(
                    "start: tool | %json {{\"type\": \"array\", \"items\": {{\"type\": \"string\"}}}}\nhead[lazy]: TEXT \"<t>\"\ntool: head /[0-9]+/\n{TEXT}"
                ),
                &["[\"a\"]", "<t>1", "[\"a<t>1", "[\"<\", \"t>\"]"],
                &["[\"<t>\"]", "[\"a<t>\", \"b\"]", "a"],
            ),
            // Where no lazy rule may begin, free text is free.
            (
                &format!(
                    "start: \"x\" TEXT | \"y\" tool\nhead[lazy]: TEXT \"<t>\"\ntool: head /[0-9]+/\n{TEXT}"
                ),
                &["x<t>a", "ya<t>1"],
                &["y<t>a"],
            ),
        ],
    );
    // XGrammar's EBNF, "Committed-Shortest Matching": each occurrence ends as soon as it can, and
    // takes nothing from other alternatives.
    judge(
        Dialect::Gbnf,
        &[(
            "root ::= head [0-9]+ | text\nhead[lazy] ::= text \"<t>\"\ntext ::= .*",
            &["a<t>1", "a<t>x", "<t><t>1"],
            &[],
        )],
    );
}
