//! `maskwright bench`: speed of reading and writing, and cost of masks.

mod corpus;
mod decode;
mod encode;
mod masks;
mod process;
mod times;

use super::output::Stop;
use crate::cli::outcome::Outcome;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BenchCommand {
    /// Reading and writing apart, with and without the cache of keys and values, with and without
    /// a constraint
    Decode(Box<decode::Args>),
    /// Compiling the schemas of a corpus, and a mask at each token of its instances
    Masks(Box<masks::Args>),
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    match args.command {
        BenchCommand::Decode(args) => decode::run(&args),
        BenchCommand::Masks(args) => masks::run(&args),
    }
}
