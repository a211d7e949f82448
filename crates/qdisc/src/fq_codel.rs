//! `fq_codel`: a FIFO per flow, served by DRR++, each under its own CoDel law.
//!
//! classify: queue = hash · flows / 2³², the hash mixed with a secret of this discipline
//! enqueue:  append to the queue of the flow; a queue that was idle joins the list of *new* queues
//! over limit (packets, or truesize bytes above `memory_limit`): from the head of the queue with the largest byte
//!           backlog drop `drop_batch` packets or half its bytes, whichever comes first; its CoDel counts them
//! dequeue:  DRR++ selects the queue; its CoDel decides about the head by the backlog of *all* queues
//! ce:       a packet that waited longer than `ce_threshold` is marked if it can be and, with a mask, if
//!           its DS octet & `ce_threshold_mask` = `ce_threshold_selector`, after the mark of CoDel      [linux-6.12 codel_impl.h]
//!
//! [rfc8290 §4] [linux-6.12 sch_fq_codel.c]. A sender gets congestion only if packets of its own queue were dropped.
//! A packet that the device can send at once bypasses it. Deviations: each discipline draws the secret of its hash at its
//! first packet, Linux once per boot; no filters.

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, SimTime};

use crate::aqm::codel::Head;
use crate::aqm::{Codel, CodelSettings, Verdict};
use crate::flow_hash::FlowHash;
use crate::flow_queues::{FlowQueues, OpenQueue};
use crate::ledger::Ledger;
use crate::round_robin::{RoundRobin, Turn, Turns};
use crate::{Attachment, Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "fq_codel",
    summary: "fair queueing of flows with CoDel on each",
    source: include_str!("fq_codel.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const MS: u64 = 1_000_000;
/// CoDel compares 16 intervals on a 32-bit clock of 1.024 µs.
const LONGEST: u64 = 100_000 * MS;
const OCTET: (u64, u64) = (0, 255);

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "limit",
        ParameterUnit::Packets,
        Some(10_240),
        (1, u32::MAX as u64),
        "maximum number of packets in all flows",
    ),
    Parameter::new(
        "flows",
        ParameterUnit::Number,
        Some(1024),
        (1, 65_536),
        "number of queues that flows are hashed into",
    ),
    Parameter::new(
        "quantum",
        ParameterUnit::Bytes,
        None,
        (256, 1 << 20),
        "bytes that a queue may send per round; default: MTU + 14",
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
    Parameter::new(
        "memory_limit",
        ParameterUnit::Bytes,
        Some(32 << 20),
        (0, u32::MAX as u64),
        "maximum kernel memory (truesize) in bytes",
    ),
    Parameter::new(
        "ecn",
        ParameterUnit::Flag,
        Some(1),
        (0, 1),
        "mark ECN-capable packets instead of dropping them",
    ),
    Parameter::new(
        "ce_threshold",
        ParameterUnit::Time,
        None,
        (0, LONGEST),
        "mark every ECN-capable packet with a longer sojourn time; default: none",
    ),
    Parameter::new(
        "ce_threshold_selector",
        ParameterUnit::Number,
        Some(0),
        OCTET,
        "`ce_threshold` marks only packets whose DS octet, masked, is this",
    ),
    Parameter::new(
        "ce_threshold_mask",
        ParameterUnit::Number,
        Some(0),
        OCTET,
        "bits of the DS octet that the selector is compared with; 0: `ce_threshold` marks all",
    ),
    Parameter::new(
        "drop_batch",
        ParameterUnit::Packets,
        Some(64),
        (1, u32::MAX as u64),
        "maximum number of packets dropped at once when over a limit",
    ),
];

/// Settings that do not change.
#[derive(Clone, Copy)]
struct Limits {
    packets: u32,
    memory: u64,
    drop_batch: u32,
}

/// The packets that `ce_threshold` marks: those whose DS octet, which ends with the ECN bits, is `value` under `mask`.
#[derive(Clone, Copy)]
struct Selector {
    value: u8,
    mask: u8,
}

impl Selector {
    fn from_parameters(given: &Parameters) -> Self {
        let octet = |name| given.given(name).unwrap_or(0) as u8;
        Selector { value: octet("ce_threshold_selector"), mask: octet("ce_threshold_mask") }
    }

    #[inline]
    fn takes(self, packet: &Packet) -> bool {
        self.mask == 0 || packet.ds_octet() & self.mask == self.value
    }
}

/// The counters that only this kind has.
#[derive(Clone, Copy, Default)]
struct OwnCounters {
    longest_packet: u32,
    overlimit_drops: u64,
    overmemory_drops: u64,
    new_flows: u64,
    ecn_marks: u64,
    ce_marks: u64,
}

struct FqCodel {
    turns: RoundRobin<Queues>,
    packets: Packets,
    codel: CodelSettings,
    limits: Limits,
    hash: FlowHash,
}

/// The queues, with all that is known of each in one line of the processor's cache.
type Queues = FlowQueues<Flow>;

const _: () = assert!(Queues::BYTES_OF_EACH == 64);

/// What there is of a flow beside its packets.
#[derive(Clone, Copy)]
struct Flow {
    turn: Turn,
    law: Codel,
}

impl Turns for Queues {
    #[inline]
    fn turn(&self, flow: u32) -> &Turn {
        &self.state(flow).turn
    }

    #[inline]
    fn turn_mut(&mut self, flow: u32) -> &mut Turn {
        &mut self.state_mut(flow).turn
    }
}

/// The counts of the packets held.
struct Packets {
    memory: u64,
    selector: Selector,
    ledger: Ledger,
    own: OwnCounters,
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("quantum", u64::from(device.mtu));
    Ok(())
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let idle = Flow { turn: Turn::IDLE, law: Codel::default() };
    let queues = FlowQueues::with_state(given.require("flows")? as u32, idle);
    Ok(Box::new(FqCodel {
        turns: RoundRobin::over(queues, given.require("quantum")? as u32),
        packets: Packets {
            memory: 0,
            selector: Selector::from_parameters(given),
            ledger: Ledger::default(),
            own: OwnCounters::default(),
        },
        codel: CodelSettings::from_parameters(given, device.mtu)?,
        limits: Limits {
            packets: given.require("limit")? as u32,
            memory: given.require("memory_limit")?,
            drop_batch: given.require("drop_batch")? as u32,
        },
        hash: FlowHash::default(),
    }))
}

impl Qdisc for FqCodel {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let flow = self.classify(&packet, context);
        self.packets.take(self.turns.flows_mut(), flow, packet, context.now);
        self.packets.own.new_flows += u64::from(self.turns.join(flow));
        match self.exceeded() {
            Some(limit) if self.drop_from_fattest(limit, context) == Some(flow) => Enqueued::Congestion,
            _ => Enqueued::Queued,
        }
    }

    fn can_bypass(&self) -> bool {
        self.limits.packets > 0
    }

    fn count_bypassed(&mut self, bypassed: Bypassed) {
        self.packets.ledger.bypass(bypassed);
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        while let Some(flow) = self.turns.next_flow() {
            if let Some((packet, length)) = self.take_from(flow, context) {
                self.turns.charge(flow, length);
                return Dequeued::Packet(packet);
            }
            self.turns.emptied();
        }
        debug_assert_eq!(
            self.backlog().packets as usize,
            self.turns.flows().held(),
            "a packet is unaccounted for"
        );
        Dequeued::Empty
    }

    fn note_peeked(&mut self, length: Option<u32>) {
        self.packets.ledger.keep(length);
    }

    fn backlog(&self) -> Backlog {
        self.packets.ledger.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.packets.ledger.high_water()
    }

    fn counters(&self) -> Counters {
        self.packets.ledger.counters()
    }

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        let own = &self.packets.own;
        show("maxpacket", u64::from(own.longest_packet));
        show("drop_overlimit", own.overlimit_drops);
        show("new_flow_count", own.new_flows);
        show("ecn_mark", own.ecn_marks);
        show("ce_mark", own.ce_marks);
        show("memory_used", self.packets.memory);
        show("drop_overmemory", own.overmemory_drops);
        show("new_flows_len", self.turns.new_length() as u64);
        show("old_flows_len", self.turns.old_length() as u64);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

impl FqCodel {
    #[inline]
    fn classify(&mut self, packet: &Packet, context: &mut Context<'_>) -> u32 {
        self.hash.queue_of(packet, self.turns.flows().count(), context)
    }

    /// The limit that the last arrival exceeded.
    #[inline]
    fn exceeded(&self) -> Option<DropReason> {
        if self.packets.memory > self.limits.memory {
            return Some(DropReason::Overmemory);
        }
        (self.backlog().packets > self.limits.packets).then_some(DropReason::Overlimit)
    }

    /// Drops a batch; returns the queue that it was dropped from.
    #[cold]
    fn drop_from_fattest(&mut self, limit: DropReason, context: &mut Context<'_>) -> Option<u32> {
        let (held, queues) = (&mut self.packets, self.turns.flows_mut());
        let victim = queues.fattest()?;
        let half = queues.bytes(victim) / 2;
        let (state, mut queue) = queues.open(victim);
        let (mut packets, mut bytes) = (0, 0);
        while packets == 0 || (packets < self.limits.drop_batch && bytes < half) {
            let Some(length) = held.drop_head(&mut queue, limit, context) else { break };
            packets += 1;
            bytes += u64::from(length);
        }
        state.law.count_drops(packets);
        held.own.overlimit_drops += u64::from(packets);
        if limit == DropReason::Overmemory {
            held.own.overmemory_drops += u64::from(packets);
        }
        Some(victim)
    }

    /// The next packet of a queue that its law passes, and its frame length.
    #[inline]
    fn take_from(&mut self, flow: u32, context: &mut Context<'_>) -> Option<(Box<Packet>, u32)> {
        let (state, mut queue) = self.turns.flows_mut().open(flow);
        let mut dequeue = state.law.dequeue(&self.codel, context.now);
        while let Some((packet, length)) = self.packets.pop(&mut queue) {
            match dequeue.judge(&self.packets.as_head(&packet, length)) {
                Verdict::Drop => {
                    self.packets.ledger.note();
                    self.packets.drop(packet, DropReason::Aqm, context);
                }
                verdict => {
                    let late = dequeue.is_above_ce_threshold();
                    return Some((self.packets.release(packet, length, verdict, late), length));
                }
            }
        }
        dequeue.queue_is_empty();
        None
    }
}

impl Packets {
    #[inline]
    fn take(&mut self, queues: &mut Queues, flow: u32, mut packet: Box<Packet>, now: SimTime) {
        self.ledger.arrive(&packet);
        self.memory += u64::from(packet.truesize);
        packet.enqueued = now;
        queues.push(flow, packet);
    }

    /// The oldest packet of a queue and its frame length. The ledger counts it until it is released or dropped.
    #[inline]
    fn pop(&mut self, queue: &mut OpenQueue<'_>) -> Option<(Box<Packet>, u32)> {
        let (packet, length) = queue.next()?;
        self.memory -= u64::from(packet.truesize);
        Some((packet, length))
    }

    /// What the law judges about the packet at the head of its queue.
    #[inline]
    fn as_head(&mut self, packet: &Packet, length: u32) -> Head {
        self.own.longest_packet = self.own.longest_packet.max(length);
        Head {
            enqueued: packet.enqueued,
            backlog_behind: self.ledger.backlog().bytes - u64::from(length),
            markable: packet.is_markable(),
        }
    }

    #[inline]
    fn release(&mut self, mut packet: Box<Packet>, length: u32, verdict: Verdict, late: bool) -> Box<Packet> {
        let by_law = verdict == Verdict::Mark;
        if by_law {
            packet.mark();
        }
        let by_threshold = late && packet.is_markable() && self.selector.takes(&packet);
        if by_law || by_threshold {
            packet.mark();
            self.ledger.marked += 1;
            self.own.ecn_marks += u64::from(by_law);
            self.own.ce_marks += u64::from(by_threshold);
        }
        self.ledger.leave_of(&packet, length);
        packet
    }

    /// Drops the oldest packet of a queue and says how long it was.
    #[cold]
    fn drop_head(
        &mut self,
        queue: &mut OpenQueue<'_>,
        reason: DropReason,
        context: &mut Context<'_>,
    ) -> Option<u32> {
        let (packet, length) = self.pop(queue)?;
        self.drop(packet, reason, context);
        Some(length)
    }

    #[cold]
    fn drop(&mut self, packet: Box<Packet>, reason: DropReason, context: &mut Context<'_>) {
        self.ledger.drop(&packet);
        context.refuse(packet, reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, number, numbered, packet};
    use tailback_packet::Ecn;
    use tailback_units::Span;

    const TEN_MBIT: u64 = 10_000_000;
    /// A full frame at 10 Mbit/s.
    const FRAME_TIME: Span = Span::from_nanos(1_211_200);

    fn fill(rig: &mut Rig, flow: u32, packets: u32) {
        for n in 0..packets {
            rig.enqueue(numbered(flow, n));
        }
    }

    /// Packets and bytes served per sending socket while every flow of `lengths` is kept backlogged.
    fn bytes_served(lengths: &[u32], rounds: u32) -> Vec<u64> {
        let mut rig = Rig::of("fq_codel", &[]);
        let mut served = vec![0; lengths.len()];
        for (flow, &length) in lengths.iter().enumerate() {
            rig.fill(40_000 / length, &packet(flow as u32, length));
        }
        for _ in 0..rounds {
            let Dequeued::Packet(sent) = rig.dequeue() else { panic!("backlogged") };
            served[sent.from.0 as usize] += u64::from(sent.frame_length());
            rig.enqueue(packet(sent.from.0, sent.frame_length()));
        }
        served
    }

    #[test]
    fn flows_of_long_and_short_packets_get_equal_bytes() {
        let served = bytes_served(&[1514, 200], 2000);
        assert!(served[0].abs_diff(served[1]) <= 2 * 1514, "{served:?}");
    }

    #[test]
    fn many_flows_get_equal_shares() {
        let served = bytes_served(&[1514; 10], 5000);
        let (min, max) = (served.iter().min().unwrap(), served.iter().max().unwrap());
        assert!(max - min <= 1514, "{served:?}");
    }

    #[test]
    fn a_ping_beside_a_bulk_flow_waits_for_one_packet_at_most() {
        let mut rig = Rig::of("fq_codel", &[]);
        fill(&mut rig, 0, 20);
        for _ in 0..50 {
            rig.enqueue(numbered(0, 0));
            rig.serve(TEN_MBIT);
        }
        for _ in 0..20 {
            rig.enqueue(packet(1, 98));
            assert_eq!(rig.serve(TEN_MBIT).map(|sent| sent.from.0), Some(1), "it goes first");
            fill(&mut rig, 0, 3);
            (0..3).for_each(|_| drop(rig.serve(TEN_MBIT)));
        }
    }

    #[test]
    fn a_second_packet_within_the_round_gets_no_priority() {
        let mut rig = Rig::of("fq_codel", &[("quantum", 15_140)]);
        [0, 2].iter().for_each(|&bulk| fill(&mut rig, bulk, 30));
        let (ping, mut order) = (|| packet(1, 98), Vec::new());
        (0..25).for_each(|_| drop(rig.serve(TEN_MBIT)));
        rig.enqueue(ping());
        assert_eq!(rig.serve(TEN_MBIT).map(|sent| sent.from.0), Some(1), "a new queue goes first");
        assert_eq!(rig.serve(TEN_MBIT).map(|sent| sent.from.0), Some(0), "the sixth of ten in its turn");
        rig.enqueue(ping());
        (0..15).for_each(|_| order.extend(rig.serve(TEN_MBIT).map(|sent| sent.from.0)));
        assert_eq!(order, [0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1]);
        assert_eq!(rig.counter("new_flow_count"), 3, "it is still on a list, so it is not new again");
    }

    #[test]
    fn over_the_limit_the_fattest_queue_loses_64_packets_at_its_head() {
        let mut rig = Rig::of("fq_codel", &[("limit", 1000)]);
        fill(&mut rig, 7, 5);
        fill(&mut rig, 0, 996);
        let lost: Vec<u32> = rig.effects.dropped.iter().map(|(packet, _)| number(packet)).collect();
        assert_eq!(lost, (0..64).collect::<Vec<_>>());
        assert!(
            rig.effects.dropped.iter().all(|(lost, why)| lost.from.0 == 0 && *why == DropReason::Overlimit)
        );
        assert_eq!((rig.qdisc.backlog().packets, rig.counter("drop_overlimit")), (937, 64));
        assert_eq!(rig.counter("drop_overmemory"), 0);
    }

    #[test]
    fn a_batch_ends_at_half_of_the_victims_bytes() {
        let mut rig = Rig::of("fq_codel", &[("limit", 20)]);
        fill(&mut rig, 0, 21);
        assert_eq!(rig.effects.dropped.len(), 11, "the first count whose bytes reach half of 21 packets");
    }

    #[test]
    fn a_batch_of_one_drops_one_packet_as_before_4_7() {
        let mut rig = Rig::of("fq_codel", &[("limit", 100), ("drop_batch", 1)]);
        fill(&mut rig, 0, 101);
        assert_eq!(rig.effects.dropped.len(), 1);
    }

    #[test]
    fn a_sender_gets_congestion_only_if_its_own_queue_was_dropped_from() {
        let mut rig = Rig::of("fq_codel", &[("limit", 10)]);
        fill(&mut rig, 0, 10);
        assert_eq!(rig.enqueue(packet(1, 98)), Enqueued::Queued, "packets of flow 0 were dropped");
        fill(&mut rig, 0, 4);
        assert_eq!(rig.enqueue(packet(0, 1514)), Enqueued::Congestion);
    }

    #[test]
    fn the_memory_limit_counts_kernel_memory_and_names_its_drops() {
        let mut rig = Rig::of("fq_codel", &[("memory_limit", 23_040)]);
        fill(&mut rig, 0, 10);
        assert_eq!((rig.counter("memory_used"), rig.effects.dropped.len()), (23_040, 0));
        fill(&mut rig, 0, 1);
        assert!(rig.effects.dropped.iter().all(|(_, why)| *why == DropReason::Overmemory));
        assert_eq!((rig.counter("drop_overmemory"), rig.counter("drop_overlimit")), (6, 6));
        assert_eq!(rig.counter("memory_used"), 5 * 2304);
    }

    /// Keeps flow 0 backlogged with packets like `template` for `ms`; returns the times of its drops and marks in ms.
    fn signals(rig: &mut Rig, template: &Packet, ms: u64) -> Vec<f64> {
        let end = rig.now + Span::from_millis(ms);
        let mut instants = Vec::new();
        rig.fill(400, template);
        while rig.now < end {
            let (before, at) = (rig.effects.dropped.len(), rig.now);
            let sent = rig.serve(TEN_MBIT).expect("kept backlogged");
            let signals = rig.effects.dropped.len() - before + usize::from(sent.ecn == Ecn::Ce);
            instants.extend(std::iter::repeat_n(at.as_nanos() as f64 / 1e6, signals));
            rig.fill(signals.max(1) as u32, template);
        }
        instants
    }

    #[test]
    fn codel_drops_from_a_standing_queue_at_the_first_dequeue_after_each_drop_time() {
        let mut rig = Rig::of("fq_codel", &[]);
        let drops = signals(&mut rig, &packet(0, 1514), 800);
        let frame = FRAME_TIME.as_nanos() as f64 / 1e6;
        assert!(drops[0] > 105.0 - 0.1 && drops[0] <= 105.0 + 2.0 * frame, "{}", drops[0]);
        let linux = [0.0, 100.0, 150.0, 206.2, 255.0, 299.2, 339.6, 377.1, 412.3, 445.4, 476.9, 507.0];
        for (at, expected) in drops.iter().zip(linux) {
            let relative = at - drops[0];
            assert!(
                relative >= expected - 0.1 && relative <= expected + frame + 0.1,
                "{relative} for {expected}"
            );
        }
        assert!(rig.effects.dropped.iter().all(|(_, why)| *why == DropReason::Aqm));
    }

    #[test]
    fn ecn_capable_packets_are_marked_at_those_times_and_not_dropped() {
        let capable = Packet { ecn: Ecn::Ect0, ..packet(0, 1514) };
        let mut rig = Rig::of("fq_codel", &[]);
        let marks = signals(&mut rig, &capable, 800);
        assert_eq!((rig.effects.dropped.len(), rig.counter("ecn_mark")), (0, marks.len() as u64));
        assert_eq!(rig.qdisc.counters().marked, marks.len() as u64);
        assert_eq!(marks.len(), signals(&mut Rig::of("fq_codel", &[]), &packet(0, 1514), 800).len());
    }

    #[test]
    fn noecn_drops_ecn_capable_packets() {
        let capable = Packet { ecn: Ecn::Ect0, ..packet(0, 1514) };
        let mut rig = Rig::of("fq_codel", &[("ecn", 0)]);
        let drops = signals(&mut rig, &capable, 800);
        assert_eq!((rig.effects.dropped.len(), rig.counter("ecn_mark")), (drops.len(), 0));
    }

    #[test]
    fn ce_threshold_marks_every_capable_packet_above_it() {
        let mut rig = Rig::of("fq_codel", &[("ce_threshold", MS)]);
        rig.enqueue(Packet { ecn: Ecn::Ect1, ..packet(0, 1514) });
        rig.enqueue(packet(0, 1514));
        rig.advance(Span::from_millis(2));
        let sent: Vec<Ecn> = (0..2).filter_map(|_| rig.serve(TEN_MBIT)).map(|sent| sent.ecn).collect();
        assert_eq!((sent, rig.counter("ce_mark")), (vec![Ecn::Ce, Ecn::NotEct], 1));
    }

    /// Bits of a packet, the selector and the mask, and whether the threshold marks it.
    const SELECTED: &[(Ecn, u8, u64, u64, bool)] = &[
        (Ecn::Ect1, 0, 1, 3, true),
        (Ecn::Ect0, 0, 1, 3, false),
        (Ecn::Ce, 0, 1, 3, false),
        (Ecn::NotEct, 0, 0, 3, false),
        (Ecn::Ect0, 46 << 2, 0xb8, 0xfc, true),
        (Ecn::Ect1, 0, 0xb8, 0xfc, false),
        (Ecn::Ect1, 46 << 2, 0xb9, 0xff, true),
        (Ecn::Ect1, 0, 7, 3, false),
        (Ecn::Ect0, 0, 7, 0, true),
    ];

    #[test]
    fn a_selector_limits_ce_threshold_to_packets_of_its_ds_octet() {
        for &(ecn, tos, value, mask, marks) in SELECTED {
            let selector =
                [("ce_threshold_selector", value), ("ce_threshold_mask", mask), ("ce_threshold", MS)];
            let mut rig = Rig::of("fq_codel", &selector);
            rig.enqueue(Packet { ecn, tos, ..packet(0, 1514) });
            rig.advance(Span::from_millis(2));
            let sent = rig.serve(TEN_MBIT).map(|sent| sent.ecn);
            assert_eq!(sent, Some(if marks { Ecn::Ce } else { ecn }), "{ecn:?} {tos} {value}/{mask}");
            assert_eq!(rig.counter("ce_mark"), u64::from(marks));
        }
    }

    #[test]
    fn the_law_marks_what_the_selector_leaves_out_and_the_threshold_does_not_count_what_the_law_marked() {
        let selector = [("ce_threshold_selector", 1), ("ce_threshold_mask", 3), ("ce_threshold", MS)];
        let mut rig = Rig::of("fq_codel", &selector);
        let marks = signals(&mut rig, &Packet { ecn: Ecn::Ect0, ..packet(0, 1514) }, 800);
        assert_eq!((rig.counter("ecn_mark"), rig.counter("ce_mark")), (marks.len() as u64, 0));
        let mut rig = Rig::of("fq_codel", &selector);
        signals(&mut rig, &Packet { ecn: Ecn::Ect1, ..packet(0, 1514) }, 800);
        let (law, threshold) = (rig.counter("ecn_mark"), rig.counter("ce_mark"));
        assert_eq!(rig.qdisc.counters().marked, law + threshold, "no packet counts twice");
        assert!(law > 5 && threshold > 500, "{law} {threshold}");
    }

    #[test]
    fn the_packet_that_waited_longest_is_dropped() {
        let mut rig = Rig::of("fq_codel", &[]);
        fill(&mut rig, 0, 400);
        let mut sent = Vec::new();
        while rig.effects.dropped.is_empty() {
            sent.extend(rig.serve(TEN_MBIT).map(|packet| number(&packet)));
        }
        let lost = number(&rig.effects.dropped[0].0);
        assert_eq!(sent.last(), Some(&(lost + 1)), "the dropped one was the oldest, the next was delivered");
    }

    #[test]
    fn a_queue_with_one_packet_can_lose_it_while_other_queues_are_full() {
        let mut rig = Rig::of("fq_codel", &[]);
        fill(&mut rig, 0, 100);
        rig.enqueue(packet(1, 98));
        for _ in 0..60 {
            rig.advance(Span::from_millis(6));
            if rig.serve(TEN_MBIT).is_some_and(|sent| sent.from.0 == 1) {
                rig.enqueue(packet(1, 98));
            }
        }
        assert_eq!(rig.effects.dropped.iter().filter(|(lost, _)| lost.from.0 == 1).count(), 1);
    }

    #[test]
    fn a_single_queue_with_one_frame_is_never_dropped_from_however_slow_the_link() {
        let mut rig = Rig::of("fq_codel", &[]);
        for _ in 0..200 {
            rig.enqueue(packet(0, 1514));
            rig.advance(Span::from_micros(12_112));
            rig.serve(1_000_000);
        }
        assert_eq!(rig.effects.dropped.len(), 0);
    }

    #[test]
    fn a_flood_has_all_losses_and_a_sparse_flow_none() {
        let mut rig = Rig::of("fq_codel", &[("limit", 1000)]);
        let mut modest_served = 0;
        for _ in 0..5000 {
            fill(&mut rig, 0, 3);
            rig.enqueue(packet(1, 757));
            let mut budget = 1514;
            while budget > 0 {
                let Some(sent) = rig.serve(TEN_MBIT) else { break };
                budget -= i64::from(sent.frame_length());
                modest_served += u32::from(sent.from.0 == 1);
            }
        }
        assert!(rig.effects.dropped.iter().all(|(lost, _)| lost.from.0 == 0));
        assert!(modest_served > 4900, "{modest_served}");
    }

    #[test]
    fn the_law_of_a_queue_counts_the_packets_of_a_batch_drop() {
        let mut rig = Rig::of("fq_codel", &[("limit", 1000)]);
        let drops_in_400_ms = |rig: &mut Rig| {
            let (end, before) = (rig.now + Span::from_millis(400), rig.effects.dropped.len());
            while rig.now < end {
                rig.serve(TEN_MBIT);
            }
            rig.effects.dropped.len() - before
        };
        fill(&mut rig, 0, 1000);
        let without_batch = drops_in_400_ms(&mut rig);
        let refill = 1001 - rig.qdisc.backlog().packets;
        fill(&mut rig, 0, refill);
        assert_eq!(rig.counter("drop_overlimit"), 64);
        let with_batch = drops_in_400_ms(&mut rig);
        assert!(with_batch > 4 * without_batch, "{without_batch} drops before, {with_batch} after");
    }

    #[test]
    fn hash_collisions_are_as_frequent_as_expected() {
        let mut rig = Rig::of("fq_codel", &[]);
        for flow in 0..1024 {
            rig.enqueue(packet(flow, 100));
        }
        let queues_used = rig.counter("new_flow_count") as f64;
        let expected = 1024.0 * (1.0 - (1.0f64 - 1.0 / 1024.0).powi(1024));
        assert!((queues_used - expected).abs() < 40.0, "{queues_used} queues, {expected} expected");
    }

    #[test]
    fn packets_of_one_flow_stay_in_order_across_batches_and_drops() {
        let mut rig = Rig::of("fq_codel", &[("limit", 50)]);
        let mut last = None;
        for n in 0..2000 {
            rig.enqueue(numbered(0, n));
            if n % 3 == 0 {
                let sent = rig.serve(TEN_MBIT).map(|packet| number(&packet));
                assert!(sent > last);
                last = sent;
            }
        }
    }

    #[test]
    fn the_counters_of_an_idle_discipline_are_zero() {
        let rig = Rig::of("fq_codel", &[]);
        let mut names = Vec::new();
        rig.qdisc.own_counters(&mut |name, value| {
            assert_eq!(value, 0, "{name}");
            names.push(name);
        });
        assert_eq!(names.len(), 9);
    }
}
