//! Styles of tool arguments: what each of them writes.

#![allow(clippy::print_stdout, reason = "the counts are what one runs these tests for")]

mod notations;

use maskwright::json_schema::{Options, PropertyOrder, Schema, Spelling, Style, Whitespace};
use maskwright::sample::Texts;
use maskwright::{Constraint, ErrorKind};
use serde_json::Value;

use crate::common;
use crate::common::suite::{corpus, files};

fn options(style: &str) -> Options {
    let mut options = Options::default();
    options.style = Style::named(style).expect("a style");
    options
}

fn constraint(style: &str, schema: &str) -> Constraint {
    by(&options(style), schema)
}

fn by(options: &Options, schema: &str) -> Constraint {
    let grammar = Schema::from_text(schema).and_then(|schema| schema.grammar(options));
    common::by_bytes(&grammar.unwrap_or_else(|error| panic!("{schema}: {error}")))
}

/// Asserts that a schema in a style accepts exactly those of the texts.
fn check(style: &str, schema: &str, accepted: &[&str], rejected: &[&str]) {
    check_by(&options(style), schema, accepted, rejected);
}

fn check_by(options: &Options, schema: &str, accepted: &[&str], rejected: &[&str]) {
    let constraint = by(options, schema);
    for text in accepted {
        let at = common::rejected_at(&constraint, text);
        assert!(at.is_none(), "{schema} rejects {text:?} at {at:?}");
        assert!(common::accepts(&constraint, text), "{schema} lacks {text:?}");
        assert!(common::accepts_by_masks(&constraint, text), "{schema} masks {text:?}");
    }
    for text in rejected {
        assert!(!common::accepts(&constraint, text), "{schema} accepts {text:?}");
    }
}

#[test]
fn qwen_writes_parameters_one_by_one() {
    let schema = r#"{
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": false
    }"#;
    check(
        "qwen_xml",
        schema,
        &[
            "<parameter=city>\nRome\n</parameter>\n<parameter=days>\n3\n</parameter>",
            "<parameter=city>\nRome\n</parameter>",
            "<parameter=city>Rome</parameter><parameter=days>3</parameter>",
            "<parameter=city>\na \"b\"\\ \n <b>\n</parameter>",
            "<parameter=city>\n\n\n\n</parameter>",
            "<parameter=city></param\n</parameter>",
        ],
        &[
            "",
            "<parameter=days>\n3\n</parameter>",
            "<parameter=days>\n3\n</parameter>\n<parameter=city>\nRome\n</parameter>",
            "<parameter=city>\n\n</parameter>",
            "<parameter=city>\n</parameter>",
            "<parameter=city>Rome</parameter> <parameter=days>3</parameter>",
            "<parameter=city>\nRome\n</parameter>\n",
            "<parameter=city>\nRome\n</parameter>\n<parameter=days>\nthree\n</parameter>",
            "<parameter=city>a</parameter>b</parameter>",
            "<parameter=city>Rome</parameter><parameter=city>Rome</parameter>",
        ],
    );
}

#[test]
fn keys_without_a_name_and_empty_arguments() {
    let schema = r#"{
        "type": "object",
        "properties": {"a": {"const": 1}},
        "additionalProperties": {"type": "string", "pattern": "^x"},
        "maxProperties": 2
    }"#;
    check(
        "qwen_xml",
        schema,
        &[
            "",
            "<parameter=a>1</parameter>",
            "<parameter=b>x</parameter>",
            "<parameter=a>1</parameter>\n<parameter=b\"\\>\nx</p>\n</parameter>",
            "<parameter=b>x</parameter><parameter=c>xx</parameter>",
        ],
        &[
            "<parameter=a>2</parameter>",
            "<parameter=b>y</parameter>",
            "<parameter=b>x</parameter><parameter=b>x</parameter>",
            "<parameter=b>x</parameter><parameter=a>1</parameter>",
            "<parameter=b>x</parameter><parameter=c>x</parameter><parameter=d>x</parameter>",
            "\n",
        ],
    );
    check("qwen_xml", r#"{"type": "object", "maxProperties": 0}"#, &[""], &["<"]);
    let strings = r#"{"type": "object", "properties": {"u": {"enum": ["x", " y\n"]}}, "required": ["u"], "additionalProperties": false}"#;
    let written = |text: &str| format!("<parameter name=\"u\">{text}</parameter>");
    check(
        "minimax_xml",
        strings,
        &[&written("x"), &written(" y\n")],
        &[&written(" x"), &written("y")],
    );
    check(
        "mimo_xml",
        strings,
        &["<parameter=u> y\n</parameter>"],
        &["<parameter=u>\nx\n</parameter>"],
    );
    check(
        "qwen_xml",
        "true",
        &["", "<parameter=x>{\"a\": 1}</parameter>"],
        &["{}", "1", "<parameter=>1</parameter>"],
    );
}

