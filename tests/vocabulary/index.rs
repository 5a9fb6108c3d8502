//! The index of a vocabulary: loading by it gives what loading without it gives, whatever has
//! become of its files.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use std::fs;
use std::path::{Path, PathBuf};

use maskwright::{Compiler, Limits, Vocabulary};

/// A folder of the test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("maskwright-index-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn index(&self) -> PathBuf {
        self.0.join("index")
    }

    /// The files of the index, by name.
    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(self.index()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A tokenizer.json of byte-level BPE with every byte but the last `less`, and a few words.
fn write_vocabulary(folder: &Folder, less: u32) -> PathBuf {
    // GPT-2's alphabet: printable bytes stand for themselves, the others come from 256 on.
    let printable = |byte: u32| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut others = 256..;
    let alphabet =
        (0..256u32).map(|byte| if printable(byte) { byte } else { others.next().unwrap() });
    let mut tokens: Vec<String> =
        alphabet.map(|c| char::from_u32(c).unwrap().to_string()).collect();
    tokens.truncate(256 - less as usize);
    let words =
        ["ab", "abc", "\\\"", "\\\":", "Ġ\\\"", ",Ġ", "12", "Ċ", "ĠĠ", "ĊĠ", "true", "x\\\","];
    tokens.extend(words.map(str::to_owned));
    let listed: Vec<String> = tokens
        .iter()
        .enumerate()
        .map(|(id, token)| match token.as_str() {
            "\"" | "\\" => format!("\"\\{token}\": {id}"),
            token => format!("\"{token}\": {id}"),
        })
        .collect();
    let end = listed.len();
    let path = folder.0.join(format!("tokenizer-{less}.json"));
    let text = format!(
        r#"{{"added_tokens": [{{"id": {end}, "content": "<|endoftext|>", "special": true}},
             {{"id": {}, "content": "<tool>", "special": false}}],
            "decoder": {{"type": "ByteLevel"}},
            "model": {{"type": "BPE", "vocab": {{{}}}, "merges": []}}}}"#,
        end + 1,
        listed.join(", ")
    );
    fs::write(&path, text).unwrap();
    path
}

/// All that can be asked of a vocabulary.
fn told(vocabulary: &Vocabulary) -> impl PartialEq + std::fmt::Debug + use<> {
    let ids = 0..vocabulary.len() as u32 + 2;
    let bytes: Vec<_> =
        ids.clone().map(|id| vocabulary.token_bytes(id).map(<[u8]>::to_vec)).collect();
    let names: Vec<_> = ids.map(|id| vocabulary.token_name(id).into_owned()).collect();
    let special = ["<|endoftext|>", "<tool>", "nothing"].map(|name| vocabulary.token_named(name));
    let flags = (vocabulary.end_tokens().to_vec(), vocabulary.strips_leading_space());
    (bytes, names, special, flags, vocabulary.trie().clone())
}

/// Masks along a text of each kind of place that is prepared for.
fn masks(compiler: &Compiler) -> Vec<Vec<u32>> {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "string", "maxLength": 9},
        "b": {"type": "array", "uniqueItems": true, "items": {"type": ["integer", "string"]}}}}"#;
    let mut matcher = compiler.json_schema_str(schema).unwrap().matcher();
    let mut masks = vec![matcher.mask().unwrap().words().to_vec()];
    for byte in br#"{"a": "xy", "b": [12, "x", 3]}"# {
        matcher.accept_bytes(&[*byte]).unwrap();
        masks.push(matcher.mask().unwrap().words().to_vec());
    }
    masks
}

fn check(path: &Path, folder: &Folder) -> Compiler {
    let plain = Vocabulary::from_file(path).unwrap();
    let indexed = Vocabulary::from_file_indexed(path, folder.index()).unwrap();
    assert_eq!(told(&indexed), told(&plain));
    Compiler::new(indexed)
}

#[test]
fn what_it_says_is_what_loading_says() {
    let folder = Folder::new("same");
    let path = write_vocabulary(&folder, 0);
    let plain = masks(&Compiler::new(Vocabulary::from_file(&path).unwrap()));
    for _ in 0..3 {
        let compiler = check(&path, &folder);
        assert!(compiler.vocabulary().index_error().is_none());
        assert_eq!(masks(&compiler), plain);
        let limits = Limits { split_nodes: 16, ..Limits::default() };
        assert_eq!(masks(&compiler.with_limits(limits)), plain);
    }
    assert_eq!(folder.files().len(), 2);
}

