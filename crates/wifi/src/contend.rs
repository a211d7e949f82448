//! The back-off of EDCA for one access category of one station: when it may send.
//!
//! ```text
//! AIFS    = SIFS + AIFSN · slot                    after a decoded frame
//! EIFS    = SIFS + ACK at the lowest rate + AIFS   after a frame that could not be decoded
//! access  = resume + counter · slot                resume: when the medium has been idle for AIFS or EIFS
//! counter ∈ [0, CW], drawn after every exchange; CW ← CWmin after success, min(2·CW + 1, CWmax) after failure
//! ```
//!
//! The counter is frozen while the medium is busy. It counts down whether or not a frame waits (post-back-off): a frame
//! that arrives when the counter is 0 and the medium is idle is sent at the next slot boundary. A frame that arrives
//! when it is 0 and the medium is busy draws a counter. [ieee80211-2016 §10.22.2]
//!
//! There are no events per slot: the slots that have passed are computed when the medium becomes busy.

use rand_core::Rng;
use tailback_units::{SimTime, Span};

use crate::phy::Band;

/// How mac80211 chooses the access category of a code point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodePoints {
    /// By the use that RFC 8325 gives it. [linux-6.8 net/wireless/util.c cfg80211_classify8021d]
    ByUse,
    /// By its three highest bits alone, before Linux 6.8: EF is video. [linux-5.10 net/wireless/util.c]
    ByClass,
}

/// Access categories, the most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AccessCategory {
    /// Voice.
    Voice,
    /// Video.
    Video,
    /// Best effort.
    BestEffort,
    /// Background.
    Background,
}

impl AccessCategory {
    /// All, the most urgent first.
    pub const ALL: [AccessCategory; 4] = [
        AccessCategory::Voice,
        AccessCategory::Video,
        AccessCategory::BestEffort,
        AccessCategory::Background,
    ];

    /// The category of a type-of-service octet: its three highest bits are the user priority, except for code points
    /// whose use is another. [rfc8325 §4] [ieee80211-2016 table 10-1]
    #[inline]
    pub const fn of_tos(tos: u8, code_points: CodePoints) -> Self {
        // Looked up for each packet.
        const BY_USE: [AccessCategory; 64] = AccessCategory::table(CodePoints::ByUse);
        const BY_CLASS: [AccessCategory; 64] = AccessCategory::table(CodePoints::ByClass);
        let code_point = (tos >> 2) as usize;
        match code_points {
            CodePoints::ByUse => BY_USE[code_point],
            CodePoints::ByClass => BY_CLASS[code_point],
        }
    }

    /// The category of each code point.
    const fn table(code_points: CodePoints) -> [AccessCategory; 64] {
        let (mut table, mut code_point) = ([AccessCategory::BestEffort; 64], 0);
        while code_point < 64 {
            table[code_point as usize] = match code_points {
                CodePoints::ByUse => Self::by_use(code_point),
                CodePoints::ByClass => Self::by_class(code_point),
            };
            code_point += 1;
        }
        table
    }

    const fn by_use(code_point: u8) -> Self {
        match code_point {
            // AF1x, CS2, AF2x: data that wants throughput, management, data that wants low latency.
            10 | 12 | 14 | 16 | 18 | 20 | 22 => AccessCategory::BestEffort,
            // CS3, AF3x: broadcast and streamed video.
            24 | 26 | 28 | 30 => AccessCategory::Video,
            // VA, EF: telephony.
            44 | 46 => AccessCategory::Voice,
            _ => Self::by_class(code_point),
        }
    }

    const fn by_class(code_point: u8) -> Self {
        match code_point >> 3 {
            1 | 2 => AccessCategory::Background,
            4 | 5 => AccessCategory::Video,
            6 | 7 => AccessCategory::Voice,
            _ => AccessCategory::BestEffort,
        }
    }

