//! The size table of a discipline, `stab`: the lengths that it and its children see instead of those of the frames.
//!
//! `tc` computes a table of `tsize` lengths for multiples of a cell of 2^c bytes, the least c for which `mtu` is inside:
//! entry i is max((i + 1) · 2^c, `mpu`), on ATM whole cells, 53 bytes for 48 of data. The kernel adds `overhead` to the
//! length of a packet and takes the entry of the cell in which it ends; beyond the table, sums of entries. With neither
//! `mpu` nor ATM there is no table, and only `overhead` is added.       [tc-stab(8)] [linux-6.12 sch_api.c stab]
//!
//! The table sees an skb as a whole, with one header; the segments that a device makes of it are measured one by one.
//! Deviation: a packet that finds the device idle is enqueued, too, and never bypasses the discipline.

use tailback_packet::{Packet, QueueLength};
use tailback_units::SimTime;

use crate::wrapped::inner_answers;
use crate::{Backlog, Bypassed, Context, Counters, Dequeued, Enqueued, Part, Peeked, Qdisc};

/// The values of a size table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeTableSpec {
    /// Bytes added to each packet; may be negative.
    pub overhead: i32,
    /// The least length in the table.
    pub mpu: u32,
    /// The length that has to be inside the table.
    pub mtu: u32,
    /// The number of entries.
    pub entries: u32,
    /// Lengths are whole cells of ATM.
    pub in_cells: bool,
}

/// The largest length that an entry holds, in units of a power of two. [linux-6.12 struct qdisc_size_table]
const LARGEST_ENTRY: u32 = u16::MAX as u32;

/// The lengths of packets as a discipline sees them.
struct SizeTable {
    overhead: i64,
    cell_log: u32,
    /// Empty if only the overhead is added.
    lengths: Vec<u32>,
}

impl SizeTable {
    fn new(spec: &SizeTableSpec) -> Self {
        let needed = spec.in_cells || spec.mpu > 0;
        let entries = if needed { spec.entries.max(1) } else { 0 };
        let cell_log = (0..32).find(|&log| spec.mtu >> log < entries.max(1)).unwrap_or(0);
        let exact: Vec<u32> = (1..=entries).map(|entry| spec.length_of(entry << cell_log)).collect();
        let largest = exact.last().copied().unwrap_or(0);
        let unit = (0..16).find(|&log| largest >> log <= LARGEST_ENTRY).unwrap_or(0);
        let lengths = exact.into_iter().map(|length| length >> unit << unit).collect();
        SizeTable { overhead: i64::from(spec.overhead), cell_log, lengths }
    }

    /// The length of a packet whose buffer has `length` bytes.
    fn length(&self, length: u32) -> u32 {
        let length = i64::from(length) + self.overhead;
        let Some(last) = self.lengths.last() else { return length.max(1) as u32 };
        let cell = ((length - 1).max(0) >> self.cell_log) as usize;
        let whole = (cell / self.lengths.len()) as u32;
        (last * whole + self.lengths[cell % self.lengths.len()]).max(1)
    }
}

impl SizeTableSpec {
    fn length_of(&self, length: u32) -> u32 {
        let length = length.max(self.mpu);
        if self.in_cells { length.div_ceil(48) * 53 } else { length }
    }
}

/// A discipline with a size table.
pub struct Sized {
    table: SizeTable,
    inner: Box<dyn Qdisc>,
}

impl Sized {
    /// `inner`, which sees packets with the lengths of a size table.
    pub fn new(spec: &SizeTableSpec, inner: Box<dyn Qdisc>) -> Self {
        Sized { table: SizeTable::new(spec), inner }
    }
}

impl Qdisc for Sized {
    fn enqueue(&mut self, mut packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        packet.queue_length = QueueLength::of(self.table.length(packet.buffer_length()));
        let before = context.effects.dropped.len();
        let answer = self.inner.enqueue(packet, context);
        restore_dropped(context, before);
        answer
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        let before = context.effects.dropped.len();
        let mut found = self.inner.dequeue(context);
        restore_dropped(context, before);
        if let Dequeued::Packet(packet) = &mut found {
            packet.queue_length = QueueLength::NONE;
        }
        found
    }

    fn has_size_table(&self) -> bool {
        true
    }

    fn under_size_table(&mut self) -> Option<&mut dyn Qdisc> {
        Some(self.inner.as_mut())
    }

    fn restarts_sojourns(&self) -> bool {
        self.inner.restarts_sojourns()
    }

    inner_answers!();
}

/// Packets that a discipline drops have the lengths of their frames again, for whoever counts them.
fn restore_dropped(context: &mut Context<'_>, before: usize) {
    for (packet, _) in &mut context.effects.dropped[before..] {
        packet.queue_length = QueueLength::NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rig, packet};

    fn table(overhead: i32, mpu: u32, in_cells: bool) -> SizeTable {
        SizeTable::new(&SizeTableSpec { overhead, mpu, mtu: 2047, entries: 512, in_cells })
    }

    #[test]
    fn on_atm_a_packet_takes_whole_cells() {
        // 40 bytes with an overhead of 44 are two cells, 1514 are 33: 1558 ends in the cell of 1560.
        let atm = table(44, 0, true);
        assert_eq!((atm.cell_log, atm.length(40), atm.length(1514)), (2, 2 * 53, 33 * 53));
    }

    #[test]
    fn without_cells_and_a_minimum_only_the_overhead_is_added() {
        let plain = table(26, 0, false);
        assert_eq!((plain.length(1514), table(-14, 0, false).length(1514)), (1540, 1500));
        assert_eq!(table(-64, 0, false).length(40), 1);
    }

    #[test]
    fn lengths_are_those_of_cells_of_four_bytes_and_at_least_the_minimum() {
        let small = table(0, 84, false);
        assert_eq!((small.length(42), small.length(85), small.length(88)), (84, 88, 88));
    }

    #[test]
    fn beyond_the_table_lengths_are_sums_of_entries() {
        let atm = table(0, 0, true);
        let whole = atm.lengths[511];
        assert_eq!((whole, atm.length(2048), atm.length(2049)), (43 * 53, whole, whole + atm.lengths[0]));
    }

    #[test]
    fn lengths_of_a_long_table_are_in_units_that_fit_16_bits() {
        let long = SizeTable::new(&SizeTableSpec {
            overhead: 0,
            mpu: 1,
            mtu: 262_143,
            entries: 512,
            in_cells: false,
        });
        assert_eq!((long.cell_log, long.lengths[511], long.lengths[0]), (9, 262_144 / 8 * 8, 512));
    }

    #[test]
    fn a_discipline_counts_the_lengths_of_its_table_and_hands_on_the_packet_unchanged() {
        let mut rig = Rig::of("bfifo", &[("limit", 4000)]);
        let spec = SizeTableSpec { overhead: 44, mpu: 0, mtu: 2047, entries: 512, in_cells: true };
        rig.qdisc = Box::new(Sized::new(&spec, rig.qdisc));
        for _ in 0..3 {
            rig.enqueue(packet(0, 1514));
        }
        assert_eq!((rig.qdisc.backlog().bytes, rig.effects.dropped.len()), (2 * 33 * 53, 1));
        let Dequeued::Packet(first) = rig.dequeue() else { panic!("no packet") };
        assert_eq!(first.frame_length(), 1514);
        assert_eq!(rig.qdisc.counters().sent_bytes, 33 * 53);
    }
}
