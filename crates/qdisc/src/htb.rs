//! `htb`: hierarchical token bucket: a tree of classes, each with its own rate, that borrow from their parents up to
//! their ceilings.
//!
//! Each class has two buckets, in ns of sending time: T ≤ burst/rate and C ≤ cburst/ceil, full at the start.
//! mode:    C + d < 0 → can't send · else T + d < 0 → may borrow · else can send      (d = time since the checkpoint)
//! dequeue: from the leaves (level 0) up, at the first level where a class can send for a backlogged leaf below it
//!          through classes that may borrow; there by lowest `prio`, then DRR by `quantum` among the leaves
//! charge:  C of the leaf and of its ancestors; T of the lender and of its ancestors, not of the classes that borrowed
//! wake:    exactly when a bucket in debt reaches 0; debt is at most 60 s; the cost of a packet is in whole ns
//!
//! A class sends while its tokens are ≥ 0 and goes into debt by one packet, so burst 1600 lets two full frames through.
//! Default burst = cburst = rate / 10⁹ s⁻¹ + `mtu`; `tc` passes bucket sizes in ticks of 64 ns, rounded up. Default
//! quantum = rate / `r2q`, clamped to 1000 … 200,000 B. Packets that no filter matches go to the class `default`, or
//! without one to the direct queue, which is not shaped. `overlimits` counts the changes to *can't send*.
//! [linux-6.12 sch_htb.c] [tc q_htb.c]
//!
//! `htb rate R | leaf` has one class, the default one. Deviations: at least one class is required (`tc` accepts none,
//! which shapes nothing); no `offload`; all mode changes that are due happen at once (Linux stops after 2 jiffies).

mod parameters;
mod tree;

use tailback_packet::Packet;
use tailback_units::{Bytes, ParameterError, Parameters, Rate, SimTime, Span};

use crate::fifo::Fifo;
use crate::framing::Framing;
use crate::ledger::Ledger;
use crate::{
    Attachment, Backlog, Context, Counters, Dequeued, Enqueued, Filter, Inner, Part, PartKind, Qdisc, Row,
    filtered,
};

use parameters::{CLASS_PARAMETERS, PARAMETERS, derive};
use tree::{only_class, tree};

pub(crate) const ROW: Row = Row {
    name: "htb",
    summary: "token-bucket shaper: a tree of classes that borrow from their parents",
    source: include_str!("htb.rs"),
    parameters: PARAMETERS,
    classful: true,
    classes: Some(CLASS_PARAMETERS),
    derive,
    build,
};

/// `tc` passes bucket sizes in 32-bit ticks of this many nanoseconds, as a shift.
const TICK_SHIFT: u32 = 6;
/// Limit of debt and credit in ns.
const HORIZON: i64 = 60_000_000_000;
/// Levels of the tree: leaves are at 0, classes without a parent but with children at the top.
const LEVELS: usize = 8;
const PRIORITIES: usize = 8;

struct Htb {
    /// Parents before their children, siblings in the order of their numbers.
    classes: Vec<Node>,
    filters: Vec<Filter>,
    /// Index of the class `default`; `None`: the direct queue.
    default: Option<usize>,
    direct: Fifo,
    direct_limit: u32,
    direct_packets: u64,
    /// Levels that have a class, lowest first.
    levels: Vec<usize>,
    /// The next class, by its number, among those of a level that can send.
    turns: [[u16; PRIORITIES]; LEVELS],
    ledger: Ledger,
}

/// A class.
struct Node {
    minor: u16,
    parent: Option<usize>,
    children: Vec<usize>,
    level: usize,
    rate: Bucket,
    ceil: Bucket,
    framing: Framing,
    checkpoint: SimTime,
    mode: Mode,
    /// When the mode changes, unless it is [`Mode::CanSend`].
    until: SimTime,
    /// Bit p: a backlogged leaf of priority p may send through this class.
    feeds: u8,
    /// The next child, by its number, for each priority.
    turns: [u16; PRIORITIES],
    lended: u64,
    borrowed: u64,
    leaf: Option<Leaf>,
}

/// State of a leaf.
struct Leaf {
    prio: usize,
    quantum: i64,
    /// Deficit at each level that lends.
    deficit: [i64; LEVELS],
    child: Box<dyn Qdisc>,
    /// Its child returned no packet, in this call or until a later time.
    blocked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    CanSend,
    MayBorrow,
    CantSend,
}

