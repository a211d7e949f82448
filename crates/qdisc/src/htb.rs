//! `htb`: a token-bucket shaper over a child discipline.
//!
//! Two buckets, kept as nanoseconds of sending time: T ≤ burst/rate and C ≤ cburst/ceil, full at the start.
//! mode:    C + d < 0 → can't send · else T + d < 0 → may borrow · else can send      (d = time since the checkpoint)
//! charge:  T = min(T + d, burst/rate) − L/rate, and C likewise; the cost is whole ns, debt ends at 60 s
//! wake:    exactly when the bucket that is in debt reaches 0
//!
//! It sends while tokens ≥ 0 and goes into debt by one packet, so burst 1600 lets two full frames through.
//! Default burst = cburst = rate / 10⁹ s⁻¹ + 1600 B; `tc` hands buckets over in ticks of 64 ns, rounded up.
//! `overlimits` counts the changes to *can't send*.                [linux-6.12 sch_htb.c] [tc q_htb.c]
//!
//! Deviations: one class, always the default one, so nothing goes to the direct queue and there is no parent to
//! borrow from (`ceil` above `rate` adds nothing); `quantum` and `prio`, which rank siblings, have no effect.

use tailback_packet::Packet;
use tailback_units::{Bytes, Parameter, ParameterError, ParameterUnit, Parameters, Rate, SimTime, Span};

use crate::ledger::Ledger;
use crate::pfifo::Pfifo;
use crate::{Attachment, Backlog, Counters, Dequeued, Desk, Enqueued, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "htb",
    summary: "token-bucket shaper over a child discipline",
    source: include_str!("htb.rs"),
    parameters: PARAMETERS,
    classful: true,
    build,
};

/// Bytes that `tc` adds to a default burst. [tc q_htb.c mtu]
const BURST_MTU: u64 = 1600;
/// Ticks per second that the kernel tells `tc` with high-resolution timers.
const TIMER_HZ: u64 = 1_000_000_000;
/// `tc` hands buckets over in 32-bit ticks of this many nanoseconds, as a shift.
const TICK_SHIFT: u32 = 6;
/// Neither debt nor credit reaches further.
const HORIZON: i64 = 60_000_000_000;

const RATE_MOST: u64 = 10_000_000_000_000;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "rate",
        unit: ParameterUnit::Rate,
        default: None,
        least: 8,
        most: RATE_MOST,
        meaning: "rate of the class, in frame bytes without FCS; must be given",
    },
    Parameter {
        name: "ceil",
        unit: ParameterUnit::Rate,
        default: None,
        least: 8,
        most: RATE_MOST,
        meaning: "rate the class never exceeds; not given: `rate`",
    },
    Parameter {
        name: "burst",
        unit: ParameterUnit::Bytes,
        default: None,
        least: 1,
        most: u32::MAX as u64,
        meaning: "bytes that may leave at once at `rate`; not given: 1600 below 8 Gbit/s",
    },
    Parameter {
        name: "cburst",
        unit: ParameterUnit::Bytes,
        default: None,
        least: 1,
        most: u32::MAX as u64,
        meaning: "bytes that may leave at once at `ceil`; not given: 1600 below 8 Gbit/s",
    },
    Parameter {
        name: "quantum",
        unit: ParameterUnit::Bytes,
        default: None,
        least: 1,
        most: u32::MAX as u64,
        meaning: "share among siblings that borrow; without effect on a single class",
    },
    Parameter {
        name: "prio",
        unit: ParameterUnit::Number,
        default: Some(0),
        least: 0,
        most: 7,
        meaning: "rank among siblings that borrow, 0 first; without effect on a single class",
    },
];

struct Htb {
    class: LeafClass,
    ledger: Ledger,
}

/// A class with a discipline of its own.
struct LeafClass {
    rate: Bucket,
    ceil: Bucket,
    checkpoint: SimTime,
    mode: Mode,
    /// When the mode changes next, unless it is [`Mode::CanSend`].
    until: SimTime,
    lended: u64,
    child: Box<dyn Qdisc>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    CanSend,
    MayBorrow,
    CantSend,
}

