//! The send queue as the kernel cuts it into buffers, and the packets that segmentation offload makes of them.
//!
//! The TCP machine sends single segments; a script sees packets of several, with PSH where the kernel sets it. Nothing
//! here decides what is sent or when: only where packets begin and end.
//!
//! ```text
//! write:    appended to the last unsent buffer up to the size goal, then to new ones;
//!           size goal = largest multiple of mss in min(64 kB, max_window/2)
//!           PSH on the last buffer of a write, and on a full one that is more than max_window/2 past the last PSH
//! packet:   at most min(max(cwnd/2, 1), cwnd − in_flight, autosize) segments of one buffer; PSH if more than one
//! autosize: max((pacing_rate >> 10 + 64 kB >> (min_rtt >> tso_rtt_log)) / mss, min_tso_segs)
//! ```
//! [linux-6.12 tcp.c tcp_sendmsg_locked, tcp_push] [linux-6.12 tcp_output.c tcp_tso_autosize, tcp_cwnd_test,
//! tcp_mss_split_point, __tcp_transmit_skb, tcp_xmit_size_goal]

use std::collections::VecDeque;

/// Bytes of a packet before segmentation at most. [linux-6.12 netdevice.h GSO_LEGACY_MAX_SIZE]
const GSO_MAX: u64 = 65_536;
/// Room for headers in it. [linux-6.12 tcp.h MAX_TCP_HEADER]
const HEADERS_MAX: u64 = 321;
/// Windows up to this are not halved. [linux-6.12 tcp.h TCP_MSS_DEFAULT]
const SMALL_WINDOW: u64 = 536;

/// A buffer of the send queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Skb {
    start: u64,
    end: u64,
    push: bool,
}

/// What bounds a packet when it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    pub(crate) cwnd: u32,
    /// Segments in flight before the packet.
    pub(crate) in_flight: u32,
    pub(crate) autosize: u32,
}

/// Bytes `start..end` that leave as one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Train {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) push: bool,
}

/// The send queue.
#[derive(Clone, Debug)]
pub(crate) struct Skbs {
    mss: u64,
    offload: bool,
    max_window: u64,
    write_seq: u64,
    pushed_seq: u64,
    unsent: VecDeque<Skb>,
    sent: VecDeque<Skb>,
}

impl Skbs {
    pub(crate) fn new(mss: u64, offload: bool) -> Self {
        Skbs {
            mss,
            offload,
            max_window: 0,
            write_seq: 1,
            pushed_seq: 1,
            unsent: VecDeque::new(),
            sent: VecDeque::new(),
        }
    }

    /// The peer advertised this window.
    pub(crate) fn window_seen(&mut self, window: u64) {
        self.max_window = self.max_window.max(window);
    }

    fn half_window(&self) -> u64 {
        if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { self.max_window }
    }

    fn size_goal(&self) -> u64 {
        let most = (GSO_MAX - HEADERS_MAX).min(self.half_window().max(1));
        if self.offload { (most / self.mss * self.mss).max(self.mss) } else { self.mss }
    }

    /// Memory of all buffers: `overhead` beside the payload of each.
    pub(crate) fn memory(&self, overhead: u64) -> u64 {
        let of = |skb: &Skb| skb.end - skb.start + overhead;
        self.unsent.iter().chain(&self.sent).map(of).sum()
    }

    /// How many of `bytes` go into one buffer, the last unsent or a new one; 0 if there may be no new one because the
    /// memory of all has reached `limit`.
    pub(crate) fn room(&self, bytes: u64, limit: u64, overhead: u64) -> u64 {
        let goal = self.size_goal();
        let last = self.unsent.back().map_or(0, |skb| goal.saturating_sub(skb.end - skb.start));
        if last == 0 && self.memory(overhead) >= limit {
            return 0;
        }
        bytes.min(if last > 0 { last } else { goal })
    }

    /// What [`Skbs::room`] allowed was written.
    pub(crate) fn append(&mut self, bytes: u64) {
        let goal = self.size_goal();
        let full = self.unsent.back().is_none_or(|skb| skb.end - skb.start >= goal);
        if full {
            self.unsent.push_back(Skb { start: self.write_seq, end: self.write_seq, push: false });
        }
        self.write_seq += bytes;
        if let Some(last) = self.unsent.back_mut() {
            last.end = self.write_seq;
        }
        let full = self.unsent.back().is_some_and(|skb| skb.end - skb.start >= goal);
        if full && self.write_seq > self.pushed_seq + self.max_window / 2 {
            self.push_last();
        }
    }

    /// A write ends: its last byte is pushed, if it has not left.
    pub(crate) fn push_last(&mut self) {
        if let Some(last) = self.unsent.back_mut() {
            last.push = true;
            self.pushed_seq = self.write_seq;
        }
    }

    /// The packets of the bytes `start..end`, which leave now, new or again.
    pub(crate) fn leave(&mut self, start: u64, end: u64, quota: Quota) -> Vec<Train> {
        let first_new = self.unsent.front().map_or(self.write_seq, |skb| skb.start);
        let mut trains = Vec::new();
        if start < first_new {
            self.leave_again(start, end.min(first_new), &mut trains);
        }
        let mut quota = quota;
        let mut at = start.max(first_new);
        while at < end {
            let Some(train) = self.leave_new(at, end, &quota) else { break };
            quota.in_flight += (train.end - train.start).div_ceil(self.mss) as u32;
            at = train.end;
            trains.push(train);
        }
        trains
    }

