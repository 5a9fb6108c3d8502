//! Masks in few words.

use super::*;

/// Many tokens, by reference.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// Those that need at most so many units.
    Runs(Arc<RepeatSplit>, u32),
    Slice(Arc<TokenSplit>),
}

impl Base {
    pub(crate) fn mask(&self) -> Option<&TokenMask> {
        match self {
            Self::Runs(runs, units) => runs.mask(*units),
            Self::Slice(slice) => Some(&slice.inside),
        }
    }

    /// The node of the vocabulary's trie below which its tokens stand.
    pub(crate) fn node(&self) -> u32 {
        match self {
            Self::Runs(runs, _) => runs.node,
            Self::Slice(slice) => slice.node,
        }
    }

    /// Calls `found` for each of its tokens.
    pub(crate) fn each(&self, found: &mut dyn FnMut(u32)) {
        match self {
            Self::Runs(runs, units) => runs.inside(*units).iter().for_each(|&token| found(token)),
            Self::Slice(slice) => slice.inside.iter().for_each(found),
        }
    }

    /// The tokens one by one, where there is no mask of them.
    pub(crate) fn tokens(&self) -> &[u32] {
        match self {
            Self::Runs(runs, units) => runs.inside(*units),
            Self::Slice(_) => &[],
        }
    }
}

/// Tokens one by one, in any order, and as a mask if they are many.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) tokens: Arc<[u32]>,
    pub(crate) mask: Option<Arc<TokenMask>>,
}

impl List {
    /// More tokens than this are written faster as a mask.
    const MANY: usize = 1_000;

    pub(crate) fn new(tokens: Vec<u32>, vocabulary: &Vocabulary) -> Self {
        let mask = (tokens.len() > Self::MANY).then(|| {
            let mut mask = TokenMask::new(vocabulary.len());
            tokens.iter().for_each(|&token| mask.allow(token));
            Arc::new(mask)
        });
        Self { tokens: tokens.into(), mask }
    }

    pub(crate) fn bytes(&self) -> usize {
        let mask = self.mask.as_ref().map_or(0, |mask| size_of_val(mask.words()));
        size_of_val(&*self.tokens) + mask
    }
}

/// A mask in few words: the union of these, less some.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    pub(crate) bases: SmallVec<[Base; 2]>,
    pub(crate) lists: SmallVec<[List; 4]>,
    pub(crate) tokens: Box<[u32]>,
    /// Tokens that stand in these and are not allowed.
    pub(crate) wrong: Box<[u32]>,
}

impl Form {
    pub(crate) fn bases(&self) -> &[Base] {
        &self.bases
    }

    /// The tokens that stand in no base, some of them more than once.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u32> + '_ {
        let lists = self.lists.iter().flat_map(|list| list.tokens.iter());
        let all = lists.chain(&*self.tokens).copied();
        all.filter(|token| !self.wrong.contains(token))
    }

    /// The tokens that are among some others.
    pub(crate) fn among(&self, others: &TokenMask) -> Vec<u32> {
        let mut found: Vec<u32> = self.tokens().filter(|&token| others.contains(token)).collect();
        for base in &self.bases {
            let Some(mask) = base.mask() else {
                found.extend(base.tokens().iter().filter(|&&token| others.contains(token)));
                continue;
            };
            for (word, (a, b)) in (0u32..).zip(mask.words().iter().zip(others.words())) {
                let mut both = a & b;
                while both != 0 {
                    found.push(32 * word + both.trailing_zeros());
                    both &= both - 1;
                }
            }
        }
        found
    }

    /// All tokens that are allowed one by one.
    fn singles(&self) -> impl Iterator<Item = &[u32]> {
        let few = self.bases.iter().filter(|base| base.mask().is_none()).map(Base::tokens);
        let lists = self.lists.iter().filter(|list| list.mask.is_none());
        few.chain(lists.map(|list| &*list.tokens)).chain([&*self.tokens])
    }

    /// Writes the mask, over whatever was there.
    pub(crate) fn write(&self, words: &mut [u32]) {
        let mut first = true;
        let many = self.lists.iter().filter_map(|list| list.mask.as_deref());
        for mask in self.bases.iter().filter_map(Base::mask).chain(many) {
            match first {
                true => words.copy_from_slice(mask.words()),
                false => words.iter_mut().zip(mask.words()).for_each(|(to, from)| *to |= from),
            }
            first = false;
        }
        if first {
            words.fill(0);
        }
        for list in self.singles() {
            for &token in list {
                // Tokens are smaller than the vocabulary is long.
                words[token as usize / 32] |= 1 << (token % 32);
            }
        }
        for &token in &*self.wrong {
            words[token as usize / 32] &= !(1 << (token % 32));
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.tokens) + size_of_val(&*self.wrong) + 32
    }
}
