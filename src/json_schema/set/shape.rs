//! What a set holds of each JSON type, and the algebra on that: and, or, not of whole sets.

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::*;

/// More sets than this are combined by halves, so that each is looked at a few times only.
pub(crate) const HALVED: usize = 64;

/// Every so many intersections what they ask of members is looked at.
const SETTLED: usize = 8;

/// From this number of alternatives on it is worth looking for those that others hold already.
const CROWD: usize = 4;

/// From this number of alternatives on objects are followed as one with a condition.
const MANY: usize = 64;

/// The keywords that a part of a set comes from, for messages; all are equal, so that sets are
/// compared by their values alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(pub(crate) SmallVec<[ValueId; 2]>);

impl Sources {
    /// More keywords than this are not told apart.
    const MOST: usize = 8;

    pub(crate) fn add(&mut self, source: ValueId) {
        if self.0.len() < Self::MOST && !self.0.contains(&source) {
            self.0.push(source);
        }
    }

    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut sources = self.clone();
        other.0.iter().for_each(|&source| sources.add(source));
        sources
    }
}

impl PartialEq for Sources {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Sources {}

impl Hash for Sources {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A set unfolded: what it holds of each type.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) null: bool,
    /// `false`, `true`.
    pub(crate) booleans: [bool; 2],
    pub(crate) numbers: NumberSet,
    /// Texts in canonical spelling, without quotes.
    pub(crate) strings: Language,
    /// Any of these.
    pub(crate) arrays: Vec<ArraySet>,
    /// Any of these.
    pub(crate) objects: Vec<ObjectSet>,
    /// The same objects as one object set, where many complements meet.
    pub(crate) folded: Option<Arc<ObjectSet>>,
    /// Arrays and objects that a schema lists, each as it is written there.
    pub(crate) listed: Vec<ValueId>,
    /// A format among the strings that is beyond what is enforced: there is no complement.
    pub(crate) open_format: Option<ValueId>,
    /// Where the null, boolean, number and string parts come from.
    pub(crate) sources: Sources,
}

impl Shape {
    pub(crate) fn never() -> Self {
        Self {
            null: false,
            booleans: [false; 2],
            numbers: NumberSet::NONE,
            strings: Language::EMPTY,
            arrays: Vec::new(),
            objects: Vec::new(),
            folded: None,
            listed: Vec::new(),
            open_format: None,
            sources: Sources::default(),
        }
    }
}

