//! Runs: the tokens of a vocabulary by how far they stay within a repeat.
//!
//! Most of what a model writes under a constraint stands in a repeat of small units: characters of
//! a string, digits, blanks. Which tokens are units from end to end, and after how many units the
//! others leave the repeat, is a matter of the vocabulary and the unit alone. So it is found out
//! once, for all bounds on the repeat, for whatever follows it, and for all constraints of a
//! compiler: a mask inside a string is a precomputed one, cut by the units that may still come,
//! and a walk over the few *tails* that leave the string.

mod encoding;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::shapes::{Classes, class_of, uniform_classes};
use crate::error::Result;
use crate::mask::Strategy;
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::{TokenMask, Trie, Vocabulary, head};

/// More tokens than this are kept as masks too.
const DENSE: usize = 400;

/// How far a token stays within the repeat, where it leaves it after at least one unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) units: u16,
    pub(crate) bytes: u16,
}

/// Tells the tries of tokens of a process apart; 0 is the vocabulary's.
pub(crate) type TrieId = u64;

/// An id that no other trie has.
pub(crate) fn new_trie() -> TrieId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Tokens that leave a repeat at a certain byte.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// What follows the last whole unit, from that byte on.
    pub(crate) tails: Trie,
    /// The runs before them, in the order of the trie's ids.
    pub(crate) runs: Box<[Run]>,
    pub(crate) id: TrieId,
}

/// Tokens that leave the repeat, with the runs before that, by the byte at which they do.
type ByByte = FxHashMap<u8, Vec<(u32, Run)>>;

/// Where tokens leave the repeat after some units.
#[derive(Clone, Copy, Debug)]
struct Border {
    tokens: At,
    run: Run,
}

/// Tokens, of which those leave the repeat that have the byte after the run.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Those below a node of the vocabulary's trie.
    Node(u32),
    /// Those below one of the trie of shapes.
    Shape(u32),
    Token(u32),
}

/// The tokens that leave the repeat at a byte of a class.
#[derive(Debug, Default)]
struct OfClass {
    by_byte: ByByte,
    /// Nodes of the vocabulary's trie, of whose children by a byte of the class all tokens leave.
    before: Vec<(u32, Run)>,
}

/// The tokens below one node of the trie, by the repeat of a unit that begins at that node. No
/// string of the unit is the beginning of another, so there is one way to count them.
#[derive(Debug)]
pub(crate) struct Runs {
    /// Tokens that never leave the repeat, by the units that they need: an unfinished one counts.
    inside: Box<[u32]>,
    /// By number of units: how many of `inside` need no more.
    upto: Box<[u32]>,
    /// By number of units: the mask of those, once asked for.
    masks: Box<[OnceLock<TokenMask>]>,
    /// By the class of the byte at which the others leave.
    borders: FxHashMap<u8, Vec<Border>>,
    /// The node.
    pub(crate) node: u32,
    /// The length of its string, in bytes.
    top: usize,
    leaving: Mutex<FxHashMap<u8, Arc<Leaving>>>,
    /// By class: the tokens that leave at one of its bytes. The tails of a byte are sorted when it is
    /// asked for, but its tokens are mostly found with those of all others of its class.
    of_class: Mutex<FxHashMap<u8, OfClass>>,
    words: usize,
    /// Of the tails of all tokens that leave the repeat.
    pub(crate) id: TrieId,
}

