//! HEAD

/// Which side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Above,
    Below,
}