    /// The name of the category in `iw` and `tc`.
    pub const fn name(self) -> &'static str {
        match self {
            AccessCategory::Voice => "VO",
            AccessCategory::Video => "VI",
            AccessCategory::BestEffort => "BE",
            AccessCategory::Background => "BK",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Contention parameters of one access category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edca {
    /// Slots after SIFS.
    pub aifsn: u32,
    /// Minimum contention window, a power of two minus one.
    pub cw_min: u32,
    /// Maximum contention window.
    pub cw_max: u32,
    /// TXOP limit; zero: one exchange.
    pub txop: Span,
}

impl Edca {
    /// The defaults of a station. [ieee80211-2016 table 9-137, 802.11n's TXOPs]
    pub const fn station(category: AccessCategory) -> Self {
        let (aifsn, cw_min, cw_max, txop_us) = match category {
            AccessCategory::Voice => (2, 3, 7, 1504),
            AccessCategory::Video => (2, 7, 15, 3008),
            AccessCategory::BestEffort => (3, 15, 1023, 0),
            AccessCategory::Background => (7, 15, 1023, 0),
        };
        Edca { aifsn, cw_min, cw_max, txop: Span::from_micros(txop_us) }
    }

    /// The defaults of hostapd for the frames of an access point. [hostapd hostapd.conf tx_queue_data]
    pub const fn access_point(category: AccessCategory) -> Self {
        let (aifsn, cw_min, cw_max, txop_us) = match category {
            AccessCategory::Voice => (1, 3, 7, 1504),
            AccessCategory::Video => (1, 7, 15, 3008),
            AccessCategory::BestEffort => (3, 15, 63, 0),
            AccessCategory::Background => (7, 15, 1023, 0),
        };
        Edca { aifsn, cw_min, cw_max, txop: Span::from_micros(txop_us) }
    }

    /// Arbitration interframe space.
    pub fn aifs(&self, band: Band) -> Span {
        band.sifs() + band.slot() * u64::from(self.aifsn)
    }
}

/// The result of an exchange for its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// The response arrived.
    Answered,
    /// No response arrived: the contention window grows.
    Failed,
    /// No response arrived, and the frame is dropped.
    GivenUp,
}

/// The back-off function of one access category of one station.
#[derive(Clone, Debug)]
pub struct Contender {
    edca: Edca,
    slot: Span,
    aifs: Span,
    window: u32,
    counter: u32,
    /// From when slots count.
    resume: SimTime,
    /// Since when something waits to be sent.
    waiting: Option<SimTime>,
}

impl Contender {
    /// No frame waits, and the counter is 0.
    pub fn new(edca: Edca, band: Band) -> Self {
        Contender {
            edca,
            slot: band.slot(),
            aifs: edca.aifs(band),
            window: edca.cw_min,
            counter: 0,
            resume: SimTime::ZERO,
            waiting: None,
        }
    }

    /// The contention parameters of the category.
    pub fn edca(&self) -> &Edca {
        &self.edca
    }

    /// The arbitration interframe space of the category.
    #[inline]
    pub fn aifs(&self) -> Span {
        self.aifs
    }

    /// The contention window.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// True if no frame waits and the counter is 0.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_none() && self.counter == 0
    }

    /// A frame waits from now on. `busy`: the medium is in use.
    pub fn wait(&mut self, now: SimTime, busy: bool, draws: &mut dyn Rng) {
        if self.waiting.is_some() {
            return;
        }
        self.waiting = Some(now);
        if self.counter == 0 && (busy || now < self.resume) {
            self.draw(draws);
        }
    }

    /// When it will send if the medium stays idle.
    #[inline]
    pub fn access(&self) -> Option<SimTime> {
        let since = self.waiting?;
        let earliest = self.resume + self.slot * u64::from(self.counter);
        if since <= earliest {
            return Some(earliest);
        }
        let slots = since.since(self.resume).as_nanos().div_ceil(self.slot.as_nanos());
        Some(self.resume + self.slot * slots)
    }

    /// Another radio began to send at `now`.
    #[inline]
    pub fn medium_busy(&mut self, now: SimTime, draws: &mut dyn Rng) {
        if self.counter > 0 && now > self.resume {
            self.pass(now.since(self.resume).as_nanos() / self.slot.as_nanos());
        }
        if self.counter == 0 && self.waiting.is_some() {
            self.draw(draws);
        }
    }

    /// `slots` slots have passed.
    #[inline]
    fn pass(&mut self, slots: u64) {
        self.counter = self.counter.saturating_sub(u32::try_from(slots).unwrap_or(u32::MAX));
    }

