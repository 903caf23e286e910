//! A request to solve, read from JSON; a refusal names the field.

use super::ServerConfig;
use super::catalogue::{check_model, find_puzzle};
use super::error::{ApiError, ApiResult};
use crate::error::Error;
use crate::json;
use crate::search::Limits;
use crate::solver::{Request, SearchOptions};
use axum::http::StatusCode;
use serde_json::{Map, Value};
use std::time::Duration;

/// The largest values of settings in a request: with more nodes, a step takes too long to be stopped.
const LARGEST: [(&str, f64); 6] = [
    ("n", (1 << 20) as f64),
    ("hash_slots", 1e8),
    ("lambda", 1000.0),
    ("policy_weight", 1000.0),
    ("candidates", 1000.0),
    ("symmetries", 96.0),
];

/// An instance, and its search.
#[derive(Debug)]
pub(super) struct SolveRequest {
    /// The puzzle, as [`find`](crate::registry::find) knows it.
    pub(super) puzzle: String,
    pub(super) goal: Option<String>,
    pub(super) instance: String,
    /// Its limit of memory is that of the nodes.
    pub(super) solver: Request,
}

impl SolveRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// Names the field, and what is expected.
    pub(super) fn read(body: &[u8], config: &ServerConfig) -> ApiResult<SolveRequest> {
        let mut fields = Fields::of(body)?;
        let instance = fields.required_text("instance")?;
        let puzzle = fields.puzzle(config)?;
        let (goal, model) = (fields.text("goal")?, fields.text("model")?);
        let heuristic = fields.text("heuristic")?.as_deref().unwrap_or("auto").into();
        let options = fields.search()?;
        let given_seconds = fields.number("max_seconds", 0.001, config.max_seconds)?;
        let seconds = given_seconds.unwrap_or(config.max_seconds);
        let nodes = fields.count("max_nodes", u64::MAX)?;
        let memory = fields.count("max_memory", config.node_memory())?.unwrap_or(config.node_memory());
        fields.end()?;
        if let Some(model) = &model {
            check_model(model, &puzzle, config)?;
        }
        let time = Some(Duration::from_secs_f64(seconds));
        let limits = Limits { time, nodes, memory: Some(memory), spend_time: given_seconds.is_some() };
        let (device, memory_of_nodes) = (config.device, true);
        let solver = Request { options, heuristic, model, device, limits, memory_of_nodes, ..Request::default() };
        Ok(SolveRequest { puzzle, goal, instance, solver })
    }
}

/// The fields of a request that are not read yet.
pub(super) struct Fields {
    left: Map<String, Value>,
    known: Vec<String>,
}

