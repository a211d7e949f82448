//! Processes one ACK in the kernel's order: window → SACK tags → clean-up and RTT → RACK window → probe → recovery →
//! timer → rate sample → control → pacing rate. Retransmissions and new data then follow. [linux-6.12 tcp_input.c
//! tcp_ack]

use tailback_cc::{AckPath, AckSample, CaState, Control, Flow, RateSample, Timestamps};
use tailback_packet::{Segment, SegmentFlags, Timestamp};
use tailback_units::{Segs, Span};

use crate::clock::{Micros, micros_since};
use crate::info::Note;
use crate::marks::BeforeMarks;
use crate::queue::{PlainHead, Tags};
use crate::sack::SackWalk;
use crate::scoreboard::Scoreboard;
use crate::sender::{AckFlags, Sender};
use crate::stack::SlowStartGrowth;
use crate::state::clocks::Chrono;
use crate::state::gate::{Pass, Retransmit};
use crate::state::rack::Rack;
use crate::state::rate::{AckKind, DeliveryRate, SampleInProgress};
use crate::state::recovery::Recovery;

/// The state of the sender before an ACK, to compute what the ACK changed.
#[derive(Clone, Copy, Debug)]
struct Before {
    una: u64,
    highest_sack: u64,
    sacked: u32,
    delivered: u64,
    lost: u64,
    reneged: bool,
}

/// The result of removing acknowledged segments.
#[derive(Debug, Default)]
struct Cleaned {
    packets: u32,
    first_sent: Option<Micros>,
    last_sent: Option<Micros>,
    reordered_from: Option<u64>,
}

/// The position of an ACK number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckRange {
    /// From the oldest byte that is not acknowledged to the next one to be sent.
    Current,
    /// Before that, within the largest window that the peer ever had.
    Old,
    /// Before that: no ACK of this connection can be so late.
    TooOld,
    /// Beyond what was sent.
    Unsent,
}

impl Sender {
    /// Processes a current or old ACK that does more than to acknowledge new data that was sent once.
    #[inline(never)]
    pub(crate) fn take_other_ack(&mut self, ack: &Segment, draws: &mut dyn rand_core::Rng) {
        let before = self.before_ack();
        let old = ack.ack < before.una;
        if old && ack.sack.is_empty() {
            return;
        }
        let mut flags = AckFlags {
            una_advanced: ack.ack > before.una,
            carries_data: ack.length > 0,
            ece: self.ecn.echoes_marks(ack.flags),
            ..AckFlags::default()
        };
        let before_marks = if self.ecn.is_accurate() { Some(self.before_marks()) } else { None };
        let mut sample = SampleInProgress::new(self.scoreboard.in_flight());
        self.usage.flight_before_ack = sample.prior_in_flight;
        let nothing_outstanding = self.scoreboard.is_empty();
        let path = ack_path(ack, before.una, self.peer.snd_wnd);
        if flags.una_advanced {
            self.recovery.retransmits = 0;
        }
        if !old {
            self.timer.peer_answered();
            flags.window_update = self.update_send_window(ack.seq, ack.ack, ack.window);
            self.flow.snd_una = ack.ack;
        }
        let walk = match ack.sack.is_empty() {
            true => SackWalk::default(),
            false => self.tag_sacked(ack, before.una, &mut flags, &mut sample),
        };
        if !old {
            // The blocks of an old ACK tag segments, but these never count as delivered.
            self.flow.delivered += u64::from(walk.delivered);
        }
        if old || !self.ignores_acks {
            // Also for an old ACK, which may show losses: the control learns of them.
            self.refresh_flow();
        }
        if !old && !self.ignores_acks && before_marks.is_none() {
            self.control.hooks_mut().in_ack_event(path, &self.flow, &mut self.window);
        }
        if nothing_outstanding && !old {
            if let Some(before) = &before_marks {
                self.take_marks_in_order(ack, before, &mut flags, path);
            }
            if flags.dsack {
                self.fast_retransmit_alert(before.una, &mut flags);
            }
            self.process_probe_ack(ack.ack, &flags);
            return self.answer_of_window_probe();
        }
        if !old {
            self.clean_queue(&before, &walk, &mut flags, &mut sample);
            self.rack.update_steps(sample.prior_delivered, self.flow.delivered);
            if let Some(before) = &before_marks {
                self.take_marks_in_order(ack, before, &mut flags, path);
            }
            self.process_probe_ack(ack.ack, &flags);
        }
        let retransmit = self.recover(before.una, old, &mut flags);
        if flags.set_timer {
            self.set_timer_after_ack();
        }
        if !old {
            self.refresh_flow();
            let now = Micros::of(self.flow.now);
            self.control_congestion(&before, &flags, &sample, now, draws);
        }
        self.gate.work.set_retransmit(retransmit);
    }

