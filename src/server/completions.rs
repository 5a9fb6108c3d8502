//! Handler of `POST /v1/completions`: goes on from texts or tokens, without a chat template.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use axum::response::sse::Event;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::api_error::ApiError;
use super::app::App;
use super::copies;
use super::generation::{PreparedRequest, respond};
use super::json_text::json_text;
use super::request::{CompletionRequest, Fields, StreamOptions, constraint_key, ignoring_unknown};
use super::response::{
    EventWriter, HeldTokens, WholeWriter, extend, now, optional_members, prompt_logprobs,
    token_text, unique_id, usage_object,
};
use super::work::{JsonBody, blocking};
use super::worker::WorkerReply;
use crate::engine::{
    FinishReason, Prompt, PromptToken, Protocol, Request, Step, StopReason, Usage,
};
use crate::vocabulary::Vocabulary;

/// Answers each prompt with one choice or several.
pub(super) async fn completions(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let key = constraint_key(&body.value);
    let fields = Fields::new("", std::mem::take(&mut body.value))?;
    let read = || CompletionRequest::read(fields, &app.names, &app.vocabulary, &app.generation);
    let (read, ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
    let turn = if read.format.is_text() { None } else { Some(body.turn(&app).await?) };
    let (prepared, answer) = {
        let app = Arc::clone(&app);
        blocking(move || {
            let began = Instant::now();
            let is_constrained = turn.is_some();
            let prepared = prepare(&app, read, key, body);
            if is_constrained {
                app.worker.metrics().compile_time.observe(began.elapsed());
            }
            drop(turn);
            prepared
        })
        .await??
    };
    respond(&app, prepared, answer, &ignored).await.map_err(|error| renamed(error, "prompt"))
}

/// The error of the prompt with the name that the prompt has in this request; chat completions say `messages`.
pub(super) fn renamed(error: ApiError, prompt: &str) -> ApiError {
    error.renamed(|name| (name == "messages").then(|| prompt.to_owned()))
}

/// Compiles a request.
fn prepare(
    app: &Arc<App>,
    read: CompletionRequest,
    constraint_key: String,
    mut body: JsonBody,
) -> Result<(PreparedRequest, CompletionAnswer), ApiError> {
    let CompletionRequest { prompts, echo, format, generation } = read;
    let mut format = format.with_cache(Arc::clone(&app.constraints), constraint_key);
    let compiler = format.configure(&app.compiler)?;
    let constraint = if format.is_text() {
        None
    } else {
        // `compiled` is `None` for free text alone, which the branch above has taken.
        let compile = || format.compiled(&compiler).unwrap_or_else(|| compiler.regex("(?s:.*)"));
        let found = format.looked_up("text", compile);
        Some(found.map_err(|error| format.error(error))?)
    };
    let texts = if echo {
        prompts.iter().map(|prompt| EchoedPrompt::of(prompt, &app.vocabulary)).collect()
    } else {
        vec![EchoedPrompt::default(); prompts.len()]
    };
    let request = |prompt| Request {
        raw: true,
        constraint: constraint.clone(),
        ..generation.request(prompt, app.engine.model().context_length())
    };
    // Checked before the lists of the request are copied for each prompt.
    let without_prompt = request(Prompt::Text(String::new()));
    let copies = prompts.len() * generation.choices;
    copies::check([(&without_prompt, copies)].into_iter(), app.bounds.max_body_bytes)?;
    let requests = prompts.into_iter().map(request).collect();
    let answer = CompletionAnswer {
        id: unique_id("cmpl-"),
        created: now(),
        app: Arc::clone(app),
        texts,
        choices_each: generation.choices,
        has_logprobs: generation.settings.logprobs,
        top_logprobs: generation.settings.top_logprobs,
        prompt_logprobs: generation.prompt_logprobs,
        has_echo: echo,
        stream_options: generation.stream_options,
        choices: BTreeMap::new(),
        usage: Usage::default(),
        usage_so_far: Usage::default(),
        ends: [app.vocabulary.end_tokens(), &generation.settings.stop_token_ids].concat(),
    };
    let permit = body.permit.take();
    let protocol = Protocol::default();
    PreparedRequest::new(app, requests, protocol, &generation, permit).map(|it| (it, answer))
}

/// The text with which the choices of a prompt begin.
#[derive(Clone, Debug, Default)]
struct EchoedPrompt {
    text: String,
    /// Whether special tokens stand in it by their names, as they do in a prompt that is a text.
    names_tokens: bool,
}

impl EchoedPrompt {
    fn of(prompt: &Prompt, vocabulary: &Vocabulary) -> Self {
        let (text, names_tokens) = match prompt {
            Prompt::Text(text) => (text.clone(), true),
            Prompt::Tokens(tokens) => {
                (String::from_utf8_lossy(&vocabulary.decode(tokens)).into_owned(), false)
            }
            Prompt::Chat(_) => (String::new(), false),
        };
        Self { text, names_tokens }
    }
}

/// The answer, whole or as events, while it is written.
///
/// More than 12 fields: the settings that the request has for the answer, and the parts that were not sent.
struct CompletionAnswer {
    id: String,
    created: u64,
    app: Arc<App>,
    /// The text that the choices of each prompt begin with.
    texts: Vec<EchoedPrompt>,
    /// Choices of each prompt.
    choices_each: usize,
    has_logprobs: bool,
    top_logprobs: usize,
    /// Number of alternatives to each token of the prompt, for the field `prompt_logprobs` of the answer.
    prompt_logprobs: Option<usize>,
    /// Whether choices begin with the prompt, and their log-probabilities with those of its tokens.
    has_echo: bool,
    stream_options: StreamOptions,
    choices: BTreeMap<usize, CompletionChoice>,
    usage: Usage,
    /// The usage before each chunk, where all have it.
    usage_so_far: Usage,
    /// Tokens that end a text.
    ends: Vec<u32>,
}

/// The answer as one object.
#[derive(Serialize)]
struct TextCompletionObject {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    choices: Vec<Box<RawValue>>,
    usage: Value,
}

/// A choice while it is written.
#[derive(Default)]
struct CompletionChoice {
    /// Its text; of a stream the part that was not sent.
    text: String,
    /// The characters of the tokens that were sent.
    characters: CharacterCount,
    /// Its tokens; of a stream those whose text was not sent.
    tokens: HeldTokens<Step>,
    /// The end token that was drawn.
    end_token: Option<Step>,
    /// The tokens of the prompt with their log-probabilities, if the answer has them.
    prompt: Vec<PromptToken>,
    end: Option<Value>,
}

impl CompletionAnswer {
    fn choice(&mut self, index: usize) -> &mut CompletionChoice {
        let prompt = self.texts.get(index / self.choices_each.max(1));
        self.choices.entry(index).or_insert_with(|| CompletionChoice {
            text: prompt.map(|prompt| prompt.text.clone()).unwrap_or_default(),
            ..CompletionChoice::default()
        })
    }

    /// Takes a reply; returns the index of the choice that has something new.
    fn note(&mut self, reply: WorkerReply) -> Option<usize> {
        match reply {
            WorkerReply::Text(index, text) => {
                let choice = self.choice(index);
                choice.tokens.show(&text);
                choice.text.push_str(&text);
                Some(index)
            }
            WorkerReply::Step(index, step) => {
                let is_end = self.app.vocabulary.end_tokens().contains(&step.token);
                // A token that ends the text is not counted.
                let is_counted = !self.ends.contains(&step.token);
                self.usage_so_far.completion_tokens += usize::from(is_counted);
                let choice = self.choice(index);
                if is_end {
                    choice.end_token = Some(*step)
                } else {
                    choice.tokens.push(step.text_start, *step)
                }
                None
            }
            WorkerReply::Done(index, response) => {
                let usage = &response.usage;
                // The choices of one prompt share it.
                if index % self.choices_each.max(1) == 0 {
                    self.usage.prompt_tokens += usage.prompt_tokens;
                    self.usage.cached_tokens += usage.cached_tokens;
                }
                self.usage.completion_tokens += usage.completion_tokens;
                let finish = match response.finish {
                    FinishReason::Length => "length",
                    _ => "stop",
                };
                let stop_reason = match &response.stop_reason {
                    None => Value::Null,
                    Some(StopReason::Text(text)) => json!(text),
                    Some(StopReason::Token(token)) => json!(token),
                };
                let optional = optional_members(&response, &response.text);
                let has_echo = self.has_echo;
                let choice = self.choice(index);
                choice.tokens.end(response.text_tokens);
                // As in vLLM the last entry is that of a token that was drawn: evaluations of prompts
                // take it off.
                if let Some(end) = choice.end_token.take().filter(|_| has_echo) {
                    choice.tokens.push(response.text.len(), end);
                    choice.tokens.show_all();
                }
                choice.prompt = response.prompt_logprobs.unwrap_or_default();
                let mut end = json!({
                    "finish_reason": finish,
                    "stop_reason": stop_reason,
                    "complete": response.complete,
                });
                extend(&mut end, &optional);
                choice.end = Some(end);
                Some(index)
            }
            WorkerReply::Special(..)
            | WorkerReply::Finished
            | WorkerReply::Failed(_)
            | WorkerReply::OutOfTime => None,
        }
    }

    /// The choice as an object, with what was not sent of it.
    fn take_choice(&mut self, index: usize) -> Value {
        let (has_logprobs, top) = (self.has_logprobs, self.top_logprobs);
        let (has_echo, prompt_top) = (self.has_echo, self.prompt_logprobs);
        let app = Arc::clone(&self.app);
        let echoed_prompt = self.texts.get(index / self.choices_each.max(1));
        let names_tokens = echoed_prompt.is_some_and(|prompt| prompt.names_tokens);
        let choice = self.choice(index);
        let text = std::mem::take(&mut choice.text);
        let tokens = choice.tokens.take();
        let prompt = std::mem::take(&mut choice.prompt);
        let echoed = EchoedTokens {
            tokens: if has_echo { prompt.as_slice() } else { &[] },
            top,
            names: if names_tokens { &text } else { "" },
        };
        let logprobs = if has_logprobs {
            logprobs(&app.vocabulary, echoed, &tokens, &mut choice.characters)
        } else {
            Value::Null
        };
        let end = choice.end.take();
        let mut object = json!({
            "index": index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": null,
        });
        if let Some(top) = prompt_top {
            object["prompt_logprobs"] = prompt_logprobs(&app.vocabulary, &prompt, top);
        }
        if let (Some(Value::Object(end)), Some(object)) = (end, object.as_object_mut()) {
            object.extend(end);
        }
        object
    }

    fn object(&self, choices: Vec<Value>) -> Value {
        json!({
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.app.name(),
            "choices": choices,
        })
    }
}

/// The characters of a text that comes in tokens, whose bytes may be a part of one.
#[derive(Debug, Default)]
struct CharacterCount {
    /// Characters that are whole. What is no UTF-8 counts as the replacement characters that it is shown as.
    whole: usize,
    /// The bytes of one that is not.
    begun: Vec<u8>,
}

impl CharacterCount {
    /// Adds a token's bytes. Returns the number of whole characters before it.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let before = self.whole;
        self.begun.extend_from_slice(bytes);
        let mut read = 0;
        for chunk in self.begun.utf8_chunks() {
            self.whole += chunk.valid().chars().count();
            read += chunk.valid().len();
            let rest = &self.begun[read..];
            let may_go_on = std::str::from_utf8(rest).is_err_and(|e| e.error_len().is_none());
            if chunk.invalid().is_empty() || rest == chunk.invalid() && may_go_on {
                break;
            }
            self.whole += 1;
            read += chunk.invalid().len();
        }
        self.begun.drain(..read);
        before
    }
}

