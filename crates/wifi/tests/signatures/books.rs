//! In any cell, every packet is delivered once and in order, or dropped with a reason; the same seed gives the same
//! run.

use proptest::prelude::*;
use tailback_properties::cases;
use tailback_units::{SimTime, Span};
use tailback_wifi::driver::{HardwareQueue, PROFILES};
use tailback_wifi::phy::{Guard, LegacyRate};
use tailback_wifi::{Hearing, Ppdu, StationId};

use crate::rig::{Plan, Rig, ht, vht};

/// A cell of any kind.
fn plan() -> impl Strategy<Value = Plan> {
    let radio = (0..PROFILES.len(), 1_usize..5, prop::sample::select(vec![0.0, 0.02, 0.3, 0.9]));
    let limits = (1_u32..65, prop::sample::select(vec![2_u32, 30]), 1_u32..4, any::<bool>());
    let medium = (any::<bool>(), any::<bool>(), any::<bool>(), 0_u64..1_000);
    (radio, limits, medium).prop_map(|(radio, limits, medium)| {
        let (driver, stations, loss) = radio;
        let (frames, tries, amsdu, short_fifo) = limits;
        let (rts, beacons, hidden, seed) = medium;
        let mut plan = Plan { loss, seed, profile: PROFILES[driver], ..Plan::uplink(stations) };
        plan.modes =
            [ht(40, 15, Guard::Ns400), ht(20, 0, Guard::Ns800), vht(80, 2, 9), ht(20, 12, Guard::Ns800)]
                [..stations]
                .to_vec();
        plan.profile.limits.frames = plan.profile.limits.frames.min(frames);
        plan.profile.frame_tries = tries;
        if let Some(own) = &mut plan.profile.amsdu {
            own.packets = amsdu;
        }
        if let HardwareQueue::Firmware { frames, .. } = &mut plan.profile.hardware_queue
            && short_fifo
        {
            *frames = 10;
        }
        plan.profile.rts_threshold = rts.then_some(300);
        plan.beacons = beacons.then_some(LegacyRate::Ofdm(24));
        if seed % 2 == 1 {
            plan.edca[2].txop = Span::from_micros(2_528);
        }
        if hidden && stations > 1 {
            plan.hearing.hide(StationId(1), StationId(2));
        }
        plan
    })
}

/// Offers packets of all categories both ways over 30 ms, and waits until the cell is silent.
fn played(plan: &Plan, offers: &[(u8, bool, u8)]) -> Rig {
    played_by(plan.modes.len() as u16, plan, offers)
}

