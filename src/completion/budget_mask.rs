//! Masks of the tokens after which a text can still be completed within a number of tokens.

use super::*;
use crate::mask::{Base, Form};
use crate::regular::automaton::Slack;
use crate::regular::{computed_parts, spans, witness};

/// Terminal states whose tokens are kept sorted by where they lead.
const KEPT: usize = 8;

/// Beside captured texts more tokens than this are not tried one by one.
const TRIED: usize = 16;

/// Room for a captured text within a token, which the plan did not know of.
fn with_room(tokens: u32) -> u32 {
    tokens.saturating_add(tokens / 4 + 4)
}

impl Machine {
    /// Writes the mask of the tokens after which `left` tokens, this one counted, are enough to
    /// complete the text.
    ///
    /// Errors if more are needed.
    pub(crate) fn write_within(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        left: u32,
        row: &mut [u32],
    ) -> Result<()> {
        self.plan_within(vocabulary, left);
        let form = self.form(program, vocabulary, id)?;
        if left > 0 && self.farthest(program, vocabulary, id, &form)? < left {
            form.write(row);
            return Ok(());
        }
        let Some(needed) = self.tokens_left(program, vocabulary, id)? else {
            self.check_budget(program, vocabulary, id, left)?;
            return Err(no_bound());
        };
        if needed > left {
            return Err(too_few(needed, left));
        }
        row.fill(0);
        let mut allow = |token: u32| row[token as usize / 32] |= 1 << (token % 32);
        // The way that was promised, whatever else is found.
        if let Some(token) = self.promise(program, vocabulary, id)? {
            allow(token);
        }
        form.tokens().filter(|token| vocabulary.end_tokens().contains(token)).for_each(&mut allow);
        if left == 0 {
            return Ok(());
        }
        for &(token, rest) in &*self.sparse(program, vocabulary, id, &form)? {
            if rest < left {
                allow(token);
            }
        }
        for i in 0..self.items(id).len() {
            let item = self.items(id)[i];
            if !matches!(program.point(item.point), Point::Regular { .. } | Point::Capture { .. })
                || !self.has_base(program, vocabulary, item)?
            {
                continue;
            }
            // Where the text itself decides what may follow, each token would have to be tried:
            // so near to the end it is enough that some are allowed.
            let captured = matches!(program.point(item.point), Point::Capture { .. });
            if captured || self.stacks.records(item.stack) {
                continue;
            }
            if self.items(id).len() == 1
                && computed_parts::starts_with_endless(&self.languages, item.state)
            {
                self.allow_by_slack(program, vocabulary, (item, left), &form, &mut allow)?;
                continue;
            }
            for (state, tokens) in &*self.inside(vocabulary, item.state)? {
                let after = Item { state: *state, ..item };
                let rest = self.item_tokens(program, vocabulary, (NO_TEXT, after))?;
                if rest.is_some_and(|rest| rest < left) {
                    tokens.iter().for_each(|&token| allow(token));
                }
            }
        }
        Ok(())
    }

    /// Allows the tokens of a mask, inside a terminal whose states are without end, that leave
    /// little enough to be written, as their length tells: all states that they lead to would be
    /// too many to look at.
    fn allow_by_slack(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        (item, left): (Item, u32),
        form: &Form,
        allow: &mut impl FnMut(u32),
    ) -> Result<()> {
        let after = Item { state: Language::EPSILON, ..item };
        let after = within_limits(self.shortest_way(program, vocabulary, after))?;
        let Some(after) = after.map(|after| after.tokens.len()) else { return Ok(()) };
        let mut tokens = Vec::new();
        for base in form.bases().iter().filter(|base| base.node() == 0) {
            base.each(&mut |token| tokens.push(token));
        }
        // None of the states that are met is kept.
        let mark = self.languages.mark();
        let looked =
            self.allow_slack_of(vocabulary, item.state, &tokens, left as usize, after, allow);
        self.languages.release(mark);
        looked
    }

