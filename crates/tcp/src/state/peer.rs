//! The peer's window.

/// Windows up to this are not halved. [linux-6.12 tcp.h TCP_MSS_DEFAULT]
const MSS_DEFAULT: u64 = 536;

/// The window that the peer advertised. [rfc9293 §3.3.1]
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerWindow {
    /// The window in bytes, from `snd_una` on.
    pub(crate) snd_wnd: u64,
    /// The maximum so far.
    pub(crate) max_window: u64,
    /// `SND.WL1`.
    window_seq: u64,
}

impl PeerWindow {
    /// The first window.
    pub(crate) fn open(&mut self, window: u64) {
        self.snd_wnd = window;
        self.max_window = window;
    }

    /// Half of the largest window, or all of it if it is small. [linux-6.12 tcp.h tcp_bound_to_half_wnd]
    pub(crate) fn half_of_largest(&self) -> u64 {
        if self.max_window > MSS_DEFAULT { self.max_window / 2 } else { self.max_window }
    }

    /// True if a segment is to change the window. [rfc9293 §3.10.7.4] [linux-6.12 tcp_input.c tcp_may_update_window]
    #[inline]
    pub(crate) fn is_newer(&self, (seq, window): (u64, u64), una_advances: bool) -> bool {
        una_advances
            || seq > self.window_seq
            || (seq == self.window_seq && (window > self.snd_wnd || window == 0))
    }

    /// The window of a segment, `(seq, window)`, unless it is older than the present one. Returns the window before if
    /// it was taken.
    #[inline]
    pub(crate) fn take(&mut self, (seq, window): (u64, u64), una_advances: bool) -> Option<u64> {
        if !self.is_newer((seq, window), una_advances) {
            return None;
        }
        self.window_seq = seq;
        self.max_window = self.max_window.max(window);
        Some(std::mem::replace(&mut self.snd_wnd, window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_segment_does_not_change_the_window_and_one_of_the_same_number_may_only_widen_or_close_it() {
        let mut peer = PeerWindow::default();
        assert_eq!(peer.take((10, 500), false), Some(0));
        assert_eq!(peer.take((9, 700), false), None);
        assert_eq!(peer.take((10, 400), false), None);
        assert_eq!(peer.take((10, 600), false), Some(500));
        assert_eq!(peer.take((10, 0), false), Some(600));
        assert_eq!((peer.snd_wnd, peer.max_window), (0, 600));
    }
}
