//! tmp
use crate::neural::device::Device;
use crate::neural::learner::*;
use crate::neural::model::ModelConfig;
use crate::neural::network::*;
use crate::puzzle::Reversible;
use crate::sampler::*;
use std::sync::Arc;
use std::time::Instant;

/// tmp
pub fn learning_rate(peak: f64, seen: u64, total: u64) -> f64 {
    const WARM_UP: f64 = 0.02;
    let progress = seen as f64 / total as f64;
    let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress.min(1.0)).cos());
    peak * (progress / WARM_UP).min(1.0) * cosine
}

/// tmp
pub fn run<P: Reversible>(puzzle: P, steps: u64, out: &std::path::Path) {
    let puzzle = Arc::new(puzzle);
    let config = NetworkConfig { kind: NetworkKind::Mlp, width: 1024, blocks: 3, heads: Some(12), offset: 13.0, scale: 10.0 };
    let batch_size = 8192;
    let mut learner = Learner::fresh(config.clone(), &puzzle.encoding(), Device::CPU, Precision::Bf16, 1e-3, 1).unwrap();
    let mut stream = Sampler::new(Arc::clone(&puzzle), 1, 26, batch_size).stream(0, 1);
    let start = Instant::now();
    let mut mc = ModelConfig::new(puzzle.name(), puzzle.encoding(), config, Precision::Bf16);
    let mut seen = 0u64;
    let mut k = 0u64;
    while seen < steps {
        let b = stream.next().unwrap();
        learner.step(&b, learning_rate(2e-3, seen, steps));
        seen += batch_size as u64;
        k += 1;
        if k % 100 == 0 {
            println!("{seen} {:.0}/s {:?}", seen as f64 / start.elapsed().as_secs_f64(), learner.losses());
        }
        if k % 1000 == 0 || seen >= steps {
            mc.samples = seen;
            let f = out.join(format!("checkpoint-{seen}"));
            crate::files::create_folder_whole(&f, |d| learner.save(d, &mc)).unwrap();
        }
    }
}
