//! The CoDel law: drop at the head when the sojourn time has stayed above `target` for an `interval`, then at gaps that
//! shrink as 1/√count until the sojourn time is below the target again.
//!
//! above:   sojourn ≥ target and backlog > one MTU, for longer than `interval`      [rfc8289 §4.4, §5.5]
//! next:    t ← t + interval · rinv,  rinv ≈ 1/√count
//! Newton:  rinv ← rinv · (3 − count · rinv²) / 2, one step per drop                  [linux-6.12 codel_impl.h]
//! re-entry: within 16 intervals of the last drop time, count continues from count − lastcount, otherwise from 1
//!
//! States: not dropping (waiting for the first interval above target), dropping (the next drop time is set).
//! The clock is that of Linux: ticks of 1.024 µs, 32 bits, wrapping. As in Linux, one Newton step from 1 gives 1/2 for
//! count 2, not 0.707, so the second gap is 50 ms; and the arithmetic is modulo 2⁶⁴, which matters after a batch drop
//! has increased `count` by more than one step can follow.
//! Deviation: the clock starts about a minute before the run, as on a host that booted before the experiment.

use tailback_units::{ParameterError, Parameters, SimTime, Span};

use super::Verdict;

/// Right shift from nanoseconds to ticks. [linux-6.12 codel.h CODEL_SHIFT]
const CLOCK_SHIFT: u32 = 10;
/// CoDel's clock at the start of a run, so that an initial `drop_next` of 0 is long ago.
const UPTIME: u32 = 1 << 26;
/// Within this many intervals since the last drop time, a new episode continues the count of the last one.
const MEMORY_INTERVALS: u32 = 16;
/// `rinv` of count 1: the largest 16-bit fraction.
const ONE: u16 = u16::MAX;

/// Settings that many queues share.
#[derive(Clone, Copy, Debug)]
pub struct CodelSettings {
    target: u32,
    interval: u32,
    mtu: u32,
    ecn: bool,
    ce_threshold: Option<u32>,
}

impl CodelSettings {
    /// Drops above `target` after `interval`, but not from a backlog of at most `mtu` bytes.
    pub fn new(target: Span, interval: Span, mtu: u32) -> Self {
        CodelSettings {
            target: ticks(target),
            interval: ticks(interval),
            mtu,
            ecn: false,
            ce_threshold: None,
        }
    }

    /// From the parameters `target`, `interval`, `ecn` and `ce_threshold` of a discipline.
    pub fn from_parameters(given: &Parameters, mtu: u32) -> Result<Self, ParameterError> {
        let span = |name| given.require(name).map(Span::from_nanos);
        Ok(CodelSettings::new(span("target")?, span("interval")?, mtu)
            .with_ecn(given.require("ecn")? == 1)
            .with_ce_threshold(given.given("ce_threshold").map(Span::from_nanos)))
    }

    /// Marks ECN-capable packets instead of dropping them.
    pub fn with_ecn(self, ecn: bool) -> Self {
        CodelSettings { ecn, ..self }
    }

    /// Marks every ECN-capable packet whose sojourn time exceeds `threshold`.
    pub fn with_ce_threshold(self, threshold: Option<Span>) -> Self {
        CodelSettings { ce_threshold: threshold.map(ticks), ..self }
    }

    /// `t` plus the gap that belongs to `rinv`.
    fn control_law(&self, t: u32, rinv: u16) -> u32 {
        t.wrapping_add(((u64::from(self.interval) * u64::from(rinv)) >> 16) as u32)
    }
}

/// The head of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// When it was enqueued.
    pub enqueued: SimTime,
    /// Bytes queued behind it.
    pub backlog_behind: u64,
    /// The packet is ECN-capable.
    pub markable: bool,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codel {
    count: u32,
    last_count: u32,
    above_until: u32,
    drop_next: u32,
    sojourn: u32,
    rinv: u16,
    dropping: bool,
}

/// The previous decision within the same dequeue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    DroppedOnEntry,
    DroppedInTurn,
}

