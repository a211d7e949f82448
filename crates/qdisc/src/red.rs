//! `red`: random early detection over a byte-limited FIFO, optionally adaptive.
//!
//! enqueue: RED hits packets by the average backlog (`aqm/red.rs`). A packet that is hit is marked if `ecn` allows it,
//!          else dropped, with congestion returned to the sender. With `harddrop` it is dropped above `max` in any
//!          case; with `nodrop` it is enqueued if it cannot be marked
//! dequeue: from the child; idle time starts when the queue is found empty. `htb`, `drr` and `tbf` never ask an empty
//!          queue: below them the average does not decay in idle times, and after a burst whose packets were all hit
//!          the next ones are, too, until each arrival has lowered it a little
//! defaults: max = 3 · min or limit/4 · min = max/3 · burst = (2 · min + max) / (3 · avpkt) · probability 2 %
//!
//! [floyd1993] [linux-6.12 sch_red.c] [tc q_red.c]. The default child is `bfifo limit`; packets that it drops count as
//! `pdrop`. `adaptive` changes nothing on Linux since 5.7, which starts no timer for it ([`Attachment::adapts_red`]).
//! Deviation: the decay in idle times is by `bandwidth`, never by the speed of the device.

use tailback_packet::{DropReason, Packet};
use tailback_units::{Bytes, Parameter, ParameterError, ParameterUnit, Parameters, Rate};

use crate::aqm::red::{Red, RedSettings, RedVerdict, weight_for};
use crate::bfifo::Bfifo;
use crate::children::Peekable;
use crate::ledger::Ledger;
use crate::{Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Inner, Peeked, Qdisc, Row};

pub(crate) const ROW: Row = Row {
    name: "red",
    summary: "random early detection on the average backlog, optionally adaptive",
    source: include_str!("red.rs"),
    parameters: PARAMETERS,
    classful: true,
    classes: None,
    derive,
    build,
};

const MAX: u64 = 1 << 30;

const PARAMETERS: &[Parameter] = &[
    Parameter::required("limit", ParameterUnit::Bytes, (1, MAX), "maximum number of frame bytes"),
    Parameter::required("avpkt", ParameterUnit::Bytes, (1, 65_535), "average packet"),
    Parameter::new(
        "min",
        ParameterUnit::Bytes,
        None,
        (1, MAX),
        "average backlog below which all packets pass; default: max / 3",
    ),
    Parameter::new(
        "max",
        ParameterUnit::Bytes,
        None,
        (1, MAX),
        "average backlog above which every packet is hit; default: 3 · min, or limit / 4",
    ),
    Parameter::new(
        "burst",
        ParameterUnit::Packets,
        None,
        (1, 1_000_000),
        "packets that pass when they arrive at an idle queue; default: (2 · min + max) / (3 · avpkt)",
    ),
    Parameter::new(
        "probability",
        ParameterUnit::Fraction,
        Some(85_899_345),
        (1, u32::MAX as u64),
        "probability at the upper threshold",
    ),
    Parameter::new(
        "bandwidth",
        ParameterUnit::Rate,
        Some(10_000_000),
        (8, 10_000_000_000_000),
        "rate at which the average of an idle queue decays",
    ),
    Parameter::flag("ecn", false, "mark ECN-capable packets instead of dropping them"),
    Parameter::flag("harddrop", false, "above `max` drop ECN-capable packets, too"),
    Parameter::flag("nodrop", false, "with `ecn`: enqueue packets that cannot be marked"),
    Parameter::flag(
        "adaptive",
        false,
        "adapt the probability so that the average stays between the thresholds",
    ),
];

struct RedQueue {
    law: Red,
    settings: RedSettings,
    action: Action,
    adaptive: bool,
    child: Peekable,
    ledger: Ledger,
    marked: u64,
    early: u64,
    refused: u64,
}