/// Closing concerns the schema, not what a style can spell.
#[test]
fn closed_objects_in_a_style() {
    let schema = r#"{"properties": {"o": {"properties": {"k": {"type": "string"}}}}}"#;
    for (style, accepted, rejected) in [
        (
            "cohere_xml",
            "<cofl:value name=\"o\" type=\"dict\"><cofl:value name=\"k\" type=\"raw\">x</cofl:value></cofl:value>",
            "<cofl:value name=\"p\" type=\"dict\"></cofl:value>",
        ),
        (
            "minimax_m3_xml",
            "]<]minimax[>[<o>]<]minimax[>[<k>x]<]minimax[>[</k>]<]minimax[>[</o>",
            "]<]minimax[>[<p>]<]minimax[>[</p>",
        ),
        (
            "qwen_xml",
            "<parameter=o>\n{\"k\": \"x\"}\n</parameter>",
            "<parameter=p>\n1\n</parameter>",
        ),
    ] {
        let mut options = options(style);
        options.strictness = maskwright::json_schema::Strictness::Closed;
        check_by(&options, schema, &[accepted, ""], &[rejected]);
    }
}

#[test]
fn whitespace_of_the_options_stands_in_gaps() {
    let schema = r#"{"properties": {"a": {"type": "object"}, "s": {"enum": ["p", " q"]}}}"#;
    let mut options = options("qwen_xml");
    options.whitespace = Whitespace::Any;
    check_by(
        &options,
        schema,
        &[
            " \n\t",
            " <parameter=a> \n { \"k\" :\t1 } \n</parameter> \n <parameter=s>\np\n</parameter> ",
            "<parameter=s> q</parameter>",
        ],
        &["<parameter=s>  q</parameter>", "<parameter =s>p</parameter>"],
    );
}

#[test]
fn excluded_texts_stand_in_no_string() {
    let schema = r#"{
        "properties": {"a": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}}, "c": {"enum": ["x\"y", "z"]}},
        "additionalProperties": false
    }"#;
    let mut xml = options("mimo_xml");
    xml.excludes = vec!["x\"".to_owned(), "\\t".to_owned()];
    check_by(
        &xml,
        schema,
        &[
            "<parameter=a>\"x</parameter>",
            "<parameter=a>\\n</parameter>",
            "<parameter=l>[\"x\"]</parameter>",
            "<parameter=c>z</parameter>",
        ],
        &[
            "<parameter=a>x\"y</parameter>",
            // As it would be written in JSON.
            "<parameter=a>\t</parameter>",
            "<parameter=a>\\t</parameter>",
            "<parameter=l>[\"x\\\"\"]</parameter>",
            "<parameter=c>x\"y</parameter>",
        ],
    );
    xml.spelling = Spelling::Any;
    check_by(&xml, schema, &["<parameter=c>z</parameter>"], &["<parameter=c>x\"y</parameter>"]);
    let mut python = options("python");
    python.excludes = vec!["ab".to_owned()];
    let accepted = ["(a='a')", "(a=\"a\", l=['b'])"];
    check_by(&python, schema, &accepted, &["(a='ab')", "(a=\"ab\")", "(l=['cab'])"]);
}

#[test]
fn literals_of_python_or_json() {
    let schema = r#"{
        "properties": {
            "s": {"type": ["string", "null"], "maxLength": 4},
            "l": {"items": {"enum": ["x", 1, true, {"k": false}]}},
            "u": {"type": "array", "uniqueItems": true, "items": {"type": ["array", "boolean"]}}
        },
        "additionalProperties": false
    }"#;
    check(
        "python",
        schema,
        &[
            "(s='it', l=[True, 1, 'x', {\"k\": False}])",
            "(s=None)",
            "(s=null, l=['x', \"x\", true])",
            "(s='a\"b ')",
            "(s='\\n\\\\é')",
            "(s=\"it's\")",
            "(l='x')",
            "(u=[['True'], [True, None], true])",
        ],
        &[
            "(s='abcde')",
            "(s=none)",
            "(s='it\\'s')",
            "(s='a\n')",
            "(s='\"\\n')",
            "(l=[None])",
            "(l=['y'])",
            "(u=[[None], [null]])",
            "(u=[['x', True], [\"x\", true]])",
        ],
    );
    let options = options("python");
    let read = Schema::from_text(schema).expect("a schema");
    let read = read.read_arguments("(s='a\"', l=[True, 'x'], u=[[None, 1e2]])", &options);
    assert_eq!(read.expect("arguments"), r#"{"s":"a\"","l":[true, "x"],"u":[[null, 1e2]]}"#);
}

