//! Progress of what may take minutes: downloads, and loading a model. indicatif draws on standard
//! error, and only on a terminal.

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use maskwright::error::Result;
use maskwright::model::{
    DownloadProgress, HubOptions, Model, ModelOptions, ModelSource, Repository,
};

/// Interval at which a spinner turns.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);

/// The model's folder or file: of one of the hub, that in the cache, into which it is downloaded.
pub(crate) fn located(source: ModelSource) -> Result<ModelSource> {
    let ModelSource::Hub(repository) = source else { return Ok(source) };
    let options = HubOptions::from_env()?;
    let path = with_bars(|progress| repository.locate(&options, progress))?;
    Ok(if path.is_dir() { ModelSource::Folder(path) } else { ModelSource::Gguf(path) })
}

/// The tokenizer of a model of the hub in the cache, into which it is downloaded without the weights.
pub(crate) fn located_tokenizer(repository: &Repository) -> Result<PathBuf> {
    let options = HubOptions::from_env()?;
    with_bars(|progress| repository.locate_tokenizer(&options, progress))
}

/// Runs downloads with a bar for each file.
fn with_bars(
    download: impl FnOnce(&mut dyn FnMut(DownloadProgress<'_>)) -> Result<PathBuf>,
) -> Result<PathBuf> {
    let mut bar: Option<(String, ProgressBar)> = None;
    let path = download(&mut |state| {
        let is_new = bar.as_ref().is_none_or(|(file, _)| file != state.file);
        if is_new {
            let style =
                "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
            let style = ProgressStyle::with_template(style)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let new = ProgressBar::new(state.total).with_style(style);
            // What an earlier run has downloaded counts for no speed.
            let new = new.with_position(state.received).with_message(state.file.to_owned());
            new.reset_eta();
            if let Some((_, old)) = bar.replace((state.file.to_owned(), new)) {
                old.finish_and_clear();
            }
        }
        if let Some((_, bar)) = &bar {
            bar.set_position(state.received);
        }
    });
    if let Some((_, bar)) = bar {
        bar.finish_and_clear();
    }
    path
}

/// Loads a model under a spinner with the time that it takes, and a bar of its layers; under none for the
/// embedded model, which takes no time.
pub(crate) fn loaded(options: &ModelOptions) -> Result<Model> {
    if options.source == ModelSource::Tiny {
        return Model::load(options);
    }
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    let bar = ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        .with_message(format!("loading {}", options.source));
    bar.enable_steady_tick(SPINNER_INTERVAL);
    let model = Model::load_with_progress(options, &mut |state| {
        if bar.length().is_none() {
            let style = "{spinner} {msg} {wide_bar} {pos}/{len} layers {elapsed}";
            let style = ProgressStyle::with_template(style);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_length(state.total as u64);
        }
        bar.set_position(state.layers as u64);
    });
    bar.finish_and_clear();
    model
}
