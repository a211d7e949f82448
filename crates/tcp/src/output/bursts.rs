//! Bursts: the full segments that an ACK clocks out. They would all pass the same send checks, so these are done once, and
//! each segment is only checked against the small queue, written and recorded. A paced flow may send a burst too: each of
//! its segments waits for its departure time, which its host passes if nothing else happens until then.
//!
//! A pass goes one of these ways. Only `PendingWork::end` ends it, and what that returns only `end_pass` takes, so that no
//! way leaves out what follows a pass:
//!
//! ```text
//! begin_pass ─┬─ Otherwise                          the loop of output.rs goes on, without a burst
//!             ├─ Ended ── end_if_small_queue_holds  the first segment is held by the small queue,
//!             │           end_if_held_at_once       or by pacing or cwnd
//!             └─ Burst ── write, then sent_of_burst, for each segment; after the last of them
//!                         ├─ end_full               cwnd is full, which was known when the burst was counted
//!                         └─ end_burst              otherwise: end_if_refused looks, or the loop goes on
//! ```
//!
//! In a paced burst the host does what a pacing timer would, for otherwise every segment of a paced flow were an alarm of
//! its own. Each call returns what the next one takes, so that the compiler checks their order:
//!
//! ```text
//! begin_paced_burst → PacedBurst ── send the socket's packets ── end_paced_burst(PacedBurst)
//!                                    └─ pauses → Pause ─┬─ paused_until(&Pause): the host moves its clock there
//!                                                       └─ leave_to_pacing_timer(Pause), if it has something else to do
//! ```

use tailback_cc::PacingStatus;
use tailback_units::SimTime;

use super::Outgoing;
use crate::info::HeldBy;
use crate::queue::{SentSegment, Tags};
use crate::sender::Sender;
use crate::small_queue::Urgency;
use crate::state::gate::{Burst, NewKind, Pass, Pending, Transmitted};
use crate::tso::Offer;

/// How a pass has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PassStart {
    /// With a burst.
    Burst,
    /// It has ended: the first segment is held.
    Ended,
    /// Not yet: [`Sender::next`] begins or continues it, if there is one.
    Otherwise,
}

impl Sender {
    /// An ACK usually clocks out some full segments, each of which would pass the same checks: counts them once, when the
    /// pass begins. There is no burst while lost segments are to be sent again, or if anything must be looked at for each of
    /// them. If the first segment is held by pacing, cwnd or the small queue, the pass ends at once.
    #[inline(always)]
    pub(crate) fn begin_pass(&mut self) -> PassStart {
        let work = &self.gate.work;
        let Some(pass) = work.pass().filter(|pass| pass.obeys_cwnd()) else { return PassStart::Otherwise };
        if work.progress.begun || !self.sends_routinely() {
            return PassStart::Otherwise;
        }
        if self.gate.work.precedes_new_data() && !self.ends_retransmissions_at_once() {
            return PassStart::Otherwise;
        }
        if self.flow.pacing_status == PacingStatus::None && self.may_begin_burst(pass) {
            self.count_burst();
            if self.gate.work.progress.burst.left > 0 {
                let looks = !self.buffer.needs_no_check(self.flow.now);
                let progress = &mut self.gate.work.progress;
                (progress.begun, progress.burst.checks_space) = (true, looks);
                return match self.gate.work.continues_burst(&self.below, &self.flow) {
                    true => PassStart::Burst,
                    false if self.end_if_small_queue_holds(pass) => PassStart::Ended,
                    false => PassStart::Otherwise,
                };
            }
        }
        if self.end_if_held_at_once(pass) { PassStart::Ended } else { PassStart::Otherwise }
    }

    /// Ends a pass at once if the small queue, which is the last check, holds the first segment, which passes all others.
    #[inline(never)]
    fn end_if_small_queue_holds(&mut self, pass: Pass) -> bool {
        let ends = self.held_by_small_queue(self.flow.mss, Urgency::NewData);
        if ends {
            debug_assert!(self.scoreboard.in_flight() < self.window.cwnd.0, "cwnd is looked at before");
            self.end_held(pass, HeldBy::SmallQueue, self.gate.work.progress.cwnd_limited);
        }
        ends
    }

