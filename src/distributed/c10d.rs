//! Safe wrapper of the C interface in `c10d.cpp`.

use super::launcher::LauncherEnv;
use super::liveness::Liveness;
use crate::error::{self, CppMessage};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a collective waits for the slowest rank while all are alive: rank 0 writes checkpoints meanwhile.
const COLLECTIVE_TIMEOUT_MS: i64 = 1_800_000;

/// How long gloo tries to connect the ranks, which have all joined already.
const CONNECT_TIMEOUT_MS: i64 = 30_000;

type Text = *const c_char;
type Object = *mut c_void;

unsafe extern "C" {
    fn costar_store_open(host: Text, port: u16, serve: bool, wait_ms: i64, prefix: Text, to: &mut Object)
    -> CppMessage;
    fn costar_store_within(store: Object, prefix: Text, within: &mut Object) -> CppMessage;
    fn costar_store_close(store: Object);
    fn costar_store_add(store: Object, key: Text, by: i64, sum: &mut i64) -> CppMessage;
    fn costar_store_set(store: Object, key: Text, bytes: *const u8, length: usize) -> CppMessage;
    fn costar_store_has(store: Object, key: Text, has: &mut bool) -> CppMessage;
    fn costar_store_get(store: Object, key: Text, bytes: &mut *mut u8, length: &mut usize) -> CppMessage;
    fn costar_group_open(
        store: Object,
        rank: c_int,
        size: c_int,
        connect_ms: i64,
        collective_ms: i64,
        hostname: Text,
        interface: Text,
        group: &mut Object,
    ) -> CppMessage;
    fn costar_group_close(group: Object);
    fn costar_group_sum(group: Object, numbers: *mut f32, count: i64, work: &mut Object) -> CppMessage;
    fn costar_group_broadcast(group: Object, bytes: *mut u8, count: i64, work: &mut Object) -> CppMessage;
    fn costar_group_all_to_all(
        group: Object,
        from: *mut u8,
        received: *const i64,
        to: *const u8,
        sent: *const i64,
        work: &mut Object,
    ) -> CppMessage;
    fn costar_work_wait(work: Object, timeout_ms: i64, ended: &mut bool) -> CppMessage;
    fn costar_work_free(work: Object);
}

