//! Radios that share one channel.
//!
//! ```text
//! idle ─ access ─▶ [RTS] ─▶ PPDU ─ end ─▶ response ─ end ─▶ idle, or within the TXOP the next PPDU a SIFS later
//!                            └─ others on the air at the receiver, or every MPDU lost: no response ─▶ idle
//! ```
//! After a collision the medium is busy until the longer PPDU ends. The radios that sent then wait for a time-out and
//! AIFS, the others for EIFS. There is one event per contention outcome and two per exchange, none per slot;
//! [`medium`](crate::medium) has what each radio senses. [ieee80211-2016 §10.22.2]
//!
//! Within a TXOP the next PPDU of the same category follows if it and its response end in time. Deviation: if it gets
//! no response, the radio contends again (the standard allows it to continue after PIFS).

mod access;
mod outcome;

use rand_core::Rng;
use tailback_packet::{DropReason, Packet};
use tailback_qdisc::{Context as QdiscContext, Effects};
use tailback_units::{SimTime, Span};

use self::outcome::row_of;
pub use self::outcome::{Arrived, Arriving, Outcome, Output, Ppdu};
use crate::StationId;
use crate::aggregate::first_mpdu;
use crate::contend::{AccessCategory, Attempt};
use crate::frame::Mpdu;
use crate::listeners::Listeners;
use crate::loss::Loss;
use crate::medium::{CTS, Exchange, FAST_CONTROL, Hearing, Pauses, Phase, RTS, Sender, Sensed};
use crate::phy::Band;
use crate::station::{CATEGORIES, Station};
use crate::status::Status;

/// The category of beacons, after the access categories.
const BEACON: usize = CATEGORIES;

/// Properties of a channel.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// The band.
    pub band: Band,
    /// Which radios hear each other.
    pub hearing: Hearing,
}

/// Whether the packets of PPDUs are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mpdus {
    Unnoted,
    Noted,
}

/// What the channel may use in a call.
pub struct Context<'a> {
    /// The present time.
    pub now: SimTime,
    /// Random numbers, a source for each radio.
    pub draws: &'a mut [Box<dyn Rng + Send>],
    /// Side effects of its queues, as of disciplines.
    pub effects: &'a mut Effects,
}

impl Context<'_> {
    #[inline]
    fn of_station(&mut self, station: usize) -> QdiscContext<'_> {
        self.effects.context(self.now, self.draws[station].as_mut())
    }
}

/// Radios on one channel.
pub struct Channel {
    settings: ChannelSettings,
    pauses: Pauses,
    stations: Vec<Station>,
    /// The radios that process changes of the medium.
    listeners: Listeners,
    /// Transmissions in progress.
    #[expect(clippy::vec_box, reason = "an exchange stays where it is from phase to phase")]
    exchanges: Vec<Box<Exchange>>,
    /// When the first of the waiting radios sends.
    access: SimTime,
    /// When the first beacon is due.
    beacon: SimTime,
    /// The earliest time-out of a reorder buffer.
    reordering: SimTime,
    output: Output,
    /// The MPDUs of a PPDU that were lost.
    lost: Vec<Mpdu>,
    /// The radios that have just won the medium.
    winners: Vec<Sender>,
    /// Whether [`Output::mpdus`] is wanted.
    mpdus: Mpdus,
    /// Exchanges to be reused.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    spare: Vec<Box<Exchange>>,
}

impl Channel {
    /// A silent channel.
    pub fn new(settings: ChannelSettings, stations: Vec<Station>) -> Self {
        let mut channel = Channel {
            listeners: Listeners::new(&stations, settings.band),
            pauses: Pauses::of(settings.band),
            settings,
            stations,
            exchanges: Vec::new(),
            access: SimTime::NEVER,
            beacon: SimTime::NEVER,
            reordering: SimTime::NEVER,
            output: Output::default(),
            lost: Vec::new(),
            winners: Vec::new(),
            mpdus: Mpdus::Unnoted,
            spare: Vec::new(),
        };
        channel.find_beacon();
        channel
    }

