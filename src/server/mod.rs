//! The HTTP server: the page with a solver behind it, and a small JSON API.
//!
//! ```text
//! connection ─ routes ─► request: fields checked ─► queue: a place, then the model's turn ─► worker
//!                 ▲                                                                             │
//!                 └────────────── progress, answers, the end ◄──────── one thread a model, which ┘
//!                                                                     keeps what it has loaded
//! ```
//!
//! A search blocks only the connection that requested it: searches run on threads of their own, never on
//! those that serve connections. A connection that closes gives up its place, and ends its search.

use crate::error::{Context, Result, SettingError};
use crate::memory;
use crate::neural::device::DeviceChoice;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use queue::JobQueue;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

mod error;
mod offers;
mod puzzles;
mod queue;
mod request;
mod routes;
mod worker;

/// Connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 128;

/// How long a connection may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(20);

/// How long searches may take to see that they are to stop.
const STOP_TIME: Duration = Duration::from_secs(10);

/// The share of the available memory that all searches together take by default.
const MEMORY_SHARE: f64 = 0.6;

/// What a server offers, and what it holds requests to.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The address to listen on; port 0 for any that is free.
    pub address: SocketAddr,
    /// Files of puzzles that are offered beside those that come with costar.
    pub puzzles: Vec<String>,
    /// Models that are offered beside those on the search path.
    pub models: Vec<String>,
    /// Where networks run.
    pub device: DeviceChoice,
    /// How many searches run at a time: one a model.
    pub searches: usize,
    /// How many requests may wait for their turn; more are refused.
    pub queue: usize,
    /// The most seconds that a search gets; a request may ask for less.
    pub max_seconds: f64,
    /// The most bytes that the nodes of a search get; a request may ask for less. `None`: 60 % of what is available,
    /// shared among the searches.
    pub max_memory: Option<u64>,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
}

impl ServerConfig {
    /// Refuses what cannot be offered, and fills in what is left out.
    fn resolve(mut self) -> Result<Self> {
        for file in &self.puzzles {
            if !file.ends_with(".json") {
                let reason = format!("'{file}' is not the file of a puzzle (….json); all others are offered anyway");
                return Err(SettingError::new("puzzle", reason).into());
            }
            offers::describe(file)?;
        }
        for model in &self.models {
            offers::check_puzzle_of(model, &self.puzzles)?;
        }
        self.searches = self.searches.min(Semaphore::MAX_PERMITS / 2);
        self.queue = self.queue.min(Semaphore::MAX_PERMITS / 2);
        let share = || (memory::available().unwrap_or(4 << 30) as f64 * MEMORY_SHARE) as u64 / self.searches as u64;
        self.max_memory = Some(self.max_memory.unwrap_or_else(share));
        Ok(self)
    }

    /// The most bytes that the nodes of a search get.
    fn node_memory(&self) -> u64 {
        self.max_memory.unwrap_or(u64::MAX)
    }

    /// Whether only this computer can reach the server.
    fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }
}

/// Serves until `stop` is set; `listening` is told the address.
///
/// # Errors
/// If something cannot be offered, or the address cannot be listened on.
pub fn run(config: ServerConfig, stop: &Arc<AtomicBool>, listening: impl FnOnce(SocketAddr)) -> Result<()> {
    let config = config.resolve()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .enable_all()
        .build()
        .context("the threads that serve connections cannot be started")?;
    runtime.block_on(async {
        let wanted = config.address;
        let listener = TcpListener::bind(wanted).await.with_context(|| format!("cannot listen on {wanted}"))?;
        listening(listener.local_addr().context("the address is not known")?);
        let queue = Arc::new(JobQueue::new(config, Arc::clone(stop)));
        serve(listener, routes::router(&queue), stop).await;
        queue.close(Instant::now() + STOP_TIME).await;
        Result::<()>::Ok(())
    })?;
    // Whatever still waits for a disk or a client is left behind.
    runtime.shutdown_background();
    Ok(())
}

/// Takes connections until the flag is set.
async fn serve(listener: TcpListener, router: Router, stop: &AtomicBool) {
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

/// Waits for a flag.
async fn raised(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
