//! `unevaluatedProperties` and `unevaluatedItems`: what the schemas beside them evaluate.
//!
//! Which members and items are left over depends on which schemas accept the value (2020-12 Core,
//! section 11). So the schemas beside an `unevaluated…` are taken apart into branches: a set, and
//! what every value in it has evaluated.
//!
//! ```text
//! {"anyOf": [{"properties": {"a": …}}, {"properties": {"b": …}}], "unevaluatedProperties": false}
//! branch 1: values in the first schema have evaluated  a
//! branch 2: values in the second schema                b
//! branch 3: values in both                             a, b
//! ```
//!
//! Branches may overlap, since more schemas evaluate all the more, and of two branches that
//! evaluate the same the larger one will do. Where branches would be too many (conditions
//! multiply), each schema that evaluates something is looked at by itself.

use super::{Applicator, Applied, Aspect, Evaluated, EvaluatedBranch, REFERENCES, applicators_of};
use crate::deadline;
use crate::error::{ErrorKind, Result};
use crate::json_schema::document::references::DynamicScope;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::values::{members_of, schema_list};
use crate::json_schema::set::keyword_reader::{KeywordReader, read_keywords};
use crate::json_schema::set::{Set, SetExpr, Sets};
use crate::json_schema::string::patterns::pattern_language;
use crate::regular::Language;

/// The sets that the in-place applicators of a schema stand for.
pub(crate) fn applied_sets<'d>(sets: &mut Sets<'d>, reader: &KeywordReader<'d>) -> Result<Applied> {
    let mut applied = Applied { all_of: Vec::new(), own: true };
    for (keyword, aspect) in
        [("unevaluatedProperties", Aspect::Members), ("unevaluatedItems", Aspect::Items)]
    {
        let Some(at) = reader.get(keyword) else { continue };
        let rest = sets.schema(at)?;
        if rest == Set::ANY {
            continue;
        }
        // Its own keywords are interned before those of other schemas, so that its properties come
        // first in the order of members.
        sets.own(reader.schema);
        let open = sets.unfolding.open.len();
        let set = match unevaluated_by_branches(sets, reader, aspect, rest, at) {
            Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => {
                // The error left open the sets that were unfolding when it occurred.
                sets.unfolding.open.truncate(open);
                unevaluated_by_evaluators(sets, reader, aspect, rest, at)?.ok_or(error)?
            }
            set => set?,
        };
        applied.own = false;
        applied.all_of.push(set);
    }
    if applied.own {
        applied.all_of = applicators_of(sets, reader, None)?.into_iter().map(|c| c.set).collect();
    }
    Ok(applied)
}

/// The set of a schema with an `unevaluated…`, as a union of branches.
fn unevaluated_by_branches<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Aspect,
    rest: Set,
    at: ValueId,
) -> Result<Set> {
    let applicators = applicators_of(sets, reader, Some(aspect))?;
    let seen = evaluated_by_keywords(sets, reader, aspect, false)?;
    let branches = product_of_branches(sets, reader.schema, seen, applicators)?;
    let mut alternatives = Vec::new();
    for EvaluatedBranch { mut all_of, seen } in branches {
        all_of.push(unevaluated_set(sets, seen, rest, at, aspect));
        alternatives.push(sets.and(all_of));
    }
    Ok(sets.or(alternatives))
}

/// The set of a schema with an `unevaluated…`, evaluator by evaluator: for each class of keys, one
/// of the schemas that evaluate it holds, or its members are in the rest. `None` if items are
/// evaluated by their values, under conditions.
fn unevaluated_by_evaluators<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Aspect,
    rest: Set,
    at: ValueId,
) -> Result<Option<Set>> {
    let mut always = evaluated_by_keywords(sets, reader, aspect, false)?;
    let mut sometimes: Vec<(Set, Evaluated)> = Vec::new();
    for EvaluatedBranch { all_of, seen } in evaluators_of_keywords(sets, reader, aspect)? {
        if all_of.is_empty() {
            always = evaluated_by_either(sets, &always, &seen);
        } else if seen != Evaluated::NOTHING {
            sometimes.push((sets.and(all_of), seen));
        }
    }
    let mut all = vec![sets.own(reader.schema)];
    all.extend(applicators_of(sets, reader, None)?.into_iter().map(|applicator| applicator.set));
    match aspect {
        Aspect::Members => {
            let keys = sets.languages.difference(sets.strings.any, always.keys);
            for (keys, evaluators) in split_by_evaluators(sets, keys, &sometimes)? {
                let members = sets.members(keys, rest, at);
                all.push(sets.or(evaluators.into_iter().chain([members])));
            }
        }
        Aspect::Items if sometimes.iter().any(|(_, seen)| !seen.matching.is_empty()) => {
            return Ok(None);
        }
        Aspect::Items => {
            let mut alternatives = vec![unevaluated_set(sets, always.clone(), rest, at, aspect)];
            for (evaluator, seen) in sometimes {
                let seen = evaluated_by_either(sets, &always, &seen);
                let items = unevaluated_set(sets, seen, rest, at, aspect);
                alternatives.push(sets.and([evaluator, items]));
            }
            all.push(sets.or(alternatives));
        }
    }
    Ok(Some(sets.and(all)))
}

