//! Timestamps of sent data (`SO_TIMESTAMPING`), reported through the error queue.
//!
//! ```text
//! write:   the last buffer that holds its bytes is stamped; a later write into the same buffer takes its place
//! packet:  carries the stamp of the last stamped byte in it; others in it are lost
//! report:  when it enters the discipline (SCHED), when the device has it (SND), when its last byte is acknowledged
//! (ACK)
//! key:     offset of the last byte since the option was set
//! ```
//! [linux-6.12 tcp.c tcp_tx_timestamp, tcp_output.c tcp_fragment_tstamp, tcp_input.c tcp_ack_tstamp]
//! [linux-6.12 skbuff.c __skb_tstamp_tx, sock.c sock_set_timestamping]

use std::collections::VecDeque;

use tailback_script::message::StampKind;
use tailback_units::SimTime;

/// One entry of the error queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Report {
    pub(crate) kind: StampKind,
    pub(crate) at: SimTime,
    pub(crate) key: u32,
}

/// Flags of the option, `SOF_TIMESTAMPING_…`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct StampFlags {
    pub(crate) scheduled: bool,
    pub(crate) sent: bool,
    pub(crate) acknowledged: bool,
    /// Entries have times.
    pub(crate) times: bool,
    /// Entries have the number of their byte.
    pub(crate) keys: bool,
    /// Keys count from the next byte to be written, not from the first unacknowledged one.
    pub(crate) keys_from_write: bool,
    /// Entries hold no copy of the packet.
    pub(crate) stamp_only: bool,
}

/// A byte whose buffer is stamped.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// One past it.
    end: u64,
    flags: StampFlags,
}

/// The stamps of a socket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stamping {
    pub(crate) flags: StampFlags,
    /// What the first byte of key 0 is.
    origin: u64,
    marks: Vec<Mark>,
    reports: VecDeque<Report>,
}

impl Stamping {
    /// The option is set.
    pub(crate) fn set(&mut self, flags: StampFlags, acknowledged: u64, written: u64) {
        if flags.keys && !self.flags.keys {
            self.origin = if flags.keys_from_write { written } else { acknowledged };
        }
        self.flags = flags;
    }

    /// A write ended in the buffer `start..end`.
    pub(crate) fn written(&mut self, start: u64, end: u64) {
        let flags = self.flags;
        if flags.scheduled || flags.sent || flags.acknowledged {
            self.marks.retain(|mark| mark.end <= start || mark.end > end);
            self.marks.push(Mark { end, flags });
        }
    }

    /// The bytes `start..end` enter the discipline as one packet.
    pub(crate) fn scheduled(&mut self, start: u64, end: u64, now: SimTime) {
        let Some(mark) = self.only_last_within(start, end) else { return };
        if mark.flags.scheduled {
            self.report(StampKind::Scheduled, mark, now);
        }
    }

    /// They are with the device.
    pub(crate) fn sent(&mut self, start: u64, end: u64, now: SimTime) {
        let Some(mark) = self.only_last_within(start, end) else { return };
        if mark.flags.sent {
            self.report(StampKind::Sent, mark, now);
        }
    }

    /// Everything before `una` is acknowledged.
    pub(crate) fn acknowledged(&mut self, una: u64, now: SimTime) {
        let (done, left) = self.marks.iter().partition::<Vec<Mark>, _>(|mark| mark.end <= una);
        self.marks = left;
        for mark in done {
            if mark.flags.acknowledged {
                self.report(StampKind::Acknowledged, mark, now);
            }
        }
    }

    /// The oldest entry of the error queue.
    pub(crate) fn take(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// What the error queue holds.
    pub(crate) fn reported(&self) -> usize {
        self.reports.len()
    }

    /// The error queue holds something.
    pub(crate) fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    fn only_last_within(&mut self, start: u64, end: u64) -> Option<Mark> {
        let within = |mark: &Mark| start < mark.end && mark.end <= end;
        let last = self.marks.iter().copied().filter(within).max_by_key(|mark| mark.end)?;
        self.marks.retain(|mark| !within(mark) || mark.end == last.end);
        Some(last)
    }

    fn report(&mut self, kind: StampKind, mark: Mark, at: SimTime) {
        let key = if self.flags.keys { (mark.end - 1 - self.origin) as u32 } else { 0 };
        self.reports.push_back(Report { kind, at, key });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Stamping {
        let mut stamping = Stamping::default();
        let flags = StampFlags {
            scheduled: true,
            sent: true,
            acknowledged: true,
            times: true,
            keys: true,
            ..StampFlags::default()
        };
        stamping.set(flags, 1, 1);
        stamping
    }

    fn reported(stamping: &mut Stamping) -> Vec<(StampKind, u32)> {
        std::iter::from_fn(|| stamping.take()).map(|report| (report.kind, report.key)).collect()
    }

    #[test]
    fn a_timestamp_is_that_of_the_packet_with_its_byte() {
        let mut stamping = all();
        stamping.written(1, 2001);
        stamping.scheduled(1, 1001, SimTime::ZERO);
        assert_eq!(reported(&mut stamping), []);
        stamping.scheduled(1001, 2001, SimTime::ZERO);
        stamping.sent(1001, 2001, SimTime::ZERO);
        stamping.acknowledged(2000, SimTime::ZERO);
        assert_eq!(reported(&mut stamping), [(StampKind::Scheduled, 1999), (StampKind::Sent, 1999)]);
        stamping.acknowledged(2001, SimTime::ZERO);
        assert_eq!(reported(&mut stamping), [(StampKind::Acknowledged, 1999)]);
    }

    #[test]
    fn only_the_last_of_several_timestamps_in_a_packet_is_reported() {
        let mut stamping = all();
        stamping.written(1, 1001);
        stamping.written(1001, 2001);
        stamping.sent(1, 2001, SimTime::ZERO);
        stamping.acknowledged(2001, SimTime::ZERO);
        assert_eq!(reported(&mut stamping), [(StampKind::Sent, 1999), (StampKind::Acknowledged, 1999)]);
    }

    #[test]
    fn a_later_write_into_the_same_buffer_moves_the_timestamp() {
        let mut stamping = all();
        stamping.written(1, 501);
        stamping.written(1, 801);
        stamping.sent(1, 501, SimTime::ZERO);
        stamping.sent(501, 801, SimTime::ZERO);
        assert_eq!(reported(&mut stamping), [(StampKind::Sent, 799)]);
    }
}
