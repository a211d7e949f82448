//! Radios above which somebody else has the queues.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailback_packet::Packet;
use tailback_properties::cases;
use tailback_qdisc::Effects;
use tailback_units::{SimTime, Span};
use tailback_wifi::driver::{self, HardwareQueue};
use tailback_wifi::phy::Guard;
use tailback_wifi::{
    AccessCategory, Band, Channel, ChannelSettings, Context, Edca, FrameSource, Handed, Hearing, Link, Loss,
    Outcome, Output, Ppdu, RateControl, Station, StationId,
};

use crate::rig::{Plan, ht};
use crate::within;

/// Packets for some stations, in a FIFO for each, served in turn.
#[derive(Default)]
struct Fifos {
    waiting: Vec<u32>,
    turns: VecDeque<u16>,
    airtime: Span,
}

/// FIFOs that the radio and the test share.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Fifos>>);

impl Shared {
    fn of(stations: usize) -> Self {
        Shared(Arc::new(Mutex::new(Fifos { waiting: vec![0; stations], ..Fifos::default() })))
    }

    fn add(&self, to: u16, packets: u32) {
        let fifos = &mut *self.0.lock().unwrap();
        fifos.waiting[usize::from(to)] += packets;
        fifos.join(to);
    }
}

impl Fifos {
    fn join(&mut self, to: u16) {
        if !self.turns.contains(&to) {
            self.turns.push_back(to);
        }
    }
}

impl FrameSource for Shared {
    fn take_turn(&mut self, _: usize) -> Option<StationId> {
        self.0.lock().unwrap().turns.pop_front().map(StationId)
    }

    fn next_frame(&mut self, _: usize, to: StationId) -> Option<Handed> {
        let left = &mut self.0.lock().unwrap().waiting[usize::from(to.0)];
        *left = left.checked_sub(1)?;
        Some(Box::new(Packet { ip_length: 1500, segments: 1, ..Packet::empty() }).into())
    }

    fn activate(&mut self, _: usize, to: StationId, again: usize) {
        let fifos = &mut *self.0.lock().unwrap();
        if again > 0 || fifos.waiting[usize::from(to.0)] > 0 {
            fifos.join(to.0);
        }
    }

    fn sent(&mut self, _: usize, _: StationId, airtime: Span) {
        self.0.lock().unwrap().airtime += airtime;
    }

    fn heard(&mut self, _: usize, _: StationId, _: Span) {}
}

/// What became of the packets of a source.
#[derive(PartialEq, Eq, Debug, Default)]
struct Played {
    ppdus: Vec<Ppdu>,
    received: u64,
    dropped: u64,
    end: SimTime,
    airtime: Span,
}

/// Radio 0 sends what its source has: at the beginning `packets` to each of the others, 300 Mbit/s away.
fn played(driver: &str, others: u16, packets: u32, loss: f64) -> Played {
    let mut profile = *driver::find(driver).unwrap();
    if let HardwareQueue::Firmware { airtime, .. } = &mut profile.hardware_queue {
        // The limits of airtime are the source's.
        *airtime = None;
    }
    let count = usize::from(others) + 1;
    let link = Link {
        rates: RateControl::Fixed(ht(40, 15, Guard::Ns400)),
        loss: Loss::new((loss * 4_294_967_296.0) as u32, None),
    };
    let source = Shared::of(count);
    let edca = AccessCategory::ALL.map(Edca::station);
    let stations = (0..count).map(|own| {
        let links = (0..count).map(|other| ((own == 0) != (other == 0)).then(|| link.clone())).collect();
        let station = Station::new(profile, Band::Ghz5, 38, edca, links);
        if own == 0 { station.with_source(Box::new(source.clone())) } else { station }
    });
    let settings = ChannelSettings { band: Band::Ghz5, hearing: Hearing::default() };
    let mut channel = Channel::new(settings, stations.collect());
    let mut draws: Vec<Box<dyn Rng + Send>> =
        (0..count as u64).map(|at| Box::new(Xoshiro256PlusPlus::seed_from_u64(at)) as _).collect();
    let mut effects = Effects::default();
    (1..=others).for_each(|to| source.add(to, packets));
    let mut now = SimTime::ZERO;
    channel.wake(
        StationId(0),
        AccessCategory::BestEffort,
        &mut Context { now, draws: &mut draws, effects: &mut effects },
    );
    let mut played = Played::default();
    while channel.deadline() != SimTime::NEVER {
        now = channel.deadline();
        channel.advance(&mut Context { now, draws: &mut draws, effects: &mut effects });
        let mut output = Output::default();
        channel.swap_output(&mut output);
        for outcome in output.outcomes {
            match outcome {
                Outcome::Received(_, packets, _) => played.received += u64::from(packets),
                Outcome::Dropped(..) => played.dropped += 1,
                Outcome::Sent(ppdu) => played.ppdus.push(ppdu),
                Outcome::Credit(..) | Outcome::Accepts(_) | Outcome::Marked(..) => {}
            }
        }
    }
    played.end = now;
    played.airtime = source.0.lock().unwrap().airtime;
    assert!(source.0.lock().unwrap().waiting.iter().all(|&left| left == 0), "packets were left behind");
    played
}

#[test]
fn a_source_at_300_mbit_with_32_frames_carries_248_mbit_of_udp() {
    let played = played("ath9k", 1, 100_000, 0.0);
    within(played.received as f64 * 1472.0 * 8e-6 / played.end.as_secs_f64(), 248.2, 0.005);
    assert!(played.ppdus.iter().all(|ppdu| ppdu.mpdus == 32));
    let on_air = played.ppdus.iter().fold(Span::ZERO, |sum, ppdu| sum + ppdu.duration);
    assert_eq!(played.airtime, on_air);
}

#[test]
fn the_aggregates_of_a_source_are_those_of_our_model_of_mac80211() {
    let model = Plan::uplink(1).build().saturate(1).ppdus;
    let sourced = played("ath9k", 1, 30_000, 0.0).ppdus;
    let size = |ppdu: &Ppdu| (ppdu.mpdus, ppdu.psdu_bytes, ppdu.duration, ppdu.closed_by);
    // The model sends its first packet alone, before there are others.
    assert_eq!(size(&sourced[5]), size(&model[5]));
}

#[test]
fn a_source_serves_its_stations_in_turn() {
    let ppdus = played("ath9k", 3, 320, 0.0).ppdus;
    let served: Vec<u16> = ppdus.iter().map(|ppdu| ppdu.to.0).collect();
    assert!(served.chunks(3).all(|turn| turn == [1, 2, 3]), "{served:?}");
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn every_packet_of_a_source_arrives_or_is_dropped(
        driver in prop::sample::select(vec!["ath9k", "ath10k", "ath9k_htc", "generic"]),
        others in 1_u16..4,
        packets in 0_u32..300,
        loss in prop::sample::select(vec![0.0, 0.1, 0.9]),
    ) {
        let once = played(driver, others, packets, loss);
        prop_assert_eq!(once.received + once.dropped, u64::from(others) * u64::from(packets));
        prop_assert_eq!(once, played(driver, others, packets, loss));
    }
}
