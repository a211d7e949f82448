//! The receive window: what is advertised, and how the buffer grows with the rate at which the application reads.
//!
//! ```text
//! usable space  = rcvbuf · ratio/256,  ratio measured as payload·256/truesize (128 before the first segment)
//! advertised    = min(free usable space, rcv_ssthresh), never shrunk, a multiple of the window scale
//! rcv_ssthresh += 2 · max(advmss, length) per segment, up to window_clamp
//! once per receiver RTT, if the application read more than in any RTT before:
//!   window = 2·copied + 16·advmss;  window += 2·window·(copied − space)/space;  rcvbuf = its space, at most tcp_rmem[2]
//! since Linux 6.17: window = 2·copied + 4·copied·(copied − space)/space + span of out-of-order data, also when such comes
//! ```
//! [linux-6.12 tcp_input.c tcp_rcv_space_adjust, tcp_grow_window, tcp_measure_rcv_mss]
//! [linux-6.12 tcp_output.c __tcp_select_window, tcp_select_window]

mod autotuning;

use tailback_packet::{Segment, SegmentFlags};
use tailback_units::SimTime;

use crate::config::{Arrival, INITIAL_WINDOW, TIMESTAMP_OPTION, WindowShrinking};
use crate::config::{Settings, SocketOptions};
use crate::receiver_rtt::ReceiverRtt;
use crate::stack::{
    CopiedBytes, FirstMeasure, FirstWindow, InitialOffer, PushedSegment, Rcvlowat, ReceiveCharge,
    ReceiveRatio, Stack, WindowGrowth,
};

/// Ratio of payload to memory assumed at the start. [linux-6.12 tcp.h TCP_DEFAULT_SCALING_RATIO]
const RATIO_DEFAULT: u32 = 128;
/// Segment size assumed before data. [linux-6.12 tcp_input.c tcp_initialize_rcv_mss]
const RCV_MSS_DEFAULT: u32 = 536;
/// [linux-6.12 tcp.h TCP_MIN_MSS]
const MSS_MIN: u32 = 88;
/// Space that TCP reserves for headers in an skb. [linux-5.10 tcp.h MAX_TCP_HEADER]
const MAX_TCP_HEADER: u64 = 320;
/// `sk_buff` and shared info, aligned. [linux-5.10 skbuff.h SKB_TRUESIZE]
const SKB_STRUCTURES: u64 = 256 + 320;
/// Smallest window clamp: half of SOCK_MIN_RCVBUF. [linux-6.12 sock.h]
const CLAMP_MIN: u64 = 1152;
/// The largest window without scaling. [rfc9293 §3.1]
const UNSCALED_MAX: u64 = 65_535;
/// Segments of an Ethernet MTU that a SYN offered before Linux 4.20. [linux-4.14 tcp_output.c tcp_default_init_rwnd]
const INITIAL_OFFER: u64 = 20;
/// [linux-4.14 tcp_output.c tcp_default_init_rwnd]
const ETHERNET_MSS: u64 = 1460;

/// Window and buffer.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    receive_ratio: ReceiveRatio,
    charge: ReceiveCharge,
    pushed_segment: PushedSegment,
    copied_bytes: CopiedBytes,
    window_growth: WindowGrowth,
    /// `net.ipv4.tcp_rcvbuf_low_rtt`, µs.
    low_rtt: u32,
    /// Payload bytes of a full segment.
    advmss: u32,
    /// Memory of a received segment in addition to its payload.
    head: u32,
    rcv_mss: u32,
    /// Size of the last segment if it was shorter but may be a full one; 0: it was not.
    shorter: u32,
    /// Payload that a byte of memory holds, in 1/256.
    ratio: u16,
    rcvbuf: u64,
    tcp_rmem_max: u64,
    tuning: Tuning,
    shrinking: WindowShrinking,
    arrival: Arrival,
    pub(crate) rmem_alloc: u64,
    clamp: u64,
    ssthresh: u64,
    rcv_wnd: u64,
    /// `rcv_nxt` when the window was last advertised.
    rcv_wup: u64,
    /// The end of a window that was advertised and taken back.
    taken_back: u64,
    copied_seq: u64,
    scale: u8,
    space: Space,
    rtt: ReceiverRtt,
    cached: Cached,
}

