//! Lists of texts as constraints: masks against the definition (a token may come if some text of the
//! list begins with what it makes), and schemas that name a list against `enum`s of its texts.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::json_schema::{ChoiceLists, Options, Spelling};
use maskwright::regular::ChoiceList;
use maskwright::sample::Texts;
use maskwright::{Compiler, Constraint, ErrorKind, Matcher, Vocabulary};
use serde_json::{Value, json};

/// Every byte, longer tokens within and across texts and escapes, and an end token.
fn compiler() -> Compiler {
    let longer = [
        "ab", "ba", "aab", "\"a", "a\"", "\\\"", "\\n", "\\u", "\\\\", "\\u00", "é", "aé", "😀",
        "\":", "\"}", "b\\", "1f", "\\u00e9", "ab\"", "12", "-1", ".0", "00", ".5", "e+", "1.",
    ];
    let longer = longer.iter().map(|token| token.as_bytes().to_vec());
    let half = [b"\xF0\x9F".to_vec(), b"a\xC3".to_vec()];
    let tokens = (0..=255u8).map(|b| vec![b]).chain(longer).chain(half).map(Some).chain([None]);
    let tokens: Vec<_> = tokens.collect();
    let end = tokens.len() as u32 - 1;
    Compiler::new(Vocabulary::from_tokens(tokens, &[(end, "</s>")], &[end]).unwrap())
}

/// Numbers that are the same on every machine (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn texts(&mut self) -> Vec<String> {
        let letters = ['a', 'b', 'é', '😀', '"', '\\', '\n', '\u{1f}', '/', '\u{7f}'];
        let count = 1 + self.below(12);
        let text = |random: &mut Self| {
            let length = random.below(5);
            // Mostly letters, so that texts have beginnings in common.
            let kinds = [2, letters.len()];
            (0..length).map(|_| letters[random.below(kinds[length % 2])]).collect()
        };
        (0..count).map(|_| text(self)).collect()
    }
}

/// Reads random tokens to the end and compares each mask with what `allowed` says of the text and a
/// token after it, and of the end.
fn follow(constraint: &Constraint, texts: &[Vec<u8>], random: &mut Random) {
    let vocabulary = constraint.vocabulary();
    let (mut matcher, mut written) = (constraint.matcher(), Vec::new());
    while !matcher.is_finished() {
        let begins = |text: &[u8]| texts.iter().any(|whole| whole.starts_with(text));
        let expected: Vec<u32> = (0..vocabulary.len() as u32)
            .filter(|&token| match vocabulary.token_bytes(token) {
                Some(bytes) => begins(&[&written[..], bytes].concat()),
                None => texts.contains(&written),
            })
            .collect();
        let mask: Vec<u32> = matcher.mask().unwrap().iter().collect();
        assert_eq!(mask, expected, "{written:?} of {texts:?}");
        let token = mask[random.below(mask.len())];
        written.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
        matcher.accept(token).unwrap();
    }
}

#[test]
fn masks_are_those_of_the_definition() {
    let (compiler, mut random) = (compiler(), Random(3));
    for _ in 0..60 {
        let texts = random.texts();
        let list = ChoiceList::from_texts(&texts).unwrap();
        // The same from a file, and as another program writes it.
        let mapped = ChoiceList::from_fst(list.as_fst().to_vec()).unwrap();
        let mut sorted = texts.clone();
        sorted.sort();
        sorted.dedup();
        let other = fst::Set::from_iter(&sorted).unwrap().into_fst().into_inner();
        let other = ChoiceList::from_fst(other).unwrap();
        let bytes: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let strings: Vec<Vec<u8>> =
            texts.iter().map(|text| serde_json::to_vec(text).unwrap()).collect();
        for list in [list, mapped, other] {
            assert_eq!(list.len(), sorted.len());
            follow(&compiler.choices(&list).unwrap(), &bytes, &mut random);
            let compiler = compiler.clone().with_choices("texts", list).unwrap();
            let schema = json!({"type": "string", "x-choices-from": "texts"});
            follow(&compiler.json_schema(&schema).unwrap(), &strings, &mut random);
        }
    }
}

