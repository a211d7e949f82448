use super::*;
use crate::testing::{Rig, packet};

fn of(flow: u32, ecn: Ecn) -> Packet {
    Packet { ecn, ..packet(flow, 1514) }
}

/// Offers packets of each kind per packet time at 10 Mbit/s; returns how many of each leave, in order.
fn offer(rig: &mut Rig, offered: &[(Ecn, u32)], packet_times: u32) -> Vec<u32> {
    let mut left = vec![0; offered.len()];
    for _ in 0..packet_times {
        for (flow, &(ecn, count)) in offered.iter().enumerate() {
            rig.fill(count, &of(flow as u32, ecn));
        }
        if let Some(sent) = rig.serve(10_000_000) {
            left[sent.from.0 as usize] += 1;
        } else {
            rig.advance(Span::from_nanos(1_211_200));
        }
    }
    left
}

#[test]
fn scalable_packets_have_a_queue_of_their_own_and_go_first() {
    let mut rig = Rig::of("dualpi2", &[]);
    for (flow, ecn) in [(0, Ecn::NotEct), (1, Ecn::Ect0), (2, Ecn::Ect1), (3, Ecn::Ce)] {
        rig.enqueue(of(flow, ecn));
    }
    let order: Vec<u32> = (0..4).filter_map(|_| rig.serve(10_000_000)).map(|sent| sent.from.0).collect();
    assert_eq!(order, [2, 3, 0, 1]);
    assert_eq!((rig.counter("packets_in_c"), rig.counter("packets_in_l")), (2, 2));
}

#[test]
fn with_any_ect_only_packets_of_a_transport_without_ecn_are_classic() {
    let mut rig = Rig::of("dualpi2", &[("any_ect", 1)]);
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        rig.enqueue(of(0, ecn));
    }
    assert_eq!((rig.counter("packets_in_c"), rig.counter("packets_in_l")), (1, 3));
}

#[test]
fn a_flood_of_scalable_packets_leaves_classic_ones_a_tenth() {
    let never = [("target", 100 * SECOND), ("step_thresh", 4 * SECOND), ("limit", 50_000)];
    let mut rig = Rig::of("dualpi2", &never);
    let left = offer(&mut rig, &[(Ecn::Ect1, 2), (Ecn::Ect0, 2)], 5000);
    assert!((480..520).contains(&left[1]), "{left:?}");
}

#[test]
fn an_l_packet_behind_others_for_longer_than_the_step_is_marked() {
    let mut rig = Rig::of("dualpi2", &[]);
    rig.fill(5, &of(0, Ecn::Ect1));
    let marked: Vec<bool> =
        (0..5).filter_map(|_| rig.serve(10_000_000)).map(|sent| sent.ecn == Ecn::Ce).collect();
    assert_eq!(marked, [false, true, true, true, true]);
    assert_eq!(rig.counter("step_marks"), 4);
}

/// Which of five L packets that came together are marked, at 10 Mbit/s.
fn marked_of_five(given: &[(&str, u64)]) -> Vec<bool> {
    let mut rig = Rig::of("dualpi2", given);
    rig.fill(5, &of(0, Ecn::Ect1));
    (0..5).filter_map(|_| rig.serve(10_000_000)).map(|sent| sent.ecn == Ecn::Ce).collect()
}

#[test]
fn the_step_spares_a_packet_that_found_few_at_its_arrival() {
    assert_eq!(marked_of_five(&[("min_qlen_step", 3)]), [false, false, false, true, true]);
}

#[test]
fn a_step_in_packets_marks_those_with_more_behind_them() {
    assert_eq!(marked_of_five(&[("step_packets", 2)]), [true, true, false, false, false]);
    assert_eq!(marked_of_five(&[("step_packets", 0)]), [true, true, true, true, false]);
}

#[test]
fn a_packet_that_came_with_ce_counts_as_marked_by_the_step() {
    let mut rig = Rig::of("dualpi2", &[]);
    rig.fill(2, &of(0, Ecn::Ce));
    (0..2).for_each(|_| drop(rig.serve(10_000_000)));
    assert_eq!((rig.counter("step_marks"), rig.counter("ecn_mark")), (1, 1));
    assert_eq!(rig.qdisc.counters().marked, 1);
}

#[test]
fn a_packet_that_the_law_and_the_step_mark_counts_twice() {
    let given = [("drop_on_overload", 0), ("coupling_factor", 255), ("target", 1)];
    let mut rig = Rig::of("dualpi2", &given);
    rig.fill(200, &of(0, Ecn::Ect1));
    rig.advance(Span::from_secs(2));
    drop(rig.serve(10_000_000));
    assert_eq!((rig.counter("step_marks"), rig.counter("ecn_mark")), (1, 2));
}

#[test]
fn the_credit_begins_anew_when_both_queues_are_empty() {
    let mut rig = Rig::of("dualpi2", &[("step_thresh", SECOND)]);
    let level = |rig: &Rig| {
        let mut found = 0;
        rig.qdisc.own_levels(&mut |_, value| found = value);
        found
    };
    let first = level(&rig);
    assert_eq!(first, -80 * 1514);
    rig.enqueue(of(0, Ecn::Ect1));
    rig.enqueue(of(1, Ecn::NotEct));
    drop(rig.serve(10_000_000));
    assert_eq!(level(&rig), first + 10 * 1514, "the L packet passed a waiting C packet");
    drop(rig.serve(10_000_000));
    assert!(rig.serve(10_000_000).is_none());
    assert_eq!(level(&rig), first);
}