/// Answers that hold until what they depend on changes, which is rarer than segments are ([`ReceiveWindow::forget_cached`]).
#[derive(Debug)]
struct Cached {
    /// With this memory in use the window to advertise is `window`; `u64::MAX`: none was selected.
    memory: u64,
    window: u64,
    /// With this memory in use or more the window's slow start has come to its end; `u64::MAX`: it may go on.
    grown_from: u64,
}

impl Cached {
    const NOTHING: Cached = Cached { memory: u64::MAX, window: 0, grown_from: u64::MAX };
}

/// Whether the buffer grows with what the application reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tuning {
    Automatic,
    /// Only if what was advertised does not fit (`net.ipv4.tcp_moderate_rcvbuf` is 0).
    OnDemand,
    /// `SO_RCVBUF` was set.
    Fixed,
}

impl Tuning {
    fn of(settings: &Settings, options: &SocketOptions) -> Self {
        match (options.rcvbuf, settings.moderate_rcvbuf) {
            (Some(_), _) => Tuning::Fixed,
            (None, true) => Tuning::Automatic,
            (None, false) => Tuning::OnDemand,
        }
    }
}

/// Which memory of a segment counts for the window's slow start. [linux-6.12 tcp_input.c truesize_adjust]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    /// The memory of the payload, if it is stored apart from the head: the segment is in order, or was merged.
    WithoutHead,
    /// All memory: the segment is out of order, in an skb of its own.
    All,
}

/// Up to where data was received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// In order.
    pub(crate) in_order: u64,
    /// Out of order; 0: there is none.
    pub(crate) late: u64,
}

/// What the application read in the last round trip. [linux-6.12 tcp.h rcvq_space]
#[derive(Debug, Default)]
struct Space {
    bytes: u64,
    seq: u64,
    time: SimTime,
    /// A round trip is not over before this time.
    until: SimTime,
}

/// Room for payload in the receive buffer: the free part, and the maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    free: u64,
    full: u64,
}

impl Room {
    /// The buffer is more than half full.
    #[inline]
    pub(crate) fn is_tight(self) -> bool {
        self.free < self.full >> 1
    }
}

/// Minimum shift of the window field with which a window of `max` can be advertised. [rfc7323 §2.3]
fn scale(max: u64) -> u32 {
    max.max(1).ilog2().saturating_sub(15).min(14)
}

impl ReceiveWindow {
    pub(crate) fn new(settings: &Settings, options: &SocketOptions) -> Self {
        let mss = settings.mss(options);
        let rcvbuf = first_buffer(settings, options);
        let full_mss = u64::from(mss + TIMESTAMP_OPTION);
        // The SYN's window is a whole number of segments: 64240 for an Ethernet MTU. FreeBSD offers the whole buffer.
        let space = rcvbuf * u64::from(RATIO_DEFAULT) / 256;
        let window = first_window(&settings.stack, space, full_mss);
        // With a fixed buffer, no larger window is ever advertised. [linux-6.12 tcp_output.c tcp_select_initial_window]
        let max_advertised =
            options.rcvbuf.map_or(settings.rmem[2].max(settings.stack.core_rmem_max), |_| space);
        ReceiveWindow {
            receive_ratio: settings.stack.receive_ratio,
            charge: settings.stack.receive_charge,
            pushed_segment: settings.stack.pushed_segment,
            copied_bytes: settings.stack.copied_bytes,
            window_growth: settings.stack.window_growth,
            low_rtt: settings.rcvbuf_low_rtt.as_micros() as u32,
            advmss: mss,
            head: settings.stack.skb_overhead,
            rcv_mss: RCV_MSS_DEFAULT.min(mss),
            shorter: 0,
            ratio: RATIO_DEFAULT as u16,
            rcvbuf,
            tcp_rmem_max: settings.rmem[2],
            tuning: Tuning::of(settings, options),
            shrinking: settings.window_shrinking,
            arrival: settings.arrival,
            rmem_alloc: 0,
            clamp: space,
            ssthresh: window,
            rcv_wnd: window,
            rcv_wup: 0,
            taken_back: 0,
            copied_seq: 0,
            scale: scale(max_advertised) as u8,
            space: Space::default(),
            rtt: ReceiverRtt::new(&settings.stack),
            cached: Cached::NOTHING,
        }
    }

