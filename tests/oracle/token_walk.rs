//! Random walks over grammars with budgets of tokens, with engine and oracle side by side.

use maskwright::{Compiler, ErrorKind, Matcher};

use super::engine;
use super::language::{Symbol, Token};
use super::random::{LONGEST_TOKEN, Random};
use super::shrink;
use super::spans::MAX_TEXT;
use super::token_spans::{TokenOracle, is_member};
use super::walk::Case;

/// Walks through one case, and how many tokens each may take.
const WALKS: usize = 4;
const STEPS: usize = 9;

/// Texts up to this long are judged from the definition, too.
const MAX_DEFINED: usize = 8;

/// The number of masks that are as the oracle says; `None` if the engine refuses the grammar for its
/// left recursion.
pub(crate) fn run(case: &Case) -> Result<Option<usize>, String> {
    let mut oracle = TokenOracle::new(&case.grammar, &case.tokens);
    let vocabulary = engine::vocabulary(&case.tokens).map_err(|error| error.to_string())?;
    let compiler = Compiler::new(vocabulary);
    let is_viable = oracle.judge(&[]).viable;
    let constraint = match engine::compile(&compiler, &case.grammar) {
        Some(Ok(constraint)) if is_viable => constraint,
        Some(Err(error)) if error.kind() == ErrorKind::Unsatisfiable && !is_viable => {
            return Ok(Some(0));
        }
        Some(Err(error)) if error.message().contains("left edge") => return Ok(None),
        Some(Err(error)) => return Err(format!("not compiled: {error}")),
        _ => return Err("compiled, but no tokens spell a text".into()),
    };
    let mut walk = Walk { case, oracle, random: Random::new(case.seed), tokens: vec![], masks: 0 };
    for _ in 0..WALKS {
        walk.tokens.clear();
        let walked = walk.go(constraint.matcher());
        walked.map_err(|wrong| format!("after {:?}: {wrong}", walk.tokens))?;
    }
    Ok(Some(walk.masks))
}

/// The smallest failing case, and what is wrong with it.
pub(crate) fn shrunk(case: &Case, wrong: String) -> (Case, String) {
    let (mut case, mut wrong) = (case.clone(), wrong);
    'smaller: loop {
        for candidate in shrink::smaller(&case) {
            if let Err(words) = run(&candidate) {
                (case, wrong) = (candidate, words);
                continue 'smaller;
            }
        }
        return (case, wrong);
    }
}

struct Walk<'a> {
    case: &'a Case,
    oracle: TokenOracle,
    random: Random,
    /// The tokens that the matcher has accepted.
    tokens: Vec<u32>,
    masks: usize,
}

impl Walk<'_> {
    fn go(&mut self, mut matcher: Matcher) -> Result<(), String> {
        for _ in 0..STEPS {
            let allowed = self.compare(&mut matcher)?;
            let text: Vec<u32> = allowed
                .iter()
                .copied()
                .filter(|&id| !matches!(self.case.tokens[id as usize], Token::End(_)))
                .collect();
            if self.random.percent(20) {
                self.fork(&matcher, &text)?;
            }
            if self.random.percent(20) {
                let steps = self.random.below(self.tokens.len() + 1);
                matcher.rollback(steps).map_err(|error| error.to_string())?;
                self.tokens.truncate(self.tokens.len() - steps);
                continue;
            }
            if text.is_empty() || self.length() + 2 * LONGEST_TOKEN > MAX_TEXT {
                return Ok(());
            }
            let id = *self.random.pick(&text);
            matcher.accept(id).map_err(|error| format!("{id} is not accepted: {error}"))?;
            self.tokens.push(id);
        }
        Ok(())
    }

    fn symbols(&self, tokens: &[u32]) -> Vec<Vec<Symbol>> {
        let of = |&id: &u32| self.case.tokens[id as usize].symbols(id).unwrap_or_default();
        tokens.iter().map(of).collect()
    }

    fn length(&self) -> usize {
        self.symbols(&self.tokens).iter().map(Vec::len).sum()
    }

    /// The mask, as the oracle says, and each token outside it refused.
    fn compare(&mut self, matcher: &mut Matcher) -> Result<Vec<u32>, String> {
        let mask: Vec<u32> = matcher.mask().map_err(|error| error.to_string())?.iter().collect();
        let before = self.symbols(&self.tokens);
        let member = self.oracle.judge(&before).member;
        if self.length() <= MAX_DEFINED && self.random.percent(20) {
            let defined = is_member(&self.case.grammar, &before);
            assert_eq!(defined, member, "the oracle errs after {:?}: {}", self.tokens, self.case);
        }
        let mut wanted = Vec::new();
        for (id, token) in (0..).zip(&self.case.tokens) {
            let is_allowed = match token.symbols(id) {
                Some(symbols) => self.oracle.judge(&[&before[..], &[symbols]].concat()).viable,
                None => matches!(token, Token::End(_)) && member,
            };
            if is_allowed {
                wanted.push(id);
            } else if self.random.percent(10) && matcher.accept(id).is_ok() {
                return Err(format!("{id} is accepted"));
            }
        }
        self.masks += 1;
        let wrong = || format!("the mask is {mask:?} and should be {wanted:?}");
        if mask == wanted { Ok(mask) } else { Err(wrong()) }
    }

    /// A fork goes on by itself.
    fn fork(&mut self, matcher: &Matcher, allowed: &[u32]) -> Result<(), String> {
        let mut fork = matcher.clone();
        if let Some(&id) = allowed.first() {
            fork.accept(id).map_err(|error| format!("a fork does not accept {id}: {error}"))?;
            self.tokens.push(id);
            self.compare(&mut fork)?;
            self.tokens.pop();
        }
        self.compare(&mut matcher.clone()).map(|_| ())
    }
}
