//! Which frames of a session are outstanding, and in which order the receiver gives them to its host.
//!
//! ```text
//! a sequence number may go on the air if it is below (oldest number not settled) + 64
//! the receiver passes a frame up when all before it have come or have been given up (BlockAckReq moves its window)
//! ```
//! A frame is settled when it is acknowledged or given up. Lost frames are sent again in later aggregates, before new
//! ones and in their order. [ieee80211-2016 §10.24] [linux-6.12 ath9k xmit.c ath_tx_complete_aggr]
//!
//! Deviations: sessions exist from the start; the BlockAckReq that moves the window takes no air and is not lost; the
//! receiver waits for a hole as long as the sender tries (mac80211: at most 100 ms).

use std::collections::{BTreeMap, VecDeque};

use tailback_packet::Packet;

use crate::PacketBoxes;
use crate::frame::Mpdu;

/// Sequence numbers that may be outstanding: a compressed block ack's bitmap.
pub const WINDOW: u64 = 64;

/// The sending side of a session.
#[derive(Debug, Default)]
pub struct Originator {
    /// The oldest number that is not settled.
    start: u64,
    /// The next number.
    next: u64,
    /// For each number from `start` to `next`: settled.
    settled: VecDeque<bool>,
    /// Frames to be sent again, in the order of their numbers.
    retries: VecDeque<Mpdu>,
}

impl Originator {
    /// The next new frame would be within the window.
    pub fn window_open(&self) -> bool {
        self.next < self.start + WINDOW
    }

    /// Gives a new frame its number.
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.settled.push_back(false);
        self.next - 1
    }

    /// The frame to be sent again first.
    pub fn retry(&self) -> Option<&Mpdu> {
        self.retries.front()
    }

    /// Takes that frame.
    pub fn take_retry(&mut self) -> Option<Mpdu> {
        self.retries.pop_front()
    }

    /// Keeps a frame to be sent again.
    pub fn send_again(&mut self, frame: Mpdu) {
        let after = self.retries.partition_point(|other| other.sequence < frame.sequence);
        self.retries.insert(after, frame);
    }

    /// A frame was acknowledged or given up. Returns the oldest number that is not settled now.
    pub fn settle(&mut self, sequence: u64) -> u64 {
        self.settled[(sequence - self.start) as usize] = true;
        while self.settled.front() == Some(&true) {
            self.settled.pop_front();
            self.start += 1;
        }
        self.start
    }

    /// Frames that wait to be sent again.
    pub fn waiting(&self) -> usize {
        self.retries.len()
    }
}

/// The receiving side of a session: the reorder buffer.
#[derive(Debug, Default)]
pub struct Recipient {
    expected: u64,
    held: BTreeMap<u64, Box<Packet>>,
}

impl Recipient {
    /// A frame came; what can be passed up now is appended to `up`, in order.
    pub fn take(&mut self, sequence: u64, packet: Box<Packet>, up: &mut PacketBoxes) {
        self.held.insert(sequence, packet);
        self.pass_up(up);
    }

    /// Everything before `start` has come or never will.
    pub fn move_to(&mut self, start: u64, up: &mut PacketBoxes) {
        while self.expected < start {
            up.extend(self.held.remove(&self.expected));
            self.expected += 1;
        }
        self.pass_up(up);
    }

    /// Frames that wait for others.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn pass_up(&mut self, up: &mut PacketBoxes) {
        while let Some(packet) = self.held.remove(&self.expected) {
            up.push(packet);
            self.expected += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{mpdu, packet};

    #[test]
    fn no_number_is_sent_beyond_63_past_the_oldest_outstanding() {
        let mut session = Originator::default();
        while session.window_open() {
            session.number();
        }
        assert_eq!(session.next, 64);
        for sequence in 1..64 {
            session.settle(sequence);
        }
        assert!(!session.window_open(), "63 newer ones are settled, the oldest is not");
        assert_eq!(session.settle(0), 64);
        assert!(session.window_open());
    }

    #[test]
    fn lost_frames_are_sent_again_in_order() {
        let mut session = Originator::default();
        for sequence in [5, 2, 9, 3] {
            session.send_again(Mpdu { sequence, ..mpdu(1538) });
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| session.take_retry()).map(|frame| frame.sequence).collect();
        assert_eq!(order, [2, 3, 5, 9]);
    }

    #[test]
    fn a_hole_delays_what_is_behind_it_until_it_is_filled_or_given_up() {
        let (mut receiver, mut up) = (Recipient::default(), Vec::new());
        for sequence in [0, 2, 3, 5] {
            receiver.take(sequence, packet(1500), &mut up);
        }
        assert_eq!((up.len(), receiver.held()), (1, 3));
        receiver.take(1, packet(1500), &mut up);
        assert_eq!((up.len(), receiver.held()), (4, 1));
        receiver.move_to(5, &mut up);
        assert_eq!((up.len(), receiver.held()), (5, 0));
    }
}
