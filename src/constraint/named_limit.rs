//! The table of limits by name: those of [`Limits`], and those of [`Options`] that bound what a schema may cost.
//!
//! Settings as JSON, the option `--limit` of the command line, and the server's check that a request raises none
//! all read this one table.

use std::time::Duration;

use crate::error::{Error, ErrorKind, LimitName, Result, listed};
use crate::json_schema::Options;
use crate::limits::Limits;

/// A limit with the name that errors, settings and options call it by.
///
/// ```
/// use maskwright::json_schema::Options;
/// use maskwright::{LimitValue, Limits, NamedLimit};
///
/// let (mut limits, mut options) = (Limits::default(), Options::default());
/// NamedLimit::find("depth")?.set(&mut limits, &mut options, LimitValue::Count(50))?;
/// assert_eq!(limits.depth, 50);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NamedLimit {
    name: &'static str,
    field: LimitField,
}

/// The value of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitValue {
    /// A number of what is counted.
    Count(usize),
    /// A time; `None` for no limit.
    Time(Option<Duration>),
}

/// Access to the field of a limit.
#[derive(Clone, Copy, Debug)]
enum LimitField {
    Count(for<'a> fn(&'a mut Limits, &'a mut Options) -> &'a mut usize),
    Time(fn(&mut Limits) -> &mut Option<Duration>),
}

const fn count(
    name: &'static str,
    field: for<'a> fn(&'a mut Limits, &'a mut Options) -> &'a mut usize,
) -> NamedLimit {
    NamedLimit { name, field: LimitField::Count(field) }
}

const fn time(name: LimitName, field: fn(&mut Limits) -> &mut Option<Duration>) -> NamedLimit {
    NamedLimit { name: name.as_str(), field: LimitField::Time(field) }
}

/// All limits.
const ALL: &[NamedLimit] = &[
    count(LimitName::Work.as_str(), |_, options| &mut options.work),
    count(LimitName::Alternatives.as_str(), |_, options| &mut options.alternatives),
    count(LimitName::GrammarSize.as_str(), |limits, _| &mut limits.grammar_size),
    count(LimitName::LanguageStates.as_str(), |limits, _| &mut limits.language_states),
    count(LimitName::StatesPerStep.as_str(), |limits, _| &mut limits.states_per_step),
    count(LimitName::Depth.as_str(), |limits, _| &mut limits.depth),
    time(LimitName::TimePerConstraint, |limits| &mut limits.time_per_constraint),
    time(LimitName::TimePerMask, |limits| &mut limits.time_per_mask),
    count(LimitName::CacheBytes.as_str(), |limits, _| &mut limits.cache_bytes),
    count("split_bytes", |limits, _| &mut limits.split_bytes),
    count("split_nodes", |limits, _| &mut limits.split_nodes),
];

impl NamedLimit {
    /// All limits.
    pub const fn all() -> &'static [Self] {
        ALL
    }

    /// The limit of this name.
    ///
    /// Errors with [`ErrorKind::Request`] and the names of all if there is none.
    pub fn find(name: &str) -> Result<&'static Self> {
        ALL.iter().find(|limit| limit.name == name).ok_or_else(|| {
            let message = format!("there is no limit `{name}`");
            let names = listed(ALL.iter().map(Self::name));
            Error::new(ErrorKind::Request, message).with_help(format!("there are {names}"))
        })
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The value in a compiler's limits and options.
    pub fn value(&self, limits: &Limits, options: &Options) -> LimitValue {
        let (mut limits, mut options) = (limits.clone(), options.clone());
        match self.field {
            LimitField::Count(field) => LimitValue::Count(*field(&mut limits, &mut options)),
            LimitField::Time(field) => LimitValue::Time(*field(&mut limits)),
        }
    }

    /// The value where nothing else was said.
    pub fn default_value(&self) -> LimitValue {
        self.value(&Limits::default(), &Options::default())
    }

    /// Sets the limit.
    ///
    /// Errors with [`ErrorKind::Request`] if the value is a count and the limit a time, or the other way round.
    pub fn set(&self, limits: &mut Limits, options: &mut Options, value: LimitValue) -> Result<()> {
        match (self.field, value) {
            (LimitField::Count(field), LimitValue::Count(value)) => *field(limits, options) = value,
            (LimitField::Time(field), LimitValue::Time(value)) => *field(limits) = value,
            (LimitField::Count(_), LimitValue::Time(_)) => {
                return Err(wrong_kind(self.name, "a count, not a time"));
            }
            (LimitField::Time(_), LimitValue::Count(_)) => {
                return Err(wrong_kind(self.name, "a time, not a count"));
            }
        }
        Ok(())
    }
}

impl LimitValue {
    /// Whether this allows more than another value of the same limit.
    pub fn is_above(self, other: Self) -> bool {
        match (self, other) {
            (Self::Count(value), Self::Count(other)) => value > other,
            (Self::Time(value), Self::Time(other)) => {
                value.unwrap_or(Duration::MAX) > other.unwrap_or(Duration::MAX)
            }
            (Self::Count(_), Self::Time(_)) | (Self::Time(_), Self::Count(_)) => false,
        }
    }
}

fn wrong_kind(name: &str, wanted: &str) -> Error {
    Error::new(ErrorKind::Request, format!("the limit `{name}` is {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_of_the_structs_has_a_name_of_its_own() {
        let (mut limits, mut options) = (Limits::default(), Options::default());
        for (i, limit) in ALL.iter().enumerate() {
            let value = match limit.default_value() {
                LimitValue::Count(_) => LimitValue::Count(1000 + i),
                LimitValue::Time(_) => LimitValue::Time(Some(Duration::from_secs(1000 + i as u64))),
            };
            limit.set(&mut limits, &mut options, value).unwrap();
            assert!(NamedLimit::find(limit.name).unwrap().name() == limit.name);
        }
        // No two of them are one field.
        for (i, limit) in ALL.iter().enumerate() {
            let shown = format!("{:?}", limit.value(&limits, &options));
            assert!(shown.contains(&(1000 + i).to_string()), "{}: {shown}", limit.name);
        }
        // Those of a struct that grows are all here: the others are the two of the options.
        let shown = format!("{:?}", Limits::default());
        assert_eq!(shown.matches(": ").count(), ALL.len() - 2, "{shown}");
    }

    #[test]
    fn values_are_of_their_kind_and_in_order() {
        let (mut limits, mut options) = (Limits::default(), Options::default());
        let mut set =
            |name: &str, value| NamedLimit::find(name)?.set(&mut limits, &mut options, value);
        let error = set("depth", LimitValue::Time(None)).unwrap_err();
        assert!(error.message().contains("`depth` is a count"), "{error}");
        let error = set("time_per_mask", LimitValue::Count(1)).unwrap_err();
        assert!(error.message().contains("`time_per_mask` is a time"), "{error}");
        let error = set("deepness", LimitValue::Count(1)).unwrap_err();
        assert!(error.help().unwrap().contains("work, alternatives"), "{error}");
        let second = LimitValue::Time(Some(Duration::from_secs(1)));
        assert!(
            LimitValue::Time(None).is_above(second) && !second.is_above(LimitValue::Time(None))
        );
        assert!(LimitValue::Count(2).is_above(LimitValue::Count(1)));
        assert!(!LimitValue::Count(1).is_above(LimitValue::Count(1)));
    }
}
