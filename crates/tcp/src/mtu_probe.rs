//! Path MTU discovery by probes: sends one segment larger than the known MSS, and adopts that size if it is
//! acknowledged (`net.ipv4.tcp_mtu_probing` = 2, or 1 after a black hole). [rfc4821]
//!
//! ```text
//! range   = base_mss .. the peer's MSS, each with its headers
//! probe   = middle of the range, if unsent ≥ probe + (reordering + 1) · mss, cwnd ≥ 11, no recovery, no SACK is due
//! sent:     cwnd − 1, as the probe takes the place of two segments
//! passed:   the range begins at the probe; cwnd shrinks to the same number of bytes
//! lost:     the range ends before the probe; cwnd + 1, and the probe is retransmitted in segments without a reduction
//! range < 8 bytes: the search pauses for 600 s
//! black hole, after 3 s of timeouts: the MSS becomes that of the start of the range, and is halved the next times
//! ```
//! Data that was sent with another MSS is segmented again before a retransmission (`Scoreboard::cut_skb_anew`).
//! [linux-6.12 tcp_output.c tcp_mtu_probe, tcp_mtup_init, tcp_sync_mss, tcp_current_mss]
//! [linux-6.12 tcp_input.c tcp_mtup_probe_success, tcp_mtup_probe_failed, tcp_simple_retransmit]
//! [linux-6.12 tcp_timer.c tcp_mtu_probing] [linux-6.12 tcp_output.c __tcp_retransmit_skb]

use tailback_cc::CaState;
use tailback_units::{Segs, Span};

use crate::config::TCP_HEADER;
use crate::one_word::OneWord;
use crate::sender::Sender;
use crate::state::path::{MtuProbes, MtuSearch, SegmentSizes};

/// Minimum cwnd for a probe.
const MIN_CWND: u32 = 11;
/// Minimum range for a probe (`net.ipv4.tcp_probe_threshold`).
const MIN_RANGE: u32 = 8;
/// Time after which the search begins again (`net.ipv4.tcp_probe_interval`).
const REST: Span = Span::from_secs(600);
/// Minimum segment size when it is bounded to half a window. [linux-6.12 tcp.h tcp_bound_to_half_wnd]
const MIN_PACKET: u32 = 68;

/// What the transmit loop does for MTU probing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MtuStep {
    /// Send as usual.
    None,
    /// Wait: cwnd will soon have room for a probe.
    Wait,
    /// Send a probe of this many bytes.
    Send(u32),
}

impl Sender {
    /// The MSS follows the MTU of the route. [linux-6.12 tcp_output.c tcp_current_mss]
    pub(crate) fn refresh_mss(&mut self) {
        if self.path.route != self.path.of_mss {
            self.synchronise_mss(self.path.route);
        }
    }

    /// How large packets and segments are on this connection.
    pub(crate) fn sizes(&self) -> SegmentSizes {
        SegmentSizes {
            headers: self.settings.ip.header() + TCP_HEADER,
            options: self.agreement.timestamp_option(),
            clamp: self.agreement.peer_mss.min(self.options.mss.unwrap_or(u32::MAX)),
        }
    }

    /// The MSS follows this MTU of the path.
    pub(crate) fn synchronise_mss(&mut self, mtu: u32) {
        let sizes = self.sizes();
        self.path.of_mss = mtu;
        let mut mss = sizes.mss_of(mtu);
        let half = self.peer.half_of_largest();
        if half > 0 && u64::from(mss) > half {
            mss = (half as u32).max(MIN_PACKET - TCP_HEADER - sizes.options);
        }
        if let Some(search) = &mut self.path.search {
            search.high = search.high.min(mtu);
            if search.since.is_some() {
                mss = mss.min(sizes.mss_of(search.low));
            }
        }
        self.flow.mss = mss.saturating_sub(self.ecn.reserved()).max(1);
        self.flow.mtu = sizes.mtu_of(mss);
        self.buffer.may_have_space();
    }

