//! A fact that a text can tell and a JSON field can ask for: its keys, its wordings, its values.

use rand::RngExt;
use serde_json::{Value, json};

use super::formats::{date, digits, in_words, phone, time, zip};
use super::words::{BRANDS, PHRASES, PLACES, THINGS, TOOL_NOUNS, Words, capitalised, one_in, pick};

/// One kind of fact about a subject. `{}` in a wording stands for the value.
pub struct Concept {
    /// JSON keys that ask for it; the first is the usual one.
    pub keys: &'static [&'static str],
    /// The words after the subject: "lives in {}". For a [`Kind::Flag`], where it is true.
    pub says: &'static [&'static str],
    /// The same in the first person; empty where nobody speaks so. For a flag, where it is false.
    pub other: &'static [&'static str],
    /// Short forms between commas: "from {}".
    pub short: &'static [&'static str],
    pub kind: Kind,
}

/// The values of a concept.
#[derive(Clone, Copy)]
pub enum Kind {
    Name,
    City,
    Country,
    Email,
    Phone,
    Street,
    Zip,
    Date,
    Time,
    /// A whole number of a range.
    Int(i64, i64),
    /// A small count, at times in words: "three".
    Count,
    /// A number with up to two digits after the point.
    Decimal(i64),
    /// A made-up capitalised word or two.
    Brand,
    /// A thing: an adjective and a noun, at times made up.
    Thing,
    /// A phrase of two to five words.
    Phrase,
    /// An identifier of letters and digits.
    Code,
    /// The name of a file.
    File,
    /// A few capital letters.
    Symbol,
    /// One of a few: what the text says, and the JSON string for it.
    Choice(&'static [(&'static str, &'static str)]),
    /// True or false, told by the wording alone.
    Flag,
    /// An array of two to four strings: names, things or topics.
    Names,
    Things,
    Topics,
}

/// A concept with a value, as the text writes it and as JSON has it.
#[derive(Clone)]
pub struct Fact {
    pub concept: &'static Concept,
    pub text: String,
    pub value: Value,
}

const NOUNS: &[&str] = &[
    "book", "lamp", "chair", "table", "phone", "bike", "jacket", "camera", "coffee", "tea", "pen",
    "bag", "shoe", "cup", "clock", "guitar", "laptop", "mirror", "ticket", "pizza", "sandwich",
    "keyboard", "monitor", "umbrella", "notebook", "bottle", "blanket", "helmet", "tent", "apple",
];
const ADJECTIVES: &[&str] = &[
    "red",
    "blue",
    "green",
    "small",
    "large",
    "old",
    "new",
    "wooden",
    "black",
    "white",
    "heavy",
    "light",
    "round",
    "cheap",
    "quiet",
    "fast",
    "warm",
    "paper",
    "steel",
    "yellow",
    "silver",
    "stainless steel",
    "cast-iron",
    "hand-knitted",
    "hand-painted",
    "second-hand",
    "wireless",
    "folding",
    "portable",
    "rechargeable",
    "waterproof",
    "noise-cancelling",
    "ceramic",
    "leather",
    "cotton",
    "linen",
    "woollen",
    "oak",
    "walnut",
    "bamboo",
    "copper",
    "brass",
    "glass",
    "plastic",
    "electric",
    "cordless",
    "adjustable",
    "inflatable",
    "vintage",
    "antique",
    "used",
    "spare",
    "double",
    "single",
    "queen-size",
    "full-length",
    "long-sleeved",
    "navy",
    "dark green",
    "pink",
    "purple",
    "grey",
    "matte black",
    "striped",
    "extra large",
    "tall",
    "narrow",
    "solar-powered",
    "smart",
    "digital",
    "organic",
    "gluten-free",
    "smoked",
    "roasted",
    "frozen",
    "fresh",
];
/// Words of what is announced, reported or named, for phrases.
const SUBJECTS: &[&str] = &[
    "meeting",
    "workshop",
    "review",
    "report",
    "update",
    "plan",
    "budget",
    "launch",
    "login",
    "page",
    "error",
    "screen",
    "payment",
    "invoice",
    "summer",
    "winter",
    "spring",
    "annual",
    "weekly",
    "monthly",
    "project",
    "team",
    "customer",
    "training",
    "concert",
    "festival",
    "evening",
    "night",
    "market",
    "course",
    "guide",
    "story",
    "house",
    "river",
    "garden",
    "sea",
    "last",
    "first",
    "lost",
    "broken",
    "missing",
    "crash",
    "crashes",
    "fails",
    "failure",
    "slow",
    "export",
    "import",
    "upload",
    "server",
    "network",
    "printer",
    "account",
    "password",
    "refund",
    "delivery",
    "order",
    "quarterly",
    "planning",
    "interview",
    "class",
    "lesson",
    "exhibition",
    "reading",
    "city",
    "club",
];
/// Of a hundred things, names of companies, phrases and streets, how many are lines of a list. The others are put together,
/// mostly of made-up words.
const LISTED_PERCENT: u32 = 65;
const COMPANY_ENDS: &[&str] = &[
    "Ltd",
    "Inc",
    "GmbH",
    "Labs",
    "AG",
    "Logistics",
    "Foods",
    "Motors",
    "Bakery",
    "Partners",
    "Systems",
    "Analytics",
    "Robotics",
    "Media",
    "Books",
    "Energy",
    "Group",
    "Bank",
    "Insurance",
    "Studio",
    "Software",
    "Clinic",
    "Brothers",
    "Brewery",
    "Textiles",
    "Tours",
    "Airways",
    "Pharma",
    "Design",
    "Consulting",
    "Trading",
    "Industries",
    "Works",
    "Café",
    "Hotel",
    "Coffee",
    "Furniture",
];
const STREET_KINDS: &[&str] = &[
    "Street",
    "Road",
    "Lane",
    "Avenue",
    "Way",
    "Square",
    "St",
    "Rd",
    "Ave",
    "Drive",
    "Court",
    "Boulevard",
    "Close",
    "Place",
    "Crescent",
    "Hill",
    "Terrace",
    "Row",
];
/// Kinds of streets that stand before the name.
const STREET_FRONTS: &[&str] =
    &["Rue", "Rue de", "Via", "Calle", "Rua", "Avenida", "Plaza", "Piazza", "ul."];
const MEASURES: &[&str] =
    &["boxes", "bags", "a set", "bottles", "a pair", "packs", "two rolls", "jars", "a bunch"];
const TOPICS: &[&str] = &[
    "chess",
    "music",
    "hiking",
    "painting",
    "cooking",
    "tennis",
    "reading",
    "math",
    "history",
    "football",
    "sailing",
    "poetry",
    "physics",
    "dancing",
    "running",
    "gardening",
    "films",
    "swimming",
    "travel",
    "yoga",
    "rust",
    "python",
    "biology",
    "robots",
    "jazz",
    "cycling",
];

impl Concept {
    /// Draws a value. `name` is the subject's, which an e-mail address may be built from.
    pub fn fact(&'static self, words: &mut Words<'_>, name: Option<&str>) -> Fact {
        let (text, value) = self.kind.draw(words, name);
        Fact { concept: self, text, value }
    }

