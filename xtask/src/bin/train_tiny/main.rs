//! Trains `tiny`, the model that comes with the package, on text that it makes up itself.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo run --release -p xtask --features model --bin train_tiny -- --folder /tmp/tiny --steps 8000
//! ```
//!
//! The folder then holds the model (`config.json`, `model.safetensors`, `tokenizer.json`,
//! `tokenizer_config.json`), a checkpoint to `--resume` from, and `loss.csv`, `accuracy.csv` and
//! `loss.svg`. The same seed gives the same text, the same tokenizer and, resumed or not, the same
//! order of lessons. Workers share the batch; candle's own threads would get in their way, hence
//! the environment variable.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, unreachable_pub)]

mod checkpoint;
mod lesson;
mod measure;
mod net;
mod optimizer;
mod plot;
mod tokenizer;

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use rand::SeedableRng;
use tokenizers::Tokenizer;

use lesson::{Lesson, batch, training};
use measure::accuracy;
use net::{Net, Size};
use optimizer::Optimizer;
use tokenizer::Encoder;
use xtask::tiny_data::words::{Rng, Split};
use xtask::tiny_data::{Course, example};
use xtask::tiny_ops::with_slice;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Trains the embedded model `tiny`.
#[derive(Parser)]
struct Options {
    /// Where the model, the checkpoint and the records go.
    #[arg(long)]
    folder: PathBuf,
    /// Seed of the text, the tokenizer and the first weights.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Steps in all, over which the learning rate falls.
    #[arg(long, default_value_t = 8000)]
    steps: u64,
    /// Stop after this step, with a checkpoint.
    #[arg(long)]
    until: Option<u64>,
    /// Stop after so many minutes, with a checkpoint.
    #[arg(long)]
    minutes: Option<u64>,
    /// Begin with the weights and the tokenizer of this model folder instead of random ones.
    #[arg(long, conflicts_with = "resume")]
    from: Option<PathBuf>,
    /// Go on from the folder's checkpoint.
    #[arg(long)]
    resume: bool,
    /// Examples a step.
    #[arg(long, default_value_t = 32)]
    examples: u64,
    /// Steps of copying tasks alone, before the rest is mixed in.
    #[arg(long, default_value_t = 400)]
    copying: u64,
    /// The highest learning rate.
    #[arg(long, default_value_t = 2e-3)]
    rate: f32,
    /// Workers that share a step's examples.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    #[arg(long, default_value_t = 192)]
    hidden: usize,
    #[arg(long, default_value_t = 384)]
    inner: usize,
    #[arg(long, default_value_t = 5)]
    layers: usize,
    #[arg(long, default_value_t = 6)]
    heads: usize,
    #[arg(long, default_value_t = 2)]
    key_heads: usize,
    /// Tokens of the vocabulary.
    #[arg(long, default_value_t = 768)]
    vocabulary: usize,
}

/// Examples that the tokenizer is learnt from.
const TOKENIZER_EXAMPLES: u64 = 20_000;
/// Steps of rising learning rate.
const WARM_UP: u64 = 150;
/// The last learning rate, as a part of the first.
const LAST_RATE: f32 = 0.03;
/// Steps between checkpoints and measurements.
const CHECKPOINT_EVERY: u64 = 250;
/// Held-out examples of each course that a checkpoint is measured on.
const MEASURED: u64 = 96;
const DECAY: f32 = 0.05;

fn main() -> Result<()> {
    let options = Options::parse();
    fs::create_dir_all(&options.folder)?;
    let encoder = encoder(&options)?;
    let size = Size {
        vocabulary: encoder.vocabulary(),
        hidden: options.hidden,
        inner: options.inner,
        layers: options.layers,
        heads: options.heads,
        key_heads: options.key_heads,
    };
    let net = Net::new(size, &mut Rng::seed_from_u64(options.seed))?;
    if let Some(from) = &options.from {
        let file = from.join("model.safetensors");
        net.set_hugging_face(&candle_core::safetensors::load(file, &candle_core::Device::Cpu)?)?;
    }
    let count: usize = net.weights().iter().map(|(_, var)| var.elem_count()).sum();
    println!("{size:?}, {count} parameters");
    train(&options, &net, &encoder)?;
    plot::draw(&options.folder)?;
    Ok(())
}

/// The folder's tokenizer, trained first if there is none.
fn encoder(options: &Options) -> Result<Encoder> {
    let path = options.folder.join("tokenizer.json");
    if let Some(from) = &options.from {
        fs::copy(from.join("tokenizer.json"), &path)?;
    }
    if !path.exists() {
        let mut texts = Vec::new();
        for index in 0..TOKENIZER_EXAMPLES {
            let example = example(options.seed, index, Split::Train, Course::Full);
            texts.push(example.prompt);
            texts.push(example.pieces.into_iter().map(|piece| piece.text).collect());
        }
        tokenizer::train(&texts, options.vocabulary)?.save(&path, false)?;
    }
    Encoder::new(Tokenizer::from_file(path)?)
}

