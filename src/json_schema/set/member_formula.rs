//! Formulas over the members of an object, for what no single member decides.
//!
//! An object set says of each key by itself what its value may be. What it says of several members
//! together, such as one of many alternatives, is a formula over statements about members, without
//! negation. A member that is written makes some statements true and others false; what is left is
//! the formula for the members that still come: its derivative (Brzozowski, with formulas in place
//! of expressions).
//!
//! ```text
//! (a in 1) or (b in 2 and c absent)
//! after a member `a` outside 1:   b in 2 and c absent
//! if no further member comes:     false
//! ```
//!
//! Formulas are hash-consed. They are the states of an object while it is written, and grow as the
//! sum of their parts, not as the product.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::json_schema::set::Set;
use crate::json_schema::set::keys::KeyClass;

/// A formula, as an index into [`MemberFormulas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MemberFormula(u32);

impl MemberFormula {
    /// Always.
    pub(crate) const HOLDS: Self = Self(0);
    /// Never.
    pub(crate) const FAILS: Self = Self(1);
}

/// The outermost node of a formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FormulaNode {
    Holds,
    Fails,
    /// The member with this key is present, and has a value in this set.
    Present(Arc<str>, Set),
    Absent(Arc<str>),
    /// Some member with one of these keys has a value in their set.
    Some(KeyClass),
    /// Every member with one of these keys has a value in their set.
    All(KeyClass),
    /// A lower bound on the number of members.
    AtLeast(u32),
    AtMost(u32),
    /// Sorted, without duplicates, at least two.
    And(Arc<[MemberFormula]>),
    /// Sorted, without duplicates, at least two.
    Or(Arc<[MemberFormula]>),
}

/// The statements of a formula, and its size.
#[derive(Clone, Debug)]
pub(crate) struct FormulaContents {
    /// Its statements, each once.
    pub(crate) statements: Arc<[MemberFormula]>,
    /// By statement, the number of different nodes that it is a child of.
    pub(crate) occurrences: Arc<[u32]>,
    /// Children of all different nodes.
    pub(crate) size: usize,
}

/// All formulas made so far, by id.
#[derive(Debug)]
pub(crate) struct MemberFormulas {
    nodes: Vec<FormulaNode>,
    /// Whether each holds if no further member comes. Formulas share nodes, so it is found once for
    /// each node.
    holds_at_end: Vec<bool>,
    /// By formula, a Bloom filter of its statements: statement `i` sets bit `i % 64`.
    statement_bloom: Vec<u64>,
    ids: FxHashMap<FormulaNode, MemberFormula>,
    /// By formula that was asked for them.
    contents: FxHashMap<MemberFormula, FormulaContents>,
    pub(crate) negations: FxHashMap<MemberFormula, MemberFormula>,
    /// Nodes visited since the present task began.
    pub(crate) work: usize,
}

impl Default for MemberFormulas {
    fn default() -> Self {
        let (nodes, holds_at_end, statement_bloom, ids) = Default::default();
        let (contents, negations) = Default::default();
        let mut this =
            Self { nodes, holds_at_end, statement_bloom, ids, contents, negations, work: 0 };
        let constants = (this.intern(FormulaNode::Holds), this.intern(FormulaNode::Fails));
        debug_assert_eq!(constants, (MemberFormula::HOLDS, MemberFormula::FAILS));
        this
    }
}

impl MemberFormulas {
    /// The id of a formula node, which is new or was interned before.
    pub(crate) fn intern(&mut self, node: FormulaNode) -> MemberFormula {
        if let Some(&known) = self.ids.get(&node) {
            return known;
        }
        let id = MemberFormula(self.nodes.len() as u32);
        self.holds_at_end.push(match &node {
            FormulaNode::Holds
            | FormulaNode::Absent(_)
            | FormulaNode::All(_)
            | FormulaNode::AtMost(_) => true,
            FormulaNode::Fails
            | FormulaNode::Present(..)
            | FormulaNode::Some(_)
            | FormulaNode::AtLeast(_) => false,
            FormulaNode::And(parts) => parts.iter().all(|&part| self.holds_at_end(part)),
            FormulaNode::Or(parts) => parts.iter().any(|&part| self.holds_at_end(part)),
        });
        self.statement_bloom.push(match &node {
            FormulaNode::Holds | FormulaNode::Fails => 0,
            FormulaNode::And(parts) | FormulaNode::Or(parts) => {
                parts.iter().fold(0, |bloom, &part| bloom | self.statement_bloom(part))
            }
            _ => 1 << (id.0 % u64::BITS),
        });
        self.nodes.push(node.clone());
        self.ids.insert(node, id);
        id
    }

