//! Byte queue limits: limits the bytes in the ring of a NIC.
//!
//! The limit follows what one completion round frees. It grows when the ring ran empty while the stack held packets
//! back, and shrinks by the minimum slack in a second of uninterrupted work. `queued`, `done` and `queued_before` count
//! bytes from the same instant on, so `queued - done` bytes are in the ring:
//!
//! ```text
//! starved  = (over > 0 and ring empty) or (over_before > 0 and all of queued_before is done)
//!            → limit += (done - queued_before)+ + over_before
//! busy     = ring never empty since the last round, not all of queued_before is done
//!            → slack = max((limit + over_before - 2·completed)+, over_before > 0: (object_before - over_before)+)
//!              once a second: limit -= least slack
//! ```
//!
//! Most rounds need less than that. Four shortcuts leave what the formulas leave (`a_round_is_what_the_formulas_say`):
//!
//! - A frame alone in the ring, below the limit, is neither `starved` nor `busy`: it is not even counted (`is_calm_with`).
//! - One or two frames that leave together an empty ring behind are neither, too: the counts, of which only differences
//!   matter, are set equal (`complete_few`).
//! - A round like the one before on a busy link observes the same slack: only the counts go on (`repeating`).
//! - In any other round one comparison finds `busy`: what is left of the round before was in the ring all the time, so
//!   that it was never empty (`complete_anew`).
//!
//! Source: [linux-5.10 lib/dynamic_queue_limits.c dql_completed]. Deviations: none known; the upper clamp of
//! 1.8 GB is left out since no ring holds that much.

use tailback_units::{SimTime, Span};

/// How long slack is observed before the limit shrinks. [linux-5.10 dynamic_queue_limits slack_hold_time]
const HOLD_TIME: Span = Span::from_secs(1);

/// State of one transmit queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByteQueueLimit {
    limit: u64,
    queued: u64,
    done: u64,
    /// `limit` + `done` after the last completion: `queued` may reach it.
    adjusted: u64,
    last_object: u64,
    queued_before: u64,
    object_before: u64,
    over_before: u64,
    lowest_slack: Option<u64>,
    slack_since: SimTime,
    /// The last round, if another one that begins alike would observe the same slack and change nothing but the counts, as
    /// on a link that is always busy.
    repeating: Round,
}

/// What a round begins with, apart from what the round before has left: bytes completed and in the ring, and the last
/// frame that entered it. By default none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Round {
    bytes: u64,
    in_ring: u64,
    object: u64,
}

impl ByteQueueLimit {
    /// True if another packet may be passed to the NIC.
    #[inline]
    pub(crate) fn open(&self) -> bool {
        self.queued <= self.adjusted
    }

    /// A packet that enters an empty ring, and is completed before the next one enters, tells nothing about the limit: it
    /// need not be counted.
    #[inline]
    pub(crate) fn is_calm_with(&self, bytes: u64) -> bool {
        self.over_before == 0 && bytes <= self.limit
    }

