//! `costar serve`: the page with a solver behind it, and a small JSON API.

use super::progress::note;
use super::signal;
use super::{Ending, OrInput as _, SUCCESS};
use crate::neural::device::DeviceChoice;
use crate::quantity;
use crate::server::{self, ServerConfig};
use anyhow::Context as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The port; 0 for any that is free
    #[arg(long, default_value = "8421", value_name = "P")]
    port: u16,
    /// The address to listen on: by default, only this computer can reach it
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    host: IpAddr,
    /// Also offer this puzzle: a file of your own; may be given several times
    #[arg(long, value_name = "FILE.json")]
    puzzle: Vec<String>,
    /// Also offer this model: a folder, or that of a run; may be given several times
    #[arg(long, value_name = "DIR")]
    model: Vec<String>,
    /// Where networks run: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// How many searches run at a time: one a model
    #[arg(long, default_value = "2", value_name = "N", value_parser = quantity::positive_count)]
    searches: u64,
    /// How many requests may wait for their turn; more are refused
    #[arg(long, default_value = "8", value_name = "N", value_parser = quantity::count)]
    queue: u64,
    /// The most seconds that a search gets; a request may ask for less
    #[arg(long, default_value = "120", value_name = "S", value_parser = quantity::seconds)]
    max_seconds: f64,
    /// The most memory that the nodes of a search get; a request may ask for less
    /// [default: 60 % of what is available, shared among --searches]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_memory: Option<u64>,
    /// The largest body of a request
    #[arg(long, default_value = "64K", value_name = "SIZE", value_parser = quantity::size)]
    max_body: u64,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    let host = args.host;
    let narrow = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let config = ServerConfig {
        address: SocketAddr::new(host, args.port),
        puzzles: args.puzzle,
        models: args.model,
        device: args.device,
        searches: narrow(args.searches),
        queue: narrow(args.queue),
        max_seconds: args.max_seconds,
        max_memory: args.max_memory,
        max_body: narrow(args.max_body),
    };
    let listening = |address| {
        note!("costar: open http://{address}/ in a browser; Ctrl-C ends the server");
        if !host.is_loopback() {
            note!("costar: --host {host}: whoever can reach this address can search on this machine");
        }
    };
    let ended = server::run(config, &stop, listening);
    // An address that is taken is no bad input; what cannot be offered is.
    match ended {
        Err(error) if error.is_io() => Err(error.into()),
        ended => ended.or_input().map(|()| SUCCESS),
    }
}
