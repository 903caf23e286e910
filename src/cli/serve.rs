//! `costar serve`: the page with a solver behind it, and a JSON API.

use super::progress::note;
use super::{Ending, OrInput as _, SUCCESS, narrow, signal};
use crate::neural::device::{Device, DeviceChoice};
use crate::quantity;
use crate::server::{self, ServerConfig};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Port; 0 takes any free one
    #[arg(long, default_value = "8421", value_name = "P")]
    port: u16,
    /// Address to listen on; the default can be reached from this computer only
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS", value_parser = host)]
    host: IpAddr,
    /// Puzzle file to offer too; may be given several times
    #[arg(long, value_name = "FILE.json")]
    puzzle: Vec<String>,
    /// Model to offer too: the folder of a model or of a run; may be given several times
    #[arg(long, value_name = "DIR")]
    model: Vec<String>,
    /// Device of the networks: auto, cpu, cuda or cuda:I
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// Searches at a time, one per model
    #[arg(long, default_value = "2", value_name = "N", value_parser = quantity::positive_count)]
    searches: u64,
    /// Requests that may wait for their turn; more are refused
    #[arg(long, default_value = "8", value_name = "N", value_parser = quantity::count)]
    queue: u64,
    /// Longest time of a search, in seconds; a request may ask for less
    #[arg(long, default_value = "120", value_name = "S", value_parser = quantity::seconds)]
    max_seconds: f64,
    /// Most memory for the nodes of a search; a request may ask for less
    /// [default: 60 % of what is available, shared among --searches]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    max_memory: Option<u64>,
    /// Largest body of a request
    #[arg(long, default_value = "64K", value_name = "SIZE", value_parser = quantity::size)]
    max_body: u64,
}

fn host(text: &str) -> Result<IpAddr, &'static str> {
    let address = if text == "localhost" { Ok(Ipv4Addr::LOCALHOST.into()) } else { text.parse() };
    address.map_err(|_| "expected an IP address: 127.0.0.1 for this computer only, 0.0.0.0 for all of its networks")
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install()?;
    if args.device != DeviceChoice::Auto {
        Device::resolve(args.device).or_input()?;
    }
    let host = args.host;
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
    let listening = |mut address: SocketAddr| {
        if host.is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        note!("costar: open http://{address}/ in a browser; Ctrl-C ends the server");
        if !host.is_loopback() {
            note!("costar: --host {host}: whoever can reach this address can search on this machine");
        }
    };
    match server::run(config, &stop, listening) {
        // An address in use is not bad input.
        Err(error) if error.is_io() => Err(error.into()),
        ended => ended.or_input().map(|()| SUCCESS),
    }
}
