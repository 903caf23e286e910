//! Labels that a perimeter gives.

use super::plan;
use costar::neural::device::{Device, set_cpu_threads};
use costar::neural::learner::Learner;
use costar::neural::precision::Precision;
use costar::puzzle::cube3::Cube3;
use costar::puzzle::laws::exact_distances;
use costar::puzzle::tiles::Puzzle8;
use costar::puzzle::{Encode as _, Notation as _};
use costar::sampler::{Sampler, Walks};
use costar::search::perimeter::Perimeter;
use costar::train::plan::TrainPlan;
use std::sync::Arc;

#[test]
fn labels_are_exact_where_the_children_are_known() {
    set_cpu_threads(1);
    let exact = exact_distances(&Cube3, 4);
    let walks = Walks::new(Arc::new(Cube3)).with_children(Perimeter::new(&Cube3, 4));
    let mut batch = Sampler::new(Arc::new(walks), (54, 12), 3, 3, 60).batch(0);
    let TrainPlan { network, .. } = plan(1e-3);
    let mut learner =
        Learner::fresh(network, &Cube3.encoding(), Device::CPU, Precision::F32, 0.0, 1).expect("a network");
    learner.update_target().expect("the device works");
    learner.relabel(&mut batch).expect("it labels");
    for (i, row) in batch.states.outer_iter().enumerate() {
        let text: String = row.iter().map(|&colour| "URFDLB".as_bytes()[usize::from(colour)] as char).collect();
        let state = Cube3.parse(&text).expect("a state of a walk");
        assert_eq!(batch.labels[i], f32::from(exact[&state]));
        for (action, &leads) in batch.policy_targets.row(i).indexed_iter() {
            let next = exact.get(&Cube3.turn(&state, action as u8));
            assert_eq!(leads == 1, next.is_some_and(|next| next + 1 == exact[&state]), "all moves that lead back");
        }
    }
    // Farther away, a label is at most the walk's length.
    let walks = Walks::new(Arc::new(Cube3)).with_children(Perimeter::new(&Cube3, 2));
    let mut batch = Sampler::new(Arc::new(walks), (54, 12), 3, 26, 260).batch(0);
    let lengths = batch.labels.clone();
    learner.relabel(&mut batch).expect("it labels");
    assert!(batch.labels.iter().zip(&lengths).all(|(label, length)| label <= length));
    assert!(batch.labels.iter().zip(&lengths).any(|(label, length)| label < length));
}

#[test]
fn labels_are_exact_near_the_goals() {
    const DEPTH: u32 = 8;
    let exact = exact_distances(&Puzzle8::default(), u8::MAX.into());
    let puzzle = Arc::new(Puzzle8::default());
    let walks = || Walks::new(Arc::clone(&puzzle));
    let batch = |walks: Walks<Puzzle8>| Sampler::new(Arc::new(walks), (9, 4), 3, 40, 4000).batch(0);
    let plain = batch(walks());
    let near = batch(walks().with_exact_labels(Perimeter::new(&*puzzle, DEPTH)));
    assert_eq!(near.states, plain.states);
    assert_eq!(near.policy_targets, plain.policy_targets);
    for (i, row) in plain.states.outer_iter().enumerate() {
        let text: Vec<String> = row.iter().map(u8::to_string).collect();
        let distance = f32::from(exact[&Puzzle8::default().parse(&text.join(" ")).expect("a board of a walk")]);
        let [plain, near] = [&plain, &near].map(|batch| batch.labels[i]);
        assert_eq!(near, if distance <= DEPTH as f32 { distance } else { plain });
        assert!(distance <= near, "{distance} {near}");
    }
}
