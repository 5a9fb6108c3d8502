//! Keywords that apply other schemas to the same value, and what of the value those evaluate.
//!
//! Which members and items are left over for `unevaluatedProperties` and `unevaluatedItems`
//! depends on which schemas accept the value (2020-12 Core, section 11). So a schema beside them
//! is taken apart into branches: a set, and what is evaluated of all of its values. A value may
//! be in several branches, and what is evaluated by more schemas is evaluated by all the more, so
//! the branches need not be disjoint, and of two branches that evaluate the same the larger one
//! will do.

use crate::deadline;
use crate::error::{ErrorKind, Result};
use crate::json_schema::document::references::Scope;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::KeywordReader;
use crate::json_schema::satisfiability::equivalence::ANNOTATIONS;
use crate::json_schema::set::{SetExpr, Set, Sets};
use crate::regular::Language;

/// Keywords that lead to another schema for the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What a schema means for a value as a whole: the sets, intersected.
pub(crate) struct Applied {
    pub(crate) all_of: Vec<Set>,
    /// Do the schema's own keywords count beside the sets?
    pub(crate) own: bool,
}

/// Of what it is asked whether it was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aspect {
    Members,
    Items,
}

/// What of a value is evaluated: members or items, one or the other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Evaluated {
    /// Keys of members.
    keys: Language,
    /// All items before this index.
    items: u32,
    /// Items in one of these sets; sorted.
    matching: Vec<Set>,
}

impl Evaluated {
    const NOTHING: Self = Self { keys: Language::EMPTY, items: 0, matching: Vec::new() };
}

/// Values in all of the sets, and what is evaluated of each of them.
#[derive(Clone, Debug)]
struct EvaluatedBranch {
    all_of: Vec<Set>,
    seen: Evaluated,
}

/// One keyword that applies schemas to the same value.
struct Component {
    set: Set,
    /// What the set is the union of; empty where nobody asked.
    branches: Vec<EvaluatedBranch>,
}

impl<'d> Sets<'d> {
    /// What the keywords that apply other schemas to the same value mean together.
    pub(crate) fn applied(&mut self, reader: &KeywordReader<'d>) -> Result<Applied> {
        let mut applied = Applied { all_of: Vec::new(), own: true };
        for (keyword, aspect) in
            [("unevaluatedProperties", Aspect::Members), ("unevaluatedItems", Aspect::Items)]
        {
            let Some(at) = reader.get(keyword) else { continue };
            let rest = self.schema(at)?;
            if rest == Set::ANY {
                continue;
            }
            // Named first, so that its own properties come first.
            self.own(reader.schema);
            let open = self.open.len();
            let set = match self.by_branches(reader, aspect, rest, at) {
                Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => {
                    // It has left others behind.
                    self.open.truncate(open);
                    self.by_evaluators(reader, aspect, rest, at)?.ok_or(error)?
                }
                set => set?,
            };
            applied.own = false;
            applied.all_of.push(set);
        }
        if applied.own {
            applied.all_of = self.components(reader, None)?.into_iter().map(|c| c.set).collect();
        }
        Ok(applied)
    }

    /// What a schema with an `unevaluated…` means, branch by branch.
    fn by_branches(
        &mut self,
        reader: &KeywordReader<'d>,
        aspect: Aspect,
        rest: Set,
        at: ValueId,
    ) -> Result<Set> {
        let components = self.components(reader, Some(aspect))?;
        let seen = self.seen_by_own(reader, aspect, false)?;
        let branches = self.product(reader.schema, seen, components)?;
        let mut alternatives = Vec::new();
        for EvaluatedBranch { mut all_of, seen } in branches {
            all_of.push(self.leftover(seen, rest, at, aspect));
            alternatives.push(self.and(all_of));
        }
        Ok(self.or(alternatives))
    }

