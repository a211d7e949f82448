//! `pie`: one FIFO under the PIE law, which drops arrivals at random to keep the delay near a target.
//!
//! enqueue: over `limit` drop the arrival; else PIE passes, marks (if its probability is at most 10 %) or drops it
//! dequeue: the head; PIE learns the delay from its sojourn time or the measured rate. The law is in `aqm/pie.rs`.
//!
//! [rfc8033] [linux-6.12 sch_pie.c]. `generation` selects an older PIE than that of Linux 5.5 and later: `linux-3.14`
//! (target 20 ms, tupdate 30 ms, rate estimator over 10 kB) or `2013`, the module that testbeds used with 3.10
//! (likewise, over 5 kB; limit 200; all drops count as `overlimit`, none as `dropped`). `tc` has no such option.
//! Deviation: `avg_dq_rate` is shown in byte/s.

use tailback_packet::{DropReason, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters};

use crate::aqm::Verdict;
use crate::aqm::pie::{Arrival, Departure, GENERATIONS, Generation, Pie, PieSettings};
use crate::fifo::Fifo;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "pie",
    summary: "one queue that drops arrivals at random to keep the delay at a target",
    source: include_str!("pie.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const SECOND: u64 = 1_000_000_000;

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "limit",
        ParameterUnit::Packets,
        None,
        (1, u32::MAX as u64),
        "maximum number of packets; default: 1000 (generation 2013: 200)",
    ),
    Parameter::new(
        "target",
        ParameterUnit::Time,
        None,
        (0, 1000 * SECOND),
        "target delay; default: 15 ms (older generations: 20 ms)",
    ),
    Parameter::new(
        "tupdate",
        ParameterUnit::Time,
        None,
        (0, 1000 * SECOND),
        "time between updates of the probability; default: 15 ms (older generations: 30 ms)",
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
    Parameter::flag("ecn", false, "mark ECN-capable packets instead of dropping them, up to 10 %"),
    Parameter::flag("bytemode", false, "drop short packets with a lower probability"),
    Parameter::flag(
        "dq_rate_estimator",
        false,
        "delay = backlog / measured departure rate instead of the sojourn time; always so in older generations",
    ),
    Parameter::choice(
        "generation",
        GENERATIONS,
        "generation of PIE: Linux 5.5 and later, 3.14 to 5.0, the module of 2013",
    ),
];

struct PieQueue {
    queue: Fifo,
    law: Pie,
    settings: PieSettings,
    generation: Generation,
    limit: u32,
    packets_in: u64,
    overlimit: u64,
    early: u64,
    longest_queue: u32,
}

fn derive(given: &mut Parameters, _device: &Attachment) -> Result<(), ParameterError> {
    let generation = Generation::of(given.require("generation")?);
    let (target, tupdate) = generation.target_and_tupdate();
    given.set_default("limit", if generation == Generation::Module2013 { 200 } else { 1000 });
    given.set_default("target", target);
    given.set_default("tupdate", tupdate);
    Ok(())
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let generation = Generation::of(given.require("generation")?);
    let settings = PieSettings::from_parameters(given, generation, device.mtu)?;
    Ok(Box::new(PieQueue {
        queue: Fifo::default(),
        law: Pie::new(&settings),
        settings,
        generation,
        limit: given.require("limit")? as u32,
        packets_in: 0,
        overlimit: 0,
        early: 0,
        longest_queue: 0,
    }))
}