    /// A key that asks for it: the usual one half the time, then any, in any of the usual spellings.
    pub fn key(&self, words: &mut Words<'_>) -> String {
        if one_in(words.rng, 2) {
            return self.keys[0].to_owned();
        }
        let key = pick(words.rng, self.keys);
        spelling(words, key)
    }
}

/// The key in any of the usual spellings, mostly as it is.
pub fn spelling(words: &mut Words<'_>, key: &str) -> String {
    match words.rng.random_range(0..12) {
        0 => capitalised(key),
        1 => camel_case(key),
        2 => key.replace('_', "-"),
        3 => key.replace('_', " "),
        4 => key.to_uppercase(),
        _ => key.to_owned(),
    }
}

impl Fact {
    /// The wording after the subject, or after "I" where `first` and the concept has one.
    pub fn clause(&self, words: &mut Words<'_>, first: bool) -> String {
        let concept = self.concept;
        let wordings = match (&self.value, concept.kind) {
            (Value::Bool(false), Kind::Flag) => concept.other,
            (_, Kind::Flag) => concept.says,
            _ if first && !concept.other.is_empty() => concept.other,
            _ => concept.says,
        };
        pick(words.rng, wordings).replace("{}", &self.text)
    }

    /// Whether the clause can follow "I".
    pub fn in_first_person(&self) -> bool {
        !matches!(self.concept.kind, Kind::Flag) && !self.concept.other.is_empty()
    }
}

fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    words.next().unwrap_or_default().to_owned() + &words.map(capitalised).collect::<String>()
}