/// One dequeue from one queue: decides about its head, and if that is dropped, about the next head, until one passes.
pub struct CodelDequeue<'a> {
    codel: &'a mut Codel,
    settings: &'a CodelSettings,
    now: u32,
    asked: Asked,
}

impl Codel {
    /// Begins a dequeue.
    #[inline]
    pub fn dequeue<'a>(&'a mut self, settings: &'a CodelSettings, now: SimTime) -> CodelDequeue<'a> {
        CodelDequeue { codel: self, settings, now: clock(now), asked: Asked::Nothing }
    }

    /// All packets of the queue would pass now, whose oldest was enqueued at `oldest`: no sojourn time has reached the
    /// target.
    #[inline]
    pub fn passes_all(&self, settings: &CodelSettings, oldest: SimTime, now: SimTime) -> bool {
        !self.dropping && is_before(clock(now).wrapping_sub(clock(oldest)), settings.target)
    }

    /// Packets passed that [`passes_all`](Self::passes_all), the last of which was enqueued at `last`: the same as to
    /// judge each.
    #[inline]
    pub fn passed(&mut self, last: SimTime, now: SimTime) {
        self.above_until = 0;
        self.sojourn = clock(now).wrapping_sub(clock(last));
    }

    /// Counts packets that were dropped at the head for another reason as if the law had dropped them.
    pub fn count_drops(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    /// Drops of this episode, as the law counts them.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The count at which this episode began.
    pub fn last_count(&self) -> u32 {
        self.last_count
    }

    /// Sojourn time of the last packet.
    pub fn sojourn(&self) -> Span {
        Span::from_nanos(u64::from(self.sojourn) << CLOCK_SHIFT)
    }

    /// Time until the next drop; negative if it is overdue, zero before the first episode.
    pub fn until_next_drop(&self, now: SimTime) -> i64 {
        let ticks = self.drop_next.wrapping_sub(clock(now)) as i32;
        if self.drop_next == 0 { 0 } else { i64::from(ticks) << CLOCK_SHIFT }
    }

    /// True between the first drop of an episode and the first packet below target.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// True if the sojourn has stayed above target for an interval. [rfc8289 §5.5 ok_to_drop]
    fn should_drop(&mut self, head: &Head, settings: &CodelSettings, now: u32) -> bool {
        self.sojourn = now.wrapping_sub(clock(head.enqueued));
        if is_before(self.sojourn, settings.target) || head.backlog_behind <= u64::from(settings.mtu) {
            self.above_until = 0;
            return false;
        }
        if self.above_until == 0 {
            self.above_until = now.wrapping_add(settings.interval);
            return false;
        }
        is_before(self.above_until, now)
    }

    fn enter_dropping(&mut self, settings: &CodelSettings, now: u32) {
        self.dropping = true;
        let recent = is_before(now.wrapping_sub(self.drop_next), MEMORY_INTERVALS * settings.interval);
        let drops_before = self.count.wrapping_sub(self.last_count);
        if drops_before > 1 && recent {
            self.count = drops_before;
            self.newton_step();
        } else {
            self.count = 1;
            self.rinv = ONE;
        }
        self.last_count = self.count;
        self.drop_next = settings.control_law(now, self.rinv);
    }

    fn count_one_more(&mut self) {
        self.count = self.count.wrapping_add(1);
        self.newton_step();
    }

    /// One Newton step, with `rinv` as a fraction of 2³², modulo 2⁶⁴; shifts by two bits before the last product.
    fn newton_step(&mut self) {
        let rinv = u64::from(self.rinv) << 16;
        let square = (rinv * rinv) >> 32;
        let three_minus = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        let halved = (three_minus >> 2).wrapping_mul(rinv) >> (32 + 1 - 2);
        self.rinv = (halved >> 16) as u16;
    }
}

impl CodelDequeue<'_> {
    /// Decides about the head. After [`Verdict::Drop`] call it again for the next head, or
    /// [`queue_is_empty`](Self::queue_is_empty).
    #[inline]
    pub fn judge(&mut self, head: &Head) -> Verdict {
        let above = self.codel.should_drop(head, self.settings, self.now);
        let after_entry = self.asked == Asked::DroppedOnEntry;
        match (self.codel.dropping, above) {
            _ if after_entry => Verdict::Pass,
            (false, false) => Verdict::Pass,
            (false, true) => self.enter(head),
            (true, false) => {
                self.codel.dropping = false;
                Verdict::Pass
            }
            (true, true) => self.drop_if_due(head),
        }
    }

