//! One radio of the cell: its queues, its sessions with other radios, and the PPDU that it sends.
//!
//! ```text
//! packet → queue above → (slot or space below) → aggregate → [the channel sends it] → status: completed or requeued
//! ```
//! The credit of a packet returns when the status of its frame is known, after its slot has been refilled.
//! [linux-6.12 ath9k xmit.c ath_tx_complete_aggr]
//!
//! This file has what a radio is told: packets, states of the medium, statuses, windows. What it forms of its packets is
//! in [`scheduling`].

mod scheduling;

use std::collections::VecDeque;

use rand_core::Rng;
use tailback_packet::{DropReason, Packet};
use tailback_qdisc::Context as QdiscContext;
use tailback_units::{SimTime, Span};

use crate::aggregate::Aggregate;
use crate::airtime::AirtimeScheduler;
use crate::beacon::Beacon;
use crate::block_ack::{Originator, Recipient, WINDOW};
use crate::contend::{AccessCategory, Contenders, Edca};
use crate::driver::{AIRTIME_USE_RX, AIRTIME_USE_TX, HardwareQueue, HostQueues, Profile};
use crate::frame::Mpdu;
use crate::frame_source::{FrameSource, Tried};
use crate::loss::Loss;
use crate::medium::{CarrierSense, Pauses, Sensed};
use crate::phy::{Band, LegacyRate};
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
    /// The losses of frames on the link.
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
    /// Expected airtime of its packets in firmware, until their status is known.
    pending: Span,
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
        let queues = match profile.host_queues {
            HostQueues::StationQueues(limits) => {
                Some(Box::new(StationQueues::new(stations * CATEGORIES, limits)))
            }
            HostQueues::Qdisc => None,
        };
        let state = || CategoryState {
            turns: AirtimeScheduler::new(stations, profile.airtime_flags != 0),
            hardware: VecDeque::new(),
            sessions: links.iter().map(|link| Session::new(link.as_ref())).collect(),
            firmware_turns: VecDeque::new(),
            pending: Span::ZERO,
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
        match self.profile.hardware_queue {
            HardwareQueue::Firmware { frames, .. } => {
                self.queues.is_some() || self.source.is_some() || self.in_firmware < frames
            }
            HardwareQueue::Slots(_) => true,
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

    /// This category has got something to send.
    #[inline]
    pub(crate) fn is_to_contend(&self, category: usize) -> bool {
        !self.contenders.waits(category) && self.has_frames(category)
    }

    /// What is sent when the medium is won.
    pub(crate) fn head(&mut self, category: usize) -> Option<&mut Aggregate> {
        self.categories[category].hardware.front_mut().map(Box::as_mut)
    }

    /// What is being sent, once the medium was won.
    pub(crate) fn sent_now(&self, category: usize) -> Option<&Aggregate> {
        self.categories.get(category)?.hardware.front().map(Box::as_ref)
    }

    /// Whether the host takes received packets only at an interrupt, so that it matters when each has come.
    pub(crate) fn mitigates(&self) -> bool {
        !self.profile.rx_quiet.is_zero()
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

    /// The losses of MPDUs to `to` from now on.
    pub(crate) fn set_loss(&mut self, to: StationId, loss: Loss) {
        if let Some(link) = &mut self.links[to.index()] {
            link.loss = loss;
        }
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
        for mut frame in aggregate.frames.drain(..) {
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
        self.form_what_fits(context.now);
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
        self.queues.as_ref().map_or(0, |queues| queues.held())
            + self.categories.iter().map(state).sum::<usize>()
    }

    /// Packets for `to` wait above the hardware.
    fn has_more(&self, category: usize, to: StationId) -> bool {
        let above = self.queues.as_ref().map_or(0, |queues| queues.packets_of(queue_number(to, category)));
        above > 0 || self.categories[category].sessions[to.index()].originator.waiting() > 0
    }

    fn send_again(&mut self, category: usize, to: StationId, frame: Mpdu, now: SimTime) {
        let state = &mut self.categories[category];
        state.sessions[to.index()].originator.send_again(frame);
        match self.profile.hardware_queue {
            HardwareQueue::Slots(_) => state.turns.activate(to.0, now),
            HardwareQueue::Firmware { .. } if !state.firmware_turns.contains(&to.0) => {
                state.firmware_turns.push_front(to.0)
            }
            HardwareQueue::Firmware { .. } => {}
        }
    }

    fn settle(&mut self, category: usize, to: StationId, settled: &Acknowledged) -> u64 {
        let state = &mut self.categories[category];
        let session = &mut state.sessions[to.index()];
        if matches!(self.profile.hardware_queue, HardwareQueue::Firmware { .. }) {
            session.pending = session.pending.saturating_sub(settled.estimate);
            state.pending = state.pending.saturating_sub(settled.estimate);
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

fn queue_number(to: StationId, category: usize) -> u16 {
    to.0 * CATEGORIES as u16 + category as u16
}