    fn statement_bloom(&self, formula: MemberFormula) -> u64 {
        self.statement_bloom[formula.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, formula: MemberFormula) -> &FormulaNode {
        &self.nodes[formula.0 as usize]
    }

    pub(crate) fn and(&mut self, parts: impl IntoIterator<Item = MemberFormula>) -> MemberFormula {
        let parts = parts.into_iter();
        let mut flat = Vec::with_capacity(parts.size_hint().0);
        for part in parts {
            match self.node(part) {
                FormulaNode::And(parts) => flat.extend_from_slice(parts),
                FormulaNode::Holds => {}
                FormulaNode::Fails => return part,
                _ => flat.push(part),
            }
        }
        self.work += 4 * flat.len();
        flat.sort_unstable();
        flat.dedup();
        // An alternative that holds makes its choice superfluous.
        let superfluous = |&part: &MemberFormula| match self.node(part) {
            FormulaNode::Or(choice) => choice.iter().any(|c| flat.binary_search(c).is_ok()),
            _ => false,
        };
        let kept: Vec<MemberFormula> = flat.iter().copied().filter(|c| !superfluous(c)).collect();
        match kept[..] {
            [] => MemberFormula::HOLDS,
            [one] => one,
            _ => self.intern(FormulaNode::And(kept.into())),
        }
    }

    pub(crate) fn or(&mut self, parts: impl IntoIterator<Item = MemberFormula>) -> MemberFormula {
        let parts = parts.into_iter();
        let mut flat = Vec::with_capacity(parts.size_hint().0);
        for part in parts {
            match self.node(part) {
                FormulaNode::Or(parts) => flat.extend_from_slice(parts),
                FormulaNode::Fails => {}
                FormulaNode::Holds => return part,
                _ => flat.push(part),
            }
        }
        self.work += 4 * flat.len();
        flat.sort_unstable();
        flat.dedup();
        let superfluous = |&part: &MemberFormula| match self.node(part) {
            FormulaNode::And(all) => all.iter().any(|c| flat.binary_search(c).is_ok()),
            _ => false,
        };
        let kept: Vec<MemberFormula> = flat.iter().copied().filter(|c| !superfluous(c)).collect();
        match kept[..] {
            [] => MemberFormula::FAILS,
            [one] => one,
            _ => self.intern(FormulaNode::Or(kept.into())),
        }
    }

    /// The conjuncts of a formula.
    pub(crate) fn conjuncts(&self, formula: MemberFormula) -> Vec<MemberFormula> {
        match self.node(formula) {
            FormulaNode::Holds => Vec::new(),
            FormulaNode::And(parts) => parts.to_vec(),
            _ => vec![formula],
        }
    }

    /// Whether the conjuncts of `a` contain those of `b`.
    pub(crate) fn has_conjuncts_of(&self, a: MemberFormula, b: MemberFormula) -> bool {
        let all = self.conjuncts(a);
        self.conjuncts(b).iter().all(|part| all.contains(part))
    }

    /// The statements of a formula, each once.
    pub(crate) fn statements(&mut self, formula: MemberFormula) -> Arc<[MemberFormula]> {
        self.contents(formula).statements.clone()
    }

    /// Children of all different nodes.
    pub(crate) fn size(&mut self, formula: MemberFormula) -> usize {
        self.contents(formula).size
    }

    pub(crate) fn contents(&mut self, formula: MemberFormula) -> &FormulaContents {
        if !self.contents.contains_key(&formula) {
            let found = self.find_contents(formula);
            self.work += 4 * found.size;
            self.contents.insert(formula, found);
        }
        &self.contents[&formula]
    }

    fn find_contents(&self, formula: MemberFormula) -> FormulaContents {
        let (mut seen, mut open) = (FxHashMap::default(), vec![formula]);
        let (mut statements, mut occurrences, mut size) = (Vec::new(), Vec::new(), 1);
        while let Some(next) = open.pop() {
            match self.node(next) {
                FormulaNode::Holds | FormulaNode::Fails => {}
                FormulaNode::And(parts) | FormulaNode::Or(parts) => {
                    if seen.insert(next, 0).is_none() {
                        size += parts.len();
                        open.extend(parts.iter().rev());
                    }
                }
                _ => {
                    let at = *seen.entry(next).or_insert(statements.len());
                    if at == statements.len() {
                        statements.push(next);
                        occurrences.push(0);
                    }
                    occurrences[at] += 1;
                }
            }
        }
        FormulaContents { statements: statements.into(), occurrences: occurrences.into(), size }
    }

    /// The formula with some statements replaced.
    pub(crate) fn replace(
        &mut self,
        formula: MemberFormula,
        by: &FxHashMap<MemberFormula, MemberFormula>,
    ) -> MemberFormula {
        let bloom = by.keys().fold(0, |bloom, &statement| bloom | self.statement_bloom(statement));
        self.replaced(formula, (by, bloom), &mut FxHashMap::default())
    }

    fn replaced(
        &mut self,
        formula: MemberFormula,
        (by, bloom): (&FxHashMap<MemberFormula, MemberFormula>, u64),
        known: &mut FxHashMap<MemberFormula, MemberFormula>,
    ) -> MemberFormula {
        if self.statement_bloom(formula) & bloom == 0 {
            return formula;
        }
        let (parts, all) = match self.node(formula) {
            FormulaNode::And(parts) => (parts.clone(), true),
            FormulaNode::Or(parts) => (parts.clone(), false),
            _ => return by.get(&formula).copied().unwrap_or(formula),
        };
        if let Some(&known) = known.get(&formula) {
            return known;
        }
        let (neutral, decisive) = if all {
            (MemberFormula::HOLDS, MemberFormula::FAILS)
        } else {
            (MemberFormula::FAILS, MemberFormula::HOLDS)
        };
        self.work += parts.len();
        let (mut kept, mut others) = (Vec::with_capacity(parts.len()), false);
        for &part in parts.iter() {
            let new = match self.statement_bloom(part) & bloom {
                0 => part,
                _ => self.replaced(part, (by, bloom), known),
            };
            if new == decisive {
                kept = vec![decisive];
                break;
            }
            if new != neutral {
                kept.push(new);
                others |= new != part;
            }
        }
        let new = match (&kept[..], others, all) {
            // Parts alone are sorted as they were, and none makes another superfluous.
            ([], ..) => neutral,
            (&[one], ..) => one,
            (_, false, _) if kept.len() == parts.len() => formula,
            (_, false, true) => self.intern(FormulaNode::And(kept.into())),
            (_, false, false) => self.intern(FormulaNode::Or(kept.into())),
            (_, true, true) => self.and(kept),
            (_, true, false) => self.or(kept),
        };
        known.insert(formula, new);
        new
    }

    /// The formula with each statement replaced by what `f` gives; `None` keeps it.
    pub(crate) fn map(
        &mut self,
        formula: MemberFormula,
        f: impl Fn(&FormulaNode) -> Option<MemberFormula>,
    ) -> MemberFormula {
        let mut by = FxHashMap::default();
        let statements = self.statements(formula);
        self.work += 4 * statements.len();
        for &statement in statements.iter() {
            if let Some(new) = f(self.node(statement)) {
                by.insert(statement, new);
            }
        }
        self.replace(formula, &by)
    }

    /// The formula that is left if the members with these keys do not come any more.
    pub(crate) fn without(
        &mut self,
        formula: MemberFormula,
        passed: impl Fn(&str) -> bool,
    ) -> MemberFormula {
        self.map(formula, |part| match part {
            FormulaNode::Present(key, _) if passed(key) => Some(MemberFormula::FAILS),
            FormulaNode::Absent(key) if passed(key) => Some(MemberFormula::HOLDS),
            _ => None,
        })
    }

    /// The formula that is left once there are so many members.
    pub(crate) fn counted(&mut self, formula: MemberFormula, count: u32) -> MemberFormula {
        self.map(formula, |part| match *part {
            FormulaNode::AtLeast(n) if count >= n => Some(MemberFormula::HOLDS),
            FormulaNode::AtMost(n) if count > n => Some(MemberFormula::FAILS),
            _ => None,
        })
    }

    /// The formula for the members that come after so many others.
    pub(crate) fn after(&mut self, formula: MemberFormula, count: u32) -> MemberFormula {
        let mut by = FxHashMap::default();
        for &statement in self.statements(formula).iter() {
            let new = match *self.node(statement) {
                FormulaNode::AtLeast(n) if n <= count => MemberFormula::HOLDS,
                FormulaNode::AtLeast(n) => self.intern(FormulaNode::AtLeast(n - count)),
                FormulaNode::AtMost(n) if n < count => MemberFormula::FAILS,
                FormulaNode::AtMost(n) => self.intern(FormulaNode::AtMost(n - count)),
                _ => continue,
            };
            by.insert(statement, new);
        }
        self.replace(formula, &by)
    }

    /// The number of members from which on further ones change no count.
    pub(crate) fn count_cap(&mut self, formula: MemberFormula) -> u32 {
        let statements = self.statements(formula);
        let counts = statements.iter().map(|&statement| match *self.node(statement) {
            FormulaNode::AtLeast(n) => n,
            FormulaNode::AtMost(n) => n.saturating_add(1),
            _ => 0,
        });
        counts.max().unwrap_or(0)
    }

    /// Whether the formula holds if no further member comes.
    pub(crate) fn holds_at_end(&self, formula: MemberFormula) -> bool {
        self.holds_at_end[formula.0 as usize]
    }
}