    /// Accurate ECN: the marks are known once all that is delivered is counted; then the control learns of the ACK.
    /// [linux-7.3 tcp_input.c tcp_ack]
    #[inline(never)]
    fn take_marks_in_order(
        &mut self,
        ack: &Segment,
        before: &BeforeMarks,
        flags: &mut AckFlags,
        path: AckPath,
    ) {
        self.take_marks(ack, before, flags);
        if !self.ignores_acks {
            self.refresh_flow();
            let path = if flags.ece { AckPath::Slow } else { path };
            self.control.hooks_mut().in_ack_event(path, &self.flow, &mut self.window);
        }
    }

    /// The records that `ack` acknowledges, if the fast path applies: the ACK does nothing else, the records were sent
    /// once, and no recovery or probe is in progress. This is true of nearly every ACK.
    #[inline]
    pub(crate) fn plain_head(&self, ack: &Segment) -> Option<PlainHead> {
        if !self.takes_shortcuts() {
            return None;
        }
        let calm =
            self.flow.ca_state == CaState::Open && self.scoreboard.is_untouched() && self.agreement.sack;
        let probes = self.tlp.high_seq.is_some() || self.path.search.is_some();
        let marked = self.ecn.may_tell_marks(ack.flags);
        if !calm || probes || marked || !ack.sack.is_none() || ack.ack <= self.flow.snd_una {
            return None;
        }
        let plain = self.scoreboard.queue().plain_head(ack.ack);
        // A partly acknowledged segment counts as reordered.
        let whole = self.scoreboard.front().is_some_and(|head| head.seq >= self.flow.snd_una);
        (plain.count > 0 && plain.is_all && whole).then_some(plain)
    }

    /// The steps of [`Sender::take_other_ack`] that such an ACK needs, in the same order.
    #[inline]
    pub(crate) fn take_plain_ack(
        &mut self,
        ack: &Segment,
        plain: &PlainHead,
        draws: &mut dyn rand_core::Rng,
    ) {
        let before = Before { highest_sack: self.flow.snd_una, sacked: 0, ..self.before_ack() };
        let mut sample = SampleInProgress::new(self.scoreboard.packets_out());
        self.usage.flight_before_ack = sample.prior_in_flight;
        let mut flags = AckFlags { una_advanced: true, window_update: true, ..AckFlags::default() };
        let path = ack_path(ack, before.una, self.peer.snd_wnd);
        self.recovery.retransmits = 0;
        self.timer.peer_answered();
        self.peer.take((ack.seq, ack.window), true);
        self.flow.snd_una = ack.ack;
        if !self.ignores_acks {
            self.refresh_flow();
            self.control.hooks_mut().in_ack_event(path, &self.flow, &mut self.window);
        }
        let now = Micros::of(self.flow.now);
        let mut cleaning = self.cleaning(&mut flags, &mut sample);
        cleaning.remove_plain(plain, now);
        let cleaned = cleaning.cleaned;
        if self.scoreboard.is_empty() {
            self.clocks.stop(Chrono::Busy, self.is_busy(), self.flow.now);
        }
        let since = |sent: Option<Micros>| sent.map(|sent| now.since(sent));
        let (rtt, control_rtt) = (since(cleaned.first_sent), since(cleaned.last_sent));
        flags.maybe_delayed = plain.count == 1
            && ack.ack - before.una < u64::from(self.flow.mss)
            && sample.prior_delivered + 1 == self.flow.delivered;
        self.update_rtt(rtt, control_rtt, &flags, &mut sample);
        self.tell_control_of_acked(cleaned.packets, &sample);
        self.rack.update_steps(sample.prior_delivered, self.flow.delivered);
        self.set_timer_after_plain_ack();
        self.refresh_cwnd_limited();
        self.control_congestion(&before, &flags, &sample, now, draws);
        self.gate.work.set_retransmit(Retransmit::Nothing);
    }

