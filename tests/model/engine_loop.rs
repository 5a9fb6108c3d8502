//! The engine's loop: many requests side by side write what each of them writes alone, with few blocks
//! and many, with prompts read whole and in pieces, and whoever hangs up.

#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::llama::{config, random_tensors};
use crate::model_support::{load, write_model};
use maskwright::engine::{
    BeamSearch, Engine, EngineOptions, Event, Listener, Prompt, Request, Response, Speculation,
    Step,
};
use maskwright::sampling::SamplingParams;
use maskwright::{Compiler, Constraint, Error};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde_json::json;

/// Requests of all kinds: every way to draw and to guess, with prompts that begin alike.
pub(crate) fn requests(engine: &Engine, count: usize, rng: &mut ChaCha8Rng) -> Vec<Request> {
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let constraints: Vec<Constraint> = vec![
        compiler.choice(&["abcabcabcabcabcabc", "abcd", "fed"]).unwrap(),
        compiler.regex("(ab|cd|fe)*").unwrap(),
        compiler.regex("a{3}b{5}[a-f]{2,9}").unwrap(),
    ];
    let mut next = |below: u32| (rng.next_u32() % below) as usize;
    let request = |_| {
        let prompt: String = "abcdefabcdef".chars().cycle().take(1 + next(70)).collect();
        let prompt = if next(3) == 0 { prompt + "ffaa" } else { prompt };
        let mut request = Request {
            max_tokens: 1 + next(40),
            budget: false,
            sampling: SamplingParams { seed: Some(next(1000) as u64), ..Default::default() },
            constraint: constraints.get(next(5)).cloned(),
            logprobs: next(3) == 0,
            ignore_eos: next(2) == 0,
            ..Request::text(prompt)
        };
        match next(12) {
            0 => request.beam = Some(BeamSearch::new(3)),
            1 => request.best_of = 3,
            2 => request.speculate = Speculation::Forced,
            3 => request.speculate = Speculation::Grammar,
            4 => request.speculate = Speculation::Ngram,
            5 => request.speculate = Speculation::Draft,
            6 => request.token_healing = true,
            7 => (request.rejection, request.logprobs) = (true, false),
            8 => request.sampling.temperature = 0.0,
            9 => request.stop = vec!["ab".to_owned(), "ffe".to_owned()],
            10 => request.sampling.presence_penalty = 1.5,
            _ => request.min_tokens = request.max_tokens / 2,
        }
        request
    };
    (0..count).map(request).collect()
}

/// The result of a text, down to the bits of its probabilities.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outcome {
    text: String,
    tokens: Vec<u32>,
    probabilities: Vec<u64>,
}

impl Outcome {
    fn new(response: &Response, steps: &[Step]) -> Self {
        let bits = |step: &Step| [step.logprob.to_bits(), step.raw_logprob.to_bits()];
        let probabilities = steps.iter().flat_map(bits).collect();
        Self { text: response.text.clone(), tokens: response.tokens.clone(), probabilities }
    }
}

/// The outcomes of requests that are written side by side.
fn outcomes(engine: &Engine, requests: &[Request]) -> Vec<Outcome> {
    let mut steps = vec![Vec::new(); requests.len()];
    let responses = engine.generate_each(requests, &mut |index, event| {
        if let Event::Step(step) = event {
            steps[index].push(step.clone());
        }
        ControlFlow::Continue(())
    });
    let responses = responses.unwrap();
    responses.iter().zip(&steps).map(|(response, steps)| Outcome::new(response, steps)).collect()
}

fn engine(name: &str, options: EngineOptions) -> Engine {
    engine_with(name, json!({}), options)
}

/// An engine of a model with more fields in its config.
fn engine_with(name: &str, fields: serde_json::Value, options: EngineOptions) -> Engine {
    let config = config(fields);
    let model = load(write_model(name, &config, &random_tensors(&config, 3), "F32", 1));
    let draft = model.clone();
    Engine::new(model).with_draft(draft).unwrap().with_options(options)
}

/// Few enough blocks that texts drive each other out.
fn small_cache(engine: &Engine, blocks: usize) -> usize {
    blocks * engine.model().kv_blocks().unwrap().bytes_per_block
}

