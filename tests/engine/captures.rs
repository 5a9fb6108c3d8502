//! Captures against the definition of the parse that counts, on random grammars: which texts a part
//! reads is a least fixed point over all pairs of positions, and the parse is found by trying the
//! choices in their order.
#![allow(clippy::unwrap_used)]

use maskwright::grammar::{GrammarBuilder, NodeId, RuleId};
use maskwright::{Compiler, Constraint, Vocabulary};

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % n as u64) as usize
    }
}

/// A part of a grammar over `a` and `b`.
#[derive(Clone, Debug)]
enum Part {
    /// A terminal, as the texts that it holds; each is `a*` after a prefix if `is_endless`.
    Terminal {
        texts: Vec<&'static str>,
        is_endless: bool,
    },
    Sequence(Vec<Part>),
    Choice(Vec<Part>),
    Repeat(Box<Part>, u32, Option<u32>),
    Call(usize),
    Capture(Box<Part>, &'static str),
    /// At most so many tokens; each byte is a token here.
    Budget(Box<Part>, u32),
}

const NAMES: [&str; 3] = ["x", "y", "z"];

fn random_part(random: &mut Random, depth: u32, rules: usize) -> Part {
    let part = |random: &mut Random| random_part(random, depth - 1, rules);
    match if depth == 0 { random.below(3) } else { random.below(10) } {
        0 => Part::Call(random.below(rules)),
        1 | 2 => {
            let texts = ["", "a", "b", "ab", "ba", "aa"];
            let texts = (0..1 + random.below(2)).map(|_| texts[random.below(6)]).collect();
            Part::Terminal { texts, is_endless: random.below(4) == 0 }
        }
        3 | 4 => Part::Sequence((0..1 + random.below(3)).map(|_| part(random)).collect()),
        5 | 6 => Part::Choice((0..1 + random.below(3)).map(|_| part(random)).collect()),
        7 => {
            let min = random.below(3) as u32;
            let max = (random.below(2) == 0).then(|| min + 1 + random.below(3) as u32);
            Part::Repeat(Box::new(part(random)), min, max)
        }
        8 => Part::Capture(Box::new(part(random)), NAMES[random.below(3)]),
        _ => match random.below(3) {
            0 => Part::Budget(Box::new(part(random)), random.below(4) as u32),
            _ => Part::Capture(Box::new(part(random)), NAMES[random.below(3)]),
        },
    }
}

fn build(part: &Part, g: &mut GrammarBuilder, rules: &[RuleId]) -> NodeId {
    match part {
        Part::Terminal { texts, is_endless } => {
            let languages = g.languages();
            let texts: Vec<_> =
                texts.iter().map(|text| languages.literal(text.as_bytes())).collect();
            let mut language = languages.union(texts);
            if *is_endless {
                let a = languages.literal(b"a");
                let more = languages.repeat(a, 0, None);
                language = languages.concat([language, more]);
            }
            g.regular(language)
        }
        Part::Sequence(parts) => {
            let parts: Vec<NodeId> = parts.iter().map(|part| build(part, g, rules)).collect();
            g.sequence(parts)
        }
        Part::Choice(parts) => {
            let parts: Vec<NodeId> = parts.iter().map(|part| build(part, g, rules)).collect();
            g.choice(parts)
        }
        Part::Repeat(part, min, max) => {
            let part = build(part, g, rules);
            g.repeat(part, *min, *max)
        }
        Part::Call(rule) => g.call(rules[*rule]),
        Part::Capture(part, name) => {
            let part = build(part, g, rules);
            g.capture(part, *name)
        }
        Part::Budget(part, most) => {
            let part = build(part, g, rules);
            g.budget(part, *most)
        }
    }
}

/// The parts that a sequence is made of, nested sequences included.
fn flat(parts: &[Part]) -> Vec<&Part> {
    let all = parts.iter().flat_map(|part| match part {
        Part::Sequence(inner) => flat(inner),
        other => vec![other],
    });
    all.collect()
}

type Captured = (&'static str, usize, usize);

/// The definition, for one text.
struct Reference<'a> {
    rules: &'a [Part],
    text: &'a [u8],
    /// By rule, start and end: whether the rule reads that text.
    reads: Vec<Vec<Vec<bool>>>,
    /// By rule and start: whether the rule may go on after the text.
    opens: Vec<Vec<bool>>,
}

impl<'a> Reference<'a> {
    fn new(rules: &'a [Part], text: &'a [u8]) -> Self {
        let size = text.len() + 1;
        let mut this = Self {
            rules,
            text,
            reads: vec![vec![vec![false; size]; size]; rules.len()],
            opens: vec![vec![false; size]; rules.len()],
        };
        loop {
            let mut changed = false;
            for (rule, part) in rules.iter().enumerate() {
                for from in 0..size {
                    for to in from..size {
                        let holds = this.reads(part, from, to);
                        changed |= holds != this.reads[rule][from][to];
                        this.reads[rule][from][to] = holds;
                    }
                    let holds = this.opens(part, from);
                    changed |= holds != this.opens[rule][from];
                    this.opens[rule][from] = holds;
                }
            }
            if !changed {
                return this;
            }
        }
    }

