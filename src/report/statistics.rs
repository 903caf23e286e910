//! How sure a share or a mean is.

/// The 97.5 % point of the normal distribution: both sides together leave 5 %.
const Z: f64 = 1.959_963_984_540_054;

/// A number that was measured, with the interval that holds the true one with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// What was measured.
    pub value: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// The share of `hits` in `trials`, with Wilson's score interval (Wilson 1927); `None` without trials.
///
/// # Panics
/// If there are more hits than trials.
pub fn share(hits: usize, trials: usize) -> Option<Estimate> {
    assert!(hits <= trials);
    if trials == 0 {
        return None;
    }
    let n = trials as f64;
    let value = hits as f64 / n;
    let middle = (value + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (value * (1.0 - value) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(Estimate { value, low: (middle - half).clamp(0.0, value), high: (middle + half).clamp(value, 1.0) })
}

/// The mean of differences, with the interval that holds the true one with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Difference {
    /// What was measured.
    pub value: f64,
    /// Where the interval begins; `null` of a single pair, which gives no interval.
    pub low: Option<f64>,
    /// Where it ends; the same.
    pub high: Option<f64>,
}

/// The mean of the differences of pairs, the first less the second, with the interval of Student's t: what is hard for
/// both does not widen it. `None` without pairs.
pub fn difference(pairs: &[[f64; 2]]) -> Option<Difference> {
    let differences: Vec<f64> = pairs.iter().map(|[first, second]| first - second).collect();
    let Estimate { value, low, high } = mean(&differences)?;
    let has_interval = differences.len() > 1;
    Some(Difference { value, low: has_interval.then_some(low), high: has_interval.then_some(high) })
}

/// The mean of values, with the interval of Student's t. A single value gives no interval, and is both ends itself: a
/// picture has a point there. `None` without values.
pub fn mean(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let value = values.iter().sum::<f64>() / n;
    let half = if values.len() < 2 {
        0.0
    } else {
        let variance = values.iter().map(|other| (other - value).powi(2)).sum::<f64>() / (n - 1.0);
        student(values.len() - 1) * (variance / n).sqrt()
    };
    Some(Estimate { value, low: value - half, high: value + half })
}

/// The 97.5 % point of Student's t: exact for one and two degrees of freedom, else the expansion around the normal
/// distribution (Abramowitz and Stegun 26.7.5), within 0.2 % of it.
fn student(freedom: usize) -> f64 {
    match freedom {
        0 | 1 => 12.706_204_736,
        2 => 4.302_652_730,
        _ => {
            let (n, z) = (freedom as f64, Z);
            let first = (z.powi(3) + z) / 4.0;
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            let fourth =
                (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z) / 92160.0;
            z + first / n + second / n.powi(2) + third / n.powi(3) + fourth / n.powi(4)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_pair_gives_no_interval() {
        assert_eq!(difference(&[]), None);
        assert_eq!(difference(&[[5.0, 3.0]]), Some(Difference { value: 2.0, low: None, high: None }));
        let two = difference(&[[5.0, 3.0], [4.0, 4.0]]).expect("pairs");
        let (low, high) = two.low.zip(two.high).expect("an interval");
        assert!(two.value == 1.0 && (low + 11.7062).abs() < 1e-3 && (high - 13.7062).abs() < 1e-3, "{two:?}");
    }
}
