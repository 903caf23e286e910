//! The time of each part of a layer, for the log.

use std::time::{Duration, Instant};
use tch::Device;

/// Time by part. Measures only if the log shows it: measuring waits for the device after each part.
pub(super) struct Timings {
    device: Device,
    last: Option<Instant>,
    parts: Vec<(&'static str, Duration)>,
}

impl Timings {
    pub(super) fn new(device: Device) -> Self {
        let last = log::log_enabled!(log::Level::Debug).then(Instant::now);
        Timings { device, last, parts: Vec::new() }
    }

    /// Measures and logs nothing.
    pub(super) fn stop(&mut self) {
        self.last = None;
    }

    /// Begins a part that is not measured.
    pub(super) fn restart(&mut self) {
        self.last = self.last.map(|_| Instant::now());
    }

    /// Ends a part.
    pub(super) fn end(&mut self, part: &'static str) {
        let Some(last) = self.last else { return };
        if let Device::Cuda(index) = self.device {
            tch::Cuda::synchronize(index as i64);
        }
        let now = Instant::now();
        match self.parts.iter_mut().find(|(name, _)| *name == part) {
            Some((_, sum)) => *sum += now - last,
            None => self.parts.push((part, now - last)),
        }
        self.last = Some(now);
    }
}

impl Drop for Timings {
    fn drop(&mut self) {
        if self.last.is_some() && !self.parts.is_empty() {
            let part = |(name, time): &(&str, Duration)| format!("{name} {:.1} ms", 1e3 * time.as_secs_f64());
            log::debug!("layers on the device: {}", self.parts.iter().map(part).collect::<Vec<_>>().join(", "));
        }
    }
}
