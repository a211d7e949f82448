//! `codel`: one FIFO under the CoDel law.
//!
//! enqueue: append while fewer than `limit` packets wait, else drop the arrival (`drop_overlimit`)
//! dequeue: the head, after CoDel has dropped or marked packets before it because the sojourn time has been above
//!          `target` for an `interval`; the law is in `aqm/codel.rs`
//!
//! [rfc8289 §5] [linux-6.12 sch_codel.c]. A backlog of one MTU is never dropped from. There is no timer; the law acts
//! at departures. A packet that the device can send at once bypasses it. Deviation: `drop_next` is shown in µs as of the
//! last departure.

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, SimTime};

use crate::aqm::codel::Head;
use crate::aqm::{Codel, CodelSettings, Verdict};
use crate::fifo::Fifo;
use crate::{
    Attachment, Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row, nothing_derived,
};

pub(crate) const ROW: Row = Row {
    name: "codel",
    summary: "one queue that drops at its head to keep the delay at a target",
    source: include_str!("codel.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive: nothing_derived,
    build,
};

const MS: u64 = 1_000_000;
/// CoDel compares 16 intervals on a 32-bit clock of 1.024 µs.
const LONGEST: u64 = 100_000 * MS;

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "limit",
        ParameterUnit::Packets,
        Some(1000),
        (1, u32::MAX as u64),
        "maximum number of packets",
    ),
    Parameter::new(
        "target",
        ParameterUnit::Time,
        Some(5 * MS),
        (0, LONGEST),
        "acceptable standing sojourn time",
    ),
    Parameter::new(
        "interval",
        ParameterUnit::Time,
        Some(100 * MS),
        (2_000, LONGEST),
        "how long the sojourn time may exceed the target; a worst-case RTT",
    ),
    Parameter::flag("ecn", false, "mark ECN-capable packets instead of dropping them"),
    Parameter::new(
        "ce_threshold",
        ParameterUnit::Time,
        None,
        (0, LONGEST),
        "mark every ECN-capable packet with a longer sojourn time; default: none",
    ),
];

struct CodelQueue {
    queue: Fifo,
    law: Codel,
    settings: CodelSettings,
    limit: u32,
    last_departure: SimTime,
    longest_packet: u32,
    overlimit_drops: u64,
    ecn_marks: u64,
    ce_marks: u64,
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    Ok(Box::new(CodelQueue {
        queue: Fifo::default(),
        law: Codel::default(),
        settings: CodelSettings::from_parameters(given, device.mtu)?,
        limit: given.require("limit")? as u32,
        last_departure: SimTime::ZERO,
        longest_packet: 0,
        overlimit_drops: 0,
        ecn_marks: 0,
        ce_marks: 0,
    }))
}

