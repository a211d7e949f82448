//! One radio of the cell: its queues, its sessions with others, and what it would send next.
//!
//! ```text
//! packet → queue above → (slot or room below) → aggregate → [the cell sends it] → status: settled or sent again
//! ```
//! A packet's credit goes back when the status of its frame is known, after the slot it leaves has been filled again.
//! [linux-6.12 ath9k xmit.c ath_txq_schedule, ath_tx_complete_aggr]

use std::collections::VecDeque;

use tailback_packet::{DropReason, Packet, SocketId};
use tailback_qdisc::Desk;
use tailback_units::{SimTime, Span};

use crate::aggregate::{Aggregate, Builder, ClosedBy};
use crate::airtime::AirtimeScheduler;
use crate::block_ack::{Originator, Recipient};
use crate::contend::{AccessCategory, Contender, Edca};
use crate::driver::{AIRTIME_USE_RX, AIRTIME_USE_TX, Above, Below, Profile};
use crate::frame::Mpdu;
use crate::phy::{Band, Mode};
use crate::station_queues::StationQueues;
use crate::{PacketBoxes, StationId};

/// Access categories.
const CATEGORIES: usize = AccessCategory::ALL.len();

/// How a station reaches another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// How its data is sent.
    pub mode: Mode,
    /// Chance that an MPDU is lost, as a fraction of 2³².
    pub loss: u32,
}

/// A radio.
pub struct Station {
    pub(crate) profile: Profile,
    pub(crate) contenders: [Contender; CATEGORIES],
    band: Band,
    /// Bytes that each MPDU has beside its IP packet.
    overhead: u32,
    queues: Option<StationQueues>,
    lanes: [Lane; CATEGORIES],
    links: Vec<Option<Link>>,
    /// Frames that firmware holds, of all lanes.
    in_firmware: u32,
}

/// What one access category of a radio has to send.
struct Lane {
    /// Stations with packets above.
    turns: AirtimeScheduler,
    /// Aggregates in the order of transmission.
    hardware: VecDeque<Aggregate>,
    sessions: Vec<Session>,
    /// Stations with frames in firmware, in turn.
    firmware_turns: VecDeque<u16>,
}

/// What a radio and one other have between them in one access category.
#[derive(Default)]
struct Session {
    originator: Originator,
    recipient: Recipient,
    /// Frames in firmware that are not on the air.
    firmware: VecDeque<Mpdu>,
    /// Bytes of frames that firmware holds, until their status is known.
    firmware_bytes: u64,
}

/// What became of the frames of an aggregate.
#[derive(Debug, Default)]
pub struct Status {
    /// Those that were acknowledged.
    pub acknowledged: Vec<Acknowledged>,
}

/// A frame that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// Its sequence number.
    pub sequence: u64,
    /// Its length.
    pub bytes: u32,
    /// The socket to credit, and with how much truesize.
    pub credit: Option<(SocketId, u32)>,
}

impl Station {
    /// A radio that reaches others as `links` says, by their number.
    pub fn new(
        profile: Profile,
        band: Band,
        overhead: u32,
        edca: [Edca; CATEGORIES],
        links: Vec<Option<Link>>,
    ) -> Self {
        let stations = links.len();
        let queues = match profile.above {
            Above::StationQueues(limits) => Some(StationQueues::new(stations * CATEGORIES, limits)),
            Above::Qdisc => None,
        };
        let lane = || Lane {
            turns: AirtimeScheduler::new(stations, profile.airtime_flags != 0),
            hardware: VecDeque::new(),
            sessions: (0..stations).map(|_| Session::default()).collect(),
            firmware_turns: VecDeque::new(),
        };
        Station {
            profile,
            contenders: edca.map(|edca| Contender::new(edca, band)),
            band,
            overhead,
            queues,
            lanes: std::array::from_fn(|_| lane()),
            links,
            in_firmware: 0,
        }
    }