/// Parts of listed values are read as what they are, as those of other values.
#[test]
fn listed_values_are_read_by_their_parts() {
    for (style, schema, text, expected) in [
        (
            "qwen_xml",
            r#"{"type": "object", "enum": [{"k": "5"}, {"k": "6"}]}"#,
            "<parameter=k>\n5\n</parameter>",
            r#"{"k":"5"}"#,
        ),
        (
            "qwen_xml",
            r#"{"const": {"ok": "true", "n": 1}}"#,
            "<parameter=ok>\ntrue\n</parameter>\n<parameter=n>\n1\n</parameter>",
            r#"{"ok":"true","n":1}"#,
        ),
        // A number beyond a double.
        (
            "qwen_xml",
            r#"{"properties": {"n": {"type": ["number", "array"]}}}"#,
            "<parameter=n>\n1e+309\n</parameter>",
            r#"{"n":1e+309}"#,
        ),
        (
            "minimax_m3_xml",
            r#"{"properties": {"z": {"const": {"k": ["a"]}}}}"#,
            "]<]minimax[>[<z>]<]minimax[>[<k>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[</k>]<]minimax[>[</z>",
            r#"{"z":{"k":["a"]}}"#,
        ),
        (
            "minimax_m3_xml",
            r#"{"properties": {"z": {"enum": [["1"], ["2"]]}}}"#,
            "]<]minimax[>[<z>]<]minimax[>[<item>2]<]minimax[>[</item>]<]minimax[>[</z>",
            r#"{"z":["2"]}"#,
        ),
    ] {
        let read = Schema::from_text(schema).expect("a schema");
        let read = read.read_arguments(text, &options(style)).expect("arguments");
        assert_eq!(read, expected, "{schema}");
    }
}

