//! The beginning of a model's message, beside the tags of its reasoning.
//!
//! Chat templates of models that reason may end in the opening tag, and callers may begin the answer. Both
//! together decide where the model goes on, and so where a constraint on the answer begins:
//!
//! ```text
//! template ends in    caller begins with       prompt                                    the model writes
//! <|assistant|>       {"a":                    <|assistant|>{"a":                        the answer
//! <think>\n           nothing                  <think>\n                                 reasoning
//! <think>\n           nothing, no reasoning    <think>\n\n</think>\n\n                   the answer
//! <think>\n           {"a":                    <think>\n\n</think>\n\n{"a":              the answer
//! <think>\n           <think>\nSo              <think>\nSo                               reasoning
//! <|assistant|>       <think>\nSo</think>\n1   <|assistant|><think>\nSo</think>\n1       the answer
//! ```
//!
//! Reasoning that is closed at once has the form in which templates write it where the model is not to
//! reason. Tags are the template's words, and may be special tokens; everything else is content.

use super::request::Request;
use crate::model::PromptPart;
use crate::tools::{AfterReasoning, ReasoningFormat};

/// The part of a message in which the model continues after the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageStart {
    /// Inside the reasoning; its opening tag is in the prompt.
    Reasoning,
    /// Outside of reasoning: at the start of the message, or in the answer that `prefill` begins.
    Message,
}

/// The treatment of reasoning that the chat template itself opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedReasoning {
    /// The model reasons.
    Keep,
    /// The reasoning is closed before the model writes.
    Close,
}

