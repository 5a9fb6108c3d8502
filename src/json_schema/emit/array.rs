//! Arrays of which only the number of items matters: items one by one, then a counted repeat.

pub(super) mod states;

use super::Emitter;
use super::state::OpenRule;
use crate::error::Result;
use crate::grammar::{NodeId, Origin};
use crate::json_schema::layout::Layout;
use crate::json_schema::set::Set;
use crate::json_schema::set::SetExpr;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::array_set::ItemEquality;

/// Length of a prefix up to which listed values are written into the array's rule; in a longer one
/// each gets a rule of its own, made when a text reaches it.
const MAX_INLINE_ITEMS: usize = 64;

impl Emitter<'_> {
    pub(super) fn array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        if let (Layout::Styled(_), true) = (layout, array.equality != ItemEquality::May) {
            return Err(self.items_that_differ(array));
        }
        if !array.contains_counts.is_empty() || array.equality != ItemEquality::May {
            return self.array_by_states(array, name, layout);
        }
        if layout == Layout::Undecided {
            return self.undecided_array(array, name);
        }
        let Some(some) = self.items(array, layout)? else { return Ok(None) };
        let signs = self.punctuation(layout).array;
        let node = match (array.min, some) {
            (0, some) => {
                let inside = self.empty_or_contents(signs.end, signs.first, some);
                self.builder.sequence(signs.open.into_iter().chain(inside))
            }
            (_, Some(some)) => self.builder.sequence([signs.begin, some]),
            // Without items there are too few.
            (_, None) => return Ok(None),
        };
        Ok(Some(self.mark(node, &array.origins)))
    }

    /// The items of an array with the bracket that closes them. `Some(None)` if the array can only be
    /// empty, `None` if fewer items than `min` are possible.
    pub(super) fn items(
        &mut self,
        array: &ArraySet,
        layout: Layout,
    ) -> Result<Option<Option<NodeId>>> {
        let (signs, inside) = (self.punctuation(layout).array, self.item_layout(layout));
        let mut items = Vec::new();
        let mut max = array.max;
        for &item in array.prefix.iter().take(max.unwrap_or(u32::MAX) as usize) {
            let item = if array.prefix.len() > MAX_INLINE_ITEMS {
                self.item_of_many(item, inside)?
            } else {
                self.value(item, inside)?
            };
            match item {
                Some(node) => items.push(node),
                None => {
                    max = Some(items.len() as u32);
                    break;
                }
            }
        }
        let more = max.is_none_or(|max| max as usize > items.len());
        let rest = if more { self.value(array.rest, inside)? } else { None };
        if rest.is_none() {
            max = Some(items.len() as u32);
        }
        if max.is_some_and(|max| max < array.min) {
            return Ok(None);
        }
        // Built from the last item to the first, in reverse: the nodes after the first `i` items.
        let mut tail: Vec<NodeId> = signs.close.into_iter().collect();
        let written = items.len() as u32;
        if let Some(rest) = rest {
            let (first, again) = (written.max(1), self.builder.sequence([signs.comma, rest]));
            let (min, max) = (array.min.saturating_sub(first), max.map(|max| max - first));
            let again = self.builder.repeat(again, min, max);
            tail.push(again);
            if written == 0 {
                tail.push(rest);
            }
        }
        for (i, &item) in items.iter().enumerate().rev() {
            if i as u32 + 1 >= array.min.max(1) && (i + 1 < items.len()) {
                // The array may end after this item, or go on.
                let further = self.builder.sequence(tail.into_iter().rev());
                let rule = self.builder.declare_from(Origin::Kind("items".into()));
                let body = self.builder.choice(signs.close.into_iter().chain([further]));
                self.builder.define(rule, body);
                tail = vec![self.builder.call(rule)];
            }
            tail.push(item);
            if i > 0 {
                tail.push(signs.comma);
            }
        }
        let some = items.len() + usize::from(rest.is_some()) > 0;
        Ok(Some(some.then(|| self.builder.sequence(tail.into_iter().rev()))))
    }

    /// An item of a long prefix: the rule of a listed value is made when a text reaches it.
    fn item_of_many(&mut self, set: Set, layout: Layout) -> Result<Option<NodeId>> {
        if !matches!(self.sets.expr(set), SetExpr::Value(_) | SetExpr::Text(_)) {
            return self.value(set, layout);
        }
        let rule = self.builder.declare_from(Origin::Kind("items".into()));
        self.open.insert(rule, OpenRule::Set(set, layout));
        Ok(Some(self.builder.call(rule)))
    }

    /// An array that is the whole text, in any style.
    pub(super) fn undecided_array(
        &mut self,
        array: &ArraySet,
        name: &Origin,
    ) -> Result<Option<NodeId>> {
        let [first, others @ ..] = Layout::STYLES;
        let Some(some) = self.items(array, first)? else { return Ok(None) };
        let signs = self.punctuation(Layout::Undecided).array;
        let mut ways = Vec::new();
        if array.min == 0 {
            ways.extend(signs.end);
        }
        if let Some(some) = some {
            ways.push(some);
            let id = self.arrays.whole.len() as u32;
            self.arrays.whole.push(array.clone());
            for layout in others {
                let rule = self.builder.declare_from(name.clone());
                self.open.insert(rule, OpenRule::Items(id, layout));
                let (gap, items) = (self.punctuation(layout).array.first, self.builder.call(rule));
                ways.push(self.builder.sequence(gap.into_iter().chain([items])));
            }
        }
        let inside = self.builder.choice_by_length(ways);
        let node = self.builder.sequence(signs.open.into_iter().chain([inside]));
        Ok(Some(self.mark(node, &array.origins)))
    }

    /// The items of an array that is the whole text, in one style.
    pub(super) fn items_of_whole(&mut self, array: u32, layout: Layout) -> Result<NodeId> {
        let array = self.arrays.whole[array as usize].clone();
        // There are some in each style if there are in one.
        let some = self.items(&array, layout)?.flatten();
        Ok(some.unwrap_or_else(|| self.builder.choice([])))
    }
}