    /// A packet was handed to the NIC.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.queued += bytes;
        self.last_object = bytes;
    }

    /// The NIC is done with `bytes`: one completion round.
    #[inline(always)]
    pub(crate) fn complete(&mut self, bytes: u64, now: SimTime) {
        if self.round(bytes) == self.repeating && now.since(self.slack_since) <= HOLD_TIME {
            // Only the counts go on.
            self.done += bytes;
            self.adjusted += bytes;
            self.queued_before = self.queued;
        } else {
            self.complete_anew(bytes, now);
        }
    }

    /// The round that begins with the completion of `bytes`.
    fn round(&self, bytes: u64) -> Round {
        Round { bytes, in_ring: self.queued - self.done, object: self.last_object }
    }

    /// The NIC is done with `bytes` in a round that may change the limit: it differs from the round before, or that one
    /// differed from its own predecessor.
    #[inline(never)]
    fn complete_anew(&mut self, bytes: u64, now: SimTime) {
        let round = self.round(bytes);
        let Round { in_ring, object, .. } = round;
        let over = in_ring.saturating_sub(self.limit);
        let repeats = over == self.over_before && object == self.object_before && in_ring > 2 * bytes;
        let before = self.limit;
        let done = self.done + bytes;
        if self.queued_before > done {
            // What is left of the round before was in the ring all the time, so that it was never empty.
            self.observe_slack(bytes, now);
            let unchanged = self.limit == before && self.lowest_slack.is_some();
            self.repeating = if repeats && unchanged { round } else { Round::default() };
        } else if self.over_before > 0 || (over > 0 && self.queued == done) {
            self.grow(done, now);
        } else {
            self.repeating = Round::default();
        }
        self.done = done;
        self.adjusted = self.limit + done;
        self.over_before = if self.limit == before { over } else { 0 };
        self.object_before = self.last_object;
        self.queued_before = self.queued;
    }

    /// As [`ByteQueueLimit::complete`], once for each, for the one or two packets that are in the ring, if they tell nothing
    /// about the limit; false and nothing if they do. Of two, the first tells something if both were there a round ago.
    #[inline]
    pub(crate) fn complete_few(&mut self, packets: usize) -> bool {
        debug_assert!(packets == 1 || packets == 2);
        let calm = self.over_before == 0 && self.open() && (packets == 1 || self.queued_before == self.done);
        if calm {
            // Only differences of these counts matter, and `object_before` only with `over_before`.
            self.queued = self.done;
            self.queued_before = self.done;
            self.repeating.bytes = 0;
        }
        calm
    }

    /// The ring ran empty while packets were held back.
    #[inline(never)]
    fn grow(&mut self, done: u64, now: SimTime) {
        self.repeating = Round::default();
        self.limit += done.saturating_sub(self.queued_before) + self.over_before;
        self.forget_slack(now);
    }

    /// The ring is busy: what it did not need of its limit is its slack.
    #[inline]
    fn observe_slack(&mut self, bytes: u64, now: SimTime) {
        let unused = (self.limit + self.over_before).saturating_sub(2 * bytes);
        let last = if self.over_before > 0 { self.object_before.saturating_sub(self.over_before) } else { 0 };
        let min = self.lowest_slack.map_or(unused.max(last), |min| min.min(unused.max(last)));
        self.lowest_slack = Some(min);
        if now.since(self.slack_since) > HOLD_TIME {
            self.shrink(min, now);
        }
    }

    /// So much of the limit was not needed for a second.
    #[inline(never)]
    fn shrink(&mut self, slack: u64, now: SimTime) {
        self.limit = self.limit.saturating_sub(slack);
        self.forget_slack(now);
    }

    fn forget_slack(&mut self, now: SimTime) {
        self.lowest_slack = None;
        self.slack_since = now;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailback_properties::cases;

    use super::*;

    const FRAME: u64 = 1514;

    fn fill(limit: &mut ByteQueueLimit) -> u64 {
        while limit.open() {
            limit.add(FRAME);
        }
        limit.queued - limit.done
    }

    #[test]
    fn the_first_packet_passes_a_limit_of_zero_and_the_second_waits() {
        let mut limit = ByteQueueLimit::default();
        assert_eq!(fill(&mut limit), FRAME);
    }

    #[test]
    fn the_limit_grows_until_the_ring_no_longer_runs_dry() {
        let mut limit = ByteQueueLimit::default();
        for round in 0..100 {
            let in_ring = fill(&mut limit);
            limit.complete(in_ring.min(4 * FRAME), SimTime::from_nanos(round * 1_000_000));
        }
        assert!(limit.limit >= 4 * FRAME, "{}", limit.limit);
        assert!(fill(&mut limit) <= limit.limit + FRAME);
    }

    #[test]
    fn a_second_of_slack_shrinks_the_limit() {
        let mut limit =
            ByteQueueLimit { limit: 100 * FRAME, adjusted: 100 * FRAME, ..ByteQueueLimit::default() };
        for round in 0..2_000 {
            fill(&mut limit);
            limit.complete(FRAME, SimTime::from_nanos(round * 1_000_000));
        }
        assert!(limit.limit <= 3 * FRAME, "{}", limit.limit);
    }

    /// What later packets and completions depend on.
    fn meaning(of: &ByteQueueLimit) -> [u64; 7] {
        let object = if of.over_before > 0 { of.object_before } else { 0 };
        let (in_ring, open_for) = (of.queued - of.done, of.adjusted.wrapping_sub(of.queued));
        let (slack, since) = (of.lowest_slack.unwrap_or(u64::MAX), of.slack_since.as_nanos());
        [of.limit, in_ring, open_for, of.queued_before - of.done, object, slack, since]
    }

    /// A completion round by the formulas at the head of this file, each condition asked by itself.
    fn by_formulas(of: &mut ByteQueueLimit, bytes: u64, now: SimTime) {
        let before = *of;
        let over = (of.queued - of.done).saturating_sub(of.limit);
        let done = of.done + bytes;
        let (is_empty, was_empty) = (of.queued == done, of.queued_before == of.done);
        let all_before = done >= of.queued_before;
        if (over > 0 && is_empty) || (of.over_before > 0 && all_before) {
            of.limit += done.saturating_sub(of.queued_before) + of.over_before;
            (of.lowest_slack, of.slack_since) = (None, now);
        } else if !is_empty && !was_empty && !all_before {
            let unused = (of.limit + of.over_before).saturating_sub(2 * bytes);
            let last = if of.over_before > 0 { of.object_before.saturating_sub(of.over_before) } else { 0 };
            let least = of.lowest_slack.unwrap_or(u64::MAX).min(unused.max(last));
            of.lowest_slack = Some(least);
            if now.since(of.slack_since) > HOLD_TIME {
                of.limit = of.limit.saturating_sub(least);
                (of.lowest_slack, of.slack_since) = (None, now);
            }
        }
        of.done = done;
        of.adjusted = of.limit + done;
        of.over_before = if of.limit == before.limit { over } else { 0 };
        (of.object_before, of.queued_before) = (of.last_object, of.queued);
    }

    #[test]
    fn most_rounds_of_a_busy_link_repeat_the_one_before_and_leave_what_the_formulas_say() {
        let (mut short, mut whole) = (ByteQueueLimit::default(), ByteQueueLimit::default());
        let mut repeated = 0;
        for number in 0..20_000 {
            // At first several leave at once, so that the limit grows; later and later it shrinks again.
            let together = if number < 20 { 6 } else { 1 };
            while short.open() || short.queued - short.done < together * FRAME {
                short.add(FRAME);
                whole.add(FRAME);
            }
            let now = SimTime::from_nanos(number * 1_230_400);
            repeated += u32::from(short.repeating != Round::default());
            short.complete(together * FRAME, now);
            by_formulas(&mut whole, together * FRAME, now);
            assert_eq!(meaning(&short), meaning(&whole));
        }
        assert!(repeated > 10_000, "{repeated}");
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn a_round_is_what_the_formulas_say(
            rounds in prop::collection::vec(
                (0..6, 1..5_usize, prop_oneof![Just(FRAME), 60..9_000_u64], 0..400_000_000_u64),
                1..200
            )
        ) {
            let (mut short, mut whole) = (ByteQueueLimit::default(), ByteQueueLimit::default());
            let (mut ring, mut now) = (std::collections::VecDeque::new(), SimTime::ZERO);
            for (entering, leaving, length, wait) in rounds {
                for _ in 0..entering {
                    if short.open() {
                        ring.push_back(length);
                        short.add(length);
                        whole.add(length);
                    }
                }
                let leaving = ring.len().min(leaving);
                let all_are_few = leaving == ring.len() && (1..=2).contains(&leaving);
                let taken_together = all_are_few && short.complete_few(leaving);
                for length in ring.drain(..leaving) {
                    now += Span::from_nanos(wait);
                    by_formulas(&mut whole, length, now);
                    if !taken_together {
                        short.complete(length, now);
                    }
                }
                prop_assert_eq!(meaning(&short), meaning(&whole));
            }
        }
    }
}
