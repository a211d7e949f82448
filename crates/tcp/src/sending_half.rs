//! What a socket asks of its sending half. A socket that may send data has a [`Sender`]; a pure receiver has a
//! `ReceiveOnly`, which is much smaller. So the steps of a receiver are written once, for both: what both halves do are
//! methods of [`SendingHalf`], and what only a sender does is done with [`SendingHalf::as_sender`], which a pure receiver
//! does not have. The compiler leaves those steps out of its code.

use std::fmt::Debug;
use std::sync::Arc;

use tailback_packet::Segment;
use tailback_units::{Segs, SimTime, Span};

use crate::clock::Deadline;
use crate::config::{Agreement, Settings};
use crate::ecn::EcnState;
use crate::input::{acknowledges_nothing, stamps};
use crate::metrics::Metrics;
use crate::scoreboard::Counting;
use crate::sender::{AckFlags, Sender};
use crate::state::gate::Pass;
use crate::state::peer::PeerWindow;
use crate::state::timer::{Expired, loss_probe_states};

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
    /// All of it, if this side may send data.
    fn as_sender(&self) -> Option<&Sender>;
    /// As [`SendingHalf::as_sender`], to change it.
    fn as_sender_mut(&mut self) -> Option<&mut Sender>;

    /// The time of the present step.
    fn now(&self) -> SimTime;
    /// A step begins.
    fn set_now(&mut self, now: SimTime);

    /// The oldest byte that is not acknowledged.
    fn snd_una(&self) -> u64;
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
    fn settings(&self) -> &Arc<Settings>;
    /// What the SYNs negotiated.
    fn agreement(&self) -> &Agreement;
    /// Sets what the SYNs negotiated.
    fn agree(&mut self, agreement: Agreement);
    /// Smoothed RTT (×8, µs).
    fn srtt_us8(&self) -> u32;
    /// Retransmission timeout.
    fn rto(&self) -> Span;

    /// The connection is established.
    fn open(&mut self, opening: Opening, draws: &mut dyn rand_core::Rng);
    /// No data is outstanding or acknowledged, as in all segments that a pure receiver gets.
    /// [linux-6.12 tcp_input.c tcp_rcv_established, header prediction]
    fn is_predicted(&self, segment: &Segment) -> bool;
    /// Takes the window of a predicted segment; the control does not see the ACK.
    fn take_predicted(&mut self, segment: &Segment);
    /// As [`SendingHalf::take_predicted`] while nothing is to be sent.
    fn take_window_of_data(&mut self, segment: &Segment);
    /// Processes a current or old ACK; `draws` are random numbers for the control.
    fn take_ack(&mut self, ack: &Segment, draws: &mut dyn rand_core::Rng);

    /// A FIN follows the last byte.
    fn close(&mut self);
    /// A FIN is to be sent that is not among data: never that of a [`Sender`].
    fn fin_due(&self) -> bool {
        false
    }
    /// That FIN is written.
    fn fin_written(&mut self) {
        unreachable!("a FIN is among the data of a sender")
    }
    /// Everything sent is acknowledged.
    fn has_finished(&self) -> bool;

    /// When [`SendingHalf::expire`] must be called.
    fn deadline(&self) -> Deadline;
    /// A deadline passed; says which.
    fn expire(&mut self) -> Expired;
}

impl SendingHalf for Sender {
    fn as_sender(&self) -> Option<&Sender> {
        Some(self)
    }

    fn as_sender_mut(&mut self) -> Option<&mut Sender> {
        Some(self)
    }

    fn now(&self) -> SimTime {
        self.flow.now
    }

    fn set_now(&mut self, now: SimTime) {
        self.flow.now = now;
    }

    fn snd_una(&self) -> u64 {
        self.flow.snd_una
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

    fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn agree(&mut self, agreement: Agreement) {
        let own_mss = self.settings.full_mss();
        self.flow.mss = agreement.peer_mss.min(own_mss).saturating_sub(agreement.timestamp_option()).max(1);
        self.loss_probe_states = loss_probe_states(&self.settings, &agreement);
        self.agreement = agreement;
        self.flow.mtu = self.sizes().mtu_of(self.flow.mss);
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
        self.rate.begin(now);
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
        self.path.begin_search(&self.settings, self.sizes(), now);
        self.routine = false;
        self.expand_sndbuf();
        if !self.control.is_model() {
            self.update_pacing_rate();
        }
        if opening.begins == Begins::PacedAsOneSegment {
            self.window.cwnd = initial_window;
        }
        self.refresh_flow();
        self.flow.ecn_ok = self.ecn.agreed();
        let Sender { control, flow, window, .. } = self;
        control.hooks_mut().init(flow, window, draws);
        self.options.cap_pacing_rate(&mut self.window);
    }

    fn is_predicted(&self, segment: &Segment) -> bool {
        acknowledges_nothing(segment, self.flow.snd_una) && self.scoreboard.is_empty()
    }

    #[inline(always)]
    fn take_predicted(&mut self, segment: &Segment) {
        self.echoed = segment.tsecr;
        self.timer.peer_answered();
        let window_update = self.update_send_window(segment.seq, segment.ack, segment.window);
        if self.tlp.high_seq.is_some() {
            let carries_data = segment.length > 0;
            let flags = AckFlags { carries_data, window_update, ..AckFlags::default() };
            self.process_probe_ack(segment.ack, &flags);
        }
        self.answer_of_window_probe();
    }

    fn take_window_of_data(&mut self, segment: &Segment) {
        self.echoed = segment.tsecr;
        self.timer.peer_answered();
        self.peer.take((segment.seq, segment.window), false);
    }

    #[inline(never)]
    fn take_ack(&mut self, ack: &Segment, draws: &mut dyn rand_core::Rng) {
        self.echoed = ack.tsecr;
        self.flow.timestamps = stamps(ack);
        match self.plain_head(ack) {
            Some(plain) => self.take_plain_ack(ack, &plain, draws),
            None => self.take_other_ack(ack, draws),
        }
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
