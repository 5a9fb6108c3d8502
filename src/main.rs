//! The `maskwright` command; see `maskwright --help`.

fn main() {}
