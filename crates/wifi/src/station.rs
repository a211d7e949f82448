//! One radio of the cell: its queues, its sessions with other radios, and the next PPDU to send.
//!
//! ```text
//! packet → queue above → (slot or space below) → aggregate → [the channel sends it] → status: completed or requeued
//! ```
//! The credit of a packet returns when the status of its frame is known, after its slot has been refilled.
//! [linux-6.12 ath9k xmit.c ath_txq_schedule, ath_tx_complete_aggr]

use std::collections::VecDeque;

use rand_core::Rng;
use tailback_packet::{DropReason, Packet};
use tailback_qdisc::Context as QdiscContext;
use tailback_units::{SimTime, Span};

use crate::aggregate::{Aggregate, Builder, ClosedBy, Limits};
use crate::airtime::AirtimeScheduler;
use crate::beacon::Beacon;
use crate::block_ack::{Originator, Recipient, WINDOW};
use crate::contend::{AccessCategory, Contenders, Edca};
use crate::driver::{
    AIRTIME_USE_RX, AIRTIME_USE_TX, Above, AirtimeLimits, Amsdu, Below, Profile, RateControlIn,
};
use crate::expected_airtime::{Expected, expected_airtime};
use crate::frame::Mpdu;
use crate::frame_source::{FrameSource, Room, Tried};
use crate::loss::Loss;
use crate::medium::{CarrierSense, Pauses, Sensed};
use crate::phy::{Band, LegacyRate, Mode};
use crate::rate::RateControl;
use crate::station_queues::StationQueues;
use crate::status::{Acknowledged, Status};
use crate::{PacketBoxes, StationId};

/// Access categories.
pub(crate) const CATEGORIES: usize = AccessCategory::ALL.len();

/// The link from a station to another.
#[derive(Clone, Debug)]
pub struct Link {
    /// The modes of its data.
    pub rates: RateControl,
    /// Its losses.
    pub loss: Loss,
}

/// A radio.
pub struct Station {
    pub(crate) profile: Profile,
    pub(crate) contenders: Contenders,
    pub(crate) beacon: Option<Beacon>,
    pub(crate) sense: CarrierSense,
    /// What it is sending: a category, or a beacon.
    pub(crate) sending: Option<usize>,
    band: Band,
    /// Bytes of each MPDU in addition to its IP packet.
    overhead: u32,
    queues: Option<Box<StationQueues>>,
    /// Who is asked for frames in place of `queues`.
    source: Option<Box<dyn FrameSource>>,
    categories: [CategoryState; CATEGORIES],
    links: Vec<Option<Link>>,
    /// Number of links.
    linked: u64,
    /// Packets in firmware, of all categories, and their expected airtime.
    in_firmware: u32,
    pending: Span,
    /// Aggregates to be reused, without frames.
    #[expect(clippy::vec_box, reason = "an aggregate stays where it is")]
    spare: Vec<Box<Aggregate>>,
}

/// The queues of one access category of a radio.
struct CategoryState {
    /// Stations with packets above.
    turns: AirtimeScheduler,
    /// Aggregates in the order of transmission.
    hardware: VecDeque<Box<Aggregate>>,
    sessions: Vec<Session>,
    /// Stations with frames in firmware, in turn.
    firmware_turns: VecDeque<u16>,
}

/// The session between a radio and another one in one access category.
#[derive(Default)]
struct Session {
    originator: Originator,
    recipient: Recipient,
    /// Frames in firmware that are not on the air.
    firmware: VecDeque<Mpdu>,
    /// Expected airtime of the packets in firmware, until their status is known.
    pending: Span,
}