    /// The same where its branches would be too many: what evaluates something is looked at by
    /// itself. A member or item is evaluated if any of that holds which evaluates it, so for each
    /// kind of key one of those holds, or its members are in the rest. `None` if items are
    /// evaluated by what they are, under conditions.
    fn by_evaluators(
        &mut self,
        reader: &KeywordReader<'d>,
        aspect: Aspect,
        rest: Set,
        at: ValueId,
    ) -> Result<Option<Set>> {
        let mut always = self.seen_by_own(reader, aspect, false)?;
        let mut sometimes: Vec<(Set, Evaluated)> = Vec::new();
        for EvaluatedBranch { all_of, seen } in self.evaluators_of(reader, aspect)? {
            if all_of.is_empty() {
                always = self.both(&always, &seen);
            } else if seen != Evaluated::NOTHING {
                sometimes.push((self.and(all_of), seen));
            }
        }
        let mut all = vec![self.own(reader.schema)];
        all.extend(self.components(reader, None)?.into_iter().map(|component| component.set));
        match aspect {
            Aspect::Members => {
                let keys = self.languages.difference(self.strings.any, always.keys);
                for (keys, evaluators) in self.kinds_of_keys(keys, &sometimes)? {
                    let members = self.members(keys, rest, at);
                    all.push(self.or(evaluators.into_iter().chain([members])));
                }
            }
            Aspect::Items if sometimes.iter().any(|(_, seen)| !seen.matching.is_empty()) => {
                return Ok(None);
            }
            Aspect::Items => {
                let mut alternatives = vec![self.leftover(always.clone(), rest, at, aspect)];
                for (evaluator, seen) in sometimes {
                    let seen = self.both(&always, &seen);
                    let items = self.leftover(seen, rest, at, aspect);
                    alternatives.push(self.and([evaluator, items]));
                }
                all.push(self.or(alternatives));
            }
        }
        Ok(Some(self.and(all)))
    }

    /// Keys, told apart by what evaluates them.
    fn kinds_of_keys(
        &mut self,
        keys: Language,
        evaluators: &[(Set, Evaluated)],
    ) -> Result<Vec<(Language, Vec<Set>)>> {
        let mut kinds = vec![(keys, Vec::new())];
        for (evaluator, seen) in evaluators {
            let mut split = Vec::with_capacity(kinds.len() + 1);
            for (keys, by) in kinds {
                let within = self.languages.intersect([keys, seen.keys]);
                let outside = self.languages.difference(keys, seen.keys);
                if self.languages.is_live(within)? {
                    let by = by.iter().copied().chain([*evaluator]).collect();
                    split.push((within, by));
                }
                if self.languages.is_live(outside)? {
                    split.push((outside, by));
                }
            }
            kinds = split;
            self.check_alternatives(kinds.len())?;
        }
        Ok(kinds)
    }

    /// What evaluates something of the values of a set: where the sets hold, too.
    fn evaluators(&mut self, set: Set, aspect: Aspect) -> Result<Vec<EvaluatedBranch>> {
        let &SetExpr::Schema(schema, scope) = self.expr(set) else { return Ok(Vec::new()) };
        self.check_work(set)?;
        self.within(set, schema, scope, |this, reader| {
            if let Some(reference) = reader.lone_reference() {
                let target = this.reference(reference, "$ref")?;
                return this.evaluators(target, aspect);
            }
            let seen = this.seen_by_own(&reader, aspect, true)?;
            let mut found = this.evaluators_of(&reader, aspect)?;
            found.push(EvaluatedBranch { all_of: Vec::new(), seen });
            Ok(found)
        })
    }

