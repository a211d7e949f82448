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
//! `htb rate R | leaf` has one class, the default one; without rate and classes nothing is shaped. Deviations: no
//! `offload`; all mode changes that are due happen at once (Linux stops after 2 jiffies).

mod parameters;
#[cfg(test)]
mod tests;
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
    /// Both buckets have the same rate and depth. In an only class they then always hold the same tokens.
    is_uniform: bool,
    framing: Framing,
    cost: Cost,
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
    /// The child returned no packet, in this call or until a later time.
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
}

/// What the last packet cost, to avoid divisions for the next one of its length.
#[derive(Default)]
struct Cost {
    length: u32,
    rate: i64,
    ceil: i64,
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
    // Without a rate, `htb default 10` is a tree without classes, and all packets take the direct queue.
    if classes.is_empty() && (given.given("rate").is_some() || inner.child.is_some()) {
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
        let before = context.effects.dropped.len();
        let node = &mut self.classes[place];
        let leaf = node.leaf.as_mut().expect("packets are classified to leaves");
        let answer = leaf.child.enqueue(packet, context);
        self.ledger.drop_since(before, &context.effects.dropped);
        if node.feeds == 0 {
            node.refresh_leaf();
        }
        self.assert_ledger();
        answer
    }

    fn queues_segments(&self, train: &Packet) -> bool {
        let leaf = self.classify(train).and_then(|place| self.classes[place].leaf.as_ref());
        leaf.is_some_and(|leaf| leaf.child.queues_segments(train))
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

    fn note_peeked(&mut self, length: Option<u32>) {
        self.ledger.keep(length);
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog()
    }

    fn high_water(&self) -> Backlog {
        self.ledger.high_water()
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

    /// Dequeues from the only class, which needs no selection.
    #[inline]
    fn dequeue_only_class(&mut self, context: &mut Context<'_>) -> Dequeued {
        let only = &mut self.classes[0];
        if only.mode != Mode::CanSend {
            if only.until > context.now {
                return Dequeued::NotBefore(only.until);
            }
            if only.is_uniform {
                only.debt_is_paid(context.now);
            } else {
                self.ledger.overlimits += u64::from(only.change_mode(context.now));
                if only.mode != Mode::CanSend {
                    return Dequeued::NotBefore(only.until);
                }
            }
        }
        let before = context.effects.dropped.len();
        let leaf = only.leaf.as_mut().expect("an only class is a leaf");
        let answer = leaf.child.dequeue(context);
        self.ledger.drop_waiting_since(before, &context.effects.dropped);
        match answer {
            Dequeued::Packet(packet) => {
                let length = packet.frame_length();
                self.ledger.leave_of(&packet, length);
                let stops = match only.is_uniform {
                    true => only.charge_uniform(length, context.now),
                    false => only.charge(0, length, context.now),
                };
                self.ledger.overlimits += u64::from(stops);
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
        let before = context.effects.dropped.len();
        let leaf = self.classes[place].leaf.as_mut().expect("turns are leaves'");
        let answer = leaf.child.dequeue(context);
        self.ledger.drop_waiting_since(before, &context.effects.dropped);
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
        if self.cost.length != length {
            self.cost = self.cost_of(length);
        }
        if self.level >= lender {
            self.lended += u64::from(self.level == lender);
            self.rate.charge(elapsed, self.cost.rate);
        } else {
            self.borrowed += 1;
            self.rate.tokens += elapsed;
        }
        self.ceil.charge(elapsed, self.cost.ceil);
        self.checkpoint = now;
        self.change_mode_by((self.rate.tokens, self.ceil.tokens), now)
    }

    /// Charges an only class, whose buckets are alike and which can send, for a packet; true if it can't send from now
    /// on.
    #[inline]
    fn charge_uniform(&mut self, length: u32, now: SimTime) -> bool {
        debug_assert!(self.rate.tokens == self.ceil.tokens && self.mode == Mode::CanSend);
        let elapsed = self.elapsed(now);
        if self.cost.length != length {
            self.cost = self.cost_of(length);
        }
        self.lended += 1;
        self.rate.charge(elapsed, self.cost.rate);
        self.ceil.tokens = self.rate.tokens;
        self.checkpoint = now;
        let stops = self.rate.tokens < 0;
        if stops {
            self.mode = Mode::CantSend;
            self.until = now + Span::from_nanos(self.rate.tokens.unsigned_abs());
        }
        stops
    }

    /// The time at which an only class with buckets alike changes its mode has come.
    #[inline]
    fn debt_is_paid(&mut self, now: SimTime) {
        debug_assert!(self.rate.tokens + self.elapsed(now) >= 0 && self.rate.tokens == self.ceil.tokens);
        self.mode = Mode::CanSend;
    }

    #[inline(never)]
    fn cost_of(&self, length: u32) -> Cost {
        let charged = self.framing.charged(length);
        Cost { length, rate: self.rate.cost(charged), ceil: self.ceil.cost(charged) }
    }

    #[inline]
    fn change_mode(&mut self, now: SimTime) -> bool {
        let elapsed = self.elapsed(now);
        self.change_mode_by((self.rate.tokens + elapsed, self.ceil.tokens + elapsed), now)
    }

    /// Changes to the mode that so many tokens allow at `now`.
    #[inline]
    fn change_mode_by(&mut self, (rate, ceil): (i64, i64), now: SimTime) -> bool {
        let (mode, debt) = if ceil < 0 {
            (Mode::CantSend, -ceil)
        } else if rate < 0 {
            (Mode::MayBorrow, -rate)
        } else {
            (Mode::CanSend, 0)
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
    fn charge(&mut self, elapsed: i64, cost: i64) {
        let filled = (self.tokens + elapsed).min(self.depth);
        self.tokens = (filled - cost).max(1 - HORIZON);
    }

    fn cost(&self, length: u32) -> i64 {
        // The tokens of a packet that costs more would end at the horizon, too.
        sending_time(self.rate, u64::from(length)).min((i64::MAX - HORIZON) as u64) as i64
    }
}

#[inline]
fn sending_time(rate: Rate, bytes: u64) -> u64 {
    rate.time_for(Bytes(bytes)).as_nanos().min(i64::MAX as u64)
}
