//! The files of a repository that a model needs, or its tokenizer alone.
//!
//! A repository holds more than that: weights of other libraries, quantised copies, pictures. Of a
//! folder's files the readers of `model` want those of [`DOCUMENTS`], and the safetensors files.

use std::path::{Path, PathBuf};

use super::repository::{is_gguf, is_relative_path};

/// The files of a model folder beside its weights; the first two must be there.
const DOCUMENTS: [&str; 10] = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "additional_chat_templates/tool_use.jinja",
    "added_tokens.json",
    "adapter_config.json",
];

/// The number of [`DOCUMENTS`] that must be there.
const REQUIRED: usize = 2;

/// The files of a tokenizer, the first of which must be there; the others name its end tokens.
const OF_TOKENIZER: [&str; 6] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "config.json",
    "added_tokens.json",
];

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Folders inside of each other in which files are looked for; those of quantised copies are one deep.
const MAX_FOLDERS: usize = 3;

/// Most GGUF files that a message lists.
const MAX_LISTED: usize = 12;

/// The part of a repository that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// The model in it, of which the GGUF file may be named, or its quantisation.
    Model(Option<&'a str>),
    /// The tokenizer alone.
    Tokenizer,
}

/// The files that a model needs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// A folder with these files, the first of which is to be opened.
    Tokenizer(Vec<String>),
    /// A folder with these files.
    Folder(Vec<String>),
    /// A folder with these files and the shards that the last one, an index, names.
    Sharded(Vec<String>),
    /// A GGUF file, in parts where there are several; the first is to be opened.
    Gguf(Vec<String>),
}

/// Chooses among the files of a repository.
///
/// Errors with what is amiss.
#[cfg(feature = "hub")]
pub(super) fn choose(names: &[String], wanted: Wanted<'_>) -> Result<Selection, String> {
    select(&|name| names.iter().any(|found| found == name), names, wanted)
}

/// The folder or the file of a snapshot on disk, if all that is wanted of it is there.
///
/// Errors with what is missing.
pub(super) fn cached(snapshot: &Path, wanted: Wanted<'_>) -> Result<PathBuf, String> {
    // A link to nothing does not exist.
    let has = |name: &str| snapshot.join(name).exists();
    let names = files_below(snapshot, MAX_FOLDERS);
    let all_of = |files: &[String]| match files.iter().find(|name| !has(name)) {
        Some(missing) => Err(format!("`{missing}` is not there")),
        None => Ok(()),
    };
    match select(&has, &names, wanted)? {
        Selection::Tokenizer(_) => Ok(snapshot.join(OF_TOKENIZER[0])),
        Selection::Folder(_) => Ok(snapshot.to_owned()),
        Selection::Sharded(_) => {
            let index = std::fs::read(snapshot.join(INDEX)).map_err(|error| error.to_string())?;
            all_of(&shards(&index)?)?;
            Ok(snapshot.to_owned())
        }
        Selection::Gguf(parts) => {
            all_of(&parts)?;
            Ok(snapshot.join(parts.first().map_or("", String::as_str)))
        }
    }
}

/// The paths of files below a folder, as a repository has them, in so many folders inside of each other.
fn files_below(folder: &Path, depth: usize) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && depth > 0 {
            let inner = files_below(&entry.path(), depth - 1);
            files.extend(inner.iter().map(|file| format!("{name}/{file}")));
        } else {
            files.push(name);
        }
    }
    files
}

/// The shards that an index of safetensors files names, each once.
///
/// Errors with what is wrong with it.
pub(super) fn shards(index: &[u8]) -> Result<Vec<String>, String> {
    let json: serde_json::Value =
        serde_json::from_slice(index).map_err(|error| format!("`{INDEX}` is no JSON: {error}"))?;
    let files = json.get("weight_map").and_then(serde_json::Value::as_object);
    let names = files.into_iter().flatten().map(|(_, file)| file.as_str().map(str::to_owned));
    let mut names: Vec<String> = names.collect::<Option<_>>().unwrap_or_default();
    names.sort_unstable();
    names.dedup();
    if names.iter().all(|name| is_relative_path(name)) && !names.is_empty() {
        Ok(names)
    } else {
        Err(format!("`{INDEX}` is not an index of safetensors files"))
    }
}

