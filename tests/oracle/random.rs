//! Random grammars and vocabularies, small enough for the oracle and odd enough for the engine.

use super::language::{Expr, Grammar, Node, Token, Tokens};
use super::spans::Oracle;

/// A reproducible source of choices (SplitMix64, by Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True in this many of a hundred cases.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// The kind of vocabulary to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Every byte that a grammar uses is a token by itself.
    Plain,
    /// Bytes that occur only inside longer tokens, or not at all.
    Gaps,
}

/// The ids of special tokens that a grammar may name.
pub(crate) const SPECIALS: [u32; 2] = [3, 7];

/// No token is longer, in bytes.
pub(crate) const LONGEST_TOKEN: usize = 6;

/// The two bytes of `é`, cut anywhere by tokens.
const ACCENT: &[u8] = "é".as_bytes();

/// Makes the parts of one random case.
pub(crate) struct Maker {
    pub(crate) random: Random,
    pub(crate) family: Family,
    /// Whether and, or and not occur; otherwise only what texts of grammars and regexes can say.
    boolean: bool,
    /// Whether parts with budgets of tokens occur.
    budgets: bool,
    alphabet: Vec<u8>,
    /// Alternatives and nesting stop when this is used up.
    budget: usize,
}

impl Maker {
    pub(crate) fn new(seed: u64, family: Family) -> Self {
        let mut random = Random::new(seed);
        let mut alphabet = b"ab".to_vec();
        if random.percent(70) {
            alphabet.push(b'c');
        }
        if random.percent(30) {
            alphabet.extend(ACCENT);
        }
        Self { random, family, boolean: true, budgets: false, alphabet, budget: 16 }
    }

    /// The same without `and` and `not`.
    pub(crate) fn without_boolean(self) -> Self {
        Self { boolean: false, ..self }
    }

    /// The same with budgets of tokens.
    pub(crate) fn with_budgets(self) -> Self {
        Self { budgets: true, ..self }
    }

    fn bytes(&mut self, longest: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..self.random.below(longest + 1) {
            if self.alphabet.contains(&ACCENT[0]) && self.random.percent(20) {
                bytes.extend(ACCENT);
            } else {
                bytes.push(*self.random.pick(&self.alphabet));
            }
        }
        bytes
    }

    fn token(&mut self) -> Vec<u8> {
        let longest = if self.random.percent(15) { 5 } else { 3 };
        let mut bytes = self.bytes(longest);
        bytes.truncate(LONGEST_TOKEN);
        bytes
    }

    /// A vocabulary; its length is rarely a multiple of 32.
    pub(crate) fn tokens(&mut self) -> Tokens {
        let mut tokens: Tokens =
            (0..16 + self.random.below(24)).map(|_| Token::Text(self.token())).collect();
        // An empty token, an id without one, and two tokens with the same bytes.
        tokens[8] = Token::Text(vec![]);
        tokens[9] = Token::Missing;
        tokens[10] = tokens[11].clone();
        for byte in self.alphabet.clone() {
            match self.family {
                Family::Plain => tokens.push(Token::Text(vec![byte])),
                Family::Gaps => {
                    let single = Token::Text(vec![byte]);
                    if self.random.percent(60) {
                        tokens.push(single);
                    } else {
                        tokens.retain(|token| *token != single);
                    }
                }
            }
        }
        for id in SPECIALS {
            tokens[id as usize] = Token::Special;
        }
        for _ in 0..self.random.below(3) {
            let bytes = self.random.percent(50).then(|| self.bytes(2));
            tokens.push(Token::End(bytes));
        }
        if self.random.percent(50) {
            tokens.push(Token::Missing);
        }
        tokens
    }

    /// A grammar; one that says something about these tokens, in nine of ten cases.
    pub(crate) fn grammar(&mut self, tokens: &[Token]) -> Grammar {
        loop {
            let count = 1 + self.random.below(4);
            let rules = (0..count).map(|rule| self.rule(rule, count)).collect();
            let grammar = Grammar { rules };
            if self.random.percent(10) {
                return grammar;
            }
            let mut oracle = Oracle::new(&grammar, tokens);
            let texts = (0..).zip(tokens).filter_map(|(id, token)| token.symbols(id));
            if texts.filter(|text| oracle.judge(text).viable).nth(2).is_some() {
                return grammar;
            }
        }
    }

