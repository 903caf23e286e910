//! The HTTP server: the page with a solver behind it, and a small JSON API.
//!
//! ```text
//! connection ─ routes ─► request: fields checked ─► queue: waits for a place and its model ─► worker
//!                 ▲                                                                              │
//!                 └─────────────── progress, solutions, the end ◄── one thread per model, keeps ─┘
//!                                                                   what it has loaded
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `options` | the settings of the server |
//! | `routes` | the routes and their responses |
//! | `request` | the JSON of a request to solve |
//! | `catalogue` | puzzles and models on offer |
//! | `puzzle_queries` | questions that need a puzzle's rules: check, scramble, plan |
//! | `queue` | places, turns, and the workers |
//! | `worker` | the thread that searches with one model |
//! | `error` | how a request is refused |
//!
//! A search blocks only the connection that requested it: searches run on their own threads, never on the threads that
//! serve connections. Closing a connection gives up its place in the queue and ends its search.

use crate::error::{Context, Result, SettingError};
use crate::memory;
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

mod catalogue;
mod error;
mod options;
mod puzzle_queries;
mod queue;
mod request;
mod routes;
mod worker;

pub use options::ServerConfig;

/// Connections served at a time; more wait to be accepted. Slow clients may hold one for 40 seconds.
const MAX_CONNECTIONS: usize = 512;

/// Time for a connection to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for searches to end after a stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Time between two looks at the stop flag, and before the next try to accept a connection.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Share of the available memory that all searches together take by default.
const MEMORY_SHARE: f64 = 0.6;

impl ServerConfig {
    /// Refuses what cannot be offered, and fills in the memory limit.
    fn resolve(mut self) -> Result<Self> {
        for file in &self.puzzles {
            if !file.ends_with(".json") {
                let reason = format!("'{file}' is not the file of a puzzle (….json); all others are offered anyway");
                return Err(SettingError::new("puzzle", reason).into());
            }
            catalogue::describe(file, &[])?;
        }
        for model in &self.models {
            catalogue::check_puzzle_of(model, &self.puzzles)?;
        }
        self.searches = self.searches.min(Semaphore::MAX_PERMITS as u64 / 2);
        self.queue = self.queue.min(Semaphore::MAX_PERMITS as u64 / 2);
        let share = || (memory::available().unwrap_or(4 << 30) as f64 * MEMORY_SHARE) as u64 / self.searches;
        self.max_memory = Some(self.max_memory.unwrap_or_else(share));
        Ok(self)
    }

    /// Most bytes for the nodes of a search.
    fn node_memory(&self) -> u64 {
        self.max_memory.unwrap_or(u64::MAX)
    }

    /// Checks the body of a request to solve, without a server.
    ///
    /// # Errors
    /// Names the field, and what is expected.
    pub fn check_request(&self, body: &[u8]) -> Result<(), String> {
        request::SolveRequest::read(body, self).map(drop).map_err(|refusal| refusal.error)
    }
}

/// Serves until `stop` is set; `listening` is called with the address.
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
        let address = SocketAddr::new(config.host, config.port);
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address} (`port` 0 takes a free one)"))?;
        listening(listener.local_addr().context("the address is not known")?);
        let queue = Arc::new(JobQueue::new(config));
        tokio::select! {
            () = accept_all(listener, routes::router(&queue)) => (),
            () = is_set(stop) => (),
        }
        queue.close(Instant::now() + STOP_TIMEOUT).await;
        Result::<()>::Ok(())
    })?;
    // Tasks that still wait for a disk or a client are abandoned.
    runtime.shutdown_background();
    Ok(())
}

async fn accept_all(listener: TcpListener, router: Router) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, router.clone(), permit))),
            // No file descriptor is free, or the client is gone: try again.
            Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

async fn serve(stream: TcpStream, router: Router, _permit: OwnedSemaphorePermit) {
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    // A connection that fails concerns its client alone.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Waits until a flag is set.
async fn is_set(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