impl Station {
    /// A radio with `links` to others, by their number.
    pub fn new(
        profile: Profile,
        band: Band,
        overhead: u32,
        edca: [Edca; CATEGORIES],
        links: Vec<Option<Link>>,
    ) -> Self {
        let stations = links.len();
        let queues = match profile.above {
            Above::StationQueues(limits) => Some(Box::new(StationQueues::new(stations * CATEGORIES, limits))),
            Above::Qdisc => None,
        };
        let state = || CategoryState {
            turns: AirtimeScheduler::new(stations, profile.airtime_flags != 0),
            hardware: VecDeque::new(),
            sessions: links.iter().map(|link| Session::new(link.as_ref())).collect(),
            firmware_turns: VecDeque::new(),
        };
        Station {
            profile,
            contenders: Contenders::new(edca, band),
            beacon: None,
            sense: CarrierSense::default(),
            sending: None,
            band,
            overhead,
            queues,
            source: None,
            categories: std::array::from_fn(|_| state()),
            linked: links.iter().flatten().count() as u64,
            links,
            in_firmware: 0,
            pending: Span::ZERO,
            spare: Vec::new(),
        }
    }

    /// It sends beacons, the first one at `first`.
    pub fn with_beacons(mut self, rate: LegacyRate, first: SimTime) -> Self {
        self.beacon = Some(Beacon::new(rate, self.band, first));
        self
    }

    /// It asks `source` for frames in place of queues of its own.
    pub fn with_source(mut self, source: Box<dyn FrameSource>) -> Self {
        self.queues = None;
        self.source = Some(source);
        self
    }

    /// When the first of its categories sends if the medium stays idle.
    #[inline]
    pub(crate) fn access(&self) -> SimTime {
        let beacon = self.beacon.as_ref().and_then(|beacon| beacon.contender.access());
        beacon.unwrap_or(SimTime::NEVER).min(self.contenders.access())
    }

    /// The medium has become busy: categories that do not send freeze their counters.
    #[inline]
    pub(crate) fn defer(&mut self, now: SimTime, draws: &mut dyn Rng) {
        self.contenders.medium_busy(now, self.sending, draws);
    }

    /// An exchange that it deferred to is over.
    #[inline]
    pub(crate) fn released(&mut self, sensed: Sensed, pauses: &Pauses, now: SimTime) {
        if let Some(extra) = self.sense.end(sensed, pauses) {
            self.medium_idle(now + extra);
        }
    }

    /// The medium is idle; AIFS begins at `from`.
    #[inline]
    pub(crate) fn medium_idle(&mut self, from: SimTime) {
        self.contenders.medium_idle(from);
        if let Some(Beacon { contender, .. }) = &mut self.beacon {
            contender.medium_idle(from + contender.aifs());
        }
    }

    /// The driver accepts packets: the qdisc above is not stopped.
    pub fn accepts(&self) -> bool {
        match self.profile.below {
            Below::Firmware { frames, .. } => {
                self.queues.is_some() || self.source.is_some() || self.in_firmware < frames
            }
            Below::Slots(_) => true,
        }
    }

    /// A packet of the host for another station. Returns its access category.
    #[inline]
    pub fn transmit(&mut self, to: StationId, packet: Box<Packet>, context: &mut QdiscContext<'_>) -> usize {
        let category = AccessCategory::of_tos(packet.tos, self.profile.code_points).index();
        match &mut self.queues {
            Some(queues) => {
                queues.enqueue(queue_number(to, category), packet, context);
                self.categories[category].turns.activate(to.0, context.now);
            }
            None => self.hand_to_firmware(category, to, packet),
        }
        self.pull(category, context);
        category
    }

    /// The source has got frames of a category.
    pub(crate) fn wake(&mut self, category: usize, context: &mut QdiscContext<'_>) {
        self.pull(category, context);
    }

    /// True if this category has an aggregate to send.
    #[inline]
    pub fn has_frames(&self, category: usize) -> bool {
        self.categories.get(category).is_some_and(|state| !state.hardware.is_empty())
    }

    /// What is sent when the medium is won.
    pub(crate) fn head(&mut self, category: usize) -> Option<&mut Aggregate> {
        self.categories[category].hardware.front_mut().map(Box::as_mut)
    }

    /// True if the next PPDU is protected by RTS.
    pub(crate) fn announces(&mut self, category: usize) -> bool {
        let threshold = self.profile.rts_threshold.unwrap_or(u32::MAX);
        self.head(category).is_some_and(|aggregate| aggregate.bytes > threshold || aggregate.is_announced())
    }

