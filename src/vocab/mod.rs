//! The vocabulary: token bytes, special tokens, the trie and the token mask.
