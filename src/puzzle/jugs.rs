//! Water jugs: pour until some jug holds half of the first jug's capacity.
//!
//! `jugs:8,5,3` has three jugs of these capacities; the first starts full. A move pours from one jug into another until
//! one is empty or the other full, and cannot be undone in general. Moves are tried with the source in the outer loop and the
//! target in the inner loop, and written `(0,1)`.

use super::notation::{bail_parse, ensure_parse, members};
use super::{Block, Encode, Encoding, Instance, Move, Notation, ParseError, Picture, Rules, StateBytes};

/// The most jugs.
pub const MAX_JUGS: usize = 8;

/// The volume in each jug; 0 beyond the last.
pub type Volumes = [u8; MAX_JUGS];

/// Jugs with a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jugs {
    capacities: Vec<u8>,
    goal: Goal,
    /// Whether the goal follows from the capacities.
    own_goal: bool,
    /// Source and target of each move, in the order in which moves are tried.
    pours: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Goal {
    /// Some jug holds this volume.
    Somewhere(u8),
    /// Every jug holds its volume.
    Exactly(Volumes),
    /// No state: half of an odd capacity is not a volume.
    Nothing,
}

impl Jugs {
    /// Jugs of these capacities, separated by commas. The goal is half of the first in some jug.
    ///
    /// # Errors
    /// Unless there are 1 to 8 capacities from 1 to 255.
    pub fn new(capacities: &str) -> Result<Self, ParseError> {
        let capacities = numbers(capacities)?;
        if capacities.is_empty() || capacities.len() > MAX_JUGS || capacities.contains(&0) {
            let given = join(&capacities);
            bail_parse!(
                "'{given}' is not a list of capacities: expected 1 to {MAX_JUGS} capacities from 1 to 255, separated by commas"
            );
        }
        let count = capacities.len();
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        let pours = pairs.filter(|(from, to)| from != to).collect();
        let goal = if capacities[0] % 2 == 0 { Goal::Somewhere(capacities[0] / 2) } else { Goal::Nothing };
        Ok(Jugs { capacities, goal, own_goal: true, pours })
    }

    /// The same jugs with another goal: one volume for any jug, or the volumes of all jugs.
    ///
    /// # Errors
    /// If the text is neither.
    pub fn with_goal(mut self, text: &str) -> Result<Self, ParseError> {
        let volumes = numbers(text)?;
        self.own_goal = false;
        self.goal = match volumes[..] {
            [volume] if self.capacities.len() > 1 => Goal::Somewhere(volume),
            _ => Goal::Exactly(self.volumes(&volumes)?),
        };
        Ok(self)
    }

    /// The same jugs, if their goal is a volume that they can hold.
    ///
    /// # Errors
    /// If the first jug has an odd capacity and no other goal was given, or the goal is above every capacity.
    pub fn checked(self) -> Result<Self, ParseError> {
        let most = self.capacities.iter().copied().max().unwrap_or(0);
        match self.goal {
            Goal::Nothing => bail_parse!(
                "half of the first jug's {} is not a whole volume: give another goal, a volume for any jug or the volumes of all",
                self.capacities[0]
            ),
            Goal::Somewhere(volume) if volume > most => {
                bail_parse!("the goal {volume} is above every jug: the largest holds {most}")
            }
            _ => Ok(self),
        }
    }

    /// The volume that is the goal in any jug; `None` for another kind of goal.
    pub fn goal_volume(&self) -> Option<u8> {
        if let Goal::Somewhere(volume) = self.goal { Some(volume) } else { None }
    }

    /// The number of jugs.
    pub fn count(&self) -> usize {
        self.capacities.len()
    }

    /// The start: the first jug full, the others empty.
    pub fn start(&self) -> Volumes {
        let mut volumes = [0; MAX_JUGS];
        volumes[0] = self.capacities[0];
        volumes
    }

    fn volumes(&self, given: &[u8]) -> Result<Volumes, ParseError> {
        let count = self.count();
        ensure_parse!(given.len() == count, "{} volumes are given, and there are {count} jugs", given.len());
        let mut volumes = [0; MAX_JUGS];
        for (jug, (&volume, &capacity)) in given.iter().zip(&self.capacities).enumerate() {
            ensure_parse!(volume <= capacity, "jug {jug} holds {capacity} at most, and {volume} is given");
            volumes[jug] = volume;
        }
        Ok(volumes)
    }
}

