//! From grammars in any dialect to compiled constraints.

use std::sync::Arc;

use super::compiled::Constraint;
use super::compiler::Compiler;
use super::formula::Formula;
use super::grammar_options::{GrammarLayout, GrammarOptions};
use super::named_grammars::GrammarList;
use crate::ebnf::{self, Dialect, Environment, NamedGrammar};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder, SpecialToken};
use crate::json_schema::{Options, Schema};
use crate::recognizer::program::find_token;
use crate::regular;
use crate::regular::{Anchoring, ChoiceList, Utf8};

impl Compiler {
    /// Text of a grammar in a dialect. The grammar may embed JSON Schemas (by the compiler's
    /// options), grammars [by name](Self::with_grammar), those that come with the program, and sets
    /// of special tokens.
    pub fn grammar(&self, grammar: &str, dialect: Dialect) -> Result<Constraint> {
        let limits = self.limits();
        limits.compiling(|| self.compile(self.parse_grammar(grammar, dialect)?))
    }

    /// The grammar before it is compiled.
    ///
    /// Errors name line and column.
    pub fn parse_grammar(&self, grammar: &str, dialect: Dialect) -> Result<Grammar> {
        self.parse_listed(grammar, dialect, None, |compiler, text| {
            ebnf::parse(text, dialect, compiler)
        })
    }

