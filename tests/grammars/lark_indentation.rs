//! Lark grammars that declare `_INDENT` and `_DEDENT`: against a tokenizer with a stack of columns
//! and a parser of its tokens, on all short texts; and on a language with brackets and comments.

use std::collections::HashSet;

use maskwright::ebnf::Dialect;

use crate::{accepts, compiler, judge, refuse};

/// The grammar of Lark's example `indented_tree.py`, with a short name.
const TREE: &str = "start: tree+\ntree: NAME _NL [_INDENT tree+ _DEDENT]\nNAME: \"a\"\n\
                    _NL: /(\\r?\\n[\\t ]*)+/\n%declare _INDENT _DEDENT";

/// A token of the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Name,
    Newline,
    Indent,
    Dedent,
}

/// The tokens of a text, by a stack of columns; `None` if there are none.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let (mut found, mut stack, mut rest) = (Vec::new(), vec![0], text);
    while let Some(first) = rest.chars().next() {
        if first == 'a' {
            found.push(Token::Name);
            rest = &rest[1..];
            continue;
        }
        if first != '\n' {
            return None;
        }
        let line = rest.trim_start_matches(['\n', ' ', '\t']);
        let blanks = rest[..rest.len() - line.len()].rsplit('\n').next()?;
        let column: usize = blanks.chars().map(|c| if c == '\t' { 8 } else { 1 }).sum();
        found.push(Token::Newline);
        if column > *stack.last()? {
            stack.push(column);
            found.push(Token::Indent);
        }
        while column < *stack.last()? {
            stack.pop();
            found.push(Token::Dedent);
        }
        if column != *stack.last()? {
            return None;
        }
        rest = line;
    }
    found.extend(std::iter::repeat_n(Token::Dedent, stack.len() - 1));
    Some(found)
}

/// Reads one or more trees; false if there are none.
fn trees(tokens: &mut &[Token]) -> bool {
    let mut count = 0;
    while let [Token::Name, Token::Newline, rest @ ..] = *tokens {
        *tokens = rest;
        count += 1;
        if let [Token::Indent, rest @ ..] = *tokens {
            *tokens = rest;
            let has_trees = trees(tokens);
            let [Token::Dedent, rest @ ..] = *tokens else { return false };
            *tokens = rest;
            if !has_trees {
                return false;
            }
        }
    }
    count > 0
}

fn is_tree(text: &str) -> bool {
    tokens(text).is_some_and(|tokens| {
        let mut rest = &tokens[..];
        trees(&mut rest) && rest.is_empty()
    })
}

#[test]
fn short_texts_are_read_by_a_stack_of_columns() {
    let constraint = compiler().lark(TREE).unwrap();
    let mut accepted: Vec<String> = Vec::new();
    let mut texts = vec![String::new()];
    let mut prefixes = Vec::new();
    for length in 0..=6 {
        if length <= 3 {
            prefixes.extend(texts.clone());
        }
        for text in &texts {
            let expected = is_tree(text);
            assert_eq!(accepts(&constraint, text), expected, "{text:?}");
            if expected {
                accepted.push(text.clone());
            }
        }
        texts = texts
            .iter()
            .flat_map(|text| "a\n \t".chars().map(move |c| format!("{text}{c}")))
            .collect();
    }
    assert!(accepted.len() > 15, "{}", accepted.len());
    // A byte is allowed exactly if a text goes on with it.
    let viable: HashSet<&str> =
        accepted.iter().flat_map(|text| (0..=text.len()).map(|end| &text[..end])).collect();
    for prefix in prefixes.iter().filter(|prefix| viable.contains(prefix.as_str())) {
        let mut matcher = constraint.matcher();
        matcher.accept_bytes(prefix.as_bytes()).unwrap();
        let mask = matcher.mask().unwrap();
        for c in "a\n \t".chars() {
            let expected = viable.contains(format!("{prefix}{c}").as_str());
            assert_eq!(mask.contains(u32::from(c)), expected, "{c:?} after {prefix:?}");
        }
    }
}