    /// The medium is idle; slots count from `resume` on.
    #[inline]
    pub fn medium_idle(&mut self, resume: SimTime) {
        self.resume = resume;
    }

    /// An exchange of this category has ended; a counter is drawn in any case (post-back-off). `waiting`: since when
    /// another frame waits.
    pub fn exchanged(&mut self, attempt: Attempt, waiting: Option<SimTime>, draws: &mut dyn Rng) {
        self.waiting = waiting;
        self.window = match attempt {
            Attempt::Failed => (2 * self.window + 1).min(self.edca.cw_max),
            Attempt::Answered | Attempt::GivenUp => self.edca.cw_min,
        };
        self.draw(draws);
    }

    /// The frame was sent, and no counter is drawn.
    pub(crate) fn sent(&mut self) {
        self.waiting = None;
    }

    fn draw(&mut self, draws: &mut dyn Rng) {
        self.counter = draws.next_u32() % (self.window + 1);
    }
}

/// The back-off functions of one station, one for each access category.
///
/// What happens on the medium reaches those that wait or count down. The others get to know when they need it since
/// when the medium has been idle.
#[derive(Clone, Debug)]
pub(crate) struct Contenders {
    all: [Contender; AccessCategory::ALL.len()],
    /// Bit c: category c waits or counts down.
    active: u8,
    /// When the medium was idle last and AIFS began.
    idle_from: Option<SimTime>,
    /// When the first of them will send, if the medium is idle and stays so.
    access: SimTime,
}

impl Contenders {
    /// Nothing waits, the counters are 0.
    pub fn new(edca: [Edca; AccessCategory::ALL.len()], band: Band) -> Self {
        let all = edca.map(|edca| Contender::new(edca, band));
        Contenders { all, active: 0, idle_from: None, access: SimTime::NEVER }
    }

    /// The parameters of a category.
    pub fn edca(&self, category: usize) -> &Edca {
        self.all[category].edca()
    }

    /// Nothing waits in any category, and all counters have run down.
    #[cfg(test)]
    pub fn are_at_rest(&self) -> bool {
        self.active == 0
    }

    /// Nothing is left for them but to count slots, AIFS having begun at `from`.
    pub fn only_count_from(&self, from: SimTime) -> bool {
        self.active == 0
            || (self.idle_from == Some(from)
                && categories(self.active).all(|category| self.all[category].counter > 0))
    }

    /// The categories that are not idle: something waits, or they count down.
    pub fn active(&self) -> impl Iterator<Item = usize> + use<> {
        categories(self.active)
    }

    /// The categories in which something waits, and their counters.
    pub fn counting(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let waiting = categories(self.active).filter(|&category| self.waits(category));
        waiting.map(|category| (category, self.all[category].counter))
    }

    /// Something waits in a category.
    #[inline]
    pub fn waits(&self, category: usize) -> bool {
        self.all[category].waiting.is_some()
    }

    /// `slots` slots have passed.
    pub fn pass(&mut self, category: usize, slots: u64) {
        let contender = &mut self.all[category];
        contender.pass(slots);
        if contender.is_idle() {
            self.active &= !(1 << category);
        }
    }

    /// When the first of them will send if the medium, which is idle, stays idle; `NEVER` if nothing waits.
    #[inline]
    pub fn access(&self) -> SimTime {
        self.access
    }

    /// When `category` will send if the medium, which is idle, stays idle; `None` if nothing of it waits.
    pub fn access_of(&self, category: usize) -> Option<SimTime> {
        self.all[category].access()
    }

    /// The categories that send at `now`, the most urgent first.
    pub fn due(&self, now: SimTime) -> impl Iterator<Item = usize> + use<> {
        let due = categories(self.active).filter(|&category| self.access_of(category) == Some(now));
        categories(due.fold(0, |due, category| due | 1 << category))
    }

    /// Something of a category waits from now on.
    pub fn wait(&mut self, category: usize, now: SimTime, busy: bool, draws: &mut dyn Rng) {
        self.follow_medium(category);
        self.all[category].wait(now, busy, draws);
        self.changed(category);
    }