/// Tokens in nanoseconds of sending time.
struct Bucket {
    rate: Rate,
    depth: i64,
    tokens: i64,
    /// Length and cost of the last packet, to avoid a division for the next one of that length.
    last: (u32, i64),
}

/// What a leaf returned in its turn.
enum Taken {
    Packet(Box<Packet>),
    Waits(SimTime),
    Nothing,
}

fn build(given: &Parameters, device: &Attachment, inner: Inner) -> Result<Box<dyn Qdisc>, ParameterError> {
    let mut default = given.require("default")? as u16;
    let mut classes = inner.classes;
    if classes.is_empty() {
        default = 1;
        classes.push(only_class(given, inner.child)?);
    }
    let nodes = tree(classes, given.require("r2q")?, device)?;
    let default = nodes.iter().position(|node| node.minor == default && node.leaf.is_some());
    let levels = (0..LEVELS).filter(|&level| nodes.iter().any(|node| node.level == level)).collect();
    Ok(Box::new(Htb {
        default,
        levels,
        classes: nodes,
        filters: inner.filters,
        direct: Fifo::default(),
        direct_limit: given.require("direct_qlen")? as u32,
        direct_packets: 0,
        turns: [[0; PRIORITIES]; LEVELS],
        ledger: Ledger::default(),
    }))
}

impl Qdisc for Htb {
    #[inline]
    fn enqueue(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        let Some(place) = self.classify(&packet) else { return self.enqueue_direct(packet, context) };
        self.ledger.arrive(&packet);
        let before = context.dropped.len();
        let node = &mut self.classes[place];
        let leaf = node.leaf.as_mut().expect("packets are classified to leaves");
        let answer = leaf.child.enqueue(packet, context);
        self.ledger.drop_all(&context.dropped[before..]);
        if node.feeds == 0 {
            node.refresh_leaf();
        }
        self.assert_ledger();
        answer
    }

    #[inline]
    fn closed_until(&self) -> SimTime {
        match self.classes.as_slice() {
            // No packet goes past the class: the direct queue is for packets of no class.
            [only] if only.mode != Mode::CanSend && self.default.is_some() && !self.ledger.is_empty() => {
                only.until
            }
            _ => SimTime::ZERO,
        }
    }

