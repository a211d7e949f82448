//! The transmit loop and its send checks.
//!
//! All new data is sent here. Checks per skb, in the kernel's order; the first refusal is recorded:
//!
//! ```text
//! pacing → cwnd → receive window → Nagle or TSO deferral → small queue → hand over → (refused by the device: stop, unless
//! it is a write that goes on)
//! ```
//! Retransmissions go first. After the loop: cwnd validation, the count of PRR, the tail loss probe.
//! [linux-6.12 tcp_output.c tcp_write_xmit, tcp_xmit_retransmit_queue, __tcp_transmit_skb]
//!
//! The kernel passes a packet to the device inside the loop. Here [`Sender::next`] returns the packet, the host passes
//! it to the device, and [`Sender::handed_over`] continues.

pub(crate) mod bursts;
mod forced_push;
mod retransmission;

use tailback_cc::CwndEvent;
use tailback_units::{Segs, SimTime};

use crate::info::{HeldBy, Note};
use crate::mtu_probe::MtuStep;
use crate::one_word::OneWord;
use crate::queue::{SentSegment, Tags};
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::small_queue::Urgency;
use crate::stack::{CwndUse, LastFin, TrainPush};
use crate::state::gate::{EndedPass, NewKind, Pass, Pending, Progress, Retransmit, Role, Transmitted};
use crate::state::timer::TimerKind;
use crate::timers::Rto;
use crate::tso::Offer;

/// Data that leaves as one skb.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    pub(crate) seq: u64,
    pub(crate) length: u32,
    /// Payload of a full segment of it.
    pub(crate) mss: u32,
    /// Memory that the socket is charged with.
    pub(crate) truesize: u32,
    pub(crate) push: bool,
    pub(crate) fin: bool,
    pub(crate) departure: SimTime,
}

impl Sender {
    /// The next segment of the transmit loop, if it is to run.
    #[inline(always)]
    pub(crate) fn next_data(&mut self, receiver: &Receiver) -> Option<Outgoing> {
        if !self.gate.work.has_work() {
            return None;
        }
        if self.path.search.is_some() {
            self.path.reports_sack = receiver.reports_sack();
        }
        self.next()
    }

    /// What to hand to the device next; `None` when the work is done.
    #[inline]
    fn next(&mut self) -> Option<Outgoing> {
        loop {
            if self.gate.work.precedes_new_data()
                && let Some(outgoing) = self.next_again()
            {
                return Some(outgoing);
            }
            let pass = self.gate.work.pass()?;
            if let Some(next) = self.next_new(pass) {
                return Some(next);
            }
            let ended = self.gate.work.end(pass);
            if let Some(outgoing) = self.end_refused_pass(ended) {
                return Some(outgoing);
            }
        }
    }

    /// Most runs end with [`Sender::end_if_refused`].
    #[inline(never)]
    fn end_refused_pass(&mut self, ended: EndedPass) -> Option<Outgoing> {
        let cwnd_limited =
            self.gate.work.progress.cwnd_limited || self.scoreboard.in_flight() >= self.window.cwnd.0;
        self.end_pass(ended, cwnd_limited)
    }

    /// Ends the loop after a transmission if the first two checks, pacing and cwnd, refuse the next segment.
    #[inline(always)]
    fn end_if_refused(&mut self) {
        let Some(pass) = self.gate.work.pass().filter(|pass| pass.obeys_cwnd()) else { return };
        let checked_before = self.gate.work.precedes_new_data() || self.gate.work.progress.stopped;
        if checked_before || self.stream.fin_queued || !self.has_unsent() {
            return;
        }
        if self.flow.departure < self.gate.quiet_until && self.begin_paced_burst(pass) {
            return;
        }
        self.end_if_held(pass);
    }

    /// Ends the loop if pacing or cwnd holds the next segment. True if so.
    #[inline(always)]
    fn end_if_held(&mut self, pass: Pass) -> bool {
        let cwnd_is_full = self.scoreboard.in_flight() >= self.window.cwnd.0;
        let by = match self.gate.held_by_pacing(&self.flow) {
            true => HeldBy::Pacing,
            false if cwnd_is_full => HeldBy::Cwnd,
            false => return false,
        };
        let cwnd_limited = self.gate.work.progress.cwnd_limited || cwnd_is_full;
        self.end_held(pass, by, cwnd_limited);
        true
    }