/// Deep blocks, columns across tabs, and lines that return to any column around them.
#[test]
fn blocks() {
    judge(
        Dialect::Lark,
        &[(
            TREE,
            &[
                "a\n  a\n     a\na\n",
                "a\n  a\n     a\n  a\n a\n".strip_suffix(" a\n").unwrap(),
                "a\n    a\n\ta\n    a\n",
                "a\n \n\n  a\n\n \n  a\n\na\n",
                "a\n        a\n\ta\n",
                "a\n a\n  a\n   a\n    a\n     a\n  a\n",
                "a\n  a\n  ",
            ],
            &["a\n  a\n     a\n   a\n", " a\n", "a\n  a\n ", "a\n    a\n  a\n", "a", "a\n a"],
        )],
    );
}

/// A small language like Python, with the grammar's own `_NEWLINE`, comments, brackets, blocks.
#[test]
fn statements() {
    let grammar = r##"
        start: (_NEWLINE | stmt)*
        ?stmt: simple | "if" test ":" suite ["else" ":" suite] | "def" NAME "(" [args{test}] ")" ":" suite
        simple: small (";" small)* [";"] _NEWLINE
        ?small: NAME "=" test | "pass"
        suite: simple | _NEWLINE _INDENT stmt+ _DEDENT
        ?test: test "+" atom | atom
        ?atom: NAME | /[0-9]+/ | "(" test ")" | "[" [test ("," test)*] "]" | atom "[" test "]"
        args{item}: item ("," item)*
        NAME: /[a-z]/
        COMMENT: /#[^\n]*/
        _NEWLINE: ( /\r?\n[\t ]*/ | COMMENT )+
        %ignore /[\t \f]+/
        %ignore /\\[\t \f]*\r?\n/
        %ignore COMMENT
        %declare _INDENT _DEDENT
    "##;
    let yes = [
        "",
        "\n",
        "# only this\n",
        "pass\n",
        "  pass\n",
        "x = 1; y = 2;\n",
        "if x: pass\nelse: y = 1\n",
        "if x:\n    pass\n",
        "if x:\n    pass  # why\n# far left\n\n    x = 1\nelse:\n  pass\n",
        "if x:\n if y:\n  pass\nx = 2\n",
        "if x:\n\tpass\n        pass\n",
        "x = (1 +\n 2)\n",
        "x = [\n  1,\n2, # two\n  (3\n)]\npass\n",
        "x = a[\n1\n][2]\n",
        "def f(\n a, b\n):\n    pass\n",
        "x = \\\n   1\n",
        "if x: # c\n  pass\n  ",
    ];
    let no = [
        "if x:\npass\n",
        "if x:\n    pass\n  pass\n",
        "pass\n  pass\n",
        "x = 1 +\n 2\n",
        "x = [1,\n2\n",
        "else: pass\n",
        "if x:\n  pass\n else: pass\n",
        "pass",
        "def f(a)\n:\n  pass\n",
        "x = (1)\n+ 2\n",
        "if x:\n    pass\n   ",
    ];
    judge(Dialect::Lark, &[(grammar, &yes, &no)]);
}

#[test]
fn what_is_refused() {
    refuse(
        Dialect::Lark,
        &[
            (
                "start: _INDENT \"a\" _DEDENT\n%declare _INDENT _DEDENT",
                (2, 10),
                "line breaks before",
            ),
            (
                "start: \"a\" NL _INDENT x\nx: \"b\" NL _DEDENT\nNL: /\\n[ \\t]*/\n%declare _INDENT _DEDENT",
                (1, 15),
                "not ended in its alternative",
            ),
            (
                "start: \"(\" x NL\nx: \"b\" \")\"\nNL: /\\n[ \\t]*/\n%declare _INDENT _DEDENT",
                (2, 8),
                "without its other half",
            ),
            (
                "start: t{\"a\"}\nt{x}: x NL\nNL: /\\n[ \\t]*/\n%declare _INDENT _DEDENT",
                (1, 8),
                "a line ends where none can",
            ),
            (
                "start: (\"a\" NL)+ [_INDENT \"b\" NL _DEDENT]\nNL: /\\n/\n%declare _INDENT _DEDENT",
                (2, 1),
                "does not read the blanks",
            ),
            (
                "start: (\"a\" T NL)+\nT: \"x\"? /[ y]/\nNL: /\\n[ \\t]*/\n%declare _INDENT _DEDENT",
                (1, 13),
                "begins with a blank",
            ),
        ],
    );
}
