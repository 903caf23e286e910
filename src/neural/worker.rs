//! A network at work on rows: in chunks that fill its device, of which a CUDA device has the next before it is done with one, and
//! in smaller ones where memory is short.

use super::device::{Device, caught, is_out_of_memory};
use super::network::{Begun, Evaluation, Evaluator};
use crate::heuristic::{Estimates, HeuristicError, Query};
use ndarray::{Array2, ArrayView2, s};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

/// Chunks that a CUDA device has at a time, at most.
const AHEAD: usize = 2;

/// Chunks that a device has at a time, at most.
pub(super) fn ahead_on(device: Device) -> usize {
    if device.is_cuda() { AHEAD } else { 1 }
}

/// A chunk that is to be evaluated.
pub(super) struct Request {
    pub(super) rows: Array2<u8>,
    pub(super) ask: Query,
}

/// A chunk that the device has been given, or that waits until the device has memory.
struct Started {
    request: Request,
    begun: Option<Given>,
}

/// What was given to the device, or why that could not be.
type Given = Result<Box<dyn Begun>, String>;

/// Enough states to fill the device, few enough that activations stay in a CPU's cache, that a search goes on meanwhile, and that
/// a stop is soon seen.
pub(super) fn chunk(evaluator: &dyn Evaluator, device: Device) -> usize {
    let operations = usize::try_from(evaluator.operations()).unwrap_or(usize::MAX);
    if device.is_cuda() {
        (1usize << 36).checked_div(operations).unwrap_or(1 << 16).clamp(1 << 15, 1 << 17)
    } else {
        (1usize << 35).checked_div(operations).unwrap_or(1 << 12).clamp(1 << 4, 1 << 12)
    }
}

/// A network, and what is known of its device.
pub(super) struct Worker {
    evaluator: Box<dyn Evaluator>,
    device: Device,
    /// The most rows that fit the device, as far as is known.
    largest: usize,
}

impl Worker {
    /// Gives the device at most so many rows at a time, where it is [asked for all](Worker::evaluate).
    pub(super) fn new(evaluator: Box<dyn Evaluator>, device: Device, largest: usize) -> Self {
        Worker { evaluator, device, largest }
    }

    /// How many rows the device is given at a time, as far as is known what fits.
    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// Answers requests in order until there will be none. Has the device begin with a request while so many others, but one, are
    /// not done.
    pub(super) fn serve(
        &mut self,
        ahead: usize,
        requests: &Receiver<Request>,
        answers: &Sender<Result<Estimates, HeuristicError>>,
    ) {
        let mut started = VecDeque::new();
        loop {
            let next = match started.len() {
                0 => match requests.recv() {
                    Ok(request) => Some(request),
                    Err(_) => return,
                },
                some if some < ahead => requests.try_recv().ok(),
                _ => None,
            };
            if let Some(request) = next {
                started.push_back(self.begin(request));
            } else if started.len() < ahead && !started.front().is_some_and(Started::is_done) {
                thread::yield_now(); // the next request may come before the oldest is done
            } else if let Some(oldest) = started.pop_front()
                && answers.send(self.end(oldest)).is_err()
            {
                return;
            }
        }
    }

    fn begin(&self, request: Request) -> Started {
        let (rows, with_policy) = (request.rows.view(), request.ask == Query::ValuesAndPolicy);
        let fits = rows.nrows() <= self.largest;
        let begun = fits.then(|| caught(|| self.evaluator.begin(rows, with_policy)));
        Started { request, begun }
    }

    fn end(&mut self, Started { request: Request { rows, ask }, begun }: Started) -> Result<Estimates, HeuristicError> {
        match begun.map(|begun| begun.and_then(|begun| caught(|| begun.end()))) {
            Some(Ok(evaluation)) => return estimates(vec![evaluation]),
            Some(Err(message)) if !is_out_of_memory(&message) => return Err(HeuristicError(message)),
            Some(Err(_)) | None => (), // it may fit now, or in parts
        }
        self.evaluate(rows.view(), ask)
    }

