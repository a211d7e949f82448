//! What one MPDU costs in a saturated cell: from the queue above the radio to the receiving host, with its share of
//! contention, block ack and credit. CPU time, so that a busy machine does not count. The making of the packets that
//! are offered is in it.
//!
//! Goal: at most 150 ns with 32 in an aggregate, so that a cell is the smaller part of a whole run.

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

/// Seconds that a cell is saturated for: the accounts of a thread are kept in ticks.
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

/// How long `wanted` MPDUs take, by cells that run for whole seconds.
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

/// Of this thread, from the scheduler's accounts.
fn cpu_time() -> Duration {
    let accounts =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux keeps accounts of a thread");
    let nanos = accounts.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("the first is the time on a processor"))
}

criterion_group!(benches, mpdus);
criterion_main!(benches);
