//! `dualpi2`: two coupled queues: a shallow one for scalable controls (L4S), a classic one for the others.
//!
//! classify: ECT(1) and CE into L, the rest into C                                                   [rfc9331 §5.1]
//! each `tupdate`: q = max sojourn of the two heads; p ← p + α · (q − target) + β · (q − q_old)         [rfc9332 §A]
//! C:        with probability p² marked if ECT(0), else dropped
//! L:        marked with probability min(1, k · p), and if it waited longer than `step_thresh` behind another packet
//! overload: k · p > 1: L packets are dropped with probability p², else marked; C packets are dropped, not marked
//! serve:    L, unless C has packets and the credit of L is used up: credit + w_C · L-bytes, − w_L · C-bytes,
//!           w_C = 10 %
//!
//! With k = 2 a classic and a scalable flow of equal RTT get equal rates. Below a backlog of 2 MTU only the step marks.
//! [linux-6.17 sch_dualpi2.c]. Deviation: updates by the timer are computed at the next
//! arrival or departure.

use rand_core::Rng;
use tailback_packet::{DropReason, Ecn, Packet};
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, SimTime, Span};

use crate::fifo::Fifo;
use crate::ledger::HighWater;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "dualpi2",
    summary: "a shallow queue for scalable controls coupled with a classic one",
    source: include_str!("dualpi2.rs"),
    parameters: PARAMETERS,
    classful: false,
    classes: None,
    derive,
    build,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// A probability of one.
const ONE: u64 = u32::MAX as u64;
/// Unit of `alpha` and `beta`: 1/256 Hz.
const GAIN_UNIT: i128 = 256;

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "limit",
        ParameterUnit::Packets,
        Some(10_000),
        (1, u32::MAX as u64),
        "maximum number of packets in both queues",
    ),
    Parameter::new(
        "memlimit",
        ParameterUnit::Bytes,
        None,
        (1, u32::MAX as u64),
        "maximum kernel memory (truesize) in bytes; default: limit · (MTU + 14)",
    ),
    Parameter::new(
        "coupling_factor",
        ParameterUnit::Number,
        Some(2),
        (1, 255),
        "k: ratio of the probability of L to the square root of that of C",
    ),
    Parameter::new(
        "step_thresh",
        ParameterUnit::Time,
        Some(MS),
        (0, 4 * SECOND),
        "sojourn time above which every L packet is marked",
    ),
    Parameter::new(
        "step_packets",
        ParameterUnit::Packets,
        None,
        (0, u32::MAX as u64),
        "length of the L queue above which every L packet is marked, instead of a time",
    ),
    Parameter::new(
        "min_qlen_step",
        ParameterUnit::Packets,
        Some(1),
        (0, u32::MAX as u64),
        "length of the L queue up to which the step does not mark",
    ),
    Parameter::flag(
        "drop_on_overload",
        true,
        "drop L packets on overload; otherwise the L queue may overflow",
    ),
    Parameter::flag("drop_enqueue", false, "decide about a packet on arrival, not on departure"),
    Parameter::new(
        "classic_protection",
        ParameterUnit::Number,
        Some(10),
        (0, 100),
        "minimum share of C in the link, in per cent",
    ),
    Parameter::new(
        "max_rtt",
        ParameterUnit::Time,
        None,
        (1, 100 * SECOND),
        "maximum RTT, from which `target`, `tupdate`, `alpha` and `beta` are derived",
    ),
    Parameter::new(
        "typical_rtt",
        ParameterUnit::Time,
        None,
        (1, 100 * SECOND),
        "typical RTT, with `max_rtt`; default: max_rtt / 6",
    ),
    Parameter::new(
        "target",
        ParameterUnit::Time,
        None,
        (1, 100 * SECOND),
        "delay of C that is steered to; default: 15 ms",
    ),
    Parameter::new(
        "tupdate",
        ParameterUnit::Time,
        None,
        (1000, 100 * SECOND),
        "time between updates; default: 16 ms",
    ),
    Parameter::new(
        "alpha",
        ParameterUnit::Gain,
        None,
        (1, 255 * 256),
        "gain of the difference between delay and target; default: 0.16 Hz",
    ),
    Parameter::new(
        "beta",
        ParameterUnit::Gain,
        None,
        (1, 255 * 256),
        "gain of the change of the delay; default: 3.2 Hz",
    ),
    Parameter::flag(
        "split_gso",
        true,
        "queue the segments of a packet that has several, so that other flows wait less",
    ),
];

