//! Property tests: for any sequence of actions of an application, a peer, a device and a clock, the socket does not
//! panic and its counters are right. The peer may misbehave: it acknowledges any data, and reneges. `cargo test` draws
//! random sequences; `fuzz/` searches for sequences by coverage (feature `fuzzing`).

#[cfg(test)]
use proptest::collection::vec;
#[cfg(test)]
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::ROWS;
use tailback_packet::{Ecn, HostId, Packet, SackBlock, SackBlocks, SegmentFlags, SocketId, Timestamp};
use tailback_units::{Parameters, Rate, Segs, Span};

use super::*;
use crate::clock::timestamp;
use crate::queue::{SentSegment, Tags};
#[cfg(test)]
use crate::sender::Shortcuts;
use crate::{Settings, SmallQueueLimit, SocketOptions, Transmitted, Written};

/// A number of segments out of those outstanding, in thousandths.
type Share = u64;

#[derive(Clone, Debug)]
enum Operation {
    Write(u64),
    Close,
    Ack {
        advance: Share,
        blocks: Vec<(Share, Share)>,
        window: u64,
        echo_age: Span,
    },
    /// Acknowledges less than an ACK before.
    OldAck {
        back: u64,
        blocks: Vec<(Share, Share)>,
    },
    /// As in a capture with forged packets: any bytes.
    AnyBlock(u64, u64),
    Data {
        seq: u64,
        length: u32,
    },
    Read,
    Wait(Span),
    Deadline,
    Device(Transmitted),
    Hold(bool),
    Credit(usize),
    PacingRate(Rate),
}

#[cfg(test)]
fn operation() -> impl Strategy<Value = Operation> {
    let blocks = || vec((0..1000u64, 1..400u64).prop_map(|(start, length)| (start, start + length)), 0..4);
    let span =
        prop_oneof![0..1_000_000u64, 0..1_000_000_000u64, 0..400_000_000_000u64].prop_map(Span::from_nanos);
    let window = prop_oneof![1 => Just(0), 1 => 0..5000u64, 8 => 20_000..6_000_000u64];
    let ack = (prop_oneof![Just(0), 0..=1000u64], blocks(), window, 0..300u64).prop_map(
        |(advance, blocks, window, age)| {
            let echo_age = Span::from_millis(age);
            Operation::Ack { advance, blocks, window, echo_age }
        },
    );
    let device = prop_oneof![
        3 => Just(Transmitted::Queued),
        1 => Just(Transmitted::Dropped),
        1 => Just(Transmitted::Congestion),
    ];
    prop_oneof![
        6 => prop_oneof![1..300_000u64, 1..4000u64].prop_map(Operation::Write),
        1 => Just(Operation::Close),
        20 => ack,
        2 => (0..200_000u64, blocks()).prop_map(|(back, blocks)| Operation::OldAck { back, blocks }),
        1 => (0..500_000u64, 0..500_000u64).prop_map(|(start, end)| Operation::AnyBlock(start, end)),
        2 => (1..100_000u64, prop_oneof![0..1449u32, 0..65_160u32]).prop_map(|(seq, length)| Operation::Data { seq, length }),
        1 => Just(Operation::Read),
        6 => span.prop_map(Operation::Wait),
        6 => Just(Operation::Deadline),
        2 => device.prop_map(Operation::Device),
        2 => any::<bool>().prop_map(Operation::Hold),
        4 => (0..50usize).prop_map(Operation::Credit),
        // 1 bit/s to 100 Gbit/s.
        1 => (0..37u32).prop_map(|bits| Operation::PacingRate(Rate::from_bits_per_sec(1 << bits))),
    ]
}

/// How large skbs are, and when an application that writes has to wait.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    gso_max_segs: u32,
    sndbuf: Option<u64>,
    notsent_lowat: Option<u64>,
}

/// A socket and its surroundings.
struct Model {
    endpoint: Endpoint,
    now: SimTime,
    draws: Xoshiro256PlusPlus,
    answer: Transmitted,
    hold: bool,
    handler_due: bool,
    below: VecDeque<u32>,
    window: u64,
    edge: u64,
    read_bytes: u64,
    cuts: bool,
}

