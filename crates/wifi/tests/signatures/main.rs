//! The signatures of a saturated cell: numbers that follow from the standard, computed independently of this code.

mod books;
mod queues;
mod rates;
mod rig;
mod sources;

use rand_core::{Rng, SeedableRng};
use rig::{Plan, ht, vht};
use tailback_units::{SimTime, Span};
use tailback_wifi::aggregate::Limits;
use tailback_wifi::driver::{self, HardwareQueue};
use tailback_wifi::phy::{Format, Guard, LegacyRate};
use tailback_wifi::{Band, Mode, StationId};

fn within(measured: f64, expected: f64, share: f64) {
    assert!((measured - expected).abs() <= share * expected, "{measured:.2} instead of {expected}");
}

#[test]
fn one_sender_at_300_mbit_with_32_frames_carries_248_mbit_of_udp() {
    within(Plan::uplink(1).build().saturate(5).total_mbps(), 248.2, 0.005);
}

#[test]
fn one_frame_per_access_carries_49_4_mbit_at_300() {
    within(Plan::uplink(1).frames(1).build().saturate(5).total_mbps(), 49.4, 0.005);
}

#[test]
fn slower_modes_carry_185_6_125_and_58_2_mbit() {
    for (mode, frames, expected) in [
        (ht(40, 13, Guard::Ns800), 32, 185.6),
        (ht(40, 7, Guard::Ns400), 17, 125.4),
        (ht(20, 7, Guard::Ns800), 16, 58.2),
    ] {
        let plan = Plan { modes: vec![mode], ..Plan::uplink(1).frames(frames) };
        within(plan.build().saturate(5).total_mbps(), expected, 0.005);
    }
}

#[test]
fn the_mean_gap_between_exchanges_is_110_5_us_and_uniform_over_16_slots() {
    let rig = Plan::uplink(1).build().saturate(5);
    let gaps: Vec<u64> = rig.ppdus[1..].iter().map(|ppdu| ppdu.access_delay.as_micros()).collect();
    within(gaps.iter().sum::<u64>() as f64 / gaps.len() as f64, 110.5, 0.02);
    let slots: Vec<u64> = gaps.iter().map(|gap| (gap - 43) / 9).collect();
    assert!(slots.iter().all(|&slot| slot <= 15));
    let zeros = slots.iter().filter(|&&slot| slot == 0).count() as f64;
    within(zeros / slots.len() as f64, 1.0 / 16.0, 0.15);
}

#[test]
fn collisions_of_2_5_and_10_senders_are_11_26_5_and_36_7_percent() {
    for (senders, expected) in [(2, 0.110), (5, 0.265), (10, 0.367)] {
        let measured = Plan::uplink(senders).build().saturate(20).collisions();
        assert!((measured - expected).abs() < 0.01, "{senders} senders: {measured:.3} instead of {expected}");
    }
}

#[test]
fn many_senders_carry_what_bianchi_says() {
    for (senders, expected) in [(2, 239.4), (5, 217.6), (10, 199.7)] {
        within(Plan::uplink(senders).build().saturate(10).total_mbps(), expected, 0.015);
    }
}

#[test]
fn rts_makes_ten_senders_carry_as_much_as_one() {
    for (senders, expected) in [(1, 234.6), (10, 237.2)] {
        let mut plan = Plan::uplink(senders);
        plan.profile.rts_threshold = Some(0);
        within(plan.build().saturate(10).total_mbps(), expected, 0.015);
    }
}

#[test]
fn two_saturated_senders_share_equally() {
    let rig = Plan::uplink(2).build().saturate(60);
    within(rig.mbps(1), rig.mbps(2), 0.02);
}

#[test]
fn a_slow_sender_gets_as_many_turns_as_a_fast_one_and_most_of_the_air() {
    let modes = vec![ht(40, 15, Guard::Ns400), ht(20, 0, Guard::Ns800)];
    let mut plan = Plan { modes, ..Plan::uplink(2) };
    plan.profile.limits.duration = Span::from_micros(2_500);
    let rig = plan.build().saturate(60);
    within(rig.mbps(1) / rig.mbps(2), 32.0, 0.03);
    // Without collisions 104.4 and 3.26 Mbit/s.
    within(rig.mbps(1), 104.4, 0.10);
}

