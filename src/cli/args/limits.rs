//! The option `--limit`, which raises or lowers limits by their names.

use std::time::Duration;

use maskwright::error::Error;
use maskwright::json_schema::Options;
use maskwright::{Compiler, Limits};

/// Limits that are not to be the default ones.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
pub(crate) struct LimitArgs {
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse, help = help())]
    limits: Vec<GivenLimit>,
}

/// Access to the field of a limit.
#[derive(Clone, Copy)]
enum LimitField {
    Count(for<'a> fn(&'a mut Limits, &'a mut Options) -> &'a mut usize),
    /// In seconds.
    Time(fn(&mut Limits) -> &mut Option<Duration>),
}

use LimitField::{Count, Time};

/// All limits, by the names that errors call them by.
const LIMITS: &[(&str, LimitField)] = &[
    ("work", Count(|_, options| &mut options.work)),
    ("alternatives", Count(|_, options| &mut options.alternatives)),
    ("grammar_size", Count(|limits, _| &mut limits.grammar_size)),
    ("language_states", Count(|limits, _| &mut limits.language_states)),
    ("states_per_step", Count(|limits, _| &mut limits.states_per_step)),
    ("depth", Count(|limits, _| &mut limits.depth)),
    ("time_per_constraint", Time(|limits| &mut limits.time_per_constraint)),
    ("time_per_mask", Time(|limits| &mut limits.time_per_mask)),
    ("cache_bytes", Count(|limits, _| &mut limits.cache_bytes)),
    ("split_bytes", Count(|limits, _| &mut limits.split_bytes)),
    ("split_nodes", Count(|limits, _| &mut limits.split_nodes)),
];

/// A limit that was given.
#[derive(Clone, Copy, Debug)]
enum GivenLimit {
    Count(usize, usize),
    Time(usize, Option<Duration>),
}

impl LimitArgs {
    /// All limits but those of schemas alone.
    pub(crate) fn limits(&self) -> Limits {
        self.apply(Options::default()).0
    }

    /// The options with those limits that are of schemas.
    pub(crate) fn options(&self, options: Options) -> Options {
        self.apply(options).1
    }

    /// A compiler that keeps to these limits and writes JSON by these options.
    pub(crate) fn configure(&self, compiler: &Compiler, options: Options) -> Compiler {
        let (limits, options) = self.apply(options);
        let compiler = compiler.clone().with_json_options(options);
        if self.limits.is_empty() { compiler } else { compiler.with_limits(limits) }
    }

    fn apply(&self, mut options: Options) -> (Limits, Options) {
        let mut limits = Limits::default();
        for &given in &self.limits {
            match given {
                GivenLimit::Count(index, value) => {
                    if let Count(field) = LIMITS[index].1 {
                        *field(&mut limits, &mut options) = value;
                    }
                }
                GivenLimit::Time(index, value) => {
                    if let Time(field) = LIMITS[index].1 {
                        *field(&mut limits) = value;
                    }
                }
            }
        }
        (limits, options)
    }
}

/// The option that raises the limit that an error names.
pub(crate) fn option(error: &Error) -> Option<String> {
    let reached = error.limit()?.as_str();
    let (name, _) = LIMITS.iter().find(|(name, _)| *name == reached)?;
    Some(format!("--limit {name}=…"))
}

fn parse(text: &str) -> Result<GivenLimit, String> {
    let (name, value) =
        text.split_once('=').ok_or("write it as NAME=VALUE, such as depth=20000")?;
    let names = || LIMITS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let index = LIMITS
        .iter()
        .position(|(known, _)| *known == name)
        .ok_or_else(|| format!("there is no limit `{name}`; there are {}", names()))?;
    match LIMITS[index].1 {
        Count(_) => match value.parse() {
            Ok(count) => Ok(GivenLimit::Count(index, count)),
            Err(_) => Err(format!("`{name}` is a number such as 1000000")),
        },
        Time(_) if value == "none" => Ok(GivenLimit::Time(index, None)),
        Time(_) => {
            let seconds = value.parse::<f64>().ok();
            let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let time = time.ok_or_else(|| format!("`{name}` is a number of seconds, or none"))?;
            Ok(GivenLimit::Time(index, Some(time)))
        }
    }
}

/// The option's help: every limit with its default.
fn help() -> String {
    let (mut limits, mut options) = (Limits::default(), Options::default());
    let shown: Vec<String> = LIMITS
        .iter()
        .map(|&(name, bound)| match bound {
            Count(field) => format!("{name}={}", field(&mut limits, &mut options)),
            Time(field) => match field(&mut limits) {
                Some(time) => format!("{name}={} (seconds, or none)", time.as_secs_f64()),
                None => format!("{name}=none (or seconds)"),
            },
        })
        .collect();
    format!("Another value for a limit (repeat the option); the defaults are {}", shown.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use maskwright::{ErrorKind, LimitName};

    use super::*;

    #[test]
    fn every_limit_can_be_given() {
        for (name, bound) in LIMITS {
            let args = LimitArgs { limits: vec![parse(&format!("{name}=1234")).unwrap()] };
            let (mut limits, mut options) = args.apply(Options::default());
            match bound {
                Count(field) => assert_eq!(*field(&mut limits, &mut options), 1234),
                Time(field) => assert_eq!(*field(&mut limits), Some(Duration::from_secs(1234))),
            }
            assert!(help().contains(&format!("{name}=")));
        }
        let args = LimitArgs { limits: vec![parse("time_per_mask=none").unwrap()] };
        assert_eq!(args.apply(Options::default()).0.time_per_mask, None);
        // Those of a struct that grows are all here.
        let shown = format!("{:?}", Limits::default());
        assert_eq!(shown.matches(": ").count(), LIMITS.len() - 2, "{shown}");
    }

    #[test]
    fn errors_lead_to_the_option() {
        let error = Error::new(ErrorKind::Limit, "too much");
        assert_eq!(option(&error), None);
        let of = |limit| option(&error.clone().with_limit(limit));
        assert_eq!(of(LimitName::Depth).as_deref(), Some("--limit depth=…"));
        assert_eq!(of(LimitName::MaxTokens), None);
    }

    #[test]
    fn what_is_no_limit_is_an_error_that_names_them() {
        for (text, words) in [
            ("deepness=3", "there are work, alternatives"),
            ("depth", "NAME=VALUE"),
            ("depth=-1", "`depth` is a number"),
            ("time_per_mask=soon", "seconds, or none"),
            ("time_per_mask=-1", "seconds, or none"),
        ] {
            assert!(parse(text).unwrap_err().contains(words), "{text}");
        }
    }
}