    /// The same as [`grammar`](Self::grammar), from another start rule or in another layout.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// use maskwright::constraint::GrammarOptions;
    /// use maskwright::ebnf::Dialect;
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    /// let grammar = "root ::= item (\",\" item)*\nitem ::= [0-9]+";
    /// let options = GrammarOptions { start: Some("item".to_owned()), ..GrammarOptions::default() };
    /// let mut matcher = compiler.grammar_with_options(grammar, Dialect::Gbnf, &options)?.matcher();
    /// matcher.accept_bytes(b"12")?;
    /// assert!(matcher.is_accepting() && matcher.accept_bytes(b",").is_err());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn grammar_with_options(
        &self,
        grammar: &str,
        dialect: Dialect,
        options: &GrammarOptions,
    ) -> Result<Constraint> {
        let limits = self.limits();
        limits
            .compiling(|| self.compile(self.parse_grammar_with_options(grammar, dialect, options)?))
    }

    /// The grammar before it is compiled, from another start rule or in another layout.
    ///
    /// Errors name line and column.
    pub fn parse_grammar_with_options(
        &self,
        grammar: &str,
        dialect: Dialect,
        options: &GrammarOptions,
    ) -> Result<Grammar> {
        self.parse_listed(grammar, dialect, options.start.as_deref(), |compiler, text| {
            ebnf::parse(text, dialect, &OptionsEnvironment { compiler, options })
        })
    }

    /// The same language as [`grammar`](Self::grammar), with every rule and alternative kept, even
    /// where several could be merged into one terminal: for drawing texts that reach each of them
    /// ([`sample`](crate::sample)), and for messages that name the innermost rule. Masks are slower.
    pub fn grammar_by_rules(&self, grammar: &str, dialect: Dialect) -> Result<Constraint> {
        let options = GrammarOptions { layout: GrammarLayout::ByRules, start: None };
        self.grammar_with_options(grammar, dialect, &options)
    }

    /// The options of JSON.
    pub fn json_options(&self) -> &Options {
        &self.context.json_options
    }

    /// Text of a grammar in GBNF, llama.cpp's notation.
    pub fn gbnf(&self, grammar: &str) -> Result<Constraint> {
        self.grammar(grammar, Dialect::Gbnf)
    }

    /// Text of a grammar in Lark's notation, as llguidance and XGrammar users write it.
    pub fn lark(&self, grammar: &str) -> Result<Constraint> {
        self.grammar(grammar, Dialect::Lark)
    }

    /// Text of a grammar in the EBNF of the W3C (XML 1.0, section 6).
    pub fn w3c_ebnf(&self, grammar: &str) -> Result<Constraint> {
        self.grammar(grammar, Dialect::W3c)
    }

    /// Text of a grammar in the EBNF of ISO/IEC 14977.
    pub fn iso_ebnf(&self, grammar: &str) -> Result<Constraint> {
        self.grammar(grammar, Dialect::Iso)
    }

    /// Text that matches a regular expression, whole, in the syntax of Rust's `regex` crate or
    /// another [dialect](Self::with_regex_dialect).
    pub fn regex(&self, pattern: &str) -> Result<Constraint> {
        self.compile(self.regex_grammar(pattern, Anchoring::Whole)?)
    }

    /// Text some part of which matches a regular expression, in the syntax of Rust's `regex` crate
    /// or another [dialect](Self::with_regex_dialect).
    pub fn regex_search(&self, pattern: &str) -> Result<Constraint> {
        self.compile(self.regex_grammar(pattern, Anchoring::Search)?)
    }

    /// The grammar of a regular expression that matches the whole text, or some part of it.
    pub fn regex_grammar(&self, pattern: &str, anchoring: Anchoring) -> Result<Grammar> {
        let mut grammar = GrammarBuilder::new();
        grammar.languages().set_limit(self.limits().language_states);
        let dialect = self.context.regex_dialect.unwrap_or_default();
        let options = regular::Options { anchoring, dialect };
        let parse = || regular::parse(grammar.languages(), pattern, options, &Utf8);
        let language = self.limits().compiling(parse)?;
        let body = grammar.regular(language);
        let rule = grammar.rule("regex", body);
        grammar.finish(rule)
    }

    /// A quotation of a text: a run of one or more of its units in a row.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// use maskwright::regular::QuoteBy;
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    /// let quotation = compiler.quotation(&QuoteBy::Words.units("To be, or not to be."))?;
    /// let mut matcher = quotation.matcher();
    /// matcher.accept_bytes(b"or not")?;
    /// assert!(matcher.is_accepting());
    /// assert!(matcher.accept_bytes(b" two").is_err());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn quotation<S: AsRef<[u8]>>(&self, units: &[S]) -> Result<Constraint> {
        self.compile(self.quotation_grammar(units)?)
    }

    /// The grammar of a quotation.
    pub fn quotation_grammar<S: AsRef<[u8]>>(&self, units: &[S]) -> Result<Grammar> {
        if units.is_empty() {
            return Err(Error::new(ErrorKind::Request, "the text to quote from is empty")
                .with_help("give a text that has a word at least"));
        }
        let mut grammar = GrammarBuilder::new();
        let language = regular::quotation(grammar.languages(), units)?;
        let body = grammar.regular(language);
        let rule = grammar.rule("quotation", body);
        grammar.finish(rule)
    }

    /// Text of a formula: constraints combined by `allOf`, `anyOf` and `not`, as [`Formula::read`]
    /// reads them.
    pub fn formula(&self, formula: &serde_json::Value) -> Result<Constraint> {
        Formula::read(formula, self)?.compile(self)
    }

    /// Exactly one of these texts.
    pub fn choice<S: AsRef<str>>(&self, choices: &[S]) -> Result<Constraint> {
        self.compile(self.choice_grammar(choices)?)
    }

    /// The grammar of one of these texts.
    pub fn choice_grammar<S: AsRef<str>>(&self, choices: &[S]) -> Result<Grammar> {
        if choices.is_empty() {
            return Err(Error::new(ErrorKind::Request, "the list of choices has no text")
                .with_help("give one text at least"));
        }
        let mut grammar = GrammarBuilder::new();
        let texts = choices.iter().map(|choice| choice.as_ref().as_bytes());
        let language = regular::any_of(grammar.languages(), texts.collect());
        let body = grammar.regular(language);
        let rule = grammar.rule("choice", body);
        grammar.finish(rule)
    }

    /// Exactly one text of a list of any size.
    pub fn choices(&self, list: &ChoiceList) -> Result<Constraint> {
        self.compile(self.choices_grammar(list)?)
    }

    /// The grammar of one text of a list.
    pub fn choices_grammar(&self, list: &ChoiceList) -> Result<Grammar> {
        ebnf::choices_grammar(list)
    }

    /// Text of a grammar in ABNF (RFC 5234 with RFC 7405).
    pub fn abnf(&self, grammar: &str) -> Result<Constraint> {
        self.grammar(grammar, Dialect::Abnf)
    }
}

impl Compiler {
    /// The same compiler, whose grammars may refer to this one by a name: as `@name`, and in
    /// `%import .name.rule` if it is in Lark's notation. It takes the place of another one of this
    /// name. It is parsed where it is used, so errors in it are errors of the grammar that uses it.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// use maskwright::ebnf::{Dialect, NamedGrammar};
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    /// let colour = NamedGrammar::new(r#"start: "red" | "blue""#, Dialect::Lark);
    /// let compiler = compiler.with_grammar("colour", colour);
    /// let constraint = compiler.lark(r#"start: "colour: " @colour"#)?;
    /// assert!(constraint.matcher().accept_bytes(b"colour: red").is_ok());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    #[must_use]
    pub fn with_grammar(mut self, name: impl Into<String>, grammar: NamedGrammar) -> Self {
        self.context.named_grammars = self.context.named_grammars.with(name.into(), grammar);
        self
    }