#[test]
fn lost_mpdus_cost_their_share_while_the_window_does_not_bind() {
    for (loss, expected) in [(0.01, 245.7), (0.05, 235.8), (0.10, 223.4)] {
        let mut plan = Plan { loss, ..Plan::uplink(1) };
        plan.profile.hardware_queue = HardwareQueue::Slots(1);
        within(plan.build().saturate(10).total_mbps(), expected, 0.02);
    }
}

/// The mean sizes were measured with a model of the same cell under a real kernel.
#[test]
fn with_two_aggregates_in_hardware_one_lost_frame_makes_the_next_but_one_short() {
    for (loss, mean) in [(0.01, 27.51), (0.05, 20.26), (0.10, 17.79)] {
        let rig = Plan { loss, ..Plan::uplink(1) }.build().saturate(20);
        within(rig.mean_mpdus(), mean, 0.02);
    }
}

#[test]
fn at_866_7_mbit_two_slots_share_the_window_of_64() {
    for (slots, mbps, mean) in [(1, 687.5, 64.0), (2, 583.9, 32.0)] {
        let mut plan = Plan { modes: vec![vht(80, 2, 9)], ..Plan::uplink(1).frames(64) };
        plan.profile.limits = Limits { bytes: 1_048_575, shortest_mpdu: 0, ..plan.profile.limits };
        plan.profile.hardware_queue = HardwareQueue::Slots(slots);
        let rig = plan.build().saturate(5);
        within(rig.total_mbps() * 1500.0 / 1472.0, mbps, 0.005);
        within(rig.mean_mpdus(), mean, 0.01);
    }
}

/// n solves n = λ · cycle(n) / packet; the means were measured as above.
#[test]
fn below_saturation_aggregates_grow_with_the_load() {
    for (mbps, mean) in [(50.951, 1.02), (101.901, 2.63), (152.0, 5.2), (203.792, 11.4), (234.375, 20.05)] {
        let rig = Plan::uplink(1).build().load(mbps, 20);
        within(rig.mean_mpdus(), mean, 0.05);
    }
}

#[test]
fn ccmp_costs_less_than_a_percent() {
    let plan = Plan { overhead: 38 + 16, ..Plan::uplink(1) };
    within(plan.build().saturate(5).total_mbps(), 246.2, 0.005);
}

#[test]
fn both_bands_carry_the_same() {
    let plan = Plan { band: Band::Ghz2, ..Plan::uplink(1) };
    within(plan.build().saturate(5).total_mbps(), 248.2, 0.005);
}

#[test]
fn no_packet_vanishes_and_every_credit_returns() {
    let mut rig = Plan { loss: 0.1, ..Plan::uplink(3) }.build();
    for n in 0..3_000 {
        rig.offer(1 + n % 3, 0, 0);
    }
    while rig.cell.deadline() != SimTime::NEVER {
        rig.step();
    }
    let received = rig.received.iter().sum::<u64>();
    assert_eq!((received + rig.drops, received, rig.cell.packets()), (3_000, rig.credits, 0));
}

#[test]
fn nothing_waits_for_an_aggregate_to_fill() {
    let mut rig = Plan::uplink(1).build();
    (0..40).for_each(|_| rig.offer(1, 0, 0));
    while rig.cell.packets() > 0 {
        rig.step();
    }
    let mpdus: Vec<u32> = rig.ppdus.iter().map(|ppdu| ppdu.mpdus).collect();
    assert_eq!(mpdus, [1, 1, 32, 6], "two slots take the first two packets as they come");
}

#[test]
fn a_frame_that_finds_the_medium_long_idle_leaves_at_the_next_slot() {
    for micros in [1_000, 1_003, 1_008] {
        let mut rig = Plan::uplink(1).build();
        rig.now = SimTime::ZERO + Span::from_micros(micros);
        rig.offer(1, 0, 0);
        rig.drain();
        let waited = rig.ppdus[0].began.since(SimTime::ZERO + Span::from_micros(micros));
        assert!(waited < Span::from_micros(9), "{waited}");
    }
}

#[test]
fn one_frame_per_access_carries_hardly_more_at_higher_rates() {
    for (mode, expected) in [(ht(40, 23, Guard::Ns400), 50.2), (vht(80, 2, 9), 54.9), (vht(80, 3, 9), 53.9)] {
        let plan = Plan { modes: vec![mode], ..Plan::uplink(1).frames(1) };
        within(plan.build().saturate(3).total_mbps(), expected, 0.007);
    }
}

