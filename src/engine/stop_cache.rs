//! The automata of stops that were asked for lately.
//!
//! The texts of a request share its stops, and clients send the same ones with each request. An automaton of
//! stop regexes may take a second to make, so of those one is made at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::request::Request;
use super::stop_patterns::StopPatterns;
use crate::error::Result;

/// Bytes of automata that are kept for requests to come. The last one is kept in any case.
const MAX_BYTES: usize = 32 << 20;
/// Automata that are kept: all are looked at for each request that has stops.
const MAX_AUTOMATA: usize = 256;

/// The automata of stops, the last used last.
#[derive(Debug, Default)]
pub(crate) struct StopCache {
    known: Mutex<VecDeque<KnownStops>>,
    making: Mutex<()>,
}

#[derive(Debug)]
struct KnownStops {
    strings: Vec<String>,
    regexes: Vec<String>,
    patterns: Arc<StopPatterns>,
}

impl StopCache {
    /// The automaton of a request's stops. Errors as [`StopPatterns::new`] does.
    pub(crate) fn patterns(&self, request: &Request) -> Result<Arc<StopPatterns>> {
        let (strings, regexes) = (&request.stop, &request.stop_regex);
        if strings.is_empty() && regexes.is_empty() {
            return Ok(Arc::default());
        }
        if let Some(known) = self.known(strings, regexes) {
            return Ok(known);
        }
        // Those of strings take no time.
        let _making = (!regexes.is_empty())
            .then(|| self.making.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(known) = self.known(strings, regexes) {
            return Ok(known);
        }
        let patterns = Arc::new(StopPatterns::new(strings, regexes)?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_back(KnownStops {
            strings: strings.clone(),
            regexes: regexes.clone(),
            patterns: Arc::clone(&patterns),
        });
        let mut bytes: usize = known.iter().map(|entry| entry.patterns.memory_bytes()).sum();
        while (bytes > MAX_BYTES || known.len() > MAX_AUTOMATA)
            && known.len() > 1
            && let Some(oldest) = known.pop_front()
        {
            bytes -= oldest.patterns.memory_bytes();
        }
        Ok(patterns)
    }

    fn known(&self, strings: &[String], regexes: &[String]) -> Option<Arc<StopPatterns>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |entry: &KnownStops| entry.strings == strings && entry.regexes == regexes;
        let entry = known.iter().position(is_it).and_then(|index| known.remove(index))?;
        let patterns = Arc::clone(&entry.patterns);
        known.push_back(entry);
        Some(patterns)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(stop: &str, regex: &str) -> Request {
        let owned = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Request { stop: owned(stop), stop_regex: owned(regex), ..Request::text("") }
    }

    #[test]
    fn the_same_stops_are_made_once() {
        let cache = StopCache::default();
        let [one, other, strings] = [request("a", "b+c"), request("a", "b+"), request("a b", "")];
        let first = cache.patterns(&one).unwrap();
        for request in [&other, &strings] {
            assert!(!Arc::ptr_eq(&first, &cache.patterns(request).unwrap()));
        }
        assert!(Arc::ptr_eq(&first, &cache.patterns(&one).unwrap()));
        assert!(cache.patterns(&request("", "")).unwrap().is_empty());
        assert_eq!(cache.known.lock().unwrap().len(), 3);
    }

    #[test]
    fn old_ones_are_forgotten() {
        let cache = StopCache::default();
        for n in 0..2 * MAX_AUTOMATA {
            cache.patterns(&request(&format!("stop{n}"), "")).unwrap();
        }
        assert_eq!(cache.known.lock().unwrap().len(), MAX_AUTOMATA);
        let last = request(&format!("stop{}", 2 * MAX_AUTOMATA - 1), "");
        assert!(cache.known(&last.stop, &last.stop_regex).is_some());
    }

    #[test]
    fn large_ones_are_forgotten() {
        let cache = StopCache::default();
        let sizes = (0..40).map(|n| {
            let patterns = cache.patterns(&request("", &format!("\\w{{20}}{n}"))).unwrap();
            patterns.memory_bytes()
        });
        assert!(sizes.sum::<usize>() > MAX_BYTES);
        let known = cache.known.lock().unwrap();
        assert!(
            known.iter().map(|entry| entry.patterns.memory_bytes()).sum::<usize>() <= MAX_BYTES
        );
        assert!(!known.is_empty());
    }
}
