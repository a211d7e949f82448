//! A cell whose radios send datagrams, saturated or at a rate.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailback_packet::{Ecn, HostId, Packet, Payload, SocketId};
use tailback_qdisc::Effects;
use tailback_units::{SimTime, Span};
use tailback_wifi::driver::{self, Profile};
use tailback_wifi::phy::{Format, Guard, LegacyRate};
use tailback_wifi::{
    AccessCategory, Band, Channel, ChannelSettings, Context, Edca, Hearing, Link, Loss, Mode, Outcome,
    Output, Ppdu, RateControl, Station, StationId,
};

/// Payload of a datagram that fills 1500 bytes.
const PAYLOAD: u64 = 1472;

/// Kernel memory of a packet.
const TRUESIZE: u32 = 2304;

/// A cell and its senders.
pub(crate) struct Rig {
    pub(crate) cell: Channel,
    draws: Vec<Box<dyn Rng + Send>>,
    effects: Effects,
    senders: Vec<(u16, u16)>,
    pub(crate) ppdus: Vec<Ppdu>,
    /// Packets received from each radio.
    pub(crate) received: Vec<u64>,
    /// Packets received by each radio.
    pub(crate) received_by: Vec<u64>,
    /// When packets were passed up, and the number of each in the order of all offered packets.
    pub(crate) arrivals: Vec<(SimTime, u32)>,
    /// Packets of each radio that have neither arrived nor been dropped.
    pub(crate) outstanding: Vec<u32>,
    /// Packets offered.
    pub(crate) offered: u32,
    pub(crate) credits: u64,
    pub(crate) drops: u64,
    /// Dropped packets whose socket was still charged for them.
    pub(crate) drops_charged: u64,
    pub(crate) now: SimTime,
}

/// The settings of a rig.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) profile: Profile,
    pub(crate) modes: Vec<Mode>,
    pub(crate) loss: f64,
    pub(crate) edca: [Edca; 4],
    pub(crate) beacons: Option<LegacyRate>,
    pub(crate) hearing: Hearing,
    pub(crate) band: Band,
    pub(crate) overhead: u32,
    pub(crate) seed: u64,
}

pub(crate) fn ht(width: u32, mcs: u32, guard: Guard) -> Mode {
    Mode::new(Format::Ht, width, mcs / 8 + 1, mcs % 8, guard).unwrap()
}

pub(crate) fn vht(width: u32, streams: u32, mcs: u32) -> Mode {
    Mode::new(Format::Vht, width, streams, mcs, Guard::Ns400).unwrap()
}

impl Plan {
    /// Radio 0 receives; `senders` others send to it at 300 Mbit/s.
    pub(crate) fn uplink(senders: usize) -> Self {
        Plan {
            profile: *driver::find("ath9k").unwrap(),
            modes: vec![ht(40, 15, Guard::Ns400); senders],
            loss: 0.0,
            edca: AccessCategory::ALL.map(Edca::station),
            beacons: None,
            hearing: Hearing::default(),
            band: Band::Ghz5,
            overhead: 38,
            seed: 1,
        }
    }

    /// Radio 0 sends to this many others at 300 Mbit/s.
    pub(crate) fn downlink(stations: usize) -> Self {
        Plan::uplink(stations)
    }

    pub(crate) fn frames(mut self, frames: u32) -> Self {
        self.profile.limits.frames = frames;
        self
    }

    pub(crate) fn build(&self) -> Rig {
        let stations = self.modes.len() + 1;
        let loss = Loss::new((self.loss * 4_294_967_296.0) as u32, None);
        let link = |mode| Some(Link { rates: RateControl::Fixed(mode), loss });
        let radios = (0..stations).map(|index| {
            let links = (0..stations)
                .map(|other| match (index, other) {
                    (0, 0) => None,
                    (0, other) => link(self.modes[other - 1]),
                    (index, 0) => link(self.modes[index - 1]),
                    _ => None,
                })
                .collect();
            let station = Station::new(self.profile, self.band, self.overhead, self.edca, links);
            match self.beacons {
                Some(rate) if index == 0 => station.with_beacons(rate, SimTime::ZERO),
                _ => station,
            }
        });
        let settings = ChannelSettings { band: self.band, hearing: self.hearing.clone() };
        let seed = self.seed;
        Rig {
            cell: Channel::new(settings, radios.collect()),
            draws: (0..stations as u64)
                .map(|at| {
                    Box::new(Xoshiro256PlusPlus::seed_from_u64(seed * 1_000 + at)) as Box<dyn Rng + Send>
                })
                .collect(),
            effects: Effects::default(),
            senders: (1..stations as u16).map(|at| (at, 0)).collect(),
            ppdus: Vec::new(),
            received: vec![0; stations],
            received_by: vec![0; stations],
            arrivals: Vec::new(),
            outstanding: vec![0; stations],
            offered: 0,
            credits: 0,
            drops: 0,
            drops_charged: 0,
            now: SimTime::ZERO,
        }
    }
}

