//! Block ack: which frames of a session are outstanding, and the order in which the receiver passes them to its host.
//!
//! ```text
//! a sequence number may be sent if it is below (oldest number not completed) + 64 (802.11ax: 256)
//! the receiver passes a frame up when all before it have arrived or were dropped (BlockAckReq moves its window)
//! ```
//! A frame is completed when it is acknowledged or dropped. Lost frames are retransmitted in later aggregates, before
//! new ones and in their order. [ieee80211-2016 §10.24] [linux-6.12 ath9k xmit.c ath_tx_complete_aggr]
//!
//! After 100 ms the receiver no longer waits for a missing frame; if it arrives later, it is dropped.
//! [linux-6.12 net/mac80211/rx.c HT_RX_REORDER_BUF_TIMEOUT]
//!
//! Deviations: sessions exist from the start; the BlockAckReq that moves the window takes no airtime and is not lost.

use std::collections::VecDeque;
use std::vec::Drain;

use tailback_packet::SocketId;
use tailback_units::{SimTime, Span};

use crate::PacketBoxes;
use crate::frame::Mpdu;

/// How long the receiver waits for a missing frame.
pub const REORDER_TIMEOUT: Span = Span::from_millis(100);

/// Sequence numbers that may be outstanding before 802.11ax: the bitmap of a compressed block ack.
pub const WINDOW: u32 = 64;

/// Sequence numbers that may be outstanding in 802.11ax: the longest bitmap of a block ack. [ieee80211ax §9.3.1.8]
const LONGEST_WINDOW: u32 = 256;

/// The sending side of a session.
#[derive(Debug)]
pub struct Originator {
    /// Sequence numbers that may be outstanding.
    window: u64,
    /// The oldest number that is not completed.
    start: u64,
    /// The next number.
    next: u64,
    /// For each number from `start` to `next`, at its place modulo the longest window: completed.
    settled: [u64; WORDS],
    /// Frames to be retransmitted, in the order of their numbers.
    retries: VecDeque<Mpdu>,
}

/// Words of a bit for each number of the longest window.
const WORDS: usize = (LONGEST_WINDOW / u64::BITS) as usize;

impl Default for Originator {
    fn default() -> Self {
        Originator::new(WINDOW)
    }
}

impl Originator {
    /// One that may have so many numbers outstanding, at most [`LONGEST_WINDOW`].
    pub fn new(window: u32) -> Self {
        debug_assert!(window <= LONGEST_WINDOW, "two numbers would share a bit");
        let window = u64::from(window);
        Originator { window, start: 0, next: 0, settled: [0; WORDS], retries: VecDeque::new() }
    }

    /// The next new frame would be within the window.
    #[inline]
    pub fn window_open(&self) -> bool {
        self.next < self.start + self.window
    }

    /// New frames that are within the window.
    pub fn window_left(&self) -> u32 {
        (self.start + self.window - self.next) as u32
    }

    /// Gives a new frame its number.
    #[inline]
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The first frame to be retransmitted.
    pub fn retry(&self) -> Option<&Mpdu> {
        self.retries.front()
    }

    /// Takes that frame.
    #[inline]
    pub fn take_retry(&mut self) -> Option<Mpdu> {
        self.retries.pop_front()
    }

    /// Queues a frame for retransmission.
    pub fn send_again(&mut self, frame: Mpdu) {
        let after = self.retries.partition_point(|other| other.sequence < frame.sequence);
        self.retries.insert(after, frame);
    }

    /// `frames` of consecutive numbers from `first` on were acknowledged or dropped. Returns the oldest number that is not
    /// completed.
    #[inline]
    pub fn settle(&mut self, first: u64, frames: u32) -> u64 {
        let end = first + u64::from(frames);
        if first == self.start {
            self.start = end;
            self.skip_settled();
        } else {
            for (word, bit) in (first..end).map(place_of) {
                self.settled[word] |= bit;
            }
        }
        self.start
    }

    /// Numbers at the start that were completed before are not outstanding any more.
    #[inline]
    fn skip_settled(&mut self) {
        loop {
            let (word, bit) = place_of(self.start);
            if self.settled[word] & bit == 0 {
                return;
            }
            self.settled[word] ^= bit;
            self.start += 1;
        }
    }

    /// The frames to be retransmitted.
    pub fn retries(&self) -> impl Iterator<Item = &Mpdu> {
        self.retries.iter()
    }

    /// Number of frames to be retransmitted.
    pub fn waiting(&self) -> usize {
        self.retries.len()
    }

    /// Packets in them.
    pub fn waiting_packets(&self) -> usize {
        self.retries.iter().map(Mpdu::packets).sum()
    }
}

/// The word and the bit of a number.
#[inline]
fn place_of(sequence: u64) -> (usize, u64) {
    let place = sequence % u64::from(LONGEST_WINDOW);
    ((place / u64::from(u64::BITS)) as usize, 1 << (place % u64::from(u64::BITS)))
}

