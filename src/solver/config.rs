//! Which search, with which settings: one variant a search, and the settings as each search's file names them.
//!
//! Command-line flags, HTTP fields, result files and a model's `config.json` are all read into a [`SearchConfig`], and
//! written from one. [`resolve`](super::resolve()) fills in what is left out.

use super::parts::Parts;
use crate::error::SettingError;
use crate::puzzle::Puzzle;
use crate::search::Search;
use crate::search::beam::{Beam, BeamSettings};
use crate::search::best_first::{BestFirst, BestFirstSettings, BwasSettings};
use crate::search::breadth_first::BreadthFirst;
use crate::search::idastar::IterativeDeepening;
use crate::search::prove::Prove;
use crate::search::random::{RandomSettings, RandomWalk};
use crate::search::settings::{Common, NoSettings, Setting, Settings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::num::NonZeroUsize;

/// What a search needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Whether it asks a heuristic.
    pub heuristic: bool,
    /// Whether it asks for many states at once.
    pub batches: bool,
    /// Whether moves must be reversible.
    pub inverses: bool,
}

/// A search asks a heuristic for many states at once.
const BATCHES: Needs = Needs { heuristic: true, batches: true, inverses: false };
/// A search asks a heuristic for a few states at a time.
const HEURISTIC: Needs = Needs { batches: false, ..BATCHES };
/// A search asks no heuristic.
const BLIND: Needs = Needs { heuristic: false, ..HEURISTIC };
/// A search asks a heuristic, and goes back from the goals.
const HEURISTIC_BOTH_ENDS: Needs = Needs { inverses: true, ..HEURISTIC };
/// A search asks no heuristic, and goes back from the goals.
const BLIND_BOTH_ENDS: Needs = Needs { inverses: true, ..BLIND };

/// Settings by name, of a search that is not chosen yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Given(Map<String, Value>);

impl Given {
    /// Whether a setting is given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The settings that every search has.
    fn common(&self) -> Common {
        let count = |name: &str| self.get(name).and_then(Value::as_u64);
        Common {
            perimeter: count("perimeter").and_then(|depth| u32::try_from(depth).ok()),
            symmetries: count("symmetries").and_then(|count| NonZeroUsize::new(count as usize)),
            sequences: count("sequences"),
            prove: self.get("prove").and_then(Value::as_bool),
        }
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

macro_rules! searches {
    (|$settings:ident, $parts:ident| $($(#[doc = $doc:literal])* $name:literal $variant:ident($type:ty) $needs:ident => $build:expr,)*) => {
        /// A search and its settings. In JSON, `search` has its name, and beside it stand its settings.
        ///
        /// # Example
        ///
        /// ```
        /// use costar::solver::SearchConfig;
        ///
        /// let config: SearchConfig = serde_json::from_str(r#"{ "search": "bwas", "n": 1000, "lambda": 0.6 }"#)?;
        /// assert_eq!(config.name(), "bwas");
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "search")]
        pub enum SearchConfig {
            /// What measured best for the puzzle, the model and the device; settings choose among the searches that have
            /// them.
            #[serde(rename = "auto")]
            Auto(Given),
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($type),)*
        }

        impl SearchConfig {
            /// The names of all searches.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name.
            pub fn name(&self) -> &'static str {
                match self {
                    SearchConfig::Auto(_) => "auto",
                    $(SearchConfig::$variant(_) => $name,)*
                }
            }

            /// The settings of the search of a name, its own and those that every search has; `None` if there is no such
            /// search.
            pub fn settings_of(name: &str) -> Option<Vec<Setting>> {
                let own = match name {
                    $($name => <$type>::LIST,)*
                    _ => return None,
                };
                Some([own, Common::LIST].concat())
            }

            /// What the search of a name needs; `None` if there is no such search.
            pub fn needs_of(name: &str) -> Option<Needs> {
                match name {
                    $($name => Some($needs),)*
                    _ => None,
                }
            }

            /// The settings that every search has.
            pub fn common(&self) -> Common {
                match self {
                    SearchConfig::Auto(given) => given.common(),
                    $(SearchConfig::$variant(settings) => settings.common(),)*
                }
            }

            /// Sets the settings that every search has.
            pub(super) fn set_common(&mut self, common: Common) {
                match self {
                    SearchConfig::Auto(_) => {}
                    $(SearchConfig::$variant(settings) => settings.set_common(common),)*
                }
            }

            /// The search itself. A setting that is left out has no effect.
            ///
            /// # Panics
            /// If the configuration is `Auto`, or needs inverses that the puzzle does not have: it was not resolved.
            pub(super) fn build<P: Puzzle>(&self, $parts: &Parts<'_, P>) -> Box<dyn Search<P>> {
                match self {
                    SearchConfig::Auto(_) => panic!("a configuration is resolved before a search is built"),
                    $(SearchConfig::$variant($settings) => $build,)*
                }
            }
        }
    };
}

