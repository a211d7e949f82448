//! The rate rule: the highest bitrate below the throughput of the last segments.
//!
//! ```text
//! predicted = harmonic mean of the throughputs of the last 5 segments
//! next      = the highest rung whose bitrate is not above `predicted`; before the first segment, the lowest
//! ```
//! Source: [yin2015, RB].

/// Segments whose throughputs count.
const LAST: usize = 5;

/// The rung to fetch next. `ladder` has the bitrates, growing, in bit/s, as have the throughputs.
pub fn choose(ladder: &[f64], throughputs: &[f64]) -> usize {
    let Some(predicted) = predicted(throughputs) else { return 0 };
    ladder.iter().rposition(|&rate| rate <= predicted).unwrap_or(0)
}

/// Harmonic mean of the last throughputs; none without any.
fn predicted(throughputs: &[f64]) -> Option<f64> {
    let last = &throughputs[throughputs.len().saturating_sub(LAST)..];
    (!last.is_empty()).then(|| last.len() as f64 / last.iter().map(|rate| 1.0 / rate).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harmonic_mean_of_the_last_five_decides() {
        let ladder = [1e6, 2e6, 4e6];
        assert_eq!(choose(&ladder, &[]), 0);
        assert_eq!(choose(&ladder, &[0.5e6]), 0);
        assert_eq!(choose(&ladder, &[4e6]), 2);
        // The arithmetic mean of these is 5.5 Mbit/s, the harmonic one 1.8 Mbit/s.
        assert_eq!(choose(&ladder, &[1e6, 10e6]), 0);
        assert_eq!(choose(&ladder, &[1e3, 2e6, 2e6, 2e6, 2e6, 2e6]), 1);
    }
}