/// The learning rate of a step: a short rise, then half a cosine.
fn rate(options: &Options, step: u64) -> f32 {
    let rise = ((step + 1) as f32 / WARM_UP as f32).min(1.0);
    let done = step as f32 / options.steps as f32;
    let fall = LAST_RATE + (1.0 - LAST_RATE) * 0.5 * (1.0 + (std::f32::consts::PI * done).cos());
    options.rate * rise * fall
}

/// The course of lesson `index` of `step`: copying alone at first, then ever less of it.
fn course(options: &Options, step: u64, index: u64) -> Course {
    let past = step.saturating_sub(options.copying);
    let copying_of_ten = 10_u64.saturating_sub(past * 10 / options.copying.max(1));
    if step < options.copying || index % 10 < copying_of_ten {
        Course::Copying
    } else {
        Course::Full
    }
}

/// One worker's share of a step: the gradients and the loss, both of the weighted sum.
struct Share {
    grads: Vec<Vec<f32>>,
    loss: f32,
    weight: f32,
    tokens: usize,
}

fn share(
    options: &Options,
    net: &Net,
    encoder: &Encoder,
    step: u64,
    worker: usize,
) -> Result<Share> {
    let mut lessons: Vec<Lesson> = Vec::new();
    for index in (step * options.examples..(step + 1) * options.examples)
        .skip(worker)
        .step_by(options.workers)
    {
        let course = course(options, step, index);
        lessons.extend(training(encoder, options.seed, index, course)?);
    }
    let batch = batch(&lessons, 1.0);
    let loss = net.loss(&batch)?;
    let grads = loss.backward()?;
    let grads = net
        .weights()
        .iter()
        .map(|(name, var)| {
            let grad = grads.get(var).ok_or_else(|| format!("{name} has no gradient"))?;
            Ok(with_slice(&grad.contiguous()?, <[f32]>::to_vec)?)
        })
        .collect::<Result<_>>()?;
    Ok(Share {
        grads,
        loss: loss.to_scalar()?,
        weight: batch.weights.iter().sum(),
        tokens: batch.tokens.len(),
    })
}

/// The shares of all workers as one, gradients and loss averaged over the weight.
fn step_gradients(options: &Options, net: &Net, encoder: &Encoder, step: u64) -> Result<Share> {
    let shares: Vec<Result<Share>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.workers)
            .map(|worker| scope.spawn(move || share(options, net, encoder, step, worker)))
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    let mut shares = shares.into_iter();
    let mut all = shares.next().ok_or("no workers")??;
    for share in shares {
        let share = share?;
        for (sum, more) in all.grads.iter_mut().zip(&share.grads) {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        all.loss += share.loss;
        all.weight += share.weight;
        all.tokens += share.tokens;
    }
    let scale = 1.0 / all.weight;
    all.grads.iter_mut().flatten().for_each(|grad| *grad *= scale);
    all.loss *= scale;
    Ok(all)
}

fn train(options: &Options, net: &Net, encoder: &Encoder) -> Result<()> {
    let weights = net.weights();
    let mut optimizer = Optimizer::new(&weights, DECAY);
    let first = if options.resume {
        checkpoint::load(&options.folder, net, &mut optimizer)?
    } else {
        fs::write(options.folder.join("loss.csv"), "step,loss,rate,tokens,seconds\n")?;
        fs::write(options.folder.join("accuracy.csv"), "step,course,values,answers\n")?;
        0
    };
    let append = |name: &str| OpenOptions::new().append(true).open(options.folder.join(name));
    let (mut losses, mut accuracies) = (append("loss.csv")?, append("accuracy.csv")?);
    let bar = ProgressBar::new(options.steps).with_position(first);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} steps, {eta} left, {msg}")?);
    let started = Instant::now();
    let limit = options.minutes.map(|minutes| Duration::from_secs(minutes * 60));
    for step in first..options.steps {
        let began = Instant::now();
        let share = step_gradients(options, net, encoder, step)?;
        let rate = rate(options, step);
        optimizer.step(&weights, &share.grads, rate, step)?;
        let seconds = began.elapsed().as_secs_f64();
        writeln!(losses, "{step},{:.4},{rate:.6},{},{seconds:.3}", share.loss, share.tokens)?;
        bar.set_message(format!(
            "loss {:.3}, {:.0} tokens/s",
            share.loss,
            share.tokens as f64 / seconds
        ));
        bar.inc(1);
        let stop = limit.is_some_and(|limit| started.elapsed() > limit)
            || options.until.is_some_and(|until| step + 1 >= until);
        if (step + 1) % CHECKPOINT_EVERY == 0 || step + 1 == options.steps || stop {
            checkpoint::save(&options.folder, net, &mut optimizer, step + 1)?;
            checkpoint::export(&options.folder, net, encoder)?;
            for (name, course) in [
                ("copying", Course::Copying),
                ("unnamed", Course::Records { named: false }),
                ("named", Course::Records { named: true }),
                ("tools", Course::Tools),
                ("new tools", Course::NewTools),
                ("missing", Course::Missing),
            ] {
                let found = accuracy(net, encoder, course, MEASURED)?;
                writeln!(
                    accuracies,
                    "{},{name},{:.4},{:.4}",
                    step + 1,
                    found.values,
                    found.answers
                )?;
            }
        }
        if stop {
            break;
        }
    }
    bar.finish();
    Ok(())
}
