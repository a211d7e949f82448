//! The transmit loop and its gate.
//!
//! New data leaves only here. Per skb, in the kernel's order; the first refusal is remembered:
//!
//! ```text
//! pacing → cwnd → receive window → Nagle or TSO deferral → small queue → hand over → (refused by the device: stop)
//! ```
//! Retransmissions go first. After the loop: was cwnd the limit, PRR's count, the tail loss probe.
//! [linux-6.12 tcp_output.c tcp_write_xmit, tcp_xmit_retransmit_queue, __tcp_transmit_skb]
//!
//! The kernel hands a packet to the device from inside the loop; here the loop is turned inside out:
//! [`Sender::next`] yields the packet, the host hands it over, [`Sender::handed_over`] goes on.

use std::ops::Range;

use tailback_cc::CwndEvent;
use tailback_units::{Segs, SimTime};

use crate::endpoint::Transmitted;
use crate::info::{HeldBy, Note};
use crate::mtu_probe::MtuStep;
use crate::queue::{Index, SentSegment, Tags};
use crate::recovery::Retransmit;
use crate::sender::Sender;
use crate::small_queue::Urgency;
use crate::stack::LastFin;
use crate::timers::{Rto, TimerKind};
use crate::tso::Offer;

/// A run of the transmit loop, by what started it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// An ACK, a credit, the pacing timer or the end of a write.
    Normal,
    /// The end of a write that more follows (`MSG_MORE`): a short segment waits (TCP_NAGLE_CORK).
    More,
    /// A write that filled the send buffer, or a FIN: Nagle does not hold (TCP_NAGLE_PUSH, TCP_NAGLE_OFF).
    Push,
    /// A write filled an skb and goes on: that one leaves, it does not wait to grow (tcp_push_one).
    PushOne,
    /// F-RTO tries new data.
    Frto,
    /// Tail loss probe: one segment, cwnd does not count.
    LossProbe,
    /// Window probe: one segment.
    WindowProbe,
}

impl Pass {
    /// An skb of several segments may be put off for a larger one.
    pub(crate) fn defers(self) -> bool {
        !matches!(self, Pass::LossProbe | Pass::PushOne)
    }

    fn sends_one(self) -> bool {
        matches!(self, Pass::LossProbe | Pass::WindowProbe | Pass::PushOne)
    }
}

/// Why a segment is retransmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Marked lost.
    Lost,
    /// The head, after a timeout.
    AfterTimeout,
    /// The tail, as a loss probe.
    Probe,
}

/// What was yielded and waits for the device's answer.
#[derive(Clone, Copy, Debug)]
enum Pending {
    New { length: u32, tags: Tags, before: SimTime, kind: NewKind },
    Again { index: Index, count: u32, role: Role, before: SimTime },
}

/// What new data leaves as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NewKind {
    /// Segments of the MSS.
    Segments,
    /// One segment that is longer than the MSS.
    MtuProbe,
}

/// What the sender still has to do before it can rest.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    pub(crate) head: Option<Role>,
    pub(crate) retransmit: Retransmit,
    pub(crate) rearm_unless_retransmission: bool,
    head_retransmitted: bool,
    pass: Option<Progress>,
    pending: Option<Pending>,
}

/// A pass and how far it got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) pass: Pass,
    sent: u32,
    pub(crate) cwnd_limited: bool,
    pub(crate) window_limited: bool,
    stopped: bool,
    packets_out_before: u32,
}

impl Agenda {
    pub(crate) fn probes_window(&self) -> bool {
        self.pass.is_some_and(|progress| progress.pass == Pass::WindowProbe)
    }