/// Offers packets for and from the first `stations` only over 30 ms, and waits until the cell is silent.
fn played_by(stations: u16, plan: &Plan, offers: &[(u8, bool, u8)]) -> Rig {
    let mut rig = plan.build();
    for (turn, &(station, down, precedence)) in (0_u64..).zip(offers) {
        let at = SimTime::ZERO + Span::from_micros(turn * 30_000 / offers.len() as u64);
        while rig.cell.deadline() <= at {
            rig.step();
        }
        rig.now = at;
        let station = 1 + u16::from(station) % stations;
        let (from, to) = if down { (0, station) } else { (station, 0) };
        if rig.cell.accepts(StationId(from)) {
            rig.offer(from, to, precedence << 5);
        }
    }
    while rig.cell.packets() > 0 {
        rig.step();
    }
    let last_response = rig.now + Span::from_millis(1);
    while rig.cell.deadline() <= last_response {
        rig.step();
    }
    rig
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn every_packet_and_credit_is_accounted_for_and_a_seed_repeats(
        plan in plan(),
        offers in prop::collection::vec((any::<u8>(), any::<bool>(), 0_u8..8), 1..400),
    ) {
        let rig = played(&plan, &offers);
        let arrived = rig.arrivals.len() as u64;
        prop_assert_eq!(u64::from(rig.offered), arrived + rig.drops);
        prop_assert_eq!(rig.credits + rig.drops_charged, u64::from(rig.offered));
        let again = played(&plan, &offers);
        prop_assert_eq!(&rig.ppdus, &again.ppdus);
        prop_assert_eq!(rig.now, again.now);
    }

    // In a cell with hidden radios no radio is idle in this sense: here two that never send are hidden from each other.
    #[test]
    fn idle_radios_reach_the_state_of_radios_that_follow_every_exchange(
        plan in plan(),
        offers in prop::collection::vec((any::<u8>(), any::<bool>(), 0_u8..8), 1..400),
    ) {
        let stations = plan.modes.len() as u16;
        let mut resting = Plan { hearing: Hearing::default(), ..plan };
        resting.modes.extend([ht(20, 0, Guard::Ns800); 2]);
        let mut following = resting.clone();
        following.hearing.hide(StationId(stations + 1), StationId(stations + 2));
        let (resting, following) = (played_by(stations, &resting, &offers), played_by(stations, &following, &offers));
        prop_assert_eq!(&resting.ppdus, &following.ppdus);
        prop_assert_eq!(resting.now, following.now);
    }

    #[test]
    fn exchanges_of_radios_that_hear_each_other_overlap_only_in_collisions(
        plan in plan(),
        offers in prop::collection::vec((any::<u8>(), any::<bool>(), 0_u8..8), 1..200),
    ) {
        let rig = played(&plan, &offers);
        let mut clean: Vec<_> = rig.ppdus.iter().filter(|ppdu| ppdu.colliders == 0).collect();
        clean.sort_by_key(|ppdu| ppdu.began);
        for pair in clean.windows(2) {
            prop_assert!(pair[1].began >= free_for(pair[1], pair[0], &plan), "{:?} and {:?}", pair[0], pair[1]);
        }
    }
}

/// The end of a PPDU that did not collide.
fn end(ppdu: &Ppdu) -> SimTime {
    ppdu.began + ppdu.duration
}

/// The earliest time at which the sender of `next` may find the medium free after `last`. A radio that hears the PPDU
/// or its response waits at least for SIFS, the shortest ACK and SIFS, so none begins before the next PPDU of the same
/// TXOP. A radio that hears neither does not wait: two hidden radios may send one right after the other.
/// [ieee80211-2016 §10.3.2.1, §10.22.2.7]
fn free_for(next: &Ppdu, last: &Ppdu, plan: &Plan) -> SimTime {
    let hears = plan.hearing.between(last.from.0.into(), next.from.0.into()) || last.received > 0;
    end(last) + if hears { Span::from_micros(16 + 28 + 16) } else { Span::ZERO }
}

#[test]
fn a_hidden_radio_may_begin_at_the_instant_at_which_a_lost_ppdu_ends() {
    let mut plan = Plan { loss: 1.0, ..Plan::uplink(2) };
    plan.hearing.hide(StationId(1), StationId(2));
    let mut alone = plan.build();
    alone.offer(1, 0, 0);
    alone.drain();
    // The slots of radio 2, which hears none of this, begin at multiples of 9 µs.
    let at_a_slot = |instant: &SimTime| instant.as_nanos().is_multiple_of(9_000);
    let meeting =
        alone.ppdus.iter().map(end).find(at_a_slot).expect("radio 1 sends ten times, 1 µs later in the slot");

    let mut rig = plan.build();
    rig.offer(1, 0, 0);
    while rig.cell.deadline() < meeting {
        rig.step();
    }
    rig.now = SimTime::from_nanos(meeting.as_nanos() - 1_000);
    rig.offer(2, 0, 0);
    rig.drain();
    let last = rig.ppdus.iter().find(|ppdu| end(ppdu) == meeting).expect("as when it was alone");
    let next = rig.ppdus.iter().find(|ppdu| ppdu.from == StationId(2)).expect("a PPDU of radio 2");
    assert_eq!((next.began, last.colliders, next.colliders), (meeting, 0, 0));
}
