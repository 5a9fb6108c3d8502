//! Where models come from, and the settings that they come with.

use std::path::Path;

use serde_json::{Value, json};

use crate::model_support::{hey, random_model};
use crate::{command, ran, run, text};

#[test]
fn a_model_that_is_not_there_is_told_with_what_to_place_where() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-no-cache");
    let mut command = command(&["generate", "--prompt", "x", "--model", "some/model"]);
    command.env("HF_HUB_CACHE", &cache).env("HF_HUB_OFFLINE", "1");
    let ran = ran(command.output().unwrap());
    assert_eq!(ran.code, 2, "{}", ran.err);
    for part in ["`some/model` is not in the cache", "models--some--model", "put config.json"] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[cfg(feature = "hub")]
#[test]
fn processes_that_start_together_download_a_model_once() {
    let hub = crate::mock_hub::MockHub::with_tiny();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-hub-home");
    let _ = std::fs::remove_dir_all(&home);
    let start = || {
        let args = ["generate", "--prompt", "x", "--choice", "yes", "--model", "test/tiny"];
        let mut command = command(&args);
        command.env("HF_HOME", &home).env("HF_ENDPOINT", &hub.address);
        for variable in ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN"] {
            command.env_remove(variable);
        }
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let started = [start(), start(), start()];
    for child in started {
        let ran = ran(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (0, "yes\n"), "{}", ran.err);
        // A bar is for a terminal.
        assert_eq!(ran.err, "");
    }
    let weights = "/resolve/0123456789abcdef0123456789abcdef01234567/model.safetensors";
    let asked = hub.asked("GET");
    assert_eq!(
        asked.iter().filter(|path| path.starts_with("/lfs") && path.ends_with(weights)).count(),
        1
    );
}

#[test]
fn a_tokenizer_of_the_hub_needs_no_weights() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-tokenizer-cache");
    let _ = std::fs::remove_dir_all(&cache);
    let model = cache.join("models--test--tiny");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let snapshot = model.join("snapshots").join(commit);
    for folder in [snapshot.clone(), model.join("refs")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(model.join("refs/main"), commit).unwrap();
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model/tiny");
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(tiny.join(file), snapshot.join(file)).unwrap();
    }
    let mask = |tokenizer: &str| {
        let mut command =
            command(&["mask", "--choice", "yes", "--choice", "no", "--tokenizer", tokenizer]);
        command.env("HF_HUB_CACHE", &cache).env("HF_HUB_OFFLINE", "1");
        ran(command.output().unwrap())
    };
    let (found, own) = (mask("test/tiny"), mask("tiny"));
    assert_eq!((found.code, found.out, found.err), (0, own.out, own.err));
    for (tokenizer, parts) in [
        ("test/other", &["`test/other` is not in the cache", "put tokenizer.json"][..]),
        ("test/tiny:a.gguf", &["`test/tiny:a.gguf` has the tokenizer and the weights in one file"]),
        // The ending of a file.
        ("test/tokenizer.json", &["test/tokenizer.json: No such file", "ORG/NAME on the hub"]),
    ] {
        let ran = mask(tokenizer);
        assert_eq!((ran.code, ran.err.lines().count()), (2, 1), "{}", ran.err);
        assert!(parts.iter().all(|part| ran.err.contains(part)), "{}", ran.err);
    }
}

/// The first of these texts, and of what `--output json` says.
fn written(model: &str, args: &[&str]) -> Value {
    let all = [&["generate", "--raw", "--prompt", "x", "--model", model, "--output", "json"], args];
    let ran = run(&all.concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err))
}

