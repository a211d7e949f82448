//! Signatures of versions 2 and 3 on a small path.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_units::{Parameter, Parameters, Rate, SimTime, Span};

use super::*;
use crate::bbr2::{PARAMETERS, VERSION_2};
use crate::bbr3::{self, VERSION_3};
use crate::test_path::{Path, Run};

const RTT: Span = Span::from_millis(40);
const VERSIONS: [Profile; 2] = [VERSION_2, VERSION_3];

fn ms(ms: u64) -> SimTime {
    SimTime::ZERO + Span::from_millis(ms)
}

fn control(profile: Profile) -> Bbr2 {
    Bbr2::new(profile, tuning(&Parameters::default(), PARAMETERS).expect("defaults are in range"))
}

fn run(path: Path, profile: Profile) -> Run<Bbr2> {
    Run::new(path, control(profile), 1)
}

/// The state of the model, and its phase in PROBE_BW.
type Place = (Mode, Option<Phase>);

fn place(control: &Bbr2) -> Place {
    (control.model.mode, control.phase())
}

fn probing(phase: Phase) -> Place {
    (Mode::ProbeBw, Some(phase))
}

/// States with their durations in ms, from `from` to `to`.
fn stretches(run: &mut Run<Bbr2>, from: u64, to: u64) -> Vec<(Place, u64)> {
    run.until(ms(from));
    let (mut mode, mut since) = (place(&run.control), run.flow.now);
    let mut found = Vec::new();
    run.watch_until(ms(to), |run| {
        if place(&run.control) != mode {
            found.push((mode, run.flow.now.since(since).as_millis()));
            (mode, since) = (place(&run.control), run.flow.now);
        }
    });
    found
}

#[test]
fn startup_fills_the_pipe_and_drain_empties_the_queue() {
    for profile in VERSIONS {
        let mut run = run(Path::new(50, RTT), profile);
        let (mut max, mut drained) = (0, None);
        run.watch_until(ms(2_000), |run| {
            max = max.max(run.flow.in_flight.0);
            if drained.is_none() && run.control.phase().is_some() {
                drained = Some(run.flow.in_flight.0);
            }
        });
        let (bdp, gain) = (run.path.bdp(), profile.startup.cwnd.0);
        assert!(max >= bdp * 18 / 10 && max <= bdp * gain / 256 + 80, "{max} of {bdp}");
        assert!(drained.is_some_and(|drained| drained <= bdp + 15), "{drained:?} of {bdp}");
    }
}

#[test]
fn drain_ends_after_as_many_round_trips_as_the_profile_says() {
    // With a gain of 1 the queue of STARTUP does not drain by itself.
    let slow = Profile { drain: Gains { pacing: Gain::UNIT, ..VERSION_3.drain }, ..VERSION_3 };
    let drained = |profile: Profile| {
        let mut run = run(Path::new(50, RTT), profile);
        let found = stretches(&mut run, 0, 1_500);
        found.iter().find(|((mode, _), _)| *mode == Mode::Drain).map(|&(_, ms)| ms)
    };
    let limited = drained(Profile { drain_rounds: 3, ..slow }).expect("it ends");
    assert!(drained(slow).is_none_or(|ms| ms > 2 * limited), "{limited}");
}

#[test]
fn the_cycle_is_down_cruise_refill_up_and_takes_two_to_three_seconds() {
    for profile in VERSIONS {
        // The BDP is larger than 63 segments, so the clock decides, not the number of rounds.
        let mut run = run(Path::new(100, RTT), profile);
        let found = stretches(&mut run, 5_500, 9_500);
        let order = [Phase::Cruise, Phase::Refill, Phase::Up, Phase::Down].map(probing);
        let start = found.iter().position(|&(mode, _)| mode == order[1]).expect("it probes");
        let cycle: Vec<Place> = found[start..].iter().map(|&(mode, _)| mode).take(3).collect();
        assert_eq!(cycle, [order[1], order[2], order[3]], "{found:?}");
    }
}