/// Tokens in nanoseconds of sending time.
struct Bucket {
    rate: Rate,
    depth: i64,
    tokens: i64,
    /// Length and cost of the packet before: most are as long as that one, and a division is dear.
    last: (u32, i64),
}

fn build(
    given: &Parameters,
    device: &Attachment,
    child: Option<Box<dyn Qdisc>>,
) -> Result<Box<dyn Qdisc>, ParameterError> {
    let rate = given.get("rate", PARAMETERS)?;
    let ceil = given.given("ceil").unwrap_or(rate);
    let class = LeafClass {
        rate: Bucket::full(rate, given.given("burst")),
        ceil: Bucket::full(ceil, given.given("cburst")),
        checkpoint: SimTime::ZERO,
        mode: Mode::CanSend,
        until: SimTime::ZERO,
        lended: 0,
        child: child.unwrap_or_else(|| Box::new(Pfifo::new(device.queue_length))),
    };
    Ok(Box::new(Htb { class, ledger: Ledger::default() }))
}

impl Qdisc for Htb {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, desk: &mut Desk<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        let before = desk.dropped.len();
        let answer = self.class.child.enqueue(packet, desk);
        self.ledger.drop_all(&desk.dropped[before..]);
        self.assert_ledger();
        answer
    }

    #[inline]
    fn dequeue(&mut self, desk: &mut Desk<'_>) -> Dequeued {
        if self.ledger.backlog().packets == 0 {
            return Dequeued::Empty;
        }
        self.ledger.overlimits += u64::from(self.class.follow_clock(desk.now));
        if self.class.mode != Mode::CanSend {
            return Dequeued::NotBefore(self.class.until);
        }
        let before = desk.dropped.len();
        let answer = self.class.child.dequeue(desk);
        self.ledger.drop_all(&desk.dropped[before..]);
        if let Dequeued::Packet(packet) = &answer {
            self.ledger.leave(packet);
            self.ledger.overlimits += u64::from(self.class.charge(packet.frame_length(), desk.now));
        }
        self.assert_ledger();
        answer
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        show("lended", self.class.lended);
        // Nothing to borrow from, no direct queue, and no kernel has counted giants since packets are charged exactly.
        for name in ["borrowed", "giants", "direct_packets_stat"] {
            show(name, 0);
        }
    }

    fn own_levels(&self, show: &mut dyn FnMut(&'static str, i64)) {
        show("tokens", self.class.rate.tokens >> TICK_SHIFT);
        show("ctokens", self.class.ceil.tokens >> TICK_SHIFT);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }

    fn child(&self) -> Option<&dyn Qdisc> {
        Some(self.class.child.as_ref())
    }
}

impl Htb {
    #[inline]
    fn assert_ledger(&self) {
        debug_assert_eq!(self.ledger.backlog(), self.class.child.backlog(), "a packet has vanished");
    }
}

impl LeafClass {
    /// Lets a change of mode that is due happen; true if the class can't send from now on.
    #[inline]
    fn follow_clock(&mut self, now: SimTime) -> bool {
        self.mode != Mode::CanSend && self.until <= now && self.change_mode(now)
    }

    /// Pays for a packet; true if the class can't send from now on.
    #[inline]
    fn charge(&mut self, length: u32, now: SimTime) -> bool {
        let elapsed = self.elapsed(now);
        self.rate.charge(elapsed, length);
        self.ceil.charge(elapsed, length);
        self.checkpoint = now;
        self.lended += 1;
        self.change_mode(now)
    }

    fn change_mode(&mut self, now: SimTime) -> bool {
        let elapsed = self.elapsed(now);
        let (rate, ceil) = (self.rate.tokens + elapsed, self.ceil.tokens + elapsed);
        let (mode, debt) = match (ceil < 0, rate < 0) {
            (true, _) => (Mode::CantSend, -ceil),
            (false, true) => (Mode::MayBorrow, -rate),
            (false, false) => (Mode::CanSend, 0),
        };
        let became_red = mode == Mode::CantSend && self.mode != Mode::CantSend;
        self.mode = mode;
        self.until = now + Span::from_nanos(debt as u64);
        became_red
    }

    #[inline]
    fn elapsed(&self, now: SimTime) -> i64 {
        now.since(self.checkpoint).as_nanos().min(HORIZON as u64) as i64
    }
}