#[test]
fn no_ppdu_is_longer_than_its_driver_or_the_standard_lets_it() {
    for (driver, longest) in [("ath9k", 4_096), ("ath9k_htc", 4_096), ("ath10k", 5_484), ("generic", 5_484)] {
        let profile = *tailback_wifi::driver::find(driver).unwrap();
        let modes = vec![ht(20, 1, Guard::Ns800)];
        let rig = Plan { profile, modes, ..Plan::uplink(1) }.build().saturate(2);
        let max = rig.ppdus.iter().map(|ppdu| ppdu.duration.as_micros()).max().unwrap();
        assert!(max <= longest && max + 1_900 > longest, "{driver}: {max} us");
    }
}

#[test]
fn a_larger_first_window_makes_fewer_collisions() {
    for (senders, expected) in [(2, 0.059), (5, 0.179), (10, 0.287)] {
        let mut plan = Plan::uplink(senders);
        plan.edca[2].cw_min = 31;
        let measured = plan.build().saturate(20).collisions();
        assert!((measured - expected).abs() < 0.01, "{senders} senders: {measured:.3} instead of {expected}");
    }
}

#[test]
fn idle_slots_between_exchanges_are_7_5_for_one_sender_and_2_2_for_ten() {
    for (senders, expected) in [(1, 7.5), (2, 4.53), (5, 2.82), (10, 2.22)] {
        within(Plan::uplink(senders).build().saturate(20).idle_slots(), expected, 0.05);
    }
}

#[test]
fn voice_needs_47_5_us_for_an_access_and_beats_best_effort() {
    let mut plan = Plan::uplink(1).frames(1);
    plan.edca[0].txop = Span::ZERO;
    let alone = plan.build().saturate_as(&[0xe0], 3);
    within(alone.mean_access_us(1), 47.5, 0.02);
    let mut plan = Plan::uplink(2).frames(1);
    plan.edca[0].txop = Span::ZERO;
    let both = plan.build().saturate_as(&[0xe0, 0], 5);
    let sent = |radio: u16| both.ppdus.iter().filter(|ppdu| ppdu.from == StationId(radio)).count();
    assert!(sent(1) > 6 * sent(2), "{} and {}", sent(1), sent(2));
}

#[test]
fn a_voice_txop_holds_several_ppdus_a_sifs_apart() {
    let rig = Plan::uplink(1).frames(1).build().saturate_as(&[0xe0], 2);
    let apart =
        |pair: &[tailback_wifi::Ppdu]| pair[1].began.since(pair[0].began + pair[0].duration).as_micros();
    let gaps: Vec<u64> = rig.ppdus.windows(2).map(apart).collect();
    let within_txop = gaps.iter().filter(|&&gap| gap == 16 + 28 + 16).count() as f64;
    // 1504 us hold 10 exchanges of 84 + 16 + 28 us with 16 between: nine gaps of ten.
    within(within_txop / gaps.len() as f64, 0.9, 0.01);
}

#[test]
fn two_saturated_senders_get_as_many_accesses() {
    let rig = Plan::uplink(2).build().saturate(10);
    let sent = |radio: u16| rig.ppdus.iter().filter(|ppdu| ppdu.from == StationId(radio)).count() as f64;
    within(sent(1) / (sent(1) + sent(2)), 0.5, 0.02);
    let (one, other) = (rig.mbps(1), rig.mbps(2));
    assert!((one + other).powi(2) / (2.0 * (one * one + other * other)) > 0.99);
}

#[test]
fn airtime_fairness_gives_a_slow_station_half_of_the_air_and_not_most_of_it() {
    let mut plan =
        Plan { modes: vec![ht(40, 15, Guard::Ns400), ht(20, 0, Guard::Ns800)], ..Plan::downlink(2) };
    plan.profile.limits.duration = Span::from_micros(2_500);
    let fair = plan.build().saturate_downlink(&[1, 2], 20);
    within(fair.mbps_to(1), 124.1, 0.03);
    within(fair.mbps_to(2), 2.82, 0.03);
    within(fair.airtime(1) / (fair.airtime(1) + fair.airtime(2)), 0.5, 0.03);
    plan.profile.airtime_flags = 0;
    let unfair = plan.build().saturate_downlink(&[1, 2], 20);
    within(unfair.mbps_to(1), 104.4, 0.03);
    within(unfair.mbps_to(2), 3.26, 0.03);
}

