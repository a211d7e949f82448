//! The MTU of the path, and path MTU discovery.

use tailback_units::SimTime;

/// The search: sizes of IP packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MtuSearch {
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// When it began; `None` before a black hole is suspected.
    pub(crate) since: Option<SimTime>,
    pub(crate) probe: Option<MtuProbe>,
    /// Counts of the probes so far.
    pub(crate) probes: MtuProbes,
}

/// MTU probes that passed, and that were lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MtuProbes {
    /// Acknowledged.
    pub passed: u64,
    /// Lost.
    pub lost: u64,
}

/// An outstanding probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MtuProbe {
    pub(crate) size: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The MTU of the path.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    /// MTU of the cached route.
    pub(crate) route: u32,
    /// MTU from which the MSS was computed. [linux-6.12 icsk_pmtu_cookie]
    pub(crate) of_mss: u32,
    /// MTU of a changed route, which takes effect with the next packet sent.
    changed: Option<u32>,
    pub(crate) search: Option<Box<MtuSearch>>,
    /// The receiving half has blocks to report: options of varying length would change the size of a probe.
    pub(crate) reports_sack: bool,
}

impl PathMtu {
    pub(crate) fn new(mtu: u32) -> Self {
        PathMtu { route: mtu, of_mss: mtu, changed: None, search: None, reports_sack: false }
    }

    /// The route of packets to come.
    #[inline]
    pub(crate) fn search(&self) -> Option<MtuSearch> {
        self.search.as_deref().copied()
    }

    pub(crate) fn change(&mut self, mtu: u32) {
        self.changed = Some(mtu);
    }

    /// A packet is sent: looks up an outdated route again. True if it was outdated.
    #[inline]
    pub(crate) fn refresh_route(&mut self) -> bool {
        // Not taken each time: nearly never it has changed.
        let Some(mtu) = self.changed else { return false };
        self.changed = None;
        self.route = mtu;
        true
    }
}
