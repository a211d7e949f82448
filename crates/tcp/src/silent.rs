//! The sending half of a pure receiver: a socket that never writes and never closes first. It needs no window, no control
//! and no retransmit queue, only what its ACKs say and what limits which segments it takes.
//!
//! A run may have tens of thousands of receivers, so this is small: a tenth of a [`Sender`](crate::Sender).
//!
//! Known deviations: a segment with SACK blocks, which nobody sends to a socket that has sent no data, changes nothing.

use std::sync::Arc;

use tailback_packet::Segment;
use tailback_units::{SimTime, Span};

use crate::clock::Deadline;
use crate::config::{Agreement, Settings};
use crate::ecn::EcnState;
use crate::input::acknowledges_nothing;
use crate::output::Outgoing;
use crate::receiver::Receiver;
use crate::rtt::{RTO_INITIAL, RttEstimator};
use crate::sending_half::{Opening, SendingHalf};
use crate::state::gate::Transmitted;
use crate::state::peer::PeerWindow;

/// The sequence number of the first byte: all that it has ever sent is a SYN-ACK.
const FIRST: u64 = 1;

/// The sending half of a pure receiver.
#[derive(Debug)]
pub struct Silent {
    now: SimTime,
    peer: PeerWindow,
    ecn: EcnState,
    /// Smoothed RTT of the handshake (×8, µs); no later segment is a sample.
    srtt_us8: u32,
    rto: Span,
    agreement: Agreement,
    settings: Arc<Settings>,
}

impl Silent {
    pub(crate) fn new(settings: Arc<Settings>, agreement: Agreement, needs_ecn: bool) -> Self {
        Silent {
            now: SimTime::ZERO,
            peer: PeerWindow::default(),
            ecn: EcnState::new(settings.ecn, needs_ecn),
            srtt_us8: 0,
            rto: RTO_INITIAL,
            agreement,
            settings,
        }
    }
}

impl SendingHalf for Silent {
    #[inline(always)]
    fn now(&self) -> SimTime {
        self.now
    }

    #[inline(always)]
    fn set_now(&mut self, now: SimTime) {
        self.now = now;
    }

    #[inline(always)]
    fn snd_una(&self) -> u64 {
        FIRST
    }

    #[inline(always)]
    fn snd_nxt(&self) -> u64 {
        FIRST
    }

    #[inline(always)]
    fn peer(&self) -> &PeerWindow {
        &self.peer
    }

    #[inline(always)]
    fn peer_mut(&mut self) -> &mut PeerWindow {
        &mut self.peer
    }

    #[inline(always)]
    fn ecn(&self) -> &EcnState {
        &self.ecn
    }

    #[inline(always)]
    fn ecn_mut(&mut self) -> &mut EcnState {
        &mut self.ecn
    }

    #[inline(always)]
    fn settings(&self) -> &Settings {
        &self.settings
    }

    #[inline(always)]
    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn agree(&mut self, agreement: Agreement) {
        self.agreement = agreement;
    }

    #[inline(always)]
    fn srtt_us8(&self) -> u32 {
        self.srtt_us8
    }

    #[inline(always)]
    fn rto(&self) -> Span {
        self.rto
    }

    #[inline(always)]
    fn takes_shortcuts(&self) -> bool {
        true
    }

    fn open(&mut self, opening: Opening, _: &mut dyn rand_core::Rng) {
        self.peer.open(opening.window);
        let mut estimator = RttEstimator::new();
        match opening.rtt {
            Some(rtt) => estimator.sample(rtt, FIRST, FIRST, self.settings.jiffy),
            None => estimator.fall_back(),
        }
        (self.srtt_us8, self.rto) = (estimator.srtt_us8(), estimator.rto());
    }

    fn connected(&mut self) {
        unreachable!("a pure receiver waits for a SYN")
    }

    fn handshake_repeated(&mut self) {}

    fn handshake_dropped(&mut self) {}

    fn abort(&mut self) {
        unreachable!("a pure receiver waits for a SYN")
    }

    #[inline(always)]
    fn is_aborted(&self) -> bool {
        false
    }

    #[inline(always)]
    fn is_predicted(&self, segment: &Segment) -> bool {
        acknowledges_nothing(segment, FIRST)
    }

    #[inline(always)]
    fn is_silent(&self) -> bool {
        true
    }

    #[inline(always)]
    fn take_predicted(&mut self, segment: &Segment) {
        self.take_window_of_data(segment);
    }

    #[inline(always)]
    fn take_window_of_data(&mut self, segment: &Segment) {
        self.peer.take((segment.seq, segment.window), false);
    }

    /// It can only repeat an ACK: with other blocks, or with an older number.
    fn take_ack(&mut self, ack: &Segment, _: &mut dyn rand_core::Rng) {
        if ack.ack >= FIRST {
            self.take_window_of_data(ack);
        }
    }

    #[inline(always)]
    fn after_segment(&mut self) {}

    #[inline(always)]
    fn check_space(&mut self) {}

    #[inline(always)]
    fn is_writable(&self) -> bool {
        false
    }

    #[inline(always)]
    fn take_writable(&mut self) -> bool {
        false
    }

    #[inline(always)]
    fn is_busy_with_application(&self) -> bool {
        false
    }

    fn has_finished(&self) -> bool {
        true
    }

    #[inline(always)]
    fn has_notes(&self) -> bool {
        false
    }

    #[inline(always)]
    fn has_pass(&self) -> bool {
        false
    }

    #[inline(always)]
    fn has_work(&self) -> bool {
        false
    }

    #[inline(always)]
    fn next_data(&mut self, _: &Receiver) -> Option<Outgoing> {
        None
    }

    #[inline(always)]
    fn pauses(&self) -> bool {
        false
    }

    #[inline(always)]
    fn probe_due(&self) -> bool {
        false
    }

    fn probe_written(&mut self) {}

    #[inline(always)]
    fn after_handing_over(&mut self, _: Transmitted) {}

    #[inline(always)]
    fn refresh_route(&mut self) {}

    #[inline(always)]
    fn awaits_credit(&self) -> bool {
        false
    }

    #[inline(always)]
    fn deadline(&self) -> Deadline {
        Deadline::NONE
    }

    fn expire(&mut self) {}
}
