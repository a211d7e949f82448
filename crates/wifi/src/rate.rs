//! Rate control: the mode in which a PPDU is sent, fixed or chosen by Minstrel-HT.
//!
//! ```text
//! each 50 ms, per mode tried:  probability ← 0.75 · probability + 0.25 · acknowledged / sent
//! throughput = min(probability, 0.9) / (overhead / MPDUs per aggregate + air of 1200 bytes)      0 below 10 %
//! chain      = best throughput, second, third, safe mode; tries of each: at least 2, within 6 ms; all but the first with RTS
//! safe mode  = the fastest above 75 %, of fewer streams than the best if there is one
//! each 20 ms a lone frame probes another mode, which then takes the place of the first with one try: in turn the next faster
//!             one of a group, any that is faster than the chain, …, each sixth time one between its fastest and its slowest
//! untried modes are taken for as probable as the best of the faster ones of their group (streams, guard interval)
//! ```
//! On a kernel with radios, mac80211's own Minstrel-HT chooses in place of this one where the driver leaves it to the host.
//! [linux-6.12 net/mac80211/rc80211_minstrel_ht.c] Deviations: modes are probed in turn, not in a random order; the width is
//! that of the cell; all categories of a station share the statistics. Rate control in firmware (ath9k_htc, ath10k) is also
//! modelled by Minstrel-HT.

use std::cmp::Reverse;

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
/// Preamble, SIFS and response of one exchange, as mac80211 adds them up. [linux-6.12 minstrel_ht_update_caps]
const OVERHEAD_NANOS: u64 = 108_000;
/// Access to the medium, which mac80211 leaves out: an estimate, between the 65 µs of video and the 110 of best effort (AIFS and
/// half of the least contention window). Counted in a fixed mode, where it only decides whether a station is slow.
const ACCESS_NANOS: u64 = 92_000;
/// RTS and CTS before it: twice the time of an ACK at 6 Mbit/s. [linux-6.12 minstrel_ht_update_caps overhead_rtscts]
const RTS_NANOS: u64 = 120_000;
/// A mode with this probability is safe. [linux-6.12 minstrel_ht_set_best_prob_rate]
const SAFE: u64 = ONE * 3 / 4;
/// Unit of the mean number of MPDUs.
const MPDU: u64 = 4_096;
/// A slower mode with more than this is not probed. [linux-6.12 minstrel_ht_next_jump_rate]
const CERTAIN: u64 = ONE * 95 / 100;
/// In this order they are probed. [linux-6.12 minstrel_sample_seq]
const KINDS: [Probe; 6] = [Probe::Next, Probe::Any, Probe::Next, Probe::Any, Probe::Next, Probe::Slow];
/// MPDUs per aggregate that are expected in a fixed mode.
const FIRST_AGGREGATE: u64 = 16;

/// Modes of a chain at most. [linux-6.12 include/net/mac80211.h IEEE80211_TX_RATE_TABLE_SIZE]
pub const MODES: usize = 4;

/// A mode, and how often it is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxRate {
    /// The mode.
    pub mode: Mode,
    /// Which it is for the rate control.
    pub index: u16,
    /// Transmissions in it.
    pub tries: u32,
    /// Each is announced by RTS and CTS.
    pub announced: bool,
}

/// The modes of one PPDU, tried one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    rates: [TxRate; MODES],
    /// Transmissions without a response before it is given up.
    tries: u32,
    /// The place of the slowest mode.
    slowest: u8,
    /// It probes: one frame goes alone.
    pub probes: bool,
}

impl Chain {
    /// One mode for all tries.
    #[inline]
    pub fn fixed(mode: Mode, tries: u32) -> Self {
        let rates = [TxRate { mode, index: 0, tries, announced: false }; MODES];
        Chain { rates, tries, slowest: 0, probes: false }
    }

    fn new(rates: [TxRate; MODES], tries: u32, probes: bool) -> Self {
        let places = 0..MODES;
        let slowest = places.min_by_key(|&place| rates[place].mode.bits_per_sec()).unwrap_or(0);
        Chain { rates, tries, slowest: slowest as u8, probes }
    }

