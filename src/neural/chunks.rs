//! Evaluates rows in chunks that fill the device: a CUDA device gets the next chunk before it has finished the current
//! one, and smaller chunks if its memory is short.

use super::device::Device;
use super::evaluator::{Evaluator, PassInFlight};
use crate::heuristic::{Estimates, HeuristicError, Query};
use crate::tensors::{caught, is_out_of_memory};
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// The most chunks in flight on a CUDA device.
const MAX_IN_FLIGHT_ON_CUDA: usize = 2;

/// The time between two questions whether a pass is done: little beside the milliseconds that it takes.
const POLL_INTERVAL: Duration = Duration::from_micros(20);

/// A chunk of rows to evaluate, and where its estimates go.
pub(super) struct ChunkRequest {
    pub(super) rows: Array2<u8>,
    pub(super) query: Query,
    pub(super) reply: Sender<Evaluated>,
}

/// A pass in flight, or the error of its start.
type Pass = Result<Box<dyn PassInFlight>, String>;

/// The estimates of a request.
pub(super) type Evaluated = Result<Estimates, HeuristicError>;

/// The error of a pass with too many rows, which does not start.
const TOO_MANY_ROWS: &str = "not enough memory";

/// Batch size that saturates the device, keeps activations in a CPU's cache, and lets a stop take effect soon.
pub(super) fn chunk_size(evaluator: &dyn Evaluator, device: Device) -> usize {
    let operations = usize::try_from(evaluator.operations()).unwrap_or(usize::MAX);
    if device.is_cuda() {
        (1usize << 36).checked_div(operations).unwrap_or(1 << 16).clamp(1 << 15, 1 << 17)
    } else {
        (1usize << 35).checked_div(operations).unwrap_or(1 << 12).clamp(1 << 4, 1 << 12)
    }
}

/// An evaluator that gets at most as many rows at a time as its device's memory holds.
pub(super) struct ChunkEvaluator {
    /// `int8::Int8Mlp` for a dense network on a CPU with fast 8-bit products; `NetworkKind::fastest_precision` chooses.
    evaluator: Box<dyn Evaluator>,
    device: Device,
    /// Largest chunk known to fit, in rows.
    pub(super) max_rows: usize,
}

impl ChunkEvaluator {
    pub(super) fn new(evaluator: Box<dyn Evaluator>, device: Device, max_rows: usize) -> Self {
        ChunkEvaluator { evaluator, device, max_rows }
    }

    fn max_in_flight(&self) -> usize {
        if self.device.is_cuda() { MAX_IN_FLIGHT_ON_CUDA } else { 1 }
    }

    /// Evaluates requests in order until their channel closes. Requests that wait at the same time share a pass of at most
    /// `chunk` rows.
    pub(super) fn serve(&mut self, requests: &Receiver<ChunkRequest>, chunk: usize) {
        let mut waiting: VecDeque<ChunkRequest> = VecDeque::new();
        let mut in_flight: VecDeque<(RequestGroup, Pass)> = VecDeque::new();
        loop {
            if waiting.is_empty() && in_flight.is_empty() {
                let Ok(request) = requests.recv() else { return };
                waiting.push_back(request);
            }
            waiting.extend(requests.try_iter());
            let may_begin = in_flight.len() < self.max_in_flight();
            let is_done = |(_, pass): &(RequestGroup, Pass)| pass.as_ref().map_or(true, |pass| pass.is_done());
            if may_begin && !waiting.is_empty() {
                let group = RequestGroup::next(&mut waiting, chunk.min(self.max_rows));
                let pass = self.begin(&group);
                in_flight.push_back((group, pass));
            } else if may_begin && !in_flight.front().is_some_and(is_done) {
                // The next request may come before the oldest is done.
                waiting.extend(requests.recv_timeout(POLL_INTERVAL));
            } else if let Some((group, pass)) = in_flight.pop_front() {
                let estimates = self.end(&group, pass);
                group.reply(estimates);
            }
        }
    }

    fn begin(&self, group: &RequestGroup) -> Pass {
        if group.rows.nrows() > self.max_rows {
            return Err(TOO_MANY_ROWS.into());
        }
        caught(|| self.evaluator.begin(group.rows.view(), group.with_policy))
    }