    /// The size of the buffer, its ratio, the threshold, the clamp or the scale has changed.
    fn forget_cached(&mut self) {
        self.cached = Cached::NOTHING;
    }

    /// What the SYNs agreed on: `mss` is the payload of a full segment with their options.
    pub(crate) fn agree(&mut self, mss: u32, scaling: bool) {
        self.forget_cached();
        self.advmss = mss;
        self.rcv_mss = RCV_MSS_DEFAULT.min(mss);
        if !scaling {
            self.scale = 0;
            self.clamp = self.clamp.min(65_535);
        }
    }

    pub(crate) fn scale(&self) -> u32 {
        self.scale.into()
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// The side that answers a SYN knows whether timestamps are used: its window is a whole number of segments less the
    /// option, 65160 for an Ethernet MTU. [linux-6.12 tcp_minisocks.c tcp_openreq_init_rwin]
    /// It may exceed what can be advertised without scaling. [linux-6.12 tcp_output.c tcp_select_initial_window]
    pub(crate) fn answer_syn(&mut self, stack: &Stack) {
        self.forget_cached();
        let (mss, space) = (u64::from(self.advmss), self.usable(self.rcvbuf));
        if self.charge == ReceiveCharge::Buffers && space > mss {
            self.rcv_wnd = whole_first_window(stack, space, mss);
            self.ssthresh = self.rcv_wnd;
        }
    }

    /// The connection is established. [linux-6.12 tcp_input.c tcp_init_buffer_space]
    pub(crate) fn establish(&mut self, stack: &Stack, rcv_nxt: u64, now: SimTime) {
        self.forget_cached();
        self.rcv_wup = rcv_nxt;
        self.copied_seq = rcv_nxt;
        let mss = u64::from(self.advmss);
        let expected = u64::from(INITIAL_WINDOW) * mss;
        let advertised = self.rcv_wnd;
        if stack.initial_offer == InitialOffer::TwentySegments {
            self.make_room_for_offer();
        }
        let max = self.usable(self.rcvbuf);
        self.clamp = self.clamp.min(max);
        // Linux leaves room for one segment of overhead; where only payload counts, there is none.
        if self.charge == ReceiveCharge::Buffers && self.clamp > 2 * mss && self.clamp + mss > max {
            self.clamp = (2 * mss).max(max - mss);
        }
        self.ssthresh = self.ssthresh.min(self.clamp);
        let bytes = match stack.first_measure {
            FirstMeasure::Window => advertised,
            FirstMeasure::TenSegments => advertised.min(expected),
            FirstMeasure::TenSegmentsOrBuffer => advertised.min(expected).min(self.ssthresh),
        };
        self.space = Space { bytes, seq: rcv_nxt, time: now, until: now };
    }

    /// Before Linux 4.20 the buffer grew to hold the offered segments twice, and twice that if it was tuned.
    /// [linux-4.14 tcp_input.c tcp_fixup_rcvbuf]
    fn make_room_for_offer(&mut self) {
        if self.tuning == Tuning::Fixed {
            return;
        }
        let mss = u64::from(self.advmss);
        let times = if self.tuning == Tuning::Automatic { 8 } else { 2 };
        let memory = times * (mss + MAX_TCP_HEADER + SKB_STRUCTURES) * offered_segments(mss);
        let wanted = memory.min(self.tcp_rmem_max);
        if wanted > self.rcvbuf {
            self.rcvbuf = wanted;
            self.clamp = self.usable(wanted);
        }
    }

    /// Begins to measure how fast the application reads, when the handshake is complete: at the passive side with its
    /// last segment. [linux-6.12 tcp_input.c tcp_init_buffer_space]
    pub(crate) fn begin_measuring(&mut self, now: SimTime) {
        self.space.time = now;
        self.renew_round();
    }

    /// Payload that fits into `space` bytes of memory. [linux-6.12 tcp.h tcp_win_from_space]
    fn usable(&self, space: u64) -> u64 {
        space * u64::from(self.ratio) / 256
    }

    pub(crate) fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// Payload bytes of a full segment.
    pub(crate) fn advmss(&self) -> u32 {
        self.advmss
    }

    /// The unit in which windows are advertised, bytes.
    pub(crate) fn grain(&self) -> u64 {
        1 << self.scale
    }

    pub(crate) fn rcv_wnd(&self) -> u64 {
        self.rcv_wnd
    }

    /// The window as a segment can carry it; that of a SYN is not scaled. [rfc7323 §2.2]
    pub(crate) fn carried(&self, flags: SegmentFlags) -> u64 {
        let scale = if flags.contains(SegmentFlags::SYN) { 0 } else { self.scale };
        self.rcv_wnd.min(65_535 << scale)
    }

    pub(crate) fn last_update(&self) -> u64 {
        self.rcv_wup
    }

    pub(crate) fn rtt_us8(&self) -> u32 {
        self.rtt.us8()
    }

    pub(crate) fn unread(&self, rcv_nxt: u64) -> u64 {
        rcv_nxt - self.copied_seq
    }

    /// Measures segment size and memory ratio. True if the segment ends a write of the peer: PSH, or a short one.
    /// [linux-6.12 tcp_input.c tcp_measure_rcv_mss]
    #[inline(always)]
    pub(crate) fn measure_mss(&mut self, segment: &Segment, truesize: u32) -> bool {
        let length = segment.length.min(u32::from(segment.mss));
        if length < self.rcv_mss {
            return !self.takes_shorter_mss(segment, length);
        }
        self.shorter = 0;
        if length != self.rcv_mss {
            self.head = truesize.saturating_sub(segment.length);
            self.measure_ratio(u64::from(segment.length), u64::from(truesize));
            self.rcv_mss = length.min(self.advmss);
        }
        let at_once = self.pushed_segment == PushedSegment::AckedWhenRead;
        at_once && segment.flags.contains(SegmentFlags::PSH)
    }

    /// Two segments of one size, in turn, that are shorter than the estimated MSS, but not so short that they must end a
    /// write, are full ones of a smaller MSS. True at the second of them. [linux-6.12 tcp_input.c tcp_measure_rcv_mss]
    #[inline(never)]
    fn takes_shorter_mss(&mut self, segment: &Segment, length: u32) -> bool {
        let before = std::mem::take(&mut self.shorter);
        let sacks = segment.sack.as_slice().len() as u32;
        let size = length + if sacks == 0 { 0 } else { 4 + 8 * sacks };
        let ends = [SegmentFlags::PSH, SegmentFlags::FIN].iter().any(|&flag| segment.flags.contains(flag));
        let options = if segment.tsval.time().is_some() { TIMESTAMP_OPTION } else { 0 };
        let least = if ends { RCV_MSS_DEFAULT } else { MSS_MIN };
        if size + options < least {
            return false;
        }
        self.shorter = size;
        if size == before {
            self.forget_cached();
            self.rcv_mss = size;
        }
        size == before
    }

    #[cold]
    fn measure_ratio(&mut self, length: u64, truesize: u64) {
        let ratio = (length * 256 / truesize).clamp(1, u64::from(u16::MAX)) as u16;
        if ratio == self.ratio || self.receive_ratio == ReceiveRatio::Half {
            return;
        }
        self.forget_cached();
        self.ratio = ratio;
        let clamp = self.usable(self.rcvbuf).max(CLAMP_MIN);
        self.ssthresh = self.ssthresh.min(clamp);
        self.clamp = clamp;
        self.space.bytes = self.space.bytes.min(clamp);
    }

    /// The window's slow start. True if it grew. [linux-6.12 tcp_input.c tcp_grow_window]
    #[inline(always)]
    pub(crate) fn grow(&mut self, length: u32, truesize: u32, counted: Counted) -> bool {
        if self.rmem_alloc >= self.cached.grown_from {
            debug_assert_eq!(self.room_to_grow(), 0);
            return false;
        }
        let room = self.room_to_grow();
        if room == 0 {
            self.cached.grown_from = self.rmem_alloc;
            return false;
        }
        self.grow_within(room, length, truesize, counted)
    }

    /// How far the threshold is below what fits into the buffer; it does not rise while more memory is used.
    #[inline]
    fn room_to_grow(&self) -> u64 {
        let free = self.usable(self.rcvbuf.saturating_sub(self.rmem_alloc));
        self.clamp.min(free).saturating_sub(self.ssthresh)
    }

    #[inline(never)]
    fn grow_within(&mut self, room: u64, length: u32, truesize: u32, counted: Counted) -> bool {
        let memory = u64::from(match (self.arrival, counted) {
            // The head of the buffer does not depend on the payload.
            (Arrival::Card, Counted::WithoutHead) => truesize.saturating_sub(self.head).max(length),
            (Arrival::Tun, _) | (_, Counted::All) => truesize,
        });
        let efficient = self.usable(memory) <= u64::from(length);
        let step = if efficient { 2 * self.advmss } else { self.cautious_step(memory, length) };
        if step == 0 {
            return false;
        }
        self.forget_cached();
        self.ssthresh += room.min(u64::from(step.max(2 * length)));
        true
    }

    /// [linux-6.12 tcp_input.c __tcp_grow_window]
    fn cautious_step(&self, truesize: u64, length: u32) -> u32 {
        let mut memory = self.usable(truesize) / 2;
        let mut window = self.usable(self.tcp_rmem_max) / 2;
        while self.ssthresh <= window {
            if memory <= u64::from(length) {
                return 2 * self.rcv_mss;
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// What remains of the last advertised window. [linux-6.12 tcp.h tcp_receive_window]
    pub(crate) fn left(&self, rcv_nxt: u64) -> u64 {
        (self.rcv_wup + self.rcv_wnd).saturating_sub(rcv_nxt)
    }

    /// The window to advertise, if it was selected before with as much memory in use.
    #[inline]
    pub(crate) fn known_candidate(&self) -> Option<u64> {
        if self.cached.memory != self.rmem_alloc {
            return None;
        }
        debug_assert_eq!(self.cached.window, self.candidate(self.room()));
        Some(self.cached.window)
    }

    /// Remembers the window that was selected with this room. Without a scale it depends on the one before; and room that
    /// is tight ends quick ACKs each time.
    #[inline]
    pub(crate) fn remember_candidate(&mut self, room: Room, window: u64) {
        if self.scale > 0 && !room.is_tight() {
            (self.cached.memory, self.cached.window) = (self.rmem_alloc, window);
        }
    }

    /// The room for payload in the buffer.
    #[inline]
    pub(crate) fn room(&self) -> Room {
        Room {
            free: self.usable(self.rcvbuf.saturating_sub(self.rmem_alloc)),
            full: self.clamp.min(self.usable(self.rcvbuf)),
        }
    }

    /// The window to advertise with this room. [linux-6.12 tcp_output.c __tcp_select_window]
    #[inline]
    pub(crate) fn candidate(&self, room: Room) -> u64 {
        let Room { free, full } = room;
        let whole_units = free >> self.scale << self.scale;
        let mut space = if self.may_shrink() { whole_units } else { free };
        if room.is_tight() {
            space = whole_units;
            let nothing = self.may_shrink() && space == 0;
            if nothing || space < self.usable(self.rcvbuf) >> 4 || space < u64::from(self.rcv_mss).min(full) {
                return 0;
            }
        }
        let space = space.min(self.ssthresh);
        match self.scale {
            0 => self.whole_segments(space, full),
            scale => (space + (1 << scale) - 1) >> scale << scale,
        }
    }

    fn may_shrink(&self) -> bool {
        self.shrinking == WindowShrinking::WhenScaled && self.scale > 0
    }

    /// Without scaling the window is a whole number of segments, and does not change within one segment of the space.
    fn whole_segments(&self, space: u64, full: u64) -> u64 {
        let mss = u64::from(self.rcv_mss).min(full);
        match self.rcv_wnd {
            window if window + mss <= space || window > space => space / mss * mss,
            window if mss == full && space > window + (full >> 1) => space,
            window => window,
        }
    }

    /// The buffer is more than seven eighths full. [linux-6.12 tcp.h tcp_rmem_pressure]
    pub(crate) fn under_pressure(&self) -> bool {
        self.rmem_alloc > self.rcvbuf - (self.rcvbuf >> 3)
    }

    /// The buffer uses more memory than its limit.
    pub(crate) fn exceeds_limit(&self) -> bool {
        self.rmem_alloc > self.rcvbuf
    }

    /// `sk_rcvbuf`, bytes of memory.
    pub(crate) fn rcvbuf(&self) -> u64 {
        self.rcvbuf
    }

    /// `SO_RCVBUF` from now on, in bytes of memory. [linux-6.12 sock.c __sock_set_rcvbuf]
    pub(crate) fn set_rcvbuf(&mut self, bytes: u64) {
        self.forget_cached();
        self.rcvbuf = bytes.max(2 * CLAMP_MIN);
        self.tuning = Tuning::Fixed;
    }

    /// The buffer is over its limit: it grows to the memory in use if allowed; else the window is at most two segments.
    /// [linux-6.12 tcp_input.c tcp_clamp_window]
    pub(crate) fn clamp_to_memory(&mut self) {
        self.forget_cached();
        if self.tuning != Tuning::Fixed && self.rcvbuf < self.tcp_rmem_max {
            self.rcvbuf = self.rmem_alloc.min(self.tcp_rmem_max);
        }
        if self.exceeds_limit() {
            self.ssthresh = self.clamp.min(2 * u64::from(self.advmss));
        }
    }

    /// Advertises `window`, but not less than before, unless shrinking is allowed.
    /// [linux-6.12 tcp_output.c tcp_select_window]
    pub(crate) fn advertise(&mut self, window: u64, rcv_nxt: u64) {
        let left = self.left(rcv_nxt);
        let grain = 1 << self.scale;
        let kept = window < left && !self.may_shrink();
        if window < left && !kept {
            self.take_back();
        }
        self.rcv_wnd = if kept { (left + grain - 1) >> self.scale << self.scale } else { window };
        self.rcv_wup = rcv_nxt;
    }

    /// The present edge of the window is about to be taken back.
    #[cold]
    fn take_back(&mut self) {
        self.taken_back = self.furthest_edge();
    }

    /// The furthest edge that was ever advertised. [linux-7.3 tcp.h tcp_max_receive_window]
    pub(crate) fn furthest_edge(&self) -> u64 {
        self.taken_back.max(self.rcv_wup + self.rcv_wnd)
    }

    /// True if advertising `window` would change nothing.
    pub(crate) fn would_not_change(&self, window: u64, rcv_nxt: u64) -> bool {
        let left = self.left(rcv_nxt);
        let advertised = if window < left && !self.may_shrink() { left } else { window };
        self.rcv_wup == rcv_nxt && advertised == self.rcv_wnd
    }

    /// Advertises a closed window, even if a larger one was advertised before.
    pub(crate) fn close(&mut self, rcv_nxt: u64) {
        self.take_back();
        self.rcv_wnd = 0;
        self.rcv_wup = rcv_nxt;
    }

    /// Whether half of the largest window or less is left, so that a read may need to advertise more. [linux-6.12 tcp.c
    /// __tcp_cleanup_rbuf]
    pub(crate) fn is_mostly_used(&self, left: u64) -> bool {
        2 * left <= self.clamp
    }
}

/// Memory of the buffer at the start.
fn first_buffer(settings: &Settings, options: &SocketOptions) -> u64 {
    if let Some(asked) = options.rcvbuf {
        return (2 * asked).max(2 * CLAMP_MIN);
    }
    match settings.stack.rcvlowat {
        Rcvlowat::RaisesBuffer => {
            settings.rmem[1].max(rcvlowat(settings, options) * 256 / u64::from(RATIO_DEFAULT))
        }
        Rcvlowat::OnlyWakes => settings.rmem[1],
    }
}

/// The bytes for which a reader is woken: no more than the buffer can hold. [linux-6.12 tcp.c tcp_set_rcvlowat]
pub(crate) fn rcvlowat(settings: &Settings, options: &SocketOptions) -> u64 {
    let most = options.rcvbuf.map_or(settings.rmem[2], |asked| (2 * asked).max(2 * CLAMP_MIN)) / 2;
    match settings.stack.rcvlowat {
        Rcvlowat::RaisesBuffer => options.rcvlowat.min(most).max(1),
        Rcvlowat::OnlyWakes => options.rcvlowat,
    }
}

/// The window of a SYN, in whole segments of `mss`. FreeBSD offers the whole buffer.
fn first_window(stack: &Stack, space: u64, mss: u64) -> u64 {
    if stack.receive_charge != ReceiveCharge::Buffers || space <= mss {
        return space;
    }
    whole_first_window(stack, space, mss)
}

/// [linux-6.12 tcp_output.c tcp_select_initial_window]
fn whole_first_window(stack: &Stack, space: u64, mss: u64) -> u64 {
    let whole = space / mss * mss;
    match (stack.initial_offer, stack.first_window) {
        (InitialOffer::TwentySegments, _) => whole.min(offered_segments(mss) * mss).min(UNSCALED_MAX),
        (InitialOffer::Buffer, FirstWindow::SixteenBits) => whole.min(UNSCALED_MAX),
        (InitialOffer::Buffer, FirstWindow::Buffer) => whole,
    }
}

/// [linux-4.14 tcp_output.c tcp_default_init_rwnd]
fn offered_segments(mss: u64) -> u64 {
    if mss > ETHERNET_MSS { (INITIAL_OFFER * ETHERNET_MSS / mss).max(2) } else { INITIAL_OFFER }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::data;

    #[test]
    fn the_head_of_an_skb_counts_if_it_is_out_of_order_and_apart() {
        let settings = Settings::default();
        let mut window = ReceiveWindow::new(&settings, &SocketOptions::default());
        window.agree(1448, true);
        let train = Segment { length: 7240, mss: 1448, ..data() };
        window.measure_mss(&train, 7240 + 960);
        window.ssthresh = window.usable(window.tcp_rmem_max) / 2 + 1;
        (window.rcvbuf, window.clamp) = (u64::MAX >> 16, u64::MAX >> 16);
        assert!(!window.grow(1448, 1448 + 960, Counted::All));
        assert!(window.grow(1448, 1448 + 960, Counted::WithoutHead));
    }

    #[test]
    fn a_buffer_of_less_than_three_segments_still_offers_two() {
        let settings = Settings::default();
        let offered = |payload: u64| {
            let options = SocketOptions { rcvbuf: Some(payload), ..SocketOptions::default() };
            let mut window = ReceiveWindow::new(&settings, &options);
            window.agree(1000, true);
            window.establish(&settings.stack, 1, SimTime::ZERO);
            window.clamp
        };
        assert_eq!(
            [2_500, 3_500].map(offered),
            [2_000, 2_500],
            "else there is one for the overhead of others"
        );
    }
}
