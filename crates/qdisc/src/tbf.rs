//! `tbf`: a token bucket in front of one queue; a packet leaves once the bucket holds tokens for its whole length.
//!
//! tokens:  N ≤ burst/rate ns, P ≤ mtu/peakrate ns, both full at the start
//! dequeue: N' = min(N + d, burst/rate) − L/rate, P' likewise; both ≥ 0: send and keep them, else wait max(−N', −P')
//! limit:   of a `bfifo`: as given, or rate · latency + burst (with a peak rate at most peakrate · latency + mtu)
//!
//! A packet that waits for tokens stays in the queue below and counts against its limit; below `prio` or `pfifo_fast` a
//! more urgent one overtakes it. Unlike `htb` it never goes into debt: with a burst of one frame, frames leave exactly
//! L/rate apart. A packet longer than the bucket could never leave: it is segmented on arrival, or dropped if it is one
//! segment. `overlimits` counts the waits. [linux-6.12 sch_tbf.c] [tc q_tbf.c]

use tailback_packet::{DropReason, Packet};
use tailback_units::{Bytes, Parameter, ParameterError, ParameterUnit, Parameters, Rate, SimTime, Span};

use crate::bfifo::Bfifo;
use crate::children::Peekable;
use crate::framing::{self, Framing};
use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Peeked, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "tbf",
    summary: "token bucket in front of one queue, without debt",
    source: include_str!("tbf.rs"),
    parameters: PARAMETERS,
    classful: true,
    classes: None,
    derive,
    build,
};

const MAX_RATE: u64 = 10_000_000_000_000;

const PARAMETERS: &[Parameter] = &[
    Parameter::required("rate", ParameterUnit::Rate, (8, MAX_RATE), "rate in frame bytes without FCS"),
    Parameter::required(
        "burst",
        ParameterUnit::Bytes,
        (1, u32::MAX as u64),
        "size of the bucket; longer packets are segmented or dropped",
    ),
    Parameter::new(
        "limit",
        ParameterUnit::Bytes,
        None,
        (1, u32::MAX as u64),
        "maximum number of frame bytes queued; give this or `latency`",
    ),
    Parameter::new(
        "latency",
        ParameterUnit::Time,
        None,
        (1, 1_000_000_000_000),
        "maximum time that a packet waits for tokens; determines `limit`",
    ),
    Parameter::new(
        "peakrate",
        ParameterUnit::Rate,
        None,
        (8, MAX_RATE),
        "maximum rate of a burst; needs `mtu`; default: unlimited",
    ),
    Parameter::new(
        "mtu",
        ParameterUnit::Bytes,
        None,
        (1, u32::MAX as u64),
        "size of the bucket of the peak rate",
    ),
    framing::MPU,
    framing::OVERHEAD,
    framing::LINKLAYER,
];

struct Tbf {
    bucket: Bucket,
    peak: Option<Bucket>,
    framing: Framing,
    checkpoint: SimTime,
    /// Maximum length of a packet.
    longest: u64,
    child: Peekable,
    ledger: Ledger,
}

/// Maximum size for which link overhead is charged.
const MAX_FRAMED: u64 = 1 << 30;

/// Tokens in nanoseconds of sending time.
struct Bucket {
    rate: Rate,
    depth: i64,
    tokens: i64,
}