    /// A segment that was not one of a burst has been sent, for example the first in flight, which arms the timer: those
    /// behind it may be a burst.
    #[inline(always)]
    pub(super) fn begin_burst_behind(&mut self) {
        let work = &self.gate.work;
        let Some(pass) = work.pass().filter(|_| !work.progress.stopped && !work.precedes_new_data()) else {
            return;
        };
        let routine = self.flow.pacing_status == PacingStatus::None && self.sends_routinely();
        if routine
            && self.has_unsent()
            && self.may_begin_burst(pass)
            && self.buffer.needs_no_check(self.flow.now)
        {
            self.count_burst();
        }
    }

    /// Nothing must be looked at for each segment, except for pacing and the small queue, if the flow sends routinely.
    fn may_begin_burst(&self, pass: Pass) -> bool {
        if pass != Pass::Normal {
            return false;
        }
        debug_assert!(!self.gate.work.precedes_new_data(), "retransmissions went first");
        self.scoreboard.in_flight() > 0 && !self.arms_timer_when_sent()
    }

    /// A paced flow has sent a segment, and its host passes the time to the next departure: counts the segments that only
    /// pacing holds. The pass continues with them; what the end of a pass for each of them would do is done for each
    /// (`sent_of_paced_burst`), or once at the end if only the last time matters. False: there is no such segment.
    #[inline(never)]
    pub(super) fn begin_paced_burst(&mut self, pass: Pass) -> bool {
        let held = self.flow.departure.since(self.flow.now);
        // Whatever timer the end of the pass arms, it does not expire within a jiffy.
        let paced =
            self.flow.pacing_status == PacingStatus::Needed && !held.is_zero() && held <= self.flow.jiffy;
        let calm = self.ends_with_loss_probe() && self.scoreboard.lost_out() <= self.scoreboard.retrans_out();
        let may_begin = self.may_begin_burst(pass) && self.buffer.needs_no_check(self.flow.now);
        if !(paced && calm && self.sends_routinely() && may_begin) {
            return false;
        }
        self.count_burst();
        let begins = self.gate.work.progress.burst.left > 0;
        if begins {
            self.clocks.update(self.is_busy(), false, self.flow.now);
            self.validate_cwnd(false);
        }
        begins
    }

    /// The segments that cwnd, the peer's window and the data allow.
    #[inline(always)]
    fn count_burst(&mut self) {
        let mss = u64::from(self.flow.mss);
        let by_cwnd = u64::from(self.window.cwnd.0.saturating_sub(self.scoreboard.in_flight()));
        // The segment with the end of a write carries PSH.
        let before_mark = self.stream.push_marks.front().map_or(u64::MAX, |mark| mark - 1);
        let end = self.stream.write_seq.min(self.peer.window_end(self.flow.snd_una)).min(before_mark);
        let bytes = end.saturating_sub(self.flow.snd_nxt);
        let left = if by_cwnd * mss <= bytes { by_cwnd } else { bytes / mss };
        let fills_cwnd = by_cwnd * mss < bytes && self.flow.pacing_status == PacingStatus::None;
        if left > 0 {
            let truesize = u64::from(self.settings.truesize(self.flow.mss));
            let small_queue_limit = self.small_queue_limit(truesize, Urgency::NewData);
            self.gate.work.progress.burst =
                Burst { left: left as u32, fills_cwnd, checks_space: false, small_queue_limit };
        }
    }

