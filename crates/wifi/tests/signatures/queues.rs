//! The signatures of the queues above the radio.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tailback_packet::{DropReason, Ecn, HostId, Packet, Payload, SocketId};
use tailback_qdisc::{Context as QdiscContext, Effects};
use tailback_units::{SimTime, Span};
use tailback_wifi::airtime::AirtimeScheduler;
use tailback_wifi::driver::{self, HardwareQueue};
use tailback_wifi::station_queues::{QueueLimits, StationQueues};

/// The queues of one radio, and a clock.
struct Bench {
    queues: StationQueues,
    now: SimTime,
    effects: Effects,
}

impl Bench {
    fn new(limits: QueueLimits) -> Self {
        Bench { queues: StationQueues::new(8, limits), now: SimTime::ZERO, effects: Effects::default() }
    }

    fn with<R>(&mut self, act: impl FnOnce(&mut StationQueues, &mut QdiscContext<'_>) -> R) -> R {
        let Bench { queues, now, effects } = self;
        act(queues, &mut effects.context(*now, &mut Xoshiro256PlusPlus::seed_from_u64(1)))
    }

    fn offer(&mut self, flow: u32, ip_length: u32, ecn: Ecn) {
        let packet = Packet {
            from: SocketId(flow),
            to: SocketId(100),
            source: HostId(0),
            destination: HostId(1),
            ip_length,
            segments: 1,
            ecn,
            tos: 0,
            flow_hash: flow * 0x1000_0000,
            truesize: 2304,
            charged: false,
            queue_length: tailback_packet::QueueLength::NONE,
            enqueued: self.now,
            departure: SimTime::ZERO,
            payload: Payload::EchoRequest { seq: 0 },
        };
        self.with(|queues, context| queues.enqueue(0, Box::new(packet), context));
    }

    fn next(&mut self) -> Option<Box<Packet>> {
        self.with(|queues, context| queues.dequeue(0, context))
    }

    /// A standing queue with 1 packet per ms in and out, until a packet is dropped or marked; returns when and which.
    fn first_signal(&mut self, ecn: Ecn, sojourn_ms: u64) -> (u64, &'static str) {
        (0..sojourn_ms).for_each(|_| self.offer(1, 1500, ecn));
        for ms in 0..2_000 {
            self.now = SimTime::ZERO + Span::from_millis(sojourn_ms + ms);
            self.offer(1, 1500, ecn);
            let sent = self.next();
            if !self.effects.dropped.is_empty() {
                return (ms, "drop");
            }
            if sent.is_some_and(|packet| packet.ecn == Ecn::Ce) {
                return (ms, "mark");
            }
        }
        (u64::MAX, "nothing")
    }
}

#[test]
fn two_flows_to_one_station_share_by_bytes_and_a_small_one_never_waits() {
    let mut bench = Bench::new(QueueLimits::HT);
    (0..400).for_each(|_| bench.offer(1, 1500, Ecn::NotEct));
    (0..800).for_each(|_| bench.offer(2, 750, Ecn::NotEct));
    let mut bytes = [0; 3];
    for turn in 0..300 {
        if turn % 50 == 7 {
            bench.offer(3, 84, Ecn::NotEct);
            assert_eq!(bench.next().unwrap().from, SocketId(3), "a new flow goes first");
        }
        let packet = bench.next().unwrap();
        bytes[packet.from.0 as usize] += packet.frame_length();
    }
    assert!(bytes[1].abs_diff(bytes[2]) < 2 * 1514, "{bytes:?}");
}

#[test]
fn codel_waits_100_ms_above_20_ms_before_the_first_drop() {
    let (ms, what) = Bench::new(QueueLimits::HT).first_signal(Ecn::NotEct, 30);
    assert_eq!(what, "drop");
    assert!((100..=103).contains(&ms), "{ms} ms");
    assert_eq!(Bench::new(QueueLimits::HT).first_signal(Ecn::NotEct, 15).1, "nothing");
    assert_eq!(Bench::new(QueueLimits::HT).first_signal(Ecn::Ect0, 30).1, "mark");
}

#[test]
fn codel_is_more_patient_with_a_slow_station_and_does_not_mark() {
    let slow = |sojourn| {
        let mut bench = Bench::new(QueueLimits::HT);
        bench.offer(1, 1500, Ecn::Ect0);
        bench.next();
        bench.queues.expect(0, 5_500_000, 1);
        bench.first_signal(Ecn::Ect0, sojourn)
    };
    assert_eq!(slow(40).1, "nothing", "below 50 ms");
    let (ms, what) = slow(70);
    assert_eq!(what, "drop");
    assert!((300..=303).contains(&ms), "{ms} ms");
}

#[test]
fn a_flood_to_one_station_fills_4_mib_of_memory_with_1820_packets() {
    let mut bench = Bench::new(QueueLimits::HT);
    (0..5_000).for_each(|_| bench.offer(1, 1500, Ecn::NotEct));
    // 4 MiB / 2304 = 1820; an overflow drops 32 at once.
    assert!((1_788..=1_820).contains(&bench.queues.packets()), "{}", bench.queues.packets());
    assert!(bench.effects.dropped.iter().all(|(_, reason)| *reason == DropReason::Overmemory));
}

#[test]
fn the_largest_flow_loses_the_packets_over_the_limit() {
    let mut bench = Bench::new(QueueLimits { packets: 100, memory: 1 << 30 });
    (0..20).for_each(|_| bench.offer(1, 1500, Ecn::NotEct));
    (0..200).for_each(|_| bench.offer(2, 1500, Ecn::NotEct));
    assert!(
        bench
            .effects
            .dropped
            .iter()
            .all(|(packet, reason)| { packet.from == SocketId(2) && *reason == DropReason::Overlimit })
    );
}

#[test]
fn aql_lets_one_station_hold_12_ms_and_each_of_many_5_ms() {
    let HardwareQueue::Firmware { airtime: Some(limits), .. } =
        driver::find("ath10k").unwrap().hardware_queue
    else {
        panic!("ath10k has airtime limits");
    };
    let ms = Span::from_millis;
    assert!(!limits.refuse(ms(11), ms(11)) && limits.refuse(ms(12), ms(12)));
    assert!(!limits.refuse(ms(4), ms(40)) && limits.refuse(ms(5), ms(24)));
    assert!(!limits.refuse(ms(6), ms(23)));
}

#[test]
fn an_aggregate_of_1360_us_costs_a_station_six_turns() {
    let now = SimTime::ZERO;
    let mut scheduler = AirtimeScheduler::new(2, true);
    scheduler.activate(0, now);
    assert_eq!(scheduler.take_turn(|_| true), Some(0));
    // The first 256 us are free: a deficit begins there.
    scheduler.charge(0, Span::from_micros(256 + 1_360), now);
    scheduler.activate(0, now);
    scheduler.activate(1, now);
    let mut turns = 0;
    loop {
        let station = scheduler.take_turn(|_| true).unwrap();
        if station == 0 {
            break;
        }
        turns += 1;
        scheduler.charge(1, Span::from_micros(256), now);
        scheduler.activate(1, now);
    }
    assert_eq!(turns, 2 + 6, "six refills of 256 us make up for 1360; station 1 begins with two turns");
}

#[test]
fn a_radio_holds_as_many_packets_and_as_much_memory_as_its_limits() {
    for (limits, reason) in [
        (QueueLimits { packets: 5, memory: 1 << 20 }, DropReason::Overlimit),
        (QueueLimits { packets: 100, memory: 5 * 2304 }, DropReason::Overmemory),
    ] {
        let mut bench = Bench::new(limits);
        (0..5).for_each(|_| bench.offer(1, 1500, Ecn::NotEct));
        assert_eq!((bench.queues.packets(), bench.effects.dropped.len()), (5, 0));
        bench.offer(1, 1500, Ecn::NotEct);
        assert!(bench.effects.dropped.iter().all(|(_, found)| *found == reason));
        assert_eq!(bench.queues.packets(), 3, "half of the longest flow is dropped");
    }
}