// To add a search: a line here.
searches! { |settings, parts|
    /// Batch-weighted A*.
    "bwas" Bwas(BwasSettings) BATCHES => Box::new(BestFirst::from_settings(settings, parts.perimeter.clone())),
    /// Beam search.
    "beam" Beam(BeamSettings) BATCHES => Box::new(Beam::from_settings(settings, parts.perimeter.clone())),
    /// A*.
    "astar" AStar(NoSettings) HEURISTIC => { let _ = settings; Box::new(BestFirst::a_star()) },
    /// Iterative-deepening A*.
    "idastar" IdaStar(NoSettings) HEURISTIC => { let _ = settings; Box::new(IterativeDeepening::default()) },
    /// Bidirectional A*.
    "nbs" Nbs(NoSettings) HEURISTIC_BOTH_ENDS => { let _ = settings; parts.reverse().nbs() },
    /// Best-first search, one node at a time.
    "best-first" BestFirst(BestFirstSettings) HEURISTIC => Box::new(BestFirst::from_one_by_one(settings)),
    /// Breadth-first search.
    "bfs" Bfs(NoSettings) BLIND => {
        let _ = settings;
        Box::new(BreadthFirst { perimeter: parts.perimeter.clone() })
    },
    /// Bidirectional breadth-first search.
    "bidirectional" Bidirectional(NoSettings) BLIND_BOTH_ENDS => {
        let _ = settings;
        parts.reverse().bidirectional(parts.perimeter.clone())
    },
    /// A random walk.
    "random" Random(RandomSettings) BLIND => Box::new(RandomWalk::from_settings(settings)),
    /// Exhaustive search into the perimeter.
    "exhaustive" Exhaustive(NoSettings) BLIND_BOTH_ENDS => {
        let _ = settings;
        Box::new(Prove { search: None, perimeter: parts.perimeter.clone(), sequences: None })
    },
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig::Auto(Given::default())
    }
}

impl SearchConfig {
    /// A configuration by name, `auto` included, with settings by name. A value of `null` stands for the default, but counts
    /// as given; `false` counts as left out.
    ///
    /// # Errors
    /// If there is no such search, it has no such setting, or a setting takes no such value.
    pub fn from_given(name: &str, mut given: Map<String, Value>) -> Result<Self, SettingError> {
        if name != "auto" && Self::settings_of(name).is_none() {
            let expected = Self::NAMES.join(", ");
            return Err(SettingError::new("search", format!("unknown search '{name}': expected auto, {expected}")));
        }
        given.retain(|_, value| *value != Value::Bool(false));
        for (field, value) in &given {
            let setting = find_setting(name, field)?;
            if !value.is_null() {
                setting.kind.check(value).map_err(|reason| SettingError::new(field, reason))?;
            }
        }
        if name == "auto" {
            return Ok(SearchConfig::Auto(Given(given)));
        }
        let mut config = Map::from_iter([("search".to_owned(), name.into())]);
        config.extend(given);
        serde_json::from_value(config.into()).map_err(|error| SettingError::new("search", error.to_string()))
    }

    /// Every setting of every search, each once, with the names of the searches that have it.
    pub fn all_settings() -> Vec<(Setting, Vec<&'static str>)> {
        let mut all: Vec<(Setting, Vec<&'static str>)> = Vec::new();
        for name in Self::NAMES {
            for setting in Self::settings_of(name).unwrap_or_default() {
                match all.iter_mut().find(|(known, _)| known.name == setting.name) {
                    Some((_, searches)) => searches.push(name),
                    None => all.push((setting, vec![name])),
                }
            }
        }
        all
    }

    /// The names of the searches that a puzzle allows, reversible or not.
    pub fn allowed(is_reversible: bool) -> Vec<&'static str> {
        let allows = |name: &&str| is_reversible || Self::needs_of(name).is_some_and(|needs| !needs.inverses);
        Self::NAMES.iter().copied().filter(allows).collect()
    }
}

/// A setting of the search of a name; of `auto`, of any.
fn find_setting(search: &str, field: &str) -> Result<Setting, SettingError> {
    let all = SearchConfig::all_settings();
    let Some((setting, searches)) = all.into_iter().find(|(setting, _)| setting.name == field) else {
        return Err(SettingError::new(field, "no search has such a setting; leave it out"));
    };
    if search == "auto" || searches.contains(&search) {
        return Ok(setting);
    }
    let reason = format!(
        "the search {search} has no such setting (it is one of {}): leave it out, or choose another `search`",
        searches.join(" and ")
    );
    Err(SettingError::new(field, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).expect("an object")
    }

    #[test]
    fn a_configuration_is_read_as_it_is_written() {
        for text in [
            r#"{"search":"auto"}"#,
            r#"{"search":"auto","n":100,"deferred":true}"#,
            r#"{"search":"bwas","n":1000,"lambda":0.6}"#,
            r#"{"search":"beam","n":6000,"candidates":2,"policy_weight":1.5,"perimeter":7,"symmetries":4}"#,
            r#"{"search":"astar"}"#,
            r#"{"search":"random","seed":3}"#,
        ] {
            let config: SearchConfig = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&config).expect("JSON"), text);
        }
        for wrong in [r#"{"search":"beam","width":5}"#, r#"{"search":"beam","n":0}"#, r#"{"search":"magic"}"#] {
            assert!(serde_json::from_str::<SearchConfig>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_are_refused_by_name() {
        for (search, settings, field, named) in [
            ("magic", "{}", "search", "'magic'"),
            ("bfs", r#"{"n": 7}"#, "n", "bwas and beam"),
            ("astar", r#"{"lambda": 0.5}"#, "lambda", "best-first"),
            ("auto", r#"{"speed": 9}"#, "speed", "no search"),
            ("auto", r#"{"n": 0}"#, "n", "at least 1"),
            ("beam", r#"{"policy_weight": -1}"#, "policy_weight", "at least 0"),
            ("beam", r#"{"symmetry_averaging": 2}"#, "symmetry_averaging", "0 to 1"),
            ("bwas", r#"{"anytime": 1}"#, "anytime", "true or false"),
        ] {
            let error = SearchConfig::from_given(search, given(settings)).expect_err(settings);
            assert_eq!(error.field, field);
            assert!(error.reason.contains(named), "{error}");
        }
    }

    #[test]
    fn every_setting_has_a_help_text() {
        for (setting, searches) in SearchConfig::all_settings() {
            assert!(setting.help.len() > 20 && !searches.is_empty(), "{setting:?}");
        }
    }
}
