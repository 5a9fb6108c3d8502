//! The formats of draft 2020-12 (Validation, section 7.3).

use std::sync::LazyLock;

use super::byte_texts::QUOTE_FROM;

/// The treatment of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Enforced: the whole text is one of these.
    Texts(FormatTexts),
    /// Known, but not enforced: an annotation, which has no complement.
    Beyond,
    /// Of no draft: an annotation that is true of every text.
    Unknown,
}

/// The texts of a format, in parts of which each is a small automaton: as one automaton, a mailbox
/// would count its local part in every state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FormatTexts {
    /// The whole matches this ECMA-262 pattern.
    Pattern(String),
    /// A pattern whose minimised automaton all schemas share.
    Finished(String),
    /// The whole is an ECMA-262 pattern.
    Patterns,
    /// The number of characters is within bounds.
    Length(u32, u32),
    Sequence(Vec<FormatTexts>),
    Any(Vec<FormatTexts>),
    All(Vec<FormatTexts>),
}

impl FormatTexts {
    fn sequence<const N: usize>(parts: [Self; N]) -> Self {
        Self::Sequence(parts.into())
    }

    fn any<const N: usize>(parts: [Self; N]) -> Self {
        Self::Any(parts.into())
    }

    /// A pattern, and a bound on the length.
    fn bounded(pattern: String, min: u32, max: u32) -> Self {
        Self::All(vec![Self::Finished(pattern), Self::Length(min, max)])
    }
}

/// The names of all formats of draft 2020-12.
pub(crate) const FORMATS: &[&str] = &[
    "date",
    "time",
    "date-time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// The meaning of a format name.
pub(crate) fn format(name: &str) -> Format {
    Format::Texts(FormatTexts::Pattern(match name {
        "date" => return Format::Texts(FormatTexts::Finished(date())),
        "time" => return Format::Texts(TIME.clone()),
        "date-time" => {
            let parts =
                [FormatTexts::Finished(date()), FormatTexts::Pattern("[Tt]".into()), TIME.clone()];
            return Format::Texts(FormatTexts::sequence(parts));
        }
        "duration" => duration(),
        "email" => return Format::Texts(email("")),
        "idn-email" => return Format::Texts(email(r"\u{80}-\u{10FFFF}")),
        "hostname" => return Format::Texts(hostname()),
        "ipv4" => ipv4(),
        "ipv6" => ipv6(),
        "uri" => Uri::ascii().absolute(),
        "uri-reference" => Uri::ascii().reference(),
        "iri" => Uri::international().absolute(),
        "iri-reference" => Uri::international().reference(),
        "uri-template" => uri_template(),
        "uuid" => "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}".into(),
        "json-pointer" => POINTER.into(),
        "relative-json-pointer" => format!("(?:0|[1-9][0-9]*)(?:#|{POINTER})"),
        "regex" => return Format::Texts(FormatTexts::Patterns),
        "idn-hostname" => return Format::Beyond,
        _ => return Format::Unknown,
    }))
}

/// Whether a format is not enforced in a schema with some keywords. The states of the format
/// `regex` are too many to be multiplied with another language.
pub(crate) fn is_beyond(name: &str, has: impl Fn(&str) -> bool) -> bool {
    match format(name) {
        Format::Beyond => true,
        Format::Texts(FormatTexts::Patterns) => BESIDE_PATTERNS.iter().any(|keyword| has(keyword)),
        _ => false,
    }
}

/// Keywords beside which the format `regex` is an annotation.
pub(crate) const BESIDE_PATTERNS: [&str; 3] = ["pattern", "maxLength", QUOTE_FROM];

/// RFC 6901, section 3.
const POINTER: &str = "(?:/(?:[^/~]|~[01])*)*";

/// RFC 3339, `full-date`; its appendix C says which years are leap years.
fn date() -> String {
    let long = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])";
    let short = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
    let february = "02-(?:0[1-9]|1[0-9]|2[0-8])";
    let leap = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
    format!("(?:[0-9]{{4}}-(?:{long}|{short}|{february})|{leap}-02-29)")
}

/// The texts of `time`, made once: the pattern is long.
static TIME: LazyLock<FormatTexts> = LazyLock::new(time);

