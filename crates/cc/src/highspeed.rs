//! HighSpeed TCP: a larger window grows faster and is cut by a smaller fraction, both from a table of 72 rows.
//!
//! growth: cnt += a(w) per ACK; one segment when cnt reaches cwnd    a(w) = row + 1, rows counted from 0
//! cut:    ssthresh = max(cwnd − cwnd·b(w), 2)                       b(w) of the row, from 0.5 to 0.09
//!
//! The row is the first whose window is at least cwnd. Up to 38 segments it behaves like Reno. Its response function
//! is w = 0.12/p^0.835. Sources: [rfc3649 §5, appendix B], [linux-6.12 tcp_highspeed.c hstcp_cong_avoid].
//!
//! Deviations: none known. As in Linux it counts ACKs, not segments: with delayed ACKs growth is half of a(w). Segments
//! of an ACK that slow start does not use are lost.

use tailback_units::{ParameterError, Parameters, Segs};

use crate::{EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// Windows and their cuts in 1/256. [rfc3649 appendix B] [linux-6.12 tcp_highspeed.c hstcp_aimd_vals]
const TABLE: [(u32, u32); 72] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
    (5036, 62),
    (5497, 61),
    (5979, 60),
    (6483, 59),
    (7009, 58),
    (7558, 57),
    (8130, 56),
    (8726, 55),
    (9346, 54),
    (9991, 53),
    (10_661, 52),
    (11_358, 52),
    (12_082, 51),
    (12_834, 50),
    (13_614, 49),
    (14_424, 48),
    (15_265, 48),
    (16_137, 47),
    (17_042, 46),
    (17_981, 45),
    (18_955, 45),
    (19_965, 44),
    (21_013, 43),
    (22_101, 43),
    (23_230, 42),
    (24_402, 41),
    (25_618, 41),
    (26_881, 40),
    (28_193, 39),
    (29_557, 39),
    (30_975, 38),
    (32_450, 38),
    (33_986, 37),
    (35_586, 36),
    (37_253, 36),
    (38_992, 35),
    (40_808, 35),
    (42_707, 34),
    (44_694, 33),
    (46_776, 33),
    (48_961, 32),
    (51_258, 32),
    (53_677, 31),
    (56_230, 30),
    (58_932, 30),
    (61_799, 29),
    (64_851, 28),
    (68_113, 28),
    (71_617, 27),
    (75_401, 26),
    (79_517, 26),
    (84_035, 25),
    (89_053, 24),
];
/// Unit of a cut: 2⁻⁸. [linux-6.12 tcp_highspeed.c hstcp_aimd_vals]
const CUT_BITS: u32 = 8;
/// Smallest slow-start threshold, in segments.
const MIN_SSTHRESH: u64 = 2;

/// The registry row.
pub const ROW: Row = Row {
    name: "highspeed",
    summary: "larger windows grow faster and are cut by less, from a table",
    source: include_str!("highspeed.rs"),
    parameters: &[],
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(_: &Parameters) -> Result<Prototype, ParameterError> {
    Ok(Prototype::window(HighSpeed::default()))
}

/// State of HighSpeed TCP: the row of the table.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighSpeed {
    row: usize,
}

impl Hooks for HighSpeed {}

impl WindowControl for HighSpeed {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if !flow.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        self.row = row(window.cwnd.0);
        if window.cwnd < window.cwnd_clamp {
            window.cwnd_cnt += self.row as u32 + 1;
            if window.cwnd_cnt >= window.cwnd.0 {
                window.cwnd_cnt -= window.cwnd.0;
                window.cwnd += Segs::ONE;
            }
        }
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        let cwnd = u64::from(window.cwnd.0);
        let cut = (cwnd * u64::from(TABLE[self.row].1)) >> CUT_BITS;
        Segs((cwnd - cut).max(MIN_SSTHRESH) as u32)
    }
}

/// The first row whose window is at least `cwnd`, else the last.
fn row(cwnd: u32) -> usize {
    TABLE.partition_point(|&(window, _)| window < cwnd).min(TABLE.len() - 1)
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::test_acks::Acks;

    #[test]
    fn a_window_of_a_thousand_grows_by_eight_and_is_cut_by_a_third() {
        let mut acks = Acks::in_avoidance(1000, HighSpeed::default());
        assert_eq!(
            acks.rounds(1, Span::from_millis(100)),
            [1007],
            "a(w) = 8, the last of it in the next round"
        );
        acks.round(Span::from_millis(100));
        assert_eq!(acks.cwnd(), 1015);
        acks.window.cwnd = Segs(1000);
        acks.lose();
        assert_eq!(acks.cwnd(), 1000 - 1000 * 83 / 256);
    }

    #[test]
    fn up_to_38_segments_it_behaves_like_reno() {
        let mut acks = Acks::in_avoidance(20, HighSpeed::default());
        assert_eq!(acks.rounds(3, Span::from_millis(100)), [21, 22, 23]);
        acks.lose();
        assert_eq!(acks.cwnd(), 12);
    }

    #[test]
    fn delayed_acks_halve_the_growth() {
        let mut acks = Acks { per_ack: 2, ..Acks::in_avoidance(1000, HighSpeed::default()) };
        assert!((3..=4).contains(&(acks.rounds(1, Span::from_millis(100))[0] - 1000)));
    }

    #[test]
    fn the_table_follows_the_response_function_of_the_rfc() {
        // a(w) = 2 p(w) w² b(w) / (2 − b(w)), p(w) = 0.078 / w^1.2, to within its rounding. [rfc3649 §5]
        for (i, &(window, cut)) in TABLE.iter().enumerate().skip(1) {
            let (w, b) = (f64::from(window), f64::from(cut) / 256.0);
            let a = w * w * 2.0 * b / (2.0 - b) * 0.078 / w.powf(1.2);
            assert!((a - (i as f64 + 1.0)).abs() < 0.12 * a + 0.5, "{window}: {a:.2} is not {}", i + 1);
        }
    }

    #[test]
    fn windows_beyond_the_table_use_its_last_row() {
        assert_eq!([1, 38, 39, 118, 119, 89_053, 1_000_000].map(row), [0, 0, 1, 1, 2, 71, 71]);
    }
}