    /// Whether to send a probe now; not while this side has SACK blocks to report, since options of varying length
    /// would change the size of the probe. [linux-6.12 tcp_output.c tcp_mtu_probe]
    #[inline(never)]
    pub(crate) fn mtu_step(&mut self) -> MtuStep {
        let Some(search) = self.path.search() else { return MtuStep::None };
        let sizes = self.sizes();
        let calm = self.flow.ca_state == CaState::Open && self.window.cwnd.0 >= MIN_CWND;
        if search.since.is_none() || search.probe.is_some() || !calm || self.path.reports_sack {
            return MtuStep::None;
        }
        let size = sizes.mss_of((search.high + search.low) / 2);
        if search.high < search.low + MIN_RANGE {
            let from_present = sizes.mtu_of(self.flow.mss)..=sizes.largest();
            self.path.search_again(self.flow.now, REST, from_present);
            return MtuStep::None;
        }
        let needed = u64::from(size) + u64::from(self.recovery.reordering + 1) * u64::from(self.flow.mss);
        if self.unsent() < needed || self.peer.snd_wnd < needed {
            return MtuStep::None;
        }
        if self.flow.snd_nxt + needed > self.peer.window_end(self.flow.snd_una) {
            return MtuStep::Wait;
        }
        if self.scoreboard.in_flight() + 2 > self.window.cwnd.0 {
            return if self.scoreboard.in_flight() == 0 { MtuStep::None } else { MtuStep::Wait };
        }
        let record_within =
            self.stream.record_ends.front().is_some_and(|end| *end < self.flow.snd_nxt + u64::from(size));
        if record_within { MtuStep::None } else { MtuStep::Send(size) }
    }

    /// Everything before `una` is acknowledged, perhaps including the probe.
    pub(crate) fn take_mtu_probe_ack(&mut self, una: u64) {
        let Some(search) = self.path.search() else { return };
        let Some(probe) = search.probe.filter(|probe| probe.end <= una) else { return };
        let bytes = u64::from(self.window.cwnd.0) * u64::from(self.sizes().mtu_of(self.flow.mss));
        self.window.cwnd = Segs(((bytes / u64::from(probe.size)) as u32).max(1));
        self.window.cwnd_cnt = 0;
        self.usage.stamp = self.flow.now;
        self.window.ssthresh = self.window.current_ssthresh(self.flow.ca_state);
        let probes = MtuProbes { passed: search.probes.passed + 1, ..search.probes };
        self.path.search = Some(Box::new(MtuSearch { low: probe.size, probe: None, probes, ..search }));
        self.synchronise_mss(self.path.of_mss);
    }

    /// A loss was detected. If the first unacknowledged segment is the probe, it was lost because of its size.
    pub(crate) fn mtu_probe_failed(&mut self) -> bool {
        let Some(search) = self.path.search() else { return false };
        let Some(probe) = search.probe.filter(|probe| probe.start == self.flow.snd_una) else { return false };
        if self.flow.ca_state >= CaState::Cwr {
            return false;
        }
        let probes = MtuProbes { lost: search.probes.lost + 1, ..search.probes };
        self.path.search = Some(Box::new(MtuSearch { high: probe.size - 1, probe: None, probes, ..search }));
        self.window.cwnd = Segs(self.window.cwnd.0 + 1);
        self.resend_what_is_too_long();
        true
    }

    /// Marks everything longer than a segment lost, without reducing cwnd. [linux-6.12 tcp_input.c
    /// tcp_simple_retransmit, tcp_non_congestion_loss_retransmit]
    fn resend_what_is_too_long(&mut self) {
        self.refresh_mss();
        for index in self.scoreboard.queue().head()..self.scoreboard.queue().end() {
            if self.scoreboard.get(index).length > self.flow.mss {
                self.mark_lost(index);
            }
        }
        self.scoreboard.retransmit_from_head();
        self.recovery.high_seq = self.flow.snd_nxt;
        self.window.ssthresh = self.window.current_ssthresh(self.flow.ca_state);
        self.recovery.prior_ssthresh = None;
        self.recovery.undo_marker = OneWord::NONE;
        self.set_ca_state(CaState::Loss);
    }
}
