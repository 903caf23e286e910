//! Every setting of a search, in one flat struct: flags, HTTP fields, result files, Python and a model's `config.json` all
//! read and write it. The doc comment of a field is its help text.

use crate::error::SettingError;
use crate::puzzle::Puzzle;
#[cfg(feature = "cli")]
use crate::quantity;
use crate::registry::Entry;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A value, or `None` for its default, asked for by name: `auto` on the command line.
pub type OrAuto<T> = Option<T>;

/// The search and its settings, as asked for. [`resolve`](super::resolve()) fills in what is left out.
///
/// # Example
///
/// ```
/// use costar::solver::SearchOptions;
///
/// let options: SearchOptions = serde_json::from_str(r#"{ "search": "bwas", "n": 1000, "lambda": 0.6 }"#)?;
/// assert_eq!(options, SearchOptions { n: Some(Some(1000)), lambda: Some(0.6), ..SearchOptions::of("bwas") });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct SearchOptions {
    /// The search: bwas, beam, astar, idastar, nbs, best-first, bfs, bidirectional, random, exhaustive or
    /// reduction; auto takes the one that measured best for the puzzle, the model and the device [default: auto]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub search: Option<String>,
    /// Nodes that bwas expands per step, or states that beam and reduction keep per layer: larger values find shorter
    /// solutions and take longer [default: by search and device]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = count_or_auto))]
    pub n: Option<OrAuto<usize>>,
    /// The weight λ of the path cost in f = λ·g + h, for bwas and best-first: 1 is A*, 0 is greedy best-first search
    /// [default: bwas 0.6, best-first 0]
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", value_parser = quantity::number))]
    pub lambda: Option<f64>,
    /// Where beam and bwas keep their states: host, in main memory, or device, where the network is, the CPU included; device
    /// is for cubes, sliding tiles, Lights Out and puzzles from a file, and for bwas without --deferred [default: auto, device
    /// on CUDA if possible]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", hide_possible_values = true))]
    pub engine: Option<Engine>,
    /// Slots of the hash table of evaluated states, for beam on the device: 8 bytes each, on each rank; a state whose
    /// hash was overwritten may be evaluated again [default: 256 times n, divided by the ranks, in at most an eighth of
    /// the device's memory]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = quantity::positive_count))]
    pub hash_slots: Option<u64>,
    /// Children that beam evaluates in a layer, as a multiple of its width, those of least h(parent) − c·ln p; 0
    /// evaluates all; needs a model with a policy head [default: the model's own, or 2]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = quantity::count))]
    pub candidates: Option<u64>,
    /// Deferred evaluation in bwas: generate and evaluate a child only when its turn comes, in the order of the move
    /// probabilities; needs a model with a policy head
    #[cfg_attr(feature = "cli", arg(long))]
    pub deferred: bool,
    /// The weight of −ln p, in moves, for a move of probability p, in beam and in bwas with deferred evaluation
    /// [default: beam the model's own, or 1.5; bwas 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", value_parser = quantity::number))]
    pub policy_weight: Option<f64>,
    /// Steps of bwas after its first solution; the best solution counts [default: 4 with a perimeter, else 0]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = quantity::count))]
    pub max_stale_steps: Option<u64>,
    /// Continue bwas after its first solution, and print each better one, until a limit is reached or nothing better
    /// can exist
    #[cfg_attr(feature = "cli", arg(long))]
    pub anytime: bool,
    /// The seed of a random walk [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = quantity::count))]
    pub seed: Option<u64>,
    /// Depth of the perimeter, the exact distance of all states within this many moves of the goals; 0 for none
    /// [default: beam with candidates, deferred bwas, reduction and proofs: the deepest in the cache, or what 5 seconds
    /// build; bfs and bidirectional: only from the cache; else 0]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = quantity::depth))]
    pub perimeter: Option<u32>,
    /// Search this many symmetric images of the instance, and give the best solution: the 3×3×3 has 96 (48 rotations and
    /// reflections, and the inverse of each), a board of tiles 2 [default: 1; for reduction up to 4; for beam with a policy
    /// head the model's, or up to 4]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = count_or_auto))]
    pub symmetries: Option<OrAuto<usize>>,
    /// After the search, make at most this many move sequences from the start into the perimeter, in the order of the
    /// network's estimates of early states, to find a shorter solution. If the budget covers all shorter
    /// sequences, the solution is proven optimal; otherwise costar tries the most promising 3 % of the longest [default:
    /// 0; for beam with candidates, on cubes and files whose symmetries are known, 1e8]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = quantity::count))]
    pub proof_budget: Option<u64>,
    /// After the search, make every shorter move sequence into the perimeter: the solution is then proven optimal
    /// (costar perimeter makes a deeper perimeter, which makes this faster)
    #[cfg_attr(feature = "cli", arg(long))]
    pub prove: bool,
}

