//! Models on candle: loading, architectures, KV cache, chat templates, the embedded `tiny`.
