//! The handshake: SYN, SYN-ACK, their retransmissions, and the initial state of a connection.
//!
//! A repeated SYN or SYN-ACK leaves Karn's ambiguity, which timestamps resolve: the echo names the transmission that was
//! answered. So the RTT is `now − echo` in ticks of 1 ms, and a timeout was spurious if the echo is the stamp of the first
//! transmission. After more than one retransmission and a timeout that was not spurious the connection begins with one
//! segment. [rfc5681 §3.1] [rfc7323 §4] [linux-6.12 tcp_input.c tcp_init_transfer, tcp_try_undo_spurious_syn]
//!
//! Known deviations: a SYN cookie's timestamp carries no options, and the ACK that completes it gives no RTT. After a SYN
//! that timed out, the first pacing rate always has the ratio of slow start; on Linux it has that of congestion avoidance if
//! the ssthresh which the control gave for the lost SYN is below four segments.

use std::sync::Arc;

use rand_core::Rng;
use tailback_packet::{Ecn, Packet, Segment, SegmentFlags, Timestamp};
use tailback_units::{SimTime, Span, expiry};

use super::segments::ACK_TRUESIZE;
use super::{Endpoint, State};
use crate::clock::{Deadline, Micros, TIMESTAMP_CLOCK, micros_since, timestamp};
use crate::config::Offers;
use crate::ecn::HandshakePacket;
use crate::rtt::RTO_INITIAL;
use crate::sending_half::{Begins, Opening, SendingHalf};
use crate::stack::LateSyn;

/// The SYN or SYN-ACK of this side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// It must be sent now.
    pub(super) due: bool,
    /// When it was sent first; `NEVER` before that.
    first_sent: SimTime,
    pub(super) deadline: Deadline,
    timeouts: u16,
    /// Transmissions after the first: after timeouts, and the answers to a repeated SYN.
    retransmits: u16,
    /// No state of the peer's SYN is kept; the sequence number of the SYN-ACK encodes it.
    by_cookie: bool,
}

impl Default for Handshake {
    fn default() -> Self {
        Handshake {
            due: false,
            first_sent: SimTime::NEVER,
            deadline: Deadline::NONE,
            timeouts: 0,
            retransmits: 0,
            by_cookie: false,
        }
    }
}

impl Handshake {
    fn first_sent(&self) -> Option<SimTime> {
        (self.first_sent != SimTime::NEVER).then_some(self.first_sent)
    }
}

impl<S: SendingHalf> Endpoint<S> {
    pub(super) fn take_syn(&mut self, segment: &Segment, ecn: Ecn) {
        self.receiver.window.answer_syn(&self.sender.settings().stack);
        self.sender.ecn_mut().take_syn(segment.flags, ecn);
        self.receiver.synchronise(segment, self.sender.now());
        self.sender.peer_mut().snd_wnd = segment.window;
        self.state = State::SynReceived;
        self.handshake.due = true;
    }

    /// The same SYN arrived again: the SYN-ACK is sent again and still echoes the first SYN. Repeated SYNs that follow
    /// within [`crate::Settings::invalid_ratelimit`] are ignored. [linux-6.12 tcp_minisocks.c tcp_check_req]
    pub(super) fn take_syn_again(&mut self, segment: &Segment, ecn: Ecn) {
        if self.receiver.may_answer_unacceptable(self.sender.now()) {
            self.sender.ecn_mut().take_syn_again(segment.flags, ecn);
            self.handshake.due = true;
        }
    }

    pub(super) fn take_syn_ack(&mut self, segment: &Segment, ecn: Ecn, draws: &mut dyn Rng) {
        if !segment.flags.contains(SegmentFlags::SYN) || !segment.flags.contains(SegmentFlags::ACK) {
            return;
        }
        self.receiver.synchronise(segment, self.sender.now());
        self.sender.ecn_mut().take_syn_ack(segment, ecn);
        self.establish(segment, draws);
        self.establish_ecn(false, segment, ecn);
        if let Some(sender) = self.sender.as_sender_mut() {
            sender.connected();
        }
        self.receiver.ack_due = true;
    }

    /// `answer` completes the handshake: first RTT sample, first window, the control starts.
    /// [linux-6.12 tcp_input.c tcp_init_transfer]
    pub(super) fn establish(&mut self, answer: &Segment, draws: &mut dyn Rng) {
        let (rtt, begins) = (self.handshake_rtt(answer), self.begins(answer));
        self.state = State::Established;
        self.handshake.deadline = Deadline::NONE;
        self.receiver.begin_receiving(self.sender.now());
        let opening = Opening { window: answer.window, rtt, begins, saved: self.saved_metrics() };
        self.sender.open(opening, draws);
        self.sync_receiver();
    }

    /// Since the only transmission, or since the one that `answer` echoes. `None` without timestamps, and for a cookie.
    /// [linux-6.12 tcp_input.c tcp_synack_rtt_meas, tcp_ack_update_rtt]
    fn handshake_rtt(&self, answer: &Segment) -> Option<Span> {
        let Handshake { retransmits, by_cookie, .. } = self.handshake;
        if by_cookie {
            return None;
        }
        let now = self.sender.now();
        match retransmits {
            0 => self.handshake.first_sent().map(|sent_at| micros_since(now, Micros::of(sent_at))),
            _ => self.echo_of(answer).map(|echo| timestamp(now).since(echo).max(TIMESTAMP_CLOCK)),
        }
    }