    #[inline]
    fn dequeue(&mut self, context: &mut Context<'_>) -> Dequeued {
        if self.ledger.is_empty() {
            return Dequeued::Empty;
        }
        if self.direct.head().is_some() {
            return self.dequeue_direct();
        }
        let answer = match self.classes.len() {
            1 => self.dequeue_only_class(context),
            _ => self.dequeue_class(context),
        };
        self.assert_ledger();
        answer
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn counters(&self) -> Counters {
        self.ledger.counters()
    }

    fn parts(&self) -> Vec<Part> {
        (0..self.classes.len()).map(|place| self.part(place)).collect()
    }

    fn own_counters(&self, show: &mut dyn FnMut(&'static str, u64)) {
        let total = |of: fn(&Node) -> u64| self.classes.iter().map(of).sum();
        show("lended", total(|node| node.lended));
        show("borrowed", total(|node| node.borrowed));
        // Kernels have not counted giants since they charge packets exactly.
        show("giants", 0);
        show("direct_packets_stat", self.direct_packets);
    }

    fn own_levels(&self, show: &mut dyn FnMut(&'static str, i64)) {
        if let Some(node) = self.classes.first() {
            show("tokens", node.rate.tokens >> TICK_SHIFT);
            show("ctokens", node.ceil.tokens >> TICK_SHIFT);
        }
    }

    fn kind(&self) -> &'static str {
        ROW.name
    }

    fn visit_children(&self, show: &mut dyn FnMut(&dyn Qdisc)) {
        for leaf in self.classes.iter().filter_map(|node| node.leaf.as_ref()) {
            show(leaf.child.as_ref());
        }
    }
}

impl Htb {
    fn part(&self, place: usize) -> Part {
        let node = &self.classes[place];
        let parent = node.parent.map_or(0, |parent| self.classes[parent].minor);
        let (sent, backlog) = self.passed(place);
        let mut counters = crate::class_counters(&sent, &backlog).to_vec();
        counters.extend([
            ("lended", node.lended as i64),
            ("borrowed", node.borrowed as i64),
            ("giants", 0),
            ("tokens", node.rate.tokens >> TICK_SHIFT),
            ("ctokens", node.ceil.tokens >> TICK_SHIFT),
        ]);
        Part { kind: PartKind::Class { minor: node.minor, parent, leaf: node.leaf.is_some() }, counters }
    }

    /// Counters and backlog of all leaves below a class.
    fn passed(&self, place: usize) -> (Counters, Backlog) {
        let node = &self.classes[place];
        if let Some(leaf) = &node.leaf {
            return (leaf.child.counters(), leaf.child.backlog());
        }
        let mut sum = (Counters::default(), Backlog::default());
        for (sent, backlog) in node.children.iter().map(|&child| self.passed(child)) {
            sum.0.sent_bytes += sent.sent_bytes;
            sum.0.sent_packets += sent.sent_packets;
            sum.0.dropped += sent.dropped;
            sum.1.packets += backlog.packets;
            sum.1.bytes += backlog.bytes;
        }
        sum
    }

    #[inline]
    fn classify(&self, packet: &Packet) -> Option<usize> {
        if self.filters.is_empty() {
            return self.default;
        }
        let chosen = filtered(&self.filters, packet);
        let leaf = |minor| self.classes.iter().position(|node| node.minor == minor && node.leaf.is_some());
        chosen.and_then(leaf).or(self.default)
    }

    #[cold]
    fn enqueue_direct(&mut self, packet: Box<Packet>, context: &mut Context<'_>) -> Enqueued {
        self.ledger.arrive(&packet);
        if self.direct.backlog().packets < self.direct_limit {
            self.direct_packets += 1;
            return self.direct.append(packet, context);
        }
        self.ledger.drop(&packet);
        self.direct.tail_drop(packet, context)
    }

    #[cold]
    fn dequeue_direct(&mut self) -> Dequeued {
        let answer = self.direct.take();
        if let Dequeued::Packet(packet) = &answer {
            self.ledger.leave(packet);
        }
        answer
    }

    /// The same for a single class, which needs no selection.
    #[inline]
    fn dequeue_only_class(&mut self, context: &mut Context<'_>) -> Dequeued {
        let only = &mut self.classes[0];
        if only.mode != Mode::CanSend {
            if only.until <= context.now {
                self.ledger.overlimits += u64::from(only.change_mode(context.now));
            }
            if only.mode != Mode::CanSend {
                return Dequeued::NotBefore(only.until);
            }
        }
        let before = context.dropped.len();
        let leaf = only.leaf.as_mut().expect("an only class is a leaf");
        let answer = leaf.child.dequeue(context);
        self.ledger.drop_all(&context.dropped[before..]);
        match answer {
            Dequeued::Packet(packet) => {
                self.ledger.leave(&packet);
                self.ledger.overlimits += u64::from(only.charge(0, packet.frame_length(), context.now));
                Dequeued::Packet(packet)
            }
            Dequeued::NotBefore(at) => self.nothing_now(at),
            Dequeued::Empty => self.nothing_now(SimTime::NEVER),
        }
    }

    fn dequeue_class(&mut self, context: &mut Context<'_>) -> Dequeued {
        let mut wake = SimTime::NEVER;
        self.unblock();
        for step in 0..self.levels.len() {
            let level = self.levels[step];
            self.follow_clock(level, context.now);
            while let Some((place, prio)) = self.next_leaf(level) {
                match self.take_from(place, prio, level, context) {
                    Taken::Packet(packet) => return Dequeued::Packet(packet),
                    Taken::Waits(at) => wake = wake.min(at),
                    Taken::Nothing => {}
                }
            }
        }
        self.nothing_now(wake)
    }

    /// The result when no level has a packet to send.
    fn nothing_now(&self, wake: SimTime) -> Dequeued {
        if self.ledger.is_empty() {
            return Dequeued::Empty;
        }
        let waiting = self.classes.iter().filter(|node| node.mode != Mode::CanSend && !node.is_idle_leaf());
        Dequeued::NotBefore(waiting.map(|node| node.until).fold(wake, SimTime::min))
    }

    /// Performs the mode changes that are due at a level, and updates which leaves may send through which class.
    fn follow_clock(&mut self, level: usize, now: SimTime) {
        for place in (0..self.classes.len()).rev() {
            let node = &mut self.classes[place];
            if node.level == level && node.mode != Mode::CanSend && node.until <= now {
                self.ledger.overlimits += u64::from(node.change_mode(now));
            }
            if node.level > 0 && node.level >= level {
                let children = std::mem::take(&mut node.children);
                let feeds = children.iter().map(|&child| &self.classes[child]);
                let feeds = feeds
                    .filter(|child| child.mode == Mode::MayBorrow)
                    .fold(0, |all, child| all | child.feeds);
                (self.classes[place].children, self.classes[place].feeds) = (children, feeds);
            }
        }
    }

    /// The leaf to serve among those for which a class of `level` can send, and its priority.
    #[inline]
    fn next_leaf(&mut self, level: usize) -> Option<(usize, usize)> {
        let can_send = |node: &Node| node.level == level && node.mode == Mode::CanSend;
        let open = self.classes.iter().filter(|node| can_send(node)).fold(0, |all, node| all | node.feeds);
        if open == 0 {
            return None;
        }
        let prio = open.trailing_zeros() as usize;
        let lenders = (0..self.classes.len()).filter(|&place| can_send(&self.classes[place]));
        let mut place = self.whose_turn(lenders, prio, self.turns[level][prio])?;
        self.turns[level][prio] = self.classes[place].minor;
        while self.classes[place].leaf.is_none() {
            let node = &self.classes[place];
            let borrowers = node.children.iter().copied();
            let borrowers = borrowers.filter(|&child| self.classes[child].mode == Mode::MayBorrow);
            let next = self.whose_turn(borrowers, prio, node.turns[prio])?;
            self.classes[place].turns[prio] = self.classes[next].minor;
            place = next;
        }
        Some((place, prio))
    }

    /// Among classes that feed `prio`, the first by number from `turn` on, cyclically.
    fn whose_turn(&self, places: impl Iterator<Item = usize>, prio: usize, turn: u16) -> Option<usize> {
        let feeding = places.filter(|&place| self.classes[place].feeds & (1 << prio) != 0);
        feeding.min_by_key(|&place| (self.classes[place].minor < turn, self.classes[place].minor))
    }

    fn take_from(&mut self, place: usize, prio: usize, level: usize, context: &mut Context<'_>) -> Taken {
        let before = context.dropped.len();
        let leaf = self.classes[place].leaf.as_mut().expect("turns are leaves'");
        let answer = leaf.child.dequeue(context);
        self.ledger.drop_all(&context.dropped[before..]);
        match answer {
            Dequeued::Packet(packet) => {
                self.ledger.leave(&packet);
                self.pay(place, prio, level, packet.frame_length());
                self.charge(place, level, packet.frame_length(), context.now);
                self.classes[place].refresh_leaf();
                Taken::Packet(packet)
            }
            Dequeued::NotBefore(at) => {
                self.block(place);
                Taken::Waits(at)
            }
            Dequeued::Empty => {
                self.block(place);
                Taken::Nothing
            }
        }
    }

    /// Charges the deficit of a leaf; when its quantum is used up, the next leaf has its turn.
    /// [linux-6.12 sch_htb.c htb_dequeue_tree]
    fn pay(&mut self, place: usize, prio: usize, level: usize, length: u32) {
        let (minor, parent) = (self.classes[place].minor, self.classes[place].parent);
        let Some(leaf) = &mut self.classes[place].leaf else { return };
        leaf.deficit[level] -= i64::from(length);
        if leaf.deficit[level] >= 0 {
            return;
        }
        leaf.deficit[level] += leaf.quantum;
        let after = minor.wrapping_add(1);
        match (level, parent) {
            (0, _) | (_, None) => self.turns[0][prio] = after,
            (_, Some(parent)) => self.classes[parent].turns[prio] = after,
        }
    }

    /// Charges a leaf and its ancestors for a packet that a class at the level `lender` sends.
    fn charge(&mut self, leaf: usize, lender: usize, length: u32, now: SimTime) {
        let mut place = Some(leaf);
        while let Some(at) = place {
            let node = &mut self.classes[at];
            self.ledger.overlimits += u64::from(node.charge(lender, length, now));
            place = node.parent;
        }
    }

    fn block(&mut self, place: usize) {
        let mut at = Some(place);
        if let Some(leaf) = &mut self.classes[place].leaf {
            leaf.blocked = true;
        }
        self.classes[place].feeds = 0;
        while let Some(parent) = at.and_then(|at| self.classes[at].parent) {
            let children = &self.classes[parent].children;
            let borrowing = children.iter().map(|&child| &self.classes[child]);
            let borrowing = borrowing.filter(|child| child.mode == Mode::MayBorrow);
            let feeds = borrowing.fold(0, |all, child| all | child.feeds);
            self.classes[parent].feeds = feeds;
            at = Some(parent);
        }
    }

    fn unblock(&mut self) {
        for node in &mut self.classes {
            if node.leaf.as_ref().is_some_and(|leaf| leaf.blocked) {
                node.refresh_leaf();
            }
        }
    }

    #[inline]
    fn assert_ledger(&self) {
        debug_assert_eq!(self.ledger.backlog().packets, self.held(), "a packet is unaccounted for");
    }

    fn held(&self) -> u32 {
        let leaves = self.classes.iter().filter_map(|node| node.leaf.as_ref());
        leaves.map(|leaf| leaf.child.backlog().packets).sum::<u32>() + self.direct.backlog().packets
    }
}

impl Node {
    /// Updates whether the leaf has packets to send.
    #[inline]
    fn refresh_leaf(&mut self) {
        if let Some(leaf) = &mut self.leaf {
            leaf.blocked = false;
            self.feeds = if leaf.child.backlog().packets > 0 { 1 << leaf.prio } else { 0 };
        }
    }

    fn is_idle_leaf(&self) -> bool {
        self.leaf.as_ref().is_some_and(|leaf| leaf.child.backlog().packets == 0)
    }

    /// Charges the class for a packet; true if it can't send from now on.
    #[inline]
    fn charge(&mut self, lender: usize, length: u32, now: SimTime) -> bool {
        let elapsed = self.elapsed(now);
        let length = self.framing.charged(length);
        if self.level >= lender {
            self.lended += u64::from(self.level == lender);
            self.rate.charge(elapsed, length);
        } else {
            self.borrowed += 1;
            self.rate.tokens += elapsed;
        }
        self.ceil.charge(elapsed, length);
        self.checkpoint = now;
        self.change_mode(now)
    }

    fn change_mode(&mut self, now: SimTime) -> bool {
        let elapsed = self.elapsed(now);
        let (rate, ceil) = (self.rate.tokens + elapsed, self.ceil.tokens + elapsed);
        let (mode, debt) = match (ceil < 0, rate < 0) {
            (true, _) => (Mode::CantSend, -ceil),
            (false, true) => (Mode::MayBorrow, -rate),
            (false, false) => (Mode::CanSend, 0),
        };
        let became_red = mode == Mode::CantSend && self.mode != Mode::CantSend;
        self.mode = mode;
        self.until = now + Span::from_nanos(debt as u64);
        became_red
    }

    #[inline]
    fn elapsed(&self, now: SimTime) -> i64 {
        now.since(self.checkpoint).as_nanos().min(HORIZON as u64) as i64
    }
}

impl Bucket {
    #[inline]
    fn charge(&mut self, elapsed: i64, length: u32) {
        let filled = (self.tokens + elapsed).min(self.depth);
        if self.last.0 != length {
            self.last = (length, sending_time(self.rate, u64::from(length)) as i64);
        }
        self.tokens = filled.saturating_sub(self.last.1).max(1 - HORIZON);
    }
}

#[inline]
fn sending_time(rate: Rate, bytes: u64) -> u64 {
    rate.time_for(Bytes(bytes)).as_nanos().min(i64::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;
    use crate::registry;
    use crate::testing::{Rig, packet};
    use tailback_packet::DropReason;

    const TEN_MBIT: u64 = 10_000_000;

    /// Departure times in ns of full frames that are all queued at the start.
    fn departures(given: &[(&str, u64)], packets: u32) -> Vec<u64> {
        let mut rig = Rig::of("htb", given);
        rig.fill(packets, &packet(0, 1514));
        drain_times(&mut rig)
    }

    fn drain_times(rig: &mut Rig) -> Vec<u64> {
        let mut times = Vec::new();
        loop {
            match rig.dequeue() {
                Dequeued::Packet(_) => times.push(rig.now.as_nanos()),
                Dequeued::NotBefore(t) => {
                    assert!(t > rig.now, "`not before` must lie in the future");
                    rig.now = t;
                }
                Dequeued::Empty => return times,
            }
        }
    }

    fn kinds_below(rig: &Rig) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        rig.qdisc.visit_children(&mut |child| kinds.push(child.kind()));
        kinds
    }

    fn level(rig: &Rig, name: &str) -> i64 {
        let mut found = 0;
        rig.qdisc.own_levels(&mut |each, value| {
            if each == name {
                found = value;
            }
        });
        found
    }

    #[test]
    fn two_full_frames_leave_at_once_and_then_one_each_1_2112_ms() {
        let times = departures(&[("rate", TEN_MBIT)], 6);
        assert_eq!(times[..3], [0, 0, 1_142_400], "1600 − 2 · 1514 = −1428 B");
        assert!(times[2..].windows(2).all(|pair| pair[1] - pair[0] == 1_211_200));
    }

    #[test]
    fn while_it_is_closed_it_says_until_when_and_gives_nothing() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        rig.fill(6, &packet(0, 1514));
        (0..2).for_each(|_| assert!(matches!(rig.dequeue(), Dequeued::Packet(_))));
        let closed_until = rig.qdisc.closed_until();
        assert!(closed_until > rig.now);
        assert!(matches!(rig.dequeue(), Dequeued::NotBefore(at) if at == closed_until));
        rig.now = closed_until;
        assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
    }

    #[test]
    fn the_long_run_rate_is_exact_in_frame_bytes() {
        let last = *departures(&[("rate", TEN_MBIT)], 1000).last().unwrap();
        assert_eq!(last, (1000 * 1514 - 1514 - 1600) * 800);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_exact_to_a_nanosecond_per_packet() {
        let last = *departures(&[("rate", 30_000_000)], 1000).last().unwrap() as f64;
        let exact = f64::from(1000 * 1514 - 1514 - 1600) * 8.0 / 0.03;
        assert!((last - exact).abs() < 1100.0, "{last} {exact}");
    }

    #[test]
    fn a_burst_of_15k_in_both_buckets_lets_eleven_frames_through() {
        let burst = [("rate", TEN_MBIT), ("burst", 15_360), ("cburst", 15_360)];
        assert_eq!(departures(&burst, 20).iter().filter(|&&at| at == 0).count(), 11);
    }

    #[test]
    fn a_burst_without_cburst_still_lets_only_two_through() {
        let burst = [("rate", TEN_MBIT), ("burst", 15_360)];
        assert_eq!(departures(&burst, 20).iter().filter(|&&at| at == 0).count(), 2);
    }

    #[test]
    fn a_ceiling_above_the_rate_adds_nothing_without_a_parent() {
        let times = departures(&[("rate", TEN_MBIT), ("ceil", 10 * TEN_MBIT)], 100);
        assert_eq!(times[3..].windows(2).map(|pair| pair[1] - pair[0]).max(), Some(1_211_200));
    }

    #[test]
    fn the_next_departure_is_when_the_tokens_reach_zero() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        rig.fill(3, &packet(0, 1514));
        (0..2).for_each(|_| drop(rig.dequeue()));
        for asked_at in [0, 1_142_399] {
            rig.now = SimTime::from_nanos(asked_at);
            assert!(matches!(rig.dequeue(), Dequeued::NotBefore(t) if t == SimTime::from_nanos(1_142_400)));
        }
        rig.now = SimTime::from_nanos(1_142_400);
        assert!(matches!(rig.dequeue(), Dequeued::Packet(_)));
    }

    #[test]
    fn an_idle_bucket_fills_to_its_burst_and_no_further() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        for start in [0, 1_000_000_000, 100_000_000_000] {
            rig.now = SimTime::from_nanos(start);
            rig.fill(4, &packet(0, 1514));
            let times = drain_times(&mut rig);
            assert_eq!(times.iter().filter(|&&at| at == start).count(), 2);
        }
    }

