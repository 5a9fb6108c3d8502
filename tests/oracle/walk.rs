//! Random walks with engine and oracle side by side.

use std::collections::BTreeSet;

use maskwright::{Compiler, Constraint, Limits, Matcher};
use maskwright::{ErrorKind, Result as EngineResult};

use super::engine;
use super::language::{Grammar, Symbol, Token, Tokens, show_text, show_tokens, special, symbols};
use super::random::{Family, LONGEST_TOKEN, Random, SPECIALS};
use super::spans::{MAX_TEXT, Oracle};

/// Walks through one case, and how many tokens each may take.
const WALKS: usize = 4;
const STEPS: usize = 9;

/// A language, a vocabulary, and the choices of the walks.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) grammar: Grammar,
    /// A grammar that the same compiler has compiled before; its memory must not matter.
    pub(crate) before: Option<Grammar>,
    pub(crate) tokens: Tokens,
    pub(crate) family: Family,
    pub(crate) seed: u64,
}

/// A way to give the engine the language of a case; `None` where that way cannot express it.
pub(crate) type Compile = fn(&Compiler, &Grammar) -> Option<EngineResult<Constraint>>;

/// The first disagreement, in words; otherwise how many masks were compared.
pub(crate) type Outcome = Result<usize, String>;

/// `ensure!(condition, "what is wrong {}", with)`: an error of these words unless it holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.grammar)?;
        if let Some(before) = &self.before {
            write!(f, "compiled before:\n{before}")?;
        }
        write!(f, "tokens: {}", show_tokens(&self.tokens))
    }
}

impl Case {
    /// Compares the engine with the oracle along random walks.
    pub(crate) fn run(&self, compile: Compile) -> Outcome {
        let mut oracle = Oracle::new(&self.grammar, &self.tokens);
        let vocabulary = engine::vocabulary(&self.tokens).map_err(|e| e.to_string())?;
        let mut random = Random::new(self.seed);
        let mut limits = Limits::default();
        if random.percent(30) {
            // What is remembered is forgotten again and again.
            limits.cache_bytes = 0;
        }
        let compiler = Compiler::new(vocabulary).with_limits(limits);
        if let Some(grammar) = &self.before
            && let Some(Ok(constraint)) = engine::compile(&compiler, grammar)
        {
            (0..WALKS).for_each(|_| wander(&mut random, &constraint));
        }
        let constraint = match compile(&compiler, &self.grammar) {
            None => return Ok(0),
            Some(Ok(constraint)) => constraint,
            Some(Err(error)) if error.kind() == ErrorKind::Unsatisfiable => {
                ensure!(!oracle.judge(&[]).viable, "not compiled, but the language has strings");
                return Ok(0);
            }
            Some(Err(error)) => return Err(format!("not compiled: {error}")),
        };
        ensure!(oracle.judge(&[]).viable, "compiled, but the language is empty");
        let mut walk = Walk { case: self, oracle, random, text: vec![], steps: vec![], masks: 0 };
        for _ in 0..WALKS {
            walk.go(constraint.matcher())
                .map_err(|wrong| format!("after {:?}: {wrong}", show_text(&walk.text)))?;
        }
        Ok(walk.masks)
    }
}

/// Takes masks and tokens at random, whatever they are.
fn wander(random: &mut Random, constraint: &Constraint) {
    let mut matcher = constraint.matcher();
    for _ in 0..STEPS {
        let Ok(mask) = matcher.mask() else { return };
        let allowed: Vec<u32> = mask.iter().collect();
        if allowed.is_empty() || matcher.accept(*random.pick(&allowed)).is_err() {
            return;
        }
    }
}

struct Walk<'a> {
    case: &'a Case,
    oracle: Oracle,
    random: Random,
    /// The symbols that the matcher has accepted.
    text: Vec<Symbol>,
    /// The length of `text` before each accepted token.
    steps: Vec<usize>,
    masks: usize,
}