/// The treatment of a packet that is hit.
#[derive(Clone, Copy)]
struct Action {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

fn derive(given: &mut Parameters, _device: &Attachment) -> Result<(), ParameterError> {
    let (limit, packet) = (given.require("limit")?, given.require("avpkt")?);
    let max = given.given("max").unwrap_or_else(|| given.given("min").map_or(limit / 4, |min| 3 * min));
    let min = given.given("min").unwrap_or(max / 3);
    let burst = given.given("burst").unwrap_or((2 * min + max) / (3 * packet));
    if given.given("nodrop") == Some(1) && given.given("ecn") != Some(1) {
        let why = "has an effect only with `ecn`: write `ecn nodrop`".to_owned();
        return Err(ParameterError::Conflict { name: "nodrop", why });
    }
    if max < min {
        let why = format!("({min}) is above `max` ({max}): give both, min < max < limit");
        return Err(ParameterError::Conflict { name: "min", why });
    }
    if weight_for(min, burst, packet).is_none() {
        let why = format!(
            "({burst} packets) does not go with `min` ({min} b): give more packets, or a larger `avpkt`"
        );
        return Err(ParameterError::Conflict { name: "burst", why });
    }
    [("max", max), ("min", min), ("burst", burst)].iter().for_each(|(name, value)| given.set(name, *value));
    Ok(())
}

fn build(given: &Parameters, device: &Attachment, inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let value = |name| given.require(name);
    let (min, packet) = (value("min")?, value("avpkt")?);
    let weight = weight_for(min, value("burst")?, packet).unwrap_or(1);
    let sample = Rate::from_bits_per_sec(value("bandwidth")?).time_for(Bytes(packet));
    let child = Peekable::new(match inner.child {
        Some(child) => child,
        None => Box::new(Bfifo::new(value("limit")?, device)),
    });
    Ok(Box::new(RedQueue {
        law: Red::new(value("probability")?),
        settings: RedSettings::new(min, value("max")?, weight, sample),
        action: Action {
            ecn: value("ecn")? == 1,
            harddrop: value("harddrop")? == 1,
            nodrop: value("nodrop")? == 1,
        },
        adaptive: value("adaptive")? == 1 && device.adapts_red,
        child,
        ledger: Ledger::default(),
        marked: 0,
        early: 0,
        refused: 0,
    }))
}

impl Qdisc for RedQueue {
    #[inline]
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        if self.adaptive {
            self.law.adapt(&self.settings, context.now);
        }
        self.ledger.arrive(&packet);
        let backlog = self.child.backlog().bytes;
        let verdict = self.law.arrive(backlog, &self.settings, context.now, context.draws);
        if verdict != RedVerdict::Pass && self.hit(verdict, &mut packet) {
            self.early += 1;
            self.ledger.drop(&packet);
            context.refuse(packet, DropReason::Aqm);
            return Enqueued::Congestion;
        }
        let before = context.effects.dropped.len();
        let answer = self.child.enqueue(packet, context);
        self.refused += (context.effects.dropped.len() - before) as u64;
        self.ledger.drop_since(before, &context.effects.dropped);
        answer
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let before = context.effects.dropped.len();
        let answer = self.child.dequeue(context);
        self.ledger.drop_waiting_since(before, &context.effects.dropped);
        match &answer {
            Dequeued::Packet(packet) => self.ledger.leave(packet),
            _ => self.law.ran_empty(context.now),
        }
        answer
    }

    fn peek(&mut self, context: &mut Context<'_>) -> Option<Peeked> {
        let before = context.effects.dropped.len();
        let found = self.child.peek(context);
        self.ledger.drop_waiting_since(before, &context.effects.dropped);
        Some(found)
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
        show("marked", self.marked);
        show("early", self.early);
        show("pdrop", self.refused);
        show("other", 0);
        if self.adaptive {
            show("max_P", self.law.max_probability());
        }
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        show(self.child.as_ref());
    }
}

