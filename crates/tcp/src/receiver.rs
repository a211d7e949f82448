//! The receiving half of a socket: reassembly, SACK blocks, and the contents of ACKs. Whether a segment is taken at all is
//! decided in [`acceptance`], and when an ACK is sent in [`ack_timing`].
//!
//! [linux-6.12 tcp_input.c tcp_data_queue, tcp_data_queue_ofo] [rfc1122] [rfc2018] [rfc2883] [rfc9293]

mod acceptance;
mod ack_timing;
mod sack_list;

use std::sync::Arc;

use tailback_packet::{IpVersion, SackBlock, SackBlocks, Segment, SegmentFlags, Timestamp};
use tailback_units::{SimTime, Span};

use ack_timing::{ATO_MIN, AckEngine, Compression};
use sack_list::{SACKS_KEPT, SackList};

use crate::config::{Agreement, Arrival, Settings, SocketOptions};
use crate::ecn::Mark;
use crate::one_word::OneWord;
use crate::reassembly::{Reassembly, Skb};
use crate::receive_window::{Counted, ReceiveWindow, Received, rcvlowat};
use crate::rtt::RTO_INITIAL;
use crate::stack::{DelayedAck, DisorderAcks, OutOfOrderMss, ReceiveCharge, SackCompression};
use crate::tun::TunBuffer;

/// SACK blocks sent with timestamps. [rfc2018 §3]
const SACKS_SENT: u8 = 3;
/// SACK blocks sent without timestamps.
const SACKS_SENT_ALONE: u8 = SACKS_KEPT;

/// The receiving half.
#[derive(Debug)]
pub struct Receiver {
    pub(crate) rcv_nxt: u64,
    pub(crate) window: ReceiveWindow,
    /// One past the FIN; `u64::MAX` before it has arrived.
    fin_at: u64,
    data: Reassembly,
    sacks: SackList,
    ts_recent: Timestamp,
    /// Both sides send timestamps.
    timestamps: bool,
    /// Maximum number of SACK blocks in an ACK.
    blocks: u8,
    ack: AckEngine,
    compression: Compression,
    /// When an unacceptable segment was last acknowledged, or a repeated SYN answered.
    answered_unacceptable: OneWord<SimTime>,
    settings: Arc<Settings>,
    /// Smoothed RTT (×8, µs) of the sender of this socket, which limits the compression delay.
    pub(crate) srtt_us8: u32,
    pub(crate) rto: Span,
    /// A segment that comes so soon (ns) after the one before is within half of [`ack_timing::ATO_MIN`] also in whole jiffies.
    soon: u32,
    rcvlowat: u32,
    delayed_ack: DelayedAck,
    sack_compression: SackCompression,
    charge: ReceiveCharge,
    /// Data is charged with the buffer in which it came.
    accounts_for_buffers: bool,
    /// The window of an ACK that is due, where it is sent before the application reads. [freebsd-9 tcp_input.c]
    before_read: OneWord<u64>,
    out_of_order_mss: OutOfOrderMss,
    arrival: Arrival,
    ip: IpVersion,
    pub(crate) ack_due: bool,
    pub(crate) readable: bool,
    /// The next ACK has the same contents as the last one, as in data segments of a pure sender.
    repeats_last_ack: bool,
    /// The window that the last ACK carried.
    last_window: u32,
    /// The application has this socket: its buffer may grow for data out of order.
    pub(crate) accepted: bool,
    /// Segments that were beyond the window (`TcpExtBeyondWindow`, since Linux 6.17).
    pub(crate) beyond_window: u16,
}

impl Receiver {
    pub(crate) fn new(settings: &Arc<Settings>, options: &SocketOptions) -> Self {
        Receiver {
            rcv_nxt: 0,
            window: ReceiveWindow::new(settings, options),
            fin_at: u64::MAX,
            data: Reassembly::default(),
            sacks: SackList::new(settings.dsack),
            ts_recent: Timestamp::NONE,
            timestamps: true,
            blocks: SACKS_SENT,
            ack: AckEngine::default(),
            compression: Compression::default(),
            answered_unacceptable: OneWord::NONE,
            settings: Arc::clone(settings),
            srtt_us8: 0,
            rto: RTO_INITIAL,
            soon: (ATO_MIN / 2).saturating_sub(settings.jiffy).as_nanos() as u32,
            rcvlowat: rcvlowat(settings, options) as u32,
            delayed_ack: settings.stack.delayed_ack,
            sack_compression: settings.stack.sack_compression,
            charge: settings.stack.receive_charge,
            accounts_for_buffers: settings.stack.receive_charge == ReceiveCharge::Buffers
                && settings.arrival == Arrival::Card,
            before_read: OneWord::NONE,
            out_of_order_mss: settings.stack.out_of_order_mss,
            arrival: settings.arrival,
            ip: settings.ip,
            ack_due: false,
            readable: false,
            repeats_last_ack: false,
            last_window: 0,
            accepted: true,
            beyond_window: 0,
        }
    }