/// The tokens of a prompt with which a text begins.
#[derive(Clone, Copy)]
struct EchoedTokens<'a> {
    tokens: &'a [PromptToken],
    /// Number of alternatives to each.
    top: usize,
    /// The text, where it has the names of special tokens.
    names: &'a str,
}

/// OpenAI's four lists, for the tokens of a piece of text: those of the prompt before those that were drawn. A
/// token's offset is the number of characters that are whole before it.
fn logprobs(
    vocabulary: &Vocabulary,
    EchoedTokens { tokens: prompt, top, names: mut rest }: EchoedTokens<'_>,
    tokens: &[Step],
    characters: &mut CharacterCount,
) -> Value {
    let text = |token: u32| token_text(vocabulary, token);
    let bytes = |token: u32| vocabulary.token_bytes(token).unwrap_or_default();
    // Pieces of characters have one text; of those with the same text the most probable is listed, so that whether a
    // token was the most probable one can be seen.
    let by_text = |listed: &[(u32, f64)], own: (u32, f64)| {
        let mut all = Map::new();
        // The token itself has the same figure in both lists.
        let listed = listed.iter().map(|&one| if one.0 == own.0 { own } else { one });
        for (token, logprob) in listed.chain([own]) {
            let known = all.entry(text(token)).or_insert_with(|| json!(logprob));
            if known.as_f64().is_some_and(|known| known < logprob) {
                *known = json!(logprob);
            }
        }
        Value::Object(all)
    };
    let (mut names, mut values, mut tops, mut offsets) = (vec![], vec![], vec![], vec![]);
    for token in prompt {
        let before = match vocabulary.token_bytes(token.token) {
            Some(bytes) => characters.add(bytes),
            None => {
                // One that was added to the text has no name in it.
                let name = vocabulary.token_name(token.token);
                characters.add(if rest.starts_with(&*name) { name.as_bytes() } else { &[] })
            }
        };
        let read = characters.whole - before;
        rest = rest.char_indices().nth(read).map_or("", |(at, _)| &rest[at..]);
        offsets.push(json!(before));
        names.push(json!(text(token.token)));
        values.push(json!(token.logprob));
        let own = token.logprob.map(|logprob| (token.token, logprob));
        // Nothing tells how probable the first token was.
        tops.push(own.map_or(Value::Null, |own| {
            by_text(&token.top_logprobs[..top.min(token.top_logprobs.len())], own)
        }));
    }
    for step in tokens {
        offsets.push(json!(characters.add(bytes(step.token))));
        names.push(json!(text(step.token)));
        values.push(json!(step.logprob));
        // Beside the most probable ones the token itself.
        let own = (step.token, step.logprob);
        tops.push(by_text(&step.top_logprobs, own));
    }
    json!({
        "tokens": names,
        "token_logprobs": values,
        "top_logprobs": tops,
        "text_offset": offsets,
    })
}

