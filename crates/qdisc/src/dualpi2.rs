//! `dualpi2`: two coupled queues: a shallow one for scalable controls (L4S), a classic one for the others.
//!
//! classify: ECT(1) and CE into L, the rest into C                                                   [rfc9331 §5.1]
//! each `tupdate`: q = max sojourn of the two heads; p ← p + α · (q − target) + β · (q − q_old)         [rfc9332 §A]
//! C:        with probability p² marked if ECT(0), else dropped
//! L:        marked with probability min(1, k · p), and if it waited longer than `step_thresh` and found at least
//!           `min_qlen_step` packets there
//! overload: k · p > 1: L packets are dropped with probability p², else marked; C packets are dropped, not marked
//! serve:    L, unless C has packets and the credit of L is used up: credit + w_C · L-bytes, − w_L · C-bytes,
//!           w_C = 10 %; the credit begins anew when both are empty
//!
//! With k = 2 a classic and a scalable flow of equal RTT get equal rates. While less than 2 MTU wait behind a packet, only
//! the step marks. A packet that both mark counts twice in `ecn_mark`, and so does one that came with CE. The sender of a
//! packet that is dropped at its arrival (`drop_enqueue`) does not notice. [linux-7.3 sch_dualpi2.c]
//! Deviation: updates by the timer are computed at the next arrival or departure.

use std::collections::VecDeque;

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
const ONE: u32 = u32::MAX;
/// `alpha` and `beta` come in 1/256 Hz, and are applied to units of 64 ns. [linux-7.3 ALPHA_BETA_GRANULARITY]
const GAIN_SHIFT: u32 = 6;

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
        "maximum kernel memory (truesize) in bytes; default: 2 · limit · (MTU + 14)",
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
        "packets behind it in the L queue, above which an L packet is marked, instead of a time",
    ),
    Parameter::new(
        "min_qlen_step",
        ParameterUnit::Packets,
        Some(0),
        (0, u32::MAX as u64),
        "packets in the L queue that one finds at its arrival, below which the step does not mark it",
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
    Parameter::flag("any_ect", false, "queue ECT(0), too, in L; otherwise it is for ECT(1) and CE alone"),
    Parameter::flag(
        "split_gso",
        true,
        "queue the segments of a packet that has several, so that other flows wait less",
    ),
];

struct DualPi2 {
    classic: Fifo,
    low_latency: Fifo,
    /// Of each packet of `low_latency`, whether the step may mark it.
    steps: VecDeque<bool>,
    settings: Settings,
    probability: u32,
    delay_before: Span,
    next_update: SimTime,
    credit: i64,
    memory: u64,
    largest_memory: u64,
    own: OwnCounters,
    high: HighWater,
}

struct Settings {
    limit: u32,
    memory: u64,
    coupling: u32,
    step: Step,
    min_qlen_step: u32,
    drop_on_overload: bool,
    at_enqueue: bool,
    low_latency_for: LowLatencyFor,
    split_gso: bool,
    classic_weight: i64,
    first_credit: i64,
    target: Span,
    tupdate: Span,
    alpha: i64,
    beta: i64,
    mtu: u64,
}