/// The receiving side of a session: the reorder buffer.
#[derive(Debug, Default)]
pub struct Recipient {
    /// The number of the next frame to be passed up.
    expected: u64,
    /// The frames received from `expected` on, with their arrival times.
    held: VecDeque<Option<(SimTime, Mpdu)>>,
    frames: usize,
}

impl Recipient {
    /// A frame arrived. Frames that can be passed up are appended to `up`, in order. A frame that is too late is
    /// returned.
    #[inline]
    pub fn take(&mut self, frame: Mpdu, now: SimTime, up: &mut PacketBoxes) -> Option<Mpdu> {
        let Some(place) = frame.sequence.checked_sub(self.expected) else { return Some(frame) };
        if place == 0 && self.frames == 0 {
            if !self.held.is_empty() {
                self.held.clear();
            }
            self.expected += 1;
            pass(frame, up);
            return None;
        }
        let place = place as usize;
        if self.held.len() <= place {
            self.held.resize_with(place + 1, || None);
        }
        self.frames += usize::from(self.held[place].replace((now, frame)).is_none());
        self.pass_up(up);
        None
    }

    /// All these frames can be passed up as they are: nothing is buffered, and their numbers, which rise, are those that
    /// follow.
    pub fn expects(&self, frames: &[Mpdu]) -> bool {
        debug_assert!(
            frames.is_sorted_by_key(|frame| frame.sequence),
            "an aggregate has its frames in order"
        );
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return false };
        let after = self.expected + frames.len() as u64;
        self.frames == 0 && first.sequence == self.expected && last.sequence + 1 == after
    }

    /// Takes frames that it [`expects`](Self::expects): what [`take`](Self::take) does with each, after the charges of
    /// their packets have ended, with `credits` for them.
    pub fn take_all(
        &mut self,
        frames: Drain<'_, Mpdu>,
        credits: &mut Vec<(SocketId, u32)>,
        up: &mut PacketBoxes,
    ) {
        self.held.clear();
        self.expected += frames.len() as u64;
        up.reserve(frames.len());
        for mut frame in frames {
            frame.uncharge(credits);
            pass(frame, up);
        }
    }

    /// Frames before `start` are no longer expected.
    pub fn move_to(&mut self, start: u64, up: &mut PacketBoxes) {
        while self.expected < start {
            self.skip(up);
        }
        self.pass_up(up);
    }

    /// When the time-out of the oldest buffered frame expires.
    pub fn overdue_at(&self) -> Option<SimTime> {
        if self.frames == 0 {
            return None;
        }
        self.held.iter().flatten().map(|(came, _)| *came + REORDER_TIMEOUT).min()
    }

    /// Stops waiting for missing frames before buffered ones whose time-out has expired.
    pub fn release_overdue(&mut self, now: SimTime, up: &mut PacketBoxes) {
        let overdue = |held: &Option<(SimTime, Mpdu)>| {
            held.as_ref().is_some_and(|(came, _)| *came + REORDER_TIMEOUT <= now)
        };
        while let Some(last) = self.held.iter().rposition(overdue) {
            (0..=last).for_each(|_| self.skip(up));
            self.pass_up(up);
        }
    }

    /// Number of buffered packets.
    pub fn held(&self) -> usize {
        self.held.iter().flatten().map(|(_, frame)| frame.packets()).sum()
    }

    /// Advances to the next number, whether or not its frame has arrived.
    fn skip(&mut self, up: &mut PacketBoxes) {
        self.expected += 1;
        if let Some((_, frame)) = self.held.pop_front().flatten() {
            self.frames -= 1;
            pass(frame, up);
        }
    }

    fn pass_up(&mut self, up: &mut PacketBoxes) {
        while matches!(self.held.front(), Some(Some(_))) {
            self.skip(up);
        }
    }
}

