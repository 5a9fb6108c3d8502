//! `maskwright serve`: the OpenAI chat completions API over HTTP.

use std::net::IpAddr;

use crate::server::{Options, Server};

use super::Outcome;
use super::model::ModelArgs;
use super::output::{self, Stop};
use super::writing;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// A model that guesses for requests with `speculate`: "draft" (a model folder, or `layers:N`)
    #[arg(long, value_name = "DIR|layers:N")]
    draft_model: Option<String>,
    /// The address to listen on; 0.0.0.0 or :: is open to the network
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value = "8000")]
    port: u16,
    /// A key that requests must carry as `Authorization: Bearer KEY` (repeat the option for more)
    #[arg(long, value_name = "KEY", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    api_key: Vec<String>,
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    if args.api_key.is_empty() && !args.host.is_loopback() {
        output::note(
            "warning: anyone on the network can use this server; --api-key keeps them out",
        );
    }
    // The port first: it is known at once to be taken, where a model may load for minutes.
    let listener = Server::listen((args.host, args.port).into())?;
    let mut engine = args.model.load()?;
    if let Some(draft) = &args.draft_model {
        engine = writing::with_draft(engine, draft, &args.model)?;
    }
    let server = Server::new(listener, engine, Options { api_keys: args.api_key })?;
    output::note(&format!("listening on http://{}/v1", server.address()));
    server.run(crate::server::interrupted())?;
    Ok(Outcome::Success)
}