#[test]
fn with_a_small_bdp_it_probes_after_as_many_rounds_as_the_bdp_has_segments() {
    for profile in VERSIONS {
        let mut run = run(Path::new(5, Span::from_millis(50)), profile);
        let ups =
            |found: &[(Place, u64)]| found.iter().filter(|&&(mode, _)| mode == probing(Phase::Up)).count();
        let found = stretches(&mut run, 500, 4_500);
        // 21 segments: 21 rounds of 50 ms and the probe itself.
        assert!(ups(&found) >= 2, "{found:?}");
    }
}

#[test]
fn every_five_seconds_half_a_bdp_for_200_ms_measures_the_delay() {
    for profile in VERSIONS {
        let mut run = run(Path::new(50, RTT), profile);
        let (mut started, mut ended, mut min) = (None, None, u32::MAX);
        run.watch_until(ms(8_000), |run| {
            if run.control.model.mode == Mode::ProbeRtt {
                started.get_or_insert(run.flow.now);
                min = min.min(run.flow.in_flight.0);
            } else if started.is_some() && ended.is_none() {
                ended = Some(run.flow.now);
            }
        });
        let (started, ended) = (started.expect("it probes"), ended.expect("it ends"));
        let bdp = run.path.bdp();
        assert!((5_000..7_600).contains(&(started.as_nanos() / 1_000_000)), "{started}");
        assert!((200..=330).contains(&ended.since(started).as_millis()), "{started} {ended}");
        assert!(min >= bdp * 4 / 10 && min <= bdp * 55 / 100, "{min} of {bdp}");
    }
}

#[test]
fn a_path_without_loss_is_fully_used() {
    for profile in VERSIONS {
        let mut run = run(Path::new(20, RTT), profile);
        run.until(ms(10_000));
        let used = run.flow.delivered * 1_448 * 100 / (10 * run.path.bytes_per_sec());
        assert!(used >= 94, "{used} %");
        assert!(run.control.bounds.inflight_hi.is_none());
    }
}

#[test]
fn two_percent_of_loss_in_a_probe_set_inflight_hi_and_cruise_leaves_headroom() {
    for profile in VERSIONS {
        let mut run = run(Path { buffer: 20, ..Path::new(50, RTT) }, profile);
        run.until(ms(12_000));
        let bdp = run.path.bdp();
        let high = run.control.bounds.inflight_hi.expect("the buffer overflowed");
        assert!(high >= bdp * 7 / 10 && high <= bdp + 90, "{high} of {bdp}");
        let share = 100 * run.flow.lost / run.flow.delivered;
        assert!(share <= 3, "{share} % lost");
        run.watch_until(ms(14_000), |run| {
            if place(&run.control) == probing(Phase::Cruise) {
                assert!(run.window.cwnd <= run.control.with_headroom());
            }
        });
    }
}

#[test]
fn a_loss_in_cruise_lowers_the_short_term_bounds_to_seven_tenths_or_what_was_delivered() {
    let mut control = control(VERSION_2);
    control.enter(Phase::Cruise);
    control.max_bandwidth = [Bandwidth::of(100, 1_000), Bandwidth::ZERO];
    control.latest.delivered = 50;
    control.lower_bounds(&Window::initial(Segs(100)));
    assert_eq!(control.bounds.inflight_lo, Some(70));
    control.latest.delivered = 60;
    control.lower_bounds(&Window::initial(Segs(100)));
    assert_eq!(control.bounds.inflight_lo, Some(60));
    let share = control.bandwidth().raw() * 1_000 / control.max_bandwidth().raw();
    assert!((493..=495).contains(&share), "0.703²: {share}");
}

#[test]
fn the_bound_is_the_flight_at_which_two_percent_were_lost() {
    let control = control(VERSION_2);
    // The third loss of a flight of 101: two percent (⌈100·5/256⌉ = 2) were lost before it.
    let segment = LostSegment { tx_in_flight: Segs(101), lost: 3, is_app_limited: false };
    assert_eq!(control.inflight_at_loss_thresh(&segment), Segs(100));
    let first = LostSegment { tx_in_flight: Segs(21), lost: 1, is_app_limited: false };
    assert_eq!(control.inflight_at_loss_thresh(&first), Segs(21), "one more would have been allowed");
    // ⌈999·5/256⌉ = 20 were allowed before the last segment, 18 more than were lost; one of 256·18/251 more is in flight.
    let long = LostSegment { tx_in_flight: Segs(1_000), lost: 3, is_app_limited: false };
    assert_eq!(control.inflight_at_loss_thresh(&long), Segs(999 + 18));
}