    /// These modes, given up after the tries of all; `None` without a mode, or with more than [`MODES`].
    pub fn series(rates: &[TxRate], probes: bool) -> Option<Self> {
        let last = TxRate { tries: 0, ..*rates.last()? };
        let tries = rates.iter().map(|rate| rate.tries).sum();
        let mut series = [last; MODES];
        series.get_mut(..rates.len())?.copy_from_slice(rates);
        Some(Chain::new(series, tries, probes))
    }

    /// Transmissions without a response before it is given up.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// The mode after `failures`: the last one for all further tries.
    pub fn after(&self, failures: u32) -> &TxRate {
        let mut left = failures;
        for rate in &self.rates[..MODES - 1] {
            if left < rate.tries {
                return rate;
            }
            left -= rate.tries;
        }
        &self.rates[MODES - 1]
    }

    /// The modes of the first transmissions, with how many of them each had.
    pub fn used(&self, transmissions: u32) -> impl Iterator<Item = TxRate> {
        let (rates, mut left) = (self.rates, transmissions);
        rates.into_iter().enumerate().filter_map(move |(place, rate)| {
            let tries = if place == MODES - 1 { left } else { left.min(rate.tries) };
            left -= tries;
            (tries > 0).then_some(TxRate { tries, ..rate })
        })
    }

    /// The modes of which each must keep the limit of an aggregate's duration.
    #[inline]
    pub fn slowest(&self) -> &Mode {
        &self.rates[usize::from(self.slowest)].mode
    }
}

/// How a station chooses the mode towards another.
#[derive(Clone, Debug)]
pub enum RateControl {
    /// Always this one.
    Fixed(Mode),
    /// The mode selected by Minstrel-HT.
    Minstrel(Box<Minstrel>),
    /// What the source of frames has said of the next PPDU: it has a rate control of its own.
    Source(Box<Chain>),
}

impl RateControl {
    /// The modes of the next PPDU.
    pub fn chain(&mut self, now: SimTime, tries: u32) -> Chain {
        match self {
            RateControl::Fixed(mode) => Chain::fixed(*mode, tries),
            RateControl::Minstrel(minstrel) => minstrel.chain(now),
            RateControl::Source(chain) => **chain,
        }
    }

    /// Takes the result of a PPDU of `sent` frames after `failures` transmissions without a response.
    pub fn report(&mut self, chain: &Chain, failures: u32, sent: u32, acknowledged: u32) {
        if let RateControl::Minstrel(minstrel) = self {
            for failure in 0..failures {
                minstrel.count(chain.after(failure).index, sent, 0);
            }
            minstrel.aggregates += 1;
            minstrel.frames += u64::from(sent);
            minstrel.count(chain.after(failures).index, sent, acknowledged);
        }
    }

    /// Expected throughput in bit/s, including the overhead of exchanges.
    pub fn expected_throughput(&self) -> u64 {
        match self {
            RateControl::Fixed(mode) => {
                throughput(mode, ONE, (OVERHEAD_NANOS + ACCESS_NANOS) / FIRST_AGGREGATE)
            }
            RateControl::Minstrel(minstrel) => minstrel.best_throughput(),
            RateControl::Source(chain) => {
                throughput(&chain.rates[0].mode, ONE, OVERHEAD_NANOS / FIRST_AGGREGATE)
            }
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
            RateControl::Source(chain) => chain.slowest(),
        }
    }

    /// The mode of most transmissions.
    pub fn usual(&self) -> &Mode {
        match self {
            RateControl::Fixed(mode) => mode,
            RateControl::Minstrel(minstrel) => &minstrel.modes[minstrel.best[0]].mode,
            RateControl::Source(chain) => &chain.rates[0].mode,
        }
    }
}

/// What a probe is to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    /// The next faster mode of a group than the best one.
    Next,
    /// Any that is faster than those of the chain.
    Any,
    /// One between the fastest and the slowest of the chain.
    Slow,
}

/// Streams and guard interval.
fn group(mode: &Mode) -> (u32, u8) {
    (mode.streams(), mode.guard() as u8)
}

/// Statistics of one mode.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    mode: Mode,
    sent: u32,
    acknowledged: u32,
    /// Of 65536.
    probability: Option<u64>,
    /// Else `probability` is taken from others.
    tried: bool,
}

