//! What a socket asks of its sending half. A socket that may send data has a [`Sender`]; a pure receiver has a
//! `ReceiveOnly`, which is much smaller. So the steps of a receiver are written once, for both.

use std::fmt::Debug;
use std::sync::Arc;

use tailback_packet::{Segment, Timestamp};
use tailback_units::{Segs, SimTime, Span};

use crate::clock::{Deadline, Micros};
use crate::config::{Agreement, Settings};
use crate::ecn::EcnState;
use crate::input::AckRange;
use crate::metrics::{Ended, Metrics};
use crate::output::Outgoing;
use crate::receiver::Receiver;
use crate::scoreboard::Counting;
use crate::sender::Sender;
use crate::state::gate::{Pass, Transmitted};
use crate::state::peer::PeerWindow;
use crate::state::timer::Expired;

/// How a connection opens, as the handshake found it.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The window of the segment that completes the handshake, bytes.
    pub(crate) window: u64,
    /// The RTT of the handshake, if it could be measured.
    pub(crate) rtt: Option<Span>,
    /// The first window and the first pacing rate.
    pub(crate) begins: Begins,
    /// What earlier connections to the peer have left.
    pub(crate) saved: Metrics,
}

/// The first window and the first pacing rate of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begins {
    /// The initial window, paced as such.
    WithInitialWindow,
    /// A SYN timed out, which left a cwnd of one segment, and its answer set the pacing rate before cwnd became the
    /// initial window. The next ACK sets it again. [linux-6.12 tcp_input.c tcp_rcv_synsent_state_process]
    PacedAsOneSegment,
    /// SYN or SYN-ACK was lost more than once.
    WithOneSegment,
}

/// What the other parts of a socket ask of its sending half, and what they tell it: [`Sender`] or `ReceiveOnly`.
pub trait SendingHalf: Sized + Debug {
    /// The time of the present step.
    fn now(&self) -> SimTime;
    /// A step begins.
    fn set_now(&mut self, now: SimTime);

    /// The oldest byte that is not acknowledged.
    fn snd_una(&self) -> u64;
    /// The timestamp that the segment before echoed, whatever it carried.
    fn echoed(&self) -> Timestamp;
    /// The next new byte to be sent.
    fn snd_nxt(&self) -> u64;
    /// The window of the peer.
    fn peer(&self) -> &PeerWindow;
    /// The window of the peer, to change it.
    fn peer_mut(&mut self) -> &mut PeerWindow;
    /// The state of ECN, for both halves.
    fn ecn(&self) -> &EcnState;
    /// The state of ECN, to change it.
    fn ecn_mut(&mut self) -> &mut EcnState;
    /// Sysctls of the host.
    fn settings(&self) -> &Settings;
    /// Sysctls of the host, to keep.
    fn shared_settings(&self) -> Arc<Settings>;
    /// What the SYNs negotiated.
    fn agreement(&self) -> &Agreement;
    /// Sets what the SYNs negotiated.
    fn agree(&mut self, agreement: Agreement);
    /// Smoothed RTT (×8, µs).
    fn srtt_us8(&self) -> u32;
    /// Retransmission timeout.
    fn rto(&self) -> Span;
    /// For tests: the shortcuts for common ACKs, data and transmissions are taken.
    fn takes_shortcuts(&self) -> bool;

    /// The connection is established.
    fn open(&mut self, opening: Opening, draws: &mut dyn rand_core::Rng);
    /// This side has connected: its application may write.
    fn connected(&mut self);
    /// What this connection leaves to later ones, now that it ends.
    fn leaves(&self) -> Option<Ended>;
    /// The handshake told of so many marks.
    fn count_marks(&mut self, marks: u64);
    /// The room that data leaves for the option of accurate ECN may have changed.
    fn synchronise_room(&mut self);
    /// Whether the timestamp of the segment that is processed next is newer than those before.
    fn expects_timestamp(&mut self, newer: bool);
    /// SYN or SYN-ACK is sent again.
    fn handshake_repeated(&mut self);
    /// The connection request is dropped.
    fn handshake_dropped(&mut self);
    /// The connection is given up.
    fn abort(&mut self);
    /// The connection was given up.
    fn is_aborted(&self) -> bool;

    /// The range of an ACK; the bytes that count as acknowledged begin at `first`.
    /// [rfc5961 §5.2] [linux-6.12 tcp_input.c tcp_ack]
    #[inline(always)]
    fn judge_ack(&self, ack: u64, first: u64) -> AckRange {
        let una = self.snd_una();
        if ack > self.snd_nxt() {
            return AckRange::Unsent;
        }
        if ack >= una {
            return AckRange::Current;
        }
        let acceptable = self.peer().largest().min(una.saturating_sub(first));
        if ack + acceptable >= una { AckRange::Old } else { AckRange::TooOld }
    }

