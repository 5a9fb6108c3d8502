//! Is an instance in the language of a grammar, and if not, is that only a matter of the options?

use serde_json::Value;

use super::{Naive, Open, dumps};

/// What became of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Accepted as `json.dumps` writes it.
    Accepted,
    /// Accepted with the members of its objects in another order.
    Order,
    /// Accepted with its integers written without `.0` (and in another order, maybe).
    Spelling,
    /// A number has more digits than the options allow, or than this test can carry.
    Digits,
    /// A limit of the languages was reached.
    Limit,
    Rejected,
}

/// Steps that a search for an order may take.
const STEPS: u32 = 1_000;

/// Steps for an instance that is not valid, which no order should make acceptable.
const STEPS_FOR_INVALID: u32 = 50;

pub(crate) fn outcome(matcher: &mut Naive<'_>, instance: &Value, valid: bool) -> Outcome {
    let accepted = matcher.accepts(&dumps(instance));
    if std::mem::take(&mut matcher.over_limit) {
        return Outcome::Limit;
    }
    if accepted {
        return Outcome::Accepted;
    }
    let open = matcher.open();
    for (outcome, respell) in [(Outcome::Order, false), (Outcome::Spelling, true)] {
        let steps = if valid { STEPS } else { STEPS_FOR_INVALID };
        let mut search = Search { matcher, respell, steps };
        let found = search.value(&open, instance, &mut |_, open| Naive::is_accepting(open));
        if found {
            return outcome;
        }
    }
    if has_long_number(instance) { Outcome::Digits } else { Outcome::Rejected }
}

fn has_long_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            // Read as a double, an integer beyond 64 bits has lost its digits.
            let lost = |f: f64| f.fract() == 0.0 && f.abs() >= 1e19;
            if number.as_f64().is_some_and(lost) {
                return true;
            }
            let text = dumps(value);
            let mantissa = text.split('e').next().unwrap_or_default();
            mantissa.split('.').any(|digits| digits.trim_start_matches('-').len() > 20)
        }
        Value::Array(items) => items.iter().any(has_long_number),
        Value::Object(members) => members.values().any(has_long_number),
        _ => false,
    }
}

/// Depth-first over the orders of members; what follows is a continuation.
struct Search<'m, 'g> {
    matcher: &'m mut Naive<'g>,
    respell: bool,
    steps: u32,
}

type Then<'a, 'm, 'g> = &'a mut dyn FnMut(&mut Search<'m, 'g>, &Open) -> bool;

impl<'m, 'g> Search<'m, 'g> {
    fn text(&mut self, open: &Open, text: &str) -> Option<Open> {
        let mut open = open.clone();
        for byte in text.bytes() {
            open = self.matcher.step(&open, byte);
            if open.is_dead() {
                return None;
            }
        }
        Some(open)
    }

    fn value(&mut self, open: &Open, value: &Value, then: Then<'_, 'm, 'g>) -> bool {
        match value {
            Value::Object(members) => {
                let Some(open) = self.text(open, "{") else { return false };
                let left: Vec<(&String, &Value)> = members.iter().collect();
                self.members(&open, left, true, then)
            }
            Value::Array(items) => {
                let Some(open) = self.text(open, "[") else { return false };
                self.items(&open, items, true, then)
            }
            scalar => {
                let text = dumps(scalar);
                let whole = text.strip_suffix(".0").filter(|_| self.respell);
                [Some(text.as_str()), whole]
                    .into_iter()
                    .flatten()
                    .any(|text| self.text(open, text).is_some_and(|open| then(self, &open)))
            }
        }
    }

    fn items(&mut self, open: &Open, items: &[Value], first: bool, then: Then<'_, 'm, 'g>) -> bool {
        let Some((item, rest)) = items.split_first() else {
            return self.text(open, "]").is_some_and(|open| then(self, &open));
        };
        let Some(open) = self.text(open, if first { "" } else { ", " }) else { return false };
        self.value(&open, item, &mut |this, open| this.items(open, rest, false, then))
    }

    fn key(&mut self, open: &Open, key: &str, first: bool) -> Option<Open> {
        let key = Value::String(key.to_owned());
        self.text(open, &format!("{}{key}: ", if first { "" } else { ", " }))
    }

    fn members(
        &mut self,
        open: &Open,
        left: Vec<(&String, &Value)>,
        first: bool,
        then: Then<'_, 'm, 'g>,
    ) -> bool {
        if left.is_empty() {
            return self.text(open, "}").is_some_and(|open| then(self, &open));
        }
        // First the member after which most of the others can still come.
        let mut order: Vec<(usize, usize, Open)> = Vec::new();
        for (i, (key, value)) in left.iter().enumerate() {
            if self.steps == 0 {
                return false;
            }
            self.steps -= 1;
            let mut after = None;
            let Some(open) = self.key(open, key, first) else { continue };
            self.value(&open, value, &mut |_, open| {
                after = Some(open.clone());
                true
            });
            let Some(after) = after else { continue };
            let others = left.iter().enumerate().filter(|(j, _)| *j != i);
            let possible = others.filter(|(_, (key, _))| self.key(&after, key, false).is_some());
            let possible = possible.count();
            order.push((possible, i, open));
            if possible + 1 == left.len() {
                break;
            }
        }
        order.sort_by_key(|&(possible, i, _)| (std::cmp::Reverse(possible), i));
        for (_, i, open) in order {
            let mut rest = left.clone();
            let (_, value) = rest.remove(i);
            let found = self.value(&open, value, &mut |this, open| {
                this.members(open, rest.clone(), false, then)
            });
            if found {
                return true;
            }
        }
        false
    }
}