fn derive(given: &mut Parameters, _device: &Attachment) -> Result<(), ParameterError> {
    let (rate, burst) = (given.require("rate")? / 8, given.require("burst")?);
    if given.given("peakrate").is_some() && given.given("mtu").is_none() {
        let why = "needs `mtu`, the size of its bucket: give both, or none".to_owned();
        return Err(ParameterError::Conflict { name: "peakrate", why });
    }
    let (limit, latency) = (given.given("limit"), given.given("latency"));
    let by_latency = |latency: u64| {
        let of = |rate: u64, size: u64| bytes_in(rate, latency) + size;
        let peak =
            given.given("peakrate").zip(given.given("mtu")).map_or(u64::MAX, |(peak, mtu)| of(peak / 8, mtu));
        of(rate, burst).min(peak).min(u64::from(u32::MAX))
    };
    match (limit, latency) {
        (Some(_), None) => Ok(()),
        (None, Some(latency)) => {
            let limit = by_latency(latency);
            given.set("limit", limit);
            Ok(())
        }
        (None, None) => Err(ParameterError::Missing("limit")),
        // The limit is the one that was derived from the latency.
        (Some(limit), Some(latency)) if limit == by_latency(latency) => Ok(()),
        (Some(_), Some(_)) => {
            let why = "and `limit` exclude each other: give one of them".to_owned();
            Err(ParameterError::Conflict { name: "latency", why })
        }
    }
}

fn bytes_in(bytes_per_sec: u64, ns: u64) -> u64 {
    (u128::from(bytes_per_sec) * u128::from(ns) / 1_000_000_000).min(u128::from(u32::MAX)) as u64
}

fn build(given: &Parameters, device: &Attachment, inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let framing = Framing::from_parameters(given)?;
    let burst = given.require("burst")?;
    let mtu = given.given("peakrate").and_then(|_| given.given("mtu")).unwrap_or(u64::from(u32::MAX));
    // A bucket holds the charge of the largest packet. [linux-6.12 sch_tbf.c tbf_change]
    let charged = |size: u64| u64::from(framing.charged(size.min(MAX_FRAMED) as u32)).max(size);
    let bucket = Bucket::full(given.require("rate")?, charged(burst));
    let peak = given.given("peakrate").map(|rate| Bucket::full(rate, charged(mtu)));
    let child = Peekable::new(match inner.child {
        Some(child) => child,
        None => Box::new(Bfifo::new(given.require("limit")?, device)),
    });
    Ok(Box::new(Tbf {
        bucket,
        peak,
        framing,
        checkpoint: SimTime::ZERO,
        longest: burst.min(mtu),
        child,
        ledger: Ledger::default(),
    }))
}

impl Qdisc for Tbf {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        if u64::from(packet.frame_length()) > self.longest {
            self.ledger.drop(&packet);
            context.refuse(packet, DropReason::TooLong);
            return Enqueued::Dropped;
        }
        let before = context.effects.dropped.len();
        let answer = self.child.enqueue(packet, context);
        self.ledger.drop_since(before, &context.effects.dropped);
        answer
    }

    fn queues_segments(&self, train: &Packet) -> bool {
        u64::from(train.frame_length()) > self.longest || self.child.queues_segments(train)
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let before = context.effects.dropped.len();
        let looked = self.child.peek(context);
        self.ledger.drop_waiting_since(before, &context.effects.dropped);
        let length = match looked {
            Peeked::Frame(length) => length,
            Peeked::NotBefore(at) => return Dequeued::NotBefore(at),
            Peeked::Empty => return Dequeued::Empty,
        };
        if let Some(wait) = self.pay(self.framing.charged(length), context.now) {
            self.ledger.overlimits += 1;
            return Dequeued::NotBefore(context.now + wait);
        }
        let answer = self.child.dequeue(context);
        if let Dequeued::Packet(packet) = &answer {
            self.ledger.leave(packet);
        }
        answer
    }

    fn note_peeked(&mut self, length: Option<u32>) {
        self.ledger.keep(length);
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.ledger.high_water()
    }

    fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    fn own_levels(&self, show: &mut dyn FnMut(&'static str, i64)) {
        show("tokens", self.bucket.tokens);
        show("ptokens", self.peak.as_ref().map_or(0, |peak| peak.tokens));
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        show(self.child.as_ref());
    }
}