    /// No data is outstanding or acknowledged, as in all segments that a pure receiver gets.
    /// [linux-6.12 tcp_input.c tcp_rcv_established, header prediction]
    fn is_predicted(&self, segment: &Segment) -> bool;
    /// Nothing is to be sent, and no loss probe is out.
    fn is_silent(&self) -> bool;
    /// Takes the window of a predicted segment; the control does not see the ACK.
    fn take_predicted(&mut self, segment: &Segment);
    /// As [`SendingHalf::take_predicted`] while the sender is silent.
    fn take_window_of_data(&mut self, segment: &Segment);
    /// Processes a current or old ACK; `draws` are random numbers for the control.
    fn take_ack(&mut self, ack: &Segment, draws: &mut dyn rand_core::Rng);
    /// Sends new data after the ACK. [linux-6.12 tcp_data_snd_check]
    fn after_segment(&mut self);
    /// Wakes an application that waits for room in the send buffer, if there is some.
    fn check_space(&mut self);

    /// The application is to be woken, since the send buffer has room.
    fn is_writable(&self) -> bool;
    /// Whether the application is to be woken, since the send buffer has room; clears the request.
    fn take_writable(&mut self) -> bool;
    /// An application waits for room or is woken for it, the transmit loop is to run, or the connection was given up.
    fn is_busy_with_application(&self) -> bool;
    /// A FIN follows the last byte.
    fn close(&mut self);
    /// Everything sent is acknowledged.
    fn has_finished(&self) -> bool;
    /// There are events to record.
    fn has_notes(&self) -> bool;

    /// The transmit loop is to run for new data.
    fn has_pass(&self) -> bool;
    /// The transmit loop is to run.
    fn has_work(&self) -> bool;
    /// The next segment of the transmit loop.
    fn next_data(&mut self, receiver: &Receiver) -> Option<Outgoing>;
    /// The next segment of a paced burst waits for its departure time.
    fn pauses(&self) -> bool;
    /// A FIN is to be sent that is not among the data of the transmit loop.
    fn fin_due(&self) -> bool;
    /// That FIN is written.
    fn fin_written(&mut self);
    /// A window probe without data is to be sent.
    fn probe_due(&self) -> bool;
    /// The window probe is written.
    fn probe_written(&mut self);
    /// How the device handled the packet just taken.
    fn after_handing_over(&mut self, outcome: Transmitted);
    /// A packet was sent: looks up an outdated route again.
    fn refresh_route(&mut self);
    /// The small queue of the socket is full.
    fn awaits_credit(&self) -> bool;

    /// When [`SendingHalf::expire`] must be called.
    fn deadline(&self) -> Deadline;
    /// A deadline passed; says which.
    fn expire(&mut self) -> Expired;
}

impl SendingHalf for Sender {
    fn now(&self) -> SimTime {
        self.flow.now
    }

    fn set_now(&mut self, now: SimTime) {
        self.flow.now = now;
    }

    fn snd_una(&self) -> u64 {
        self.flow.snd_una
    }

    fn echoed(&self) -> Timestamp {
        self.echoed
    }

    fn snd_nxt(&self) -> u64 {
        self.flow.snd_nxt
    }

    fn peer(&self) -> &PeerWindow {
        &self.peer
    }

    fn peer_mut(&mut self) -> &mut PeerWindow {
        &mut self.peer
    }

    fn ecn(&self) -> &EcnState {
        &self.ecn
    }