/// Keys in classes, each with the sets whose values evaluate it.
fn split_by_evaluators(
    sets: &mut Sets<'_>,
    keys: Language,
    evaluators: &[(Set, Evaluated)],
) -> Result<Vec<(Language, Vec<Set>)>> {
    let mut kinds = vec![(keys, Vec::new())];
    for (evaluator, seen) in evaluators {
        let mut split = Vec::with_capacity(kinds.len() + 1);
        for (keys, by) in kinds {
            let within = sets.languages.intersect([keys, seen.keys]);
            let outside = sets.languages.difference(keys, seen.keys);
            if sets.languages.is_live(within)? {
                let by = by.iter().copied().chain([*evaluator]).collect();
                split.push((within, by));
            }
            if sets.languages.is_live(outside)? {
                split.push((outside, by));
            }
        }
        kinds = split;
        sets.check_alternatives(kinds.len())?;
    }
    Ok(kinds)
}

/// The schemas that evaluate something of the values of a set, each with the sets that must hold,
/// too.
fn evaluators_of_set(
    sets: &mut Sets<'_>,
    set: Set,
    aspect: Aspect,
) -> Result<Vec<EvaluatedBranch>> {
    let &SetExpr::Schema(schema, scope) = sets.expr(set) else { return Ok(Vec::new()) };
    sets.check_work(set)?;
    in_schema_of(sets, set, schema, scope, |this, reader| {
        if let Some(reference) = reader.lone_reference() {
            let target = this.reference(reference, "$ref")?;
            return evaluators_of_set(this, target, aspect);
        }
        let seen = evaluated_by_keywords(this, &reader, aspect, true)?;
        let mut found = evaluators_of_keywords(this, &reader, aspect)?;
        found.push(EvaluatedBranch { all_of: Vec::new(), seen });
        Ok(found)
    })
}

/// Reads the schema of a set, which must not be open already.
fn in_schema_of<'d, T>(
    sets: &mut Sets<'d>,
    set: Set,
    schema: ValueId,
    scope: DynamicScope,
    read: impl FnOnce(&mut Sets<'d>, KeywordReader<'d>) -> Result<T>,
) -> Result<T> {
    if let Some(start) = sets.unfolding.open.iter().position(|&open| open == set) {
        return Err(sets.cycle(start));
    }
    sets.unfolding.open.push(set);
    let result = sets.in_scope(scope, |this| {
        let reader = read_keywords(this, schema)?;
        read(this, reader)
    })?;
    sets.unfolding.open.pop();
    Ok(result)
}

/// The schemas that evaluate something among the in-place applicators of a schema.
fn evaluators_of_keywords<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Aspect,
) -> Result<Vec<EvaluatedBranch>> {
    // Schemas, each with what holds where it does.
    let mut applied: Vec<(Set, Vec<Set>)> = Vec::new();
    for keyword in REFERENCES {
        if let Some(at) = reader.get(keyword) {
            applied.push((sets.reference(at, keyword)?, Vec::new()));
        }
    }
    if let Some(at) = reader.get("allOf") {
        applied.extend(schema_list(sets, at, "allOf")?.into_iter().map(|set| (set, Vec::new())));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(at) = reader.get(keyword) {
            applied.extend(schema_list(sets, at, keyword)?.into_iter().map(|set| (set, vec![set])));
        }
    }
    if let Some(at) = reader.get("if") {
        let condition = sets.schema(at)?;
        let not = sets.not(condition);
        applied.push((condition, vec![condition]));
        for (keyword, guard) in [("then", condition), ("else", not)] {
            if let Some(at) = reader.get(keyword) {
                applied.push((sets.schema(at)?, vec![guard]));
            }
        }
    }
    for keyword in ["dependentSchemas", "dependencies"] {
        let Some(at) = reader.get(keyword) else { continue };
        for (key, schema) in members_of(sets, at, keyword)?.iter() {
            if !matches!(sets.document.value(schema), Value::Array(_)) {
                applied.push((sets.schema(schema)?, vec![sets.has(key)]));
            }
        }
    }
    let mut found = Vec::new();
    for (set, guards) in applied {
        for mut evaluator in evaluators_of_set(sets, set, aspect)? {
            evaluator.all_of.extend(&guards);
            found.push(evaluator);
        }
    }
    Ok(found)
}

