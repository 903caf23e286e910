//! The settings of a server: the flags of `costar serve`, and the argument of [`run`](super::run).

use crate::neural::device::DeviceChoice;
#[cfg(feature = "cli")]
use crate::quantity;
use std::net::IpAddr;

/// Address, offers and limits of a server.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ServerConfig {
    /// Port; 0 takes any free one
    #[cfg_attr(feature = "cli", arg(long, default_value = "8421", value_name = "P"))]
    pub port: u16,
    /// Address to listen on; the default can be reached from this computer only
    #[cfg_attr(feature = "cli", arg(long, default_value = "127.0.0.1", value_name = "ADDRESS", value_parser = host))]
    pub host: IpAddr,
    /// Puzzle file to offer too; may be given several times
    #[cfg_attr(feature = "cli", arg(long = "puzzle", value_name = "FILE.json"))]
    pub puzzles: Vec<String>,
    /// Model to offer too: the folder of a model or of a run; may be given several times
    #[cfg_attr(feature = "cli", arg(long = "model", value_name = "DIR"))]
    pub models: Vec<String>,
    /// Device of the networks: auto, cpu, cuda or cuda:I
    #[cfg_attr(feature = "cli", arg(long, default_value = "auto", value_name = "DEVICE"))]
    pub device: DeviceChoice,
    /// Searches at a time, one per model
    #[cfg_attr(feature = "cli", arg(long, default_value = "2", value_name = "N", value_parser = quantity::positive_count))]
    pub searches: u64,
    /// Requests that may wait for their turn; more are refused
    #[cfg_attr(feature = "cli", arg(long, default_value = "8", value_name = "N", value_parser = quantity::count))]
    pub queue: u64,
    /// Longest time of a search, in seconds; a request may ask for less
    #[cfg_attr(feature = "cli", arg(long, default_value = "120", value_name = "S", value_parser = quantity::seconds))]
    pub max_seconds: f64,
    /// Most memory for the nodes of a search; a request may ask for less
    /// [default: 60 % of what is available, shared among --searches]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SIZE", value_parser = quantity::size))]
    pub max_memory: Option<u64>,
    /// Largest body of a request
    #[cfg_attr(feature = "cli", arg(long, default_value = "64K", value_name = "SIZE", value_parser = quantity::size))]
    pub max_body: u64,
}

#[cfg(feature = "cli")]
fn host(text: &str) -> Result<IpAddr, &'static str> {
    let address = if text == "localhost" { Ok(std::net::Ipv4Addr::LOCALHOST.into()) } else { text.parse() };
    address.map_err(|_| "expected an IP address: 127.0.0.1 for this computer only, 0.0.0.0 for all of its networks")
}
