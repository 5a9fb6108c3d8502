//! The options that name a model or a vocabulary.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::{output, progress};
use maskwright::Vocabulary;
use maskwright::engine::Engine;
use maskwright::error::Result;
use maskwright::model::{DType, Device, Model, ModelOptions, ModelSource, Repository};
use maskwright::vocabulary::cache_folder;

/// The model and its device.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// `tiny`, the embedded model, a GGUF file, a folder with config.json, tokenizer.json and
    /// safetensors, or a model of Hugging Face's hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME:FILE.gguf
    #[arg(long, value_name = "tiny|DIR|FILE.gguf|ORG/NAME", default_value = "tiny")]
    model: ModelSource,
    /// The device: `cpu`, `cuda` or `cuda:N`
    #[arg(long, value_name = "cpu|cuda[:N]", default_value = "cpu")]
    device: Device,
    /// Number format that the weights are converted to; quantised ones of GGUF stay quantised on the CPU
    #[arg(long, value_name = "f32|bf16|f16", default_value = "f32")]
    dtype: DType,
}

impl ModelArgs {
    /// The options for loading a model beside this one: on the same device, in the same dtype.
    pub(crate) fn options(&self, source: ModelSource) -> Result<ModelOptions> {
        Ok(ModelOptions {
            source: progress::located(source)?,
            device: self.device,
            dtype: self.dtype,
            index: cache_folder(),
        })
    }

    /// Loads the model.
    pub(crate) fn load(&self) -> Result<Engine> {
        let options = self.options(self.model.clone())?;
        let engine = Engine::new(progress::loaded(&options)?);
        let vocabulary = engine.model().vocabulary();
        warn(vocabulary);
        let left_out = engine.model().left_out();
        if !left_out.is_empty() {
            let parts: Vec<String> = left_out.iter().map(|part| format!("`{part}*`")).collect();
            output::note(&format!(
                "note: the model is loaded as far as it reads text; tensors left out: {}",
                parts.join(", ")
            ));
        }
        warn_of_another_tokenizer(vocabulary);
        Ok(engine)
    }
}

/// Warns if the tokenizer has so few tokens that it may be another model's. Logits are padded, but not
/// by much.
fn warn_of_another_tokenizer(vocabulary: &Vocabulary) {
    let width = vocabulary.len();
    let tokens = (0..width as u32)
        .filter(|&id| vocabulary.token_bytes(id).is_some() || vocabulary.is_special(id))
        .count();
    if tokens < width - width / 8 {
        output::note(&format!(
            "warning: the tokenizer has {tokens} tokens for the model's {width} logits; if the texts \
             make no sense, it is another model's"
        ));
    }
}

/// The vocabulary of `--tokenizer`: the embedded model's, a file's, or that of a model of the hub.
pub(crate) fn vocabulary(tokenizer: &str) -> Result<Arc<Vocabulary>> {
    let Some(file) = tokenizer_file(tokenizer)? else {
        return Ok(Arc::clone(Model::load(&ModelOptions::default())?.vocabulary()));
    };
    let loaded = match cache_folder() {
        Some(folder) => Vocabulary::from_file_indexed(&file, folder),
        None => Vocabulary::from_file(&file),
    };
    let vocabulary = loaded.map_err(|error| match error.help() {
        Some(_) => error,
        None => error.with_help(
            "give a tokenizer.json, .tiktoken or .gguf file, a folder with a tokenizer.json, ORG/NAME \
             on the hub, or `tiny`",
        ),
    })?;
    warn(&vocabulary);
    Ok(Arc::new(vocabulary))
}

/// The file that `--tokenizer` names; `None` for the embedded model. Whatever exists, or has the ending of a
/// file, is a file, and no name on the hub.
pub(crate) fn tokenizer_file(tokenizer: &str) -> Result<Option<PathBuf>> {
    const ENDINGS: [&str; 4] = ["json", "tiktoken", "gguf", "model"];
    if tokenizer == "tiny" {
        return Ok(None);
    }
    let path = Path::new(tokenizer);
    let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    let is_file = path.exists()
        || !tokenizer.contains(':')
            && ENDINGS.iter().any(|known| ending.as_deref() == Some(known.as_ref()));
    match tokenizer.parse::<Repository>() {
        Ok(repository) if !is_file => progress::located_tokenizer(&repository).map(Some),
        _ => Ok(Some(path.to_owned())),
    }
}

/// Warns if the vocabulary's index could not be written, so that loading stays slow.
fn warn(vocabulary: &Vocabulary) {
    if let Some(error) = vocabulary.index_error() {
        output::note(&format!("warning: {error}"));
    }
}