    /// Notes the packets of each PPDU from now on.
    pub fn note_mpdus(&mut self) {
        self.mpdus = Mpdus::Noted;
    }

    /// The driver of a radio takes packets.
    pub fn accepts(&self, station: StationId) -> bool {
        self.stations[station.index()].accepts()
    }

    /// The host of radio `from` has a packet for radio `to`.
    #[inline]
    pub fn transmit(
        &mut self,
        from: StationId,
        to: StationId,
        packet: Box<Packet>,
        context: &mut Context<'_>,
    ) {
        let station = &mut self.stations[from.index()];
        let category = station.transmit(to, packet, &mut context.of_station(from.index()));
        if station.is_to_contend(category) {
            self.begin_to_contend(from.index(), category, context);
        }
    }

    /// The frame source of a radio has got frames of a category.
    pub fn wake(&mut self, station: StationId, category: AccessCategory, context: &mut Context<'_>) {
        let (index, category) = (station.index(), category.index());
        self.stations[index].wake(category, &mut context.of_station(index));
        self.contend(index, category, context);
    }

    /// The losses between two radios, in both directions, of PPDUs that end from now on.
    pub fn set_loss(&mut self, one: StationId, other: StationId, loss: Loss) {
        self.stations[one.index()].set_loss(other, loss);
        self.stations[other.index()].set_loss(one, loss);
    }

    /// The time of the next event.
    pub fn deadline(&self) -> SimTime {
        let ends = self.exchanges.iter().map(|exchange| exchange.until).min().unwrap_or(SimTime::NEVER);
        ends.min(self.access).min(self.beacon).min(self.reordering)
    }

    /// When the first of the waiting radios sends; `SimTime::NEVER` if none waits.
    #[inline]
    pub fn access(&self) -> SimTime {
        self.access
    }

    /// Processes due events, ends before beginnings.
    pub fn advance(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        debug_assert!(self.deadline() >= now, "an earlier event was not processed");
        while let Some(at) = self.exchanges.iter().position(|exchange| exchange.until == now) {
            let exchange = self.exchanges.remove(at);
            self.go_on(exchange, context);
        }
        if self.reordering == now {
            self.release_overdue(now);
        }
        if self.beacon == now {
            self.due_beacons(context);
        }
        if self.access == now {
            self.win(context);
        }
    }

    /// There are outputs since [`swap_output`](Self::swap_output) was called.
    #[inline]
    pub fn has_output(&self) -> bool {
        debug_assert!(
            self.output.received.is_empty() || !self.output.outcomes.is_empty(),
            "packets for no host"
        );
        !self.output.outcomes.is_empty()
    }

    /// Takes the outputs since the last call, and leaves empty lists in their place.
    pub fn swap_output(&mut self, empty: &mut Output) {
        std::mem::swap(&mut self.output, empty);
    }

    /// The PPDU that a radio is receiving, if it is the only one there.
    pub fn arriving(&self, station: StationId) -> Option<Arriving> {
        let to_it = |one: &Exchange| one.to == Some(station.index()) && one.phase == Phase::Data;
        let exchange = self.exchanges.iter().find(|one| to_it(one)).filter(|one| one.colliders == 0)?;
        let Sender { station: from, category } = exchange.sender;
        let aggregate = self.stations[from].sent_now(category)?;
        let bytes = aggregate.frames.first()?.bytes;
        let first = first_mpdu(&aggregate.mode(), bytes, self.settings.band).min(aggregate.duration);
        Some(Arriving { first: exchange.until - aggregate.duration + first, until: exchange.until })
    }

    /// Packets inside.
    pub fn packets(&self) -> usize {
        self.stations.iter().map(Station::packets).sum()
    }

    /// A radio of the channel.
    pub fn station(&self, station: StationId) -> &Station {
        &self.stations[station.index()]
    }

