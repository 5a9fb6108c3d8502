//! From the bytes of tokens to text that can be shown.
//!
//! Two things are held back: the bytes of a character that is split between tokens, and a tail of
//! the text that may become a stop. With the stop string `END`:
//!
//! ```text
//! bytes   "aE"   "N"    "E"     " x"
//! shown   "a"    ""     "EN"    "E x"
//! ```

use std::sync::Arc;

use super::stop_patterns::{StopMatch, StopPatterns, StopSearches};

/// The text of one sequence: its bytes so far, decoded as `String::from_utf8_lossy` does, up to a
/// stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopStream {
    text: String,
    /// Bytes after `text` that are the beginning of a character.
    partial: Vec<u8>,
    searches: StopSearches,
    stop_string: StopString,
    /// Index of the stop that ended the text.
    stopped: Option<usize>,
    ended: bool,
    /// Length of the part of `text` that was handed out, in bytes.
    shown: usize,
    leading_space: LeadingSpace,
}

/// The treatment of the stop string that ends a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StopString {
    /// The text ends before it.
    #[default]
    Cut,
    /// The text ends with it.
    Keep,
}

/// The treatment of a space at the very beginning of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LeadingSpace {
    #[default]
    Keep,
    Strip,
}

/// Whether stop strings end the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopSearch {
    Enabled,
    /// The text is too short to end: a stop string that ends now is text for good.
    Suspended,
}

impl StopStream {
    /// An empty text with these stops.
    pub(crate) fn new(
        stops: Arc<StopPatterns>,
        stop_string: StopString,
        leading_space: LeadingSpace,
    ) -> Self {
        let searches = StopSearches::new(stops);
        Self { searches, stop_string, leading_space, ..Self::default() }
    }

    /// Adds a token's bytes. Returns whether a stop string has come; then the text is final.
    pub(crate) fn push(&mut self, bytes: &[u8], search: StopSearch) -> bool {
        let searched = self.text.len();
        let first = self.leading_space == LeadingSpace::Strip && !bytes.is_empty();
        let bytes = if first { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes };
        if first {
            self.leading_space = LeadingSpace::Keep;
        }
        self.partial.extend_from_slice(bytes);
        let decoded = decode_prefix(&self.partial, &mut self.text);
        self.partial.drain(..decoded);
        self.ended = self.cut_at_stop(searched, search);
        self.ended
    }

    /// Marks a special token here: nothing before it is held back any longer, and no stop reaches
    /// across it.
    pub(crate) fn interrupt(&mut self) {
        self.text += &String::from_utf8_lossy(&std::mem::take(&mut self.partial));
        self.searches.clear();
    }

    /// The length of the text so far, without the beginning of a character at its end.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The index of the stop that ended the text: stop strings first, then stop regexes.
    pub(crate) fn stop(&self) -> Option<usize> {
        self.stopped
    }

    /// The text that can be shown since the last call: all but a tail that may become a stop.
    pub(crate) fn next_chunk(&mut self) -> Option<&str> {
        let end = if self.ended { self.text.len() } else { self.text.len() - self.possible_stop() };
        let start = self.shown;
        self.shown = end.max(start);
        self.text.get(start..end).filter(|chunk| !chunk.is_empty())
    }

    /// Ends the text: no more bytes come, and nothing is held back any longer.
    pub(crate) fn end(&mut self) {
        if !self.ended {
            let searched = self.text.len();
            self.text += &String::from_utf8_lossy(&std::mem::take(&mut self.partial));
            self.ended = true;
            self.cut_at_stop(searched, StopSearch::Enabled);
        }
    }

    /// Whether both have the same text so far.
    pub(crate) fn is_same_text(&self, other: &Self) -> bool {
        self.text == other.text && self.partial == other.partial
    }

    /// All of the text so far.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Reads the text from `searched` on, and cuts it at the first stop that ends. So the result does
    /// not depend on how the text was split into tokens.
    fn cut_at_stop(&mut self, searched: usize, search: StopSearch) -> bool {
        for end in searched..self.text.len() {
            let found = self.searches.read(end, self.text.as_bytes()[end]);
            if search == StopSearch::Enabled
                && let Some(StopMatch { start, stop }) = found
            {
                self.stopped = Some(stop);
                self.text.truncate(match self.stop_string {
                    StopString::Keep => end + 1,
                    StopString::Cut => start,
                });
                self.partial.clear();
                return true;
            }
        }
        false
    }

    /// The length of the end of the text that may turn out to be a stop string, and would then be cut off.
    fn possible_stop(&self) -> usize {
        match (self.stop_string, self.searches.oldest()) {
            (StopString::Cut, Some(start)) => self.text.len() - start,
            _ => 0,
        }
    }
}

