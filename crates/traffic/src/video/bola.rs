//! BOLA: which bitrate, from the buffer alone.
//!
//! ```text
//! v_m   = ln(S_m / S_1)                               utility of rung m, whose segments have S_m bytes
//! V     = (Q_max − 1) / (v_M + gp)                     Q in segments; gp = 5
//! next  = the m that maximises (V·v_m + V·gp − Q) / S_m; of equal ones the higher
//! ```
//! The player asks for nothing while the buffer has no room for a segment; with this V, that is while all of these
//! numbers are negative.
//!
//! Source: [spiteri2016]. This is the basic form: without the adjustments of BOLA-O and BOLA-U.

/// The product of the paper's γ and the length p of a segment.
const GAMMA_P: f64 = 5.0;

/// The rung to fetch next. `sizes` are those of a segment on each rung, growing; `buffer` and `most` count segments.
pub fn choose(sizes: &[f64], buffer: f64, most: f64) -> usize {
    let utility = |size: f64| (size / sizes[0]).ln();
    let value = (most - 1.0) / (utility(sizes[sizes.len() - 1]) + GAMMA_P);
    let score = |size: f64| (value * (utility(size) + GAMMA_P) - buffer) / size;
    let better =
        |best: usize, rung: usize| if score(sizes[rung]) >= score(sizes[best]) { rung } else { best };
    (1..sizes.len()).fold(0, better)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [f64; 3] = [1.0, 2.0, 4.0];

    #[test]
    fn decisions_change_at_the_buffers_where_two_scores_are_equal() {
        // Scores of rungs 1 and 2 are equal where Q = V(gp + 2·v_1 − v_2), here with v = 0, ln 2 and 2 ln 2.
        let most = 11.0;
        let value = 10.0 / (2.0 * 2f64.ln() + 5.0);
        let up = [value * (5.0 - 2f64.ln()), value * 5.0];
        for (rung, at) in up.into_iter().enumerate() {
            assert_eq!(choose(&SIZES, at - 0.01, most), rung, "below {at}");
            assert_eq!(choose(&SIZES, at + 0.01, most), rung + 1, "above {at}");
        }
        assert_eq!(choose(&SIZES, 0.0, most), 0);
        assert_eq!(choose(&SIZES, 10.0, most), 2);
    }
}