/// Where the states of a search lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The faster one.
    Auto,
    /// In main memory: the cores make children, and the network gets them in chunks.
    Host,
    /// On the network's device, as tensors.
    Device,
}

#[cfg(feature = "cli")]
fn count_or_auto(text: &str) -> Result<OrAuto<usize>, String> {
    if text == "auto" { Ok(None) } else { quantity::positive_count(text).map(|count| Some(count as usize)) }
}

impl SearchOptions {
    /// A search by name, with the default of every setting.
    pub fn of(search: &str) -> Self {
        SearchOptions { search: Some(search.into()), ..SearchOptions::default() }
    }

    /// The name of the search, or `auto`.
    pub fn search(&self) -> &str {
        self.search.as_deref().unwrap_or("auto")
    }

    /// Options from a JSON object; `null` and `false` count as left out.
    ///
    /// # Errors
    /// Names the first field that no search has, or that takes no such value.
    pub fn from_json(fields: Map<String, Value>) -> Result<Self, SettingError> {
        for (field, value) in &fields {
            let alone = Map::from_iter([(field.clone(), value.clone())]);
            serde_json::from_value::<SearchOptions>(alone.into()).map_err(|_| refuse_value(field, value))?;
        }
        let options: SearchOptions =
            serde_json::from_value(fields.into()).map_err(|error| SettingError::new("search", error.to_string()))?;
        options.check()?;
        Ok(options)
    }

    /// The given options as a JSON object, as in result files.
    pub fn to_json(&self) -> Map<String, Value> {
        let fields = serde_json::to_value(self).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
        fields.into_iter().filter(|(_, value)| !value.is_null() && *value != Value::Bool(false)).collect()
    }

    /// The names of all fields.
    pub fn fields() -> Vec<String> {
        let all = serde_json::to_value(SearchOptions::default()).ok();
        all.as_ref().and_then(Value::as_object).map_or_else(Vec::new, |all| all.keys().cloned().collect())
    }

    /// Refuses values that no search takes, an unknown search, and settings that the search does not have.
    ///
    /// # Errors
    /// Names the setting, and what is expected.
    pub fn check(&self) -> Result<(), SettingError> {
        let name = self.search();
        if name != "auto" {
            self.check_for(SearchInfo::named(name)?)?;
        }
        let slots = self.hash_slots.map(|slots| Some(slots as usize));
        for (field, value) in [("n", self.n), ("symmetries", self.symmetries), ("hash_slots", slots)] {
            if value.flatten() == Some(0) {
                return Err(refuse_value(field, &0.into()));
            }
        }
        for (field, value) in [("lambda", self.lambda), ("policy_weight", self.policy_weight)] {
            if let Some(value) = value.filter(|value| !(0.0..=MAX_WEIGHT).contains(value)) {
                return Err(refuse_value(field, &value.into()));
            }
        }
        Ok(())
    }

