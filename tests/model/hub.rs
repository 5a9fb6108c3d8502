//! Models of the hub by name: found in the cache; downloaded from a hub on loopback that breaks off,
//! refuses and lies.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use maskwright::model::{HubOptions, Model, ModelOptions, ModelSource, Repository};

/// The commit of the models in these caches.
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// An empty folder of this name.
fn empty(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A cache with `test/tiny` in it, as the `huggingface_hub` library leaves it, but for the links.
fn filled(name: &str) -> PathBuf {
    let cache = empty(name);
    let model = cache.join("models--test--tiny");
    let snapshot = model.join("snapshots").join(COMMIT);
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(model.join("refs")).unwrap();
    std::fs::write(model.join("refs/main"), COMMIT).unwrap();
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model/tiny");
    for file in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(tiny.join(file), snapshot.join(file)).unwrap();
    }
    cache
}

fn located(name: &str, options: &HubOptions) -> maskwright::Result<PathBuf> {
    name.parse::<Repository>().unwrap().locate(options, &mut |_| {})
}

#[test]
fn a_cached_model_needs_no_network() {
    let cache = filled("hub-cached");
    let options = HubOptions::new(&cache).offline(true);
    let snapshot = cache.join("models--test--tiny/snapshots").join(COMMIT);
    assert_eq!(located("test/tiny", &options).unwrap(), snapshot);
    assert_eq!(located(&format!("test/tiny@{COMMIT}"), &options).unwrap(), snapshot);
    let source = ModelSource::Folder(snapshot.clone());
    let model = Model::load(&ModelOptions { source, ..Default::default() }).unwrap();
    assert_eq!(model.name(), "test/tiny");

    std::fs::remove_file(snapshot.join("model.safetensors")).unwrap();
    let error = located("test/tiny", &options).unwrap_err().to_string();
    for part in ["`model.safetensors` is not there", "hf download test/tiny", "into a folder"] {
        assert!(error.contains(part), "{error}");
    }
    let error = located("test/other", &options).unwrap_err().to_string();
    assert!(error.contains("`test/other` is not in the cache"), "{error}");
    let error = located("test/tiny@v2", &options).unwrap_err().to_string();
    assert!(error.contains("not in the cache"), "{error}");
}

#[test]
fn a_cached_tokenizer_needs_no_weights() {
    let cache = filled("hub-cached-tokenizer");
    let options = HubOptions::new(&cache).offline(true);
    let snapshot = cache.join("models--test--tiny/snapshots").join(COMMIT);
    let tokenizer =
        |name: &str| name.parse::<Repository>().unwrap().locate_tokenizer(&options, &mut |_| {});
    for file in ["model.safetensors", "config.json"] {
        assert_eq!(tokenizer("test/tiny").unwrap(), snapshot.join("tokenizer.json"));
        std::fs::remove_file(snapshot.join(file)).unwrap();
    }
    assert_eq!(tokenizer("test/tiny").unwrap(), snapshot.join("tokenizer.json"));
    std::fs::remove_file(snapshot.join("tokenizer.json")).unwrap();
    let error = tokenizer("test/tiny").unwrap_err().to_string();
    for part in ["`tokenizer.json` is not there", "put tokenizer.json and tokenizer_config.json"] {
        assert!(error.contains(part), "{error}");
    }
    let error = tokenizer("test/tiny:a.gguf").unwrap_err().to_string();
    assert!(
        error.contains("`test/tiny:a.gguf` has the tokenizer and the weights in one file"),
        "{error}"
    );
}

#[cfg(feature = "hub")]
mod online {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::mock_hub::{COMMIT, MockHub};

    /// The hub with an empty cache; what fails is tried three times at once.
    fn options(hub: &MockHub, name: &str) -> HubOptions {
        let options = HubOptions::new(empty(name)).endpoint(&hub.address).unwrap();
        options.attempts(3, Duration::ZERO).timeout(Duration::from_secs(20))
    }

    fn resolve(file: &str) -> String {
        format!("/test/tiny/resolve/{COMMIT}/{file}")
    }