/// As mac80211 of Linux 6.12 above the same air. [uml:wifi, experiments/conformance/wifi-airtime.yaml]
#[test]
fn above_firmware_airtime_fairness_works_by_the_limit_of_all_stations_together() {
    let modes = vec![ht(40, 15, Guard::Ns400), ht(40, 0, Guard::Ns400)];
    let mut plan = Plan { modes, profile: *driver::find("mt76").unwrap(), ..Plan::downlink(2) };
    let fair = plan.build().saturate_downlink(&[1, 2], 20);
    within(fair.mbps_to(1), 107.0, 0.02);
    within(fair.mbps_to(2), 7.61, 0.02);
    plan.profile = plan.profile.before_aql_of_categories();
    let unfair = plan.build().saturate_downlink(&[1, 2], 20);
    within(unfair.mbps_to(1), 69.5, 0.02);
    within(unfair.mbps_to(2), 9.93, 0.02);
}

#[test]
fn single_frames_that_are_lost_are_sent_again_after_a_longer_back_off() {
    let rig = Plan { loss: 0.1, ..Plan::uplink(1).frames(1) }.build().saturate(10);
    let received: u64 = rig.received.iter().sum();
    within(rig.ppdus.len() as f64 / received as f64, 1.11, 0.01);
    let again: Vec<f64> = rig
        .ppdus
        .iter()
        .filter(|ppdu| ppdu.tries == 1)
        .map(|ppdu| ppdu.access_delay.as_micros() as f64)
        .collect();
    // From the end of the PPDU: time-out 45, AIFS 43, 15.5 slots.
    within(again.iter().sum::<f64>() / again.len() as f64, 45.0 + 43.0 + 15.5 * 9.0, 0.03);
}

#[test]
fn thirty_transmissions_lose_nothing_at_a_loss_of_30_percent() {
    let rig = Plan { loss: 0.3, ..Plan::uplink(1) }.build().saturate(5);
    assert_eq!(rig.drops, 0);
}

#[test]
fn a_frame_is_given_up_after_as_many_transmissions_as_the_driver_makes() {
    let mut plan = Plan { loss: 1.0, ..Plan::uplink(1) };
    plan.profile.frame_tries = 3;
    plan.profile.hardware_tries = 1;
    let mut rig = plan.build();
    (0..5).for_each(|_| rig.offer(1, 0, 0));
    rig.drain();
    let sent: u32 = rig.ppdus.iter().map(|ppdu| ppdu.mpdus).sum();
    assert_eq!((rig.drops, sent), (5, 15));
}

#[test]
fn a_hole_delays_what_is_behind_it_by_one_cycle() {
    let mut plan = Plan { loss: 0.002, ..Plan::uplink(1) };
    plan.profile.hardware_queue = HardwareQueue::Slots(1);
    let rig = plan.build().saturate(5);
    assert!(rig.arrivals.is_sorted_by_key(|&(_, offered)| offered), "in the order of sending");
    let at = |instant: SimTime| rig.arrivals.iter().filter(|(came, _)| *came == instant).count() as u32;
    let delayed: Vec<f64> = rig
        .ppdus
        .windows(2)
        .filter(|pair| pair[0].received < pair[0].mpdus && pair[1].received == pair[1].mpdus)
        .filter(|pair| at(pair[0].began + pair[0].duration) < pair[0].received)
        .map(|pair| pair[1].began.since(pair[0].began).as_micros() as f64)
        .collect();
    assert!(delayed.len() > 50);
    within(delayed.iter().sum::<f64>() / delayed.len() as f64, 1518.5, 0.03);
}

#[test]
fn beacons_cost_0_4_percent_at_6_mbit_and_2_4_percent_at_1_mbit() {
    for (band, rate, share) in
        [(Band::Ghz5, LegacyRate::Ofdm(24), 0.004), (Band::Ghz2, LegacyRate::Dsss(10), 0.024)]
    {
        let quiet = Plan { band, ..Plan::uplink(1) }.build().saturate(10).total_mbps();
        let loud = Plan { band, beacons: Some(rate), ..Plan::uplink(1) }.build().saturate(10).total_mbps();
        let cost = 1.0 - loud / quiet;
        assert!((cost - share).abs() < 0.0015, "{cost:.4} instead of {share}");
    }
}

