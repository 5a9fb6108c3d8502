//! The tokenizer: byte-level BPE that merges letters with letters only, and common words as tokens of their own.
//!
//! A word must become the same tokens wherever it stands, after a blank or after a quote: copying
//! is then a matter of repeating tokens. So words are split off before anything else, and digits,
//! blanks and punctuation are tokens of their own. What a word means can be said by the embedding of a token
//! only if the word is one.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, OffsetReferential, OffsetType,
    PostProcessorWrapper, PreTokenizedString, PreTokenizer, PreTokenizerWrapper,
    SplitDelimiterBehavior, Tokenizer, TokenizerImpl,
};

/// Begins a conversation.
pub const BOS: &str = "<|bos|>";
/// Begins what each side says.
pub const SYSTEM: &str = "<|system|>";
pub const USER: &str = "<|user|>";
pub const ASSISTANT: &str = "<|assistant|>";
/// Ends what a side says; the model's end of text.
pub const END: &str = "<|end|>";
/// All of them, in the order of their numbers.
pub const SPECIAL: [&str; 5] = [BOS, SYSTEM, USER, ASSISTANT, END];

/// A word, which ends before a capital letter as in `startDate`, or a single character that is no letter.
const WORD: &str = r"[A-Z]?[a-z]+|[A-Z]+|[^A-Za-z]";

type Result<T> = tokenizers::Result<T>;

/// Learns a vocabulary of `size` tokens from `texts`: the special ones, all bytes, and merges.
pub fn train(texts: &[String], size: usize) -> Result<Tokenizer> {
    let mut tokenizer: TokenizerImpl<
        BPE,
        NormalizerWrapper,
        PreTokenizerWrapper,
        PostProcessorWrapper,
        DecoderWrapper,
    > = TokenizerImpl::new(BPE::default());
    let words =
        Split::new(SplitPattern::Regex(WORD.to_owned()), SplitDelimiterBehavior::Isolated, false)?;
    let bytes = ByteLevel::new(false, false, false);
    tokenizer
        .with_pre_tokenizer(Some(Sequence::new(vec![words.into(), bytes.into()])))
        .with_decoder(Some(bytes));
    let special = SPECIAL.iter().map(|token| AddedToken::from(*token, true)).collect();
    let mut trainer = BpeTrainer::builder()
        .vocab_size(size)
        .show_progress(false)
        .special_tokens(special)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    tokenizer.train(&mut trainer, texts.iter())?;
    Ok(tokenizer.into())
}

/// The tokenizer with the commonest words of `texts` as tokens, so that it has `size` tokens in all. A word that is a token
/// is never made of others.
pub fn with_words<'a>(
    tokenizer: &Tokenizer,
    texts: impl Iterator<Item = &'a str>,
    size: usize,
) -> Result<Tokenizer> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for text in texts {
        let mut words = PreTokenizedString::from(text);
        if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut words)?;
        }
        for (word, ..) in words.get_splits(OffsetReferential::Original, OffsetType::Byte) {
            let is_word = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
            if is_word && tokenizer.token_to_id(word).is_none() {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(word, count), (other, others)| others.cmp(count).then(word.cmp(other)));
    let mut written: Value = serde_json::from_str(&tokenizer.to_string(false)?)?;
    let first = tokenizer.get_vocab_size(true);
    let model = &mut written["model"];
    model["ignore_merges"] = json!(true);
    for (id, (word, _)) in (first..size).zip(counts) {
        model["vocab"][word] = json!(id);
    }
    Tokenizer::from_bytes(serde_json::to_vec(&written)?)
}