    fn reads(&self, part: &Part, from: usize, to: usize) -> bool {
        let text = &self.text[from..to];
        match part {
            Part::Terminal { texts, is_endless } => texts.iter().any(|known| {
                text == known.as_bytes()
                    || *is_endless && text.strip_prefix(known.as_bytes()).is_some_and(all_a)
            }),
            Part::Sequence(parts) => self.sequence_reads(&flat(parts), from, to),
            Part::Choice(parts) => parts.iter().any(|part| self.reads(part, from, to)),
            Part::Repeat(part, min, max) => self.turns_read(part, (*min, *max), 0, from, to),
            Part::Call(rule) => self.reads[*rule][from][to],
            Part::Capture(part, _) => self.reads(part, from, to),
            Part::Budget(part, most) => to - from <= *most as usize && self.reads(part, from, to),
        }
    }

    fn sequence_reads(&self, parts: &[&Part], from: usize, to: usize) -> bool {
        match parts {
            [] => from == to,
            [first, rest @ ..] => (from..=to)
                .any(|at| self.reads(first, from, at) && self.sequence_reads(rest, at, to)),
        }
    }

    fn turns_read(
        &self,
        part: &Part,
        (min, max): (u32, Option<u32>),
        turns: u32,
        from: usize,
        to: usize,
    ) -> bool {
        if from == to && turns >= min {
            return true;
        }
        max.is_none_or(|max| turns < max)
            && self.ends_of_turn(turns, min, from, to).any(|at| {
                self.reads(part, from, at) && self.turns_read(part, (min, max), turns + 1, at, to)
            })
    }

    /// The places where a turn may end, the farthest first.
    fn ends_of_turn(
        &self,
        turns: u32,
        min: u32,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        (from..=to).rev().filter(move |&at| at > from || turns < min)
    }

    fn opens(&self, part: &Part, from: usize) -> bool {
        let text = &self.text[from..];
        let end = self.text.len();
        match part {
            Part::Terminal { texts, is_endless } => texts.iter().any(|known| {
                known.as_bytes().starts_with(text) && known.len() > text.len()
                    || *is_endless && text.strip_prefix(known.as_bytes()).is_some_and(all_a)
            }),
            Part::Sequence(parts) => self.sequence_opens(&flat(parts), from),
            Part::Choice(parts) => parts.iter().any(|part| self.opens(part, from)),
            Part::Repeat(part, min, max) => self.turns_open(part, (*min, *max), 0, from),
            Part::Call(rule) => self.opens[*rule][from],
            Part::Capture(part, _) => self.opens(part, from),
            Part::Budget(part, most) => end - from <= *most as usize && self.opens(part, from),
        }
    }

    fn sequence_opens(&self, parts: &[&Part], from: usize) -> bool {
        let [first, rest @ ..] = parts else { return false };
        self.opens(first, from)
            || (from..=self.text.len())
                .any(|at| self.reads(first, from, at) && self.sequence_opens(rest, at))
    }

    fn turns_open(
        &self,
        part: &Part,
        (min, max): (u32, Option<u32>),
        turns: u32,
        from: usize,
    ) -> bool {
        max.is_none_or(|max| turns < max)
            && (self.opens(part, from)
                || self.ends_of_turn(turns, min, from, self.text.len()).any(|at| {
                    self.reads(part, from, at) && self.turns_open(part, (min, max), turns + 1, at)
                }))
    }

    /// The captures of a part that reads a text, or without an end the rest and more; `chain` has the
    /// rules around it over the same text.
    fn derive(
        &self,
        part: &Part,
        from: usize,
        to: Option<usize>,
        chain: &[(usize, usize, Option<usize>)],
    ) -> Option<Vec<Captured>> {
        let holds = match to {
            Some(to) => self.reads(part, from, to),
            None => self.opens(part, from),
        };
        if !holds {
            return None;
        }
        match part {
            Part::Terminal { .. } => Some(Vec::new()),
            Part::Sequence(parts) => self.derive_sequence(&flat(parts), from, to, chain),
            Part::Choice(parts) => parts.iter().find_map(|part| self.derive(part, from, to, chain)),
            Part::Repeat(part, min, max) => {
                self.derive_turns(part, (*min, *max), 0, from, to, chain)
            }
            Part::Call(rule) => {
                if chain.contains(&(*rule, from, to)) {
                    return None;
                }
                let chain = [chain, &[(*rule, from, to)]].concat();
                self.derive(&self.rules[*rule], from, to, &chain)
            }
            Part::Capture(part, name) => {
                let mut found = self.derive(part, from, to, chain)?;
                found.extend(to.map(|to| (*name, from, to)));
                Some(found)
            }
            Part::Budget(part, _) => self.derive(part, from, to, chain),
        }
    }

