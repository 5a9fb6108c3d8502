//! Notes about anything: facts whose key is a common noun, told in wordings that any such noun may stand in.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use serde_json::{Map, Value};

use super::concept::Kind;
use super::words::{Words, capitalised, one_in, pick};

/// Nouns that ask for a value of a kind, and the ways in which a clause says it.
struct Nouns {
    keys: &'static [&'static str],
    kinds: &'static [Kind],
    /// After "it has" or after a comma: `{key}` is the noun, `{}` the value.
    clauses: &'static [&'static str],
}

const NOUNS: &[Nouns] = &[
    Nouns {
        keys: &[
            "captain",
            "owner",
            "tenant",
            "driver",
            "chef",
            "witness",
            "author",
            "editor",
            "coach",
            "host",
            "sender",
            "buyer",
            "seller",
            "patient",
            "doctor",
            "engineer",
            "teacher",
            "student",
            "winner",
            "judge",
            "singer",
            "supervisor",
            "director",
            "actor",
            "client",
            "agent",
            "nurse",
            "officer",
            "player",
            "artist",
            "lawyer",
            "farmer",
            "assistant",
            "leader",
            "reporter",
            "referee",
            "guide",
        ],
        kinds: &[Kind::Name],
        clauses: &[
            "the {key} {}",
            "{} as {key}",
            "a {key} named {}",
            "{key}: {}",
            "{key} {}",
            "{} is the {key}",
            "the {key} is {}",
            "the {key}, {}",
            "{} (the {key})",
        ],
    },
    Nouns {
        keys: &[
            "pages",
            "floors",
            "copies",
            "boxes",
            "bottles",
            "windows",
            "passengers",
            "children",
            "goals",
            "points",
            "days",
            "weeks",
            "months",
            "grams",
            "liters",
            "degrees",
            "percent",
            "users",
            "wins",
            "chapters",
            "doors",
            "beds",
            "wheels",
            "stops",
            "questions",
            "answers",
            "errors",
            "views",
            "tickets",
            "trees",
            "rows",
            "nights",
            "rooms",
            "meters",
            "miles",
            "laps",
            "votes",
            "visitors",
            "steps",
            "calories",
            "volunteers",
            "cows",
            "plates",
            "lessons",
            "players",
        ],
        kinds: &[Kind::Int(1, 60), Kind::Int(1, 5000), Kind::Count, Kind::Decimal(90)],
        clauses: &[
            "{} {key}",
            "{} {key}",
            "{} {key}",
            "about {} {key}",
            "a total of {} {key}",
            "{key}: {}",
            "{} new {key}",
            "just {} {key}",
            "{} {key} in all",
        ],
    },
    Nouns {
        keys: &[
            "ticket", "error", "room", "gate", "platform", "flight", "locker", "flat", "case",
            "version", "model", "line", "seat", "page", "batch", "serial", "train", "bus", "plot",
            "file", "contract", "license", "account", "code", "part", "track", "channel", "parcel",
            "form", "exit", "level",
        ],
        kinds: &[Kind::Code, Kind::Code, Kind::Int(1, 999)],
        clauses: &[
            "{key} {}",
            "{key} {}",
            "the {key} {}",
            "{key} number {}",
            "{key} no. {}",
            "{key} #{}",
            "{key}: {}",
            "under {key} {}",
            "in {key} {}",
            "at {key} {}",
            "{} as its {key}",
            "({key} {})",
        ],
    },
    Nouns {
        keys: &[
            "reason",
            "problem",
            "dish",
            "material",
            "language",
            "team",
            "genre",
            "mood",
            "animal",
            "fruit",
            "tool",
            "instrument",
            "hotel",
            "school",
            "museum",
            "theme",
            "plan",
            "machine",
            "drink",
            "sport",
            "flavour",
            "fabric",
            "game",
            "shop",
            "bank",
            "band",
            "ship",
            "method",
            "goal",
            "style",
            "menu",
            "vehicle",
            "planet",
            "crop",
            "prize",
            "task",
            "symptom",
            "role",
            "subject",
            "hobby",
            "pet",
        ],
        kinds: &[Kind::Thing, Kind::Brand, Kind::Phrase, Kind::Thing],
        clauses: &[
            "the {} {key}",
            "a {key} called {}",
            "the {key} \"{}\"",
            "{key}: {}",
            "{} as {key}",
            "{} for its {key}",
            "the {key} is {}",
            "{key} {}",
            "the {key} ({})",
        ],
    },
    Nouns {
        keys: &[
            "origin",
            "destination",
            "office",
            "venue",
            "birthplace",
            "harbour",
            "airport",
            "station",
            "region",
            "district",
            "village",
            "stop",
            "branch",
            "base",
        ],
        kinds: &[Kind::City],
        clauses: &[
            "the {key} {}",
            "its {key} in {}",
            "{key}: {}",
            "the {key} is {}",
            "{} as {key}",
            "a {key} in {}",
            "{key} {}",
            "the {} {key}",
        ],
    },
    Nouns {
        keys: &[
            "price", "cost", "fee", "fine", "rent", "deposit", "salary", "tax", "tip", "budget",
            "refund", "discount", "balance", "total", "bonus", "toll", "bill", "donation",
        ],
        kinds: &[Kind::Decimal(900), Kind::Decimal(40), Kind::Int(1, 9000)],
        clauses: &[
            "a {key} of {} euros",
            "a {key} of {}",
            "{key} {}",
            "{key}: ${}",
            "the {key} is {}",
            "{} dollars of {key}",
            "a {} euro {key}",
            "€{} {key}",
            "a {key} of ${}",
            "{} EUR as {key}",
        ],
    },
    Nouns {
        keys: &[
            "deadline",
            "start",
            "arrival",
            "departure",
            "renewal",
            "expiry",
            "delivery",
            "launch",
            "opening",
            "inspection",
            "birthday",
            "release",
        ],
        kinds: &[Kind::Date],
        clauses: &[
            "the {key} on {}",
            "{key}: {}",
            "the {key} is {}",
            "{key} {}",
            "{} as {key}",
            "its {key} on {}",
            "the {key} ({})",
            "the {key} set for {}",
        ],
    },
    Nouns {
        keys: &[
            "members",
            "colors",
            "ingredients",
            "guests",
            "winners",
            "subjects",
            "courses",
            "rivals",
            "exhibits",
            "sponsors",
            "animals",
            "cities",
            "skills",
            "partners",
            "toppings",
        ],
        kinds: &[Kind::Things, Kind::Names, Kind::Topics],
        clauses: &[
            "the {key} {}",
            "{key}: {}",
            "the {key} are {}",
            "{} as {key}",
            "{key} such as {}",
            "the {key} ({})",
        ],
    },
];