    /// A radio that has won the medium sends, from `at` on.
    fn begin(&mut self, sender: Sender, at: SimTime, won: SimTime, context: &mut Context<'_>) {
        let Some(mut exchange) = self.exchange(sender, at, won) else {
            self.stations[sender.station].sending = None;
            self.stations[sender.station].contenders.sent(sender.category);
            return;
        };
        for other in &mut self.exchanges {
            exchange.meet(other, &self.settings.hearing);
        }
        self.exchanges.push(exchange);
        if at > won {
            // Within a TXOP all radios that hear it already defer.
            return;
        }
        self.listeners.medium_busy(context.now);
        for index in self.listeners.awake() {
            let station = &mut self.stations[index];
            if self.settings.hearing.between(index, sender.station) && station.sense.begin() {
                station.defer(context.now, context.draws[index].as_mut());
            }
        }
    }

    /// The exchange that a radio begins at `at`.
    fn exchange(&mut self, sender: Sender, at: SimTime, won: SimTime) -> Option<Box<Exchange>> {
        let station = &mut self.stations[sender.station];
        let (phase, to, length) = match &station.beacon {
            Some(beacon) if sender.category == BEACON => (Phase::Beacon, None, beacon.duration),
            _ => {
                let queued = station.queued();
                let announces = station.announces(sender.category);
                let aggregate = station.head(sender.category)?;
                aggregate.left_behind = queued;
                let (to, length) = (Some(aggregate.to.index()), aggregate.duration);
                match announces {
                    true => (Phase::Announcing, to, self.settings.band.legacy_frame(RTS, FAST_CONTROL)),
                    false => (Phase::Data, to, length),
                }
            }
        };
        let mut exchange = self.spare.pop().unwrap_or_default();
        exchange.begin(sender, to, phase);
        (exchange.won, exchange.until) = (won, at + length);
        Some(exchange)
    }

    /// Ends the present phase of an exchange.
    fn go_on(&mut self, exchange: Box<Exchange>, context: &mut Context<'_>) {
        match exchange.phase {
            Phase::Announcing if exchange.colliders == 0 => self.pause(exchange, Phase::BeforeCts, context),
            Phase::BeforeCts => self.cleared(exchange, context),
            Phase::BeforeResponse => self.respond(exchange, context),
            Phase::Announcing | Phase::Data if exchange.colliders > 0 => self.collided(exchange, context),
            Phase::Announcing | Phase::Data => self.sent(exchange, context),
            Phase::Answering => self.answered(exchange, context),
            Phase::Beacon => self.beacon_sent(exchange, context.now),
        }
    }

    /// A SIFS, after which the receiver sends. It is an event only for radios that hear nothing but the receiver.
    fn pause(&mut self, mut exchange: Box<Exchange>, before: Phase, context: &mut Context<'_>) {
        exchange.until += self.settings.band.sifs();
        exchange.phase = before;
        match (self.settings.hearing.is_mutual(), before) {
            (false, _) => self.exchanges.push(exchange),
            (true, Phase::BeforeCts) => self.cleared(exchange, context),
            (true, _) => self.respond(exchange, context),
        }
    }

    /// The receiver sends CTS, and the PPDU follows.
    fn cleared(&mut self, mut exchange: Box<Exchange>, context: &mut Context<'_>) {
        let band = self.settings.band;
        self.answered_by_receiver(&mut exchange, context);
        let station = &mut self.stations[exchange.sender.station];
        let data = station.head(exchange.sender.category).map(|aggregate| aggregate.duration);
        exchange.until += band.legacy_frame(CTS, FAST_CONTROL) + band.sifs() + data.unwrap_or(Span::ZERO);
        exchange.phase = Phase::Data;
        self.exchanges.push(exchange);
    }

    /// The receiver responds to the PPDU.
    fn respond(&mut self, mut exchange: Box<Exchange>, context: &mut Context<'_>) {
        exchange.until += exchange.response;
        exchange.phase = Phase::Answering;
        self.answered_by_receiver(&mut exchange, context);
        self.exchanges.push(exchange);
    }