/// RFC 3339, `full-time`. A leap second is the last of a day in UTC (section 5.7), so its hour and
/// minute follow from the offset: two conditions, one on minutes and one on hours.
fn time() -> FormatTexts {
    let hour = "(?:[01][0-9]|2[0-3])";
    let plain = format!("{hour}:[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-]{hour}:[0-5][0-9])");
    let (any, second) = ("[0-9]{2}", ":60(?:\\.[0-9]+)?");
    let mut minutes = vec![format!("59{second}(?:[Zz]|[+-]{any}:00)")];
    for offset in 1..60 {
        minutes.push(format!("{:02}{second}\\+{any}:{offset:02}", offset - 1));
        minutes.push(format!("{:02}{second}-{any}:{offset:02}", 59 - offset));
    }
    let mut hours = vec![format!("23:{any}{second}[Zz]")];
    for offset in 0..24 {
        // East of Greenwich the minutes carry over unless the offset has none.
        hours.push(format!("{:02}:59{second}\\+{offset:02}:00", (offset + 23) % 24));
        hours.push(format!("{offset:02}:{any}{second}\\+{offset:02}:(?:0[1-9]|[1-5][0-9])"));
        hours.push(format!("{:02}:{any}{second}-{offset:02}:[0-5][0-9]", 23 - offset));
    }
    let (minutes, hours) = (minutes.join("|"), hours.join("|"));
    let minutes = format!("{any}:(?:{minutes})");
    let leap = FormatTexts::All(vec![FormatTexts::Finished(hours), FormatTexts::Finished(minutes)]);
    FormatTexts::any([FormatTexts::Finished(plain), leap])
}

/// RFC 3339, appendix A.
fn duration() -> String {
    let day = "[0-9]+D";
    let month = format!("[0-9]+M(?:{day})?");
    let year = format!("[0-9]+Y(?:{month})?");
    let second = "[0-9]+S";
    let minute = format!("[0-9]+M(?:{second})?");
    let hour = format!("[0-9]+H(?:{minute})?");
    let time = format!("T(?:{hour}|{minute}|{second})");
    format!("P(?:(?:{day}|{month}|{year})(?:{time})?|{time}|[0-9]+W)")
}

/// RFC 5321, section 4.1.2 (`Mailbox`), with the lengths of section 4.5.3.1; RFC 6531 adds other
/// characters to it. The 255 octets of a domain are those of RFC 1035, section 2.3.4, two of which
/// are no characters.
fn email(more: &str) -> FormatTexts {
    let atom = format!("[A-Za-z0-9!#$%&'*+\\-/=?^_`{{|}}~{more}]+");
    let dotted = FormatTexts::bounded(format!("{atom}(?:\\.{atom})*"), 1, 64);
    let units = format!(r"(?:[\x20\x21\x23-\x5B\x5D-\x7E{more}]|\\[\x20-\x7E])*");
    let quoted = FormatTexts::bounded(format!("\"{units}\""), 2, 64);
    let alphanumeric = format!("[A-Za-z0-9{more}]");
    let label = format!("{alphanumeric}(?:[A-Za-z0-9{more}\\-]{{0,61}}{alphanumeric})?");
    // A domain of 255 octets on the wire has 253 characters (RFC 1035, section 2.3.4).
    let domain = FormatTexts::bounded(format!("{label}(?:\\.{label})*"), 1, 253);
    let literal = FormatTexts::Finished(format!("\\[(?:{}|IPv6:{})\\]", ipv4(), ipv6()));
    let at = FormatTexts::Pattern("@".into());
    FormatTexts::sequence([
        FormatTexts::any([dotted, quoted]),
        at,
        FormatTexts::any([domain, literal]),
    ])
}

/// RFC 1123, section 2.1. Labels with hyphens in the third and fourth place are reserved (RFC
/// 5891, section 4.2.3.1); those that begin with `xn--` may be valid, but which of them are is
/// beyond a regular language, so none is.
fn hostname() -> FormatTexts {
    let label = "(?![A-Za-z0-9][A-Za-z0-9\\-]--)[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?";
    FormatTexts::bounded(format!("{label}(?:\\.{label})*"), 1, 253)
}

