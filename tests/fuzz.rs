//! Damaged input for every reader: no panic, and an error that says something.
//!
//! A valid text is changed in a few places, or bytes are made up altogether. Whatever is accepted
//! is also used for a few steps. This runs as an ordinary test on the stable compiler, so that it
//! cannot rot; proptest makes a failing input small and prints it. `PROPTEST_CASES` says how many
//! inputs each reader gets.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fmt;
use std::sync::LazyLock;

use maskwright::ebnf::{Dialect, builtin};
use maskwright::sample::{Bounds, Texts};
use maskwright::{Compiler, Constraint, Limits};
use maskwright::{Result, Vocabulary};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// One change of a text, at a place that depends on the text's length.
#[derive(Clone, Debug)]
enum Edit {
    Replace(Index, u8),
    Insert(Index, &'static str),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Truncate(Index),
    /// In JSON: a value takes the place of another.
    Value(Index, Index),
}

/// Texts that mean something to one reader or another.
const WORDS: &[&str] = &[
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "*",
    "+",
    "?",
    "|",
    "^",
    "$",
    "-",
    ":",
    ",",
    "<",
    ">",
    "0",
    "-1",
    "1e400",
    "99999999999999999999",
    "null",
    "true",
    "é",
    "\u{10FFFF}",
    "\\u",
    "\\uD800",
    "\\x{110000}",
    "\\p{L}",
    "(?=",
    "(?:",
    "{2,1}",
    "{1000000}",
    "{0,4000000000}",
    "::=",
    "root",
    "\n",
    "#",
    "&",
    "~",
    "$ref",
    "\0",
    "\u{FEFF}",
    " ",
    "%",
    "/",
    "\\d",
    "[^]",
    ".",
];

fn edit() -> impl Strategy<Value = Edit> {
    let place = any::<Index>;
    prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (place(), prop::sample::select(WORDS)).prop_map(|(at, word)| Edit::Insert(at, word)),
        (place(), 1..20usize).prop_map(|(at, len)| Edit::Remove(at, len)),
        (place(), 1..20usize, 1..60usize).prop_map(|(at, len, n)| Edit::Repeat(at, len, n)),
        place().prop_map(Edit::Truncate),
        (place(), place()).prop_map(|(at, from)| Edit::Value(at, from)),
        (place(), place()).prop_map(|(at, from)| Edit::Value(at, from)),
    ]
}

impl Edit {
    fn apply(&self, text: &mut Vec<u8>) {
        let place = |at: &Index| at.index(text.len() + 1);
        match self {
            Self::Replace(at, byte) => {
                let at = place(at);
                text.splice(at..(at + 1).min(text.len()), [*byte]);
            }
            Self::Insert(at, word) => {
                let at = place(at);
                text.splice(at..at, word.bytes());
            }
            Self::Remove(at, len) => {
                let at = place(at);
                text.drain(at..(at + len).min(text.len()));
            }
            Self::Repeat(at, len, times) => {
                let at = place(at);
                let part = text[at..(at + len).min(text.len())].repeat(*times);
                text.splice(at..at, part);
            }
            Self::Truncate(at) => text.truncate(place(at)),
            Self::Value(at, from) => {
                if let Ok(mut json) = serde_json::from_slice::<Value>(text) {
                    let mut pointers = Vec::new();
                    collect_pointers(&json, String::new(), &mut pointers);
                    let odd = [json!(null), json!(-1), json!(1.5), json!(""), json!([]), json!({})];
                    let others = pointers.iter().filter_map(|pointer| json.pointer(pointer));
                    let values: Vec<Value> = others.cloned().chain(odd).collect();
                    let value = values[from.index(values.len())].clone();
                    if let Some(place) = json.pointer_mut(&pointers[at.index(pointers.len())]) {
                        *place = value;
                    }
                    *text = json.to_string().into_bytes();
                }
            }
        }
    }
}

/// The JSON pointers of a value and of all values in it.
fn collect_pointers(json: &Value, pointer: String, out: &mut Vec<String>) {
    match json {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect_pointers(item, format!("{pointer}/{i}"), out);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect_pointers(member, format!("{pointer}/{key}"), out);
            }
        }
        _ => {}
    }
    out.push(pointer);
}