/// Other end tokens and other widths of masks have what is prepared for them.
#[test]
fn a_changed_vocabulary_has_an_index_of_its_own() {
    let folder = Folder::new("changed");
    let path = write_vocabulary(&folder, 0);
    let changes: [fn(Vocabulary) -> Vocabulary; 4] = [
        |v| v,
        |v| v.with_end_tokens(&[97]).unwrap(),
        |v| v.with_end_tokens(&[]).unwrap(),
        |v| v.with_logits_width(1000).unwrap(),
    ];
    for _ in 0..2 {
        for change in changes {
            let plain = change(Vocabulary::from_file(&path).unwrap());
            let indexed = change(Vocabulary::from_file_indexed(&path, folder.index()).unwrap());
            assert_eq!(masks(&Compiler::new(indexed)), masks(&Compiler::new(plain)));
        }
    }
    assert_eq!(folder.files().len(), 1 + changes.len());
}

/// A byte changed anywhere, an end cut off anywhere: the index is made again as it was.
#[test]
fn damage_is_found_and_mended() {
    let folder = Folder::new("damaged");
    let path = write_vocabulary(&folder, 0);
    let plain = masks(&check(&path, &folder));
    for file in folder.files() {
        let whole = fs::read(&file).unwrap();
        // Some of the places, never the same ones in two files: there are tens of thousands.
        let stride = (whole.len() / 80).max(1);
        for at in
            (0..36).chain((0..whole.len()).step_by(stride)).chain(whole.len() - 18..whole.len())
        {
            for damage in [0, 1] {
                let mut bytes = whole.clone();
                match damage {
                    0 => bytes[at] ^= 1 << (at % 8),
                    _ => bytes.truncate(at),
                }
                fs::write(&file, bytes).unwrap();
                let compiler = check(&path, &folder);
                if at % 50 == 0 {
                    assert_eq!(masks(&compiler), plain);
                }
                assert_eq!(fs::read(&file).unwrap(), whole, "mended, byte {at}");
            }
        }
        for bytes in [[&whole[..], b"\0"].concat(), vec![], b"mask".to_vec(), vec![0; 4096]] {
            fs::write(&file, bytes).unwrap();
            check(&path, &folder);
            assert_eq!(fs::read(&file).unwrap(), whole);
        }
    }
}

/// Files that another vocabulary, or another version, has left under the name of this one's file.
#[test]
fn a_foreign_index_is_not_believed() {
    let folder = Folder::new("foreign");
    let (one, other) = (write_vocabulary(&folder, 0), write_vocabulary(&folder, 1));
    check(&one, &folder);
    let first = folder.files();
    check(&other, &folder);
    let second: Vec<_> = folder.files().into_iter().filter(|f| !first.contains(f)).collect();
    assert_eq!((first.len(), second.len()), (2, 2));
    let whole: Vec<_> = first.iter().map(|file| fs::read(file).unwrap()).collect();
    for (mine, foreign) in first.iter().zip(&second) {
        fs::copy(foreign, mine).unwrap();
    }
    check(&one, &folder);
    let mended: Vec<_> = first.iter().map(|file| fs::read(file).unwrap()).collect();
    assert_eq!(mended, whole);
    // Its key is all that tells a version from another.
    for (file, whole) in first.iter().zip(&whole) {
        let mut bytes = whole.clone();
        bytes[8] ^= 1;
        seal(&mut bytes);
        fs::write(file, bytes).unwrap();
    }
    check(&one, &folder);
    let mended: Vec<_> = first.iter().map(|file| fs::read(file).unwrap()).collect();
    assert_eq!(mended, whole);
}

/// Makes the checksum right.
fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 16;
    let checksum = twox_hash::XxHash3_128::oneshot(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
}

