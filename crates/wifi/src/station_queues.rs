//! mac80211's queues above the radio: FQ-CoDel inside, one queue per station and access category.
//!
//! ```text
//! enqueue:  flow = hash · 4096 / 2³²; a flow that another queue owns → this queue's own overflow flow
//! dequeue:  DRR++ with quantum 300 among the flows of that queue, CoDel on the one served
//! over 8192 packets or the memory limit: half the packets of the longest flow of the radio are dropped, at most 32
//! ```
//! CoDel: target 20 ms, interval 100 ms, ECN on. From Linux 4.13 to 6.12.34, where rate control of the host expects of a
//! station less than 6 Mbit/s times the number of stations: 50 ms, 300 ms, ECN off. CoDel does not drop the last packet
//! of a flow. [linux-6.12 net/mac80211/tx.c ieee80211_txq_enqueue, include/net/fq_impl.h; linux-6.6
//! net/mac80211/sta_info.c sta_update_codel_params] The law and the round robin are those of the qdiscs. Deviation: the
//! lengths counted are those of Ethernet frames.

use std::ops::ControlFlow;

use tailback_packet::{DropReason, Packet};
use tailback_qdisc::Context as QdiscContext;
use tailback_qdisc::aqm::Verdict;
use tailback_qdisc::aqm::codel::{Codel, CodelDequeue, CodelSettings, Head};
use tailback_qdisc::flow_queues::FlowQueues;
use tailback_qdisc::round_robin::RoundRobin;
use tailback_units::{SimTime, Span};

/// Flows of one radio. [linux-6.12 fq_impl.h fq_init]
const FLOWS: u32 = 4096;
/// Bytes that a flow may send per round.
const QUANTUM: u32 = 300;
/// Maximum number of packets dropped at once when over a limit.
const DROP_BATCH: u32 = 32;
/// A station is slow below this throughput in bit/s, times the number of stations.
const SLOW: u64 = 6_000_000;
/// A flow without a queue.
const UNOWNED: u16 = u16::MAX;

/// The limits of the queues of one radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimits {
    /// Packets.
    pub packets: u32,
    /// Bytes of kernel memory (truesize).
    pub memory: u64,
}

impl QueueLimits {
    /// 8192 packets and 4 MiB: a radio without VHT.
    pub const HT: QueueLimits = QueueLimits { packets: 8192, memory: 4 << 20 };
    /// 8192 packets and 16 MiB.
    pub const VHT: QueueLimits = QueueLimits { packets: 8192, memory: 16 << 20 };
}

/// The queues of one radio.
pub struct StationQueues {
    limits: QueueLimits,
    flows: FlowQueues,
    states: Vec<Codel>,
    owners: Vec<u16>,
    queues: Vec<Option<Box<StationQueue>>>,
    packets: u32,
    memory: u64,
}

/// One queue: the round robin of its flows, and its length.
struct StationQueue {
    turns: RoundRobin,
    packets: u32,
    codel: CodelSettings,
}

/// How fast a station is.
enum Pace {
    Usual,
    Slow,
}

fn codel_settings(pace: Pace) -> CodelSettings {
    let (target_ms, interval_ms, ecn) = match pace {
        Pace::Usual => (20, 100, true),
        Pace::Slow => (50, 300, false),
    };
    CodelSettings::new(Span::from_millis(target_ms), Span::from_millis(interval_ms), 0).with_ecn(ecn)
}

impl StationQueues {
    /// `queues` empty queues, numbered from 0.
    pub fn new(queues: usize, limits: QueueLimits) -> Self {
        let flows = FLOWS + u32::try_from(queues).unwrap_or(0);
        StationQueues {
            limits,
            flows: FlowQueues::new(flows),
            states: vec![Codel::default(); flows as usize],
            owners: vec![UNOWNED; flows as usize],
            queues: (0..queues).map(|_| None).collect(),
            packets: 0,
            memory: 0,
        }
    }

    /// Appends a packet to its flow in `queue`.
    #[inline]
    pub fn enqueue(&mut self, queue: u16, mut packet: Box<Packet>, context: &mut QdiscContext<'_>) {
        let flow = self.flow_of(queue, packet.flow_hash);
        packet.enqueued = context.now;
        self.packets += 1;
        self.memory += u64::from(packet.truesize);
        self.owners[flow as usize] = queue;
        self.flows.push(flow, packet);
        let all = FLOWS + self.queues.len() as u32;
        let state = self.queues[usize::from(queue)].get_or_insert_with(|| {
            Box::new(StationQueue {
                turns: RoundRobin::new(all, QUANTUM),
                packets: 0,
                codel: codel_settings(Pace::Usual),
            })
        });
        state.packets += 1;
        state.turns.join(flow);
        if self.is_over_limit() {
            self.shrink(context);
        }
    }

    /// Sets the CoDel parameters of a station by its expected throughput and the number of stations.
    pub fn expect(&mut self, queue: u16, bits_per_sec: u64, stations: u64) {
        let slow = bits_per_sec > 0 && bits_per_sec < SLOW * stations;
        if let Some(state) = self.queues[usize::from(queue)].as_mut() {
            state.codel = codel_settings(if slow { Pace::Slow } else { Pace::Usual });
        }
    }

