use maskwright::json_schema::{Options, PropertyOrder, Spelling, Whitespace};
use maskwright::{Compiler, Vocabulary};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let plain = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    let mut options = Options::default();
    options.formats = false;
    options.spelling = Spelling::Any;
    options.property_order = PropertyOrder::Any;
    options.whitespace = Whitespace::Any;
    let any = plain.clone().with_json_options(options);
    for (n, c) in [("plain", plain), ("any", any)] {
        match c.json_schema_text(&args[1]) {
            Err(e) => println!("{n}: {e}"),
            Ok(c) => {
                let mut m = c.matcher();
                println!("{n}: {:?} {}", m.accept_bytes(args[2].as_bytes()), m.is_accepting());
            }
        }
    }
    let v =
        maskwright_fuzz::validator::Validator::new(&serde_json::from_str(&args[1]).unwrap(), true);
    println!("crate: {:?}", v.map(|v| v.judge(&args[2])));
}