    /// Refuses settings that a search does not have.
    pub(super) fn check_for(&self, search: &SearchInfo) -> Result<(), SettingError> {
        let has = |search: &SearchInfo, field: &str| search.settings.contains(&field) || COMMON.contains(&field);
        let given = self.to_json();
        let is_foreign = |field: &&String| *field != "search" && !has(search, field);
        let Some(field) = given.keys().find(is_foreign) else { return Ok(()) };
        let others: Vec<&str> = SEARCHES.iter().filter(|other| has(other, field)).map(|other| other.name).collect();
        let reason = format!(
            "the search {} has no such setting: leave it out, or choose a `search` that has it: {}",
            search.name,
            others.join(", ")
        );
        Err(SettingError::new(field, reason))
    }
}

/// The greatest weight: products with greater ones leave the range of f32, whose end means that a child is excluded.
const MAX_WEIGHT: f64 = 1e6;

/// The refusal of a field that no search has, or of a value that it does not take.
fn refuse_value(field: &str, value: &Value) -> SettingError {
    let expected = match field {
        "search" => "the name of a search",
        "n" | "symmetries" | "hash_slots" => "a whole number of at least 1",
        "candidates" | "max_stale_steps" | "seed" | "perimeter" | "proof_budget" => "a whole number of at least 0",
        "lambda" | "policy_weight" => "a number from 0 to 1000000",
        "deferred" | "anytime" | "prove" => "true or false",
        "engine" => "auto, host or device",
        _ => return SettingError::new(field, "no search has such a setting; leave it out"),
    };
    SettingError::new(field, format!("expected {expected}, got {value}"))
}

/// The settings of every search: exact distances, symmetric images, and the proof after it.
const COMMON: [&str; 4] = ["perimeter", "symmetries", "proof_budget", "prove"];

/// Needs and settings of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchInfo {
    /// The name that `search` takes.
    pub name: &'static str,
    /// The settings that only some searches have.
    settings: &'static [&'static str],
    /// Whether it asks a heuristic.
    pub asks_heuristic: bool,
    /// Whether it asks for many states at once.
    pub in_batches: bool,
    /// Whether it goes back from the goals, so that moves must have inverses.
    pub needs_inverses: bool,
}

impl SearchInfo {
    /// The search of a name; `None` if there is none.
    pub fn find(name: &str) -> Option<&'static SearchInfo> {
        SEARCHES.iter().find(|search| search.name == name)
    }

    /// The search of a name, or a refusal that lists them.
    pub(super) fn named(name: &str) -> Result<&'static SearchInfo, SettingError> {
        Self::find(name).ok_or_else(|| Self::unknown(name))
    }

    pub(super) fn unknown(name: &str) -> SettingError {
        let known = SEARCHES.map(|search| search.name).join(", ");
        SettingError::new("search", format!("unknown search '{name}': expected auto, {known}"))
    }

    /// The searches that a puzzle allows.
    pub fn allowed<P: Puzzle>(entry: &Entry<P>) -> impl Iterator<Item = &'static SearchInfo> + use<P> {
        SearchInfo::possible(entry.puzzle().is_reversible(), !entry.puzzle().reduction().is_empty())
    }

    /// The searches of puzzles with inverse moves or without, and with a reduction or without.
    pub(super) fn possible(is_reversible: bool, has_reduction: bool) -> impl Iterator<Item = &'static SearchInfo> {
        let allows = move |search: &&SearchInfo| {
            (is_reversible || !search.needs_inverses) && (has_reduction || search.name != REDUCTION)
        };
        SEARCHES.iter().filter(allows)
    }

    /// The names of the searches that a puzzle allows.
    pub fn allowed_names<P: Puzzle>(entry: &Entry<P>) -> Vec<&'static str> {
        SearchInfo::allowed(entry).map(|search| search.name).collect()
    }
}

/// A search without settings of its own that asks a heuristic for a few states at a time.
const PLAIN: SearchInfo =
    SearchInfo { name: "", settings: &[], asks_heuristic: true, in_batches: false, needs_inverses: false };

const BWAS: [&str; 7] = ["n", "engine", "lambda", "deferred", "policy_weight", "max_stale_steps", "anytime"];

