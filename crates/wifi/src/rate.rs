//! Rate control: the mode in which a PPDU is sent, fixed or chosen by Minstrel-HT.
//!
//! ```text
//! each 50 ms, per mode tried:  probability ← 0.75 · probability + 0.25 · acknowledged / sent
//! throughput = min(probability, 0.9) / (overhead / MPDUs per aggregate + air of 1200 bytes)      0 below 10 %
//! chain      = best throughput, second best, best probability; tries of each: at least 2, within 6 ms
//! each 20 ms a lone frame probes another mode, which then heads the chain with one try
//! ```
//! [linux-6.12 net/mac80211/rc80211_minstrel_ht.c] Deviations: modes are probed in turn, not in a random order, and one
//! that could not be faster than the present one only each eighth time; the width is that of the cell; all categories
//! of a station share the statistics. Rate control in firmware (ath9k_htc, ath10k) is also modelled by Minstrel-HT.

use tailback_units::{SimTime, Span};

use crate::phy::{Format, Guard, Mode};

/// Between two updates of the statistics. [linux-6.12 rc80211_minstrel_ht.c update_interval]
const UPDATE: Span = Span::from_millis(50);
/// Between two probes.
const PROBE: Span = Span::from_millis(20);
/// A probability of 1.
const ONE: u64 = 1 << 16;
/// Maximum time of one entry of the chain, back-off included.
const SEGMENT: Span = Span::from_millis(6);
/// Maximum number of tries of one entry in hardware.
const MAX_TRIES: u32 = 10;
/// Access, preamble, SIFS and response of one exchange.
const OVERHEAD_NANOS: u64 = 200_000;
/// A slow mode is probed once in this many turns.
const SLOW_TURNS: u32 = 8;
/// MPDUs per aggregate before one was sent.
const FIRST_AGGREGATE: u64 = 16;

/// A mode, and how often it is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxRate {
    /// The mode.
    pub mode: Mode,
    /// Which it is for the rate control.
    pub index: u16,
    /// Transmissions in it.
    pub tries: u32,
}

/// The modes of one PPDU, tried one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    rates: [TxRate; 3],
    /// It probes: one frame goes alone.
    pub probes: bool,
}

impl Chain {
    /// One mode for all tries.
    pub fn fixed(mode: Mode, tries: u32) -> Self {
        Chain { rates: [TxRate { mode, index: 0, tries }; 3], probes: false }
    }

    /// The mode after `failures`: the last one for all further tries.
    pub fn after(&self, failures: u32) -> &TxRate {
        let mut left = failures;
        for rate in &self.rates[..2] {
            if left < rate.tries {
                return rate;
            }
            left -= rate.tries;
        }
        &self.rates[2]
    }

    /// The modes of which each must keep the limit of an aggregate's duration.
    pub fn slowest(&self) -> &Mode {
        let rates = self.rates.iter().map(|rate| &rate.mode);
        rates.min_by_key(|mode| mode.bits_per_sec()).expect("a chain has three modes")
    }
}

/// How a station chooses the mode towards another.
#[derive(Clone, Debug)]
pub enum RateControl {
    /// Always this one.
    Fixed(Mode),
    /// The mode selected by Minstrel-HT.
    Minstrel(Box<Minstrel>),
}

impl RateControl {
    /// The modes of the next PPDU.
    pub fn chain(&mut self, now: SimTime, tries: u32) -> Chain {
        match self {
            RateControl::Fixed(mode) => Chain::fixed(*mode, tries),
            RateControl::Minstrel(minstrel) => minstrel.chain(now),
        }
    }

    /// Takes the result of a PPDU of `sent` frames after `failures` transmissions without a response.
    pub fn report(&mut self, chain: &Chain, failures: u32, sent: u32, acknowledged: u32) {
        if let RateControl::Minstrel(minstrel) = self {
            for failure in 0..failures {
                minstrel.count(chain.after(failure).index, sent, 0);
            }
            minstrel.aggregates += u64::from(!chain.probes);
            minstrel.frames += if chain.probes { 0 } else { u64::from(sent) };
            minstrel.count(chain.after(failures).index, sent, acknowledged);
        }
    }

    /// Expected throughput in bit/s, including the overhead of exchanges.
    pub fn expected_throughput(&self) -> u64 {
        match self {
            RateControl::Fixed(mode) => throughput(mode, ONE, FIRST_AGGREGATE),
            RateControl::Minstrel(minstrel) => minstrel.best_throughput(),
        }
    }

    /// The slowest mode that it may select.
    pub fn slowest(&self) -> &Mode {
        match self {
            RateControl::Fixed(mode) => mode,
            RateControl::Minstrel(minstrel) => {
                let modes = minstrel.modes.iter().map(|statistics| &statistics.mode);
                modes.min_by_key(|mode| mode.bits_per_sec()).expect("there are modes")
            }
        }
    }