    /// Sets what the SYNs negotiated; `mss` is the payload of a full segment.
    pub(crate) fn agree(&mut self, agreement: &Agreement, mss: u32) {
        self.window.agree(mss, agreement.window_scaling);
        self.timestamps = agreement.timestamps;
        self.blocks = match (agreement.sack, agreement.timestamps) {
            (false, _) => 0,
            (true, true) => SACKS_SENT,
            (true, false) => SACKS_SENT_ALONE,
        };
    }

    /// Takes the peer's SYN: its data starts at 1.
    pub(crate) fn synchronise(&mut self, syn: &Segment, now: SimTime) {
        // Data of a SYN without a Fast Open cookie is ignored. [linux-6.12 tcp_minisocks.c tcp_create_openreq_child]
        self.rcv_nxt = syn.seq + 1;
        self.ts_recent = if self.timestamps { syn.tsval } else { Timestamp::NONE };
        self.window.establish(&self.settings.stack, self.rcv_nxt, now);
    }

    /// The connection is established: the first gap between segments counts from now.
    pub(crate) fn begin_receiving(&mut self, now: SimTime) {
        self.ack.last_received = now;
        self.forget_answers();
    }

    /// When data last arrived.
    pub(crate) fn last_received(&self) -> SimTime {
        self.ack.last_received
    }

    /// Updates the timestamp to echo: that of the next segment in order, never an older one. [rfc7323 §4.3]
    /// [linux-6.12 tcp_input.c tcp_replace_ts_recent]
    pub(crate) fn note_timestamp(&mut self, segment: &Segment) {
        let in_turn = segment.seq <= self.window.last_update();
        if in_turn && segment.tsval.is_some() && segment.tsval >= self.ts_recent {
            self.ts_recent = segment.tsval;
        }
    }

    /// [`Receiver::note_timestamp`] would note a timestamp that is newer than those before.
    pub(crate) fn would_note_newer(&self, segment: &Segment) -> bool {
        segment.seq <= self.window.last_update() && segment.tsval.is_some() && segment.tsval > self.ts_recent
    }

    /// The next ACK is not delayed.
    pub(crate) fn next_ack_at_once(&mut self) {
        self.forget_ack();
        self.ack.now = true;
    }

    /// Notes the timestamp of a segment that [`Receiver::is_in_turn`].
    pub(crate) fn note_timestamp_in_turn(&mut self, segment: &Segment) {
        debug_assert!(self.is_in_turn(segment), "its timestamp is not older");
        if segment.seq <= self.window.last_update() {
            self.ts_recent = segment.tsval;
        }
    }

    pub(crate) fn timestamp_echo(&self) -> Timestamp {
        self.ts_recent
    }

    /// Receives a segment with data or FIN. `truesize`: memory of its buffer. [linux-6.12 tcp_input.c tcp_data_queue]
    #[inline(never)]
    pub(crate) fn take_data(&mut self, segment: &Segment, truesize: u32, mark: Mark<'_>, now: SimTime) {
        let truesize = self.begin_data(segment, truesize, now);
        let end = segment.end();
        if end <= self.rcv_nxt && segment.seq < self.rcv_nxt {
            return self.duplicate(segment.seq, end);
        }
        if self.is_beyond_window(segment) {
            let beyond = segment.seq > self.rcv_nxt;
            self.beyond_window = self.beyond_window.saturating_add(beyond.into());
            self.enter_quick_ack();
            self.ack.scheduled = true;
            return;
        }
        let in_order = segment.seq <= self.rcv_nxt;
        if !self.has_memory(segment.seq, in_order) && self.lacks_room(segment, in_order) {
            return;
        }
        if segment.flags.contains(SegmentFlags::FIN) {
            self.fin_at = end;
        }
        if in_order {
            self.in_order(segment, truesize, mark, now);
        } else {
            self.out_of_order(segment, truesize, mark);
        }
    }

