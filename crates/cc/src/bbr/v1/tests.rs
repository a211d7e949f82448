//! Signatures of BBR on a small path: its states, what it sends in them, and its reactions.

use tailback_units::{Rate, SimTime};

use super::*;
use crate::bbr::model::FULL_ROUNDS;
use crate::test_path::{MSS, Path, Run, Zeros, void};

const RTT: Span = Span::from_millis(40);

fn ms(ms: u64) -> SimTime {
    SimTime::ZERO + Span::from_millis(ms)
}

fn run(path: Path) -> Run<Bbr> {
    Run::new(path, Bbr::of(Variant::default()), 1)
}

/// 10 Mbit/s, 40 ms, in PROBE_BW.
fn settled() -> Run<Bbr> {
    let mut run = run(Path::new(10, RTT));
    run.until(ms(2_000));
    assert_eq!(run.control.model.mode, Mode::ProbeBw);
    run
}

/// Phases of PROBE_BW until `at`: index and how many ms they lasted.
fn phases(run: &mut Run<Bbr>, at: SimTime) -> Vec<(usize, u64)> {
    let mut phases = Vec::new();
    let (mut index, mut since) = (run.control.cycle.index, run.flow.now);
    run.watch_until(at, |run| {
        if run.control.cycle.index != index {
            phases.push((index, run.flow.now.since(since).as_millis()));
            (index, since) = (run.control.cycle.index, run.flow.now);
        }
    });
    phases
}

fn percent_of(value: Rate, of: u64) -> u64 {
    value.bytes_per_sec() * 100 / of
}

#[test]
fn the_first_rate_is_ten_segments_per_handshake_rtt_times_2_887_less_one_percent() {
    let run = run(Path::new(100, RTT));
    let ideal = 10.0 * f64::from(MSS) / 0.040 * 739.0 / 256.0 * 0.99;
    assert!((run.window.pacing_rate.bytes_per_sec() as f64 / ideal - 1.0).abs() < 1e-4);
}

#[test]
fn without_an_rtt_the_first_rate_assumes_a_millisecond_until_one_is_measured() {
    let (mut control, mut window) = (Bbr::of(Variant::default()), Window::initial(Segs(10)));
    let mut flow = Flow::established(MSS, Span::from_millis(1));
    control.init(&flow, &mut window, &mut Zeros);
    let assumed = window.pacing_rate;
    flow.srtt_us8 = 8 * 10_000;
    control.set_pacing_rate(HIGH_GAIN, &flow, &mut window);
    assert_eq!(assumed.bytes_per_sec() / window.pacing_rate.bytes_per_sec(), 10);
}

#[test]
fn startup_doubles_the_delivery_rate_each_round() {
    let mut run = run(Path::new(1_000, RTT));
    let mut rates = Vec::new();
    run.watch_until(ms(300), |run| {
        if run.control.model.rounds.start {
            rates.push(run.control.max_bandwidth().raw());
        }
        assert_eq!(run.control.model.mode, Mode::Startup);
    });
    // The very first ACK covers a single packet.
    let rates = &rates[1..=6];
    for pair in rates.windows(2) {
        assert!((15..=24).contains(&(pair[1] * 10 / pair[0])), "{rates:?}");
    }
    assert!((22..=42).contains(&(rates[5] / rates[0])), "2⁵ in five rounds: {rates:?}");
}

#[test]
fn startup_ends_three_rounds_after_the_bandwidth_stops_growing_and_drain_empties_the_queue() {
    let mut run = run(Path::new(100, RTT));
    let bdp = run.path.bdp();
    let (mut max_in_flight, mut drained) = (0, None);
    run.watch_until(ms(1_500), |run| {
        max_in_flight = max_in_flight.max(run.flow.in_flight.0);
        if run.control.model.mode == Mode::Drain {
            assert_eq!(run.control.model.gains.pacing, DRAIN_GAIN);
        }
        if run.control.model.mode == Mode::ProbeBw && drained.is_none() {
            drained = Some((run.flow.in_flight.0, run.control.model.rounds.count, run.window.ssthresh.0));
        }
    });
    let (in_flight, _, ssthresh) = drained.expect("it reaches PROBE_BW");
    let (cap, skbs) = (bdp * HIGH_GAIN.0 / 256, 3 * 25);
    assert!((2 * bdp..=cap + skbs).contains(&max_in_flight), "{max_in_flight} of {bdp}");
    assert!(in_flight <= ssthresh && ssthresh - bdp <= skbs, "{in_flight} {ssthresh} {bdp}");
    assert_eq!(run.control.model.full_pipe.rounds, FULL_ROUNDS);
}

