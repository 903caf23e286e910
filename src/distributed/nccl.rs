//! Sums on CUDA devices by NCCL, whose functions are looked up in the libraries that libtorch's CUDA part brings along:
//! nothing of CUDA is needed to build costar, or to run it on the CPU.

use super::group::Group;
use super::liveness::LOOK;
use crate::error::Result;
use libloading::os::unix::Library as Shared;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// `ncclUniqueId`: what the ranks of one communicator know each other by.
#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([u8; UNIQUE_ID_BYTES]);

const UNIQUE_ID_BYTES: usize = 128;
/// How long an abort waits for a call that gives work.
const PATIENCE: Duration = Duration::from_secs(2);

/// `ncclFloat32` and `ncclSum`.
const FLOAT32: c_int = 7;
const SUM: c_int = 0;

/// The functions of NCCL, and the one of CUDA, that are used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Library {
    get_unique_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    comm_init_rank: unsafe extern "C" fn(*mut *mut c_void, c_int, UniqueId, c_int) -> c_int,
    all_reduce:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, *mut c_void, *mut c_void) -> c_int,
    comm_get_async_error: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    comm_abort: unsafe extern "C" fn(*mut c_void) -> c_int,
    get_error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    get_version: unsafe extern "C" fn(*mut c_int) -> c_int,
    set_device: unsafe extern "C" fn(c_int) -> c_int,
}

impl Library {
    /// Looks the functions up among all that this process has loaded, and in `libnccl.so.2`.
    pub(super) fn find() -> Result<Library, String> {
        // SAFETY: the library's initialisers run; it is made to be loaded so.
        let named = unsafe { Shared::new("libnccl.so.2") };
        Library::within([Some(Shared::this()), named.ok()].into_iter().flatten().collect())
    }

    /// Looks the functions up in the first of these libraries that has them, which stay loaded for ever.
    fn within(places: Vec<Shared>) -> Result<Library, String> {
        let places = places.leak();
        Ok(Library {
            get_unique_id: function(places, c"ncclGetUniqueId")?,
            comm_init_rank: function(places, c"ncclCommInitRank")?,
            all_reduce: function(places, c"ncclAllReduce")?,
            comm_get_async_error: function(places, c"ncclCommGetAsyncError")?,
            comm_abort: function(places, c"ncclCommAbort")?,
            get_error_string: function(places, c"ncclGetErrorString")?,
            get_version: function(places, c"ncclGetVersion")?,
            set_device: function(places, c"cudaSetDevice")?,
        })
    }

    /// The version, as NCCL writes it: 2.28.9.
    fn version(&self) -> String {
        let mut code = 0;
        // SAFETY: a number is written there.
        match unsafe { (self.get_version)(&mut code) } {
            0 => format!("{}.{}.{}", code / 10000, code / 100 % 100, code % 100),
            _ => "of an unknown version".into(),
        }
    }

    fn unique_id(&self) -> Result<UniqueId, String> {
        let mut id = UniqueId([0; UNIQUE_ID_BYTES]);
        // SAFETY: so many bytes are written there.
        self.checked(unsafe { (self.get_unique_id)(&mut id) })?;
        Ok(id)
    }

    /// Joins the ranks that know the same id; returns once all have.
    fn join(&self, id: UniqueId, (rank, size): (usize, usize), device: usize) -> Result<Communicator, String> {
        let mut handle = ptr::null_mut();
        self.choose(device)?;
        // SAFETY: plain numbers; the handle is written before it returns 0.
        self.checked(unsafe { (self.comm_init_rank)(&mut handle, size as c_int, id, rank as c_int) })?;
        let (aborted, in_use) = (AtomicBool::new(false), Mutex::new(()));
        Ok(Communicator { library: *self, handle, device, aborted, in_use })
    }

    /// Makes a device the one that this thread means by its default stream.
    fn choose(&self, device: usize) -> Result<(), String> {
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
        // SAFETY: NCCL gives a text that lives for ever.
        let text = unsafe { (self.get_error_string)(code).as_ref().map(|text| CStr::from_ptr(text)) };
        Err(format!("NCCL: {}", text.map_or("an unknown error".into(), CStr::to_string_lossy)))
    }
}

/// A function by its name. Its type must be the one that the library gives it.
fn function<F: Copy>(places: &'static [Shared], name: &CStr) -> Result<F, String> {
    // SAFETY: the types are those of NCCL's and CUDA's headers, and the libraries stay.
    let found = places.iter().find_map(|place| unsafe { place.get::<F>(name.to_bytes_with_nul()).ok() });
    found
        .map(|symbol| *symbol)
        .ok_or_else(|| format!("there is no function {} in the libraries", name.to_string_lossy()))
}

/// The ranks that sum numbers on their CUDA devices.
#[derive(Debug)]
pub(super) struct Communicator {
    library: Library,
    handle: *mut c_void,
    device: usize,
    aborted: AtomicBool,
    /// Held while it is given work.
    in_use: Mutex<()>,
}

// SAFETY: one thread at a time gives it work, and NCCL lets another one abort it.
unsafe impl Send for Communicator {}
// SAFETY: see above.
unsafe impl Sync for Communicator {}

