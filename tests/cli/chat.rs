//! Conversations: what `chat` remembers, obeys and draws, turn by turn.

use crate::model_support::{self, hey, thinker};
use crate::{Ran, run_on, text};

#[test]
fn chat_remembers_and_obeys_a_constraint_per_turn() {
    let model = text(hey("cli-chat"));
    let lines = "hello\n/constraint --choice 'a b'\nagain\n/constraint --regex '('\n/free\n\
                 /reset\nonce more\n/exit\nnever read\n";
    let Ran { out, err, .. } = run_on(&["chat", "--model", &model, "--max-tokens", "8"], lines);
    assert_eq!(out, "Hey\na b\nHey\n");
    assert!(err.starts_with("error: ") && err.lines().count() == 1, "{err}");
}

/// Reasoning is neither output nor a part of the conversation.
#[test]
fn reasoning_stands_apart_from_the_answers_of_a_chat() {
    let model = text(thinker("cli-chat-thinker"));
    let args = ["chat", "--model", &model, "--max-tokens", "12"];
    let Ran { out, err, .. } = run_on(&args, "hello\nagain\n");
    assert_eq!((out.as_str(), err.as_str()), ("Hey\nHey\n", "so\nso\n"));
}

/// A constraint holds after reasoning that the chat template opens.
#[test]
fn reasoning_comes_before_the_constraint_of_a_chat() {
    let model = thinker("cli-chat-opened");
    // The last character of the prompt is what the model goes on from.
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}><think>";
    std::fs::write(model.join("chat_template.jinja"), template).unwrap();
    let model = text(model);
    for (command_line, input) in [
        (&["chat", "--model", &model, "--max-tokens", "12"][..], "x\n"),
        (&["explore", "--model", &model, "--prompt", "x", "--temperatures", "0"], ""),
    ] {
        let args = [command_line, &["--choice", "Hey", "--choice", "Ho"]].concat();
        let Ran { out, err, .. } = run_on(&args, input);
        assert!(out.contains("Hey") && !out.contains("so"), "{args:?}: {out}");
        if !input.is_empty() {
            assert_eq!((out.as_str(), err.as_str()), ("Hey\n", "so\n"));
        }
    }
}

/// One seed gives one conversation, of which no two answers have the same random numbers.
#[test]
fn each_answer_of_a_chat_is_drawn_anew() {
    let model = text(hey("cli-chat-seed"));
    let chat = || {
        let args = ["chat", "--model", &model, "--max-tokens", "9", "--temperature", "9"];
        let args = [&args[..], &["--seed", "1", "--regex", "[a-z]{9}"]].concat();
        run_on(&args, "hello\n/reset\nhello\n").out
    };
    let told = chat();
    let answers: Vec<&str> = told.lines().collect();
    assert!(answers.len() == 2 && answers[0] != answers[1], "{answers:?}");
    assert_eq!(chat(), told);
}

/// A conversation longer than the context goes on.
#[test]
fn chat_keeps_within_the_context() {
    let next = |byte: u8| u32::from(byte);
    let chain = [(b'>', next(b'H')), (b'H', model_support::END)];
    let model = text(model_support::parrot("cli-chat-context", &chain, 40));
    let lines = "0123456789\n".repeat(12);
    let Ran { out, err, .. } = run_on(&["chat", "--model", &model, "--max-tokens", "8"], &lines);
    assert_eq!((out.as_str(), err.as_str()), ("H\n".repeat(12).as_str(), ""));
}