    /// True for a segment that begins where the next data will, and is not older than the timestamp to echo, while no
    /// compressed ACK waits.
    pub(crate) fn is_in_turn(&self, segment: &Segment) -> bool {
        segment.seq == self.rcv_nxt && segment.tsval >= self.ts_recent && !self.compression.latest.is_set()
    }

    /// True if `segment`, which has data and [`Receiver::is_in_turn`], brings the next bytes in order, while no other data
    /// waits, and no FIN.
    pub(crate) fn is_next(&self, segment: &Segment) -> bool {
        debug_assert!(segment.length > 0 && self.is_in_turn(segment));
        self.data.in_order()
            && self.fin_at == u64::MAX
            && self.window.left(self.rcv_nxt) >= u64::from(segment.length)
            && !self.window.exceeds_limit()
    }

    /// The steps of [`Receiver::take_data`] that such a segment needs, in the same order.
    #[inline(always)]
    pub(crate) fn take_next(&mut self, segment: &Segment, truesize: u32, mark: Mark<'_>, now: SimTime) {
        let truesize = self.begin_data(segment, truesize, now);
        self.rcv_nxt += u64::from(segment.length);
        self.queue_in_order(segment, segment.length, truesize, mark, now);
        self.readable |= self.should_wake_reader();
    }

    /// True if `segment`, which has data and [`Receiver::is_in_turn`], can be read as soon as it has arrived: it is not a
    /// train, nothing else is held, and there is no FIN.
    #[inline(always)]
    pub(crate) fn can_be_read_at_once(&self, segment: &Segment) -> bool {
        self.data.truesize == 0
            && self.fin_at == u64::MAX
            && self.window.left(self.rcv_nxt) >= u64::from(segment.length)
            && segment.length >= self.rcvlowat
            && segment.length <= u32::from(segment.mss)
            && !self.readable
            && self.accounts_for_buffers
    }

    /// The steps of [`Receiver::take_next`] for such a segment, except that it is not put into the queue and carries no mark:
    /// it is to be read ([`Receiver::read_taken`]), unless it turns out that something else comes first
    /// ([`Receiver::leave_taken`]).
    #[inline(always)]
    pub(crate) fn take_to_read(&mut self, segment: &Segment, truesize: u32, now: SimTime) {
        let charged = self.begin_data(segment, truesize, now);
        debug_assert_eq!(truesize, charged, "it accounts for buffers");
        self.rcv_nxt += u64::from(segment.length);
        self.window.rmem_alloc = u64::from(truesize.max(segment.length));
        self.data_arrived(segment, truesize, now);
        self.grow_window(segment, truesize);
        debug_assert!(self.should_wake_reader());
    }

    /// The application reads all of the segment that was taken to be read: as [`Receiver::read`].
    #[inline(always)]
    pub(crate) fn read_taken(&mut self, bytes: u32, now: SimTime) {
        debug_assert!(!self.readable && self.data.truesize == 0);
        self.forget_ack();
        self.window.read(bytes, self.received_in_order(), now);
        self.window.rmem_alloc = 0;
        self.decide_ack_of_read(u64::from(bytes));
    }

    /// The `bytes` of the segment that was taken to be read are not read now.
    #[cold]
    pub(crate) fn leave_taken(&mut self, bytes: u32) {
        let start = self.rcv_nxt - u64::from(bytes);
        self.data.push(Skb::of_stream(start, bytes, bytes, self.window.rmem_alloc as u32));
        debug_assert_eq!(self.data.truesize, self.window.rmem_alloc);
        self.readable = true;
    }

    #[cold]
    fn duplicate(&mut self, seq: u64, end: u64) {
        self.sacks.set_duplicate(SackBlock { start: seq, end });
        self.enter_quick_ack();
        self.ack.scheduled = true;
        self.ack.now = true;
    }

    #[inline(always)]
    fn in_order(&mut self, segment: &Segment, truesize: u32, mark: Mark<'_>, now: SimTime) {
        let fresh = segment.end() - self.rcv_nxt;
        let known = (self.rcv_nxt - segment.seq).min(u64::from(segment.length)) as u32;
        if known > 0 {
            self.disorder();
        }
        self.rcv_nxt = segment.end();
        if segment.flags.contains(SegmentFlags::FIN) {
            // An application that reads the end closes soon, and its FIN carries the ACK. [linux-6.12 tcp_input.c
            // tcp_fin]
            self.ack.pingpong = true;
            self.ack.scheduled = true;
            self.sacks.clear();
        }
        if segment.length > known {
            self.queue_in_order(segment, segment.length - known, truesize, mark, now);
        }
        if !self.data.in_order() {
            self.join_ranges();
        }
        if fresh > 0 {
            self.readable |= self.should_wake_reader();
        }
    }

