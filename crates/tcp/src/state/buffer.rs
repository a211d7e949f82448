//! The send buffer, and the application that waits for room in it.

use tailback_cc::MAX_TCP_HEADER;
use tailback_units::SimTime;

use crate::queue::Index;

/// Least send buffer. [linux-6.12 sock.h SOCK_MIN_SNDBUF]
const SNDBUF_MIN: u64 = 4608;
/// Header and alignment bytes that the kernel reserves per segment when it sizes the send buffer: with an MSS of
/// 1460 a segment counts 4352 bytes. [linux-6.12 tcp_input.c tcp_sndbuf_expand]
const SNDBUF_HEADERS: u64 = MAX_TCP_HEADER as u64 + SHARED_INFO;
/// `struct skb_shared_info`, aligned.
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;

/// The send buffer.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct SendBuffer {
    /// `sk_sndbuf`.
    pub(crate) sndbuf: u64,
    /// Send-buffer factor of the congestion control.
    pub(crate) factor: u32,
    /// The application has chosen its size.
    pub(crate) is_locked: bool,
    /// The application waits for room.
    pub(crate) app_blocked: bool,
    /// The host manages the send buffer, and knows whether the application waits for room.
    pub(crate) room_kept_elsewhere: bool,
    /// The application is to be woken, since there is room.
    pub(crate) writable: bool,
    /// It is as large as so many segments of this MSS may make it.
    covered: (u32, u32),
    /// When there was last no room, unless something since may have made some; else `SimTime::NEVER`.
    full_at: SimTime,
    /// Without SACKs there is no room before this record is the head of the retransmit queue; 0: unknown.
    full_before: Index,
}

impl SendBuffer {
    /// A buffer of `default` bytes, or of twice the value that the application has set.
    pub(crate) fn new(asked: Option<u64>, default: u64, factor: u32) -> Self {
        let sndbuf = asked.map_or(default, |asked| (2 * asked).max(SNDBUF_MIN));
        SendBuffer {
            sndbuf,
            factor,
            is_locked: asked.is_some(),
            full_at: SimTime::NEVER,
            ..SendBuffer::default()
        }
    }

    /// The application chose its size.
    pub(crate) fn lock(&mut self, bytes: u64) {
        self.sndbuf = bytes.max(SNDBUF_MIN);
        self.is_locked = true;
        self.may_have_space();
    }

    /// The size for so many segments of at most `mss` bytes.
    pub(crate) fn wanted(&self, segments: u32, mss: u32) -> u64 {
        let per_segment = (u64::from(mss) + SNDBUF_HEADERS).next_power_of_two() + SK_BUFF;
        u64::from(self.factor) * u64::from(segments) * per_segment
    }

    /// The application waits for room, and is to be woken by this side.
    #[inline]
    pub(crate) fn has_waiter(&self) -> bool {
        self.app_blocked && !self.room_kept_elsewhere
    }

    /// A third of it is free with so much memory in use. [linux-6.12 sock.h sk_stream_wspace, sk_stream_min_wspace]
    #[inline]
    pub(crate) fn has_space(&self, queued: u64) -> bool {
        self.sndbuf.saturating_sub(queued) >= queued >> 1 && queued < self.sndbuf
    }

    /// A transmission at this instant has no room to look for.
    #[inline]
    pub(crate) fn needs_no_check(&self, now: SimTime) -> bool {
        !self.has_waiter() || self.is_still_full(now)
    }

    /// So many segments of this MSS do not make it larger.
    #[inline]
    pub(crate) fn covers(&self, mss: u32, segments: u32) -> bool {
        self.covered.0 == mss && segments <= self.covered.1
    }

    /// So many segments of this MSS have made it as large as they may.
    pub(crate) fn found_to_cover(&mut self, mss: u32, segments: u32) {
        self.covered = (mss, segments);
    }

    /// Wakes the application that waits.
    pub(crate) fn wake(&mut self) {
        self.app_blocked = false;
        self.writable = true;
        self.may_have_space();
    }

    /// There is no room at this instant.
    #[inline]
    pub(crate) fn found_full(&mut self, now: SimTime) {
        self.full_at = now;
    }

    /// It was found full at this instant, and nothing that makes room has happened since.
    #[inline]
    pub(crate) fn is_still_full(&self, now: SimTime) -> bool {
        self.full_at == now
    }

    /// There may be room: the buffer has grown, skbs have been divided or joined, or the size of segments has changed.
    #[inline]
    pub(crate) fn may_have_space(&mut self) {
        self.full_at = SimTime::NEVER;
        self.full_before = 0;
    }

    /// Without SACKs there will be no room before record `index` is the head of the retransmit queue.
    #[inline]
    pub(crate) fn full_until(&mut self, index: Index) {
        self.full_before = index;
    }

    /// There is no room yet, if nothing is SACKed.
    #[inline]
    pub(crate) fn is_full_with(&self, head: Index) -> bool {
        head < self.full_before
    }

    /// Largest memory in use with which a third is free, or one byte more.
    #[inline]
    pub(crate) fn most_with_room(&self) -> u64 {
        2 * self.sndbuf / 3 + 1
    }
}
