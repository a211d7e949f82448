//! The signatures of a saturated cell: numbers that follow from the standard, computed elsewhere.

mod rig;

use rig::{Plan, ht, vht};
use tailback_units::{SimTime, Span};
use tailback_wifi::aggregate::Limits;
use tailback_wifi::driver::Below;
use tailback_wifi::phy::Guard;

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
        let plan = Plan { rts: true, ..Plan::uplink(senders) };
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
        plan.profile.below = Below::Slots(1);
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
        plan.profile.below = Below::Slots(slots);
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
    let plan = Plan { band: tailback_wifi::Band::Ghz2, ..Plan::uplink(1) };
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
