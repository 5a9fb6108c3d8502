//! Properties of an expression that follow from those of its parts, computed once when it is interned.

use super::dfa::Dfa;
use super::expression::{Definition, Expr, Language, UNBOUNDED};
use std::sync::Arc;

/// What is known of an expression when it is made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Properties {
    pub(crate) nullable: bool,
    /// Does a variable occur in it?
    pub(crate) has_variable: bool,
    /// Does a repeat with a bound, or with more than one time at least, occur in it?
    pub(crate) has_counter: bool,
    /// Does and/not occur in it, [`Language::ALL`] not counted?
    pub(crate) has_boolean: bool,
    /// Is the number of its strings finite, as far as structure says it?
    pub(crate) is_finite: bool,
    /// Has it strings, and is it made without and/not, [`Language::ALL`] not counted?
    pub(crate) is_trim: bool,
    /// `None` until decided: has it any string? Decided by structure unless and/not occurs.
    pub(crate) live: Option<bool>,
    /// About how many bytes lead to a string of it, those that each part of an intersection needs
    /// taken together: nothing rests on it but where a search looks first.
    pub(crate) distance: u32,
}

impl Properties {
    /// Properties of an expression by those of its parts.
    pub(super) fn of<'a>(
        expr: &Expr,
        definitions: &[Definition],
        dfas: &[Arc<Dfa>],
        properties_of: impl Fn(Language) -> &'a Self,
    ) -> Self {
        match expr {
            Expr::Set(set) => {
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
            &Expr::Concat(a, b) => {
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
            Expr::Union(xs) | Expr::Intersect(xs) => {
                let all = |of: fn(&Self) -> bool| xs.iter().all(|&x| of(properties_of(x)));
                let any = |of: fn(&Self) -> bool| xs.iter().any(|&x| of(properties_of(x)));
                let union = matches!(expr, Expr::Union(_));
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
                    distance: match union {
                        true => distances.min().unwrap_or(u32::MAX),
                        false => distances.fold(0, u32::saturating_add),
                    },
                }
            }
            &Expr::Complement(inner) => {
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
            &Expr::Repeat(part, min, max) => {
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
            &Expr::Variable(v) => {
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
            &Expr::DfaState(table, state) => Self {
                nullable: dfas[table as usize].accepts(state),
                live: Some(true),
                distance: dfas[table as usize].least_rest(state),
                ..Self::default()
            },
            Expr::Computed(running) => {
                let nullable = running.automaton.accepts(&running.state);
                let live =
                    if nullable { Some(true) } else { running.automaton.is_live(&running.state) };
                let distance = if nullable { 0 } else { running.automaton.effort(&running.state) };
                let is_finite = running.automaton.is_finite();
                Self { nullable, has_boolean: true, is_finite, live, distance, ..Self::default() }
            }
        }
    }
}