    /// Ends the loop because new data is held, in a pass that ends with nothing else ([`Pass::obeys_cwnd`]).
    #[inline(always)]
    fn end_held(&mut self, pass: Pass, by: HeldBy, cwnd_limited: bool) {
        self.gate.hold(by, self.flow.now);
        let ended = self.gate.work.end(pass);
        let probe = self.end_pass(ended, cwnd_limited);
        debug_assert!(probe.is_none(), "only a loss probe ends with a retransmission");
    }

    /// Ends the pass before its first segment if pacing or cwnd holds it. True if so.
    #[inline(never)]
    fn end_if_held_at_once(&mut self, pass: Pass) -> bool {
        debug_assert!(
            !self.stream.fin_queued && !self.settings.builds_trains(),
            "these have checks of their own"
        );
        let ends = self.has_unsent() && self.end_if_held(pass);
        self.gate.work.progress.begun = ends;
        ends
    }

    /// Retransmissions, and what follows the last of them.
    #[inline(never)]
    fn next_again(&mut self) -> Option<Outgoing> {
        loop {
            if self.gate.work.take_head() {
                self.refresh_mss();
                let head = self.scoreboard.queue().head();
                if let Some(outgoing) = self.retransmit(head, 1, Role::AfterTimeout) {
                    return Some(outgoing);
                }
                self.after_timeout_retransmission(false);
                continue;
            }
            match self.gate.work.retransmit() {
                Retransmit::Lost => {
                    if let Some(outgoing) = self.next_lost() {
                        return Some(outgoing);
                    }
                    self.end_retransmissions();
                    continue;
                }
                Retransmit::NewData => {
                    self.gate.work.set_retransmit(Retransmit::Nothing);
                    self.gate.work.begin(Pass::Frto);
                }
                Retransmit::Nothing => {}
            }
            if self.gate.work.take_rearming() && !self.timer.is_for(TimerKind::Retransmission) {
                self.rearm_rto();
            }
            return None;
        }
    }

    /// The gate. [linux-6.12 tcp_output.c tcp_write_xmit]
    #[inline(always)]
    fn next_new(&mut self, pass: Pass) -> Option<Outgoing> {
        let begins = !std::mem::replace(&mut self.gate.work.progress.begun, true);
        if begins {
            self.refresh_mss();
        }
        if self.gate.work.progress.stopped {
            return None;
        }
        if !self.has_unsent() {
            let reason = if self.buffer.app_blocked { HeldBy::SendBuffer } else { HeldBy::NoData };
            self.gate.hold(reason, self.flow.now);
            return None;
        }
        if begins && !pass.sends_one() && self.path.search.is_some() {
            match self.mtu_step() {
                MtuStep::None => {}
                MtuStep::Wait => return None,
                MtuStep::Send(length) => {
                    return Some(self.leave_as_mtu_probe(length, pass));
                }
            }
        }
        let offer = match self.settings.builds_trains() && pass != Pass::WindowProbe {
            true => self.next_train(pass),
            false => self.next_segment(pass),
        };
        match offer {
            Ok(offer) => Some(self.leave(offer, NewKind::Segments, pass)),
            Err(reason) => {
                self.gate.hold(reason, self.flow.now);
                None
            }
        }
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
        if self.scoreboard.in_flight() == 0 {
            self.cwnd_event(CwndEvent::TxStart);
        }
        self.flow.last_sent = self.flow.now;
        let before = self.flow.take_departure();
        let segments = kind.segments(length, self.flow.mss);
        let truesize = self.count_sent(length, segments);
        self.gate.work.pending = Some(Pending::New { length, tags, before, kind });
        let mss = if kind == NewKind::MtuProbe { length } else { self.flow.mss };
        Outgoing { mss, ..self.outgoing((self.flow.snd_nxt, length), truesize, tags, segments) }
    }

    #[cold]
    fn leave_as_mtu_probe(&mut self, length: u32, pass: Pass) -> Outgoing {
        self.leave(Offer { length, fin: false }, NewKind::MtuProbe, pass)
    }

    /// Sends one segment if all checks pass.
    #[inline(always)]
    fn next_segment(&mut self, pass: Pass) -> Result<Offer, HeldBy> {
        let length = self.next_length(pass);
        let fin = self.stream.fin_follows(self.flow.snd_nxt + u64::from(length));
        match self.refusal(pass, length, fin) {
            Some(reason) => Err(reason),
            None => Ok(Offer { length, fin }),
        }
    }