#[test]
fn probing_cycles_through_eight_phases_of_about_min_rtt() {
    let phases = phases(&mut settled(), ms(6_000));
    for pair in phases.windows(2) {
        assert_eq!((pair[0].0 + 1) % CYCLE.len(), pair[1].0);
    }
    for &(index, length) in &phases[1..] {
        match index {
            1 => assert!(length <= 45, "the queue of the probe drains within {length} ms"),
            _ => assert!((40..=60).contains(&length), "phase {index} lasts {length} ms"),
        }
    }
}

#[test]
fn the_first_phase_is_any_but_the_draining_one() {
    let mut seen = [0; CYCLE.len()];
    for seed in 0..200 {
        let mut run = Run::new(Path::new(10, Span::from_millis(10)), Bbr::of(Variant::default()), seed);
        let mut first = None;
        run.watch_until(ms(400), |run| {
            if run.control.model.mode == Mode::ProbeBw {
                first.get_or_insert(run.control.cycle.index);
            }
        });
        seen[first.expect("it reaches PROBE_BW")] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(index, &times)| index == 1 || times > 10), "{seen:?}");
}

#[test]
fn a_probe_lasts_until_a_quarter_more_is_in_flight() {
    let mut run = settled();
    let mut last = run.control.cycle.index;
    let mut ends = Vec::new();
    run.watch_until(ms(6_000), |run| {
        if last == 0 && run.control.cycle.index == 1 {
            ends.push(run.flow.in_flight.0);
        }
        last = run.control.cycle.index;
    });
    let target = run.path.bdp() * 5 / 4;
    assert!(ends.len() > 5 && ends.iter().all(|&end| end >= target), "{ends:?}, {target}");
}

#[test]
fn a_loss_ends_the_probe_after_min_rtt() {
    let mut run = settled();
    while run.control.cycle.index != 0 {
        let next = run.flow.now + Span::from_millis(1);
        run.until(next);
    }
    let min_rtt = run.control.model.min_rtt.us.expect("it was measured");
    for (elapsed, losses, ends) in [(min_rtt + 1, 1, true), (min_rtt + 1, 0, false), (min_rtt, 1, false)] {
        run.flow.delivered_at = SimTime::from_nanos((run.control.cycle.start + elapsed) * 1_000);
        let sample = RateSample { losses: Segs(losses), prior_in_flight: Segs(30), ..void() };
        assert_eq!(
            run.control.is_next_cycle_phase(&sample, &run.flow, &run.window),
            ends,
            "{elapsed} {losses}"
        );
    }
}

#[test]
fn a_steady_flow_has_two_bdps_and_three_skbs_and_sends_at_the_bandwidth_less_one_percent() {
    let mut run = settled();
    let bandwidth = run.path.bytes_per_sec();
    let mut cruising = 0;
    run.watch_until(ms(8_000), |run| {
        let extra = run.control.model.aggregation.extra_cwnd(run.control.bandwidth());
        let bdp = run.control.model.bdp(run.control.bandwidth(), CWND_GAIN);
        let goal = run.control.tso_segs_goal(&run.flow, &run.window);
        if run.control.cycle.index > 1 {
            assert_eq!(u64::from(run.window.cwnd.0), (bdp + extra + 3 * goal + 1) & !1);
            assert!((97..=101).contains(&percent_of(run.window.pacing_rate, bandwidth)));
            cruising += 1;
        }
    });
    assert!(cruising > 1_000);
    let cwnd = run.window.cwnd.0;
    assert!((2 * run.path.bdp() + 6..=2 * run.path.bdp() + 14).contains(&cwnd), "{cwnd}");
}

#[test]
fn every_ten_seconds_a_window_of_four_for_200_ms_and_a_round_measures_min_rtt() {
    let mut run = run(Path::new(10, RTT));
    let (mut started, mut small, mut ended) = (None, None, None);
    let mut cwnd_before = Segs::ZERO;
    run.watch_until(ms(13_000), |run| {
        let in_probe = run.control.model.mode == Mode::ProbeRtt;
        if !in_probe && started.is_none() {
            cwnd_before = run.window.cwnd;
        }
        if in_probe {
            started.get_or_insert(run.flow.now);
            assert!(run.window.cwnd <= Segs(MIN_CWND));
            assert!(run.flow.app_limited > 0);
        }
        if in_probe && run.flow.in_flight <= Segs(MIN_CWND) {
            small.get_or_insert(run.flow.now);
        }
        if !in_probe && started.is_some() && ended.is_none() {
            ended = Some((run.flow.now, run.window.cwnd));
        }
    });
    let (started, small) = (started.expect("it probes"), small.expect("the flight shrinks"));
    let (ended, cwnd_after) = ended.expect("it ends");
    assert!((10_000..12_000).contains(&(started.as_nanos() / 1_000_000)), "{started}");
    let lasted = ended.since(small).as_millis();
    assert!((200..=245).contains(&lasted), "{lasted} ms");
    assert!(cwnd_after >= cwnd_before, "{cwnd_after} {cwnd_before}");
    assert!(run.control.model.min_rtt.us.is_some_and(|us| us <= 41_500));
}