    /// The losses of MPDUs to `to`.
    pub(crate) fn loss(&self, to: StationId) -> Loss {
        self.links[to.index()].as_ref().map_or(Loss::NONE, |link| link.loss)
    }

    /// The aggregate on the air got no response; true if it is not sent again and its frames are to be aggregated
    /// again.
    pub fn unanswered(&mut self, category: usize, now: SimTime) -> bool {
        let band = self.band;
        let Some(aggregate) = self.categories[category].hardware.front_mut() else { return false };
        aggregate.failed(band);
        aggregate.at_head = now;
        aggregate.failures >= aggregate.chain.tries()
    }

    /// Processes the status of the aggregate on the air: completes or requeues its frames, and refills the slot.
    /// Returns the oldest number outstanding with that station.
    pub fn complete(
        &mut self,
        category: usize,
        status: &Status,
        context: &mut QdiscContext<'_>,
    ) -> Option<(StationId, u64)> {
        let mut aggregate = self.categories[category].hardware.pop_front()?;
        let (to, answered) = (aggregate.to, u32::from(!status.acknowledged().is_empty()));
        let tries = aggregate.failures + answered;
        let airtime = aggregate.used + aggregate.duration * u64::from(answered);
        self.report(category, &aggregate, status);
        if self.profile.airtime_flags & AIRTIME_USE_TX != 0 {
            self.categories[category].turns.charge(to.0, airtime, context.now);
        }
        let mut start = 0;
        for settled in status.acknowledged() {
            start = self.settle(category, to, settled);
        }
        while let Some(mut frame) = aggregate.frames.pop_front() {
            frame.tries += tries;
            if frame.tries < self.profile.frame_tries {
                self.send_again(category, to, frame, context.now);
            } else {
                start = self.settle(category, to, &Acknowledged::of(&frame));
                let packets = std::iter::once(frame.packet).chain(frame.more);
                packets.for_each(|packet| context.refuse(packet, DropReason::RetryLimit));
            }
        }
        self.spare.push(aggregate);
        if let Some(source) = &mut self.source {
            source.sent(category, to, airtime);
            source.activate(
                category,
                to,
                self.categories[category].sessions[to.index()].originator.waiting(),
            );
        } else if self.has_more(category, to) {
            self.categories[category].turns.activate(to.0, context.now);
        }
        self.serve_from_firmware(category, to);
        self.pull_what_fits(category, context);
        if let Some(next) = self.categories[category].hardware.front_mut() {
            next.at_head = context.now;
        }
        Some((to, start))
    }

    /// Reports the result of an aggregate to rate control.
    fn report(&mut self, category: usize, aggregate: &Aggregate, status: &Status) {
        let acknowledged = status.frames();
        let sent = acknowledged + aggregate.frames.len() as u32;
        let failures = aggregate.failures - u32::from(acknowledged == 0);
        let Some(link) = self.links[aggregate.to.index()].as_mut() else { return };
        link.rates.report(&aggregate.chain, failures, sent, acknowledged);
        if let Some(source) = &mut self.source
            && !matches!(link.rates, RateControl::Fixed(_))
        {
            let (chain, transmissions) = (aggregate.chain, failures + 1);
            let tried = Tried { chain, transmissions, sent, acknowledged };
            source.tried(category, aggregate.to, &tried);
        }
    }

    /// The reorder buffer of the frames from another station.
    pub(crate) fn recipient(&mut self, category: usize, from: StationId) -> &mut Recipient {
        &mut self.categories[category].sessions[from.index()].recipient
    }

    /// Releases packets from reorder buffers whose time-out has expired. Returns the next time-out.
    pub(crate) fn release_overdue(&mut self, now: SimTime, up: &mut PacketBoxes) -> SimTime {
        let sessions = self.categories.iter_mut().flat_map(|state| &mut state.sessions);
        let recipients = sessions.map(|session| &mut session.recipient);
        let released = recipients.filter_map(|recipient| {
            recipient.release_overdue(now, up);
            recipient.overdue_at()
        });
        released.min().unwrap_or(SimTime::NEVER)
    }

