//! What a link does to packets between the departure of their last bit and their arrival: delay, jitter, loss,
//! duplication, corruption, reordering, and being down.
//!
//! `netem` with the options of the link does this, as a netem behind the receiving device does on a real testbed; here
//! it has no limit. **A link keeps the order of packets**: with jitter or after a change to a shorter delay, no packet
//! overtakes another, except by `reorder`. (netem keeps the order if it has a `rate`. With jitter it therefore gets one
//! that is practically infinite: a nanosecond per full frame.)
//!
//! A change of a link does not affect packets on their way: they arrive as before, and later packets do not overtake
//! them. While a link is down, packets leave the device and are lost.
//!
//! Source: [linux-6.12 sch_netem.c netem_enqueue]. Deviation: a change restarts the correlation of loss and jitter.

use std::collections::{BTreeMap, VecDeque};

use rand_core::Rng;
use tailback_packet::{DropReason, ETHERNET_HEADER, Packet};
use tailback_qdisc::registry::{BuildError as QdiscError, build_over};
use tailback_qdisc::{Attachment, Context as QdiscContext, Dequeued, Inner, Leak, Qdisc, check_conservation};
use tailback_units::{ParameterError, Parameters, Rate, SimTime};

/// Limit of netem: more packets than a run can have.
const LIMIT: u64 = u32::MAX as u64;
/// 10 Tbit/s, the maximum of netem: keeps the order and takes no time.
const IN_ORDER: u64 = 10_000_000_000_000;

/// Whether packets get through a link at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carrier {
    /// They do.
    Up,
    /// They are lost.
    Down,
}

/// The impairments of a link: its delay, and options under netem's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Treatment {
    pub(crate) delay_ns: u64,
    pub(crate) netem: BTreeMap<String, u64>,
    pub(crate) mtu: u32,
}

/// One direction of a link with impairments.
pub(crate) struct Path {
    treatment: Treatment,
    pub(crate) carrier: Carrier,
    /// Packets on their way, by the impairments when they left; the newest are last.
    on_the_way: VecDeque<Box<dyn Qdisc>>,
    /// When the first of them arrives, as the calendar has it; other arrivals are stale.
    pub(crate) next: SimTime,
}

impl Path {
    pub(crate) fn new(treatment: Treatment) -> Result<Self, ParameterError> {
        let first = netem(&treatment)?;
        let on_the_way = VecDeque::from([first]);
        Ok(Path { treatment, carrier: Carrier::Up, on_the_way, next: SimTime::NEVER })
    }

    /// How packets are treated that leave now.
    pub(crate) fn treatment(&self) -> &Treatment {
        &self.treatment
    }

    /// Sets the impairments of packets that leave from now on; they were checked.
    pub(crate) fn change(&mut self, treatment: Treatment) {
        if treatment != self.treatment {
            self.on_the_way
                .push_back(netem(&treatment).expect("changes were tried when the world was built"));
            self.treatment = treatment;
        }
    }

    /// A packet has left the device.
    pub(crate) fn enter(&mut self, packet: Box<Packet>, context: &mut QdiscContext<'_>) {
        if self.carrier == Carrier::Down {
            return context.refuse(packet, DropReason::LinkDown);
        }
        if let Some(newest) = self.on_the_way.back_mut() {
            newest.enqueue(packet, context);
        }
    }

    /// The next packet that has arrived, or the time of the next arrival.
    pub(crate) fn pop_arrived(&mut self, context: &mut QdiscContext<'_>) -> Dequeued {
        loop {
            let Some(oldest) = self.on_the_way.front_mut() else { return Dequeued::Empty };
            match oldest.dequeue(context) {
                Dequeued::Empty if self.on_the_way.len() > 1 => drop(self.on_the_way.pop_front()),
                arrived => return arrived,
            }
        }
    }

    /// What is on its way is what the ledgers say. Empties the path.
    pub(crate) fn check_conservation(&mut self, now: SimTime, draws: &mut dyn Rng) -> Result<(), Leak> {
        self.on_the_way.iter_mut().try_for_each(|netem| check_conservation(netem.as_mut(), now, draws))
    }

    /// Packets on their way.
    pub(crate) fn packets(&self) -> usize {
        self.on_the_way.iter().map(|context| context.backlog().packets as usize).sum()
    }
}

/// The netem of a link.
fn netem(treatment: &Treatment) -> Result<Box<dyn Qdisc>, ParameterError> {
    let mut options = Parameters::new(treatment.netem.clone());
    options.set("limit", LIMIT);
    options.set("delay", treatment.delay_ns);
    if treatment.netem.get("jitter").is_some_and(|&jitter| jitter > 0) {
        options.set("rate", IN_ORDER);
    }
    let device =
        Attachment { mtu: treatment.mtu + ETHERNET_HEADER, rate: Rate::UNLIMITED, ..Attachment::default() };
    build_over("netem", &options, &device, Inner::default()).map_err(|error| match error {
        QdiscError::Parameter { error, .. } => error,
        other => unreachable!("netem is a discipline without classes: {other}"),
    })
}
