//! Records of solutions and trainings, as JSON lines: the output of `solve` and `bench`, and `metrics.jsonl`.
//!
//! | file | content |
//! | --- | --- |
//! | `record` | the result of one instance |
//! | `summary` | the summary of a benchmark |
//! | `comparison` | two files of results, compared instance by instance |
//! | [`run_folder`] | the names in a run folder |
//! | [`statistics`] | means, quantiles and confidence intervals |
//! | `metrics` | the metrics of a training |
//! | `tensorboard` | the same metrics as TensorBoard reads them |
//! | `json_lines` | files of JSON lines |

mod comparison;
mod json_lines;
mod metrics;
mod record;
pub mod run_folder;
pub mod statistics;
mod summary;
mod tensorboard;

pub use comparison::Comparison;
pub use json_lines::{append_line, parse_lines, read_lines};
pub use metrics::{Metrics, Prediction};
#[cfg(feature = "cli")]
pub(crate) use record::whole;
pub use record::{ProofRecord, Record, Refused};
pub(crate) use record::{processor, utc_now};
pub use summary::Summary;
pub use tensorboard::TensorBoard;