impl EventWriter for CompletionAnswer {
    fn begin(&mut self, prompt_tokens: usize) {
        self.usage_so_far.prompt_tokens = prompt_tokens;
    }

    fn take(&mut self, reply: WorkerReply, events: &mut VecDeque<Event>) {
        let has_ended = matches!(reply, WorkerReply::Finished);
        if let Some(index) = self.note(reply) {
            let choice = self.take_choice(index);
            let mut chunk = self.object(vec![choice]);
            if self.stream_options.include_usage {
                chunk["usage"] = if self.stream_options.continuous_usage {
                    usage_object(&self.usage_so_far)
                } else {
                    Value::Null
                };
            }
            events.push_back(Event::default().data(chunk.to_string()));
        }
        if has_ended {
            if self.stream_options.include_usage {
                let mut chunk = self.object(Vec::new());
                chunk["usage"] = usage_object(&self.usage);
                events.push_back(Event::default().data(chunk.to_string()));
            }
            events.push_back(Event::default().data("[DONE]"));
        }
    }

    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<Event>) {
        events.push_back(Event::default().data(error.object().to_string()));
    }
}

impl WholeWriter for CompletionAnswer {
    type Whole = TextCompletionObject;

    fn add(&mut self, reply: WorkerReply) {
        self.note(reply);
    }