impl Runs {
    /// One pass over what the repeat lets through below `node`.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        classes: &Classes,
        languages: &mut Languages,
        unit: Language,
        node: usize,
    ) -> Result<Self> {
        let mut walk = Walk::new(vocabulary, languages, unit);
        let first = walk.languages.first_bytes(unit)?;
        // Few bytes reach little of the trie.
        const FEW: usize = 4;
        let shapes = classes.strategies.has(Strategy::ByteShapes);
        let by_shape = shapes && node == 0 && first.len() > FEW;
        for class in (0..=u8::MAX).filter(|&byte| by_shape && class_of(byte) == byte) {
            let shape = classes.trie().first(class);
            match walk.is_uniform(unit, class)? {
                true if first.contains(class) => {
                    shape.map_or(Ok(()), |at| walk.below(Some(classes), 0, at))?;
                }
                true => {}
                false => {
                    for byte in first.iter().filter(|&byte| class_of(byte) == class) {
                        let at = vocabulary.trie().first(byte);
                        at.map_or(Ok(()), |at| walk.below(None, 0, at))?;
                    }
                }
            }
        }
        if !by_shape {
            for at in vocabulary.trie().children(node, first.bits()) {
                walk.below(None, node, at)?;
            }
        }
        let top = usize::from(vocabulary.trie().nodes()[node].depth);
        let Walk { inside, borders, .. } = walk;
        let most = inside.iter().map(|&(need, _)| need).max().unwrap_or(0);
        // By counting: there are few different numbers.
        let mut upto = vec![0u32; usize::from(most) + 1];
        inside.iter().for_each(|&(need, _)| upto[usize::from(need)] += 1);
        for need in 1..upto.len() {
            upto[need] += upto[need - 1];
        }
        let mut ends = upto.clone();
        let mut sorted = vec![0; inside.len()];
        for &(need, token) in inside.iter().rev() {
            let end = &mut ends[usize::from(need)];
            *end -= 1;
            sorted[*end as usize] = token;
        }
        Ok(Self {
            masks: upto.iter().map(|_| OnceLock::new()).collect(),
            upto: upto.into(),
            inside: sorted.into(),
            borders,
            node: node as u32,
            top,
            leaving: Mutex::default(),
            of_class: Mutex::default(),
            words: vocabulary.len(),
            id: new_trie(),
        })
    }

    /// The tokens that leave the repeat, after at least one unit, at a byte that is no unit's
    /// first.
    pub(crate) fn leaving(
        &self,
        vocabulary: &Vocabulary,
        classes: &Classes,
        byte: u8,
    ) -> Arc<Leaving> {
        // Consistent between any two operations.
        let mut known = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let mut of_class = self.of_class.lock().unwrap_or_else(PoisonError::into_inner);
            let of_class = of_class
                .entry(class_of(byte))
                .or_insert_with(|| self.leaving_at_class(vocabulary, classes, class_of(byte)));
            let mut tokens = of_class.by_byte.remove(&byte).unwrap_or_default();
            let trie = vocabulary.trie();
            for &(before, run) in &of_class.before {
                let node = trie.child(before as usize, byte);
                let below = node.map_or(&[][..], |node| trie.subtree_tokens(node));
                tokens.extend(below.iter().map(|&token| (token, run)));
            }
            let tail = |&(token, run): &(u32, Run)| {
                let text = vocabulary.token_bytes(token).unwrap_or_default();
                let tail = &text[self.top + usize::from(run.bytes)..];
                (head(tail), tail, token, run)
            };
            let mut tails: Vec<(u64, &[u8], u32, Run)> = tokens.iter().map(tail).collect();
            // Stable, since the tokens of one border come sorted, and most have few borders.
            tails.sort_by_key(|&(head, tail, token, _)| (head, tail, token));
            let runs = tails.iter().map(|tail| tail.3).collect();
            let tails = Trie::from_sorted(tails.iter().map(|&(_, tail, token, _)| (tail, token)));
            Arc::new(Leaving { tails, runs, id: new_trie() })
        };
        Arc::clone(known.entry(byte).or_insert_with(make))
    }

    /// The tokens that leave the repeat at each byte of a class, in the order of their texts within
    /// one border.
    fn leaving_at_class(&self, vocabulary: &Vocabulary, classes: &Classes, class: u8) -> OfClass {
        let mut found = OfClass::default();
        for &Border { tokens, run } in self.borders.get(&class).into_iter().flatten() {
            let from = self.top + usize::from(run.bytes);
            let tokens = match &tokens {
                At::Node(node) => vocabulary.trie().subtree_tokens(*node as usize),
                At::Shape(node) => {
                    if classes.strategies.has(Strategy::BorderNodes)
                        && let Some(before) = classes.same_before(vocabulary, *node)
                    {
                        found.before.push((before, run));
                        continue;
                    }
                    classes.trie().subtree_tokens(*node as usize)
                }
                At::Token(token) => std::slice::from_ref(token),
            };
            for &token in tokens {
                let text = vocabulary.token_bytes(token).unwrap_or_default();
                if let Some(&byte) = text.get(from) {
                    found.by_byte.entry(byte).or_default().push((token, run));
                }
            }
        }
        found
    }

    /// The tokens that need at most so many units.
    pub(crate) fn inside(&self, units: u32) -> &[u32] {
        &self.inside[..self.upto[self.index(units)] as usize]
    }

    fn index(&self, units: u32) -> usize {
        (units as usize).min(self.upto.len() - 1)
    }

    /// The same as a mask, if they are many.
    pub(crate) fn mask(&self, units: u32) -> Option<&TokenMask> {
        let index = self.index(units);
        if (self.upto[index] as usize) < DENSE {
            return None;
        }
        Some(self.masks[index].get_or_init(|| {
            // From the nearest smaller one that is known.
            let known = self.masks[..index].iter().enumerate().rev();
            let below = known.filter_map(|(n, mask)| Some((n, mask.get()?))).next();
            let (done, mut mask) = match below {
                Some((n, mask)) => (self.upto[n] as usize, mask.clone()),
                None => (0, TokenMask::new(self.words)),
            };
            let upto = self.upto[index] as usize;
            self.inside[done..upto].iter().for_each(|&token| mask.allow(token));
            mask
        }))
    }

    /// Makes all masks now.
    pub(crate) fn prepare(&self) {
        (0..self.upto.len() as u32).for_each(|units| _ = self.mask(units));
    }

    pub(crate) fn bytes(&self) -> usize {
        let masks = self.masks.iter().filter(|mask| mask.get().is_some()).count();
        let borders: usize = self.borders.values().map(Vec::len).sum();
        // Consistent between any two operations.
        let leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let leaving = leaving.values().map(|l| l.tails.bytes() + size_of_val(&*l.runs));
        let of_class = self.of_class.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = of_class.values().map(|class| {
            let listed: usize = class.by_byte.values().map(Vec::capacity).sum();
            (listed + class.before.capacity()) * size_of::<(u32, Run)>()
        });
        size_of_val(&*self.inside)
            + borders * size_of::<Border>()
            + masks * self.words / 8
            + leaving.sum::<usize>()
            + waiting.sum::<usize>()
    }
}