    #[test]
    fn the_default_burst_is_1600_bytes_up_to_8_gbit() {
        for rate in [1_000_000, 1_000_000_000, 7_999_999_999] {
            let exact = Rate::from_bytes_per_sec(rate / 8).time_for(Bytes(1600)).as_nanos() as i64;
            let depth = Bucket::full(rate, 1600).depth;
            assert!(depth >= exact && depth < exact + 64, "{depth} {exact}");
        }
        let given = Parameters::new([("rate".into(), 80_000_000_000)].into());
        let resolved = registry::resolve("htb", &given, &Attachment::default()).unwrap();
        let burst = resolved.given("burst").unwrap();
        assert_eq!((burst, Bucket::full(80_000_000_000, burst).depth), (1610, 192), "161 ns: three ticks");
    }

    #[test]
    fn tokens_are_those_that_a_kernel_prints() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        assert_eq!((level(&rig, "tokens"), level(&rig, "ctokens")), (20_000, 20_000));
        rig.fill(3, &packet(0, 1514));
        drain_times(&mut rig);
        assert_eq!(level(&rig, "tokens"), -18_925, "one frame in debt: 1 211 200 ns");
    }

    #[test]
    fn overlimits_count_the_changes_to_cannot_send() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        rig.fill(100, &packet(0, 1514));
        drain_times(&mut rig);
        assert_eq!(rig.qdisc.counters().overlimits, 99, "tokens remained only after the first packet");
        assert_eq!((rig.counter("lended"), rig.counter("borrowed")), (100, 0));
    }

    #[test]
    fn a_drop_of_the_child_counts_as_a_drop_of_the_class() {
        let child = registry::build(
            "pfifo",
            &Parameters::new([("limit".into(), 5)].into()),
            &Attachment::default(),
            None,
        );
        let mut rig = Rig::over("htb", &[("rate", TEN_MBIT)], child.ok());
        let answers: Vec<_> = (0..7).map(|_| rig.enqueue(packet(0, 1514))).collect();
        assert_eq!(answers[5..], [Enqueued::Dropped; 2]);
        assert_eq!((rig.qdisc.counters().dropped, rig.qdisc.backlog().packets), (2, 5));
        assert_eq!(rig.effects.dropped[0].1, DropReason::TailFull);
    }

    #[test]
    fn the_default_child_holds_txqueuelen_packets() {
        let mut rig = Rig::of("htb", &[("rate", TEN_MBIT)]);
        rig.fill(1001, &packet(0, 1514));
        assert_eq!(rig.qdisc.backlog().packets, 1000);
        assert_eq!(kinds_below(&rig), ["pfifo"]);
    }

    #[test]
    fn tcp_behind_10_mbit_gets_9_564() {
        let times = departures(&[("rate", TEN_MBIT)], 1000);
        let payload_bits = (998 * 1448 * 8) as f64;
        let goodput = payload_bits / (times[999] - times[1]) as f64 * 1e3;
        assert!((goodput - 9.564).abs() < 0.01, "{goodput}");
    }

    #[test]
    fn debt_is_at_most_a_minute_however_slow_the_rate() {
        let times = departures(&[("rate", 8), ("burst", 1)], 3);
        assert_eq!(times[0], 0);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= HORIZON as u64), "{times:?}");
    }

    #[test]
    fn a_rate_is_required() {
        let error = registry::build("htb", &Parameters::default(), &Attachment::default(), None).err();
        assert_eq!(error.map(|error| error.to_string()), Some("qdisc `htb`: `rate` must be given".into()));
    }

    const MBIT: u64 = 1_000_000;

    /// A class of a tree: its number, that of its parent, and its parameters.
    type Given<'a> = (u16, u16, &'a [(&'a str, u64)]);

    /// A tree in which flow n goes to class 10 + n.
    fn tree_of(classes: &[Given<'_>]) -> Rig {
        let class = |&(minor, parent, given): &Given<'_>| Class {
            minor,
            parent,
            parameters: Parameters::new(given.iter().map(|(name, value)| ((*name).into(), *value)).collect()),
            child: None,
        };
        let filter = |flow: u16| Filter {
            fits: crate::Fits::From(vec![tailback_packet::SocketId(flow.into())]),
            class: 10 + flow,
        };
        let inner = Inner {
            child: None,
            classes: classes.iter().map(class).collect(),
            filters: (0..8).map(filter).collect(),
        };
        Rig::over_classes("htb", &[], inner)
    }

    /// Throughput of each flow in Mbit/s over five seconds, with all flows backlogged.
    fn shares(rig: &mut Rig, flows: u32) -> Vec<f64> {
        let (mut bits, mut waiting) = (vec![0.0; flows as usize], vec![0; flows as usize]);
        while rig.now < SimTime::ZERO + Span::from_secs(5) {
            for flow in 0..flows {
                while waiting[flow as usize] < 20 {
                    rig.enqueue(packet(flow, 1514));
                    waiting[flow as usize] += 1;
                }
            }
            match rig.dequeue() {
                Dequeued::Packet(sent) => {
                    waiting[sent.from.0 as usize] -= 1;
                    bits[sent.from.0 as usize] += f64::from(sent.frame_length() * 8);
                }
                Dequeued::NotBefore(t) => rig.now = t,
                Dequeued::Empty => unreachable!("backlogged"),
            }
        }
        bits.iter().map(|bits| bits / 5e6).collect()
    }

    fn assert_shares(got: &[f64], expected: &[f64]) {
        assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.15), "{got:?}");
    }

    #[test]
    fn siblings_get_their_rates_and_borrow_that_of_an_idle_one() {
        let classes: [Given<'_>; 3] = [
            (1, 0, &[("rate", 10 * MBIT)]),
            (10, 1, &[("rate", 3 * MBIT), ("ceil", 10 * MBIT)]),
            (11, 1, &[("rate", 7 * MBIT), ("ceil", 10 * MBIT)]),
        ];
        assert_shares(&shares(&mut tree_of(&classes), 2), &[3.0, 7.0]);
        assert_shares(&shares(&mut tree_of(&classes), 1), &[10.0]);
    }

    #[test]
    fn excess_bandwidth_is_shared_by_quantum() {
        let leaf = |quantum| [("rate", MBIT), ("ceil", 10 * MBIT), ("quantum", quantum)];
        let mut rig = tree_of(&[(1, 0, &[("rate", 10 * MBIT)]), (10, 1, &leaf(3000)), (11, 1, &leaf(9000))]);
        assert_shares(&shares(&mut rig, 2), &[1.0 + 2.0, 1.0 + 6.0]);
    }

    #[test]
    fn excess_bandwidth_goes_to_the_lowest_prio_and_rates_are_kept() {
        let leaf = |prio| [("rate", 2 * MBIT), ("ceil", 10 * MBIT), ("prio", prio)];
        let mut rig = tree_of(&[(1, 0, &[("rate", 10 * MBIT)]), (10, 1, &leaf(1)), (11, 1, &leaf(0))]);
        assert_shares(&shares(&mut rig, 2), &[2.0, 8.0]);
    }

    #[test]
    fn a_ceiling_limits_borrowing() {
        let leaf = |ceil| [("rate", 2 * MBIT), ("ceil", ceil), ("quantum", 1514)];
        let mut rig =
            tree_of(&[(1, 0, &[("rate", 10 * MBIT)]), (10, 1, &leaf(4 * MBIT)), (11, 1, &leaf(10 * MBIT))]);
        assert_shares(&shares(&mut rig, 2), &[4.0, 6.0]);
    }

    #[test]
    fn a_class_borrows_over_several_levels() {
        let classes: [Given<'_>; 6] = [
            (1, 0, &[("rate", 10 * MBIT)]),
            (2, 1, &[("rate", 6 * MBIT), ("ceil", 10 * MBIT)]),
            (3, 1, &[("rate", 4 * MBIT), ("ceil", 10 * MBIT)]),
            (10, 2, &[("rate", 3 * MBIT), ("ceil", 10 * MBIT)]),
            (11, 2, &[("rate", 3 * MBIT), ("ceil", 10 * MBIT)]),
            (12, 3, &[("rate", 4 * MBIT), ("ceil", 10 * MBIT)]),
        ];
        assert_shares(&shares(&mut tree_of(&classes), 3), &[3.0, 3.0, 4.0]);
        assert_shares(&shares(&mut tree_of(&classes), 1), &[10.0]);
        let mut rig = tree_of(&classes);
        shares(&mut rig, 2);
        assert!(rig.counter("borrowed") > 0);
    }

    #[test]
    fn packets_without_a_class_use_the_direct_queue_and_overtake_all() {
        let mut rig = tree_of(&[(10, 0, &[("rate", MBIT)])]);
        rig.fill(5, &packet(0, 1514));
        rig.fill(3, &packet(7, 1514));
        let first: Vec<u32> = (0..3).map(|_| rig.serve(1_000_000_000).unwrap().from.0).collect();
        assert_eq!((first, rig.counter("direct_packets_stat")), (vec![7, 7, 7], 3));
    }

    #[test]
    fn overhead_is_charged_as_sent() {
        let times = departures(&[("rate", TEN_MBIT), ("overhead", 24)], 10);
        assert_eq!(times[9] - times[8], (1514 + 24) * 800);
    }
}