#[test]
fn what_no_option_says_is_as_the_model_recommends() {
    let folder = random_model("cli-generation-config", 5);
    let config = folder.join("generation_config.json");
    let model = text(folder.clone());
    let greedy = written(&model, &["--max-tokens", "9"]);
    let write = |keys: Value| std::fs::write(&config, keys.to_string()).unwrap();

    write(json!({ "max_new_tokens": 7, "top_k": 1, "temperature": 0.9, "do_sample": true }));
    let recommended = written(&model, &["--ignore-eos"]);
    assert_eq!(recommended["tokens"].as_array().unwrap().len(), 7);
    // The most probable of one is the most probable.
    assert_eq!(recommended["tokens"][3], greedy["tokens"][3]);
    let own = written(&model, &["--max-tokens", "3", "--ignore-eos"]);
    assert_eq!(own["tokens"].as_array().unwrap().len(), 3);

    // With a seed, what is drawn is known: the model's temperature is the option's.
    write(json!({ "temperature": 1.5 }));
    let length = ["--max-tokens", "30", "--ignore-eos", "--seed", "3"];
    let recommended = written(&model, &length);
    let said = written(&model, &[&length[..], &["--temperature", "1.5"]].concat());
    let other = written(&model, &[&length[..], &["--temperature", "0.2"]].concat());
    assert_eq!(recommended["tokens"], said["tokens"]);
    assert_ne!(recommended["tokens"], other["tokens"]);
    let without = written(&model, &[&length[..2], &["--generation-config", "none"]].concat());
    assert_eq!(without["tokens"][8], greedy["tokens"][8]);
    let elsewhere = text(hey("cli-generation-elsewhere"));
    std::fs::write(Path::new(&elsewhere).join("generation_config.json"), "{\"temperature\": 0.2}")
        .unwrap();
    let given = written(&model, &[&length[..], &["--generation-config", &elsewhere]].concat());
    assert_eq!(given["tokens"], other["tokens"]);

    write(json!({ "num_beams": 4, "no_repeat_ngram_size": 3 }));
    let args = ["generate", "--raw", "--prompt", "x", "--model", &model, "--choice", "a"];
    let ran = run(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.starts_with("warning: ") && ran.err.contains("num_beams, no_repeat_ngram_size")
    );
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    write(json!({ "top_p": 2 }));
    let ran = run(&args);
    assert!(ran.code == 2 && ran.err.contains("generation_config.json"), "{}", ran.err);
    let ran = run(&[&args[..], &["--generation-config", "none"]].concat());
    assert!(ran.code == 0 && ran.out.contains('a'), "{}", ran.err);
}

#[test]
fn a_folder_that_is_no_model_is_told_what_it_is() {
    let fails = |folder: &Path, parts: &[&str]| {
        let ran = run(&["generate", "--prompt", "x", "--model", folder.to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(parts.iter().all(|part| ran.err.contains(part)), "{parts:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    };
    let folder = hey("cli-model-adapter");
    let adapter = json!({ "base_model_name_or_path": "some/base" }).to_string();
    std::fs::write(folder.join("adapter_config.json"), adapter).unwrap();
    std::fs::remove_file(folder.join("config.json")).unwrap();
    fails(&folder, &["adapter_config.json", "an adapter of `some/base`", "merge"]);

    let address = Path::new("https://huggingface.co/some/model/tree/main");
    fails(address, &["there is no such model folder", "an address is no name: write some/model"]);
    let folder = hey("cli-model-no-type");
    std::fs::write(folder.join("config.json"), "{}").unwrap();
    fails(&folder, &["config.json: at /model_type: `model_type` is missing", "llama"]);
    let file = folder.join("empty.gguf");
    std::fs::write(&file, "").unwrap();
    fails(&file, &["empty.gguf: the file is empty", "complete copy"]);

    let folder = hey("cli-model-pointer");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    std::fs::write(folder.join("model.safetensors"), pointer).unwrap();
    fails(&folder, &["model.safetensors", "a pointer of Git LFS", "git lfs pull"]);
    let file = folder.join("model.gguf");
    std::fs::write(&file, pointer).unwrap();
    fails(&file, &["model.gguf", "a pointer of Git LFS"]);

    let folder = hey("cli-model-shards");
    std::fs::remove_file(folder.join("model.safetensors")).unwrap();
    let map = json!({ "weight_map": { "a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-3.safetensors" } });
    std::fs::write(folder.join("model.safetensors.index.json"), map.to_string()).unwrap();
    std::fs::write(folder.join("m-2.safetensors"), "").unwrap();
    fails(&folder, &["2 of the 3 shards", "`m-1.safetensors`, `m-3.safetensors`"]);

    let cache = hey("cli-model-cache").join("hub");
    let model = cache.join("models--some--model");
    for folder in ["refs", "snapshots/aaa", "snapshots/zzz"] {
        std::fs::create_dir_all(model.join(folder)).unwrap();
    }
    std::fs::write(model.join("refs/main"), "aaa\n").unwrap();
    fails(&model, &["the folder of a cache", "snapshots/aaa"]);
    fails(&cache, &["a cache of models", "`some/model`", "models--some--model/snapshots/aaa"]);
}
