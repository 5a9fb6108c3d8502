//! `--trace`: the steps of the model and the effect of the mask on each, as a table on standard error
//! or as an HTML page.

use std::fmt::Write as _;
use std::sync::Arc;

use maskwright::Vocabulary;
use maskwright::engine::{Response, Step, Wanted};

use super::output;

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum TraceFormat {
    /// A table on standard error, a line a step
    Table,
    /// A page on standard output, which is then the result
    Html,
}

/// Shows steps as they come, or keeps them for a page.
#[derive(Debug)]
pub(super) struct Trace {
    vocabulary: Arc<Vocabulary>,
    format: TraceFormat,
    steps: Vec<Step>,
    text: Vec<u8>,
}

impl Trace {
    /// A trace without steps.
    pub(super) fn new(vocabulary: Arc<Vocabulary>, format: TraceFormat) -> Self {
        Self { vocabulary, format, steps: Vec::new(), text: Vec::new() }
    }

    /// Adds a step; the first of a table comes after the heading. The probabilities are the model's
    /// own, before temperature and truncation: among the allowed tokens, and among all.
    pub(super) fn step(&mut self, step: &Step) {
        self.steps.push(step.clone());
        if self.format == TraceFormat::Html {
            return;
        }
        if self.steps.len() == 1 {
            output::note(
                "step  probability     raw  allowed    mass  nucleus  mask us  token -> text so far",
            );
        }
        self.text.extend(self.vocabulary.token_bytes(step.token).unwrap_or_default());
        // Told only where the mask kept the model from what it wanted most.
        let wanted = match step.wanted.first() {
            Some(wanted) if !wanted.allowed => format!(
                "  (wanted `{}`, {:.4})",
                output::show(wanted.text.as_bytes()),
                wanted.probability
            ),
            _ => String::new(),
        };
        let marks = match (step.forced, step.yielded) {
            (_, true) => "  (a ban yielded)",
            (true, _) => "  (forced)",
            _ => "",
        };
        output::note(&format!(
            "{:>4}  {:>11.4}  {:.4}  {:>7}  {:.4}  {:>7}  {:>7.1}  `{}` -> {}{wanted}{marks}",
            self.steps.len(),
            step.logprob.exp(),
            step.raw_logprob.exp(),
            step.allowed,
            step.allowed_mass,
            step.nucleus,
            step.mask_us,
            output::show(step.text.as_bytes()),
            output::show(&self.text),
        ));
    }

    /// Shows the summary of a table; a page has its own.
    pub(super) fn summary(&self, response: &Response) {
        if self.format == TraceFormat::Table
            && let Some(summary) = &response.summary
        {
            output::note(&format!(
                "{} steps, {} forced; the mask forbade the model's first choice at {}; mass left: \
                 {:.4} on average, {:.4} at least; log-probability {:.2}, by the model alone {:.2}; \
                 {} passes of the model",
                summary.steps,
                summary.forced,
                summary.argmax_masked,
                summary.mean_mass(),
                summary.least_mass,
                summary.logprob,
                summary.raw_logprob,
                response.passes.model,
            ));
        }
    }

    /// The page, which needs nothing beside itself.
    pub(super) fn page(&self, prompt: &str, response: &Response) -> String {
        let (mut line, mut steps) = (String::new(), String::new());
        for (index, step) in self.steps.iter().enumerate() {
            let (number, kind) = (index + 1, kind(step));
            // Writing to a string cannot fail.
            let _ = write!(
                line,
                "<a class={kind} href=#s{number}><code>{}</code></a>",
                visible(&step.text)
            );
            card(&mut steps, number, step);
        }
        let summary = response.summary.unwrap_or_default();
        let facts = [
            ("steps", summary.steps.to_string()),
            ("forced", summary.forced.to_string()),
            ("first choice forbidden", summary.argmax_masked.to_string()),
            ("mass left, on average", percent(summary.mean_mass())),
            ("mass left, at least", percent(summary.least_mass)),
            ("log-probability", format!("{:.2}", summary.logprob)),
            ("by the model alone", format!("{:.2}", summary.raw_logprob)),
            ("passes of the model", response.passes.model.to_string()),
            ("complete", if response.complete { "yes" } else { "no" }.to_owned()),
            ("seed", response.seed.to_string()),
        ];
        let facts: String =
            facts.iter().map(|(name, value)| format!("<div><dt>{name}<dd>{value}</div>")).collect();
        PAGE.replace("{{prompt}}", &escape(prompt))
            .replace("{{facts}}", &facts)
            .replace("{{line}}", &line)
            .replace("{{steps}}", &steps)
            .replace("{{text}}", &escape(&response.text))
    }
}

/// The page without its content.
const PAGE: &str = include_str!("trace.html");

/// Class of a step in the page: `forced`, `pressed` by the mask, or `free`.
fn kind(step: &Step) -> &'static str {
    match (step.forced, step.argmax_masked) {
        (true, _) => "forced",
        (_, true) => "pressed",
        _ => "free",
    }
}

/// A probability in three digits, never 0 where it is not.
fn share(p: f64) -> String {
    match p {
        p if p > 0.0 && p < 0.0005 => "&lt;0.001".to_owned(),
        p => format!("{p:.3}"),
    }
}

/// The same in percent.
fn percent(p: f64) -> String {
    match p * 100.0 {
        p if p > 0.0 && p < 0.05 => "&lt;0.1%".to_owned(),
        p => format!("{p:.1}%"),
    }
}

/// One step of the strip.
fn card(page: &mut String, number: usize, step: &Step) {
    // What was written stands in the list even where the model did not want it.
    let written = Wanted {
        token: step.token,
        text: step.text.clone(),
        probability: step.raw_logprob.exp(),
        allowed: true,
    };
    let is_listed = step.wanted.iter().any(|wanted| wanted.token == step.token);
    let wanted: String = step
        .wanted
        .iter()
        .chain((!is_listed).then_some(&written))
        .map(|wanted| {
            let class = match (wanted.token == step.token, wanted.allowed) {
                (true, _) => "taken",
                (_, true) => "open",
                _ => "shut",
            };
            format!(
                "<li class={class}><i style=\"width:{:.1}%\"></i><code>{}</code><b>{}</b>",
                wanted.probability * 100.0,
                visible(&wanted.text),
                share(wanted.probability)
            )
        })
        .collect();
    let facts: String = [
        ("mass left", share(step.allowed_mass)),
        ("probability", share(step.logprob.exp())),
        ("model alone", share(step.raw_logprob.exp())),
        ("allowed", step.allowed.to_string()),
        ("nucleus", step.nucleus.to_string()),
        ("mask", format!("{:.1} µs", step.mask_us)),
    ]
    .iter()
    .map(|(name, value)| format!("<tr><td>{name}<td>{value}"))
    .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "<section class={} id=s{number}><header><small>{number}{}{}</small><code>{}</code></header>\
         <ul>{wanted}</ul>\
         <div class=mass title=\"mass that the mask left\"><i style=\"width:{:.1}%\"></i></div>\
         <table>{facts}</table></section>",
        kind(step),
        if step.forced { " <em>forced</em>" } else { "" },
        if step.yielded { " <em>a ban yielded</em>" } else { "" },
        visible(&step.text),
        step.allowed_mass * 100.0,
    );
}

/// A token's text with its white space shown, escaped for HTML.
fn visible(text: &str) -> String {
    escape(&output::show(text.as_bytes()).replace(' ', "␣"))
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // A template's mark, should a text hold one.
            '{' => escaped.push_str("&#123;"),
            c => escaped.push(c),
        }
    }
    escaped
}