/// The first line of c10d's message, without the source location.
fn checked(message: CppMessage) -> Result<(), String> {
    // SAFETY: `guarded.h` made the message.
    let Err(text) = (unsafe { error::checked(message) }) else { return Ok(()) };
    let line = text.lines().next().unwrap_or_default();
    Err(line.rsplit_once("] ").map_or(line, |(_, reason)| reason).trim().trim_end_matches('.').to_owned())
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// The key-value store of a group: a `PrefixStore` over a `TCPStore`.
#[derive(Debug)]
pub(super) struct Store(Object);

// SAFETY: a TCPStore guards each of its operations with a lock.
unsafe impl Send for Store {}
// SAFETY: see above.
unsafe impl Sync for Store {}

impl Store {
    /// Connects to the store at an address; with `serve`, hosts it in this process.
    pub(super) fn open(host: &str, port: u16, serve: bool, timeout: Duration, prefix: &str) -> Result<Self, String> {
        let (host, prefix, timeout_ms) = (c_text(host), c_text(prefix), timeout.as_millis() as i64);
        let mut store = ptr::null_mut();
        // SAFETY: the texts outlive the call; on success the store is written.
        checked(unsafe { costar_store_open(host.as_ptr(), port, serve, timeout_ms, prefix.as_ptr(), &mut store) })?;
        Ok(Store(store))
    }

    /// The same store, with a prefix before every key.
    pub(super) fn within(&self, prefix: &str) -> Result<Self, String> {
        // SAFETY: the store is open, and the new one shares ownership of the connection.
        let call = |store, prefix, within: &mut _| unsafe { costar_store_within(store, prefix, within) };
        self.with_key(prefix, ptr::null_mut(), call).map(Store)
    }

    /// Adds to a counter that starts at 0, and returns the sum.
    pub(super) fn add(&self, key: &str, by: i64) -> Result<i64, String> {
        // SAFETY: the store is open, and the key outlives the call.
        self.with_key(key, 0, |store, key, sum| unsafe { costar_store_add(store, key, by, sum) })
    }

    pub(super) fn set(&self, key: &str, value: &[u8]) -> Result<(), String> {
        // SAFETY: as above; c10d copies the bytes.
        self.with_key(key, (), |store, key, _| unsafe { costar_store_set(store, key, value.as_ptr(), value.len()) })
    }

    pub(super) fn has(&self, key: &str) -> Result<bool, String> {
        // SAFETY: as above.
        self.with_key(key, false, |store, key, has| unsafe { costar_store_has(store, key, has) })
    }

    /// The value of a key; blocks until the key exists.
    pub(super) fn get(&self, key: &str) -> Result<Vec<u8>, String> {
        let call = |store, key, (bytes, length): &mut (*mut u8, usize)| {
            // SAFETY: as above.
            unsafe { costar_store_get(store, key, bytes, length) }
        };
        let (bytes, length) = self.with_key(key, (ptr::null_mut(), 0), call)?;
        // SAFETY: the call wrote `length` bytes there, which belong to this function.
        unsafe {
            let value = std::slice::from_raw_parts(bytes, length).to_vec();
            libc::free(bytes.cast());
            Ok(value)
        }
    }

    /// Calls a function of the store with a key, and returns the value that it writes.
    fn with_key<T>(
        &self,
        key: &str,
        mut value: T,
        call: impl FnOnce(Object, Text, &mut T) -> CppMessage,
    ) -> Result<T, String> {
        checked(call(self.0, c_text(key).as_ptr(), &mut value)).map(|()| value)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: it is open, and nothing uses it any more.
        unsafe { costar_store_close(self.0) }
    }
}

/// Gloo's collectives on the CPU, one at a time.
#[derive(Debug)]
pub(super) struct Gloo {
    handle: Mutex<GlooHandle>,
    liveness: Arc<Liveness>,
}

/// An open gloo group; `None` once a collective was abandoned, since gloo's thread still runs it.
#[derive(Debug)]
struct GlooHandle(Option<Object>);

// SAFETY: the mutex around it lets one thread at a time use it.
unsafe impl Send for GlooHandle {}

impl Gloo {
    /// Joins all ranks. They connect over the network interface that GLOO_SOCKET_IFNAME names; without it, over the loopback
    /// address if rank 0's host is local.
    pub(super) fn open(store: &Store, env: &LauncherEnv, liveness: Arc<Liveness>) -> Result<Self, String> {
        let host = &env.rendezvous.host;
        let is_local = host == "localhost" || host == "::1" || host.starts_with("127.");
        let hostname = if is_local { c"127.0.0.1".as_ptr() } else { ptr::null() };
        let interface = std::env::var("GLOO_SOCKET_IFNAME").ok().map(|name| c_text(&name));
        let interface = interface.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let (rank, size, mut group) = (env.rank as c_int, env.size as c_int, ptr::null_mut());
        // SAFETY: the store is open and the group shares its ownership; the texts outlive the call.
        checked(unsafe {
            costar_group_open(
                store.0,
                rank,
                size,
                CONNECT_TIMEOUT_MS,
                COLLECTIVE_TIMEOUT_MS,
                hostname,
                interface,
                &mut group,
            )
        })?;
        Ok(Gloo { handle: Mutex::new(GlooHandle(Some(group))), liveness })
    }

    /// Runs a collective on memory that it owns. If a rank dies meanwhile, the collective is abandoned, and its memory is
    /// leaked to gloo's thread.
    fn run<T>(
        &self,
        mut memory: T,
        start: impl FnOnce(Object, &mut T, &mut Object) -> CppMessage,
    ) -> Result<T, String> {
        const POLL_MS: i64 = 500;
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let group = handle.0.ok_or("an earlier collective was abandoned")?;
        let mut work = ptr::null_mut();
        checked(start(group, &mut memory, &mut work))?;
        loop {
            let mut ended = false;
            // SAFETY: the work was started, and is freed once it has ended.
            let result = checked(unsafe { costar_work_wait(work, POLL_MS, &mut ended) });
            if ended {
                // SAFETY: as above.
                unsafe { costar_work_free(work) };
                return result.map(|()| memory);
            }
            if self.liveness.is_over() {
                handle.0 = None;
                std::mem::forget(memory);
                return Err("a rank does not answer".into());
            }
        }
    }

    /// Sums over all ranks.
    pub(super) fn sum(&self, numbers: Vec<f32>) -> Result<Vec<f32>, String> {
        // SAFETY: `run` keeps the numbers in place until the work has ended.
        self.run(numbers, |group, numbers, work| unsafe {
            costar_group_sum(group, numbers.as_mut_ptr(), numbers.len() as i64, work)
        })
    }

    /// Copies the bytes of rank 0 to all ranks, which all pass as many bytes.
    pub(super) fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        // SAFETY: as above.
        self.run(bytes, |group, bytes, work| unsafe {
            costar_group_broadcast(group, bytes.as_mut_ptr(), bytes.len() as i64, work)
        })
    }

    /// Sends `to[r]` to each rank r, and returns the messages of all ranks to this one, of the given lengths.
    pub(super) fn all_to_all(&self, to: &[Vec<u8>], lengths: &[usize]) -> Result<Vec<Vec<u8>>, String> {
        assert_eq!(to.len(), lengths.len(), "one message and one length a rank");
        let sent: Vec<i64> = to.iter().map(|message| message.len() as i64).collect();
        let received: Vec<i64> = lengths.iter().map(|&length| length as i64).collect();
        // The extra byte keeps the pointer valid if there is nothing to send or receive.
        let mut all = Vec::with_capacity(to.iter().map(Vec::len).sum::<usize>() + 1);
        to.iter().for_each(|message| all.extend_from_slice(message));
        all.push(0);
        let from = vec![0; lengths.iter().sum::<usize>() + 1];
        // SAFETY: both hold the bytes that the counts add up to, and `run` keeps them in place until the work has ended.
        let (_, from) = self.run((all, from), |group, (to, from), work| unsafe {
            costar_group_all_to_all(group, from.as_mut_ptr(), received.as_ptr(), to.as_ptr(), sent.as_ptr(), work)
        })?;
        let mut from = &from[..];
        Ok(lengths.iter().map(|&length| from.split_off(..length).unwrap_or_default().to_vec()).collect())
    }
}

impl Drop for GlooHandle {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // SAFETY: it is open, and nothing uses it any more.
            unsafe { costar_group_close(group) }
        }
    }
}