    /// A collision at the receiver.
    fn collided(&mut self, exchange: Box<Exchange>, context: &mut Context<'_>) {
        let Sender { station, category } = exchange.sender;
        let noted = self.note_sent(exchange.sender);
        if let Some(aggregate) = self.stations[station].head(category) {
            let row = row_of(aggregate, StationId(station as u16), &exchange);
            self.output.outcomes.push(Outcome::Sent(Ppdu { colliders: exchange.colliders, noted, ..row }));
        }
        self.unanswered(exchange, context);
    }

    /// Ends a PPDU without collision: the receiver gets the MPDUs that were not lost, and responds if there is one.
    fn sent(&mut self, mut exchange: Box<Exchange>, context: &mut Context<'_>) {
        let Sender { station, category } = exchange.sender;
        let (from, band) = (StationId(station as u16), self.settings.band);
        let Some(aggregate) = self.stations[station].head(category) else { return };
        let (to, mode, response) = (aggregate.to, aggregate.mode(), aggregate.response());
        let mut row = row_of(aggregate, from, &exchange);
        let first = aggregate.frames.first().map_or(0, |frame| frame.bytes);
        let before = self.output.received.len();
        row.noted = self.note_sent(exchange.sender);
        self.receive(&mut exchange, to, context);
        self.note_received(exchange.sender, row.noted);
        row.received = exchange.status.frames();
        let receiver = &mut self.stations[to.index()];
        receiver.charge_received(category, from, row.duration, context.now);
        self.output.outcomes.push(Outcome::Sent(row));
        let arrived = match receiver.mitigates() {
            true => Arrived::Since(row.began + first_mpdu(&mode, first, band).min(row.duration)),
            false => Arrived::Now,
        };
        self.output.received_by(to, before, arrived);
        if row.received == 0 {
            return self.unanswered(exchange, context);
        }
        exchange.response = band.legacy_frame(response, mode.response_bits());
        self.pause(exchange, Phase::BeforeResponse, context);
    }

    /// Notes the packets of the PPDU at the head as lost, if that is wanted; returns how many they are.
    fn note_sent(&mut self, sender: Sender) -> u32 {
        match self.mpdus {
            Mpdus::Unnoted => 0,
            Mpdus::Noted => {
                let Some(aggregate) = self.stations[sender.station].head(sender.category) else { return 0 };
                let packets = aggregate.frames.iter().flat_map(Mpdu::each_packet);
                let before = self.output.mpdus.len();
                self.output.mpdus.extend(packets.map(|packet| (packet.place(), false)));
                (self.output.mpdus.len() - before) as u32
            }
        }
    }

    /// Of the packets noted last, those that the sender does not keep have arrived.
    fn note_received(&mut self, sender: Sender, noted: u32) {
        if noted == 0 {
            return;
        }
        let Some(aggregate) = self.stations[sender.station].head(sender.category) else { return };
        let kept: Vec<_> = aggregate.frames.iter().flat_map(Mpdu::each_packet).map(Packet::place).collect();
        let from = self.output.mpdus.len() - noted as usize;
        for (place, received) in &mut self.output.mpdus[from..] {
            *received = !kept.contains(place);
        }
    }

    /// Radio `to` takes the MPDUs of a PPDU, one by one unless all of them arrive in order; its sender keeps those that were
    /// lost.
    fn receive(&mut self, exchange: &mut Exchange, to: StationId, context: &mut Context<'_>) {
        let Sender { station, category } = exchange.sender;
        let Some(aggregate) = self.stations[station].head(category) else { return };
        let mut frames = std::mem::take(&mut aggregate.frames);
        let losses = self.stations[station].loss(to);
        let recipient = self.stations[to.index()].recipient(category, StationId(station as u16));
        if losses == Loss::NONE && recipient.expects(&frames) {
            exchange.status.acknowledge_all(&frames);
            let Status { credits, .. } = &mut exchange.status;
            recipient.take_all(frames.drain(..), credits, &mut self.output.received);
        } else {
            self.receive_each(&mut frames, exchange, to, context);
        }
        let recipient = self.stations[to.index()].recipient(category, StationId(station as u16));
        if let Some(due) = recipient.overdue_at() {
            self.reordering = self.reordering.min(due);
        }
        if let Some(aggregate) = self.stations[station].head(category) {
            aggregate.frames = std::mem::replace(&mut self.lost, frames);
        }
    }

