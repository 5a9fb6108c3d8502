//! Asks the engine and the other validator about a schema and a text.
//!
//!     cargo run --manifest-path fuzz/Cargo.toml --example ask -- SCHEMA TEXT

use maskwright::json_schema::{Options, PropertyOrder, Spelling, Whitespace};
use maskwright::{Compiler, Vocabulary};
use maskwright_fuzz::validator::Validator;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [schema, text] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "give a schema and a text")?;
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let plain = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    let mut options = Options::default();
    options.spelling = Spelling::Any;
    options.property_order = PropertyOrder::Any;
    options.whitespace = Whitespace::Any;
    let any = plain.clone().with_json_options(options);
    for (name, compiler) in [("by default", plain), ("any spelling", any)] {
        let said = compiler.json_schema_str(&schema).and_then(|constraint| {
            let mut matcher = constraint.matcher();
            matcher.accept_bytes(text.as_bytes())?;
            Ok(if matcher.is_accepting() { "accepted" } else { "incomplete" })
        });
        println!("{name}: {}", said.map_or_else(|error| error.to_string(), str::to_owned));
    }
    let said = match Validator::new(&serde_json::from_str(&schema)?, true) {
        Some(validator) => validator.judge(&text).err().unwrap_or_else(|| "valid".into()),
        None => "no schema".into(),
    };
    println!("the validator: {said}");
    Ok(())
}
