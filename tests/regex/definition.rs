//! Random patterns, and what they match by definition: sets of positions of a short text.

use std::fmt;

use proptest::prelude::*;

/// A set of characters as a pattern writes it.
#[derive(Clone, Copy)]
pub(crate) struct Atom {
    pub(crate) text: &'static str,
    pub(crate) holds: fn(char) -> bool,
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    End,
    Boundary,
    NoBoundary,
}

#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Atom(Atom),
    Anchor(Anchor),
    Concat(Vec<Pattern>),
    Alternate(Vec<Pattern>),
    Repeat { body: Box<Pattern>, min: u32, max: Option<u32> },
    Look { body: Box<Pattern>, behind: bool, negated: bool },
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Atom(atom) => f.write_str(atom.text),
            Self::Anchor(anchor) => f.write_str(match anchor {
                Anchor::Start => "^",
                Anchor::End => "$",
                Anchor::Boundary => r"\b",
                Anchor::NoBoundary => r"\B",
            }),
            Self::Concat(parts) => parts.iter().try_for_each(|part| part.fmt(f)),
            Self::Alternate(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if i == 0 { "(?:" } else { "|" })?;
                }
                f.write_str(")")
            }
            Self::Repeat { body, min, max } => match (min, max) {
                (0, None) => write!(f, "(?:{body})*"),
                (1, None) => write!(f, "(?:{body})+?"),
                (min, None) => write!(f, "(?:{body}){{{min},}}"),
                (0, Some(1)) => write!(f, "({body})?"),
                (min, Some(max)) if min == max => write!(f, "(?:{body}){{{min}}}"),
                (min, Some(max)) => write!(f, "(?:{body}){{{min},{max}}}?"),
            },
            Self::Look { body, behind, negated } => {
                let behind = if *behind { "<" } else { "" };
                write!(f, "(?{behind}{}{body})", if *negated { "!" } else { "=" })
            }
        }
    }
}

/// Positions as bits.
type Positions = u32;

impl Pattern {
    /// The positions where matches that begin at one of `starts` may end.
    fn ends(&self, text: &[char], starts: Positions) -> Positions {
        let filter = |holds: &dyn Fn(usize) -> bool| {
            (0..=text.len())
                .filter(|&i| starts >> i & 1 == 1 && holds(i))
                .fold(0, |s, i| s | 1 << i)
        };
        let word = |i: Option<usize>| {
            let c = i.and_then(|i| text.get(i));
            c.is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_')
        };
        let boundary = |i: usize| word(i.checked_sub(1)) != word(Some(i));
        match self {
            Self::Atom(atom) => filter(&|i| text.get(i).is_some_and(|&c| (atom.holds)(c))) << 1,
            Self::Anchor(Anchor::Start) => starts & 1,
            Self::Anchor(Anchor::End) => starts & 1 << text.len(),
            Self::Anchor(Anchor::Boundary) => filter(&boundary),
            Self::Anchor(Anchor::NoBoundary) => filter(&|i| !boundary(i)),
            Self::Concat(parts) => parts.iter().fold(starts, |at, part| part.ends(text, at)),
            Self::Alternate(parts) => {
                parts.iter().fold(0, |all, part| all | part.ends(text, starts))
            }
            Self::Repeat { body, min, max } => {
                let after_min = (0..*min).fold(starts, |at, _| body.ends(text, at));
                // More rounds than characters add nothing.
                let more = max.map_or(text.len() as u32, |max| max - min);
                (0..more).fold(after_min, |at, _| at | body.ends(text, at))
            }
            Self::Look { body, behind: false, negated } => {
                filter(&|i| (body.ends(text, 1 << i) != 0) != *negated)
            }
            Self::Look { body, behind: true, negated } => {
                // Those that begin later do not end here.
                let ends = body.ends(text, everywhere(text));
                filter(&|i| (ends >> i & 1 == 1) != *negated)
            }
        }
    }

    pub(crate) fn matches_whole(&self, text: &[char]) -> bool {
        self.ends(text, 1) >> text.len() & 1 == 1
    }

    pub(crate) fn is_found_in(&self, text: &[char]) -> bool {
        self.ends(text, everywhere(text)) != 0
    }

    /// Whether any part of it satisfies a condition.
    pub(crate) fn any(&self, condition: &dyn Fn(&Self) -> bool) -> bool {
        condition(self)
            || match self {
                Self::Atom(_) | Self::Anchor(_) => false,
                Self::Concat(parts) | Self::Alternate(parts) => {
                    parts.iter().any(|part| part.any(condition))
                }
                Self::Repeat { body, .. } | Self::Look { body, .. } => body.any(condition),
            }
    }

    /// Whether it may match without consuming anything.
    pub(crate) fn may_be_empty(&self) -> bool {
        match self {
            Self::Atom(_) => false,
            Self::Anchor(_) | Self::Look { .. } => true,
            Self::Concat(parts) => parts.iter().all(Self::may_be_empty),
            Self::Alternate(parts) => parts.iter().any(Self::may_be_empty),
            Self::Repeat { body, min, .. } => *min == 0 || body.may_be_empty(),
        }
    }
}

fn everywhere(text: &[char]) -> Positions {
    (2 << text.len()) - 1
}

/// Random patterns over `atoms`, with look-around or without.
pub(crate) fn patterns(atoms: &'static [Atom], looks: bool) -> impl Strategy<Value = Pattern> {
    let anchors = [Anchor::Start, Anchor::End, Anchor::Boundary, Anchor::NoBoundary];
    let leaf = prop_oneof![
        4 => proptest::sample::select(atoms).prop_map(Pattern::Atom),
        1 => proptest::sample::select(anchors.to_vec()).prop_map(Pattern::Anchor),
    ];
    leaf.prop_recursive(5, 24, 3, move |inner| {
        let parts = || proptest::collection::vec(inner.clone(), 0..4);
        let repeat = (inner.clone(), 0..4u32, proptest::option::of(0..3u32)).prop_map(
            |(body, min, more)| Pattern::Repeat {
                body: Box::new(body),
                min,
                max: more.map(|more| min + more),
            },
        );
        let look =
            (inner.clone(), any::<bool>(), any::<bool>()).prop_map(|(body, behind, negated)| {
                Pattern::Look { body: body.into(), behind, negated }
            });
        prop_oneof![
            3 => parts().prop_map(Pattern::Concat),
            2 => proptest::collection::vec(inner.clone(), 1..4).prop_map(Pattern::Alternate),
            2 => repeat,
            if looks { 2 } else { 0 } => look,
        ]
    })
}
