//! Shared by tests: a small path for model controls (one sender, one bottleneck with a FIFO, an ACK for each packet),
//! and random numbers that are always zero, for tests that do not depend on them.
//!
//! The sender paces and samples the delivery rate like Linux. A packet counts as lost when the third packet after it
//! is acknowledged. It is not retransmitted; the next new packet takes its place.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

use crate::{CaState, CwndEvent, Flow, LostSegment, ModelControl, PacingStatus, RateSample, Window};

/// Payload bytes of a packet.
pub const MSS: u32 = 1448;
/// Later packets acknowledged before one counts as lost. [rfc5681 §3.2]
const DUPTHRESH: u64 = 3;
/// Data segments sent before pacing begins. [linux-6.12 tcp_output.c tcp_update_skb_after_send]
const UNPACED: u64 = 10;

/// A sample without data.
pub fn void() -> RateSample {
    RateSample {
        prior_delivered: 0,
        delivered: None,
        interval: None,
        rtt: None,
        losses: Segs::ZERO,
        acked_sacked: Segs::ZERO,
        tx_in_flight: Segs::ZERO,
        lost: 0,
        prior_in_flight: Segs::ZERO,
        is_app_limited: false,
        is_retrans: false,
        is_ack_delayed: false,
    }
}

/// The path.
pub struct Path {
    pub rate: Rate,
    pub rtt: Span,
    /// Size of the buffer in packets.
    pub buffer: usize,
    /// ACKs arrive only at multiples of this.
    pub batch: Option<Span>,
    /// Selects the packets to lose, by their number.
    pub lose: fn(u64) -> bool,
}

impl Path {
    pub fn new(mbit: u64, rtt: Span) -> Self {
        let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
        Path { rate, rtt, buffer: usize::MAX, batch: None, lose: |_| false }
    }

    /// Packets that fill the path without a queue.
    pub fn bdp(&self) -> u32 {
        (self.rate.bytes_in(self.rtt).0 / u64::from(MSS)) as u32
    }

    /// Payload byte/s.
    pub fn bytes_per_sec(&self) -> u64 {
        self.rate.bytes_per_sec()
    }
}

struct Sent {
    number: u64,
    at: SimTime,
    first_tx: SimTime,
    delivered: u64,
    delivered_at: SimTime,
    app_limited: bool,
    /// Segments in flight when it was sent, itself included, and segments lost until then.
    in_flight: Segs,
    lost: u64,
    /// `None` when it was lost.
    acked_at: Option<SimTime>,
}

/// A sender on a path.
pub struct Run<C> {
    pub path: Path,
    pub control: C,
    pub flow: Flow,
    pub window: Window,
    /// Packets that the application still has to send.
    pub supply: u64,
    draws: Xoshiro256PlusPlus,
    network: VecDeque<Sent>,
    link_free: SimTime,
    first_tx: SimTime,
    sent: u64,
    recovery_end: u64,
}

impl<C: ModelControl> Run<C> {
    /// A connection whose handshake has just measured the RTT.
    pub fn new(path: Path, control: C, seed: u64) -> Self {
        let mut flow = Flow::established(MSS, Span::from_millis(1));
        flow.min_rtt = Some(path.rtt);
        flow.srtt_us8 = path.rtt.as_micros() as u32 * 8;
        flow.pacing_status = PacingStatus::Needed;
        let mut run = Run {
            path,
            control,
            flow,
            window: Window::initial(Segs(10)),
            supply: u64::MAX,
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
            network: VecDeque::new(),
            link_free: SimTime::ZERO,
            first_tx: SimTime::ZERO,
            sent: 0,
            recovery_end: 0,
        };
        run.control.init(&run.flow, &mut run.window, &mut run.draws);
        run
    }

    /// Runs until `at`.
    pub fn until(&mut self, at: SimTime) {
        self.watch_until(at, |_| ());
    }

    /// Runs until `at`; calls `see` after each ACK.
    pub fn watch_until(&mut self, at: SimTime, mut see: impl FnMut(&Self)) {
        loop {
            self.send();
            let ack = self.network.iter().find_map(|sent| sent.acked_at).unwrap_or(SimTime::NEVER);
            let pacing = if self.may_send() { self.flow.departure } else { SimTime::NEVER };
            if ack.min(pacing) > at {
                self.flow.now = at;
                return;
            }
            self.flow.now = ack.min(pacing);
            if ack <= pacing {
                self.take_ack();
                see(self);
            }
        }
    }

    fn may_send(&self) -> bool {
        self.supply > 0 && self.flow.in_flight < self.window.cwnd
    }

    fn send(&mut self) {
        while self.may_send() && self.flow.departure <= self.flow.now {
            self.transmit();
        }
        if self.supply == 0 && self.flow.in_flight < self.window.cwnd {
            self.flow.app_limited = self.flow.delivered + u64::from(self.flow.in_flight.0);
        }
    }