#[test]
fn values_are_read_beside_their_siblings() {
    let union = r#"{"oneOf": [
        {"properties": {"kind": {"const": "text"}, "value": {"type": "string", "pattern": "^[0-9]{2}$"}},
         "required": ["kind", "value"], "additionalProperties": false},
        {"properties": {"kind": {"const": "number"}, "value": {"type": "integer"}},
         "required": ["kind", "value"], "additionalProperties": false}
    ]}"#;
    let conditional = r#"{"properties": {"a": {}, "b": {"type": "boolean"}},
        "if": {"properties": {"b": {"const": true}}}, "then": {"properties": {"a": {"type": "string"}}}}"#;
    let items = r#"{"properties": {"l": {"anyOf": [{"items": {"type": "string"}}, {"items": {"type": "integer"}}]}}}"#;
    let contains = r#"{"properties": {"l": {"contains": {"type": "string"}}}}"#;
    let parameters = |pairs: &[(&str, &str)]| {
        let one = |(key, value): &(&str, &str)| format!("<parameter={key}>\n{value}\n</parameter>");
        pairs.iter().map(one).collect::<Vec<_>>().join("\n")
    };
    let list = |items: &[&str]| {
        let one = |item: &&str| format!("]<]minimax[>[<item>{item}]<]minimax[>[</item>");
        let items: String = items.iter().map(one).collect();
        format!("]<]minimax[>[<l>{items}]<]minimax[>[</l>")
    };
    for (style, schema, text, expected) in [
        (
            "qwen_xml",
            union,
            parameters(&[("kind", "text"), ("value", "54")]),
            r#"{"kind":"text","value":"54"}"#,
        ),
        (
            "qwen_xml",
            union,
            parameters(&[("value", "54"), ("kind", "text")]),
            r#"{"value":"54","kind":"text"}"#,
        ),
        (
            "qwen_xml",
            union,
            parameters(&[("value", "54"), ("kind", "number")]),
            r#"{"value":54,"kind":"number"}"#,
        ),
        (
            "qwen_xml",
            conditional,
            parameters(&[("a", "1"), ("b", "true")]),
            r#"{"a":"1","b":true}"#,
        ),
        (
            "qwen_xml",
            conditional,
            parameters(&[("a", "1"), ("b", "false")]),
            r#"{"a":1,"b":false}"#,
        ),
        ("minimax_m3_xml", items, list(&["1", "x"]), r#"{"l":["1","x"]}"#),
        ("minimax_m3_xml", items, list(&["1", "2"]), r#"{"l":[1,2]}"#),
        ("minimax_m3_xml", contains, list(&["1", "2"]), r#"{"l":[1,"2"]}"#),
    ] {
        let read = Schema::from_text(schema).expect("a schema");
        let read = read.read_arguments(&text, &options(style)).expect("arguments");
        assert_eq!(read, expected, "{text}");
    }
    // More values than readings may wait: each is decided where it ends.
    let many: Vec<String> = (0..40).map(|i| format!("k{i}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|key| (key.as_str(), "1")).collect();
    let read = Schema::from_text(r#"{"anyOf": [{"required": ["k1"]}, {"required": ["k2"]}]}"#);
    let read = read.expect("a schema").read_arguments(&parameters(&many), &options("qwen_xml"));
    assert!(read.expect("arguments").contains(r#""k39":1"#));
}

#[test]
fn keys_that_are_written_twice() {
    let schema = r#"{
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": {"type": ["string", "array"], "items": {"type": "null"}},
        "propertyNames": {"pattern": "^[a-c]*$"},
        "maxProperties": 2
    }"#;
    let sign = "]<]minimax[>[";
    let member = |begin: &str, value: &str, end: &str| {
        format!("{sign}<{begin}>{}{sign}</{end}>", value.replace('^', sign))
    };
    let accepted = [
        String::new(),
        member("a", "1", "a"),
        member("bb", "x</bb>", "bb"),
        member("c", "^<item>null^</item>", "c") + &member("bb", "", "bb"),
    ];
    let rejected = [
        member("bb", "x", "b"),
        member("b", "x", "bb"),
        member("b", "x", ""),
        member("bb", "x", "a"),
        member("b", "x", "b") + &member("b", "x", "b"),
        member("d", "x", "d"),
    ];
    let texts = |texts: &[String]| -> Vec<&'static str> {
        texts.iter().map(|text| &*text.clone().leak()).collect()
    };
    check("minimax_m3_xml", schema, &texts(&accepted), &texts(&rejected));
}

/// A budget leaves room for the second time that a key is written.
#[test]
fn keys_that_are_written_twice_within_a_budget() {
    let long = ["abcabcabc", "abc>]<]minimax[>[", "bca>x]<]minimax[>[</", "</abc", "xyzxyz"];
    let bytes = (0..=255u8).map(|byte| Some(vec![byte])).chain([None]);
    let tokens = bytes.chain(long.map(|text| Some(text.as_bytes().to_vec()))).collect();
    let vocabulary = maskwright::Vocabulary::from_tokens(tokens, &[(256, "<eos>")], &[256]);
    let compiler = maskwright::Compiler::new(vocabulary.expect("a vocabulary"));
    let compiler = compiler.with_json_options(options("minimax_m3_xml"));
    let schema = serde_json::json!({"minProperties": 2, "propertyNames": {"pattern": "^[abc]{3}"},
        "additionalProperties": {"type": "string"}});
    let constraint = compiler.json_schema(&schema).expect("a constraint");
    let mut random = 5u64;
    let mut draw = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (random >> 33) as usize % below
    };
    for _ in 0..24 {
        let mut matcher = constraint.matcher();
        let budget = matcher.tokens_to_finish().expect("a way").tokens + draw(90) as u32;
        let mut text = Vec::new();
        for step in 0..=budget {
            let mask = matcher.mask_within(budget - step).expect("a mask").clone();
            let mut allowed: Vec<u32> = mask.iter().filter(|&token| token != 256).collect();
            // Long keys.
            let keys = allowed.iter().copied().filter(|&t| t > 256 || (97..100).contains(&t));
            let keys: Vec<u32> = keys.collect();
            if !keys.is_empty() && draw(3) > 0 {
                allowed = keys;
            }
            if allowed.is_empty() || matcher.is_accepting() && draw(4) == 0 {
                break;
            }
            let token = allowed[draw(allowed.len())];
            matcher.accept(token).expect("an allowed token");
            text.extend_from_slice(constraint.vocabulary().token_bytes(token).unwrap_or_default());
        }
        assert!(matcher.is_accepting(), "{budget}: {}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn what_a_style_cannot_spell() {
    let error = |style: &str, schema: &str| {
        let grammar = Schema::from_text(schema).and_then(|s| s.grammar(&options(style)));
        grammar.map(|_| ()).expect_err(schema).to_string()
    };
    let found = error("qwen_xml", r#"{"type": "string"}"#);
    assert!(found.contains("the style `qwen_xml` can write no value"), "{found}");
    for schema in [
        r#"{"required": ["a>b"]}"#,
        r#"{"required": ["a"], "properties": {"a": {"const": "</parameter>"}}}"#,
        r#"{"required": ["a"], "properties": {"a": {"type": "string", "pattern": "</parameter>"}}}"#,
    ] {
        let found = error("qwen_xml", schema);
        assert!(found.contains("can write no value"), "{found}");
    }
    let found = error("python", r#"{"required": ["a-b"]}"#);
    assert!(found.contains("keys are identifiers"), "{found}");
    check(
        "qwen_xml",
        r#"{"properties": {"a": {"enum": ["</parameter>", "b"]}}, "required": ["a"]}"#,
        &["<parameter=a>b</parameter>"],
        &["<parameter=a></parameter></parameter>"],
    );
    let unique = r#"{"properties": {"a": {"uniqueItems": true}}, "additionalProperties": false}"#;
    let found = error("cohere_xml", unique);
    assert!(found.contains("`uniqueItems`"), "{found}");
    let compiler = common::byte_compiler().with_json_options(options("qwen_xml"));
    let formula = serde_json::json!({"not": {"schema": {}}});
    let found = maskwright::constraint::Formula::read(&formula, &compiler)
        .and_then(|formula| formula.grammar());
    let found = found.expect_err("a style").to_string();
    assert!(found.contains("in the style `qwen_xml`"), "{found}");
    assert!(Style::named("xml").is_err_and(|error| error.to_string().contains("qwen_xml")));
    let _ = constraint("json", "true");
}

/// Arguments of every kind.
const EXAMPLE_SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "s": {"type": "string"},
        "n": {"type": "number"},
        "b": {"type": ["boolean", "null"]},
        "l": {"type": "array", "items": {"type": ["string", "integer"]}},
        "o": {"type": "object", "properties": {"k": {"enum": ["x", 1]}}, "additionalProperties": false}
    },
    "required": ["s", "n", "b", "l", "o"],
    "additionalProperties": false
}"#;

/// Arguments by [`EXAMPLE_SCHEMA`] in the documented form of each style.
const EXAMPLES: [(&str, &str); 12] = [
    ("json", r#"{"s": "a \"b\"", "n": 2.5, "b": null, "l": ["x", 1], "o": {"k": "x"}}"#),
    (
        "qwen_xml",
        "<parameter=s>\na \"b\"\n</parameter>\n<parameter=n>\n2.5\n</parameter>\n<parameter=b>\nnull\n</parameter>\n\
         <parameter=l>\n[\"x\", 1]\n</parameter>\n<parameter=o>\n{\"k\": \"x\"}\n</parameter>",
    ),
    (
        "mimo_xml",
        "<parameter=s>a \"b\"</parameter><parameter=n>2.5</parameter><parameter=b>null</parameter>\
         <parameter=l>[\"x\", 1]</parameter><parameter=o>{\"k\": \"x\"}</parameter>",
    ),
    (
        "minimax_xml",
        "<parameter name=\"s\">a \"b\"</parameter>\n<parameter name=\"n\">2.5</parameter>\n<parameter name=\"b\">null</parameter>\n\
         <parameter name=\"l\">[\"x\", 1]</parameter>\n<parameter name=\"o\">{\"k\": \"x\"}</parameter>",
    ),
    (
        "deepseek_xml",
        "<｜DSML｜parameter name=\"s\" string=\"true\">a \"b\"</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"n\" string=\"false\">2.5</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"b\" string=\"false\">null</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"l\" string=\"false\">[\"x\", 1]</｜DSML｜parameter>\n\
         <｜DSML｜parameter name=\"o\" string=\"false\">{\"k\": \"x\"}</｜DSML｜parameter>",
    ),
    (
        "deepseek_v4_1_xml",
        "<｜DSML｜ parameter name=\"s\" string=\"true\">a \"b\"</｜DSML｜ parameter>\n\
         <｜DSML｜ parameter name=\"n\" string=\"false\">2.5</｜DSML｜ parameter>\n\
         <｜DSML｜ parameter name=\"b\" string=\"false\">null</｜DSML｜ parameter>\n\
         <｜DSML｜ parameter name=\"l\" string=\"false\">[\"x\", 1]</｜DSML｜ parameter>\n\
         <｜DSML｜ parameter name=\"o\" string=\"false\">{\"k\": \"x\"}</｜DSML｜ parameter>",
    ),
    (
        "glm_xml",
        "<arg_key>s</arg_key>\n<arg_value>a \"b\"</arg_value>\n<arg_key>n</arg_key><arg_value>2.5</arg_value>\
         <arg_key>b</arg_key>\n<arg_value>null</arg_value>\n<arg_key>l</arg_key>\n<arg_value>[\"x\", 1]</arg_value>\n\
         <arg_key>o</arg_key>\n<arg_value>{\"k\": \"x\"}</arg_value>",
    ),
    (
        "kimi_k3_xml",
        "<|open|>argument key=\"s\" type=\"string\"<|sep|>a \"b\"<|close|>argument<|sep|>\
         <|open|>argument key=\"n\" type=\"number\"<|sep|>2.5<|close|>argument<|sep|>\
         <|open|>argument key=\"b\" type=\"null\"<|sep|>null<|close|>argument<|sep|>\
         <|open|>argument key=\"l\" type=\"array\"<|sep|>[\"x\",1]<|close|>argument<|sep|>\
         <|open|>argument key=\"o\" type=\"object\"<|sep|>{\"k\":\"x\"}<|close|>argument<|sep|>",
    ),
    (
        "cohere_xml",
        "<cofl:value name=\"s\" type=\"raw\">a \"b\"</cofl:value><cofl:value name=\"n\" type=\"json\">2.5</cofl:value>\
         <cofl:value name=\"b\" type=\"json\">null</cofl:value><cofl:value name=\"l\" type=\"list\">\
         <cofl:value type=\"raw\">x</cofl:value><cofl:value type=\"json\">1</cofl:value></cofl:value>\
         <cofl:value name=\"o\" type=\"dict\"><cofl:value name=\"k\" type=\"raw\">x</cofl:value></cofl:value>",
    ),
    (
        "minimax_m3_xml",
        "]<]minimax[>[<s>a \"b\"]<]minimax[>[</s>]<]minimax[>[<n>2.5]<]minimax[>[</n>]<]minimax[>[<b>null]<]minimax[>[</b>\
         ]<]minimax[>[<l>]<]minimax[>[<item>x]<]minimax[>[</item>]<]minimax[>[<item>1]<]minimax[>[</item>]<]minimax[>[</l>\
         ]<]minimax[>[<o>]<]minimax[>[<k>x]<]minimax[>[</k>]<]minimax[>[</o>",
    ),
    ("gemma_4", "{s:<|\"|>a \"b\"<|\"|>,n:2.5,b:null,l:[<|\"|>x<|\"|>,1],o:{k:<|\"|>x<|\"|>}}"),
    ("python", "(s=\"a \\\"b\\\"\", n=2.5, b=null, l=[\"x\", 1], o={\"k\": \"x\"})"),
];

#[test]
fn each_style_by_an_example() {
    assert!(Style::names().eq(EXAMPLES.iter().map(|(style, _)| *style)));
    for (style, text) in EXAMPLES {
        // Cut short, with another value, and with a member twice.
        let short = &text[..text.len() - 1];
        let other = text.replacen("2.5", "2.5x", 1);
        let twice = format!("{text}{text}");
        check(style, EXAMPLE_SCHEMA, &[text], &[short, &other, &twice, ""]);
    }
}

/// Names in the signs of each style that a vocabulary may have as special tokens.
const SIGN_TOKENS: [(&str, &[&str]); 10] = [
    ("qwen_xml", &["</parameter>"]),
    ("mimo_xml", &["</parameter>"]),
    ("minimax_xml", &["</parameter>"]),
    ("deepseek_xml", &["｜DSML｜"]),
    ("deepseek_v4_1_xml", &["｜DSML｜"]),
    ("glm_xml", &["<arg_key>", "<arg_value>", "</arg_value>"]),
    ("kimi_k3_xml", &["<|open|>", "<|close|>", "<|sep|>"]),
    ("cohere_xml", &["</cofl:value>"]),
    ("minimax_m3_xml", &["]<]minimax[>["]),
    ("gemma_4", &["<|\"|>"]),
];

/// A text in tokens that are bytes, and special ones, whose ids begin at 257.
fn tokens_of(text: &str, special: &[&str]) -> Vec<u32> {
    let (mut tokens, mut rest) = (Vec::new(), text.as_bytes());
    while let Some(&byte) = rest.first() {
        let named = special.iter().position(|name| rest.starts_with(name.as_bytes()));
        let (token, length) = match named {
            Some(index) => (257 + index as u32, special[index].len()),
            None => (byte.into(), 1),
        };
        tokens.push(token);
        rest = &rest[length..];
    }
    tokens
}

/// Where the vocabulary has a name in a sign as a special token, the sign is written with that token
/// alone, and the token stands nowhere else.
#[test]
fn signs_are_special_tokens_where_the_vocabulary_has_them() {
    for (style, special) in SIGN_TOKENS {
        let ids: Vec<(u32, &str)> =
            [(256, "<eos>")].into_iter().chain((257..).zip(special.iter().copied())).collect();
        let bytes = (0..=255u8).map(|byte| Some(vec![byte])).collect();
        let vocabulary = maskwright::Vocabulary::from_tokens(bytes, &ids, &[256]).expect("tokens");
        let compiler = maskwright::Compiler::new(vocabulary).with_json_options(options(style));
        let schema: Value = serde_json::from_str(EXAMPLE_SCHEMA).expect("a schema");
        let constraint = compiler.json_schema(&schema).expect("a constraint");
        let (_, text) = EXAMPLES.iter().find(|(named, _)| *named == style).expect("an example");
        let tokens = tokens_of(text, special);
        assert!(tokens.iter().any(|&token| token > 256), "{style}");
        let mut matcher = constraint.matcher();
        for &next in &tokens {
            let mask = matcher.mask().expect("a mask").clone();
            for token in 0..constraint.vocabulary().len() as u32 {
                let accepted = matcher.clone().accept(token).is_ok();
                assert_eq!(mask.contains(token), accepted, "{style}: token {token}");
            }
            matcher.accept(next).unwrap_or_else(|error| panic!("{style}: {next}: {error}"));
        }
        assert!(matcher.is_accepting(), "{style}");
        assert!(!common::accepts(&constraint, text), "{style} accepts its signs as text");
        for at in (0..tokens.len()).filter(|&at| tokens[at] > 256) {
            let mut matcher = constraint.matcher();
            let name = special[tokens[at] as usize - 257];
            let before = tokens[..at].iter().all(|&token| matcher.accept(token).is_ok());
            let spelled = before && matcher.accept_bytes(name.as_bytes()).is_ok();
            let rest =
                spelled && tokens[at + 1..].iter().all(|&token| matcher.accept(token).is_ok());
            assert!(!rest || !matcher.is_accepting(), "{style}: {name} as text");
        }
    }
    let ids = [(256, "<eos>"), (257, "</arg_key>")];
    let bytes = (0..=255u8).map(|byte| Some(vec![byte])).collect();
    let vocabulary = maskwright::Vocabulary::from_tokens(bytes, &ids, &[256]).expect("tokens");
    let compiler = maskwright::Compiler::new(vocabulary).with_json_options(options("glm_xml"));
    let error = compiler.json_schema(&serde_json::json!({})).expect_err("a special token");
    assert!(error.to_string().contains("ends keys with `</arg_key>`"), "{error}");
}

/// Schemas of arguments in which keywords meet each other.
const SCHEMAS: &[&str] = &[
    r#"{"properties": {"city": {"type": "string", "maxLength": 6}, "days": {"type": "integer", "minimum": 1}},
        "required": ["city"], "additionalProperties": false}"#,
    r#"{"properties": {"u": {"type": ["string", "integer", "null"], "minimum": 10, "maxLength": 3}},
        "required": ["u"], "additionalProperties": false}"#,
    r#"{"properties": {"a": {"enum": ["x", 1, null, [1, "y"], {"k": "</parameter>"}]}, "b": {"const": "\n\"\\"}},
        "minProperties": 1, "additionalProperties": false}"#,
    r#"{"properties": {"s": {"type": "string", "pattern": "^[a-c\n ]+$", "not": {"pattern": "ab|ca"}, "maxLength": 4}},
        "required": ["s"], "additionalProperties": false}"#,
    r#"{"properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}}, "required": ["a"],
        "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]},
        "else": {"properties": {"b": {"const": true}}}, "additionalProperties": false}"#,
    r#"{"properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}, "c": {"type": "string", "maxLength": 1}},
        "additionalProperties": false, "minProperties": 2, "dependentRequired": {"a": ["c"]}}"#,
    r##"{"$defs": {"t": {"type": "object", "properties": {"v": {"type": "boolean"}, "l": {"$ref": "#/$defs/t"},
        "s": {"type": "array", "items": {"anyOf": [{"type": "string", "maxLength": 2}, {"$ref": "#/$defs/t"}]}, "maxItems": 3}},
        "required": ["v"], "additionalProperties": false}}, "$ref": "#/$defs/t"}"##,
    r#"{"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties":
        {"a": {"type": "null"}, "b": {"type": "string", "minLength": 1, "maxLength": 2}}, "additionalProperties": false}"#,
    r#"{"properties": {"o": {"type": "object", "properties": {"p": {"type": "string"}, "q": {"type": "number"}},
        "required": ["p"], "additionalProperties": false}, "l": {"type": "array", "items": {"enum": ["a", "b", 3]},
        "contains": {"const": 3}, "maxItems": 4}}, "required": ["o", "l"], "additionalProperties": false}"#,
];