struct DualPi2 {
    classic: Fifo,
    low_latency: Fifo,
    settings: Settings,
    probability: u64,
    delay_before: Span,
    next_update: SimTime,
    credit: i64,
    memory: u64,
    own: OwnCounters,
    high: HighWater,
}

struct Settings {
    limit: u32,
    memory: u64,
    coupling: u64,
    step: Step,
    min_qlen_step: u32,
    drop_on_overload: bool,
    at_enqueue: bool,
    split_gso: bool,
    classic_weight: i64,
    target: Span,
    tupdate: Span,
    alpha: i128,
    beta: i128,
    mtu: u64,
}

#[derive(Clone, Copy)]
enum Step {
    Sojourn(Span),
    Packets(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Service {
    Classic,
    LowLatency,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Signal {
    None,
    Mark,
    Drop,
}

#[derive(Clone, Copy, Default)]
struct OwnCounters {
    in_classic: u64,
    in_low_latency: u64,
    longest: u32,
    marks: u64,
    step_marks: u64,
}

fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    let limit = given.require("limit")?;
    given.set_default("memlimit", (limit * u64::from(device.mtu)).min(u64::from(u32::MAX)));
    let (target, tupdate, alpha, beta) = match given.given("max_rtt") {
        Some(longest) => {
            let typical = given.given("typical_rtt").unwrap_or(longest / 6).max(1);
            let tupdate = typical.min(longest / 3).max(1000);
            // α = 0.1 · tupdate / max_rtt², β = 0.3 / max_rtt, in 1/256 Hz. [rfc9332 §A.1]
            let alpha = u128::from(tupdate) * 256 * u128::from(SECOND)
                / 10
                / (u128::from(longest) * u128::from(longest));
            (typical, tupdate, alpha as u64, 256 * 3 * SECOND / 10 / longest)
        }
        None => (15 * MS, 16 * MS, 41, 819),
    };
    given.set_default("target", target);
    given.set_default("tupdate", tupdate);
    given.set_default("alpha", alpha.clamp(1, 255 * 256));
    given.set_default("beta", beta.clamp(1, 255 * 256));
    Ok(())
}

fn build(given: &Parameters, device: &Attachment, _inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let span = |name| given.require(name).map(Span::from_nanos);
    let step = match given.given("step_packets") {
        Some(packets) => Step::Packets(packets as u32),
        None => Step::Sojourn(span("step_thresh")?),
    };
    let settings = Settings {
        limit: value("limit")? as u32,
        memory: value("memlimit")?,
        coupling: value("coupling_factor")?,
        step,
        min_qlen_step: value("min_qlen_step")? as u32,
        drop_on_overload: value("drop_on_overload")? == 1,
        at_enqueue: value("drop_enqueue")? == 1,
        split_gso: value("split_gso")? == 1,
        classic_weight: value("classic_protection")? as i64,
        target: span("target")?,
        tupdate: span("tupdate")?,
        alpha: i128::from(value("alpha")?),
        beta: i128::from(value("beta")?),
        mtu: u64::from(device.mtu),
    };
    let tupdate = settings.tupdate;
    let credit = i64::from(device.mtu) * (2 * settings.classic_weight - 100);
    Ok(Box::new(DualPi2 {
        classic: Fifo::default(),
        low_latency: Fifo::default(),
        settings,
        probability: 0,
        delay_before: Span::ZERO,
        next_update: SimTime::ZERO + tupdate,
        credit,
        memory: 0,
        own: OwnCounters::default(),
        high: HighWater::default(),
    }))
}

impl Qdisc for DualPi2 {
    fn queues_segments(&self, _train: &Packet) -> bool {
        self.settings.split_gso
    }

    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.catch_up(context.now);
        let service = service_of(packet.ecn);
        let full = self.backlog().packets >= self.settings.limit
            || self.memory + u64::from(packet.truesize) > self.settings.memory;
        if full {
            return self.queue(service).tail_drop(packet, context);
        }
        if self.settings.at_enqueue {
            match self.signal(service, packet.ecn, context.draws) {
                Signal::Drop => return self.queue(service).refuse(packet, DropReason::Aqm, context),
                Signal::Mark => self.mark(service, &mut packet),
                Signal::None => {}
            }
        }
        let packets_in =
            if service == Service::Classic { &mut self.own.in_classic } else { &mut self.own.in_low_latency };
        *packets_in += 1;
        self.memory += u64::from(packet.truesize);
        let answer = self.queue(service).append(packet, context);
        let held = self.backlog();
        self.own.longest = self.own.longest.max(held.packets);
        self.high.note(u64::from(held.packets), held.bytes);
        answer
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        self.catch_up(context.now);
        while let Some((service, charge)) = self.choose() {
            let head = self.queue(service).head().expect("a service is chosen for its head");
            let (ecn, enqueued, length, truesize) =
                (head.ecn, head.enqueued, head.frame_length(), head.truesize);
            self.memory -= u64::from(truesize);
            let mut signal = Signal::None;
            if !self.settings.at_enqueue {
                signal = self.signal(service, ecn, context.draws);
            }
            if signal == Signal::Drop {
                self.queue(service).drop_head(DropReason::Aqm, context);
                continue;
            }
            self.credit += charge * i64::from(length);
            let stepped = service == Service::LowLatency && self.is_beyond_step(context.now.since(enqueued));
            let mark = (signal == Signal::Mark || stepped) && ecn != Ecn::NotEct;
            self.own.marks += u64::from(mark);
            self.own.step_marks += u64::from(mark && stepped && signal != Signal::Mark);
            return self.queue(service).take_marked(mark);
        }
        Dequeued::Empty
    }

    fn note_peeked(&mut self, length: Option<u32>) {
        self.classic.ledger.keep(length);
    }

    fn backlog(&self) -> Backlog {
        let (classic, low_latency) = (self.classic.backlog(), self.low_latency.backlog());
        Backlog { packets: classic.packets + low_latency.packets, bytes: classic.bytes + low_latency.bytes }
    }

    fn high_water(&self) -> Backlog {
        self.high.take(self.backlog())
    }

    fn counters(&self) -> Counters {
        let (classic, low_latency) = (self.classic.counters(), self.low_latency.counters());
        Counters {
            sent_bytes: classic.sent_bytes + low_latency.sent_bytes,
            sent_packets: classic.sent_packets + low_latency.sent_packets,
            dropped: classic.dropped + low_latency.dropped,
            marked: classic.marked + low_latency.marked,
            ..Counters::default()
        }
    }

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        show("prob", self.probability);
        show("packets_in_c", self.own.in_classic);
        show("packets_in_l", self.own.in_low_latency);
        show("maxq", u64::from(self.own.longest));
        show("ecn_mark", self.own.marks);
        show("step_marks", self.own.step_marks);
        show("memory_used", self.memory);
    }