    /// A rule: any tree, or one of the shapes that parsers stumble over.
    fn rule(&mut self, own: usize, count: usize) -> Node {
        self.budget = 16;
        let (me, other) = (Node::Call(own), Node::Call((own + 1) % count));
        let (x, y) = (self.node(2, count), self.node(2, count));
        let empty = Node::Sequence(vec![]);
        let shapes: Vec<Vec<Vec<Node>>> = vec![
            // Left, right and middle recursion.
            vec![vec![me.clone(), x.clone()], vec![y.clone()]],
            vec![vec![x.clone(), me.clone()], vec![y.clone()]],
            vec![vec![x.clone(), me.clone(), y.clone()], vec![empty.clone()]],
            vec![vec![x.clone(), me.clone(), y.clone()], vec![other.clone()]],
            // Left recursion hidden behind what may be empty.
            vec![vec![optional(x.clone()), me.clone(), y.clone()], vec![y.clone()]],
            // Ambiguity, with and without the empty string.
            vec![vec![me.clone(), me.clone()], vec![x.clone()]],
            vec![vec![me.clone(), me.clone(), me.clone()], vec![x.clone()], vec![]],
            // Mutual recursion, a unit cycle, a rule without strings.
            vec![vec![other.clone(), x.clone()], vec![y.clone()]],
            vec![vec![me.clone()], vec![other.clone()], vec![x.clone()]],
            vec![vec![me.clone(), x.clone()]],
            vec![],
            vec![vec![]],
        ];
        if self.random.percent(55) {
            return self.node(3, count);
        }
        // The last two shapes say little about anything else: less often.
        let kinds = if self.random.percent(10) { shapes.len() } else { shapes.len() - 3 };
        let shape = shapes[self.random.below(kinds)].clone();
        Node::Choice(shape.into_iter().map(Node::Sequence).collect())
    }

    fn node(&mut self, depth: usize, rules: usize) -> Node {
        if self.budgets && self.random.percent(15) {
            let max = self.random.below(4) as u32;
            return Node::Budget(Box::new(self.node(depth, rules)), max);
        }
        self.budget = self.budget.saturating_sub(1);
        if depth == 0 || self.budget == 0 || self.random.percent(25) {
            return self.leaf(rules);
        }
        match self.random.below(10) {
            0..=3 => Node::Sequence(self.some(|this| this.node(depth - 1, rules))),
            4..=6 => Node::Choice(self.some(|this| this.node(depth - 1, rules))),
            7..=8 => {
                let many = self.random.percent(30);
                let (min, max) = self.bounds(many);
                Node::Repeat(Box::new(self.node(depth - 1, rules)), min, max)
            }
            _ => self.leaf(rules),
        }
    }

    fn some<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        let least = usize::from(!self.random.percent(3));
        (0..least + self.random.below(3)).map(|_| make(self)).collect()
    }

    /// Bounds of a repeat; `many` are more times than an engine would care to write out.
    fn bounds(&mut self, many: bool) -> (u32, Option<u32>) {
        let many = if many { 7 } else { 3 };
        let min = self.random.below(many) as u32;
        (min, self.random.percent(60).then(|| min + self.random.below(many) as u32))
    }

    fn leaf(&mut self, rules: usize) -> Node {
        match self.random.below(20) {
            0..=5 => Node::Call(self.random.below(rules)),
            6 => Node::Special(*self.random.pick(&SPECIALS)),
            7..=12 => Node::Terminal(Expr::Literal(self.bytes(2))),
            _ => Node::Terminal(self.terminal()),
        }
    }

    /// A terminal; in the plain family it uses no byte outside the alphabet.
    fn terminal(&mut self) -> Expr {
        let expr = self.expr(3);
        if !expr.has_complement() || self.family == Family::Gaps && self.random.percent(20) {
            return expr;
        }
        let any = Expr::Repeat(Box::new(Expr::Class(self.alphabet.clone())), 0, None);
        Expr::And(vec![any, expr])
    }

    pub(crate) fn expr(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.percent(25) {
            return match self.random.below(3) {
                0 => Expr::Literal(self.bytes(2)),
                _ => Expr::Class(self.class()),
            };
        }
        let inner = |this: &mut Self| this.expr(depth - 1);
        match self.random.below(if self.boolean { 12 } else { 9 }) {
            0..=2 => Expr::Concat(self.some(inner)),
            3..=5 => Expr::Union(self.some(inner)),
            6..=8 => {
                let part = inner(self);
                // Nested in each other, such bounds make automata of many thousand states.
                let many = matches!(part, Expr::Class(_)) && self.random.percent(30);
                let (min, max) = self.bounds(many);
                Expr::Repeat(Box::new(part), min, max)
            }
            9 => Expr::And(vec![inner(self), inner(self)]),
            10 => Expr::And(vec![inner(self), Expr::Not(Box::new(inner(self)))]),
            _ => Expr::Not(Box::new(inner(self))),
        }
    }

    fn class(&mut self) -> Vec<u8> {
        let mut class = self.alphabet.clone();
        class.retain(|_| self.random.percent(50));
        // An empty class is the empty language: rarely.
        if class.is_empty() && !self.random.percent(3) {
            class.push(*self.random.pick(&self.alphabet));
        }
        class
    }
}

impl Expr {
    fn has_complement(&self) -> bool {
        match self {
            Self::Class(_) | Self::Literal(_) => false,
            Self::Concat(xs) | Self::Union(xs) => xs.iter().any(Self::has_complement),
            Self::Repeat(x, ..) => x.has_complement(),
            // Even `A & B` with none of both may be all strings.
            Self::And(_) | Self::Not(_) => true,
        }
    }
}

fn optional(node: Node) -> Node {
    Node::Repeat(Box::new(node), 0, Some(1))
}
