//! The transmit loop and its send checks.
//!
//! All new data is sent here. Checks per skb, in the kernel's order; the first refusal is recorded:
//!
//! ```text
//! pacing → cwnd → receive window → Nagle or TSO deferral → small queue → hand over → (refused by the device: stop)
//! ```
//! Retransmissions go first. After the loop: cwnd validation, the count of PRR, the tail loss probe.
//! [linux-6.12 tcp_output.c tcp_write_xmit, tcp_xmit_retransmit_queue, __tcp_transmit_skb]
//!
//! The kernel passes a packet to the device inside the loop. Here [`Sender::next`] returns the packet, the host passes
//! it to the device, and [`Sender::handed_over`] continues.

use std::ops::Range;

use tailback_cc::{CwndEvent, PacingStatus};
use tailback_units::SimTime;

use crate::info::{HeldBy, Note};
use crate::mtu_probe::MtuStep;
use crate::queue::{Index, SentSegment, Stamp, Tags};
use crate::sender::Sender;
use crate::small_queue::Urgency;
use crate::stack::{CwndUse, LastFin};
use crate::state::gate::{Burst, NewKind, Pass, Pending, Progress, Retransmit, Role, Transmitted, Written};
use crate::state::timer::TimerKind;
use crate::timers::Rto;
use crate::tso::Offer;

/// Data that leaves as one skb.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) seq: u64,
    pub(crate) length: u32,
    /// Payload of a full segment of it.
    pub(crate) mss: u32,
    pub(crate) push: bool,
    pub(crate) fin: bool,
    pub(crate) departure: SimTime,
}