    fn own_levels(&self, show: &mut dyn FnMut(&'static str, i64)) {
        show("credit", self.credit);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

fn service_of(ecn: Ecn) -> Service {
    if matches!(ecn, Ecn::Ect1 | Ecn::Ce) { Service::LowLatency } else { Service::Classic }
}

impl DualPi2 {
    fn queue(&mut self, service: Service) -> &mut Fifo {
        match service {
            Service::Classic => &mut self.classic,
            Service::LowLatency => &mut self.low_latency,
        }
    }

    /// The queue to serve, and by how much its bytes change the credit.
    fn choose(&self) -> Option<(Service, i64)> {
        let (classic, low) = (self.classic.head().is_some(), self.low_latency.head().is_some());
        let low_weight = 100 - self.settings.classic_weight;
        match (classic, low) {
            (false, false) => None,
            (false, true) => Some((Service::LowLatency, 0)),
            (true, false) => Some((Service::Classic, 0)),
            (true, true) if self.credit <= 0 => Some((Service::LowLatency, self.settings.classic_weight)),
            (true, true) => Some((Service::Classic, -low_weight)),
        }
    }

    fn catch_up(&mut self, now: SimTime) {
        while self.next_update <= now {
            self.update(self.next_update);
            self.next_update += self.settings.tupdate;
            if self.backlog().packets == 0 && self.probability == 0 && self.delay_before.is_zero() {
                let missed = now.since(self.next_update).as_nanos() / self.settings.tupdate.as_nanos();
                self.next_update += self.settings.tupdate * missed;
            }
        }
    }

    fn update(&mut self, at: SimTime) {
        let sojourn = |queue: &Fifo| queue.head().map_or(Span::ZERO, |head| at.since(head.enqueued));
        let delay = sojourn(&self.classic).max(sojourn(&self.low_latency));
        let ns = |span: Span| i128::from(span.as_nanos());
        let steps = self.settings.alpha * (ns(delay) - ns(self.settings.target))
            + self.settings.beta * (ns(delay) - ns(self.delay_before));
        let moved = i128::from(self.probability) + steps * i128::from(ONE) / (GAIN_UNIT * i128::from(SECOND));
        let max = if self.settings.drop_on_overload { ONE } else { ONE / self.settings.coupling };
        self.probability = moved.clamp(0, i128::from(max)) as u64;
        self.delay_before = delay;
    }

    /// The decision of the controller about a packet.
    fn signal(&self, service: Service, ecn: Ecn, draws: &mut dyn Rng) -> Signal {
        if self.backlog().bytes < 2 * self.settings.mtu {
            return Signal::None;
        }
        let coupled = self.probability * self.settings.coupling;
        let overload = coupled > ONE;
        // p² as two random numbers below p.
        let squared = |draws: &mut dyn Rng| (0..2).all(|_| u64::from(draws.next_u32()) < self.probability);
        match service {
            Service::Classic if !squared(draws) => Signal::None,
            Service::Classic if ecn == Ecn::NotEct || overload => Signal::Drop,
            Service::Classic => Signal::Mark,
            Service::LowLatency if overload && self.settings.drop_on_overload && squared(draws) => {
                Signal::Drop
            }
            Service::LowLatency if overload || u64::from(draws.next_u32()) < coupled => Signal::Mark,
            Service::LowLatency => Signal::None,
        }
    }

    fn mark(&mut self, service: Service, packet: &mut Packet) {
        if packet.mark() {
            self.own.marks += 1;
            self.queue(service).ledger.marked += 1;
        }
    }

    fn is_beyond_step(&self, sojourn: Span) -> bool {
        let packets = self.low_latency.backlog().packets;
        let beyond = match self.settings.step {
            Step::Sojourn(max) => sojourn > max,
            Step::Packets(max) => packets > max,
        };
        beyond && packets > self.settings.min_qlen_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};

    fn of(flow: u32, ecn: Ecn) -> Packet {
        Packet { ecn, ..packet(flow, 1514) }
    }

    /// Offers packets of each kind per packet time at 10 Mbit/s; returns how many of each leave, in order.
    fn offer(rig: &mut Rig, offered: &[(Ecn, u32)], packet_times: u32) -> Vec<u32> {
        let mut left = vec![0; offered.len()];
        for _ in 0..packet_times {
            for (flow, &(ecn, count)) in offered.iter().enumerate() {
                rig.fill(count, &of(flow as u32, ecn));
            }
            if let Some(sent) = rig.serve(10_000_000) {
                left[sent.from.0 as usize] += 1;
            } else {
                rig.advance(Span::from_nanos(1_211_200));
            }
        }
        left
    }

    #[test]
    fn scalable_packets_have_a_queue_of_their_own_and_go_first() {
        let mut rig = Rig::of("dualpi2", &[]);
        for (flow, ecn) in [(0, Ecn::NotEct), (1, Ecn::Ect0), (2, Ecn::Ect1), (3, Ecn::Ce)] {
            rig.enqueue(of(flow, ecn));
        }
        let order: Vec<u32> = (0..4).filter_map(|_| rig.serve(10_000_000)).map(|sent| sent.from.0).collect();
        assert_eq!(order, [2, 3, 0, 1]);
        assert_eq!((rig.counter("packets_in_c"), rig.counter("packets_in_l")), (2, 2));
    }

    #[test]
    fn a_flood_of_scalable_packets_leaves_classic_ones_a_tenth() {
        let never = [("target", 100 * SECOND), ("step_thresh", 4 * SECOND), ("limit", 50_000)];
        let mut rig = Rig::of("dualpi2", &never);
        let left = offer(&mut rig, &[(Ecn::Ect1, 2), (Ecn::Ect0, 2)], 5000);
        assert!((480..520).contains(&left[1]), "{left:?}");
    }

    #[test]
    fn an_l_packet_behind_others_for_longer_than_the_step_is_marked() {
        let mut rig = Rig::of("dualpi2", &[]);
        rig.fill(5, &of(0, Ecn::Ect1));
        let marked: Vec<bool> =
            (0..5).filter_map(|_| rig.serve(10_000_000)).map(|sent| sent.ecn == Ecn::Ce).collect();
        assert_eq!(marked, [false, true, true, true, false]);
        assert_eq!(rig.counter("step_marks"), 3);
    }

    #[test]
    fn one_ms_above_target_and_one_ms_of_growth_change_p_by_their_gains() {
        let mut rig = Rig::of("dualpi2", &[("step_thresh", SECOND)]);
        rig.fill(100, &of(0, Ecn::NotEct));
        rig.advance(Span::from_millis(16));
        rig.serve(10_000_000);
        let p = rig.counter("prob") as f64 / ONE as f64;
        let expected = 0.16 * 0.001 + 3.2 * 0.016;
        assert!((p - expected).abs() < 0.01 * expected, "{p} {expected}");
    }

    #[test]
    fn classic_packets_are_dropped_with_the_square_of_the_probability_of_l() {
        let mut rig = Rig::of("dualpi2", &[]);
        offer(&mut rig, &[(Ecn::NotEct, 1)], 200);
        rig.fill(60, &of(0, Ecn::NotEct));
        let before = rig.effects.dropped.len();
        offer(&mut rig, &[(Ecn::NotEct, 1)], 1500);
        let p = rig.counter("prob") as f64 / ONE as f64;
        assert!(rig.effects.dropped.len() > before && p < 0.5, "{p}");
    }

    #[test]
    fn the_parameters_of_the_controller_are_derived_from_max_rtt() {
        let given = Parameters::new([("max_rtt".into(), 100 * MS)].into());
        let resolved = crate::registry::resolve("dualpi2", &given, &Attachment::default()).unwrap();
        let of = |name| resolved.given(name).unwrap();
        assert_eq!((of("beta"), of("tupdate"), of("target")), (768, 16_666_666, 16_666_666));
        assert_eq!(of("alpha"), 42);
    }

    #[test]
    fn below_two_full_packets_the_controller_signals_nothing() {
        let mut rig = Rig::of("dualpi2", &[("step_thresh", SECOND)]);
        rig.fill(60, &of(0, Ecn::NotEct));
        rig.advance(Span::from_secs(2));
        while rig.qdisc.backlog().packets > 1 {
            rig.serve(10_000_000);
        }
        assert!(rig.counter("prob") > ONE / 4, "the probability is high");
        let before = rig.effects.dropped.len();
        (0..5).for_each(|_| {
            rig.serve(10_000_000);
            rig.enqueue(of(0, Ecn::NotEct));
        });
        assert_eq!(rig.effects.dropped.len(), before);
    }

    #[test]
    fn above_a_half_scalable_packets_are_dropped_too() {
        let flood = |drop_on_overload| {
            let given = [("drop_on_overload", drop_on_overload), ("limit", 1000)];
            let mut rig = Rig::of("dualpi2", &given);
            offer(&mut rig, &[(Ecn::Ect1, 2)], 5000);
            let dropped_by_law = rig.effects.dropped.iter().any(|(_, why)| *why == DropReason::Aqm);
            (rig.counter("prob") > ONE / 2, dropped_by_law)
        };
        assert_eq!((flood(1), flood(0)), ((true, true), (false, false)));
    }
}