    /// An application waits for room or is woken for it, the transmit loop is to run, or the connection was given up.
    pub(crate) fn is_busy_with_application(&self) -> bool {
        self.buffer.writable | self.buffer.app_blocked | self.aborted || self.gate.work.pass().is_some()
    }

    fn before_ack(&self) -> Before {
        Before {
            una: self.flow.snd_una,
            highest_sack: self.scoreboard.highest_sack(self.flow.snd_una),
            sacked: self.scoreboard.sacked_out(),
            delivered: self.flow.delivered,
            lost: self.flow.lost,
            reneged: self.recovery.sack_reneged,
        }
    }

    fn recover(&mut self, prior_una: u64, old: bool, flags: &mut AckFlags) -> Retransmit {
        let dubious = !flags.not_duplicate() || flags.alert() || self.flow.ca_state != CaState::Open;
        if old || dubious { self.fast_retransmit_alert(prior_una, flags) } else { Retransmit::Nothing }
    }

    /// The parts that the removal of acknowledged segments changes.
    #[inline(always)]
    fn cleaning<'a>(&'a mut self, flags: &'a mut AckFlags, sample: &'a mut SampleInProgress) -> Cleaning<'a> {
        let (sack, echoed) = (self.agreement.sack, self.echoed);
        let Sender { scoreboard, recovery, rack, rate, flow, .. } = self;
        let cleaned = Cleaned::default();
        Cleaning { scoreboard, recovery, rack, rate, flow, flags, sample, sack, echoed, cleaned }
    }

    /// Removes acknowledged segments and samples the RTT. [linux-6.12 tcp_input.c tcp_clean_rtx_queue]
    fn clean_queue(
        &mut self,
        before: &Before,
        walk: &SackWalk,
        flags: &mut AckFlags,
        sample: &mut SampleInProgress,
    ) {
        let (now, all_at_once) = (Micros::of(self.flow.now), self.takes_shortcuts() && self.agreement.sack);
        let mut cleaning = self.cleaning(flags, sample);
        if all_at_once {
            let plain = cleaning.scoreboard.queue().plain_head(cleaning.flow.snd_una);
            cleaning.remove_plain(&plain, now);
        }
        cleaning.remove_others();
        let cleaned = cleaning.cleaned;
        flags.sack_reneging = self.scoreboard.is_reneged();
        if self.scoreboard.is_empty() {
            self.clocks.stop(Chrono::Busy, self.is_busy(), self.flow.now);
        }
        let mut rtt = None;
        let mut control_rtt = None;
        if let (Some(first), Some(last), false) =
            (cleaned.first_sent, cleaned.last_sent, flags.retrans_data_acked)
        {
            rtt = Some(micros_since(self.flow.now, first));
            control_rtt = Some(micros_since(self.flow.now, last));
            flags.maybe_delayed = cleaned.packets == 1
                && before.sacked == 0
                && self.flow.snd_una - before.una < u64::from(self.flow.mss)
                && sample.prior_delivered + 1 == self.flow.delivered
                && !flags.alert();
        }
        let mut sack_rtt = None;
        if let (Some(first), Some(last)) = (walk.first_sent, walk.last_sent) {
            sack_rtt = Some(micros_since(self.flow.now, first));
            control_rtt = Some(micros_since(self.flow.now, last));
        }
        let sampled = self.update_rtt(rtt.or(sack_rtt), control_rtt, flags, sample);
        if flags.data_acked {
            flags.set_timer = true;
            self.take_mtu_probe_ack(self.flow.snd_una);
            if !self.agreement.sack {
                let counted = self.scoreboard.take_duplicates(cleaned.packets);
                self.take_counted(counted, cleaned.packets);
                // Without SACK, nothing tells which of them arrived before the retransmission.
                flags.orig_sack_acked &= !flags.retrans_data_acked;
            } else {
                self.check_reordering(cleaned.reordered_from.filter(|&low| low < before.highest_sack));
            }
        } else if let (true, Some(sack_rtt), Some(head)) = (sampled, sack_rtt, self.scoreboard.front()) {
            // Rearm only for data sent after the head, or recovery could delay the timeout indefinitely.
            flags.set_timer |= sack_rtt > micros_since(self.flow.now, head.sent_at);
        }
        self.tell_control_of_acked(cleaned.packets, sample);
    }

    /// Prefers the time of the ACK; falls back to the timestamp echo. True if there was a sample.
    /// [linux-6.12 tcp_input.c tcp_ack_update_rtt]
    #[inline(always)]
    fn update_rtt(
        &mut self,
        rtt: Option<Span>,
        control_rtt: Option<Span>,
        flags: &AckFlags,
        sample: &mut SampleInProgress,
    ) -> bool {
        let mut rtt = rtt;
        let mut control_rtt = control_rtt;
        if rtt.is_none() && flags.data_acked {
            let now = crate::clock::timestamp(self.flow.now);
            rtt = self.echoed.time().map(|echo| now.since(echo).max(crate::clock::TIMESTAMP_CLOCK));
            control_rtt = rtt;
        }
        sample.rtt = control_rtt;
        let Some(rtt) = rtt else { return false };
        if let Some(control_rtt) = control_rtt {
            let inflated = flags.maybe_delayed && self.flow.min_rtt.is_some_and(|min| control_rtt > min);
            if !inflated && self.rtt.sample_minimum(control_rtt, self.flow.now, &self.settings) {
                self.flow.min_rtt = self.rtt.minimum();
            }
        }
        self.rtt.sample(rtt, self.flow.snd_una, self.flow.snd_nxt, &self.settings);
        self.flow.srtt_us8 = self.rtt.srtt_us8();
        true
    }

    fn tell_control_of_acked(&mut self, packets: u32, sample: &SampleInProgress) {
        self.refresh_flow();
        let in_flight = u64::from(self.flow.mss) * self.flow.delivered.saturating_sub(sample.prior_delivered);
        let acked = AckSample { packets_acked: Segs(packets), rtt: sample.rtt, in_flight };
        self.control.hooks_mut().pkts_acked(&acked, &self.flow, &mut self.window);
    }

    /// Rate sample, then the control or PRR, then the pacing rate. What the control reads was refreshed.
    /// [linux-6.12 tcp_input.c tcp_cong_control]
    #[inline(always)]
    fn control_congestion(
        &mut self,
        before: &Before,
        flags: &AckFlags,
        sample: &SampleInProgress,
        now: Micros,
        draws: &mut dyn rand_core::Rng,
    ) {
        let delivered = (self.flow.delivered - before.delivered) as u32;
        let losses = (self.flow.lost - before.lost) as u32;
        if flags.ece && !self.ecn.is_accurate() {
            self.flow.delivered_ce += u64::from(delivered);
        }
        let kind = AckKind { maybe_delayed: flags.maybe_delayed, reneging: before.reneged };
        let measured = self.rate.measure(sample, delivered, kind, now, &mut self.flow);
        let in_reduction = self.flow.ca_state.reduces_cwnd();
        match &mut self.control {
            Control::Model(control) => {
                let rate = RateSample {
                    prior_delivered: sample.prior_delivered,
                    delivered: measured.delivered,
                    interval: measured.interval,
                    rtt: sample.rtt,
                    losses: Segs(losses),
                    acked_sacked: Segs(delivered),
                    tx_in_flight: Segs(sample.tx_in_flight),
                    lost: u64::from((self.flow.lost as u32).wrapping_sub(sample.lost_before)),
                    prior_in_flight: Segs(sample.prior_in_flight),
                    is_app_limited: sample.app_limited,
                    is_retrans: sample.retransmission,
                    is_ack_delayed: kind.maybe_delayed,
                };
                control.cong_control(&rate, &self.flow, &mut self.window, draws);
                let state = control.state();
                if state != self.control_state {
                    self.control_state = state;
                    self.notes.push(Note::ControlState(state));
                }
                if std::mem::take(&mut self.window.mark_app_limited) {
                    self.flow.limit_by_application(self.scoreboard.in_flight());
                }
                self.options.cap_pacing_rate(&mut self.window);
                return;
            }
            Control::Window(_) if in_reduction => {
                self.reduce_cwnd(delivered, losses, flags);
            }
            Control::Window(control) => {
                let progress = flags.data_acked
                    || (self.recovery.reordering > self.settings.reordering && flags.data_sacked);
                if progress {
                    let by_acks = self.settings.stack.slow_start_growth == SlowStartGrowth::Acks;
                    let acked = if by_acks && self.window.in_slow_start() { 1 } else { delivered };
                    control.cong_avoid(Segs(acked), &self.flow, &mut self.window);
                    self.usage.stamp = self.flow.now;
                    if std::mem::take(&mut self.window.enter_cwr) {
                        self.enter_cwr();
                    }
                }
            }
        }
        self.update_pacing_rate();
    }

    /// Sends new data after the ACK, and wakes the application. [linux-6.12 tcp_data_snd_check]
    pub(crate) fn after_segment(&mut self) {
        if self.has_unsent() {
            self.gate.work.begin(Pass::Normal);
        }
    }
}

