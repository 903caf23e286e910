//! Sums and messages of CUDA devices by NCCL. Its functions are looked up at run time in the libraries of libtorch's CUDA
//! part, so that costar builds, and runs on the CPU, without CUDA.

use super::group::Group;
use super::liveness::POLL_INTERVAL;
use crate::error::Result;
use crate::exchange::{DeviceBytes, Exchange as _};
use libloading::os::unix::Library as SharedLibrary;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// `ncclUniqueId`, which the ranks of one communicator share.
#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([u8; 128]);

/// How long an abort waits for a call that submits work.
const ABORT_TIMEOUT: Duration = Duration::from_secs(2);

/// `ncclUint8`, `ncclFloat32` and `ncclSum`.
const UINT8: c_int = 1;
const FLOAT32: c_int = 7;
const SUM: c_int = 0;

/// The functions of NCCL and CUDA that costar uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Library {
    get_unique_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    comm_init_rank: unsafe extern "C" fn(*mut *mut c_void, c_int, UniqueId, c_int) -> c_int,
    all_reduce:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> c_int,
    send: unsafe extern "C" fn(*const c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> c_int,
    receive: unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> c_int,
    group_start: unsafe extern "C" fn() -> c_int,
    group_end: unsafe extern "C" fn() -> c_int,
    comm_get_async_error: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    comm_abort: unsafe extern "C" fn(*mut c_void) -> c_int,
    get_error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    get_version: unsafe extern "C" fn(*mut c_int) -> c_int,
    set_device: unsafe extern "C" fn(c_int) -> c_int,
}

impl Library {
    /// Looks the functions up in this process and in `libnccl.so.2`.
    pub(super) fn find() -> Result<Library, String> {
        // SAFETY: NCCL's initialisers may run in any process.
        let nccl = unsafe { SharedLibrary::new("libnccl.so.2") };
        Library::within([SharedLibrary::this()].into_iter().chain(nccl).collect())
    }

    /// Looks the functions up in the first of these libraries that has them. The libraries stay loaded for ever.
    fn within(libraries: Vec<SharedLibrary>) -> Result<Library, String> {
        let libraries = libraries.leak();
        Ok(Library {
            get_unique_id: function(libraries, c"ncclGetUniqueId")?,
            comm_init_rank: function(libraries, c"ncclCommInitRank")?,
            all_reduce: function(libraries, c"ncclAllReduce")?,
            send: function(libraries, c"ncclSend")?,
            receive: function(libraries, c"ncclRecv")?,
            group_start: function(libraries, c"ncclGroupStart")?,
            group_end: function(libraries, c"ncclGroupEnd")?,
            comm_get_async_error: function(libraries, c"ncclCommGetAsyncError")?,
            comm_abort: function(libraries, c"ncclCommAbort")?,
            get_error_string: function(libraries, c"ncclGetErrorString")?,
            get_version: function(libraries, c"ncclGetVersion")?,
            set_device: function(libraries, c"cudaSetDevice")?,
        })
    }

    /// NCCL's version, such as 2.28.9.
    fn version(&self) -> String {
        let mut code = 0;
        // SAFETY: NCCL writes a number there.
        match unsafe { (self.get_version)(&mut code) } {
            0 => format!("{}.{}.{}", code / 10000, code / 100 % 100, code % 100),
            _ => "of an unknown version".into(),
        }
    }

    fn unique_id(&self) -> Result<UniqueId, String> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: NCCL writes 128 bytes there.
        self.checked(unsafe { (self.get_unique_id)(&mut id) }).map(|()| id)
    }

    /// Joins the ranks with the same id; returns once all have joined.
    fn join(&self, id: UniqueId, (rank, size): (usize, usize), device: usize) -> Result<Communicator, String> {
        let mut handle = ptr::null_mut();
        self.select(device)?;
        // SAFETY: plain numbers; NCCL writes the handle before it returns 0.
        self.checked(unsafe { (self.comm_init_rank)(&mut handle, size as c_int, id, rank as c_int) })?;
        let (aborted, submitting) = (AtomicBool::new(false), Mutex::new(()));
        Ok(Communicator { library: *self, handle, device, aborted, submitting })
    }

    /// Selects the CUDA device of this thread.
    fn select(&self, device: usize) -> Result<(), String> {
        // SAFETY: a plain number.
        match unsafe { (self.set_device)(device as c_int) } {
            0 => Ok(()),
            error => Err(format!("cudaSetDevice({device}) gives error {error}")),
        }
    }

    fn checked(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: NCCL returns a static text.
        let text = unsafe { (self.get_error_string)(code).as_ref().map(|text| CStr::from_ptr(text)) };
        Err(format!("NCCL: {}", text.map_or("an unknown error".into(), CStr::to_string_lossy)))
    }
}