#[inline(always)]
fn pass(frame: Mpdu, up: &mut PacketBoxes) {
    up.push(frame.packet);
    if !frame.more.is_empty() {
        up.extend(frame.more);
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;
    use tailback_packet::Packet;

    use crate::status::Status;
    use crate::testing::{mpdu, packet, random};

    fn numbered(sequence: u64) -> Mpdu {
        Mpdu { sequence, ..mpdu(1538) }
    }

    #[test]
    fn no_number_is_sent_beyond_63_past_the_oldest_outstanding() {
        let mut session = Originator::default();
        while session.window_open() {
            session.number();
        }
        assert_eq!(session.next, 64);
        for sequence in 1..64 {
            session.settle(sequence, 1);
        }
        assert!(!session.window_open(), "63 newer ones are completed, the oldest is not");
        assert_eq!(session.settle(0, 1), 64);
        assert!(session.window_open());
    }

    #[test]
    fn the_oldest_number_that_is_not_completed_is_known_over_many_windows() {
        for window in [WINDOW, LONGEST_WINDOW] {
            let (mut session, mut draws) = (Originator::new(window), random(u64::from(window)));
            let mut outstanding = Vec::new();
            for _ in 0..5_000 {
                while session.window_open() {
                    outstanding.push(session.number());
                }
                let settled = outstanding.remove(draws.next_u32() as usize % outstanding.len());
                let oldest = outstanding.first().copied().unwrap_or(session.next);
                assert_eq!(session.settle(settled, 1), oldest);
            }
            assert!(session.start > 4_000);
        }
    }

    #[test]
    fn lost_frames_are_retransmitted_in_order() {
        let mut session = Originator::default();
        for sequence in [5, 2, 9, 3] {
            session.send_again(numbered(sequence));
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| session.take_retry()).map(|frame| frame.sequence).collect();
        assert_eq!(order, [2, 3, 5, 9]);
    }

    #[test]
    fn a_missing_frame_delays_later_ones_until_it_arrives_or_is_dropped() {
        let (mut receiver, mut up) = (Recipient::default(), Vec::new());
        for sequence in [0, 2, 3, 5] {
            receiver.take(numbered(sequence), SimTime::ZERO, &mut up);
        }
        assert_eq!((up.len(), receiver.held()), (1, 3));
        receiver.take(numbered(1), SimTime::ZERO, &mut up);
        assert_eq!((up.len(), receiver.held()), (4, 1));
        receiver.move_to(5, &mut up);
        assert_eq!((up.len(), receiver.held()), (5, 0));
    }

    #[test]
    fn frames_taken_at_once_are_passed_up_and_credited_as_those_taken_one_by_one() {
        let frames = |sequences: std::ops::Range<u64>| -> Vec<Mpdu> {
            let charged = |sequence| {
                let mut frame = numbered(sequence);
                (frame.packet.charged, frame.packet.from.0) = (sequence % 5 > 0, sequence as u32 / 7);
                if sequence.is_multiple_of(4) {
                    frame.append(packet(700));
                }
                frame
            };
            sequences.map(charged).collect()
        };
        let mut twins = [(); 2].map(|()| (Recipient::default(), Vec::new(), Vec::new(), Status::default()));
        for ends in [[0, 6], [6, 7], [7, 30]] {
            let [whole, single] = &mut twins;
            let mut together = frames(ends[0]..ends[1]);
            assert!(whole.0.expects(&together));
            whole.3.acknowledge_all(&together);
            whole.0.take_all(together.drain(..), &mut whole.1, &mut whole.2);
            for mut frame in frames(ends[0]..ends[1]) {
                frame.uncharge(&mut single.1);
                single.3.acknowledge(&frame);
                assert!(single.0.take(frame, SimTime::ZERO, &mut single.2).is_none());
            }
            let seen = |(recipient, credits, up, _): &(Recipient, Vec<_>, Vec<Box<Packet>>, Status)| {
                format!("{} {credits:?} {up:?}", recipient.expected)
            };
            assert_eq!(seen(&twins[0]), seen(&twins[1]));
            let [whole, single] = [0, 1].map(|twin| format!("{:?}", twins[twin].3.acknowledged()));
            assert_eq!(whole, single, "one run of numbers");
            twins.iter_mut().for_each(|twin| twin.3.clear());
        }
    }

    #[test]
    fn frames_after_a_gap_or_behind_buffered_ones_are_taken_one_by_one() {
        let mut receiver = Recipient::default();
        let [first, second, third] = [0, 1, 2].map(numbered);
        assert!(!receiver.expects(std::slice::from_ref(&second)));
        let with_a_gap = [first, third];
        assert!(!receiver.expects(&with_a_gap));
        receiver.take(second, SimTime::ZERO, &mut Vec::new());
        assert!(!receiver.expects(&with_a_gap[..1]), "number 1 waits for it");
    }

    #[test]
    fn after_100_ms_the_receiver_stops_waiting_and_the_frame_is_too_late() {
        let (mut receiver, mut up) = (Recipient::default(), Vec::new());
        let at = |ms| SimTime::ZERO + Span::from_millis(ms);
        assert_eq!(receiver.overdue_at(), None);
        receiver.take(numbered(1), at(10), &mut up);
        receiver.take(numbered(3), at(50), &mut up);
        assert_eq!(receiver.overdue_at(), Some(at(110)));
        receiver.release_overdue(at(110), &mut up);
        assert_eq!((up.len(), receiver.held(), receiver.overdue_at()), (1, 1, Some(at(150))));
        assert!(receiver.take(numbered(0), at(120), &mut up).is_some());
        receiver.take(numbered(2), at(130), &mut up);
        assert_eq!((up.len(), receiver.held()), (3, 0));
    }
}
