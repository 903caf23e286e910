//! Networks: saving, folding and loading change no estimate; damaged files are refused by name.

use costar::heuristic::{Estimates, Heuristic as _, Query};
use costar::neural::device::{Device, DeviceChoice, set_cpu_threads};
use costar::neural::heuristic::NetworkHeuristic;
use costar::neural::learner::Learner;
use costar::neural::model::{CONFIG, Model, ModelConfig, PUZZLE, WEIGHTS};
use costar::neural::network::{NetworkConfig, NetworkKind};
use costar::neural::precision::Precision;
use costar::puzzle::cube2::Cube2;
use costar::puzzle::cube3::{Cube3, CubeState};
use costar::puzzle::permutation::{Description, Permutation};
use costar::puzzle::{Encode as _, Encoding};
use costar::random::generator;
use costar::sampler::{Batch, Sampler, Walker, Walks};
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn config(kind: NetworkKind, policy: bool) -> NetworkConfig {
    set_cpu_threads(1); // tests run at the same time
    NetworkConfig { kind, width: 16, blocks: 2, policy: policy.then_some(12), offset: 13.0, scale: 10.0 }
}

fn sampler(max_depth: u32, size: usize) -> Sampler {
    Sampler::new(Arc::new(Walks::new(Arc::new(Cube3))), (54, 12), 3, max_depth, size)
}

/// A network after some optimizer steps: its statistics differ from those of a fresh one.
fn learned(kind: NetworkKind, policy: bool) -> Learner {
    learned_of(config(kind, policy))
}

fn learned_of(config: NetworkConfig) -> Learner {
    let mut learner =
        Learner::fresh(config, &Cube3.encoding(), Device::CPU, Precision::F32, 1e-3, 1).expect("a network");
    for k in 0..30 {
        learner.step(&sampler(26, 256).batch(k), 1e-2).expect("it learns");
    }
    learner
}

fn save(learner: &Learner, folder: &Path, precision: Precision) {
    let config = ModelConfig::new("cube3".into(), Cube3.encoding(), learner.config().clone(), precision);
    learner.write_model(folder, &config).expect("it can be written");
}

fn states(count: usize) -> Vec<CubeState> {
    let mut generator = generator(9, 9);
    let mut walker = Walker::new(&Cube3, CubeState::SOLVED);
    (0..count).map(|_| walker.step(&mut generator).map(|_| walker.state).expect("a cube can be turned")).collect()
}

fn rows(states: &[CubeState]) -> ndarray::Array2<u8> {
    let mut rows = ndarray::Array2::zeros((states.len(), 54));
    for (state, mut row) in states.iter().zip(rows.outer_iter_mut()) {
        Cube3.encode(state, row.as_slice_mut().expect("a row is contiguous"));
    }
    rows
}

fn estimate(folder: &Path, precision: Precision, states: &[CubeState]) -> Estimates {
    let model = Model::read(folder, &Cube3, Device::CPU, Some(precision)).expect("a model");
    let mut heuristic = NetworkHeuristic::new(Arc::new(Cube3), model, Device::CPU);
    heuristic.submit(states, Query::ValuesAndPolicy).expect("the thread lives");
    heuristic.collect().expect("it evaluates")
}