/// Many texts: from where they are a set, and no trie, masks are those of the definition, too.
#[test]
fn long_choices_and_enums_are_lists() {
    let (compiler, mut random) = (compiler(), Random(9));
    let texts: Vec<String> = (0..1_500).map(|n| format!("ab\"{:x}é{}", n * n, n % 7)).collect();
    let bytes: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let strings: Vec<Vec<u8>> =
        texts.iter().map(|text| serde_json::to_vec(text).unwrap()).collect();
    let choice = compiler.choice(&texts).unwrap();
    let listed = compiler.json_schema(&json!({"enum": texts})).unwrap();
    for _ in 0..4 {
        follow(&choice, &bytes, &mut random);
        follow(&listed, &strings, &mut random);
    }
    let any = any_spelling(&compiler).json_schema(&json!({"enum": texts})).unwrap();
    let mut matcher = any.matcher();
    assert!(matcher.accept_bytes(br#""\u0061b\u00220\u00E90""#).is_ok() && matcher.is_accepting());
    assert!(any.matcher().accept_bytes(br#""\u0061b\u00220\u00EA"#).is_err());
}

/// Many integers: masks are those of the definition, alone and beside values of other kinds.
#[test]
fn long_enums_of_integers_are_lists() {
    let (compiler, mut random) = (compiler(), Random(17));
    let integers: Vec<i64> = (0..1_500).map(|n| (n * n * 7919) % 200_003 - 50_000).collect();
    let mut values: Vec<Value> = integers.iter().map(|&n| json!(n)).collect();
    let spelled = |values: &[Value]| -> Vec<Vec<u8>> {
        values.iter().map(|value| serde_json::to_vec(value).unwrap()).collect()
    };
    let listed = compiler.json_schema(&json!({"enum": values})).unwrap();
    let integer = compiler.json_schema(&json!({"type": "integer", "enum": values})).unwrap();
    for _ in 0..4 {
        follow(&listed, &spelled(&values), &mut random);
        follow(&integer, &spelled(&values), &mut random);
    }
    values.extend((0..1_500).map(|n| json!(format!("ab{n}"))));
    values.extend([json!(null), json!(true), json!(false)]);
    let mixed = compiler.json_schema(&json!({"enum": values})).unwrap();
    for _ in 0..6 {
        follow(&mixed, &spelled(&values), &mut random);
    }
    let within = json!({"enum": values, "type": "integer", "minimum": 0, "multipleOf": 3});
    let few: Vec<Value> =
        integers.iter().filter(|&&n| n >= 0 && n % 3 == 0).map(|&n| json!(n)).collect();
    follow(&compiler.json_schema(&within).unwrap(), &spelled(&few), &mut random);
}

/// Long lists of numbers of every kind have the masks of the same values in lists that are short
/// enough to be tries.
#[test]
fn long_enums_of_numbers_have_the_masks_of_short_ones() {
    let (compiler, mut random) = (compiler(), Random(23));
    let mut values: Vec<Value> = (0..1_200).map(|n| json!(n * 31 - 900)).collect();
    values.extend((0..300).map(|n| json!(f64::from(n) / 8.0 - 11.5)));
    values.extend(
        ["1e20", "-2.5e-9", "12345678901234567890", "5e-324", "0.0"]
            .map(|literal| serde_json::from_str::<Value>(literal).unwrap()),
    );
    values.extend([json!("12"), json!(null), json!([1, 2.0])]);
    let short: Vec<Value> = values.chunks(700).map(|part| json!({"enum": part})).collect();
    let lists = [json!({"enum": values}), json!({"anyOf": short})];
    let with = |schema: fn(&Value) -> Value| [schema(&lists[0]), schema(&lists[1])];
    let schemas = [
        with(Value::clone),
        with(|list| json!({"allOf": [{"type": "number"}, list]})),
        with(|list| json!({"allOf": [{"type": "integer"}, list]})),
        with(|list| json!({"allOf": [{"type": "number", "minimum": 3.25, "maximum": 500}, list]})),
        with(|list| json!({"allOf": [{"multipleOf": 0.5}, list, {"not": {"const": 0}}]})),
        with(|list| json!({"type": "number", "minimum": 100, "maximum": 200, "not": list})),
        with(|list| json!({"anyOf": [{"const": 0.25}, {"type": "string"}, list]})),
        with(|list| json!({"type": "array", "items": list, "uniqueItems": true, "maxItems": 2})),
    ];
    for [long, short] in &schemas {
        let [a, b] = [long, short].map(|schema| compiler.json_schema(schema).unwrap());
        for _ in 0..4 {
            same_masks(&a, &b, &mut random, &short.to_string()[..60]);
        }
    }
}

#[test]
fn a_hundred_thousand_numbers_are_a_list() {
    let compiler = compiler();
    let values: Vec<i64> = (0..100_000).map(|n| n * n % 999_983 * 1_000 + n).collect();
    let constraint = compiler.json_schema(&json!({"enum": values})).unwrap();
    let accepts = |text: &str| {
        let mut matcher = constraint.matcher();
        matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
    };
    let listed: std::collections::HashSet<i64> = values.iter().copied().collect();
    for &value in values.iter().step_by(501) {
        assert!(accepts(&value.to_string()), "{value}");
        let other = value + 1;
        assert_eq!(accepts(&other.to_string()), listed.contains(&other), "{other}");
        assert!(!accepts(&format!("{value}.0")) && !accepts(&format!("-{value}1")), "{value}");
    }
    let least = constraint.matcher().tokens_to_finish().unwrap().tokens;
    assert!(least <= 3, "{least}");
}

/// Where every spelling counts, a long list of numbers is refused, and says what would do.
#[test]
fn long_enums_of_numbers_have_canonical_spelling() {
    let compiler = any_spelling(&compiler());
    let values: Vec<i64> = (0..1_500).collect();
    let error = compiler.json_schema(&json!({"enum": values})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.place().pointer.as_deref(), Some("/enum/1000"), "{error}");
    assert!(error.help().unwrap().contains("spelling"), "{error}");
    assert!(compiler.json_schema(&json!({"enum": values[..40]})).is_ok());
}

fn any_spelling(compiler: &Compiler) -> Compiler {
    let mut options: Options = compiler.json_options().clone();
    options.spelling = Spelling::Any;
    compiler.clone().with_json_options(options)
}

/// A schema in which `list` stands for the list, by its name or written out.
fn schemas(texts: &[String]) -> Vec<[Value; 2]> {
    let list = [json!({"x-choices-from": "texts"}), json!({"enum": texts})];
    let with = |schema: fn(&Value) -> Value| [schema(&list[0]), schema(&list[1])];
    vec![
        with(|list| json!({"allOf": [{"type": "string"}, list]})),
        with(|list| json!({"allOf": [{"type": "string", "minLength": 2, "maxLength": 3}, list]})),
        with(|list| json!({"allOf": [{"type": "string", "pattern": "^a|b$"}, list]})),
        with(|list| json!({"allOf": [{"type": "string", "maxLength": 2}, {"not": list}]})),
        with(|list| json!({"type": "string", "anyOf": [{"const": "abba"}, list]})),
        with(
            |list| json!({"allOf": [{"enum": ["a", "ab", "b", "", 3]}, list, {"type": "string"}]}),
        ),
        with(|list| {
            json!({"type": "object", "additionalProperties": {"const": 1}, "minProperties": 1,
                "maxProperties": 2, "propertyNames": {"allOf": [{"type": "string"}, list]}})
        }),
        with(|list| {
            json!({"type": "array", "uniqueItems": true, "maxItems": 2,
                "items": {"allOf": [{"type": "string"}, list]}})
        }),
    ]
}

/// Beside other keywords, in both spellings, a list has the masks of an `enum`.
#[test]
fn schemas_that_name_a_list_are_those_that_write_it_out() {
    let (compiler, mut random) = (compiler(), Random(5));
    for round in 0..5 {
        let texts = random.texts();
        let list = ChoiceList::from_texts(&texts).unwrap();
        let named = compiler.clone().with_choices("texts", list).unwrap();
        for compiler in [named.clone(), any_spelling(&named)] {
            for [by_name, written_out] in schemas(&texts) {
                let [by_name, written] =
                    [&by_name, &written_out].map(|schema| compiler.json_schema(schema));
                let (by_name, written) = match (by_name, written) {
                    (Ok(by_name), Ok(written)) => (by_name, written),
                    (by_name, written) => {
                        let kinds = [by_name.err(), written.err()].map(|e| e.unwrap().kind());
                        assert_eq!(kinds, [ErrorKind::Unsatisfiable; 2], "{written_out}");
                        continue;
                    }
                };
                for _ in 0..2 {
                    same_masks(&by_name, &written, &mut random, &format!("{round}: {written_out}"));
                }
            }
        }
    }
}

fn same_masks(a: &Constraint, b: &Constraint, random: &mut Random, name: &str) {
    let (mut a, mut b) = (a.matcher(), b.matcher());
    for _ in 0..30 {
        let mask: Vec<u32> = a.mask().unwrap_or_else(|e| panic!("{name}: {e}")).iter().collect();
        assert_eq!(mask, b.mask().unwrap().iter().collect::<Vec<_>>(), "{name}");
        assert_eq!(a.forced_bytes(50).unwrap(), b.forced_bytes(50).unwrap(), "{name}");
        // Long tokens oftener than they are many.
        let long: Vec<u32> = mask.iter().copied().filter(|&token| token > 255).collect();
        let from = if random.below(2) == 0 && !long.is_empty() { &long } else { &mask };
        let token = from[random.below(from.len())];
        a.accept(token).unwrap();
        b.accept(token).unwrap();
        if a.is_finished() {
            break;
        }
    }
}

/// Budgets, samples and forced tokens on a list.
#[test]
fn texts_of_a_list_are_completed_within_a_budget_and_drawn() {
    let (compiler, mut random) = (compiler(), Random(11));
    let texts: Vec<String> =
        (0..3_000).map(|n| format!("b{}", "ab".repeat(n % 40) + &n.to_string())).collect();
    let made = ChoiceList::from_texts(&texts).unwrap();
    let mut sorted = texts.clone();
    sorted.sort();
    let other = fst::Set::from_iter(&sorted).unwrap().into_fst().into_inner();
    for list in [made, ChoiceList::from_fst(other).unwrap()] {
        let compiler = compiler.clone().with_choices("texts", list.clone()).unwrap();
        for (constraint, json) in [
            (compiler.choices(&list).unwrap(), false),
            (
                compiler
                    .json_schema(&json!({"type": "string", "x-choices-from": "texts"}))
                    .unwrap(),
                true,
            ),
        ] {
            let least = constraint.matcher().tokens_to_finish().unwrap().tokens;
            assert!(least <= 5, "{least}");
            for _ in 0..20 {
                let mut matcher = constraint.matcher();
                let budget = least + random.below(30) as u32;
                assert!(walk_within(&mut matcher, budget, &mut random), "{budget}");
            }
            let mut drawn = Texts::new(&constraint, 7).unwrap();
            for _ in 0..20 {
                let text = drawn.draw().unwrap();
                let text = String::from_utf8(text).unwrap();
                let text = if json { serde_json::from_str(&text).unwrap() } else { text };
                assert!(list.contains(text.as_bytes()), "{text}");
            }
        }
    }
}

/// Whether a walk by masks within a budget ends complete.
fn walk_within(matcher: &mut Matcher, budget: u32, random: &mut Random) -> bool {
    for left in (1..=budget).rev() {
        let mask: Vec<u32> = matcher.mask_within(left).unwrap().iter().collect();
        matcher.accept(mask[random.below(mask.len())]).unwrap();
        if matcher.is_finished() {
            return true;
        }
    }
    matcher.is_accepting()
}

#[test]
fn lines_are_texts() {
    let lines = |text: &[u8], expected: &[&str]| {
        let list = ChoiceList::from_lines(text).unwrap();
        assert_eq!(list.len(), expected.len(), "{text:?}");
        assert!(expected.iter().all(|line| list.contains(line.as_bytes())), "{text:?}");
    };
    lines(b"b\na\nb\n", &["a", "b"]);
    lines(b"a\r\nb\r\nc", &["a", "b", "c"]);
    lines(b"a\r", &["a"]);
    lines(b"\xEF\xBB\xBFb\na", &["a", "b"]);
    lines(b" a\t\n\xEF\xBB\xBFa\na\rb", &[" a\t", "\u{FEFF}a", "a\rb"]);
    lines("é\n😀\n".as_bytes(), &["é", "😀"]);
    let long = "x".repeat(1 << 20);
    lines(format!("{long}y\n{long}\n").as_bytes(), &[&long, &format!("{long}y")]);
    for (text, line) in [
        (&b"a\n\nb\n"[..], Some(2)),
        (b"\n", Some(1)),
        (b"a\nb\r\n\r\n", Some(3)),
        (b"a\nb\n\xFF\n", Some(3)),
        (b"a\n\xE2\x82\n", Some(2)),
        (b"", None),
        (b"\xEF\xBB\xBF", None),
    ] {
        let error = ChoiceList::from_lines(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Request, "{text:?}");
        assert_eq!(error.place().line_column.map(|(line, _)| line), line, "{text:?}");
        assert!(error.help().is_some());
    }
    // In a program, the empty text is a choice like any other.
    let list = ChoiceList::from_texts(["", "a"]).unwrap();
    assert!(compiler().choices(&list).unwrap().matcher().is_accepting());
    let list = ChoiceList::from_texts([""]).unwrap();
    assert!(compiler().choices(&list).unwrap().matcher().is_accepting());
    assert!(ChoiceList::from_texts([""; 0]).is_err());
}

#[test]
fn damaged_sets_are_errors() {
    let list = ChoiceList::from_lines(b"car\ncart\ndart\nabcdef\n").unwrap();
    let whole = list.as_fst();
    for at in 0..whole.len() {
        for bit in [1, 0x80] {
            let mut damaged = whole.to_vec();
            damaged[at] ^= bit;
            assert!(ChoiceList::from_fst(damaged).is_err(), "{at}");
        }
        assert!(ChoiceList::from_fst(whole[..at].to_vec()).is_err(), "{at}");
    }
    assert!(ChoiceList::from_fst([whole, &[0]].concat()).is_err());
    let none = fst::Set::from_iter([""; 0]).unwrap().into_fst().into_inner();
    assert!(ChoiceList::from_fst(none).is_err());
    // Values of a map are not looked at.
    let map = fst::Map::from_iter([("a", 7), ("bc", 1)]).unwrap().into_fst().into_inner();
    let map = ChoiceList::from_fst(map).unwrap();
    let (compiler, mut random) = (compiler(), Random(1));
    follow(&compiler.choices(&map).unwrap(), &[b"a".to_vec(), b"bc".to_vec()], &mut random);
    // Bytes are bytes, but JSON is text.
    for bytes in [&b"a\xFF"[..], b"\xC3", b"\xED\xA0\x80", b"\xF4\x90\x80\x80", b"\xE0\x80\x80"] {
        let set = fst::Set::from_iter([b"a", bytes]).unwrap().into_fst().into_inner();
        let list = ChoiceList::from_fst(set).unwrap();
        follow(&compiler.choices(&list).unwrap(), &[b"a".to_vec(), bytes.to_vec()], &mut random);
        let compiler = compiler.clone().with_choices("texts", list).unwrap();
        let error = compiler.json_schema(&json!({"x-choices-from": "texts"})).unwrap_err();
        assert_eq!(error.place().pointer.as_deref(), Some("/x-choices-from"), "{error}");
    }
}

#[test]
fn lists_are_named_by_schemas_grammars_and_formulas() {
    let list = ChoiceList::from_texts(["Rome", "Paris"]).unwrap();
    let compiler = compiler().with_choices("places", list.clone()).unwrap();
    assert!(compiler.clone().with_choices("places", list.clone()).is_err());
    assert!(ChoiceLists::default().with("", list).is_err());
    for schema in [json!({"x-choices-from": "rivers"}), json!({"x-choices-from": 3})] {
        let error = compiler.json_schema(&schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert_eq!(error.place().pointer.as_deref(), Some("/x-choices-from"));
    }
    let accepts = |constraint: &Constraint, text: &str| {
        let mut matcher = constraint.matcher();
        matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
    };
    let lark = compiler.lark("start: \"to \" @places \"!\"").unwrap();
    assert!(accepts(&lark, "to Paris!") && !accepts(&lark, "to Pari!"));
    let formula = json!({"allOf": [{"grammar": "places"}, {"not": {"choice": ["Paris"]}}]});
    let formula = compiler.formula(&formula).unwrap();
    assert!(accepts(&formula, "Rome") && !accepts(&formula, "Paris"));
    // It says nothing of what is no string.
    let open = compiler.json_schema(&json!({"x-choices-from": "places"})).unwrap();
    assert!(accepts(&open, "3") && accepts(&open, "\"Rome\"") && !accepts(&open, "\"Oslo\""));
}