const BEAM: [&str; 5] = ["n", "engine", "hash_slots", "candidates", "policy_weight"];

/// The name of the search in stages.
pub(super) const REDUCTION: &str = "reduction";

/// Every search.
pub static SEARCHES: [SearchInfo; 11] = [
    SearchInfo { name: "bwas", settings: &BWAS, in_batches: true, ..PLAIN },
    SearchInfo { name: "beam", settings: &BEAM, in_batches: true, ..PLAIN },
    SearchInfo { name: "astar", ..PLAIN },
    SearchInfo { name: "idastar", ..PLAIN },
    SearchInfo { name: "nbs", needs_inverses: true, ..PLAIN },
    SearchInfo { name: "best-first", settings: &["lambda"], ..PLAIN },
    SearchInfo { name: "bfs", asks_heuristic: false, ..PLAIN },
    SearchInfo { name: "bidirectional", asks_heuristic: false, needs_inverses: true, ..PLAIN },
    SearchInfo { name: "random", settings: &["seed"], asks_heuristic: false, ..PLAIN },
    SearchInfo { name: "exhaustive", asks_heuristic: false, needs_inverses: true, ..PLAIN },
    SearchInfo { name: REDUCTION, settings: &["n"], asks_heuristic: false, in_batches: true, ..PLAIN },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).expect("an object")
    }

    #[test]
    fn options_are_read_as_they_are_written() {
        for text in [
            r#"{}"#,
            r#"{"search":"auto"}"#,
            r#"{"search":"auto","n":100,"deferred":true}"#,
            r#"{"search":"bwas","n":1000,"lambda":0.6}"#,
            r#"{"search":"beam","n":6000,"candidates":2,"policy_weight":1.5,"perimeter":7,"symmetries":4}"#,
            r#"{"search":"astar"}"#,
            r#"{"search":"random","seed":3}"#,
        ] {
            let options = SearchOptions::from_json(given(text)).expect(text);
            assert_eq!(serde_json::to_string(&options.to_json()).expect("JSON"), text);
        }
        for wrong in [r#"{"search":"beam","width":5}"#, r#"{"search":"beam","n":0}"#, r#"{"search":"magic"}"#] {
            assert!(SearchOptions::from_json(given(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_switch_that_is_off_counts_as_left_out() {
        let off = given(r#"{"search": "astar", "prove": false, "deferred": false, "n": null}"#);
        assert_eq!(SearchOptions::from_json(off).expect("options"), SearchOptions::of("astar"));
    }

    #[test]
    fn refusals_name_the_setting_and_what_is_expected() {
        for (search, settings, field, named) in [
            ("magic", "{}", "search", "'magic'"),
            ("bfs", r#"{"n": 7}"#, "n", "bwas, beam"),
            ("astar", r#"{"lambda": 0.5}"#, "lambda", "best-first"),
            ("auto", r#"{"speed": 9}"#, "speed", "no search"),
            ("auto", r#"{"n": 0}"#, "n", "at least 1"),
            ("beam", r#"{"policy_weight": -1}"#, "policy_weight", "from 0 to 1000000"),
            ("beam", r#"{"policy_weight": 1e38}"#, "policy_weight", "from 0 to 1000000"),
            ("bwas", r#"{"anytime": 1}"#, "anytime", "true or false"),
        ] {
            let mut fields = given(settings);
            fields.insert("search".into(), search.into());
            let error = SearchOptions::from_json(fields).expect_err(settings);
            assert_eq!(error.field, field);
            assert!(error.reason.contains(named), "{error}");
        }
    }

    #[test]
    fn every_setting_belongs_to_a_search() {
        for field in SearchOptions::fields().iter().filter(|field| *field != "search") {
            let field = field.as_str();
            assert!(
                COMMON.contains(&field) || SEARCHES.iter().any(|search| search.settings.contains(&field)),
                "{field}"
            );
            assert!(!refuse_value(field, &Value::Null).reason.contains("no search"), "{field}");
        }
    }
}