    fn finish(&mut self) -> TextCompletionObject {
        let indices: Vec<usize> = self.choices.keys().copied().collect();
        // As text at once: the log-probabilities of one choice at a time are values.
        let choices =
            indices.into_iter().map(|index| json_text(&self.take_choice(index))).collect();
        TextCompletionObject {
            id: self.id.clone(),
            object: "text_completion",
            created: self.created,
            model: self.app.name().to_owned(),
            choices,
            usage: usage_object(&self.usage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_those_of_the_text_however_it_is_cut() {
        for text in ["naïve café 🎉", "a\u{fffd}b", "\u{fffd}\u{fffd}é"] {
            // The replacement character stands for a byte that is no UTF-8.
            let bytes: Vec<u8> = text
                .chars()
                .flat_map(|c| match c {
                    '\u{fffd}' => vec![0xFF],
                    c => c.to_string().into_bytes(),
                })
                .collect();
            for size in 1..=bytes.len() {
                let mut count = CharacterCount::default();
                let mut read = 0;
                for token in bytes.chunks(size) {
                    let before = String::from_utf8_lossy(&bytes[..read]);
                    // A character that is begun is shown as one that replaces it.
                    let is_begun = !count.begun.is_empty();
                    let whole = before.chars().count() - usize::from(is_begun);
                    assert_eq!(count.add(token), whole, "{text} by {size} at {read}");
                    read += token.len();
                }
                assert_eq!((count.whole, &count.begun[..]), (text.chars().count(), &[][..]));
            }
        }
    }

    /// Pieces of characters have one text: the entry is that of the most probable one.
    #[test]
    fn the_most_probable_of_equal_texts_is_listed() {
        let tokens = vec![Some(vec![0xF0]), Some(vec![0x9F]), Some(b"a".to_vec())];
        let vocabulary = Vocabulary::from_tokens(tokens, &[], &[]).expect("tokens are sound");
        let prompt = PromptToken {
            token: 1,
            logprob: Some(-23.25),
            rank: Some(3),
            top_logprobs: vec![(0, -0.5), (2, -1.0)],
        };
        let echoed = EchoedTokens { tokens: &[prompt], top: 2, names: "" };
        let lists = logprobs(&vocabulary, echoed, &[], &mut CharacterCount::default());
        let top = json!({ "\u{fffd}": -0.5, "a": -1.0 });
        assert_eq!(
            (&lists["top_logprobs"][0], &lists["token_logprobs"][0]),
            (&top, &json!(-23.25))
        );
    }
}
