//! What a request to solve asks for: its JSON, field by field, and each refused by name.

use super::House;
use super::refusal::Refusal;
use crate::cli::models;
use crate::cli::search_options::{AutoCount, SearchOptions};
use axum::http::StatusCode;
use serde_json::{Map, Value};

/// The most nodes a step: more are no help, and a step would be too long to be stopped.
const MOST_NODES: u64 = 1_000_000;

/// An instance, and how it is to be searched.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) instance: String,
    pub(super) options: SearchOptions,
    /// Bytes for the nodes of the search.
    pub(super) memory: u64,
}

impl Wish {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// Names the field, what is wrong with it, and what would be accepted.
    pub(super) fn read(body: &[u8], house: &House) -> Result<Wish, Refusal> {
        let mut fields = Fields::read(body)?;
        let instance = fields.required_text("instance")?;
        let options = SearchOptions {
            puzzle: fields.puzzle(house)?,
            model: fields.text("model")?,
            search: fields.text("search")?.unwrap_or_else(|| "auto".into()),
            heuristic: fields.text("heuristic")?.unwrap_or_else(|| "auto".into()),
            goal: fields.text("goal")?,
            n: fields.count("n", 1, MOST_NODES)?.map(AutoCount::Count),
            lambda: fields.number("lambda", 0.0, 1000.0)?.map(|number| number as f32),
            deferred: fields.flag("deferred")?,
            confidence: fields.number("confidence", 0.0, 1000.0)?.map(|number| number as f32),
            endgame: fields.count("endgame", 0, 7)?,
            patience: fields.count("patience", 0, u64::MAX)?,
            anytime: fields.flag("anytime")?,
            seed: fields.count("seed", 0, u64::MAX)?.unwrap_or(1),
            device: house.device,
            precision: None,
            views: fields.count("views", 1, 96)?,
            shortlist: fields.count("shortlist", 0, 1000)?,
            twins: fields.number("twins", 0.0, 1.0)?.map(|number| number as f32),
            max_seconds: Some(fields.number("max_seconds", 0.001, house.max_seconds)?.unwrap_or(house.max_seconds)),
            max_nodes: fields.count("max_nodes", 1, u64::MAX)?,
            max_memory: Some(fields.count("max_memory", 1, house.max_memory)?.unwrap_or(house.max_memory)),
            json: true,
        };
        fields.end()?;
        if options.anytime && options.patience.is_some() {
            return Err(Refusal::of("patience", "patience: anytime has no end after so many steps; leave out one"));
        }
        check_model(&options, house)?;
        let memory = options.max_memory.unwrap_or(house.max_memory);
        Ok(Wish { instance, options, memory })
    }
}

/// A request names a model that is offered; it cannot have the server read any other folder.
fn check_model(options: &SearchOptions, house: &House) -> Result<(), Refusal> {
    let Some(model) = &options.model else { return Ok(()) };
    let mut offered = models::names(&options.puzzle);
    offered.extend(house.models.iter().cloned());
    if offered.contains(model) {
        return Ok(());
    }
    let offered = if offered.is_empty() { "none".into() } else { offered.join(", ") };
    Err(Refusal::of(
        "model",
        format!("model: there is no model '{model}' of {}: {offered} would be accepted", options.puzzle),
    ))
}

/// The fields of a request that were not looked at yet.
pub(super) struct Fields {
    left: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// The fields of a JSON object.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn read(body: &[u8]) -> Result<Fields, Refusal> {
        let refuse = |why: String| Refusal::new(StatusCode::BAD_REQUEST, why);
        match serde_json::from_slice(body) {
            Ok(Value::Object(left)) => Ok(Fields { left, known: Vec::new() }),
            Ok(_) => Err(refuse("the body is JSON, but no object: {\"instance\": …} would be accepted".into())),
            Err(error) => Err(refuse(format!("the body is no JSON: {error}"))),
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// The puzzle's name: one that costar knows, or a file that the server was started with.
    pub(super) fn puzzle(&mut self, house: &House) -> Result<String, Refusal> {
        let name = self.text("puzzle")?.unwrap_or_else(|| "cube3".into());
        super::puzzles::check_offered(&name, house)?;
        Ok(name)
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, &other, "a text")),
        }
    }

    pub(super) fn required_text(&mut self, name: &'static str) -> Result<String, Refusal> {
        let missing = || Refusal::of(name, format!("{name} is missing: a text would be accepted"));
        self.text(name)?.ok_or_else(missing)
    }

    fn flag(&mut self, name: &'static str) -> Result<bool, Refusal> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong(name, &other, "true or false")),
        }
    }

    fn number(&mut self, name: &'static str, least: f64, most: f64) -> Result<Option<f64>, Refusal> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| (least..=most).contains(number));
        number.map(Some).ok_or_else(|| wrong(name, &value, &format!("a number from {least} to {most}")))
    }

    fn count(&mut self, name: &'static str, least: u64, most: u64) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_u64().filter(|number| (least..=most).contains(number));
        let accepted = match most {
            u64::MAX => format!("a whole number from {least}"),
            most => format!("a whole number from {least} to {most}"),
        };
        number.map(Some).ok_or_else(|| wrong(name, &value, &accepted))
    }

    /// Refuses fields that nobody asked for.
    pub(super) fn end(self) -> Result<(), Refusal> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => {
                let known = self.known.join(", ");
                Err(Refusal::of(name, format!("there is no field '{name}': {known} would be accepted")))
            }
        }
    }
}

fn wrong(name: &str, value: &Value, accepted: &str) -> Refusal {
    let value = value.to_string();
    let shown: String = value.chars().take(60).collect();
    let rest = if shown.len() < value.len() { "…" } else { "" };
    Refusal::of(name, format!("{name}: {shown}{rest} is not accepted; {accepted} would be"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neural::device::DeviceChoice;

    fn house() -> House {
        House {
            puzzles: vec!["mine.json".into()],
            models: Vec::new(),
            device: DeviceChoice::Auto,
            searches: 1,
            places: 2,
            max_seconds: 60.0,
            max_memory: 1 << 30,
            max_body: 1 << 16,
            is_loopback: true,
        }
    }

    fn refusal(body: &str) -> Refusal {
        Wish::read(body.as_bytes(), &house()).expect_err("it is refused")
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let wish = Wish::read(br#"{"instance": "R U", "n": null}"#, &house()).expect("a wish");
        assert_eq!((wish.options.puzzle.as_str(), wish.options.search.as_str()), ("cube3", "auto"));
        assert_eq!((wish.options.max_seconds, wish.memory, wish.options.n), (Some(60.0), 1 << 30, None));
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
            (r#"{"instance": "R", "endgame": 9}"#, "endgame"),
            (r#"{"instance": "R", "puzzle": "../secret.json"}"#, "puzzle"),
            (r#"{"instance": "R", "model": "/etc"}"#, "model"),
            (r#"{"instance": "R", "speed": 9}"#, "speed"),
        ] {
            let refusal = refusal(body);
            assert_eq!(refusal.field.as_deref(), Some(field), "{body}: {refusal:?}");
            assert!(refusal.error.contains(field) && refusal.status.is_client_error(), "{body}: {refusal:?}");
        }
        assert_eq!(refusal("[1]").status, StatusCode::BAD_REQUEST);
        assert!(refusal("{\"instance\": ").error.contains("line 1 column"), "{:?}", refusal("{"));
    }
}
