//! Looking at expressions from outside: fingerprints, horizons, moving between arenas.

use super::*;

impl Languages {
    /// A fingerprint of the language's structure, equal across arenas of one process. 128 bits of
    /// keyed SipHash: two different expressions with one fingerprint are not to be found, even by
    /// someone who chooses the expressions.
    pub(crate) fn fingerprint(&self, x: Language, done: &mut FxHashMap<Language, u128>) -> u128 {
        for at in self.parts(x, false, |part| done.contains_key(&part)) {
            let fingerprint = keyed_hash(|hasher| {
                let expr = &self.states[at.index()].expr;
                std::mem::discriminant(expr).hash(hasher);
                let mut parts: SmallVec<[u128; 4]> = match expr {
                    Expr::Set(set) => {
                        set.hash(hasher);
                        SmallVec::new()
                    }
                    Expr::Concat(a, b) => SmallVec::from_slice(&[done[a], done[b]]),
                    // In the order of ids, which differs between arenas.
                    Expr::Union(xs) | Expr::Intersect(xs) => {
                        let mut parts: SmallVec<_> = xs.iter().map(|x| done[x]).collect();
                        parts.sort_unstable();
                        parts
                    }
                    Expr::Complement(inner) => SmallVec::from_slice(&[done[inner]]),
                    Expr::Repeat(inner, min, max) => {
                        (min, max).hash(hasher);
                        SmallVec::from_slice(&[done[inner]])
                    }
                    &Expr::Variable(v) => {
                        SmallVec::from_slice(&[self.variables[v as usize].identity])
                    }
                    Expr::Automaton(running) => {
                        running.hash(hasher);
                        SmallVec::new()
                    }
                };
                parts.push(parts.len() as u128);
                parts.hash(hasher);
            });
            done.insert(at, fingerprint);
        }
        done[&x]
    }

    /// A language and all that it is made of, less what is `known`, parts before wholes; what
    /// variables are made of only with `definitions`, and in any order.
    pub(super) fn parts(
        &self,
        x: Language,
        definitions: bool,
        known: impl Fn(Language) -> bool,
    ) -> BTreeSet<Language> {
        // Parts are made before what they are parts of, so their ids are smaller.
        let mut needed = BTreeSet::new();
        let mut todo = vec![x];
        while let Some(at) = todo.pop() {
            if known(at) || !needed.insert(at) {
                continue;
            }
            match &self.states[at.index()].expr {
                Expr::Set(_) | Expr::Automaton(_) => {}
                &Expr::Concat(a, b) => todo.extend([a, b]),
                Expr::Union(xs) | Expr::Intersect(xs) => todo.extend_from_slice(xs),
                &Expr::Complement(inner) | &Expr::Repeat(inner, ..) => todo.push(inner),
                &Expr::Variable(v) if definitions => todo.push(self.variables[v as usize].body),
                Expr::Variable(_) => {}
            }
        }
        needed
    }

    /// A language that no string of at most `bytes` bytes tells apart from this one: reading it,
    /// both are live at the same places and may end at the same places. Many states share one: a
    /// repeat counts no further than those bytes can.
    pub(crate) fn horizon(&mut self, x: Language, bytes: u32) -> Language {
        let mut done: FxHashMap<Language, Language> = FxHashMap::default();
        for at in self.parts(x, false, |_| false) {
            let near = match self.states[at.index()].expr.clone() {
                Expr::Concat(a, b) => self.concat2(done[&a], done[&b]),
                Expr::Union(xs) => {
                    let xs: Vec<Language> = xs.iter().map(|x| done[x]).collect();
                    self.union(xs)
                }
                // A time takes a byte at least, unless it is nullable; then the least is 0 already.
                // The part itself is entered afresh each time, so it is left as it is.
                Expr::Repeat(part, min, max) => {
                    let max = (max <= bytes).then_some(max);
                    self.repeat(part, min.min(bytes.saturating_add(1)), max)
                }
                // Whether and/not is empty may depend on what lies beyond any horizon.
                Expr::Set(_)
                | Expr::Intersect(_)
                | Expr::Complement(_)
                | Expr::Variable(_)
                | Expr::Automaton(_) => at,
            };
            done.insert(at, near);
        }
        done[&x]
    }

    /// About how many bytes the arena takes.
    pub fn bytes(&self) -> usize {
        self.states.len() * (2 * size_of::<State>() + 64) + self.rows * size_of::<Row>()
    }

    /// The same language in another arena; `done` remembers what was moved already.
    pub(crate) fn transfer(
        &self,
        x: Language,
        to: &mut Self,
        done: &mut FxHashMap<Language, Language>,
    ) -> Result<Language> {
        // Only variables may have parts made after them.
        let mut variables = Vec::new();
        for at in self.parts(x, true, |part| done.contains_key(&part)) {
            let sorted = |xs: &[Language]| {
                let mut xs: Vec<Language> = xs.iter().map(|x| done[x]).collect();
                xs.sort_unstable();
                xs.into_boxed_slice()
            };
            let expr = match &self.states[at.index()].expr {
                Expr::Set(set) => Expr::Set(*set),
                Expr::Automaton(running) => Expr::Automaton(running.clone()),
                Expr::Concat(a, b) => Expr::Concat(done[a], done[b]),
                Expr::Union(xs) => Expr::Union(sorted(xs)),
                Expr::Intersect(xs) => Expr::Intersect(sorted(xs)),
                Expr::Complement(inner) => Expr::Complement(done[inner]),
                Expr::Repeat(inner, min, max) => Expr::Repeat(done[inner], *min, *max),
                &Expr::Variable(v) => {
                    let fingerprint = self.fingerprint(at, &mut FxHashMap::default());
                    let there = to.known.get(&fingerprint).copied().unwrap_or_else(|| {
                        let Variable { nullable, body, identity } = self.variables[v as usize];
                        let there = to.variable(nullable);
                        to.set_identity(there, identity);
                        to.known.insert(fingerprint, there);
                        variables.push((there, body));
                        there
                    });
                    done.insert(at, there);
                    continue;
                }
            };
            let there = to.intern(expr);
            let live = self.states[at.index()].live;
            let known = &mut to.states[there.index()].live;
            *known = known.or(live);
            done.insert(at, there);
        }
        for (variable, body) in variables {
            to.define(variable, done[&body]);
        }
        Ok(done[&x])
    }
}