impl Model {
    fn new(control: usize, wants_pacing: bool, small_queue: SmallQueueLimit, buffer: Buffer) -> Self {
        let Buffer { gso_max_segs, sndbuf, notsent_lowat } = buffer;
        let row = &ROWS[control % ROWS.len()];
        let config = EndpointConfig {
            socket: SocketId(0),
            peer: SocketId(1),
            peer_host: HostId(1),
            flow_hash: 0,
            settings: Settings { gso_max_segs, ..Settings::default() }.into(),
            small_queue,
            options: SocketOptions { sndbuf, notsent_lowat, ..SocketOptions::default() },
            control: tailback_cc::build(row.name, &Parameters::default()).expect("defaults are accepted"),
            wants_pacing: wants_pacing || row.wants_pacing,
            needs_ecn: row.needs_ecn,
            sndbuf_factor: row.sndbuf_factor,
        };
        let now = SimTime::ZERO;
        let mut model = Model {
            endpoint: Endpoint::connect(config, now),
            now: now + Span::from_millis(20),
            draws: Xoshiro256PlusPlus::seed_from_u64(1),
            answer: Transmitted::Queued,
            hold: false,
            handler_due: false,
            below: VecDeque::new(),
            window: 65_160,
            edge: 1,
            read_bytes: 0,
            cuts: false,
        };
        model.drain();
        let mut answer = model.segment();
        answer.seq = 0;
        answer.flags = SegmentFlags::SYN.with(SegmentFlags::ACK);
        model.take(answer);
        model
    }

    fn segment(&self) -> Segment {
        Segment {
            seq: 1,
            length: 0,
            ack: self.edge,
            window: self.window,
            flags: SegmentFlags::ACK,
            mss: 1460,
            tsval: Timestamp::at(timestamp(self.now)),
            tsecr: Timestamp::at(timestamp(self.now - Span::from_millis(20))),
            sack: SackBlocks::NONE,
        }
    }

