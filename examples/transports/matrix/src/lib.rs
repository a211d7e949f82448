//! Shares and latency of a transport beside Linux's CUBIC, over rate, round trip and queue, as a table in Markdown.
//!
//! The transports in the folders beside this one call [`print`] with their controls: `cargo run --release` there prints the
//! table, `cargo run --release 20 20` for 20 Mbit/s and 20 ms alone.

use std::time::Duration;

use tailback_net::{Endpoint, Error, Link, Network, Plan};

/// The two ends of an upload that lasts as long as the run, as traffic of this name of the network.
pub type Upload<'a> = &'a dyn Fn(&Network, &str) -> [Box<dyn Endpoint>; 2];

const LENGTH: Duration = Duration::from_secs(30);
const FROM: Duration = Duration::from_secs(8);
const TRANSPORT: &str = "transport";
const SEEDS: [u64; 3] = [1, 2, 3];
/// Of the rate: what headers leave is 0.95.
const FULL: f64 = 0.93;

/// A queue at the bottleneck.
#[derive(Clone, Copy)]
enum Queue {
    /// A FIFO of so many bandwidth-delay products.
    Fifo(f64),
    /// Fair queueing with CoDel.
    FqCodel,
    /// One queue with CoDel.
    Codel,
}

impl Queue {
    fn name(self) -> String {
        match self {
            Queue::Fifo(products) => format!("FIFO, {products} BDP"),
            Queue::FqCodel => "fq_codel".into(),
            Queue::Codel => "codel".into(),
        }
    }

    fn put(self, link: Link, bytes_of_product: f64) -> Link {
        match self {
            Queue::Fifo(products) => {
                link.queue_with("bfifo", &[("limit", (products * bytes_of_product) as u64)])
            }
            Queue::FqCodel => link.queue("fq_codel"),
            Queue::Codel => link.queue("codel"),
        }
    }
}

struct Cell {
    share: f64,
    sum: f64,
    ping_ms: f64,
}

fn cell(upload: Upload<'_>, rate: u64, round_trip: Duration, queue: Queue, seed: u64) -> Result<Cell, Error> {
    let bottleneck = queue.put(Link::new(rate, round_trip / 2), rate as f64 / 8.0 * round_trip.as_secs_f64());
    let plan = Plan::new(seed, LENGTH)
        .host("client")
        .host("router")
        .host("server")
        .link("client", "router", Link::new(1_000_000_000, Duration::ZERO))
        .link("router", "server", bottleneck)
        .tcp_from(Duration::from_millis(17 * seed), "cubic", "client", "server", "cubic")
        .ping("ping", "client", "server", Duration::from_millis(100))
        .endpoints(TRANSPORT, "client", "server");
    let mut network = Network::of_plan(&plan)?;
    let [client, server] = upload(&network, TRANSPORT);
    network.attach(TRANSPORT, client, server)?;
    let report = network.finish()?;
    let transport = report.goodput_bps(TRANSPORT, FROM..LENGTH);
    let cubic = report.goodput_bps("cubic", FROM..LENGTH);
    let mut pings = report.round_trips("ping", FROM..LENGTH);
    pings.sort();
    let ping_ms = pings.get(pings.len() / 2).map_or(f64::NAN, |median| median.as_secs_f64() * 1e3);
    Ok(Cell { share: transport / (transport + cubic), sum: (transport + cubic) / rate as f64, ping_ms })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half of the interval of 95 % of a mean of three: Student's t with two degrees of freedom.
fn half(values: &[f64]) -> f64 {
    let (mean, n) = (mean(values), values.len() as f64);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    4.303 * (variance / n).sqrt()
}

/// Rates in Mbit/s and round trips in ms: those of the command line, or all.
fn paths() -> Vec<(u64, u64)> {
    let given: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    if let [rate, round_trip] = given[..] {
        return vec![(rate, round_trip)];
    }
    [10, 50].into_iter().flat_map(|rate| [10, 40, 100].map(|round_trip| (rate, round_trip))).collect()
}

/// Prints the table: a column for each control of the transport.
pub fn print(controls: &[(&str, Upload<'_>)]) {
    let heads: String = controls.iter().map(|(name, _)| format!(" {name}, ping |")).collect();
    println!("| Mbit/s | RTT, ms | queue |{heads}");
    println!("|---|---|---|{}", "---|".repeat(controls.len()));
    for (rate, round_trip) in paths() {
        for queue in [Queue::Fifo(0.5), Queue::Fifo(1.0), Queue::Fifo(4.0), Queue::FqCodel, Queue::Codel] {
            let cells: Vec<_> =
                controls.iter().map(|(_, upload)| measured(rate, round_trip, queue, *upload)).collect();
            println!("| {rate} | {round_trip} | {} | {} |", queue.name(), cells.join(" | "));
        }
    }
}

/// Share and latency with their intervals, and what both take of the rate if that is less than 0.93 of it; or in how many
/// runs the transport could not go on. Why is on the error output.
fn measured(rate: u64, round_trip: u64, queue: Queue, upload: Upload<'_>) -> String {
    let trip = Duration::from_millis(round_trip);
    let cells = SEEDS.map(|seed| cell(upload, rate * 1_000_000, trip, queue, seed));
    let ended = cells.iter().filter_map(|found| found.as_ref().err()).collect::<Vec<_>>();
    if let [first, ..] = ended[..] {
        eprintln!("{rate} Mbit/s, {round_trip} ms, {}: {first}", queue.name());
        return format!("ended in {} of {}", ended.len(), SEEDS.len());
    }
    let cells: Vec<_> = cells.into_iter().flatten().collect();
    let of = |pick: fn(&Cell) -> f64| cells.iter().map(pick).collect::<Vec<_>>();
    let (shares, sum, pings) = (of(|c| c.share), mean(&of(|c| c.sum)), of(|c| c.ping_ms));
    let idle = if sum < FULL { format!(", both {sum:.2}") } else { String::new() };
    format!("{:.2} ± {:.2}, {:.0} ± {:.0} ms{idle}", mean(&shares), half(&shares), mean(&pings), half(&pings))
}
