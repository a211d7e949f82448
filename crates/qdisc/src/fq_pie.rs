//! `fq_pie`: a FIFO per flow, served by DRR++, each under its own PIE law.
//!
//! enqueue:  over `limit` drop the arrival; else PIE decides by the backlog, delay and probability of its flow
//! dequeue:  DRR++ as in `fq_codel`; the PIE of the flow takes its delay from the departure
//!
//! A flow with less than two full packets is never dropped from. Each new flow has its own burst allowance. The sender
//! of a dropped packet gets congestion.                                [linux-6.12 sch_fq_pie.c] [rfc8033] [rfc8290]
//! Exceeding `memory_limit` is counted and has no other effect. Deviations: updates of the law of a flow are computed
//! when the flow is next used, not by a timer in batches of 2048 flows; otherwise those of `pie` and `fq_codel`.

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::aqm::Verdict;
use crate::aqm::pie::{Arrival, Departure, Generation, Pie, PieSettings};
use crate::flow_hash::FlowHash;
use crate::flow_queues::FlowQueues;
use crate::ledger::Ledger;
use crate::round_robin::RoundRobin;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "fq_pie",
    summary: "fair queueing of flows with PIE on each",
    source: include_str!("fq_pie.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

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
    Parameter::new("target", ParameterUnit::Time, Some(15 * MS), (0, 1000 * SECOND), "target delay"),
    Parameter::new(
        "tupdate",
        ParameterUnit::Time,
        Some(15 * MS),
        (0, 1000 * SECOND),
        "time between updates of the probability",
    ),
    Parameter::new(
        "alpha",
        ParameterUnit::Number,
        Some(2),
        (0, 32),
        "gain of the difference between delay and target, 1/16 Hz",
    ),
    Parameter::new(
        "beta",
        ParameterUnit::Number,
        Some(20),
        (0, 32),
        "gain of the change of the delay, 1/16 Hz",
    ),
    Parameter::new(
        "quantum",
        ParameterUnit::Bytes,
        None,
        (1, 1 << 20),
        "bytes that a queue may send per round; default: MTU + 14",
    ),
    Parameter::new(
        "memory_limit",
        ParameterUnit::Bytes,
        Some(32 << 20),
        (1, u32::MAX as u64),
        "truesize above which `overmemory` is counted",
    ),
    Parameter::new(
        "ecn_prob",
        ParameterUnit::Number,
        Some(10),
        (0, 99),
        "probability in per cent up to which packets are marked, not dropped",
    ),
    Parameter::flag("ecn", false, "mark ECN-capable packets instead of dropping them"),
    Parameter::flag("bytemode", false, "drop short packets with a lower probability"),
    Parameter::flag(
        "dq_rate_estimator",
        false,
        "delay = backlog / measured departure rate instead of the sojourn time",
    ),
];

struct FqPie {
    queues: FlowQueues,
    laws: Vec<Pie>,
    turns: RoundRobin,
    settings: PieSettings,
    hash: FlowHash,
    limit: u32,
    memory_limit: u64,
    memory: u64,
    ledger: Ledger,
    own: OwnCounters,
}

#[derive(Clone, Copy, Default)]
struct OwnCounters {
    packets_in: u64,
    overlimit: u64,
    overmemory: u64,
    dropped: u64,
    new_flows: u64,
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    given.set_default("quantum", u64::from(device.mtu));
    Ok(())
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let flows = value("flows")? as u32;
    let settings = PieSettings::from_parameters(given, Generation::Rfc8033, device.mtu)?;
    let settings = settings.with_ecn_up_to(value("ecn_prob")?);
    Ok(Box::new(FqPie {
        queues: FlowQueues::new(flows),
        laws: vec![Pie::new(&settings); flows as usize],
        turns: RoundRobin::new(flows, value("quantum")? as u32),
        settings,
        hash: FlowHash::default(),
        limit: value("limit")? as u32,
        memory_limit: value("memory_limit")?,
        memory: 0,
        ledger: Ledger::default(),
        own: OwnCounters::default(),
    }))
}