    /// Allows those of some tokens that leave no more to be written than fits.
    fn allow_slack_of(
        &mut self,
        vocabulary: &Vocabulary,
        from: Language,
        tokens: &[u32],
        left: usize,
        after: usize,
        allow: &mut impl FnMut(u32),
    ) -> Result<()> {
        const SHORT: usize = 2;
        let mut slacks: FxHashMap<Language, Option<Slack>> = FxHashMap::default();
        for &token in tokens {
            let Some(text) = vocabulary.token_bytes(token) else { continue };
            let plain = text.iter().rposition(|&byte| byte == b'\\').map_or(0, |at| at + 1);
            let (mut state, mut most) = (from, None);
            for read in 0..=text.len() {
                if read >= plain {
                    let languages = &self.languages;
                    let slack = slacks
                        .entry(state)
                        .or_insert_with(|| computed_parts::slack(languages, state));
                    most = slack.map(|slack| slack.base + slack.by_byte * (text.len() - read));
                }
                if most.is_some() || read == text.len() {
                    break;
                }
                state = self.languages.step(state, text[read])?;
            }
            let fits = |bytes: usize| bytes + after < left;
            let fits = match most {
                Some(most) if fits(most) => true,
                Some(_) if text.len() > SHORT && plain == 0 => false,
                _ => {
                    let end = text
                        .iter()
                        .try_fold(from, |state, &byte| self.languages.step(state, byte))?;
                    witness::short(&mut self.languages, end)?.is_some_and(|rest| fits(rest.len()))
                }
            };
            if fits {
                allow(token);
            }
        }
        Ok(())
    }