    /// Another station no longer sends numbers below `start`.
    pub fn move_window(&mut self, category: usize, from: StationId, start: u64, up: &mut PacketBoxes) {
        self.categories[category].sessions[from.index()].recipient.move_to(start, up);
    }

    /// Charges a station for a transmission to this one. [linux-6.12 AIRTIME_USE_RX]
    pub fn charge_received(&mut self, category: usize, from: StationId, span: Span, now: SimTime) {
        if self.profile.airtime_flags & AIRTIME_USE_RX != 0 {
            match &mut self.source {
                Some(source) => source.heard(category, from, span),
                None => self.categories[category].turns.charge(from.0, span, now),
            }
        }
    }

    /// The link to `to`.
    pub fn link(&self, to: StationId) -> Option<&Link> {
        self.links[to.index()].as_ref()
    }

    /// Packets queued in the host, above the hardware.
    pub fn queued(&self) -> u32 {
        self.queues.as_deref().map_or(self.in_firmware, StationQueues::packets)
    }

    /// Packets in the radio, including those on the air and in reorder buffers.
    pub fn packets(&self) -> usize {
        let state = |state: &CategoryState| -> usize {
            let sessions: usize = state.sessions.iter().map(Session::packets).sum();
            let frames = state.hardware.iter().flat_map(|aggregate| &aggregate.frames);
            sessions + frames.map(Mpdu::packets).sum::<usize>()
        };
        self.queues.as_ref().map_or(0, |queues| queues.packets() as usize)
            + self.categories.iter().map(state).sum::<usize>()
    }

    /// Packets for `to` wait above the hardware.
    fn has_more(&self, category: usize, to: StationId) -> bool {
        let above = self.queues.as_ref().map_or(0, |queues| queues.packets_of(queue_number(to, category)));
        above > 0 || self.categories[category].sessions[to.index()].originator.waiting() > 0
    }

    /// Fills space that has become free below. Firmware has one limit for all categories.
    fn pull_what_fits(&mut self, category: usize, context: &mut QdiscContext<'_>) {
        match self.profile.below {
            Below::Slots(_) => self.pull(category, context),
            Below::Firmware { .. } => (0..CATEGORIES).for_each(|category| self.pull(category, context)),
        }
    }

    /// Moves packets from above into the space below.
    #[inline]
    fn pull(&mut self, category: usize, context: &mut QdiscContext<'_>) {
        match self.profile.below {
            Below::Slots(slots) => self.fill_slots(category, slots, context),
            Below::Firmware { slots, frames, airtime } => {
                self.fill_firmware(category, frames, airtime, context);
                self.form_in_firmware(category, slots, context.now);
            }
        }
    }

    #[inline]
    fn fill_slots(&mut self, category: usize, slots: u32, context: &mut QdiscContext<'_>) {
        if self.categories[category].hardware.len() < slots as usize {
            self.fill_free_slots(category, slots, context);
        }
    }

    #[inline(never)]
    fn fill_free_slots(&mut self, category: usize, slots: u32, context: &mut QdiscContext<'_>) {
        let Some(mut queues) = self.queues.take() else {
            return self.fill_slots_from_source(category, slots, context.now);
        };
        while self.categories[category].hardware.len() < slots as usize {
            let Some(turn) = self.categories[category].turns.take_turn() else { break };
            let to = StationId(turn);
            let number = queue_number(to, category);
            self.expect(&mut queues, number, to);
            let now = context.now;
            let formed = self.form(
                category,
                to,
                &mut |_, overhead| Some(Mpdu::new(queues.dequeue(number, context)?, overhead)),
                now,
            );
            // A station whose window is full comes back when frames of it are settled.
            let Some(aggregate) = formed else { continue };
            let state = &mut self.categories[category];
            match queues.packets_of(number) > 0 || state.sessions[to.index()].originator.waiting() > 0 {
                true => state.turns.activate(turn, now),
                false => state.turns.emptied(turn, now),
            }
            self.categories[category].hardware.push_back(aggregate);
        }
        self.queues = Some(queues);
    }