fn worst(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn a_saved_and_folded_network_estimates_what_the_learner_does() {
    for kind in [NetworkKind::Mlp, NetworkKind::Resnet] {
        let learner = learned(kind, true);
        let folder = tempfile::tempdir().expect("a folder");
        save(&learner, folder.path(), Precision::F32);
        let states = states(300);
        let expected = learner.predict(&rows(&states)).expect("it predicts");
        let spread = expected.iter().copied().fold(0.0, f32::max) - expected.iter().copied().fold(99.0, f32::min);
        assert!(spread > 1.0, "{kind}: the predictions differ, by {spread}");
        let folded = estimate(folder.path(), Precision::F32, &states);
        let error = worst(&expected, &folded.values);
        assert!(error < 1e-3, "{kind}: folding changes estimates by {error}");
        let coarse = estimate(folder.path(), Precision::Bf16, &states);
        let error = worst(&expected, &coarse.values);
        assert!(error < 0.5, "{kind}: bf16 changes estimates by {error}");
        if kind.can_solve_in(Precision::Int8, Device::CPU) {
            let rounded = estimate(folder.path(), Precision::Int8, &states);
            let error = worst(&expected, &rounded.values);
            assert!(error < 0.5, "{kind}: 8 bits change estimates by {error}");
            let policy = [&folded, &rounded].map(|estimates| estimates.policy.as_ref().expect("the head"));
            let error = (policy[0] - policy[1]).abs().into_iter().fold(0.0, f32::max);
            assert!(error < 0.05, "{kind}: 8 bits change probabilities by {error}");
        } else {
            eprintln!("SKIPPED for {kind}: this machine has no products of 8 bits for it");
        }
        let policy = folded.policy.expect("it has the head");
        assert_eq!(policy.dim(), (300, 12));
        assert!(policy.outer_iter().all(|row| (row.sum() - 1.0).abs() < 1e-4));
    }
}

#[test]
fn an_estimate_in_8_bits_depends_on_its_state_alone() {
    if !NetworkKind::Mlp.can_solve_in(Precision::Int8, Device::CPU) {
        eprintln!("SKIPPED: this machine has no products of 8 bits");
        return;
    }
    // A width that fills no block of registers, and numbers of states around the size of a tile.
    let small = NetworkConfig { width: 74, ..config(NetworkKind::Mlp, true) };
    let learner = learned_of(small);
    let folder = tempfile::tempdir().expect("a folder");
    save(&learner, folder.path(), Precision::F32);
    let states = states(200);
    let all = estimate(folder.path(), Precision::Int8, &states);
    for count in [0, 1, 2, 47, 48, 49, 97, 200] {
        let some = estimate(folder.path(), Precision::Int8, &states[..count]);
        assert_eq!(some.values, all.values[..count]);
        assert_eq!(some.values.len(), count);
    }
}

#[test]
fn weights_come_back_bit_by_bit() {
    for kind in [NetworkKind::Mlp, NetworkKind::Resnet] {
        let learner = learned(kind, false);
        let folder = tempfile::tempdir().expect("a folder");
        save(&learner, folder.path(), Precision::F32);
        let mut other =
            Learner::fresh(config(kind, false), &Cube3.encoding(), Device::CPU, Precision::F32, 1e-3, 2).expect("one");
        let rows = rows(&states(100));
        assert_ne!(learner.predict(&rows).expect("it predicts"), other.predict(&rows).expect("it predicts"));
        other.read_weights(folder.path()).expect("the same network");
        assert_eq!(learner.predict(&rows).expect("it predicts"), other.predict(&rows).expect("it predicts"));
        let estimates = estimate(folder.path(), Precision::F32, &states(1));
        assert_eq!(estimates.policy, None, "it has no head of moves");
    }
}

#[test]
fn a_fresh_network_estimates_the_mean_and_can_learn() {
    for kind in [NetworkKind::Mlp, NetworkKind::Resnet] {
        for seed in 0..3 {
            let mut learner =
                Learner::fresh(config(kind, true), &Cube3.encoding(), Device::CPU, Precision::F32, 0.0, seed)
                    .expect("one");
            let rows = rows(&states(50));
            assert!(learner.predict(&rows).expect("it predicts").iter().all(|&value| value == 13.0));
            for k in 0..10 {
                learner.step(&sampler(3, 128).batch(k), 1e-2).expect("it learns");
            }
            assert!(
                learner.predict(&rows).expect("it predicts").iter().any(|&value| value != 13.0),
                "{kind}, seed {seed}: it learns"
            );
        }
    }
}

#[test]
fn estimates_are_never_negative() {
    let mut learner = Learner::fresh(
        NetworkConfig { offset: -5.0, ..config(NetworkKind::Mlp, false) },
        &Cube3.encoding(),
        Device::CPU,
        Precision::F32,
        0.0,
        1,
    )
    .expect("a network");
    assert_eq!(learner.losses().expect("the device works"), None);
    let folder = tempfile::tempdir().expect("a folder");
    save(&learner, folder.path(), Precision::Bf16);
    assert!(estimate(folder.path(), Precision::F32, &states(20)).values.iter().all(|&value| value == 0.0));
    assert!(learner.predict(&rows(&states(20))).expect("it predicts").iter().all(|&value| value == 0.0));
}

#[test]
fn it_learns_the_distances_near_the_goal() {
    for (kind, steps, bound) in [(NetworkKind::Mlp, 400, 0.35), (NetworkKind::Resnet, 150, 0.6)] {
        let config = NetworkConfig { width: 64, offset: 1.5, scale: 1.0, ..config(kind, true) };
        let mut learner =
            Learner::fresh(config, &Cube3.encoding(), Device::CPU, Precision::F32, 1e-3, 1).expect("a network");
        for k in 0..steps {
            learner.step(&sampler(3, 256).batch(k), 3e-3).expect("it learns");
        }
        let batch: Batch = sampler(3, 500).batch(1 << 40);
        let predicted = learner.predict(&batch.states).expect("it predicts");
        let error: f32 = predicted.iter().zip(&batch.labels).map(|(a, b)| (a - b).abs()).sum::<f32>() / 500.0;
        assert!(error < bound, "{kind}: mean error {error}");
        let losses = learner.losses().expect("the device works").expect("it has learned");
        assert!(losses.cross_entropy.expect("it has the head") < 2.0, "better than a guess among 12 (2.48)");
    }
}

#[test]
fn training_in_bf16_learns_as_well() {
    let config = NetworkConfig { width: 64, offset: 1.5, scale: 1.0, ..config(NetworkKind::Mlp, false) };
    let mut learner =
        Learner::fresh(config, &Cube3.encoding(), Device::CPU, Precision::Bf16, 1e-3, 1).expect("a network");
    for k in 0..400 {
        learner.step(&sampler(3, 256).batch(k), 3e-3).expect("it learns");
    }
    let batch = sampler(3, 500).batch(1 << 40);
    let predicted = learner.predict(&batch.states).expect("it predicts");
    let error: f32 = predicted.iter().zip(&batch.labels).map(|(a, b)| (a - b).abs()).sum::<f32>() / 500.0;
    assert!(error < 0.4, "mean error {error}");
}

#[test]
fn damaged_and_foreign_files_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let learner = learned(NetworkKind::Mlp, true);
    save(&learner, folder.path(), Precision::Bf16);
    let refusal = || match Model::read(folder.path(), &Cube3, Device::CPU, Some(Precision::F32)) {
        Ok(_) => panic!("it is read"),
        Err(error) => format!("{error:#}"),
    };
    let weights = folder.path().join(WEIGHTS);
    let whole = fs::read(&weights).expect("it was written");
    for length in [0, 7, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&weights, &whole[..length]).expect("it can be written");
        assert!(refusal().contains("truncated"), "{length} bytes: {}", refusal());
    }
    // A number that is as good as the old one.
    let mut other = whole.clone();
    let last = other.len() - 1;
    other[last - 1] ^= 1;
    fs::write(&weights, &other).expect("it can be written");
    assert!(refusal().contains("is damaged: its checksum is"), "{}", refusal());
    fs::write(&weights, &whole).expect("it can be written");

    let path = folder.path().join(CONFIG);
    let config = fs::read_to_string(&path).expect("it was written");
    let change = |from: &str, to: &str| {
        assert!(config.contains(from), "{from}");
        fs::write(&path, config.replacen(from, to, 1)).expect("it can be written");
    };
    change("\"width\": 16", "\"width\": 32");
    assert!(refusal().contains("shape"), "{}", refusal());
    change("\"blocks\": 2", "\"blocks\": 3");
    assert!(refusal().contains("lacks the tensor 'blocks.2.0.weight'"), "{}", refusal());
    change("\"blocks\": 2", "\"blocks\": 1");
    assert!(refusal().contains("does not have"), "{}", refusal());
    change("\"width\": 16", "\"width\": 1e99");
    assert!(refusal().contains(CONFIG), "{}", refusal());
    change("\"cells\": 54", "\"cells\": 999999999999");
    assert!(refusal().contains("999999999999 cells, and cube3 has 54"), "{}", refusal());
    change("\"policy\": 12", "\"policy\": 13");
    assert!(refusal().contains("13 moves"), "{}", refusal());
    change("\"puzzle\": \"cube3\"", "\"puzzle\": \"cube4\"");
    assert!(refusal().contains("cube4"), "{}", refusal());
    change("\"width\": 16", "\"width\": 9999999");
    assert!(refusal().contains("width"), "{}", refusal());
    for scale in ["0.0", "-10.0", "1e300", "1e-300"] {
        change("\"scale\": 10.0", &format!("\"scale\": {scale}"));
        assert!(refusal().contains(&format!("\"scale\" {scale}")), "{}", refusal());
    }
    change("\"offset\": 13.0", "\"offset\": -1e39");
    assert!(refusal().contains("\"offset\" -1e39"), "{}", refusal());
    change("\"format\": 2", "\"format\": 3");
    assert!(refusal().contains("format 3"), "{}", refusal());
    fs::write(&path, "{").expect("it can be written");
    assert!(refusal().contains(CONFIG), "{}", refusal());
    fs::remove_file(&path).expect("it is there");
    assert!(refusal().contains(CONFIG), "{}", refusal());
    fs::write(&path, &config).expect("it can be written");
    fs::remove_file(&weights).expect("it is there");
    assert!(refusal().contains(WEIGHTS), "{}", refusal());
}