    /// The driver takes packets: the qdisc above is not stopped.
    pub fn accepts(&self) -> bool {
        match self.profile.below {
            Below::Firmware { frames, .. } => self.queues.is_some() || self.in_firmware < frames,
            Below::Slots(_) => true,
        }
    }

    /// A packet of the host for another station.
    pub fn transmit(&mut self, to: StationId, packet: Box<Packet>, desk: &mut Desk<'_>) {
        let category = AccessCategory::of_tos(packet.tos).index();
        match &mut self.queues {
            Some(queues) => {
                queues.enqueue(queue_number(to, category), packet, desk);
                self.lanes[category].turns.activate(to.0);
            }
            None => self.hand_to_firmware(category, to, packet, desk.now),
        }
        self.pull(category, desk);
    }

    /// Something waits for the air in this category.
    pub fn has_frames(&self, category: usize) -> bool {
        !self.lanes[category].hardware.is_empty()
    }

    /// What is sent when the medium is won.
    pub fn head(&mut self, category: usize) -> Option<&mut Aggregate> {
        self.lanes[category].hardware.front_mut()
    }

    /// The aggregate on the air has no answer; true if it is given up, and its frames go back to be aggregated anew.
    pub fn unanswered(&mut self, category: usize, now: SimTime) -> bool {
        let tries = self.profile.hardware_tries;
        let Some(aggregate) = self.lanes[category].hardware.front_mut() else { return false };
        aggregate.failures += 1;
        aggregate.at_head = now;
        aggregate.failures >= tries
    }

    /// The status of the aggregate on the air is known: its frames are settled or sent again, the slot is filled.
    /// `delivered`: what the receiver has acknowledged. Returns the oldest number outstanding with that station.
    pub fn complete(
        &mut self,
        category: usize,
        status: &Status,
        desk: &mut Desk<'_>,
    ) -> Option<(StationId, u64)> {
        let aggregate = self.lanes[category].hardware.pop_front()?;
        let (to, tries) = (aggregate.to, aggregate.failures + 1);
        let airtime = aggregate.duration * u64::from(tries);
        let mut start = 0;
        for &Acknowledged { sequence, bytes, .. } in &status.acknowledged {
            start = self.settle(category, to, sequence, bytes);
        }
        for mut frame in aggregate.frames {
            frame.tries += tries;
            if frame.tries < self.profile.frame_tries {
                self.send_again(category, to, frame);
            } else {
                start = self.settle(category, to, frame.sequence, frame.bytes);
                desk.refuse(frame.packet, DropReason::RetryLimit);
            }
        }
        if self.profile.airtime_flags & AIRTIME_USE_TX != 0 {
            self.lanes[category].turns.charge(to.0, airtime);
        }
        if self.has_more(category, to) {
            self.lanes[category].turns.activate(to.0);
        }
        self.turn_in_firmware(category, to);
        self.pull(category, desk);
        if let Some(next) = self.lanes[category].hardware.front_mut() {
            next.at_head = desk.now;
        }
        Some((to, start))
    }

    /// A frame came from another station; what can be passed up is appended to `up`.
    pub fn receive(
        &mut self,
        category: usize,
        from: StationId,
        frame: (u64, Box<Packet>),
        up: &mut PacketBoxes,
    ) {
        let recipient = &mut self.lanes[category].sessions[from.index()].recipient;
        recipient.take(frame.0, frame.1, up);
    }

    /// Another station will not send again what is below `start`.
    pub fn move_window(&mut self, category: usize, from: StationId, start: u64, up: &mut PacketBoxes) {
        self.lanes[category].sessions[from.index()].recipient.move_to(start, up);
    }

    /// A station used the air to send to this one: it counts as its airtime. [linux-6.12 AIRTIME_USE_RX]
    pub fn charge_received(&mut self, category: usize, from: StationId, span: Span) {
        if self.profile.airtime_flags & AIRTIME_USE_RX != 0 {
            self.lanes[category].turns.charge(from.0, span);
        }
    }

    /// How `to` is reached.
    pub fn link(&self, to: StationId) -> Option<&Link> {
        self.links[to.index()].as_ref()
    }

