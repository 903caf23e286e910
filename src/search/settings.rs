//! How a search names its settings: once, in its own file. Command-line flags, HTTP fields, result files and a model's
//! `config.json` all take the names, the values and the help texts from there.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::num::NonZeroUsize;

/// A setting of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The name of its field.
    pub name: &'static str,
    /// The values that it takes.
    pub kind: Kind,
    /// What it does, in a sentence or two.
    pub help: &'static str,
}

/// The values that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On or off.
    Switch,
    /// A whole number of at least `least`.
    Count {
        /// The least value.
        least: u64,
    },
    /// A number from 0 on.
    Weight,
    /// A number from 0 to 1.
    Share,
}

impl Kind {
    /// Refuses a value of another kind.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn check(self, value: &Value) -> Result<(), String> {
        let number = value.as_f64().filter(|number| number.is_finite());
        let (fits, expected) = match self {
            Kind::Switch => (value.is_boolean(), "true or false".into()),
            Kind::Count { least } => {
                (value.as_u64().is_some_and(|number| number >= least), format!("a whole number of at least {least}"))
            }
            Kind::Weight => (number.is_some_and(|number| number >= 0.0), "a number of at least 0".into()),
            Kind::Share => (number.is_some_and(|number| (0.0..=1.0).contains(&number)), "a number from 0 to 1".into()),
        };
        if fits { Ok(()) } else { Err(format!("expected {expected}, got {value}")) }
    }
}

/// The type of a setting.
pub trait SettingType {
    /// The values that it takes.
    const KIND: Kind;
}

impl SettingType for bool {
    const KIND: Kind = Kind::Switch;
}

impl SettingType for u32 {
    const KIND: Kind = Kind::Count { least: 0 };
}

impl SettingType for u64 {
    const KIND: Kind = Kind::Count { least: 0 };
}

impl SettingType for NonZeroUsize {
    const KIND: Kind = Kind::Count { least: 1 };
}

/// A finite number from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Weight(f64);

impl Weight {
    /// A weight; `None` if the number is negative or not finite.
    pub fn new(number: f64) -> Option<Self> {
        (number.is_finite() && number >= 0.0).then_some(Weight(number))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl SettingType for Weight {
    const KIND: Kind = Kind::Weight;
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Weight::new(number).ok_or_else(|| D::Error::custom(format!("expected a number of at least 0, got {number}")))
    }
}

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Share(f64);

impl Share {
    /// A share; `None` if the number is not from 0 to 1.
    pub fn new(number: f64) -> Option<Self> {
        (0.0..=1.0).contains(&number).then_some(Share(number))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl SettingType for Share {
    const KIND: Kind = Kind::Share;
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Share::new(number).ok_or_else(|| D::Error::custom(format!("expected a number from 0 to 1, got {number}")))
    }
}

/// The settings of one search. Each may be left out: [`resolve`](crate::solver::resolve) has the defaults.
pub trait Settings: Serialize + DeserializeOwned + Default + Clone + PartialEq {
    /// Its own settings, in the order in which they are listed; [`Common::LIST`] has the others.
    const LIST: &'static [Setting];

    /// The settings that every search has.
    fn common(&self) -> Common;

    /// Sets the settings that every search has.
    fn set_common(&mut self, common: Common);
}

/// Declares the settings of a search: a struct whose fields may all be left out, and their list. Every search has
/// those of [`Common`] beside its own.
macro_rules! settings {
    ($(#[doc = $about:literal])* pub struct $name:ident {
        $($(#[doc = $help:literal])* $field:ident: $type:ty,)*
    }) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $help])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
            /// See [`Common`]($crate::search::settings::Common).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub perimeter: Option<u32>,
            /// See [`Common`]($crate::search::settings::Common).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub symmetries: Option<std::num::NonZeroUsize>,
            /// See [`Common`]($crate::search::settings::Common).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub sequences: Option<u64>,
            /// See [`Common`]($crate::search::settings::Common).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub prove: Option<bool>,
        }

        impl $crate::search::settings::Settings for $name {
            const LIST: &'static [$crate::search::settings::Setting] = &[
                $($crate::search::settings::Setting {
                    name: stringify!($field),
                    kind: <$type as $crate::search::settings::SettingType>::KIND,
                    help: concat!($($help),*),
                },)*
            ];

            fn common(&self) -> $crate::search::settings::Common {
                let Self { perimeter, symmetries, sequences, prove, .. } = *self;
                $crate::search::settings::Common { perimeter, symmetries, sequences, prove }
            }

            fn set_common(&mut self, common: $crate::search::settings::Common) {
                let $crate::search::settings::Common { perimeter, symmetries, sequences, prove } = common;
                (self.perimeter, self.symmetries, self.sequences, self.prove) = (perimeter, symmetries, sequences, prove);
            }
        }
    };
}
pub(crate) use settings;

/// The settings that every search has: what is known exactly, and what is done beside the search and after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Common {
    /// Depth of the perimeter.
    pub perimeter: Option<u32>,
    /// How many symmetric images of an instance are searched.
    pub symmetries: Option<NonZeroUsize>,
    /// After the search, so many sequences of moves into the perimeter are made for a shorter solution.
    pub sequences: Option<u64>,
    /// Whether all of them are made: then the solution is proven to be a shortest one.
    pub prove: Option<bool>,
}

impl Common {
    /// All of them.
    pub const LIST: &'static [Setting] = &[
        Setting {
            name: "perimeter",
            kind: Kind::Count { least: 0 },
            help: " Depth of the perimeter: the exact distance of all states within so many moves of the goals; 0 for none \
                   [default: none for bwas as it was published; else the deepest in the cache, and for beams and proofs, where \
                   there is none, what can be made in 5 seconds]",
        },
        Setting {
            name: "symmetries",
            kind: Kind::Count { least: 1 },
            help: " Search this many symmetric images of the instance, and give the best answer: a cube \
                   has 96 (48 rotations and reflections, and the inverse of each), a board of tiles 2 [default: 1; of beam, \
                   with a model that has a policy head, up to 4]",
        },
        Setting {
            name: "sequences",
            kind: Kind::Count { least: 0 },
            help: " After the search, look for a shorter solution: make at most this many sequences of moves from the start \
                   into the perimeter, in the order of the network's estimates of early states; where that is all of them, \
                   the answer is proven optimal; else only the first 3 % of the longest are made [default: 0; of a beam with \
                   candidates, on a puzzle that knows its symmetries, 1e8]",
        },
        Setting {
            name: "prove",
            kind: Kind::Switch,
            help: " After the search, make all sequences of moves into the perimeter that could be shorter, until no \
                   shorter solution is left: the answer is then proven optimal (costar perimeter makes a deeper perimeter, \
                   which makes this faster)",
        },
    ];
}

settings! {
    /// The settings of a search that has none of its own.
    pub struct NoSettings {}
}
