//! noq beside Linux's TCP.

use std::time::Duration;

use tailback_net::{Link, Network, Plan};
use tailback_noq::{Control, upload};

const SECOND: Duration = Duration::from_secs(1);

/// Mbit/s of noq and of Linux's CUBIC, over 20 Mbit/s and 20 ms of round trip.
fn shares(control: Control, queue: (&str, &[(&str, u64)])) -> (f64, f64) {
    let ms = Duration::from_millis;
    let plan = Plan::new(1, 30 * SECOND)
        .host("client")
        .host("router")
        .host("server")
        .link("client", "router", Link::new(1_000_000_000, ms(0)))
        .link("router", "server", Link::new(20_000_000, ms(10)).queue_with(queue.0, queue.1))
        .tcp("cubic", "client", "server", "cubic")
        .endpoints("noq", "client", "server");
    let mut network = Network::of_plan(&plan).unwrap();
    let [client, server] = upload(&network, "noq", control);
    network.attach("noq", client, server).unwrap();
    let report = network.finish().unwrap();
    let within = 5 * SECOND..30 * SECOND;
    (report.goodput_bps("noq", within.clone()) / 1e6, report.goodput_bps("cubic", within) / 1e6)
}

#[test]
fn fair_queueing_gives_noq_and_linux_half_of_the_link_each() {
    let (noq, cubic) = shares(Control::Cubic, ("fq_codel", &[]));
    println!("fq_codel: {noq:.1} {cubic:.1}");
    assert!((noq / cubic - 1.0).abs() < 0.1, "{noq} {cubic}");
}

#[test]
fn cubic_of_noq_shares_a_fifo_with_that_of_linux() {
    let (noq, cubic) = shares(Control::Cubic, ("pfifo", &[("limit", 100)]));
    println!("pfifo: {noq:.1} {cubic:.1}");
    assert!(noq > 0.25 * cubic && cubic > 0.25 * noq, "{noq} {cubic}");
}