    /// Packets that wait in the host for the air, above the hardware.
    pub fn queued(&self) -> u32 {
        self.queues.as_ref().map_or(self.in_firmware, StationQueues::packets)
    }

    /// Packets inside, on the air and held for reordering included.
    pub fn packets(&self) -> usize {
        let lane = |lane: &Lane| -> usize {
            let sessions: usize = lane.sessions.iter().map(Session::packets).sum();
            sessions + lane.hardware.iter().map(|aggregate| aggregate.frames.len()).sum::<usize>()
        };
        self.queues.as_ref().map_or(0, |queues| queues.packets() as usize)
            + self.lanes.iter().map(lane).sum::<usize>()
    }

    /// Packets for `to` wait above the hardware.
    fn has_more(&self, category: usize, to: StationId) -> bool {
        let above = self.queues.as_ref().map_or(0, |queues| queues.packets_of(queue_number(to, category)));
        above > 0 || self.lanes[category].sessions[to.index()].originator.waiting() > 0
    }

    /// Moves packets from above to where there is room below.
    fn pull(&mut self, category: usize, desk: &mut Desk<'_>) {
        match self.profile.below {
            Below::Slots(slots) => self.fill_slots(category, slots, desk),
            Below::Firmware { slots, frames, airtime } => {
                self.fill_firmware(category, frames, airtime, desk);
                self.form_in_firmware(category, slots, desk.now);
            }
        }
    }

    fn fill_slots(&mut self, category: usize, slots: u32, desk: &mut Desk<'_>) {
        let Some(mut queues) = self.queues.take() else { return };
        while self.lanes[category].hardware.len() < slots as usize {
            let Some(turn) = self.lanes[category].turns.take_turn() else { break };
            let to = StationId(turn);
            let number = queue_number(to, category);
            let now = desk.now;
            let formed = self.form(
                category,
                to,
                &mut |_, overhead| mpdu(queues.dequeue(number, desk)?, overhead, now),
                now,
            );
            // A station whose window is full comes back when frames of it are settled.
            let Some(aggregate) = formed else { continue };
            if queues.packets_of(number) > 0
                || self.lanes[category].sessions[to.index()].originator.waiting() > 0
            {
                self.lanes[category].turns.served(turn);
            }
            self.lanes[category].hardware.push_back(aggregate);
        }
        self.queues = Some(queues);
    }

    fn fill_firmware(&mut self, category: usize, frames: u32, airtime: Option<Span>, desk: &mut Desk<'_>) {
        let Some(mut queues) = self.queues.take() else { return };
        let mut full = Vec::new();
        while self.in_firmware < frames {
            let Some(turn) = self.lanes[category].turns.take_turn() else { break };
            let to = StationId(turn);
            if airtime.is_some_and(|most| self.firmware_airtime(category, to) >= most) {
                full.push(turn);
                continue;
            }
            if let Some(packet) = queues.dequeue(queue_number(to, category), desk) {
                self.hand_to_firmware(category, to, packet, desk.now);
            }
            if queues.packets_of(queue_number(to, category)) > 0 {
                self.lanes[category].turns.served(turn);
            }
        }
        full.into_iter().for_each(|turn| self.lanes[category].turns.activate(turn));
        self.queues = Some(queues);
    }

    fn hand_to_firmware(&mut self, category: usize, to: StationId, packet: Box<Packet>, now: SimTime) {
        let lane = &mut self.lanes[category];
        let session = &mut lane.sessions[to.index()];
        let Some(frame) = mpdu(packet, self.overhead, now) else { return };
        session.firmware_bytes += u64::from(frame.bytes);
        session.firmware.push_back(frame);
        self.in_firmware += 1;
        self.turn_in_firmware(category, to);
    }

    /// A station with frames in firmware has its turn.
    fn turn_in_firmware(&mut self, category: usize, to: StationId) {
        let lane = &mut self.lanes[category];
        let idle = lane.sessions[to.index()].firmware.is_empty();
        if !idle && !lane.firmware_turns.contains(&to.0) {
            lane.firmware_turns.push_back(to.0);
        }
    }

