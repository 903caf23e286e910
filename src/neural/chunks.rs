//! Evaluates rows in chunks that fill the device: a CUDA device gets the next chunk before it is done with one, and smaller
//! chunks if its memory is short.

use super::device::Device;
use super::evaluator::{Evaluator, PassInFlight};
use crate::heuristic::{Estimates, HeuristicError, Query};
use crate::tensors::{caught, is_out_of_memory};
use ndarray::{Array2, ArrayView2, s};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

/// The most chunks in flight on a CUDA device.
const MAX_IN_FLIGHT_ON_CUDA: usize = 2;

/// A chunk of rows to evaluate.
pub(super) struct Request {
    pub(super) rows: Array2<u8>,
    pub(super) query: Query,
}

/// A pass in flight, or the error of its start.
type Pass = Result<Box<dyn PassInFlight>, String>;

/// The estimates of a request.
type Evaluated = Result<Estimates, HeuristicError>;

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

/// An evaluator that is given no more rows at a time than its device's memory holds.
pub(super) struct ChunkEvaluator {
    /// On a CPU with AVX-512 and a dense network, `int8::Int8Mlp`: `NetworkKind::fastest_precision` chooses.
    evaluator: Box<dyn Evaluator>,
    device: Device,
    /// The most rows at a time, as far as is known.
    pub(super) max_rows: usize,
}

impl ChunkEvaluator {
    pub(super) fn new(evaluator: Box<dyn Evaluator>, device: Device, max_rows: usize) -> Self {
        ChunkEvaluator { evaluator, device, max_rows }
    }

    fn max_in_flight(&self) -> usize {
        if self.device.is_cuda() { MAX_IN_FLIGHT_ON_CUDA } else { 1 }
    }

    /// Evaluates requests in order until their channel closes.
    pub(super) fn serve(&mut self, requests: &Receiver<Request>, results: &Sender<Evaluated>) {
        let mut in_flight: VecDeque<(Request, Pass)> = VecDeque::new();
        loop {
            let may_begin = in_flight.len() < self.max_in_flight();
            let next = match in_flight.len() {
                0 => match requests.recv() {
                    Ok(request) => Some(request),
                    Err(_) => return,
                },
                _ => may_begin.then(|| requests.try_recv().ok()).flatten(),
            };
            let is_done = |(_, pass): &(Request, Pass)| pass.as_ref().map_or(true, |pass| pass.is_done());
            if let Some(request) = next {
                let pass = self.begin(&request);
                in_flight.push_back((request, pass));
            } else if may_begin && !in_flight.front().is_some_and(is_done) {
                thread::yield_now(); // the next request may come before the oldest is done
            } else if let Some((request, pass)) = in_flight.pop_front()
                && results.send(self.end(request, pass)).is_err()
            {
                return;
            }
        }
    }

    fn begin(&self, Request { rows, query }: &Request) -> Pass {
        if rows.nrows() > self.max_rows {
            return Err(TOO_MANY_ROWS.into());
        }
        caught(|| self.evaluator.begin(rows.view(), *query == Query::ValuesAndPolicy))
    }

    fn end(&mut self, request: Request, pass: Pass) -> Evaluated {
        match end_pass(pass) {
            Ok(estimates) => checked(vec![estimates]),
            // It may fit now, or in smaller chunks.
            Err(message) if is_out_of_memory(&message) => self.evaluate(request.rows.view(), request.query),
            Err(message) => Err(HeuristicError(message)),
        }
    }

    /// Evaluates any number of rows.
    pub(super) fn evaluate(&mut self, rows: ArrayView2<'_, u8>, query: Query) -> Evaluated {
        checked(self.evaluate_all(rows, query == Query::ValuesAndPolicy).map_err(HeuristicError)?)
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

/// The estimates of all chunks, clamped at 0.
///
/// # Errors
/// If one is not finite.
fn checked(chunks: Vec<Estimates>) -> Evaluated {
    let mut all = Estimates { values: Vec::new(), policy: None };
    chunks.into_iter().for_each(|chunk| all.append(chunk));
    let numbers = all.values.iter().chain(all.policy.iter().flatten());
    if let Some(bad) = numbers.copied().find(|number| !number.is_finite()) {
        return Err(HeuristicError(format!("the network's estimate is {bad}: its weights are damaged")));
    }
    all.values.iter_mut().for_each(|value| *value = value.max(0.0));
    Ok(all)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

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
        let mut chunks = ChunkEvaluator::new(Box::new(device.clone()), CUDA, usize::MAX);
        let (requests, inbox) = channel();
        let (outbox, results) = channel();
        let thread = thread::spawn(move || chunks.serve(&inbox, &outbox));
        let rows = |chunk: usize| Array2::from_elem((3, 1), chunk as u8);
        (0..6).for_each(|chunk| requests.send(Request { rows: rows(chunk), query: Query::Values }).expect("it serves"));
        while device.started.load(Ordering::SeqCst) < MAX_IN_FLIGHT_ON_CUDA {
            thread::yield_now(); // for ever, if chunks started one after the other
        }
        assert!(results.try_recv().is_err(), "none is done");
        for chunk in 0..6 {
            device.may_end.store(chunk + 1, Ordering::SeqCst);
            let estimates = results.recv().expect("it serves").expect("it evaluates");
            assert_eq!(estimates.values, [chunk as f32; 3]);
        }
        assert_eq!(device.most_at_once.load(Ordering::SeqCst), MAX_IN_FLIGHT_ON_CUDA);
        drop(requests);
        thread.join().expect("it ends with the requests");
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
        let rows = |count| Array2::from_shape_fn((count, 1), |(row, _)| row as u8);
        let request = |count| Request { rows: rows(count), query: Query::Values };
        let passes = [8, 30, 9].map(|count| chunks.begin(&request(count)));
        for (pass, count) in passes.into_iter().zip([8, 30, 9]) {
            let values = chunks.end(request(count), pass).expect("it fits in parts").values;
            assert!(values.into_iter().eq((0..count).map(|row| row as f32)));
        }
        assert_eq!(chunks.max_rows, 7);
        assert!(chunks.begin(&request(8)).is_err(), "it is too large");
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
