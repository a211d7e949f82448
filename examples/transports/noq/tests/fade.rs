//! A fade over Wi-Fi does not stall it: fades are drawn, and one after which it is slow to come back is made as simple as it can
//! be, with its packets in a file.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tailback_net::{Link, Network, Plan, Report, Wifi};
use tailback_noq::{Control, upload};

const SECOND: Duration = Duration::from_secs(1);
const BEGINS: Duration = Duration::from_secs(4);
/// What the transport may take when the probe has arrived that ends its wait: to find its rate again.
const SLOW_START: Duration = Duration::from_secs(2);

/// A path of a cell and a link of 20 Mbit/s, and what happens to the signal.
#[derive(Clone, Copy, Debug)]
struct Fade {
    length: Duration,
    snr_db: f64,
    round_trip: Duration,
    seed: u64,
}

impl Fade {
    /// Probes are sent at growing distances, of which the last is as long as all before: when the signal is back, the next may
    /// be as far away as the fade was long.
    fn recovered(self) -> Duration {
        BEGINS + 2 * self.length + SLOW_START
    }

    fn ran(self, captured: Option<&str>) -> Report {
        let cell =
            Wifi::new(20, 1).snr(30.0).snr_from(BEGINS, self.snr_db).snr_from(BEGINS + self.length, 30.0);
        let plan = Plan::new(self.seed, self.recovered() + SECOND)
            .host("client")
            .host("router")
            .host("server")
            .wifi("router", "client", cell)
            .link("router", "server", Link::new(20_000_000, self.round_trip / 2).queue("fq_codel"))
            .endpoints("noq", "client", "server");
        let plan = captured.into_iter().fold(plan, |plan, host| plan.capture(host));
        let mut network = Network::of_plan(&plan).unwrap();
        let [client, server] = upload(&network, "noq", Control::Cubic);
        network.attach("noq", client, server).unwrap();
        network.finish().unwrap()
    }

    /// The packets of the same run at the client, in a file for Wireshark.
    fn capture(self) -> String {
        let ms = self.length.as_millis();
        let file = std::env::temp_dir().join(format!("noq-fade-{ms}ms-{}.pcapng", self.seed));
        std::fs::write(&file, &self.ran(Some("client")).captures()[0].1).unwrap();
        file.display().to_string()
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn a_fade_over_wifi_does_not_stall_it(
        length_ms in 100_u64..3000, snr in 0_i32..30, round_trip_ms in 4_u64..60, seed in 0_u64..1000,
    ) {
        let ms = Duration::from_millis;
        let fade = Fade { length: ms(length_ms), snr_db: f64::from(-snr), round_trip: ms(round_trip_ms), seed };
        let report = fade.ran(None);
        let of = |within| report.goodput_bps("noq", within) / 1e6;
        let (before, after) = (of(2 * SECOND..BEGINS), of(fade.recovered()..fade.recovered() + SECOND));
        prop_assert!(after > 0.5 * before, "{before:.1} then {after:.1} Mbit/s; packets: {}", fade.capture());
    }
}
