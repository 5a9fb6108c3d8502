//! Models and generation: loading, logits, chat templates, the decoding loop.

mod adapted;
mod batch;
mod canonical;
mod chat_templates;
#[cfg(feature = "cuda")]
mod cuda;
mod decisions;
mod decoding;
mod engine_loop;
mod families;
mod generation;
mod gguf;
mod hub;
mod llama;
#[cfg(feature = "hub")]
#[path = "../model_support/mock_hub.rs"]
mod mock_hub;
#[path = "../model_support/mod.rs"]
mod model_support;
mod prompt_logprobs;
mod prompts;
mod special_tokens;
mod speculation;
mod speculation_corpus;
mod tiny_model;
mod token_healing;
mod tool_templates;
