//! Cost of the calendar in the hold model: take the earliest event, schedule it again some time later.
//!
//! With `pending` events and a mean of `spacing` between two of them, an event is scheduled again after an
//! exponentially distributed time of mean `pending * spacing`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand_core::Rng;
use tailback_engine::{Calendar, Streams};
use tailback_units::Span;

const PENDING: [usize; 4] = [10, 100, 1_000, 10_000];
const SPACINGS: [(&str, u64); 5] =
    [("100ns", 100), ("1us", 1_000), ("10us", 10_000), ("100us", 100_000), ("1ms", 1_000_000)];
/// Drawn beforehand, so that only the calendar is measured.
const DRAWS: usize = 1 << 14;

/// As large as the events of a world.
type Event = [u32; 3];

fn hold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hold");
    group.throughput(Throughput::Elements(1));
    for pending in PENDING {
        for (name, spacing) in SPACINGS {
            let delays = delays(pending as f64 * spacing as f64);
            let mut calendar = filled(pending, &delays);
            let mut draw = 0;
            group.bench_function(BenchmarkId::new(format!("{pending} pending"), name), |bench| {
                bench.iter(|| {
                    let (now, event) = calendar.pop().expect("an event is scheduled for each one taken");
                    draw = (draw + 1) % DRAWS;
                    calendar.schedule(now + delays[draw], event);
                });
            });
        }
    }
}

fn delays(mean: f64) -> Vec<Span> {
    let mut draws = Streams::new(1).stream("calendar", "delays");
    let mut delay = || -(1.0 - (draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64).ln() * mean;
    (0..DRAWS).map(|_| Span::from_nanos(delay() as u64)).collect()
}

fn filled(pending: usize, delays: &[Span]) -> Calendar<Event> {
    let mut calendar = Calendar::new();
    for index in 0..pending {
        calendar.schedule(calendar.now() + delays[index % DRAWS], [index as u32; 3]);
    }
    calendar
}

criterion_group!(benches, hold);
criterion_main!(benches);