struct Told {
    key: String,
    value: Value,
    clause: String,
}

fn told(words: &mut Words<'_>) -> Told {
    let nouns = NOUNS.choose(words.rng).expect("there are nouns");
    let key = pick(words.rng, nouns.keys);
    let (text, value) = nouns.kinds[words.rng.random_range(0..nouns.kinds.len())].draw(words, None);
    let clause = pick(words.rng, nouns.clauses).replace("{key}", key).replace("{}", &text);
    // Two nouns in one key: "bus driver".
    if one_in(words.rng, 8) {
        let first = if one_in(words.rng, 2) {
            words.word()
        } else {
            pick(words.rng, &["new", "next", "first", "main", "last", "old", "second", "total"])
                .to_owned()
        };
        let joined = format!("{first} {key}");
        return Told {
            clause: clause.replacen(key, &joined, 1),
            key: joined.replace(' ', "_"),
            value,
        };
    }
    Told { key: key.to_owned(), value, clause }
}

/// A note, and an object that asks for some of its facts.
pub fn note(words: &mut Words<'_>) -> (String, Value) {
    let mut facts: Vec<Told> = Vec::new();
    let most = if one_in(words.rng, 3) { 6 } else { 4 };
    for _ in 0..words.rng.random_range(1..=most) {
        let next = told(words);
        let plain = |key: &str| key.trim_end_matches('s').to_owned();
        if facts.iter().all(|fact| plain(&fact.key) != plain(&next.key)) {
            facts.push(next);
        }
    }
    let mut text = write(words, &facts);
    if one_in(words.rng, 10) {
        text = format!("{text} {}", super::prose::beside_the_point(words));
    }
    if one_in(words.rng, 2) {
        facts.shuffle(words.rng);
    }
    if one_in(words.rng, 2) {
        let keep = words.rng.random_range(1..=facts.len());
        facts.truncate(keep);
    }
    let mut fields: Map<String, Value> =
        facts.into_iter().map(|fact| (fact.key, fact.value)).collect();
    if one_in(words.rng, 10) {
        let absent = told(words).key;
        if !text.to_lowercase().contains(absent.trim_end_matches('s')) {
            fields.insert(absent, Value::Null);
        }
    }
    (text, Value::Object(fields))
}

/// The facts in sentences, in one, or as a list.
fn write(words: &mut Words<'_>, facts: &[Told]) -> String {
    let clauses: Vec<&str> = facts.iter().map(|fact| fact.clause.as_str()).collect();
    let joined = |words: &mut Words<'_>| match clauses.split_last() {
        Some((last, front)) if !front.is_empty() => {
            let and = pick(words.rng, &[" and ", ", and ", ", ", " with "]);
            format!("{}{and}{last}", front.join(", "))
        }
        _ => clauses.concat(),
    };
    match words.rng.random_range(0..10) {
        0 | 1 => clauses.join(pick(words.rng, &["\n", "; ", ". ", " - ", ", ", " / "])),
        2 | 3 => capitalised(&joined(words)) + pick(words.rng, &[".", "", "!"]),
        4 => {
            let sentences: Vec<String> =
                clauses.iter().map(|clause| format!("{}.", capitalised(clause))).collect();
            sentences.join(" ")
        }
        _ => {
            let front = match words.rng.random_range(0..4) {
                0 => words.name(),
                1 => words.capital(),
                2 => format!("The {}", words.word()),
                _ => pick(
                    words.rng,
                    &["We", "They", "Our trip", "It", "The form", "This entry", "I"],
                )
                .to_owned(),
            };
            let verb = pick(
                words.rng,
                &[
                    "has",
                    "has got",
                    "comes with",
                    "needs",
                    "mentions",
                    "reports",
                    "shows",
                    "saw",
                    "was given",
                    "is about",
                    "wants",
                    "had",
                    "got",
                    "asks for",
                    "counts",
                    "lists",
                    "takes",
                    "brings",
                ],
            );
            format!("{front} {verb} {}.", joined(words))
        }
    }
}
