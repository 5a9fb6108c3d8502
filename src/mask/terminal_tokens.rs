//! Readings: one terminal, from places inside tokens.

use super::*;
use crate::vocabulary::TrieNode;

/// A subtree of the trie with fewer nodes is walked, not looked up.
const SUBTREE: u32 = 40;

/// Below this depth everything is walked: readings nest no deeper.
const DEPTH: u16 = 64;

/// A subtree with more nodes gets a slice of its own for a state that is not worth telling apart
/// otherwise: what follows a blank, mostly.
const SLICED: u32 = 4_096;

impl Machine {
    /// What a terminal allows from some places, and where it may end.
    pub(crate) fn reading(
        &mut self,
        vocabulary: &Vocabulary,
        terminal: Terminal,
        places: PlacesId,
    ) -> Result<(Arc<Reading>, PlacesId)> {
        if let Some((reading, exits)) = self.masks.readings.get(&(terminal, places)) {
            return Ok((Arc::clone(reading), *exits));
        }
        let from = Arc::clone(&self.masks.places[places as usize]);
        let shares = self.shared_slices.strategies().has(Strategy::SharedReadings);
        let key = (shares && terminal.shared && from.iter().all(Place::is_shared)).then(|| {
            let fingerprint = self.languages.fingerprint(terminal.state);
            let how = [terminal.text, terminal.plain, terminal.every_end];
            (fingerprint, how, Arc::clone(&from))
        });
        let reading = match key.as_ref().and_then(|key| self.shared_slices.reading(key)) {
            Some(reading) => reading,
            None => {
                let reading = Arc::new(self.find_reading(vocabulary, terminal, &from)?);
                if let Some(key) = key
                    && reading.exits.iter().all(Place::is_shared)
                {
                    self.shared_slices.share(key, &reading);
                }
                reading
            }
        };
        for (id, tokens) in &reading.tries {
            self.masks.trie(*id, || tokens.clone());
        }
        let exits = self.masks.places_id(&mut reading.exits.to_vec());
        self.masks.bytes += reading.bytes();
        self.masks.readings.insert((terminal, places), (Arc::clone(&reading), exits));
        Ok((reading, exits))
    }

    fn find_reading(
        &mut self,
        vocabulary: &Vocabulary,
        terminal: Terminal,
        places: &[Place],
    ) -> Result<Reading> {
        let mut found = Findings::default();
        for &place in places {
            self.read_from(vocabulary, terminal, place, &mut found)?;
        }
        let Findings { mut tokens, bases, mut exits, unlike, words, doubtful, .. } = found;
        if places != [Place::START] {
            // Tokens stand in several tries of tails.
            tokens.sort_unstable();
            tokens.dedup();
        }
        exits.sort_unstable();
        exits.dedup();
        let exits = self.gather(vocabulary, exits, unlike.union(&words));
        let mut tries: Vec<TrieId> = exits.iter().map(|place| place.trie).collect();
        tries.dedup();
        let trie = |id| Some((id, self.masks.tries.get(&id)?.clone()));
        let known = &self.shared_slices.capture_tokens(vocabulary).commas;
        Ok(Reading {
            commas: tokens.iter().copied().filter(|&token| known.contains(token)).collect(),
            tokens: List::new(tokens, vocabulary),
            bases,
            tries: tries.into_iter().filter_map(trie).collect(),
            exits: exits.into(),
            unlike,
            words,
            doubtful: doubtful.into(),
        })
    }