/// How far within the units of a repeat: the state within one, whole ones, their bytes.
#[derive(Clone, Copy)]
struct Reached {
    state: Language,
    units: u16,
    bytes: u16,
}

/// Finds runs: over the trie of shapes as long as the bytes of a class are treated alike, and
/// beyond token by token.
struct Walk<'a> {
    vocabulary: &'a Vocabulary,
    languages: &'a mut Languages,
    unit: Language,
    /// Tokens, and the units that they need.
    inside: Vec<(u16, u32)>,
    borders: FxHashMap<u8, Vec<Border>>,
    /// By state within the unit: the classes of which it treats the bytes alike.
    uniform: FxHashMap<Language, ByteSet>,
    /// By depth.
    path: Vec<Reached>,
}

impl<'a> Walk<'a> {
    fn new(vocabulary: &'a Vocabulary, languages: &'a mut Languages, unit: Language) -> Self {
        Self {
            vocabulary,
            languages,
            unit,
            inside: Vec::new(),
            borders: FxHashMap::default(),
            uniform: FxHashMap::default(),
            path: Vec::new(),
        }
    }

    fn is_uniform(&mut self, state: Language, class: u8) -> Result<bool> {
        if let Some(known) = self.uniform.get(&state) {
            return Ok(known.contains(class));
        }
        let uniform = uniform_classes(self.languages.plain_row(state)?);
        self.uniform.insert(state, uniform);
        Ok(uniform.contains(class))
    }

