//! The `maskwright` command from outside: what it prints where, and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod bench;
mod chat;
mod choices;
mod constraints;
mod conventions;
mod generate;
#[cfg(feature = "hub")]
#[path = "../model_support/mock_hub.rs"]
mod mock_hub;
#[path = "../model_support/mod.rs"]
mod model_support;
mod models;
mod resources;
mod serve;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PERSON: &str = "examples/schemas/person.json";

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_maskwright"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    // Not the user's.
    command.env("MASKWRIGHT_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}

fn run(args: &[&str]) -> Ran {
    ran(command(args).output().unwrap())
}

/// The same with this on standard input.
fn run_on(args: &[&str], input: &str) -> Ran {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    ran(child.wait_with_output().unwrap())
}

fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file in the folder of this test's files.
fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    text(path)
}

fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}
