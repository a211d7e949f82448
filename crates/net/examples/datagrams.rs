//! What the network costs: datagrams over one link with `fq_codel`, or through three hosts, at 9 of 10 Mbit/s.
//!
//! `cargo run --release -p tailback-net --example datagrams 1000000 HOSTS BURST`; under `valgrind --tool=callgrind` it counts
//! instructions. In a burst all datagrams but the first go through the discipline; a single one bypasses it, as in Linux.

use std::time::Duration;

use tailback_net::{Endpoint, Error, Link, Network, Outgoing, Plan, Received};

/// From one datagram of 1,200 bytes to the next.
const INTERVAL: Duration = Duration::from_micros(1_100);

/// Sends bursts.
struct Source {
    burst: u32,
    next: Duration,
    /// Datagrams left of the present burst.
    left: u32,
    /// Buffers that came back.
    buffers: Vec<Vec<u8>>,
}

impl Endpoint for Source {
    fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}

    fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
        if self.next <= now {
            self.next += INTERVAL * self.burst;
            self.left = self.burst;
        }
        self.left = self.left.checked_sub(1)?;
        Some(Outgoing::new(self.buffers.pop().unwrap_or_else(|| vec![0; 1_200])))
    }

    fn returned(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }

    fn timeout(&mut self) -> Option<Duration> {
        Some(self.next)
    }
}

struct Sink;

impl Endpoint for Sink {
    fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}

    fn transmit(&mut self, _now: Duration) -> Option<Outgoing> {
        None
    }

    fn timeout(&mut self) -> Option<Duration> {
        None
    }
}

fn main() -> Result<(), Error> {
    let number = |place| std::env::args().nth(place).and_then(|word| word.parse().ok());
    let (datagrams, hosts) = (number(1).unwrap_or(100_000), number(2).unwrap_or(2));
    let burst = number(3).unwrap_or(1);
    let ms = Duration::from_millis;
    let bottleneck = Link::new(10_000_000, ms(9)).queue("fq_codel");
    let plan = Plan::new(1, INTERVAL * datagrams).host("client").host("server");
    let plan = match hosts {
        2 => plan.link("client", "server", bottleneck),
        _ => plan
            .host("router")
            .link("client", "router", Link::new(1_000_000_000, ms(1)))
            .link("router", "server", bottleneck),
    };
    let plan = plan.endpoints("mine", "client", "server");
    let mut network = Network::of_plan(&plan)?;
    let source = Source { burst, next: Duration::ZERO, left: 0, buffers: Vec::new() };
    network.attach("mine", source, Sink)?;
    let report = network.finish()?;
    let bits = report.goodput_bps("mine", Duration::ZERO..INTERVAL * datagrams);
    println!("{datagrams} datagrams, {} events, {:.2} Mbit/s", report.events(), bits / 1e6);
    Ok(())
}