    fn take(&mut self, segment: Segment) {
        let truesize = 960 + segment.length;
        match self.endpoint.take(&segment, Ecn::NotEct, truesize, self.now, &mut self.draws) {
            ToSend::Nothing => assert!(!self.endpoint.wants_to_send(), "there is something to send"),
            ToSend::Ack => self.endpoint.write_only_ack(&mut Packet::empty()),
            ToSend::Anything => {}
        }
        self.drain();
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Write(bytes) => self.write(bytes),
            Operation::Close => self.endpoint.close(self.now),
            Operation::Ack { advance, blocks, window, echo_age } => {
                self.window = window;
                let head = self.endpoint.sender.scoreboard.queue().head();
                let segments = self.outstanding();
                self.edge = self.edge.max(self.boundary(head + advance * segments / 1000));
                let mut ack = self.segment();
                ack.sack = self.blocks(&blocks);
                ack.tsecr = Timestamp::at(timestamp(self.now - echo_age));
                self.take(ack);
            }
            Operation::OldAck { back, blocks } => {
                let mut ack = self.segment();
                ack.ack = self.edge.saturating_sub(back).max(1);
                ack.sack = self.blocks(&blocks);
                self.take(ack);
            }
            Operation::AnyBlock(start, end) => {
                let mut ack = self.segment();
                ack.sack = SackBlocks::new(vec![SackBlock { start, end }]);
                self.take(ack);
            }
            Operation::Data { seq, length } => {
                let mut data = self.segment();
                data.seq = seq;
                data.length = length;
                data.mss = 1448;
                self.take(data);
            }
            Operation::Read => self.read_bytes += self.endpoint.read(self.now).0,
            Operation::Wait(span) => self.go_to(self.now + span),
            Operation::Deadline => self.go_to(self.endpoint.deadline().unwrap_or(self.now).max(self.now)),
            Operation::Device(answer) => self.answer = answer,
            Operation::Hold(hold) => self.hold = hold,
            Operation::Credit(packets) => self.credit(packets),
            Operation::PacingRate(rate) => self.endpoint.sender.window.pacing_rate = rate,
        }
        self.drain();
    }

    /// Writes until all bytes are written or the application has to wait.
    fn write(&mut self, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            match self.endpoint.write(left, self.now) {
                0 => break,
                accepted => left -= accepted,
            }
            self.drain();
        }
    }

    fn go_to(&mut self, until: SimTime) {
        // A socket that is idle for long fires many timers; a few hundred are enough.
        let mut left = 300;
        while left > 0
            && let Some(deadline) = self.endpoint.deadline().filter(|&deadline| deadline <= until)
        {
            left -= 1;
            self.now = deadline.max(self.now);
            self.endpoint.expire(self.now);
            let passes_time = self.answer == Transmitted::Queued;
            let burst = passes_time.then(|| self.endpoint.begin_paced_burst(until));
            self.drain();
            while left > 0
                && let Some(pause) = self.endpoint.pauses()
                && let Some(at) = self.endpoint.paused_until(&pause).filter(|&at| at <= until)
            {
                left -= 1;
                self.now = at;
                self.drain();
            }
            if let Some(burst) = burst {
                self.endpoint.end_paced_burst(burst);
            }
        }
        self.now = until;
    }

    fn outstanding(&self) -> u64 {
        let queue = self.endpoint.sender.scoreboard.queue();
        queue.end() - queue.head()
    }

    fn boundary(&self, index: u64) -> u64 {
        let queue = self.endpoint.sender.scoreboard.queue();
        if queue.contains(index) { queue.get(index).seq } else { self.endpoint.sender.flow.snd_nxt }
    }

    fn blocks(&self, shares: &[(Share, Share)]) -> SackBlocks {
        let queue = self.endpoint.sender.scoreboard.queue();
        let at = |share: u64| self.boundary(queue.head() + share * self.outstanding() / 1000);
        SackBlocks::new(
            shares.iter().map(|&(start, end)| SackBlock { start: at(start), end: at(end) }).collect(),
        )
    }

    fn credit(&mut self, packets: usize) {
        for truesize in self.below.drain(..packets.min(self.below.len())).collect::<Vec<_>>() {
            self.free(truesize);
        }
    }

    /// The device cuts trains below its discipline.
    fn cut(&mut self, packet: Packet) {
        self.endpoint.segmented(packet.memory_to_segment());
        self.below.extend(packet.into_segments().iter().map(|segment| segment.truesize));
    }

    fn free(&mut self, truesize: u32) {
        self.handler_due |= self.endpoint.credit(truesize);
    }

    fn drain(&mut self) {
        let mut packets = 0;
        loop {
            if self.endpoint.owes_only_ack() {
                self.endpoint.write_only_ack(&mut Packet::empty());
            }
            while self.endpoint.pauses().is_none() {
                let mut packet = Packet::empty();
                let of_burst = match self.endpoint.look_ahead(self.now) {
                    Next::OfBurst(next) => Some(self.endpoint.write_of_burst(next, &mut packet)),
                    Next::Nothing => break,
                    Next::Other => {
                        if self.endpoint.write_next(&mut packet, self.now) == Written::Nothing {
                            break;
                        }
                        None
                    }
                };
                packets += 1;
                assert!(packets < 100_000, "it does not stop sending");
                match self.answer {
                    // Freed at once, before the sender gets the result.
                    Transmitted::Dropped if packet.charged => self.free(packet.truesize),
                    _ if packet.charged && self.cuts => self.cut(packet),
                    _ if packet.charged => self.below.push_back(packet.truesize),
                    _ => {}
                }
                match of_burst {
                    Some(written) => {
                        self.endpoint.handed_over_of_burst(written, self.answer);
                    }
                    None => self.endpoint.handed_over(self.answer, self.now),
                }
            }
            let leave = if self.hold { 20 } else { 0 };
            let finished = self.below.len().saturating_sub(leave);
            self.credit(finished);
            if std::mem::take(&mut self.handler_due) {
                self.endpoint.small_queue_ran(self.now);
            } else if finished == 0 {
                break;
            }
        }
        self.endpoint.notes();
        self.check();
    }

    /// The invariants.
    fn check(&self) {
        let sender = &self.endpoint.sender;
        let records: Vec<_> = (sender.scoreboard.queue().head()..sender.scoreboard.queue().end())
            .map(|i| sender.scoreboard.get(i))
            .collect();
        let tagged = |tag: Tags| records.iter().filter(|record| record.tags.has(tag)).count() as u32;
        assert_eq!(tagged(Tags::SACKED), sender.scoreboard.sacked_out());
        assert_eq!(tagged(Tags::LOST), sender.scoreboard.lost_out());
        assert_eq!(tagged(Tags::RETRANS), sender.scoreboard.retrans_out());
        assert_eq!(records.len() as u32, sender.scoreboard.packets_out());
        assert_eq!(
            records.iter().map(|record| u64::from(record.length)).sum::<u64>(),
            sender.scoreboard.payload()
        );
        assert!(!records.iter().any(|record| record.tags.has(Tags::SACKED) && record.tags.has(Tags::LOST)));
        assert!(records.windows(2).all(|pair| pair[0].end() == pair[1].seq));
        assert_eq!(records.last().map_or(sender.flow.snd_nxt, |last| last.end()), sender.flow.snd_nxt);
        assert!(
            sender.scoreboard.packets_out() + sender.scoreboard.retrans_out()
                >= sender.scoreboard.sacked_out() + sender.scoreboard.lost_out()
        );
        let begins = |pair: &&[&SentSegment]| {
            pair[0].transmission != pair[1].transmission && !pair[1].tags.has(Tags::MERGED)
        };
        let skbs = records.windows(2).filter(begins).count();
        assert_eq!(skbs as u32 + u32::from(!records.is_empty()), sender.scoreboard.queue().skbs());
        self.check_unsent();
        assert!(self.read_bytes <= self.endpoint.receiver.rcv_nxt, "bytes were read twice");
        assert!(sender.window.cwnd >= Segs::ONE);
        assert_eq!(
            sender.below.wmem_alloc,
            self.below.iter().map(|&truesize| u64::from(truesize)).sum::<u64>()
        );
        assert!(
            sender.scoreboard.packets_out() == 0 || sender.timer.armed_for().is_some() || sender.aborted,
            "the socket would never become active again"
        );
        assert!(!sender.overlooks_space(), "there is room that nothing would look for");
    }
}

