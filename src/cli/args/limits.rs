//! The option `--limit`, which raises or lowers limits by their names.

use std::time::Duration;

use maskwright::error::Error;
use maskwright::json_schema::Options;
use maskwright::{Compiler, LimitValue, Limits, NamedLimit};

/// Limits that are not to be the default ones.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
pub(crate) struct LimitArgs {
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse, help = help())]
    limits: Vec<GivenLimit>,
}

/// A limit that was given.
#[derive(Clone, Copy, Debug)]
struct GivenLimit {
    limit: &'static NamedLimit,
    value: LimitValue,
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
        for GivenLimit { limit, value } in &self.limits {
            // The value was read as one of this limit.
            let _ = limit.set(&mut limits, &mut options, *value);
        }
        (limits, options)
    }
}

/// The option that raises the limit that an error names.
pub(crate) fn option(error: &Error) -> Option<String> {
    let limit = NamedLimit::find(error.limit()?.as_str()).ok()?;
    Some(format!("--limit {}=…", limit.name()))
}

fn parse(text: &str) -> Result<GivenLimit, String> {
    let (name, value) =
        text.split_once('=').ok_or("write it as NAME=VALUE, such as depth=20000")?;
    let limit = NamedLimit::find(name).map_err(|error| match error.help() {
        Some(help) => format!("{}; {help}", error.message()),
        None => error.message().to_owned(),
    })?;
    let value = match limit.default_value() {
        LimitValue::Count(_) => match value.parse() {
            Ok(count) => LimitValue::Count(count),
            Err(_) => return Err(format!("`{name}` is a number such as 1000000")),
        },
        LimitValue::Time(_) if value == "none" => LimitValue::Time(None),
        LimitValue::Time(_) => {
            let seconds = value.parse::<f64>().ok();
            let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let time = time.ok_or_else(|| format!("`{name}` is a number of seconds, or none"))?;
            LimitValue::Time(Some(time))
        }
    };
    Ok(GivenLimit { limit, value })
}

/// The option's help: every limit with its default.
fn help() -> String {
    let shown = |limit: &NamedLimit| match limit.default_value() {
        LimitValue::Count(count) => format!("{}={count}", limit.name()),
        LimitValue::Time(Some(time)) => {
            format!("{}={} (seconds, or none)", limit.name(), time.as_secs_f64())
        }
        LimitValue::Time(None) => format!("{}=none (or seconds)", limit.name()),
    };
    let shown: Vec<String> = NamedLimit::all().iter().map(shown).collect();
    format!("Another value for a limit (repeat the option); the defaults are {}", shown.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use maskwright::{ErrorKind, LimitName};

    use super::*;

    #[test]
    fn every_limit_can_be_given() {
        for limit in NamedLimit::all() {
            let name = limit.name();
            let args = LimitArgs { limits: vec![parse(&format!("{name}=1234")).unwrap()] };
            let (limits, options) = args.apply(Options::default());
            let expected = match limit.default_value() {
                LimitValue::Count(_) => LimitValue::Count(1234),
                LimitValue::Time(_) => LimitValue::Time(Some(Duration::from_secs(1234))),
            };
            assert_eq!(limit.value(&limits, &options), expected);
            assert!(help().contains(&format!("{name}=")));
        }
        let args = LimitArgs { limits: vec![parse("time_per_mask=none").unwrap()] };
        assert_eq!(args.apply(Options::default()).0.time_per_mask, None);
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
