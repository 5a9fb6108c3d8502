//! The two engines behind one face: what both are given, what is asked of them.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};

/// The vocabulary that both engines are given: the bytes of each token, the tokens that are no
/// text, the end token.
pub struct Words {
    pub bytes: Vec<Vec<u8>>,
    pub special: Vec<bool>,
    pub end: u32,
    pub encode: Box<dyn Fn(&str) -> Vec<u32> + Send + Sync>,
}

impl Words {
    pub fn load(tokenizer: &str) -> Result<Self> {
        if tokenizer != "o200k" {
            return Self::from_tokenizer_json(Path::new(tokenizer));
        }
        const RANKS: u32 = 199_998;
        let bpe = tiktoken_rs::o200k_base()?;
        let bytes = (0..200_019).map(|id| bpe.decode_bytes(&[id]).unwrap_or_default()).collect();
        Ok(Self {
            bytes,
            special: (0..200_019).map(|id| id >= RANKS).collect(),
            end: 199_999,
            encode: Box::new(move |text| bpe.encode_ordinary(text)),
        })
    }

    fn from_tokenizer_json(path: &Path) -> Result<Self> {
        let tokenizer = toktrie_hf_tokenizers::ByteTokenizer::from_file(path)?;
        let end = tokenizer.tokrx_info().tok_eos;
        // It marks what is no text by a byte before the name.
        let marked = |bytes: &Vec<u8>| {
            bytes.is_empty() || bytes.first() == Some(&toktrie::TokTrie::SPECIAL_TOKEN_MARKER)
        };
        let mut bytes = tokenizer.token_bytes();
        let special: Vec<bool> = bytes.iter().map(|b| marked(b) && b.len() != 1).collect();
        for (bytes, _) in bytes.iter_mut().zip(&special).filter(|(_, special)| **special) {
            *bytes = bytes.split_off(bytes.len().min(1));
        }
        let env = tokenizer.into_tok_env(None)?;
        Ok(Self { bytes, special, end, encode: Box::new(move |text| env.tokenize(text)) })
    }
}