impl Fields {
    /// The fields of a JSON object.
    ///
    /// # Errors
    /// If it is none, or names a field twice.
    pub(super) fn of(body: &[u8]) -> ApiResult<Fields> {
        let refuse = |why: String| ApiError::new(StatusCode::BAD_REQUEST, why);
        match json::from_slice(body) {
            Ok(Value::Object(left)) => Ok(Fields { left, known: Vec::new() }),
            Ok(_) => Err(refuse("the body is JSON, but not an object: expected {\"instance\": …}".into())),
            // The error is `"NAME" is given twice …`.
            Err(error) if error.is_data() => {
                let text = error.to_string();
                Err(ApiError::of(text.split('"').nth(1).unwrap_or("body"), "it is given twice"))
            }
            Err(error) => Err(refuse(format!("the body is not JSON: {error}"))),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.known.push(name.into());
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// A field that `read` reads, if it is given.
    fn read<T>(&mut self, name: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> ApiResult<Option<T>> {
        self.take(name).map(|value| read(&value).ok_or_else(|| wrong(name, &value, expected))).transpose()
    }

    /// The puzzle, as [`find`](crate::registry::find) takes it: one of costar's, or one that the server was started with.
    pub(super) fn puzzle(&mut self, config: &ServerConfig) -> ApiResult<String> {
        let name = self.text("puzzle")?.unwrap_or_else(|| "cube3".into());
        find_puzzle(&name, config)
    }

    pub(super) fn text(&mut self, name: &str) -> ApiResult<Option<String>> {
        self.read(name, "a text", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn required_text(&mut self, name: &str) -> ApiResult<String> {
        self.text(name)?.ok_or_else(|| ApiError::of(name, "it is missing: expected a text"))
    }

    /// The search and its settings.
    fn search(&mut self) -> ApiResult<SearchOptions> {
        let given: Map<String, Value> =
            SearchOptions::fields().into_iter().filter_map(|name| Some((name.clone(), self.take(&name)?))).collect();
        for (name, most) in LARGEST {
            if let Some(value) = given.get(name).filter(|value| value.as_f64().is_some_and(|number| number > most)) {
                return Err(wrong(name, value, &format!("at most {most}")));
            }
        }
        Ok(SearchOptions::from_json(given).map_err(Error::from)?)
    }

    fn number(&mut self, name: &str, least: f64, most: f64) -> ApiResult<Option<f64>> {
        let expected = format!("a number from {least} to {most}");
        self.read(name, &expected, |value| value.as_f64().filter(|number| (least..=most).contains(number)))
    }

    fn count(&mut self, name: &str, most: u64) -> ApiResult<Option<u64>> {
        let most_said = if most == u64::MAX { String::new() } else { format!(" to {most}") };
        let expected = format!("a whole number from 1{most_said}");
        self.read(name, &expected, |value| value.as_u64().filter(|number| (1..=most).contains(number)))
    }

    /// Refuses the fields that are left.
    pub(super) fn end(self) -> ApiResult<()> {
        let Some(name) = self.left.keys().next() else { return Ok(()) };
        Err(ApiError::of(name, format!("unknown field: expected {}", self.known.join(", "))))
    }
}

fn wrong(name: &str, value: &Value, expected: &str) -> ApiError {
    let value = value.to_string();
    let shown: String = value.chars().take(60).collect();
    let rest = if shown.len() < value.len() { "…" } else { "" };
    ApiError::of(name, format!("expected {expected}, got {shown}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neural::device::DeviceChoice;

    fn config() -> ServerConfig {
        ServerConfig {
            port: 0,
            host: std::net::Ipv4Addr::LOCALHOST.into(),
            puzzles: vec!["mine.json".into()],
            models: Vec::new(),
            device: DeviceChoice::Auto,
            searches: 1,
            queue: 1,
            max_seconds: 60.0,
            max_memory: Some(1 << 30),
            max_body: 1 << 16,
        }
    }

    fn refusal(body: &str) -> ApiError {
        SolveRequest::read(body.as_bytes(), &config()).expect_err("it is refused")
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let request = SolveRequest::read(br#"{"instance": "R U", "n": null}"#, &config()).expect("a request");
        let SolveRequest { puzzle, solver: Request { options, limits, .. }, .. } = request;
        assert_eq!((puzzle.as_str(), options), ("cube3", SearchOptions::default()));
        assert_eq!((limits.time, limits.memory), (Some(Duration::from_secs(60)), Some(1 << 30)));
    }

    #[test]
    fn every_refusal_names_its_field() {
        for (body, field) in [
            (r#"{}"#, "instance"),
            (r#"{"instance": 7}"#, "instance"),
            (r#"{"instance": "R", "n": 0}"#, "n"),
            (r#"{"instance": "R", "n": 1.5}"#, "n"),
            (r#"{"instance": "R", "lambda": "0.6"}"#, "lambda"),
            (r#"{"instance": "R", "lambda": -1}"#, "lambda"),
            (r#"{"instance": "R", "anytime": 1}"#, "anytime"),
            (r#"{"instance": "R", "max_seconds": 61}"#, "max_seconds"),
            (r#"{"instance": "R", "max_memory": 1e30}"#, "max_memory"),
            (r#"{"instance": "R", "perimeter": -1}"#, "perimeter"),
            (r#"{"instance": "R", "puzzle": "../secret.json"}"#, "puzzle"),
            (r#"{"instance": "R", "model": "/etc"}"#, "model"),
            (r#"{"instance": "R", "speed": 9}"#, "speed"),
        ] {
            let refusal = refusal(body);
            assert_eq!(refusal.field.as_deref(), Some(field), "{body}: {refusal:?}");
            assert!(refusal.error.contains(field) && refusal.status.is_client_error(), "{body}: {refusal:?}");
        }
        // No file is read that the server was not started with, whatever its name begins with.
        for file in ["/etc/secret.json", "sokoban/../secret.json", "lightsout.json"] {
            let refusal = refusal(&format!(r#"{{"instance": "R", "puzzle": "{file}"}}"#));
            assert!(refusal.error.contains("is not offered"), "{refusal:?}");
        }
        let twice = refusal(r#"{"instance": "R", "n": 1, "n": 2}"#);
        assert_eq!((twice.field.as_deref(), twice.status), (Some("n"), StatusCode::UNPROCESSABLE_ENTITY));
        assert_eq!(refusal("[1]").status, StatusCode::BAD_REQUEST);
        assert!(refusal("{\"instance\": ").error.contains("line 1 column"), "{:?}", refusal("{"));
    }
}
