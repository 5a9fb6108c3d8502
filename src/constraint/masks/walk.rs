//! Walks over tries, over the unknown stack.

use super::*;

impl Machine {
    /// Walks the trie below a place, and notes what the items allow there.
    pub(super) fn explore(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        place: Place,
        items: &[Item],
        found: &mut Findings,
    ) -> Result<()> {
        let mut levels = self.masks.levels.pop().unwrap_or_default();
        let result = self.explore_with(program, vocabulary, place, items, found, &mut levels);
        self.masks.levels.push(levels);
        result
    }

    fn explore_with(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        place: Place,
        items: &[Item],
        found: &mut Findings,
        levels: &mut Vec<Vec<Item>>,
    ) -> Result<()> {
        let tails = match place.trie {
            VOCABULARY => None,
            trie => Some(self.masks.tries[trie as usize - 1].clone()),
        };
        let trie = tails.as_ref().map_or(vocabulary.trie(), Tails::trie);
        let filter = place.filter.checked_sub(1).map(|index| self.masks.filters[index as usize]);
        let nodes = trie.nodes();
        let top = nodes[place.node as usize];
        if levels.is_empty() {
            levels.push(Vec::new());
        }
        levels[0].clear();
        for &item in items {
            match item.point {
                EXIT if top.subtree_end > place.node + 1 => found.exits.push(place),
                EXIT | ACCEPT => {}
                _ => levels[0].push(item),
            }
        }
        if levels[0].is_empty() {
            return Ok(());
        }
        let first = self.first_bytes(program, &levels[0])?;
        if place.node == 0 {
            for byte in first.iter() {
                let Some(child) = trie.first(byte) else { continue };
                let end = nodes[child].subtree_end as usize;
                let span = (child, end);
                self.descend(program, vocabulary, (place, trie, filter), span, found, levels)?;
            }
            return Ok(());
        }
        // The children of a node, those of them that can come.
        let mut child = place.node as usize + 1;
        while child < top.subtree_end as usize {
            let end = nodes[child].subtree_end as usize;
            if first.contains(nodes[child].byte) {
                let span = (child, end);
                self.descend(program, vocabulary, (place, trie, filter), span, found, levels)?;
            }
            child = end;
        }
        Ok(())
    }

    /// Notes tokens that are allowed if they satisfy a filter.
    fn note(
        &mut self,
        vocabulary: &Vocabulary,
        tokens: &[u32],
        filter: Option<Filter>,
        found: &mut Findings,
    ) -> Result<()> {
        match filter {
            None => found.tokens.extend_from_slice(tokens),
            Some(filter) => self.filtered(vocabulary, filter, tokens, &mut found.tokens)?,
        }
        Ok(())
    }

    /// One forward pass over the nodes of a span, the subtree of a child of the place.
    fn descend(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        (place, trie, filter): (Place, &Trie, Option<Filter>),
        (first, end): (usize, usize),
        found: &mut Findings,
        levels: &mut Vec<Vec<Item>>,
    ) -> Result<()> {
        let nodes = trie.nodes();
        let top = usize::from(nodes[place.node as usize].depth);
        let mut node = first;
        while node < end {
            let at = nodes[node];
            let depth = usize::from(at.depth) - top;
            if levels.len() == depth {
                levels.push(Vec::new());
            }
            let (above, below) = levels.split_at_mut(depth);
            let (items, next) = (&above[depth - 1], &mut below[0]);
            // Most nodes are leaves: where they lead does not matter.
            if at.subtree_end as usize == node + 1 {
                if self.allows(program, items, at.byte)? {
                    self.note(vocabulary, trie.tokens(node), filter, found)?;
                }
                node += 1;
                continue;
            }
            self.step(program, items, at.byte, next)?;
            if next.is_empty() {
                node = at.subtree_end as usize;
                continue;
            }
            self.note(vocabulary, trie.tokens(node), filter, found)?;
            // Items are sorted by point: these come first.
            while let Some(&item) = next.first()
                && matches!(item.point, ACCEPT | EXIT)
            {
                if item.point == EXIT {
                    found.exits.push(Place { node: node as u32, ..place });
                }
                next.remove(0);
            }
            if place.trie == VOCABULARY && at.subtree_end - node as u32 > SUBTREE {
                self.cut(program, vocabulary, node as u32, next, found)?;
            }
            node = match next.is_empty() {
                true => at.subtree_end as usize,
                false => node + 1,
            };
        }
        Ok(())
    }

    /// Replaces items in the middle of a repeat by the runs below a node, and leaves what has to
    /// be walked.
    fn cut(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        node: u32,
        items: &mut Vec<Item>,
        found: &mut Findings,
    ) -> Result<()> {
        let mut kept = 0;
        let mut added = Vec::new();
        for i in 0..items.len() {
            let item = items[i];
            let cut = match program.point(item.point) {
                Point::Regular { .. } | Point::Capture { .. } => {
                    self.cut_item(program, vocabulary, node, item, found)?
                }
                _ => None,
            };
            match cut {
                None => {
                    items[kept] = item;
                    kept += 1;
                }
                Some(rest) => added.extend(rest),
            }
        }
        items.truncate(kept);
        if !added.is_empty() {
            items.append(&mut added);
            self.merge(items)?;
        }
        Ok(())
    }

    /// `None` if the item has to be walked; otherwise what is left of it to walk.
    fn cut_item(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        node: u32,
        item: Item,
        found: &mut Findings,
    ) -> Result<Option<Option<Item>>> {
        let (unit, rest, condition, max, ends) =
            match self.head(program, vocabulary, item.point, item.state)? {
                Head::Repeat { unit, min, max, rest } => {
                    let some = min > 1 || max < u32::MAX;
                    let condition = some.then_some(Condition::Units(min.max(1), max));
                    (unit, rest, condition, max, min == 0)
                }
                Head::Text { text } => {
                    let from = vocabulary.trie().nodes()[node as usize].depth.into();
                    let condition = Some(Condition::Text(text, from));
                    let ends = self.languages.is_nullable(text);
                    (self.json.unit, self.json.quote, condition, u32::MAX, ends)
                }
                Head::Narrow | Head::Other => return Ok(None),
            };
        let items = self.items_left(program, Item { state: rest, ..item })?;
        let runs = self.runs(vocabulary, unit, node)?;
        found.bases.push(Base::Runs(runs, max));
        for byte in self.first_bytes(program, &items)?.iter() {
            let trie = self.leaving(vocabulary, (unit, node), byte)?;
            let filter = match condition {
                Some(condition) => self.masks.filter_id(Filter { trie, condition }),
                None => 0,
            };
            self.explore(program, vocabulary, Place { trie, node: 0, filter }, &items, found)?;
        }
        Ok(Some((ends && rest != Language::EPSILON).then_some(Item { state: rest, ..item })))
    }
}