/// Even nonsense under the right checksum does not end the program: it is refused, or read as what
/// it says.
#[test]
fn nonsense_with_a_right_checksum_is_no_danger() {
    let folder = Folder::new("nonsense");
    let path = write_vocabulary(&folder, 0);
    check(&path, &folder);
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for file in folder.files() {
        let whole = fs::read(&file).unwrap();
        for _ in 0..150 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random % 4 {
                // xorshift64 (Marsaglia, 2003)
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let at = 32 + random as usize % (whole.len() - 48);
                bytes[at] = (random >> 32) as u8;
            }
            seal(&mut bytes);
            fs::write(&file, bytes).unwrap();
            let vocabulary = Vocabulary::from_file_indexed(&path, folder.index()).unwrap();
            assert!(vocabulary.trie().ids().iter().all(|&id| (id as usize) < vocabulary.len()));
            Compiler::new(vocabulary);
        }
        fs::write(&file, whole).unwrap();
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_is_a_warning() {
    let folder = Folder::new("unwritable");
    let path = write_vocabulary(&folder, 0);
    // No folder can be made below a file.
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    let vocabulary = Vocabulary::from_file_indexed(&path, file.join("index")).unwrap();
    let error = vocabulary.index_error().unwrap().to_string();
    assert!(error.contains("the index cannot be written"), "{error}");
    assert_eq!(told(&vocabulary), told(&Vocabulary::from_file(&path).unwrap()));
    masks(&Compiler::new(vocabulary));
    // Nor can a file take the place of a folder; nothing is left lying about.
    check(&path, &folder);
    for file in folder.files() {
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
    }
    let vocabulary = Vocabulary::from_file_indexed(&path, folder.index()).unwrap();
    assert!(vocabulary.index_error().is_some());
    masks(&Compiler::new(vocabulary));
    assert!(folder.files().iter().all(|file| file.is_dir()));
}

#[test]
fn many_may_write_at_once() {
    let folder = Folder::new("many");
    let path = write_vocabulary(&folder, 0);
    for _ in 0..4 {
        let _ = fs::remove_dir_all(folder.index());
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let compiler = check(&path, &folder);
                    assert!(compiler.vocabulary().index_error().is_none());
                });
            }
        });
        let files = folder.files();
        assert_eq!(files.len(), 2, "no temporary file is left: {files:?}");
        let first = files.iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>();
        let _ = fs::remove_dir_all(folder.index());
        check(&path, &folder);
        assert!(files.iter().zip(first).all(|(file, bytes)| fs::read(file).unwrap() == bytes));
    }
}

/// Files beside a tokenizer.json are a part of the vocabulary.
#[test]
fn a_changed_file_beside_the_tokenizer_counts() {
    let folder = Folder::new("beside");
    let path = write_vocabulary(&folder, 0);
    let beside = folder.0.join("generation_config.json");
    for end in [269, 268, 269] {
        fs::write(&beside, format!(r#"{{"eos_token_id": {end}}}"#)).unwrap();
        let compiler = check(&path, &folder);
        assert_eq!(compiler.vocabulary().end_tokens(), [end]);
    }
    fs::write(&beside, "{").unwrap();
    assert!(Vocabulary::from_file_indexed(&path, folder.index()).is_err());
}

/// Files of every kind, where there are real ones.
#[test]
fn real_vocabularies_are_as_they_are_loaded() {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from) else {
        eprintln!("skipped: MASKWRIGHT_SHARED names no folder with real tokenizers");
        return;
    };
    let folder = Folder::new("real");
    let names =
        ["tokenizers/tiktoken/cl100k_base.tiktoken", "tokenizers/phi-3-mini", "tokenizers/smollm2"];
    let gguf = fs::read_dir(shared.join("gguf")).unwrap().map(|entry| entry.unwrap().path());
    let gguf = gguf.filter(|path| path.extension().is_some_and(|e| e == "gguf"));
    let loads = |path: &PathBuf| Vocabulary::from_file(path).is_ok();
    let gguf = gguf.filter(loads).take(1);
    for path in names.map(|name| shared.join(name)).into_iter().chain(gguf) {
        let plain = told(&Vocabulary::from_file(&path).unwrap());
        for _ in 0..2 {
            let indexed = Vocabulary::from_file_indexed(&path, folder.index()).unwrap();
            assert_eq!(told(&indexed), plain, "{}", path.display());
        }
    }
    assert_eq!(folder.files().len(), 4);
}

/// Links, pipes and huge files in the place of an index, or where it is first written.
#[cfg(unix)]
#[test]
fn what_lies_in_the_folder_is_neither_followed_nor_waited_for() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new("planted");
    let path = write_vocabulary(&folder, 0);
    check(&path, &folder);
    let files = folder.files();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.index()), 0o700);
    assert!(files.iter().all(|file| mode(file) == 0o600));
    let whole: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let mended = || files.iter().zip(&whole).all(|(file, bytes)| fs::read(file).unwrap() == *bytes);

    let precious = folder.0.join("precious");
    fs::write(&precious, "precious").unwrap();
    for file in &files {
        fs::remove_file(file).unwrap();
        symlink(&precious, file).unwrap();
        for number in 0..100 {
            let guess = file.with_extension(format!("{}-{number}.part", std::process::id()));
            let _ = symlink(&precious, guess);
        }
    }
    check(&path, &folder);
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    assert!(mended() && files.iter().all(|file| fs::symlink_metadata(file).unwrap().is_file()));

    for file in &files {
        fs::remove_file(file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(file).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo makes a pipe");
    }
    check(&path, &folder);
    assert!(mended());

    for file in &files {
        fs::File::options().write(true).open(file).unwrap().set_len(1 << 40).unwrap();
    }
    check(&path, &folder);
    assert!(mended());
}