/// Minstrel-HT.
#[derive(Clone, Debug)]
pub struct Minstrel {
    modes: Vec<Statistics>,
    /// Best throughput, second, third, safe mode.
    best: [usize; MODES],
    update_due: SimTime,
    probe_due: SimTime,
    /// The last one of each kind.
    probed: [usize; 3],
    /// Place in [`KINDS`].
    turns: usize,
    aggregates: u64,
    frames: u64,
    /// In units of [`MPDU`].
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
        let statistics =
            |mode| Statistics { mode, sent: 0, acknowledged: 0, probability: None, tried: false };
        Minstrel {
            modes: modes.map(statistics).collect(),
            best: [0; MODES],
            update_due: SimTime::ZERO,
            probe_due: SimTime::ZERO,
            probed: [0; 3],
            turns: 0,
            aggregates: 0,
            frames: 0,
            mean_aggregate: MPDU,
        }
    }

    fn chain(&mut self, now: SimTime) -> Chain {
        if now >= self.update_due {
            self.update();
            self.update_due = now + UPDATE;
        }
        let [first, others @ ..] = self.best;
        let [second, third, safe] = others.map(|index| self.rate(index, RTS_NANOS));
        let mut probe = None;
        if now >= self.probe_due {
            self.probe_due = now + PROBE;
            probe = self.next_probe().map(|index| TxRate { tries: 1, ..self.rate(index, 0) });
        }
        let first = probe.unwrap_or_else(|| self.rate(first, 0));
        let rates = [first, second, third, safe];
        let tries = rates.iter().map(|rate| rate.tries).sum();
        Chain::new(rates, tries, probe.is_some())
    }

    /// The next mode to probe; `None` if there is none of the kind that is next.
    /// [linux-6.12 minstrel_ht_get_sample_rate, minstrel_ht_refill_sample_rates]
    fn next_probe(&mut self) -> Option<usize> {
        let kind = KINDS[self.turns];
        self.turns = (self.turns + 1) % KINDS.len();
        let pace = |place: usize| self.modes[self.best[place]].mode.bits_per_sec();
        let (first, paces) = (pace(0), [pace(0), pace(1), pace(3)]);
        let fastest = paces.into_iter().max().unwrap_or(first);
        let slowest = paces.into_iter().min().unwrap_or(first);
        let suits = |index: usize| {
            let Statistics { mode, probability, .. } = &self.modes[index];
            let pace = mode.bits_per_sec();
            match kind {
                Probe::Next => pace > first && !self.slower_one_of_its_group(index, first),
                Probe::Any => pace > fastest,
                Probe::Slow => slowest < pace && pace < fastest && probability.unwrap_or(0) <= CERTAIN,
            }
        };
        let from = self.probed[kind as usize];
        let mut in_turn = (1..=self.modes.len()).map(|step| (from + step) % self.modes.len());
        let found = in_turn.find(|&index| suits(index))?;
        self.probed[kind as usize] = found;
        Some(found)
    }

    /// Another mode of the same streams and guard interval is faster than `pace`, too, and slower than this one.
    fn slower_one_of_its_group(&self, index: usize, pace: u64) -> bool {
        let mode = self.modes[index].mode;
        self.modes.iter().map(|other| other.mode).any(|other| {
            group(&other) == group(&mode)
                && pace < other.bits_per_sec()
                && other.bits_per_sec() < mode.bits_per_sec()
        })
    }

    fn count(&mut self, index: u16, sent: u32, acknowledged: u32) {
        let mode = &mut self.modes[usize::from(index)];
        mode.sent += sent;
        mode.acknowledged += acknowledged;
    }

    fn update(&mut self) {
        if let Some(mean) = (self.frames * MPDU).checked_div(self.aggregates) {
            self.mean_aggregate = (3 * self.mean_aggregate + mean) / 4;
        }
        (self.frames, self.aggregates) = (0, 0);
        for mode in self.modes.iter_mut().filter(|mode| mode.sent > 0) {
            let now = u64::from(mode.acknowledged) * ONE / u64::from(mode.sent);
            mode.probability = Some(mode.probability.map_or(now, |old| (3 * old + now) / 4));
            (mode.sent, mode.acknowledged) = (0, 0);
            mode.tried = true;
        }
        self.assume();
        self.rank();
    }

    /// A mode that was never tried is assumed to be as probable as the best of the faster ones of its group.
    /// [linux-6.12 minstrel_ht_update_stats]
    fn assume(&mut self) {
        for index in 0..self.modes.len() {
            let Statistics { mode, tried, .. } = self.modes[index];
            if tried {
                continue;
            }
            let faster = self.modes.iter().filter(|other| {
                other.tried
                    && group(&other.mode) == group(&mode)
                    && other.mode.bits_per_sec() > mode.bits_per_sec()
            });
            let known = faster.filter_map(|other| other.probability).max();
            let own = self.modes[index].probability;
            self.modes[index].probability = own.max(known);
        }
    }

    fn rank(&mut self) {
        let mut fast: Vec<usize> =
            (0..self.modes.len()).filter(|&index| self.throughput_of(index) > 0).collect();
        fast.sort_by_key(|&index| {
            (Reverse((self.throughput_of(index), self.modes[index].probability)), index)
        });
        let tops = [0, 1, 2].map(|place| fast.get(place).copied().unwrap_or(0));
        self.best = [tops[0], tops[1], tops[2], self.safe_mode(tops[0])];
    }

    /// [linux-6.12 minstrel_ht_set_best_prob_rate, minstrel_ht_prob_rate_reduce_streams]
    fn safe_mode(&self, best: usize) -> usize {
        let Statistics { mode: top, probability: best_probability, .. } = self.modes[best];
        // None is taken that is faster and less probable than the best one.
        let can_be = |index: &usize| {
            let Statistics { mode, probability, .. } = self.modes[*index];
            mode.bits_per_sec() <= top.bits_per_sec() || probability >= best_probability
        };
        let merit = |index: usize| {
            let probability = self.modes[index].probability.unwrap_or(0);
            let safe = probability > SAFE;
            (safe, if safe { self.throughput_of(index) } else { probability }, Reverse(index))
        };
        let kind = |mode: &Mode| (mode.streams(), mode.guard() as u8);
        let with = |wanted: (u32, u8)| {
            let all = (0..self.modes.len()).filter(|&index| kind(&self.modes[index].mode) == wanted);
            all.filter(can_be).max_by_key(|&index| merit(index))
        };
        let of_fewer = self.modes.iter().map(|statistics| &statistics.mode);
        let of_fewer = of_fewer.filter(|mode| mode.mcs() == 0 && mode.streams() < top.streams());
        let reduced =
            of_fewer.filter_map(|mode| with(kind(mode))).max_by_key(|&index| self.throughput_of(index));
        let any = (0..self.modes.len()).filter(can_be).max_by_key(|&index| merit(index));
        reduced.filter(|&index| self.throughput_of(index) > 0).or(any).unwrap_or(0)
    }

    /// MPDUs per aggregate.
    fn aggregate(&self) -> u64 {
        (self.mean_aggregate / MPDU).max(1)
    }

    fn throughput_of(&self, index: usize) -> u64 {
        let statistics = &self.modes[index];
        statistics.probability.map_or(0, |known| throughput(&statistics.mode, known, self.overhead_nanos()))
    }

    fn best_throughput(&self) -> u64 {
        self.throughput_of(self.best[0])
    }

    /// Of each MPDU.
    fn overhead_nanos(&self) -> u64 {
        OVERHEAD_NANOS / self.aggregate()
    }

    /// A mode, each transmission of which may be announced at this cost.
    fn rate(&self, index: usize, announcing_nanos: u64) -> TxRate {
        let mode = self.modes[index].mode;
        let tries = tries(&mode, self.aggregate(), OVERHEAD_NANOS + announcing_nanos);
        TxRate { mode, index: index as u16, tries, announced: announcing_nanos > 0 }
    }
}