/// Requests that are open at a time under random arrivals.
const MAX_OPEN: usize = 400;

#[test]
fn the_kv_cache_is_as_large_as_its_texts_can_become() {
    let plain = engine("loop-cache-size", EngineOptions::default());
    let (blocks, context) = (plain.model().kv_blocks().unwrap(), plain.model().context_length());
    for max_running in [1, 3] {
        let engine =
            plain.clone().with_options(EngineOptions { max_running, ..Default::default() });
        let each = context.div_ceil(blocks.positions_per_block) + 5;
        assert_eq!(engine.kv_cache_bytes(), Some(max_running * each * blocks.bytes_per_block));
    }
    // A text may fill the whole context.
    let engine = plain.clone().with_options(EngineOptions { max_running: 1, ..Default::default() });
    let prompt = Prompt::Tokens(vec![b'a'.into(); context - 3]);
    let request = Request { max_tokens: context, ignore_eos: true, ..Request::new(prompt) };
    assert_eq!(outcomes(&engine, &[request]).remove(0).tokens.len(), 3);
    let given = EngineOptions { kv_cache_bytes: Some(1 << 20), ..Default::default() };
    assert_eq!(plain.with_options(given).kv_cache_bytes(), Some(1 << 20));
}

/// Of a text whose blocks are needed, the last go first: what is left can be found from the beginning.
#[test]
fn the_beginning_of_a_text_is_forgotten_last() {
    let plain = engine("loop-eviction", EngineOptions::default());
    let kv_cache_bytes = Some(small_cache(&plain, 14));
    let engine = plain.clone().with_options(EngineOptions { kv_cache_bytes, ..Default::default() });
    // Six blocks each: four are of the prompt, two come with the text, one after the other.
    let cached = |byte: u8| {
        let prompt = Prompt::Tokens(vec![byte.into(); 4 * 16]);
        let request = Request { max_tokens: 33, ignore_eos: true, ..Request::new(prompt) };
        let responses = engine.generate_each(&[request], &mut |_, _| ControlFlow::Continue(()));
        responses.unwrap().remove(0).usage.cached_tokens
    };
    assert_eq!([cached(b'a'), cached(b'b'), cached(b'c')], [0; 3]);
    let left = cached(b'a');
    assert!((16..64).contains(&left), "{left}");
}