impl Sender {
    /// The next segment to hand to the device; `None` when the agenda is done.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Outgoing, Written)> {
        loop {
            if self.gate.agenda.precedes_new_data()
                && let Some(outgoing) = self.next_again()
            {
                return Some((outgoing, Written::Packet));
            }
            let pass = self.gate.agenda.pass?;
            if let Some(next) = self.next_new(pass) {
                return Some(next);
            }
            self.gate.agenda.pass = None;
            if let Some(outgoing) = self.end_refused_pass(pass) {
                return Some((outgoing, Written::Packet));
            }
        }
    }

    /// Most runs end with [`Sender::end_if_refused`].
    #[inline(never)]
    fn end_refused_pass(&mut self, pass: Pass) -> Option<Outgoing> {
        self.end_pass(pass)
    }

    /// Ends the loop after a transmission if the first two checks, pacing and cwnd, refuse the next segment.
    #[inline(always)]
    fn end_if_refused(&mut self) {
        let Some(pass) = self.gate.agenda.pass.filter(|pass| pass.obeys_cwnd()) else { return };
        let checked_before = self.gate.agenda.precedes_new_data() || self.gate.agenda.progress.stopped;
        if checked_before || self.stream.fin_queued || !self.has_unsent() {
            return;
        }
        if self.flow.departure < self.gate.quiet_until && self.begin_paced_burst(pass) {
            return;
        }
        if self.held_by_pacing() {
            self.gate.held_by = HeldBy::Pacing;
        } else if self.in_flight() >= self.window.cwnd.0 {
            self.gate.held_by = HeldBy::Cwnd;
        } else {
            return;
        }
        self.gate.agenda.pass = None;
        let probe = self.end_pass(pass);
        debug_assert!(probe.is_none(), "only a loss probe ends with a retransmission");
    }

    /// Retransmissions, and what follows the last of them.
    #[inline(never)]
    fn next_again(&mut self) -> Option<Outgoing> {
        loop {
            if self.gate.agenda.take_head() {
                self.refresh_mss();
                let head = self.scoreboard.queue().head();
                if let Some(outgoing) = self.retransmit(head, 1, Role::AfterTimeout) {
                    return Some(outgoing);
                }
                self.after_timeout_retransmission(false);
                continue;
            }
            match self.gate.agenda.retransmit() {
                Retransmit::Lost => {
                    if let Some(outgoing) = self.next_lost() {
                        return Some(outgoing);
                    }
                    self.end_retransmissions();
                    continue;
                }
                Retransmit::NewData => {
                    self.gate.agenda.set_retransmit(Retransmit::Nothing);
                    self.gate.agenda.begin(Pass::Frto);
                }
                Retransmit::Nothing => {}
            }
            if self.gate.agenda.take_rearming() && !self.armed_for(TimerKind::Retransmission) {
                self.rearm_rto();
            }
            return None;
        }
    }

    /// The gate. [linux-6.12 tcp_output.c tcp_write_xmit]
    #[inline(always)]
    fn next_new(&mut self, pass: Pass) -> Option<(Outgoing, Written)> {
        let begins = !std::mem::replace(&mut self.gate.agenda.progress.begun, true);
        if begins {
            self.refresh_mss();
        }
        if self.gate.agenda.progress.stopped {
            return None;
        }
        if !self.has_unsent() {
            self.gate.held_by = HeldBy::NoData;
            return None;
        }
        if begins && !pass.sends_one() {
            match self.mtu_step() {
                MtuStep::None => {}
                MtuStep::Wait => return None,
                MtuStep::Send(length) => {
                    return Some((self.leave_as_mtu_probe(length, pass), Written::Packet));
                }
            }
            self.begin_burst(pass);
            let of_burst = self.next_of_burst();
            if of_burst.is_some() {
                return of_burst;
            }
        }
        let offer = match self.builds_trains() && pass != Pass::WindowProbe {
            true => self.next_train(pass),
            false => self.next_segment(pass),
        };
        match offer {
            Ok(offer) => Some((self.leave(offer, NewKind::Segments, pass), Written::Packet)),
            Err(reason) => {
                self.gate.held_by = reason;
                None
            }
        }
    }

    /// An ACK usually clocks out some full segments, each of which would pass the same checks: counts them once. There is
    /// no burst if anything must be looked at for each of them.
    #[inline(always)]
    fn begin_burst(&mut self, pass: Pass) {
        if self.flow.pacing_status == PacingStatus::None && self.may_begin_burst(pass) {
            self.count_burst();
        }
    }

    /// Nothing must be looked at for each segment, except for pacing and the small queue.
    #[inline(always)]
    fn may_begin_burst(&self, pass: Pass) -> bool {
        let plain = pass == Pass::Normal
            && !self.builds_trains()
            && !self.stream.fin_queued
            && self.stream.record_ends.first().is_none();
        if !plain || !self.takes_shortcuts() {
            return false;
        }
        debug_assert!(!self.gate.agenda.precedes_new_data(), "retransmissions went first");
        self.in_flight() > 0 && !self.arms_timer_when_sent() && self.has_no_space_to_look_for()
    }

    /// A paced flow has sent a segment, and its host passes the time to the next departure: counts the segments that only
    /// pacing holds. The pass continues with them; what the end of a pass for each of them would do is done for each
    /// (`sent_of_paced_burst`), or once at the end if only the last time matters. False: there is no such segment.
    #[inline(never)]
    fn begin_paced_burst(&mut self, pass: Pass) -> bool {
        let held = self.flow.departure.since(self.flow.now);
        // Whatever timer the end of the pass arms, it does not expire within a jiffy.
        let paced =
            self.flow.pacing_status == PacingStatus::Needed && !held.is_zero() && held <= self.flow.jiffy;
        let same_path = self.path.search.is_none() && self.path.route == self.path.known;
        let calm = self.ends_with_loss_probe() && self.scoreboard.lost_out() <= self.scoreboard.retrans_out();
        if !(paced && same_path && calm && self.may_begin_burst(pass)) {
            return false;
        }
        self.count_burst();
        let begins = self.gate.agenda.progress.burst.left > 0;
        if begins {
            self.update_clocks(false);
            self.validate_cwnd(false);
        }
        begins
    }

    /// The segments that cwnd, the peer's window and the data allow.
    #[inline(always)]
    fn count_burst(&mut self) {
        let mss = u64::from(self.mss());
        let by_cwnd = u64::from(self.window.cwnd.0.saturating_sub(self.in_flight()));
        // The segment with the end of a write carries PSH.
        let before_mark = self.stream.push_marks.front().map_or(u64::MAX, |mark| mark - 1);
        let end = self.stream.write_seq.min(self.window_end()).min(before_mark);
        let bytes = end.saturating_sub(self.flow.snd_nxt);
        let left = if by_cwnd * mss <= bytes { by_cwnd } else { bytes / mss };
        if left > 0 {
            let truesize = u64::from(self.truesize(self.mss()));
            let small_queue_limit = self.small_queue_limit(truesize, Urgency::NewData);
            self.gate.agenda.progress.burst = Burst { left: left as u32, small_queue_limit };
        }
    }

    /// The next segment of a burst, if there is one and the small queue has room for it.
    #[inline(always)]
    pub(crate) fn next_of_burst(&mut self) -> Option<(Outgoing, Written)> {
        let Burst { left, small_queue_limit } = self.gate.agenda.progress.burst;
        if left == 0 {
            return None;
        }
        if self.below.wmem_alloc >= small_queue_limit || self.flow.departure > self.flow.now {
            self.gate.agenda.progress.burst = Burst::default();
            return None;
        }
        let (seq, length) = (self.flow.snd_nxt, self.mss());
        debug_assert_eq!(self.next_segment(Pass::Normal), Ok(Offer { length, fin: false }));
        self.flow.last_sent = self.flow.now;
        self.take_departure();
        self.count_sent(length, 1);
        let departure = self.flow.departure;
        let outgoing = Outgoing { seq, length, mss: length, push: false, fin: false, departure };
        Some((outgoing, Written::OfBurst))
    }

    /// Sends new data.
    #[inline(always)]
    fn leave(&mut self, Offer { length, fin }: Offer, kind: NewKind, pass: Pass) -> Outgoing {
        let mut tags = Tags::default();
        let marked = self.stream.take_push_mark(self.flow.snd_nxt + u64::from(length));
        if marked || pass == Pass::WindowProbe {
            tags.set(Tags::PUSH);
        }
        if fin {
            tags.set(Tags::FIN);
        }
        if self.stream.record_ends.first() == Some(self.flow.snd_nxt + u64::from(length)) {
            tags.set(Tags::RECORD_END);
        }
        if self.in_flight() == 0 {
            self.cwnd_event(CwndEvent::TxStart);
        }
        self.flow.last_sent = self.flow.now;
        let before = self.take_departure();
        let segments = self.segments_of_kind(length, kind);
        self.count_sent(length, segments);
        self.gate.agenda.pending = Some(Pending::New { length, tags, before, kind });
        let mss = if kind == NewKind::MtuProbe { length } else { self.mss() };
        Outgoing { mss, ..self.outgoing(self.flow.snd_nxt, length, tags, segments) }
    }

    #[cold]
    fn leave_as_mtu_probe(&mut self, length: u32, pass: Pass) -> Outgoing {
        self.leave(Offer { length, fin: false }, NewKind::MtuProbe, pass)
    }

    /// Sends one segment if all checks pass.
    #[inline(always)]
    fn next_segment(&mut self, pass: Pass) -> Result<Offer, HeldBy> {
        let length = self.next_length(pass);
        let fin = self.stream.fin_queued && self.flow.snd_nxt + u64::from(length) == self.stream.write_seq;
        match self.refusal(pass, length, fin) {
            Some(reason) => Err(reason),
            None => Ok(Offer { length, fin }),
        }
    }

    /// A full segment if there is one; a window probe is as long as the window allows.
    fn next_length(&self, pass: Pass) -> u32 {
        let record = self.stream.record_ends.first().map_or(u64::MAX, |end| end - self.flow.snd_nxt);
        let length = self.unsent().min(u64::from(self.mss())).min(record);
        match pass {
            Pass::WindowProbe => length.min(self.window_end().saturating_sub(self.flow.snd_nxt)) as u32,
            _ => length as u32,
        }
    }

    #[inline(always)]
    fn refusal(&mut self, pass: Pass, length: u32, fin: bool) -> Option<HeldBy> {
        if pass == Pass::WindowProbe {
            let empty = length == 0 && !(fin && self.flow.snd_nxt < self.window_end());
            return empty.then_some(HeldBy::ReceiveWindow);
        }
        if self.held_by_pacing() {
            return Some(HeldBy::Pacing);
        }
        let exempt = fin && self.settings.stack.last_fin == LastFin::Exempt;
        if self.in_flight() >= self.window.cwnd.0 && pass != Pass::LossProbe && !exempt {
            return Some(HeldBy::Cwnd);
        }
        let end = self.flow.snd_nxt + u64::from(length.min(self.mss()));
        if end > self.window_end() {
            self.gate.agenda.progress.window_limited = true;
            return Some(HeldBy::ReceiveWindow);
        }
        let last = self.flow.snd_nxt + u64::from(length) == self.stream.write_seq;
        if length < self.mss() && last && !fin {
            if pass == Pass::Autocork && self.autocorked() {
                return Some(HeldBy::SmallQueue);
            }
            if self.held_by_nagle(pass) {
                return Some(HeldBy::Nagle);
            }
        }
        self.held_by_small_queue(length, Urgency::NewData).then_some(HeldBy::SmallQueue)
    }

    /// A short segment waits for more if the application said that more comes, or while another short one is
    /// unacknowledged (Minshall's rule). [linux-6.12 tcp_output.c tcp_nagle_check]
    pub(crate) fn held_by_nagle(&self, pass: Pass) -> bool {
        match pass {
            Pass::More => true,
            Pass::Normal | Pass::Autocork => {
                self.gate.corked || (!self.gate.no_delay && self.short_one_is_out())
            }
            _ => false,
        }
    }

    fn short_one_is_out(&self) -> bool {
        self.scoreboard.packets_out() > 0
            && self.gate.small_sent > self.flow.snd_una
            && self.gate.small_sent <= self.flow.snd_nxt
    }

    fn segments_of_kind(&self, length: u32, kind: NewKind) -> u32 {
        match kind {
            NewKind::Segments => self.segments_of(length),
            NewKind::MtuProbe => 1,
        }
    }

    fn count_sent(&mut self, length: u32, segments: u32) {
        self.sent.data_segs_out += u64::from(segments);
        self.sent.bytes_sent += u64::from(length);
        let truesize = self.truesize(length);
        self.below.charge(truesize);
    }

    /// An skb of several segments carries PSH whenever it leaves, so that the peer's GRO passes it on.
    /// [linux-6.12 tcp_output.c __tcp_transmit_skb]
    fn outgoing(&self, seq: u64, length: u32, tags: Tags, segments: u32) -> Outgoing {
        let (push, fin) = (tags.has(Tags::PUSH) || segments > 1, tags.has(Tags::FIN));
        Outgoing { seq, length, mss: self.mss(), push, fin, departure: self.flow.departure }
    }

    /// Processes the result of the device for the packet that `next` returned.
    #[inline]
    pub(crate) fn handed_over(&mut self, outcome: Transmitted) {
        if matches!(self.gate.agenda.pending, Some(Pending::OfBurst)) {
            self.gate.agenda.pending = None;
            if outcome == Transmitted::Queued {
                self.sent_of_burst();
                return;
            }
            debug_assert!(
                self.gate.quiet_until == SimTime::ZERO,
                "the pass would have ended before this segment"
            );
            // The steps of any other segment follow: this one was refused, or another one of its flow was dropped for it.
            self.gate.agenda.progress.burst = Burst::default();
            let (tags, before, kind) = (Tags::default(), self.flow.departure, NewKind::Segments);
            self.gate.agenda.pending = Some(Pending::New { length: self.mss(), tags, before, kind });
        }
        let Some(pending) = self.gate.agenda.pending.take() else { return };
        // TCP learns of a drop by the local queue at once. [linux-6.12 tcp_output.c __tcp_transmit_skb]
        if outcome != Transmitted::Queued {
            self.enter_cwr();
        }
        let refused = outcome == Transmitted::Dropped;
        if refused {
            self.below.refused_by_device();
        }
        match pending {
            Pending::New { length, tags, .. } if refused => {
                if tags.has(Tags::PUSH) {
                    self.stream.push_marks.push_front(self.flow.snd_nxt + u64::from(length));
                }
                self.gate.held_by = HeldBy::LocalDrop;
                self.gate.agenda.progress.stopped = true;
            }
            Pending::New { length, tags, before, kind } => {
                self.sent_new(length, tags, before, kind);
                self.end_if_refused();
            }
            Pending::Again { run, role, before } => self.sent_again(run, role, before, refused),
            Pending::OfBurst => debug_assert!(false, "it has become another"),
        }
    }

    /// As [`Sender::sent_new`] for a segment of a burst, which needs fewer steps. True if more of the burst is left.
    #[inline(always)]
    pub(crate) fn sent_of_burst(&mut self) -> bool {
        let stamp = self.stamp(self.flow.departure);
        let (seq, length) = (self.flow.snd_nxt, self.mss());
        self.flow.snd_nxt = seq + u64::from(length);
        self.scoreboard.send_alone(SentSegment::new(
            (seq, length),
            Tags::default(),
            self.below.transmitted,
            &stamp,
        ));
        if self.flow.pacing_status != PacingStatus::None {
            self.sent_of_paced_burst();
        }
        let progress = &mut self.gate.agenda.progress;
        progress.sent += 1;
        progress.burst.left -= 1;
        if progress.burst.left > 0 {
            return true;
        }
        progress.burst = Burst::default();
        self.end_if_refused();
        false
    }

    /// What depends on the time of each segment: the next departure, and when cwnd and the send buffer were last looked at.
    #[inline(always)]
    fn sent_of_paced_burst(&mut self) {
        // It has left exactly at its departure time.
        self.space_after(self.mss(), self.flow.departure);
        self.has_still_no_space();
        // The pass would have ended with the segment before.
        if self.in_cwnd_reduction() {
            self.recovery.prr_out += self.gate.agenda.progress.sent;
        }
        self.gate.agenda.progress.sent = 0;
        if self.gate.agenda.progress.burst.left > 1 {
            self.validate_cwnd(false);
        }
    }

    /// Pacing holds the next segment of a burst.
    #[inline]
    pub(crate) fn pauses(&self) -> bool {
        let gate = &self.gate;
        gate.quiet_until > SimTime::ZERO
            && gate.agenda.progress.burst.left > 0
            && self.flow.departure > self.flow.now
    }

    /// The small queue has room for the next segment of the burst.
    #[inline]
    pub(crate) fn has_room_below(&self) -> bool {
        self.below.wmem_alloc < self.gate.agenda.progress.burst.small_queue_limit
    }

    /// The host does not pass the time of a paced burst: the pass ends, and the pacing timer runs.
    #[inline(never)]
    pub(crate) fn end_paced_burst(&mut self) {
        self.gate.quiet_until = SimTime::ZERO;
        self.gate.agenda.progress.burst = Burst::default();
        self.end_if_refused();
    }

    /// [linux-6.12 tcp_output.c tcp_event_new_data_sent]
    #[inline(always)]
    fn sent_new(&mut self, length: u32, tags: Tags, before: SimTime, kind: NewKind) {
        let sent_at = self.flow.departure;
        self.space_after(length, before);
        let arms_timer = self.arms_timer_when_sent();
        let segments = self.segments_of_kind(length, kind);
        let end = match segments {
            1 => {
                let stamp = self.stamp(sent_at);
                self.record_sent(self.flow.snd_nxt, length, tags, &stamp)
            }
            _ => self.record_train(length, tags, sent_at),
        };
        self.flow.snd_nxt = end;
        if arms_timer {
            self.rearm_rto();
        }
        if self.builds_trains() {
            self.stream.skb_left(end);
        }
        self.stream.records_left(end);
        if kind == NewKind::MtuProbe {
            self.mtu_probe_sent(length, end);
            // Its one buffer takes the place of several.
            self.buffer.look_again();
        }
        self.check_space_after_sending();
        if length < segments * self.mss() {
            self.gate.small_sent = end;
        }
        self.gate.agenda.progress.sent += segments;
        self.gate.agenda.progress.stopped = self.gate.agenda.pass.is_some_and(Pass::sends_one);
    }

    /// A segment of new data that is sent now arms the retransmission timer: it is the only one in flight, or takes the
    /// place of a loss probe.
    #[inline(always)]
    fn arms_timer_when_sent(&self) -> bool {
        let restarts = self.scoreboard.is_empty() || self.armed_for(TimerKind::LossProbe);
        restarts && !self.ends_with_loss_probe()
    }

    /// A record of a segment that was just sent; one past its last sequence number.
    #[inline(always)]
    fn record_sent(&mut self, seq: u64, length: u32, tags: Tags, stamp: &Stamp) -> u64 {
        self.scoreboard.send(SentSegment::new((seq, length), tags, self.below.transmitted, stamp))
    }

    /// The records of an skb of several segments; the last one carries PSH and FIN.
    #[inline(never)]
    fn record_train(&mut self, length: u32, tags: Tags, sent_at: SimTime) -> u64 {
        let stamp = self.stamp(sent_at);
        let end = self.flow.snd_nxt + u64::from(length);
        let mut seq = self.flow.snd_nxt;
        while end - seq > u64::from(self.mss()) {
            seq = self.record_sent(seq, self.mss(), Tags::default(), &stamp);
        }
        self.record_sent(seq, (end - seq) as u32, tags, &stamp)
    }

    /// Ends the loop; may return the retransmission of a loss probe.
    #[inline(always)]
    fn end_pass(&mut self, pass: Pass) -> Option<Outgoing> {
        let Progress { sent, cwnd_limited, window_limited, .. } = self.gate.agenda.progress;
        if std::mem::take(&mut self.timer.armed_after_pass) && sent == 0 {
            self.set_timer_after_ack();
        }
        self.update_clocks(window_limited);
        let cwnd_limited = cwnd_limited || self.in_flight() >= self.window.cwnd.0;
        let notices = sent > 0 || (cwnd_limited && self.settings.stack.cwnd_use != CwndUse::LargestFlight);
        if notices {
            self.validate_cwnd(cwnd_limited);
        }
        if sent > 0 {
            if self.in_cwnd_reduction() {
                self.recovery.prr_out += sent;
            }
            if pass != Pass::LossProbe {
                self.schedule_loss_probe(Rto::Running);
            }
        } else if self.scoreboard.packets_out() == 0 && self.has_unsent() {
            self.check_probe_timer();
        }
        match pass {
            Pass::LossProbe => return self.end_loss_probe(sent),
            Pass::WindowProbe => self.window_probe_sent(),
            Pass::Frto if self.flow.snd_nxt <= self.recovery.high_seq => {
                self.recovery.frto = false;
                self.gate.agenda.set_retransmit(Retransmit::Lost);
            }
            _ => {}
        }
        None
    }

    /// If no new data was sent as the probe, retransmits the last segment, unless it is still queued in this host.
    /// [linux-6.12 tcp_output.c tcp_send_loss_probe]
    #[cold]
    fn end_loss_probe(&mut self, sent: u32) -> Option<Outgoing> {
        if sent > 0 {
            self.probe_sent(Probe::NewData);
            return None;
        }
        let could_send = self.has_unsent() && self.flow.snd_nxt + u64::from(self.mss()) <= self.window_end();
        let last = self
            .scoreboard
            .queue()
            .end()
            .checked_sub(1)
            .filter(|&last| self.scoreboard.queue().contains(last));
        match last {
            Some(last) if !could_send && !self.waits_in_host(last) => {
                let last = self.cut_tail_anew(last);
                let probe = self.retransmit(last, 1, Role::Probe);
                if probe.is_none() {
                    self.rearm_rto();
                }
                probe
            }
            _ => {
                self.rearm_rto();
                None
            }
        }
    }

    fn probe_sent(&mut self, probe: Probe) {
        self.notes.push(Note::TailLossProbe);
        self.tlp.is_retransmission = probe == Probe::Retransmission;
        self.tlp.high_seq = Some(self.flow.snd_nxt);
        self.timer.disarm();
        self.rearm_rto();
    }

    /// The next lost segment that cwnd allows. [linux-6.12 tcp_output.c tcp_xmit_retransmit_queue]
    #[inline(never)]
    fn next_lost(&mut self) -> Option<Outgoing> {
        let from = self.scoreboard.retransmit_from()?;
        if self.held_by_pacing()
            || self.in_flight() >= self.window.cwnd.0
            || self.scoreboard.retrans_out() >= self.scoreboard.lost_out()
        {
            return None;
        }
        let index = self.scoreboard.find_lost(from)?;
        self.refresh_mss();
        self.cut_anew(index);
        let (length, count) = self.lost_skb(index);
        if self.held_by_small_queue(length, Urgency::Retransmission) {
            return None;
        }
        self.retransmit(index, count, Role::Lost)
    }

    /// Payload of the lost skb that begins at `index`, and how many of its segments may be sent again now.
    fn lost_skb(&self, index: Index) -> (u32, u32) {
        if !self.builds_trains() {
            return (self.scoreboard.get(index).length, 1);
        }
        let run = self.lost_run(index);
        let last = self.scoreboard.get(index + u64::from(run) - 1);
        let bytes = last.seq + u64::from(last.length) - self.scoreboard.get(index).seq;
        let allowed = (self.window.cwnd.0 - self.in_flight()).min(self.tso_segs());
        (bytes as u32, run.min(allowed))
    }

    fn end_retransmissions(&mut self) {
        self.gate.agenda.set_retransmit(Retransmit::Nothing);
        if std::mem::take(&mut self.gate.agenda.head_retransmitted) {
            self.restart_rto();
        }
    }

    /// Retransmits `count` segments of one skb, unless their last transmission is still queued in this host: then the
    /// next credit runs the transmit loop. [linux-6.12 tcp_output.c __tcp_retransmit_skb]
    #[inline(never)]
    fn retransmit(&mut self, index: Index, count: u32, role: Role) -> Option<Outgoing> {
        if !self.scoreboard.queue().contains(index) {
            return None;
        }
        self.mtu_probe_is_inconclusive();
        if self.waits_in_host(index) {
            self.attempted(index, count);
            return None;
        }
        self.cut_anew(index);
        let Some(count) = self.fit_to_window(index, count) else {
            self.attempted(index, count);
            return None;
        };
        let seq = self.scoreboard.get(index).seq;
        let last = self.scoreboard.get(index + u64::from(count) - 1);
        let (length, tags) = ((last.seq - seq) as u32 + last.length, last.tags);
        let before = self.take_departure();
        self.count_sent(length, self.segments_of(length));
        self.sent.total_retrans += u64::from(count);
        self.sent.bytes_retrans += u64::from(length);
        if self.in_flight() == 0 {
            self.cwnd_event(CwndEvent::TxStart);
        }
        self.flow.last_sent = self.flow.now;
        let run = index..index + u64::from(count);
        self.gate.agenda.pending = Some(Pending::Again { run, role, before });
        Some(self.outgoing(seq, length, tags, count))
    }

    /// How many of `count` segments from `index` on fit into the peer's window. The first of them is split at the end
    /// of the window, and a short one is merged with its successors. None if the window has shrunk and ends before
    /// them: then only the head is retransmitted, as a window probe. [linux-6.12 tcp_output.c __tcp_retransmit_skb]
    fn fit_to_window(&mut self, index: Index, count: u32) -> Option<u32> {
        let (mss, first) = (u64::from(self.mss()), self.scoreboard.get(index));
        let (seq, length) = (first.seq, u64::from(first.length));
        let room = match self.window_end().saturating_sub(seq) {
            0 if index != self.scoreboard.queue().head() => return None,
            0 => mss,
            room => room,
        };
        if length > room {
            self.scoreboard.split(index, room as u32);
            return Some(1);
        }
        if count == 1 && length < room.min(mss) {
            self.join_followers(index, room.min(mss));
        }
        Some(count.min((room / mss) as u32).max(1))
    }

    /// Merges a short segment with those that follow it, as long as they fit into `room` bytes and the peer's window.
    /// [linux-6.12 tcp_output.c tcp_retrans_try_collapse, tcp_can_collapse]
    fn join_followers(&mut self, index: Index, room: u64) {
        while self.takes_next(index, room) {
            self.scoreboard.join_next(index);
        }
    }

    fn takes_next(&mut self, index: Index, room: u64) -> bool {
        let next = index + 1;
        if !self.scoreboard.queue().contains(next) || self.waits_in_host(next) {
            return false;
        }
        let (first, follower) = (self.scoreboard.get(index), self.scoreboard.get(next));
        let joinable = !first.tags.has(Tags::RECORD_END) && !follower.tags.has(Tags::SACKED);
        let fits = u64::from(first.length) + u64::from(follower.length) <= room;
        joinable
            && fits
            && follower.end() <= self.window_end()
            && self.skb_end(index) == next
            && self.skb_end(next) == next + 1
    }

    #[inline(never)]
    fn sent_again(&mut self, run: Range<Index>, role: Role, before: SimTime, refused: bool) {
        if refused {
            self.scoreboard.retransmission_refused(run.clone());
        } else {
            let sent_at = self.flow.departure;
            let stamp = self.stamp(sent_at);
            self.scoreboard.send_again(run.clone(), self.below.transmitted, &stamp);
            let bytes = run.clone().map(|index| self.scoreboard.get(index).length).sum();
            self.space_after(bytes, before);
        }
        match role {
            Role::Probe if refused => self.rearm_rto(),
            Role::Probe => self.probe_sent(Probe::Retransmission),
            Role::Lost | Role::AfterTimeout => self.count_retransmission(run, role, refused),
        }
    }

    /// Records a retransmission that was attempted or sent. An attempt that failed keeps the stamp of the first
    /// transmission, and no echo is older than that: a timeout while the data was still queued in this host is not
    /// undone by timestamps, and one DSACK too few arrives to undo it. [linux-6.12 tcp_output.c tcp_retransmit_skb]
    fn attempted(&mut self, index: Index, count: u32) {
        let stamp = self.scoreboard.get(index).sent_at.timestamp();
        self.recovery.attempted(stamp, count);
    }

    fn count_retransmission(&mut self, run: Range<Index>, role: Role, refused: bool) {
        let (index, count) = (run.start, (run.end - run.start) as u32);
        self.attempted(index, count);
        if !refused {
            self.scoreboard.count_retransmissions(run);
        }
        if role == Role::AfterTimeout {
            self.after_timeout_retransmission(refused);
        } else if refused {
            self.end_retransmissions();
        } else {
            if self.in_cwnd_reduction() {
                self.recovery.prr_out += count;
            }
            let head = index == self.scoreboard.queue().head();
            self.gate.agenda.head_retransmitted |= head && !self.armed_for(TimerKind::Reordering);
        }
    }

    /// The small-queue handler and the pacing timer. [linux-6.12 tcp_output.c tcp_tsq_write]
    pub(crate) fn kick(&mut self) {
        if self.scoreboard.lost_out() > self.scoreboard.retrans_out() && self.window.cwnd.0 > self.in_flight()
        {
            self.gate.agenda.set_retransmit(Retransmit::Lost);
        }
        self.gate.agenda.begin(Pass::Normal);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    NewData,
    Retransmission,
}