fn select(
    has: &dyn Fn(&str) -> bool,
    names: &[String],
    wanted: Wanted<'_>,
) -> Result<Selection, String> {
    let wanted = match wanted {
        Wanted::Model(file) => file,
        Wanted::Tokenizer => return tokenizer(has, names),
    };
    let ggufs = || names.iter().filter(|name| is_first_part(name)).collect::<Vec<_>>();
    if let Some(file) = wanted {
        let file = if is_gguf(file) { file } else { quantised(&ggufs(), file)? };
        let parts = parts(file);
        return match parts.iter().find(|part| !has(part)) {
            None => Ok(Selection::Gguf(parts)),
            Some(missing) => Err(format!("`{missing}` is not there{}", listed(&ggufs()))),
        };
    }
    let documents: Vec<String> =
        DOCUMENTS.iter().filter(|name| has(name)).map(|name| (*name).to_owned()).collect();
    let with = |file: &str| documents.iter().cloned().chain([file.to_owned()]).collect();
    let missing = DOCUMENTS.iter().take(REQUIRED).find(|name| !has(name));
    match missing {
        None if has(SINGLE) => return Ok(Selection::Folder(with(SINGLE))),
        None if has(INDEX) => return Ok(Selection::Sharded(with(INDEX))),
        _ => {}
    }
    if let [only] = ggufs()[..] {
        return Ok(Selection::Gguf(parts(only)));
    }
    if has("adapter_config.json") && missing.is_some() {
        return Err("it is an adapter (LoRA), which works on another model's weights".to_owned());
    }
    let missing = missing.copied().unwrap_or(SINGLE);
    let instead = |ending: &str| names.iter().find(|name| name.ends_with(ending));
    let other = match missing {
        SINGLE => [".bin", ".pth", ".pt", ".safetensors"].into_iter().find_map(instead),
        "tokenizer.json" => instead("tokenizer.model"),
        _ => None,
    };
    let other = other.map_or(String::new(), |other| format!(", but `{other}`"));
    Err(format!("`{missing}` is not there{other}{}", listed(&ggufs())))
}

/// The files of a tokenizer.
fn tokenizer(has: &dyn Fn(&str) -> bool, names: &[String]) -> Result<Selection, String> {
    let [first, ..] = OF_TOKENIZER;
    if has(first) {
        let files = OF_TOKENIZER.iter().filter(|name| has(name));
        return Ok(Selection::Tokenizer(files.map(|name| (*name).to_owned()).collect()));
    }
    let others = ["tokenizer.model", ".tiktoken", "vocab.json"];
    let other = others.iter().find_map(|end| names.iter().find(|name| name.ends_with(end)));
    let has_gguf = names.iter().any(|name| is_gguf(name));
    let instead = match other {
        Some(other) => format!(", but `{other}`"),
        None if has_gguf => {
            "; its GGUF files have the tokenizer beside the weights: name the model that they were \
             made of, or give the path of one"
                .to_owned()
        }
        None => String::new(),
    };
    Err(format!("`{first}` is not there{instead}"))
}

/// The GGUF file of a quantisation: its name ends with that, or its folder has that name.
///
/// Errors unless there is exactly one.
fn quantised<'a>(ggufs: &[&'a String], quantisation: &str) -> Result<&'a str, String> {
    let wanted = quantisation.to_ascii_lowercase();
    let is_it = |name: &&&'a String| {
        let name = name.to_ascii_lowercase();
        let stem = part_number(&name).map_or(name.trim_end_matches(".gguf"), |(stem, ..)| stem);
        let (folder, stem) = stem.rsplit_once('/').unwrap_or(("", stem));
        let ends = stem.strip_suffix(&wanted).is_some_and(|rest| rest.ends_with(['-', '.', '_']));
        ends || stem == wanted || folder.rsplit('/').next() == Some(&wanted)
    };
    let found: Vec<&&'a String> = ggufs.iter().filter(is_it).collect();
    match found[..] {
        [only] => Ok(only),
        [] => Err(format!("no GGUF file of `{quantisation}` is there{}", listed(ggufs))),
        _ => Err(format!("several GGUF files are of `{quantisation}`{}", listed(ggufs))),
    }
}

/// The GGUF files of which one may be named, in words.
fn listed(ggufs: &[&String]) -> String {
    let mut names: Vec<&str> = ggufs.iter().map(|name| name.as_str()).collect();
    names.sort_unstable();
    let more = if names.len() > MAX_LISTED { " and others" } else { "" };
    names.truncate(MAX_LISTED);
    if names.is_empty() {
        String::new()
    } else {
        format!("; name one of its GGUF files, ORG/NAME:FILE: {}{more}", names.join(", "))
    }
}

/// Whether a name is that of a GGUF file, and of no part but the first.
fn is_first_part(name: &str) -> bool {
    // Vision encoders (`mmproj-F16.gguf`, `x.mmproj-Q8_0.gguf`) and statistics of quantisation are files of their own
    // beside the model's.
    let file = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let is_model = !file.contains("mmproj") && !file.contains("imatrix.");
    is_gguf(name) && is_model && part_number(name).is_none_or(|(_, number, _)| number == 1)
}

/// All parts of the GGUF file that this is one of: `x-00002-of-00003.gguf` as llama.cpp names them.
fn parts(file: &str) -> Vec<String> {
    match part_number(file) {
        None => vec![file.to_owned()],
        Some((stem, _, count)) => {
            (1..=count).map(|part| format!("{stem}-{part:05}-of-{count:05}.gguf")).collect()
        }
    }
}