impl Qdisc for CodelQueue {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        if self.queue.backlog().packets < self.limit {
            return self.queue.append(packet, context);
        }
        self.overlimit_drops += 1;
        self.queue.tail_drop(packet, context)
    }

    fn can_bypass(&self) -> bool {
        self.limit > 0
    }

    fn count_bypassed(&mut self, bypassed: Bypassed) {
        self.queue.ledger.bypass(bypassed);
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        self.last_departure = context.now;
        let mut dequeue = self.law.dequeue(&self.settings, context.now);
        while let Some(packet) = self.queue.head() {
            let length = packet.frame_length();
            let backlog_behind = self.queue.backlog().bytes - u64::from(length);
            let head = Head { enqueued: packet.enqueued, backlog_behind, markable: packet.is_markable() };
            self.longest_packet = self.longest_packet.max(length);
            match dequeue.judge(&head) {
                Verdict::Drop => self.queue.drop_head(DropReason::Aqm, context),
                verdict => {
                    let by_law = verdict == Verdict::Mark;
                    let by_threshold = head.markable && dequeue.is_above_ce_threshold();
                    self.ecn_marks += u64::from(by_law);
                    self.ce_marks += u64::from(by_threshold);
                    return self.queue.take_marked(by_law || by_threshold);
                }
            }
        }
        dequeue.queue_is_empty();
        Dequeued::Empty
    }

    fn note_peeked(&mut self, length: Option<u32>) {
        self.queue.ledger.keep(length);
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.queue.high_water()
    }

    fn counters(&self) -> Counters {
        self.queue.counters()
    }

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        show("count", u64::from(self.law.count()));
        show("lastcount", u64::from(self.law.last_count()));
        show("ldelay", self.law.sojourn().as_micros());
        show("dropping", u64::from(self.law.is_dropping()));
        show("maxpacket", u64::from(self.longest_packet));
        show("ecn_mark", self.ecn_marks);
        show("drop_overlimit", self.overlimit_drops);
        show("ce_mark", self.ce_marks);
    }

    fn own_levels(&self, show: &mut dyn FnMut(&'static str, i64)) {
        // Only while dropping. [linux-6.12 sch_codel.c codel_dump_stats]
        let next = if self.law.is_dropping() { self.law.until_next_drop(self.last_departure) } else { 0 };
        show("drop_next", next / 1000);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, numbered, packet};
    use tailback_packet::Ecn;
    use tailback_units::Span;

    const TEN_MBIT: u64 = 10_000_000;

    /// Serves a queue kept at `standing` packets for `secs`; returns the times of the drops in ms.
    fn drops_over(rig: &mut Rig, standing: u32, secs: u64) -> Vec<f64> {
        let (mut seen, mut instants) = (0, Vec::new());
        let end = rig.now + Span::from_secs(secs);
        while rig.now < end {
            while rig.qdisc.backlog().packets < standing {
                rig.enqueue(packet(0, 1514));
            }
            let at = rig.now.as_nanos() as f64 / 1e6;
            rig.serve(TEN_MBIT);
            instants.extend(std::iter::repeat_n(at, rig.effects.dropped.len() - seen));
            seen = rig.effects.dropped.len();
        }
        instants
    }

    #[test]
    fn the_packet_after_the_limit_is_dropped_at_the_tail() {
        let mut rig = Rig::of("codel", &[("limit", 10)]);
        rig.fill(11, &packet(0, 1514));
        assert_eq!((rig.counter("drop_overlimit"), rig.effects.dropped[0].1), (1, DropReason::TailFull));
    }

    #[test]
    fn a_standing_queue_loses_its_first_packet_an_interval_after_the_target_was_exceeded() {
        let mut rig = Rig::of("codel", &[]);
        let first = drops_over(&mut rig, 50, 1)[0];
        assert!(first > 104.9 && first < 110.0, "{first}");
    }

    #[test]
    fn drops_follow_the_gaps_of_the_kernel_to_within_a_departure() {
        let mut rig = Rig::of("codel", &[]);
        let drops = drops_over(&mut rig, 50, 1);
        for (gap, linux) in drops.windows(2).zip([100.0, 50.0, 56.25, 48.78, 44.15, 40.41]) {
            assert!((gap[1] - gap[0] - linux).abs() <= 1.3, "{gap:?} {linux}");
        }
    }

    #[test]
    fn drops_are_head_drops() {
        let mut rig = Rig::of("codel", &[]);
        for n in 0..200 {
            rig.enqueue(numbered(0, n));
        }
        let mut last = None;
        while rig.effects.dropped.is_empty() {
            last = rig.serve(TEN_MBIT).map(|sent| crate::testing::number(&sent));
        }
        assert_eq!(last, Some(crate::testing::number(&rig.effects.dropped[0].0) + 1));
    }

    #[test]
    fn with_ecn_a_capable_flow_is_marked_and_not_dropped() {
        let mut rig = Rig::of("codel", &[("ecn", 1)]);
        for _ in 0..900 {
            rig.enqueue(Packet { ecn: Ecn::Ect0, ..packet(0, 1514) });
        }
        (0..600).for_each(|_| drop(rig.serve(TEN_MBIT)));
        assert!(rig.effects.dropped.is_empty() && rig.counter("ecn_mark") > 5);
        assert_eq!(rig.qdisc.counters().marked, rig.counter("ecn_mark"));
    }

    #[test]
    fn one_packet_of_12_ms_at_1_mbit_is_never_dropped() {
        let mut rig = Rig::of("codel", &[]);
        for _ in 0..200 {
            rig.fill(1, &packet(0, 1514));
            rig.advance(Span::from_micros(12_112));
            rig.fill(1, &packet(0, 1514));
            rig.serve(1_000_000);
        }
        (0..200).for_each(|_| drop(rig.serve(TEN_MBIT)));
        assert!(rig.effects.dropped.len() < 200);
        let mut alone = Rig::of("codel", &[]);
        for _ in 0..200 {
            alone.fill(1, &packet(0, 1514));
            alone.advance(Span::from_millis(200));
            assert!(alone.serve(1_000_000).is_some());
        }
        assert!(alone.effects.dropped.is_empty());
    }

    #[test]
    fn every_packet_above_ce_threshold_is_marked() {
        let mut rig = Rig::of("codel", &[("ce_threshold", 1_000_000)]);
        rig.fill(3, &Packet { ecn: Ecn::Ect1, ..packet(0, 1514) });
        rig.advance(Span::from_millis(2));
        (0..3).for_each(|_| drop(rig.serve(TEN_MBIT)));
        assert_eq!((rig.counter("ce_mark"), rig.counter("ecn_mark")), (3, 0));
    }

    #[test]
    fn a_limit_that_is_not_reached_has_no_effect_on_drops() {
        let drops = |limit| drops_over(&mut Rig::of("codel", &[("limit", limit)]), 100, 3);
        assert!(!drops(180).is_empty());
        assert_eq!(drops(180), drops(2000));
    }
}