    fn begins(&self, answer: &Segment) -> Begins {
        let Handshake { retransmits, timeouts, .. } = self.handshake;
        let first_sent = self.handshake.first_sent();
        let undone = self.sender.settings().stack.late_syn == LateSyn::Undone;
        let answers_the_first =
            self.echo_of(answer).is_some_and(|echo| first_sent.map(timestamp) == Some(echo));
        match self.state {
            _ if timeouts == 0 => Begins::WithInitialWindow,
            _ if retransmits > 1 && !(undone && answers_the_first) => Begins::WithOneSegment,
            State::SynSent => Begins::PacedAsOneSegment,
            _ => Begins::WithInitialWindow,
        }
    }

    fn echo_of(&self, answer: &Segment) -> Option<SimTime> {
        answer.tsecr.time().filter(|_| self.sender.agreement().timestamps)
    }

    #[cold]
    pub(super) fn handshake_packet(&mut self, now: SimTime) -> Packet {
        let answers = self.state == State::SynReceived;
        match self.handshake.first_sent() {
            None => self.handshake.first_sent = now,
            Some(_) => {
                self.handshake.retransmits += 1;
                if let Some(sender) = self.sender.as_sender_mut() {
                    sender.sent.total_retrans += 1;
                }
                // Also that of a SYN-ACK which answers another SYN. [linux-6.12 tcp_output.c tcp_rtx_synack]
                if answers {
                    self.redraw_hash();
                }
            }
        }
        // The SYN-ACK's timeout doubles from the first time on. [linux-6.12 request_sock.h reqsk_timeout]
        let linear = if answers { 0 } else { self.sender.settings().syn_linear_timeouts };
        let doublings = u32::from(self.handshake.timeouts).saturating_sub(linear).min(7);
        let timeout =
            Span::from_nanos(RTO_INITIAL.as_nanos() << doublings).min(self.sender.settings().rto_max);
        let rounding = (self.sender.settings().jiffy, self.sender.settings().timer_rounding);
        self.handshake.deadline = match self.handshake.by_cookie {
            true => Deadline::NONE,
            false => Deadline::at(expiry(now, timeout, rounding)),
        };
        let Handshake { retransmits, timeouts, .. } = self.handshake;
        let settings = self.sender.settings();
        let falls_back = settings.ecn_fallback && settings.stack.is_since((4, 1));
        let sent = HandshakePacket { answers, transmission: retransmits, timeouts, falls_back };
        let (ecn, sack) = self.sender.ecn_mut().handshake(&sent);
        let flags = if answers { SegmentFlags::SYN.with(SegmentFlags::ACK) } else { SegmentFlags::SYN };
        let flags = flags.with(ecn);
        let segment = Segment {
            seq: 0,
            length: 0,
            ack: if answers { self.receiver.rcv_nxt } else { 0 },
            window: self.receiver.window.carried(flags),
            flags,
            mss: self.sender.settings().offered_mss() as u16,
            tsval: match self.handshake_options().timestamps {
                true => Timestamp::at(timestamp(now)),
                false => Timestamp::NONE,
            },
            tsecr: self.receiver.timestamp_echo(),
            sack,
        };
        self.packet(segment, ACK_TRUESIZE, now)
    }

    /// The options of the SYN, or of the SYN-ACK.
    pub(super) fn handshake_options(&self) -> Offers {
        match self.state {
            State::SynReceived => self.sender.agreement().offers(),
            _ => self.sender.settings().offers,
        }
    }

    /// The SYN or SYN-ACK is sent again, or the connection is given up. [linux-6.12 tcp_timer.c tcp_write_timeout]
    pub(super) fn handshake_timed_out(&mut self) {
        let retries = self.sender.settings().syn_retries;
        let max = self.sender.settings().syn_linear_timeouts + retries;
        let waited = self.handshake.first_sent().map(|sent_at| self.sender.now().since(sent_at));
        let at_most = connecting_at_most(retries, self.sender.settings().rto_max);
        let too_long = self.handshake.timeouts > 0 && waited.is_some_and(|waited| waited >= at_most);
        if self.state == State::SynSent && (u32::from(self.handshake.timeouts) >= max || too_long) {
            self.handshake.deadline = Deadline::NONE;
            if let Some(sender) = self.sender.as_sender_mut() {
                sender.abort();
            }
            return;
        }
        if self.state == State::SynReceived
            && u32::from(self.handshake.timeouts) >= self.sender.settings().synack_retries
        {
            // The connection request is dropped. [linux-6.12 inet_connection_sock.c reqsk_timer_handler]
            self.handshake = Handshake::default();
            self.receiver.forget_answers();
            let settings = Arc::clone(self.sender.settings());
            self.sender.ecn_mut().forget_request(&settings);
            if let Some(sender) = self.sender.as_sender_mut() {
                sender.sent.total_retrans = 0;
            }
            self.state = State::Listen;
            return;
        }
        self.handshake.timeouts += 1;
        self.handshake.due = true;
        if self.state == State::SynSent {
            self.redraw_hash();
        }
    }

    /// SYNs are answered by cookies: the SYN-ACK is not sent again, and its acknowledgement is no RTT sample.
    /// [linux-6.12 syncookies.c cookie_v4_check]
    pub fn answer_by_cookie(&mut self) {
        self.handshake.by_cookie = true;
    }
}

/// How long `retries` SYNs would take if each waited twice as long as the one before, up to `max`, linear timeouts not
/// counted. Connecting fails after this time, however many have left. [linux-6.12 tcp_timer.c retransmits_timed_out]
fn connecting_at_most(retries: u32, max: Span) -> Span {
    let timeout = |doublings: u32| Span::from_nanos(RTO_INITIAL.as_nanos() << doublings.min(7)).min(max);
    (0..=retries).fold(Span::ZERO, |sum, doublings| sum + timeout(doublings))
}
