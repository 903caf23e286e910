//! The C interface of `c10d.cpp`, made safe.

use crate::guarded;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

unsafe extern "C" {
    fn costar_store_open(
        host: *const c_char,
        port: u16,
        serve: bool,
        milliseconds: i64,
        prefix: *const c_char,
        store: *mut *mut c_void,
    ) -> *mut c_char;
    fn costar_store_within(store: *mut c_void, prefix: *const c_char, within: *mut *mut c_void) -> *mut c_char;
    fn costar_store_close(store: *mut c_void);
    fn costar_store_add(store: *mut c_void, key: *const c_char, by: i64, sum: *mut i64) -> *mut c_char;
    fn costar_store_set(store: *mut c_void, key: *const c_char, bytes: *const u8, length: usize) -> *mut c_char;
    fn costar_store_has(store: *mut c_void, key: *const c_char, has: *mut bool) -> *mut c_char;
    fn costar_store_get(store: *mut c_void, key: *const c_char, bytes: *mut *mut u8, length: *mut usize)
    -> *mut c_char;
    fn costar_group_open(
        store: *mut c_void,
        rank: c_int,
        size: c_int,
        milliseconds: i64,
        hostname: *const c_char,
        interface: *const c_char,
        group: *mut *mut c_void,
    ) -> *mut c_char;
    fn costar_group_close(group: *mut c_void);
    fn costar_group_sum(
        group: *mut c_void,
        numbers: *mut f32,
        count: i64,
        milliseconds: i64,
        work: *mut *mut c_void,
    ) -> *mut c_char;
    fn costar_group_broadcast(
        group: *mut c_void,
        bytes: *mut u8,
        count: i64,
        root: c_int,
        milliseconds: i64,
        work: *mut *mut c_void,
    ) -> *mut c_char;
    fn costar_group_all_to_all(
        group: *mut c_void,
        from: *mut u8,
        counts_from: *const i64,
        to: *const u8,
        counts_to: *const i64,
        size: c_int,
        milliseconds: i64,
        work: *mut *mut c_void,
    ) -> *mut c_char;
    fn costar_work_wait(work: *mut c_void, milliseconds: i64, ended: *mut bool) -> *mut c_char;
    fn costar_work_free(work: *mut c_void);
}