impl Communicator {
    /// Gives the device the work to make `count` numbers at `address` the sums over all ranks, after all that its default
    /// stream was given before.
    ///
    /// # Safety
    /// There are so many numbers on the device until the work is done.
    pub(super) unsafe fn sum(&self, address: *mut f32, count: usize) -> Result<(), String> {
        let _in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if self.aborted.load(Ordering::Relaxed) {
            return Err("NCCL was aborted".into());
        }
        self.library.choose(self.device)?;
        let (numbers, default_stream) = (address.cast::<c_void>(), ptr::null_mut());
        let mut earlier = 0;
        // SAFETY: as the caller says; the handle was opened.
        unsafe {
            self.library.checked((self.library.comm_get_async_error)(self.handle, &mut earlier))?;
            self.library.checked(earlier)?;
            let code = (self.library.all_reduce)(numbers, numbers, count, FLOAT32, SUM, self.handle, default_stream);
            self.library.checked(code)
        }
    }

    /// Ends its work, whatever the other ranks do.
    pub(super) fn abort(&self) {
        if !self.aborted.swap(true, Ordering::Relaxed) {
            // A call that returns is waited for; one that is stuck needs the abort.
            let begun = Instant::now();
            let mut in_use = self.in_use.try_lock();
            while in_use.is_err() && begun.elapsed() < PATIENCE {
                thread::sleep(LOOK);
                in_use = self.in_use.try_lock();
            }
            // SAFETY: it was opened, and this is the first and last time.
            unsafe { (self.library.comm_abort)(self.handle) };
        }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Joins all ranks of a group, each with its CUDA device; `None` on all of them if one of them cannot.
///
/// # Errors
/// If a rank has failed or died.
pub(super) fn join(
    group: &Group,
    device: usize,
    find: impl FnOnce() -> Result<Library, String>,
) -> Result<Option<Arc<Communicator>>> {
    // The rank that has the cause says it.
    let without = |why: Option<String>| {
        if let Some(why) = why {
            log::warn!("gradients pass through the host's memory, which is slow: {why}");
        }
        Ok(None)
    };
    let library = find();
    if !all(group, library.is_ok())? {
        return without(library.err());
    }
    let library = library.expect("every rank has one");
    let id = if group.is_first() { library.unique_id().map(|id| id.0.to_vec()) } else { Ok(Vec::new()) };
    let Ok(shared) = group.broadcast(id.clone().unwrap_or_default())?.try_into() else { return without(id.err()) };
    let (sender, receiver) = channel();
    let place = (group.rank(), group.size());
    // It waits for the other ranks, one of which may have failed.
    thread::spawn(move || sender.send(library.join(UniqueId(shared), place, device)));
    let joined = loop {
        match receiver.recv_timeout(LOOK) {
            Ok(joined) => break joined,
            Err(RecvTimeoutError::Disconnected) => break Err("NCCL's thread has ended".into()),
            Err(RecvTimeoutError::Timeout) if group.take(FAILED)?.is_some() => {
                break Err("another rank cannot join NCCL".into());
            }
            Err(RecvTimeoutError::Timeout) => (),
        }
    };
    if joined.is_err() {
        group.put(FAILED, b"")?;
    }
    match joined {
        Ok(communicator) if all(group, true)? => {
            log::info!("gradients are summed by NCCL {}", library.version());
            Ok(Some(Arc::new(communicator)))
        }
        Ok(_) => without(None),
        Err(why) => {
            all(group, false)?;
            without(Some(why))
        }
    }
}

/// The key that a rank sets which cannot join the others.
const FAILED: &str = "nccl/failed";

fn all(group: &Group, here: bool) -> Result<bool> {
    let sum = group.sum(vec![if here { 1.0 } else { 0.0 }])?;
    Ok(sum[0] as usize == group.size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::group::Gathered;
    use crate::distributed::place::{Meeting, Place};
    use std::path::Path;
    use std::process::Command;

    /// Compiles the stand-in for NCCL, whose devices are the host's memory, and whose ranks are threads.
    fn stand_in(folder: &Path) -> Library {
        let (source, library) =
            (concat!(env!("CARGO_MANIFEST_DIR"), "/test-data/nccl-on-threads.c"), folder.join("nccl.so"));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let compiled =
            Command::new(compiler).args(["-shared", "-fPIC", "-pthread", "-o"]).arg(&library).arg(source).status();
        assert!(compiled.expect("a C compiler").success());
        // SAFETY: it has no initialisers.
        let opened = unsafe { Shared::new(&library) }.expect("the library");
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
                        let meeting =
                            Meeting { host, port, serves: is_rank_0, outlives_ranks: false, is_rank_0, prefix };
                        let place = Place { rank, size: 3, local_rank: rank, meeting };
                        let group = Group::open(place, Arc::new(AtomicBool::new(false))).expect("a group");
                        assert_eq!(group.gather("the same").expect("all come"), Gathered::All);
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
        // 1 + 2 + 3 the first time; then thrice as much twice.
        let expected: Vec<f32> = (0..1000).map(|i| (i * 6 * 9) as f32).collect();
        assert!(sums.iter().all(|sum| *sum == expected));
    }

    #[test]
    fn without_it_on_one_rank_none_uses_it() {
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
                return true; // it never comes
            }
            let mut number = 1f32;
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(10 * LOOK);
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