    fn end(&mut self, group: &RequestGroup, pass: Pass) -> Result<Estimates, String> {
        match end_pass(pass) {
            // It may fit now, or in smaller chunks.
            Err(message) if is_out_of_memory(&message) => {
                self.evaluate_all(group.rows.view(), group.with_policy).map(concatenated)
            }
            result => result,
        }
    }

    /// Evaluates any number of rows.
    pub(super) fn evaluate(&mut self, rows: ArrayView2<'_, u8>, query: Query) -> Evaluated {
        let chunks = self.evaluate_all(rows, query == Query::ValuesAndPolicy).map_err(HeuristicError)?;
        checked(concatenated(chunks))
    }

    /// Evaluates any number of rows, chunk by chunk; values are not clamped at 0.
    ///
    /// # Errors
    /// If the device fails: libtorch's message, shortened.
    pub(super) fn evaluate_all(
        &mut self,
        rows: ArrayView2<'_, u8>,
        with_policy: bool,
    ) -> Result<Vec<Estimates>, String> {
        let mut max_in_flight = self.max_in_flight();
        let (mut chunks, mut done, mut next) = (Vec::new(), 0, 0);
        let mut in_flight: VecDeque<(usize, Pass)> = VecDeque::new();
        while done < rows.nrows() {
            if next < rows.nrows() && in_flight.len() < max_in_flight {
                let count = (rows.nrows() - next).min(self.max_rows);
                let chunk = rows.slice(s![next..next + count, ..]);
                in_flight.push_back((count, caught(|| self.evaluator.begin(chunk, with_policy))));
                next += count;
            } else if let Some((count, oldest)) = in_flight.pop_front() {
                match end_pass(oldest) {
                    Ok(estimates) => {
                        chunks.push(estimates);
                        done += count;
                    }
                    Err(message) => {
                        // Later passes may hold memory, or lack it: they end, and start again.
                        in_flight.drain(..).for_each(|(_, later)| drop(end_pass(later)));
                        next = done;
                        if max_in_flight > 1 && is_out_of_memory(&message) {
                            max_in_flight = 1; // the chunk may fit alone
                        } else {
                            self.halve(count, message)?;
                        }
                    }
                }
            }
        }
        Ok(chunks)
    }

    /// Halves the chunks after a pass that did not fit the memory; passes on another error.
    fn halve(&mut self, count: usize, message: String) -> Result<(), String> {
        if !is_out_of_memory(&message) {
            return Err(message);
        }
        if count < 2 {
            return Err(self.device.failure(&message));
        }
        self.max_rows = self.max_rows.min(count / 2);
        log::warn!("{} is out of memory: it evaluates {} states at a time from now on", self.device, self.max_rows);
        Ok(())
    }
}

fn end_pass(pass: Pass) -> Result<Estimates, String> {
    pass.and_then(|pass| caught(|| pass.end()))
}

/// The estimates of all chunks.
fn concatenated(chunks: Vec<Estimates>) -> Estimates {
    let mut all = Estimates { values: Vec::new(), policy: None };
    chunks.into_iter().for_each(|chunk| all.append(chunk));
    all
}

/// Estimates, clamped at 0.
///
/// # Errors
/// If one is not finite.
fn checked(mut estimates: Estimates) -> Evaluated {
    let numbers = estimates.values.iter().chain(estimates.policy.iter().flatten());
    if let Some(bad) = numbers.copied().find(|number| !number.is_finite()) {
        return Err(HeuristicError(format!("the network's estimate is {bad}: its weights are damaged")));
    }
    estimates.values.iter_mut().for_each(|value| *value = value.max(0.0));
    Ok(estimates)
}

/// Requests that are evaluated in one pass.
struct RequestGroup {
    rows: Array2<u8>,
    with_policy: bool,
    /// The number of rows of each, its query, and where its estimates go.
    requests: Vec<(usize, Query, Sender<Evaluated>)>,
}

