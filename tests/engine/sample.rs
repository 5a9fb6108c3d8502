//! Random texts of constraints: by a seed, of a size, spread over all there is, and near-misses.
#![allow(clippy::unwrap_used)]

use maskwright::ebnf::{self, Dialect};
use maskwright::json_schema::{Options, PropertyOrder};
use maskwright::sample::{Bounds, Texts};
use maskwright::{Compiler, Constraint, ErrorKind, Limits, Vocabulary};
use serde_json::{Value, json};

fn compiler() -> Compiler {
    let tokens = (0..=255u8).map(|b| Some(vec![b])).chain([None]).collect();
    Compiler::new(Vocabulary::from_tokens(tokens, &[(256, "<tool>")], &[]).unwrap())
}

fn built_in(name: &str) -> Constraint {
    let known = ebnf::builtin(name).unwrap();
    compiler().grammar_by_rules(known.text, known.dialect).unwrap()
}

fn accepts(constraint: &Constraint, text: &[u8]) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text).is_ok() && matcher.is_accepting()
}

fn bytes(min_bytes: usize, max_bytes: usize) -> Bounds {
    Bounds { min_bytes, max_bytes, ..Bounds::default() }
}

/// Python's blocks nest as deep as their rules are written out, which takes long texts.
#[test]
fn every_rule_and_alternative_of_the_ready_grammars_is_reached() {
    let mut wrong = Vec::new();
    for known in ebnf::GRAMMARS {
        let plain = compiler().grammar(known.text, known.dialect).unwrap();
        let max_bytes = if known.name == "python" { 600 } else { 200 };
        let mut texts = Texts::new(&built_in(known.name), 1).unwrap().within(bytes(0, max_bytes));
        let complete = (0..600).find(|_| {
            let text = texts.draw().unwrap();
            assert!(text.len() <= max_bytes);
            assert!(accepts(&plain, &text), "{}: {:?}", known.name, String::from_utf8_lossy(&text));
            let coverage = texts.coverage();
            coverage.rules.is_complete()
                && coverage.places.is_complete()
                && coverage.alternatives.is_complete()
        });
        let coverage = texts.coverage();
        assert!(coverage.rules.known > 3 && coverage.steps.reached > 3, "{}", known.name);
        if complete.is_none() {
            wrong.push(format!("{}: {coverage:?}", known.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_no_text_can_reach_is_named() {
    let grammar = "root ::= small | large\nsmall ::= [a-c]\nlarge ::= \"x\"{20} [0-9]";
    let constraint = compiler().grammar_by_rules(grammar, Dialect::Gbnf).unwrap();
    let mut texts = Texts::new(&constraint, 3).unwrap().within(bytes(0, 10));
    (0..50).for_each(|_| _ = texts.draw().unwrap());
    let coverage = texts.coverage();
    assert_eq!((coverage.rules.reached, coverage.rules.known), (2, 3));
    assert_eq!(coverage.missing, ["rule `large` (3:11)", "rule `root` (1:18)"]);
    let mut texts = texts.within(bytes(0, 30));
    (0..50).for_each(|_| _ = texts.draw().unwrap());
    assert_eq!(texts.coverage().missing, [""; 0]);
}

#[test]
fn a_seed_gives_the_same_texts_everywhere() {
    let draw = |seed, count| -> Vec<String> {
        let mut texts = Texts::new(&built_in("arithmetic"), seed).unwrap().within(bytes(0, 20));
        (0..count).map(|_| String::from_utf8(texts.draw().unwrap()).unwrap()).collect()
    };
    assert_eq!(draw(5, 4), GOLDEN);
    assert_eq!(draw(6, 50), draw(6, 50));
    assert_ne!(draw(6, 50), draw(7, 50));
    // Matchers that have read other texts before change nothing.
    let schema = json!({"type": "object", "additionalProperties": {"type": "boolean"}});
    let constraint = compiler().json_schema(&schema).unwrap();
    let draw = || {
        let mut texts = Texts::new(&constraint, 9).unwrap();
        (0..50).map(|_| texts.draw().unwrap()).collect::<Vec<_>>()
    };
    let before = draw();
    assert!(accepts(&constraint, br#"{"x": true, "yy": false}"#));
    assert_eq!(before, draw());
}

const GOLDEN: [&str; 4] = ["0", "-vko ^ -----r", "k", "8 * ( j^d)^r"];

#[test]
fn texts_are_between_the_bounds() {
    for name in ["json", "arithmetic", "c", "sql", "xml", "toml"] {
        let constraint = built_in(name);
        for (min, max) in [(0, 40), (50, 60), (200, 201), (1000, 1010)] {
            let mut texts = Texts::new(&constraint, 1).unwrap().within(bytes(min, max));
            for _ in 0..10 {
                let text = texts.draw().unwrap();
                assert!((min..=max).contains(&text.len()), "{name}: {} bytes", text.len());
            }
        }
    }
    let choice = compiler().choice(&["a", "ddddd", "cc", "bbb"]).unwrap();
    let mut texts = Texts::new(&choice, 1).unwrap().within(bytes(3, 4));
    assert!((0..20).all(|_| texts.draw().unwrap() == b"bbb"));
}

/// Repeats and choices do not end as soon as they may.
#[test]
fn lengths_are_spread_up_to_the_bound() {
    let csv =
        "root ::= record (\"\\n\" record)*\nrecord ::= field (\",\" field)*\nfield ::= [a-z ]*";
    let rows = compiler().grammar_by_rules(csv, Dialect::Gbnf).unwrap();
    let any = compiler().regex("[a-z]*").unwrap();
    for constraint in [rows, any, built_in("toml"), built_in("json")] {
        let mut texts = Texts::new(&constraint, 1).unwrap().within(bytes(0, 400));
        let mut lengths: Vec<usize> = (0..300).map(|_| texts.draw().unwrap().len()).collect();
        lengths.sort_unstable();
        let (median, long) = (lengths[150], lengths[270]);
        assert!(median >= 4 && long >= 25 && lengths[30] < 100, "{lengths:?}");
    }
    let mut texts = Texts::new(&compiler().regex("a*").unwrap(), 1).unwrap();
    texts = texts.within(bytes(0, usize::MAX));
    assert!(texts.draw().unwrap().iter().all(|&byte| byte == b'a'));
}

/// As short as can be, without trying again; one byte less is an error that says so.
#[test]
fn the_shortest_text_is_found_and_known() {
    let shortest = |constraint: &Constraint| {
        let error = Texts::new(constraint, 1).unwrap().within(bytes(0, 0)).draw().unwrap_err();
        let words = error.message().split_once(" bytes or more, asked for").unwrap().0;
        let least: usize = words.strip_prefix("every text has ").unwrap().parse().unwrap();
        let mut texts = Texts::new(constraint, 1).unwrap().within(bytes(0, least));
        assert!((0..20).all(|_| texts.draw().unwrap().len() == least));
        least
    };
    for (pattern, least) in
        [("a{3}(bc)+", 5), ("(?:abc|de){2,9}f", 5), ("(?=.*[0-9].*[0-9])[a-z0-9é]+", 2)]
    {
        assert_eq!(shortest(&compiler().regex(pattern).unwrap()), least, "{pattern}");
    }
    for (grammar, least) in [("sql", 8), ("semver", 5), ("json", 1), ("mermaid", 15)] {
        assert_eq!(shortest(&built_in(grammar)), least, "{grammar}");
    }
    let tree =
        "root ::= \"(\" root root \")\" | \"[\" list{3,5} \"]\"\nlist ::= (\"x\" list) | \"yy\"";
    let tree = compiler().grammar_by_rules(tree, Dialect::Gbnf).unwrap();
    assert_eq!(shortest(&tree), 8);
}

/// A text near the shortest is written without the search for the shortest.
#[test]
fn long_texts_of_a_format_are_drawn() {
    let schema = json!({"type": "string", "format": "date-time", "minLength": 39});
    let constraint = compiler().json_schema(&schema).unwrap();
    let mut texts = Texts::new(&constraint, 4).unwrap();
    for _ in 0..20 {
        let text = texts.draw().unwrap();
        assert!(text.len() >= 41 && accepts(&constraint, &text));
    }
}

#[test]
fn depth_is_bounded() {
    let grammar = r#"root ::= "(" root ")" | "[" root "," root "]" | "x""#;
    let constraint = compiler().grammar_by_rules(grammar, Dialect::Gbnf).unwrap();
    let deepest = |max_depth| {
        let bounds = Bounds { max_bytes: 300, max_depth, ..Bounds::default() };
        let mut texts = Texts::new(&constraint, 4).unwrap().within(bounds);
        let depth = |text: Vec<u8>| {
            let (mut depth, mut most) = (0, 0);
            for byte in text {
                depth += i32::from(b"([".contains(&byte)) - i32::from(b")]".contains(&byte));
                most = most.max(depth);
            }
            most
        };
        (0..200).map(|_| depth(texts.draw().unwrap())).max().unwrap()
    };
    assert_eq!([deepest(Some(0)), deepest(Some(1)), deepest(Some(4))], [0, 1, 4]);
    assert!(deepest(None) > 20);
    // Where there is no choice, too.
    let grammar = "root ::= \"<\" a \">\"\na ::= \"[\" b \"]\"\nb ::= \"(\" [a-c]{2} \")\"";
    let constraint = compiler().grammar_by_rules(grammar, Dialect::Gbnf).unwrap();
    let draw = |bounds| Texts::new(&constraint, 4).unwrap().within(bounds).draw();
    let depth = |max_depth| Bounds { max_depth: Some(max_depth), ..Bounds::default() };
    assert_eq!(draw(depth(2)).unwrap().len(), 8);
    let error = draw(depth(1)).unwrap_err().to_string();
    assert!(error.starts_with("each text is 2 calls deep or more"), "{error}");
    let error = draw(bytes(9, 20)).unwrap_err().to_string();
    assert!(error.starts_with("no text has more than 8 bytes"), "{error}");
}

/// Of texts that nest too deep for a matcher there are flatter ones as long.
#[test]
fn texts_too_deep_for_a_matcher_are_drawn_again() {
    let limits = maskwright::Limits { depth: 30, ..Default::default() };
    let sums = "root ::= root \"+\" root | \"(\" root \")\" | [0-9]";
    let constraint = compiler().with_limits(limits).grammar_by_rules(sums, Dialect::Gbnf).unwrap();
    let mut texts = Texts::new(&constraint, 2).unwrap().within(bytes(20, 60));
    (0..50).for_each(|_| assert!(accepts(&constraint, &texts.draw().unwrap())));
}

/// The parts of two texts between what they begin and end with alike.
fn difference(a: &str, b: &str) -> (Vec<char>, Vec<char>) {
    let (mut a, mut b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    while !a.is_empty() && a.last() == b.last() {
        a.pop();
        b.pop();
    }
    let alike = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    (a.split_off(alike), b.split_off(alike))
}

#[test]
fn near_misses_are_one_edit_outside_of_the_language() {
    let mut kinds = [0; 4];
    for name in ["json", "sql", "iso8601", "csv"] {
        let constraint = built_in(name);
        let mut texts = Texts::new(&constraint, 2).unwrap();
        for _ in 0..100 {
            let text = texts.draw().unwrap();
            let miss = texts.near_miss(&text).unwrap().unwrap();
            assert!(!accepts(&constraint, &miss));
            let (text, miss) = (String::from_utf8(text).unwrap(), String::from_utf8(miss).unwrap());
            let (before, after) = difference(&text, &miss);
            kinds[match (&before[..], &after[..]) {
                ([], [_]) => 0,
                ([_], []) => 1,
                ([_], [_]) => 2,
                (&[a, b], &[c, d]) if (a, b) == (d, c) => 3,
                _ => panic!("{text:?} and {miss:?}"),
            }] += 1;
        }
    }
    assert!(kinds.iter().all(|&times| times > 20), "{kinds:?}");
    let all = compiler().regex("(?s).*").unwrap();
    assert_eq!(Texts::new(&all, 1).unwrap().near_miss(b"text").unwrap(), None);
}

#[test]
fn texts_of_schemas_are_valid_and_reach_every_keyword() {
    let schemas = [
        json!({"type": "object",
            "properties": {"name": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
                "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true,
                    "minItems": 2},
                "n": {"type": "integer", "minimum": 3, "maximum": 100_000, "multipleOf": 7}},
            "required": ["tags"], "additionalProperties": {"type": "boolean"}}),
        json!({"$defs": {"tree": {"type": "object", "required": ["value", "children"],
            "properties": {"value": {"enum": [1, "two", null]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 3}},
            "additionalProperties": false}}, "$ref": "#/$defs/tree"}),
        json!({"oneOf": [{"type": "string", "maxLength": 3}, {"type": "number", "minimum": 0.5, "maximum": 1e9},
            {"type": "array", "contains": {"const": 5}, "minItems": 2}]}),
        json!({"type": "object", "minProperties": 2, "maxProperties": 3,
            "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"const": 1}}),
    ];
    for schema in schemas {
        let valid = jsonschema::validator_for(&schema).unwrap();
        let constraint = compiler().json_schema(&schema).unwrap();
        let mut texts = Texts::new(&constraint, 1).unwrap();
        for _ in 0..150 {
            let text = texts.draw().unwrap();
            assert!(text.len() <= 200);
            let value: Value = serde_json::from_slice(&text).unwrap();
            assert!(valid.is_valid(&value), "{value} of {schema}");
        }
        let coverage = texts.coverage();
        assert!(coverage.places.is_complete(), "{schema}: {coverage:?}");
        let mut long = texts.within(bytes(100, 400));
        for _ in 0..10 {
            let Ok(text) = long.draw() else { continue };
            assert!((100..=400).contains(&text.len()));
        }
    }
}

/// Required members are written although a free key alone does not show them.
#[test]
fn open_objects_in_any_order_fit_into_few_bytes() {
    let string = json!({"type": "string"});
    let schema = json!({"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {"apiVersion": string, "kind": string,
            "metadata": {"type": "object", "required": ["name"],
                "properties": {"name": string, "namespace": string}},
            "spec": {"type": "object", "required": ["replicas", "ports"], "properties": {
                "replicas": {"type": "integer"},
                "ports": {"type": "array", "uniqueItems": true, "minItems": 2}}}}});
    let mut options = Options::default();
    options.property_order = PropertyOrder::Any;
    let constraint = compiler().with_json_options(options).json_schema(&schema).unwrap();
    let draw = |least, most| {
        let mut texts = Texts::new(&constraint, 1).unwrap().within(bytes(least, most));
        (0..30).map(|_| texts.draw()).collect::<Result<Vec<_>, _>>()
    };
    let error = draw(0, 20).unwrap_err();
    let words = error.message().strip_prefix("the shortest text that was found has ").unwrap();
    let least: usize = words.split_once(' ').unwrap().0.parse().unwrap();
    let text = r#"{"apiVersion":"","kind":"","metadata":{"name":""},"spec":{"replicas":0,"ports":[0,""]}}"#;
    assert!(least <= text.len(), "{least}");
    for most in [text.len(), 200, 1000] {
        let mut texts = draw(0, most).unwrap();
        assert!(texts.iter().all(|text| text.len() <= most && accepts(&constraint, text)));
        texts.sort();
        texts.dedup();
        assert!(texts.len() > 10, "{most}: {}", texts.len());
    }
}

/// A special token is no text: a constraint that needs one has no random text, alternatives with
/// one are left out.
#[test]
fn special_tokens_are_left_out() {
    let compile = |grammar| compiler().grammar_by_rules(grammar, Dialect::Gbnf).unwrap();
    let error = Texts::new(&compile("root ::= \"a\" <[256]>"), 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Request);
    let mut texts = Texts::new(&compile("root ::= (\"a\" <[256]> | \"b\")+"), 1).unwrap();
    assert!((0..50).all(|_| texts.draw().unwrap().iter().all(|&byte| byte == b'b')));
    assert!(texts.coverage().places.is_complete());
}

/// However a failing text shrinks, it stays in the language and gets simpler.
#[cfg(feature = "proptest")]
#[test]
fn texts_shrink_within_the_language() {
    use maskwright::sample::strategy;
    use proptest::strategy::{Strategy as _, ValueTree as _};
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let schema = json!({"type": "array", "items": {"enum": [1, 22, 333]}, "uniqueItems": true});
    let constraints = [
        ("json", built_in("json"), "true", 4),
        ("arithmetic", built_in("arithmetic"), "(", 3),
        ("sql", built_in("sql"), "(", 30),
        ("a schema", compiler().json_schema(&schema).unwrap(), "333", 7),
    ];
    for (name, constraint, wanted, least) in constraints {
        let texts = strategy::texts(&constraint, Bounds::default()).unwrap();
        let fails = |text: &[u8]| String::from_utf8_lossy(text).contains(wanted);
        let mut shrunk = 0;
        for _ in 0..60 {
            let mut tree = texts.new_tree(&mut runner).unwrap();
            if !fails(&tree.current()) {
                continue;
            }
            let mut failing = tree.current();
            loop {
                let text = tree.current();
                assert!(accepts(&constraint, &text), "{name}: {}", String::from_utf8_lossy(&text));
                let on = if fails(&text) {
                    assert!(text.len() <= failing.len());
                    failing = text;
                    tree.simplify()
                } else {
                    tree.complicate()
                };
                if !on {
                    break;
                }
            }
            assert_eq!(tree.current(), failing, "{name}");
            assert!(failing.len() <= least, "{name}: {}", String::from_utf8_lossy(&failing));
            shrunk += 1;
        }
        assert!(shrunk > 2, "{name}: {shrunk}");
    }
}

/// Texts of real schemas, MaskBench's, are valid by another validator. Every so many-th schema
/// (`MASKWRIGHT_SAMPLE_STRIDE`); skipped without `MASKWRIGHT_SHARED`.
#[test]
fn texts_of_real_schemas_are_valid() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED") else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return;
    };
    let stride = std::env::var("MASKWRIGHT_SAMPLE_STRIDE").map_or(97, |n| n.parse().unwrap());
    let folder = std::path::Path::new(&shared).join("corpus/maskbench");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let compiler = compiler();
    let (mut schemas, mut drawn, mut beyond, mut wrong) = (0, 0, 0, Vec::new());
    for line in lines.step_by(stride) {
        let entry: Value = serde_json::from_str(&line).unwrap();
        let (name, schema) = (&entry["id"], &entry["schema"]);
        let Ok(constraint) = compiler.json_schema(schema) else { continue };
        // What is no schema to one of them is no text of the other.
        let Ok(valid) = jsonschema::options().should_validate_formats(false).build(schema) else {
            continue;
        };
        schemas += 1;
        let started = std::time::Instant::now();
        let mut texts = Texts::new(&constraint, 1).unwrap().within(bytes(0, 4000));
        for _ in 0..5 {
            match texts.draw() {
                Ok(text) => {
                    drawn += 1;
                    // Numbers beyond a double are left to the reader.
                    let Ok(value) = serde_json::from_slice::<Value>(&text) else { continue };
                    // The validator's `.` takes more than ECMA-262's in patterns, and its integers
                    // beyond 64 bits are rounded.
                    let written = value.to_string();
                    let otherwise = ["\\r", "\u{2028}", "\u{2029}", "e+"];
                    if otherwise.iter().any(|part| written.contains(part)) {
                        continue;
                    }
                    if !valid.is_valid(&value) {
                        wrong.push(format!("{name}: {value}"));
                    }
                }
                Err(error) => {
                    beyond += 1;
                    println!("{name}: {error}");
                }
            }
        }
        let taken = started.elapsed();
        if taken.as_millis() > 500 {
            println!("{name}: {taken:?}");
        }
    }
    println!("{drawn} texts of {schemas} schemas, {beyond} times none");
    assert!(drawn > 20 * beyond, "{beyond} of {drawn}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An edit that nests too deep is passed over.
#[test]
fn near_misses_near_the_depth_limit() {
    let limits = Limits { depth: 5, ..Limits::default() };
    let vocabulary = Vocabulary::from_tokens((0..=255).map(|b| Some(vec![b])).collect(), &[], &[]);
    let compiler = Compiler::new(vocabulary.unwrap()).with_limits(limits);
    let constraint = compiler.lark("start: \"(\" start \")\" | \"x\"").unwrap();
    for seed in 0..20 {
        let mut texts = Texts::new(&constraint, seed).unwrap();
        for text in [&b"((((x))))"[..], b"x"] {
            let missed = texts.near_miss(text).unwrap().unwrap();
            let mut matcher = constraint.matcher();
            assert!(matcher.accept_bytes(&missed).is_err() || !matcher.is_accepting());
        }
    }
}
