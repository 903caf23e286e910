//! Metrics of a training as TensorBoard reads them: a file of events in a folder.
//!
//! A file is a sequence of records (length, its checksum, message, its checksum). The messages are those of TensorFlow's
//! `event.proto` and `summary.proto`, with the fields that scalars need.

use super::Metrics;
use crate::error::{Context as _, Result};
use prost::Message;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, PartialEq, Message)]
struct ScalarEvent {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<ScalarSummary>,
    #[prost(message, optional, tag = "7")]
    session: Option<SessionLog>,
}

#[derive(Clone, PartialEq, Message)]
struct ScalarSummary {
    #[prost(message, repeated, tag = "1")]
    values: Vec<Scalar>,
}

#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, tag = "2")]
    value: f32,
}

#[derive(Clone, PartialEq, Message)]
struct SessionLog {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// The [`SessionLog::status`] that drops events of earlier files from this step on.
const START: i32 = 1;

/// A file of events; `step` is the number of samples.
#[derive(Debug)]
pub struct TensorBoard {
    path: PathBuf,
    file: File,
}

impl TensorBoard {
    /// Creates a file in a folder, which is created if missing. TensorBoard drops events of earlier files from `samples` on,
    /// which a resumed run writes again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(folder: &Path, samples: u64) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
        // TensorBoard reads the files of a folder in alphabetical order.
        let name = format!("events.out.tfevents.{:017.6}.costar.{}", now(), std::process::id());
        let path = folder.join(name);
        let file = File::create_new(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let mut board = TensorBoard { path, file };
        board.append(0, ScalarEvent { file_version: Some("brain.Event:2".into()), ..ScalarEvent::default() })?;
        board.append(samples, ScalarEvent { session: Some(SessionLog { status: START }), ..ScalarEvent::default() })?;
        Ok(board)
    }

    /// Appends the scalars of a line of metrics.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, metrics: &Metrics) -> Result<()> {
        let scalars = [
            ("loss", Some(metrics.loss)),
            ("squared_error", Some(metrics.squared_error)),
            ("absolute_error", Some(metrics.absolute_error)),
            ("cross_entropy", metrics.cross_entropy),
            ("learning_rate", Some(metrics.learning_rate)),
            ("samples_per_second", Some(metrics.samples_per_second)),
        ];
        let scalars =
            scalars.into_iter().filter_map(|(tag, value)| Some(Scalar { tag: tag.into(), value: value? as f32 }));
        let summary = Some(ScalarSummary { values: scalars.collect() });
        self.append(metrics.samples, ScalarEvent { summary, ..ScalarEvent::default() })
    }

    fn append(&mut self, samples: u64, event: ScalarEvent) -> Result<()> {
        let event = ScalarEvent { wall_time: now(), step: i64::try_from(samples).unwrap_or(i64::MAX), ..event };
        let bytes = event.encode_to_vec();
        let length = (bytes.len() as u64).to_le_bytes();
        let record = [&length[..], &checksum(&length), &bytes, &checksum(&bytes)].concat();
        self.file.write_all(&record).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The masked CRC-32C of a part of a record.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the events of a file, and checks their checksums.
    fn events(path: &Path) -> Vec<ScalarEvent> {
        let bytes = fs::read(path).expect("a file");
        let mut rest = &bytes[..];
        let mut events = Vec::new();
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().expect("8 bytes")) as usize;
            assert_eq!(rest[8..12], checksum(&rest[..8]));
            let data = &rest[12..12 + length];
            assert_eq!(rest[12 + length..16 + length], checksum(data));
            events.push(ScalarEvent::decode(data).expect("an event"));
            rest = &rest[16 + length..];
        }
        events
    }

    #[test]
    fn checksums_are_masked_as_in_tensorflow() {
        // TensorFlow writes a record of 24 bytes at the start of every file of events.
        assert_eq!(checksum(&24u64.to_le_bytes()), [0xa3, 0x7f, 0x4b, 0x22]);
    }

    #[test]
    fn scalars_have_their_samples_and_follow_the_start_of_the_session() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut board = TensorBoard::create(&folder.path().join("board"), 640).expect("a file");
        let metrics = Metrics {
            samples: 1280,
            seconds: 2.0,
            samples_per_second: 320.0,
            loss: 0.5,
            squared_error: 4.0,
            absolute_error: 1.5,
            cross_entropy: None,
            learning_rate: 1e-3,
            predictions: None,
        };
        board.write(&metrics).expect("it can be written");
        let events = events(&board.path);
        assert_eq!(events[0].file_version.as_deref(), Some("brain.Event:2"));
        assert_eq!((events[1].step, &events[1].session), (640, &Some(SessionLog { status: START })));
        let Some(summary) = &events[2].summary else { panic!("{events:?}") };
        let scalars: Vec<(&str, f32)> = summary.values.iter().map(|value| (value.tag.as_str(), value.value)).collect();
        assert_eq!(events[2].step, 1280);
        assert_eq!(scalars[..3], [("loss", 0.5), ("squared_error", 4.0), ("absolute_error", 1.5)]);
        assert_eq!((scalars.len(), events.len()), (5, 3));
        assert!(events.iter().all(|event| event.wall_time > 1.7e9));
    }
}
