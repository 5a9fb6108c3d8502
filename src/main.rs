//! The `maskwright` command; see `maskwright --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    maskwright::cli::run(std::env::args_os())
}