    /// An exchange of a category is over.
    pub fn exchanged(
        &mut self,
        category: usize,
        attempt: Attempt,
        waiting: Option<SimTime>,
        draws: &mut dyn Rng,
    ) {
        self.follow_medium(category);
        self.all[category].exchanged(attempt, waiting, draws);
        self.changed(category);
    }

    /// What waited in a category has been sent, and no counter is drawn.
    pub fn sent(&mut self, category: usize) {
        self.all[category].sent();
        self.changed(category);
    }

    /// The medium has become busy: those that are not `sending` stop counting.
    #[inline]
    pub fn medium_busy(&mut self, now: SimTime, sending: Option<usize>, draws: &mut dyn Rng) {
        for category in categories(self.active).filter(|&category| sending != Some(category)) {
            let contender = &mut self.all[category];
            contender.medium_busy(now, draws);
            if contender.is_idle() {
                self.active &= !(1 << category);
            }
        }
    }

    /// The medium is idle; AIFS begins at `from`.
    #[inline]
    pub fn medium_idle(&mut self, from: SimTime) {
        self.idle_from = Some(from);
        self.access = SimTime::NEVER;
        for category in categories(self.active) {
            let contender = &mut self.all[category];
            contender.medium_idle(from + contender.aifs());
            self.access = self.access.min(contender.access().unwrap_or(SimTime::NEVER));
        }
    }

    /// A category that was at rest learns since when the medium has been idle.
    fn follow_medium(&mut self, category: usize) {
        if self.active & (1 << category) == 0
            && let Some(from) = self.idle_from
        {
            let contender = &mut self.all[category];
            contender.medium_idle(from + contender.aifs());
        }
    }

    fn changed(&mut self, category: usize) {
        let bit = 1 << category;
        self.active = if self.all[category].is_idle() { self.active & !bit } else { self.active | bit };
        let accesses = categories(self.active).filter_map(|category| self.access_of(category));
        self.access = accesses.min().unwrap_or(SimTime::NEVER);
    }
}