    /// The next packet of `queue`.
    #[inline(always)]
    pub fn dequeue(&mut self, queue: u16, context: &mut QdiscContext<'_>) -> Option<Box<Packet>> {
        let StationQueues { flows, states, queues, owners, .. } = self;
        let state = queues[usize::from(queue)].as_deref_mut()?;
        let mut taken = Taken::default();
        let passed = loop {
            let Some(flow) = state.turns.next_flow() else { break None };
            let law = states[flow as usize].dequeue(&state.codel, context.now);
            if let Some((packet, length)) = judged(flows, flow, law, &mut taken, context) {
                state.turns.charge(flow, length);
                break Some(packet);
            }
            if state.turns.emptied() {
                owners[flow as usize] = UNOWNED;
            }
        };
        state.packets -= taken.packets;
        self.packets -= taken.packets;
        self.memory -= taken.memory;
        passed
    }

    /// The flow to serve, if `queue` has packets of no other and CoDel would let all of them pass:
    /// [`serve_alone`](Self::serve_alone) may serve it.
    #[inline]
    pub fn lone_flow(&mut self, queue: u16, now: SimTime) -> Option<u32> {
        let state = self.queues[usize::from(queue)].as_deref_mut()?;
        if !state.turns.is_alone() {
            return None;
        }
        let flow = state.turns.next_flow()?;
        let oldest = self.flows.oldest(flow)?;
        self.states[flow as usize].passes_all(&state.codel, oldest, now).then_some(flow)
    }

