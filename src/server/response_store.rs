//! Responses by id, in memory: the oldest give way when there are too many, or too many bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use super::json_text::json_text;

/// Greatest number of responses that are kept.
const MAX_RESPONSES: usize = 4096;

/// Greatest number of bytes of all of them, written as JSON.
const MAX_BYTES: usize = 64 << 20;

/// A response, with the conversation that it ends: all as JSON text, so that it takes the bytes that are counted.
/// Answers share that text, however many clients ask for it at a time.
pub(super) struct StoredResponse {
    /// As it was answered.
    pub(super) object: Bytes,
    /// The items of its own request.
    pub(super) input: Vec<StoredItem>,
    /// All items up to it: those of earlier responses, its input, its output.
    pub(super) conversation: Vec<StoredItem>,
}

impl StoredResponse {
    fn bytes(&self) -> usize {
        let items = self.input.iter().chain(&self.conversation);
        let items = items.map(|item| item.json.len() + size_of::<StoredItem>());
        self.object.len() + items.sum::<usize>()
    }
}

/// An item of a conversation.
#[derive(Clone)]
pub(super) struct StoredItem {
    /// Its id, if it has one.
    pub(super) id: Option<String>,
    pub(super) json: Bytes,
}

impl StoredItem {
    /// An item that is given as values.
    pub(super) fn new(item: &Value) -> Self {
        Self { id: item["id"].as_str().map(str::to_owned), json: stored(json_text(item)) }
    }

    fn value(&self) -> Value {
        // It was written by this server.
        serde_json::from_slice(&self.json).unwrap_or_default()
    }
}

/// JSON text that answers share.
pub(super) fn stored(json: Box<RawValue>) -> Bytes {
    String::from(Box::<str>::from(json)).into()
}

/// The responses that later requests may refer to.
#[derive(Default)]
pub(super) struct ResponseStore(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_id: HashMap<String, (StoredResponse, usize)>,
    /// The responses that have an item, by the item's id: each with the item's index in its conversation, the newest
    /// last.
    owners: HashMap<String, Vec<(Arc<str>, usize)>>,
    /// Ids by age, oldest first.
    ages: VecDeque<String>,
    bytes: usize,
}

impl ResponseStore {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a response, unless it is too large alone.
    pub(super) fn insert(&self, id: &str, response: StoredResponse) {
        let size = response.bytes();
        if size > MAX_BYTES {
            return;
        }
        let mut entries = self.entries();
        entries.bytes += size;
        let owner: Arc<str> = id.into();
        for (index, item) in response.conversation.iter().enumerate() {
            if let Some(item) = &item.id {
                let owners = entries.owners.entry(item.clone()).or_default();
                owners.push((Arc::clone(&owner), index));
            }
        }
        entries.by_id.insert(id.to_owned(), (response, size));
        entries.ages.push_back(id.to_owned());
        while entries.bytes > MAX_BYTES || entries.ages.len() > MAX_RESPONSES {
            let Some(oldest) = entries.ages.pop_front() else { break };
            entries.remove(&oldest);
        }
    }

    /// The response as it was answered.
    pub(super) fn object(&self, id: &str) -> Option<Bytes> {
        self.entries().by_id.get(id).map(|(response, _)| response.object.clone())
    }

    /// The items of its own request.
    pub(super) fn input(&self, id: &str) -> Option<Vec<StoredItem>> {
        self.entries().by_id.get(id).map(|(response, _)| response.input.clone())
    }

    /// All items up to the end of the response. Parses them, which takes a while for many.
    pub(super) fn conversation(&self, id: &str) -> Option<Vec<Value>> {
        let items =
            self.entries().by_id.get(id).map(|(response, _)| response.conversation.clone())?;
        Some(items.iter().map(StoredItem::value).collect())
    }

    /// An item of any response by its id, which is parsed. Ids of items are made by this server, and
    /// nobody can guess one.
    pub(super) fn item(&self, id: &str) -> Option<Value> {
        self.stored_item(id).as_ref().map(StoredItem::value)
    }

    /// Whether an item is one that a response has, as it was stored.
    pub(super) fn has(&self, item: &Value) -> bool {
        let Some(stored) = item["id"].as_str().and_then(|id| self.stored_item(id)) else {
            return false;
        };
        // Equal values are texts of one length, whatever the order of their members. A stored item may be much larger
        // than what a client writes.
        stored.json.len() == json_text(item).get().len() && stored.value() == *item
    }

    fn stored_item(&self, id: &str) -> Option<StoredItem> {
        let entries = self.entries();
        let (owner, index) = entries.owners.get(id)?.last()?;
        entries.by_id.get(&**owner)?.0.conversation.get(*index).cloned()
    }

    /// Forgets a response. Returns whether it was there.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut entries = self.entries();
        entries.ages.retain(|known| known != id);
        entries.remove(id)
    }
}

impl Entries {
    fn remove(&mut self, id: &str) -> bool {
        let removed = self.by_id.remove(id);
        self.bytes -= removed.as_ref().map_or(0, |(_, size)| *size);
        let items = removed.iter().flat_map(|(response, _)| &response.conversation);
        for item in items.filter_map(|item| item.id.as_deref()) {
            if let Some(owners) = self.owners.get_mut(item) {
                owners.retain(|(owner, _)| **owner != *id);
                if owners.is_empty() {
                    self.owners.remove(item);
                }
            }
        }
        removed.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(text: &str) -> StoredResponse {
        let item = json!({ "id": text });
        StoredResponse {
            object: stored(json_text(&json!({ "text": text }))),
            input: vec![StoredItem::new(&item)],
            conversation: vec![StoredItem::new(&item)],
        }
    }

    #[test]
    fn the_oldest_give_way() {
        let store = ResponseStore::default();
        for i in 0..=MAX_RESPONSES {
            store.insert(&i.to_string(), response(&i.to_string()));
        }
        assert!(store.object("0").is_none() && store.object("1").is_some());
        assert_eq!(store.item("7").unwrap(), json!({ "id": "7" }));
        let large = "x".repeat(MAX_BYTES / 4);
        store.insert("large", response(&large));
        assert!(store.object("large").is_some() && store.object("1").is_none());
        store.insert("too large", response(&"x".repeat(MAX_BYTES)));
        assert!(store.object("too large").is_none());
        // An item goes with the last of the responses that have it.
        for id in ["first", "second"] {
            store.insert(id, response("shared"));
        }
        assert!(store.has(&json!({ "id": "shared" })) && !store.has(&json!({ "id": "sharee" })));
        assert!(!store.has(&json!({ "id": "shared", "more": 1 })));
        assert!(store.remove("second") && store.has(&json!({ "id": "shared" })));
        assert!(store.remove("first") && !store.has(&json!({ "id": "shared" })));
        assert!(store.remove("large") && !store.remove("large"));
        assert!(store.entries().bytes < MAX_BYTES);
    }
}