impl RequestGroup {
    /// Takes the requests that come next, one at least, and no more than fit into a chunk.
    fn next(waiting: &mut VecDeque<ChunkRequest>, chunk: usize) -> Self {
        let mut count = 0;
        let fits = |request: &&ChunkRequest| {
            count += request.rows.nrows();
            count <= chunk
        };
        let next = waiting.iter().take_while(fits).count().max(1);
        let next =
            waiting.drain(..next).map(|ChunkRequest { rows, query, reply }| ((rows.nrows(), query, reply), rows));
        let (requests, mut rows): (Vec<_>, Vec<_>) = next.unzip();
        let rows = match rows.len() {
            1 => rows.swap_remove(0),
            _ => {
                let views: Vec<_> = rows.iter().map(Array2::view).collect();
                concatenate(Axis(0), &views).expect("rows of one puzzle")
            }
        };
        let with_policy = requests.iter().any(|(_, query, _)| *query == Query::ValuesAndPolicy);
        RequestGroup { rows, with_policy, requests }
    }

    /// Sends each request its part.
    fn reply(self, estimates: Result<Estimates, String>) {
        let mut estimates = estimates.map_err(HeuristicError);
        for (count, query, reply) in self.requests {
            let part = estimates.as_mut().map_err(|error| error.clone()).and_then(|rest| {
                let Estimates { values, policy } = rest.split_front(count);
                checked(Estimates { values, policy: policy.filter(|_| query == Query::ValuesAndPolicy) })
            });
            // A search that is gone needs no estimates.
            let _ = reply.send(part);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    /// A device that need not exist.
    const CUDA: Device = Device(tch::Device::Cuda(0));

    fn sums(rows: ArrayView2<'_, u8>) -> Estimates {
        Estimates { values: rows.rows().into_iter().map(|row| f32::from(row.sum())).collect(), policy: None }
    }

    /// Sums each row, for at most `max_rows` at a time.
    pub(in crate::neural) struct SmallMemory {
        pub(in crate::neural) max_rows: usize,
        pub(in crate::neural) message: &'static str,
    }

    impl Evaluator for SmallMemory {
        fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn PassInFlight> {
            assert!(rows.nrows() <= self.max_rows, "{}", self.message);
            Box::new(sums(rows))
        }

        fn operations(&self) -> u64 {
            1
        }
    }

    fn evaluate(message: &'static str) -> Result<Vec<f32>, HeuristicError> {
        let evaluator = Box::new(SmallMemory { max_rows: 10, message });
        let mut chunks = ChunkEvaluator { evaluator, device: Device::CPU, max_rows: usize::MAX };
        let rows = Array2::from_shape_fn((100, 2), |(row, _)| row as u8);
        let values = chunks.evaluate(rows.view(), Query::Values).map(|estimates| estimates.values);
        assert!(values.is_err() || chunks.max_rows <= 10, "it remembers what fits");
        values
    }

    #[test]
    fn a_device_without_memory_gets_smaller_chunks() {
        for message in ["CUDA out of memory. Tried", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"] {
            let values = evaluate(message).expect("it fits in parts");
            assert!(values.iter().enumerate().all(|(row, &value)| value == 2.0 * row as f32), "{values:?}");
        }
        let failed = evaluate("CUDA error: device-side assert triggered").expect_err("it is not the memory");
        assert!(failed.0.contains("device-side"), "{failed}");
    }

    fn serve(
        evaluator: Box<dyn Evaluator>,
        on: Device,
        chunk: usize,
    ) -> (Sender<ChunkRequest>, thread::JoinHandle<()>) {
        let mut chunks = ChunkEvaluator::new(evaluator, on, usize::MAX);
        let (requests, inbox) = channel();
        (requests, thread::spawn(move || chunks.serve(&inbox, chunk)))
    }

    /// Asks for rows of one cell with this symbol.
    fn request(requests: &Sender<ChunkRequest>, rows: usize, symbol: u8) -> Receiver<Evaluated> {
        let (reply, estimates) = channel();
        let rows = Array2::from_elem((rows, 1), symbol);
        requests.send(ChunkRequest { rows, query: Query::Values, reply }).expect("it serves");
        estimates
    }

    /// A device that is done with a chunk when the test allows it.
    #[derive(Clone, Default)]
    pub(in crate::neural) struct SlowDevice {
        pub(in crate::neural) started: Arc<AtomicUsize>,
        most_at_once: Arc<AtomicUsize>,
        ended: Arc<AtomicUsize>,
        pub(in crate::neural) may_end: Arc<AtomicUsize>,
    }

    struct SlowPass {
        device: SlowDevice,
        number: usize,
        sums: Estimates,
    }

    impl Evaluator for SlowDevice {
        fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn PassInFlight> {
            let number = self.started.fetch_add(1, Ordering::SeqCst);
            self.most_at_once.fetch_max(number + 1 - self.ended.load(Ordering::SeqCst), Ordering::SeqCst);
            Box::new(SlowPass { device: self.clone(), number, sums: sums(rows) })
        }

        fn operations(&self) -> u64 {
            1
        }
    }

    impl PassInFlight for SlowPass {
        fn is_done(&self) -> bool {
            self.number < self.device.may_end.load(Ordering::SeqCst)
        }

        fn end(self: Box<Self>) -> Estimates {
            while !self.is_done() {
                thread::yield_now();
            }
            self.device.ended.fetch_add(1, Ordering::SeqCst);
            self.sums
        }
    }

    #[test]
    fn a_device_has_the_next_chunk_before_it_is_done_with_one() {
        let device = SlowDevice::default();
        let (requests, thread) = serve(Box::new(device.clone()), CUDA, 3);
        let replies: Vec<_> = (0..6).map(|chunk| request(&requests, 3, chunk)).collect();
        while device.started.load(Ordering::SeqCst) < MAX_IN_FLIGHT_ON_CUDA {
            thread::yield_now(); // for ever, if chunks started one after the other
        }
        assert!(replies[0].try_recv().is_err(), "none is done");
        for (chunk, reply) in replies.into_iter().enumerate() {
            device.may_end.store(chunk + 1, Ordering::SeqCst);
            let estimates = reply.recv().expect("it serves").expect("it evaluates");
            assert_eq!(estimates.values, [chunk as f32; 3]);
        }
        assert_eq!(device.most_at_once.load(Ordering::SeqCst), MAX_IN_FLIGHT_ON_CUDA);
        drop(requests);
        thread.join().expect("it ends with the requests");
    }

    #[test]
    fn requests_that_wait_together_share_passes_and_get_their_own_estimates() {
        let device = SlowDevice::default();
        let (requests, thread) = serve(Box::new(device.clone()), Device::CPU, 9);
        let mut replies = vec![request(&requests, 1, 0)];
        while device.started.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        replies.extend((1..=4).map(|symbol| request(&requests, 3, symbol)));
        drop(request(&requests, 9, 5)); // a search that is gone
        device.may_end.store(usize::MAX, Ordering::SeqCst);
        for (symbol, reply) in replies.into_iter().enumerate() {
            let estimates = reply.recv().expect("it serves").expect("it evaluates");
            assert_eq!(estimates.values, vec![symbol as f32; if symbol == 0 { 1 } else { 3 }]);
        }
        drop(requests);
        thread.join().expect("it ends with the requests");
        assert_eq!(device.started.load(Ordering::SeqCst), 4, "of 1, 9, 3 and 9 rows");
    }

    #[test]
    fn only_the_search_whose_pass_failed_gets_the_error() {
        let evaluator = SmallMemory { max_rows: 10, message: "CUDA error: device-side assert triggered" };
        let (requests, _) = serve(Box::new(evaluator), Device::CPU, 10);
        let replies = [3, 20, 4].map(|rows| (rows, request(&requests, rows, 1)));
        for (rows, reply) in replies {
            match reply.recv().expect("it serves") {
                Ok(estimates) => assert_eq!(estimates.values, vec![1.0; rows]),
                Err(error) => assert!(rows == 20 && error.0.contains("device-side"), "{rows}: {error}"),
            }
        }
    }

    #[test]
    fn the_chunks_of_many_rows_start_before_earlier_results() {
        let device = SlowDevice::default();
        device.may_end.store(usize::MAX, Ordering::SeqCst);
        let rows = Array2::from_shape_fn((100, 1), |(row, _)| row as u8);
        for (on, in_flight) in [(Device::CPU, 1), (CUDA, MAX_IN_FLIGHT_ON_CUDA)] {
            device.most_at_once.store(0, Ordering::SeqCst);
            let mut chunks = ChunkEvaluator::new(Box::new(device.clone()), on, 30);
            let parts = chunks.evaluate_all(rows.view(), false).expect("it evaluates");
            assert_eq!(parts.iter().map(|part| part.values.len()).collect::<Vec<_>>(), [30, 30, 30, 10]);
            assert!(parts.into_iter().flat_map(|part| part.values).eq((0..100).map(|row| row as f32)));
            assert_eq!(device.most_at_once.load(Ordering::SeqCst), in_flight, "{on}");
        }
        // The values are the same if memory is short.
        let evaluator = Box::new(SmallMemory { max_rows: 10, message: "CUDA out of memory. Tried" });
        let mut chunks = ChunkEvaluator::new(evaluator, CUDA, 30);
        let parts = chunks.evaluate_all(rows.view(), false).expect("it fits in parts");
        assert!(parts.into_iter().flat_map(|part| part.values).eq((0..100).map(|row| row as f32)));
    }

    /// A device with memory for one chunk at a time.
    #[derive(Clone, Default)]
    struct OneAtATime(Arc<AtomicUsize>);

    impl Evaluator for OneAtATime {
        fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn PassInFlight> {
            assert!(self.0.load(Ordering::SeqCst) == 0, "CUDA out of memory. Tried");
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::new(LonePass(self.0.clone(), sums(rows)))
        }

        fn operations(&self) -> u64 {
            1
        }
    }

    struct LonePass(Arc<AtomicUsize>, Estimates);

    impl PassInFlight for LonePass {
        fn is_done(&self) -> bool {
            true
        }

        fn end(self: Box<Self>) -> Estimates {
            self.0.fetch_sub(1, Ordering::SeqCst);
            self.1
        }
    }

    #[test]
    fn a_chunk_that_fits_alone_is_not_halved() {
        let rows = Array2::from_shape_fn((91, 1), |(row, _)| row as u8);
        let mut chunks = ChunkEvaluator::new(Box::new(OneAtATime::default()), CUDA, 30);
        let parts = chunks.evaluate_all(rows.view(), false).expect("it fits");
        assert_eq!(parts.iter().map(|part| part.values.len()).collect::<Vec<_>>(), [30, 30, 30, 1]);
        assert!(parts.into_iter().flat_map(|part| part.values).eq((0..91).map(|row| row as f32)));
        assert_eq!(chunks.max_rows, 30);
    }

    #[test]
    fn a_chunk_without_memory_is_evaluated_in_smaller_ones_after_the_one_before() {
        let evaluator = Box::new(SmallMemory { max_rows: 10, message: "CUDA out of memory. Tried" });
        let mut chunks = ChunkEvaluator { evaluator, device: Device::CPU, max_rows: usize::MAX };
        let of = |count| {
            let rows = Array2::from_shape_fn((count, 1), |(row, _)| row as u8);
            RequestGroup { rows, with_policy: false, requests: Vec::new() }
        };
        let passes = [8, 30, 9].map(|count| chunks.begin(&of(count)));
        for (pass, count) in passes.into_iter().zip([8, 30, 9]) {
            let values = chunks.end(&of(count), pass).expect("it fits in parts").values;
            assert!(values.into_iter().eq((0..count).map(|row| row as f32)));
        }
        assert_eq!(chunks.max_rows, 7);
        assert!(chunks.begin(&of(8)).is_err(), "it is too large");
    }

    #[test]
    fn chunks_follow_the_size_of_the_network() {
        struct WithOperations(u64);
        impl Evaluator for WithOperations {
            fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn PassInFlight> {
                Box::new(sums(rows))
            }

            fn operations(&self) -> u64 {
                self.0
            }
        }
        let sizes = |device| {
            [0, 100_000, 2_400_000, 340_000_000].map(|operations| chunk_size(&WithOperations(operations), device))
        };
        assert_eq!(sizes(CUDA), [1 << 16, 1 << 17, 1 << 15, 1 << 15]);
        assert_eq!(sizes(Device::CPU), [1 << 12, 1 << 12, 1 << 12, 101]);
    }
}