impl Rig {
    /// Hands over one datagram.
    pub(crate) fn offer(&mut self, from: u16, to: u16, tos: u8) {
        self.offered += 1;
        self.outstanding[usize::from(from)] += 1;
        let packet = Packet {
            from: SocketId(u32::from(from)),
            to: SocketId(100),
            source: HostId(from),
            destination: HostId(to),
            ip_length: 1500,
            segments: 1,
            ecn: Ecn::NotEct,
            tos,
            flow_hash: u32::from(from) * 0x0100_0000 + u32::from(to) * 0x1000_0000,
            truesize: TRUESIZE,
            charged: true,
            queue_length: tailback_packet::QueueLength::NONE,
            enqueued: self.now,
            departure: SimTime::ZERO,
            payload: Payload::EchoRequest { seq: self.offered },
        };
        let Rig { cell, draws, effects, now, .. } = self;
        cell.transmit(
            StationId(from),
            StationId(to),
            Box::new(packet),
            &mut Context { now: *now, draws, effects },
        );
        self.count_drops();
    }

    /// Processes one event.
    pub(crate) fn step(&mut self) {
        let Rig { cell, draws, effects, now, .. } = self;
        *now = cell.deadline();
        assert_ne!(*now, SimTime::NEVER, "{} packets are stuck", cell.packets());
        cell.advance(&mut Context { now: *now, draws, effects });
        self.count_drops();
        let mut output = Output::default();
        self.cell.swap_output(&mut output);
        let mut received = output.received.into_iter();
        for outcome in output.outcomes {
            match outcome {
                Outcome::Received(to, packets, _) => {
                    for packet in received.by_ref().take(packets as usize) {
                        self.received[packet.from.0 as usize] += 1;
                        self.outstanding[packet.from.0 as usize] -= 1;
                        self.received_by[usize::from(to.0)] += 1;
                        let Payload::EchoRequest { seq } = packet.payload else { continue };
                        self.arrivals.push((self.now, seq));
                    }
                }
                Outcome::Credit(_, _, truesize) => self.credits += u64::from(truesize / TRUESIZE),
                Outcome::Sent(ppdu) => self.ppdus.push(ppdu),
                Outcome::Dropped(_, packet, _) => {
                    self.outstanding[packet.from.0 as usize] -= 1;
                    self.drops += 1;
                    self.drops_charged += u64::from(packet.charged);
                }
                Outcome::Accepts(_) | Outcome::Marked(..) => {}
            }
        }
    }

    fn count_drops(&mut self) {
        for (packet, _) in self.effects.dropped.drain(..) {
            self.outstanding[packet.from.0 as usize] -= 1;
            self.drops += 1;
            self.drops_charged += u64::from(packet.charged);
        }
    }

    /// Runs with all senders saturated.
    pub(crate) fn saturate(self, seconds: u64) -> Self {
        let tos = vec![0; self.senders.len()];
        self.saturate_as(&tos, seconds)
    }

    /// Runs with all senders saturated, each with packets of its own type of service.
    pub(crate) fn saturate_as(mut self, tos: &[u8], seconds: u64) -> Self {
        let end = SimTime::ZERO + Span::from_secs(seconds);
        while self.now < end {
            for (&(from, to), &tos) in self.senders.clone().iter().zip(tos) {
                while self.outstanding[usize::from(from)] < 300 {
                    self.offer(from, to, tos);
                }
            }
            self.step();
        }
        self
    }