    /// Notes what a terminal's state allows below a place.
    fn read_from(
        &mut self,
        vocabulary: &Vocabulary,
        mut terminal: Terminal,
        place: Place,
        found: &mut Findings,
    ) -> Result<()> {
        // As long as it begins with repeats that may be left out.
        while self.is_wide(vocabulary, place) {
            let (unit, max, rest, condition, absent) =
                match self.head(vocabulary, terminal.state, terminal.text)? {
                    Head::Repeat { rest, .. }
                        if terminal.plain && self.languages.is_nullable(rest) =>
                    {
                        break;
                    }
                    Head::Repeat { unit, min, max, rest } => {
                        let condition = match (min, max) {
                            (0..=1, u32::MAX) => Condition::Any,
                            _ => Condition::Units(min.max(1), max),
                        };
                        (unit, max, rest, condition, min == 0)
                    }
                    Head::Text { text } => {
                        let excludes = self.shared_slices.strategies().has(Strategy::Exclusions);
                        let lacking =
                            if excludes { self.lacking(vocabulary, text, place)? } else { None };
                        let condition = match lacking {
                            Some(tokens) => {
                                found.doubtful.extend_from_slice(&tokens);
                                Condition::Any
                            }
                            None => {
                                let from = vocabulary.trie().nodes()[place.node as usize].depth;
                                Condition::Text(text, from.into())
                            }
                        };
                        let absent = self.languages.is_nullable(text);
                        (self.json.unit, u32::MAX, self.json.quote, condition, absent)
                    }
                    Head::Other if self.is_sliced(vocabulary, place) => {
                        let Terminal { state, every_end, .. } = terminal;
                        if self.shared_slices.strategies().has(Strategy::ShortWalks)
                            && self.languages.is_listed(state)
                            && self.walk_few(vocabulary, terminal, place, found)?
                        {
                            return Ok(());
                        }
                        let slice = self.slice(vocabulary, state, place.node, every_end)?;
                        let Some(slice) = slice else { break };
                        found.words = found.words.union(&slice.words);
                        if !slice.tails.ids().is_empty() {
                            let tokens = || Tokens::Slice(Arc::clone(&slice));
                            let trie = self.masks.trie(slice.id, tokens);
                            found.exits.push(Place { trie, ..Place::START });
                        }
                        found.bases.push(Base::Slice(slice));
                        return Ok(());
                    }
                    Head::Narrow | Head::Other => break,
                };
            let runs = self.runs(vocabulary, unit, place.node)?;
            found.bases.push(Base::Runs(Arc::clone(&runs), max));
            terminal.state = rest;
            self.read_left(vocabulary, terminal, (runs, unit), condition, found)?;
            if !absent || rest == Language::EPSILON {
                return Ok(());
            }
        }
        self.walk_below(vocabulary, terminal, place, found)
    }

    /// Of a terminal that reads a JSON string of which it lacks some, the one that lacks none but
    /// perhaps the empty one.
    pub(crate) fn without_lacks(&mut self, state: Language) -> Option<Lacking> {
        let Json { unit, quote } = self.json;
        let rest = self.languages.after_first(state, quote);
        let text = self.languages.one_before(rest.unwrap_or(state), quote)?;
        if !self.languages.lacks_some(text) {
            return None;
        }
        let quoted = rest.is_some();
        let known = self.masks.whole.get(&(text, quoted));
        if let Some(known) = known {
            return *known;
        }
        let mut found = None;
        if self.languages.all_but(text, unit).is_some_and(|lacking| !lacking.is_empty())
            && self.languages.is_total(text, unit, &mut self.masks.total)
        {
            // The empty text is lacked by all texts in which a character must come: it needs no
            // look at tokens.
            let least = u32::from(!self.languages.is_nullable(text));
            let all = self.languages.repeat(unit, least, None);
            let open = if quoted { quote } else { Language::EPSILON };
            let whole = self.languages.concat([open, all, quote]);
            found = Some(Lacking { whole, text, quoted });
        }
        self.masks.bytes += 48;
        self.masks.whole.insert((text, quoted), found);
        found
    }

    /// From some places, the tokens in which a text comes to an end that is lacking, if they are
    /// few.
    pub(crate) fn lacking_from(
        &mut self,
        vocabulary: &Vocabulary,
        lacking: Lacking,
        places: PlacesId,
    ) -> Result<Option<SmallVec<[u32; 4]>>> {
        let mut found = SmallVec::new();
        for &place in Arc::clone(&self.masks.places[places as usize]).iter() {
            let Some(place) = self.behind_quote(vocabulary, place, lacking.quoted) else {
                continue;
            };
            // Tails by the byte where they leave begin behind no quote.
            let known = match self.masks.tokens(place) {
                Tokens::Left(_) => None,
                _ => self.lacking(vocabulary, lacking.text, place)?,
            };
            let Some(tokens) = known else { return Ok(None) };
            found.extend_from_slice(&tokens);
        }
        Ok(Some(found))
    }

    /// Where a text begins from a place.
    fn behind_quote(
        &mut self,
        vocabulary: &Vocabulary,
        place: Place,
        quoted: bool,
    ) -> Option<Place> {
        if !quoted {
            return Some(place);
        }
        let mut place = place;
        if let Tokens::Left(runs) = self.masks.tokens(place) {
            place.trie = self.leaving(vocabulary, &runs, b'"');
        }
        let tokens = self.masks.tokens(place);
        let node = tokens.trie(vocabulary).child(place.node as usize, b'"')?;
        Some(Place { node: node as u32, ..place })
    }