impl Model {
    /// The skbs of unsent data follow each other and hold all of it.
    fn check_unsent(&self) {
        let sender = &self.endpoint.sender;
        let skbs = &sender.stream.unsent_skbs;
        if sender.settings.gso_max_segs > 1 && sender.unsent() > 0 {
            assert_eq!(skbs.back(), Some(&sender.stream.write_seq));
            assert!(skbs.front().is_some_and(|&end| end > sender.flow.snd_nxt));
            assert!(skbs.iter().is_sorted_by(|end, next| end < next));
        } else {
            assert!(skbs.is_empty());
        }
    }
}

#[cfg(test)]
fn small_queue() -> impl Strategy<Value = SmallQueueLimit> {
    prop_oneof![
        (5..=10u32).prop_map(SmallQueueLimit::Shift),
        Just(SmallQueueLimit::Off),
        (1..1_000_000u64).prop_map(SmallQueueLimit::Bytes),
        (1..200u32).prop_map(SmallQueueLimit::Packets),
    ]
}

/// A socket and its events.
#[cfg(test)]
#[derive(Clone, Debug)]
struct Case {
    control: usize,
    wants_pacing: bool,
    small_queue: SmallQueueLimit,
    cuts: bool,
    buffer: Buffer,
    operations: Vec<Operation>,
}

#[cfg(test)]
fn buffer() -> impl Strategy<Value = Buffer> {
    let gso_max_segs = prop_oneof![Just(1u32), Just(3), Just(65_535)];
    let sndbuf = prop_oneof![Just(None), (1..200_000u64).prop_map(Some), (2000..8000u64).prop_map(Some)];
    let notsent_lowat = prop_oneof![Just(None), (1..40_000u64).prop_map(Some)];
    (gso_max_segs, sndbuf, notsent_lowat).prop_map(|(gso_max_segs, sndbuf, notsent_lowat)| Buffer {
        gso_max_segs,
        sndbuf,
        notsent_lowat,
    })
}

#[cfg(test)]
fn case() -> impl Strategy<Value = Case> {
    let socket = (0..ROWS.len(), any::<bool>(), small_queue(), any::<bool>(), buffer());
    (socket, vec(operation(), 1..150)).prop_map(|(socket, operations)| {
        let (control, wants_pacing, small_queue, cuts, buffer) = socket;
        Case { control, wants_pacing, small_queue, cuts, buffer, operations }
    })
}

