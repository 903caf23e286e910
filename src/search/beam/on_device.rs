//! A step of a beam whose layers lie on a device.

use super::ranks::StateId;
use super::{BeamRun, PATH_WEIGHT, PRIOR_WEIGHT};
use crate::error::Result;
use crate::puzzle::{Cost, Puzzle, replay};
use crate::search::device::DeviceEngine;
use crate::search::device::layers::{BeamWeights, DeviceLayers, Hit};
use crate::search::limits::{Interrupt, unless_failed};
use crate::search::{Control, Incumbent, Limit, Progress, Stats};

const _: () = assert!(PATH_WEIGHT > 0.0, "scores on a device are multiples of it");

impl<'a, P: Puzzle> BeamRun<'a, P> {
    /// Makes the first layer on the device.
    pub(super) fn begin_on_device(&mut self, engine: &'a DeviceEngine) -> Result<DeviceLayers<'a>> {
        let row = self.puzzle.row(&self.start);
        let weights = BeamWeights {
            n: self.settings.n,
            slots: self.settings.hash_slots.on_rank(self.settings.n, self.exchange.size()),
            candidates: self.settings.candidates,
            policy: self.settings.policy_weight,
            min_probability: super::candidates::MIN_PROBABILITY,
            prior: PRIOR_WEIGHT / PATH_WEIGHT,
            path: PATH_WEIGHT,
        };
        let layers = engine.layers(&row, weights, self.exchange)?;
        self.stats.evaluated += layers.width();
        self.stats.stored += layers.width();
        Ok(layers)
    }

    /// Goes from one layer to the next on the device, unless a solution is found.
    pub(super) fn step_on_device(
        &mut self,
        layers: &mut DeviceLayers<'_>,
        control: &mut Control<'_>,
    ) -> Result<(), Interrupt> {
        self.report(control);
        let bytes = layers.host_bytes() + self.bytes();
        self.agree(control.reached(&|| bytes), control)?;
        let budget = if self.exchange.is_alone() { control.nodes_left(self.stats.generated) } else { u64::MAX };
        self.stats.expanded += layers.width();
        let reached = || control.reached(&|| bytes);
        let chosen = layers.choose(&mut self.back_pointers, budget, &|| reached().is_some())?;
        self.stats.generated += chosen.generated.min(budget);
        self.stats.stored += chosen.count;
        self.cut_off |= chosen.cut_off;
        self.take_hits(chosen.hits)?;
        if self.best.is_some() {
            return Ok(());
        }
        let limit = reached().or((chosen.generated > budget).then_some(Limit::Nodes));
        self.agree(limit, control)?;
        let (stats, best) = (self.stats, self.nearest);
        let reached = |evaluated| {
            control.report(&Progress { stats: Stats { evaluated, ..stats }, best, least_f: None, proof: None });
            control.reached(&|| bytes)
        };
        let limit = unless_failed(layers.evaluate(&mut self.stats.evaluated, reached))?.err();
        self.agree(limit, control)?;
        let kept = layers.keep(|| control.reached(&|| bytes))?;
        self.cut_off |= kept.cut_off;
        self.note_layer(layers.width(), kept.nearest.map(|nearest| (nearest, self.depth() as Cost)))?;
        Ok(())
    }

    /// Replays the hits on the host, nearest first, and takes the first one inside the perimeter. All ranks take the same.
    fn take_hits(&mut self, hits: Vec<Hit>) -> Result<()> {
        let mut hits = self.exchange.gather(hits)?.concat();
        hits.sort_unstable();
        for Hit { rank, parent, action, .. } in hits {
            let mut moves = self.path_to(self.back_pointers.len(), StateId { rank, index: parent })?;
            moves.push(action);
            if let Ok((child, cost)) = replay(self.puzzle, &self.start, &moves)
                && let Some(rest) = self.settings.perimeter.path_to_goal(self.puzzle, &child)
            {
                let cost = cost + rest.len() as Cost;
                moves.extend(rest);
                self.best = Some(Incumbent { moves, cost });
                break;
            }
        }
        Ok(())
    }
}
