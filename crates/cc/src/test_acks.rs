//! Shared by the tests of window controls: a flow in which only ACKs happen, when the test says so.

use tailback_units::{Segs, SimTime, Span};

use crate::control::AckPath;
use crate::test_path::Zeros;
use crate::{AckSample, CaState, CwndEvent, Flow, Window, WindowControl};

/// Payload bytes of a segment.
pub const MSS: u64 = 1448;

/// A sender that is always limited by its window, its control, and ACKs on demand.
pub struct Acks<C> {
    pub flow: Flow,
    pub window: Window,
    pub control: C,
    /// Segments that an ACK covers.
    pub per_ack: u32,
}

impl<C: WindowControl> Acks<C> {
    /// In slow start with `cwnd`, after a handshake that showed `rtt`.
    pub fn after_handshake(cwnd: u32, rtt: Span, control: C) -> Self {
        let mut flow = Flow { cwnd_limited: true, ..Flow::established(MSS as u32, Span::from_millis(1)) };
        flow.now = SimTime::ZERO + Span::from_secs(1);
        flow.srtt_us8 = rtt.as_micros() as u32 * 8;
        flow.min_rtt = Some(rtt);
        let mut acks = Acks { flow, window: Window::initial(Segs(cwnd)), control, per_ack: 1 };
        acks.control.init(&acks.flow, &mut acks.window, &mut Zeros);
        acks.send();
        acks
    }

    /// In congestion avoidance with `cwnd`.
    pub fn in_avoidance(cwnd: u32, control: C) -> Self {
        let mut acks = Acks::after_handshake(10, Span::from_millis(100), control);
        acks.window.cwnd = Segs(cwnd);
        acks.window.ssthresh = Segs(2);
        acks.send();
        acks
    }

    pub fn cwnd(&self) -> u32 {
        self.window.cwnd.0
    }

    /// One ACK now, of `segments` the newest of which took `rtt`.
    pub fn ack(&mut self, segments: u32, rtt: Span) {
        self.flow.snd_una += u64::from(segments) * MSS;
        self.flow.delivered += u64::from(segments);
        self.flow.delivered_at = self.flow.now;
        self.control.in_ack_event(AckPath::Fast, &self.flow, &mut self.window);
        let in_flight = u64::from(self.window.cwnd.0) * MSS;
        let sample = AckSample { packets_acked: Segs(segments), rtt: Some(rtt), in_flight };
        self.control.pkts_acked(&sample, &self.flow, &mut self.window);
        self.control.cong_avoid(Segs(segments), &self.flow, &mut self.window);
        self.send();
    }

    /// A window of ACKs spread evenly over `rtt`, each of which has that RTT.
    pub fn round(&mut self, rtt: Span) {
        let acks = self.window.cwnd.0.div_ceil(self.per_ack);
        for _ in 0..acks {
            self.flow.now += rtt / u64::from(acks);
            self.ack(self.per_ack, rtt);
        }
    }

    /// cwnd after each of `n` round trips.
    pub fn rounds(&mut self, n: usize, rtt: Span) -> Vec<u32> {
        (0..n).map(|_| (self.round(rtt), self.cwnd()).1).collect()
    }

    /// A loss: cwnd is reduced at once, as at the end of PRR, and recovery ends.
    pub fn lose(&mut self) {
        self.window.prior_cwnd = self.window.cwnd;
        self.window.ssthresh = self.control.ssthresh(&self.flow, &self.window);
        self.enter(CaState::Recovery);
        self.window.cwnd = self.window.ssthresh;
        self.control.cwnd_event(CwndEvent::CompleteCwr, &self.flow, &mut self.window);
        self.enter(CaState::Open);
        self.window.cwnd_cnt = 0;
        self.send();
    }

    /// A retransmission timeout.
    pub fn time_out(&mut self) {
        self.window.prior_cwnd = self.window.cwnd;
        self.window.ssthresh = self.control.ssthresh(&self.flow, &self.window);
        self.control.cwnd_event(CwndEvent::Loss, &self.flow, &mut self.window);
        self.window.cwnd = Segs(1);
        self.enter(CaState::Loss);
        self.send();
    }

    pub fn enter(&mut self, to: CaState) {
        self.control.set_state(to, &self.flow, &mut self.window);
        self.flow.ca_state = to;
    }

    pub fn wait(&mut self, span: Span) {
        self.flow.now += span;
    }

    /// The window is full again.
    fn send(&mut self) {
        let end = self.flow.snd_una + u64::from(self.window.cwnd.0) * MSS;
        self.flow.snd_nxt = self.flow.snd_nxt.max(end);
        self.flow.packets_out = Segs(((self.flow.snd_nxt - self.flow.snd_una) / MSS) as u32);
        self.flow.in_flight = self.flow.packets_out;
    }
}