    fn fill_slots_from_source(&mut self, category: usize, slots: u32, now: SimTime) {
        let Some(mut source) = self.source.take() else { return };
        while self.categories[category].hardware.len() < slots as usize {
            let Some(to) = source.take_turn(category) else { break };
            if !self.ask_rates(category, to, source.as_mut()) {
                continue;
            }
            source.expect(self.room(category, to));
            let next = &mut |_: &mut Session, overhead| from_source(source.as_mut(), category, to, overhead);
            // A station whose window is full comes back when frames of it are settled.
            let Some(aggregate) = self.form(category, to, next, now) else { continue };
            self.categories[category].hardware.push_back(aggregate);
            source.activate(
                category,
                to,
                self.categories[category].sessions[to.index()].originator.waiting(),
            );
        }
        self.source = Some(source);
    }

    /// Asks the source for the modes of the next aggregate for `to`, if it chooses them: its first frame waits before all
    /// others from now on. False: there is no frame.
    fn ask_rates(&mut self, category: usize, to: StationId, source: &mut dyn FrameSource) -> bool {
        let Some(Link { rates: RateControl::Source(chain), .. }) = &mut self.links[to.index()] else {
            return true;
        };
        let originator = &mut self.categories[category].sessions[to.index()].originator;
        let first = match originator.take_retry() {
            Some(frame) => Some(frame),
            None if !originator.window_open() => None,
            None => from_source(source, category, to, self.overhead)
                .map(|frame| Mpdu { sequence: originator.number(), ..frame }),
        };
        let Some(first) = first else { return false };
        if let Some(given) = source.rates(category, to, &first.packet) {
            **chain = given;
        }
        originator.send_again(first);
        true
    }

    /// What the next aggregate takes for sure; nothing where the radio itself may probe a mode.
    fn room(&self, category: usize, to: StationId) -> Room {
        let slowest = match &self.links[to.index()] {
            Some(Link { rates: RateControl::Fixed(mode), .. }) => mode,
            Some(Link { rates: RateControl::Source(chain), .. }) if !chain.probes => chain.slowest(),
            _ => return Room::default(),
        };
        let limits = self.limits(category, slowest);
        let originator = &self.categories[category].sessions[to.index()].originator;
        let room = Room {
            frames: limits.frames,
            bytes: limits.bytes.min(slowest.psdu_within(limits.duration, self.band)),
            shortest: limits.shortest_mpdu,
        };
        let left = originator.retries().fold(room, |room, frame| room.without(frame.bytes));
        Room { frames: left.frames.min(originator.window_left()), ..left }
    }

    /// The limits of an aggregate of which this is the slowest mode.
    #[inline]
    fn limits(&self, category: usize, slowest: &Mode) -> Limits {
        let mut limits = self.profile.limits;
        let format = slowest.format();
        limits.bytes = limits.bytes.min(format.longest_ampdu());
        limits.frames = limits.frames.min(format.block_ack_window());
        let txop = self.contenders.edca(category).txop;
        if !txop.is_zero() {
            limits.duration = limits.duration.min(txop);
        }
        limits
    }

    fn fill_firmware_from_source(&mut self, category: usize, frames: u32) {
        let Some(mut source) = self.source.take() else { return };
        while self.in_firmware < frames {
            let Some(to) = source.take_turn(category) else { break };
            if let Some(handed) = source.next_frame(category, to) {
                self.hand_to_firmware(category, to, handed.packet);
                // Firmware holds frames to be sent again.
                source.activate(category, to, 0);
            }
        }
        self.source = Some(source);
    }

    /// True if the host knows the expected throughput of a station from its rate control.
    fn expect(&self, queues: &mut StationQueues, number: u16, to: StationId) {
        if self.profile.rate_control == RateControlIn::Host
            && let Some(link) = &self.links[to.index()]
        {
            queues.expect(number, link.rates.expected_throughput(), self.linked);
        }
    }

