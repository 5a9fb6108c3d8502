//! JSON Schema: documents, references, the algebra of typed sets, emission into a grammar.