/// Looks up a function, which must have the type `F`.
fn function<F: Copy>(libraries: &'static [SharedLibrary], name: &CStr) -> Result<F, String> {
    // SAFETY: the types are those of NCCL's and CUDA's headers, and the libraries stay loaded.
    let symbol = libraries.iter().find_map(|library| unsafe { library.get::<F>(name.to_bytes_with_nul()).ok() });
    symbol.map(|symbol| *symbol).ok_or_else(|| format!("the libraries have no function {}", name.to_string_lossy()))
}

/// Sums numbers on the CUDA devices of all ranks, and sends bytes from one to another.
#[derive(Debug)]
pub(super) struct Communicator {
    library: Library,
    handle: *mut c_void,
    device: usize,
    aborted: AtomicBool,
    /// Locked while a call submits work.
    submitting: Mutex<()>,
}

// SAFETY: one thread at a time submits work, and NCCL lets another one abort it.
unsafe impl Send for Communicator {}
// SAFETY: see above.
unsafe impl Sync for Communicator {}

impl Communicator {
    /// Submits the sum over all ranks of `count` numbers at `address`, in place, to the device's default stream.
    ///
    /// # Safety
    /// There are `count` numbers at `address` on the device until the work is done.
    pub(super) unsafe fn sum(&self, address: *mut f32, count: usize) -> Result<(), String> {
        let numbers = address.cast::<c_void>();
        let (all_reduce, handle) = (self.library.all_reduce, self.handle);
        // SAFETY: the caller guarantees the numbers; the handle is open.
        self.submit(|stream| {
            self.library.checked(unsafe { all_reduce(numbers, numbers, count, FLOAT32, SUM, handle, stream) })
        })
    }

    /// Submits messages to the device's default stream: the bytes `to[r]` for each rank r, and those of each rank s, which come
    /// to `from[s]`.
    ///
    /// # Safety
    /// The bytes lie on the device until the work is done, and each rank s sends as many as `from[s]` has.
    pub(super) unsafe fn all_to_all(&self, to: &[DeviceBytes], from: &[DeviceBytes]) -> Result<(), String> {
        let Library { send, receive, group_start, group_end, .. } = self.library;
        self.submit(|stream| {
            // SAFETY: the caller guarantees the bytes; the handle is open.
            unsafe {
                self.library.checked(group_start())?;
                let some = |(_, (_, count)): &(c_int, &DeviceBytes)| *count > 0;
                let sent = (0..).zip(to).filter(some).map(|(rank, &(bytes, count))| {
                    self.library.checked(send(bytes.cast(), count, UINT8, rank, self.handle, stream))
                });
                let received = (0..).zip(from).filter(some).map(|(rank, &(bytes, count))| {
                    self.library.checked(receive(bytes.cast(), count, UINT8, rank, self.handle, stream))
                });
                let submitted = sent.chain(received).collect::<Result<(), String>>();
                // Ends the group whatever has happened.
                submitted.and(self.library.checked(group_end()))
            }
        })
    }

    /// Submits work to the device's default stream, unless NCCL was aborted or has failed.
    fn submit(&self, work: impl FnOnce(*mut c_void) -> Result<(), String>) -> Result<(), String> {
        let _submitting = self.submitting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.aborted.load(Ordering::Relaxed) {
            return Err("NCCL was aborted".into());
        }
        self.library.select(self.device)?;
        let mut earlier = 0;
        // SAFETY: the handle is open; NCCL writes a number.
        self.library.checked(unsafe { (self.library.comm_get_async_error)(self.handle, &mut earlier) })?;
        self.library.checked(earlier)?;
        work(ptr::null_mut())
    }

