//! Properties of an expression that follow from those of its parts, computed once when it is interned.

use std::sync::Arc;

use super::dfa::Dfa;
use super::expression::{Expression, Language, UNBOUNDED, VariableDefinition};

/// Properties of an expression, computed from those of its parts when it is interned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Properties {
    /// Whether it contains the empty string.
    pub(crate) nullable: bool,
    /// Whether a variable occurs in it.
    pub(crate) has_variable: bool,
    /// Whether a repeat occurs in it that has an upper bound, or a lower one above 1.
    pub(crate) has_counter: bool,
    /// Whether an intersection or a complement occurs in it, or what hides one (a variable, an
    /// automaton). [`Language::ALL`] does not count.
    pub(crate) has_boolean: bool,
    /// Whether structure proves that it has finitely many strings.
    pub(crate) is_finite: bool,
    /// Whether every part has strings and no intersection or complement occurs. [`Language::ALL`]
    /// counts as such a part.
    pub(crate) is_trim: bool,
    /// Whether it has any string; `None` until that is decided. Known from the start where
    /// `has_boolean` is false.
    pub(crate) live: Option<bool>,
    /// Length of a shortest string, saturating. Exact where `has_boolean` is false:
    /// `lengths::some_length` and `computed_parts::completion_growth` rely on that. Elsewhere an estimate that
    /// only orders searches (an intersection takes the sum over its parts).
    pub(crate) distance: u32,
}

impl Properties {
    /// Properties of an expression by those of its parts.
    pub(super) fn of<'a>(
        expr: &Expression,
        definitions: &[VariableDefinition],
        dfas: &[Arc<Dfa>],
        properties_of: impl Fn(Language) -> &'a Self,
    ) -> Self {
        match expr {
            Expression::Set(set) => {
                let distance = if set.is_empty() { u32::MAX } else { 1 };
                let live = !set.is_empty();
                Self {
                    is_finite: true,
                    is_trim: live,
                    live: Some(live),
                    distance,
                    ..Self::default()
                }
            }
            &Expression::Concat(a, b) => {
                let (a, b) = (properties_of(a), properties_of(b));
                Self {
                    nullable: a.nullable && b.nullable,
                    has_variable: a.has_variable || b.has_variable,
                    has_counter: a.has_counter || b.has_counter,
                    has_boolean: a.has_boolean || b.has_boolean,
                    is_finite: a.is_finite && b.is_finite,
                    is_trim: a.is_trim && b.is_trim,
                    live: match (a.live, b.live) {
                        (Some(true), Some(true)) => Some(true),
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        _ => None,
                    },
                    distance: a.distance.saturating_add(b.distance),
                }
            }
            Expression::Union(xs) | Expression::Intersect(xs) => {
                let all = |of: fn(&Self) -> bool| xs.iter().all(|&x| of(properties_of(x)));
                let any = |of: fn(&Self) -> bool| xs.iter().any(|&x| of(properties_of(x)));
                let union = matches!(expr, Expression::Union(_));
                let nullable = if union { any(|x| x.nullable) } else { all(|x| x.nullable) };
                let live = nullable || union && any(|x| x.live == Some(true));
                let distances = xs.iter().map(|&x| properties_of(x).distance);
                Self {
                    nullable,
                    has_variable: any(|x| x.has_variable),
                    has_counter: any(|x| x.has_counter),
                    has_boolean: !union || any(|x| x.has_boolean),
                    is_finite: if union { all(|x| x.is_finite) } else { any(|x| x.is_finite) },
                    is_trim: union && all(|x| x.is_trim),
                    live: live.then_some(true),
                    distance: if union {
                        distances.min().unwrap_or(u32::MAX)
                    } else {
                        distances.fold(0, u32::saturating_add)
                    },
                }
            }
            &Expression::Complement(inner) => {
                let x = properties_of(inner);
                Self {
                    nullable: !x.nullable,
                    has_boolean: x.has_boolean || inner != Language::EMPTY,
                    is_finite: false,
                    is_trim: inner == Language::EMPTY,
                    live: (!x.nullable).then_some(true),
                    distance: x.nullable.into(),
                    ..*x
                }
            }
            &Expression::Repeat(part, min, max) => {
                let x = properties_of(part);
                let nullable = min == 0 || x.nullable;
                Self {
                    nullable,
                    is_finite: part == Language::EMPTY || max != UNBOUNDED && x.is_finite,
                    is_trim: part == Language::EMPTY || x.is_trim,
                    has_counter: x.has_counter || max != UNBOUNDED || min > 1,
                    live: if nullable { Some(true) } else { x.live },
                    distance: x.distance.saturating_mul(min),
                    ..*x
                }
            }
            &Expression::Variable(v) => {
                let nullable = definitions[v as usize].nullable;
                let live = nullable.then_some(true);
                let distance = (!nullable).into();
                Self {
                    nullable,
                    has_variable: true,
                    has_boolean: true,
                    live,
                    distance,
                    ..Self::default()
                }
            }
            &Expression::DfaState(dfa, state) => Self {
                nullable: dfas[dfa as usize].accepts(state),
                live: Some(true),
                distance: dfas[dfa as usize].shortest_length(state),
                ..Self::default()
            },
            Expression::Computed(running) => {
                let nullable = running.automaton.accepts(&running.state);
                let live =
                    if nullable { Some(true) } else { running.automaton.is_live(&running.state) };
                let distance = if nullable {
                    0
                } else {
                    running.automaton.completion_estimate(&running.state)
                };
                let is_finite = running.automaton.is_finite();
                Self { nullable, has_boolean: true, is_finite, live, distance, ..Self::default() }
            }
            &Expression::Unescaped(inner) => {
                let x = properties_of(inner);
                // What has strings may have no spelling of a text.
                let live = match x.live {
                    _ if x.nullable => Some(true),
                    Some(false) => Some(false),
                    _ => None,
                };
                Self { has_boolean: true, is_trim: false, live, ..*x }
            }
        }
    }
}
