//! The cell: radios that share one channel, one exchange after the other.
//!
//! ```text
//! idle ─ access ─▶ sending ─ end of the PPDU ─▶ answering ─ end of the response ─▶ idle
//!                     └─ two at the same instant, or every MPDU lost: no response, time-out ─▶ idle
//! ```
//! After a collision the medium is busy until the longer PPDU ends; from then on who took part waits a time-out and
//! AIFS, who did not waits EIFS. One event per contention outcome and two per exchange, none per slot.
//! [ieee80211-2016 §10.22.2] Deviations: all radios hear each other and decode every response; a PPDU that collides
//! is lost whole (no capture).

use rand_core::Rng;
use tailback_packet::{DropReason, Packet, SocketId};
use tailback_qdisc::Desk;
use tailback_units::{SimTime, Span};

use crate::StationId;
use crate::aggregate::ClosedBy;
use crate::contend::Exchange;
use crate::phy::Band;
use crate::station::{Acknowledged, Station, Status};

/// Bytes of an ACK, a CTS, an RTS and a compressed block ack.
const ACK: u32 = 14;
const RTS: u32 = 20;
const BLOCK_ACK: u32 = 32;
/// From the end of a PPDU until a response that has not begun will not come, beyond SIFS and a slot: the PHY's delay.
const PHY_START: Span = Span::from_micros(20);

/// What all radios of a cell share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellSettings {
    /// Where the channel is.
    pub band: Band,
    /// Every PPDU is announced by RTS and CTS.
    pub rts: bool,
}

/// What came out of the cell.
#[derive(Debug)]
pub enum Outcome {
    /// A packet for the host of a radio.
    Received(StationId, Box<Packet>),
    /// The host of a radio is done with so much of a socket's data.
    Credit(SocketId, u32),
    /// The driver of a radio takes packets again.
    Accepts(StationId),
    /// A PPDU was on the air.
    Sent(Ppdu),
}

/// A PPDU, as the `wifi` table shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ppdu {
    /// When it began.
    pub began: SimTime,
    /// From whom.
    pub from: StationId,
    /// For whom.
    pub to: StationId,
    /// MPDUs in it.
    pub mpdus: u32,
    /// MPDUs that arrived.
    pub received: u32,
    /// Bytes of the IP packets in it.
    pub ip_bytes: u32,
    /// Bytes of the PSDU.
    pub psdu_bytes: u32,
    /// How long it lasted.
    pub duration: Span,
    /// Transmissions of it before.
    pub tries: u32,
    /// Radios that sent at the same instant, this one included; 0 without a collision.
    pub colliders: u32,
    /// From when it was first in its hardware queue and the medium was its own to contend for.
    pub access_delay: Span,
    /// Packets that waited in the host.
    pub queued: u32,
    /// Why it was not longer.
    pub closed_by: ClosedBy,
}

/// What the cell may use while it works.
pub struct Studio<'a> {
    /// The instant of this call.
    pub now: SimTime,
    /// Random draws, a source for each radio.
    pub draws: &'a mut [Box<dyn Rng + Send>],
    /// Packets dropped, with the reason.
    pub dropped: &'a mut Vec<(Box<Packet>, DropReason)>,
    /// As on the desk of a discipline.
    pub credits: &'a mut Vec<(SocketId, u32)>,
    /// As on the desk of a discipline.
    pub copies: &'a mut Vec<Box<Packet>>,
}

impl Studio<'_> {
    fn desk(&mut self, station: usize) -> Desk<'_> {
        Desk {
            now: self.now,
            draws: self.draws[station].as_mut(),
            dropped: self.dropped,
            credits: self.credits,
            copies: self.copies,
            is_copy: false,
        }
    }
}

/// What the medium is used for.
enum Air {
    Idle,
    Sending { until: SimTime, senders: Vec<Sender> },
    Answering { until: SimTime, sender: Sender, status: Status },
}

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sender {
    station: usize,
    category: usize,
    ends: SimTime,
}

/// Radios on one channel.
pub struct Cell {
    settings: CellSettings,
    stations: Vec<Station>,
    air: Air,
    /// When the first of the waiting radios sends, while the medium is idle.
    access: SimTime,
    outcomes: Vec<Outcome>,
}

impl Cell {
    /// A silent cell.
    pub fn new(settings: CellSettings, stations: Vec<Station>) -> Self {
        Cell { settings, stations, air: Air::Idle, access: SimTime::NEVER, outcomes: Vec::new() }
    }

    /// The driver of a radio takes packets.
    pub fn accepts(&self, station: StationId) -> bool {
        self.stations[station.index()].accepts()
    }

    /// The host of radio `from` has a packet for radio `to`.
    pub fn transmit(&mut self, from: StationId, to: StationId, packet: Box<Packet>, studio: &mut Studio<'_>) {
        let station = &mut self.stations[from.index()];
        station.transmit(to, packet, &mut studio.desk(from.index()));
        self.contend(from.index(), studio);
    }