/// The code points whose packets go to L, beside CE.
#[derive(Clone, Copy)]
enum LowLatencyFor {
    Ect1,
    AnyEct,
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
    given.set_default("memlimit", (2 * limit * u64::from(device.mtu)).min(u64::from(u32::MAX)));
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
    let classic_weight = value("classic_protection")? as i64;
    let settings = Settings {
        limit: value("limit")? as u32,
        memory: value("memlimit")?,
        coupling: value("coupling_factor")? as u32,
        step,
        min_qlen_step: value("min_qlen_step")? as u32,
        drop_on_overload: value("drop_on_overload")? == 1,
        at_enqueue: value("drop_enqueue")? == 1,
        low_latency_for: match value("any_ect")? {
            0 => LowLatencyFor::Ect1,
            _ => LowLatencyFor::AnyEct,
        },
        split_gso: value("split_gso")? == 1,
        classic_weight,
        first_credit: i64::from(device.mtu) * (2 * classic_weight - 100),
        target: span("target")?,
        tupdate: span("tupdate")?,
        alpha: scaled(value("alpha")?),
        beta: scaled(value("beta")?),
        mtu: u64::from(device.mtu),
    };
    Ok(Box::new(DualPi2 {
        classic: Fifo::default(),
        low_latency: Fifo::default(),
        steps: VecDeque::new(),
        probability: 0,
        delay_before: Span::ZERO,
        next_update: SimTime::ZERO + settings.tupdate,
        credit: settings.first_credit,
        settings,
        memory: 0,
        largest_memory: 0,
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
        let service = self.settings.low_latency_for.service_of(packet.ecn);
        let held = self.backlog();
        let full = held.packets >= self.settings.limit
            || self.memory + u64::from(packet.truesize) > self.settings.memory;
        if full {
            return self.queue(service).tail_drop(packet, context);
        }
        if self.settings.at_enqueue {
            match self.signal(service, packet.ecn, held.bytes, context.draws) {
                Signal::Drop => {
                    self.queue(service).refuse(packet, DropReason::Aqm, context);
                    return Enqueued::Lost;
                }
                Signal::Mark => self.mark(service, &mut packet),
                Signal::None => {}
            }
        }
        self.memory += u64::from(packet.truesize);
        self.largest_memory = self.largest_memory.max(self.memory);
        self.own.longest = self.own.longest.max(held.packets);
        match service {
            Service::Classic => self.own.in_classic += 1,
            Service::LowLatency => {
                self.own.in_low_latency += 1;
                self.steps.push_back(self.low_latency.backlog().packets >= self.settings.min_qlen_step);
            }
        }
        let answer = self.queue(service).append(packet, context);
        let held = self.backlog();
        self.high.note(u64::from(held.packets), held.bytes);
        answer
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        self.catch_up(context.now);
        while let Some((service, charge)) = self.choose() {
            let Some(next) = self.look(service) else { break };
            self.memory -= u64::from(next.truesize);
            let steps = service == Service::LowLatency && self.steps.pop_front() == Some(true);
            let mut signal = Signal::None;
            if !self.settings.at_enqueue {
                let behind = self.backlog().bytes - u64::from(next.length);
                signal = self.signal(service, next.ecn, behind, context.draws);
            }
            if signal == Signal::Drop {
                self.queue(service).drop_head(DropReason::Aqm, context);
                continue;
            }
            self.credit += charge * i64::from(next.length);
            let Dequeued::Packet(mut packet) = self.queue(service).take() else { break };
            if signal == Signal::Mark {
                self.mark(service, &mut packet);
            }
            if steps && self.is_beyond_step(context.now.since(next.enqueued)) {
                self.mark(service, &mut packet);
                self.own.step_marks += 1;
            }
            return Dequeued::Packet(packet);
        }
        self.credit = self.settings.first_credit;
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
        show("prob", u64::from(self.probability));
        show("packets_in_c", self.own.in_classic);
        show("packets_in_l", self.own.in_low_latency);
        show("maxq", u64::from(self.own.longest));
        show("ecn_mark", self.own.marks);
        show("step_marks", self.own.step_marks);
        show("memory_used", self.memory);
        show("max_memory_used", self.largest_memory);
    }

    fn own_levels(&self, show: &mut dyn FnMut(&'static str, i64)) {
        show("credit", self.credit);
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }
}

impl LowLatencyFor {
    fn service_of(self, ecn: Ecn) -> Service {
        match (self, ecn) {
            (_, Ecn::Ect1 | Ecn::Ce) | (LowLatencyFor::AnyEct, Ecn::Ect0) => Service::LowLatency,
            _ => Service::Classic,
        }
    }
}

/// A gain in 1/256 Hz in the kernel's unit, cut off as there. [linux-7.3 dualpi2_scale_alpha_beta]
fn scaled(gain: u64) -> i64 {
    (((u128::from(gain) * u128::from(ONE)) >> (8 - GAIN_SHIFT)) as u64 / SECOND).cast_signed()
}

/// What decides about the packet that leaves next.
struct Next {
    ecn: Ecn,
    enqueued: SimTime,
    length: u32,
    truesize: u32,
}

impl DualPi2 {
    fn look(&self, service: Service) -> Option<Next> {
        let queue = match service {
            Service::Classic => &self.classic,
            Service::LowLatency => &self.low_latency,
        };
        queue.head().map(|head| Next {
            ecn: head.ecn,
            enqueued: head.enqueued,
            length: head.frame_length(),
            truesize: head.truesize,
        })
    }

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
        let ns = |span: Span| span.as_nanos().cast_signed();
        let above = (ns(delay) - ns(self.settings.target)).wrapping_mul(self.settings.alpha);
        let growth = (ns(delay) - ns(self.delay_before)).wrapping_mul(self.settings.beta);
        self.delay_before = delay;
        let moved = moved(self.probability, above.wrapping_add(growth));
        let max = if self.settings.drop_on_overload { ONE } else { ONE / self.settings.coupling };
        self.probability = moved.min(max);
    }

    /// The decision of the controller about a packet while `held` bytes of others wait.
    fn signal(&self, service: Service, ecn: Ecn, held: u64, draws: &mut dyn Rng) -> Signal {
        if held < 2 * self.settings.mtu {
            return Signal::None;
        }
        let coupled = u64::from(self.probability) * u64::from(self.settings.coupling);
        let overload = coupled > u64::from(ONE);
        // p² as two random numbers up to p.
        let squared = |draws: &mut dyn Rng| (0..2).all(|_| draws.next_u32() <= self.probability);
        match service {
            Service::Classic if !squared(draws) => Signal::None,
            Service::Classic if ecn == Ecn::NotEct || overload => Signal::Drop,
            Service::Classic => Signal::Mark,
            Service::LowLatency if overload && self.settings.drop_on_overload && squared(draws) => {
                Signal::Drop
            }
            Service::LowLatency if overload || u64::from(draws.next_u32()) <= coupled => Signal::Mark,
            Service::LowLatency => Signal::None,
        }
    }

    fn mark(&mut self, service: Service, packet: &mut Packet) {
        if packet.mark() {
            self.own.marks += 1;
            self.queue(service).ledger.marked += 1;
        }
    }

    /// After a packet with this sojourn time has left the L queue.
    fn is_beyond_step(&self, sojourn: Span) -> bool {
        match self.settings.step {
            Step::Sojourn(max) => sojourn > max,
            Step::Packets(max) => self.low_latency.backlog().packets > max,
        }
    }
}

/// A probability moved by `delta`, in the 32 bits of the kernel. [linux-7.3 calculate_probability]
fn moved(probability: u32, delta: i64) -> u32 {
    let steps = (delta.unsigned_abs() >> GAIN_SHIFT) as u32;
    match delta > 0 {
        true if probability.wrapping_add(steps) < probability => ONE,
        true => probability.wrapping_add(steps),
        false if probability.wrapping_sub(steps) > probability => 0,
        false => probability.wrapping_sub(steps),
    }
}

#[cfg(test)]
mod tests;
