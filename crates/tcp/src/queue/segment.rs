//! The record of one segment, and the state when it was sent.

use super::Tags;
use crate::clock::Micros;

/// One segment that was sent. A record takes one cache line.
#[derive(Clone, Debug)]
pub(crate) struct SentSegment {
    pub(crate) seq: u64,
    pub(crate) length: u32,
    /// Segments in flight when this one was sent, itself included.
    pub(crate) in_flight: u32,
    /// Segments marked lost when this one was sent, modulo 2^32.
    pub(crate) lost: u32,
    pub(crate) tags: Tags,
    /// Departure time of the newest transmission.
    pub(crate) sent_at: Micros,
    /// Send time of the segment that was newest acknowledged when this one was sent. [linux-6.12 tcp_rate.c]
    pub(crate) first_sent_at: Micros,
    /// When `delivered` was counted; `NEVER` once the record has been used for a rate sample by SACK.
    pub(crate) delivered_at: Micros,
    /// Segments delivered when this one was sent.
    pub(crate) delivered: u64,
    /// Number of its last transmission among all of the socket. It shows whether the segment is still in the host, and
    /// with which neighbours it shares an skb.
    pub(crate) transmission: u64,
}

const _: () = assert!(size_of::<SentSegment>() == 64);

/// The state at the time a segment was sent, for rate samples. [linux-6.12 tcp_rate.c tcp_rate_skb_sent]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) sent_at: Micros,
    pub(crate) first_sent_at: Micros,
    pub(crate) delivered_at: Micros,
    pub(crate) delivered: u64,
    /// Modulo 2^32.
    pub(crate) lost: u32,
    pub(crate) in_flight: u32,
    /// `APP_LIMITED` or empty.
    pub(crate) limited: Tags,
}

impl SentSegment {
    /// A segment that was just sent, `(seq, length)`.
    #[inline]
    pub(crate) fn new((seq, length): (u64, u32), mut tags: Tags, transmission: u64, stamp: &Stamp) -> Self {
        tags.set(stamp.limited);
        SentSegment {
            seq,
            length,
            tags,
            sent_at: stamp.sent_at,
            first_sent_at: stamp.first_sent_at,
            delivered_at: stamp.delivered_at,
            delivered: stamp.delivered,
            lost: stamp.lost,
            in_flight: stamp.in_flight,
            transmission,
        }
    }

    /// Takes the first `length` bytes, which do not reach its end.
    pub(crate) fn take_first(&mut self, length: u32) -> Self {
        let first = SentSegment { length, tags: self.tags.without_end(), ..self.clone() };
        self.seq += u64::from(length);
        self.length -= length;
        first
    }

    /// Records a retransmission.
    pub(crate) fn take_stamp(&mut self, stamp: &Stamp) {
        self.sent_at = stamp.sent_at;
        self.first_sent_at = stamp.first_sent_at;
        self.delivered_at = stamp.delivered_at;
        self.delivered = stamp.delivered;
        (self.lost, self.in_flight) = (stamp.lost, stamp.in_flight);
        self.tags.clear(Tags::APP_LIMITED);
        self.tags.set(stamp.limited);
    }

    /// Excludes it from further rate samples.
    pub(crate) fn forget_stamp(&mut self) {
        self.delivered_at = Micros::NEVER;
    }

    /// One past its last sequence number.
    pub(crate) fn end(&self) -> u64 {
        self.seq + u64::from(self.length) + u64::from(self.tags.has(Tags::FIN))
    }
}

/// Sent later, or at the same time with a higher sequence number. [linux-6.12 tcp.h tcp_skb_sent_after]
#[inline]
pub(crate) fn sent_after(a: (Micros, u64), b: (Micros, u64)) -> bool {
    a > b
}