    /// The same compiler, which asks a function for grammars that [`with_grammar`](Self::with_grammar)
    /// did not give: by name for `@name`, by path for `%import .folder.file.rule` (`folder/file`).
    ///
    /// Errors of the function become errors of the grammar, at the place of the name.
    #[must_use]
    pub fn with_grammar_resolver(
        mut self,
        resolver: impl Fn(&str) -> Result<Option<NamedGrammar>> + Send + Sync + 'static,
    ) -> Self {
        self.context.named_grammars.set_resolver(Arc::new(resolver));
        self
    }

    /// A grammar's text, or a list of grammars in the place of it, parsed by `parse`, within the time of a
    /// constraint: look-around and lazy rules are rewritten then, which may take longer than to compile the rest.
    fn parse_listed(
        &self,
        grammar: &str,
        dialect: Dialect,
        start: Option<&str>,
        parse: impl FnOnce(&Self, &str) -> Result<Grammar>,
    ) -> Result<Grammar> {
        self.limits().compiling(|| self.parse_listed_within_time(grammar, dialect, start, parse))
    }

    fn parse_listed_within_time(
        &self,
        grammar: &str,
        dialect: Dialect,
        start: Option<&str>,
        parse: impl FnOnce(&Self, &str) -> Result<Grammar>,
    ) -> Result<Grammar> {
        let Some(list) = GrammarList::read(grammar, dialect)? else { return parse(self, grammar) };
        let GrammarList { first, named } = list;
        let known = named
            .into_iter()
            .fold(self.clone(), |compiler, (name, grammar)| compiler.with_grammar(name, grammar));
        match first {
            NamedGrammar::Text { text, .. } => parse(&known, &text),
            _ if let Some(start) = start => {
                let message = format!("the first grammar of the list has no rule `{start}`");
                Err(Error::new(ErrorKind::Grammar, message)
                    .with_help("give a start rule to a list that begins with a `lark_grammar`"))
            }
            NamedGrammar::JsonSchema(schema) => Environment::json_schema(&known, &schema),
            NamedGrammar::Choices(list) => ebnf::choices_grammar(&list),
        }
    }
}

impl Environment for Compiler {
    fn is_special(&self, token: &SpecialToken) -> Result<Option<u32>> {
        let id = find_token(self.vocabulary(), token)?;
        Ok(self.vocabulary().is_special(id).then_some(id))
    }

    fn regex_dialect(&self) -> Option<regular::Dialect> {
        self.context.regex_dialect
    }

    fn language_states(&self) -> Option<usize> {
        Some(self.limits().language_states)
    }

    fn json_schema(&self, schema: &str) -> Result<Grammar> {
        Schema::from_text(schema)?.grammar(&self.context.json_options)
    }

    fn named_grammar(&self, name: &str) -> Result<NamedGrammar> {
        match self.json_options().choices.get(name) {
            Some(list) => Ok(NamedGrammar::Choices(list.clone())),
            None => self.context.named_grammars.find(name),
        }
    }
}

/// A compiler with the options of one grammar. Grammars that it embeds have options of their own.
struct OptionsEnvironment<'a> {
    compiler: &'a Compiler,
    options: &'a GrammarOptions,
}

impl Environment for OptionsEnvironment<'_> {
    fn keeps_rules(&self) -> bool {
        self.options.layout == GrammarLayout::ByRules
    }

    fn start_rule(&self) -> Option<&str> {
        self.options.start.as_deref()
    }

    fn regex_dialect(&self) -> Option<regular::Dialect> {
        self.compiler.regex_dialect()
    }

    fn language_states(&self) -> Option<usize> {
        self.compiler.language_states()
    }

    fn is_special(&self, token: &SpecialToken) -> Result<Option<u32>> {
        self.compiler.is_special(token)
    }

    fn json_schema(&self, schema: &str) -> Result<Grammar> {
        Environment::json_schema(self.compiler, schema)
    }

    fn named_grammar(&self, name: &str) -> Result<NamedGrammar> {
        self.compiler.named_grammar(name)
    }
}