    /// The mode of most transmissions.
    pub fn usual(&self) -> &Mode {
        match self {
            RateControl::Fixed(mode) => mode,
            RateControl::Minstrel(minstrel) => &minstrel.modes[minstrel.best[0]].mode,
        }
    }
}

/// Statistics of one mode.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    mode: Mode,
    sent: u32,
    acknowledged: u32,
    /// Of 65536; none before it was tried.
    probability: Option<u64>,
}

/// Minstrel-HT.
#[derive(Clone, Debug)]
pub struct Minstrel {
    modes: Vec<Statistics>,
    /// Best throughput, second best, best probability.
    best: [usize; 3],
    update_due: SimTime,
    probe_due: SimTime,
    probed: usize,
    turns: u32,
    aggregates: u64,
    frames: u64,
    mean_aggregate: u64,
}

impl Minstrel {
    /// All modes of a format and width with up to `streams` streams; `guards`: the allowed guard intervals.
    pub fn new(format: Format, width: u32, streams: u32, guards: &[Guard]) -> Self {
        let modes = (1..=streams).flat_map(|streams| {
            (0..12).flat_map(move |mcs| {
                guards.iter().filter_map(move |&guard| Mode::new(format, width, streams, mcs, guard).ok())
            })
        });
        let statistics = |mode| Statistics { mode, sent: 0, acknowledged: 0, probability: None };
        Minstrel {
            modes: modes.map(statistics).collect(),
            best: [0; 3],
            update_due: SimTime::ZERO,
            probe_due: SimTime::ZERO,
            probed: 0,
            turns: 0,
            aggregates: 0,
            frames: 0,
            mean_aggregate: FIRST_AGGREGATE,
        }
    }

    fn chain(&mut self, now: SimTime) -> Chain {
        if now >= self.update_due {
            self.update();
            self.update_due = now + UPDATE;
        }
        let usual = self.best.map(|index| self.rate(index));
        if now < self.probe_due {
            return Chain { rates: usual, probes: false };
        }
        self.probe_due = now + PROBE;
        match self.next_probe() {
            Some(index) => {
                let probe = TxRate { tries: 1, ..self.rate(index) };
                Chain { rates: [probe, usual[0], usual[2]], probes: true }
            }
            None => Chain { rates: usual, probes: false },
        }
    }

    /// The next mode to probe: not in the chain, and possibly better.
    fn next_probe(&mut self) -> Option<usize> {
        let best = self.best_throughput();
        for _ in 0..self.modes.len() {
            self.probed = (self.probed + 1) % self.modes.len();
            self.turns += u32::from(self.probed == 0);
            let hopeful = throughput(&self.modes[self.probed].mode, ONE, self.mean_aggregate) > best;
            if !self.best[..2].contains(&self.probed) && (hopeful || self.turns.is_multiple_of(SLOW_TURNS)) {
                return Some(self.probed);
            }
        }
        None
    }

    fn count(&mut self, index: u16, sent: u32, acknowledged: u32) {
        let mode = &mut self.modes[usize::from(index)];
        mode.sent += sent;
        mode.acknowledged += acknowledged;
    }

    fn update(&mut self) {
        if let Some(mean) = self.frames.checked_div(self.aggregates) {
            self.mean_aggregate = ((3 * self.mean_aggregate + mean) / 4).max(1);
        }
        (self.frames, self.aggregates) = (0, 0);
        for mode in self.modes.iter_mut().filter(|mode| mode.sent > 0) {
            let now = u64::from(mode.acknowledged) * ONE / u64::from(mode.sent);
            mode.probability = Some(mode.probability.map_or(now, |old| (3 * old + now) / 4));
            (mode.sent, mode.acknowledged) = (0, 0);
        }
        self.rank();
    }

    fn rank(&mut self) {
        let throughput = |index: usize| self.throughput_of(index);
        let all = 0..self.modes.len();
        let best =
            all.clone().max_by_key(|&index| (throughput(index), std::cmp::Reverse(index))).unwrap_or(0);
        let others = all.clone().filter(|&index| index != best);
        let second =
            others.max_by_key(|&index| (throughput(index), std::cmp::Reverse(index))).unwrap_or(best);
        // The fastest of those with a high probability. [linux-6.12 minstrel_ht_set_best_prob_rate]
        let safest = all.max_by_key(|&index| {
            let probability = self.modes[index].probability.unwrap_or(0);
            (probability.min(ONE * 95 / 100), throughput(index), std::cmp::Reverse(index))
        });
        self.best = [best, second, safest.unwrap_or(0)];
    }

    fn throughput_of(&self, index: usize) -> u64 {
        let statistics = &self.modes[index];
        statistics.probability.map_or(0, |known| throughput(&statistics.mode, known, self.mean_aggregate))
    }

    fn best_throughput(&self) -> u64 {
        self.throughput_of(self.best[0])
    }

    fn rate(&self, index: usize) -> TxRate {
        let mode = self.modes[index].mode;
        TxRate { mode, index: index as u16, tries: tries(&mode, self.mean_aggregate) }
    }
}