    /// Aborts its work, whatever the other ranks do.
    pub(super) fn abort(&self) {
        if !self.aborted.swap(true, Ordering::Relaxed) {
            // Waits for a call that returns; one that is stuck returns only after the abort.
            let begin = Instant::now();
            let mut submitting = self.submitting.try_lock();
            while submitting.is_err() && begin.elapsed() < ABORT_TIMEOUT {
                thread::sleep(POLL_INTERVAL);
                submitting = self.submitting.try_lock();
            }
            // SAFETY: the handle is open, and `aborted` admits one call.
            unsafe { (self.library.comm_abort)(self.handle) };
        }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Joins all ranks of a group, each with its CUDA device; `None` on all ranks if one of them cannot join.
///
/// # Errors
/// If a rank has failed or died.
pub(super) fn join(
    group: &Group,
    device: usize,
    find: impl FnOnce() -> Result<Library, String>,
) -> Result<Option<Arc<Communicator>>> {
    // Only a rank with a reason logs it.
    let unavailable = |why: Option<String>| {
        if let Some(why) = why {
            log::warn!("messages of the ranks pass through the host's memory, which is slow: {why}");
        }
        Ok(None)
    };
    let library = find();
    if !all(group, library.is_ok())? {
        return unavailable(library.err());
    }
    let library = library.expect("every rank has one");
    let id = if group.is_first() { library.unique_id().map(|id| id.0.to_vec()) } else { Ok(Vec::new()) };
    let Ok(shared) = group.broadcast(id.clone().unwrap_or_default())?.try_into() else { return unavailable(id.err()) };
    let (sender, receiver) = channel();
    let rank_and_size = (group.rank(), group.size());
    // A thread of its own, because joining waits for the other ranks, one of which may have failed.
    thread::spawn(move || drop(sender.send(library.join(UniqueId(shared), rank_and_size, device))));
    let joined = loop {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(joined) => break joined,
            Err(RecvTimeoutError::Disconnected) => break Err("NCCL's thread has ended".into()),
            Err(RecvTimeoutError::Timeout) if group.take::<()>(FAILED)?.is_some() => {
                break Err("another rank cannot join NCCL".into());
            }
            Err(RecvTimeoutError::Timeout) => (),
        }
    };
    if joined.is_err() {
        group.put(FAILED, &())?;
    }
    if !all(group, joined.is_ok())? {
        return unavailable(joined.err());
    }
    log::info!("the ranks' devices exchange messages by NCCL {}", library.version());
    Ok(joined.ok().map(Arc::new))
}

/// The key that a rank sets if it cannot join.
const FAILED: &str = "nccl/failed";

/// Whether a condition holds on all ranks.
fn all(group: &Group, holds: bool) -> Result<bool> {
    let sum = group.sum(vec![if holds { 1.0 } else { 0.0 }])?;
    Ok(sum[0] as usize == group.size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::launcher::{DEFAULT_JOIN_TIMEOUT, LauncherEnv, Rendezvous};
    use std::path::Path;
    use std::process::Command;

    /// Compiles a stand-in for NCCL: its devices are the host's memory, and its ranks are threads.
    fn stand_in(folder: &Path) -> Library {
        let (source, library) =
            (concat!(env!("CARGO_MANIFEST_DIR"), "/test-data/nccl-on-threads.c"), folder.join("nccl.so"));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let compiled =
            Command::new(compiler).args(["-shared", "-fPIC", "-pthread", "-o"]).arg(&library).arg(source).status();
        assert!(compiled.expect("a C compiler").success());
        // SAFETY: it has no initialisers.
        let opened = unsafe { SharedLibrary::new(&library) }.expect("the library");
        Library::within(vec![opened]).expect("its functions")
    }

    /// Runs `run` as each of three ranks, which are threads of this process.
    fn on_three_ranks<T: Send>(run: impl Fn(Group) -> T + Sync) -> Vec<T> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number").port();
        thread::scope(|scope| {
            let ranks: Vec<_> = (0..3)
                .map(|rank| {
                    let run = &run;
                    scope.spawn(move || {
                        let (host, is_rank_0, prefix) = ("127.0.0.1".into(), rank == 0, "nccl".into());
                        let (outlives_ranks, join_timeout) = (false, DEFAULT_JOIN_TIMEOUT);
                        let rendezvous = Rendezvous { host, port, outlives_ranks, is_rank_0, join_timeout, prefix };
                        let env = LauncherEnv { rank, size: 3, local_rank: rank, rendezvous };
                        let group = Group::open(env, Arc::new(AtomicBool::new(false))).expect("a group");
                        assert!(group.join("the same").expect("all join"));
                        run(group)
                    })
                })
                .collect();
            ranks.into_iter().map(|rank| rank.join().expect("it ends well")).collect()
        })
    }

    #[test]
    fn numbers_on_devices_are_summed_in_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = stand_in(folder.path());
        let sums = on_three_ranks(|group| {
            let communicator = join(&group, group.rank(), || Ok(library)).expect("all are well").expect("all have it");
            let mut numbers: Vec<f32> = (0..1000).map(|i| (i * (group.rank() + 1)) as f32).collect();
            for _ in 0..3 {
                // SAFETY: the stand-in's device is this memory.
                unsafe { communicator.sum(numbers.as_mut_ptr(), numbers.len()) }.expect("a sum");
            }
            numbers
        });
        // The first sum is 1 + 2 + 3 times i; each of the next two adds three equal numbers.
        let expected: Vec<f32> = (0..1000).map(|i| (i * 6 * 9) as f32).collect();
        assert!(sums.iter().all(|sum| *sum == expected));
    }