    /// Asks for a run of the transmit loop. A run already asked for keeps the more urgent reason.
    pub(crate) fn begin(&mut self, pass: Pass) {
        let urgent = self.pass.is_some_and(|progress| !matches!(progress.pass, Pass::Normal | Pass::More));
        if !urgent {
            self.pass = Some(Progress {
                pass,
                sent: 0,
                cwnd_limited: false,
                window_limited: false,
                stopped: false,
                packets_out_before: u32::MAX,
            });
        }
    }
}

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
    pub(crate) fn next(&mut self) -> Option<Outgoing> {
        loop {
            if let Some(role) = self.agenda.head.take() {
                if let Some(outgoing) = self.retransmit(self.queue.head(), 1, role) {
                    return Some(outgoing);
                }
                self.after_timeout_retransmission(false);
                continue;
            }
            match self.agenda.retransmit {
                Retransmit::Lost => {
                    if let Some(outgoing) = self.next_lost() {
                        return Some(outgoing);
                    }
                    self.end_retransmissions();
                    continue;
                }
                Retransmit::NewData => {
                    self.agenda.retransmit = Retransmit::Nothing;
                    self.agenda.begin(Pass::Frto);
                }
                Retransmit::Nothing => {}
            }
            if self.agenda.rearm_unless_retransmission {
                self.agenda.rearm_unless_retransmission = false;
                if !self.armed_for(TimerKind::Retransmission) {
                    self.rearm_rto();
                }
            }
            let mut progress = self.agenda.pass.take()?;
            if let Some(outgoing) = self.next_new(&mut progress) {
                self.agenda.pass = Some(progress);
                return Some(outgoing);
            }
            if let Some(outgoing) = self.end_pass(progress) {
                return Some(outgoing);
            }
        }
    }

    /// The gate. [linux-6.12 tcp_output.c tcp_write_xmit]
    fn next_new(&mut self, progress: &mut Progress) -> Option<Outgoing> {
        let begins = progress.packets_out_before == u32::MAX;
        if begins {
            progress.packets_out_before = self.flow.packets_out.0;
            self.refresh_mss();
        }
        if progress.stopped {
            return None;
        }
        if !self.has_unsent() {
            self.held_by = HeldBy::NoData;
            return None;
        }
        if begins && !progress.pass.sends_one() {
            match self.mtu_step() {
                MtuStep::None => {}
                MtuStep::Wait => return None,
                MtuStep::Send(length) => {
                    return Some(self.leave(Offer { length, fin: false }, NewKind::MtuProbe, progress.pass));
                }
            }
        }
        let offer = match self.builds_trains() && progress.pass != Pass::WindowProbe {
            true => self.next_train(progress),
            false => self.next_segment(progress),
        };
        match offer {
            Ok(offer) => Some(self.leave(offer, NewKind::Segments, progress.pass)),
            Err(reason) => {
                self.held_by = reason;
                None
            }
        }
    }

    /// New data leaves.
    fn leave(&mut self, Offer { length, fin }: Offer, kind: NewKind, pass: Pass) -> Outgoing {
        let mut tags = Tags::default();
        // An skb of several segments carries PSH, so that the peer's GRO passes it on. [linux-6.12 __tcp_transmit_skb]
        let marked = self.take_push_mark(self.flow.snd_nxt + u64::from(length));
        let train = length > self.mss() && kind == NewKind::Segments;
        if marked || train || pass == Pass::WindowProbe {
            tags.set(Tags::PUSH);
        }
        if fin {
            tags.set(Tags::FIN);
        }
        if self.in_flight() == 0 {
            self.cwnd_event(CwndEvent::TxStart);
        }
        self.flow.last_sent = self.flow.now;
        let before = self.take_departure();
        let segments = self.segments_of_kind(length, kind);
        self.count_sent(length, segments);
        self.agenda.pending = Some(Pending::New { length, tags, before, kind });
        let mss = if kind == NewKind::MtuProbe { length } else { self.mss() };
        Outgoing { mss, ..self.outgoing(self.flow.snd_nxt, length, tags) }
    }

    /// One segment, if nothing holds it.
    fn next_segment(&mut self, progress: &mut Progress) -> Result<Offer, HeldBy> {
        let length = self.next_length(progress.pass);
        let fin = self.fin_queued && self.flow.snd_nxt + u64::from(length) == self.write_seq;
        match self.refusal(progress, length, fin) {
            Some(reason) => Err(reason),
            None => Ok(Offer { length, fin }),
        }
    }

    /// A full segment if there is one; a window probe takes what the window has room for.
    fn next_length(&self, pass: Pass) -> u32 {
        let record = self.record_ends.front().map_or(u64::MAX, |end| end - self.flow.snd_nxt);
        let length = self.unsent().min(u64::from(self.mss())).min(record);
        match pass {
            Pass::WindowProbe => length.min(self.window_end().saturating_sub(self.flow.snd_nxt)) as u32,
            _ => length as u32,
        }
    }

    fn refusal(&mut self, progress: &mut Progress, length: u32, fin: bool) -> Option<HeldBy> {
        if progress.pass == Pass::WindowProbe {
            let empty = length == 0 && !(fin && self.flow.snd_nxt < self.window_end());
            return empty.then_some(HeldBy::ReceiveWindow);
        }
        if self.held_by_pacing() {
            return Some(HeldBy::Pacing);
        }
        let exempt = fin && self.settings.stack.last_fin == LastFin::Exempt;
        if self.in_flight() >= self.window.cwnd.0 && progress.pass != Pass::LossProbe && !exempt {
            return Some(HeldBy::Cwnd);
        }
        let end = self.flow.snd_nxt + u64::from(length.min(self.mss()));
        if end > self.window_end() {
            progress.window_limited = true;
            return Some(HeldBy::ReceiveWindow);
        }
        let last = self.flow.snd_nxt + u64::from(length) == self.write_seq;
        if length < self.mss() && last && !fin && self.held_by_nagle(progress.pass) {
            return Some(HeldBy::Nagle);
        }
        self.held_by_small_queue(length, Urgency::NewData).then_some(HeldBy::SmallQueue)
    }

    /// A short segment waits for more if the application said that more comes, or while another short one is
    /// unacknowledged (Minshall's rule). [linux-6.12 tcp_output.c tcp_nagle_check]
    pub(crate) fn held_by_nagle(&self, pass: Pass) -> bool {
        match pass {
            Pass::More => true,
            Pass::Normal => self.corked || (!self.no_delay && self.short_one_is_out()),
            _ => false,
        }
    }

    fn short_one_is_out(&self) -> bool {
        self.flow.packets_out.0 > 0
            && self.small_sent > self.flow.snd_una
            && self.small_sent <= self.flow.snd_nxt
    }

    fn take_push_mark(&mut self, end: u64) -> bool {
        let mut push = false;
        while self.push_marks.front().is_some_and(|&mark| mark <= end) {
            self.push_marks.pop_front();
            push = true;
        }
        push
    }

    fn segments_of_kind(&self, length: u32, kind: NewKind) -> u32 {
        match kind {
            NewKind::Segments => self.segments_of(length),
            NewKind::MtuProbe => 1,
        }
    }

    fn count_sent(&mut self, length: u32, segments: u32) {
        self.data_segs_out += u64::from(segments);
        self.bytes_sent += u64::from(length);
        self.charge(self.truesize(length));
    }

    fn outgoing(&self, seq: u64, length: u32, tags: Tags) -> Outgoing {
        let (push, fin) = (tags.has(Tags::PUSH), tags.has(Tags::FIN));
        Outgoing { seq, length, mss: self.mss(), push, fin, departure: self.flow.departure }
    }

    /// The device answered for what `next` yielded.
    pub(crate) fn handed_over(&mut self, outcome: Transmitted) {
        let Some(pending) = self.agenda.pending.take() else { return };
        // A local queue that drops is told to TCP at once. [linux-6.12 tcp_output.c __tcp_transmit_skb]
        if outcome != Transmitted::Queued {
            self.enter_cwr();
        }
        let refused = outcome == Transmitted::Dropped;
        if refused {
            self.refused_by_device();
        }
        match pending {
            Pending::New { .. } if refused => {
                self.held_by = HeldBy::LocalDrop;
                if let Some(progress) = &mut self.agenda.pass {
                    progress.stopped = true;
                }
            }
            Pending::New { length, tags, before, kind } => self.sent_new(length, tags, before, kind),
            Pending::Again { index, count, role, before } => {
                self.sent_again(index..index + u64::from(count), role, before, refused);
            }
        }
    }

    /// [linux-6.12 tcp_output.c tcp_event_new_data_sent]
    fn sent_new(&mut self, length: u32, tags: Tags, before: SimTime, kind: NewKind) {
        let sent_at = self.flow.departure;
        self.space_after(length, before);
        let segments = self.segments_of_kind(length, kind);
        let end = match segments {
            1 => self.record_sent(self.flow.snd_nxt, length, tags, sent_at),
            _ => self.record_train(length, tags, sent_at),
        };
        self.queued_bytes += u64::from(length);
        self.flow.snd_nxt = end;
        let first = self.flow.packets_out.0 == 0;
        self.flow.packets_out += Segs(segments);
        if first || self.armed_for(TimerKind::LossProbe) {
            self.rearm_rto();
        }
        if self.builds_trains() {
            self.skb_left(end);
        }
        while self.record_ends.front().is_some_and(|&record| record <= end) {
            self.record_ends.pop_front();
        }
        if kind == NewKind::MtuProbe {
            self.mtu_probe_sent(length, end);
        }
        self.check_space();
        if length < segments * self.mss() {
            self.small_sent = end;
        }
        if let Some(progress) = &mut self.agenda.pass {
            progress.sent += segments;
            progress.stopped = progress.pass.sends_one();
        }
    }

    /// A record of a segment that was just sent; one past its last sequence number.
    fn record_sent(&mut self, seq: u64, length: u32, tags: Tags, sent_at: SimTime) -> u64 {
        let mut segment = SentSegment::new(seq, length, tags);
        segment.sent_at = sent_at;
        segment.transmission = self.transmitted;
        let end = segment.end();
        let index = self.queue.push(segment);
        self.stamp_sent(index, sent_at);
        end
    }

    /// The records of an skb of several segments; PSH and FIN are the last one's.
    fn record_train(&mut self, length: u32, tags: Tags, sent_at: SimTime) -> u64 {
        let end = self.flow.snd_nxt + u64::from(length);
        let mut seq = self.flow.snd_nxt;
        while end - seq > u64::from(self.mss()) {
            seq = self.record_sent(seq, self.mss(), Tags::default(), sent_at);
        }
        self.record_sent(seq, (end - seq) as u32, tags, sent_at)
    }

    /// After the loop; may yield the retransmission of a loss probe.
    fn end_pass(&mut self, mut progress: Progress) -> Option<Outgoing> {
        self.update_clocks(progress.window_limited);
        progress.cwnd_limited |= self.in_flight() >= self.window.cwnd.0;
        if progress.sent > 0 || progress.cwnd_limited {
            self.validate_cwnd(progress.cwnd_limited);
        }
        if progress.sent > 0 {
            if self.in_cwnd_reduction() {
                self.reduction.prr_out += progress.sent;
            }
            if progress.pass != Pass::LossProbe {
                self.schedule_loss_probe(Rto::Running);
            }
        } else if self.flow.packets_out.0 == 0 && self.has_unsent() {
            self.check_probe_timer();
        }
        match progress.pass {
            Pass::LossProbe => return self.end_loss_probe(progress),
            Pass::WindowProbe => self.window_probe_sent(),
            Pass::Frto if self.flow.snd_nxt <= self.reduction.high_seq => {
                self.reduction.frto = false;
                self.agenda.retransmit = Retransmit::Lost;
            }
            _ => {}
        }
        None
    }

    /// New data went out as the probe; else the last segment is sent again, unless it still waits in this host.
    /// [linux-6.12 tcp_output.c tcp_send_loss_probe]
    fn end_loss_probe(&mut self, progress: Progress) -> Option<Outgoing> {
        if progress.sent > 0 {
            self.probe_sent(Probe::NewData);
            return None;
        }
        let could_send = self.has_unsent() && self.flow.snd_nxt + u64::from(self.mss()) <= self.window_end();
        let last = self.queue.end().checked_sub(1).filter(|&last| self.queue.contains(last));
        match last {
            Some(last) if !could_send && !self.waits_in_host(last) => self.retransmit(last, 1, Role::Probe),
            _ => {
                self.rearm_rto();
                None
            }
        }
    }

    fn probe_sent(&mut self, probe: Probe) {
        self.notes.push(Note::TailLossProbe);
        self.tlp_retrans = probe == Probe::Retransmission;
        self.tlp_high_seq = Some(self.flow.snd_nxt);
        self.timer.armed = None;
        self.rearm_rto();
    }

    /// The next lost segment that cwnd allows. [linux-6.12 tcp_output.c tcp_xmit_retransmit_queue]
    fn next_lost(&mut self) -> Option<Outgoing> {
        let mut index = self.retransmit_hint.max(self.queue.head());
        while index < self.queue.end() {
            self.retransmit_hint = index;
            if self.held_by_pacing()
                || self.in_flight() >= self.window.cwnd.0
                || self.retrans_out >= self.lost_out
            {
                return None;
            }
            let segment = self.queue.get(index);
            let (tags, length) = (segment.tags, segment.length);
            if tags.has(Tags::LOST) && !tags.has(Tags::SACKED) && !tags.has(Tags::RETRANS) {
                let (length, count) = self.lost_skb(index, length);
                if self.held_by_small_queue(length, Urgency::Retransmission) {
                    return None;
                }
                return self.retransmit(index, count, Role::Lost);
            }
            index += 1;
        }
        None
    }

    /// Payload of the lost skb that begins at `index`, and how many of its segments may be sent again now.
    fn lost_skb(&self, index: Index, first: u32) -> (u32, u32) {
        if !self.builds_trains() {
            return (first, 1);
        }
        let run = self.lost_run(index);
        let last = self.queue.get(index + u64::from(run) - 1);
        let bytes = last.seq + u64::from(last.length) - self.queue.get(index).seq;
        let allowed = (self.window.cwnd.0 - self.in_flight()).min(self.tso_segs());
        (bytes as u32, run.min(allowed))
    }

    fn end_retransmissions(&mut self) {
        self.agenda.retransmit = Retransmit::Nothing;
        if std::mem::take(&mut self.agenda.head_retransmitted) {
            self.restart_rto();
        }
    }

    /// Sends `count` segments of one skb again, unless their last transmission is still in this host: then the next
    /// credit runs the transmit loop. [linux-6.12 tcp_output.c __tcp_retransmit_skb]
    fn retransmit(&mut self, index: Index, count: u32, role: Role) -> Option<Outgoing> {
        if !self.queue.contains(index) {
            return None;
        }
        if self.waits_in_host(index) {
            self.attempted(index, count);
            return None;
        }
        let seq = self.queue.get(index).seq;
        let last = self.queue.get(index + u64::from(count) - 1);
        let (length, tags) = ((last.seq - seq) as u32 + last.length, last.tags);
        let before = self.take_departure();
        self.must_split |= count == 1 && length > self.mss();
        self.count_sent(length, self.segments_of(length));
        self.total_retrans += u64::from(count);
        self.bytes_retrans += u64::from(length);
        if self.in_flight() == 0 {
            self.cwnd_event(CwndEvent::TxStart);
        }
        self.flow.last_sent = self.flow.now;
        self.agenda.pending = Some(Pending::Again { index, count, role, before });
        Some(self.outgoing(seq, length, tags))
    }

    fn sent_again(&mut self, run: Range<Index>, role: Role, before: SimTime, refused: bool) {
        let sent_at = self.flow.departure;
        if !refused {
            let count = (run.end - run.start) as u32;
            self.queue.become_skb(run.start, count, self.transmitted);
            let bytes = run.clone().map(|index| self.queue.get(index).length).sum();
            self.space_after(bytes, before);
        }
        for index in run.clone() {
            // A stamp of a transmission that may never have happened must not give an RTT.
            self.queue.get_mut(index).tags.set(Tags::EVER_RETRANS);
            if !refused {
                self.queue.get_mut(index).sent_at = sent_at;
                self.stamp_sent(index, sent_at);
                self.queue.move_to_newest(index);
            }
        }
        match role {
            Role::Probe if refused => self.rearm_rto(),
            Role::Probe => self.probe_sent(Probe::Retransmission),
            Role::Lost | Role::AfterTimeout => self.count_retransmission(run, role, refused),
        }
    }

    /// What is remembered of a retransmission, tried or done. One that was only tried leaves the stamp of the first
    /// transmission, which no echo is older than: a timeout that came while the data was still in this host is not
    /// undone by timestamps, and DSACKs are one short of undoing it. [linux-6.12 tcp_output.c tcp_retransmit_skb]
    fn attempted(&mut self, index: Index, count: u32) {
        let stamp = crate::undo::timestamp(self.queue.get(index).sent_at);
        self.reduction.retrans_stamp.get_or_insert(stamp);
        self.reduction.undo_retrans = Some(self.reduction.undo_retrans.unwrap_or(0) + count);
    }

    fn count_retransmission(&mut self, run: Range<Index>, role: Role, refused: bool) {
        let (index, count) = (run.start, (run.end - run.start) as u32);
        self.attempted(index, count);
        for index in run {
            // After an undone timeout the head may carry the tag still.
            if !refused && !self.queue.get(index).tags.has(Tags::RETRANS) {
                self.queue.get_mut(index).tags.set(Tags::RETRANS);
                self.retrans_out += 1;
            }
        }
        if role == Role::AfterTimeout {
            self.after_timeout_retransmission(refused);
        } else if refused {
            self.end_retransmissions();
        } else {
            if self.in_cwnd_reduction() {
                self.reduction.prr_out += count;
            }
            let head = index == self.queue.head();
            self.agenda.head_retransmitted |= head && !self.armed_for(TimerKind::Reordering);
        }
    }

    /// The small-queue handler and the pacing timer. [linux-6.12 tcp_output.c tcp_tsq_write]
    pub(crate) fn kick(&mut self) {
        if self.lost_out > self.retrans_out && self.window.cwnd.0 > self.in_flight() {
            self.agenda.retransmit = Retransmit::Lost;
        }
        self.agenda.begin(Pass::Normal);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    NewData,
    Retransmission,
}
