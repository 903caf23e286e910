//! Costs of moves that a user gives: fast turns may cost less than slow ones.

use super::notation::bail_parse;
use super::{Cost, Move, ParseError, Puzzle, move_names};

/// The cost of each move, as a user has given it.
///
/// Searches add whole numbers, so all costs are multiples of a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveCosts {
    costs: Vec<Cost>,
    /// Units in a cost of 1: a power of ten.
    units: Cost,
}

/// Decimal places of a cost.
const DIGITS: u32 = 3;
/// The greatest cost of a move. Priorities are f32, exact up to 2^24 thousandths: 167 moves of this cost.
const GREATEST: f64 = 100.0;

impl MoveCosts {
    /// Reads the costs of some moves, as in `U2=1.5,B=2`. A move and its inverse cost the same; every other move costs 1.
    ///
    /// # Errors
    /// If there is no such move, a cost is not from 0.001 to 100, or a move and its inverse are given two costs.
    ///
    /// # Panics
    /// Unless the puzzle is [reversible](crate::puzzle::Rules::is_reversible).
    pub fn parse<P: Puzzle>(text: &str, puzzle: &P) -> Result<MoveCosts, ParseError> {
        let names = move_names(puzzle, &(0..puzzle.move_count() as Move).collect::<Vec<_>>());
        let mut given: Vec<Option<f64>> = vec![None; names.len()];
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((name, cost)) = part.split_once('=') else {
                bail_parse!("'{part}': expected a move and its cost, as U2=1.5");
            };
            let Some(action) = names.iter().position(|other| other == name.trim()) else {
                // Half turns are single moves of another puzzle only.
                let is_half = name.trim().strip_suffix('2').is_some_and(|turn| names.iter().any(|other| other == turn));
                let hint = if puzzle.name() == "cube3" && is_half { "; cube3:htm has it" } else { "" };
                bail_parse!("'{part}': {} has no such move{hint}: expected {}", puzzle.name(), names.join(" "));
            };
            let cost = cost.trim().parse().ok().filter(|cost| (0.001..=GREATEST).contains(cost));
            let Some(cost) = cost else { bail_parse!("'{part}': expected a cost from 0.001 to 100") };
            if given[action].replace(cost).is_some_and(|earlier: f64| earlier != cost) {
                bail_parse!("'{part}': the move has another cost already");
            }
        }
        if given.iter().all(Option::is_none) {
            bail_parse!("no cost is given: expected moves and their costs, as U=1.5,B=2");
        }
        let both = |action: usize| {
            let inverse = usize::from(puzzle.inverse(action as Move));
            match (given[action], given[inverse]) {
                (Some(one), Some(other)) if one != other => Err(ParseError(format!(
                    "{} costs {one} and {} costs {other}: a move and its inverse must cost the same",
                    names[action], names[inverse]
                ))),
                (one, other) => Ok(one.or(other).unwrap_or(1.0)),
            }
        };
        let costs = (0..names.len()).map(both).collect::<Result<Vec<f64>, _>>()?;
        let is_whole = |units: f64| costs.iter().all(|cost| (cost * units - (cost * units).round()).abs() < 1e-6);
        let units = (0..=DIGITS).map(|digits| 10u32.pow(digits)).find(|&units| is_whole(f64::from(units)));
        let Some(units) = units else { bail_parse!("'{text}': costs have at most {DIGITS} decimal places") };
        Ok(MoveCosts { costs: costs.iter().map(|cost| (cost * f64::from(units)).round() as Cost).collect(), units })
    }

    /// The cost of all moves.
    #[inline]
    pub fn of(&self, moves: &[Move]) -> Cost {
        moves.iter().map(|&action| self.costs[usize::from(action)]).sum()
    }

    /// A sum of costs as the user counts it: in 1, not in units.
    pub fn shown(&self, cost: Cost) -> f64 {
        f64::from(cost) / f64::from(self.units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::cube3::{Cube3, Cube3HalfTurns};
    use crate::puzzle::{Notation as _, Rules as _, laws};

    #[test]
    fn costs_are_read() {
        let costs = MoveCosts::parse("U2=1.5, B=2", &Cube3HalfTurns).expect("costs");
        let puzzle = Cube3HalfTurns.with_costs(costs);
        let moves = puzzle.parse_moves("U2 B' R").expect("moves");
        let solved = puzzle.goals()[0];
        let each: Vec<Cost> = moves.iter().map(|&action| puzzle.move_cost(&solved, action)).collect();
        assert_eq!(each, [15, 20, 10]);
        assert_eq!(puzzle.counted(&moves), "cost 4.5, 3 turns, 4 quarter turns");
        laws::check(&puzzle, &[1, 18, 243]);
        assert_eq!(MoveCosts::parse("R=3", &Cube3).map(|costs| costs.shown(3)), Ok(3.0));
        for (text, named) in [
            ("U2=1", "no such move"),
            ("R", "R"),
            (" ,", "no cost is given"),
            ("R=0", "0.001"),
            ("R=x", "R=x"),
            ("R=100.5", "0.001 to 100"),
            ("R=2,R'=3", "its inverse"),
            ("R=2,R=3", "another cost"),
            ("R=1.2345", "decimal places"),
        ] {
            let refusal = MoveCosts::parse(text, &Cube3).expect_err(text);
            assert!(refusal.0.contains(named), "{text}: {refusal}");
        }
    }
}