#[test]
fn texts_within_and_beyond_the_original_context_do_not_share_blocks() {
    // Prompts of up to 74 tokens, and texts of up to 40.
    let rope = json!({"rope_type": "longrope", "original_max_position_embeddings": 60,
        "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [4.0, 6.0, 9.0, 20.0]});
    let options = EngineOptions { prefix_cache: false, ..Default::default() };
    let plain = engine_with("loop-longrope", json!({"head_dim": 8, "rope_scaling": rope}), options);
    assert_eq!(plain.model().config().short_context(), Some(60));
    let requests = requests(&plain, 40, &mut ChaCha8Rng::seed_from_u64(6));
    let alone: Vec<Outcome> =
        requests.iter().map(|r| outcomes(&plain, std::slice::from_ref(r)).remove(0)).collect();
    let together = plain.clone().with_options(EngineOptions::default());
    // Twice, so that all prompts are found.
    for _ in 0..2 {
        for (index, outcome) in outcomes(&together, &requests).into_iter().enumerate() {
            assert_eq!(outcome, alone[index], "{index}: {:?}", requests[index]);
        }
    }
    assert!(together.stats().prefix_hits > 0);
}

#[test]
fn a_request_without_a_number_of_tokens_ends_within_the_original_context() {
    let rope = json!({"rope_type": "longrope", "original_max_position_embeddings": 60,
        "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [4.0, 6.0, 9.0, 20.0]});
    let fields = json!({"head_dim": 8, "rope_scaling": rope});
    let engine = engine_with("loop-longrope-bound", fields, EngineOptions::default());
    let tokens = |prompt: usize, max_tokens: usize| {
        let request = Request {
            max_tokens,
            ignore_eos: true,
            budget: false,
            ..Request::text("ab".repeat(prompt / 2))
        };
        let response = engine.generate(&request, &mut |_| ControlFlow::Continue(())).unwrap();
        response.usage.prompt_tokens + response.tokens.len()
    };
    let context = engine.model().context_length();
    assert_eq!(tokens(40, context), 60);
    assert_eq!(tokens(40, 30), 70);
    assert_eq!(tokens(60, context), context);
}

#[test]
fn texts_side_by_side_are_those_that_are_written_alone() {
    let plain = engine("loop-texts", EngineOptions { prefix_cache: false, ..Default::default() });
    let requests = requests(&plain, 64, &mut ChaCha8Rng::seed_from_u64(4));
    let alone: Vec<Outcome> =
        requests.iter().map(|r| outcomes(&plain, std::slice::from_ref(r)).remove(0)).collect();
    let tight = small_cache(&plain, 24);
    let (mut preemptions, mut late) = (0, 0);
    // Without patience each mask that is not ready is late.
    let (patient, impatient) = (Duration::from_millis(2), Duration::ZERO);
    for (max_running, kv_cache_bytes, prefill_tokens, prefix_cache, mask_patience) in [
        (1, 1 << 30, 512, true, patient),
        (2, 1 << 30, 16, false, impatient),
        (7, 1 << 30, 24, true, patient),
        (64, 1 << 30, 512, false, impatient),
        (64, 1 << 30, 100, true, patient),
        (64, tight, 32, true, impatient),
        (64, tight, 512, false, patient),
    ] {
        let options = EngineOptions {
            max_running,
            kv_cache_bytes: Some(kv_cache_bytes),
            prefill_tokens,
            prefill_tokens_beside_decode: Some(prefill_tokens),
            prefix_cache,
            mask_patience,
        };
        let together = plain.clone().with_options(options);
        for (index, outcome) in outcomes(&together, &requests).into_iter().enumerate() {
            assert_eq!(outcome, alone[index], "{index} {options:?}: {:?}", requests[index]);
        }
        let stats = together.stats();
        assert_eq!((stats.running, stats.waiting, stats.kv_blocks_held), (0, 0, 0), "{options:?}");
        assert!(stats.kv_blocks_cached <= stats.kv_blocks);
        assert!(stats.preemptions == 0 || kv_cache_bytes == tight, "{stats:?}");
        preemptions += stats.preemptions;
        late += if mask_patience.is_zero() { stats.late_masks } else { 0 };
        assert_eq!(stats.prefix_hits > 0, prefix_cache, "{stats:?}");
    }
    assert!(preemptions > 0);
    // A quarter of the texts' tokens at least, so that lateness is not left to chance.
    assert!(late > 300, "{late}");
}

/// Hears the texts of one request, and may hang up after some events.
struct Hearer {
    patience: usize,
    outcome: Outcome,
    steps: Vec<Step>,
    heard: Arc<Heard>,
    class: usize,
}

/// The results of all requests of a simulation.
#[derive(Default)]
struct Heard {
    ended: AtomicUsize,
    /// Outcomes of those that were heard to their end, by the class of the request.
    outcomes: Mutex<VecDeque<(usize, Outcome)>>,
    errors: Mutex<Vec<Error>>,
}

impl Listener for Hearer {
    fn on_event(&mut self, _: usize, event: Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Step(step) => self.steps.push(step.clone()),
            Event::Ended(response) => self.outcome = Outcome::new(response, &self.steps),
            _ => {}
        }
        self.patience = self.patience.saturating_sub(1);
        if self.patience == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn on_end(&mut self, result: Result<(), Error>) {
        self.heard.ended.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = result {
            self.heard.errors.lock().unwrap().push(error);
        } else if self.patience > 0 {
            let outcome = std::mem::take(&mut self.outcome);
            self.heard.outcomes.lock().unwrap().push_back((self.class, outcome));
        }
    }
}

/// Reads the engine's figures whenever a text has news.
struct StatsReader {
    engine: Engine,
    texts: Arc<Mutex<Vec<usize>>>,
}

impl Listener for StatsReader {
    fn on_event(&mut self, _: usize, _: Event<'_>) -> ControlFlow<()> {
        let stats = self.engine.stats();
        self.texts.lock().unwrap().push(stats.running + stats.waiting);
        ControlFlow::Continue(())
    }

    fn on_end(&mut self, _: Result<(), Error>) {}
}

/// A text counts from its submission on, also within the step that begins it, so that a full queue is seen as such.
#[test]
fn texts_count_within_the_step_that_begins_them() {
    let engine = engine("loop-stats", EngineOptions::default());
    let request = requests(&engine, 1, &mut ChaCha8Rng::seed_from_u64(3)).remove(0);
    let texts = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..2 {
        let reader = StatsReader { engine: engine.clone(), texts: Arc::clone(&texts) };
        engine.submit(&request, 1, Box::new(reader)).unwrap();
    }
    assert_eq!(engine.stats().waiting, 2);
    let mut steps = 0;
    engine
        .drive(&mut || {
            steps += 1;
            steps > 1 && engine.stats().running == 0
        })
        .unwrap();
    let texts = texts.lock().unwrap();
    assert_eq!(texts.first(), Some(&2));
    assert!(texts.iter().all(|&texts| texts > 0), "{texts:?}");
}

/// Random arrivals, lengths, kinds and cancellations, with a KV cache that is too small for all:
/// `MASKWRIGHT_ARRIVALS` of them.
#[test]
fn random_arrivals_lose_no_block_and_starve_nobody() {
    let arrivals = std::env::var("MASKWRIGHT_ARRIVALS").ok().and_then(|n| n.parse().ok());
    let arrivals: usize = arrivals.unwrap_or(2_000);
    let plain = engine("loop-arrivals", EngineOptions::default());
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let classes = requests(&plain, 200, &mut rng);
    let alone: Vec<Outcome> =
        classes.iter().map(|r| outcomes(&plain, std::slice::from_ref(r)).remove(0)).collect();
    let options = EngineOptions {
        max_running: 24,
        kv_cache_bytes: Some(small_cache(&plain, 32)),
        prefill_tokens: 64,
        prefill_tokens_beside_decode: Some(32),
        ..EngineOptions::default()
    };
    let engine = plain.with_options(options);
    let heard = Arc::new(Heard::default());
    let (mut submitted, mut checked, mut asked) = (0, 0, HashMap::<usize, usize>::new());
    engine
        .drive(&mut || {
            // Between two forward passes a few requests arrive, and now and then many.
            let burst = if rng.next_u32() % 200 == 0 { 60 } else { rng.next_u32() % 3 };
            // They wait for a while where many are waiting, so that any number of them is served.
            let room = MAX_OPEN.saturating_sub(submitted - heard.ended.load(Ordering::Relaxed));
            for _ in 0..(burst as usize).min(arrivals - submitted).min(room) {
                let class = (rng.next_u32() % classes.len() as u32) as usize;
                let impatient = rng.next_u32() % 4 == 0;
                let patience =
                    if impatient { 1 + rng.next_u32() as usize % 20 } else { usize::MAX };
                let hearer = Hearer {
                    patience,
                    outcome: Outcome::default(),
                    steps: Vec::new(),
                    heard: Arc::clone(&heard),
                    class,
                };
                engine.submit(&classes[class], 1, Box::new(hearer)).unwrap();
                *asked.entry(class).or_default() += 1;
                submitted += 1;
            }
            for (class, outcome) in heard.outcomes.lock().unwrap().drain(..) {
                assert_eq!(outcome, alone[class], "{:?}", classes[class]);
                checked += 1;
            }
            heard.ended.load(Ordering::Relaxed) == arrivals
        })
        .unwrap();
    let stats = engine.stats();
    assert!(heard.errors.lock().unwrap().is_empty());
    assert!(checked > arrivals / 2, "{checked} of {arrivals}");
    assert_eq!((stats.running, stats.waiting, stats.kv_blocks_held), (0, 0, 0), "{stats:?}");
    assert!(stats.preemptions > 0 && stats.prefix_hits > 0, "{stats:?}");
    println!("{arrivals} arrivals, {checked} texts compared: {stats:?}");
}