/// Most values that a schema lists one by one.
const MAX_ENUM_VALUES: usize = 8;

/// A JSON Schema of some values of one type, each with what the text says for it. Strings are an enumeration, unless they
/// are names that the text says as they are, or many.
pub fn choice_schema<'a>(choices: impl Iterator<Item = (&'a str, Value)>) -> Value {
    let (mut distinct, mut are_names): (Vec<Value>, bool) = (Vec::new(), true);
    for (said, value) in choices {
        are_names &= value == said;
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    are_names &= distinct
        .iter()
        .any(|value| value.as_str().is_some_and(|text| text.contains(|c: char| c.is_uppercase())));
    match distinct.first() {
        Some(Value::String(_)) if are_names || distinct.len() > MAX_ENUM_VALUES => {
            json!({ "type": "string" })
        }
        Some(Value::String(_)) => json!({ "type": "string", "enum": distinct }),
        first => json!({ "type": first.map_or("string", super::schema::json_type) }),
    }
}

impl Kind {
    /// A JSON Schema of its values.
    pub fn schema(self) -> Value {
        let name = match self {
            Self::Int(..) | Self::Count => "integer",
            Self::Decimal(_) => "number",
            Self::Flag => "boolean",
            Self::Names | Self::Things | Self::Topics => {
                return json!({ "type": "array", "items": { "type": "string" } });
            }
            Self::Email => return json!({ "type": "string", "format": "email" }),
            Self::Date => return json!({ "type": "string", "format": "date" }),
            Self::Choice(of) => {
                return choice_schema(of.iter().map(|(said, value)| (*said, json!(value))));
            }
            _ => "string",
        };
        json!({ "type": name })
    }

    /// A value: what the text says, and what JSON has.
    pub fn draw(self, words: &mut Words<'_>, name: Option<&str>) -> (String, Value) {
        let text = match self {
            Self::Name => words.name(),
            Self::City => words.city(),
            Self::Country => words.country(),
            Self::Email => words.email(name),
            Self::Phone => phone(words),
            Self::Street => street(words),
            Self::Zip => zip(words),
            Self::Date => return date(words),
            Self::Time => time(words),
            Self::Int(low, high) => {
                let number = words.rng.random_range(low..=high);
                let text = number.to_string();
                let at = text.len().saturating_sub(3);
                if (1000..1_000_000).contains(&number) && high > 10_000 && one_in(words.rng, 3) {
                    return (format!("{},{}", &text[..at], &text[at..]), json!(number));
                }
                if (0..100).contains(&number) && one_in(words.rng, 12) {
                    return (in_words(number as usize), json!(number));
                }
                return (text, json!(number));
            }
            Self::Count => return count(words),
            Self::Decimal(high) => return decimal(words, high),
            Self::Brand if words.rng.random_range(0..100) < LISTED_PERCENT => words.line(&BRANDS),
            Self::Brand => match words.rng.random_range(0..10) {
                0 | 1 => format!("{} {}", words.capital(), words.capital()),
                2 => format!("{} & {}", words.capital(), words.capital()),
                3..=5 => format!("{} {}", words.capital(), pick(words.rng, COMPANY_ENDS)),
                6 => {
                    let noun = capitalised(&noun(words));
                    format!("{noun} {}", pick(words.rng, COMPANY_ENDS))
                }
                _ => words.capital(),
            },
            Self::Thing => thing(words),
            Self::Phrase => phrase(words),
            Self::Code => code(words),
            Self::File => {
                let ends = ["txt", "md", "pdf", "png", "csv", "json", "doc", "jpg", "zip", "html"];
                let folder =
                    if one_in(words.rng, 6) { format!("{}/", words.word()) } else { String::new() };
                format!("{folder}{}.{}", words.word(), pick(words.rng, &ends))
            }
            Self::Symbol => (0..words.rng.random_range(2..=5))
                .map(|_| words.rng.random_range('A'..='Z'))
                .collect(),
            Self::Choice(of) => {
                let (text, value) = of[words.rng.random_range(0..of.len())];
                return (text.to_owned(), json!(value));
            }
            Self::Flag => return (String::new(), json!(one_in(words.rng, 2))),
            Self::Names => return list(words, |words| words.name()),
            Self::Things => return list(words, thing),
            Self::Topics => return list(words, topic),
        };
        let value = json!(text);
        (text, value)
    }
}

fn street(words: &mut Words<'_>) -> String {
    let number = words.rng.random_range(1..300).to_string();
    let number = match words.rng.random_range(0..12) {
        0 => format!("{number}{}", pick(words.rng, &["a", "b", "c", "A", "B"])),
        1 => format!("{number}-{}", words.rng.random_range(300..400)),
        _ => number,
    };
    if words.rng.random_range(0..100) < LISTED_PERCENT {
        let place = words.line(&PLACES);
        return match words.rng.random_range(0..5) {
            0 => place,
            1 => format!("{place} {number}"),
            _ => format!("{number} {place}"),
        };
    }
    let kind = pick(words.rng, STREET_KINDS);
    match words.rng.random_range(0..10) {
        0 => format!(
            "{} {number}",
            words.capital() + pick(words.rng, &["strasse", "straße", "str.", "gatan", "weg"])
        ),
        1 => format!("{} {kind} {number}", words.capital()),
        2 => format!("{} {} {number}", pick(words.rng, STREET_FRONTS), words.capital()),
        3 => format!("{number} {} {}", pick(words.rng, STREET_FRONTS), words.capital()),
        4 => format!("{number} {} {kind}", capitalised(&noun(words))),
        5 => format!("{number} {} {} {kind}", words.capital(), words.capital()),
        _ => format!("{number} {} {kind}", words.capital()),
    }
}

fn count(words: &mut Words<'_>) -> (String, Value) {
    if one_in(words.rng, 4) {
        let high = if one_in(words.rng, 4) { 100 } else { 20 };
        let number = words.rng.random_range(1..high);
        return (in_words(number), json!(number));
    }
    let high = if one_in(words.rng, 3) { 999 } else { 20 };
    let number = words.rng.random_range(1..=high);
    (number.to_string(), json!(number))
}

/// A number with up to two digits after the point, at times with a sign of money before it and a
/// zero at its end, which JSON does not write.
fn decimal(words: &mut Words<'_>, high: i64) -> (String, Value) {
    let whole = words.rng.random_range(0..=high);
    let hundredths = match words.rng.random_range(0..4) {
        0 => return (whole.to_string(), json!(whole)),
        1 => words.rng.random_range(1..10) * 10,
        _ => words.rng.random_range(0..10) * 10 + words.rng.random_range(1..10),
    };
    let number = (whole * 100 + hundredths) as f64 / 100.0;
    let text =
        if one_in(words.rng, 3) { format!("{number:.2}") } else { json!(number).to_string() };
    if (1000..1_000_000).contains(&whole) && one_in(words.rng, 2) {
        let at = whole.to_string().len() - 3;
        return (format!("{},{}", &text[..at], &text[at..]), json!(number));
    }
    (text, json!(number))
}

/// A thing of one to four words. Most are made up, so that only the words around it say where it ends.
fn thing(words: &mut Words<'_>) -> String {
    if words.rng.random_range(0..100) < LISTED_PERCENT {
        let thing = words.line(&THINGS);
        return match words.rng.random_range(0..12) {
            0 => format!("{} {thing}", pick(words.rng, ADJECTIVES)),
            1 => capitalised(&thing),
            _ => thing,
        };
    }
    let noun = noun(words);
    let noun = if one_in(words.rng, 4) { plural(noun) } else { noun };
    match words.rng.random_range(0..12) {
        0 | 1 => format!("{} {noun}", pick(words.rng, ADJECTIVES)),
        2 | 3 => format!("{} {noun}", modifier(words)),
        4 => format!("{} {noun}", words.capital()),
        5 => format!("{} {} {noun}", pick(words.rng, ADJECTIVES), modifier(words)),
        6 if one_in(words.rng, 2) => format!("{} of {noun}", pick(words.rng, MEASURES)),
        _ => noun,
    }
}

fn noun(words: &mut Words<'_>) -> String {
    match words.rng.random_range(0..4) {
        0 => pick(words.rng, NOUNS).to_owned(),
        1 => pick(words.rng, &TOOL_NOUNS).to_owned(),
        _ => words.word(),
    }
}

/// A word that stands before a noun and is a part of it: "garden", "sailing".
fn modifier(words: &mut Words<'_>) -> String {
    let word = noun(words);
    if one_in(words.rng, 4) { words.word() + "ing" } else { word }
}

fn plural(noun: String) -> String {
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    noun + if hisses { "es" } else { "s" }
}

fn topic(words: &mut Words<'_>) -> String {
    if one_in(words.rng, 2) { words.word() } else { pick(words.rng, TOPICS).to_owned() }
}

fn phrase(words: &mut Words<'_>) -> String {
    if words.rng.random_range(0..100) < LISTED_PERCENT {
        let phrase = words.line(&PHRASES);
        return words.recased(phrase);
    }
    let length = words.rng.random_range(1..=6);
    let mut phrase = Vec::new();
    for at in 0..length {
        phrase.push(match words.rng.random_range(0..8) {
            0 => pick(words.rng, &TOOL_NOUNS).to_owned(),
            1 => pick(words.rng, TOPICS).to_owned(),
            2 | 3 => pick(words.rng, SUBJECTS).to_owned(),
            4 if one_in(words.rng, 4) => pick(words.rng, ADJECTIVES).to_owned(),
            5 if at > 0 && at + 1 < length => {
                pick(words.rng, &["the", "of", "and", "for", "in", "my", "with", "a", "to", "on"])
                    .to_owned()
            }
            _ => words.word(),
        });
    }
    if one_in(words.rng, 12) {
        phrase.insert(0, format!("{}'s", words.capital()));
    }
    let phrase = match words.rng.random_range(0..4) {
        0 | 1 => capitalised(&phrase.join(" ")),
        2 => phrase.iter().map(|word| capitalised(word)).collect::<Vec<_>>().join(" "),
        _ => phrase.join(" "),
    };
    words.recased(phrase)
}

fn code(words: &mut Words<'_>) -> String {
    if one_in(words.rng, 8) {
        let (front, back) = (words.rng.random_range(1..=3), words.rng.random_range(2..=5));
        return format!("{}-{}", digits(words, front), digits(words, back));
    }
    let letters: String =
        (0..words.rng.random_range(1..=3)).map(|_| words.rng.random_range('A'..='Z')).collect();
    let length = words.rng.random_range(2..=5);
    match words.rng.random_range(0..9) {
        3 => format!("{letters}-20{}-{}", digits(words, 2), digits(words, length)),
        4 => format!("{letters} {}", digits(words, length)),
        5 => format!("{}-{}", words.word().to_uppercase(), digits(words, length)),
        6 => format!("{}{letters}", digits(words, 2)),
        0 => format!("{letters}-{}", digits(words, length)),
        1 => format!("{letters}{}", digits(words, length)),
        2 => format!("{}{}", digits(words, length), letters.to_lowercase()),
        _ => digits(words, length + 1),
    }
}

fn list(words: &mut Words<'_>, mut item: impl FnMut(&mut Words<'_>) -> String) -> (String, Value) {
    let mut items: Vec<String> = Vec::new();
    let longest = if one_in(words.rng, 3) { 6 } else { 4 };
    for _ in 0..words.rng.random_range(1..=longest) {
        let next = item(words);
        if !items.contains(&next) {
            items.push(next);
        }
    }
    let (last, front) = items.split_last().expect("a list has an item");
    let text = match (front, words.rng.random_range(0..6)) {
        ([], _) => last.clone(),
        (_, 0) => items.join(", "),
        (_, 1) => items.join("; "),
        (_, 2) => format!("{} as well as {last}", front.join(", ")),
        (_, 3 | 4) if front.len() > 1 => format!("{}, and {last}", front.join(", ")),
        _ => format!("{} and {last}", front.join(", ")),
    };
    (text, json!(items))
}