#[test]
fn the_memory_of_twice_the_limit_may_be_used_and_its_peak_is_told() {
    let resolved = crate::registry::resolve("dualpi2", &Parameters::default(), &Attachment::default());
    assert_eq!(resolved.unwrap().given("memlimit"), Some(2 * 10_000 * 1514));
    let mut rig = Rig::of("dualpi2", &[("limit", 3)]);
    rig.fill(4, &of(0, Ecn::NotEct));
    (0..2).for_each(|_| drop(rig.serve(10_000_000)));
    assert_eq!((rig.counter("memory_used"), rig.counter("max_memory_used")), (2304, 3 * 2304));
    assert_eq!(rig.counter("maxq"), 2, "as the last arrival found it");
}

#[test]
fn the_sender_of_a_packet_that_the_law_drops_at_its_arrival_does_not_notice() {
    let mut rig = Rig::of("dualpi2", &[("drop_enqueue", 1)]);
    rig.fill(60, &of(0, Ecn::NotEct));
    rig.advance(Span::from_secs(4));
    let answers: Vec<Enqueued> = (0..50).map(|_| rig.enqueue(of(0, Ecn::NotEct))).collect();
    let lost = answers.iter().filter(|&&answer| answer == Enqueued::Lost).count();
    assert!(lost > 10 && lost == rig.effects.dropped.len(), "{lost}");
}

#[test]
fn gains_are_cut_off_to_whole_units_and_what_exceeds_32_bits_is_lost() {
    assert_eq!((scaled(41), scaled(819)), (44, 879));
    assert_eq!((moved(10, 5 << 6), moved(10, -(5 << 6)), moved(10, -(11 << 6))), (15, 5, 0));
    assert_eq!((moved(ONE, 1 << 6), moved(10, (1 << 32) << 6)), (ONE, 10));
}

#[test]
fn one_ms_above_target_and_one_ms_of_growth_change_p_by_their_gains() {
    let mut rig = Rig::of("dualpi2", &[("step_thresh", SECOND)]);
    rig.fill(100, &of(0, Ecn::NotEct));
    rig.advance(Span::from_millis(16));
    rig.serve(10_000_000);
    let p = rig.counter("prob") as f64 / f64::from(ONE);
    let expected = 0.16 * 0.001 + 3.2 * 0.016;
    assert!((p - expected).abs() < 0.01 * expected, "{p} {expected}");
}

#[test]
fn classic_packets_are_dropped_with_the_square_of_the_probability_of_l() {
    let mut rig = Rig::of("dualpi2", &[]);
    offer(&mut rig, &[(Ecn::NotEct, 1)], 200);
    rig.fill(60, &of(0, Ecn::NotEct));
    let before = rig.effects.dropped.len();
    offer(&mut rig, &[(Ecn::NotEct, 1)], 1500);
    let p = rig.counter("prob") as f64 / f64::from(ONE);
    assert!(rig.effects.dropped.len() > before && p < 0.5, "{p}");
}

#[test]
fn the_parameters_of_the_controller_are_derived_from_max_rtt() {
    let given = Parameters::new([("max_rtt".into(), 100 * MS)].into());
    let resolved = crate::registry::resolve("dualpi2", &given, &Attachment::default()).unwrap();
    let of = |name| resolved.given(name).unwrap();
    assert_eq!((of("beta"), of("tupdate"), of("target")), (768, 16_666_666, 16_666_666));
    assert_eq!(of("alpha"), 42);
}

#[test]
fn below_two_full_packets_the_controller_signals_nothing() {
    let mut rig = Rig::of("dualpi2", &[("step_thresh", SECOND)]);
    rig.fill(60, &of(0, Ecn::NotEct));
    rig.advance(Span::from_secs(2));
    while rig.qdisc.backlog().packets > 1 {
        rig.serve(10_000_000);
    }
    assert!(rig.counter("prob") > u64::from(ONE / 4), "the probability is high");
    let before = rig.effects.dropped.len();
    (0..5).for_each(|_| {
        rig.serve(10_000_000);
        rig.enqueue(of(0, Ecn::NotEct));
    });
    assert_eq!(rig.effects.dropped.len(), before);
}

#[test]
fn the_packet_itself_is_none_of_those_that_wait() {
    let mut rig = Rig::of("dualpi2", &[("step_thresh", SECOND)]);
    rig.fill(60, &of(0, Ecn::NotEct));
    rig.advance(Span::from_secs(10));
    assert!(rig.serve(10_000_000).is_some());
    assert_eq!(rig.counter("prob"), u64::from(ONE), "everything is dropped");
    assert_eq!((rig.effects.dropped.len(), rig.qdisc.backlog().packets), (58, 1));
}

#[test]
fn above_a_half_scalable_packets_are_dropped_too() {
    let flood = |drop_on_overload| {
        let given = [("drop_on_overload", drop_on_overload), ("limit", 1000)];
        let mut rig = Rig::of("dualpi2", &given);
        offer(&mut rig, &[(Ecn::Ect1, 2)], 5000);
        let dropped_by_law = rig.effects.dropped.iter().any(|(_, why)| *why == DropReason::Aqm);
        (rig.counter("prob") > u64::from(ONE / 2), dropped_by_law)
    };
    assert_eq!((flood(1), flood(0)), ((true, true), (false, false)));
}
