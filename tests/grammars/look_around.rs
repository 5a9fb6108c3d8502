//! Terminals of Lark's notation whose patterns look at the text around them, which is that of other
//! terminals: against the engine `fancy-regex`, which sees the whole text at each cut of it.

use std::time::Duration;

use fancy_regex::Regex;
use maskwright::ebnf::Dialect;
use maskwright::{ErrorKind, LimitName, Limits};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::{accepts, compiler, judge, refuse};

#[test]
fn conditions_see_the_text_of_other_terminals() {
    judge(
        Dialect::Lark,
        &[
            ("start: A B\nA: /a(?!b)/\nB: /b|c/", &["ac"], &["ab", "a"]),
            ("start: A+\nA: /a(?=b)|b/", &["ab", "b", "abab"], &["a", "aa", "aab", "ba"]),
            ("start: A B\nA: /a/\nB: /(?<!a)b|c/", &["ac"], &["ab"]),
            ("start: \"a\" B \"c\"\nB: /b(?=c\\b)/", &["abc"], &["ab"]),
            // Keywords that no letter stands beside.
            (
                "start: (IF | NAME | \" \")+\nIF: /\\bif\\b/\nNAME: /\\b(?!if\\b)[a-zé]+\\b/",
                &["if", "if x", "iffy", "é", "été if", "x ifé"],
                &["ifi f1", "x1", "éx1"],
            ),
            ("start: IF NAME\nIF: /if\\b/\nNAME: /\\s*[a-z]+/", &["if x"], &["ifx"]),
            // Strings in three quotes are not an empty string and another.
            (
                "start: STRING+\nSTRING: /\"(?!\"\").*?\"|\"\"\".*?\"\"\"/",
                &["\"a\"", "\"\"\"a\"\"\"", "\"a\"\"b\"", "\"\""],
                &["\"\"\"a\"", "\"\"\"\"\"", "\"\"\""],
            ),
            // Of a terminal of several parts, each sees the others and what stands around.
            ("start: A \"c\"\nA: /a(?=bc)/ B\nB: /b/", &["abc"], &["ab"]),
            ("start: A \"d\" | \"x\"\nA: /a(?=bc)/ B\nB: /b/", &["x"], &["abd"]),
            // `^` and `$` are the edges of the terminal.
            ("start: A B\nA: /^a$/\nB: /^b$/", &["ab"], &["a", "b"]),
            // Within a condition they are those of the text.
            ("start: X N?\nX: /X(?=[^a-z]|$)/\nN: /[a-z]+|-/", &["X", "X-"], &["Xa"]),
            ("start: N? X\nX: /(?<=^|-)X/\nN: /a|-/", &["X", "-X"], &["aX"]),
            ("start: A B?\nA: /a(?!$)/\nB: /b/", &["ab"], &["a"]),
            // What is ignored is text, too.
            ("start: A B\nA: /a(?! )/\nB: /b/\n%ignore \" \"", &["ab", " ab"], &["a b"]),
            ("start: A B\nA: /a(?= )/\nB: /b/\n%ignore \" \"", &["a b"], &["ab"]),
            ("start: A \"x\"?\nA: /a/\n%ignore /-(?=x)/", &["a", "a-x", "ax"], &["a-", "-ax"]),
            // Ignored text that goes on as long as it can.
            (
                "start: v+\nv: /[a-z]+/\n%ignore /(?<!\\S)#[^\\n]*/\n%ignore /\\s/",
                &["a #b", "a #b\nc", "#x\na"],
                &["a#b", "a\nb#"],
            ),
            ("start: W+\nW: /a|b/\n%ignore /c+(?!a)/", &["acb", "ab", "accb"], &["aca", "acca"]),
            ("start: W+\nW: /a|b/\n%ignore C\nC: /c+\\b/ | /d+/", &["abc", "adb"], &["acb"]),
            (
                "start: W+\nW: /a/\n%ignore /#[^\\n]*(?!\\n\\n)/\n%ignore /\\n/",
                &["a#z\na", "a\n\na"],
                &["a#z\n\na"],
            ),
            ("start: A B\nA: /a\\b{end}/\nB: /b|-/", &["a-"], &["ab"]),
            // Counts: of sixteen digits, and of what several terminals still demand.
            (
                "start: N (\",\" N)*\nN: /(?!\\d{16})\\d+/",
                &["1,2", "123456789012345"],
                &["1234567890123456", "1,1234567890123456"],
            ),
            // Recursion.
            (
                "start: \"(\" start \")\" | A\nA: /a(?!\\)\\)\\))/",
                &["(a)", "((a))", "a"],
                &["(((a)))"],
            ),
            ("start: A start B | \"x\"\nA: /a/\nB: /(?<!bb)b/", &["axb", "aaxbb"], &["aaaxbbb"]),
            // Repeats with bounds.
            ("start: (A | \"b\")~3\nA: /a(?!b)/", &["aaa", "bba", "baa"], &["abb", "bab", "aa"]),
            // Where a lazy rule may begin.
            (
                "start: head tail\nhead[lazy]: /.*!/\ntail: A B\nA: /a(?!b)/\nB: /b|c/",
                &["!ac", "x!ac"],
                &["!ab"],
            ),
            // A schema after it.
            ("start: A x\nA: /a(?!\\[)/\nx: /\\[/ | /\\{/", &["a{"], &["a["]),
        ],
    );
    // A token that is no text ends it.
    let special = compiler().grammar("start: A <|think|> B\nA: /a(?!b)/\nB: /b/", Dialect::Lark);
    let special = special.unwrap();
    let mut matcher = special.matcher();
    for token in [b'a'.into(), 258, b'b'.into()] {
        matcher.accept(token).unwrap();
    }
    assert!(matcher.is_accepting());
}