/// A text that is shown as one where a test fails.
#[derive(Clone)]
struct Damaged(Vec<u8>);

impl fmt::Debug for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// A changed seed, or bytes of no sense at all.
fn damaged(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Damaged> {
    let changed = (prop::sample::select(seeds), prop::collection::vec(edit(), 0..4));
    let changed = changed.prop_map(|(mut text, edits)| {
        edits.iter().for_each(|edit| edit.apply(&mut text));
        text
    });
    let all = prop_oneof![9 => changed, 1 => prop::collection::vec(any::<u8>(), 0..60)];
    all.prop_map(Damaged)
}

/// Feeds damaged forms of the seeds to a reader. An error must be one line that says something.
fn feed(seeds: &[impl AsRef<[u8]>], read: impl Fn(&[u8]) -> Result<()>) {
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_ref().to_vec()).collect();
    let sound = seeds.iter().filter(|seed| match read(seed) {
        Ok(()) => true,
        Err(error) => {
            println!("refused as it is: {error}");
            false
        }
    });
    assert!(sound.count() > 0, "every seed is damaged from the start");
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let outcome = proptest::test_runner::TestRunner::new(config).run(&damaged(seeds), |text| {
        let words = read(&text.0).err().map(|error| error.to_string());
        let fine = words.as_ref().is_none_or(|words| !words.is_empty() && !words.contains('\n'));
        prop_assert!(fine, "an error of no use: {words:?}");
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Grammar texts that the library's own sampler writes from a grammar of such texts, and near-misses
/// of them: those reach what no damage to a few seeds would.
fn written(dialect: Dialect, grammar: &str) -> Vec<Vec<u8>> {
    const TEXTS: usize = 60;
    let constraint = COMPILER.grammar_by_rules(grammar, dialect).unwrap();
    let bounds = Bounds { max_bytes: 120, ..Bounds::default() };
    let mut texts = Texts::new(&constraint, 5).unwrap().within(bounds);
    let mut all = Vec::new();
    for _ in 0..TEXTS {
        let text = texts.draw().unwrap();
        all.extend(texts.near_miss(&text).unwrap());
        all.push(text);
    }
    assert!(texts.coverage().rules.is_complete(), "{dialect}: some rule was never written");
    all
}

/// The same, each read as it is; so many of them must be sound.
fn read_written(texts: &[Vec<u8>], least: usize, read: impl Fn(&[u8]) -> Result<()>) {
    let refused = texts.iter().filter_map(|text| read(text).err());
    let refused: Vec<String> = refused.map(|error| error.to_string()).collect();
    assert!(refused.iter().all(|words| !words.is_empty() && !words.contains('\n')), "{refused:?}");
    let sound = texts.len() - refused.len();
    assert!(sound >= least, "only {sound} of {} are sound: {refused:?}", texts.len());
}

/// Looks at all that a vocabulary says of itself.
fn use_vocabulary(vocabulary: &Vocabulary) {
    for id in (0..vocabulary.len() as u32).take(1_000) {
        let text = vocabulary.decode(&[id]);
        assert_eq!(vocabulary.token_bytes(id).unwrap_or_default(), text);
        assert!(!vocabulary.token_name(id).is_empty());
    }
}

/// Every byte and some longer tokens; limits that an accident should not take long to reach.
static COMPILER: LazyLock<Compiler> = LazyLock::new(|| {
    let longer = ["\"}", "\": \"", "{\"", "abc", "12", "  ", "é", "\\n"];
    let bytes = (0..=255).map(|byte| vec![byte]);
    let tokens = bytes.chain(longer.map(|text| text.as_bytes().to_vec())).map(Some).collect();
    let vocabulary = Vocabulary::from_tokens(tokens, &[(300, "<|end|>"), (301, "<tool>")], &[300]);
    let limits =
        Limits { grammar_size: 20_000, language_states: 20_000, depth: 200, ..Limits::default() };
    Compiler::new(vocabulary.expect("the vocabulary is sound")).with_limits(limits)
});

/// Takes a few tokens, different ones for different constraints. A mask may reach a limit, but what
/// it allows must be accepted, and never leads to where nothing is allowed.
fn use_constraint(constraint: &Constraint) {
    let mut matcher = constraint.matcher();
    for step in 0..12 {
        let Ok(mask) = matcher.mask() else { return };
        let allowed: Vec<u32> = mask.iter().collect();
        assert!(!allowed.is_empty() || matcher.is_finished(), "a dead end after {step} tokens");
        let Some(&token) = allowed.get(step * 7 % allowed.len().max(1)) else { return };
        if let Err(error) = matcher.accept(token) {
            assert_eq!(error.kind(), maskwright::ErrorKind::Limit, "{error}");
            return;
        }
    }
}

/// A reader of text, which bytes that are no UTF-8 never reach.
fn text_reader(read: impl Fn(&str) -> Result<Constraint>) -> impl Fn(&[u8]) -> Result<()> {
    move |bytes| match std::str::from_utf8(bytes) {
        Ok(text) => read(text).map(|constraint| use_constraint(&constraint)),
        Err(_) => Ok(()),
    }
}

#[test]
fn regexes() {
    let seeds = [
        r"[0-9]{4}-(0[1-9]|1[0-2])|\p{Greek}+?",
        r"(?i)(?:ab*|\bé{2,5})[^\sa-f&&[b-z]]$",
        "(?x: a \\x{41} # comment\n) \\u0041 \\d\\W",
        r"(?<=a(?i:b))(?!c)[^\]]*+(?>d{2}|e)++(?<!f)$",
    ];
    feed(&seeds, text_reader(|text| COMPILER.regex(text)));
    feed(&seeds, text_reader(|text| COMPILER.regex_search(text)));
}

#[test]
fn gbnf_grammars() {
    let seeds = [
        "root ::= (\"a\" root | [^a-c\\x41\\n])* ws # comment\nws ::= | \" \" ws\n",
        "root ::= item{2,3} <tool> <[301]>\nitem ::= item \"é\" | \"\\u00e9\" . ?\n",
    ];
    feed(&seeds, text_reader(|text| COMPILER.gbnf(text)));
}

#[test]
fn lark_grammars() {
    let seeds = [
        "start: (a | B)* sep{B, \",\"} <tool> -> x\nsep{x, y}: x (y x)~1..3\na: \"x\"..\"z\" [B] // c\nB.2: /[^\\/]/i & ~\"q\" | \"é\"i{2,}\n%ignore /[ ]+/",
        "%import common (INT, WS)\n%ignore WS\nstart: t INT %json {\"type\": \"null\"} %regex {\"substring_chars\": \"ab\"}\nt[suffix=\";\"]: /.*/\n",
        "start: <[1-3,5]> | <[^2]> | <[*]> @json %lark { start: \"a\" }",
    ];
    feed(&seeds, text_reader(|text| COMPILER.lark(text)));
}

#[test]
fn w3c_grammars() {
    let seeds = [
        "[1] a ::= (b - 'x')* [wfc: c] /* c */ | \"y\" a\nb ::= [^#x20-#xD7FF&] | #xE9 | [a-z]+ - ('if' | b2)\nb2 ::= 'q'?",
    ];
    feed(&seeds, text_reader(|text| COMPILER.w3c_ebnf(text)));
}

#[test]
fn iso_grammars() {
    let seeds = [
        "a b = 3 * [c], {\"x\" | 'é'}, (/ c /) - \"y\" ; (* d (* e *) *)\nc = ? /[a-z]+/ ? | ? U+0041..U+005A ? | (: 'q' :) .\nd = a b, [d];",
    ];
    feed(&seeds, text_reader(|text| COMPILER.iso_ebnf(text)));
}

#[test]
fn abnf_grammars() {
    let seeds = [
        "a = *b 1*2(\"c\" / %s\"D\") [%x41-5A] ; e\n  3DIGIT\nb = %d13.10 / CRLF a\nb =/ %b1010\n",
    ];
    feed(&seeds, text_reader(|text| COMPILER.abnf(text)));
}

#[test]
fn texts_that_the_sampler_writes() {
    let regex = builtin("regex").unwrap();
    let texts = written(regex.dialect, regex.text);
    read_written(&texts, 30, text_reader(|text| COMPILER.regex(text)));
    feed(&texts, text_reader(|text| COMPILER.regex(text)));

    // Each dialect in itself, with the few names that make most texts whole.
    let gbnf = r##"root ::= "root ::= " body "\n" "a ::= " body "\n"
        body ::= seq (" | " seq)*
        seq ::= item (" " item)*
        item ::= atom ([*+?] | "{" [0-3] ("," [3-9]?)? "}")?
        atom ::= "\"" char* "\"" | "[" "^"? char+ "]" | "(" body ")" | "a" | "." | "!"? "<[" [0-9] "]>"
        char ::= [b-z] | "\\n" | "\\x4" [0-9A-F] | "é""##;
    let texts = written(Dialect::Gbnf, gbnf);
    read_written(&texts, 30, text_reader(|text| COMPILER.gbnf(text)));
    feed(&texts, text_reader(|text| COMPILER.gbnf(text)));

    let lark = r##"start: "start: " body "\nA: " terminal "\nt{x}: x \"-\" [x]" ("\n%ignore / /" | "\n%import common.INT")? "\n"
        body: seq (" | " seq)*
        seq: item (" " item)*
        item: atom (/[*+?]/ | "~" /[1-3]/ (".." /[3-9]/)? | "{" /[0-3]/ "," /[3-9]/? "}")?
        atom: terminal | "(" body ")" | "[" body "]" | "t{" body "}" | "A"
        terminal: "\"" /[b-z]+/ "\"" "i"? | "\"a\"..\"" /[a-z]/ "\"" | "/" /[b-z.]+/ "/" /[ims]/?"##;
    let texts = written(Dialect::Lark, lark);
    read_written(&texts, 30, text_reader(|text| COMPILER.lark(text)));
    feed(&texts, text_reader(|text| COMPILER.lark(text)));

    let w3c = r##"grammar ::= "[1] a ::= " body #xA "b ::= " body #xA
        body ::= seq (" | " seq)*
        seq ::= item (" " item)*
        item ::= (atom | "(" body ")") [*+?]? | cls " - '" [a-z] "'"
        cls ::= "[" "^"? ([a-f] | [a-c] "-" [d-f] | "#x4" [0-9])+ "]"
        atom ::= cls | "'" [a-z]+ "'" | '"' [a-z]* '"' | "#x" [1-9A-D] | "b""##;
    let texts = written(Dialect::W3c, w3c);
    read_written(&texts, 30, text_reader(|text| COMPILER.w3c_ebnf(text)));
    feed(&texts, text_reader(|text| COMPILER.w3c_ebnf(text)));

    let iso = r##"syntax = "a = ", body, ";b c = ", body, ";";
        body = seq, {"|", seq};
        seq = [times], atom, {",", [times], atom};
        times = ("2" | "3"), "*";
        atom = "'", letter, {letter}, "'" | "[", body, "]" | "{", body, "}" | "(", body, ")" | "b c" | "? /", letter, "/ ?" | '"', letter, '"';
        letter = "d" | "e" | "é" | "*" | ",";"##;
    let texts = written(Dialect::Iso, iso);
    read_written(&texts, 30, text_reader(|text| COMPILER.iso_ebnf(text)));
    feed(&texts, text_reader(|text| COMPILER.iso_ebnf(text)));

    // From RFC 5234, section 4, with short names.
    let abnf = r##"rules = "a = " body LF "b = " body LF
body = seq *(" / " seq)
seq = item *(" " item)
item = [times] atom
times = DIGIT / *1DIGIT "*" *1DIGIT
atom = "b" / "(" body ")" / "[" body "]" / DQUOTE *text DQUOTE / "%x" 2hex / "%d6" DIGIT "-7" DIGIT / "%s" DQUOTE 1*text DQUOTE
text = %x21 / %x23-7E
hex = "4" / "5" / "6"
"##;
    let texts = written(Dialect::Abnf, abnf);
    read_written(&texts, 30, text_reader(|text| COMPILER.abnf(text)));
    feed(&texts, text_reader(|text| COMPILER.abnf(text)));
}

#[test]
fn json_schemas() {
    let seeds = [
        r##"{"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b":
            {"$ref": "#/$defs/n"}}, "required": ["a"], "$defs": {"n": {"type": "integer",
            "minimum": -3, "exclusiveMaximum": 12.5}}, "patternProperties": {"^x": true}}"##,
        r#"{"type": "array", "prefixItems": [{"enum": [1, "a", null, {"b": []}]}], "items":
            {"anyOf": [{"const": 1e2}, {"pattern": "^a+$"}, {"not": {"type": "string"}}]},
            "minItems": 1, "maxItems": 4, "contains": {"type": "null"}}"#,
        r#"{"oneOf": [{"type": ["string", "number"], "multipleOf": 0.5, "format": "date"},
            {"allOf": [{"minProperties": 2}, {"additionalProperties": false}]}],
            "if": {"const": 1}, "then": false, "else": {"minLength": 2}}"#,
    ];
    feed(&seeds, text_reader(|text| COMPILER.json_schema_text(text)));
}