#[cfg(test)]
fn play(case: Case, shortcuts: Shortcuts) -> Endpoint {
    let mut model = Model::new(case.control, case.wants_pacing, case.small_queue, case.buffer);
    model.cuts = case.cuts;
    model.endpoint.sender.shortcuts = shortcuts;
    for operation in case.operations {
        model.apply(operation);
    }
    model.endpoint
}

/// Data that arrives at a reader who only counts it.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
struct Arriving {
    /// Bytes between what was received in order and its first byte.
    ahead: u64,
    length: u32,
    pushed: bool,
    /// Something else comes before the reader.
    waits: bool,
    /// Time after it.
    then: Span,
}

#[cfg(test)]
fn arriving() -> impl Strategy<Value = Arriving> {
    let ahead = prop_oneof![8 => Just(0), 1 => 1..20_000u64];
    let length = prop_oneof![6 => Just(1448u32), 2 => 1..1448u32, 1 => 1..65_160u32];
    let then = prop_oneof![6 => 0..2_000_000u64, 1 => 0..100_000_000u64].prop_map(Span::from_nanos);
    (ahead, length, any::<bool>(), prop::bool::weighted(0.1), then)
        .prop_map(|(ahead, length, pushed, waits, then)| Arriving { ahead, length, pushed, waits, then })
}

#[cfg(test)]
impl Model {
    /// Data arrives and is read. True if that was one step.
    fn receive(&mut self, arriving: Arriving) -> bool {
        let mut data = self.segment();
        (data.seq, data.length) = (self.endpoint.receiver.rcv_nxt + arriving.ahead, arriving.length);
        data.mss = 1448;
        if arriving.pushed {
            data.flags = data.flags.with(SegmentFlags::PSH);
        }
        let truesize = 960 + data.length;
        let taken = self.endpoint.take_to_read(&data, truesize, self.now);
        let was_taken = taken.is_some();
        match taken {
            Some(taken) => {
                if taken.sends() == ToSend::Ack {
                    self.endpoint.write_only_ack(&mut Packet::empty());
                }
                if arriving.waits {
                    self.endpoint.leave_taken(taken);
                } else {
                    self.endpoint.read_taken(taken, self.now);
                    self.read_bytes += u64::from(data.length);
                }
            }
            None => self.take(data),
        }
        if self.endpoint.is_only_readable() {
            self.endpoint.wakeup();
            self.read_bytes += self.endpoint.read(self.now).0;
        }
        self.drain();
        self.go_to(self.now + arriving.then);
        was_taken
    }

    /// A reader of everything that arrives.
    fn reader(shortcuts: Shortcuts) -> Self {
        let mut model = Model::new(
            0,
            false,
            SmallQueueLimit::Off,
            Buffer { gso_max_segs: 1, sndbuf: None, notsent_lowat: None },
        );
        model.endpoint.sender.shortcuts = shortcuts;
        // The connection is established.
        assert!(model.endpoint.wakeup().writable);
        model
    }
}

/// Numbers read from bytes; zeros after their end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    /// A number up to `max`, read from as many bytes as `max` has.
    fn up_to(&mut self, max: u64) -> u64 {
        let bytes = (8 - max.leading_zeros() as usize / 8).min(self.0.len());
        let (own, rest) = self.0.split_at(bytes);
        self.0 = rest;
        let number = own.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        if max == u64::MAX { number } else { number % (max + 1) }
    }

    fn span(&mut self) -> Span {
        let max = [1_000_000, 1_000_000_000, 400_000_000_000][self.up_to(2) as usize];
        Span::from_nanos(self.up_to(max))
    }

    fn blocks(&mut self) -> Vec<(Share, Share)> {
        let count = self.up_to(3);
        (0..count)
            .map(|_| {
                let start = self.up_to(999);
                (start, start + 1 + self.up_to(399))
            })
            .collect()
    }

    fn operation(&mut self) -> Operation {
        match self.up_to(15) {
            0 => Operation::Write(1 + self.up_to(300_000)),
            1 => Operation::Close,
            2 => Operation::OldAck { back: self.up_to(200_000), blocks: self.blocks() },
            3 => Operation::AnyBlock(self.up_to(500_000), self.up_to(500_000)),
            4 => Operation::Data { seq: 1 + self.up_to(100_000), length: self.up_to(65_159) as u32 },
            5 => Operation::Read,
            6 => Operation::Wait(self.span()),
            7 => Operation::Deadline,
            8 => Operation::Device(
                [Transmitted::Queued, Transmitted::Dropped, Transmitted::Congestion][self.up_to(2) as usize],
            ),
            9 => Operation::Hold(self.up_to(1) == 1),
            10 => Operation::Credit(self.up_to(50) as usize),
            11 => Operation::PacingRate(Rate::from_bits_per_sec(1 << self.up_to(36))),
            _ => Operation::Ack {
                advance: self.up_to(1000),
                blocks: self.blocks(),
                window: self.up_to(6_000_000),
                echo_age: Span::from_millis(self.up_to(300)),
            },
        }
    }
}