    fn derive_sequence(
        &self,
        parts: &[&Part],
        from: usize,
        to: Option<usize>,
        chain: &[(usize, usize, Option<usize>)],
    ) -> Option<Vec<Captured>> {
        let [first, rest @ ..] = parts else {
            return (to == Some(from)).then(Vec::new);
        };
        if to.is_none()
            && let Some(found) = self.derive(first, from, None, chain)
        {
            return Some(found);
        }
        (from..=to.unwrap_or(self.text.len())).rev().find_map(|at| {
            let mut found = self.derive(first, from, Some(at), chain)?;
            found.extend(self.derive_sequence(rest, at, to, chain)?);
            Some(found)
        })
    }

    fn derive_turns(
        &self,
        part: &Part,
        (min, max): (u32, Option<u32>),
        turns: u32,
        from: usize,
        to: Option<usize>,
        chain: &[(usize, usize, Option<usize>)],
    ) -> Option<Vec<Captured>> {
        if max.is_none_or(|max| turns < max) {
            if to.is_none()
                && let Some(found) = self.derive(part, from, None, chain)
            {
                return Some(found);
            }
            let last = to.unwrap_or(self.text.len());
            let turn = self.ends_of_turn(turns, min, from, last).find_map(|at| {
                let mut found = self.derive(part, from, Some(at), chain)?;
                found.extend(self.derive_turns(part, (min, max), turns + 1, at, to, chain)?);
                Some(found)
            });
            if turn.is_some() {
                return turn;
            }
        }
        (to == Some(from) && turns >= min).then(Vec::new)
    }

    fn captures(&self) -> Vec<Captured> {
        let end = self.text.len();
        let to = self.reads[0][0][end].then_some(end);
        self.derive(&Part::Call(0), 0, to, &[]).unwrap()
    }
}

fn all_a(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte == b'a')
}

fn bytes() -> Vocabulary {
    let tokens = (0..=255u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    Vocabulary::from_tokens(tokens, &[(256, "</s>")], &[256]).unwrap()
}

fn compile(compiler: &Compiler, rules: &[Part]) -> maskwright::Result<Constraint> {
    let mut g = GrammarBuilder::new();
    let ids: Vec<RuleId> = (0..rules.len()).map(|rule| g.declare(format!("r{rule}"))).collect();
    for (rule, part) in rules.iter().enumerate() {
        let body = build(part, &mut g, &ids);
        g.define(ids[rule], body);
    }
    compiler.compile(g.finish(ids[0])?)
}

#[test]
fn random_grammars_capture_what_the_definition_says() {
    let compiler = Compiler::new(bytes());
    let mut compared = [0, 0, 0];
    for seed in 0..3_000 {
        let mut random = Random(seed);
        let count = 1 + random.below(3);
        let rules: Vec<Part> = (0..count).map(|_| random_part(&mut random, 3, count)).collect();
        // Some have no text, or a budget around left recursion.
        let Ok(constraint) = compile(&compiler, &rules) else { continue };
        let mut matcher = constraint.matcher();
        let mut text = Vec::new();
        loop {
            let reference = Reference::new(&rules, &text);
            let expected =
                if constraint.has_captures() { reference.captures() } else { Vec::new() };
            let found = matcher.captures().unwrap();
            let found: Vec<_> =
                found.iter().map(|c| (c.name.to_string(), c.range.start, c.range.end)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(name, from, to)| (name.to_owned(), from, to)).collect();
            assert_eq!(found, expected, "seed {seed}, {text:?}: {rules:?}");
            compared[0] += 1;
            compared[1] += usize::from(!found.is_empty());
            compared[2] += usize::from(!found.is_empty() && !matcher.is_accepting());
            let next: Vec<u32> = matcher.mask().unwrap().iter().filter(|&id| id < 256).collect();
            if text.len() == 7 || next.is_empty() {
                break;
            }
            let token = next[random.below(next.len())];
            // Steps that are taken back leave no trace.
            matcher.accept(next[0]).unwrap();
            matcher.rollback(1).unwrap();
            matcher.accept(token).unwrap();
            text.push(token as u8);
        }
    }
    assert!(compared[1] > 2_000 && compared[2] > 300, "{compared:?}");
}