    #[test]
    fn bytes_go_from_each_device_to_each() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = stand_in(folder.path());
        let length = |from: usize, to: usize| 10 * from + to;
        let received = on_three_ranks(|group| {
            let communicator = join(&group, group.rank(), || Ok(library)).expect("all are well").expect("all have it");
            let own = group.rank();
            let mut to: Vec<Vec<u8>> = (0..3).map(|rank| vec![(10 * own + rank) as u8; length(own, rank)]).collect();
            let mut from: Vec<Vec<u8>> = (0..3).map(|rank| vec![99; length(rank, own)]).collect();
            for _ in 0..2 {
                let [to, from] = [&mut to, &mut from]
                    .map(|all| all.iter_mut().map(|bytes| (bytes.as_mut_ptr(), bytes.len())).collect::<Vec<_>>());
                // SAFETY: the stand-in's device is this memory.
                unsafe { communicator.all_to_all(&to, &from) }.expect("messages");
            }
            from
        });
        for (own, from) in received.into_iter().enumerate() {
            let expected: Vec<Vec<u8>> = (0..3).map(|rank| vec![(10 * rank + own) as u8; length(rank, own)]).collect();
            assert_eq!(from, expected, "rank {own}");
        }
    }

    #[test]
    fn no_rank_uses_nccl_if_one_lacks_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = stand_in(folder.path());
        let missing = on_three_ranks(|group| {
            let find = || if group.rank() == 1 { Err("there is none".to_owned()) } else { Ok(library) };
            join(&group, group.rank(), find).expect("all are well").is_none()
        });
        assert_eq!(missing, [true; 3]);
        // The stand-in has 64 devices.
        let refused = on_three_ranks(|group| {
            let device = if group.rank() == 2 { 64 } else { group.rank() };
            join(&group, device, || Ok(library)).expect("all are well").is_none()
        });
        assert_eq!(refused, [true; 3]);
    }

    #[test]
    fn a_sum_that_waits_for_a_dead_rank_can_be_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = stand_in(folder.path());
        let ended = on_three_ranks(|group| {
            let communicator = join(&group, group.rank(), || Ok(library)).expect("all are well").expect("all have it");
            if group.rank() == 2 {
                return true; // it never calls sum
            }
            let mut number = 1f32;
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(10 * POLL_INTERVAL);
                    communicator.abort();
                });
                // SAFETY: as above.
                let first = unsafe { communicator.sum(&mut number, 1) };
                // SAFETY: as above.
                first.is_err() && unsafe { communicator.sum(&mut number, 1) }.is_err()
            })
        });
        assert_eq!(ended, [true; 3]);
    }

    #[test]
    fn a_library_without_the_functions_is_named() {
        let why = Library::within(Vec::new()).expect_err("nothing is there");
        assert!(why.contains("ncclGetUniqueId"), "{why}");
    }
}
