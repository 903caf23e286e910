//! `costar serve`: the page with a solver behind it, and a JSON API.

use super::progress::note;
use super::{Ending, OrInput as _, SUCCESS, signal};
use crate::neural::device::{Device, DeviceChoice};
use crate::server::{self, ServerConfig};
use std::net::{Ipv4Addr, SocketAddr};

pub(super) fn run(config: ServerConfig) -> Ending {
    let stop = signal::install()?;
    if config.device != DeviceChoice::Auto {
        Device::resolve(config.device).or_input()?;
    }
    let host = config.host;
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