impl Qdisc for FqPie {
    #[inline]
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let flow = self.hash.queue_of(&packet, self.laws.len() as u32, context);
        let over = self.ledger.backlog().packets >= self.limit;
        self.ledger.arrive(&packet);
        self.own.overlimit += u64::from(over);
        self.own.overmemory += u64::from(self.memory > self.memory_limit + u64::from(packet.truesize));
        let verdict = if over { Verdict::Drop } else { self.judge(flow, &packet, context) };
        match verdict {
            Verdict::Drop => {
                self.own.dropped += 1;
                self.laws[flow as usize].dropped();
                self.ledger.drop(&packet);
                context.refuse(packet, if over { DropReason::TailFull } else { DropReason::Aqm });
                return Enqueued::Congestion;
            }
            Verdict::Mark => self.ledger.marked += u64::from(packet.mark()),
            Verdict::Pass => {}
        }
        self.own.packets_in += 1;
        self.memory += u64::from(packet.truesize);
        packet.enqueued = context.now;
        self.queues.push(flow, packet);
        self.own.new_flows += u64::from(self.turns.join(flow));
        Enqueued::Queued
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        while let Some(flow) = self.turns.next_flow() {
            let backlog = self.queues.bytes(flow);
            let Some(packet) = self.queues.pop(flow) else {
                self.turns.emptied();
                continue;
            };
            self.turns.charge(flow, packet.frame_length());
            self.memory -= u64::from(packet.truesize);
            self.ledger.leave(&packet);
            let law = &mut self.laws[flow as usize];
            law.catch_up(backlog, &self.settings, context.now);
            let (enqueued, length) = (packet.enqueued, packet.frame_length());
            let departure = Departure { enqueued, length, backlog: self.queues.bytes(flow) };
            law.depart(&departure, &self.settings, context.now);
            return Dequeued::Packet(packet);
        }
        debug_assert_eq!(self.backlog().packets as usize, self.queues.held(), "a packet is unaccounted for");
        Dequeued::Empty
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

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        show("pkts_in", self.own.packets_in);
        show("overlimit", self.own.overlimit);
        show("overmemory", self.own.overmemory);
        show("dropped", self.own.dropped);
        show("ecn_mark", self.ledger.marked);
        show("new_flow_count", self.own.new_flows);
        show("new_flows_len", self.turns.new_length() as u64);
        show("old_flows_len", self.turns.old_length() as u64);
        show("memory_used", self.memory);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

impl FqPie {
    #[inline]
    fn judge(&mut self, flow: u32, packet: &Packet, context: &mut Context<'_>) -> Verdict {
        let backlog = self.queues.bytes(flow);
        let law = &mut self.laws[flow as usize];
        law.catch_up(backlog, &self.settings, context.now);
        let arrival = Arrival { length: packet.frame_length(), backlog, markable: packet.is_markable() };
        law.arrive(&arrival, &self.settings, context.draws)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Rig, packet};
    use tailback_units::Span;

    /// Flow 0 sends at twice the rate of 10 Mbit/s that is served, flow 1 a packet each 100 ms; returns drops per flow.
    fn overload(rig: &mut Rig, secs: u64) -> [usize; 2] {
        for step in 0..secs * 826 {
            rig.fill(2, &packet(0, 1514));
            if step % 82 == 0 {
                rig.enqueue(packet(1, 200));
            }
            rig.dequeue();
            rig.advance(Span::from_nanos(1_211_200));
        }
        [0, 1].map(|flow| rig.effects.dropped.iter().filter(|(lost, _)| lost.from.0 == flow).count())
    }

    #[test]
    fn only_the_flow_whose_delay_grows_loses_packets() {
        let mut rig = Rig::of("fq_pie", &[]);
        let [fat, thin] = overload(&mut rig, 10);
        assert!(fat > 3000 && thin == 0, "{fat} {thin}");
        assert_eq!(rig.counter("dropped"), fat as u64);
    }

    #[test]
    fn flows_share_bytes_equally() {
        let mut rig = Rig::of("fq_pie", &[]);
        rig.fill(60, &packet(0, 1514));
        rig.fill(400, &packet(1, 200));
        let mut bytes = [0u32; 2];
        for _ in 0..200 {
            let sent = rig.serve(10_000_000).unwrap();
            bytes[sent.from.0 as usize] += sent.frame_length();
        }
        assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 1514, "{bytes:?}");
    }

    #[test]
    fn a_sparse_flow_goes_before_a_bulk_flow() {
        let mut rig = Rig::of("fq_pie", &[]);
        rig.fill(50, &packet(0, 1514));
        (0..10).for_each(|_| drop(rig.serve(10_000_000)));
        rig.enqueue(packet(1, 98));
        assert_eq!(rig.serve(10_000_000).map(|sent| sent.from.0), Some(1));
    }

    #[test]
    fn each_new_flow_has_a_burst_allowance_of_its_own() {
        let mut rig = Rig::of("fq_pie", &[]);
        let [fat, _] = overload(&mut rig, 10);
        let before = rig.now;
        while rig.effects.dropped.iter().all(|(lost, _)| lost.from.0 != 2) {
            rig.fill(2, &packet(0, 1514));
            rig.fill(2, &packet(2, 1514));
            rig.dequeue();
            rig.advance(Span::from_nanos(1_211_200));
        }
        assert!(fat < rig.effects.dropped.len() && rig.now.since(before) > Span::from_millis(150));
    }
}