    /// Hands packets of the [`lone_flow`](Self::lone_flow) of `queue` to `take`, at most `most` and at least one, until it
    /// breaks or the queue is empty: what [`dequeue`](Self::dequeue) does for each packet, in one step.
    #[inline(always)]
    pub fn serve_alone<B>(
        &mut self,
        queue: u16,
        flow: u32,
        most: u32,
        now: SimTime,
        mut take: impl FnMut(Box<Packet>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let Some(state) = self.queues[usize::from(queue)].as_deref_mut() else {
            return ControlFlow::Continue(());
        };
        debug_assert!(most > 0, "a packet is taken in any case");
        let mut taken = Taken::default();
        let (mut bytes, mut last, mut enqueued) = (0, 0, now);
        let answer = self.flows.pop_each(flow, |packet, length| {
            taken.packets += 1;
            taken.memory += u64::from(packet.truesize);
            bytes += u64::from(length);
            (last, enqueued) = (length, packet.enqueued);
            match take(packet) {
                ControlFlow::Break(reason) => ControlFlow::Break(Some(reason)),
                ControlFlow::Continue(()) if taken.packets == most => ControlFlow::Break(None),
                ControlFlow::Continue(()) => ControlFlow::Continue(()),
            }
        });
        self.states[flow as usize].passed(enqueued, now);
        state.packets -= taken.packets;
        self.packets -= taken.packets;
        self.memory -= taken.memory;
        if answer.is_continue() {
            // One more packet was asked for.
            state.turns.emptied();
            self.owners[flow as usize] = UNOWNED;
        } else {
            state.turns.charge_alone(flow, bytes - u64::from(last), last);
        }
        match answer {
            ControlFlow::Break(Some(reason)) => ControlFlow::Break(reason),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Packets in `queue`.
    pub fn packets_of(&self, queue: u16) -> u32 {
        self.queues[usize::from(queue)].as_ref().map_or(0, |state| state.packets)
    }

    /// Packets of the radio.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Packets of the radio, counted one by one.
    pub fn held(&self) -> usize {
        debug_assert_eq!(self.flows.held(), self.packets as usize);
        self.flows.held()
    }

    fn take(&mut self, queue: u16, flow: u32) -> Option<Box<Packet>> {
        let packet = self.flows.pop(flow)?;
        self.packets -= 1;
        self.memory -= u64::from(packet.truesize);
        if let Some(state) = self.queues[usize::from(queue)].as_mut() {
            state.packets -= 1;
        }
        Some(packet)
    }

    fn flow_of(&self, queue: u16, hash: u32) -> u32 {
        let flow = ((u64::from(hash) * u64::from(FLOWS)) >> 32) as u32;
        let owner = self.owners[flow as usize];
        if owner == UNOWNED || owner == queue { flow } else { FLOWS + u32::from(queue) }
    }

    #[inline]
    fn is_over_limit(&self) -> bool {
        self.packets > self.limits.packets || self.memory > self.limits.memory
    }

    /// Drops from the longest flow of the radio while it is over a limit.
    #[cold]
    fn shrink(&mut self, context: &mut QdiscContext<'_>) {
        while self.is_over_limit() {
            let reason =
                if self.memory > self.limits.memory { DropReason::Overmemory } else { DropReason::Overlimit };
            let Some(fattest) = self.flows.fattest() else { return };
            let batch = (self.flows.packets(fattest) / 2).clamp(1, DROP_BATCH);
            let queue = self.owners[fattest as usize];
            for _ in 0..batch {
                if let Some(packet) = self.take(queue, fattest) {
                    context.refuse(packet, reason);
                }
            }
        }
    }
}

/// Changes of the queues in one call.
#[derive(Default)]
struct Taken {
    packets: u32,
    memory: u64,
}

/// The head of `flow` after CoDel has dropped packets before it, with its frame length.
#[inline(always)]
fn judged(
    flows: &mut FlowQueues,
    flow: u32,
    mut law: CodelDequeue<'_>,
    taken: &mut Taken,
    context: &mut QdiscContext<'_>,
) -> Option<(Box<Packet>, u32)> {
    while let Some((mut packet, length)) = flows.pop_with_length(flow) {
        taken.packets += 1;
        taken.memory += u64::from(packet.truesize);
        let head = Head {
            enqueued: packet.enqueued,
            backlog_behind: flows.bytes(flow),
            markable: packet.is_markable(),
        };
        match law.judge(&head) {
            Verdict::Drop => context.refuse(packet, DropReason::Aqm),
            Verdict::Mark => {
                context.mark(&mut packet);
                return Some((packet, length));
            }
            Verdict::Pass => return Some((packet, length)),
        }
    }
    law.queue_is_empty();
    None
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;
    use tailback_packet::Ecn;
    use tailback_qdisc::Effects;

    use super::*;
    use crate::testing::{packet, random};

    /// Two copies of the same queues: one is served packet by packet.
    struct Twins {
        queues: [StationQueues; 2],
        effects: [Effects; 2],
        now: SimTime,
    }

    impl Twins {
        fn new() -> Self {
            let queues =
                [(); 2].map(|()| StationQueues::new(4, QueueLimits { packets: 60, memory: 4 << 20 }));
            Twins { queues, effects: Default::default(), now: SimTime::ZERO }
        }

        fn with<R>(&mut self, act: impl Fn(usize, &mut StationQueues, &mut QdiscContext<'_>) -> R) -> [R; 2] {
            let (now, mut draws) = (self.now, random(1));
            [0, 1].map(|twin| {
                act(twin, &mut self.queues[twin], &mut self.effects[twin].context(now, &mut draws))
            })
        }

        fn enqueue(&mut self, queue: u16, number: u32, flow: u32, length: u32) {
            self.with(|_, queues, context| {
                let mut packet = packet(length);
                (packet.flow_hash, packet.to.0) = (flow << 24, number);
                packet.ecn = if number.is_multiple_of(3) { Ecn::Ect0 } else { Ecn::NotEct };
                queues.enqueue(queue, packet, context);
            });
        }

        /// The numbers of the packets that both hand over, at most `most`, or `until` the one after which they stop.
        fn serve(&mut self, queue: u16, most: u32, until: u32) -> [Vec<u32>; 2] {
            self.with(|twin, queues, context| {
                let mut got = Vec::new();
                let mut take = |packet: Box<Packet>| {
                    got.push(packet.to.0);
                    if packet.to.0 >= until { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                if twin == 0
                    && most > 0
                    && let Some(flow) = queues.lone_flow(queue, context.now)
                {
                    let _ = queues.serve_alone(queue, flow, most, context.now, take);
                } else {
                    for _ in 0..most {
                        let Some(packet) = queues.dequeue(queue, context) else { break };
                        if take(packet).is_break() {
                            break;
                        }
                    }
                }
                got
            })
        }

        fn states(&self) -> [String; 2] {
            let state = |twin: usize| {
                let (queues, effects) = (&self.queues[twin], &self.effects[twin]);
                let lengths: Vec<u32> = (0..4).map(|queue| queues.packets_of(queue)).collect();
                let laws: Vec<&Codel> = queues.states.iter().step_by(16).collect();
                let sums = (queues.packets, queues.memory, effects.dropped.len(), effects.marks.len());
                format!("{lengths:?} {laws:?} {sums:?} {:?}", queues.owners)
            };
            [state(0), state(1)]
        }
    }

    #[test]
    fn the_packets_of_a_lone_flow_that_are_served_at_once_are_those_dequeued_one_by_one() {
        let (mut twins, mut draws, mut number) = (Twins::new(), random(1), 0);
        for flows in [1, 1, 3].into_iter().cycle().take(1_500) {
            let mut below = |limit: u32| draws.next_u32() % limit;
            for _ in 0..below(12) {
                number += 1;
                twins.enqueue(below(2) as u16, number, below(flows), 40 + below(1_460));
            }
            // Now and then long enough for CoDel to drop.
            twins.now += Span::from_millis(u64::from(if below(40) == 0 { 150 } else { below(8) }));
            let [queue, most, until] = [below(2), below(16), number.saturating_sub(below(20))];
            let [whole, single] = twins.serve(queue as u16, most, until);
            assert_eq!(whole, single);
            let [whole, single] = twins.states();
            assert_eq!(whole, single);
        }
        let seen = &twins.effects[0];
        assert!(!seen.dropped.is_empty() && !seen.marks.is_empty(), "CoDel acted");
    }
}