#[test]
fn the_credits_of_one_aggregate_return_together_when_its_block_ack_is_over() {
    let mut rig = Plan::uplink(1).build();
    (0..200).for_each(|_| rig.offer(1, 0, 0));
    let mut bursts = Vec::new();
    while rig.cell.deadline() != SimTime::NEVER {
        let before = rig.credits;
        rig.step();
        bursts.push(rig.credits - before);
    }
    bursts.retain(|&burst| burst > 0);
    let sizes: Vec<u64> = rig.ppdus.iter().map(|ppdu| u64::from(ppdu.received)).collect();
    assert_eq!(bursts, sizes);
}

#[test]
fn three_packets_in_an_mpdu_carry_more_at_866_7_mbit() {
    for (packets, expected) in [(1, 673.8), (2, 744.0), (3, 773.0)] {
        let mut plan = Plan { modes: vec![vht(80, 2, 9)], ..Plan::uplink(1) };
        plan.profile = *tailback_wifi::driver::find("ath10k").unwrap();
        plan.profile.amsdu.as_mut().unwrap().packets = packets;
        // The firmware has enough packets for 64 MPDUs of three packets each.
        plan.profile.hardware_queue = HardwareQueue::Firmware { slots: 1, frames: 1_424, airtime: None };
        within(plan.build().saturate(3).total_mbps(), expected, 0.006);
    }
}

#[test]
fn packets_that_do_not_fit_the_longest_ppdu_are_not_put_together() {
    let mut plan = Plan { modes: vec![ht(20, 0, Guard::Ns800)], ..Plan::uplink(1) };
    plan.profile = *tailback_wifi::driver::find("ath10k").unwrap();
    plan.profile.amsdu.as_mut().unwrap().packets = 3;
    let rig = plan.build().saturate(1);
    assert!(rig.ppdus.iter().all(|ppdu| ppdu.duration.as_micros() <= 5_484));
    assert!(rig.ppdus.iter().any(|ppdu| ppdu.ip_bytes > 1_500 * ppdu.mpdus));
}

#[test]
fn hidden_senders_collide_and_rts_helps() {
    let mut plan = Plan::uplink(2);
    let open = plan.build().saturate(10).total_mbps();
    plan.hearing.hide(StationId(1), StationId(2));
    let hidden = plan.build().saturate(10);
    assert!(hidden.total_mbps() < 0.5 * open, "{} and {open}", hidden.total_mbps());
    assert!(hidden.collisions() > 0.4);
    plan.profile.rts_threshold = Some(500);
    let protected = plan.build().saturate(10).total_mbps();
    assert!(protected > 0.85 * open, "{protected} and {open}");
}

/// One sender with nothing else on the air: the mean access of 110.5 µs, the PPDU, SIFS and the block ack.
fn saturated_mbps(frames: u64, ppdu_us: f64, block_ack_us: f64) -> f64 {
    (frames * 1472 * 8) as f64 / (110.5 + ppdu_us + 16.0 + block_ack_us)
}

#[test]
fn the_generic_driver_reaches_the_limits_of_802_11ac_and_ax() {
    let he = |width, mcs| Mode::new(Format::He, width, 2, mcs, Guard::Ns800).unwrap();
    // 802.11ac, 866.7 Mbit/s: 64 MPDUs are 98 814 bytes in 960 µs; a block ack of 32 bytes.
    let vht80 = saturated_mbps(64, 960.0, 32.0);
    // 802.11ax: 256 MPDUs are 395 262 bytes; N_dbps 16 333 (80 MHz) and 32 666; preamble 36 + 2 · 7.2 µs; a block ack
    // of 56 bytes.
    let he80 = saturated_mbps(256, 50.4 + 194.0 * 13.6, 40.0);
    let he160 = saturated_mbps(256, 50.4 + 97.0 * 13.6, 40.0);
    within(vht80, 673.8, 0.001);
    for (mode, expected) in [(vht(80, 2, 9), vht80), (he(80, 11), he80), (he(160, 11), he160)] {
        let mut plan = Plan { modes: vec![mode], ..Plan::uplink(1) };
        plan.profile = *tailback_wifi::driver::find("generic").unwrap();
        within(plan.build().saturate(2).total_mbps(), expected, 0.006);
    }
}

#[test]
fn an_aggregate_of_802_11n_never_exceeds_its_65_535_bytes() {
    for driver in ["generic", "ath10k"] {
        let mut plan = Plan::uplink(1);
        plan.profile = *tailback_wifi::driver::find(driver).unwrap();
        let rig = plan.build().saturate(1);
        let longest = rig.ppdus.iter().map(|ppdu| (ppdu.psdu_bytes, ppdu.mpdus)).max();
        assert_eq!(longest, Some((64_846, 42)), "{driver}");
    }
}

