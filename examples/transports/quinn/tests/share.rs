//! quinn beside Linux's TCP.

use std::time::Duration;

use tailback_net::{Link, Network, Plan};
use tailback_quinn::{Control, upload};

const SECOND: Duration = Duration::from_secs(1);

/// Mbit/s of quinn and of Linux's CUBIC, over 20 Mbit/s and 20 ms of round trip.
fn shares(control: Control, queue: (&str, &[(&str, u64)])) -> (f64, f64) {
    let ms = Duration::from_millis;
    let plan = Plan::new(1, 30 * SECOND)
        .host("client")
        .host("router")
        .host("server")
        .link("client", "router", Link::new(1_000_000_000, ms(0)))
        .link("router", "server", Link::new(20_000_000, ms(10)).queue_with(queue.0, queue.1))
        .tcp("cubic", "client", "server", "cubic")
        .endpoints("quinn", "client", "server");
    let mut network = Network::of_plan(&plan).unwrap();
    let [client, server] = upload(&network, "quinn", control);
    network.attach("quinn", client, server).unwrap();
    let report = network.finish().unwrap();
    let within = 5 * SECOND..30 * SECOND;
    (report.goodput_bps("quinn", within.clone()) / 1e6, report.goodput_bps("cubic", within) / 1e6)
}

#[test]
fn fair_queueing_gives_quinn_and_linux_half_of_the_link_each() {
    let (quinn, cubic) = shares(Control::Cubic, ("fq_codel", &[]));
    println!("fq_codel: {quinn:.1} {cubic:.1}");
    assert!((quinn / cubic - 1.0).abs() < 0.1, "{quinn} {cubic}");
}

#[test]
fn cubic_of_quinn_shares_a_fifo_with_that_of_linux() {
    let (quinn, cubic) = shares(Control::Cubic, ("pfifo", &[("limit", 100)]));
    println!("pfifo: {quinn:.1} {cubic:.1}");
    assert!(quinn > 0.25 * cubic && cubic > 0.25 * quinn, "{quinn} {cubic}");
}
