//! `police`: a token bucket without a queue; a packet for which it lacks tokens is dropped.
//!
//! tokens:   N' = min(N + min(d, B), B) − L/rate ns, full at the start; B = burst/rate, rounded up to 64 ns
//! peak:     P' = min(P + min(d, B), mtu/peakrate) − L/peakrate
//! conforms: the frame is at most `mtu` long, and N' ≥ 0, P' ≥ 0; a packet that exceeds takes no tokens
//!
//! L is the length of the IP packet: a policer of arriving packets does not count the Ethernet header, which is off already,
//! and counts the headers of a train of segments once. `mtu` compares frames with their header, those of a train one by one.
//! [linux-6.12 act_police.c tcf_police_act, tcf_police_mtu_check; dev.c sch_handle_ingress] [iproute2 m_police.c, tc_core.c]

use tailback_packet::{ETHERNET_HEADER, Packet, Payload};
use tailback_units::{Bytes, Rate, SimTime, Span};

/// The longest frame that conforms unless `mtu` is given: 255 cells of 8 bytes. [iproute2 tc_core.c tc_calc_rtable]
pub const DEFAULT_MTU: u32 = 2040;

/// A tick of `tc`, in nanoseconds. [linux-6.12 PSCHED_SHIFT]
const TICK: u64 = 64;

/// The options of a policer, as `tc` calls them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicerSpec {
    /// The rate at which tokens come.
    pub rate: Rate,
    /// Bytes of the bucket.
    pub burst: Bytes,
    /// The longest frame that conforms.
    pub mtu: u32,
    /// The rate of a second bucket, which holds `mtu`.
    pub peakrate: Option<Rate>,
}

/// What a policer says of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policed {
    /// It may pass.
    Conforms,
    /// It is dropped.
    Exceeds,
}

/// A token bucket without a queue.
#[derive(Clone, Debug)]
pub struct Policer {
    spec: PolicerSpec,
    /// Tokens in nanoseconds of sending time, and how many there may be.
    tokens: i64,
    depth: i64,
    peak_tokens: i64,
    peak_depth: i64,
    checkpoint: SimTime,
}

impl Policer {
    /// A policer with full buckets.
    pub fn new(spec: PolicerSpec) -> Self {
        let depth = whole_ticks(spec.rate, spec.burst);
        let peak_depth = spec.peakrate.map_or(0, |peak| signed(peak.time_for(Bytes(u64::from(spec.mtu)))));
        Policer { spec, tokens: depth, depth, peak_tokens: peak_depth, peak_depth, checkpoint: SimTime::ZERO }
    }

    /// Judges a packet that arrives now, and takes the tokens of one that conforms.
    pub fn judge(&mut self, packet: &Packet, now: SimTime) -> Policed {
        if longest_frame(packet) > self.spec.mtu {
            return Policed::Exceeds;
        }
        let length = Bytes(u64::from(packet.buffer_length() - ETHERNET_HEADER));
        let come = signed(now.since(self.checkpoint)).min(self.depth);
        let left = (self.tokens + come).min(self.depth) - signed(self.spec.rate.time_for(length));
        let peak_left = self
            .spec
            .peakrate
            .map_or(0, |peak| (self.peak_tokens + come).min(self.peak_depth) - signed(peak.time_for(length)));
        if left < 0 || peak_left < 0 {
            return Policed::Exceeds;
        }
        (self.tokens, self.peak_tokens, self.checkpoint) = (left, peak_left, now);
        Policed::Conforms
    }
}

/// The time of the bucket, in whole ticks.
fn whole_ticks(rate: Rate, burst: Bytes) -> i64 {
    let ns = (u128::from(burst.0) * 8_000_000_000).div_ceil(u128::from(rate.bits_per_sec().max(1)));
    let ticks = ns.div_ceil(u128::from(TICK)).min(u128::from(u32::MAX));
    (ticks as i64) * TICK as i64
}

fn signed(span: Span) -> i64 {
    span.as_nanos().min(i64::MAX as u64 / 4) as i64
}