/// Two senders that do not hear each other, both with RTS, in a model of slots of 1 µs that shares no code with the
/// simulator: goodput in Mbit/s.
fn hidden_pair_by_slots(micros: u64, seed: u64) -> f64 {
    const ACCESS: [u64; 4] = [28, 16, 28, 16]; // RTS, SIFS, CTS, SIFS
    const DATA: u64 = 1_360;
    const RESPONSE: u64 = 16 + 32;
    let mut draws = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut draw = |window: u64| u64::from(draws.next_u32()) % (window + 1);
    // Of each sender: its window, the slots left, the time at which it may count on, the begin of its RTS.
    let mut window = [15; 2];
    let mut slots = [draw(15), draw(15)];
    let mut idle = [0; 2];
    let mut began: [Option<u64>; 2] = [None; 2];
    // Its RTS or PPDU was spoilt; and until when the CTS for the other one keeps it from counting.
    let mut spoilt = [false; 2];
    let mut delivered = 0;
    for now in 0..micros {
        for one in 0..2 {
            let other = 1 - one;
            if let Some(begin) = began[one] {
                let age = now - begin;
                let cleared = ACCESS[0] + ACCESS[1];
                let data = ACCESS.iter().sum::<u64>();
                // The other sends while the access point listens to this one: in the RTS, or in the PPDU.
                let listens = age < ACCESS[0] || (data..data + DATA).contains(&age);
                let other_sends = began[other].is_some_and(|theirs| {
                    let age = now - theirs;
                    age < ACCESS[0] || (data..data + DATA).contains(&age)
                });
                spoilt[one] |= listens && other_sends;
                // The access point sends CTS or a response to the other.
                spoilt[one] |= listens
                    && began[other].is_some_and(|theirs| {
                        let age = now - theirs;
                        !spoilt[other]
                            && ((cleared..cleared + ACCESS[2]).contains(&age) || age >= data + DATA + 16)
                    });
                let failed = spoilt[one] && (age + 1 == ACCESS[0] || age + 1 == data + DATA);
                let done = age + 1 == data + DATA + RESPONSE;
                if failed || done {
                    began[one] = None;
                    window[one] = if failed { (2 * window[one] + 1).min(1_023) } else { 15 };
                    slots[one] = draw(window[one]);
                    // AIFS; after a failure also the time-out.
                    idle[one] = now + 1 + 43 + if failed { 45 } else { 0 };
                    spoilt[one] = false;
                    delivered += u64::from(done) * 32 * 1472 * 8;
                } else if age == cleared && !spoilt[one] && began[other].is_none() {
                    // The other hears the CTS and defers to the end of the response.
                    idle[other] = begin + data + DATA + RESPONSE + 43;
                }
            } else if now >= idle[one] && (now - idle[one]).is_multiple_of(9) {
                if slots[one] == 0 {
                    (began[one], spoilt[one]) = (Some(now), false);
                } else {
                    slots[one] -= 1;
                }
            }
        }
    }
    delivered as f64 / micros as f64
}

#[test]
fn two_hidden_senders_with_rts_carry_what_a_model_of_slots_gives() {
    let expected = hidden_pair_by_slots(20_000_000, 1);
    let mut plan = Plan::uplink(2);
    plan.hearing.hide(StationId(1), StationId(2));
    plan.profile.rts_threshold = Some(500);
    let measured = plan.build().saturate(20).total_mbps();
    within(measured, expected, 0.004);
}

#[test]
fn codel_drops_for_a_slow_station_like_for_any_other_unless_the_driver_spares_it() {
    let drops = |profile| {
        let modes = vec![ht(20, 0, Guard::Ns800); 2];
        let mut rig = Plan { profile, modes, ..Plan::downlink(2) }.build();
        while rig.now < SimTime::ZERO + Span::from_secs(2) {
            while rig.outstanding[0] < 20 {
                rig.offer(0, 1, 0);
            }
            rig.step();
        }
        rig.drops
    };
    let ath9k = *driver::find("ath9k").unwrap();
    let (as_others, spared) = (drops(ath9k), drops(ath9k.sparing_slow_stations()));
    println!("{as_others} {spared}");
    assert!(as_others > 10 && spared == 0);
}