/// Thirty terminals, each of which names the one before it twice.
#[test]
fn terminals_that_are_named_twice_are_written_once() {
    let mut grammar =
        String::from("start: W+\nW: /a/\n%ignore /#[^\\n]*/\n%ignore T30\nT0: /-+(?!b)/\n");
    for at in 1..=30 {
        grammar += &format!("T{at}: T{} | T{}\n", at - 1, at - 1);
    }
    let constraint = compiler().grammar(&grammar, Dialect::Lark).unwrap();
    assert!(accepts(&constraint, "a-a") && accepts(&constraint, "a#x"));
    assert!(!accepts(&constraint, "a-b"));
}

/// Keywords between the same conditions cost these once: more of them than there are marks.
#[test]
fn keywords_share_their_conditions() {
    let names: Vec<String> = (0..300).map(|i| format!("K{i}")).collect();
    let mut grammar = format!("start: ({})+\n%ignore /[ ;]+/\n", names.join(" | "));
    for (i, name) in names.iter().enumerate() {
        grammar += &match i % 3 {
            0 => format!("{name}: /\\bkey{i}\\b/\n"),
            1 => format!("{name}: /\\b/ \"key{i}\"i /\\b/\n"),
            _ => format!("{name}: /\\b(?:key|k){i}(?!\\w)/\n"),
        };
    }
    let constraint = compiler().grammar(&grammar, Dialect::Lark).unwrap();
    for (text, expected) in [
        ("key0", true),
        ("KEY1;key299 k2", true),
        ("KEY0", false),
        ("key0key1", false),
        ("key1;key2", true),
        ("key1 key3000", false),
        ("key1 ékey3", false),
    ] {
        assert_eq!(accepts(&constraint, text), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_looked_at_is_refused() {
    refuse(
        Dialect::Lark,
        &[
            ("start: A \"b\"\nA: /a?(?=b)/", (2, 4), "may read nothing"),
            ("start: A %json {}\nA: /a(?!1)/", (2, 4), "a JSON Schema stands that is not regular"),
        ],
    );
}

struct Pick(ChaCha8Rng);

impl Pick {
    fn below(&mut self, n: usize) -> usize {
        self.0.next_u32() as usize % n
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A pattern that reads a character at least.
    fn pattern(&mut self, depth: usize) -> String {
        let atom = ["a", "b", "-", "[ab]", "."];
        let mut pattern = String::new();
        let place = self.below(3);
        for at in 0..3 {
            if at == place {
                pattern += self.one(&atom);
                continue;
            }
            match self.below(6) {
                0 => pattern += self.one(&["\\b", "\\B"]),
                1 => {
                    let look = self.one(&["(?=", "(?!", "(?<=", "(?<!"]);
                    let body = format!("{}{}", self.one(&atom), self.one(&["", "a", "b"]));
                    let edges: &[&str] = if look.contains('<') { &[""] } else { &["", "|$", "$"] };
                    pattern += &format!("{look}{body}{})", self.one(edges));
                }
                2 => pattern += &format!("{}{}", self.one(&atom), self.one(&["+", "?", "*", ""])),
                3 if depth > 0 => {
                    let (one, other) = (self.pattern(depth - 1), self.pattern(depth - 1));
                    pattern += &format!("(?:{one}|{other})");
                }
                _ => {}
            }
        }
        pattern
    }
}

/// Whether a pattern matches exactly the characters from `from` to `to` of a text.
struct Terminal(Vec<Regex>);

impl Terminal {
    fn new(pattern: &str, longest: usize) -> Self {
        let ends_before = |rest| format!("\\G(?:{pattern})(?=(?s:.){{{rest}}}\\z)");
        Self((0..=longest).map(|rest| Regex::new(&ends_before(rest)).unwrap()).collect())
    }

    fn reads(&self, text: &str, from: usize, to: usize) -> bool {
        let found = self.0[text.len() - to].find_from_pos(text, from).unwrap();
        found.is_some_and(|found| found.start() == from && found.end() == to)
    }
}

#[test]
fn texts_are_those_that_can_be_cut_so_that_each_terminal_matches() {
    const LONGEST: usize = 5;
    let mut texts = vec![String::new()];
    let mut at = 0;
    while texts[at].len() < LONGEST {
        let text = texts[at].clone();
        texts.extend(["a", "b", "-"].map(|c| format!("{text}{c}")));
        at += 1;
    }
    let rounds = if std::env::var_os("MASKWRIGHT_LOOK_AROUND").is_some() { 1500 } else { 60 };
    let mut pick = Pick(ChaCha8Rng::seed_from_u64(5));
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..rounds {
        let patterns = [pick.pattern(1), pick.pattern(1), pick.pattern(0)];
        let [a, b, c] = &patterns;
        let ignores = round % 3 == 2;
        let is_sequence = round % 2 == 1;
        let start = if is_sequence { "A (B | C)* A" } else { "(A | B | C)+" };
        let mut grammar = format!("start: {start}\nA: /{a}/\nB: /{b}/\nC: /{c}/\n");
        if ignores {
            grammar += "%ignore \"-\"\n";
        }
        let constraint = match compiler().grammar(&grammar, Dialect::Lark) {
            Ok(constraint) => Some(constraint),
            Err(error) if error.kind() == ErrorKind::Unsatisfiable => None,
            Err(error) => panic!("{grammar}\n{error}"),
        };
        let [a, b, c] = patterns.each_ref().map(|pattern| Terminal::new(pattern, LONGEST));
        for text in &texts {
            // By position: whether the text before can be read, by how far the start rule is.
            let mut steps = vec![[true, false, false]];
            for to in 1..=text.len() {
                let ignored = ignores && text[..to].ends_with('-');
                let mut reached = if ignored { steps[to - 1] } else { [false; 3] };
                for (from, before) in steps.iter().enumerate() {
                    let reads = |terminal: &Terminal| terminal.reads(text, from, to);
                    let (a, bc) = (reads(&a), reads(&b) || reads(&c));
                    if is_sequence {
                        reached[1] |= before[0] && a || before[1] && bc;
                        reached[2] |= before[1] && a;
                    } else {
                        reached[2] |= (before[0] || before[2]) && (a || bc);
                    }
                }
                steps.push(reached);
            }
            let expected = steps[text.len()][2];
            let found = constraint.as_ref().is_some_and(|constraint| accepts(constraint, text));
            assert_eq!(found, expected, "{grammar}\non {text:?}");
            *if expected { &mut accepted } else { &mut refused } += 1;
        }
    }
    assert!(accepted > rounds && refused > rounds);
}

/// Conditions are rewritten while a grammar is read: the limits on time and states hold there, too.
#[test]
fn reading_counts_against_the_limits() {
    let keywords: String = (0..12).map(|i| format!("K{i}: /\\bkey{i}\\b/i\n")).collect();
    let names: Vec<String> = (0..12).map(|i| format!("K{i}")).collect();
    let grammar = format!("start: ({} | \" \")+\n{keywords}", names.join(" | "));
    let limited = |limits: Limits| {
        let read = compiler().with_limits(limits).parse_grammar(&grammar, Dialect::Lark);
        read.map(|_| ()).map_err(|error| error.limit())
    };
    assert_eq!(limited(Limits::default()), Ok(()));
    let time = Limits { time_per_constraint: Some(Duration::ZERO), ..Limits::default() };
    assert_eq!(limited(time), Err(Some(LimitName::TimePerConstraint)));
    let states = Limits { language_states: 2_000, ..Limits::default() };
    assert_eq!(limited(states), Err(Some(LimitName::LanguageStates)));
}