/// Schemas with keys that have no name of their own.
const OPEN_SCHEMAS: &[&str] = &[
    "true",
    r#"{"patternProperties": {"^a": {"type": "null"}, "b$": {"type": ["null", "string"], "maxLength": 2}},
        "additionalProperties": false, "maxProperties": 2}"#,
    r#"{"properties": {"k": {"type": "string"}}, "additionalProperties": {"type": "integer"},
        "propertyNames": {"maxLength": 2}, "minProperties": 1}"#,
];

/// Whether some reading of a text is valid, by an independent parser and validator. Numbers that no
/// double holds are not looked at.
fn is_valid(style: &str, valid: &jsonschema::Validator, text: &str) -> Option<bool> {
    let has_exponent = |pair: &[u8]| pair[0].is_ascii_digit() && matches!(pair[1], b'e' | b'E');
    if text.as_bytes().windows(2).any(has_exponent) {
        return None;
    }
    Some(notations::readings(style, text)?.iter().any(|value| valid.is_valid(value)))
}

#[test]
fn drawn_texts_are_valid_and_near_misses_are_not() {
    // Texts of each schema in each style; by default, of a third of these pairs.
    let asked = std::env::var("MASKWRIGHT_STYLE_TEXTS").ok();
    let many = asked.as_ref().map_or(2, |n| n.parse().expect("a number"));
    let (mut drawn, mut missed) = (0, 0);
    for (turn, style) in Style::names().skip(1).enumerate() {
        let mut options = options(style);
        options.property_order = PropertyOrder::Any;
        options.whitespace = Whitespace::Any;
        options.spelling = Spelling::Any;
        for (seed, schema) in SCHEMAS.iter().chain(OPEN_SCHEMAS).enumerate() {
            if asked.is_none() && (seed + turn) % 3 > 0 {
                continue;
            }
            let constraint = by(&options, schema);
            let value: Value = serde_json::from_str(schema).expect("a schema");
            let valid = jsonschema::validator_for(&value).expect("a schema");
            let schema = Schema::from_text(schema).expect("a schema");
            let mut texts = Texts::new(&constraint, seed as u64).expect("texts");
            for _ in 0..many {
                let text = texts.draw().expect("a text");
                let shown = String::from_utf8(text.clone()).expect("UTF-8");
                let Some(said) = is_valid(style, &valid, &shown) else { continue };
                assert!(said, "{style}: {value} draws {shown:?}");
                let read = schema.read_arguments(&shown, &options).expect("arguments");
                let read: Value = serde_json::from_str(&read).expect("JSON");
                assert!(valid.is_valid(&read), "{style}: {value} reads {shown:?} as {read}");
                drawn += 1;
                let Ok(Some(miss)) = texts.near_miss(&text) else { continue };
                let Ok(miss) = String::from_utf8(miss) else { continue };
                if let Some(said) = is_valid(style, &valid, &miss) {
                    assert!(!said, "{style}: {value} rejects {miss:?}");
                    missed += 1;
                }
            }
        }
    }
    println!("{drawn} texts, {missed} near misses");
}