    #[inline(never)]
    fn fill_firmware(
        &mut self,
        category: usize,
        frames: u32,
        airtime: Option<AirtimeLimits>,
        context: &mut QdiscContext<'_>,
    ) {
        let Some(mut queues) = self.queues.take() else {
            return self.fill_firmware_from_source(category, frames);
        };
        let mut full = Vec::new();
        while self.in_firmware < frames {
            let Some(turn) = self.categories[category].turns.take_turn() else { break };
            let to = StationId(turn);
            let pending = self.categories[category].sessions[to.index()].pending;
            if airtime.is_some_and(|limits| limits.refuse(pending, self.pending)) {
                full.push(turn);
                continue;
            }
            if let Some(packet) = queues.dequeue(queue_number(to, category), context) {
                self.hand_to_firmware(category, to, packet);
            }
            if queues.packets_of(queue_number(to, category)) > 0 {
                self.categories[category].turns.activate(turn, context.now);
            }
        }
        full.into_iter().for_each(|turn| self.categories[category].turns.activate(turn, context.now));
        self.queues = Some(queues);
    }

    #[inline(never)]
    fn hand_to_firmware(&mut self, category: usize, to: StationId, packet: Box<Packet>) {
        let mut frame = Mpdu::new(packet, self.overhead);
        frame.estimate = self.expected_airtime(category, to, frame.packet.ip_length);
        let state = &mut self.categories[category];
        let session = &mut state.sessions[to.index()];
        session.pending += frame.estimate;
        self.pending += frame.estimate;
        session.firmware.push_back(frame);
        self.in_firmware += 1;
        self.serve_from_firmware(category, to);
    }

    /// The airtime that the host expects of a packet, if it limits that in firmware.
    fn expected_airtime(&self, category: usize, to: StationId, ip_length: u32) -> Span {
        let Below::Firmware { airtime: Some(limits), .. } = self.profile.below else { return Span::ZERO };
        let Some(link) = &self.links[to.index()] else { return Span::ZERO };
        let expected = match category == AccessCategory::Voice.index() {
            true => Expected::Alone,
            false => Expected::Aggregated,
        };
        expected_airtime(link.rates.usual(), ip_length, expected, limits.step)
    }

    /// The limits of an A-MSDU, whose duration must be allowed for a PPDU in each mode of a retransmission.
    fn amsdu_towards(&self, to: StationId) -> Option<Amsdu> {
        let own = self.profile.amsdu.filter(|amsdu| amsdu.packets > 1)?;
        let slowest = self.links[to.index()].as_ref()?.rates.slowest();
        let bytes = own.bytes.min(slowest.psdu_within(self.profile.limits.duration, self.band));
        Some(Amsdu { bytes, ..own })
    }

    /// A station with frames in firmware has its turn.
    fn serve_from_firmware(&mut self, category: usize, to: StationId) {
        let state = &mut self.categories[category];
        let idle = state.sessions[to.index()].firmware.is_empty();
        if !idle && !state.firmware_turns.contains(&to.0) {
            state.firmware_turns.push_back(to.0);
        }
    }

    #[inline(never)]
    fn form_in_firmware(&mut self, category: usize, slots: u32, now: SimTime) {
        while self.categories[category].hardware.len() < slots as usize {
            let Some(turn) = self.categories[category].firmware_turns.pop_front() else { break };
            let to = StationId(turn);
            let amsdu = self.amsdu_towards(to);
            let source = &mut |session: &mut Session, _| next_of_firmware(&mut session.firmware, amsdu);
            // A station whose window is full comes back when frames of it are settled.
            let Some(aggregate) = self.form(category, to, source, now) else { continue };
            if !self.categories[category].sessions[to.index()].is_idle() {
                self.categories[category].firmware_turns.push_back(turn);
            }
            self.categories[category].hardware.push_back(aggregate);
        }
    }