    fn transmit(&mut self) {
        let now = self.flow.now;
        if self.flow.in_flight == Segs::ZERO {
            self.control.cwnd_event(CwndEvent::TxStart, &self.flow, &mut self.window);
            (self.first_tx, self.flow.delivered_at) = (now, now);
        }
        let acked_at = self.enqueue();
        self.network.push_back(Sent {
            number: self.sent,
            at: now,
            first_tx: self.first_tx,
            delivered: self.flow.delivered,
            delivered_at: self.flow.delivered_at,
            app_limited: self.flow.app_limited > 0,
            in_flight: self.flow.in_flight + Segs::ONE,
            lost: self.flow.lost,
            acked_at,
        });
        self.sent += 1;
        self.supply -= 1;
        self.flow.in_flight += Segs::ONE;
        self.flow.last_sent = now;
        let spacing = self.window.pacing_rate.time_for(Bytes(u64::from(MSS)));
        self.flow.departure = now + if self.sent < UNPACED { Span::ZERO } else { spacing };
    }

    /// When its ACK will arrive.
    fn enqueue(&mut self) -> Option<SimTime> {
        let service = self.path.rate.time_for(Bytes(u64::from(MSS)));
        let waiting = self.link_free.since(self.flow.now).as_nanos() / service.as_nanos();
        if (self.path.lose)(self.sent) || waiting as usize >= self.path.buffer {
            return None;
        }
        self.link_free = self.link_free.max(self.flow.now) + service;
        let acked_at = self.link_free + self.path.rtt;
        Some(self.path.batch.map_or(acked_at, |batch| acked_at.round_up_to(batch)))
    }

    fn take_ack(&mut self) {
        let prior_in_flight = self.flow.in_flight;
        let first = self.network.iter().position(|sent| sent.acked_at.is_some()).expect("an ACK is due");
        let due = self.network[first].acked_at;
        let mut acked = 0;
        let mut newest = self.network.remove(first).expect("it is there");
        acked += 1;
        // Packets whose ACKs come at one instant are covered by one ACK.
        while self.network.get(first).is_some_and(|sent| sent.acked_at == due) {
            newest = self.network.remove(first).expect("it is there");
            acked += 1;
        }
        let losses = self.mark_lost(newest.number);
        self.flow.delivered += acked;
        self.flow.delivered_at = self.flow.now;
        self.flow.in_flight -= Segs(acked as u32 + losses);
        self.flow.cwnd_limited = prior_in_flight >= self.window.cwnd;
        self.recover(newest.number, losses);
        let mut sample = self.sample(&newest, acked as u32, prior_in_flight);
        sample.losses = Segs(losses);
        self.control.cong_control(&sample, &self.flow, &mut self.window, &mut self.draws);
        if std::mem::take(&mut self.window.mark_app_limited) {
            self.flow.app_limited = (self.flow.delivered + u64::from(self.flow.in_flight.0)).max(1);
        }
    }

    fn mark_lost(&mut self, newest: u64) -> u32 {
        let is_lost = |sent: &Sent| sent.acked_at.is_none() && sent.number + DUPTHRESH <= newest;
        let lost: Vec<(Segs, u64)> = self
            .network
            .iter()
            .filter(|sent| is_lost(sent))
            .map(|sent| (sent.in_flight, sent.lost))
            .collect();
        self.network.retain(|sent| !is_lost(sent));
        for &(tx_in_flight, before) in &lost {
            self.flow.lost += 1;
            let segment = LostSegment { tx_in_flight, lost: self.flow.lost - before, is_app_limited: false };
            self.control.segment_lost(&segment, &self.flow, &mut self.window);
        }
        lost.len() as u32
    }

    fn recover(&mut self, newest: u64, losses: u32) {
        if losses > 0 && self.flow.ca_state < CaState::Recovery {
            self.window.ssthresh = self.control.ssthresh(&self.flow, &self.window);
            self.set_state(CaState::Recovery);
            self.recovery_end = self.sent;
        } else if self.flow.ca_state == CaState::Recovery && newest + 1 >= self.recovery_end {
            self.set_state(CaState::Open);
        }
    }

    fn set_state(&mut self, to: CaState) {
        self.control.set_state(to, &self.flow, &mut self.window);
        self.flow.ca_state = to;
    }

    fn sample(&mut self, newest: &Sent, acked: u32, prior_in_flight: Segs) -> RateSample {
        if self.flow.app_limited > 0 && self.flow.delivered > self.flow.app_limited {
            self.flow.app_limited = 0;
        }
        self.first_tx = newest.at;
        let rtt = self.flow.now.since(newest.at);
        self.flow.min_rtt = self.flow.min_rtt.map(|min| min.min(rtt));
        let interval = newest.at.since(newest.first_tx).max(self.flow.now.since(newest.delivered_at));
        RateSample {
            prior_delivered: newest.delivered,
            delivered: Some(self.flow.delivered - newest.delivered),
            interval: Some(interval).filter(|&interval| Some(interval) >= self.flow.min_rtt),
            rtt: Some(rtt),
            losses: Segs::ZERO,
            acked_sacked: Segs(acked),
            tx_in_flight: newest.in_flight,
            lost: self.flow.lost - newest.lost,
            prior_in_flight,
            is_app_limited: newest.app_limited,
            is_retrans: false,
            is_ack_delayed: false,
        }
    }
}

/// Random numbers that are always zero.
pub struct Zeros;

impl rand_core::TryRng for Zeros {
    type Error = rand_core::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.fill(0);
        Ok(())
    }
}
