//! What a radio sends next: packets move from the queues above into the space below, and form aggregates there.
//!
//! ```text
//! slots (ath9k):  while a slot is free: the station whose turn it is → retransmissions, then packets of its queue → aggregate
//! firmware:       packets move into firmware up to its limits; while a slot is free: the same from its frames, A-MSDUs
//! ```
//! [linux-6.12 ath9k xmit.c ath_txq_schedule, ath_tx_form_aggr]

use std::collections::VecDeque;
use std::ops::ControlFlow;

use tailback_packet::Packet;
use tailback_qdisc::Context as QdiscContext;
use tailback_units::{SimTime, Span};

use super::{CATEGORIES, Link, Session, Station, queue_number};
use crate::StationId;
use crate::aggregate::{Aggregate, Builder, ClosedBy, Limits};
use crate::block_ack::Originator;
use crate::contend::AccessCategory;
use crate::driver::{AirtimeLimits, Amsdu, HardwareQueue, RateControlIn, SlowStations};
use crate::expected_airtime::{Expected, expected_airtime};
use crate::frame::Mpdu;
use crate::frame_source::{FrameSource, Room};
use crate::phy::Mode;
use crate::rate::RateControl;
use crate::station_queues::StationQueues;

impl Station {
    /// Fills space that has become free below. Firmware has one limit for all categories.
    pub(super) fn pull_what_fits(&mut self, category: usize, context: &mut QdiscContext<'_>) {
        match self.profile.hardware_queue {
            HardwareQueue::Slots(_) => self.pull(category, context),
            HardwareQueue::Firmware { .. } => {
                (0..CATEGORIES).for_each(|category| self.pull(category, context))
            }
        }
    }

    /// Firmware forms the next aggregates of what it holds, before its host knows that there is room for more.
    pub(super) fn form_what_fits(&mut self, now: SimTime) {
        if let HardwareQueue::Firmware { slots, .. } = self.profile.hardware_queue {
            (0..CATEGORIES).for_each(|category| self.form_in_firmware(category, slots, now));
        }
    }

    /// Moves packets from above into the space below.
    #[inline]
    pub(super) fn pull(&mut self, category: usize, context: &mut QdiscContext<'_>) {
        match self.profile.hardware_queue {
            HardwareQueue::Slots(slots) => self.fill_slots(category, slots, context),
            HardwareQueue::Firmware { slots, frames, airtime } => {
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
            let Some(turn) = self.categories[category].turns.take_turn(|_| true) else { break };
            let to = StationId(turn);
            let number = queue_number(to, category);
            self.expect(&mut queues, number, to);
            let now = context.now;
            let overhead = self.overhead;
            let from_queues = |filling: &mut Filling<'_>, _: &mut VecDeque<Mpdu>| {
                filling.add_from(&mut queues, number, overhead, context)
            };
            let formed = self.form(category, to, from_queues, now);
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
            let overhead = self.overhead;
            let next = || from_source(source.as_mut(), category, to, overhead);
            let from_source = |filling: &mut Filling<'_>, _: &mut VecDeque<Mpdu>| filling.add_each(next);
            // A station whose window is full comes back when frames of it are settled.
            let Some(aggregate) = self.form(category, to, from_source, now) else { continue };
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

    /// Tells CoDel how fast a station is, if it spares slow ones and rate control of the host knows.
    fn expect(&self, queues: &mut StationQueues, number: u16, to: StationId) {
        if self.profile.slow_stations == SlowStations::LongerTarget
            && self.profile.rate_control == RateControlIn::Host
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
        while self.in_firmware < frames {
            let (all, state) = (self.pending, &mut self.categories[category]);
            if airtime.is_some_and(|limits| limits.refuse_category(state.pending, state.turns.listed())) {
                break;
            }
            let sessions = &state.sessions;
            let may_send = |station: u16| {
                let pending = sessions[usize::from(station)].pending;
                airtime.is_none_or(|limits| !limits.refuse(pending, all))
            };
            let Some(turn) = state.turns.take_turn(may_send) else { break };
            let to = StationId(turn);
            if let Some(packet) = queues.dequeue(queue_number(to, category), context) {
                self.hand_to_firmware(category, to, packet);
            }
            if queues.packets_of(queue_number(to, category)) > 0 {
                self.categories[category].turns.activate(turn, context.now);
            }
        }
        self.queues = Some(queues);
    }

    #[inline(never)]
    pub(super) fn hand_to_firmware(&mut self, category: usize, to: StationId, packet: Box<Packet>) {
        let mut frame = Mpdu::new(packet, self.overhead);
        frame.estimate = self.expected_airtime(category, to, frame.packet.ip_length);
        let state = &mut self.categories[category];
        let session = &mut state.sessions[to.index()];
        session.pending += frame.estimate;
        state.pending += frame.estimate;
        self.pending += frame.estimate;
        session.firmware.push_back(frame);
        self.in_firmware += 1;
        self.serve_from_firmware(category, to);
    }

    /// The airtime that the host expects of a packet, if it limits that in firmware.
    fn expected_airtime(&self, category: usize, to: StationId, ip_length: u32) -> Span {
        let HardwareQueue::Firmware { airtime: Some(limits), .. } = self.profile.hardware_queue else {
            return Span::ZERO;
        };
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
    pub(super) fn serve_from_firmware(&mut self, category: usize, to: StationId) {
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
            let from_firmware = |filling: &mut Filling<'_>, firmware: &mut VecDeque<Mpdu>| {
                filling.add_each(|| next_of_firmware(firmware, amsdu))
            };
            // A station whose window is full comes back when frames of it are settled.
            let Some(aggregate) = self.form(category, to, from_firmware, now) else { continue };
            if !self.categories[category].sessions[to.index()].is_idle() {
                self.categories[category].firmware_turns.push_back(turn);
            }
            self.categories[category].hardware.push_back(aggregate);
        }
    }

    /// An aggregate for `to`: frames to be retransmitted, then those that `add` adds, perhaps from firmware.
    #[inline(always)]
    fn form(
        &mut self,
        category: usize,
        to: StationId,
        add: impl FnOnce(&mut Filling<'_>, &mut VecDeque<Mpdu>) -> ClosedBy,
        now: SimTime,
    ) -> Option<Box<Aggregate>> {
        let chain = self.links[to.index()].as_mut()?.rates.chain(now, self.profile.hardware_tries);
        let mut limits = self.limits(category, chain.slowest());
        if chain.probes {
            limits.frames = 1;
        }
        let Session { originator, firmware, .. } = &mut self.categories[category].sessions[to.index()];
        let spare = self.spare.pop().unwrap_or_else(|| Box::new(Aggregate::empty(chain)));
        let builder = Builder::new(limits, &chain, self.band, spare);
        let mut filling = Filling { builder, originator, limit: limits.frames };
        let closed_by = filling.add_retries().unwrap_or_else(|| add(&mut filling, firmware));
        filling.builder.close(to, closed_by, now).map_err(|emptied| self.spare.push(emptied)).ok()
    }
}

/// An aggregate that is being filled, and the session of its frames.
struct Filling<'a> {
    builder: Builder,
    originator: &'a mut Originator,
    /// Frames that it may have.
    limit: u32,
}

impl Filling<'_> {
    /// Adds the frames to be retransmitted; the reason if there is no room for one of them.
    fn add_retries(&mut self) -> Option<ClosedBy> {
        while self.originator.waiting() > 0 {
            if self.builder.len() >= self.limit as usize {
                return Some(ClosedBy::FrameLimit);
            }
            let frame = self.originator.take_retry()?;
            if let ControlFlow::Break(reason) = self.add(frame) {
                return Some(reason);
            }
        }
        None
    }