    /// What any segment of data begins with; returns the memory that it is charged with.
    #[inline]
    fn begin_data(&mut self, segment: &Segment, truesize: u32, now: SimTime) -> u32 {
        self.forget_ack();
        self.window.rtt_by_timestamp(segment, self.rcv_nxt, now);
        self.truesize_of(segment, truesize)
    }

    /// Puts the last `fresh` bytes of `segment`, which are the next in order, into the queue.
    #[inline]
    fn queue_in_order(&mut self, segment: &Segment, fresh: u32, truesize: u32, mark: Mark<'_>, now: SimTime) {
        self.data.push(self.skb_of(segment, fresh, truesize));
        self.charge();
        self.data_arrived(segment, truesize, now);
        self.react_to_mark(mark.take());
        self.grow_window(segment, truesize);
    }

    /// True if the application is to be woken: enough data, the end of the stream, or no room for more.
    /// [linux-6.12 tcp_input.c tcp_data_ready, tcp.h tcp_epollin_ready]
    fn should_wake_reader(&self) -> bool {
        self.window.unread(self.rcv_nxt) >= u64::from(self.rcvlowat)
            || self.at_end()
            || self.window.left(self.rcv_nxt) <= u64::from(self.window.rcv_mss())
            || self.window.under_pressure()
    }

    /// Book-keeping of each in-order segment. While the window grows, a new mark is answered by three quick ACKs: two, and
    /// one for the growth, which comes last. [linux-6.12 tcp_input.c tcp_event_data_recv]
    #[inline(always)]
    fn data_arrived(&mut self, segment: &Segment, truesize: u32, now: SimTime) {
        self.ack.scheduled = true;
        let pushed = self.window.measure_mss(segment, truesize);
        if pushed {
            self.ack.pushed = (self.ack.pushed + 1).min(2);
        }
        self.window.rtt_by_window(self.rcv_nxt, now);
        self.adapt_ato(now);
        self.ack.last_received = now;
    }

    /// The window's slow start by an in-order segment, which is its last step.
    fn grow_window(&mut self, segment: &Segment, truesize: u32) {
        if segment.length >= 128 && self.window.grow(segment.length, truesize, Counted::WithoutHead) {
            self.ack.quick |= 1;
        }
    }

    /// Moves out-of-order data that is now in order.
    #[inline(never)]
    fn join_ranges(&mut self) {
        if let Some(twice) = self.data.overlap(self.rcv_nxt) {
            self.sacks.set_duplicate_if_none(twice);
        }
        self.rcv_nxt = self.data.join(self.rcv_nxt);
        self.charge();
        if self.data.in_order() {
            self.ack.now = true;
        }
        self.sacks.forget_before(self.rcv_nxt);
    }

    /// [linux-6.12 tcp_input.c tcp_data_queue_ofo, tcp_sack_new_ofo_skb]
    #[inline(never)]
    fn out_of_order(&mut self, segment: &Segment, truesize: u32, mark: Mark<'_>) {
        let mut block = SackBlock { start: segment.seq, end: segment.end() };
        self.disorder();
        self.react_to_mark(mark.take());
        self.ack.scheduled = true;
        if self.out_of_order_mss == OutOfOrderMss::Measured && self.window.measure_mss(segment, truesize) {
            self.ack.pushed = (self.ack.pushed + 1).min(2);
        }
        let is_last = segment.length > 0 && self.data.is_behind_all(segment.seq);
        if let Some(run) = if is_last { None } else { self.data.covering(block) } {
            self.sacks.set_duplicate(block);
            block = run;
        } else {
            let payload = SackBlock { start: segment.seq, end: segment.seq + u64::from(segment.length) };
            let known = if is_last { 0 } else { self.data.waiting_in(payload) as u32 };
            let skb = self.skb_of(segment, segment.length - known, truesize);
            let apart = self.data.truesize + skb.truesize();
            block = match is_last {
                true => self.data.insert_last(block, skb),
                false => self.data.insert(block, skb),
            };
            // A segment that was not merged is charged after the window has grown.
            let merged = self.data.truesize < apart;
            let counted = if merged { Counted::WithoutHead } else { Counted::All };
            if merged {
                self.charge();
            }
            // Without SACK the window must not change, so that the peer gets duplicate ACKs.
            if self.blocks > 0 && self.window.grow(segment.length, truesize, counted) {
                self.ack.quick |= 1;
            }
            self.charge();
        }
        self.sacks.put_first(block);
        if self.accepted {
            self.window.make_room_for_hole(self.received());
        }
    }