/// Appends the whole characters at the start of `bytes` to `text`, U+FFFD for what can never become
/// one, and returns how many bytes that took: all but the beginning of a character at the end.
fn decode_prefix(bytes: &[u8], text: &mut String) -> usize {
    let mut done = 0;
    loop {
        match std::str::from_utf8(&bytes[done..]) {
            Ok(rest) => {
                text.push_str(rest);
                return bytes.len();
            }
            Err(error) => {
                let valid = done + error.valid_up_to();
                text.push_str(&String::from_utf8_lossy(&bytes[done..valid]));
                let Some(invalid) = error.error_len() else {
                    return valid;
                };
                text.push(char::REPLACEMENT_CHARACTER);
                done = valid + invalid;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pushes pieces and returns what was shown after each, and the text at the end.
    fn show(stops: &[&str], keep: bool, least: usize, pieces: &[&[u8]]) -> (Vec<String>, String) {
        show_regexes(stops, &[], keep, least, pieces)
    }

    /// The same with stop regexes beside the stop strings.
    fn show_regexes(
        stops: &[&str],
        regexes: &[&str],
        keep: bool,
        least: usize,
        pieces: &[&[u8]],
    ) -> (Vec<String>, String) {
        let owned =
            |stops: &[&str]| -> Vec<String> { stops.iter().map(|s| s.to_string()).collect() };
        let stops = StopPatterns::new(&owned(stops), &owned(regexes)).unwrap();
        let stop_string = if keep { StopString::Keep } else { StopString::Cut };
        let mut stream = StopStream::new(stops.into(), stop_string, LeadingSpace::Keep);
        let mut shown = Vec::new();
        for (i, piece) in pieces.iter().enumerate() {
            let stopped = stream
                .push(piece, if i >= least { StopSearch::Enabled } else { StopSearch::Suspended });
            shown.push(stream.next_chunk().unwrap_or_default().to_owned());
            if stopped {
                break;
            }
        }
        stream.end();
        shown.push(stream.next_chunk().unwrap_or_default().to_owned());
        (shown, stream.into_text())
    }

    #[test]
    fn what_is_held_back_and_what_is_cut() {
        /// Stop strings, pieces, and what is shown after each piece and at the end.
        type Case = (&'static [&'static str], &'static [&'static [u8]], &'static [&'static str]);
        let cases: &[Case] = &[
            (&[], &[b"a", b"b"], &["a", "b", ""]),
            (&[], &[b"x\xE2", b"\x82", b"\xAC!"], &["x", "", "€!", ""]),
            (&[], &[b"x\xE2\x82"], &["x", "\u{FFFD}"]),
            (&[], &[b"\xFFa", b"\xE2a"], &["\u{FFFD}a", "\u{FFFD}a", ""]),
            (&["END"], &[b"aE", b"N", b"Dx"], &["a", "", "", ""]),
            (&["END"], &[b"aE", b"NE", b"x"], &["a", "EN", "Ex", ""]),
            (&["END"], &[b"EN"], &["", "EN"]),
            (&["aab"], &[b"aa", b"a", b"b"], &["", "a", "", ""]),
            (&["b", "abc"], &[b"a", b"bc"], &["", "a", ""]),
            (&["bc", "b"], &[b"ab", b"c"], &["a", ""]),
            (&["€"], &[b"1\xE2\x82", b"\xAC2"], &["1", "", ""]),
            (&["\n\n"], &[b"a\n", b"\nb"], &["a", "", ""]),
        ];
        for (stops, pieces, expected) in cases {
            let (shown, text) = show(stops, false, 0, pieces);
            assert_eq!(&shown, expected, "{stops:?} {pieces:?}");
            assert_eq!(shown.concat(), text);
        }
    }

    #[test]
    fn a_space_before_the_text_is_left_out_once() {
        let mut stream = StopStream::new(Arc::default(), StopString::Cut, LeadingSpace::Strip);
        for piece in [&b""[..], b" ", b" a", b" b"] {
            stream.push(piece, StopSearch::Enabled);
        }
        assert_eq!(stream.into_text(), " a b");
        let mut stream = StopStream::new(Arc::default(), StopString::Cut, LeadingSpace::Strip);
        stream.push(b"a b", StopSearch::Enabled);
        assert_eq!(stream.into_text(), "a b");
    }

    proptest! {
        /// However the bytes are split, the text is theirs up to the stop string that ends first.
        #[test]
        fn splits_do_not_matter(
            text in "[ab\n€]{0,12}",
            stops in prop::collection::vec("[ab\n€]{1,3}", 0..3),
            cuts in prop::collection::vec(0usize..40, 0..6),
            keep in any::<bool>(),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let (shown, result) = show(&stops, keep, 0, &pieces);
            prop_assert_eq!(shown.concat(), result.clone());
            prop_assert!(text.starts_with(&result));
            let ends = |s: &&str| text.find(*s).map(|at| (at + s.len(), at));
            let end = stops.iter().filter_map(ends).min();
            let end = end.map_or(text.len(), |(end, at)| if keep { end } else { at });
            prop_assert_eq!(result, &text[..end]);
        }

        /// Only what may become a stop string is held back, and only while it may: after each piece
        /// the rest of the text, whatever it is, decides what could still be cut off.
        #[test]
        fn nothing_else_is_held_back(
            text in "[ab€]{0,12}",
            stops in prop::collection::vec("[ab€]{1,3}", 0..3),
            least in 0usize..8,
        ) {
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            let names: Vec<&str> = stops.iter().map(String::as_str).collect();
            let (shown, result) = show(&names, false, least, &bytes);
            prop_assert_eq!(shown.concat(), result.clone());
            let mut seen = 0;
            for (i, chunk) in shown.iter().enumerate().take(bytes.len()) {
                seen += chunk.len();
                let valid = match std::str::from_utf8(&text.as_bytes()[..=i]) {
                    Ok(valid) => valid.len(),
                    Err(error) => error.valid_up_to(),
                };
                if valid > result.len() {
                    break;
                }
                let held = &text[seen..valid];
                let begins = |s: &&str| s.starts_with(held) && s.len() > held.len();
                prop_assert!(held.is_empty() || names.iter().any(begins), "{held:?}");
            }
            // Before the text is long enough no stop string ends it.
            let ends = |s: &&str| {
                text.match_indices("").map(|(at, _)| at).find(|&at| {
                    text[at..].starts_with(*s) && at + s.len() > least
                }).map(|at| (at + s.len(), at))
            };
            let end = names.iter().filter_map(ends).min().map_or(text.len(), |(_, at)| at);
            prop_assert_eq!(result, &text[..end]);
        }
    }

    proptest! {
        // Each case compiles its patterns for the reference.
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Strings and regexes against the definition, by a search from every place to every other, in
        /// every split of the bytes into two pieces and byte by byte: the match that ends first, and of
        /// those the longest and the first; and nothing is shown that a later byte could take back.
        #[test]
        fn regexes_are_found_in_every_split(
            text in "[ab1\n€]{0,10}",
            strings in prop::collection::vec("[ab€]{2,3}", 0..2),
            chosen in prop::collection::vec(0usize..10, 1..4),
            keep in any::<bool>(),
        ) {
            const REGEXES: [&str; 10] = [
                "a+b", "ab*1", "(?m)^[a€]1", "^b", "[0-9]{2}", "€.", "a(b|1)*\n", "(?i)BA", "b..b|1b",
                "(?s)a.{0,3}€",
            ];
            let regexes: Vec<&str> = chosen.iter().map(|&index| REGEXES[index]).collect();
            let strings: Vec<&str> = strings.iter().map(String::as_str).collect();
            let escaped = strings.iter().map(|string| regex_syntax::escape(string));
            let all = escaped.chain(regexes.iter().map(|regex| regex.to_string()));
            let all: Vec<regex::Regex> =
                all.map(|regex| regex::Regex::new(&format!("(?:{regex})\\z")).unwrap()).collect();
            // `\\z` is the end that is tried, and the place to begin from keeps what stands before it.
            let found = (1..=text.len()).filter(|&end| text.is_char_boundary(end)).find_map(|end| {
                let from = |start: usize| all.iter().position(|regex| {
                    regex.find_at(&text[..end], start).is_some_and(|found| found.start() == start)
                });
                (0..end).filter(|&start| text.is_char_boundary(start))
                    .find_map(|start| from(start).map(|stop| (start, end, stop)))
            });
            let expected = found.map_or(&text[..], |(start, end, _)| &text[..if keep { end } else { start }]);
            let bytes = text.as_bytes();
            let mut splits: Vec<Vec<&[u8]>> = vec![bytes.chunks(1).collect()];
            splits.extend((0..=bytes.len()).map(|at| vec![&bytes[..at], &bytes[at..]]));
            for pieces in splits {
                let (shown, result) = show_regexes(&strings, &regexes, keep, 0, &pieces);
                prop_assert_eq!(shown.concat(), &result[..]);
                prop_assert_eq!(&result, expected);
            }
            let owned = |stops: &[&str]| -> Vec<String> { stops.iter().map(|s| s.to_string()).collect() };
            let patterns = StopPatterns::new(&owned(&strings), &owned(&regexes)).unwrap();
            let mut stream = StopStream::new(patterns.into(), StopString::Cut, LeadingSpace::Keep);
            stream.push(bytes, StopSearch::Enabled);
            prop_assert_eq!(stream.stop(), found.map(|(_, _, stop)| stop));
        }
    }

    #[test]
    fn regexes_hold_back_what_may_match() {
        let pieces: [&[u8]; 5] = [b"xa", b"a", b"c1", b"23", b"4"];
        let (shown, text) = show_regexes(&[], &["a+b", "[0-9]{3}"], false, 0, &pieces);
        assert_eq!(shown, ["x", "", "aac", "", ""]);
        assert_eq!(text, "xaac");
    }

    #[test]
    fn regexes_that_are_not_decided_by_their_text_are_refused() {
        for (regex, message) in [
            ("a*", "empty text"),
            ("", "empty text"),
            ("a$", "looks at what follows"),
            ("\\bend\\b", "looks at what follows"),
            ("[a&&b]", "matches no text"),
            ("(", "cannot be read"),
            ("\\w{2000}", "too large"),
        ] {
            let error = StopPatterns::new(&[], &[regex.to_owned()]).unwrap_err();
            assert!(error.message().contains(message), "{regex}: {error}");
            assert_eq!(error.place().field, Some("stop_regex"), "{regex}");
            assert!(error.help().is_some());
        }
    }
}