    /// An aggregate for `to`: frames to be retransmitted, then new ones from `source`.
    fn form(
        &mut self,
        category: usize,
        to: StationId,
        source: &mut impl FnMut(&mut Session, u32) -> Option<Mpdu>,
        now: SimTime,
    ) -> Option<Box<Aggregate>> {
        let chain = self.links[to.index()].as_mut()?.rates.chain(now, self.profile.hardware_tries);
        let mut limits = self.limits(category, chain.slowest());
        if chain.probes {
            limits.frames = 1;
        }
        let session = &mut self.categories[category].sessions[to.index()];
        let spare = self.spare.pop().unwrap_or_else(|| Box::new(Aggregate::empty(chain)));
        let mut builder = Builder::new(limits, &chain, self.band, spare);
        let closed_by = loop {
            if builder.len() >= limits.frames as usize {
                break ClosedBy::FrameLimit;
            }
            let closed_by = if let Some(frame) = session.originator.take_retry() {
                offer(&mut builder, session, frame)
            } else if !session.originator.window_open() {
                Some(ClosedBy::Window)
            } else if let Some(mut frame) = source(session, self.overhead) {
                frame.sequence = session.originator.number();
                offer(&mut builder, session, frame)
            } else {
                Some(ClosedBy::EmptyQueue)
            };
            if let Some(reason) = closed_by {
                break reason;
            }
        };
        builder.close(to, closed_by, now).map_err(|emptied| self.spare.push(emptied)).ok()
    }

    fn send_again(&mut self, category: usize, to: StationId, frame: Mpdu, now: SimTime) {
        let state = &mut self.categories[category];
        state.sessions[to.index()].originator.send_again(frame);
        match self.profile.below {
            Below::Slots(_) => state.turns.activate(to.0, now),
            Below::Firmware { .. } if !state.firmware_turns.contains(&to.0) => {
                state.firmware_turns.push_front(to.0)
            }
            Below::Firmware { .. } => {}
        }
    }

    fn settle(&mut self, category: usize, to: StationId, settled: &Acknowledged) -> u64 {
        let session = &mut self.categories[category].sessions[to.index()];
        if matches!(self.profile.below, Below::Firmware { .. }) {
            session.pending = session.pending.saturating_sub(settled.estimate);
            self.pending = self.pending.saturating_sub(settled.estimate);
            self.in_firmware -= settled.packets;
        }
        session.originator.settle(settled.sequence, settled.frames)
    }
}

impl Session {
    fn new(link: Option<&Link>) -> Self {
        let window = link.map_or(WINDOW, |link| link.rates.usual().format().block_ack_window());
        Session { originator: Originator::new(window), ..Session::default() }
    }

    fn is_idle(&self) -> bool {
        self.firmware.is_empty() && self.originator.waiting() == 0
    }

    fn packets(&self) -> usize {
        let firmware: usize = self.firmware.iter().map(Mpdu::packets).sum();
        firmware + self.originator.waiting_packets() + self.recipient.held()
    }
}

/// Adds a frame to an aggregate. If it has no room for it, the frame waits to be sent first, and the reason is returned.
#[inline(always)]
fn offer(builder: &mut Builder, session: &mut Session, frame: Mpdu) -> Option<ClosedBy> {
    let alone = frame.probes && !builder.is_empty();
    let refused = builder.refuses(frame.bytes).or(alone.then_some(ClosedBy::FrameLimit));
    match refused {
        Some(_) => session.originator.send_again(frame),
        None => builder.push(frame),
    }
    refused
}

/// The next frame of a source.
fn from_source(source: &mut dyn FrameSource, category: usize, to: StationId, overhead: u32) -> Option<Mpdu> {
    let handed = source.next_frame(category, to)?;
    Some(Mpdu { probes: handed.probes, ..Mpdu::new(handed.packet, overhead) })
}

/// The next frame from firmware, with as many packets as fit into an A-MSDU.
fn next_of_firmware(frames: &mut VecDeque<Mpdu>, amsdu: Option<Amsdu>) -> Option<Mpdu> {
    let mut frame = frames.pop_front()?;
    let Some(amsdu) = amsdu else { return Some(frame) };
    while frame.packets() < amsdu.packets as usize
        && let Some(next) = frames.front()
        && frame.bytes_with(&next.packet) <= amsdu.bytes
        && let Some(next) = frames.pop_front()
    {
        frame.estimate += next.estimate;
        frame.append(next.packet);
    }
    Some(frame)
}

fn queue_number(to: StationId, category: usize) -> u16 {
    to.0 * CATEGORIES as u16 + category as u16
}
