//! Writes the answer as JSON, in pieces that know how much the model should learn from each.

use serde_json::Value;

/// A stretch of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub text: String,
    pub part: Part,
}

/// The kind of a piece of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Braces, commas, colons, blanks.
    Layout,
    /// A key with its quotes.
    Key,
    /// A value: what the model is for. Strings have their quotes here, numbers their end.
    Value,
}

/// The layout of the JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As Python's `json.dumps` writes it: a blank after colons and commas.
    Spaced,
    Compact,
    /// One field a line, indented by so many blanks a level.
    Indented(usize),
}

/// `value` as JSON text in pieces. Joined, they are the text.
pub fn pieces(value: &Value, style: Style) -> Vec<Piece> {
    let mut writer = Writer { pieces: Vec::new(), style };
    writer.value(value, 0);
    writer.pieces
}

struct Writer {
    pieces: Vec<Piece>,
    style: Style,
}

impl Writer {
    fn push(&mut self, part: Part, text: impl Into<String>) {
        self.pieces.push(Piece { text: text.into(), part });
    }

    /// Writes the gap between an opening brace, the items and the closing one.
    fn gap(&mut self, depth: usize, comma: bool) {
        let text = match self.style {
            Style::Spaced if comma => ", ".to_owned(),
            Style::Compact if comma => ",".to_owned(),
            Style::Spaced | Style::Compact => return,
            Style::Indented(width) => {
                format!("{}\n{}", if comma { "," } else { "" }, " ".repeat(width * depth))
            }
        };
        self.push(Part::Layout, text);
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(fields) => {
                self.push(Part::Layout, "{");
                for (at, (key, field)) in fields.iter().enumerate() {
                    self.gap(depth + 1, at > 0);
                    self.push(Part::Key, Value::from(key.as_str()).to_string());
                    let colon = if self.style == Style::Compact { ":" } else { ": " };
                    self.push(Part::Layout, colon);
                    self.value(field, depth + 1);
                }
                if !fields.is_empty() {
                    self.gap(depth, false);
                }
                self.push(Part::Layout, "}");
            }
            Value::Array(items) => {
                self.push(Part::Layout, "[");
                for (at, item) in items.iter().enumerate() {
                    self.gap(depth + 1, at > 0);
                    self.value(item, depth + 1);
                }
                if !items.is_empty() {
                    self.gap(depth, false);
                }
                // Whether an array ends is a matter of what it lists.
                self.push(Part::Value, "]");
            }
            scalar => self.push(Part::Value, scalar.to_string()),
        }
    }
}