impl Tbf {
    /// Takes the tokens of a packet, or returns how long to wait for them.
    fn pay(&mut self, length: u32, now: SimTime) -> Option<Span> {
        let elapsed = now.since(self.checkpoint).as_nanos().min(i64::MAX as u64 / 2) as i64;
        let left = self.bucket.left_after(length, elapsed);
        let peak_left = self.peak.as_ref().map_or(0, |peak| peak.left_after(length, elapsed));
        if left < 0 || peak_left < 0 {
            return Some(Span::from_nanos((-left).max(-peak_left) as u64));
        }
        self.checkpoint = now;
        self.bucket.tokens = left;
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak_left;
        }
        None
    }
}

impl Bucket {
    fn full(bits_per_sec: u64, size: u64) -> Bucket {
        let rate = Rate::from_bytes_per_sec(bits_per_sec / 8);
        let depth = rate.time_for(Bytes(size)).as_nanos().min(i64::MAX as u64 / 2) as i64;
        Bucket { rate, depth, tokens: depth }
    }

    fn left_after(&self, length: u32, elapsed: i64) -> i64 {
        let cost = self.rate.time_for(Bytes(u64::from(length))).as_nanos() as i64;
        (self.tokens + elapsed).min(self.depth) - cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered, packet};

    const TEN_MBIT: u64 = 10_000_000;

    /// Departure times of full frames that are all queued at the start.
    fn departures(given: &[(&str, u64)], packets: u32) -> Vec<u64> {
        let mut rig = Rig::of("tbf", given);
        rig.fill(packets, &packet(0, 1514));
        let mut times = Vec::new();
        loop {
            match rig.dequeue() {
                Dequeued::Packet(_) => times.push(rig.now.as_nanos()),
                Dequeued::NotBefore(t) => rig.now = t,
                Dequeued::Empty => return times,
            }
        }
    }