#[test]
fn tokenizer_json() {
    let byte_level = r#"{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3},"merges":["a b"]},
        "pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"ByteLevel"},
        "added_tokens":[{"id":4,"content":"<|endoftext|>","special":true}]}"#;
    let sentence_piece = r#"{"model":{"type":"BPE","byte_fallback":true,
        "vocab":{"<unk>":0,"</s>":1,"<0x00>":2,"▁":3,"a":4,"▁a":5},"merges":[["▁","a"]]},
        "decoder":{"type":"Sequence","decoders":[
            {"type":"Replace","pattern":{"String":"▁"},"content":" "},
            {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
        "added_tokens":[{"id":1,"content":"</s>","special":true}]}"#;
    feed(&[byte_level, sentence_piece], |text| {
        Vocabulary::from_tokenizer_json(text).map(|vocabulary| use_vocabulary(&vocabulary))
    });
}

#[test]
fn tiktoken() {
    feed(&["YQ== 0\nYg== 1\nYWI= 2\n"], |text| {
        Vocabulary::from_tiktoken(text).map(|vocabulary| use_vocabulary(&vocabulary))
    });
}

#[test]
fn gguf() {
    feed(&[gguf_file()], |bytes| {
        Vocabulary::from_gguf(bytes).map(|vocabulary| use_vocabulary(&vocabulary))
    });
}

/// A GGUF file of three tokens, as the specification lays it out.
fn gguf_file() -> Vec<u8> {
    const STRING: u32 = 8;
    const ARRAY: u32 = 9;
    const INT32: u32 = 5;
    const UINT32: u32 = 4;
    fn string(file: &mut Vec<u8>, text: &str) {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    }
    fn key(file: &mut Vec<u8>, name: &str, kind: u32) {
        string(file, name);
        file.extend(kind.to_le_bytes());
    }
    fn array(file: &mut Vec<u8>, name: &str, kind: u32, len: u64) {
        key(file, name, ARRAY);
        file.extend(kind.to_le_bytes());
        file.extend(len.to_le_bytes());
    }
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend(0u64.to_le_bytes());
    file.extend(5u64.to_le_bytes());
    key(&mut file, "tokenizer.ggml.model", STRING);
    string(&mut file, "gpt2");
    array(&mut file, "tokenizer.ggml.tokens", STRING, 3);
    ["a", "Ġb", "<|endoftext|>"].iter().for_each(|token| string(&mut file, token));
    array(&mut file, "tokenizer.ggml.token_type", INT32, 3);
    [1i32, 1, 3].iter().for_each(|kind| file.extend(kind.to_le_bytes()));
    array(&mut file, "tokenizer.ggml.merges", STRING, 0);
    key(&mut file, "tokenizer.ggml.eos_token_id", UINT32);
    file.extend(2u32.to_le_bytes());
    file
}
