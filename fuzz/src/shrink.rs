//! A failing schema and instance made small.

use serde_json::{Value, json};

/// Takes away and simplifies parts of a value, as long as it still `fails`.
pub fn shrink(mut value: Value, fails: impl Fn(&Value) -> bool) -> Value {
    while let Some(smaller) = smaller(&value).into_iter().find(&fails) {
        value = smaller;
    }
    value
}

/// The value with one part less, or one part simpler; the largest steps first.
fn smaller(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match value {
        Value::Array(items) => {
            for at in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(at);
                found.push(Value::Array(fewer));
            }
            for (at, item) in items.iter().enumerate() {
                for item in smaller(item) {
                    let mut other = items.clone();
                    other[at] = item;
                    found.push(Value::Array(other));
                }
            }
        }
        Value::Object(members) => {
            if !members.is_empty() {
                found.push(json!({}));
            }
            for key in members.keys() {
                let mut fewer = members.clone();
                fewer.shift_remove(key);
                found.push(Value::Object(fewer));
            }
            for (key, member) in members {
                let mut others = smaller(member);
                if member.is_object() {
                    others.push(json!(true));
                }
                for member in others {
                    let mut other = members.clone();
                    other[key] = member;
                    found.push(Value::Object(other));
                }
            }
        }
        _ => {}
    }
    found
}
