//! Instances: values changed at random, and the many ways to write one.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::random::Random;
use crate::schemas::{NAMES, value};

/// Whether JSON Schema tells two values apart. Only for numbers as small as ours.
pub fn differ(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() != b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() != b.len() || a.iter().zip(b).any(|(a, b)| differ(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let differs = |(key, a)| b.get(key).is_none_or(|b| differ(a, b));
            a.len() != b.len() || a.iter().collect::<BTreeMap<_, _>>().into_iter().any(differs)
        }
        (a, b) => a != b,
    }
}

/// The value with a small change somewhere.
pub fn mutate(random: &mut Random, of: &Value) -> Value {
    let mut changed = of.clone();
    let inside = random.percent(65);
    match &mut changed {
        Value::Array(items) if inside && !items.is_empty() => {
            let at = random.below(items.len());
            match random.below(6) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                2 => items.insert(at, value(random, 1)),
                3 => items.reverse(),
                _ => items[at] = mutate(random, &items[at]),
            }
        }
        Value::Array(items) if inside => items.push(value(random, 1)),
        Value::Object(members) if inside && !members.is_empty() => {
            let at = random.below(members.len());
            let Some(key) = members.keys().nth(at).cloned() else { return changed };
            let other = (*random.pick(NAMES)).to_owned();
            match random.below(6) {
                0 => drop(members.remove(&key)),
                1 => drop(members.insert(other, value(random, 1))),
                2 => {
                    let member = members.remove(&key).unwrap_or_default();
                    members.insert(other, member);
                }
                _ => {
                    let member = mutate(random, &members[&key]);
                    members.insert(key, member);
                }
            }
        }
        Value::Object(members) if inside => {
            members.insert((*random.pick(NAMES)).to_owned(), value(random, 1));
        }
        _ => changed = value(random, 2),
    }
    changed
}

/// One of the ways in which JSON can write the value.
pub fn spell(random: &mut Random, value: &Value) -> String {
    let mut out = String::new();
    write(random, value, &mut out);
    out
}

fn blank(random: &mut Random, out: &mut String) {
    if random.percent(15) {
        *out += *random.pick(&[" ", "\n", "\t", " \r\n  "]);
    }
}

fn write(random: &mut Random, value: &Value, out: &mut String) {
    blank(random, out);
    match value {
        Value::String(text) => write_string(random, text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                *out += if i > 0 { "," } else { "" };
                write(random, item, out);
            }
            blank(random, out);
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            let mut members: Vec<_> = members.iter().collect();
            if random.percent(40) {
                members.reverse();
            }
            for (i, (key, member)) in members.into_iter().enumerate() {
                *out += if i > 0 { "," } else { "" };
                blank(random, out);
                write_string(random, key, out);
                blank(random, out);
                out.push(':');
                write(random, member, out);
            }
            blank(random, out);
            out.push('}');
        }
        scalar => *out += &scalar.to_string(),
    }
    blank(random, out);
}

fn write_string(random: &mut Random, text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if !random.percent(15) {
            // Quotes, backslashes and control characters, if there are any, as they must be.
            let quoted = Value::String(c.to_string()).to_string();
            *out += &quoted[1..quoted.len() - 1];
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            *out += &if random.percent(50) {
                format!("\\u{unit:04x}")
            } else {
                format!("\\u{unit:04X}")
            };
        }
    }
    out.push('"');
}