/// The text of a constraint.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    JsonSchema(&'a str),
    Lark(&'a str),
    /// A structural tag; the peer has none.
    StructuralTag(&'a str),
    /// The name of a grammar that comes with maskwright.
    Ready(&'a str),
}

pub trait Engine {
    /// Before each input, off the clock.
    fn prepare(&mut self) {}
    /// From its text.
    fn compile(&self, input: Input<'_>) -> Result<Box<dyn Compiled>>;
}

pub trait Compiled {
    /// A sequence at its beginning.
    fn start(&self) -> Result<Box<dyn Sequence>>;
}

pub trait Sequence {
    /// Computes the mask, packed.
    fn mask(&mut self) -> Result<()>;
    /// Whether the mask computed last allows a token.
    fn allows(&self, token: u32) -> bool;
    fn accept(&mut self, token: u32) -> Result<()>;
    /// Whether the text may end here.
    fn may_end(&mut self) -> Result<bool>;
}

pub struct Ours {
    compiler: maskwright::Compiler,
    options: maskwright::json_schema::Options,
    unshared: bool,
}

impl Ours {
    /// `options` are those of JSON Schemas; `unshared`: nothing that inputs have left in caches serves
    /// another.
    pub fn new(
        words: &Words,
        options: maskwright::json_schema::Options,
        unshared: bool,
    ) -> Result<Self> {
        let text = words.bytes.iter().zip(&words.special);
        let tokens = text.map(|(bytes, special)| (!special).then(|| bytes.clone())).collect();
        let end = words.end;
        let vocabulary = maskwright::Vocabulary::from_tokens(tokens, &[(end, "<|end|>")], &[end])?;
        let compiler = maskwright::Compiler::new(vocabulary).with_json_options(options.clone());
        Ok(Self { compiler, options, unshared })
    }
}

impl Engine for Ours {
    fn prepare(&mut self) {
        if self.unshared {
            let fresh = maskwright::Compiler::new(Arc::clone(self.compiler.vocabulary()));
            self.compiler = fresh.with_json_options(self.options.clone());
        }
    }

    fn compile(&self, input: Input<'_>) -> Result<Box<dyn Compiled>> {
        Ok(Box::new(match input {
            Input::JsonSchema(schema) => self.compiler.json_schema_str(schema)?,
            Input::Lark(grammar) => self.compiler.lark(grammar)?,
            Input::StructuralTag(tag) => {
                let tag = serde_json::from_str(tag)?;
                self.compiler.compile(maskwright::tools::structural_tag(&tag, &self.compiler)?)?
            }
            Input::Ready(name) => {
                let ready = maskwright::ebnf::builtin(name);
                let ready = ready.with_context(|| format!("there is no grammar `{name}`"))?;
                self.compiler.grammar(ready.text, ready.dialect)?
            }
        }))
    }
}

impl Compiled for maskwright::Constraint {
    fn start(&self) -> Result<Box<dyn Sequence>> {
        let row = vec![0; self.vocabulary().len().div_ceil(32)];
        Ok(Box::new(OurSequence { matcher: self.matcher(), row }))
    }
}

struct OurSequence {
    matcher: maskwright::Matcher,
    row: Vec<u32>,
}

impl Sequence for OurSequence {
    fn mask(&mut self) -> Result<()> {
        Ok(self.matcher.fill_mask(&mut self.row)?)
    }

    fn allows(&self, token: u32) -> bool {
        self.row[token as usize / 32] >> (token % 32) & 1 == 1
    }

    fn accept(&mut self, token: u32) -> Result<()> {
        Ok(self.matcher.accept(token)?)
    }

    fn may_end(&mut self) -> Result<bool> {
        Ok(self.matcher.is_accepting())
    }
}

pub struct Peer {
    factory: llguidance::ParserFactory,
    shares: bool,
}

/// The trie that the peer reads the vocabulary from, and the way to encode.
struct PeerTokens {
    trie: toktrie::TokTrie,
    words: Arc<Words>,
}

impl toktrie::TokenizerEnv for PeerTokens {
    fn tok_trie(&self) -> &toktrie::TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| (self.words.encode)(text))
    }
}

impl Peer {
    /// `shares`: sequences of one input share its lexer, as ours share what they learn.
    pub fn new(words: &Arc<Words>, shares: bool) -> Result<Self> {
        let info = toktrie::TokRxInfo {
            vocab_size: words.bytes.len() as u32,
            tok_eos: words.end,
            tok_bos: None,
            tok_pad: None,
            tok_unk: None,
            tok_end_of_turn: None,
        };
        // Special tokens are known by a byte before their name, which may not be empty.
        let marked =
            words.bytes.iter().zip(&words.special).enumerate().map(|(id, (bytes, special))| {
                let name = format!("<token {id}>").into_bytes();
                match (special, bytes.is_empty()) {
                    (false, _) => bytes.clone(),
                    (true, false) => {
                        [&[toktrie::TokTrie::SPECIAL_TOKEN_MARKER], &bytes[..]].concat()
                    }
                    (true, true) => [&[toktrie::TokTrie::SPECIAL_TOKEN_MARKER], &name[..]].concat(),
                }
            });
        let trie = toktrie::TokTrie::from(&info, &marked.collect::<Vec<_>>());
        let tokens: toktrie::TokEnv = Arc::new(PeerTokens { trie, words: Arc::clone(words) });
        let able = toktrie::InferenceCapabilities {
            ff_tokens: false,
            backtrack: false,
            conditional_ff_tokens: false,
            fork: false,
        };
        let slices = llguidance::earley::SlicedBiasComputer::json_slices();
        let mut factory = llguidance::ParserFactory::new(&tokens, able, &slices)?;
        factory.quiet();
        Ok(Self { factory, shares })
    }
}

impl Engine for Peer {
    fn compile(&self, input: Input<'_>) -> Result<Box<dyn Compiled>> {
        use llguidance::api::{GrammarInit, TopLevelGrammar};
        let grammar = GrammarInit::Serialized(match input {
            Input::JsonSchema(schema) => {
                TopLevelGrammar::from_json_schema(serde_json::from_str(schema)?)
            }
            Input::Lark(grammar) => TopLevelGrammar::from_lark(grammar.to_owned()),
            Input::Ready(_) | Input::StructuralTag(_) => {
                bail!("the peer has neither grammars of ours nor structural tags")
            }
        });
        let parser = self.factory.create_parser_from_init_default(grammar)?;
        Ok(Box::new(PeerCompiled { parser, first: Cell::new(true), shares: self.shares }))
    }
}

struct PeerCompiled {
    parser: llguidance::TokenParser,
    /// Whether no sequence has begun yet.
    first: Cell<bool>,
    shares: bool,
}

impl Compiled for PeerCompiled {
    /// As in its own benchmark: the first mask is that of a clone with the same lexer, which keeps
    /// what it learns, and each instance has a copy of that lexer.
    fn start(&self) -> Result<Box<dyn Sequence>> {
        let mut parser = if self.first.replace(false) || self.shares {
            self.parser.clone()
        } else {
            self.parser.deep_clone()
        };
        parser.start_without_prompt();
        Ok(Box::new(PeerSequence { parser, mask: toktrie::SimpleVob::new() }))
    }
}

struct PeerSequence {
    parser: llguidance::TokenParser,
    mask: toktrie::SimpleVob,
}

impl Sequence for PeerSequence {
    fn mask(&mut self) -> Result<()> {
        self.mask = self.parser.compute_mask()?;
        Ok(())
    }

    fn allows(&self, token: u32) -> bool {
        self.mask.is_allowed(token)
    }

    fn accept(&mut self, token: u32) -> Result<()> {
        ensure!(self.parser.consume_token(token)? == 0, "it backtracked");
        Ok(())
    }

    fn may_end(&mut self) -> Result<bool> {
        Ok(self.parser.is_accepting())
    }
}

/// The head of an export for engines that run elsewhere: the bytes of each token in hexadecimal, and
/// the end token.
pub fn exported_vocabulary(words: &Words) -> serde_json::Value {
    let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let tokens = words.bytes.iter().zip(&words.special);
    let tokens: Vec<String> =
        tokens.map(|(bytes, special)| if *special { String::new() } else { hex(bytes) }).collect();
    serde_json::json!({"tokens_hex": tokens, "end": words.end})
}
