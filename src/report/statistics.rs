//! Means and quantiles, and confidence intervals of shares and means.

/// The 97.5 % point of the normal distribution, which leaves 5 % on both sides together.
const Z: f64 = 1.959_963_984_540_054;

/// A measured number with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The measured value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
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

/// A mean difference with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Difference {
    /// The measured value.
    pub value: f64,
    /// Lower end of the interval; `null` for a single pair, which gives no interval.
    pub low: Option<f64>,
    /// Upper end of the interval; `null` likewise.
    pub high: Option<f64>,
}

/// The mean of the differences of pairs, first minus second, with the interval of Student's t. Pairing removes the spread
/// that both sides share. `None` without pairs.
pub fn difference(pairs: &[[f64; 2]]) -> Option<Difference> {
    let differences: Vec<f64> = pairs.iter().map(|[first, second]| first - second).collect();
    let Estimate { value, low, high } = mean(&differences)?;
    let (low, high) = if differences.len() > 1 { (Some(low), Some(high)) } else { (None, None) };
    Some(Difference { value, low, high })
}

/// The mean of values with the interval of Student's t. A single value gives an interval of length 0, which plots draw as a
/// point. `None` without values.
pub fn mean(values: &[f64]) -> Option<Estimate> {
    let (n, value) = (values.len() as f64, average(values.iter().copied())?);
    let half = match values.len() {
        1 => 0.0,
        count => {
            let variance = values.iter().map(|other| (other - value).powi(2)).sum::<f64>() / (n - 1.0);
            student(count - 1) * (variance / n).sqrt()
        }
    };
    Some(Estimate { value, low: value - half, high: value + half })
}

/// The mean of values; `None` without values.
pub fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// The median of sorted values; `None` without values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some((sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0)
}

/// The smallest of sorted values that at least this share of them does not exceed (nearest-rank quantile).
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let count = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(count.saturating_sub(1)).copied()
}

/// The 97.5 % point of Student's t: exact for one and two degrees of freedom, otherwise the expansion around the normal
/// distribution (Abramowitz and Stegun 26.7.5), accurate to 0.2 %.
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

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.95), Some(19.0));
        assert_eq!(quantile(&[3.0], 0.95), Some(3.0));
        assert_eq!((quantile(&[], 0.95), median(&[])), (None, None));
        assert_eq!((median(&[1.0, 2.0, 9.0]), median(&[1.0, 2.0])), (Some(2.0), Some(1.5)));
    }
}
