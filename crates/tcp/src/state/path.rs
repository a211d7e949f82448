//! The MTU of the path, and path MTU discovery.

use std::ops::{Range, RangeInclusive};

use tailback_units::{SimTime, Span};

use crate::config::{MtuProbing, Settings};

/// Minimum MSS after a black hole (`net.ipv4.tcp_mtu_probe_floor`).
const MSS_FLOOR: u32 = 48;

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

/// How large packets and the payload of their segments are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentSizes {
    /// Bytes of the headers of IP and TCP without options.
    pub(crate) headers: u32,
    /// Bytes of the timestamp option.
    pub(crate) options: u32,
    /// Payload of a segment that the peer takes, with the bytes of its options. [linux-6.12 rx_opt.mss_clamp]
    pub(crate) clamp: u32,
}

impl SegmentSizes {
    /// The packet of a segment with `mss` bytes of payload.
    pub(crate) fn mtu_of(self, mss: u32) -> u32 {
        mss + self.options + self.headers
    }

    /// The payload that fills a packet and that the peer takes.
    pub(crate) fn mss_of(self, mtu: u32) -> u32 {
        (mtu - self.headers).min(self.clamp) - self.options
    }

    /// The largest packet that the peer takes.
    pub(crate) fn largest(self) -> u32 {
        self.clamp + self.headers
    }
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

    /// The handshake is complete: the search begins, if there is to be one. [linux-6.12 tcp_output.c tcp_mtup_init]
    pub(crate) fn begin_search(&mut self, settings: &Settings, sizes: SegmentSizes, now: SimTime) {
        let since = match settings.mtu_probing {
            MtuProbing::Off => return,
            MtuProbing::AfterBlackHole => None,
            MtuProbing::Always => Some(now),
        };
        let (low, high) = (sizes.mtu_of(settings.base_mss), sizes.largest());
        let search = MtuSearch { low, high, since, probe: None, probes: MtuProbes::default() };
        self.search = Some(Box::new(search));
    }

    /// A probe of `size` bytes, with this payload, was sent.
    pub(crate) fn probe_sent(&mut self, size: u32, payload: Range<u64>) {
        if let Some(search) = &mut self.search {
            search.probe = Some(MtuProbe { size, start: payload.start, end: payload.end });
        }
    }

    /// The search as it is now.
    #[inline]
    pub(crate) fn search(&self) -> Option<MtuSearch> {
        self.search.as_deref().copied()
    }

    /// After a pause of `rest`, restarts the search with the full range. [linux-6.12 tcp_output.c tcp_mtu_check_reprobe]
    pub(crate) fn search_again(&mut self, now: SimTime, rest: Span, range: RangeInclusive<u32>) {
        let rested = |search: &MtuSearch| search.since.is_some_and(|since| now.since(since) >= rest);
        if let Some(search) = self.search.as_mut().filter(|search| rested(search)) {
            let (low, high) = range.into_inner();
            **search = MtuSearch { low, high, since: Some(now), probe: None, ..**search };
        }
    }

    /// After repeated timeouts, suspects a black hole for large packets. True if there is a search, whose range has changed.
    /// [linux-6.12 tcp_timer.c tcp_mtu_probing]
    pub(crate) fn suspect_black_hole(&mut self, sizes: SegmentSizes, base_mss: u32, now: SimTime) -> bool {
        let Some(search) = &mut self.search else { return false };
        match search.since {
            None => search.since = Some(now),
            Some(_) => {
                let half = sizes.mss_of(search.low) / 2;
                search.low = sizes.mtu_of(half.min(base_mss).max(MSS_FLOOR));
            }
        }
        true
    }

    /// A probe was sent and is neither acknowledged nor lost.
    pub(crate) fn probe_is_out(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.probe.is_some())
    }

    /// Because of a retransmission, the outstanding probe gives no result.
    pub(crate) fn forget_probe(&mut self) {
        if let Some(search) = &mut self.search {
            search.probe = None;
        }
    }

    /// The route of packets to come has another MTU.
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