    /// A full segment if there is one; a window probe is as long as the window allows.
    fn next_length(&self, pass: Pass) -> u32 {
        let record = self.stream.record_ends.first().map_or(u64::MAX, |end| end - self.flow.snd_nxt);
        let length = self.unsent().min(u64::from(self.flow.mss)).min(record);
        match pass {
            Pass::WindowProbe => {
                length.min(self.peer.window_end(self.flow.snd_una).saturating_sub(self.flow.snd_nxt)) as u32
            }
            _ => length as u32,
        }
    }

    #[inline(always)]
    fn refusal(&mut self, pass: Pass, length: u32, fin: bool) -> Option<HeldBy> {
        if pass == Pass::WindowProbe {
            let empty = length == 0 && !(fin && self.flow.snd_nxt < self.peer.window_end(self.flow.snd_una));
            return empty.then_some(HeldBy::ReceiveWindow);
        }
        if self.gate.held_by_pacing(&self.flow) {
            return Some(HeldBy::Pacing);
        }
        let exempt = fin && self.settings.stack.last_fin == LastFin::Exempt;
        if self.scoreboard.in_flight() >= self.window.cwnd.0 && pass != Pass::LossProbe && !exempt {
            return Some(HeldBy::Cwnd);
        }
        let end = self.flow.snd_nxt + u64::from(length.min(self.flow.mss));
        if end > self.peer.window_end(self.flow.snd_una) {
            self.gate.work.progress.window_limited = true;
            return Some(HeldBy::ReceiveWindow);
        }
        let last = self.flow.snd_nxt + u64::from(length) == self.stream.write_seq;
        if length < self.flow.mss && last && !fin {
            if pass == Pass::Autocork && self.autocorked() {
                return Some(HeldBy::SmallQueue);
            }
            if self.gate.held_by_nagle(pass, &self.flow, &self.scoreboard) {
                return Some(HeldBy::Nagle);
            }
        }
        self.held_by_small_queue(length, Urgency::NewData).then_some(HeldBy::SmallQueue)
    }

    /// Counts what leaves, and charges its memory, which is returned.
    fn count_sent(&mut self, length: u32, segments: u32) -> u32 {
        self.sent.data_segs_out += u64::from(segments);
        self.sent.bytes_sent += u64::from(length);
        let truesize = self.settings.truesize(length);
        self.below.charge(truesize);
        truesize
    }

    /// Since Linux 5.4 an skb of several segments carries PSH whenever it leaves, so that the peer's GRO passes it on.
    /// [linux-6.12 tcp_output.c __tcp_transmit_skb]
    fn outgoing(&self, (seq, length): (u64, u32), truesize: u32, tags: Tags, segments: u32) -> Outgoing {
        let pushes = segments > 1 && self.settings.stack.train_push == TrainPush::EverySkb;
        let (push, fin) = (tags.has(Tags::PUSH) || pushes, tags.has(Tags::FIN));
        Outgoing { seq, length, mss: self.flow.mss, truesize, push, fin, departure: self.flow.departure }
    }

    /// How the device handled the packet just taken, whatever it was.
    #[inline(always)]
    pub(crate) fn after_handing_over(&mut self, outcome: Transmitted) {
        self.refresh_route();
        if std::mem::take(&mut self.timer.probe_leaves) && outcome == Transmitted::Dropped {
            self.empty_probe_refused();
        }
        if self.gate.work.pending.is_some() {
            self.handed_over(outcome);
        }
    }