/// What c10d says of an error, without the place in its source.
fn checked(message: *mut c_char) -> Result<(), String> {
    // SAFETY: it comes from `guarded.h`.
    let Err(text) = (unsafe { guarded::checked(message) }) else { return Ok(()) };
    let line = text.lines().next().unwrap_or_default();
    Err(line.rsplit_once("] ").map_or(line, |(_, said)| said).trim().trim_end_matches('.').to_owned())
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// The key-value store of a group: a `PrefixStore` over a `TCPStore`.
#[derive(Debug)]
pub(super) struct Store(*mut c_void);

// SAFETY: a TCPStore guards each of its operations with a lock.
unsafe impl Send for Store {}
// SAFETY: see above.
unsafe impl Sync for Store {}

impl Store {
    /// Opens the store at an address, or with `serve`, holds it there.
    pub(super) fn open(host: &str, port: u16, serve: bool, patience: Duration, prefix: &str) -> Result<Self, String> {
        let mut store = ptr::null_mut();
        let (host, prefix) = (c_text(host), c_text(prefix));
        // SAFETY: the texts live as long as the call; the store is written before it returns without a message.
        checked(unsafe {
            costar_store_open(host.as_ptr(), port, serve, patience.as_millis() as i64, prefix.as_ptr(), &mut store)
        })?;
        Ok(Store(store))
    }

    /// The same store, for keys that begin with `prefix`.
    pub(super) fn within(&self, prefix: &str) -> Result<Self, String> {
        let mut within = ptr::null_mut();
        // SAFETY: the store is open; the new one holds what it needs of it.
        checked(unsafe { costar_store_within(self.0, c_text(prefix).as_ptr(), &mut within) })?;
        Ok(Store(within))
    }

    /// Adds to a counter, which begins at 0; the sum.
    pub(super) fn add(&self, key: &str, by: i64) -> Result<i64, String> {
        let mut sum = 0;
        // SAFETY: the store is open, and the key lives as long as the call.
        checked(unsafe { costar_store_add(self.0, c_text(key).as_ptr(), by, &mut sum) })?;
        Ok(sum)
    }

    pub(super) fn set(&self, key: &str, value: &[u8]) -> Result<(), String> {
        // SAFETY: as above; the bytes are copied.
        checked(unsafe { costar_store_set(self.0, c_text(key).as_ptr(), value.as_ptr(), value.len()) })
    }

    pub(super) fn has(&self, key: &str) -> Result<bool, String> {
        let mut has = false;
        // SAFETY: as above.
        checked(unsafe { costar_store_has(self.0, c_text(key).as_ptr(), &mut has) })?;
        Ok(has)
    }

    /// The value of a key that is there; where it is not, waits for it.
    pub(super) fn get(&self, key: &str) -> Result<Vec<u8>, String> {
        let (mut bytes, mut length) = (ptr::null_mut(), 0);
        // SAFETY: as above; the bytes are ours to free.
        checked(unsafe { costar_store_get(self.0, c_text(key).as_ptr(), &mut bytes, &mut length) })?;
        // SAFETY: so many bytes were written there.
        unsafe {
            let value = std::slice::from_raw_parts(bytes, length).to_vec();
            libc::free(bytes.cast());
            Ok(value)
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: it was opened, and nobody uses it any more.
        unsafe { costar_store_close(self.0) }
    }
}

/// Collectives on the CPU by gloo, one at a time.
#[derive(Debug)]
pub(super) struct Gloo {
    handle: Mutex<Handle>,
    /// Milliseconds that a collective waits for the slowest rank.
    slowest: i64,
}

/// A group of gloo; none once a collective was given up, whose thread goes on.
#[derive(Debug)]
struct Handle(Option<*mut c_void>);

// SAFETY: the lock around it lets one thread at a time use it.
unsafe impl Send for Handle {}

impl Gloo {
    /// Joins all ranks. `hostname` or `interface` say where the others reach this one.
    pub(super) fn open(
        store: &Store,
        (rank, size): (usize, usize),
        connecting: Duration,
        slowest: Duration,
        hostname: Option<&str>,
        interface: Option<&str>,
    ) -> Result<Self, String> {
        let mut group = ptr::null_mut();
        let (hostname, interface) = (hostname.map(c_text), interface.map(c_text));
        let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        // SAFETY: the store is open and is held by the group; the texts live as long as the call.
        checked(unsafe {
            costar_group_open(
                store.0,
                rank as c_int,
                size as c_int,
                connecting.as_millis() as i64,
                pointer(&hostname),
                pointer(&interface),
                &mut group,
            )
        })?;
        Ok(Gloo { handle: Mutex::new(Handle(Some(group))), slowest: slowest.as_millis() as i64 })
    }

    /// Begins a collective on memory that is its own until it has ended, and waits for it, but not for a group that
    /// `is_over`: then neither the memory nor gloo's thread is ours any more.
    fn run<T>(
        &self,
        mut memory: T,
        is_over: &dyn Fn() -> bool,
        begin: impl FnOnce(*mut c_void, &mut T, *mut *mut c_void) -> *mut c_char,
    ) -> Result<T, String> {
        const LOOK_MILLISECONDS: i64 = 500;
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let group = handle.0.ok_or("a collective was given up before")?;
        let mut work = ptr::null_mut();
        checked(begin(group, &mut memory, &mut work))?;
        loop {
            let mut ended = false;
            // SAFETY: the work has begun, and is freed once it has ended.
            let result = checked(unsafe { costar_work_wait(work, LOOK_MILLISECONDS, &mut ended) });
            if ended {
                // SAFETY: as above.
                unsafe { costar_work_free(work) };
                return result.map(|()| memory);
            }
            if is_over() {
                handle.0 = None;
                std::mem::forget(memory);
                return Err("a rank does not answer".into());
            }
        }
    }

    /// The sums over all ranks.
    pub(super) fn sum(&self, numbers: Vec<f32>, is_over: &dyn Fn() -> bool) -> Result<Vec<f32>, String> {
        // SAFETY: the numbers stay where they are until all ranks have them.
        self.run(numbers, is_over, |group, numbers, work| unsafe {
            costar_group_sum(group, numbers.as_mut_ptr(), numbers.len() as i64, self.slowest, work)
        })
    }

    /// What `root` has: as many bytes on every rank.
    pub(super) fn broadcast(&self, bytes: Vec<u8>, root: usize, is_over: &dyn Fn() -> bool) -> Result<Vec<u8>, String> {
        // SAFETY: as above.
        self.run(bytes, is_over, |group, bytes, work| unsafe {
            costar_group_broadcast(group, bytes.as_mut_ptr(), bytes.len() as i64, root as c_int, self.slowest, work)
        })
    }

    /// Sends `to[r]` to each rank r; what each rank has sent here, as long as `lengths` says.
    pub(super) fn all_to_all(
        &self,
        to: &[Vec<u8>],
        lengths: &[usize],
        is_over: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<u8>>, String> {
        assert_eq!(to.len(), lengths.len(), "one message and one length a rank");
        let counts = |lengths: &mut dyn Iterator<Item = usize>| lengths.map(|length| length as i64).collect::<Vec<_>>();
        let counts_to = counts(&mut to.iter().map(Vec::len));
        let counts_from = counts(&mut lengths.iter().copied());
        // One byte more: a pointer to nothing is none.
        let mut all = Vec::with_capacity(to.iter().map(Vec::len).sum::<usize>() + 1);
        to.iter().for_each(|message| all.extend_from_slice(message));
        all.push(0);
        let from = vec![0; lengths.iter().sum::<usize>() + 1];
        // SAFETY: both hold as many bytes as the counts say, and stay where they are until the work has ended.
        let (_, from) = self.run((all, from), is_over, |group, (to, from), work| unsafe {
            costar_group_all_to_all(
                group,
                from.as_mut_ptr(),
                counts_from.as_ptr(),
                to.as_ptr(),
                counts_to.as_ptr(),
                lengths.len() as c_int,
                self.slowest,
                work,
            )
        })?;
        let mut from = &from[..];
        Ok(lengths.iter().map(|&length| from.split_off(..length).unwrap_or_default().to_vec()).collect())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // SAFETY: it was opened, and nobody uses it any more.
            unsafe { costar_group_close(group) }
        }
    }
}
