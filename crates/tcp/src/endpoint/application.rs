//! The application's calls: write, read, close, and wake-ups.

use tailback_units::{Bytes, SimTime};

use super::{Endpoint, Wakeup};
use crate::sending_half::SendingHalf;
use crate::state::clocks::Chrono;
use crate::state::gate::Pass;

impl Endpoint {
    /// [`Endpoint::write`] with `MSG_MORE`: a short segment at the end waits for more data or for the probe timer.
    pub fn write_more(&mut self, bytes: u64, now: SimTime) -> u64 {
        self.write_up_to(bytes, Pass::More, now)
    }

    /// Writes a part of one `send()`, of which more follows at once: full skbs leave, a partial one waits for the rest.
    /// [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub fn write_part(&mut self, bytes: u64, now: SimTime) -> u64 {
        let ending = if self.sender.settings.builds_trains() { Pass::PushOne } else { Pass::More };
        self.write_up_to(bytes, ending, now)
    }

    /// The application waits for room in a send buffer that the host manages, after writing `copied` bytes. The last of
    /// them is pushed, and unsent data leaves. [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub fn wait_for_room(&mut self, copied: u64, now: SimTime) {
        self.sender.flow.now = now;
        if copied > 0 && self.sender.unsent() > 0 {
            let end = self.sender.stream.write_seq;
            self.sender.stream.mark_push(end);
        }
        self.sender.buffer.app_blocked = true;
        self.sender.buffer.room_kept_elsewhere = true;
        self.sender.gate.work.begin(Pass::Push);
    }

    /// A `send()` returns after writing a part of its bytes; the next one is a new call.
    pub fn end_send(&mut self) {
        self.continuing = false;
    }

    /// The send buffer that the host manages has room again.
    pub fn has_room(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.sender.buffer.app_blocked = false;
        let is_busy = self.sender.is_busy();
        self.sender.clocks.stop(Chrono::SendBuffer, is_busy, now);
    }

    /// The application sends `bytes` (one blocking `send()`, or the rest of one). Returns how many the send buffer
    /// accepted; with offloads at most one skb, so that the caller can drain before the next call. If it returns fewer,
    /// call it again at once, or at [`Wakeup::writable`] if [`Endpoint::write_blocked`].
    /// [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub fn write(&mut self, bytes: u64, now: SimTime) -> u64 {
        self.write_up_to(bytes, Pass::Normal, now)
    }

    fn write_up_to(&mut self, bytes: u64, ending: Pass, now: SimTime) -> u64 {
        if !self.is_open() || self.sender.stream.fin_queued {
            return 0;
        }
        let sender = &mut self.sender;
        sender.flow.now = now;
        sender.refresh_mss();
        if !self.continuing {
            sender.check_app_limited();
        }
        sender.restart_after_idle();
        if !self.continuing {
            sender.reopen_tail();
        }
        let before = sender.stream.write_seq;
        let accepted = sender.fill(bytes);
        self.continuing = accepted < bytes || ending == Pass::PushOne;
        if let Some(pass) = sender.push_after_filling(accepted, bytes, ending) {
            sender.begin_pass_of_write(pass, before);
        }
        accepted
    }

    /// The last write found the send buffer full, or the connection cannot take data.
    pub fn write_blocked(&self) -> bool {
        self.sender.buffer.app_blocked || !self.is_open() || self.sender.stream.fin_queued
    }

    /// The last write was stopped by `TCP_NOTSENT_LOWAT`, not by the size of the send buffer. If what it wrote has left, it can
    /// go on at once: Linux hands each skb to the device while it fills the next. [linux-6.12 tcp.c tcp_sendmsg_locked]
    pub fn stopped_by_unsent(&self) -> bool {
        let buffer = &self.sender.buffer;
        buffer.app_blocked && !buffer.room_kept_elsewhere && self.sender.wmem_queued() < buffer.sndbuf
    }

    /// A write that [`Endpoint::stopped_by_unsent`] can go on.
    pub fn can_go_on(&self) -> bool {
        self.sender.buffer.app_blocked && self.sender.has_memory()
    }

    /// The last write ends a record (`MSG_EOR`): data written later leaves in separate packets.
    pub fn end_record(&mut self) {
        self.sender.end_record();
    }

    /// The application closes: FIN after the last byte.
    pub fn close(&mut self, now: SimTime) {
        self.sender.flow.now = now;
        self.closed = true;
        if self.is_open() {
            self.sender.close();
        }
    }
}

impl<S: SendingHalf> Endpoint<S> {
    /// The application reads all available data. Returns the bytes read.
    #[inline]
    pub fn read(&mut self, now: SimTime) -> Bytes {
        self.read_at_most(Bytes(u64::MAX), now)
    }

    /// The application reads with a buffer of `max` bytes. Returns the bytes read.
    #[inline]
    pub fn read_at_most(&mut self, max: Bytes, now: SimTime) -> Bytes {
        self.sender.set_now(now);
        Bytes(self.receiver.read(max.0, now))
    }

    /// Bytes that wait to be read.
    pub fn readable_bytes(&self) -> Bytes {
        Bytes(self.receiver.readable_bytes())
    }

    /// Whether [`Endpoint::wakeup`] or [`Endpoint::notes`] may return something new.
    #[inline]
    pub fn has_pending_events(&self) -> bool {
        let wakes = self.is_writable() | self.receiver.readable;
        (wakes | self.closed | self.is_aborted()) || self.has_notes()
    }

    /// [`Endpoint::wakeup`] would say that data arrived, and nothing else.
    #[inline]
    pub fn is_only_readable(&self) -> bool {
        let others = self.is_writable() | self.closed | self.is_aborted();
        self.receiver.readable & !others
    }

    /// Returns the wake-ups for application and host, and clears them.
    #[inline]
    pub fn wakeup(&mut self) -> Wakeup {
        let finished = (self.closed || self.is_aborted()) && self.became_finished();
        let buffer = self.sender.as_sender_mut().map(|sender| &mut sender.buffer.writable);
        let writable = buffer.is_some_and(std::mem::take);
        let readable = std::mem::take(&mut self.receiver.readable);
        Wakeup { writable, readable, finished }
    }

    /// All data is acknowledged, or the connection was aborted; reported once.
    #[cold]
    fn became_finished(&mut self) -> bool {
        let over = self.is_aborted() || self.sender.has_finished();
        let became = over && !std::mem::replace(&mut self.finished_told, over);
        if became {
            self.save_metrics();
        }
        became
    }

    /// The application has read everything, the peer has closed, and so does the application: its FIN carries the ACK.
    /// One that still sends only acknowledges.
    #[cold]
    pub fn close_at_end(&mut self) {
        if self.closed {
            return;
        }
        self.quick_ack();
        if self.sender.has_finished() {
            self.closed = true;
            self.sender.close();
        }
    }

    /// The peer has closed and all its data was received.
    pub fn at_end(&self) -> bool {
        self.receiver.at_end()
    }
}
