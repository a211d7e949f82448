//! What a host remembers of ended connections, for later ones to the same peer: Linux's cache of TCP metrics
//! (`ip tcp_metrics`), which `net.ipv4.tcp_no_metrics_save` turns off.
//!
//! A connection saves, once both ends have closed it:
//! ```text
//! rtt         srtt if none or a smaller one is saved, else old − (old − srtt)/8
//!             without a sample, or after a timeout without one: forgets the saved one, and changes nothing else
//! ssthresh    never left slow start:                  max(old, cwnd/2), if one is saved
//!             in congestion avoidance, state Open:    max(ssthresh, cwnd/2)
//!             in slow start again, or another state:  max(old, ssthresh), if one is saved
//! reordering  in slow start again, or another state:  max(old, reordering), if it is not the initial degree
//! ```
//! The next one begins with ssthresh and reordering. A saved RTT that is larger than that of the handshake sets its first
//! RTO, `rtt + max(2·rtt, RTO_MIN)`, until data gives a sample. What was not changed for an hour is forgotten. Since Linux
//! 5.6 ssthresh is neither saved nor used, unless `net.ipv4.tcp_no_ssthresh_metrics_save` is 0.
//! [linux-5.4 tcp_metrics.c tcp_update_metrics, tcp_init_metrics] [linux-5.10 tcp_metrics.c tcp_init_metrics]
//!
//! The kernel also saves cwnd and the deviation of the RTT, which no connection uses unless a route locks them: they are
//! left out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tailback_cc::CaState;
use tailback_packet::HostId;
use tailback_units::{Segs, SimTime, Span};

/// `TCP_METRICS_TIMEOUT`. [linux-5.4 tcp_metrics.c]
const LIFETIME: Span = Span::from_secs(3600);

/// The cache of one host; its connections share it.
#[derive(Clone, Debug, Default)]
pub struct SavedMetrics(Arc<Mutex<BTreeMap<Destination, Metrics>>>);

/// A peer by its host and the bytes of the IP header, since each version of IP has an address of its own.
pub(crate) type Destination = (HostId, u32);

/// What is saved about a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Metrics {
    /// Smoothed RTT times eight, µs; 0: none.
    pub(crate) rtt_us8: u32,
    pub(crate) ssthresh: Option<Segs>,
    /// Degree of reordering in segments.
    pub(crate) reordering: Option<u32>,
    changed: SimTime,
}

/// A connection that ends.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Smoothed RTT times eight, µs; 0: without a sample.
    pub(crate) srtt_us8: u32,
    /// A timeout was not followed by a sample.
    pub(crate) backed_off: bool,
    pub(crate) cwnd: Segs,
    pub(crate) ssthresh: Segs,
    pub(crate) state: CaState,
    /// Degree of reordering in segments; `None`: the initial one.
    pub(crate) reordering: Option<u32>,
}

impl SavedMetrics {
    /// What is saved about a peer.
    pub(crate) fn about(&self, peer: Destination, now: SimTime) -> Metrics {
        self.with(|all| all.get(&peer).copied().filter(|metrics| !metrics.is_outdated(now)))
            .unwrap_or_default()
    }