    /// Before Linux 4.18 the next segments are acknowledged at once after any disorder.
    /// [linux-4.14 tcp_input.c tcp_data_queue]
    fn disorder(&mut self) {
        if self.settings.stack.disorder_acks == DisorderAcks::AfterAnyDisorder {
            self.enter_quick_ack();
        }
    }

    /// The data that is held has changed: charges it to the buffer. The window is half of the memory (`tcp_adv_win_scale`
    /// 1) also where only payload counts, so that each byte is charged twice there. [freebsd-9 sockbuf.h sbspace]
    #[inline]
    fn charge(&mut self) {
        self.window.rmem_alloc = match self.charge {
            ReceiveCharge::Buffers => self.data.truesize,
            ReceiveCharge::UnreadPayload => 2 * self.data.ready_bytes(),
        };
    }

    /// The window to advertise now. Ends quick ACKs if the buffer is more than half full.
    /// [linux-6.12 tcp_output.c __tcp_select_window]
    fn select_window(&mut self) -> u64 {
        match self.window.known_candidate() {
            Some(window) => window,
            None => self.select_window_anew(),
        }
    }

    #[inline(never)]
    fn select_window_anew(&mut self) -> u64 {
        let room = self.window.room();
        if room.is_tight() {
            self.ack.quick = 0;
        }
        let window = self.window.candidate(room);
        self.window.remember_candidate(room, window);
        window
    }

    /// What the next ACK says may have changed.
    #[inline]
    pub(super) fn forget_ack(&mut self) {
        self.repeats_last_ack = false;
    }

    /// Up to where data was received.
    #[inline]
    fn received(&self) -> Received {
        Received { in_order: self.rcv_nxt, late: self.data.late_end() }
    }

    /// As [`Receiver::received`] while nothing is held.
    fn received_in_order(&self) -> Received {
        debug_assert_eq!(self.data.late_end(), 0);
        Received { in_order: self.rcv_nxt, late: 0 }
    }

    /// Bytes that the application can read.
    pub(crate) fn readable_bytes(&self) -> u64 {
        self.data.ready_bytes()
    }

    /// The application reads up to `max` bytes; returns how many. [linux-6.12 tcp.c tcp_recvmsg, __tcp_cleanup_rbuf]
    #[inline(always)]
    pub(crate) fn read(&mut self, max: u64, now: SimTime) -> u64 {
        self.forget_ack();
        // Mostly it reads all, and that is one skb.
        let only = if max == u64::MAX { self.data.take_only() } else { None };
        let copied = match only {
            Some(bytes) => {
                self.window.read(bytes, self.received(), now);
                u64::from(bytes)
            }
            None => self.read_skbs(max, now),
        };
        self.charge();
        self.readable = false;
        self.decide_ack_of_read(copied);
        copied
    }

    /// After a read of `copied` bytes: whether data is acknowledged, or a larger window advertised.
    /// [linux-6.12 tcp.c __tcp_cleanup_rbuf]
    #[inline(always)]
    fn decide_ack_of_read(&mut self, copied: u64) {
        if self.ack.scheduled {
            let waiting = self.rcv_nxt - self.window.last_update();
            let drained = self.window.rmem_alloc == 0;
            if waiting > u64::from(self.window.rcv_mss())
                || (copied > 0 && self.ack.pushed > u8::from(self.ack.pingpong) && drained)
            {
                self.ack_due = true;
            }
        }
        // No window update is sent to a peer that has closed.
        if copied > 0 && !self.ack_due && !self.at_end() {
            let left = self.window.left(self.rcv_nxt);
            self.ack_due = match self.delayed_ack {
                DelayedAck::Adaptive => {
                    self.window.is_mostly_used(left) && self.select_window() >= (2 * left).max(1)
                }
                // The window has moved by two segments; a field of the header may tell it a grain larger than it is.
                // [freebsd-9 tcp_output.c]
                DelayedAck::EverySecond => {
                    let moved = (self.select_window() + self.window.grain()).saturating_sub(left);
                    moved > 2 * u64::from(self.window.advmss())
                }
            };
        }
    }