impl Walk<'_> {
    fn go(&mut self, mut matcher: Matcher) -> Result<(), String> {
        self.text.clear();
        self.steps.clear();
        for _ in 0..STEPS {
            let mut allowed = self.compare(&mut matcher)?;
            match self.random.below(5) {
                0 => self.reject(&mut matcher)?,
                1 => self.fork(&mut matcher, &allowed)?,
                2 => allowed = self.roll_back(&mut matcher)?,
                3 => self.bytes(&mut matcher)?,
                _ => {}
            }
            let (end, text): (Vec<u32>, Vec<u32>) =
                allowed.iter().partition(|&&id| matches!(self.token(id), Token::End(_)));
            if !end.is_empty() && (text.is_empty() || self.random.percent(15)) {
                let id = *self.random.pick(&end);
                return self.finish(&mut matcher, id);
            }
            if text.is_empty() {
                // Complete, and the vocabulary has no end token.
                return Ok(());
            }
            let id = *self.random.pick(&text);
            matcher.accept(id).map_err(|e| format!("allowed token {id} not accepted: {e}"))?;
            self.steps.push(self.text.len());
            self.text.extend(self.token(id).symbols(id).unwrap_or_default());
            // Room for two tokens taken as bytes and one that a mask asks about.
            if self.text.len() + 3 * LONGEST_TOKEN > MAX_TEXT {
                break;
            }
        }
        self.compare(&mut matcher).map(|_| ())
    }

    fn token(&self, id: u32) -> &Token {
        &self.case.tokens[id as usize]
    }

    /// The mask, id by id, and whether the text is complete.
    fn compare(&mut self, matcher: &mut Matcher) -> Result<Vec<u32>, String> {
        self.masks += 1;
        let member = self.oracle.judge(&self.text).member;
        let mut expected = Vec::new();
        for (id, token) in (0..).zip(&self.case.tokens) {
            let allowed = match token {
                Token::End(_) => member,
                _ => token.symbols(id).is_some_and(|symbols| {
                    self.oracle.judge(&[&self.text[..], &symbols].concat()).viable
                }),
            };
            if allowed {
                expected.push(id);
            }
        }
        let mask = matcher.mask().map_err(|e| format!("no mask: {e}"))?;
        let found: Vec<u32> = mask.iter().collect();
        ensure!(found == expected, "the mask is {found:?}, should be {expected:?}");
        let width = self.case.tokens.len();
        ensure!(mask.words().len() == width.div_ceil(32), "the mask is not {width} tokens wide");
        let accepting = matcher.is_accepting();
        ensure!(accepting == member, "is_accepting is {accepting}, should be {member}");
        ensure!(!matcher.is_finished(), "finished without an end token");
        self.compare_expected(matcher)?;
        Ok(expected)
    }

    /// Compares the expected bytes and the forced bytes.
    fn compare_expected(&mut self, matcher: &mut Matcher) -> Result<(), String> {
        // Elsewhere it depends on the tokens to come what a beginning of a text is.
        if self.case.family != Family::Plain {
            return Ok(());
        }
        let expected = matcher.expected().map_err(|e| format!("nothing expected: {e}"))?;
        let found: Vec<Symbol> = expected.bytes.iter().map(Symbol::from).collect();
        let found =
            [found, expected.special_tokens.iter().copied().map(special).collect()].concat();
        let next = self.next();
        ensure!(found == next, "{found:?} expected, should be {next:?}");
        let member = self.oracle.judge(&self.text).member;
        ensure!(expected.end == member, "end expected: {}, should be {member}", expected.end);

        let forced = matcher.forced_bytes(4).map_err(|e| format!("no forced bytes: {e}"))?;
        let before = self.text.len();
        for &byte in &forced {
            let only = !self.oracle.judge(&self.text).member && self.next() == [Symbol::from(byte)];
            ensure!(only, "{forced:?} is not forced");
            self.text.push(Symbol::from(byte));
        }
        let more = !self.oracle.judge(&self.text).member && matches!(self.next()[..], [0..256]);
        self.text.truncate(before);
        ensure!(forced.len() == 4 || !more, "{forced:?} is not all that is forced");
        Ok(())
    }

    /// The symbols that some text goes on with here.
    fn next(&mut self) -> Vec<Symbol> {
        let specials = SPECIALS.map(special);
        let symbols = self.oracle.letters().chain(specials).collect::<BTreeSet<Symbol>>();
        let viable =
            |symbol: &Symbol| self.oracle.judge(&[&self.text[..], &[*symbol]].concat()).viable;
        symbols.into_iter().filter(viable).collect()
    }

    /// A token outside the mask is refused and changes nothing.
    fn reject(&mut self, matcher: &mut Matcher) -> Result<(), String> {
        let beyond = self.case.tokens.len() + 40;
        let id = self.random.below(beyond) as u32;
        if matcher.mask().is_ok_and(|mask| mask.contains(id)) {
            return Ok(());
        }
        ensure!(matcher.accept(id).is_err(), "token {id} accepted, but it is not in the mask");
        self.compare(matcher).map_err(|wrong| format!("after refusing {id}: {wrong}")).map(|_| ())
    }

    /// Texts that a fork accepts do not touch the original.
    fn fork(&mut self, matcher: &mut Matcher, allowed: &[u32]) -> Result<(), String> {
        let mut fork = matcher.clone();
        if let Some(&id) = allowed.get(self.random.below(allowed.len().max(1))) {
            fork.accept(id).map_err(|e| format!("a fork does not accept {id}: {e}"))?;
        }
        self.compare(matcher).map_err(|wrong| format!("after a fork went on: {wrong}"))?;
        Ok(())
    }

    /// Taking back tokens restores the state before them, and the walk goes on from there.
    fn roll_back(&mut self, matcher: &mut Matcher) -> Result<Vec<u32>, String> {
        let taken = self.steps.len();
        ensure!(matcher.rollback(taken + 1).is_err(), "rolled back beyond the beginning");
        let count = self.random.below(taken + 1);
        matcher.rollback(count).map_err(|e| format!("cannot roll back {count}: {e}"))?;
        self.text.truncate(self.steps.get(taken - count).copied().unwrap_or(self.text.len()));
        self.steps.truncate(taken - count);
        self.compare(matcher).map_err(|wrong| format!("after rolling back {count}: {wrong}"))
    }

    /// Bytes are accepted exactly if some text goes on with them, all of them or none, and leave
    /// the state that tokens of the same bytes leave.
    fn bytes(&mut self, matcher: &mut Matcher) -> Result<(), String> {
        if self.case.family != Family::Plain {
            return Ok(());
        }
        let texts: Vec<&Vec<u8>> = self
            .case
            .tokens
            .iter()
            .filter_map(|token| match token {
                Token::Text(bytes) => Some(bytes),
                _ => None,
            })
            .collect();
        let (first, second) = (*self.random.pick(&texts), *self.random.pick(&texts));
        let bytes = [&first[..], second].concat();
        let longer = [&self.text[..], &symbols(&bytes)].concat();
        let viable = self.oracle.judge(&longer).viable;
        let mut fork = matcher.clone();
        let accepted = fork.accept_bytes(&bytes);
        let shown = show_text(&symbols(&bytes));
        ensure!(
            accepted.is_ok() == viable,
            "bytes {shown:?} should be {}",
            if viable { "accepted" } else { "refused" }
        );
        let before = self.text.clone();
        if viable {
            self.text = longer;
        }
        self.compare(&mut fork).map_err(|wrong| format!("bytes {shown:?}: {wrong}"))?;
        self.text = before;
        Ok(())
    }

    /// After an end token nothing may come; taking it back undoes that.
    fn finish(&mut self, matcher: &mut Matcher, end: u32) -> Result<(), String> {
        matcher.accept(end).map_err(|e| format!("end token {end} not accepted: {e}"))?;
        ensure!(matcher.is_finished(), "not finished after end token {end}");
        let empty = matcher.mask().map_err(|e| e.to_string())?.is_empty();
        ensure!(empty, "tokens allowed after the end");
        for id in 0..self.case.tokens.len() as u32 {
            ensure!(matcher.accept(id).is_err(), "token {id} accepted after the end");
        }
        matcher.rollback(1).map_err(|e| format!("cannot roll back the end token: {e}"))?;
        self.compare(matcher).map_err(|wrong| format!("after taking the end back: {wrong}"))?;
        Ok(())
    }
}