/// The longest frame that the packet is on the wire, without its FCS.
fn longest_frame(packet: &Packet) -> u32 {
    let ip_length = match &packet.payload {
        Payload::Tcp(train) if packet.segments > 1 => {
            (packet.ip_length - train.length) / u32::from(packet.segments) + u32::from(train.mss)
        }
        _ => packet.ip_length,
    };
    ip_length + ETHERNET_HEADER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{numbered, packet};

    const TEN_MBIT: Rate = Rate::from_bits_per_sec(10_000_000);

    fn spec(burst: u64) -> PolicerSpec {
        PolicerSpec { rate: TEN_MBIT, burst: Bytes(burst), mtu: DEFAULT_MTU, peakrate: None }
    }

    /// How many of full packets conform that arrive `gap` apart.
    fn conforming(policer: &mut Policer, packets: u32, gap: Span) -> usize {
        let mut now = SimTime::ZERO;
        let mut found = 0;
        for number in 0..packets {
            found += usize::from(policer.judge(&numbered(0, number), now) == Policed::Conforms);
            now += gap;
        }
        found
    }

    #[test]
    fn a_burst_passes_up_to_the_bucket_and_nothing_waits() {
        let full = u64::from(numbered(0, 0).ip_length);
        for packets in [1, 5, 13] {
            let mut policer = Policer::new(spec(packets * full));
            assert_eq!(conforming(&mut policer, 100, Span::ZERO) as u64, packets);
        }
    }

    #[test]
    fn packets_at_the_rate_pass_all_and_those_at_twice_the_rate_by_half() {
        let full = Bytes(u64::from(numbered(0, 0).ip_length));
        let gap = TEN_MBIT.time_for(full) + Span::from_nanos(1);
        assert_eq!(conforming(&mut Policer::new(spec(full.0)), 1000, gap), 1000);
        assert_eq!(conforming(&mut Policer::new(spec(full.0)), 1000, gap / 2 + Span::from_nanos(1)), 500);
    }

    #[test]
    fn what_exceeds_takes_no_tokens() {
        let full = u64::from(numbered(0, 0).ip_length);
        let mut policer = Policer::new(spec(full));
        assert_eq!(policer.judge(&numbered(0, 0), SimTime::ZERO), Policed::Conforms);
        let needed = TEN_MBIT.time_for(Bytes(full));
        let early = SimTime::ZERO + needed - Span::from_nanos(200);
        for number in 1..50 {
            assert_eq!(policer.judge(&numbered(0, number), early), Policed::Exceeds);
        }
        assert_eq!(policer.judge(&numbered(0, 50), SimTime::ZERO + needed), Policed::Conforms);
    }

    #[test]
    fn tokens_are_lost_when_the_bucket_is_full() {
        let full = u64::from(numbered(0, 0).ip_length);
        let mut policer = Policer::new(spec(2 * full));
        let late = SimTime::ZERO + Span::from_secs(100);
        let verdicts = [0, 1, 2].map(|number| policer.judge(&numbered(0, number), late));
        assert_eq!(verdicts, [Policed::Conforms, Policed::Conforms, Policed::Exceeds]);
    }

    #[test]
    fn a_bucket_less_than_a_packet_passes_nothing_and_a_frame_above_the_mtu_exceeds() {
        let full = u64::from(numbered(0, 0).ip_length);
        assert_eq!(conforming(&mut Policer::new(spec(full - 50)), 10, Span::from_secs(1)), 0);
        let small = PolicerSpec { mtu: numbered(0, 0).ip_length + ETHERNET_HEADER - 1, ..spec(100_000) };
        assert_eq!(conforming(&mut Policer::new(small), 10, Span::from_secs(1)), 0);
        assert_eq!(Policer::new(small).judge(&packet(0, 100), SimTime::ZERO), Policed::Conforms);
    }

    #[test]
    fn the_peak_rate_spaces_what_the_bucket_would_pass_at_once() {
        let full = u64::from(numbered(0, 0).ip_length);
        let twice = Rate::from_bits_per_sec(20_000_000);
        let peak = PolicerSpec { peakrate: Some(twice), ..spec(100 * full) };
        assert_eq!(
            conforming(&mut Policer::new(peak), 50, Span::ZERO),
            1,
            "its bucket holds the default mtu"
        );
        let gap = twice.time_for(Bytes(full)) + Span::from_nanos(1);
        assert_eq!(conforming(&mut Policer::new(peak), 50, gap), 50);
    }

    #[test]
    fn the_bucket_is_in_whole_ticks_of_tc() {
        // 1500 bytes at 7 Mbit/s are 1714.2857 us, 26785.7 ticks.
        assert_eq!(whole_ticks(Rate::from_bits_per_sec(7_000_000), Bytes(1500)), 26_786 * 64);
        assert_eq!(whole_ticks(TEN_MBIT, Bytes(1500)), 1_200_000);
    }
}