    /// When something happens next.
    pub fn deadline(&self) -> SimTime {
        match &self.air {
            Air::Idle => self.access,
            Air::Sending { until, .. } | Air::Answering { until, .. } => *until,
        }
    }

    /// Does what is due.
    pub fn advance(&mut self, studio: &mut Studio<'_>) {
        if self.deadline() != studio.now {
            return;
        }
        match std::mem::replace(&mut self.air, Air::Idle) {
            Air::Idle => self.send(studio),
            Air::Sending { senders, .. } if senders.len() == 1 => self.sent(senders[0], studio),
            Air::Sending { until, senders } => self.collided(until, &senders, studio),
            Air::Answering { sender, status, .. } => self.answered(sender, status, studio),
        }
    }

    /// What came out since the last call.
    pub fn outcomes(&mut self) -> impl Iterator<Item = Outcome> + '_ {
        self.outcomes.drain(..)
    }

    /// Packets inside.
    pub fn packets(&self) -> usize {
        self.stations.iter().map(Station::packets).sum()
    }

    /// A radio of the cell.
    pub fn station(&self, station: StationId) -> &Station {
        &self.stations[station.index()]
    }

    /// A radio may have got something to send.
    fn contend(&mut self, index: usize, studio: &mut Studio<'_>) {
        let busy = !matches!(self.air, Air::Idle);
        let station = &mut self.stations[index];
        for category in 0..station.contenders.len() {
            if station.has_frames(category) {
                station.contenders[category].wait(studio.now, busy, studio.draws[index].as_mut());
                if !busy && let Some(access) = station.contenders[category].access() {
                    self.access = self.access.min(access);
                }
            }
        }
    }

    /// The medium is won: by one radio, or by several at once.
    fn send(&mut self, studio: &mut Studio<'_>) {
        let now = studio.now;
        let mut senders = Vec::new();
        for (index, station) in self.stations.iter_mut().enumerate() {
            let mut won = None;
            for category in 0..station.contenders.len() {
                let contender = &mut station.contenders[category];
                let draws = studio.draws[index].as_mut();
                match (contender.access() == Some(now), won) {
                    (true, None) => won = Some(category),
                    (true, Some(_)) => contender.exchanged(Exchange::Failed, Some(now), draws),
                    (false, _) => contender.medium_busy(now, draws),
                }
            }
            senders.extend(won.map(|category| Sender { station: index, category, ends: now }));
        }
        for sender in &mut senders {
            sender.ends = now + self.time_on_air(*sender);
        }
        let mut until = senders.iter().map(|sender| sender.ends).max().unwrap_or(now);
        if self.settings.rts && senders.len() > 1 {
            until = now + self.settings.band.legacy_frame(RTS, 96);
            senders.iter_mut().for_each(|sender| sender.ends = until);
        }
        self.air = Air::Sending { until, senders };
    }

    /// How long the data of a sender needs, with what announces it.
    fn time_on_air(&mut self, sender: Sender) -> Span {
        let announced = if self.settings.rts {
            let band = self.settings.band;
            band.legacy_frame(RTS, 96) + band.sifs() * 2 + band.legacy_frame(ACK, 96)
        } else {
            Span::ZERO
        };
        let station = &mut self.stations[sender.station];
        let queued = station.queued();
        let duration = station.head(sender.category).map_or(Span::ZERO, |aggregate| {
            aggregate.left_behind = queued;
            aggregate.duration
        });
        announced + duration
    }

    /// A PPDU that did not collide has ended: the receiver has what was not lost.
    fn sent(&mut self, sender: Sender, studio: &mut Studio<'_>) {
        let Sender { station, category, ends } = sender;
        let from = StationId(station as u16);
        let Some(aggregate) = self.stations[station].head(category) else { return };
        let (to, aggregated) = (aggregate.to, aggregate.is_aggregate());
        let mut row = row_of(aggregate, from, ends);
        let frames = std::mem::take(&mut aggregate.frames);
        let link = *self.stations[station].link(to).expect("an aggregate is for a station that is reached");
        let mut status = Status::default();
        let mut up = Vec::new();
        let mut lost = std::collections::VecDeque::new();
        for mut frame in frames {
            if link.loss > 0 && studio.draws[station].next_u32() < link.loss {
                lost.push_back(frame);
                continue;
            }
            let credit = frame.packet.charged.then_some((frame.packet.from, frame.packet.truesize));
            frame.packet.charged = false;
            let (sequence, bytes) = (frame.sequence, frame.bytes);
            status.acknowledged.push(Acknowledged { sequence, bytes, credit });
            self.stations[to.index()].receive(category, from, (frame.sequence, frame.packet), &mut up);
        }
        row.received = status.acknowledged.len() as u32;
        self.stations[station].head(category).expect("it is on the air").frames = lost;
        self.stations[to.index()].charge_received(category, from, row.duration);
        self.outcomes.push(Outcome::Sent(row));
        self.outcomes.extend(up.into_iter().map(|packet| Outcome::Received(to, packet)));
        if row.received == 0 {
            return self.unanswered(sender, studio);
        }
        let response = if aggregated { BLOCK_ACK } else { ACK };
        let band = self.settings.band;
        let until = ends + band.sifs() + band.legacy_frame(response, link.mode.response_bits());
        self.air = Air::Answering { until, sender, status };
    }

    /// The response has ended.
    fn answered(&mut self, sender: Sender, status: Status, studio: &mut Studio<'_>) {
        self.settle(sender, Exchange::Answered, &status, studio);
        self.outcomes.extend(
            status
                .acknowledged
                .iter()
                .filter_map(|frame| frame.credit)
                .map(|(id, size)| Outcome::Credit(id, size)),
        );
        let band = self.settings.band;
        self.idle_from(studio.now, |contender| contender.edca().aifs(band));
    }

    /// Every MPDU was lost: the sender waits for a response in vain, the others heard noise.
    fn unanswered(&mut self, sender: Sender, studio: &mut Studio<'_>) {
        let ends = studio.now;
        self.failed(sender, ends, studio);
        self.idle_after_noise(ends, &[sender]);
    }

    /// Several sent at once and nobody understood.
    fn collided(&mut self, until: SimTime, senders: &[Sender], studio: &mut Studio<'_>) {
        for &sender in senders {
            let station = &mut self.stations[sender.station];
            if let Some(aggregate) = station.head(sender.category) {
                let row = row_of(aggregate, StationId(sender.station as u16), sender.ends);
                self.outcomes.push(Outcome::Sent(Ppdu { colliders: senders.len() as u32, ..row }));
            }
            self.failed(sender, until, studio);
        }
        self.idle_after_noise(until, senders);
    }

    /// A transmission had no response.
    fn failed(&mut self, sender: Sender, now: SimTime, studio: &mut Studio<'_>) {
        if self.stations[sender.station].unanswered(sender.category, now) {
            self.settle(sender, Exchange::GivenUp, &Status::default(), studio);
        } else {
            let contender = &mut self.stations[sender.station].contenders[sender.category];
            contender.exchanged(Exchange::Failed, Some(now), studio.draws[sender.station].as_mut());
        }
    }

    /// The frames of the PPDU at the head are settled or sent again, and the next one comes to the head.
    fn settle(&mut self, sender: Sender, exchange: Exchange, status: &Status, studio: &mut Studio<'_>) {
        let Sender { station: index, category, .. } = sender;
        let station = &mut self.stations[index];
        let accepted = station.accepts();
        let moved = station.complete(category, status, &mut studio.desk(index));
        if !accepted && station.accepts() {
            self.outcomes.push(Outcome::Accepts(StationId(index as u16)));
        }
        let next = station.has_frames(category).then_some(studio.now);
        station.contenders[category].exchanged(exchange, next, studio.draws[index].as_mut());
        if let Some((to, start)) = moved {
            let mut up = Vec::new();
            self.stations[to.index()].move_window(category, StationId(index as u16), start, &mut up);
            self.outcomes.extend(up.into_iter().map(|packet| Outcome::Received(to, packet)));
        }
    }

    /// The medium was used by PPDUs that were not answered: EIFS for those who heard them, the time-out for those who
    /// sent them.
    fn idle_after_noise(&mut self, until: SimTime, senders: &[Sender]) {
        let band = self.settings.band;
        let extended = band.sifs() + band.legacy_frame(ACK, 24);
        self.idle_from(until, |contender| extended + contender.edca().aifs(band));
        let timeout = band.sifs() + band.slot() + PHY_START;
        for sender in senders {
            for contender in &mut self.stations[sender.station].contenders {
                let resume = until + timeout + contender.edca().aifs(band);
                contender.medium_idle(resume);
            }
        }
        self.find_access();
    }

    /// The medium is idle from `now` on.
    fn idle_from(&mut self, now: SimTime, space: impl Fn(&crate::contend::Contender) -> Span) {
        self.air = Air::Idle;
        for station in &mut self.stations {
            for contender in &mut station.contenders {
                let resume = now + space(contender);
                contender.medium_idle(resume);
            }
        }
        self.find_access();
    }

    fn find_access(&mut self) {
        let contenders = self.stations.iter().flat_map(|station| &station.contenders);
        self.access = contenders.filter_map(|contender| contender.access()).min().unwrap_or(SimTime::NEVER);
    }
}

fn row_of(aggregate: &crate::aggregate::Aggregate, from: StationId, ends: SimTime) -> Ppdu {
    let began = ends - aggregate.duration;
    Ppdu {
        began,
        from,
        to: aggregate.to,
        mpdus: aggregate.frames.len() as u32,
        received: 0,
        ip_bytes: aggregate.frames.iter().map(|frame| frame.packet.ip_length).sum(),
        psdu_bytes: aggregate.bytes,
        duration: aggregate.duration,
        tries: aggregate.failures,
        colliders: 0,
        access_delay: began.since(aggregate.at_head),
        queued: aggregate.left_behind,
        closed_by: aggregate.closed_by,
    }
}