    fn form_in_firmware(&mut self, category: usize, slots: u32, now: SimTime) {
        while self.lanes[category].hardware.len() < slots as usize {
            let Some(turn) = self.lanes[category].firmware_turns.pop_front() else { break };
            let to = StationId(turn);
            let formed = self.form(category, to, &mut |session, _| session.firmware.pop_front(), now);
            // A station whose window is full comes back when frames of it are settled.
            let Some(aggregate) = formed else { continue };
            if !self.lanes[category].sessions[to.index()].is_idle() {
                self.lanes[category].firmware_turns.push_back(turn);
            }
            self.lanes[category].hardware.push_back(aggregate);
        }
    }

    fn firmware_airtime(&self, category: usize, to: StationId) -> Span {
        let bits = 8 * self.lanes[category].sessions[to.index()].firmware_bytes;
        let rate = self.links[to.index()].map_or(1, |link| link.mode.bits_per_sec());
        Span::from_nanos(bits * 1_000_000_000 / rate)
    }

    /// An aggregate for `to`: frames to be sent again, then new ones from `source`.
    fn form(
        &mut self,
        category: usize,
        to: StationId,
        source: &mut dyn FnMut(&mut Session, u32) -> Option<Mpdu>,
        now: SimTime,
    ) -> Option<Aggregate> {
        let link = self.links[to.index()]?;
        let mut limits = self.profile.limits;
        let txop = self.contenders[category].edca().txop;
        if !txop.is_zero() {
            limits.duration = limits.duration.min(txop);
        }
        let session = &mut self.lanes[category].sessions[to.index()];
        let mut builder = Builder::new(&limits, &link.mode, self.band);
        let closed_by = loop {
            if builder.len() >= limits.frames as usize {
                break ClosedBy::FrameLimit;
            }
            let frame = match session.originator.take_retry() {
                Some(frame) => frame,
                None if !session.originator.window_open() => break ClosedBy::Window,
                None => match source(session, self.overhead) {
                    Some(frame) => Mpdu { sequence: session.originator.number(), ..frame },
                    None => break ClosedBy::EmptyQueue,
                },
            };
            if let Some(reason) = builder.refuses(frame.bytes) {
                session.originator.send_again(frame);
                break reason;
            }
            builder.push(frame);
        };
        let mut aggregate = builder.close(to, closed_by)?;
        aggregate.at_head = now;
        Some(aggregate)
    }

    fn send_again(&mut self, category: usize, to: StationId, frame: Mpdu) {
        let lane = &mut self.lanes[category];
        lane.sessions[to.index()].originator.send_again(frame);
        match self.profile.below {
            Below::Slots(_) => lane.turns.activate(to.0),
            Below::Firmware { .. } if !lane.firmware_turns.contains(&to.0) => {
                lane.firmware_turns.push_front(to.0)
            }
            Below::Firmware { .. } => {}
        }
    }

    fn settle(&mut self, category: usize, to: StationId, sequence: u64, bytes: u32) -> u64 {
        let session = &mut self.lanes[category].sessions[to.index()];
        if matches!(self.profile.below, Below::Firmware { .. }) {
            session.firmware_bytes -= u64::from(bytes);
            self.in_firmware -= 1;
        }
        session.originator.settle(sequence)
    }
}

impl Session {
    fn is_idle(&self) -> bool {
        self.firmware.is_empty() && self.originator.waiting() == 0
    }

    fn packets(&self) -> usize {
        self.firmware.len() + self.originator.waiting() + self.recipient.held()
    }
}

fn mpdu(packet: Box<Packet>, overhead: u32, now: SimTime) -> Option<Mpdu> {
    let bytes = packet.ip_length + overhead;
    Some(Mpdu { packet, sequence: 0, bytes, tries: 0, pulled: now })
}

fn queue_number(to: StationId, category: usize) -> u16 {
    to.0 * CATEGORIES as u16 + category as u16
}