impl Qdisc for PieQueue {
    #[inline]
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let held = self.queue.backlog();
        self.law.catch_up(held.bytes, &self.settings, context.now);
        if held.packets >= self.limit {
            self.overlimit += 1;
            self.law.dropped();
            return self.queue.tail_drop(packet, context);
        }
        let (length, markable) = (packet.frame_length(), packet.is_markable());
        match self.law.arrive(
            &Arrival { length, backlog: held.bytes, markable },
            &self.settings,
            context.draws,
        ) {
            Verdict::Drop => {
                self.early += 1;
                self.law.dropped();
                return self.queue.refuse(packet, DropReason::Aqm, context);
            }
            Verdict::Mark => self.queue.ledger.marked += u64::from(packet.mark()),
            Verdict::Pass => {}
        }
        self.packets_in += 1;
        self.longest_queue = self.longest_queue.max(held.packets);
        self.queue.append(packet, context)
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        self.law.catch_up(self.queue.backlog().bytes, &self.settings, context.now);
        let taken = self.queue.take();
        if let Dequeued::Packet(packet) = &taken {
            let (enqueued, length) = (packet.enqueued, packet.frame_length());
            let departure = Departure { enqueued, length, backlog: self.queue.backlog().bytes };
            self.law.depart(&departure, &self.settings, context.now);
        }
        taken
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
        show("prob", self.law.probability(&self.settings));
        show("delay", self.law.delay().as_micros());
        if self.settings.estimates_rate() {
            show("avg_dq_rate", self.law.departure_rate());
        }
        show("pkts_in", self.packets_in);
        match self.generation {
            Generation::Module2013 => {
                show("overlimit", self.overlimit + self.early);
                show("dropped", 0);
            }
            _ => {
                show("overlimit", self.overlimit);
                show("dropped", self.overlimit + self.early);
            }
        }
        show("maxq", u64::from(self.longest_queue));
        show("ecn_mark", self.queue.ledger.marked);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};
    use tailback_packet::Ecn;
    use tailback_units::{SimTime, Span};

    /// Arrivals at `factor` times 10 Mbit/s, served at 10 Mbit/s, for `ms`; returns the times of the drops in ms.
    fn overload(rig: &mut Rig, factor: f64, ms: u64, like: &Packet) -> Vec<f64> {
        let gap = Span::from_nanos((1_211_200.0 / factor) as u64);
        let (mut departure, end, mut drops) = (rig.now, rig.now + Span::from_millis(ms), Vec::new());
        let mut seen = rig.effects.dropped.len();
        while rig.now < end {
            rig.enqueue(like.clone());
            let next = rig.now + gap;
            while departure <= next {
                rig.now = departure.max(rig.now);
                rig.dequeue();
                departure += Span::from_nanos(1_211_200);
            }
            rig.now = next;
            drops.extend(std::iter::repeat_n(
                rig.now.as_nanos() as f64 / 1e6,
                rig.effects.dropped.len() - seen,
            ));
            seen = rig.effects.dropped.len();
        }
        drops
    }

    #[test]
    fn a_burst_into_an_idle_queue_loses_nothing() {
        for (generation, allowance) in [(0, 150.0), (2, 100.0)] {
            let mut rig = Rig::of("pie", &[("generation", generation), ("limit", 1000)]);
            rig.now += Span::from_secs(2);
            let first = overload(&mut rig, 3.0, 1500, &packet(0, 1514))[0] - 2000.0;
            assert!(first > allowance && first < allowance + 400.0, "{first}");
        }
    }

    #[test]
    fn under_twofold_overload_the_delay_settles_at_the_target() {
        let mut rig = Rig::of("pie", &[]);
        overload(&mut rig, 2.0, 20_000, &packet(0, 1514));
        let mut delays = Vec::new();
        for _ in 0..200 {
            overload(&mut rig, 2.0, 50, &packet(0, 1514));
            delays.push(rig.qdisc.backlog().packets as f64 * 1.2112);
        }
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!((10.0..20.0).contains(&mean), "{mean}");
    }

    #[test]
    fn the_module_of_2013_counts_drops_as_overlimit() {
        let mut rig = Rig::of("pie", &[("generation", 2)]);
        overload(&mut rig, 2.0, 5_000, &packet(0, 1514));
        assert!(
            rig.counter("overlimit") == rig.effects.dropped.len() as u64 && !rig.effects.dropped.is_empty()
        );
        assert_eq!(rig.counter("dropped"), 0);
    }

    #[test]
    fn a_capable_flow_is_marked_while_the_probability_is_low() {
        let mut rig = Rig::of("pie", &[("ecn", 1)]);
        rig.now += Span::from_secs(2);
        let capable = Packet { ecn: Ecn::Ect0, ..packet(0, 1514) };
        while rig.effects.dropped.is_empty() && rig.now < SimTime::ZERO + Span::from_secs(60) {
            overload(&mut rig, 1.03, 500, &capable);
        }
        assert!(rig.counter("ecn_mark") > 10, "{}", rig.counter("ecn_mark"));
        assert!(rig.counter("prob") > u64::from(u32::MAX) / 10, "it drops once marks have no effect");
    }

    #[test]
    fn marks_keep_a_distance_as_drops_do() {
        let mut rig = Rig::of("pie", &[("ecn", 1)]);
        rig.now += Span::from_secs(2);
        let capable = Packet { ecn: Ecn::Ect0, ..packet(0, 1514) };
        rig.fill(20, &capable);
        let mut sum = 0.0;
        while rig.counter("prob") < u64::from(u32::MAX) / 11 {
            rig.enqueue(capable.clone());
            sum += rig.counter("prob") as f64 / f64::from(u32::MAX);
            rig.serve(10_000_000);
        }
        let marks = rig.counter("ecn_mark");
        assert!(marks > 20 && (marks as f64) < sum / 0.85, "{marks} marks of a sum of {sum}");
    }

    #[test]
    fn the_generations_differ_in_their_defaults() {
        for (generation, expected) in [
            (0, [1000, 15_000_000, 15_000_000]),
            (1, [1000, 20_000_000, 30_000_000]),
            (2, [200, 20_000_000, 30_000_000]),
        ] {
            let given = Parameters::new([("generation".into(), generation)].into());
            let resolved = crate::registry::resolve("pie", &given, &Attachment::default()).unwrap();
            assert_eq!(["limit", "target", "tupdate"].map(|name| resolved.given(name).unwrap()), expected);
        }
    }

    #[test]
    fn flows_lose_packets_in_proportion_to_what_they_send() {
        let mut rig = Rig::of("pie", &[]);
        for _ in 0..20_000 {
            rig.enqueue(packet(1, 1514));
            rig.fill(3, &packet(0, 1514));
            rig.serve(20_000_000);
            rig.serve(20_000_000);
        }
        let lost = |flow| rig.effects.dropped.iter().filter(|(lost, _)| lost.from.0 == flow).count() as f64;
        let share = lost(1) / (lost(0) + lost(1));
        assert!(lost(1) > 1000.0 && (share - 0.25).abs() < 0.05, "{share} of {}", rig.effects.dropped.len());
    }
}