#[test]
fn a_bandwidth_that_halves_is_noticed_after_ten_rounds() {
    let mut run = settled();
    let before = run.control.max_bandwidth().raw();
    let (rounds, _) = (run.control.model.rounds.count, run.path.rate = Rate::from_bits_per_sec(5_000_000));
    let mut fell = None;
    run.watch_until(ms(6_000), |run| {
        if fell.is_none() && run.control.max_bandwidth().raw() < before * 6 / 10 {
            fell = Some(run.control.model.rounds.count - rounds);
        }
    });
    assert!(fell.is_some_and(|fell| (10..=13).contains(&fell)), "{fell:?}");
}

#[test]
fn batched_acks_enlarge_the_window_by_what_comes_at_once() {
    let cwnd = |batch| {
        let path = Path { batch, ..Path::new(100, Span::from_millis(10)) };
        let bdp = path.bdp();
        let mut run = run(path);
        run.until(ms(3_000));
        let extra = run.control.model.aggregation.extra_cwnd(run.control.bandwidth());
        assert!(extra <= run.control.bandwidth().packets_in(100_000));
        (run.window.cwnd.0 - 2 * bdp, extra)
    };
    let (smooth, _) = cwnd(None);
    let (batched, extra) = cwnd(Some(Span::from_millis(4)));
    // 4 ms at 100 Mbit/s are 34 packets.
    assert!((30..=110).contains(&extra) && batched >= smooth + 30, "{smooth} {batched} {extra}");
}

#[test]
fn below_1_2_mbit_one_segment_makes_an_skb() {
    let mut run = run(Path::new(1, RTT));
    assert_eq!(run.control.min_tso_segs(&run.window), Some(2), "the first guess is faster");
    run.until(ms(5_000));
    assert_eq!(run.control.min_tso_segs(&run.window), Some(1));
    assert_eq!(run.control.tso_segs_goal(&run.flow, &run.window), 1);
}

#[test]
fn recovery_first_conserves_packets_and_then_restores_the_window() {
    let mut run = run(Path { lose: |number| number == 2_000, ..Path::new(10, RTT) });
    let mut states = Vec::new();
    let mut before = Segs::ZERO;
    run.watch_until(ms(4_000), |run| {
        let now = (run.flow.ca_state, run.control.packet_conservation);
        if states.last() != Some(&now) {
            states.push(now);
        }
        match now {
            (CaState::Open, _) if states.len() == 1 => before = run.window.cwnd,
            (CaState::Recovery, true) => assert!(run.window.cwnd <= run.flow.in_flight + Segs(2)),
            _ => {}
        }
    });
    let (open, conserving, restored) =
        ((CaState::Open, false), (CaState::Recovery, true), (CaState::Recovery, false));
    assert!(states == [open, conserving, restored, open] || states == [open, conserving, open], "{states:?}");
    assert_eq!(run.flow.lost, 1);
    assert!(run.control.model.prior_cwnd >= before);
    assert!(run.window.cwnd.0.abs_diff(before.0) <= 8, "{} {}", run.window.cwnd, before);
}

#[test]
fn random_loss_of_one_in_fifty_leaves_the_rate_where_it_was() {
    let mut run = run(Path { lose: |number| number % 50 == 49, ..Path::new(10, RTT) });
    run.until(ms(10_000));
    let used = run.flow.delivered * u64::from(MSS) * 100 / (10 * run.path.bytes_per_sec());
    assert!(used >= 88, "{used} %");
}

#[test]
fn leaving_recovery_restores_the_window_at_once() {
    let mut control = Bbr::of(Variant::default());
    let mut window = Window::initial(Segs(50));
    let mut flow = Flow::established(MSS, Span::from_millis(1));
    control.init(&flow, &mut window, &mut Zeros);
    assert_eq!(control.ssthresh(&flow, &window), Segs::INFINITE);
    flow.ca_state = CaState::Recovery;
    flow.in_flight = Segs(20);
    let sample = RateSample { losses: Segs(1), acked_sacked: Segs(1), ..void() };
    control.cong_control(&sample, &flow, &mut window, &mut Zeros);
    assert_eq!(window.cwnd, Segs(21));
    flow.ca_state = CaState::Open;
    control.cong_control(&RateSample { acked_sacked: Segs(1), ..void() }, &flow, &mut window, &mut Zeros);
    assert!(window.cwnd >= Segs(50), "{}", window.cwnd);
}

