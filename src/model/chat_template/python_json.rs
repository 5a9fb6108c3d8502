//! JSON and floats as Python writes them: prompts are compared with those of the `transformers` library.

use std::collections::BTreeMap;
use std::io::{Result as IoResult, Write};

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};
use serde::Serialize as _;
use serde_json::ser::{Formatter, Serializer};

/// JSON as `json.dumps` writes it with these arguments; `ensure_ascii` is false unless it is given, as in the
/// `transformers` library.
pub(super) fn tojson(value: Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let ensure_ascii = options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    let sort_keys = options.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    let separators: Option<Vec<String>> = options.get("separators")?;
    options.assert_all_used()?;
    let (item, key) = match separators.as_deref() {
        None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
        None => (", ".to_owned(), ": ".to_owned()),
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => {
            let message = "`separators` of `tojson` are two texts";
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
    };
    let value = if sort_keys { sorted(&value)? } else { value };
    let mut out = Vec::new();
    let formatter = PythonFormatter { indent, item, key, ensure_ascii, depth: 0, is_empty: true };
    let result = value.serialize(&mut Serializer::with_formatter(&mut out, formatter));
    let invalid = |message: String| Error::new(ErrorKind::BadSerialization, message);
    result.map_err(|error| invalid(error.to_string()))?;
    let text = String::from_utf8(out).map_err(|error| invalid(error.to_string()))?;
    Ok(Value::from_safe_string(text))
}

/// The value, the keys of its mappings sorted.
fn sorted(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Map => {
            let mut members: BTreeMap<Value, Value> = BTreeMap::new();
            for key in value.try_iter()? {
                let member = sorted(&value.get_item(&key)?)?;
                members.insert(key, member);
            }
            Ok(Value::from_object(members))
        }
        ValueKind::Seq => {
            let items = value.try_iter()?.map(|item| sorted(&item)).collect::<Result<Vec<_>, _>>();
            Ok(Value::from(items?))
        }
        _ => Ok(value.clone()),
    }
}

/// A finite float as Python's `repr` writes it: the shortest digits that read the same, with an exponent
/// of at least two digits below `1e-04` and from `1e+16` up.
pub(super) fn float(number: f64) -> String {
    let shortest = format!("{number:e}");
    match shortest.split_once('e') {
        Some((digits, exponent)) => match exponent.parse::<i32>() {
            Ok(exponent @ (..=-5 | 16..)) => {
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
            }
            _ => format!("{number:?}"),
        },
        None => shortest,
    }
}

/// Writes all on one line, or in lines that are indented.
struct PythonFormatter {
    indent: Option<usize>,
    /// The separator of items, and that of a key and its value.
    item: String,
    key: String,
    /// Whether characters beyond ASCII are written by their UTF-16 units.
    ensure_ascii: bool,
    depth: usize,
    /// Whether nothing was written in the innermost array or object.
    is_empty: bool,
}

impl PythonFormatter {
    fn open(&mut self) {
        self.depth += 1;
        self.is_empty = true;
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W) -> IoResult<()> {
        self.depth -= 1;
        if !self.is_empty {
            self.break_line(writer)?;
        }
        self.is_empty = false;
        Ok(())
    }

    fn separate<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> IoResult<()> {
        self.is_empty = false;
        if !first {
            writer.write_all(self.item.as_bytes())?;
        }
        self.break_line(writer)
    }

    fn break_line<W: ?Sized + Write>(&self, writer: &mut W) -> IoResult<()> {
        match self.indent {
            None => Ok(()),
            Some(width) => write!(writer, "\n{:1$}", "", width * self.depth),
        }
    }
}

impl Formatter for PythonFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> IoResult<()> {
        writer.write_all(float(value).as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> IoResult<()> {
        self.open();
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> IoResult<()> {
        self.close(writer)?;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> IoResult<()> {
        self.separate(writer, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> IoResult<()> {
        self.open();
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> IoResult<()> {
        self.close(writer)?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> IoResult<()> {
        self.separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> IoResult<()> {
        writer.write_all(self.key.as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> IoResult<()> {
        if !self.ensure_ascii {
            return writer.write_all(fragment.as_bytes());
        }
        for c in fragment.chars() {
            if c.is_ascii() {
                write!(writer, "{c}")?;
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::value::Serde;
    use serde_json::json;

    #[test]
    fn floats_are_written_as_by_python() {
        for (number, text) in [
            (1e-7, "1e-07"),
            (0.000_01, "1e-05"),
            (0.000_1, "0.0001"),
            (1.5e-10, "1.5e-10"),
            (-2.5e-300, "-2.5e-300"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (0.1, "0.1"),
            (3.0, "3.0"),
            (-0.0, "-0.0"),
        ] {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn json_is_written_as_by_python() -> Result<(), Error> {
        let value = Value::from(Serde(&json!({"a": [1, 1e-7, {}], "b": [], "c": {"d": null}})));
        let with = |indent: Option<usize>| {
            let options: Kwargs =
                indent.map(|indent| ("indent", Value::from(indent))).into_iter().collect();
            tojson(value.clone(), options).map(|text| text.to_string())
        };
        assert_eq!(with(None)?, r#"{"a": [1, 1e-07, {}], "b": [], "c": {"d": null}}"#);
        let lines = [
            "{",
            "  \"a\": [",
            "    1,",
            "    1e-07,",
            "    {}",
            "  ],",
            "  \"b\": [],",
            "  \"c\": {",
            "    \"d\": null",
            "  }",
            "}",
        ];
        assert_eq!(with(Some(2))?, lines.join("\n"));
        Ok(())
    }

    #[test]
    fn arguments_of_tojson_are_those_of_python() {
        let mut environment = minijinja::Environment::new();
        environment.add_filter("tojson", tojson);
        let value = json!({ "b": [1, { "z": "é😀", "a": null }], "a": 0.5 });
        let render = |arguments: &str| {
            let template = format!("{{{{ x | tojson({arguments}) }}}}");
            environment.render_str(&template, minijinja::context! { x => Serde(&value) }).unwrap()
        };
        for (arguments, text) in [
            ("", r#"{"b": [1, {"z": "é😀", "a": null}], "a": 0.5}"#),
            ("separators=(',', ':')", r#"{"b":[1,{"z":"é😀","a":null}],"a":0.5}"#),
            ("sort_keys=true", r#"{"a": 0.5, "b": [1, {"a": null, "z": "é😀"}]}"#),
            (
                "ensure_ascii=true",
                r#"{"b": [1, {"z": "\u00e9\ud83d\ude00", "a": null}], "a": 0.5}"#,
            ),
            (
                "indent=1, separators=(';', '=')",
                "{\n \"b\"=[\n  1;\n  {\n   \"z\"=\"é😀\";\n   \"a\"=null\n  }\n ];\n \"a\"=0.5\n}",
            ),
        ] {
            assert_eq!(render(arguments), text, "{arguments}");
        }
    }
}