/// Throughput of a mode in bit/s, with so much overhead of each MPDU.
fn throughput(mode: &Mode, probability: u64, overhead_nanos: u64) -> u64 {
    if probability < ONE / 10 {
        return 0;
    }
    let nanos = overhead_nanos + air_of_1200_bytes(mode);
    probability.min(ONE * 9 / 10) * (9_600 * 1_000_000_000 / nanos) / ONE
}

fn air_of_1200_bytes(mode: &Mode) -> u64 {
    9_600 * 1_000_000_000 / mode.bits_per_sec()
}

/// Number of tries that fit into the time of one entry, with the growing back-off.
fn tries(mode: &Mode, aggregate: u64, overhead_nanos: u64) -> u32 {
    let once = overhead_nanos + aggregate * air_of_1200_bytes(mode);
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
        modes.max_by_key(|mode| throughput(mode, probability(mode), OVERHEAD_NANOS / 16)).unwrap()
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
    fn a_series_is_given_up_after_the_tries_of_all_its_modes() {
        let rate = |mcs, tries| {
            let mode = Mode::new(Format::Ht, 40, 2, mcs, Guard::Ns400).unwrap();
            TxRate { mode, index: 0, tries, announced: false }
        };
        let series = Chain::series(&[rate(7, 1), rate(4, 3), rate(0, 2)], true).unwrap();
        assert_eq!(series.tries(), 6);
        let modes = (0..6).map(|failures| series.after(failures).mode.mcs()).collect::<Vec<_>>();
        assert_eq!(modes, [7, 4, 4, 4, 0, 0]);
        let used = |transmissions| {
            series.used(transmissions).map(|rate| (rate.mode.mcs(), rate.tries)).collect::<Vec<_>>()
        };
        assert_eq!((used(1), used(3)), (vec![(7, 1)], vec![(7, 1), (4, 2)]));
        assert_eq!(used(6), [(7, 1), (4, 3), (0, 2)]);
        assert!(Chain::series(&[], false).is_none());
        assert!(Chain::series(&[rate(0, 1); MODES + 1], false).is_none());
    }

    #[test]
    fn a_probe_goes_first_and_alone_each_20_ms() {
        let mut control = minstrel();
        let probes =
            |control: &mut RateControl, ms| control.chain(SimTime::ZERO + Span::from_millis(ms), 10).probes;
        let found: Vec<u64> = (0..100).filter(|&ms| probes(&mut control, ms)).collect();
        assert_eq!(found, [0, 20, 40, 60, 80]);
    }

    /// The modes that it probes in this interval.
    fn probed(control: &mut RateControl, loss: Loss, from_ms: u64, until_ms: u64) -> Vec<Mode> {
        (from_ms..until_ms)
            .filter_map(|ms| {
                let chain = control.chain(SimTime::ZERO + Span::from_millis(ms), 10);
                control.report(&chain, 0, 1, u32::from(loss.of(&chain.after(0).mode, 1538) < u32::MAX / 2));
                chain.probes.then_some(chain.after(0).mode)
            })
            .collect()
    }

    #[test]
    fn at_the_highest_mode_nothing_is_left_to_probe() {
        let mut control = minstrel();
        run(&mut control, snr(40), 0, 4_000);
        assert_eq!(probed(&mut control, snr(40), 4_000, 6_000), []);
    }

    #[test]
    fn a_mode_as_fast_as_the_best_one_is_not_probed() {
        let mut control = minstrel();
        run(&mut control, snr(8), 0, 4_000);
        let best = control.usual().bits_per_sec();
        let found = probed(&mut control, snr(8), 4_000, 8_000);
        assert!(found.len() > 100);
        assert!(found.iter().all(|mode| mode.bits_per_sec() != best));
        let slower = found.iter().filter(|mode| mode.bits_per_sec() < best).count();
        assert!(6 * slower <= found.len() + 6, "one probe in six at most: {slower} of {}", found.len());
    }

    #[test]
    fn an_untried_mode_is_as_probable_as_the_best_faster_one_of_its_group() {
        let mut minstrel = Minstrel::new(Format::Ht, 20, 1, &[Guard::Ns800]);
        minstrel.count(5, 4, 3);
        minstrel.count(7, 4, 1);
        minstrel.update();
        let known: Vec<_> = minstrel.modes.iter().map(|mode| mode.probability.map(|p| 4 * p / ONE)).collect();
        let [good, bad] = [Some(3), Some(1)];
        assert_eq!(known, [good, good, good, good, good, good, bad, bad]);
    }

    #[test]
    fn slow_modes_are_tried_less_often() {
        let mode = |mcs| Mode::new(Format::Ht, 20, 1, mcs, Guard::Ns800).unwrap();
        assert_eq!(tries(&mode(0), 16, OVERHEAD_NANOS), 2);
        assert_eq!(tries(&mode(7), 1, OVERHEAD_NANOS), 5, "the sixth back-off alone may take 2.3 ms");
    }
}
