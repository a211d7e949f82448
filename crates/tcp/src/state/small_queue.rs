//! The data of a socket below TCP, in truesize.

use crate::config::SmallQueueLimit;

/// Accounts for data that was passed to the device and has not left the host. [linux-6.12 sock.h sk_wmem_alloc]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallQueue {
    /// Truesize below TCP; the kernel's counter is one more.
    pub(crate) wmem_alloc: u64,
    /// Truesize passed to the device since the start; its value after a transmission is the number of that
    /// transmission.
    pub(crate) transmitted: u64,
    /// Truesize that has left the host.
    released: i64,
    pub(crate) limit: SmallQueueLimit,
    pub(crate) throttled: bool,
    scheduled: bool,
    idles: bool,
}

impl SmallQueue {
    pub(crate) fn new(limit: SmallQueueLimit) -> Self {
        SmallQueue {
            wmem_alloc: 0,
            transmitted: 0,
            released: 0,
            limit,
            throttled: false,
            scheduled: false,
            idles: false,
        }
    }

    /// Charges a packet that is handed down.
    #[inline]
    pub(crate) fn charge(&mut self, truesize: u32) {
        self.wmem_alloc += u64::from(truesize);
        self.transmitted += u64::from(truesize);
    }

    /// A packet below was segmented, with more memory; it has left when the last segment has.
    pub(crate) fn segmented(&mut self, extra: u32) {
        self.wmem_alloc += u64::from(extra);
        self.released -= i64::from(extra);
    }

    /// A packet left the host. True if the handler must be scheduled.
    #[inline]
    pub(crate) fn credit(&mut self, truesize: u32) -> bool {
        self.wmem_alloc -= u64::from(truesize);
        self.released += i64::from(truesize);
        if !self.throttled || self.scheduled {
            return false;
        }
        self.throttled = false;
        self.scheduled = true;
        true
    }

    /// A transmission is still in the qdisc or the NIC of this host; the next credit will then run the handler.
    /// [linux-6.12 tcp_output.c skb_still_in_host_queue]
    pub(crate) fn holds(&mut self, transmission: u64) -> bool {
        let waits = transmission as i64 > self.released;
        self.throttled |= waits;
        waits
    }

    /// The device refused a packet because it is full. Its credit must not make the handler retry forever at
    /// the same time; a later completion wakes the socket. The kernel avoids this loop because tcp_wfree does not wake
    /// a socket in ksoftirqd that still has packets below. [linux-6.12 tcp_output.c tcp_wfree]
    pub(crate) fn refused_by_device(&mut self) {
        if self.scheduled && self.wmem_alloc > 0 {
            self.throttled = true;
            self.idles = true;
        }
    }

    /// The handler runs. False if it must not send, because the device has just refused a packet.
    /// [linux-6.12 tcp_tsq_handler]
    pub(crate) fn handler_runs(&mut self) -> bool {
        self.scheduled = false;
        !std::mem::take(&mut self.idles)
    }
}
