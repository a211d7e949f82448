//! Cost of one MPDU in a saturated cell: from the queue above the radio to the receiving host, with its share of
//! contention, block ack and credit, and with the creation of its packet. It is measured in CPU time, so that other
//! processes do not count.
//!
//! Goal: at most 150 ns with 32 MPDUs per aggregate, so that the cell takes the smaller part of a whole run.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tailback_units::{SimTime, Span};
use tailback_wifi::driver;
use tailback_wifi::phy::Guard;

#[path = "../../wifi/tests/signatures/rig.rs"]
#[expect(dead_code, reason = "the tests measure more than the benches")]
mod rig;

use rig::{Plan, Rig, vht};

/// Seconds for which a cell is saturated; CPU time may be counted in ticks.
const SECONDS: u64 = 20;
/// Packets that each radio has to send at any time.
const OUTSTANDING: u32 = 200;

fn plans() -> Vec<(&'static str, Plan)> {
    let ath10k = *driver::find("ath10k").expect("it is a driver");
    let fast = Plan { modes: vec![vht(80, 2, 9)], profile: ath10k, ..Plan::uplink(1) };
    vec![
        ("ath9k/32 frames", Plan::uplink(1)),
        ("ath9k/1 frame", Plan::uplink(1).frames(1)),
        ("ath9k/32 frames, 5 % lost", Plan { loss: 0.05, ..Plan::uplink(1) }),
        ("ath9k/32 frames, 20 stations", Plan::uplink(20)),
        ("ath10k/64 frames", fast),
        ("ath9k/slow", Plan { modes: vec![rig::ht(20, 0, Guard::Ns800)], ..Plan::uplink(1) }),
    ]
}

fn mpdus(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mpdu");
    group.sample_size(10);
    for (name, plan) in plans() {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|wanted| time_of(&plan, wanted));
        });
    }
    group.finish();
}

/// CPU time of `wanted` MPDUs, in cells that run for whole seconds.
fn time_of(plan: &Plan, wanted: u64) -> Duration {
    let (mut spent, mut sent) = (Duration::ZERO, 0);
    while sent < wanted {
        let cell = plan.build();
        let began = cpu_time();
        let run = black_box(saturated(cell));
        spent += cpu_time() - began;
        sent += run.ppdus.iter().map(|ppdu| u64::from(ppdu.mpdus)).sum::<u64>();
    }
    spent.mul_f64(wanted as f64 / sent as f64)
}

/// Each radio has always the same number of packets outstanding.
fn saturated(mut rig: Rig) -> Rig {
    let senders = rig.received.len() as u16;
    for sender in 1..senders {
        (0..OUTSTANDING).for_each(|_| rig.offer(sender, 0, 0));
    }
    let end = SimTime::ZERO + Span::from_secs(SECONDS);
    while rig.now < end {
        rig.step();
        for sender in 1..senders {
            while rig.outstanding[usize::from(sender)] < OUTSTANDING {
                rig.offer(sender, 0, 0);
            }
        }
    }
    rig
}

/// CPU time of this thread, from the scheduler's statistics.
fn cpu_time() -> Duration {
    let accounts =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux keeps accounts of a thread");
    let nanos = accounts.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("the first is the time on a processor"))
}

criterion_group!(benches, mpdus);
criterion_main!(benches);