/// Instances of real schemas as each style writes them.
#[test]
fn maskbench_instances() {
    let Some(folder) = corpus("maskbench") else { return };
    let stride =
        std::env::var("MASKWRIGHT_STYLE_STRIDE").map_or(291, |n| n.parse().expect("a number"));
    let lines: Vec<String> = files(&folder, "jsonl")
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a file"))
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for style in Style::names().skip(1) {
        let mut options = options(style);
        options.property_order = PropertyOrder::Any;
        let compiler = common::byte_compiler().with_json_options(options);
        let (mut accepted, mut rejected, mut unspelled, mut refused) = (0, 0, 0, 0);
        for line in lines.iter().step_by(stride) {
            let entry: Value = serde_json::from_str(line).expect("an entry");
            let name = &entry["id"];
            let constraint = match compiler.json_schema(&entry["schema"]) {
                Ok(constraint) => constraint,
                Err(error) if error.kind() == ErrorKind::Unsatisfiable => continue,
                Err(error) => {
                    let is_known = error.to_string().contains("`uniqueItems`");
                    assert!(is_known, "{style}: {name}: {error}");
                    refused += 1;
                    continue;
                }
            };
            for test in entry["tests"].as_array().expect("tests") {
                let Some(text) = notations::written(style, &test["data"]) else {
                    unspelled += 1;
                    continue;
                };
                let said = common::rejected_at(&constraint, &text);
                let is_exact = notations::readings(style, &text).is_some_and(|all| all.len() == 1);
                match test["valid"].as_bool() {
                    Some(true) => {
                        assert!(said.is_none(), "{style}: {name} rejects {text:?} at {said:?}");
                        accepted += 1;
                    }
                    _ if is_exact => {
                        assert!(said.is_some(), "{style}: {name} accepts {text:?}");
                        rejected += 1;
                    }
                    _ => {}
                }
            }
        }
        println!(
            "{style}: {accepted} accepted, {rejected} rejected, {unspelled} unspelled, {refused} refused"
        );
    }
}