/// The volume of a jug that is drawn as `0: ███·· 3 of 5`.
fn drawn_volume(line: &str) -> Option<u8> {
    let (_, jug) = line.split_once(':')?;
    let (volume, _) = jug.rsplit_once(" of ")?;
    volume.split_whitespace().last()?.parse().ok()
}

fn numbers(text: &str) -> Result<Vec<u8>, ParseError> {
    let refusal = |word| ParseError(format!("'{word}' is not a volume: expected a number from 0 to 255"));
    members(text).map(|word| word.parse().map_err(|_| refusal(word))).collect()
}

fn join(volumes: &[u8]) -> String {
    volumes.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
}

impl Rules for Jugs {
    type State = Volumes;

    fn name(&self) -> String {
        format!("jugs:{}", join(&self.capacities))
    }

    fn move_count(&self) -> usize {
        self.pours.len()
    }

    fn apply(&self, state: &Volumes, action: Move) -> Option<Volumes> {
        let (from, to) = self.pours[usize::from(action)];
        let poured = state[from].min(self.capacities[to] - state[to]);
        let mut next = *state;
        next[from] -= poured;
        next[to] += poured;
        (poured > 0).then_some(next)
    }

    fn is_goal(&self, state: &Volumes) -> bool {
        match &self.goal {
            Goal::Somewhere(volume) => state[..self.count()].contains(volume),
            Goal::Nothing => false,
            Goal::Exactly(volumes) => state == volumes,
        }
    }

    fn has_own_goal(&self) -> bool {
        self.own_goal
    }

    fn state_bytes(&self) -> Option<StateBytes<Self::State>> {
        Some(StateBytes::plain())
    }
}

impl Notation for Jugs {
    fn notation(&self) -> &'static str {
        "volumes separated by commas (default: the first jug full); a move (0,1) pours from jug 0 into jug 1"
    }

    fn move_name(&self, action: Move) -> String {
        let (from, to) = self.pours[usize::from(action)];
        format!("({from},{to})")
    }

    fn read_moves(&self, text: &str) -> Result<Vec<Move>, ParseError> {
        let pour = |word: &str| {
            let (from, to) = word.split_once(',')?;
            let pour = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            self.pours.iter().position(|other| *other == pour)
        };
        let read = |word: &str| match pour(word) {
            Some(action) => Ok(action as Move),
            None => bail_parse!("'{word}' is not a move: (0,1) pours from jug 0 into jug 1"),
        };
        text.split([')', '(']).map(str::trim).filter(|word| !word.is_empty() && *word != ",").map(read).collect()
    }

    /// The volume in each jug, also as a drawing has it: `0: ███·· 3 of 5`. An empty text is the start, with the first jug
    /// full.
    fn read(&self, text: &str) -> Result<Instance<Volumes>, ParseError> {
        let drawn: Option<Vec<u8>> = text.lines().filter(|line| !line.trim().is_empty()).map(drawn_volume).collect();
        if let Some(volumes) = drawn.filter(|volumes| !volumes.is_empty()) {
            return self.volumes(&volumes).map(Instance::from);
        }
        match numbers(text)?[..] {
            [] => Ok(self.start().into()),
            ref given => self.volumes(given).map(Instance::from),
        }
    }

    /// The jugs of a drawing.
    fn block(&self, lines: &[&str]) -> Block {
        match lines.iter().all(|line| drawn_volume(line).is_some()) {
            true if lines.len() == self.count() => Block::Whole,
            true => Block::Part,
            false => Block::Neither,
        }
    }

    fn format(&self, state: &Volumes) -> String {
        join(&state[..self.count()])
    }

    fn picture(&self, state: &Volumes) -> Picture {
        let marks = match &self.goal {
            Goal::Somewhere(volume) => vec![*volume; self.count()],
            Goal::Exactly(volumes) => volumes[..self.count()].to_vec(),
            Goal::Nothing => Vec::new(),
        };
        Picture::Jugs {
            capacities: self.capacities.clone(),
            volumes: state[..self.count()].to_vec(),
            marks,
            every: matches!(self.goal, Goal::Exactly(_)),
        }
    }
}

impl Encode for Jugs {
    /// A cell a jug, its symbol the volume.
    fn encoding(&self) -> Encoding {
        Encoding::row(self.count(), usize::from(self.capacities.iter().copied().max().unwrap_or(0)) + 1)
    }

    fn encode(&self, state: &Volumes, row: &mut [u8]) {
        row.copy_from_slice(&state[..self.count()]);
    }
}