    #[test]
    fn what_a_model_needs_is_downloaded_once() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-download");
        let seen = Mutex::new(Vec::new());
        let repository: Repository = "test/tiny".parse().unwrap();
        let path = repository
            .locate(&options, &mut |progress| {
                assert!(progress.received <= progress.total);
                seen.lock().unwrap().push((progress.file.to_owned(), progress.received));
            })
            .unwrap();
        let cache = options.cache().join("models--test--tiny");
        assert_eq!(path, cache.join("snapshots").join(COMMIT));
        assert_eq!(std::fs::read_to_string(cache.join("refs/main")).unwrap(), COMMIT);
        let mut names: Vec<_> = std::fs::read_dir(&path).unwrap().flatten().collect();
        names.sort_by_key(std::fs::DirEntry::file_name);
        let needed =
            ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];
        assert_eq!(names.iter().map(|entry| entry.file_name()).collect::<Vec<_>>(), needed);
        let weights = std::fs::metadata(path.join("model.safetensors")).unwrap().len();
        assert_eq!(seen.lock().unwrap().last(), Some(&("model.safetensors".to_owned(), weights)));
        #[cfg(unix)]
        for entry in &names {
            let link = std::fs::read_link(entry.path()).unwrap();
            assert!(link.starts_with("../../blobs"), "{link:?}");
        }
        let downloaded = hub.asked("GET");
        assert!(!downloaded.iter().any(|path| path.ends_with(".bin") || path.ends_with(".md")));

        // The branch is looked up, and nothing else.
        assert_eq!(located("test/tiny", &options).unwrap(), path);
        assert_eq!(hub.asked("GET"), ["/api/models/test/tiny/revision/main"]);
        // A commit is not even looked up, and nor is anything offline.
        assert_eq!(located(&format!("test/tiny@{COMMIT}"), &options).unwrap(), path);
        assert_eq!(located("test/tiny", &options.clone().offline(true)).unwrap(), path);
        assert!(hub.asked("GET").is_empty());
        // A hub that is not there, or busy, is done without.
        let nowhere = options.clone().endpoint("http://127.0.0.1:9").unwrap();
        assert_eq!(located("test/tiny", &nowhere).unwrap(), path);
        hub.change(|state| state.busy = 100);
        assert_eq!(located("test/tiny", &options).unwrap(), path);
    }

    #[test]
    fn a_tokenizer_alone_is_downloaded_without_weights() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-tokenizer");
        let repository: Repository = "test/tiny".parse().unwrap();
        let locate = || repository.locate_tokenizer(&options, &mut |_| {});
        let path = locate().unwrap();
        let snapshot = options.cache().join("models--test--tiny/snapshots").join(COMMIT);
        assert_eq!(path, snapshot.join("tokenizer.json"));
        let vocabulary = maskwright::Vocabulary::from_file(&path).unwrap();
        let tiny = Model::load(&ModelOptions::default()).unwrap();
        assert_eq!(vocabulary.end_tokens(), tiny.vocabulary().end_tokens());
        let asked = hub.asked("GET");
        assert!(asked.contains(&resolve("config.json")), "{asked:?}");
        assert!(!asked.iter().any(|path| path.ends_with(".safetensors")), "{asked:?}");
        // Again: the branch is looked up, and nothing else.
        assert_eq!(locate().unwrap(), path);
        assert_eq!(hub.asked("GET"), ["/api/models/test/tiny/revision/main"]);
        // A tokenizer is no model, whose weights are missing.
        assert!(located("test/tiny", &options.clone().offline(true)).is_err());
        assert_eq!(located("test/tiny", &options).unwrap(), snapshot);
        assert!(hub.asked("GET").contains(&resolve("model.safetensors")));
        hub.change(|state| {
            let files = state.repositories.get_mut("test/tiny").unwrap();
            files.remove("tokenizer.json");
            files.insert("tokenizer.model".to_owned(), vec![1]);
        });
        std::fs::remove_dir_all(options.cache()).unwrap();
        let error = locate().unwrap_err().to_string();
        assert!(error.contains("is not there, but `tokenizer.model`"), "{error}");
    }

    #[test]
    fn a_branch_is_quoted_and_remembered() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-branch");
        let path = located("test/tiny@refs/pr/1", &options).unwrap();
        assert!(hub.asked("GET").contains(&"/api/models/test/tiny/revision/refs%2Fpr%2F1".into()));
        let offline = options.offline(true);
        assert_eq!(located("test/tiny@refs/pr/1", &offline).unwrap(), path);
        assert!(located("test/tiny", &offline).is_err());
    }

    #[test]
    fn what_breaks_off_goes_on_where_it_was() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-resume");
        let cut = |bytes| ("model.safetensors".to_owned(), bytes);
        hub.change(|state| state.cuts = vec![cut(1000), cut(500), cut(0), cut(70_000)]);
        let path = located("test/tiny", &options).unwrap();
        let original =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model/tiny/model.safetensors");
        let same = std::fs::read(path.join("model.safetensors")).unwrap()
            == std::fs::read(original).unwrap();
        assert!(same, "the parts do not make the file");
        let asked = hub.change(|state| std::mem::take(&mut state.asked));
        let ranges: Vec<_> = asked
            .iter()
            .filter(|asked| asked.is_elsewhere && asked.method == "GET")
            .map(|asked| asked.headers.get("range").map(String::as_str))
            .collect();
        let from = [
            None,
            Some("bytes=1000-"),
            Some("bytes=1500-"),
            Some("bytes=1500-"),
            Some("bytes=71500-"),
        ];
        assert_eq!(ranges, from);
    }

    #[test]
    fn another_run_goes_on_with_what_one_left() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-two-runs");
        let cut = |bytes| ("model.safetensors".to_owned(), bytes);
        hub.change(|state| state.cuts = vec![cut(3000), cut(0), cut(0), cut(0)]);
        let error = located("test/tiny", &options).unwrap_err().to_string();
        assert!(error.contains("broke off after 3000 of"), "{error}");
        assert!(error.contains("start again: it goes on from there"), "{error}");
        // Half a model is none.
        assert!(located("test/tiny", &options.clone().offline(true)).is_err());
        hub.change(|state| (state.cuts.clear(), state.asked.clear()));
        located("test/tiny", &options).unwrap();
        let asked = hub.change(|state| std::mem::take(&mut state.asked));
        let last = asked.last().unwrap();
        assert_eq!(last.headers.get("range").map(String::as_str), Some("bytes=3000-"));
    }

    #[test]
    fn a_hub_without_ranges_begins_anew() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-no-ranges");
        let cut = ("model.safetensors".to_owned(), 1000);
        hub.change(|state| (state.ignores_ranges, state.cuts) = (true, vec![cut]));
        let path = located("test/tiny", &options).unwrap();
        let source = ModelSource::Folder(path);
        Model::load(&ModelOptions { source, ..Default::default() }).unwrap();
    }

    #[test]
    fn what_is_not_what_the_hub_named_is_refused() {
        for (file, said) in [("model.safetensors", "hash"), ("config.json", "hash")] {
            let hub = MockHub::with_tiny();
            let options = options(&hub, "hub-wrong");
            hub.change(|state| {
                let mut wrong = state.repositories["test/tiny"][file].clone();
                wrong[40] ^= 1;
                state.replaced.insert(file.to_owned(), wrong);
            });
            let error = located("test/tiny", &options).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains(said), "{error}");
            assert!(located("test/tiny", &options.clone().offline(true)).is_err());
            // What is wrong is not gone on with.
            hub.change(|state| state.replaced.clear());
            located("test/tiny", &options).unwrap();
        }
        for (change, said) in [(true, "more than the"), (false, "broke off after")] {
            let hub = MockHub::with_tiny();
            let options = options(&hub, "hub-length");
            hub.change(|state| {
                let mut wrong = state.repositories["test/tiny"]["model.safetensors"].clone();
                wrong.resize(if change { wrong.len() + 1 } else { wrong.len() - 1 }, 0);
                state.replaced.insert("model.safetensors".to_owned(), wrong);
            });
            let error = located("test/tiny", &options).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-refused");
        let refused = |refusal, name: &str, options: &HubOptions| {
            hub.change(|state| state.refusal = refusal);
            located(name, options).unwrap_err().to_string()
        };
        let with_token = options.clone().token("t");
        for (refusal, options, parts) in [
            (
                Some((401, "GatedRepo")),
                &options,
                ["without a token", "accept the model's terms at"],
            ),
            (Some((403, "GatedRepo")), &with_token, ["to this token", "HF_TOKEN"]),
            (Some((403, "")), &with_token, ["to this token", "HF_TOKEN"]),
            (Some((418, "")), &options, ["418", "HF_ENDPOINT"]),
        ] {
            let error = refused(refusal, "test/tiny", options);
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let error = refused(None, "test/none", &options);
        assert!(error.contains("there is no folder `test/none`"), "{error}");
        let error = refused(None, "test/tiny@v9", &options);
        assert!(error.contains("`test/tiny` has no revision `v9`"), "{error}");
        let error = refused(None, "test/tiny:x.gguf", &options);
        assert!(error.contains("`x.gguf` is not there"), "{error}");
        let nowhere = options.endpoint("http://127.0.0.1:9").unwrap();
        let error = refused(None, "test/tiny", &nowhere);
        for part in ["cannot be reached", "hf download test/tiny", "put config.json"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_token_goes_to_the_hub_alone() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-token");
        hub.change(|state| state.token = Some("secret".to_owned()));
        assert!(located("test/tiny", &options).is_err());
        located("test/tiny", &options.token("secret")).unwrap();
        let asked = hub.change(|state| std::mem::take(&mut state.asked));
        let elsewhere: Vec<_> = asked.iter().filter(|asked| asked.is_elsewhere).collect();
        assert!(!elsewhere.is_empty());
        assert!(elsewhere.iter().all(|asked| !asked.headers.contains_key("authorization")));
    }

    #[test]
    fn a_busy_hub_is_asked_again() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-busy");
        hub.change(|state| state.busy = 2);
        located("test/tiny", &options).unwrap();
    }

    #[test]
    fn several_at_once_download_a_file_once() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-at-once");
        std::thread::scope(|scope| {
            let all: Vec<_> =
                (0..32).map(|_| scope.spawn(|| located("test/tiny", &options))).collect();
            let paths: Vec<_> = all.into_iter().map(|run| run.join().unwrap().unwrap()).collect();
            assert!(paths.windows(2).all(|pair| pair[0] == pair[1]));
        });
        let asked = hub.asked("GET");
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            let times = asked.iter().filter(|path| **path == resolve(file)).count();
            assert_eq!(times, 1, "{file}");
        }
    }

    #[test]
    fn shards_and_parts_are_all_fetched() {
        let hub = MockHub::with_tiny();
        let options = options(&hub, "hub-shards");
        hub.change(|state| {
            let files = state.repositories.get_mut("test/tiny").unwrap();
            files.remove("model.safetensors");
            let index = r#"{"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}"#;
            files.insert("model.safetensors.index.json".to_owned(), index.into());
            files.insert("m-1.safetensors".to_owned(), vec![1; 10]);
            files.insert("m-2.safetensors".to_owned(), vec![2; 10]);
            files.insert("m-3.safetensors".to_owned(), vec![3; 10]);
            for (part, byte) in [("q-00001-of-00002.gguf", 1), ("q-00002-of-00002.gguf", 2)] {
                files.insert(part.to_owned(), vec![byte; 100]);
            }
        });
        let path = located("test/tiny", &options).unwrap();
        assert!(path.join("m-1.safetensors").exists() && path.join("m-2.safetensors").exists());
        assert!(!path.join("m-3.safetensors").exists());
        let gguf = located("test/tiny:q-00001-of-00002.gguf", &options).unwrap();
        assert_eq!(gguf, path.join("q-00001-of-00002.gguf"));
        assert_eq!(std::fs::read(path.join("q-00002-of-00002.gguf")).unwrap(), [2; 100]);
        // A shard that the repository lacks.
        hub.change(|state| {
            let files = state.repositories.get_mut("test/tiny").unwrap();
            let index = r#"{"weight_map": {"a": "absent.safetensors"}}"#;
            files.insert("model.safetensors.index.json".to_owned(), index.into());
        });
        let other = options.clone();
        std::fs::remove_dir_all(other.cache()).unwrap();
        let error = located("test/tiny", &other).unwrap_err().to_string();
        assert!(error.contains("absent.safetensors"), "{error}");
    }
}