    /// As [`Channel::receive`], one MPDU after the other. Those lost are in `lost` then.
    fn receive_each(
        &mut self,
        frames: &mut Vec<Mpdu>,
        exchange: &mut Exchange,
        to: StationId,
        context: &mut Context<'_>,
    ) {
        let Sender { station, category } = exchange.sender;
        let (from, losses) = (StationId(station as u16), self.stations[station].loss(to));
        let Some(mode) = self.stations[station].head(category).map(|aggregate| aggregate.mode()) else {
            return;
        };
        let recipient = self.stations[to.index()].recipient(category, from);
        // Nearly all MPDUs of a PPDU are equally long.
        let (mut length, mut loss) = (0, 0);
        for mut frame in frames.drain(..) {
            if frame.bytes != length {
                (length, loss) = (frame.bytes, losses.of(&mode, frame.bytes));
            }
            if loss > 0 && context.draws[station].next_u32() < loss {
                self.lost.push(frame);
                continue;
            }
            frame.uncharge(&mut exchange.status.credits);
            exchange.status.acknowledge(&frame);
            if let Some(late) = recipient.take(frame, context.now, &mut self.output.received) {
                let packets = std::iter::once(late.packet).chain(late.more);
                let dropped = |packet| Outcome::Dropped(from, packet, DropReason::ReorderTimeout);
                self.output.outcomes.extend(packets.map(dropped));
            }
        }
    }

    /// The response has ended.
    fn answered(&mut self, mut exchange: Box<Exchange>, context: &mut Context<'_>) {
        self.settle(exchange.sender, Attempt::Answered, &exchange.status, context);
        let from = StationId(exchange.sender.station as u16);
        let credits = exchange.status.credits.drain(..);
        self.output.outcomes.extend(credits.map(|(id, size)| Outcome::Credit(from, id, size)));
        if let Some(at) = self.next_in_txop(&exchange, context.now) {
            self.free_receiver(&exchange, Sensed::Whole, context.now);
            let (sender, won) = (exchange.sender, exchange.won);
            self.spare.push(exchange);
            self.begin(sender, at, won, context);
            return self.find_access();
        }
        self.end(exchange, Sensed::Whole, context.now);
    }

    /// When the next PPDU of the same TXOP begins, if there is one and it fits.
    fn next_in_txop(&mut self, exchange: &Exchange, now: SimTime) -> Option<SimTime> {
        let Sender { station: index, category } = exchange.sender;
        let station = &mut self.stations[index];
        let limit = station.contenders.edca(category).txop;
        if limit.is_zero() || !station.has_frames(category) {
            return None;
        }
        let band = self.settings.band;
        let aggregate = station.head(category)?;
        let response = band.legacy_frame(aggregate.response(), aggregate.mode().response_bits());
        let at = now + band.sifs();
        (at + aggregate.duration + band.sifs() + response <= exchange.won + limit).then_some(at)
    }

    /// Ends an exchange without a response: its sender waits for the time-out; the others could not decode it.
    fn unanswered(&mut self, exchange: Box<Exchange>, context: &mut Context<'_>) {
        let sender = exchange.sender;
        if self.stations[sender.station].unanswered(sender.category, context.now) {
            self.settle(sender, Attempt::GivenUp, &Status::default(), context);
        } else {
            let (waiting, draws) = (Some(context.now), context.draws[sender.station].as_mut());
            let contenders = &mut self.stations[sender.station].contenders;
            contenders.exchanged(sender.category, Attempt::Failed, waiting, draws);
        }
        self.end(exchange, Sensed::Noise, context.now);
    }

    fn beacon_sent(&mut self, exchange: Box<Exchange>, now: SimTime) {
        if let Some(beacon) = &mut self.stations[exchange.sender.station].beacon {
            beacon.contender.sent();
        }
        self.end(exchange, Sensed::Whole, now);
    }

