//! The data of a socket below TCP, in truesize.

use crate::config::SmallQueueLimit;

/// Accounts for data that was passed to the device and has not left the host. [linux-6.12 sock.h sk_wmem_alloc]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallQueue {
    /// Truesize below TCP; the kernel's counter is one more.
    pub(crate) wmem_alloc: u64,
    /// Truesize that has left the host.
    released: i64,
    /// Truesize passed to the device since the start; its value after a transmission is the number of that
    /// transmission.
    pub(crate) transmitted: u64,
    pub(crate) limit: SmallQueueLimit,
    pub(crate) throttled: bool,
    scheduled: bool,
    idles: bool,
    /// The credit of a refused packet scheduled the handler.
    woken_by_refusal: bool,
    /// The handler that such a credit scheduled runs.
    retries: bool,
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
            woken_by_refusal: false,
            retries: false,
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

    /// The device refused a packet because it is full. If the socket is throttled, the credit of that packet makes the
    /// handler try once more. If it is refused then, too, a later completion wakes the socket. The kernel tries until the
    /// work passes to ksoftirqd, in which tcp_wfree does not wake a socket that still has packets below.
    /// [linux-6.12 tcp_output.c tcp_wfree]
    pub(crate) fn refused_by_device(&mut self) {
        if !self.scheduled || self.wmem_alloc == 0 {
            return;
        }
        if self.retries {
            self.throttled = true;
            self.idles = true;
        } else {
            self.woken_by_refusal = true;
        }
    }

    /// The handler runs. False if it must not send, because the device has just refused a packet twice.
    /// [linux-6.12 tcp_tsq_handler]
    pub(crate) fn handler_runs(&mut self) -> bool {
        self.scheduled = false;
        self.retries = std::mem::take(&mut self.woken_by_refusal);
        !std::mem::take(&mut self.idles)
    }

    /// The transmit loop has ended.
    #[inline]
    pub(crate) fn pass_ended(&mut self) {
        self.retries = false;
    }
}
