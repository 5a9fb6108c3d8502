//! Sides of a bound.

/// The numbers above a bound, or below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BoundSide {
    Above,
    Below,
}