    /// The next segment of a burst leaves.
    #[inline(always)]
    pub(crate) fn leave_of_burst(&mut self) -> Outgoing {
        let (seq, length) = (self.flow.snd_nxt, self.flow.mss);
        debug_assert_eq!(self.next_segment(Pass::Normal), Ok(Offer { length, fin: false }));
        self.flow.last_sent = self.flow.now;
        self.flow.take_departure();
        let truesize = self.count_sent(length, 1);
        Outgoing {
            seq,
            length,
            mss: length,
            truesize,
            push: false,
            fin: false,
            departure: self.flow.departure,
        }
    }

    /// As [`Sender::sent_new`] for a segment of a burst, which needs fewer steps. True if more of the burst is left.
    #[inline(always)]
    pub(crate) fn sent_of_burst(&mut self) -> bool {
        let stamp = self.stamp(self.flow.departure);
        let (seq, length) = (self.flow.snd_nxt, self.flow.mss);
        self.flow.snd_nxt = seq + u64::from(length);
        self.scoreboard.send_alone(SentSegment::new(
            (seq, length),
            Tags::default(),
            self.below.transmitted,
            &stamp,
        ));
        if self.flow.pacing_status != PacingStatus::None {
            self.sent_of_paced_burst();
        }
        if self.gate.work.progress.burst.checks_space {
            self.check_space_after_first();
        }
        let progress = &mut self.gate.work.progress;
        progress.sent += 1;
        progress.burst.left -= 1;
        if progress.burst.left > 0 {
            return true;
        }
        match std::mem::take(&mut progress.burst).fills_cwnd {
            true => self.end_full(),
            false => self.end_burst(),
        }
        false
    }

    /// Ends the loop after a burst that has filled cwnd: as [`Sender::end_if_refused`], which would find that.
    #[inline(always)]
    fn end_full(&mut self) {
        let work = &self.gate.work;
        debug_assert!(
            work.pass() == Some(Pass::Normal) && !work.precedes_new_data() && !work.progress.stopped
        );
        debug_assert!(
            !self.gate.held_by_pacing(&self.flow) && self.scoreboard.in_flight() == self.window.cwnd.0
        );
        debug_assert!(self.has_unsent() && !self.stream.fin_queued);
        self.end_held(Pass::Normal, HeldBy::Cwnd, true);
    }

    #[inline(never)]
    fn end_burst(&mut self) {
        self.end_if_refused();
    }

    /// Transmissions make no room, so it is looked for once.
    #[inline(never)]
    fn check_space_after_first(&mut self) {
        self.gate.work.progress.burst.checks_space = false;
        self.check_space_after_sending();
    }

    /// What depends on the time of each segment: the next departure, and when cwnd and the send buffer were last looked at.
    #[inline(always)]
    fn sent_of_paced_burst(&mut self) {
        // It has left exactly at its departure time.
        self.space_after(self.flow.mss, self.flow.departure);
        self.still_has_no_space();
        // The pass would have ended with the segment before.
        if self.flow.ca_state.reduces_cwnd() {
            self.recovery.prr.sent(self.gate.work.progress.sent);
        }
        self.gate.work.progress.sent = 0;
        if self.gate.work.progress.burst.left > 1 {
            self.validate_cwnd(false);
        }
    }

    /// The device has refused a segment of a burst, or has dropped another one of its flow for it: the steps of any other
    /// segment follow.
    #[cold]
    pub(crate) fn refused_of_burst(&mut self, outcome: Transmitted) {
        debug_assert!(
            self.gate.quiet_until == SimTime::ZERO,
            "the pass would have ended before this segment"
        );
        self.gate.work.progress.burst = Burst::default();
        let (tags, before, kind) = (Tags::default(), self.flow.departure, NewKind::Segments);
        self.gate.work.pending = Some(Pending::New { length: self.flow.mss, tags, before, kind });
        self.handed_over(outcome);
    }

    /// The host does not pass the time of a paced burst: the pass ends, and the pacing timer runs.
    #[inline(never)]
    pub(crate) fn end_paced_burst(&mut self) {
        self.gate.quiet_until = SimTime::ZERO;
        self.gate.work.progress.burst = Burst::default();
        self.end_if_refused();
    }
}