    /// What is known after one byte more; `None` where the repeat ends.
    fn step(&mut self, at: Reached, byte: u8, depth: u16) -> Result<Option<Reached>> {
        Ok(match self.languages.step(at.state, byte)? {
            Language::EMPTY => None,
            Language::EPSILON => {
                Some(Reached { state: self.unit, units: at.units + 1, bytes: depth })
            }
            state => Some(Reached { state, ..at }),
        })
    }

    fn leave(&mut self, at: Reached, byte: u8, tokens: At) {
        if at.state == self.unit && at.units > 0 {
            let run = Run { units: at.units, bytes: at.bytes };
            let border = Border { tokens, run };
            self.borders.entry(class_of(byte)).or_default().push(border);
        }
    }

    /// One pass over the part of a trie, of shapes if these are given, that the repeat lets
    /// through from a child of a node on.
    fn below(&mut self, shapes: Option<&Classes>, node: usize, child: usize) -> Result<()> {
        let trie = shapes.map_or(self.vocabulary.trie(), Classes::trie);
        let nodes = trie.nodes();
        let top = nodes[node].depth;
        let end = nodes[child].subtree_end as usize;
        self.path.clear();
        self.path.push(Reached { state: self.unit, units: 0, bytes: 0 });
        let mut node = child;
        while node < end {
            let here = nodes[node];
            let depth = here.depth - top;
            self.path.truncate(usize::from(depth));
            let before = self.path[usize::from(depth) - 1];
            if shapes.is_some() && !self.is_uniform(before.state, here.byte)? {
                for &token in trie.subtree_tokens(node) {
                    self.read(token, before, depth - 1)?;
                }
                node = here.subtree_end as usize;
                continue;
            }
            let Some(next) = self.step(before, here.byte, depth)? else {
                let at = if shapes.is_some() { At::Shape } else { At::Node };
                self.leave(before, here.byte, at(node as u32));
                node = here.subtree_end as usize;
                continue;
            };
            // An unfinished unit counts.
            let needed = before.units + 1;
            self.inside.extend(trie.tokens(node).iter().map(|&token| (needed, token)));
            self.path.push(next);
            node += 1;
        }
        Ok(())
    }

    /// Reads the rest of one token, from where so many of its bytes are read.
    fn read(&mut self, token: u32, mut at: Reached, from: u16) -> Result<()> {
        let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
        let mut needed = at.units;
        for (depth, &byte) in (1..).zip(bytes).skip(from.into()) {
            let Some(next) = self.step(at, byte, depth)? else {
                self.leave(at, byte, At::Token(token));
                return Ok(());
            };
            (needed, at) = (at.units + 1, next);
        }
        self.inside.push((needed, token));
        Ok(())
    }
}

/// Is no string of it the beginning of another, and is it not the empty string alone? Looks at no
/// more than a few states, and says no beyond.
pub(crate) fn is_unit(languages: &mut Languages, unit: Language) -> Result<bool> {
    const MOST: usize = 48;
    if languages.is_nullable(unit) {
        return Ok(false);
    }
    let mut seen = vec![unit];
    let mut next = 0;
    while let Some(&state) = seen.get(next) {
        next += 1;
        for after in *languages.row(state)? {
            if after == Language::EPSILON || after == Language::EMPTY {
                continue;
            }
            if languages.is_nullable(after) || seen.len() > MOST {
                return Ok(false);
            }
            if !seen.contains(&after) {
                seen.push(after);
            }
        }
    }
    Ok(true)
}

/// Runs by unit and node of the trie.
pub(crate) type RunsKey = (u128, u32);
