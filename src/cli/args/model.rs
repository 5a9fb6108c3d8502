//! The options that name a model or a vocabulary.

use std::sync::Arc;

use crate::cli::{output, progress};
use maskwright::Vocabulary;
use maskwright::engine::Engine;
use maskwright::error::Result;
use maskwright::model::{DType, Device, Model, ModelOptions, ModelSource};
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
        let spinner = progress::loading(&options.source);
        let engine = Engine::load(&options);
        spinner.finish_and_clear();
        let engine = engine?;
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

/// The vocabulary of `--tokenizer`: the embedded model's, or a file's.
pub(crate) fn vocabulary(tokenizer: &str) -> Result<Arc<Vocabulary>> {
    match tokenizer {
        "tiny" => Ok(Arc::clone(Model::load(&ModelOptions::default())?.vocabulary())),
        file => {
            let loaded = match cache_folder() {
                Some(folder) => Vocabulary::from_file_indexed(file, folder),
                None => Vocabulary::from_file(file),
            };
            let vocabulary = loaded.map_err(|error| match error.help() {
                Some(_) => error,
                None => {
                    error.with_help("give a tokenizer.json, .tiktoken or .gguf file, or `tiny`")
                }
            })?;
            warn(&vocabulary);
            Ok(Arc::new(vocabulary))
        }
    }
}

/// Warns if the vocabulary's index could not be written, so that loading stays slow.
fn warn(vocabulary: &Vocabulary) {
    if let Some(error) = vocabulary.index_error() {
        output::note(&format!("warning: {error}"));
    }
}
