//! Tokens that a walk may allow wrongly, since it captures nothing.

use super::*;
use crate::recognizer::program::RETURN;

/// Tokens that are read for real where that may matter.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// Those with a comma.
    pub(crate) commas: Vec<u32>,
    pub(crate) doubtful: Vec<u32>,
}

/// A captured text that can go on with so many bytes, or fewer, may be the only one that is left:
/// more than a number can go on with.
const FEW_WAYS: usize = 16;

/// How captured texts end in a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// With which of its quotes at the earliest; 0 where it may be at once, 2 at most.
    quotes: usize,
    /// May one be the last of its kind?
    few: bool,
}

impl Ends {
    /// All that there are, by their [`index`](Self::index).
    pub(crate) const ALL: [Self; 6] = {
        let mut all = [Self { quotes: 0, few: false }; 6];
        let mut i = 0;
        while i < 6 {
            all[i] = Self { quotes: i / 2, few: i % 2 == 1 };
            i += 1;
        }
        all
    };

    fn index(self) -> usize {
        2 * self.quotes + usize::from(self.few)
    }
}

/// Where a captured text ends in a token, does what follows it in the token depend on it? A comma
/// does if it may have been the last of its kind, what begins after a comma if that must differ.
pub(crate) fn depends_on_capture(token: &[u8], ends: Ends) -> bool {
    let quotes = token.iter().enumerate().filter(|&(_, &byte)| byte == b'"');
    let from = match ends.quotes {
        0 => 0,
        n => match quotes.map(|(at, _)| at).nth(n - 1) {
            Some(end) => end,
            None => return false,
        },
    };
    let Some(comma) = token[from..].iter().position(|&byte| byte == b',') else { return false };
    let (before, after) = token.split_at(from + comma);
    let value = before.get(from + 1..).unwrap_or_default();
    if !ends.few && value.trim_ascii_start().first() == Some(&b':') {
        // A key: all that follows it but other keys is the same whichever it is, and of these there
        // are more. So it matters only what one begins with.
        let mut keys = after.split(|&byte| byte == b'"').skip(1);
        return keys.any(|key| !key.is_empty());
    }
    // The captured text is a key.
    let key = before.rsplit(|&byte| byte == b'"').next().is_some_and(|v| v.contains(&b':'));
    ends.few || key && before.contains(&b'"') || after.contains(&b'"')
}

impl Machine {
    /// Takes out what readings allow that leave doubts, and what a walk allows because it captures
    /// nothing: a token that ends a captured
    /// string and, further on, another one that must differ from it; and one that ends an array or
    /// object that must differ from others. The few that might are read for real; all but the last
    /// are among those with a comma.
    pub(crate) fn checked(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        mut form: Form,
        Suspects { commas, doubtful }: Suspects,
    ) -> Result<Form> {
        let mut suspects = doubtful;
        if program.has_captures() {
            self.captured(program, vocabulary, id, &form, commas, &mut suspects)?;
        }
        if program.has_repeats() {
            suspects.extend(self.with_end(program, vocabulary, id, &form, [b']', b',']));
        }
        suspects.sort_unstable();
        suspects.dedup();
        if !suspects.is_empty() {
            form.wrong = self.rejected(program, vocabulary, id, &suspects)?.into();
        }
        Ok(form)
    }

    /// Adds the tokens of a form that depend on what is captured within them.
    fn captured(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        form: &Form,
        commas: Vec<u32>,
        suspects: &mut Vec<u32>,
    ) -> Result<()> {
        let ends = self.capture_ends(program, id)?;
        let known = self.shared_slices.capture_tokens(vocabulary);
        let depending = ends.map(|ends| &known.depending[ends.index()]);
        let depends = |token| depending.is_some_and(|depending| depending.contains(token));
        let commas = commas.into_iter();
        let filters = self.shared_slices.strategies().has(Strategy::CommaFilter);
        suspects.extend(
            commas.filter(|&token| !filters || known.pairs.contains(token) || depends(token)),
        );
        if self.items(id).iter().any(|item| self.stacks.records(item.stack)) {
            suspects.extend(self.with_end(program, vocabulary, id, form, [b']', b'}']));
        }
        Ok(())
    }

    /// The tokens of a form with one of two bytes that may end an item or a scope: behind the quote
    /// at the earliest that ends a string, if one is being read.
    fn with_end(
        &self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        form: &Form,
        ends: [u8; 2],
    ) -> Vec<u32> {
        let in_string = self.items(id).iter().all(|item| match program.point(item.point) {
            Point::Names(_) => true,
            Point::Regular { .. } | Point::Capture { .. } => {
                self.languages.ends_in(item.state, self.json.quote)
            }
            _ => item.point == RETURN,
        });
        let may_end = |token: &u32| {
            let text = vocabulary.token_bytes(*token).unwrap_or_default();
            let from = match in_string {
                true => text.iter().position(|&byte| byte == b'"').unwrap_or(text.len()),
                false => 0,
            };
            text[from..].iter().any(|byte| ends.contains(byte))
        };
        let known = &self.shared_slices.capture_tokens(vocabulary).ends;
        form.among(known).into_iter().filter(may_end).collect()
    }

    /// `None` if no text is being captured here.
    fn capture_ends(&mut self, program: &Program, id: ConfigId) -> Result<Option<Ends>> {
        let mut found: Option<Ends> = None;
        for i in 0..self.items(id).len() {
            let Item { point, mut state, .. } = self.items(id)[i];
            let Point::Capture { .. } = program.point(point) else { continue };
            let mut first = self.languages.first_bytes(state)?;
            let mut quotes = 1;
            if first.contains(b'"') && first.len() == 1 {
                let inside = self.languages.step(state, b'"')?;
                // Its first quote, or the one that ends it.
                if !self.languages.is_nullable(inside) {
                    (state, quotes) = (inside, 2);
                    first = self.languages.first_bytes(state)?;
                }
            }
            // A text that can go on in many ways stands between quotes, and is one of many.
            let few = first.len() <= FEW_WAYS;
            let quotes = if few && quotes == 1 { 0 } else { quotes };
            let known = found.unwrap_or(Ends { quotes, few });
            found = Some(Ends { quotes: quotes.min(known.quotes), few: few || known.few });
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_by_their_index() {
        for (i, ends) in Ends::ALL.into_iter().enumerate() {
            assert_eq!((ends.index(), ends.quotes * 2 + usize::from(ends.few)), (i, i));
        }
    }
}