    /// Completes or requeues the frames of the PPDU at the head; the next one becomes the head.
    fn settle(&mut self, sender: Sender, attempt: Attempt, status: &Status, context: &mut Context<'_>) {
        let Sender { station: index, category } = sender;
        let from = StationId(index as u16);
        let station = &mut self.stations[index];
        let accepted = station.accepts();
        let moved = station.complete(category, status, &mut context.of_station(index));
        self.output.outcomes.extend(
            context.effects.dropped.drain(..).map(|(packet, reason)| Outcome::Dropped(from, packet, reason)),
        );
        self.output.outcomes.extend(context.effects.marks.drain(..).map(|mark| Outcome::Marked(from, mark)));
        if !accepted && station.accepts() {
            self.output.outcomes.push(Outcome::Accepts(from));
        }
        let next = station.has_frames(category).then_some(context.now);
        station.contenders.exchanged(category, attempt, next, context.draws[index].as_mut());
        // Space in firmware is shared by all categories.
        (0..CATEGORIES).for_each(|category| self.contend(index, category, context));
        if let Some((to, start)) = moved {
            let before = self.output.received.len();
            self.stations[to.index()].move_window(category, from, start, &mut self.output.received);
            self.output.received_by(to, before, Arrived::Now);
        }
    }

    /// The receiver begins to respond: radios that hear it but not the sender defer, too.
    fn answered_by_receiver(&mut self, exchange: &mut Exchange, context: &mut Context<'_>) {
        if std::mem::replace(&mut exchange.answered, true) {
            return;
        }
        if self.settings.hearing.is_mutual() {
            return;
        }
        for index in 0..self.stations.len() {
            // A radio that sends does not hear the receiver.
            if self.stations[index].sending.is_some() || !self.hears_only_receiver(index, exchange) {
                continue;
            }
            exchange.deferring.push(index as u16);
            if self.stations[index].sense.begin() {
                self.stations[index].defer(context.now, context.draws[index].as_mut());
            }
        }
        self.find_access();
    }

    fn hears_only_receiver(&self, index: usize, exchange: &Exchange) -> bool {
        let hearing = &self.settings.hearing;
        !hearing.between(index, exchange.sender.station)
            && exchange.to.is_some_and(|to| hearing.between(index, to))
    }

    /// Radios that heard only the receiver no longer defer.
    fn free_receiver(&mut self, exchange: &Exchange, sensed: Sensed, now: SimTime) {
        for &index in &exchange.deferring {
            self.stations[usize::from(index)].released(sensed, &self.pauses, now);
        }
    }

    /// Ends an exchange for all radios that sensed it.
    fn end(&mut self, exchange: Box<Exchange>, sensed: Sensed, now: SimTime) {
        self.free_receiver(&exchange, sensed, now);
        let sender = exchange.sender.station;
        self.spare.push(exchange);
        self.stations[sender].sending = None;
        for index in self.listeners.awake() {
            let station = &mut self.stations[index];
            if index == sender {
                let own = if sensed == Sensed::Noise { Sensed::Silence } else { sensed };
                station.released(own, &self.pauses, now);
            } else if self.settings.hearing.between(index, sender) {
                station.released(sensed, &self.pauses, now);
            }
        }
        self.listeners.medium_idle(sensed, &self.pauses, now);
        if self.settings.hearing.is_mutual() {
            self.listeners.rest(&mut self.stations);
        }
        self.find_access();
    }

    /// Releases frames from reorder buffers whose time-out has expired.
    fn release_overdue(&mut self, now: SimTime) {
        self.reordering = SimTime::NEVER;
        for (index, station) in self.stations.iter_mut().enumerate() {
            let before = self.output.received.len();
            let next = station.release_overdue(now, &mut self.output.received);
            self.reordering = self.reordering.min(next);
            self.output.received_by(StationId(index as u16), before, Arrived::Now);
        }
    }
}