    /// A connection to `peer` ends; `saves_ssthresh`: its ssthresh is of use to later ones.
    pub(crate) fn save(&self, peer: Destination, ended: &Ended, saves_ssthresh: bool, now: SimTime) {
        let updated = self.about(peer, now).updated(ended, saves_ssthresh, now);
        self.with(|all| all.insert(peer, updated));
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<Destination, Metrics>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Metrics {
    fn is_outdated(&self, now: SimTime) -> bool {
        now > self.changed + LIFETIME
    }

    fn updated(self, ended: &Ended, saves_ssthresh: bool, now: SimTime) -> Metrics {
        if ended.backed_off || ended.srtt_us8 == 0 {
            return Metrics { rtt_us8: 0, ..self };
        }
        let ssthresh = if saves_ssthresh { self.updated_ssthresh(ended) } else { self.ssthresh };
        Metrics {
            rtt_us8: self.updated_rtt(ended.srtt_us8),
            ssthresh,
            reordering: self.updated_reordering(ended),
            changed: now,
        }
    }

    /// A larger RTT counts at once, a smaller one slowly: too long a timeout does less harm than one too short.
    fn updated_rtt(&self, srtt_us8: u32) -> u32 {
        let excess = self.rtt_us8.saturating_sub(srtt_us8);
        srtt_us8.max(self.rtt_us8 - (excess >> 3))
    }

    fn updated_ssthresh(&self, ended: &Ended) -> Option<Segs> {
        let half = Segs(ended.cwnd.0 >> 1);
        match ended.ended_in() {
            EndedIn::FirstSlowStart => self.ssthresh.map(|saved| saved.max(half)),
            EndedIn::Avoidance => Some(half.max(ended.ssthresh)),
            EndedIn::Other => self.ssthresh.map(|saved| saved.max(ended.ssthresh)),
        }
    }

    fn updated_reordering(&self, ended: &Ended) -> Option<u32> {
        match ended.ended_in() {
            EndedIn::Other => self.reordering.max(ended.reordering),
            EndedIn::FirstSlowStart | EndedIn::Avoidance => self.reordering,
        }
    }
}

/// What cwnd and ssthresh of a connection mean when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EndedIn {
    /// It never left slow start.
    FirstSlowStart,
    /// Congestion avoidance, nothing lost: its window is that of the path.
    Avoidance,
    /// In slow start again, or in recovery.
    Other,
}

impl Ended {
    fn ended_in(&self) -> EndedIn {
        if self.ssthresh >= Segs::INFINITE {
            EndedIn::FirstSlowStart
        } else if self.cwnd >= self.ssthresh && self.state == CaState::Open {
            EndedIn::Avoidance
        } else {
            EndedIn::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Destination = (HostId(1), 20);

    fn at(s: u64) -> SimTime {
        SimTime::ZERO + Span::from_secs(s)
    }

    /// In congestion avoidance with this window; RTT 10 ms.
    fn avoiding(cwnd: u32, ssthresh: u32) -> Ended {
        Ended {
            srtt_us8: 80_000,
            backed_off: false,
            cwnd: Segs(cwnd),
            ssthresh: Segs(ssthresh),
            state: CaState::Open,
            reordering: None,
        }
    }

    /// Never left slow start.
    fn starting(cwnd: u32) -> Ended {
        Ended { ssthresh: Segs::INFINITE, ..avoiding(cwnd, 0) }
    }

    /// What is saved after these connections, one per second.
    fn after(connections: &[Ended]) -> Metrics {
        let saved = SavedMetrics::default();
        for (second, ended) in connections.iter().enumerate() {
            saved.save(PEER, ended, true, at(second as u64));
        }
        saved.about(PEER, at(connections.len() as u64))
    }

    fn ssthresh_after(connections: &[Ended]) -> Option<u32> {
        after(connections).ssthresh.map(|segments| segments.0)
    }

    #[test]
    fn congestion_avoidance_saves_ssthresh_or_half_of_a_larger_cwnd() {
        assert_eq!(ssthresh_after(&[avoiding(50, 40)]), Some(40));
        assert_eq!(ssthresh_after(&[avoiding(300, 40)]), Some(150));
    }

    #[test]
    fn congestion_avoidance_replaces_a_larger_ssthresh() {
        assert_eq!(ssthresh_after(&[avoiding(300, 40), avoiding(50, 40)]), Some(40));
    }

    #[test]
    fn a_connection_that_never_left_slow_start_saves_no_first_ssthresh_but_raises_a_saved_one() {
        assert_eq!(ssthresh_after(&[starting(300)]), None);
        assert_eq!(ssthresh_after(&[avoiding(50, 40), starting(60)]), Some(40));
        assert_eq!(ssthresh_after(&[avoiding(50, 40), starting(300)]), Some(150));
    }

    #[test]
    fn a_connection_in_recovery_or_in_slow_start_again_only_raises_a_saved_ssthresh() {
        let again = avoiding(10, 80);
        let recovering = Ended { state: CaState::Recovery, ..avoiding(90, 80) };
        for ended in [again, recovering] {
            assert_eq!(ssthresh_after(&[ended]), None);
            assert_eq!(ssthresh_after(&[avoiding(50, 40), ended]), Some(80));
            assert_eq!(ssthresh_after(&[avoiding(120, 100), ended]), Some(100));
        }
    }

    #[test]
    fn a_larger_rtt_counts_at_once_and_a_smaller_one_by_an_eighth() {
        let with_rtt = |ms: u32| Ended { srtt_us8: ms * 8000, ..avoiding(50, 40) };
        assert_eq!(after(&[with_rtt(10)]).rtt_us8, 10 * 8000);
        assert_eq!(after(&[with_rtt(10), with_rtt(50)]).rtt_us8, 50 * 8000);
        assert_eq!(after(&[with_rtt(50), with_rtt(10)]).rtt_us8, 45 * 8000);
    }

    #[test]
    fn a_connection_without_a_sample_since_its_timeout_forgets_the_rtt_and_keeps_the_rest() {
        let timed_out = Ended { backed_off: true, ..avoiding(300, 200) };
        let never_answered = Ended { srtt_us8: 0, ..avoiding(300, 200) };
        for ended in [timed_out, never_answered] {
            let metrics = after(&[avoiding(50, 40), ended]);
            assert_eq!((metrics.rtt_us8, metrics.ssthresh), (0, Some(Segs(40))));
        }
    }

    #[test]
    fn reordering_is_saved_outside_of_the_open_state_only_and_never_falls() {
        let reordered = |degree, state| Ended { reordering: Some(degree), state, ..avoiding(50, 40) };
        assert_eq!(after(&[reordered(20, CaState::Open)]).reordering, None);
        assert_eq!(after(&[reordered(20, CaState::Disorder)]).reordering, Some(20));
        let seen = [reordered(20, CaState::Disorder), reordered(8, CaState::Recovery)];
        assert_eq!(after(&seen).reordering, Some(20));
        let not_reordered = Ended { state: CaState::Recovery, ..avoiding(50, 40) };
        assert_eq!(after(&[not_reordered]).reordering, None);
    }

    #[test]
    fn ssthresh_that_is_not_saved_leaves_the_rtt_saved() {
        let saved = SavedMetrics::default();
        saved.save(PEER, &avoiding(50, 40), false, at(0));
        let metrics = saved.about(PEER, at(1));
        assert_eq!((metrics.rtt_us8, metrics.ssthresh), (80_000, None));
    }

    #[test]
    fn each_peer_has_metrics_of_its_own_and_so_has_each_version_of_ip() {
        let saved = SavedMetrics::default();
        saved.save(PEER, &avoiding(50, 40), true, at(0));
        assert_eq!(saved.about((HostId(2), 20), at(0)), Metrics::default());
        assert_eq!(saved.about((HostId(1), 40), at(0)), Metrics::default());
    }

    #[test]
    fn metrics_that_were_not_changed_for_an_hour_are_forgotten() {
        let saved = SavedMetrics::default();
        saved.save(PEER, &avoiding(50, 40), true, at(0));
        assert_eq!(saved.about(PEER, at(3600)).ssthresh, Some(Segs(40)));
        assert_eq!(saved.about(PEER, at(3601)), Metrics::default());
    }
}