    /// Reads the schema that a set is, which must not be about to be read already.
    fn within<T>(
        &mut self,
        set: Set,
        schema: ValueId,
        scope: Scope,
        read: impl FnOnce(&mut Self, KeywordReader<'d>) -> Result<T>,
    ) -> Result<T> {
        if let Some(start) = self.open.iter().position(|&open| open == set) {
            return Err(self.cycle(start));
        }
        self.open.push(set);
        let result = self.in_scope(scope, |this| {
            let reader = this.reader(schema)?;
            read(this, reader)
        })?;
        self.open.pop();
        Ok(result)
    }

    /// The same of the keywords that apply schemas to the same value.
    fn evaluators_of(&mut self, reader: &KeywordReader<'d>, aspect: Aspect) -> Result<Vec<EvaluatedBranch>> {
        // Schemas, each with what holds where it does.
        let mut applied: Vec<(Set, Vec<Set>)> = Vec::new();
        for keyword in REFERENCES {
            if let Some(at) = reader.get(keyword) {
                applied.push((self.reference(at, keyword)?, Vec::new()));
            }
        }
        if let Some(at) = reader.get("allOf") {
            applied.extend(self.list(at, "allOf")?.into_iter().map(|set| (set, Vec::new())));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(at) = reader.get(keyword) {
                applied.extend(self.list(at, keyword)?.into_iter().map(|set| (set, vec![set])));
            }
        }
        if let Some(at) = reader.get("if") {
            let condition = self.schema(at)?;
            let not = self.not(condition);
            applied.push((condition, vec![condition]));
            for (keyword, guard) in [("then", condition), ("else", not)] {
                if let Some(at) = reader.get(keyword) {
                    applied.push((self.schema(at)?, vec![guard]));
                }
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let Some(at) = reader.get(keyword) else { continue };
            for (key, schema) in self.map(at, keyword)?.iter() {
                if !matches!(self.document.value(schema), Value::Array(_)) {
                    applied.push((self.schema(schema)?, vec![self.has(key)]));
                }
            }
        }
        let mut found = Vec::new();
        for (set, guards) in applied {
            for mut evaluator in self.evaluators(set, aspect)? {
                evaluator.all_of.extend(&guards);
                found.push(evaluator);
            }
        }
        Ok(found)
    }

    /// Values of which everything that was not seen is in a set.
    fn leftover(&mut self, seen: Evaluated, rest: Set, at: ValueId, aspect: Aspect) -> Set {
        match aspect {
            Aspect::Members => {
                let keys = self.languages.difference(self.strings.any, seen.keys);
                self.members(keys, rest, at)
            }
            Aspect::Items if seen.items == u32::MAX => Set::ANY,
            Aspect::Items => {
                let set = self.or(seen.matching.into_iter().chain([rest]));
                self.items(seen.items, set, at)
            }
        }
    }

    /// The branches of what a schema means, given what its own keywords evaluate.
    fn product(
        &mut self,
        schema: ValueId,
        seen: Evaluated,
        components: Vec<Component>,
    ) -> Result<Vec<EvaluatedBranch>> {
        let mut branches = vec![EvaluatedBranch { all_of: vec![self.own(schema)], seen }];
        for component in components {
            let seen = component.branches.first().map_or(Evaluated::NOTHING, |b| b.seen.clone());
            if component.branches.iter().all(|branch| branch.seen == seen) {
                for branch in &mut branches {
                    branch.all_of.push(component.set);
                    branch.seen = self.both(&branch.seen, &seen);
                }
                continue;
            }
            let mut product = Vec::new();
            for a in &branches {
                for b in &component.branches {
                    product.extend(self.combine(a, b));
                }
                self.check_alternatives(product.len())?;
            }
            branches = product;
        }
        Ok(branches)
    }

    /// Values in both branches, unless there are none.
    fn combine(&mut self, a: &EvaluatedBranch, b: &EvaluatedBranch) -> Option<EvaluatedBranch> {
        let all_of = [&a.all_of[..], &b.all_of].concat();
        let set = self.and(all_of.iter().copied());
        let seen = self.both(&a.seen, &b.seen);
        (!self.is_surely_empty(set)).then_some(EvaluatedBranch { all_of, seen })
    }

    fn both(&mut self, a: &Evaluated, b: &Evaluated) -> Evaluated {
        let mut matching = [&a.matching[..], &b.matching].concat();
        matching.sort_unstable();
        matching.dedup();
        let keys = match (a.keys, b.keys) {
            (all, _) | (_, all) if all == self.strings.any => all,
            (a, b) => self.languages.union([a, b]),
        };
        Evaluated { keys, items: a.items.max(b.items), matching }
    }

    /// Does `b` hold nothing that `a` does not?
    fn is_within(&mut self, b: &Evaluated, a: &Evaluated) -> Result<bool> {
        let items = a.items == u32::MAX
            || b.items <= a.items && b.matching.iter().all(|set| a.matching.contains(set));
        if !items || a.keys == b.keys || a.keys == self.strings.any {
            return Ok(items);
        }
        let more = self.languages.difference(b.keys, a.keys);
        Ok(!self.languages.is_live(more)?)
    }

    /// What a set's values have evaluated. Only schemas evaluate anything.
    fn branches(&mut self, set: Set, aspect: Aspect) -> Result<Vec<EvaluatedBranch>> {
        let whole = |seen| vec![EvaluatedBranch { all_of: vec![set], seen }];
        let &SetExpr::Schema(schema, scope) = self.expr(set) else {
            return Ok(if set == Set::NEVER { Vec::new() } else { whole(Evaluated::NOTHING) });
        };
        self.within(set, schema, scope, |this, reader| {
            if let Some(reference) = reader.lone_reference() {
                let target = this.reference(reference, "$ref")?;
                return this.branches(target, aspect);
            }
            this.own(schema);
            let seen = this.seen_by_own(&reader, aspect, true)?;
            let all = match aspect {
                Aspect::Members => seen.keys == this.strings.any,
                Aspect::Items => seen.items == u32::MAX,
            };
            if all {
                return Ok(whole(seen));
            }
            let components = this.components(&reader, Some(aspect))?;
            let branches = this.product(schema, seen, components)?;
            match &branches[..] {
                [only] => Ok(whole(only.seen.clone())),
                _ => Ok(branches),
            }
        })
    }

    /// What a schema's own keywords evaluate, with or without its `unevaluated…` (Core, sections
    /// 10.3 and 11).
    fn seen_by_own(&mut self, reader: &KeywordReader<'d>, aspect: Aspect, leftover: bool) -> Result<Evaluated> {
        let has = |keyword| reader.get(keyword).is_some();
        let mut seen = Evaluated::NOTHING;
        match aspect {
            Aspect::Members => {
                if has("additionalProperties") || leftover && has("unevaluatedProperties") {
                    return Ok(Evaluated { keys: self.strings.any, ..seen });
                }
                let mut keys = Vec::new();
                if let Some(at) = reader.get("properties") {
                    let names = self.map(at, "properties")?.iter().map(|(key, _)| key);
                    keys.push(self.strings.texts(&mut self.languages, names));
                }
                if let Some(at) = reader.get("patternProperties") {
                    for (pattern, schema) in self.map(at, "patternProperties")?.iter() {
                        keys.push(self.pattern(pattern, schema)?);
                    }
                }
                seen.keys = self.languages.union(keys);
            }
            Aspect::Items => {
                let mut all = leftover && has("unevaluatedItems");
                let length = |at| match self.document.value(at) {
                    Value::Array(items) => Some(items.len() as u32),
                    _ => None,
                };
                seen.items = reader.get("prefixItems").and_then(length).unwrap_or(0);
                if let Some(at) = reader.get("items") {
                    match length(at).filter(|_| reader.dialect.items_may_be_array()) {
                        Some(items) => {
                            seen.items = items;
                            all |= has("additionalItems");
                        }
                        None => all = true,
                    }
                }
                if all {
                    return Ok(Evaluated { items: u32::MAX, ..Evaluated::NOTHING });
                }
                if let Some(at) =
                    reader.get("contains").filter(|_| reader.dialect.contains_evaluates())
                {
                    seen.matching.push(self.schema(at)?);
                }
            }
        }
        Ok(seen)
    }

    /// The keywords that apply schemas to the same value, with branches if an aspect is asked for.
    fn components(
        &mut self,
        reader: &KeywordReader<'d>,
        aspect: Option<Aspect>,
    ) -> Result<Vec<Component>> {
        let mut components = Vec::new();
        let mut alone = Vec::new();
        for keyword in REFERENCES {
            if let Some(at) = reader.get(keyword) {
                alone.push(self.reference(at, keyword)?);
            }
        }
        if let Some(at) = reader.get("allOf") {
            alone.extend(self.list(at, "allOf")?);
        }
        for set in alone {
            // A choice that stands by itself is one of this schema.
            if let Some(at) = self.only_choice(set) {
                components.push(self.choice(at, reader.schema, aspect)?);
                continue;
            }
            let branches = aspect.map_or(Ok(Vec::new()), |aspect| self.branches(set, aspect))?;
            components.push(Component { set, branches });
        }
        if let Some(at) = reader.get("anyOf") {
            let all_of = self.list(at, "anyOf")?;
            let branches = self.branches_of_any(&all_of, aspect)?;
            components.push(Component { set: self.or(all_of), branches });
        }
        if let Some(at) = reader.get("oneOf") {
            components.push(self.choice(at, reader.schema, aspect)?);
        }
        if let Some(at) = reader.get("not") {
            let inner = self.schema(at)?;
            components.push(Component { set: self.not(inner), branches: Vec::new() });
        }
        components.extend(self.condition(reader, aspect)?);
        for keyword in ["dependentSchemas", "dependencies"] {
            let Some(at) = reader.get(keyword) else { continue };
            for (key, schema) in self.map(at, keyword)?.iter() {
                if matches!(self.document.value(schema), Value::Array(_)) {
                    continue;
                }
                let (with, needed) = (self.has(key), self.schema(schema)?);
                components.push(self.either(with, needed, Set::ANY, aspect, false)?);
            }
        }
        Ok(components)
    }

    /// The `oneOf` of a schema that says nothing else.
    fn only_choice(&self, set: Set) -> Option<ValueId> {
        let &SetExpr::Schema(at, _) = self.expr(set) else { return None };
        let members = self.document.members(at).filter(|_| self.ignored.is_empty())?;
        let mut says = members.iter().filter(|(keyword, _)| !ANNOTATIONS.contains(keyword));
        match (says.next(), says.next()) {
            (Some(("oneOf", choice)), None) => Some(choice),
            _ => None,
        }
    }

    /// Core, section 10.2.1.3, beside what the schema `around` it says itself.
    fn choice(
        &mut self,
        at: ValueId,
        around: ValueId,
        aspect: Option<Aspect>,
    ) -> Result<Component> {
        let all_of = self.list(at, "oneOf")?;
        let alternatives = self.exactly_one(&all_of, around)?;
        let mut branches = Vec::new();
        for (&set, others) in all_of.iter().zip(&alternatives) {
            let Some(aspect) = aspect else { break };
            for mut branch in self.branches(set, aspect)? {
                branch.all_of.push(*others);
                branches.push(branch);
            }
        }
        let alternatives: Vec<Set> =
            all_of.into_iter().zip(alternatives).map(|(a, b)| self.and([a, b])).collect();
        Ok(Component { set: self.or(alternatives), branches })
    }

    /// Core, section 10.2.2.
    fn condition(
        &mut self,
        reader: &KeywordReader<'d>,
        aspect: Option<Aspect>,
    ) -> Result<Option<Component>> {
        let Some(at) = reader.get("if") else { return Ok(None) };
        let condition = self.schema(at)?;
        let mut branch = |keyword| match reader.get(keyword) {
            Some(at) => self.schema(at),
            None => Ok(Set::ANY),
        };
        let (then, otherwise) = (branch("then")?, branch("else")?);
        if aspect.is_none() && (then, otherwise) == (Set::ANY, Set::ANY) {
            return Ok(None);
        }
        self.either(condition, then, otherwise, aspect, true).map(Some)
    }

    /// If a value is in `condition`, it is in `then`, else in `otherwise`; `evaluates`: what the
    /// condition evaluates counts.
    fn either(
        &mut self,
        condition: Set,
        then: Set,
        otherwise: Set,
        aspect: Option<Aspect>,
        evaluates: bool,
    ) -> Result<Component> {
        let not = self.not(condition);
        let (yes, no) = (self.and([condition, then]), self.and([not, otherwise]));
        let set = match (yes == condition, no == not) {
            (true, true) => Set::ANY,
            _ => self.or([yes, no]),
        };
        let mut branches = Vec::new();
        if let Some(aspect) = aspect {
            let conditions = match evaluates {
                true => self.branches(condition, aspect)?,
                false => vec![EvaluatedBranch { all_of: vec![condition], seen: Evaluated::NOTHING }],
            };
            let thens = self.branches(then, aspect)?;
            for a in &conditions {
                for b in &thens {
                    branches.extend(self.combine(a, b));
                }
            }
            for mut branch in self.branches(otherwise, aspect)? {
                branch.all_of.push(not);
                branches.push(branch);
            }
        }
        Ok(Component { set, branches })
    }

    /// One branch for each choice of some of the sets that evaluates more than its parts.
    fn branches_of_any(&mut self, all_of: &[Set], aspect: Option<Aspect>) -> Result<Vec<EvaluatedBranch>> {
        let Some(aspect) = aspect else { return Ok(Vec::new()) };
        let mut all: Vec<EvaluatedBranch> = Vec::new();
        for &set in all_of {
            let new = self.branches(set, aspect)?;
            for i in 0..all.len() {
                for one in &new {
                    if !self.is_within(&one.seen, &all[i].seen)?
                        && !self.is_within(&all[i].seen, &one.seen)?
                    {
                        let before = all[i].clone();
                        all.extend(self.combine(&before, one));
                    }
                }
                self.check_alternatives(all.len())?;
            }
            all.extend(new);
        }
        Ok(all)
    }

    /// For each branch of a `oneOf` what its values must not be in besides (Core, section
    /// 10.2.1.3). Branches that cannot hold together, beside what the schema `around` them says
    /// itself, need not exclude each other.
    fn exactly_one(&mut self, branches: &[Set], around: ValueId) -> Result<Vec<Set>> {
        let mut overlaps: Vec<Vec<Set>> = vec![Vec::new(); branches.len()];
        for (i, later) in self.may_overlap(branches, around).into_iter().enumerate() {
            let a = branches[i];
            for j in later {
                let b = branches[j];
                self.check_work(b)?;
                let both = self.and([a, b]);
                if a == b || !self.is_surely_empty(both) {
                    overlaps[i].push(b);
                    overlaps[j].push(a);
                }
            }
        }
        let mut excluded = Vec::with_capacity(branches.len());
        for others in overlaps {
            let others: Vec<Set> = others.into_iter().map(|other| self.not(other)).collect();
            excluded.push(self.and(others));
            self.check_work(Set::ANY)?;
        }
        Ok(excluded)
    }

    pub(crate) fn reference(&mut self, at: ValueId, keyword: &str) -> Result<Set> {
        let (document, scope) = (self.document, self.scope());
        let target = match keyword {
            "$dynamicRef" => self.references.resolve_dynamic(document, at, scope),
            "$recursiveRef" => self.references.resolve_recursive(document, at, scope),
            _ => self.references.resolve(document, at),
        };
        self.schema(target?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::document::Document;
    use crate::json_schema::options::Options;

    /// Random schemas over few keys and values.
    struct Maker(u64);

    impl Maker {
        fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            from[(self.0 >> 33) as usize % from.len()]
        }

        /// The template with its marks replaced: `K` by a key, `V` by what is said of a value, `S`
        /// by a schema.
        fn fill(
            &mut self,
            template: &str,
            simple: &[&str],
            applied: &[&str],
            depth: u32,
        ) -> String {
            let mut filled = String::new();
            for mark in template.chars() {
                match mark {
                    'K' => filled.push_str(self.pick(&["\"a\"", "\"b\"", "\"c\""])),
                    'V' => filled.push_str(self.pick(&["true", "{\"const\": 1}", "false", "{}"])),
                    'S' => {
                        let all = [simple, simple, applied].concat();
                        let inner = self.pick(if depth == 0 { simple } else { &all });
                        let inner = self.fill(inner, simple, applied, depth.saturating_sub(1));
                        filled.push_str(&inner);
                    }
                    _ => filled.push(mark),
                }
            }
            filled
        }
    }

    const APPLIED: [&str; 7] = [
        r#"{"allOf": [S, S]}"#,
        r#"{"anyOf": [S, S, S]}"#,
        r#"{"oneOf": [S, S]}"#,
        r#"{"not": S}"#,
        r#"{"if": S, "then": S, "else": S}"#,
        r##"{"$ref": "#/$defs/d"}"##,
        r#"{"dependentSchemas": {K: S}}"#,
    ];

    const MEMBERS: [&str; 7] = [
        r#"{"properties": {K: V}}"#,
        r#"{"properties": {K: V}, "required": [K]}"#,
        r#"{"required": [K]}"#,
        r#"{"patternProperties": {"^[ab]$": V}}"#,
        r#"{"additionalProperties": V}"#,
        r#"{"properties": {K: V}, "unevaluatedProperties": V}"#,
        r#"{"maxProperties": 1}"#,
    ];

    const ITEMS: [&str; 7] = [
        r#"{"prefixItems": [V]}"#,
        r#"{"prefixItems": [V, V]}"#,
        r#"{"items": V}"#,
        r#"{"minItems": 2}"#,
        r#"{"contains": {"const": 1}}"#,
        r#"{"prefixItems": [V], "unevaluatedItems": V}"#,
        r#"{"maxItems": 2}"#,
    ];

    /// All objects and arrays over few keys and values.
    fn instances(aspect: Aspect) -> Vec<String> {
        let values = ["", "1", "2"];
        let mut all = Vec::new();
        for a in values {
            for b in values {
                for c in values {
                    let keys = [("a", a), ("b", b), ("c", c)];
                    let present = keys.iter().filter(|(_, value)| !value.is_empty());
                    let texts = present.map(|(key, value)| match aspect {
                        Aspect::Members => format!("\"{key}\": {value}"),
                        Aspect::Items => (*value).to_owned(),
                    });
                    let texts = texts.collect::<Vec<_>>().join(", ");
                    all.push(match aspect {
                        Aspect::Members => format!("{{{texts}}}"),
                        Aspect::Items => format!("[{texts}]"),
                    });
                }
            }
        }
        all
    }

    #[test]
    fn evaluators_say_what_branches_say() {
        let options = Options::default();
        for (aspect, simple, keyword) in [
            (Aspect::Members, MEMBERS, "unevaluatedProperties"),
            (Aspect::Items, ITEMS, "unevaluatedItems"),
        ] {
            let (mut maker, mut compared, mut accepted) = (Maker(7), 0, 0);
            for _ in 0..400 {
                let schema = maker.fill(
                    r#"{"$defs": {"d": S}, "anyOf": [S, S], "allOf": [S, S], "if": S, "then": S, "#,
                    &simple,
                    &APPLIED[..5],
                    2,
                );
                let rest = maker.pick(&["false", r#"{"const": 2}"#]);
                let schema = format!("{schema}{keyword:?}: {rest}}}");
                let mut document = Document::parse(&schema).unwrap();
                for (i, text) in instances(aspect).iter().enumerate() {
                    document.supply(&i.to_string(), text).unwrap();
                }
                let values: Vec<ValueId> = document.supplied().map(|(_, value)| value).collect();
                let mut sets = Sets::new(&document, &options);
                let reader = sets.reader(document.root()).unwrap();
                let at = reader.get(keyword).unwrap();
                let rest = sets.schema(at).unwrap();
                let Some(by_evaluators) = sets.by_evaluators(&reader, aspect, rest, at).unwrap()
                else {
                    continue;
                };
                let by_branches = sets.by_branches(&reader, aspect, rest, at).unwrap();
                let shapes = [by_branches, by_evaluators].map(|set| sets.shape(set).unwrap());
                for value in values {
                    let [a, b] = [&shapes[0], &shapes[1]].map(|s| sets.accepts(s, value).unwrap());
                    assert_eq!(a, b, "{schema}: {:?}", document.value(value));
                    accepted += usize::from(a);
                    compared += 1;
                }
            }
            assert!(compared > 3_000 && accepted * 20 > compared, "{accepted} of {compared}");
        }
    }
}