/// Values whose unevaluated members and items are all in a set.
fn unevaluated_set(
    sets: &mut Sets<'_>,
    seen: Evaluated,
    rest: Set,
    at: ValueId,
    aspect: Aspect,
) -> Set {
    match aspect {
        Aspect::Members => {
            let keys = sets.languages.difference(sets.strings.any, seen.keys);
            sets.members(keys, rest, at)
        }
        Aspect::Items if seen.items == u32::MAX => Set::ANY,
        Aspect::Items => {
            let set = sets.or(seen.matching.into_iter().chain([rest]));
            sets.items(seen.items, set, at)
        }
    }
}

/// The branches of a schema, given what its own keywords evaluate.
fn product_of_branches(
    sets: &mut Sets<'_>,
    schema: ValueId,
    seen: Evaluated,
    applicators: Vec<Applicator>,
) -> Result<Vec<EvaluatedBranch>> {
    let mut branches = vec![EvaluatedBranch { all_of: vec![sets.own(schema)], seen }];
    for applicator in applicators {
        let seen = applicator.branches.first().map_or(Evaluated::NOTHING, |b| b.seen.clone());
        if applicator.branches.iter().all(|branch| branch.seen == seen) {
            for branch in &mut branches {
                branch.all_of.push(applicator.set);
                branch.seen = evaluated_by_either(sets, &branch.seen, &seen);
            }
            continue;
        }
        let mut product = Vec::new();
        for a in &branches {
            for b in &applicator.branches {
                product.extend(combine_branches(sets, a, b));
            }
            sets.check_alternatives(product.len())?;
        }
        branches = product;
    }
    Ok(branches)
}

/// The intersection of two branches; `None` if it is provably empty.
pub(crate) fn combine_branches(
    sets: &mut Sets<'_>,
    a: &EvaluatedBranch,
    b: &EvaluatedBranch,
) -> Option<EvaluatedBranch> {
    let all_of = [&a.all_of[..], &b.all_of].concat();
    let set = sets.and(all_of.iter().copied());
    let seen = evaluated_by_either(sets, &a.seen, &b.seen);
    (!sets.is_provably_empty(set)).then_some(EvaluatedBranch { all_of, seen })
}

fn evaluated_by_either(sets: &mut Sets<'_>, a: &Evaluated, b: &Evaluated) -> Evaluated {
    let mut matching = [&a.matching[..], &b.matching].concat();
    matching.sort_unstable();
    matching.dedup();
    let keys = match (a.keys, b.keys) {
        (all, _) | (_, all) if all == sets.strings.any => all,
        (a, b) => sets.languages.union([a, b]),
    };
    Evaluated { keys, items: a.items.max(b.items), matching }
}

/// Whether `b` evaluates nothing that `a` does not.
fn evaluates_no_more(sets: &mut Sets<'_>, b: &Evaluated, a: &Evaluated) -> Result<bool> {
    let items = a.items == u32::MAX
        || b.items <= a.items && b.matching.iter().all(|set| a.matching.contains(set));
    if !items || a.keys == b.keys || a.keys == sets.strings.any {
        return Ok(items);
    }
    let more = sets.languages.difference(b.keys, a.keys);
    Ok(!sets.languages.is_live(more)?)
}