/// Removes the segments that one ACK acknowledges, and collects what that shows.
struct Cleaning<'a> {
    scoreboard: &'a mut Scoreboard,
    recovery: &'a mut Recovery,
    rack: &'a mut Rack,
    rate: &'a mut DeliveryRate,
    flow: &'a mut Flow,
    flags: &'a mut AckFlags,
    sample: &'a mut SampleInProgress,
    /// The peer sends SACKs: otherwise duplicate ACKs tell what was delivered.
    sack: bool,
    echoed: Timestamp,
    cleaned: Cleaned,
}

impl Cleaning<'_> {
    /// Removes acknowledged segments that were sent once and never SACKed, all at once: the last one of them, which
    /// was sent last, determines all samples.
    #[inline(always)]
    fn remove_plain(&mut self, plain: &PlainHead, now: Micros) {
        if plain.count == 0 {
            return;
        }
        let queue = self.scoreboard.queue();
        let first = queue.get(queue.head());
        self.cleaned.first_sent = Some(first.sent_at);
        self.cleaned.reordered_from = Some(first.seq);
        self.flags.orig_sack_acked |= first.end() <= self.recovery.high_seq;
        let last = queue.get(queue.head() + plain.count - 1);
        let (sent_at, end) = (last.sent_at, last.end());
        self.cleaned.last_sent = Some(sent_at);
        self.rate.take_delivered(last, self.sample);
        self.rack.delivered((sent_at, end), now.since(sent_at));
        self.scoreboard.remove_plain(plain);
        self.flow.delivered += plain.count;
        self.cleaned.packets = plain.count as u32;
        self.flags.data_acked = true;
    }

    /// Removes acknowledged segments one by one.
    #[inline(never)]
    fn remove_others(&mut self) {
        while let Some(segment) = self.scoreboard.acked(self.flow.snd_una) {
            let (tags, seq, end, sent_at) = (segment.tags, segment.seq, segment.end(), segment.sent_at);
            self.rate.take_delivered(segment, self.sample);
            self.scoreboard.remove_acked();
            if tags.retransmitted() {
                self.flags.retrans_data_acked = true;
            } else if !tags.has(Tags::SACKED) {
                self.cleaned.first_sent.get_or_insert(sent_at);
                self.cleaned.last_sent = Some(sent_at);
                self.cleaned.reordered_from.get_or_insert(seq);
                self.flags.orig_sack_acked |= end <= self.recovery.high_seq;
            }
            if !tags.has(Tags::SACKED) && self.sack {
                self.flow.delivered += 1;
                let spurious =
                    tags.retransmitted() && self.echoed.time().is_some_and(|echo| echo < sent_at.timestamp());
                if !spurious {
                    self.rack.advance(tags, (sent_at, end), self.flow);
                }
            }
            self.cleaned.packets += 1;
            self.flags.data_acked = true;
        }
    }
}

/// The segment repeats the ACK of `una`, without blocks.
pub(crate) fn acknowledges_nothing(segment: &Segment, una: u64) -> bool {
    segment.flags.contains(SegmentFlags::ACK) && segment.ack == una && segment.sack.is_none()
}

pub(crate) fn stamps(ack: &Segment) -> Option<Timestamps> {
    Some(Timestamps { value: ack.tsval.time()?, echo: ack.tsecr.time()? })
}

/// Header prediction: new data acknowledged, the same window, and nothing else. [linux-6.12 tcp_input.c tcp_ack]
fn ack_path(ack: &Segment, una: u64, window: u64) -> AckPath {
    let echoes = ack.flags.contains(SegmentFlags::ECE);
    let predicted = ack.ack > una && ack.window == window && ack.sack.is_empty() && !echoes;
    if predicted { AckPath::Fast } else { AckPath::Slow }
}