impl RedQueue {
    /// Marks a packet that is hit, if possible; true if it must be dropped.
    fn hit(&mut self, verdict: RedVerdict, packet: &mut Packet) -> bool {
        self.ledger.overlimits += 1;
        let spared = self.action.ecn && !(verdict == RedVerdict::Forced && self.action.harddrop);
        if spared && packet.mark() {
            self.marked += 1;
            self.ledger.marked += 1;
            return false;
        }
        !(spared && self.action.nodrop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};
    use tailback_packet::Ecn;
    use tailback_units::Span;

    const MBIT: u64 = 1_000_000;
    const TBF: &[(&str, u64)] = &[("rate", 10 * MBIT), ("burst", 10_000), ("limit", 400_000)];

    /// A queue kept at `held` full frames, for `arrivals` arrivals.
    fn arrivals(rig: &mut Rig, held: u32, arrivals: u32, like: &Packet) -> u32 {
        let mut accepted = 0;
        for _ in 0..arrivals {
            accepted += u32::from(rig.enqueue(like.clone()) == Enqueued::Queued);
            while rig.qdisc.backlog().packets > held {
                rig.dequeue();
            }
        }
        accepted
    }

    #[test]
    fn the_defaults_of_the_worked_example() {
        let given = Parameters::new([("limit".into(), 400_000), ("avpkt".into(), 1000)].into());
        let resolved = crate::registry::resolve("red", &given, &Attachment::default()).unwrap();
        let of = |name| resolved.given(name).unwrap();
        assert_eq!(["max", "min", "burst", "bandwidth"].map(of), [100_000, 33_333, 55, 10_000_000]);
    }

    #[test]
    fn of_two_thresholds_the_one_that_is_not_given_follows_from_the_other() {
        let of = |name: &str, value| {
            let given = [("limit", 400_000), ("avpkt", 1000), (name, value)]
                .map(|(name, value)| (name.into(), value));
            let resolved =
                crate::registry::resolve("red", &Parameters::new(given.into()), &Attachment::default());
            let resolved = resolved.expect("the rest follows");
            (resolved.given("min"), resolved.given("max"))
        };
        assert_eq!(of("min", 20_000), (Some(20_000), Some(60_000)));
        assert_eq!(of("max", 60_000), (Some(20_000), Some(60_000)));
    }

    #[test]
    fn the_sender_of_a_dropped_packet_gets_congestion() {
        let mut rig = Rig::of("red", &[("limit", 400_000), ("avpkt", 1000)]);
        let accepted = arrivals(&mut rig, 100, 5000, &packet(0, 1514));
        assert!(accepted < 5000 && rig.counter("early") == u64::from(5000 - accepted));
        assert_eq!(rig.qdisc.counters().overlimits, rig.counter("early"));
    }

    #[test]
    fn with_ecn_capable_packets_are_only_marked_unless_harddrop() {
        let capable = Packet { ecn: Ecn::Ect0, ..packet(0, 1514) };
        let ecn = [("limit", 400_000), ("avpkt", 1000), ("ecn", 1)];
        let mut rig = Rig::of("red", &ecn);
        assert_eq!(arrivals(&mut rig, 100, 3000, &capable), 3000);
        assert!(rig.counter("marked") > 100);
        let mut hard = Rig::of("red", &[ecn[0], ecn[1], ecn[2], ("harddrop", 1)]);
        assert!(arrivals(&mut hard, 100, 3000, &capable) < 3000);
    }

    #[test]
    fn nodrop_enqueues_packets_that_cannot_be_marked() {
        let mut rig = Rig::of("red", &[("limit", 400_000), ("avpkt", 1000), ("ecn", 1), ("nodrop", 1)]);
        assert_eq!(arrivals(&mut rig, 100, 3000, &packet(0, 1514)), 3000);
    }

    #[test]
    fn a_short_limit_is_reached_before_the_average_rises() {
        let given = [("limit", 30_000), ("avpkt", 1000), ("min", 20_000), ("max", 25_000), ("burst", 500)];
        let mut rig = Rig::of("red", &given);
        rig.fill(30, &packet(0, 1514));
        assert_eq!((rig.counter("pdrop"), rig.counter("early")), (11, 0));
    }

    #[test]
    fn a_minimum_above_the_maximum_is_refused() {
        let given = [("limit", 400_000), ("avpkt", 1000), ("min", 5000), ("max", 4000)];
        let given = Parameters::new(given.iter().map(|(name, value)| ((*name).into(), *value)).collect());
        let message =
            crate::registry::resolve("red", &given, &Attachment::default()).unwrap_err().to_string();
        assert!(message.contains("`min` (5000) is above `max` (4000)"), "{message}");
    }

    #[test]
    fn the_average_decays_while_the_device_finds_the_queue_empty_but_not_below_a_shaper() {
        let given = [("limit", 400_000), ("avpkt", 1000), ("burst", 55), ("min", 10_000), ("max", 30_000)];
        let shapers: [(&str, &[(&str, u64)]); 2] = [("htb", &[("rate", 10 * MBIT)]), ("tbf", TBF)];
        let accepted = |mut rig: Rig| {
            rig.fill(400, &packet(0, 1514));
            loop {
                match rig.dequeue() {
                    Dequeued::Packet(_) => rig.advance(Span::from_millis(2)),
                    Dequeued::NotBefore(at) => rig.now = at,
                    Dequeued::Empty => break,
                }
            }
            rig.advance(Span::from_secs(10));
            rig.enqueue(packet(0, 1514)) == Enqueued::Queued
        };
        assert!(accepted(Rig::of("red", &given)));
        for (shaper, options) in shapers {
            let red = Rig::of("red", &given).qdisc;
            assert!(!accepted(Rig::over(shaper, options, Some(red))), "{shaper}");
        }
    }
}