impl Bucket {
    /// A full bucket of `burst` bytes, or of the default size, at `bits_per_sec`.
    fn full(bits_per_sec: u64, burst: Option<u64>) -> Bucket {
        let rate = Rate::from_bytes_per_sec(bits_per_sec / 8);
        let burst = burst.unwrap_or(rate.bytes_per_sec() / TIMER_HZ + BURST_MTU);
        let ticks = sending_time(rate, burst).div_ceil(1 << TICK_SHIFT).min(u64::from(u32::MAX));
        let depth = (ticks << TICK_SHIFT) as i64;
        Bucket { rate, depth, tokens: depth, last: (0, 0) }
    }

    #[inline]
    fn charge(&mut self, elapsed: i64, length: u32) {
        let filled = (self.tokens + elapsed).min(self.depth);
        if self.last.0 != length {
            self.last = (length, sending_time(self.rate, u64::from(length)) as i64);
        }
        self.tokens = filled.saturating_sub(self.last.1).max(1 - HORIZON);
    }
}

#[inline]
fn sending_time(rate: Rate, bytes: u64) -> u64 {
    rate.time_for(Bytes(bytes)).as_nanos().min(i64::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::testing::{Rig, packet};
    use tailback_packet::DropReason;

    const TEN_MBIT: u64 = 10_000_000;

    /// Departures of `packets` full frames that are all there at the start, in ns.
    fn departures(given: &[(&str, u64)], packets: u32) -> Vec<u64> {
        let mut rig = Rig::of("htb", given);
        rig.fill(packets, &packet(0, 1514));
        drain_times(&mut rig)
    }

    fn drain_times(rig: &mut Rig) -> Vec<u64> {
        let mut times = Vec::new();
        loop {
            match rig.dequeue() {
                Dequeued::Packet(_) => times.push(rig.now.as_nanos()),
                Dequeued::NotBefore(t) => {
                    assert!(t > rig.now, "`not before` must lie in the future");
                    rig.now = t;
                }
                Dequeued::Empty => return times,
            }
        }
    }

    fn level(rig: &Rig, name: &str) -> i64 {
        let mut found = 0;
        rig.qdisc.own_levels(&mut |each, value| {
            if each == name {
                found = value;
            }
        });
        found
    }

    #[test]
    fn two_full_frames_leave_at_once_and_then_one_each_1_2112_ms() {
        let times = departures(&[("rate", TEN_MBIT)], 6);
        assert_eq!(times[..3], [0, 0, 1_142_400], "1600 − 2 · 1514 = −1428 B");
        assert!(times[2..].windows(2).all(|pair| pair[1] - pair[0] == 1_211_200));
    }

    #[test]
    fn the_long_run_rate_is_exact_in_frame_bytes() {
        let last = *departures(&[("rate", TEN_MBIT)], 1000).last().unwrap();
        assert_eq!(last, (1000 * 1514 - 1514 - 1600) * 800);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_exact_to_a_nanosecond_per_packet() {
        let last = *departures(&[("rate", 30_000_000)], 1000).last().unwrap() as f64;
        let exact = f64::from(1000 * 1514 - 1514 - 1600) * 8.0 / 0.03;
        assert!((last - exact).abs() < 1100.0, "{last} {exact}");
    }

    #[test]
    fn a_burst_of_15k_in_both_buckets_lets_eleven_frames_through() {
        let burst = [("rate", TEN_MBIT), ("burst", 15_360), ("cburst", 15_360)];
        assert_eq!(departures(&burst, 20).iter().filter(|&&at| at == 0).count(), 11);
    }

    #[test]
    fn a_burst_without_cburst_still_lets_only_two_through() {
        let burst = [("rate", TEN_MBIT), ("burst", 15_360)];
        assert_eq!(departures(&burst, 20).iter().filter(|&&at| at == 0).count(), 2);
    }

    #[test]
    fn a_ceiling_above_the_rate_adds_nothing_without_a_parent() {
        let times = departures(&[("rate", TEN_MBIT), ("ceil", 10 * TEN_MBIT)], 100);
        assert_eq!(times[3..].windows(2).map(|pair| pair[1] - pair[0]).max(), Some(1_211_200));
    }

    #[test]
    fn it_asks_to_be_called_when_the_tokens_reach_zero_and_no_earlier() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        rig.fill(3, &packet(0, 1514));
        (0..2).for_each(|_| drop(rig.dequeue()));
        for asked_at in [0, 1_142_399] {
            rig.now = SimTime::from_nanos(asked_at);
            assert!(matches!(rig.dequeue(), Dequeued::NotBefore(t) if t == SimTime::from_nanos(1_142_400)));
        }
        rig.now = SimTime::from_nanos(1_142_400);
        assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
    }

    #[test]
    fn an_idle_bucket_fills_to_its_burst_and_no_further() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        for start in [0, 1_000_000_000, 100_000_000_000] {
            rig.now = SimTime::from_nanos(start);
            rig.fill(4, &packet(0, 1514));
            let times = drain_times(&mut rig);
            assert_eq!(times.iter().filter(|&&at| at == start).count(), 2);
        }
    }

    #[test]
    fn the_default_burst_is_1600_bytes_up_to_8_gbit() {
        for rate in [1_000_000, 1_000_000_000, 7_999_999_999] {
            let exact = Rate::from_bytes_per_sec(rate / 8).time_for(Bytes(1600)).as_nanos() as i64;
            let depth = Bucket::full(rate, None).depth;
            assert!(depth >= exact && depth < exact + 64, "{depth} {exact}");
        }
        assert_eq!(Bucket::full(80_000_000_000, None).depth, 192, "1610 B are 161 ns: three ticks");
    }

    #[test]
    fn the_levels_are_those_a_kernel_prints() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        assert_eq!((level(&rig, "tokens"), level(&rig, "ctokens")), (20_000, 20_000));
        rig.fill(3, &packet(0, 1514));
        drain_times(&mut rig);
        assert_eq!(level(&rig, "tokens"), -18_925, "one frame in debt: 1 211 200 ns");
    }

    #[test]
    fn overlimits_count_the_changes_to_cannot_send() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        rig.fill(100, &packet(0, 1514));
        drain_times(&mut rig);
        assert_eq!(rig.qdisc.counters().overlimits, 99, "only the first packet left tokens behind");
        assert_eq!((rig.counter("lended"), rig.counter("borrowed")), (100, 0));
    }

    #[test]
    fn a_drop_of_the_child_is_a_drop_of_the_class() {
        let child = registry::build(
            "pfifo",
            &Parameters::new([("limit".into(), 5)].into()),
            &Attachment::default(),
            None,
        );
        let mut rig = Rig::over("htb", &[("rate", TEN_MBIT)], child.ok());
        let answers: Vec<_> = (0..7).map(|_| rig.enqueue(packet(0, 1514))).collect();
        assert_eq!(answers[5..], [Enqueued::Dropped; 2]);
        assert_eq!((rig.qdisc.counters().dropped, rig.qdisc.backlog().packets), (2, 5));
        assert_eq!(rig.dropped[0].1, DropReason::TailFull);
    }

    #[test]
    fn without_a_child_given_it_holds_a_device_queue_of_packets() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        rig.fill(1001, &packet(0, 1514));
        assert_eq!(rig.qdisc.backlog().packets, 1000);
        assert_eq!(rig.qdisc.child().map(|child| child.kind()), Some("pfifo"));
    }

    #[test]
    fn tcp_behind_10_mbit_gets_9_564() {
        let times = departures(&[("rate", TEN_MBIT)], 1000);
        let payload_bits = (998 * 1448 * 8) as f64;
        let goodput = payload_bits / (times[999] - times[1]) as f64 * 1e3;
        assert!((goodput - 9.564).abs() < 0.01, "{goodput}");
    }

    #[test]
    fn debt_ends_at_a_minute_however_slow_the_rate() {
        let times = departures(&[("rate", 8), ("burst", 1)], 3);
        assert_eq!(times[0], 0);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= HORIZON as u64), "{times:?}");
    }

    #[test]
    fn a_rate_is_required() {
        let error = registry::build("htb", &Parameters::default(), &Attachment::default(), None).err();
        assert_eq!(error.map(|error| error.to_string()), Some("qdisc `htb`: `rate` must be given".into()));
    }
}