    /// The queue is empty.
    pub fn queue_is_empty(self) {
        self.codel.above_until = 0;
        if self.asked != Asked::DroppedOnEntry {
            self.codel.dropping = false;
        }
    }

    /// True if the sojourn time of the last packet exceeds `ce_threshold`.
    #[inline]
    pub fn is_above_ce_threshold(&self) -> bool {
        self.settings.ce_threshold.is_some_and(|threshold| is_before(threshold, self.codel.sojourn))
    }

    fn enter(&mut self, head: &Head) -> Verdict {
        self.codel.enter_dropping(self.settings, self.now);
        let verdict = self.mark_or_drop(head);
        self.asked = Asked::DroppedOnEntry;
        verdict
    }

    fn drop_if_due(&mut self, head: &Head) -> Verdict {
        // The next drop time advances only if the packet after a drop is still above target.
        if self.asked == Asked::DroppedInTurn {
            self.advance();
        }
        if is_before(self.now, self.codel.drop_next) {
            return Verdict::Pass;
        }
        self.codel.count_one_more();
        let verdict = self.mark_or_drop(head);
        match verdict {
            Verdict::Mark => self.advance(),
            _ => self.asked = Asked::DroppedInTurn,
        }
        verdict
    }

    fn advance(&mut self) {
        self.codel.drop_next = self.settings.control_law(self.codel.drop_next, self.codel.rinv);
    }

    fn mark_or_drop(&self, head: &Head) -> Verdict {
        if self.settings.ecn && head.markable { Verdict::Mark } else { Verdict::Drop }
    }
}

fn ticks(span: Span) -> u32 {
    (span.as_nanos() >> CLOCK_SHIFT) as u32
}

#[inline]
fn clock(at: SimTime) -> u32 {
    ((at.as_nanos() >> CLOCK_SHIFT) as u32).wrapping_add(UPTIME)
}

