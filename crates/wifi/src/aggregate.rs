//! Builds one PPDU: which MPDUs it carries, and which limit ends it.
//!
//! ```text
//! subframe = delimiter 4 + MPDU, padded to a multiple of 4 (HT: the last one is not)
//!            + empty delimiters if the MPDU is shorter than the receiver (or the driver) asks for
//! ```
//! An aggregate is closed by the first of: frame limit, byte limit, duration limit, block-ack window, empty queue.
//! It does not wait for more frames: it contains what is queued when it is formed. A single frame is sent without a
//! delimiter and acknowledged by an ACK. The duration limit applies to each mode of the retry chain.
//! [ieee80211-2016 §9.7, §10.13] [linux-6.12 ath9k xmit.c ath_tx_form_aggr, ath_lookup_rate]

use tailback_units::{SimTime, Span};

use crate::StationId;
use crate::frame::Mpdu;
use crate::medium::{ACK, BLOCK_ACK, LONG_BLOCK_ACK};
use crate::phy::{Band, Mode};
use crate::rate::Chain;

/// Bytes of the delimiter before each MPDU of an aggregate.
const DELIMITER: u32 = 4;

/// Why an aggregate is not longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClosedBy {
    /// No more frames were queued.
    EmptyQueue,
    /// It reached the frame limit.
    FrameLimit,
    /// The next frame would exceed the byte limit.
    ByteLimit,
    /// The next frame would exceed the duration limit.
    Duration,
    /// The next frame is beyond the block-ack window.
    Window,
}

impl ClosedBy {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            ClosedBy::EmptyQueue => "empty_queue",
            ClosedBy::FrameLimit => "frame_limit",
            ClosedBy::ByteLimit => "byte_limit",
            ClosedBy::Duration => "duration",
            ClosedBy::Window => "window",
        }
    }
}

/// The limits of an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Frames; 1: no aggregation.
    pub frames: u32,
    /// Bytes of the PSDU.
    pub bytes: u32,
    /// Duration of the PPDU.
    pub duration: Span,
    /// Shorter MPDUs are followed by empty delimiters up to this length, in an aggregate.
    pub shortest_mpdu: u32,
}

/// Frames that are sent as one PPDU.
#[derive(Debug)]
pub struct Aggregate {
    /// The station that the aggregate is for.
    pub to: StationId,
    /// In the order of their sequence numbers, at least one.
    pub frames: Vec<Mpdu>,
    /// Length of the PSDU.
    pub bytes: u32,
    /// Bytes of the IP packets in it.
    pub ip_bytes: u32,
    /// How long it lasts in the mode of the next transmission.
    pub duration: Span,
    /// Total duration of its transmissions without a response.
    pub used: Span,
    /// The modes of its transmissions.
    pub chain: Chain,
    /// Why it is not longer.
    pub closed_by: ClosedBy,
    /// Number of its transmissions without a response.
    pub failures: u32,
    /// When it came to the head of its hardware queue.
    pub at_head: SimTime,
    /// Packets that waited in the host when it was formed.
    pub left_behind: u32,
}

impl Aggregate {
    /// One without frames, to be filled.
    pub(crate) fn empty(chain: Chain) -> Self {
        Aggregate {
            to: StationId(0),
            frames: Vec::new(),
            bytes: 0,
            ip_bytes: 0,
            duration: Span::ZERO,
            used: Span::ZERO,
            chain,
            closed_by: ClosedBy::EmptyQueue,
            failures: 0,
            at_head: SimTime::ZERO,
            left_behind: 0,
        }
    }

    /// Bytes of its response: an ACK for one frame, else a block ack.
    pub(crate) fn response(&self) -> u32 {
        match self.frames.len() {
            0 | 1 => ACK,
            2..=64 => BLOCK_ACK,
            _ => LONG_BLOCK_ACK,
        }
    }

    /// The mode of the next transmission.
    pub fn mode(&self) -> Mode {
        self.chain.after(self.failures).mode
    }

    /// The next transmission is announced by RTS and CTS, whatever its length.
    pub(crate) fn is_announced(&self) -> bool {
        self.chain.after(self.failures).announced
    }

    /// A transmission of it had no response; the next one may use another mode.
    pub fn failed(&mut self, band: Band) {
        self.failures += 1;
        self.used += self.duration;
        self.duration = self.mode().ppdu(self.bytes, band);
    }
}

/// From the beginning of a PPDU with several MPDUs to the end of its first one, which has so many bytes.
pub(crate) fn first_mpdu(mode: &Mode, bytes: u32, band: Band) -> Span {
    mode.ppdu(DELIMITER + bytes, band)
}

/// An aggregate while it grows; its length is without the padding of the last MPDU.
#[derive(Debug)]
pub struct Builder {
    aggregate: Box<Aggregate>,
    limits: Limits,
    band: Band,
    /// Bytes that fit both limits, of bytes and of the duration.
    longest: u32,
    /// Length with all subframes padded.
    padded: u32,
}

impl Builder {
    /// An empty one in place of `spare`, whose frames are gone.
    #[inline]
    pub fn new(limits: Limits, chain: &Chain, band: Band, mut spare: Box<Aggregate>) -> Self {
        debug_assert!(spare.frames.is_empty(), "frames of another aggregate");
        let longest = chain.slowest().psdu_within(limits.duration, band).min(limits.bytes);
        (spare.chain, spare.ip_bytes) = (*chain, 0);
        Builder { aggregate: spare, limits, band, longest, padded: 0 }
    }

