//! Models of loss of an emulated path: independent, a Markov chain of four states, or of two (Gilbert-Elliott).
//!
//! random:   lost iff x ≤ p, x uniform or correlated
//! 4 states: 1 good · 2 received within a burst · 3 lost in a burst · 4 lost alone           [salsano2012 §3]
//!           1 → 4 (lost) w.p. p14, → 3 (lost) w.p. p13 · 2 → 3 (lost) w.p. p23 · 3 → 2 w.p. p32, → 1 w.p. p31,
//!           else lost · 4 → 1
//! gemodel:  good: → bad w.p. p, lost w.p. 1−k · bad: → good w.p. r, lost w.p. 1−h; the state before the step decides
//!           stationary loss = p/(p+r) · (1−h) + r/(p+r) · (1−k)
//! [linux-6.12 sch_netem.c loss_4state, loss_gilb_ell]

use rand_core::Rng;

/// A share of 2³² − 1.
pub(super) type Share = u32;

/// A stream of correlated numbers: xₙ = (1 − ρ) · uₙ + ρ · xₙ₋₁. [linux-6.12 get_crandom]
///
/// For ρ > 0 they are not uniform, so a probability below one half is too low in effect, as is known of netem.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Correlated {
    pub rho: Share,
    last: u32,
}

impl Correlated {
    pub fn new(rho: Share) -> Self {
        Correlated { rho, last: 0 }
    }

    #[inline]
    pub fn next(&mut self, draws: &mut dyn Rng) -> u32 {
        let drawn = draws.next_u32();
        if self.rho == 0 {
            return drawn;
        }
        let rho = u64::from(self.rho) + 1;
        let mixed = u64::from(drawn) * ((1 << 32) - rho) + u64::from(self.last) * rho;
        self.last = (mixed >> 32) as u32;
        self.last
    }

    /// True with probability `share`, if ρ is 0.
    #[inline]
    pub fn hits(&mut self, share: Share, draws: &mut dyn Rng) -> bool {
        share != 0 && share >= self.next(draws)
    }
}

/// A model of loss.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    /// Each packet independently, or correlated with the previous one.
    Random { share: Share, stream: Correlated },
    /// The chain of four states.
    FourState { to: Transitions, state: FourState },
    /// The chain of two states.
    GilbertElliott { to_bad: Share, to_good: Share, lost_in_bad: Share, lost_in_good: Share, bad: bool },
}

/// Probabilities of the chain of four states.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transitions {
    pub p13: Share,
    pub p31: Share,
    pub p32: Share,
    pub p23: Share,
    pub p14: Share,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FourState {
    Gap,
    BurstReceived,
    BurstLost,
    GapLost,
}

impl Loss {
    /// True if the next packet is lost.
    #[inline]
    pub fn next(&mut self, draws: &mut dyn Rng) -> bool {
        match self {
            Loss::Random { share, stream } => stream.hits(*share, draws),
            Loss::FourState { to, state } => {
                let (next, lost) = step(*state, to, draws.next_u32());
                *state = next;
                lost
            }
            Loss::GilbertElliott { to_bad, to_good, lost_in_bad, lost_in_good, bad } => {
                let (leave, lost) = if *bad { (*to_good, *lost_in_bad) } else { (*to_bad, *lost_in_good) };
                *bad ^= draws.next_u32() < leave;
                draws.next_u32() < lost
            }
        }
    }
}

/// The next state, and whether the packet is lost. The transitions out of a state share one random number.
fn step(state: FourState, to: &Transitions, drawn: u32) -> (FourState, bool) {
    match state {
        FourState::Gap if drawn < to.p14 => (FourState::GapLost, true),
        FourState::Gap if drawn - to.p14 < to.p13 => (FourState::BurstLost, true),
        FourState::Gap => (FourState::Gap, false),
        FourState::BurstReceived if drawn < to.p23 => (FourState::BurstLost, true),
        FourState::BurstReceived => (FourState::BurstReceived, false),
        FourState::BurstLost if drawn < to.p32 => (FourState::BurstReceived, false),
        FourState::BurstLost if drawn - to.p32 < to.p31 => (FourState::Gap, false),
        FourState::BurstLost => (FourState::BurstLost, true),
        FourState::GapLost => (FourState::Gap, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256StarStar;

    const PER_CENT: Share = u32::MAX / 100;

    /// Lengths of the runs of lost packets among a million.
    fn bursts(mut loss: Loss) -> (f64, f64) {
        let mut draws = Xoshiro256StarStar::seed_from_u64(1);
        let (mut lost, mut runs, mut before) = (0u32, 0u32, false);
        for _ in 0..1_000_000 {
            let now = loss.next(&mut draws);
            lost += u32::from(now);
            runs += u32::from(now && !before);
            before = now;
        }
        (f64::from(lost) / 1e6, f64::from(lost) / f64::from(runs))
    }

    #[test]
    fn a_loss_of_one_per_cent_loses_one_per_cent() {
        let (share, run) = bursts(Loss::Random { share: PER_CENT, stream: Correlated::default() });
        assert!((share - 0.01).abs() < 0.0005 && run < 1.05, "{share} {run}");
    }

    #[test]
    fn correlation_lowers_a_small_loss_rate() {
        let stream = Correlated::new(25 * PER_CENT);
        let (share, run) = bursts(Loss::Random { share: 10 * PER_CENT, stream });
        assert!((0.01..0.05).contains(&share) && run > 1.1, "{share} {run}");
    }

    #[test]
    fn gilbert_elliott_loses_its_stationary_share_in_bursts_of_four() {
        let model = Loss::GilbertElliott {
            to_bad: PER_CENT,
            to_good: 25 * PER_CENT,
            lost_in_bad: u32::MAX,
            lost_in_good: 0,
            bad: false,
        };
        let (share, run) = bursts(model);
        assert!((share - 0.01 / 0.26).abs() < 0.002 && (run - 4.0).abs() < 0.15, "{share} {run}");
    }

    #[test]
    fn the_chain_of_four_states_loses_alone_and_in_bursts() {
        let alone = Transitions { p13: 0, p31: 0, p32: 0, p23: 0, p14: PER_CENT };
        let (share, run) = bursts(Loss::FourState { to: alone, state: FourState::Gap });
        assert!((share - 0.0099).abs() < 0.0005 && run == 1.0, "{share} {run}");
        let burst = Transitions { p13: PER_CENT, p31: 20 * PER_CENT, p32: 0, p23: u32::MAX, p14: 0 };
        let (_, run) = bursts(Loss::FourState { to: burst, state: FourState::Gap });
        assert!((run - 5.0).abs() < 0.3, "{run}");
    }
}