/// The chat template of the model. Tools, or else the fields of the answer, are told after the request, so that what is
/// computed of them knows it.
const CHAT_TEMPLATE: &str = "\
{%- macro shape(schema, root) %}\
{%- set definitions = root['$defs'] or root.definitions or {} %}\
{%- set definition = definitions[(schema['$ref'] or '').split('/') | last] %}\
{%- if definition and '$ref' not in (definition | tojson) %}\
{%- set schema = definition %}\
{%- endif %}\
{%- set types = [schema.type] if schema.type is string else (schema.type or []) %}\
{%- if schema.anyOf %}\
{%- for branch in schema.anyOf %}{{- shape(branch, root) }}{%- endfor %}\
{%- elif schema.enum %}\
{{- ' ' ~ (schema.enum | select('string') | join('/')) ~ (' null' if none in schema.enum else '') }}\
{%- else %}\
{%- for type in types %}\
{%- if type not in ['object', 'string', 'null'] %}{{- ' ' ~ type }}{%- endif %}\
{%- endfor %}\
{%- if schema.format in ['email', 'date'] %}{{- ' ' ~ schema.format }}{%- endif %}\
{{- (' minLength' if schema.minLength else '') ~ (' null' if 'null' in types else '') }}\
{{- shape(schema['items'], root) if schema['items'] else '' }}\
{%- if schema.properties is mapping %}\
{{- '(' }}\
{%- for key, field in schema.properties | items %}\
{{- ', ' if not loop.first else '' }}{{- key }}{{- shape(field, root) }}\
{%- endfor %}\
{{- ')' }}\
{%- endif %}\
{%- endif %}\
{%- endmacro %}\
{{- '<|bos|>' }}\
{%- set last = namespace(request=(messages | length) - 1) %}\
{%- for message in messages %}\
{%- if message.role != 'assistant' %}\
{%- set last.request = loop.index0 %}\
{%- endif %}\
{%- endfor %}\
{%- for message in messages %}\
{%- if message.role == 'assistant' %}\
{{- '<|assistant|>' ~ (message.content or '') }}\
{%- for call in message.tool_calls or [] %}\
{{- ('[' if loop.first else ', ') ~ '{\"name\": \"' ~ call.function.name }}\
{{- '\", \"arguments\": ' ~ (call.function.arguments | tojson) ~ '}' }}\
{{- ']' if loop.last else '' }}\
{%- endfor %}\
{{- '<|end|>' }}\
{%- elif message.role == 'system' or message.role == 'developer' %}\
{{- '<|system|>' ~ message.content }}\
{%- else %}\
{{- '<|user|>' ~ message.content }}\
{%- endif %}\
{%- if loop.index0 == last.request %}\
{%- if tools %}\
{{- '<|system|>' }}\
{%- for tool in tools %}\
{%- set parameters = tool.function.parameters or {'properties': {}} %}\
{{- tool.function.name ~ shape(parameters, parameters) }}\
{%- if tool.function.description %}\
{{- ': ' ~ tool.function.description }}\
{%- endif %}\
{{- ' = ' ~ tool.function.name ~ '\\n' }}\
{%- endfor %}\
{%- elif json_schema and (json_schema | tojson | length) <= 4000 %}\
{%- set told = shape(json_schema, json_schema) %}\
{%- if '(' in told and (told | length) <= 4000 %}\
{{- '<|system|>answer' ~ told ~ '\\n' }}\
{%- endif %}\
{%- endif %}\
{%- endif %}\
{%- endfor %}\
{%- if add_generation_prompt %}\
{{- '<|assistant|>' }}\
{%- endif %}";

/// The `tokenizer_config.json` that belongs to it.
pub fn config() -> Value {
    json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": END,
        "pad_token": END,
        "add_bos_token": false,
        "clean_up_tokenization_spaces": false,
        "model_max_length": 2048,
        "chat_template": CHAT_TEMPLATE,
    })
}

/// Text to tokens, with the special tokens' numbers at hand and words remembered.
pub struct Encoder {
    tokenizer: Tokenizer,
    special: HashMap<&'static str, u32>,
}

impl Encoder {
    pub fn new(tokenizer: Tokenizer) -> Result<Self> {
        let mut special = HashMap::new();
        for token in SPECIAL {
            let id = tokenizer.token_to_id(token).ok_or_else(|| format!("no token {token}"))?;
            special.insert(token, id);
        }
        Ok(Self { tokenizer, special })
    }

    pub fn special(&self, token: &str) -> u32 {
        self.special[token]
    }

    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode_fast(text, false)?.get_ids().to_vec())
    }
}