/// Begins the message of a request after `prompt`, the text of its chat template, with the caller's words.
pub(super) fn begin(
    format: &ReasoningFormat,
    prompt: &str,
    prefill: String,
    opened: OpenedReasoning,
    request: &mut Request,
) -> MessageStart {
    let next = match request.tools {
        Some(_) => AfterReasoning::ToolFormat,
        None => AfterReasoning::Answer,
    };
    let (Some(opening), Some(closing)) = (format.opening_text(), format.closing_text(next)) else {
        request.prefill = prefill;
        return MessageStart::Message;
    };
    let is_open = format.is_open_after(prompt);
    let space = if is_open { &prompt[prompt.trim_end().len()..] } else { "" };
    let own_tag = prefill.trim_start().strip_prefix(opening.trim_end());
    let thought = match own_tag {
        Some(rest) if is_open => Some(rest.strip_prefix(space).unwrap_or(rest)),
        None if is_open && prefill.contains(&closing.tag) => Some(&prefill[..]),
        own => own,
    };
    let Some(thought) = thought else {
        if is_open && prefill.is_empty() && opened == OpenedReasoning::Keep {
            return MessageStart::Reasoning;
        }
        if is_open {
            let rest = format!("{space}{}{}", closing.tag, closing.after);
            request.begun = vec![PromptPart::Template(rest)];
        }
        request.prefill = prefill;
        return MessageStart::Message;
    };
    let mut begun = Vec::new();
    if !is_open {
        begun.push(PromptPart::Template(opening));
    }
    let (thought, answer) = match thought.split_once(&closing.tag) {
        Some((thought, answer)) => (thought, Some(answer)),
        None => (thought, None),
    };
    begun.push(PromptPart::Content(thought.to_owned()));
    let start = match answer {
        None => MessageStart::Reasoning,
        Some(answer) => {
            // Line breaks before an answer belong to the reasoning; tags there are the format's.
            let blank = answer.len() - answer.trim_start_matches('\n').len();
            let between = match answer.strip_prefix(&closing.after) {
                Some(_) => &closing.after,
                None if closing.after.trim().is_empty() => &answer[..blank],
                None => &closing.after,
            };
            request.prefill = answer.strip_prefix(between).unwrap_or(answer).to_owned();
            begun.push(PromptPart::Template(format!("{}{between}", closing.tag)));
            MessageStart::Message
        }
    };
    request.begun = begun;
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text after the template's, the beginning that the constraint reads, and what comes next.
    fn begun(format: &str, prompt: &str, prefill: &str) -> (String, String, MessageStart) {
        begun_by(format, prompt, prefill, OpenedReasoning::Keep)
    }

    fn begun_by(
        format: &str,
        prompt: &str,
        prefill: &str,
        opened: OpenedReasoning,
    ) -> (String, String, MessageStart) {
        let format = ReasoningFormat::named(format).unwrap();
        let mut request = Request::text("");
        let start = begin(&format, prompt, prefill.to_owned(), opened, &mut request);
        let text = request.beginning().iter().map(PromptPart::text).collect();
        (text, request.prefill, start)
    }

    #[test]
    fn tools_bring_their_own_pieces_before_an_answer() {
        let closed = |tools| {
            let format = ReasoningFormat::named("command").unwrap();
            let mut request = Request { tools, ..Request::text("") };
            let prompt = "<A><|START_THINKING|>";
            begin(&format, prompt, String::new(), OpenedReasoning::Close, &mut request);
            request.beginning().iter().map(PromptPart::text).collect::<String>()
        };
        assert_eq!(closed(None), "<|END_THINKING|><|START_RESPONSE|>");
        assert_eq!(closed(Some(serde_json::json!([]))), "<|END_THINKING|>");
    }

    fn message(text: &str, answer: &str) -> (String, String, MessageStart) {
        (text.to_owned(), answer.to_owned(), MessageStart::Message)
    }

    fn reasoning(text: &str) -> (String, String, MessageStart) {
        (text.to_owned(), String::new(), MessageStart::Reasoning)
    }

    #[test]
    fn an_answer_closes_the_reasoning_that_the_template_has_opened() {
        assert_eq!(begun("think", "<A>", "{"), message("{", "{"));
        assert_eq!(begun("think", "<A><think>\n", ""), reasoning(""));
        let closed = "\n</think>\n\n{";
        assert_eq!(begun("think", "<A><think>\n", "{"), message(closed, "{"));
        assert_eq!(begun("think", "<A><think>", "{"), message("</think>\n\n{", "{"));
        let close = OpenedReasoning::Close;
        let expected = message("\n</think>\n\n", "");
        assert_eq!(begun_by("think", "<A><think>\n", "", close), expected);
        assert_eq!(begun_by("think", "<A>", "", close), message("", ""));
        // Where an answer stands in tags, they are opened.
        let final_tag = "<|end|><|start|>assistant<|channel|>final<|message|>";
        let open = "<|start|>assistant<|channel|>analysis<|message|>";
        assert_eq!(begun("gpt-oss", open, "Hi"), message(&format!("{final_tag}Hi"), "Hi"));
    }

    #[test]
    fn reasoning_that_is_begun_goes_on_or_is_closed() {
        for prompt in ["<A>", "<A><think>\n"] {
            let tag = if prompt == "<A>" { "<think>\n" } else { "" };
            let all = |rest: &str| format!("{tag}{rest}");
            assert_eq!(begun("think", prompt, "<think>\nSo"), reasoning(&all("So")));
            assert_eq!(begun("think", prompt, "\n<think>\nSo"), reasoning(&all("So")));
            let text = all("So</think>\n\n1");
            assert_eq!(begun("think", prompt, "<think>\nSo</think>\n\n1"), message(&text, "1"));
            let text = all("So</think>1");
            assert_eq!(begun("think", prompt, "<think>\nSo</think>1"), message(&text, "1"));
        }
        let text = "So</think>\n1";
        assert_eq!(begun("think", "<A><think>\n", "So</think>\n1"), message(text, "1"));
        // Without a tag that is open, a closing one is a text like others.
        assert_eq!(begun("think", "<A>", "So</think>1"), message("So</think>1", "So</think>1"));
        let opened = "<|channel|>analysis<|message|>So<|end|>";
        let after = "<|start|>assistant<|channel|>final<|message|>";
        let text = format!("{opened}{after}Hi");
        assert_eq!(begun("gpt-oss", "<|start|>assistant", &text), message(&text, "Hi"));
    }
}
