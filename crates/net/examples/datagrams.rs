//! What the network costs: datagrams through three hosts and one `fq_codel`, at 9 of 10 Mbit/s.
//!
//! `cargo run --release -p tailback-net --example datagrams 1000000`; under `valgrind --tool=callgrind` it counts instructions.

use std::time::Duration;

use tailback_net::{Endpoint, Error, Link, Network, Outgoing, Plan, Received};

/// From one datagram of 1,200 bytes to the next.
const INTERVAL: Duration = Duration::from_micros(1_100);

struct Source(Duration);

impl Endpoint for Source {
    fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}

    fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
        if now < self.0 {
            return None;
        }
        self.0 += INTERVAL;
        Some(Outgoing::new(vec![0; 1_200]))
    }

    fn timeout(&mut self) -> Option<Duration> {
        Some(self.0)
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
    let datagrams: u32 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(100_000);
    let ms = Duration::from_millis;
    let plan = Plan::new(1, INTERVAL * datagrams)
        .host("client")
        .host("router")
        .host("server")
        .link("client", "router", Link::new(1_000_000_000, ms(1)))
        .link("router", "server", Link::new(10_000_000, ms(9)).queue("fq_codel"))
        .endpoints("mine", "client", "server");
    let mut network = Network::of_plan(&plan)?;
    network.attach("mine", Source(Duration::ZERO), Sink)?;
    let report = network.finish()?;
    let bits = report.goodput_bps("mine", Duration::ZERO..INTERVAL * datagrams);
    println!("{datagrams} datagrams, {} events, {:.2} Mbit/s", report.events(), bits / 1e6);
    Ok(())
}
