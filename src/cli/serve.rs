//! `costar serve`: the page with a solver behind it, and a small JSON API.
//!
//! ```text
//! connection ─ routes ─► wish: fields checked ─► desk: a place in the queue, then the model's turn ─► worker
//!                 ▲                                                                                     │
//!                 └──────────────── progress, answers, the end ◄────────── one thread a model, which ───┘
//!                                                                          keeps what it has loaded
//! ```
//!
//! Nothing waits for a search but the connection that asked for it: searches run on threads of their own, never on
//! those that serve connections. A connection that closes gives up its place, and ends its search.

use super::{Ending, OrInput as _, SUCCESS};
use crate::neural::device::DeviceChoice;
use crate::progress::note;
use crate::{memory, quantity, signal};
use anyhow::{Context as _, ensure};
use axum::Router;
use desk::Desk;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

mod desk;
mod puzzles;
mod refusal;
mod routes;
mod wish;
mod worker;

/// Connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 128;

/// How long a connection may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(20);

/// How long searches may take to see that they are to stop.
const STOP_TIME: Duration = Duration::from_secs(10);

/// The share of the available memory that all searches together take by default.
const MEMORY_SHARE: f64 = 0.6;

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

/// What requests are held to.
#[derive(Debug, Clone)]
struct House {
    /// Puzzles and models that are offered beside those that costar knows.
    puzzles: Vec<String>,
    models: Vec<String>,
    device: DeviceChoice,
    searches: usize,
    /// Searches and requests that wait, together.
    places: usize,
    max_seconds: f64,
    max_memory: u64,
    max_body: usize,
    /// Whether only this computer can reach the server.
    is_loopback: bool,
}

pub(super) fn run(args: Args) -> Ending {
    let stop = signal::install().context("no handler of signals can be installed")?;
    let house = house(&args).or_input()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .enable_all()
        .build()
        .context("the threads that serve connections cannot be started")?;
    runtime.block_on(async {
        let wanted = SocketAddr::new(args.host, args.port);
        let listener = TcpListener::bind(wanted).await.with_context(|| format!("cannot listen on {wanted}"))?;
        let address = listener.local_addr().context("the address is not known")?;
        note!("costar: open http://{address}/ in a browser; Ctrl-C ends the server");
        if !house.is_loopback {
            note!("costar: --host {}: whoever can reach this address can search on this machine", args.host);
        }
        let desk = Arc::new(Desk::new(house));
        serve(listener, routes::router(&desk), stop).await;
        desk.close(Instant::now() + STOP_TIME).await;
        anyhow::Ok(())
    })?;
    // Whatever still waits for a disk or a client is left behind.
    runtime.shutdown_background();
    Ok(SUCCESS)
}

/// Resolves the flags.
fn house(args: &Args) -> anyhow::Result<House> {
    for file in &args.puzzle {
        ensure!(file.ends_with(".json"), "--puzzle: '{file}' is no file of a puzzle (….json); all others are offered");
        puzzles::describe(file).context("--puzzle")?;
    }
    for model in &args.model {
        super::models::find(model).context("--model")?;
    }
    let searches = usize::try_from(args.searches).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS / 2);
    let queue = usize::try_from(args.queue).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS / 2);
    let share = || (memory::available().unwrap_or(4 << 30) as f64 * MEMORY_SHARE) as u64 / searches as u64;
    Ok(House {
        puzzles: args.puzzle.clone(),
        models: args.model.clone(),
        device: args.device,
        searches,
        places: searches + queue,
        max_seconds: args.max_seconds,
        max_memory: args.max_memory.unwrap_or_else(share),
        max_body: usize::try_from(args.max_body).unwrap_or(usize::MAX),
        is_loopback: args.host.is_loopback(),
    })
}

/// Takes connections until a signal comes.
async fn serve(listener: TcpListener, router: Router, stop: &'static AtomicBool) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let accept_all = async {
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(connection(stream, router.clone(), permit))),
                // Out of file descriptors, or a client that has gone: neither is the end.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    tokio::select! {
        () = accept_all => (),
        () = raised(stop) => (),
    }
}

async fn connection(stream: TcpStream, router: Router, _permit: OwnedSemaphorePermit) {
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    // What goes wrong with a connection is the client's, and nobody is there to be told.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Waits for a flag that a signal sets.
async fn raised(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
