//! The rates of every mode, in Mbit/s as usually rounded.

use tailback_wifi::Mode;
use tailback_wifi::phy::{Format, Guard};

/// Mbit/s of one stream, long and short guard interval, by MCS; 20 and 40 MHz.
const HT: [[(f64, f64); 8]; 2] = [
    [
        (6.5, 7.2),
        (13.0, 14.4),
        (19.5, 21.7),
        (26.0, 28.9),
        (39.0, 43.3),
        (52.0, 57.8),
        (58.5, 65.0),
        (65.0, 72.2),
    ],
    [
        (13.5, 15.0),
        (27.0, 30.0),
        (40.5, 45.0),
        (54.0, 60.0),
        (81.0, 90.0),
        (108.0, 120.0),
        (121.5, 135.0),
        (135.0, 150.0),
    ],
];

/// Rates of 802.11ac in Mbit/s, with long and short guard interval; 20, 40, 80 and 160 MHz.
const VHT: [(u32, [(f64, f64); 4]); 10] = [
    (0, [(6.5, 7.2), (13.5, 15.0), (29.25, 32.5), (58.5, 65.0)]),
    (1, [(13.0, 14.4), (27.0, 30.0), (58.5, 65.0), (117.0, 130.0)]),
    (2, [(19.5, 21.7), (40.5, 45.0), (87.75, 97.5), (175.5, 195.0)]),
    (3, [(26.0, 28.9), (54.0, 60.0), (117.0, 130.0), (234.0, 260.0)]),
    (4, [(39.0, 43.3), (81.0, 90.0), (175.5, 195.0), (351.0, 390.0)]),
    (5, [(52.0, 57.8), (108.0, 120.0), (234.0, 260.0), (468.0, 520.0)]),
    (6, [(58.5, 65.0), (121.5, 135.0), (263.25, 292.5), (526.5, 585.0)]),
    (7, [(65.0, 72.2), (135.0, 150.0), (292.5, 325.0), (585.0, 650.0)]),
    (8, [(78.0, 86.7), (162.0, 180.0), (351.0, 390.0), (702.0, 780.0)]),
    (9, [(0.0, 0.0), (180.0, 200.0), (390.0, 433.3), (780.0, 866.7)]),
];

/// 802.11ax, one stream, guard interval of 0.8 us, by width.
const HE: [(u32, [f64; 4]); 4] = [
    (0, [8.6, 17.2, 36.0, 72.1]),
    (7, [86.0, 172.1, 360.3, 720.6]),
    (9, [114.7, 229.4, 480.4, 960.8]),
    (11, [143.4, 286.8, 600.5, 1201.0]),
];

fn mbps(format: Format, width: u32, streams: u32, mcs: u32, guard: Guard) -> f64 {
    Mode::new(format, width, streams, mcs, guard).unwrap().bits_per_sec() as f64 / 1e6
}

#[test]
fn every_rate_of_802_11n_is_that_of_the_table_to_a_tenth() {
    for (width, table) in [20, 40].into_iter().zip(HT) {
        for (mcs, (long, short)) in (0..).zip(table) {
            for streams in 1..=4 {
                let of = |guard| mbps(Format::Ht, width, streams, mcs, guard);
                let (streams, step) = (f64::from(streams), 0.05 * f64::from(streams) + 0.001);
                assert!((of(Guard::Ns800) - long * streams).abs() < step, "{width} MHz MCS {mcs}");
                assert!((of(Guard::Ns400) - short * streams).abs() < step, "{width} MHz MCS {mcs}");
            }
        }
    }
}

#[test]
fn every_rate_of_802_11ac_is_that_of_the_table_to_a_tenth() {
    for (mcs, row) in VHT {
        for (width, (long, short)) in
            [20, 40, 80, 160].into_iter().zip(row).filter(|(_, (long, _))| *long > 0.0)
        {
            assert!((mbps(Format::Vht, width, 1, mcs, Guard::Ns800) - long).abs() < 0.051);
            assert!((mbps(Format::Vht, width, 1, mcs, Guard::Ns400) - short).abs() < 0.051);
        }
    }
}

#[test]
fn rates_of_802_11ax_are_those_of_the_table_to_a_tenth() {
    for (mcs, row) in HE {
        for (width, expected) in [20, 40, 80, 160].into_iter().zip(row) {
            assert!((mbps(Format::He, width, 1, mcs, Guard::Ns800) - expected).abs() < 0.1);
        }
    }
}