#[test]
fn every_shipped_model_has_the_checksum_of_its_weights() {
    let models = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("models")).expect("a folder");
    let folders: Vec<_> = models.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect();
    assert!(folders.len() >= 13);
    for folder in folders {
        let weights = fs::read(folder.join(WEIGHTS)).expect("weights");
        let config = ModelConfig::read(&folder).expect("a configuration");
        assert_eq!(config.weights_crc32, Some(crc32fast::hash(&weights)), "{}", folder.display());
    }
}

#[test]
fn a_model_of_another_puzzle_or_encoding_is_refused() {
    let config = ModelConfig::new("cube3".into(), Cube3.encoding(), config(NetworkKind::Mlp, false), Precision::F32);
    let folder = Path::new("somewhere");
    assert!(config.check_puzzle(&Cube3, folder).is_ok());
    let refusal = config.check_puzzle(&Cube2, folder).expect_err("another puzzle").to_string();
    assert!(refusal.contains("cube3") && refusal.contains("cube2"));
    let newer = ModelConfig { encoding: Encoding { version: 2, ..Cube3.encoding() }, ..config };
    assert!(newer.check_puzzle(&Cube3, folder).expect_err("another version").to_string().contains("version 2"));
}

#[test]
fn a_model_of_other_rules_under_the_same_name_is_refused() {
    let rules =
        |turn: &str| format!(r#"{{ "name": "ring", "goal": "abcd", "moves": {{ "R": {turn} }}, "symmetric": true }}"#);
    let puzzle = |turn: &str| Permutation::<4>::new(Description::parse(&rules(turn)).expect("a puzzle"));
    let (ring, other) = (puzzle("[1, 2, 3, 0]"), puzzle("[3, 2, 1, 0]"));
    let config = ModelConfig::new("ring".into(), ring.encoding(), config(NetworkKind::Mlp, false), Precision::F32);
    let folder = tempfile::tempdir().expect("a folder");
    assert!(config.check_puzzle(&ring, folder.path()).is_ok(), "there is no file");
    // A change of layout is not a change of the rules.
    let same = rules("[1,  2,  3,  0]").replace("\"symmetric\"", "\n  \"symmetric\"");
    fs::write(folder.path().join(PUZZLE), same).expect("it can be written");
    assert!(config.check_puzzle(&ring, folder.path()).is_ok());
    let refusal = config.check_puzzle(&other, folder.path()).expect_err("other rules").to_string();
    assert!(refusal.contains("other rules") && refusal.contains(PUZZLE), "{refusal}");
    assert!(config.check_init(&other, folder.path()).is_ok(), "training may start from weights of other rules");
}

#[test]
fn a_convolution_needs_a_grid() {
    let flat = Encoding { grid: None, ..Cube3.encoding() };
    let refusal = Learner::fresh(config(NetworkKind::Resnet, false), &flat, Device::CPU, Precision::F32, 0.0, 1);
    let refusal = refusal.err().expect("there is no grid").to_string();
    assert!(refusal.contains("'resnet'") && refusal.contains("grid"));
    assert!(Learner::fresh(config(NetworkKind::Mlp, false), &flat, Device::CPU, Precision::F32, 0.0, 1).is_ok());
}

#[test]
fn the_default_network_has_the_size_that_the_article_gives() {
    let config = NetworkConfig { width: 1024, blocks: 4, ..config(NetworkKind::Resnet, false) };
    // 36·1024 + 8·9·1024² weights, 12 normalisations of 2·1024, the output's 1024.
    let expected = 36 * 1024 + 72 * 1024 * 1024 + 12 * 2 * 1024 + 1024;
    assert_eq!(config.parameter_count(&Cube3.encoding()).expect("it has a size"), expected);
}

#[test]
fn devices_are_chosen_by_name() {
    assert_eq!("cuda:1".parse(), Ok(DeviceChoice::Cuda(1)));
    assert!("gpu".parse::<DeviceChoice>().expect_err("no device").contains("'gpu'"));
    assert!("cuda:x".parse::<DeviceChoice>().is_err());
    assert_eq!(Device::resolve(DeviceChoice::Cpu).ok(), Some(Device::CPU));
    // With or without a GPU, a missing device is an error with a reason.
    let refusal = Device::resolve(DeviceChoice::Cuda(4096)).expect_err("no such device").to_string();
    assert!(refusal.contains("`device` cuda"), "{refusal}");
}