    /// Runs with radio 0 saturated towards these others.
    pub(crate) fn saturate_downlink(mut self, to: &[u16], seconds: u64) -> Self {
        let mut offered = vec![0; self.received.len()];
        let end = SimTime::ZERO + Span::from_secs(seconds);
        while self.now < end {
            for &to in to {
                while offered[usize::from(to)] < self.received_by[usize::from(to)] + 300 {
                    offered[usize::from(to)] += 1;
                    self.offer(0, to, 0);
                }
            }
            self.step();
        }
        self
    }

    /// Runs until no event is left.
    pub(crate) fn drain(&mut self) {
        while self.cell.packets() > 0 {
            self.step();
        }
    }

    /// Radio 1 is offered this many Mbit/s of IP packets.
    pub(crate) fn load(mut self, mbps: f64, seconds: u64) -> Self {
        let gap = Span::from_nanos((1500.0 * 8e3 / mbps) as u64);
        let (end, mut next) = (SimTime::ZERO + Span::from_secs(seconds), SimTime::ZERO);
        while next < end {
            if self.cell.deadline() <= next {
                self.step();
            } else {
                self.now = next;
                self.offer(1, 0, 0);
                next += gap;
            }
        }
        self
    }

    /// Goodput of UDP's payload to a radio.
    pub(crate) fn mbps_to(&self, to: usize) -> f64 {
        (self.received_by[to] * PAYLOAD * 8) as f64 / self.now.as_secs_f64() / 1e6
    }

    /// Time on the air of PPDUs from or to a radio.
    pub(crate) fn airtime(&self, radio: u16) -> f64 {
        let own = |ppdu: &&Ppdu| ppdu.from.0 == radio || ppdu.to.0 == radio;
        self.ppdus.iter().filter(own).map(|ppdu| ppdu.duration.as_secs_f64()).sum()
    }

    /// MPDUs per PPDU.
    pub(crate) fn mean_mpdus(&self) -> f64 {
        self.ppdus.iter().map(|ppdu| f64::from(ppdu.mpdus)).sum::<f64>() / self.ppdus.len() as f64
    }

    /// Goodput of UDP's payload from a radio.
    pub(crate) fn mbps(&self, from: usize) -> f64 {
        (self.received[from] * PAYLOAD * 8) as f64 / self.now.as_secs_f64() / 1e6
    }

    pub(crate) fn total_mbps(&self) -> f64 {
        (0..self.received.len()).map(|from| self.mbps(from)).sum()
    }

    /// Mean time from the head of the hardware queue to the air, of PPDUs that a radio sent.
    pub(crate) fn mean_access_us(&self, from: u16) -> f64 {
        let own = self.ppdus.iter().skip(1).filter(|ppdu| ppdu.from.0 == from);
        let delays: Vec<f64> = own.map(|ppdu| ppdu.access_delay.as_secs_f64() * 1e6).collect();
        delays.iter().sum::<f64>() / delays.len() as f64
    }

    /// Mean number of slots, AIFS and EIFS not counted, in which nobody sent.
    pub(crate) fn idle_slots(&self) -> f64 {
        let mut accesses: Vec<(SimTime, SimTime, u32)> = Vec::new();
        let mut in_order = self.ppdus.clone();
        in_order.sort_by_key(|ppdu| ppdu.began);
        for ppdu in &in_order {
            let end = ppdu.began + ppdu.duration;
            match accesses.last_mut() {
                Some((began, last, _)) if *began == ppdu.began => *last = (*last).max(end),
                _ => accesses.push((ppdu.began, end, ppdu.colliders)),
            }
        }
        // After a response 16 + 32 + 43 us pass, after a collision 45 + 43 for those who took part.
        let space = |colliders: u32| Span::from_micros(if colliders == 0 { 91 } else { 88 });
        let slots = accesses
            .windows(2)
            .map(|pair| pair[1].0.since(pair[0].1).saturating_sub(space(pair[0].2)).as_micros() / 9);
        slots.sum::<u64>() as f64 / (accesses.len() - 1) as f64
    }

    /// Share of transmissions that collided.
    pub(crate) fn collisions(&self) -> f64 {
        self.ppdus.iter().filter(|ppdu| ppdu.colliders > 0).count() as f64 / self.ppdus.len() as f64
    }
}