#[test]
fn after_idle_the_pacing_rate_is_the_bandwidth_itself() {
    let mut run = settled();
    let (bandwidth, now) = (run.path.bytes_per_sec(), run.flow.now);
    run.window.pacing_rate = Rate::from_bytes_per_sec(1_000);
    run.flow.app_limited = 1;
    run.flow.now = now + Span::from_secs(1);
    run.control.cwnd_event(CwndEvent::TxStart, &run.flow, &mut run.window);
    assert!((97..=101).contains(&percent_of(run.window.pacing_rate, bandwidth)));
    assert!(run.control.model.idle_restart);
}

#[test]
fn an_application_with_little_to_send_neither_lowers_the_bandwidth_nor_probes_for_min_rtt_on_restart() {
    let mut run = settled();
    run.supply = 0;
    let before = run.control.max_bandwidth().raw();
    let mut probed = false;
    for burst in 0..40 {
        run.supply = 3;
        run.watch_until(ms(2_700 + 700 * burst), |run| probed |= run.control.model.mode == Mode::ProbeRtt);
    }
    assert!(run.control.max_bandwidth().raw() >= before * 95 / 100);
    assert!(!probed);
}

#[test]
fn a_timeout_restarts_the_detection_of_a_full_pipe_and_saves_the_window() {
    let mut run = settled();
    let cwnd = run.window.cwnd;
    run.control.ssthresh(&run.flow, &run.window);
    run.control.set_state(CaState::Loss, &run.flow, &mut run.window);
    assert_eq!(run.control.model.full_pipe.bandwidth, Bandwidth::ZERO);
    assert!(run.control.model.full_pipe.reached && run.control.model.prior_cwnd == cwnd);
}

#[test]
fn an_undone_reduction_restarts_the_detection_of_a_full_pipe() {
    let mut run = run(Path::new(10, RTT));
    run.until(ms(200));
    run.control.model.full_pipe.rounds = 2;
    let cwnd = run.control.undo_cwnd(&run.flow, &mut run.window);
    assert_eq!((cwnd, run.control.model.full_pipe.rounds), (run.window.cwnd, 0));
}

#[test]
fn gauges_have_the_names_of_tcp_cc_info() {
    let run = settled();
    let mut shown = std::collections::BTreeMap::new();
    run.control.gauges(&run.flow, &mut |name, value| {
        shown.insert(name, value);
    });
    assert!((1.2e6..1.3e6).contains(&shown["bbr_bw"]), "{shown:?}");
    assert!((40_000.0..43_000.0).contains(&shown["bbr_min_rtt"]), "{shown:?}");
    assert_eq!(shown["bbr_cwnd_gain"], 2.0);
    assert!([0.75, 1.0, 1.25].contains(&shown["bbr_pacing_gain"]));
}

#[test]
fn before_5_1_cwnd_has_no_room_for_bursts_of_acks() {
    let cwnd = |ack_aggregation| {
        let path = Path { batch: Some(Span::from_millis(4)), ..Path::new(100, Span::from_millis(10)) };
        let mut run = Run::new(path, Bbr::of(Variant { ack_aggregation, ..Variant::default() }), 1);
        run.until(ms(3_000));
        run.window.cwnd.0
    };
    assert!(cwnd(true) >= cwnd(false) + 25, "{} {}", cwnd(true), cwnd(false));
}

#[test]
fn before_4_16_cwnd_has_room_for_three_skbs_as_the_device_takes_them() {
    let cwnd = |skb_room, gso_max_segs| {
        let mut run = Run::new(
            Path::new(100, Span::from_millis(10)),
            Bbr::of(Variant { skb_room, ..Variant::default() }),
            1,
        );
        run.flow.gso_max_segs = gso_max_segs;
        run.until(ms(3_000));
        run.window.cwnd.0
    };
    let as_paced = cwnd(SkbRoom::PacingShift, 1);
    // 1 ms of 99 Mbit/s are eight segments.
    assert_eq!(as_paced - cwnd(SkbRoom::Device, 1), 3 * 8 - 3 + 1, "even windows");
    assert_eq!(as_paced, cwnd(SkbRoom::Device, 65_535));
}

#[test]
fn a_scaled_rate_exceeds_the_bandwidth_only_once_the_pipe_is_full() {
    for variant in [
        Variant { cycle_percent: 200, ..Variant::default() },
        Variant { pacing_percent: 200, ..Variant::default() },
    ] {
        let mut run = Run::new(Path::new(10, RTT), Bbr::of(variant), 1);
        let bandwidth = run.path.bytes_per_sec();
        let mut fastest = 0;
        run.watch_until(ms(6_000), |run| {
            if run.control.model.mode == Mode::ProbeBw && run.control.model.gains.pacing != Gain::UNIT {
                fastest = fastest.max(percent_of(run.window.pacing_rate, bandwidth));
            }
        });
        assert!((240..=255).contains(&fastest), "2 · 1.25: {fastest}");
        assert!(run.window.cwnd.0 <= 3 * run.path.bdp(), "cwnd still bounds what is in flight");
    }
}
