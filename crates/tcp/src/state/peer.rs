//! The peer's window.

use crate::stack::{Stack, WindowClosing};

/// Windows up to this are not halved. [linux-6.12 tcp.h TCP_MSS_DEFAULT]
const MSS_DEFAULT: u64 = 536;

/// The window that the peer advertised. [rfc9293 §3.3.1]
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerWindow {
    /// The window in bytes, from `snd_una` on.
    pub(crate) snd_wnd: u64,
    /// The maximum so far.
    max_window: u32,
    /// `SND.WL1`.
    window_seq: u64,
    /// A segment without other news may close the window: since Linux 6.10.
    may_close: bool,
}

impl PeerWindow {
    pub(crate) fn new(stack: &Stack) -> Self {
        PeerWindow { may_close: stack.window_closing == WindowClosing::Taken, ..PeerWindow::default() }
    }

    /// The first window.
    pub(crate) fn open(&mut self, window: u64) {
        self.snd_wnd = window;
        self.max_window = window as u32;
    }

    /// The largest window so far; fields of the header and scales keep it below 2^30.
    #[inline]
    pub(crate) fn largest(&self) -> u64 {
        u64::from(self.max_window)
    }

    /// One past the last byte that it allows. [linux-6.12 tcp.h tcp_wnd_end]
    #[inline]
    pub(crate) fn window_end(&self, snd_una: u64) -> u64 {
        snd_una + self.snd_wnd
    }

    /// Half of the largest window, or all of it if it is small. [linux-6.12 tcp.h tcp_bound_to_half_wnd]
    pub(crate) fn half_of_largest(&self) -> u64 {
        if self.largest() > MSS_DEFAULT { self.largest() / 2 } else { self.largest() }
    }

    /// True if a segment is to change the window. [rfc9293 §3.10.7.4] [linux-6.12 tcp_input.c tcp_may_update_window]
    #[inline]
    pub(crate) fn is_newer(&self, (seq, window): (u64, u64), una_advances: bool) -> bool {
        una_advances
            || seq > self.window_seq
            || (seq == self.window_seq && (window > self.snd_wnd || (window == 0 && self.may_close)))
    }

    /// The window of a segment, `(seq, window)`, unless it is older than the present one. Returns the window before if
    /// it was taken.
    #[inline]
    pub(crate) fn take(&mut self, (seq, window): (u64, u64), una_advances: bool) -> Option<u64> {
        if !self.is_newer((seq, window), una_advances) {
            return None;
        }
        self.window_seq = seq;
        self.max_window = self.max_window.max(window as u32);
        Some(std::mem::replace(&mut self.snd_wnd, window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{LINUX_6_6, LINUX_6_12};

    #[test]
    fn an_older_segment_does_not_change_the_window_and_one_of_the_same_number_may_only_widen_or_close_it() {
        let mut peer = PeerWindow::new(&LINUX_6_12);
        assert_eq!(peer.take((10, 500), false), Some(0));
        assert_eq!(peer.take((9, 700), false), None);
        assert_eq!(peer.take((10, 400), false), None);
        assert_eq!(peer.take((10, 600), false), Some(500));
        assert_eq!(peer.take((10, 0), false), Some(600));
        assert_eq!((peer.snd_wnd, peer.max_window), (0, 600));
    }

    #[test]
    fn before_6_10_a_segment_of_the_same_number_does_not_close_the_window() {
        let mut peer = PeerWindow::new(&LINUX_6_6);
        assert_eq!(peer.take((10, 500), false), Some(0));
        assert_eq!(peer.take((10, 0), false), None);
    }
}
