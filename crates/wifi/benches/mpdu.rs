//! What one MPDU costs in a saturated cell: from the queue above the radio to the receiving host, with its share of
//! contention, block ack and credit. Criterion prints the time of an MPDU and how many pass in a second.
//!
//! Goal: at most 150 ns with 32 in an aggregate, so that a cell is the smaller part of a whole run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tailback_wifi::driver;
use tailback_wifi::phy::Guard;

#[path = "../tests/signatures/rig.rs"]
#[expect(dead_code, reason = "the tests measure more than the benches")]
mod rig;

use rig::{Plan, vht};

/// Seconds that a cell is saturated for.
const SECONDS: u64 = 1;

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
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn time_of(plan: &Plan, wanted: u64) -> Duration {
    let (mut spent, mut sent) = (Duration::ZERO, 0);
    while sent < wanted {
        let cell = plan.build();
        let began = Instant::now();
        let run = black_box(cell.saturate(SECONDS));
        spent += began.elapsed();
        sent += run.ppdus.iter().map(|ppdu| u64::from(ppdu.mpdus)).sum::<u64>();
    }
    spent.mul_f64(wanted as f64 / sent as f64)
}

criterion_group!(benches, mpdus);
criterion_main!(benches);