#[test]
fn the_upper_bound_rises_by_one_two_four_segments_per_round() {
    let mut control = control(VERSION_2);
    let window = Window::initial(Segs(64));
    let mut per_round = Vec::new();
    for _ in 0..4 {
        control.raise_slope(&window);
        per_round.push(window.cwnd.0 / control.probe.up_cnt);
    }
    assert_eq!(per_round, [1, 2, 4, 8]);
}

#[test]
fn the_next_probes_find_a_bandwidth_that_has_doubled() {
    for profile in VERSIONS {
        let mut run = run(Path::new(20, RTT), profile);
        run.until(ms(6_000));
        run.path.rate = Rate::from_bits_per_sec(40_000_000);
        run.until(ms(22_000));
        let found = run.control.max_bandwidth().bytes_per_sec(1_448);
        assert!(found * 100 >= run.path.bytes_per_sec() * 90, "{found}");
    }
}

#[test]
fn random_loss_below_two_percent_does_not_limit_the_flight_for_long() {
    for profile in VERSIONS {
        let mut run = run(Path { lose: |number| number % 200 == 199, ..Path::new(20, RTT) }, profile);
        run.until(ms(20_000));
        let used = run.flow.delivered * 1_448 * 100 / (20 * run.path.bytes_per_sec());
        assert!(used >= 80, "{used} %");
    }
}

/// A round in STARTUP of which `losing` ACKs report a loss, 5 of 100 in flight; is it the last?
fn startup_ends_after(profile: Profile, parameters: &[Parameter], losing: u64) -> bool {
    let tuning = tuning(&Parameters::default(), parameters).expect("defaults are in range");
    let mut control = Bbr2::new(profile, tuning);
    let mut flow = Flow { ca_state: CaState::Recovery, ..Flow::established(1448, Span::from_millis(1)) };
    let mut window = Window::initial(Segs(100));
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(1);
    control.init(&flow, &mut window, &mut draws);
    for ack in 0..=losing + 1 {
        flow.now += Span::from_millis(1);
        flow.delivered += 10;
        // The first and the last of them begin a round.
        let prior_delivered = if ack <= losing { 0 } else { flow.delivered };
        let losses = Segs(u32::from(ack > 0 && ack <= losing));
        let sample = RateSample {
            prior_delivered,
            delivered: Some(10 * (ack + 1)),
            interval: Some(RTT),
            rtt: Some(RTT),
            losses,
            acked_sacked: Segs(10),
            tx_in_flight: Segs(100),
            lost: 5,
            prior_in_flight: Segs(100),
            is_app_limited: false,
            is_retrans: false,
            is_ack_delayed: false,
        };
        control.cong_control(&sample, &flow, &mut window, &mut draws);
    }
    control.model.full_pipe.reached
}

#[test]
fn eight_losing_acks_of_a_round_end_the_startup_of_version_2_and_six_that_of_version_3() {
    for (profile, parameters, enough) in [(VERSION_2, PARAMETERS, 8), (VERSION_3, bbr3::PARAMETERS, 6)] {
        assert!(startup_ends_after(profile, parameters, enough));
        assert!(!startup_ends_after(profile, parameters, enough - 1));
    }
}

#[test]
fn a_probe_of_version_3_ends_three_rounds_after_the_bandwidth_stops_growing() {
    let mut run = run(Path::new(100, RTT), VERSION_3);
    let found = stretches(&mut run, 6_000, 24_000);
    let ups: Vec<u64> =
        found.iter().filter(|(mode, _)| *mode == probing(Phase::Up)).map(|(_, ms)| *ms).collect();
    // Rounds last 40 ms plus the queueing delay that the probe causes.
    assert!(ups.len() >= 3 && ups.iter().all(|ms| (3 * 40..=8 * 40).contains(ms)), "{ups:?}");
}
