//! Completions of a radio that come late: its senders are credited for several packets at once.
//!
//! A report comes when nothing has left for `tx_quiet`, at most `tx_longest` after the first packet left.

use tailback_packet::SocketId;
use tailback_units::{SimTime, Span};

/// What has left a radio, and is not yet reported.
#[derive(Debug)]
pub(crate) struct Completions {
    quiet: Span,
    longest: Span,
    held: Vec<(SocketId, u32)>,
    first: SimTime,
    due: SimTime,
}

impl Completions {
    /// With a `quiet` of zero each is reported at once.
    pub(crate) fn new(quiet: Span, longest: Span) -> Self {
        Completions { quiet, longest, held: Vec::new(), first: SimTime::NEVER, due: SimTime::NEVER }
    }

    pub(crate) fn are_reported_at_once(&self) -> bool {
        self.quiet == Span::ZERO
    }

    /// Holds the credit of a packet that left `now`; returns when to report, unless a report is awaited.
    pub(crate) fn hold(&mut self, credit: (SocketId, u32), now: SimTime) -> Option<SimTime> {
        let awaited = !self.held.is_empty();
        if !awaited {
            self.first = now;
        }
        self.held.push(credit);
        self.due = (now + self.quiet).min(self.first + self.longest);
        (!awaited).then_some(self.due)
    }

    /// The credits, if they are due; else when to ask again.
    pub(crate) fn report(&mut self, now: SimTime) -> Result<std::vec::Drain<'_, (SocketId, u32)>, SimTime> {
        if now < self.due { Err(self.due) } else { Ok(self.held.drain(..)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDIT: (SocketId, u32) = (SocketId(3), 1_000);

    fn us(micros: u64) -> SimTime {
        SimTime::from_nanos(micros * 1_000)
    }

    fn reported(completions: &mut Completions, at: u64) -> Result<usize, SimTime> {
        completions.report(us(at)).map(|credits| credits.len())
    }

    #[test]
    fn a_report_comes_when_nothing_has_left_for_a_while_and_is_asked_for_once() {
        let mut completions = Completions::new(Span::from_micros(300), Span::from_micros(750));
        assert_eq!(completions.hold(CREDIT, us(100)), Some(us(400)));
        assert_eq!(completions.hold(CREDIT, us(250)), None);
        assert_eq!(reported(&mut completions, 400), Err(us(550)));
        assert_eq!(reported(&mut completions, 550), Ok(2));
        assert_eq!(completions.hold(CREDIT, us(600)), Some(us(900)));
    }

    #[test]
    fn packets_that_leave_one_after_the_other_delay_the_report_only_so_long() {
        let mut completions = Completions::new(Span::from_micros(300), Span::from_micros(750));
        let asked: Vec<_> = (0..4).filter_map(|i| completions.hold(CREDIT, us(200 * i))).collect();
        assert_eq!(asked, [us(300)]);
        assert_eq!(reported(&mut completions, 700), Err(us(750)));
        assert_eq!(reported(&mut completions, 750), Ok(4));
    }
}