    fn ecn_mut(&mut self) -> &mut EcnState {
        &mut self.ecn
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn shared_settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn agree(&mut self, agreement: Agreement) {
        let own_mss = self.settings.full_mss();
        self.flow.mss = agreement.peer_mss.min(own_mss).saturating_sub(agreement.timestamp_option()).max(1);
        self.agreement = agreement;
        self.flow.mtu = self.mtu_of(self.flow.mss);
        self.scoreboard.count(match agreement.sack {
            true => Counting::Sacks,
            false => Counting::Duplicates,
        });
    }

    fn srtt_us8(&self) -> u32 {
        self.flow.srtt_us8
    }

    fn rto(&self) -> Span {
        self.rtt.rto()
    }

    fn takes_shortcuts(&self) -> bool {
        Sender::takes_shortcuts(self)
    }

    /// First RTT sample, first window, the control starts. [linux-6.12 tcp_input.c tcp_init_transfer]
    fn open(&mut self, opening: Opening, draws: &mut dyn rand_core::Rng) {
        let now = self.flow.now;
        self.flow.snd_una = 1;
        self.flow.snd_nxt = 1;
        self.stream.write_seq = self.stream.write_seq.max(1);
        self.stream.pushed_seq = 1;
        self.peer.open(opening.window);
        self.flow.delivered = 1;
        self.flow.delivered_at = now;
        self.rate.delivered_at = Micros::of(now);
        self.usage.stamp = now;
        match opening.rtt {
            Some(rtt) => {
                self.rtt.sample(rtt, 1, 1, &self.settings);
                self.rtt.sample_minimum(rtt, now, &self.settings);
                self.flow.srtt_us8 = self.rtt.srtt_us8();
                self.flow.min_rtt = self.rtt.minimum();
            }
            None => self.rtt.fall_back(),
        }
        self.begin_with(&opening.saved);
        let initial_window = self.window.cwnd;
        if opening.begins != Begins::WithInitialWindow {
            self.window.cwnd = Segs::ONE;
        }
        self.begin_mtu_search();
        self.expand_sndbuf();
        if self.window_control() {
            self.update_pacing_rate();
        }
        if opening.begins == Begins::PacedAsOneSegment {
            self.window.cwnd = initial_window;
        }
        self.refresh_flow();
        self.flow.ecn_ok = self.ecn.agreed();
        let Sender { control, flow, window, .. } = self;
        control.hooks_mut().init(flow, window, draws);
        self.cap_pacing_rate();
    }

    fn connected(&mut self) {
        self.start_from_base_mss();
        self.buffer.writable = true;
    }

    fn leaves(&self) -> Option<Ended> {
        Some(self.ended())
    }

    fn count_marks(&mut self, marks: u64) {
        self.flow.delivered_ce += marks;
    }

    fn synchronise_room(&mut self) {
        Sender::synchronise_room(self);
    }

    fn expects_timestamp(&mut self, newer: bool) {
        if let Some(accurate) = self.ecn.accurate_mut() {
            accurate.feedback.set_newer(newer);
        }
    }

    fn handshake_repeated(&mut self) {
        self.sent.total_retrans += 1;
    }

    fn handshake_dropped(&mut self) {
        self.sent.total_retrans = 0;
    }

    fn abort(&mut self) {
        Sender::abort(self);
    }

    fn is_aborted(&self) -> bool {
        self.aborted
    }

    fn is_predicted(&self, segment: &Segment) -> bool {
        Sender::is_predicted(self, segment)
    }

    fn is_silent(&self) -> bool {
        Sender::is_silent(self)
    }

    fn take_predicted(&mut self, segment: &Segment) {
        Sender::take_predicted(self, segment);
    }

    fn take_window_of_data(&mut self, segment: &Segment) {
        Sender::take_window_of_data(self, segment);
    }

    #[inline(always)]
    fn take_ack(&mut self, ack: &Segment, draws: &mut dyn rand_core::Rng) {
        Sender::take_ack(self, ack, draws);
    }

    fn after_segment(&mut self) {
        Sender::after_segment(self);
    }

    #[inline(always)]
    fn check_space(&mut self) {
        Sender::check_space(self);
    }

    fn is_writable(&self) -> bool {
        self.buffer.writable
    }

    fn take_writable(&mut self) -> bool {
        std::mem::take(&mut self.buffer.writable)
    }

    fn is_busy_with_application(&self) -> bool {
        self.buffer.writable | self.buffer.app_blocked | self.aborted || self.has_pass()
    }

    fn close(&mut self) {
        if !self.stream.fin_queued {
            self.stream.fin_queued = true;
            self.routine = false;
            self.buffer.app_blocked = false;
            self.gate.work.begin(Pass::Push);
        }
    }

    fn has_finished(&self) -> bool {
        self.scoreboard.packets_out() == 0 && !self.has_unsent()
    }

    fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    fn has_pass(&self) -> bool {
        self.gate.work.pass.is_some()
    }

    fn has_work(&self) -> bool {
        self.gate.work.has_work()
    }

    #[inline(always)]
    fn next_data(&mut self, receiver: &Receiver) -> Option<Outgoing> {
        if !self.has_work() {
            return None;
        }
        if self.path.search.is_some() {
            self.path.reports_sack = receiver.reports_sack();
        }
        self.next()
    }

    fn pauses(&self) -> bool {
        Sender::pauses(self)
    }

    fn fin_due(&self) -> bool {
        false
    }

    fn fin_written(&mut self) {
        unreachable!("its FIN is among the data")
    }

    fn probe_due(&self) -> bool {
        self.timer.probe_due
    }

    fn probe_written(&mut self) {
        self.timer.probe_due = false;
        self.timer.probe_leaves = true;
    }

    #[inline(always)]
    fn after_handing_over(&mut self, outcome: Transmitted) {
        Sender::refresh_route(self);
        if std::mem::take(&mut self.timer.probe_leaves) && outcome == Transmitted::Dropped {
            self.empty_probe_refused();
        }
        if self.gate.work.pending.is_some() {
            self.handed_over(outcome);
        }
    }

    fn refresh_route(&mut self) {
        Sender::refresh_route(self);
    }

    fn awaits_credit(&self) -> bool {
        self.below.throttled
    }

    fn deadline(&self) -> Deadline {
        self.timer.expires().or(self.gate.pacing_timer)
    }

    fn expire(&mut self) -> Expired {
        let now = self.flow.now;
        let expired = if self.timer.expires().is_over(now) { self.timer_expired() } else { Expired::Another };
        if self.gate.pacing_timer.is_over(now) {
            self.gate.pacing_timer = Deadline::NONE;
            self.kick();
        }
        expired
    }
}