    /// Of a text that lacks some strings, the tokens in which one of these, not the empty one, comes
    /// to its closing quote from a node of a trie, if they are few: all others may be read as if
    /// nothing else lacked.
    fn lacking(
        &mut self,
        vocabulary: &Vocabulary,
        text: Language,
        place: Place,
    ) -> Result<Option<Arc<[u32]>>> {
        let key = (text, place.trie, place.node);
        if let Some(known) = self.masks.lacking.get(&key) {
            return Ok(known.clone());
        }
        let found = match self.languages.all_but(text, self.json.unit) {
            Some(lacking) => self.tokens_with(vocabulary, &lacking, place)?,
            None => None,
        };
        let found: Option<Arc<[u32]>> = found.map(Into::into);
        self.masks.bytes += 56 + found.as_ref().map_or(0, |tokens| size_of_val(&**tokens));
        self.masks.lacking.insert(key, found.clone());
        Ok(found)
    }

    /// The tokens in which a string of one of these languages, not the empty one, comes to a quote,
    /// if they are few.
    fn tokens_with(
        &mut self,
        vocabulary: &Vocabulary,
        languages: &[Language],
        place: Place,
    ) -> Result<Option<Vec<u32>>> {
        const FEW: usize = 16;
        const STEPS: usize = 1_000;
        let known = self.masks.tokens(place);
        let trie = known.trie(vocabulary);
        let nodes = trie.nodes();
        let mut tokens = Vec::new();
        let mut steps = 0;
        let mut open: Vec<(u32, Language)> = languages.iter().map(|&x| (place.node, x)).collect();
        while let Some((node, state)) = open.pop() {
            let first = self.languages.first_bytes(state)?;
            let ends = node != place.node && self.languages.is_nullable(state);
            let quote = if ends { ByteSet::single(b'"') } else { ByteSet::EMPTY };
            for child in trie.children(node as usize, first.union(&quote).bits()) {
                let at = nodes[child];
                if ends && at.byte == b'"' {
                    tokens.extend_from_slice(trie.subtree_tokens(child));
                }
                if first.contains(at.byte) && at.subtree_end as usize > child + 1 {
                    open.push((child as u32, self.languages.step(state, at.byte)?));
                }
                steps += 1;
                if tokens.len() > FEW || steps > STEPS {
                    return Ok(None);
                }
            }
        }
        Ok(Some(tokens))
    }

    /// Are there so many tokens below a place that the walk is worth avoiding?
    fn is_wide(&self, vocabulary: &Vocabulary, place: Place) -> bool {
        let wide = |at: &TrieNode| at.subtree_end - place.node > SUBTREE && at.depth <= DEPTH;
        place.trie == VOCABULARY
            && vocabulary.trie().nodes().get(place.node as usize).is_some_and(wide)
    }

    /// Are there so many tokens below a wide place that a slice of them is worth its memory?
    fn is_sliced(&self, vocabulary: &Vocabulary, place: Place) -> bool {
        let top = vocabulary.trie().nodes()[place.node as usize];
        top.subtree_end - place.node > SLICED
    }

    /// Notes what is allowed after runs of a unit, if `terminal` is what is left.
    fn read_left(
        &mut self,
        vocabulary: &Vocabulary,
        terminal: Terminal,
        (runs, unit): (Arc<RepeatSplit>, Language),
        condition: Condition,
        found: &mut Findings,
    ) -> Result<()> {
        let trie = self.masks.trie(runs.id, || Tokens::Left(runs));
        let place = Place { trie, node: 0, condition };
        if self.languages.is_nullable(terminal.state) {
            found.exits.push(place);
            found.unlike = found.unlike.union(&self.languages.first_bytes(unit)?);
        }
        match terminal.state {
            Language::EPSILON => Ok(()),
            _ => self.walk_below(vocabulary, terminal, place, found),
        }
    }

    /// Walks as long as it is shorter than making a slice: what is listed is mostly little. Was that
    /// long enough?
    fn walk_few(
        &mut self,
        vocabulary: &Vocabulary,
        terminal: Terminal,
        place: Place,
        found: &mut Findings,
    ) -> Result<bool> {
        const FEW: usize = 600;
        let mut few = Findings { nodes: FEW, ..Findings::default() };
        self.walk_below(vocabulary, terminal, place, &mut few)?;
        if few.nodes == 0 {
            return Ok(false);
        }
        found.tokens.append(&mut few.tokens);
        found.bases.append(&mut few.bases);
        found.exits.append(&mut few.exits);
        found.doubtful.append(&mut few.doubtful);
        found.unlike = found.unlike.union(&few.unlike);
        found.words = found.words.union(&few.words);
        Ok(true)
    }

    /// One forward pass over the nodes below a place that the terminal lets through.
    fn walk_below(
        &mut self,
        vocabulary: &Vocabulary,
        terminal: Terminal,
        place: Place,
        found: &mut Findings,
    ) -> Result<()> {
        let first = self.languages.first_bytes(terminal.state)?;
        if let Tokens::Left(runs) = self.masks.tokens(place) {
            for byte in first.iter() {
                let trie = self.leaving(vocabulary, &runs, byte);
                let place = Place { trie, node: 0, ..place };
                self.walk_children(vocabulary, terminal, place, first, found)?;
            }
            return Ok(());
        }
        self.walk_children(vocabulary, terminal, place, first, found)
    }