impl Sets<'_> {
    /// All JSON values.
    pub(crate) fn any(&self) -> Shape {
        Shape {
            null: true,
            booleans: [true; 2],
            numbers: self.numbers.all(),
            strings: self.strings.any,
            arrays: vec![ArraySet::any()],
            objects: vec![ObjectSet::any(self.strings.any)],
            folded: None,
            listed: Vec::new(),
            open_format: None,
            sources: Sources::default(),
        }
    }

    pub(crate) fn all_of(&mut self, parts: &[Set]) -> Result<Shape> {
        if parts.len() > HALVED {
            let (first, second) = parts.split_at(parts.len() / 2);
            let (first, second) = (self.all_of(first)?, self.all_of(second)?);
            return self.intersection(&first, &second);
        }
        let mut result: Option<Shape> = None;
        for (i, &part) in parts.iter().enumerate() {
            let shape = self.shape(part)?;
            // What is asked of members together is looked at now and then, and at the end.
            let settle = i + 1 == parts.len() || i % SETTLED == 0;
            result = Some(match result {
                Some(so_far) => {
                    let crowd = if parts.len() > CROWD { 0 } else { CROWD };
                    self.intersection_settled(&so_far, &shape, settle, crowd)?
                }
                None => (*shape).clone(),
            });
        }
        Ok(result.unwrap_or_else(|| self.any()))
    }

    pub(crate) fn any_of(&mut self, parts: &[Set]) -> Result<Shape> {
        if parts.len() > HALVED {
            let (first, second) = parts.split_at(parts.len() / 2);
            let (first, second) = (self.any_of(first)?, self.any_of(second)?);
            return self.union(&first, &second);
        }
        let mut result = Shape::never();
        for &part in parts {
            let shape = self.shape(part)?;
            result = self.union(&result, &shape)?;
        }
        Ok(result)
    }

    /// Values in both.
    pub(crate) fn intersection(&mut self, a: &Shape, b: &Shape) -> Result<Shape> {
        self.intersection_settled(a, b, true, CROWD)
    }

    /// The same, perhaps with conditions that are not settled yet; where there would be more
    /// objects than `crowd`, complements are one with a condition.
    fn intersection_settled(
        &mut self,
        a: &Shape,
        b: &Shape,
        settle: bool,
        crowd: usize,
    ) -> Result<Shape> {
        let mut arrays = Vec::new();
        for (x, y) in pairs(&a.arrays, &b.arrays) {
            self.spend(1 + x.prefix.len() + y.prefix.len() + arrays.len());
            self.check_work(Set::ANY)?;
            if let Some(both) = self.array_intersection(x, y) {
                push_new(&mut arrays, both);
            }
            self.check_alternatives(arrays.len())?;
        }
        let mut objects = self.objects_in_both(a, b, settle, crowd)?;
        let mut listed = Vec::new();
        for (from, against) in [(&a.listed, b), (&b.listed, a)] {
            for &value in from {
                if listed.contains(&value) {
                    continue;
                }
                let cycles = self.cycles;
                match self.accepts(against, value) {
                    Ok(true) => listed.push(value),
                    Ok(false) => {}
                    // Its parts are in sets that are being unfolded: what they hold is seen later.
                    Err(_) if self.cycles > cycles => {
                        let one = self.unlisted(value)?;
                        for (x, y) in pairs(&one.arrays, &against.arrays) {
                            arrays.extend(self.array_intersection(x, y));
                        }
                        for (x, y) in pairs(&one.objects, &against.objects) {
                            objects.extend(self.object_intersection(x, y)?);
                        }
                        if self.lists(against, value)? {
                            listed.push(value);
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Shape {
            null: a.null && b.null,
            booleans: [a.booleans[0] && b.booleans[0], a.booleans[1] && b.booleans[1]],
            numbers: self.numbers.and(&mut self.languages, a.numbers, b.numbers),
            // Every set of strings is one of texts.
            strings: match (a.strings, b.strings) {
                (any, other) | (other, any) if any == self.strings.any => other,
                (a, b) => {
                    let both = self.languages.intersect([a, b]);
                    self.few_enough(both)?
                }
            },
            arrays,
            objects,
            folded: None,
            listed,
            open_format: a.open_format.or(b.open_format),
            sources: a.sources.merged(&b.sources),
        })
    }

    fn objects_in_both(
        &mut self,
        a: &Shape,
        b: &Shape,
        settle: bool,
        crowd: usize,
    ) -> Result<Vec<ObjectSet>> {
        // A complement is one condition where its alternatives would be too many.
        let mut sides = [&a.objects[..], &b.objects];
        for (side, shape) in sides.iter_mut().zip([a, b]) {
            if let Some(folded) = shape.folded.as_deref()
                && a.objects.len() * b.objects.len() > crowd
            {
                *side = std::slice::from_ref(folded);
            }
        }
        if let (false, [x], [y]) = (settle, sides[0], sides[1]) {
            return Ok(self.objects_together(x, y)?.into_iter().collect());
        }
        let (mut objects, mut crowd) = (Vec::new(), CROWD);
        for (x, y) in pairs(sides[0], sides[1]) {
            if let Some(both) = self.object_intersection(x, y)? {
                push_new(&mut objects, both);
            }
            if objects.len() > crowd {
                self.without_contained(&mut objects)?;
                crowd = CROWD.max(2 * objects.len());
            }
            if objects.len() > MANY.max(sides[0].len()).max(sides[1].len()) {
                let [a, b] = [self.fold(sides[0])?, self.fold(sides[1])?];
                return Ok(self.object_intersection(&a, &b)?.into_iter().collect());
            }
        }
        Ok(objects)
    }

    /// Values in either.
    pub(crate) fn union(&mut self, a: &Shape, b: &Shape) -> Result<Shape> {
        self.spend(a.arrays.len() * b.arrays.len() + a.objects.len() * b.objects.len());
        self.check_work(Set::ANY)?;
        let mut arrays = a.arrays.clone();
        b.arrays.iter().for_each(|array| push_new(&mut arrays, array.clone()));
        let mut objects = a.objects.clone();
        b.objects.iter().for_each(|object| push_new(&mut objects, object.clone()));
        self.check_alternatives(arrays.len().max(objects.len()))?;
        let mut listed = a.listed.clone();
        b.listed.iter().for_each(|&value| push_new(&mut listed, value));
        if let Some(any) = arrays.iter().find(|array| **array == ArraySet::any()) {
            arrays = vec![any.clone()];
        }
        let free = ObjectSet::any(self.strings.any);
        if objects.contains(&free) {
            objects = vec![free];
        }
        let any = a.strings == self.strings.any || b.strings == self.strings.any;
        Ok(Shape {
            null: a.null || b.null,
            booleans: [a.booleans[0] || b.booleans[0], a.booleans[1] || b.booleans[1]],
            numbers: self.numbers.or(&mut self.languages, a.numbers, b.numbers),
            strings: match any {
                true => self.strings.any,
                false => {
                    let either = self.languages.union([a.strings, b.strings]);
                    self.few_enough(either)?
                }
            },
            arrays,
            objects,
            folded: None,
            listed,
            open_format: a.open_format.or(b.open_format),
            sources: a.sources.merged(&b.sources),
        })
    }

    /// Values that are not in it.
    pub(crate) fn complement(&mut self, a: &Shape) -> Result<Shape> {
        if let Some(at) = a.open_format {
            let message = "this format is not enforced, so its complement cannot be";
            return Err(self.document.error(ErrorKind::Schema, at, message));
        }
        let all = self.any();
        let strings = self.languages.difference(self.strings.any, a.strings);
        let mut result = Shape {
            null: !a.null,
            booleans: a.booleans.map(|b| !b),
            numbers: self.numbers.not(&mut self.languages, a.numbers),
            strings: self.few_enough(strings)?,
            ..all
        };
        let mut arrays = a.arrays.clone();
        let mut objects = a.objects.clone();
        for &value in &a.listed {
            let shape = self.unlisted(value)?;
            arrays.extend(shape.arrays);
            objects.extend(shape.objects);
        }
        for array in &arrays {
            let not = Shape { arrays: self.array_complement(array), ..self.any() };
            result = self.intersection(&result, &not)?;
        }
        let mut one = Some(ObjectSet::any(self.strings.any));
        for object in &objects {
            // Each of its keys is an alternative of the complement.
            self.check_alternatives(object.named.len())?;
            let folded = self.fold_complement(object)?;
            one = match (one, &folded) {
                (Some(one), Some(folded)) => self.object_intersection(&one, folded)?,
                _ => None,
            };
            let folded = folded.map(Arc::new);
            let not = Shape { objects: self.object_complement(object)?, folded, ..self.any() };
            result = self.intersection(&result, &not)?;
        }
        if result.objects.len() > 1 {
            result.folded = one.map(Arc::new);
        }
        Ok(result)
    }

    pub(crate) fn check_alternatives(&self, alternatives: usize) -> Result<()> {
        let most = self.options.alternatives;
        if alternatives <= most {
            return Ok(());
        }
        let message = format!(
            "the schema combines into more than {most} alternatives (the limit `alternatives`)"
        );
        let at = self.open.last().copied().unwrap_or(Set::ANY);
        let help = "let fewer alternatives hold at the same time, or raise the limit";
        Err(self.error(ErrorKind::Limit, at, message).with_help(help))
    }
}

fn pairs<'a, T>(a: &'a [T], b: &'a [T]) -> impl Iterator<Item = (&'a T, &'a T)> {
    a.iter().flat_map(move |x| b.iter().map(move |y| (x, y)))
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
