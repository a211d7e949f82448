//! What holds on any path: forty are drawn, and one that fails is made as simple as it can be, with its packets in a file.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tailback_net::{Link, Network, Plan, Report};
use tailback_noq::{Control, upload};

const LENGTH: Duration = Duration::from_secs(20);

fn ran(rate: u64, round_trip_ms: u64, seed: u64, captured: Option<&str>) -> Report {
    let delay = Duration::from_micros(round_trip_ms * 500);
    let plan = Plan::new(seed, LENGTH)
        .host("client")
        .host("router")
        .host("server")
        .link("client", "router", Link::new(1_000_000_000, Duration::ZERO))
        .link("router", "server", Link::new(rate * 1_000_000, delay).queue("fq_codel"))
        .tcp("cubic", "client", "server", "cubic")
        .endpoints("noq", "client", "server");
    let plan = captured.into_iter().fold(plan, |plan, host| plan.capture(host));
    let mut network = Network::of_plan(&plan).unwrap();
    let [client, server] = upload(&network, "noq", Control::Cubic);
    network.attach("noq", client, server).unwrap();
    network.finish().unwrap()
}

/// The packets of the same run at the server, in a file for Wireshark.
fn capture(rate: u64, round_trip_ms: u64, seed: u64) -> String {
    let file = std::env::temp_dir().join(format!("noq-{rate}mbit-{round_trip_ms}ms-{seed}.pcapng"));
    let report = ran(rate, round_trip_ms, seed, Some("server"));
    std::fs::write(&file, &report.captures()[0].1).unwrap();
    file.display().to_string()
}

proptest! {
    // The same forty paths each time. At 2 Mbit/s, where a packet lasts longer than the target of CoDel, Linux has a fifth less.
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn fair_queueing_gives_its_cubic_what_linux_has_within_a_tenth(
        rate in 4_u64..40, round_trip_ms in 4_u64..60, seed in 0_u64..1000,
    ) {
        let report = ran(rate, round_trip_ms, seed, None);
        let of = |flow| report.goodput_bps(flow, Duration::from_secs(5)..LENGTH);
        let ratio = of("noq") / of("cubic");
        prop_assert!((0.9..1.1).contains(&ratio), "{ratio:.2}; packets: {}", capture(rate, round_trip_ms, seed));
    }
}
