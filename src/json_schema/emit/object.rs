//! Objects as automata: which members may come next, given those that are written.
//!
//! A state knows the members that are written as far as that matters: the place in the schema's
//! order (or the set of names, in any order), the count, the keys without a name of their own, and
//! what the formula asks of members to come. Each state is a rule, made when a text first reaches
//! it; so an object costs what a text visits of it, and no key comes twice. With
//! `{"properties": {"a": …, "b": …}, "required": ["b"]}`:
//!
//! ```text
//! object = "{" S0
//! S0 = "\"a\":" value S1 | "\"b\":" value S2 | "\"x\":" value S0+x   (names share one trie)
//! S1 = ",\"b\":" value S2
//! S2 = "}" | ",\"x\":" value S2+x
//! ```
//!
//! *Invariant:* every state that is called can be completed.

mod formula;
mod keys;
mod states;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Emitter;
use super::state::{ObjectState, Progress};
use super::tables::{Member, ObjectAutomaton};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{NodeId, Origin};
use crate::json_schema::layout::Layout;
use crate::json_schema::set::Set;
use crate::json_schema::set::keys::UnnamedKeys;
use crate::json_schema::set::member_formula::FormulaNode;
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::object_set::ObjectSet;
use crate::vocabulary::Trie;
pub(super) use keys::SpelledKey;

/// The most bytes of a name as it is written: a trie counts its depth in 16 bits.
const MAX_NAME_BYTES: usize = u16::MAX as usize;

impl Emitter<'_> {
    pub(super) fn object(
        &mut self,
        object: &ObjectSet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        let known = match layout {
            Layout::Indented(..) => self.objects.declared.get(object).copied(),
            _ => None,
        };
        let declared = match known {
            Some(known) => known,
            None => {
                let declared = self.declare_object(object, name, layout)?;
                if let Layout::Indented(..) = layout {
                    self.objects.declared.insert(object.clone(), declared);
                }
                declared
            }
        };
        let Some((id, start)) = declared else { return Ok(None) };
        let start = ObjectState { layout, ..start };
        let signs = self.punctuation(layout).object;
        let (open, progress) = if signs.first.is_some() && !self.may_close_object(id, start) {
            (Some(signs.begin), Progress::AfterGap)
        } else {
            (signs.open, Progress::AfterBracket)
        };
        let node = self.rest_of_object(id, ObjectState { progress, ..start }, open)?;
        Ok(node.map(|node| self.mark(node, &object.origins)))
    }

    fn name_is_too_long(&self, object: &ObjectSet, key: &str) -> Error {
        let message = format!(
            "the name of a property has {} bytes, and {MAX_NAME_BYTES} with its quotes and escapes \
             are the most",
            key.len()
        );
        let document = self.sets.document;
        let place = object.origins.0.first().copied().unwrap_or_else(|| document.root());
        document.error(ErrorKind::Limit, place, message).with_help("shorten the name")
    }

    /// An object whose rules are to be made, and the state in which it begins; `None` if it is
    /// empty.
    fn declare_object(
        &mut self,
        object: &ObjectSet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<(u32, ObjectState)>> {
        if self.sets.object_is_empty(object)? {
            return Ok(None);
        }
        let mut formula = object.formula;
        let mut members = Vec::with_capacity(object.named.len());
        let mut spelled: Vec<(Vec<u8>, u32)> = Vec::with_capacity(object.named.len());
        for member in &object.named {
            if member.set == Set::NEVER {
                if member.required {
                    return Ok(None);
                }
                formula = self.sets.formulas.without(formula, |key| *key == *member.key);
                continue;
            }
            let key = self.sets.strings.spell(&member.key);
            let text = self.written_key(layout, &member.key, &key);
            if text.len() > MAX_NAME_BYTES {
                return Err(self.name_is_too_long(object, &member.key));
            }
            spelled.push((text, members.len() as u32));
            members.push(Member {
                key: member.key.clone(),
                spelled: key,
                set: member.set,
                required: member.required,
            });
        }
        spelled.sort_unstable();
        let trie =
            Trie::from_sorted((0..).zip(&spelled).map(|(rank, (text, _))| (&text[..], rank)));
        let by_rank: Vec<u32> = spelled.iter().map(|&(_, index)| index).collect();
        let mut ranks = vec![0; members.len()];
        (0..).zip(&by_rank).for_each(|(rank, &index)| ranks[index as usize] = rank);
        let mut others = Vec::new();
        for other in self.sets.other_keys(object)? {
            if other.set != Set::NEVER && self.has_value(other.set)? {
                others.push(other);
            }
        }
        let required = object.required() as u32;
        let mut min = if object.min <= required { 0 } else { object.min };
        if min > 0 && (formula != MemberFormula::HOLDS || self.has_fewer_keys(&others, min)?) {
            // It is asked for together with all else.
            let least = self.sets.formulas.intern(FormulaNode::AtLeast(min));
            formula = self.sets.formulas.and([formula, least]);
            min = 0;
        }
        let (others, keys) = if formula == MemberFormula::HOLDS {
            (others.into(), Arc::from([]))
        } else {
            self.sets.with_counts(others)?
        };
        let counts = self.sets.formulas.count_cap(formula);
        let cap = object.max.unwrap_or(min).max(min).max(counts);
        let formula = self.sets.formulas.counted(formula, 0);
        let indices = if formula == MemberFormula::HOLDS {
            FxHashMap::default()
        } else {
            (0..).zip(&members).map(|(at, member)| (member.key.clone(), at)).collect()
        };
        let this = ObjectAutomaton {
            members,
            indices,
            trie: Arc::new(trie),
            by_rank,
            ranks,
            others,
            keys,
            min,
            max: object.max,
            cap,
            name: name.clone(),
            origins: object.origins.clone(),
        };
        if !this.fits(0, required) {
            return Ok(None);
        }
        let id = self.objects.automata.len() as u32;
        self.objects.automata.push(this);
        let (progress, layout) = <(Progress, Layout)>::default();
        let state = ObjectState { at: 0, seen: 0, count: 0, progress, layout, used: 0, formula };
        Ok(self.can_meet_formula(id, state, None)?.then_some((id, state)))
    }

    /// Whether these classes have keys, and fewer than `many`.
    fn has_fewer_keys(&mut self, others: &[UnnamedKeys], many: u32) -> Result<bool> {
        let mut all = 0u32;
        for other in others {
            all = all.saturating_add(self.sets.count_keys(other.keys, many)?);
        }
        Ok(all > 0 && all < many)
    }
}