    /// Frames in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.aggregate.frames.len()
    }

    /// Nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.aggregate.frames.is_empty()
    }

    /// The limit that a frame of `bytes` would exceed.
    #[inline]
    pub fn refuses(&self, bytes: u32) -> Option<ClosedBy> {
        let length = self.padded + DELIMITER + bytes;
        let is_full = self.len() >= self.limits.frames as usize;
        if (length <= self.longest && !is_full) || self.is_empty() {
            return None;
        }
        Some(match (is_full, length > self.limits.bytes) {
            (true, _) => ClosedBy::FrameLimit,
            (false, true) => ClosedBy::ByteLimit,
            (false, false) => ClosedBy::Duration,
        })
    }

    /// Appends a frame that is not refused.
    #[inline]
    pub fn push(&mut self, frame: Mpdu) {
        // The last subframe keeps its empty delimiters and loses its padding.
        let filling = filling(frame.bytes, self.limits.shortest_mpdu);
        self.aggregate.bytes = self.padded + DELIMITER + frame.bytes + filling;
        self.padded += (DELIMITER + frame.bytes).next_multiple_of(4) + filling;
        self.aggregate.ip_bytes += frame.ip_bytes();
        self.aggregate.frames.push(frame);
    }

    /// The aggregate, at the head of its hardware queue since `now`; as an error the emptied `spare` if it has no frames.
    pub fn close(
        mut self,
        to: StationId,
        closed_by: ClosedBy,
        now: SimTime,
    ) -> Result<Box<Aggregate>, Box<Aggregate>> {
        let Some(first) = self.aggregate.frames.first().map(|frame| frame.bytes) else {
            return Err(self.aggregate);
        };
        if self.len() == 1 {
            self.aggregate.bytes = first;
        }
        let aggregate = &mut *self.aggregate;
        (aggregate.to, aggregate.closed_by, aggregate.at_head) = (to, closed_by, now);
        (aggregate.failures, aggregate.used, aggregate.left_behind) = (0, Span::ZERO, 0);
        aggregate.duration = aggregate.mode().ppdu(aggregate.bytes, self.band);
        Ok(self.aggregate)
    }
}

/// Bytes of empty delimiters behind a short MPDU.
#[inline]
fn filling(mpdu: u32, shortest: u32) -> u32 {
    shortest.saturating_sub(mpdu).div_ceil(4) * DELIMITER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Format, Guard};
    use crate::testing::mpdu;

    const ATH9K: Limits =
        Limits { frames: 32, bytes: 65_535, duration: Span::from_micros(4_096), shortest_mpdu: 256 };

    fn mode(width: u32, streams: u32, mcs: u32, guard: Guard) -> Mode {
        Mode::new(Format::Ht, width, streams, mcs, guard).unwrap()
    }

    fn fill(limits: &Limits, mode: &Mode, bytes: u32, offered: usize) -> Box<Aggregate> {
        let chain = Chain::fixed(*mode, 10);
        let mut builder = Builder::new(*limits, &chain, Band::Ghz5, Box::new(Aggregate::empty(chain)));
        for _ in 0..offered {
            if let Some(closed_by) = builder.refuses(bytes) {
                return builder.close(StationId(0), closed_by, SimTime::ZERO).unwrap();
            }
            builder.push(mpdu(bytes));
        }
        builder.close(StationId(0), ClosedBy::EmptyQueue, SimTime::ZERO).unwrap()
    }

    #[test]
    fn thirty_two_full_frames_are_49406_bytes_and_1360_us() {
        let full = fill(&ATH9K, &mode(40, 2, 7, Guard::Ns400), 1538, 100);
        assert_eq!((full.frames.len(), full.bytes, full.duration.as_micros()), (32, 49_406, 1360));
        assert_eq!(full.closed_by, ClosedBy::FrameLimit);
    }

    #[test]
    fn acks_in_an_aggregate_of_ath9k_are_filled_to_256_bytes() {
        let acks = fill(&ATH9K, &mode(40, 2, 7, Guard::Ns400), 90, 32);
        assert_eq!((acks.bytes, acks.duration.as_micros()), (8_446, 268));
        let plain = Limits { shortest_mpdu: 0, ..ATH9K };
        assert_eq!(fill(&plain, &mode(40, 2, 7, Guard::Ns400), 90, 6).bytes, 574);
    }

    #[test]
    fn a_lone_frame_has_no_delimiter() {
        let lone = fill(&ATH9K, &mode(40, 2, 7, Guard::Ns400), 90, 1);
        assert_eq!((lone.bytes, lone.duration.as_micros(), lone.response()), (90, 44, ACK));
    }

    #[test]
    fn slow_modes_are_closed_by_4_096_ms() {
        let frames = |mode: Mode| {
            (fill(&ATH9K, &mode, 1538, 100).frames.len(), fill(&ATH9K, &mode, 1538, 100).closed_by)
        };
        assert_eq!(frames(mode(20, 1, 0, Guard::Ns800)), (2, ClosedBy::Duration));
        assert_eq!(frames(mode(20, 1, 7, Guard::Ns800)), (21, ClosedBy::Duration));
        assert_eq!(frames(mode(40, 1, 7, Guard::Ns800)).0, 32);
    }

    #[test]
    fn without_a_frame_limit_65535_bytes_hold_42_frames() {
        let limits = Limits { frames: 64, ..ATH9K };
        let full = fill(&limits, &mode(40, 2, 7, Guard::Ns400), 1538, 100);
        assert_eq!((full.frames.len(), full.closed_by), (42, ClosedBy::ByteLimit));
    }

    #[test]
    fn a_voice_txop_of_1504_us_holds_17_frames_at_150_mbit() {
        let limits = Limits { duration: Span::from_micros(1_504), ..ATH9K };
        assert_eq!(fill(&limits, &mode(40, 1, 7, Guard::Ns400), 1538, 100).frames.len(), 17);
    }
}
