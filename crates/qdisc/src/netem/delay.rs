//! The delay of an emulated path: mean, jitter, and the distribution of the jitter.
//!
//! uniform: mean + a number in [−jitter, jitter)
//! a table: mean + jitter · table[n mod 4096] / 8192, where the table holds the inverse distribution with mean 0
//! normal · pareto: (4/3) · (u^(−1/3) − 1.5) · paretonormal: a quarter normal, three quarters pareto
//! [linux-6.12 sch_netem.c tabledist] [tc netem/*.c]

use rand_core::Rng;

use super::loss::Correlated;

const SIZE: usize = 4096;
/// One standard deviation in a table.
const SCALE: i64 = 8192;

/// The values of `distribution`.
pub(super) const DISTRIBUTIONS: &[&str] = &["uniform", "normal", "pareto", "paretonormal"];

/// A random delay.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    pub mean: i64,
    pub jitter: i64,
    pub stream: Correlated,
    pub table: Option<Box<[i16]>>,
}

impl Spread {
    /// The next delay in ns; it may be negative.
    #[inline]
    pub fn next(&mut self, draws: &mut dyn Rng) -> i64 {
        if self.jitter == 0 {
            return self.mean;
        }
        let drawn = self.stream.next(draws);
        match &self.table {
            None => i64::from(drawn) % (2 * self.jitter) + self.mean - self.jitter,
            Some(table) => self.mean + scaled(self.jitter, i64::from(table[drawn as usize % SIZE])),
        }
    }
}

/// jitter · entry / 8192, rounded to the nearest.
fn scaled(jitter: i64, entry: i64) -> i64 {
    let product = (jitter % SCALE) * entry;
    (product + product.signum() * SCALE / 2) / SCALE + jitter / SCALE * entry
}

/// The table of a distribution by its index in [`DISTRIBUTIONS`]; `None` for the uniform one.
pub(super) fn table(distribution: u64) -> Option<Box<[i16]>> {
    match distribution {
        1 => Some(in_table(normal())),
        2 => Some(in_table(pareto())),
        3 => {
            let mixed = normal().zip(pareto()).map(|(normal, pareto)| 0.25 * normal + 0.75 * pareto);
            Some(in_table(mixed))
        }
        _ => None,
    }
}

fn in_table(values: impl Iterator<Item = f64>) -> Box<[i16]> {
    let entry =
        |value: f64| (value * SCALE as f64).round().clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16;
    values.take(SIZE).map(entry).collect()
}

/// Quantiles at (i + ½)/4096, by summing the density from −5 on.
fn normal() -> impl Iterator<Item = f64> {
    const STEP: f64 = 1e-3;
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (mut x, mut below) = (-5.0, 0.0);
    (0..SIZE).map(move |i| {
        let wanted = (i as f64 + 0.5) / SIZE as f64;
        loop {
            let slice = density(x + STEP / 2.0) * STEP;
            if below + slice >= wanted || x > 5.0 {
                return x + STEP * (wanted - below) / slice;
            }
            below += slice;
            x += STEP;
        }
    })
}

fn pareto() -> impl Iterator<Item = f64> {
    (0..SIZE).map(|i| 4.0 / 3.0 * (((SIZE - i) as f64 / SIZE as f64).powf(-1.0 / 3.0) - 1.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256StarStar;

    fn mean_and_deviation(table: &[i16]) -> (f64, f64) {
        let values: Vec<f64> = table.iter().map(|&entry| f64::from(entry) / SCALE as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, square.sqrt())
    }

    #[test]
    fn the_normal_table_has_mean_0_and_deviation_1() {
        let (mean, deviation) = mean_and_deviation(&table(1).unwrap());
        assert!(mean.abs() < 0.002 && (deviation - 1.0).abs() < 0.01, "{mean} {deviation}");
    }

    #[test]
    fn the_pareto_table_has_a_long_tail_and_mean_0() {
        let pareto = table(2).unwrap();
        let (mean, _) = mean_and_deviation(&pareto);
        assert!(mean.abs() < 0.05, "{mean}");
        assert!(pareto[0] > -6000 && *pareto.iter().max().unwrap() > 30_000);
        assert!(mean_and_deviation(&table(3).unwrap()).0.abs() < 0.05);
    }

    #[test]
    fn uniform_jitter_lies_within_its_bounds_and_reaches_them() {
        let mut spread = Spread { mean: 100_000, jitter: 10_000, stream: Correlated::default(), table: None };
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        let drawn: Vec<i64> = (0..10_000).map(|_| spread.next(&mut draws)).collect();
        let (min, max) = (*drawn.iter().min().unwrap(), *drawn.iter().max().unwrap());
        assert!((90_000..90_100).contains(&min) && (109_900..110_000).contains(&max), "{min} {max}");
    }
}