    #[test]
    fn with_a_bucket_of_one_frame_frames_leave_exactly_1_2112_ms_apart() {
        let times = departures(&[("rate", TEN_MBIT), ("burst", 1514), ("limit", 100_000)], 10);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1_211_200), "{times:?}");
    }

    #[test]
    fn a_bucket_of_5120_bytes_lets_three_frames_through_at_once() {
        let times = departures(&[("rate", TEN_MBIT), ("burst", 5120), ("limit", 100_000)], 10);
        assert_eq!(times.iter().filter(|&&at| at == 0).count(), 3);
        assert_eq!(times[3], (4 * 1514 - 5120) * 800);
    }

    #[test]
    fn a_packet_longer_than_the_bucket_is_dropped() {
        let mut rig = Rig::of("tbf", &[("rate", TEN_MBIT), ("burst", 1513), ("limit", 100_000)]);
        assert_eq!(rig.enqueue(packet(0, 1514)), Enqueued::Dropped);
        assert_eq!(rig.effects.dropped[0].1, DropReason::TooLong);
    }

    #[test]
    fn a_latency_of_50_ms_makes_a_limit_of_67620_bytes() {
        let given = [("rate", TEN_MBIT), ("burst", 5120), ("latency", 50_000_000)];
        let mut rig = Rig::of("tbf", &given);
        rig.fill(100, &packet(0, 1514));
        assert_eq!(rig.qdisc.backlog().packets, 44);
        let all = Parameters::new(given.iter().map(|(name, value)| ((*name).into(), *value)).collect());
        let resolved = crate::registry::resolve("tbf", &all, &Attachment::default()).unwrap();
        assert_eq!(resolved.given("limit"), Some(67_620));
    }

    #[test]
    fn a_packet_that_waits_for_tokens_still_fills_the_queue() {
        let mut rig = Rig::of("tbf", &[("rate", TEN_MBIT), ("burst", 1514), ("limit", 3028)]);
        rig.enqueue(packet(0, 1514));
        assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
        let mut offer = || {
            let answer = rig.enqueue(packet(0, 1514));
            assert!(matches!(rig.dequeue(), Dequeued::NotBefore(_)));
            answer
        };
        assert_eq!([offer(), offer(), offer()], [Enqueued::Queued, Enqueued::Queued, Enqueued::Dropped]);
    }

    #[test]
    fn an_urgent_packet_overtakes_one_that_waits_unless_that_had_to_be_dequeued_for_a_look() {
        for (kind, expected) in [("prio", [2, 1]), ("pfifo_fast", [2, 1]), ("fq_codel", [1, 2])] {
            let given = crate::testing::required(crate::registry::find(kind).unwrap());
            let child = crate::registry::build(kind, &given, &Attachment::default(), None).unwrap();
            let given = [("rate", TEN_MBIT), ("burst", 1514), ("limit", 100_000)];
            let mut rig = Rig::over("tbf", &given, Some(child));
            rig.enqueue(numbered(0, 0));
            rig.dequeue();
            for (n, tos) in [(1, 0), (2, 0x10)] {
                rig.enqueue(Packet { tos, ..numbered(0, n) });
                assert!(matches!(rig.dequeue(), Dequeued::NotBefore(_)));
            }
            rig.now += Span::from_secs(1);
            let first = rig.next_number().unwrap();
            rig.now += Span::from_secs(1);
            assert_eq!([first, rig.next_number().unwrap()], expected, "{kind}");
        }
    }

    #[test]
    fn a_peak_rate_spreads_the_burst() {
        let given = [
            ("rate", TEN_MBIT),
            ("burst", 15_140),
            ("limit", 100_000),
            ("peakrate", 2 * TEN_MBIT),
            ("mtu", 1540),
        ];
        let times = departures(&given, 20);
        assert!(times[1..8].windows(2).all(|pair| pair[1] - pair[0] == 605_600), "{times:?}");
        assert!(times[12..].windows(2).all(|pair| pair[1] - pair[0] >= 605_600));
    }

    #[test]
    fn an_idle_bucket_fills_to_its_burst() {
        let mut rig = Rig::of("tbf", &[("rate", TEN_MBIT), ("burst", 3028), ("limit", 100_000)]);
        for start in [0, 5, 100] {
            rig.now = SimTime::ZERO + Span::from_secs(start);
            rig.fill(4, &packet(0, 1514));
            assert!(rig.serve(u64::MAX).is_some() && rig.serve(u64::MAX).is_some());
            assert!(
                matches!(rig.dequeue(), Dequeued::NotBefore(t) if t.since(rig.now) == Span::from_nanos(1_211_200))
            );
            rig.now += Span::from_secs(1);
            (0..2).for_each(|_| drop(rig.dequeue()));
        }
    }

    #[test]
    fn latency_and_limit_together_are_refused() {
        let given = [("rate", TEN_MBIT), ("burst", 5120), ("latency", 50_000_000), ("limit", 5000)];
        let all = Parameters::new(given.iter().map(|(name, value)| ((*name).into(), *value)).collect());
        let message = crate::registry::resolve("tbf", &all, &Attachment::default()).unwrap_err().to_string();
        assert!(message.contains("give one of them"), "{message}");
    }

    #[test]
    fn packets_leave_in_the_order_of_arrival() {
        let mut rig = Rig::of("tbf", &[("rate", TEN_MBIT), ("burst", 5120), ("limit", 100_000)]);
        (0..20).for_each(|n| rig.fill(1, &crate::testing::numbered(n % 3, n)));
        let mut order = Vec::new();
        while rig.qdisc.backlog().packets > 0 {
            order.extend(rig.next_number());
            rig.advance(Span::from_millis(1));
        }
        assert_eq!(order, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_train_longer_than_the_bucket_is_segmented() {
        let tbf = Rig::of("tbf", &[("rate", 1_000_000), ("burst", 5_000), ("limit", 100_000)]).qdisc;
        let train = |segments, length| Packet { segments, ..packet(0, length) };
        assert!(!tbf.queues_segments(&train(3, 4_542)));
        assert!(tbf.queues_segments(&train(4, 6_056)));
    }
}
