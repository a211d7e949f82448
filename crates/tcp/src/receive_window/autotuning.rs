//! How the receive buffer grows: once per round trip, with what the application has read in it.
//!
//! The formulas are at the head of [`super`]. The RTT is the receiver's own ([`crate::receiver_rtt`]).
//! [linux-6.12 tcp_input.c tcp_rcv_space_adjust] [linux-7.3 tcp_input.c tcp_rcvbuf_grow]

use tailback_packet::{Segment, Timestamp};
use tailback_units::{SimTime, Span};

use super::{MAX_TCP_HEADER, ReceiveWindow, Received, SKB_STRUCTURES, Tuning};
use crate::stack::{CopiedBytes, ReceiveRatio, WindowGrowth};

impl ReceiveWindow {
    /// An echo that the segment before had, perhaps one without data, is no sample for the next.
    pub(crate) fn know_echo(&mut self, echo: Timestamp) {
        self.rtt.know_echo(echo);
    }

    /// Measures the RTT by the timestamp that a segment echoes.
    pub(crate) fn rtt_by_timestamp(&mut self, segment: &Segment, rcv_nxt: u64, now: SimTime) {
        if self.rtt.by_timestamp(segment, self.rcv_mss, rcv_nxt != self.copied_seq, now) {
            self.renew_round();
        }
    }

    /// Measures the RTT by the time that one window takes.
    pub(crate) fn rtt_by_window(&mut self, rcv_nxt: u64, now: SimTime) {
        if self.rtt.by_window(rcv_nxt, self.rcv_wnd, now) {
            self.renew_round();
        }
    }

    /// The application read the `bytes` of one skb.
    #[inline]
    pub(crate) fn read(&mut self, bytes: u32, received: Received, now: SimTime) {
        self.copied_seq += u64::from(bytes);
        self.adjust_space(received, now);
    }

    /// The round trip began at another time, or takes another time. In whole microseconds it may be over one earlier.
    pub(super) fn renew_round(&mut self) {
        let round_trip = Span::from_micros(u64::from(self.rtt.us8() >> 3).saturating_sub(1));
        self.space.until = if self.rtt.us8() == 0 { SimTime::NEVER } else { self.space.time + round_trip };
    }

    /// Dynamic right-sizing, once per round trip. [linux-6.12 tcp_input.c tcp_rcv_space_adjust]
    fn adjust_space(&mut self, received: Received, now: SimTime) {
        if now < self.space.until {
            debug_assert!(!self.round_is_over(now));
        } else if self.round_is_over(now) {
            self.adjust_space_to_last_round(received, now);
        }
    }

    fn round_is_over(&self, now: SimTime) -> bool {
        let passed = now.as_micros() - self.space.time.as_micros();
        self.rtt.us8() != 0 && passed >= u64::from(self.rtt.us8() >> 3)
    }

    #[inline(never)]
    fn adjust_space_to_last_round(&mut self, received: Received, now: SimTime) {
        self.forget_cached();
        let waiting = match self.copied_bytes {
            CopiedBytes::Read => 0,
            CopiedBytes::ReadLessWaiting => self.unread(received.in_order),
        };
        let copied = (self.copied_seq - self.space.seq).saturating_sub(waiting);
        if copied > self.space.bytes {
            match self.window_growth {
                WindowGrowth::SixteenSegments => self.grow_buffer_by_segments(copied),
                WindowGrowth::OutOfOrderSpan => self.grow_buffer_by_span(copied, received),
            }
            self.space.bytes = copied;
        }
        self.space.seq = self.copied_seq;
        self.space.time = now;
        self.renew_round();
    }

    /// [linux-6.12 tcp_input.c tcp_rcv_space_adjust]
    fn grow_buffer_by_segments(&mut self, copied: u64) {
        let window = 2 * copied + 16 * u64::from(self.advmss);
        self.grow_buffer(window + 2 * share_of(window, copied - self.space.bytes, self.space.bytes));
    }

    /// [linux-7.3 tcp_input.c tcp_rcvbuf_grow]
    fn grow_buffer_by_span(&mut self, copied: u64, received: Received) {
        let (window, rtt) = (2 * copied, self.rtt.us8() >> 3);
        let growth = match rtt < self.low_rtt {
            true => share_of(window, rtt.into(), self.low_rtt.into()),
            false => share_of(2 * window, copied - self.space.bytes, self.space.bytes),
        };
        self.grow_buffer(window + growth + received.late.saturating_sub(received.in_order));
    }

    fn grow_buffer(&mut self, window: u64) {
        let rcvbuf = self.memory_for(window).min(self.tcp_rmem_max);
        if rcvbuf > self.rcvbuf && self.tuning == Tuning::Automatic {
            self.rcvbuf = rcvbuf;
            self.clamp = self.usable(rcvbuf);
        }
    }

    /// Data out of order has come. Since Linux 6.17 the window makes room for what is waited for.
    /// [linux-7.3 tcp_input.c tcp_data_queue_ofo]
    pub(crate) fn make_room_for_hole(&mut self, received: Received) {
        if self.window_growth == WindowGrowth::OutOfOrderSpan {
            self.forget_cached();
            self.grow_buffer_by_span(self.space.bytes, received);
        }
    }

    /// Memory for a window of `window` bytes. Older kernels compute it in segments, each with the memory for one by the
    /// fixed ratio. [linux-6.12 tcp.h tcp_space_from_win] [linux-5.10 tcp_input.c]
    pub(super) fn memory_for(&self, window: u64) -> u64 {
        match self.receive_ratio {
            ReceiveRatio::Measured => window * 256 / u64::from(self.ratio),
            ReceiveRatio::Half => {
                let mss = u64::from(self.advmss);
                let min = mss + MAX_TCP_HEADER + SKB_STRUCTURES;
                let missing = (2 * mss).saturating_sub(min);
                window / mss * (min + missing.next_multiple_of(128))
            }
        }
    }
}

/// `of` times `part`/`whole`.
fn share_of(of: u64, part: u64, whole: u64) -> u64 {
    (u128::from(of) * u128::from(part) / u128::from(whole.max(1))) as u64
}