    fn walk_children(
        &mut self,
        vocabulary: &Vocabulary,
        terminal: Terminal,
        place: Place,
        first: ByteSet,
        found: &mut Findings,
    ) -> Result<()> {
        let mut open = self.masks.stacks.pop().unwrap_or_default();
        open.push((place.node, terminal.state, first));
        let result = self.walk_open(vocabulary, terminal, place, &mut open, found);
        open.clear();
        self.masks.stacks.push(open);
        result
    }

    /// Reads the terminal below nodes, each with its state there and the bytes with which that may
    /// go on.
    fn walk_open(
        &mut self,
        vocabulary: &Vocabulary,
        terminal: Terminal,
        place: Place,
        open: &mut Vec<(u32, Language, ByteSet)>,
        found: &mut Findings,
    ) -> Result<()> {
        let tokens = self.masks.tokens(place);
        let trie = tokens.trie(vocabulary);
        let nodes = trie.nodes();
        while let Some((node, before, first)) = open.pop() {
            for child in trie.children(node as usize, first.bits()) {
                if found.nodes == 0 {
                    return Ok(());
                }
                found.nodes -= 1;
                let at = nodes[child];
                self.note(vocabulary, (place, &tokens, trie, child), found)?;
                // Most nodes are leaves: where they lead does not matter.
                if at.subtree_end as usize == child + 1 {
                    continue;
                }
                let state = self.languages.step(before, at.byte)?;
                let here = Place { node: child as u32, ..place };
                if self.languages.is_nullable(state) {
                    // Within a word the terminal itself goes on.
                    let word = match terminal.every_end {
                        true => ByteSet::EMPTY,
                        false => self.going_on(state)?,
                    };
                    if word.is_empty() || has_child_but(trie, child, word) {
                        found.exits.push(here);
                    } else {
                        found.words = found.words.union(&word);
                    }
                }
                if state == Language::EPSILON {
                    continue;
                }
                let apart = self.is_wide(vocabulary, here)
                    && match self.head(vocabulary, state, terminal.text)? {
                        Head::Repeat { .. } | Head::Text { .. } => true,
                        Head::Other => self.is_sliced(vocabulary, here),
                        Head::Narrow => false,
                    };
                if apart {
                    self.read_from(vocabulary, Terminal { state, ..terminal }, here, found)?;
                    continue;
                }
                open.push((child as u32, state, self.languages.first_bytes(state)?));
            }
        }
        Ok(())
    }

    /// Notes the tokens of a node, if they satisfy the condition of their place.
    pub(crate) fn note(
        &mut self,
        vocabulary: &Vocabulary,
        (place, tokens, trie, node): (Place, &Tokens, &Trie, usize),
        found: &mut Findings,
    ) -> Result<()> {
        let all = trie.tokens(node);
        let Tokens::Leaving(leaving) = tokens else {
            found.tokens.extend_from_slice(all);
            return Ok(());
        };
        if place.condition == Condition::Any {
            found.tokens.extend_from_slice(all);
            return Ok(());
        }
        let from = trie.nodes()[node].first_token as usize;
        for (&token, run) in all.iter().zip(&leaving.runs[from..]) {
            let fits = match place.condition {
                Condition::Any => true,
                Condition::Units(min, max) => (min..=max).contains(&run.units.into()),
                Condition::Text(text, from) => {
                    let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                    let run = &bytes[from as usize..from as usize + usize::from(run.bytes)];
                    self.has_text(text, run)?
                }
            };
            if fits {
                found.tokens.push(token);
            }
        }
        Ok(())
    }

    /// Is a run of JSON characters one of these texts?
    fn has_text(&mut self, text: Language, run: &[u8]) -> Result<bool> {
        // Where only some texts lack, it is enough to look for it among them.
        match self.languages.all_but(text, self.json.unit) {
            Some(lacking) => {
                for lack in lacking {
                    if self.is_in(lack, run)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            None => self.is_in(text, run),
        }
    }

    /// Is a string in a language? Stops as soon as it cannot be.
    fn is_in(&mut self, mut state: Language, string: &[u8]) -> Result<bool> {
        for &byte in string {
            state = self.languages.step(state, byte)?;
            if state == Language::EMPTY {
                return Ok(false);
            }
        }
        Ok(self.languages.is_nullable(state))
    }
}

/// Has a node a child with another byte than these?
fn has_child_but(trie: &Trie, node: usize, bytes: ByteSet) -> bool {
    trie.children(node, bytes.complement().bits()).next().is_some()
}
