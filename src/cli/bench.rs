//! `maskwright bench`: how fast a model reads and writes, and what masks cost.

mod corpus;
mod decode;
mod encode;
mod masks;
mod process;
mod times;

use super::Outcome;
use super::output::Stop;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Reading and writing apart, with and without the cache of keys and values, with and without
    /// a constraint
    Decode(Box<decode::Args>),
    /// Compiling the schemas of a corpus, and a mask at each token of its instances
    Masks(Box<masks::Args>),
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    match args.what {
        What::Decode(args) => decode::run(&args),
        What::Masks(args) => masks::run(&args),
    }
}