    /// Adds the frames of a source that hands them over one by one.
    fn add_each(&mut self, mut next: impl FnMut() -> Option<Mpdu>) -> ClosedBy {
        loop {
            if let Some(reason) = self.full() {
                return reason;
            }
            let Some(frame) = next() else { return ClosedBy::EmptyQueue };
            if let ControlFlow::Break(reason) = self.add_new(frame) {
                return reason;
            }
        }
    }

    /// Adds packets of a queue above.
    #[inline(always)]
    fn add_from(
        &mut self,
        queues: &mut StationQueues,
        number: u16,
        overhead: u32,
        context: &mut QdiscContext<'_>,
    ) -> ClosedBy {
        if let Some(reason) = self.full() {
            return reason;
        }
        let Some(flow) = queues.lone_flow(number, context.now) else {
            return self.add_each(|| Some(Mpdu::new(queues.dequeue(number, context)?, overhead)));
        };
        let room = self.room();
        let add = |packet| self.add_new(Mpdu::new(packet, overhead));
        match queues.serve_alone(number, flow, room, context.now, add) {
            ControlFlow::Break(reason) => reason,
            ControlFlow::Continue(()) => self.full().unwrap_or(ClosedBy::EmptyQueue),
        }
    }

    /// New frames that the limit and the window allow.
    fn room(&self) -> u32 {
        self.limit.saturating_sub(self.builder.len() as u32).min(self.originator.window_left())
    }

    /// Why no new frame is asked for, if there is no room.
    fn full(&self) -> Option<ClosedBy> {
        if self.builder.len() >= self.limit as usize {
            return Some(ClosedBy::FrameLimit);
        }
        (!self.originator.window_open()).then_some(ClosedBy::Window)
    }

    /// Adds a frame that gets its number now.
    #[inline(always)]
    fn add_new(&mut self, mut frame: Mpdu) -> ControlFlow<ClosedBy> {
        frame.sequence = self.originator.number();
        self.add(frame)
    }

    /// Adds a frame. If there is no room for it, it waits to be sent first, and the reason is returned.
    #[inline(always)]
    fn add(&mut self, frame: Mpdu) -> ControlFlow<ClosedBy> {
        let alone = frame.probes && !self.builder.is_empty();
        if let Some(reason) = self.builder.refuses(frame.bytes).or(alone.then_some(ClosedBy::FrameLimit)) {
            self.originator.send_again(frame);
            return ControlFlow::Break(reason);
        }
        self.builder.push(frame);
        ControlFlow::Continue(())
    }
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
