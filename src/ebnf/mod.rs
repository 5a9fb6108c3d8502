//! Grammar dialects, parsed into a grammar.
