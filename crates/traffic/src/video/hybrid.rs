//! The hybrid rule: the rate rule while the buffer is short, BOLA above.
//!
//! ```text
//! next = BOLA's if the buffer has 10 s or more, else the rate rule's
//! ```
//! Source: [spiteri2018, DYNAMIC]. Known deviation: that player also compares both choices before it goes back to the
//! rate rule, and its rate rule has other constants.

use tailback_units::Span;

use super::{bola, rate};

/// Length of the buffer from which BOLA decides.
const ENOUGH: Span = Span::from_nanos(10_000_000_000);

/// What the rules know.
pub struct Known<'a> {
    /// Bitrates in bit/s, growing.
    pub ladder: &'a [f64],
    /// Throughputs of the segments so far, in bit/s.
    pub throughputs: &'a [f64],
    /// Video in the buffer.
    pub buffer: Span,
    /// The buffer and its maximum, in segments.
    pub segments: [f64; 2],
}

/// The rung to fetch next.
pub fn choose(known: &Known) -> usize {
    let [buffer, most] = known.segments;
    if known.buffer >= ENOUGH {
        // Segments of a rung have a size that is proportional to its bitrate.
        bola::choose(known.ladder, buffer, most)
    } else {
        rate::choose(known.ladder, known.throughputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bola_decides_from_ten_seconds_of_buffer_on() {
        let known = |seconds: u64| Known {
            ladder: &[1e6, 2e6, 4e6],
            throughputs: &[1.5e6],
            buffer: Span::from_nanos(seconds * 1_000_000_000),
            segments: [seconds as f64 / 2.0, 10.0],
        };
        assert_eq!(choose(&known(8)), 0);
        assert_eq!(choose(&known(18)), 2);
    }
}