/// Name, number and count of a part.
fn part_number(file: &str) -> Option<(&str, u32, u32)> {
    let rest = file.strip_suffix(".gguf")?;
    let (rest, count) = rest.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let read = |text: &str| text.parse().ok().filter(|_| text.len() == 5);
    Some((stem, read(number)?, read(count)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    fn chosen(names: &[&str], wanted: Option<&str>) -> Result<Selection, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        select(&|name| names.iter().any(|found| found == name), &names, Wanted::Model(wanted))
    }

    #[test]
    fn a_tokenizer_alone_needs_no_weights() {
        let chosen = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            select(&|name| names.iter().any(|found| found == name), &names, Wanted::Tokenizer)
        };
        let all = ["README.md", "config.json", "model.safetensors", "tokenizer.json", "x.gguf"];
        let needed = ["tokenizer.json", "config.json"].map(str::to_owned).to_vec();
        assert_eq!(chosen(&all), Ok(Selection::Tokenizer(needed)));
        for (names, said) in [
            (&["config.json", "tokenizer.model"][..], "but `tokenizer.model`"),
            (&["config.json", "qwen.tiktoken"], "but `qwen.tiktoken`"),
            (&["a.gguf"], "name the model that they were made of"),
            (&["README.md"], "`tokenizer.json` is not there"),
        ] {
            let error = chosen(names).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_folder_needs_its_documents_and_one_form_of_weights() {
        let both = ["README.md", "config.json", "tokenizer.json", "model.safetensors", "x.gguf"];
        let needed = ["config.json", "tokenizer.json", "model.safetensors"].map(str::to_owned);
        assert_eq!(chosen(&both, None), Ok(Selection::Folder(needed.to_vec())));
        let sharded = ["config.json", "tokenizer.json", INDEX, "pytorch_model.bin"];
        let needed = ["config.json", "tokenizer.json", INDEX].map(str::to_owned);
        assert_eq!(chosen(&sharded, None), Ok(Selection::Sharded(needed.to_vec())));
    }

    #[test]
    fn what_is_missing_is_named() {
        for (names, said) in [
            (
                &["config.json", "tokenizer.json", "pytorch_model.bin"][..],
                "but `pytorch_model.bin`",
            ),
            (&["config.json", "tokenizer.model", "model.safetensors"], "but `tokenizer.model`"),
            (&["adapter_config.json", "adapter_model.safetensors"], "an adapter (LoRA)"),
            (&["a.gguf", "b.gguf"], "name one of its GGUF files, ORG/NAME:FILE: a.gguf, b.gguf"),
            (&["README.md"], "`config.json` is not there"),
        ] {
            let error = chosen(names, None).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_gguf_file_has_parts() {
        assert_eq!(
            chosen(&["a.gguf", "mmproj-a.gguf", "a.mmproj-f16.gguf", "a.imatrix.gguf"], None),
            Ok(Selection::Gguf(parts("a.gguf")))
        );
        let split = ["q/a-00001-of-00002.gguf", "q/a-00002-of-00002.gguf"];
        let whole = Ok(Selection::Gguf(split.map(str::to_owned).to_vec()));
        assert_eq!(chosen(&split, None), whole);
        assert_eq!(chosen(&split, Some(split[1])), whole);
        let error = chosen(&split[..1], Some(split[0])).unwrap_err();
        assert!(error.contains("`q/a-00002-of-00002.gguf` is not there"), "{error}");
    }

    #[test]
    fn a_gguf_file_is_found_by_its_quantisation() {
        let names = [
            "a-Q4_K_M.gguf",
            "a-UD-Q4_K_M.gguf",
            "a.Q8_0.gguf",
            "BF16/a-BF16-00001-of-00002.gguf",
            "BF16/a-BF16-00002-of-00002.gguf",
            "mmproj-F16.gguf",
            "a.mmproj-Q8_0.gguf",
        ];
        for (quantisation, file) in
            [("q8_0", names[2]), ("BF16", names[3]), ("UD-Q4_K_M", names[1])]
        {
            let expected = Ok(Selection::Gguf(parts(file)));
            assert_eq!(chosen(&names, Some(quantisation)), expected, "{quantisation}");
        }
        let error = chosen(&names, Some("Q4_K_M")).unwrap_err();
        assert!(error.contains("several GGUF files are of `Q4_K_M`; name one"), "{error}");
        let error = chosen(&names, Some("F16")).unwrap_err();
        assert!(error.contains("no GGUF file of `F16` is there; name one"), "{error}");
    }

    #[test]
    fn shards_are_paths_inside_the_repository() {
        let index = br#"{"weight_map": {"a": "m-2.safetensors", "b": "m-1.safetensors", "c": "m-2.safetensors"}}"#;
        assert_eq!(shards(index).unwrap(), ["m-1.safetensors", "m-2.safetensors"]);
        for index in [r#"{"weight_map": {"a": "../x"}}"#, r#"{"weight_map": {}}"#, "{}", "["] {
            assert!(shards(index.as_bytes()).is_err(), "{index}");
        }
    }
}