/// RFC 3986, section 3.2.2 (`IPv4address`).
fn ipv4() -> String {
    let octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    format!("{octet}(?:\\.{octet}){{3}}")
}

/// RFC 3986, section 3.2.2 (`IPv6address`).
fn ipv6() -> String {
    let group = "[0-9A-Fa-f]{1,4}";
    let last = format!("(?:{group}:{group}|{})", ipv4());
    let mut forms = vec![format!("(?:{group}:){{6}}{last}"), format!("::(?:{group}:){{5}}{last}")];
    for before in 0..5 {
        let after = 4 - before;
        let before = format!("(?:(?:{group}:){{0,{before}}}{group})?");
        forms.push(format!("{before}::(?:{group}:){{{after}}}{last}"));
    }
    forms.push(format!("(?:(?:{group}:){{0,5}}{group})?::{group}"));
    forms.push(format!("(?:(?:{group}:){{0,6}}{group})?::"));
    format!("(?:{})", forms.join("|"))
}

/// Letters beyond ASCII that an IRI may hold (RFC 3987, section 2.2, `ucschar`).
const UCSCHAR: &str = r"\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD}\u{40000}-\u{4FFFD}\u{50000}-\u{5FFFD}\u{60000}-\u{6FFFD}\u{70000}-\u{7FFFD}\u{80000}-\u{8FFFD}\u{90000}-\u{9FFFD}\u{A0000}-\u{AFFFD}\u{B0000}-\u{BFFFD}\u{C0000}-\u{CFFFD}\u{D0000}-\u{DFFFD}\u{E1000}-\u{EFFFD}";

/// Private characters, which a query may hold (`iprivate`).
const IPRIVATE: &str = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}";

/// The rules of RFC 3986, appendix A, and of RFC 3987 with more letters.
struct Uri {
    more: &'static str,
    private: &'static str,
}

impl Uri {
    fn ascii() -> Self {
        Self { more: "", private: "" }
    }

    fn international() -> Self {
        Self { more: UCSCHAR, private: IPRIVATE }
    }

    /// A character of a component that may also hold `extra`.
    fn char(&self, extra: &str) -> String {
        format!("(?:[A-Za-z0-9\\-._~!$&'()*+,;={extra}{}]|%[0-9A-Fa-f]{{2}})", self.more)
    }

    fn authority(&self) -> String {
        let future = "[vV][0-9A-Fa-f]+\\.[A-Za-z0-9\\-._~!$&'()*+,;=:]+";
        let (user, name) = (self.char(":"), self.char(""));
        format!("(?:{user}*@)?(?:\\[(?:{}|{future})\\]|{name}*)(?::[0-9]*)?", ipv6())
    }

    /// The rest after the scheme, or without one if `first` cannot be taken for one.
    fn hierarchy(&self, first: &str) -> String {
        let segment = self.char(":@");
        let authority = self.authority();
        let (absolute, rootless) =
            (format!("/(?:{segment}+(?:/{segment}*)*)?"), format!("{first}+(?:/{segment}*)*"));
        format!("(?://{authority}(?:/{segment}*)*|{absolute}|{rootless}|)")
    }

    fn tail(&self) -> String {
        let query = self.char(&format!(":@/?{}", self.private));
        format!("(?:\\?{query}*)?(?:#{}*)?", self.char(":@/?"))
    }

    fn absolute(&self) -> String {
        let hierarchy = self.hierarchy(&self.char(":@"));
        format!("[A-Za-z][A-Za-z0-9+\\-.]*:{hierarchy}{}", self.tail())
    }

    fn reference(&self) -> String {
        let relative = self.hierarchy(&self.char("@"));
        format!("(?:{}|{relative}{})", self.absolute(), self.tail())
    }
}

/// RFC 6570, section 2, with erratum 6937 (an apostrophe is a literal).
fn uri_template() -> String {
    let name = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})";
    let variable = format!("{name}(?:\\.?{name})*(?::[1-9][0-9]{{0,3}}|\\*)?");
    let expression = format!("\\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\\}}");
    let literal = format!("[!#$&'()*+,\\-./0-9:;=?@A-Z\\[\\]_a-z~{UCSCHAR}{IPRIVATE}]");
    format!("(?:{literal}|%[0-9A-Fa-f]{{2}}|{expression})*")
}