    fn leave_new(&mut self, at: u64, end: u64, quota: &Quota) -> Option<Train> {
        let skb = self.unsent.front_mut()?;
        let share = (quota.cwnd / 2).max(1).min(quota.cwnd.saturating_sub(quota.in_flight).max(1));
        let segments = if self.offload { share.min(quota.autosize.max(1)) } else { 1 };
        let to = (at + u64::from(segments) * self.mss).min(skb.end).min(end);
        let mut part = Skb { start: at, end: to, push: false };
        if to == skb.end {
            part.push = skb.push;
            self.unsent.pop_front();
        } else {
            skb.start = to;
        }
        self.sent.push_back(part);
        Some(self.train(part))
    }

    fn leave_again(&mut self, start: u64, end: u64, trains: &mut Vec<Train>) {
        self.split(start);
        self.split(end);
        let again = self.sent.iter().filter(|skb| skb.start >= start && skb.end <= end);
        trains.extend(again.map(|skb| self.train(*skb)));
    }

    fn train(&self, skb: Skb) -> Train {
        let several = skb.end - skb.start > self.mss;
        Train { start: skb.start, end: skb.end, push: skb.push || several }
    }

    /// A buffer that has been sent is cut here, by a SACK or because only a part of it is sent again.
    pub(crate) fn split(&mut self, at: u64) {
        let Some(index) = self.sent.iter().position(|skb| skb.start < at && at < skb.end) else { return };
        let rest = Skb { start: at, ..self.sent[index] };
        let front = &mut self.sent[index];
        (front.end, front.push) = (at, false);
        self.sent.insert(index + 1, rest);
    }

    /// Everything before `una` is acknowledged.
    pub(crate) fn acked(&mut self, una: u64) {
        self.split(una);
        while self.sent.front().is_some_and(|skb| skb.end <= una) {
            self.sent.pop_front();
        }
    }
}

/// Segments of a packet by the pacing rate (bytes per second) and the least RTT (µs).
pub(crate) fn autosize(rate: u64, min_rtt_us: u64, mss: u64, rtt_log: u32) -> u64 {
    let distance = if rtt_log == 0 { u64::MAX } else { min_rtt_us >> rtt_log };
    let near = if distance < 32 { GSO_MAX >> distance } else { 0 };
    ((rate >> 10) + near).min(GSO_MAX) / mss.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Skbs {
        let mut skbs = Skbs::new(1000, true);
        skbs.window_seen(32_896);
        skbs
    }

    fn quota(cwnd: u32, in_flight: u32) -> Quota {
        Quota { cwnd, in_flight, autosize: 2 }
    }

    fn ends(trains: &[Train]) -> Vec<(u64, bool)> {
        trains.iter().map(|train| (train.end, train.push)).collect()
    }

    /// Writes `bytes`, of which everything up to `sent_to` leaves while they are copied.
    fn write(skbs: &mut Skbs, bytes: u64, sent_to: u64, quota: Quota) -> Vec<Train> {
        let mut trains = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let room = skbs.room(left, u64::MAX, 960);
            skbs.append(room);
            left -= room;
            if left == 0 {
                skbs.push_last();
            }
            let start = skbs.unsent.front().map_or(sent_to, |skb| skb.start);
            trains.extend(skbs.leave(start, sent_to.min(skbs.write_seq).max(start), quota));
        }
        trains
    }

    #[test]
    fn a_window_of_ten_leaves_as_pairs_with_push() {
        let left = write(&mut queue(), 10_000, 10_001, quota(10, 0));
        assert_eq!(ends(&left), [(2001, true), (4001, true), (6001, true), (8001, true), (10_001, true)]);
    }

    #[test]
    fn half_of_a_window_of_two_is_one_segment_without_push() {
        let left = write(&mut queue(), 200_000, 2001, quota(2, 0));
        assert_eq!(ends(&left), [(1001, false), (2001, false)]);
    }

    #[test]
    fn a_buffer_whose_front_has_left_takes_more_and_is_pushed_when_full() {
        let mut skbs = queue();
        write(&mut skbs, 200_000, 2001, quota(2, 0));
        // The first buffer took 16000, of which 2000 left, and then 2000 more: it ends at 18001.
        let single = Quota { cwnd: 99, in_flight: 0, autosize: 1 };
        assert_eq!(ends(&skbs.leave(2001, 18_001, single)).last(), Some(&(18_001, true)));
        assert_eq!(ends(&skbs.leave(18_001, 19_001, single)), [(19_001, false)]);
    }

    #[test]
    fn what_leaves_again_keeps_its_buffers_unless_a_sack_has_cut_them() {
        let mut skbs = queue();
        write(&mut skbs, 4000, 4001, quota(10, 0));
        skbs.split(3001);
        assert_eq!(ends(&skbs.leave(1, 3001, quota(10, 4))), [(2001, true), (3001, false)]);
        assert_eq!(ends(&skbs.leave(3001, 4001, quota(10, 4))), [(4001, true)]);
    }

    #[test]
    fn near_peers_get_large_packets() {
        assert_eq!(autosize(2_000_000, 100_000, 1000, 9), 1);
        assert_eq!(autosize(2_000_000, 100, 1000, 9), 65);
        assert_eq!(autosize(20_000_000, 100_000, 1000, 9), 19);
    }

    #[test]
    fn a_buffer_more_is_begun_as_long_as_memory_is_below_the_limit() {
        let mut skbs = queue();
        let mut taken = 0;
        loop {
            let room = skbs.room(100_000 - taken, 40_000, 960);
            if room == 0 {
                break;
            }
            skbs.append(room);
            taken += room;
        }
        assert_eq!(taken, 48_000);
    }
}