/// `a` earlier than `b` on a clock that wraps.
#[inline]
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: CodelSettings =
        CodelSettings { target: 4882, interval: 97_656, mtu: 1514, ecn: false, ce_threshold: None };

    /// A queue with a constant sojourn time, dequeued every `step`.
    struct Standing {
        codel: Codel,
        settings: CodelSettings,
        now: SimTime,
        sojourn: Span,
        backlog_behind: u64,
        markable: bool,
    }

    impl Standing {
        fn above_target() -> Self {
            Standing {
                codel: Codel::default(),
                settings: LINUX,
                now: SimTime::ZERO + Span::from_secs(1),
                sojourn: Span::from_millis(50),
                backlog_behind: 100_000,
                markable: false,
            }
        }

        /// One dequeue; returns how many packets were dropped and whether the delivered one was marked.
        fn dequeue(&mut self) -> (u32, bool) {
            let enqueued = self.now - self.sojourn;
            let head = Head { enqueued, backlog_behind: self.backlog_behind, markable: self.markable };
            let mut dequeue = self.codel.dequeue(&self.settings, self.now);
            let mut drops = 0;
            loop {
                match dequeue.judge(&head) {
                    Verdict::Drop => drops += 1,
                    verdict => return (drops, verdict == Verdict::Mark),
                }
            }
        }

        /// Times in ms of all drops and marks within `ms` milliseconds, with a dequeue every 10 µs.
        fn signals(&mut self, ms: u64) -> Vec<f64> {
            let mut instants = Vec::new();
            for _ in 0..ms * 100 {
                let (drops, marked) = self.dequeue();
                let at = self.now.as_nanos() as f64 / 1e6;
                instants.extend(std::iter::repeat_n(at, drops as usize + usize::from(marked)));
                self.now += Span::from_micros(10);
            }
            instants
        }
    }

    fn assert_close(got: &[f64], expected: &[f64], tolerance: f64) {
        assert!(got.len() >= expected.len(), "{got:?}");
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() <= tolerance, "{got} is not {expected}");
        }
    }

    /// Drop times in ms after the first drop: sums of the gaps by the formulas at the head of this file.
    const INSTANTS: [f64; 12] =
        [0.0, 100.0, 150.0, 206.2, 255.0, 299.2, 339.6, 377.1, 412.3, 445.4, 476.9, 507.0];

    #[test]
    fn the_settings_of_linux_are_stored_in_ticks_of_1024_ns() {
        let settings = CodelSettings::new(Span::from_millis(5), Span::from_millis(100), 1514);
        assert_eq!((settings.target, settings.interval), (LINUX.target, LINUX.interval));
    }

    #[test]
    fn the_first_drop_comes_an_interval_after_the_first_packet_above_target() {
        let mut queue = Standing::above_target();
        let first = queue.signals(200)[0];
        assert!(first > 1099.99 && first <= 1100.02, "{first}");
    }

    #[test]
    fn the_gaps_are_those_of_linux_with_its_newton_step() {
        let drops = Standing::above_target().signals(1200);
        let gaps: Vec<f64> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let linux = [100.0, 50.0, 56.25, 48.78, 44.15, 40.41, 37.52, 35.15, 33.18, 31.50, 30.06, 28.79];
        assert_close(&gaps, &linux, 0.03);
    }

    #[test]
    fn the_drop_instants_are_those_of_linux() {
        let drops = Standing::above_target().signals(700);
        let relative: Vec<f64> = drops.iter().map(|at| at - drops[0]).collect();
        assert_close(&relative, &INSTANTS, 0.1);
    }

    #[test]
    fn marks_come_at_the_same_instants_as_drops_and_one_at_a_time() {
        let mut queue = Standing::above_target();
        queue.settings = LINUX.with_ecn(true);
        queue.markable = true;
        let drops_alone = Standing::above_target().signals(700);
        assert_eq!(queue.signals(700), drops_alone);
        queue.now += Span::from_millis(500);
        let (drops, marked) = queue.dequeue();
        assert_eq!((drops, marked), (0, true), "many drop times have passed, but a dequeue marks once");
    }

    #[test]
    fn one_dequeue_drops_a_packet_per_drop_time_that_has_passed() {
        let mut queue = Standing::above_target();
        queue.signals(150);
        queue.now += Span::from_millis(300);
        let (drops, _) = queue.dequeue();
        assert_eq!(drops, 6, "drop times 100, 150, 206, 255, 299 and 340 ms after the first");
    }

    #[test]
    fn drops_grow_as_the_square_of_the_time_in_dropping_state() {
        let drops = Standing::above_target().signals(10_100).len() as f64;
        assert!((2350.0..=2650.0).contains(&drops), "(10 s / 0.2 s)² = 2500, got {drops}");
    }

    #[test]
    fn a_backlog_of_one_packet_loses_nothing() {
        let mut queue = Standing::above_target();
        queue.backlog_behind = 1514;
        assert!(queue.signals(1000).is_empty());
        queue.backlog_behind = 1515;
        assert!(!queue.signals(1000).is_empty());
    }

    #[test]
    fn one_packet_below_target_restarts_the_interval() {
        let mut queue = Standing::above_target();
        assert!(queue.signals(90).is_empty());
        queue.sojourn = Span::from_micros(4_900);
        queue.dequeue();
        queue.sojourn = Span::from_millis(50);
        let restarted = queue.now.as_nanos() as f64 / 1e6;
        assert_close(&queue.signals(200), &[restarted + 100.0], 0.02);
    }

    #[test]
    fn a_sojourn_of_exactly_the_target_counts_as_above() {
        let mut queue = Standing::above_target();
        (queue.now, queue.sojourn) = (SimTime::from_nanos(1 << 30), Span::from_nanos(4882 << 10));
        assert!(!queue.signals(150).is_empty());
    }

    #[test]
    fn an_episode_soon_after_another_starts_with_closer_drops() {
        let mut queue = Standing::above_target();
        let first_episode = queue.signals(600);
        queue.sojourn = Span::ZERO;
        queue.signals(100);
        queue.sojourn = Span::from_millis(50);
        let again = queue.signals(300);
        let gap = again[1] - again[0];
        assert!(first_episode.len() > 8 && gap < 40.0, "gap {gap}");
    }

    #[test]
    fn an_episode_after_a_long_calm_starts_over() {
        let mut queue = Standing::above_target();
        queue.signals(600);
        queue.sojourn = Span::ZERO;
        queue.signals(1700);
        queue.sojourn = Span::from_millis(50);
        let again = queue.signals(350);
        assert_close(&[again[1] - again[0]], &[100.0], 0.02);
    }

    #[test]
    fn a_first_episode_at_the_very_start_of_a_run_starts_at_one() {
        let mut queue = Standing::above_target();
        (queue.now, queue.sojourn) = (SimTime::from_nanos(20_000_000), Span::from_millis(10));
        queue.codel.count_drops(64);
        let drops = queue.signals(350);
        assert_close(&[drops[1] - drops[0]], &[100.0], 0.02);
    }

    #[test]
    fn packets_above_the_ce_threshold_are_recognised() {
        let settings = LINUX.with_ce_threshold(Some(Span::from_millis(1)));
        let now = SimTime::from_nanos(5_000_000);
        let mut codel = Codel::default();
        let mut dequeue = codel.dequeue(&settings, now);
        let above = |wait: u64, dequeue: &mut CodelDequeue<'_>| {
            dequeue.judge(&Head {
                enqueued: now - Span::from_micros(wait),
                backlog_behind: 0,
                markable: true,
            });
            dequeue.is_above_ce_threshold()
        };
        assert_eq!((above(900, &mut dequeue), above(1100, &mut dequeue)), (false, true));
    }

    #[test]
    fn one_newton_step_from_one_gives_a_half_for_two() {
        let mut codel = Codel { count: 1, rinv: ONE, ..Codel::default() };
        codel.count_one_more();
        assert!((i32::from(codel.rinv) - 0x8000).abs() <= 2, "{}", codel.rinv);
        (0..200).for_each(|_| codel.count_one_more());
        let exact = 65536.0 / 202f64.sqrt();
        assert!((f64::from(codel.rinv) - exact).abs() < exact * 0.01, "it converges: {}", codel.rinv);
    }

    #[test]
    fn a_count_that_jumped_beyond_the_reach_of_a_newton_step_neither_panics_nor_hangs() {
        for jump in [1, 3, 64, 1000, u32::MAX] {
            let mut queue = Standing::above_target();
            queue.signals(150);
            queue.codel.count_drops(jump);
            (0..100).for_each(|_| queue.codel.count_one_more());
        }
    }

    #[test]
    fn the_packet_after_the_first_drop_of_an_episode_passes_and_does_not_end_it() {
        let mut queue = Standing::above_target();
        queue.signals(99);
        queue.now += Span::from_millis(2);
        let (codel, settings, now) = (&mut queue.codel, &queue.settings, queue.now);
        let mut dequeue = codel.dequeue(settings, now);
        let old = Head { enqueued: now - queue.sojourn, backlog_behind: 100_000, markable: false };
        let fresh = Head { enqueued: now, ..old };
        assert_eq!([dequeue.judge(&old), dequeue.judge(&fresh)], [Verdict::Drop, Verdict::Pass]);
        assert!(queue.codel.is_dropping());
    }
}
