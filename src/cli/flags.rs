//! The flags of a search, made from the settings that the searches name.

use crate::quantity;
use crate::search::settings::{Common, Kind, Setting};
use crate::solver::SearchConfig;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use serde_json::{Map, Value};

/// `--search`, and a flag for every setting of every search.
#[derive(Debug, Clone)]
pub(super) struct SearchFlags {
    name: String,
    given: Map<String, Value>,
}

impl SearchFlags {
    /// The configuration that the flags name.
    ///
    /// # Errors
    /// If there is no such search, or it has no such setting.
    pub(super) fn config(&self) -> Result<SearchConfig, crate::SettingError> {
        SearchConfig::from_given(&self.name, self.given.clone())
    }
}

impl clap::Args for SearchFlags {
    fn augment_args(command: Command) -> Command {
        let names = SearchConfig::NAMES.join(", ");
        let search =
            Arg::new("search").long("search").value_name("NAME").default_value("auto").help(format!(
                "The search: {names}; auto is what measured best for the puzzle, the model and the device"
            ));
        let settings = SearchConfig::all_settings();
        settings.into_iter().fold(command.arg(search), |command, (setting, searches)| {
            command.arg(flag(&setting).help(help(setting.name, &searches)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SearchFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Map::new();
        for (Setting { name, kind, .. }, _) in SearchConfig::all_settings() {
            match kind {
                Kind::Switch if matches.get_flag(name) => drop(given.insert(name.into(), true.into())),
                Kind::Switch => {}
                _ => given.extend(matches.get_one::<Value>(name).map(|value| (name.to_owned(), value.clone()))),
            }
        }
        let name = matches.get_one::<String>("search").cloned().unwrap_or_default();
        Ok(SearchFlags { name, given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn flag(setting: &Setting) -> Arg {
    let arg = Arg::new(setting.name).long(setting.name.replace('_', "-"));
    match setting.kind {
        Kind::Switch => arg.action(ArgAction::SetTrue),
        Kind::Count { least: 0 } => {
            arg.value_name("N").value_parser(|text: &str| quantity::count(text).map(Value::from))
        }
        Kind::Count { .. } => arg.value_name("N").value_parser(positive),
        Kind::Weight => arg.value_name("X").value_parser(weight),
        Kind::Share => arg.value_name("SHARE").value_parser(|text: &str| quantity::share::<f64>(text).map(Value::from)),
    }
}

/// A count of at least 1, or `auto` for the default.
fn positive(text: &str) -> Result<Value, String> {
    if text == "auto" { Ok(Value::Null) } else { quantity::positive_count(text).map(Value::from) }
}

fn weight(text: &str) -> Result<Value, String> {
    match text.parse::<f64>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight.into()),
        _ => Err(format!("'{text}' is not a weight: expected a number of at least 0")),
    }
}

/// The help text of a setting, as each search has it.
fn help(name: &str, searches: &[&str]) -> String {
    let text = |search: &str| {
        let settings = SearchConfig::settings_of(search).unwrap_or_default();
        settings.iter().find(|setting| setting.name == name).map_or("", |setting| setting.help).trim().to_owned()
    };
    if Common::LIST.iter().any(|setting| setting.name == name) {
        return text(searches[0]).replace('`', "");
    }
    let texts = searches.iter().map(|search| format!("Of {search}: {}", text(search)));
    texts.collect::<Vec<_>>().join("\n").split('`').enumerate().fold(String::new(), |all, (i, part)| {
        if i % 2 == 0 { all + part } else { format!("{all}--{}", part.replace('_', "-")) }
    })
}