    /// A bound on the tokens that any allowed token leaves to be written.
    fn farthest(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        form: &Form,
    ) -> Result<u32> {
        if let Some(&known) = self.finishing.farthest.get(&id) {
            return Ok(known);
        }
        let sparse = self.sparse(program, vocabulary, id, form)?;
        let mut most = sparse.iter().map(|&(_, rest)| rest).max().unwrap_or(0);
        let mut nodes: Vec<u32> = form.bases().iter().map(Base::node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.contains(&0) {
            for i in 0..self.items(id).len() {
                let item = self.items(id)[i];
                let (Point::Regular { .. } | Point::Capture { .. }) = program.point(item.point)
                else {
                    continue;
                };
                let rest = spans::longest_witness(&mut self.languages, item.state)?;
                let after = Item { state: Language::EPSILON, ..item };
                let after = within_limits(self.shortest_way(program, vocabulary, after))?;
                most = match (rest, after) {
                    (Some(rest), Some(after)) => {
                        let bytes = rest.saturating_add(after.tokens.len() as u64);
                        most.max(bytes.try_into().unwrap_or(u32::MAX))
                    }
                    _ => u32::MAX,
                };
            }
        }
        if program.has_captures() {
            most = with_room(most.saturating_add(self.extra_tokens(program, vocabulary, id)?));
        }
        self.finishing.farthest.insert(id, most);
        Ok(most)
    }

    /// The tokens of a mask that stand in no base at the start of the trie, each with the tokens
    /// that it leaves to be written; end tokens are left out.
    fn sparse(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        form: &Form,
    ) -> Result<Arc<[(u32, u32)]>> {
        if let Some(known) = self.finishing.sparse.get(&id) {
            return Ok(Arc::clone(known));
        }
        let mut tokens: Vec<u32> = form.tokens().collect();
        for base in form.bases().iter().filter(|base| base.node() != 0) {
            base.each(&mut |token| tokens.push(token));
        }
        tokens.retain(|token| !vocabulary.end_tokens().contains(token));
        tokens.sort_unstable();
        tokens.dedup();
        let many = program.has_captures() && tokens.len() > TRIED;
        let extra = if many { self.extra_tokens(program, vocabulary, id)? } else { 0 };
        let mut rests = Vec::with_capacity(tokens.len());
        for token in tokens {
            let text = vocabulary.token_bytes(token).filter(|_| many);
            let rest = match text {
                Some(text) => {
                    let rest = self.rest_by_walk(program, vocabulary, id, text)?;
                    if rest == 0 { 0 } else { with_room(rest.saturating_add(extra)) }
                }
                None => self.rest_after(program, vocabulary, id, token)?,
            };
            rests.push((token, rest));
        }
        let rests: Arc<[(u32, u32)]> = rests.into();
        self.finishing.sparse.insert(id, Arc::clone(&rests));
        Ok(rests)
    }

    /// The same without capturing anything, since each text that is captured makes rules of its
    /// own, and as if captured texts forbade nothing.
    fn rest_by_walk(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        text: &[u8],
    ) -> Result<u32> {
        let mut items: Vec<Item> = self.items(id).to_vec();
        items.retain(|item| item.point != RETURN);
        self.walking = true;
        let walked = self.walk_text(program, items, text);
        self.walking = false;
        let mut least: Option<u32> = None;
        for item in within_limits(walked.map(Some))?.unwrap_or_default() {
            if item.point == ACCEPT {
                return Ok(0);
            }
            if let Some(&known) = self.finishing.walked.get(&item) {
                least = least.into_iter().chain(known).min();
                continue;
            }
            let way = within_limits(self.shortest_way(program, vocabulary, item))?;
            let rest = way.map(|way| way.tokens.len() as u32);
            self.finishing.walked.insert(item, rest);
            least = least.into_iter().chain(rest).min();
        }
        Ok(least.unwrap_or(u32::MAX))
    }

    /// The items after a text.
    fn walk_text(
        &mut self,
        program: &Program,
        mut items: Vec<Item>,
        text: &[u8],
    ) -> Result<Vec<Item>> {
        let mut next = Vec::new();
        for &byte in text {
            self.step(program, &items, byte, &mut next)?;
            std::mem::swap(&mut items, &mut next);
        }
        Ok(items)
    }

    /// The tokens that are left to be written after one.
    fn rest_after(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        token: u32,
    ) -> Result<u32> {
        let rest = match self.read_token(program, vocabulary, id, token) {
            Ok(Ok(next)) => self.tokens_left(program, vocabulary, next),
            Ok(Err(_)) => Ok(None),
            Err(error) => Err(error),
        };
        Ok(within_limits(rest)?.unwrap_or(u32::MAX))
    }

    /// The tokens that stay in a terminal to their end, by the state that they lead to.
    fn inside(&mut self, vocabulary: &Vocabulary, state: Language) -> Result<Inside> {
        let known = &mut self.finishing.inside;
        if let Some(at) = known.iter().position(|(of, _)| *of == state) {
            let entry = known.remove(at);
            known.push(entry.clone());
            return Ok(entry.1);
        }
        let trie = vocabulary.trie();
        let nodes = trie.nodes();
        let mut found: FxHashMap<Language, Vec<u32>> = FxHashMap::default();
        let mut path = vec![state];
        let mut node = 1;
        while node < nodes.len() {
            let at = nodes[node];
            path.truncate(usize::from(at.depth));
            let next = self.languages.step(path[path.len() - 1], at.byte)?;
            if next == Language::EMPTY {
                node = at.subtree_end as usize;
                continue;
            }
            if !trie.tokens(node).is_empty() {
                found.entry(next).or_default().extend_from_slice(trie.tokens(node));
            }
            path.push(next);
            node += 1;
        }
        let mut found: Vec<(Language, Box<[u32]>)> =
            found.into_iter().map(|(state, tokens)| (state, tokens.into())).collect();
        found.sort_unstable();
        let found: Inside = found.into();
        if self.finishing.inside.len() >= KEPT {
            self.finishing.inside.remove(0);
        }
        self.finishing.inside.push((state, Arc::clone(&found)));
        Ok(found)
    }
}