    /// The estimates of rows.
    pub(super) fn evaluate(&mut self, rows: ArrayView2<'_, u8>, ask: Query) -> Result<Estimates, HeuristicError> {
        estimates(self.evaluate_parts(rows, ask == Query::ValuesAndPolicy).map_err(HeuristicError)?)
    }

    /// What the network says of rows, as many at a time as fit. A CUDA device is given the next of them before it is done with
    /// those before.
    ///
    /// # Errors
    /// If the device fails: the first line of what it says.
    pub(super) fn evaluate_parts(
        &mut self,
        rows: ArrayView2<'_, u8>,
        with_policy: bool,
    ) -> Result<Vec<Evaluation>, String> {
        let mut ahead = ahead_on(self.device);
        let (mut parts, mut done, mut next) = (Vec::new(), 0, 0);
        let mut begun: VecDeque<(usize, Given)> = VecDeque::new();
        while done < rows.nrows() {
            if next < rows.nrows() && begun.len() < ahead {
                let count = (rows.nrows() - next).min(self.largest);
                let part = rows.slice(s![next..next + count, ..]);
                begun.push_back((count, caught(|| self.evaluator.begin(part, with_policy))));
                next += count;
            } else if let Some((count, oldest)) = begun.pop_front() {
                match oldest.and_then(|begun| caught(|| begun.end())) {
                    Ok(evaluation) => {
                        parts.push(evaluation);
                        done += count;
                    }
                    Err(message) => {
                        // What was begun after it may hold memory, or have found none: it begins anew.
                        begun.drain(..).for_each(|(_, later)| drop(later.map(|later| caught(|| later.end()))));
                        next = done;
                        if ahead > 1 && is_out_of_memory(&message) {
                            ahead = 1; // it may fit where it is alone
                        } else {
                            self.halve(count, message)?;
                        }
                    }
                }
            }
        }
        Ok(parts)
    }

    /// Where so many rows failed for want of memory, fewer are evaluated at a time from now on; another error is passed on, as
    /// its first line.
    fn halve(&mut self, count: usize, message: String) -> Result<(), String> {
        if !is_out_of_memory(&message) || count < 2 {
            return Err(message);
        }
        self.largest = self.largest.min(count / 2);
        log::warn!("{} is out of memory: it evaluates {} states at a time from now on", self.device, self.largest);
        Ok(())
    }
}

impl Started {
    /// Whether its results need not be waited for.
    fn is_done(&self) -> bool {
        !matches!(&self.begun, Some(Ok(begun)) if !begun.is_done())
    }
}

