//! What is known of an expression when it is made, from what is known of its parts.

use super::*;

/// What is known of an expression when it is made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) nullable: bool,
    /// Does a variable occur in it?
    pub(crate) recursive: bool,
    /// Does a repeat with a bound, or with more than one time at least, occur in it?
    pub(crate) counted: bool,
    /// Does and/not occur in it, [`Language::ALL`] not counted?
    pub(crate) logical: bool,
    /// Is the number of its strings finite, as far as structure says it?
    pub(crate) finite: bool,
    /// Has it strings, and is it made without and/not, [`Language::ALL`] not counted?
    pub(crate) plain: bool,
    /// `None` until decided: has it any string? Decided by structure unless and/not occurs.
    pub(crate) live: Option<bool>,
    /// About how many bytes lead to a string of it, those that each part of an intersection needs
    /// taken together: nothing rests on it but where a search looks first.
    pub(crate) effort: u32,
}

/// What is known of an expression by its parts.
pub(crate) fn describe(
    arena: &Arena,
    variables: &[Variable],
    tables: &[Arc<Table>],
    expr: &Expr,
) -> Facts {
    match expr {
        Expr::Set(set) => {
            let effort = if set.is_empty() { u32::MAX } else { 1 };
            let live = !set.is_empty();
            Facts { finite: true, plain: live, live: Some(live), effort, ..Facts::default() }
        }
        &Expr::Concat(a, b) => {
            let (a, b) = (arena.facts(a), arena.facts(b));
            Facts {
                nullable: a.nullable && b.nullable,
                recursive: a.recursive || b.recursive,
                counted: a.counted || b.counted,
                logical: a.logical || b.logical,
                finite: a.finite && b.finite,
                plain: a.plain && b.plain,
                live: match (a.live, b.live) {
                    (Some(true), Some(true)) => Some(true),
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    _ => None,
                },
                effort: a.effort.saturating_add(b.effort),
            }
        }
        Expr::Union(xs) | Expr::Intersect(xs) => {
            let all = |of: fn(&Facts) -> bool| xs.iter().all(|&x| of(arena.facts(x)));
            let any = |of: fn(&Facts) -> bool| xs.iter().any(|&x| of(arena.facts(x)));
            let union = matches!(expr, Expr::Union(_));
            let nullable = if union { any(|x| x.nullable) } else { all(|x| x.nullable) };
            let live = nullable || union && any(|x| x.live == Some(true));
            let efforts = xs.iter().map(|&x| arena.facts(x).effort);
            Facts {
                nullable,
                recursive: any(|x| x.recursive),
                counted: any(|x| x.counted),
                logical: !union || any(|x| x.logical),
                finite: if union { all(|x| x.finite) } else { any(|x| x.finite) },
                plain: union && all(|x| x.plain),
                live: live.then_some(true),
                effort: match union {
                    true => efforts.min().unwrap_or(u32::MAX),
                    false => efforts.fold(0, u32::saturating_add),
                },
            }
        }
        &Expr::Complement(inner) => {
            let x = arena.facts(inner);
            Facts {
                nullable: !x.nullable,
                logical: x.logical || inner != Language::EMPTY,
                finite: false,
                plain: inner == Language::EMPTY,
                live: (!x.nullable).then_some(true),
                effort: x.nullable.into(),
                ..*x
            }
        }
        &Expr::Repeat(part, min, max) => {
            let x = arena.facts(part);
            let nullable = min == 0 || x.nullable;
            Facts {
                nullable,
                finite: part == Language::EMPTY || max != UNBOUNDED && x.finite,
                plain: part == Language::EMPTY || x.plain,
                counted: x.counted || max != UNBOUNDED || min > 1,
                live: if nullable { Some(true) } else { x.live },
                effort: x.effort.saturating_mul(min),
                ..*x
            }
        }
        &Expr::Variable(v) => {
            let nullable = variables[v as usize].nullable;
            let live = nullable.then_some(true);
            let effort = (!nullable).into();
            Facts { nullable, recursive: true, logical: true, live, effort, ..Facts::default() }
        }
        &Expr::Table(table, state) => Facts {
            nullable: tables[table as usize].accepts(state),
            live: Some(true),
            effort: tables[table as usize].least_rest(state),
            ..Facts::default()
        },
        Expr::Automaton(running) => {
            let nullable = running.automaton.accepts(&running.state);
            let live =
                if nullable { Some(true) } else { running.automaton.is_live(&running.state) };
            let effort = if nullable { 0 } else { running.automaton.effort(&running.state) };
            let finite = running.automaton.is_finite();
            Facts { nullable, logical: true, finite, live, effort, ..Facts::default() }
        }
    }
}
