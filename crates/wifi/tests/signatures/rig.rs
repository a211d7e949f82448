//! A cell whose radios always have datagrams to send, or send them at a rate.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailback_packet::{DropReason, Ecn, HostId, Packet, Payload, SocketId};
use tailback_units::{SimTime, Span};
use tailback_wifi::driver::{self, Profile};
use tailback_wifi::phy::{Format, Guard};
use tailback_wifi::{
    AccessCategory, Band, Cell, CellSettings, Edca, Link, Mode, Outcome, Ppdu, Station, StationId, Studio,
};

/// Payload of a datagram that fills 1500 bytes.
const PAYLOAD: u64 = 1472;

/// A cell and those who send in it.
pub(crate) struct Rig {
    pub(crate) cell: Cell,
    draws: Vec<Box<dyn Rng + Send>>,
    dropped: Vec<(Box<Packet>, DropReason)>,
    senders: Vec<(u16, u16)>,
    pub(crate) ppdus: Vec<Ppdu>,
    /// Packets received from each radio.
    pub(crate) received: Vec<u64>,
    pub(crate) credits: u64,
    pub(crate) drops: u64,
    now: SimTime,
}

/// What a rig is made of.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) profile: Profile,
    pub(crate) modes: Vec<Mode>,
    pub(crate) loss: f64,
    pub(crate) rts: bool,
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
            rts: false,
            band: Band::Ghz5,
            overhead: 38,
            seed: 1,
        }
    }

    pub(crate) fn frames(mut self, frames: u32) -> Self {
        self.profile.limits.frames = frames;
        self
    }

    pub(crate) fn build(&self) -> Rig {
        let stations = self.modes.len() + 1;
        let link = |mode| Some(Link { mode, loss: (self.loss * 4_294_967_296.0) as u32 });
        let edca = AccessCategory::ALL.map(Edca::station);
        let radios = (0..stations).map(|index| {
            let links = (0..stations)
                .map(|other| match (index, other) {
                    (0, 0) => None,
                    (0, other) => link(self.modes[other - 1]),
                    (index, 0) => link(self.modes[index - 1]),
                    _ => None,
                })
                .collect();
            Station::new(self.profile, self.band, self.overhead, edca, links)
        });
        let settings = CellSettings { band: self.band, rts: self.rts };
        let seed = self.seed;
        Rig {
            cell: Cell::new(settings, radios.collect()),
            draws: (0..stations as u64)
                .map(|at| {
                    Box::new(Xoshiro256PlusPlus::seed_from_u64(seed * 1_000 + at)) as Box<dyn Rng + Send>
                })
                .collect(),
            dropped: Vec::new(),
            senders: (1..stations as u16).map(|at| (at, 0)).collect(),
            ppdus: Vec::new(),
            received: vec![0; stations],
            credits: 0,
            drops: 0,
            now: SimTime::ZERO,
        }
    }
}

impl Rig {
    /// Hands over one datagram.
    pub(crate) fn offer(&mut self, from: u16, to: u16, tos: u8) {
        let packet = Packet {
            from: SocketId(u32::from(from)),
            to: SocketId(100),
            source: HostId(from),
            destination: HostId(to),
            ip_length: 1500,
            segments: 1,
            ecn: Ecn::NotEct,
            tos,
            flow_hash: u32::from(from) * 0x0100_0000,
            truesize: 2304,
            charged: true,
            enqueued: self.now,
            departure: SimTime::ZERO,
            payload: Payload::EchoRequest { seq: u32::from(from) },
        };
        let Rig { cell, draws, dropped, now, .. } = self;
        cell.transmit(
            StationId(from),
            StationId(to),
            Box::new(packet),
            &mut Studio { now: *now, draws, dropped, credits: &mut Vec::new(), copies: &mut Vec::new() },
        );
        self.drops += self.dropped.drain(..).count() as u64;
    }

    /// One thing happens.
    pub(crate) fn step(&mut self) {
        let Rig { cell, draws, dropped, now, .. } = self;
        *now = cell.deadline();
        cell.advance(&mut Studio {
            now: *now,
            draws,
            dropped,
            credits: &mut Vec::new(),
            copies: &mut Vec::new(),
        });
        self.drops += self.dropped.drain(..).count() as u64;
        for outcome in self.cell.outcomes() {
            match outcome {
                Outcome::Received(_, packet) => self.received[packet.from.0 as usize] += 1,
                Outcome::Credit(..) => self.credits += 1,
                Outcome::Sent(ppdu) => self.ppdus.push(ppdu),
                Outcome::Accepts(_) => {}
            }
        }
    }

    /// Runs with all senders saturated.
    pub(crate) fn saturate(mut self, seconds: u64) -> Self {
        let end = SimTime::ZERO + Span::from_secs(seconds);
        while self.now < end {
            for (from, to) in self.senders.clone() {
                while self.cell.station(StationId(from)).packets() < 300 {
                    self.offer(from, to, 0);
                }
            }
            self.step();
        }
        self
    }

    /// Radio 1 is offered so many Mbit/s of IP packets.
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

    /// Share of transmissions that collided.
    pub(crate) fn collisions(&self) -> f64 {
        self.ppdus.iter().filter(|ppdu| ppdu.colliders > 0).count() as f64 / self.ppdus.len() as f64
    }
}