/// The categories of a set of bits, the most urgent first.
#[inline]
fn categories(mut bits: u8) -> impl Iterator<Item = usize> + use<> {
    std::iter::from_fn(move || {
        let category = (bits != 0).then_some(bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(category)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random;

    const AIFS: u64 = 43;

    fn best_effort() -> Contender {
        Contender::new(Edca::station(AccessCategory::BestEffort), Band::Ghz5)
    }

    const fn us(us: u64) -> SimTime {
        SimTime::from_nanos(us * 1_000)
    }

    #[test]
    fn interframe_spaces_of_5_ghz_are_34_43_and_79_us() {
        let aifs = |category| Edca::station(category).aifs(Band::Ghz5).as_micros();
        assert_eq!(AccessCategory::ALL.map(aifs), [34, 34, AIFS, 79]);
    }

    #[test]
    fn a_category_at_rest_learns_from_when_slots_count_once_something_waits() {
        let (mut random, edca) = (random(1), AccessCategory::ALL.map(Edca::station));
        let (mut contenders, category) =
            (Contenders::new(edca, Band::Ghz5), AccessCategory::BestEffort.index());
        contenders.medium_busy(us(10), None, &mut random);
        contenders.medium_idle(us(100));
        assert!(contenders.are_at_rest() && contenders.access() == SimTime::NEVER);
        contenders.wait(category, us(100 + AIFS + 20), false, &mut random);
        assert_eq!(contenders.access(), us(100 + AIFS + 27), "the next slot boundary");
        assert_eq!(contenders.due(us(100 + AIFS + 27)).collect::<Vec<_>>(), [category]);
        contenders.sent(category);
        assert!(contenders.are_at_rest());
    }

    #[test]
    fn slots_counted_later_and_all_at_once_leave_what_slots_counted_in_time_leave() {
        let (category, edca) = (AccessCategory::Background.index(), AccessCategory::ALL.map(Edca::station));
        for seed in 0..50 {
            let mut random = random(seed);
            let mut in_time = Contenders::new(edca, Band::Ghz5);
            in_time.wait(category, us(1), true, &mut random);
            in_time.medium_idle(us(10));
            if !in_time.only_count_from(us(10)) {
                continue;
            }
            let mut later = in_time.clone();
            let ((_, counter), aifsn) = (in_time.counting().next().unwrap(), edca[category].aifsn);
            let (slots, busy) =
                (u64::from(counter / 2), us(10 + 16 + 9 * u64::from(aifsn + counter / 2) + 5));
            in_time.medium_busy(busy, None, &mut random);
            in_time.medium_idle(us(10_000));
            later.pass(category, slots);
            later.medium_idle(us(10_000));
            assert_eq!(later.access(), in_time.access());
            assert_eq!(later.counting().next(), Some((category, counter - counter / 2)));
        }
    }

    #[test]
    fn a_frame_that_finds_the_medium_idle_leaves_at_the_next_slot_boundary() {
        let (mut contender, mut random) = (best_effort(), random(1));
        contender.medium_idle(us(100));
        contender.wait(us(120), false, &mut random);
        assert_eq!(contender.access(), Some(us(127)));
    }

    #[test]
    fn a_frame_that_finds_the_medium_busy_draws() {
        let mut counters = [0; 16];
        for seed in 0..2_000 {
            let (mut contender, mut random) = (best_effort(), random(seed));
            contender.wait(us(1), true, &mut random);
            contender.medium_idle(us(10));
            counters[contender.access().unwrap().since(us(10)).as_micros() as usize / 9] += 1;
        }
        assert!(counters.iter().all(|&count| (80..180).contains(&count)), "{counters:?}");
    }

    #[test]
    fn a_frame_that_arrives_before_aifs_has_passed_draws_though_the_medium_is_idle() {
        let mut later = 0;
        for seed in 0..200 {
            let (mut contender, mut random) = (best_effort(), random(seed));
            contender.medium_idle(us(100));
            contender.wait(us(99), false, &mut random);
            later += u32::from(contender.access() > Some(us(100)));
        }
        assert!((170..200).contains(&later), "15 of 16 counters are above 0: {later} of 200");
    }

    #[test]
    fn the_counter_stands_while_the_medium_is_busy() {
        let (mut contender, mut random) = (best_effort(), random(3));
        contender.wait(us(1), true, &mut random);
        (contender.counter, contender.resume) = (7, us(100));
        contender.medium_busy(us(100 + 3 * 9), &mut random);
        contender.medium_idle(us(1_000));
        assert_eq!(contender.access(), Some(us(1_000 + 4 * 9)));
    }

    #[test]
    fn the_counter_runs_down_while_nothing_waits() {
        let (mut contender, mut random) = (best_effort(), random(3));
        (contender.counter, contender.resume) = (5, us(0));
        contender.wait(us(18), false, &mut random);
        assert_eq!(contender.access(), Some(us(45)), "three slots are left");
        contender.waiting = None;
        contender.wait(us(50), false, &mut random);
        assert_eq!(contender.access(), Some(us(54)), "none is left");
    }

    #[test]
    fn the_window_doubles_to_1023_and_returns_to_15() {
        let (mut contender, mut random) = (best_effort(), random(1));
        let mut windows = vec![contender.window()];
        for _ in 0..7 {
            contender.exchanged(Attempt::Failed, None, &mut random);
            windows.push(contender.window());
        }
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 1023]);
        contender.exchanged(Attempt::Answered, None, &mut random);
        assert_eq!(contender.window(), 15);
    }

    #[test]
    fn dscp_picks_the_category_by_its_class_or_its_use() {
        let of = |dscp: u8| AccessCategory::of_tos(dscp << 2, CodePoints::ByUse).name();
        assert_eq!([of(0), of(8), of(40), of(46), of(48), of(34)], ["BE", "BK", "VI", "VO", "VO", "VI"]);
        assert_eq!([of(10), of(16), of(18), of(24), of(26), of(44)], ["BE", "BE", "BE", "VI", "VI", "VO"]);
    }

    #[test]
    fn before_linux_6_8_the_class_of_a_code_point_picks_the_category_so_that_ef_is_video() {
        let of = |dscp: u8| AccessCategory::of_tos(dscp << 2, CodePoints::ByClass).name();
        assert_eq!([of(0), of(8), of(40), of(46), of(48), of(34)], ["BE", "BK", "VI", "VI", "VO", "VI"]);
        assert_eq!([of(10), of(16), of(18), of(24), of(26), of(44)], ["BK", "BK", "BK", "BE", "BE", "VI"]);
    }
}