/// Performs the sequence of events that `bytes` encode.
pub fn fuzz(bytes: &[u8]) {
    let mut numbers = Numbers(bytes);
    let small_queue = match numbers.up_to(3) {
        0 => SmallQueueLimit::Off,
        1 => SmallQueueLimit::Bytes(1 + numbers.up_to(1_000_000)),
        2 => SmallQueueLimit::Packets(1 + numbers.up_to(200) as u32),
        _ => SmallQueueLimit::Shift(5 + numbers.up_to(5) as u32),
    };
    let control = numbers.up_to(ROWS.len() as u64 - 1) as usize;
    let gso_max_segs = [1, 3, 65_535][numbers.up_to(2) as usize];
    let sndbuf = Some(numbers.up_to(200_000)).filter(|&bytes| bytes > 0);
    let notsent_lowat = Some(numbers.up_to(40_000)).filter(|&bytes| bytes > 0);
    let buffer = Buffer { gso_max_segs, sndbuf, notsent_lowat };
    let mut model = Model::new(control, numbers.up_to(1) == 1, small_queue, buffer);
    model.cuts = numbers.up_to(1) == 1;
    while !numbers.0.is_empty() {
        model.apply(numbers.operation());
    }
}

#[cfg(test)]
mod tests {
    use tailback_properties::cases;

    use super::*;

    proptest! {
        #![proptest_config(cases(200))]

        #[test]
        fn no_sequence_of_events_breaks_the_scoreboard(case in case()) {
            play(case, Shortcuts::Taken);
        }

        #[test]
        fn the_fast_path_of_an_ack_reaches_the_state_of_the_full_path(case in case()) {
            let left = [Shortcuts::Taken, Shortcuts::LeftOut].map(|shortcuts| {
                let mut endpoint = play(case.clone(), shortcuts);
                endpoint.sender.shortcuts = Shortcuts::Taken;
                let mut gauges = Vec::new();
                endpoint.control_gauges(&mut |name, value| gauges.push((name, value)));
                format!("{endpoint:?} {gauges:?}")
            });
            prop_assert_eq!(&left[0], &left[1]);
        }
    }

    #[test]
    fn data_in_order_is_taken_and_read_in_one_step() {
        let mut reader = Model::reader(Shortcuts::Taken);
        let data =
            Arriving { ahead: 0, length: 1448, pushed: false, waits: false, then: Span::from_nanos(120_000) };
        let taken = (0..1000).filter(|_| reader.receive(data)).count();
        assert_eq!((taken, reader.read_bytes), (1000, 1000 * 1448));
    }

    proptest! {
        #![proptest_config(cases(200))]

        #[test]
        fn data_read_in_one_step_leaves_the_state_of_arriving_waking_and_reading(
            arrivals in vec(arriving(), 1..100)
        ) {
            let left = [Shortcuts::Taken, Shortcuts::LeftOut].map(|shortcuts| {
                let mut reader = Model::reader(shortcuts);
                for &data in &arrivals {
                    reader.receive(data);
                }
                reader.endpoint.sender.shortcuts = Shortcuts::Taken;
                format!("{:?} {}", reader.endpoint, reader.read_bytes)
            });
            prop_assert_eq!(&left[0], &left[1]);
        }
    }

    proptest! {
        #![proptest_config(cases(20))]

        #[test]
        fn any_bytes_are_a_sequence_of_events(bytes in vec(any::<u8>(), 0..400)) {
            fuzz(&bytes);
        }
    }
}