    /// Reads skb after skb.
    #[inline(never)]
    fn read_skbs(&mut self, max: u64, now: SimTime) -> u64 {
        let mut copied = 0;
        while let Some(bytes) = self.data.take(max - copied) {
            copied += u64::from(bytes);
            self.window.read(bytes, self.received(), now);
        }
        copied
    }

    /// Returns the window and SACK blocks of a segment with an acknowledgement.
    #[inline]
    pub(crate) fn acknowledge(&mut self) -> (u64, SackBlocks) {
        if self.repeats_last_ack {
            return (self.repeat_ack(), SackBlocks::NONE);
        }
        self.acknowledge_anew()
    }

    /// The next segment repeats the last ACK, which had no SACK blocks.
    #[inline]
    pub(crate) fn repeats_last_ack(&self) -> bool {
        self.repeats_last_ack
    }

    /// Returns the window of the last ACK, which the next segment repeats.
    #[inline]
    pub(crate) fn repeat_ack(&mut self) -> u64 {
        debug_assert!(self.repeats_last_ack && self.would_repeat_last_ack());
        debug_assert_eq!(u64::from(self.last_window), self.window.carried(SegmentFlags::ACK));
        self.ack_due = false;
        self.last_window.into()
    }

    /// As [`Receiver::acknowledge`], inlined where nearly all ACKs without data are written.
    #[inline(always)]
    pub(crate) fn acknowledge_inlined(&mut self) -> (u64, SackBlocks) {
        if self.repeats_last_ack { self.acknowledge() } else { self.acknowledge_anew_inlined() }
    }

    fn would_repeat_last_ack(&self) -> bool {
        let idle = !self.ack.scheduled && !self.ack.now && !self.ack.no_memory && !self.ack.timeout.is_set();
        let held_back = self.compression.count > 0 || self.compression.latest.is_set() || self.reports_sack();
        idle && !held_back
            && self.window.would_not_change(self.window.candidate(self.window.room()), self.rcv_nxt)
    }

    #[inline(never)]
    fn acknowledge_anew(&mut self) -> (u64, SackBlocks) {
        self.acknowledge_anew_inlined()
    }

    #[inline(always)]
    fn acknowledge_anew_inlined(&mut self) -> (u64, SackBlocks) {
        if self.ack.no_memory {
            self.window.close(self.rcv_nxt);
        } else {
            let window = match self.before_read.take() {
                Some(window) => window,
                None => self.select_window(),
            };
            self.window.advertise(window, self.rcv_nxt);
        }
        // Without a scale the window depends on the one before.
        self.repeats_last_ack = !self.ack.no_memory && self.window.scale() > 0;
        let mut blocks = SackBlocks::NONE;
        if self.reports_sack() {
            blocks = self.report_sacks();
            self.repeats_last_ack &= !self.reports_sack();
        }
        self.ack_sent();
        self.last_window = self.window.carried(SegmentFlags::ACK) as u32;
        (self.last_window.into(), blocks)
    }

    /// The SACK blocks of an ACK; a duplicate is reported once.
    #[inline(never)]
    fn report_sacks(&mut self) -> SackBlocks {
        self.sacks.report(self.blocks)
    }

    /// Sets the size of the receive buffer.
    pub(crate) fn set_buffer(&mut self, bytes: u64) {
        self.forget_ack();
        self.window.set_rcvbuf(bytes);
    }

    /// True if the next ACK carries SACK blocks.
    pub(crate) fn reports_sack(&self) -> bool {
        !self.sacks.is_empty()
    }

    /// The peer has closed and all its data was received.
    pub(crate) fn at_end(&self) -> bool {
        self.fin_at == self.rcv_nxt
    }

    /// Memory of the packet of a segment: as given by the caller, or computed for a TUN device.
    #[inline]
    fn truesize_of(&self, segment: &Segment, truesize: u32) -> u32 {
        match self.arrival {
            Arrival::Card => truesize,
            Arrival::Tun => TunBuffer::of(segment, self.ip).truesize,
        }
    }

    /// The buffer of a segment or of a train with `fresh` new bytes.
    #[inline]
    fn skb_of(&self, segment: &Segment, fresh: u32, truesize: u32) -> Skb {
        let known = segment.length - fresh;
        match self.arrival {
            Arrival::Tun => Skb::of_tun(fresh, TunBuffer::of(segment, self.ip)),
            Arrival::Card => Skb::of_stream(segment.seq, segment.length, fresh, truesize - known),
        }
    }
}
