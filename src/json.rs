//! JSON without duplicate names. serde_json keeps the last of several values silently, and has no setting against it. A
//! byte-order mark is passed over.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Reads a text.
///
/// # Errors
/// If it is not JSON, or an object has two values of the same name; the error has the line.
pub(crate) fn from_slice(text: &[u8]) -> serde_json::Result<Value> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    serde_json::from_slice(text).map(|Unique(value)| value)
}

/// The shortest decimal that reads back as this f32; converted to f64, it would show more digits.
#[cfg(any(feature = "cli", feature = "serve"))]
pub(crate) fn short(number: f32) -> Value {
    number.to_string().parse::<f64>().ok().into()
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values).map(Unique)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format_args!("\"{name}\" is given twice")));
            }
            let Unique(value) = entries.next_value()?;
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_match_serde_json_and_duplicate_names_are_refused() {
        let text = r#"{ "a": [1, -2, 2.5, null, true, "x"], "b": { "a": {}, "c": [] } }"#;
        assert_eq!(from_slice(text.as_bytes()).expect("JSON"), serde_json::from_str::<Value>(text).expect("JSON"));
        let twice = from_slice(b"{ \"a\": 1,\n  \"b\": { \"c\": 1,\n    \"c\": 2 } }").expect_err("c is given twice");
        assert!(twice.is_data() && twice.line() == 3 && twice.to_string().contains("\"c\" is given twice"), "{twice}");
        assert_eq!(from_slice("\u{feff}[]".as_bytes()).expect("JSON"), Value::Array(Vec::new()));
        assert!(from_slice(b"{").is_err_and(|error| !error.is_data()));
    }
}