    /// Processes the result of the device for the packet that `next` returned.
    #[inline]
    pub(crate) fn handed_over(&mut self, outcome: Transmitted) {
        let Some(pending) = self.gate.work.pending.take() else { return };
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
                self.gate.hold(HeldBy::LocalDrop, self.flow.now);
                self.gate.work.progress.stopped =
                    !self.is_pushed_again(self.flow.snd_nxt + u64::from(length));
            }
            Pending::New { length, tags, before, kind } => {
                self.sent_new(length, tags, before, kind);
                self.end_if_refused();
                self.begin_burst_behind();
            }
            Pending::Again { run, role, before } => self.sent_again(run, role, before, refused),
        }
    }

    /// [linux-6.12 tcp_output.c tcp_event_new_data_sent]
    #[inline(always)]
    fn sent_new(&mut self, length: u32, tags: Tags, before: SimTime, kind: NewKind) {
        let sent_at = self.flow.departure;
        self.space_after(length, before);
        let arms_timer = self.arms_timer_when_sent();
        let segments = kind.segments(length, self.flow.mss);
        let stamp = self.stamp(sent_at);
        let sent = SentSegment::new((self.flow.snd_nxt, length), tags, self.below.transmitted, &stamp);
        let end = match segments {
            1 => self.scoreboard.send(sent),
            _ => self.scoreboard.send_train(sent, self.flow.mss),
        };
        self.flow.snd_nxt = end;
        if arms_timer {
            self.rearm_rto();
        }
        if self.settings.builds_trains() {
            self.stream.skb_left(end);
        }
        self.stream.records_left(end);
        if kind == NewKind::MtuProbe {
            // Its one buffer takes the place of several, and it that of two segments in cwnd.
            self.path.probe_sent(self.sizes().mtu_of(length), end - u64::from(length)..end);
            self.window.cwnd = Segs(self.window.cwnd.0 - 1);
            self.buffer.may_have_space();
        }
        self.check_space_after_sending();
        if length < segments * self.flow.mss {
            self.gate.small_sent = end;
        }
        self.gate.work.progress.sent += segments;
        self.gate.work.progress.stopped = self.gate.work.pass().is_some_and(Pass::sends_one);
    }

    /// A segment of new data that is sent now arms the retransmission timer: it is the only one in flight, or takes the
    /// place of a loss probe.
    fn arms_timer_when_sent(&self) -> bool {
        let restarts = self.scoreboard.is_empty() || self.timer.is_for(TimerKind::LossProbe);
        restarts && !self.ends_with_loss_probe()
    }

    /// What follows the loop; may return the retransmission of a loss probe.
    #[inline(always)]
    fn end_pass(&mut self, ended: EndedPass, cwnd_limited: bool) -> Option<Outgoing> {
        let pass = ended.pass();
        self.below.pass_ended();
        if pass == Pass::WindowProbe {
            // Neither cwnd nor a loss probe has to do with it. [linux-6.12 tcp_output.c tcp_write_wakeup]
            self.window_probe_sent();
            return None;
        }
        let Progress { sent, window_limited, .. } = self.gate.work.progress;
        if std::mem::take(&mut self.timer.armed_after_pass) && sent == 0 {
            self.set_timer_after_ack();
        }
        self.clocks.update(self.is_busy(), window_limited, self.flow.now);
        let notices = sent > 0 || (cwnd_limited && self.settings.stack.cwnd_use != CwndUse::LargestFlight);
        if notices {
            self.validate_cwnd(cwnd_limited);
        }
        if sent > 0 {
            if self.flow.ca_state.reduces_cwnd() {
                self.recovery.prr.sent(sent);
            }
            if pass != Pass::LossProbe {
                self.schedule_loss_probe(Rto::Running);
            }
        } else if self.scoreboard.packets_out() == 0 && self.has_unsent() && self.timer.armed_for().is_none()
        {
            // Data could not be sent. [linux-6.12 tcp.h tcp_check_probe_timer]
            self.arm_window_probe();
        }
        match pass {
            Pass::LossProbe => return self.end_loss_probe(sent),
            Pass::Frto if self.flow.snd_nxt <= self.recovery.high_seq => {
                self.recovery.frto = false;
                self.gate.work.set_retransmit(Retransmit::Lost);
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
        let could_send = self.has_unsent() && self.window_allows_next();
        let last = self
            .scoreboard
            .queue()
            .end()
            .checked_sub(1)
            .filter(|&last| self.scoreboard.queue().contains(last));
        match last {
            Some(last) if !could_send && !self.waits_in_host(last) => {
                let cut = self.scoreboard.cut_tail_anew(last, self.flow.mss);
                if cut.is_some() {
                    self.buffer.may_have_space();
                }
                let probe = self.retransmit(cut.unwrap_or(last), 1, Role::Probe);
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
        self.tlp.high_seq = OneWord::some(self.flow.snd_nxt);
        self.timer.disarm();
        self.rearm_rto();
    }

    /// The small-queue handler and the pacing timer. [linux-6.12 tcp_output.c tcp_tsq_write]
    pub(crate) fn kick(&mut self) {
        if self.scoreboard.lost_out() > self.scoreboard.retrans_out()
            && self.window.cwnd.0 > self.scoreboard.in_flight()
        {
            self.gate.work.set_retransmit(Retransmit::Lost);
        }
        self.gate.work.begin(Pass::Normal);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    NewData,
    Retransmission,
}