/// The branches of a set. Only schemas evaluate anything.
pub(crate) fn branches_of_set(
    sets: &mut Sets<'_>,
    set: Set,
    aspect: Aspect,
) -> Result<Vec<EvaluatedBranch>> {
    let whole = |seen| vec![EvaluatedBranch { all_of: vec![set], seen }];
    let &SetExpr::Schema(schema, scope) = sets.expr(set) else {
        return Ok(if set == Set::NEVER { Vec::new() } else { whole(Evaluated::NOTHING) });
    };
    in_schema_of(sets, set, schema, scope, |this, reader| {
        if let Some(reference) = reader.lone_reference() {
            let target = this.reference(reference, "$ref")?;
            return branches_of_set(this, target, aspect);
        }
        this.own(schema);
        let seen = evaluated_by_keywords(this, &reader, aspect, true)?;
        let all = match aspect {
            Aspect::Members => seen.keys == this.strings.any,
            Aspect::Items => seen.items == u32::MAX,
        };
        if all {
            return Ok(whole(seen));
        }
        let applicators = applicators_of(this, &reader, Some(aspect))?;
        let branches = product_of_branches(this, schema, seen, applicators)?;
        if let [only] = &branches[..] {
            return Ok(whole(only.seen.clone()));
        }
        let of_other_aspect = match aspect {
            Aspect::Members => "unevaluatedItems",
            Aspect::Items => "unevaluatedProperties",
        };
        // Branches have the schema's other keywords, but not that one.
        let also = reader.get(of_other_aspect).map(|_| set);
        let with = |branch: EvaluatedBranch| EvaluatedBranch {
            all_of: branch.all_of.into_iter().chain(also).collect(),
            ..branch
        };
        Ok(branches.into_iter().map(with).collect())
    })
}

/// The members or items that a schema's own keywords evaluate (Core, sections 10.3 and 11); its
/// `unevaluated…` counts if `leftover`.
fn evaluated_by_keywords<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Aspect,
    leftover: bool,
) -> Result<Evaluated> {
    let has = |keyword| reader.get(keyword).is_some();
    let mut seen = Evaluated::NOTHING;
    match aspect {
        Aspect::Members => {
            if has("additionalProperties") || leftover && has("unevaluatedProperties") {
                return Ok(Evaluated { keys: sets.strings.any, ..seen });
            }
            let mut keys = Vec::new();
            if let Some(at) = reader.get("properties") {
                let names = members_of(sets, at, "properties")?.iter().map(|(key, _)| key);
                keys.push(sets.strings.texts(&mut sets.languages, names));
            }
            if let Some(at) = reader.get("patternProperties") {
                for (pattern, schema) in members_of(sets, at, "patternProperties")?.iter() {
                    keys.push(pattern_language(sets, pattern, schema)?);
                }
            }
            seen.keys = sets.languages.union(keys);
        }
        Aspect::Items => {
            let mut all = leftover && has("unevaluatedItems");
            let length = |at| match sets.document.value(at) {
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
            if let Some(at) = reader.get("contains").filter(|_| reader.dialect.contains_evaluates())
            {
                seen.matching.push(sets.schema(at)?);
            }
        }
    }
    Ok(seen)
}

/// Branches for each choice of some of the sets that evaluates more than its parts.
pub(crate) fn branches_of_any(
    sets: &mut Sets<'_>,
    all_of: &[Set],
    aspect: Option<Aspect>,
) -> Result<Vec<EvaluatedBranch>> {
    let Some(aspect) = aspect else { return Ok(Vec::new()) };
    let mut all: Vec<EvaluatedBranch> = Vec::new();
    for &set in all_of {
        let new = branches_of_set(sets, set, aspect)?;
        for i in 0..all.len() {
            for one in &new {
                if !evaluates_no_more(sets, &one.seen, &all[i].seen)?
                    && !evaluates_no_more(sets, &all[i].seen, &one.seen)?
                {
                    let before = all[i].clone();
                    all.extend(combine_branches(sets, &before, one));
                }
            }
            sets.check_alternatives(all.len())?;
        }
        all.extend(new);
    }
    Ok(all)
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
                let reader = read_keywords(&mut sets, document.root()).unwrap();
                let at = reader.get(keyword).unwrap();
                let rest = sets.schema(at).unwrap();
                let Some(by_evaluators) =
                    unevaluated_by_evaluators(&mut sets, &reader, aspect, rest, at).unwrap()
                else {
                    continue;
                };
                let by_branches =
                    unevaluated_by_branches(&mut sets, &reader, aspect, rest, at).unwrap();
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