/// The estimates of states that were evaluated in parts.
fn estimates(parts: Vec<Evaluation>) -> Result<Estimates, HeuristicError> {
    let parts = parts.into_iter().map(|Evaluation { values, policy }| Estimates { values, policy });
    let all = parts.reduce(|mut all, part| {
        all.append(part);
        all
    });
    let mut all = all.unwrap_or(Estimates { values: Vec::new(), policy: None });
    if let Some(bad) = all.values.iter().find(|value| !value.is_finite()) {
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

    fn sums(rows: ArrayView2<'_, u8>) -> Evaluation {
        Evaluation { values: rows.rows().into_iter().map(|row| f32::from(row.sum())).collect(), policy: None }
    }

    /// The sum of each row, of so many rows at a time.
    pub(in crate::neural) struct Narrow {
        pub(in crate::neural) most: usize,
        pub(in crate::neural) message: &'static str,
    }

    impl Evaluator for Narrow {
        fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn Begun> {
            assert!(rows.nrows() <= self.most, "{}", self.message);
            Box::new(sums(rows))
        }

        fn operations(&self) -> u64 {
            1
        }
    }

    fn evaluate(message: &'static str) -> Result<Vec<f32>, HeuristicError> {
        let evaluator = Box::new(Narrow { most: 10, message });
        let mut worker = Worker { evaluator, device: Device::CPU, largest: usize::MAX };
        let rows = Array2::from_shape_fn((100, 2), |(row, _)| row as u8);
        let values = worker.evaluate(rows.view(), Query::Values).map(|estimates| estimates.values);
        assert!(values.is_err() || worker.largest <= 10, "it remembers what fits");
        values
    }

    #[test]
    fn a_device_without_memory_is_asked_for_less_at_a_time() {
        for message in ["CUDA out of memory. Tried", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"] {
            let values = evaluate(message).expect("it fits in parts");
            assert!(values.iter().enumerate().all(|(row, &value)| value == 2.0 * row as f32), "{values:?}");
        }
        let failed = evaluate("CUDA error: device-side assert triggered").expect_err("it is not the memory");
        assert!(failed.0.contains("device-side"), "{failed}");
    }

    /// A device that is done with a chunk when it is told to be.
    #[derive(Clone, Default)]
    pub(in crate::neural) struct Slow {
        pub(in crate::neural) begun: Arc<AtomicUsize>,
        most_at_once: Arc<AtomicUsize>,
        ended: Arc<AtomicUsize>,
        pub(in crate::neural) may_end: Arc<AtomicUsize>,
    }

    struct InWork {
        device: Slow,
        number: usize,
        sums: Evaluation,
    }

    impl Evaluator for Slow {
        fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn Begun> {
            let number = self.begun.fetch_add(1, Ordering::SeqCst);
            self.most_at_once.fetch_max(number + 1 - self.ended.load(Ordering::SeqCst), Ordering::SeqCst);
            Box::new(InWork { device: self.clone(), number, sums: sums(rows) })
        }

        fn operations(&self) -> u64 {
            1
        }
    }

    impl Begun for InWork {
        fn is_done(&self) -> bool {
            self.number < self.device.may_end.load(Ordering::SeqCst)
        }

        fn end(self: Box<Self>) -> Evaluation {
            while !self.is_done() {
                thread::yield_now();
            }
            self.device.ended.fetch_add(1, Ordering::SeqCst);
            self.sums
        }
    }

    #[test]
    fn a_device_has_the_next_chunk_before_it_is_done_with_one() {
        let device = Slow::default();
        let mut worker = Worker { evaluator: Box::new(device.clone()), device: Device::CPU, largest: usize::MAX };
        let (requests, inbox) = channel();
        let (outbox, answers) = channel();
        let thread = thread::spawn(move || worker.serve(AHEAD, &inbox, &outbox));
        let rows = |chunk: usize| Array2::from_elem((3, 1), chunk as u8);
        (0..6).for_each(|chunk| requests.send(Request { rows: rows(chunk), ask: Query::Values }).expect("it serves"));
        while device.begun.load(Ordering::SeqCst) < AHEAD {
            thread::yield_now(); // without end, were chunks begun one after the other
        }
        assert!(answers.try_recv().is_err(), "none is done");
        for chunk in 0..6 {
            device.may_end.store(chunk + 1, Ordering::SeqCst);
            let estimates = answers.recv().expect("it serves").expect("it evaluates");
            assert_eq!(estimates.values, [chunk as f32; 3]);
        }
        assert_eq!(device.most_at_once.load(Ordering::SeqCst), AHEAD);
        drop(requests);
        thread.join().expect("it ends with the requests");
    }

    #[test]
    fn the_parts_of_many_rows_are_begun_ahead_of_their_results() {
        let device = Slow::default();
        device.may_end.store(usize::MAX, Ordering::SeqCst);
        let rows = Array2::from_shape_fn((100, 1), |(row, _)| row as u8);
        for (on, ahead) in [(Device::CPU, 1), (Device::for_tests(0), AHEAD)] {
            device.most_at_once.store(0, Ordering::SeqCst);
            let mut worker = Worker::new(Box::new(device.clone()), on, 30);
            let parts = worker.evaluate_parts(rows.view(), false).expect("it evaluates");
            assert_eq!(parts.iter().map(|part| part.values.len()).collect::<Vec<_>>(), [30, 30, 30, 10]);
            assert!(parts.into_iter().flat_map(|part| part.values).eq((0..100).map(|row| row as f32)));
            assert_eq!(device.most_at_once.load(Ordering::SeqCst), ahead, "{on}");
        }
        // The values are the same where memory is short.
        let evaluator = Box::new(Narrow { most: 10, message: "CUDA out of memory. Tried" });
        let mut worker = Worker::new(evaluator, Device::for_tests(0), 30);
        let parts = worker.evaluate_parts(rows.view(), false).expect("it fits in parts");
        assert!(parts.into_iter().flat_map(|part| part.values).eq((0..100).map(|row| row as f32)));
    }

    /// A device that has room for one chunk at a time.
    #[derive(Clone, Default)]
    struct Crowded(Arc<AtomicUsize>);

    impl Evaluator for Crowded {
        fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn Begun> {
            assert!(self.0.load(Ordering::SeqCst) == 0, "CUDA out of memory. Tried");
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::new(InRoom(self.0.clone(), sums(rows)))
        }

        fn operations(&self) -> u64 {
            1
        }
    }

    struct InRoom(Arc<AtomicUsize>, Evaluation);

    impl Begun for InRoom {
        fn is_done(&self) -> bool {
            true
        }

        fn end(self: Box<Self>) -> Evaluation {
            self.0.fetch_sub(1, Ordering::SeqCst);
            self.1
        }
    }

    #[test]
    fn what_fits_alone_is_not_made_smaller() {
        let rows = Array2::from_shape_fn((91, 1), |(row, _)| row as u8);
        let mut worker = Worker::new(Box::new(Crowded::default()), Device::for_tests(0), 30);
        let parts = worker.evaluate_parts(rows.view(), false).expect("it fits");
        assert_eq!(parts.iter().map(|part| part.values.len()).collect::<Vec<_>>(), [30, 30, 30, 1]);
        assert!(parts.into_iter().flat_map(|part| part.values).eq((0..91).map(|row| row as f32)));
        assert_eq!(worker.largest(), 30);
    }

    #[test]
    fn a_chunk_that_found_no_memory_is_evaluated_in_parts_once_the_one_before_is_done() {
        let evaluator = Box::new(Narrow { most: 10, message: "CUDA out of memory. Tried" });
        let mut worker = Worker { evaluator, device: Device::CPU, largest: usize::MAX };
        let rows = |count| Array2::from_shape_fn((count, 1), |(row, _)| row as u8);
        let started: Vec<_> = [8, 30, 9]
            .into_iter()
            .map(|count| worker.begin(Request { rows: rows(count), ask: Query::Values }))
            .collect();
        for (started, count) in started.into_iter().zip([8, 30, 9]) {
            let values = worker.end(started).expect("it fits in parts").values;
            assert!(values.into_iter().eq((0..count).map(|row| row as f32)));
        }
        assert_eq!(worker.largest, 7);
        assert!(worker.begin(Request { rows: rows(8), ask: Query::Values }).begun.is_none(), "it is too large");
    }

    #[test]
    fn chunks_follow_the_size_of_the_network() {
        struct Of(u64);
        impl Evaluator for Of {
            fn begin(&self, rows: ArrayView2<'_, u8>, _: bool) -> Box<dyn Begun> {
                Box::new(sums(rows))
            }

            fn operations(&self) -> u64 {
                self.0
            }
        }
        let cuda = Device::for_tests(0);
        let sizes = |device| [0, 100_000, 2_400_000, 340_000_000].map(|operations| chunk(&Of(operations), device));
        assert_eq!(sizes(cuda), [1 << 16, 1 << 17, 1 << 15, 1 << 15]);
        assert_eq!(sizes(Device::CPU), [1 << 12, 1 << 12, 1 << 12, 101]);
    }
}
