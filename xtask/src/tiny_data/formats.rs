//! Phone numbers, addresses, times and dates, in the formats that texts write them in.

use rand::RngExt;
use serde_json::{Value, json};

use super::words::{Words, one_in, pick};

const ZIP_FORMS: &[&str] = &[
    "5", "5", "5", "4", "6", "5-4", "A9 9AA", "AA9 9AA", "AA99 9AA", "A9A 9A9", "99-999", "9999 AA",
];
const NUMBERS: &[&str] = &[
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
const MONTHS: &[(&str, u32)] = &[
    ("January", 31),
    ("February", 28),
    ("March", 31),
    ("April", 30),
    ("May", 31),
    ("June", 30),
    ("July", 31),
    ("August", 31),
    ("September", 30),
    ("October", 31),
    ("November", 30),
    ("December", 31),
];

/// Groups of digits, parted by blanks, hyphens or points.
pub fn phone(words: &mut Words<'_>) -> String {
    let prefix = match words.rng.random_range(0..5) {
        0 | 1 => format!("+{} ", words.rng.random_range(1..400)),
        2 => format!("({}) ", digits(words, 3)),
        _ => String::new(),
    };
    let prefix = if prefix.is_empty() && one_in(words.rng, 3) { "0".to_owned() } else { prefix };
    let between = pick(words.rng, &[" ", "-", "-", ".", ""]);
    let groups: Vec<String> = (0..words.rng.random_range(2..=4))
        .map(|_| {
            let length = words.rng.random_range(2..=4);
            digits(words, length)
        })
        .collect();
    prefix + &groups.join(between)
}

/// A postal code of one of [`ZIP_FORMS`]: of as many digits, or of digits and letters where the form has 9 and A.
pub fn zip(words: &mut Words<'_>) -> String {
    let form = pick(words.rng, ZIP_FORMS);
    if !form.contains('9') {
        let parts: Vec<String> =
            form.split('-').map(|length| digits(words, number_of(length))).collect();
        return parts.join("-");
    }
    form.chars()
        .map(|c| match c {
            '9' => words.rng.random_range('0'..='9'),
            'A' => words.rng.random_range('A'..='Z'),
            _ => c,
        })
        .collect()
}

fn number_of(text: &str) -> usize {
    text.parse().expect("the form's lengths are numbers")
}

/// A time of day, mostly of the 24 hours, otherwise as people say it. It is copied.
pub fn time(words: &mut Words<'_>) -> String {
    let minute = *pick(words.rng, &[&0, &15, &30, &45, &5, &10, &20, &50]);
    let hour = words.rng.random_range(0..24);
    let twelve = hour % 12 + 1;
    let half = pick(words.rng, &["am", "pm", "pm", "a.m.", "p.m.", "AM", "PM"]);
    match words.rng.random_range(0..20) {
        0 | 1 => format!("{twelve} {half}"),
        2 => format!("{twelve}{}", half.replace('.', "")),
        3 => format!("{twelve}:{minute:02} {half}"),
        4 => format!("{twelve}:{minute:02}{}", half.replace('.', "")),
        5 => format!("{hour}:{minute:02}"),
        6 if one_in(words.rng, 2) => format!("{hour}.{minute:02}"),
        7 if one_in(words.rng, 2) => {
            let part = pick(words.rng, &["half past", "quarter to", "quarter past"]);
            format!("{part} {}", in_words(twelve as usize))
        }
        8 if one_in(words.rng, 2) => pick(words.rng, &["noon", "midnight"]).to_owned(),
        _ => format!("{hour:02}:{minute:02}"),
    }
}

/// A date. One that is told in full, however it is written, is asked for as ISO 8601 has it; what
/// leaves the year open is copied.
pub fn date(words: &mut Words<'_>) -> (String, Value) {
    let year = words.rng.random_range(1950..2040);
    let month = words.rng.random_range(0..MONTHS.len());
    let (name, days) = MONTHS[month];
    let day = words.rng.random_range(1..=days);
    let iso = format!("{year}-{:02}-{day:02}", month + 1);
    let short = &name[..3];
    let text = match words.rng.random_range(0..20) {
        0 | 1 => format!("{day} {name} {year}"),
        2 | 3 => format!("{name} {day}, {year}"),
        4 => format!("{day} {short} {year}"),
        5 if one_in(words.rng, 2) => format!("the {day}{} of {name} {year}", ordinal(day)),
        5 => format!("{day}{} of {name} {year}", ordinal(day)),
        6 if one_in(words.rng, 2) => format!("{name} {day}{} {year}", ordinal(day)),
        6 => format!("{name} {day}{}, {year}", ordinal(day)),
        7 if one_in(words.rng, 2) => {
            let weekday = pick(words.rng, &["Monday", "Tuesday", "Thursday", "Friday", "Saturday"]);
            format!("{weekday}{} {day} {name} {year}", pick(words.rng, &["", ",", " the"]))
        }
        7 => format!("{short} {day}, {year}"),
        8 => return copied(format!("{name} {day}")),
        9 => return copied(format!("{day} {name}")),
        10 => {
            let days = ["Monday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
            let near = ["tomorrow", "today", "Tuesday", "next week", "next Monday", "tonight"];
            let day =
                if one_in(words.rng, 2) { pick(words.rng, &days) } else { pick(words.rng, &near) };
            return copied(day.to_owned());
        }
        11 if one_in(words.rng, 2) => return copied(format!("{name} {year}")),
        11 => return copied(format!("the {day}{} of {name}", ordinal(day))),
        12 if one_in(words.rng, 2) => return copied(format!("{name} {day}{}", ordinal(day))),
        12 => {
            let weekday = pick(words.rng, &["Monday", "Tuesday", "Friday", "Saturday", "Sunday"]);
            return copied(format!("{weekday} {day} {name}"));
        }
        13 => format!("{day:02}.{:02}.{year}", month + 1),
        // Without a day above 12, the order of day and month would be open.
        14 if day > 12 => format!("{:02}/{day:02}/{year}", month + 1),
        14 => format!("{year}/{:02}/{day:02}", month + 1),
        _ => iso.clone(),
    };
    (text, json!(iso))
}

fn copied(text: String) -> (String, Value) {
    let value = json!(text);
    (text, value)
}

fn ordinal(day: u32) -> &'static str {
    match (day / 10, day % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// A number of 1 to 99.
pub fn in_words(number: usize) -> String {
    let tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    match (number / 10, number % 10) {
        (0, 0) => "zero".to_owned(),
        _ if number <= NUMBERS.len() => NUMBERS[number - 1].to_owned(),
        (ten, 0) => tens[ten - 2].to_owned(),
        (ten, one) => format!("{}-{}", tens[ten - 2], NUMBERS[one - 1]),
    }
}

pub fn digits(words: &mut Words<'_>, length: usize) -> String {
    (0..length).map(|_| words.rng.random_range('0'..='9')).collect()
}