/// Throughput of a mode in bit/s.
fn throughput(mode: &Mode, probability: u64, aggregate: u64) -> u64 {
    if probability < ONE / 10 {
        return 0;
    }
    let nanos = OVERHEAD_NANOS / aggregate + air_of_1200_bytes(mode);
    probability.min(ONE * 9 / 10) * (9_600 * 1_000_000_000 / nanos) / ONE
}

fn air_of_1200_bytes(mode: &Mode) -> u64 {
    9_600 * 1_000_000_000 / mode.bits_per_sec()
}

/// Number of tries that fit into the time of one entry, with the growing back-off.
fn tries(mode: &Mode, aggregate: u64) -> u32 {
    let once = OVERHEAD_NANOS + aggregate * air_of_1200_bytes(mode);
    let (mut tries, mut window, mut nanos) = (2, 63, 2 * once + 4_500 * (15 + 31));
    while tries < MAX_TRIES && nanos + once + 4_500 * window <= SEGMENT.as_nanos() {
        nanos += once + 4_500 * window;
        window = (2 * window + 1).min(1023);
        tries += 1;
    }
    tries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{CentiDecibels, Loss};
    use crate::testing::random;
    use rand_core::Rng;

    /// Sends aggregates of 16 in this interval.
    fn run(control: &mut RateControl, loss: Loss, from_ms: u64, until_ms: u64) {
        let mut draws = random(from_ms + 1);
        for ms in from_ms..until_ms {
            let chain = control.chain(SimTime::ZERO + Span::from_millis(ms), 10);
            let sent = if chain.probes { 1 } else { 16 };
            let mut failures = 0;
            let acknowledged = loop {
                let lost = loss.of(&chain.after(failures).mode, 1538);
                let arrived = (0..sent).filter(|_| draws.next_u32() >= lost).count() as u32;
                if arrived > 0 || failures == 9 {
                    break arrived;
                }
                failures += 1;
            };
            control.report(&chain, failures, sent, acknowledged);
        }
    }

    fn minstrel() -> RateControl {
        RateControl::Minstrel(Box::new(Minstrel::new(Format::Ht, 40, 2, &[Guard::Ns400, Guard::Ns800])))
    }

    fn snr(decibels: i32) -> Loss {
        Loss::new(0, Some(CentiDecibels(100 * decibels)))
    }

    /// The mode that brings most when each frame is sent until it arrives.
    fn best_at(loss: Loss) -> Mode {
        let RateControl::Minstrel(minstrel) = minstrel() else { unreachable!("it was made so") };
        let probability = |mode: &Mode| ONE - (u64::from(loss.of(mode, 1538)) >> 16);
        let modes = minstrel.modes.iter().map(|statistics| statistics.mode);
        modes.max_by_key(|mode| throughput(mode, probability(mode), 16)).unwrap()
    }

    #[test]
    fn it_converges_to_the_best_mode_for_the_signal() {
        for decibels in [5, 8, 11, 14, 18, 23, 26, 30, 40] {
            let mut control = minstrel();
            run(&mut control, snr(decibels), 0, 4_000);
            assert_eq!(
                control.usual().bits_per_sec(),
                best_at(snr(decibels)).bits_per_sec(),
                "{decibels} dB"
            );
        }
    }

    #[test]
    fn it_follows_the_signal_down_and_up_again() {
        let mut control = minstrel();
        run(&mut control, snr(30), 0, 3_000);
        run(&mut control, snr(14), 3_000, 6_000);
        assert_eq!(control.usual().bits_per_sec(), best_at(snr(14)).bits_per_sec());
        run(&mut control, snr(30), 6_000, 9_000);
        assert_eq!(control.usual().bits_per_sec(), best_at(snr(30)).bits_per_sec());
    }

    #[test]
    fn a_fixed_mode_is_never_left() {
        let mode = Mode::new(Format::Ht, 40, 2, 7, Guard::Ns400).unwrap();
        let mut control = RateControl::Fixed(mode);
        run(&mut control, snr(0), 0, 500);
        assert_eq!(*control.usual(), mode);
        assert_eq!(control.chain(SimTime::ZERO, 10).after(9).mode, mode);
    }

    #[test]
    fn a_probe_goes_first_and_alone_each_20_ms() {
        let mut control = minstrel();
        let probes =
            |control: &mut RateControl, ms| control.chain(SimTime::ZERO + Span::from_millis(ms), 10).probes;
        let found: Vec<u64> = (0..100).filter(|&ms| probes(&mut control, ms)).collect();
        assert_eq!(found, [0, 20, 40, 60, 80]);
    }

    #[test]
    fn slow_modes_are_tried_less_often() {
        let mode = |mcs| Mode::new(Format::Ht, 20, 1, mcs, Guard::Ns800).unwrap();
        assert_eq!(tries(&mode(0), 16), 2);
        assert_eq!(tries(&mode(7), 1), 5, "the sixth back-off alone may take 2.3 ms");
    }
}
