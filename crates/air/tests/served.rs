//! A driver with a FIFO for each station, at the other end of a socket.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::thread;

use tailback_air::message::{NEVER, NOBODY, PROTOCOL};
use tailback_air::{AirError, Kind, Line, Message, serve};
use tailback_record::Tables;
use tailback_world::Scenario;

/// An access point and a station at 300 Mbit/s, whose driver is `ath9k`.
fn scenario(options: &str, loss_ppm: u32) -> Scenario {
    cell_of(options, loss_ppm, "")
}

/// A scenario of a cell with these options of the driver, and `more` keys of the station.
fn cell_of(options: &str, loss_ppm: u32, more: &str) -> Scenario {
    let driver = format!(r#"{{"name": "ath9k", "options": {{{options}}}}}"#);
    let mode = r#"{"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 400}"#;
    let host =
        |name| format!(r#"{{"name": "{name}", "stack": "linux-6.12", "sysctl": {{}}, "offloads": "off"}}"#);
    let station =
        format!(r#"{{"host": 0, "mode": {mode}, "loss_ppm": {loss_ppm}, "driver": {driver}{more}}}"#);
    let cell = format!(
        r#"{{"access_point": 1, "stations": [{station}], "band": "5GHz", "rts": false, "mpdu_overhead": 38,
             "driver": {driver}}}"#
    );
    let json = format!(
        r#"{{"title": "a cell", "seed": 1, "duration_ns": 1000000000, "hosts": [{}, {}], "links": [],
             "cells": [{cell}], "qdiscs": [], "traffic": [],
             "record": {{"interval_ns": 100000000, "tcp_info": "interval", "events": true}}}}"#,
        host("client"),
        host("router")
    );
    Scenario::from_json(&json).unwrap()
}

const STATION: u16 = 1;
const BEST_EFFORT: u16 = 2;

/// The station's frames to the access point, and what became of them.
#[derive(Default)]
struct Frames {
    waiting: u32,
    is_queued: bool,
    token: u32,
    settled: BTreeMap<u32, bool>,
    received: Vec<u32>,
    lost: u32,
    /// Each frame of this number, and its multiples, probes.
    probing: u32,
    /// What the driver answers when it is asked for the modes of an aggregate.
    modes: u64,
    /// Frames, acknowledged ones, and transmissions of each aggregate.
    tried: Vec<(u32, u32, u64)>,
}

impl Frames {
    fn answer(&mut self, said: Message) -> Option<Message> {
        match said.kind {
            Kind::AskTurn => {
                let mine = said.radio == STATION && said.category == BEST_EFFORT;
                let peer = if mine && std::mem::take(&mut self.is_queued) { 0 } else { NOBODY };
                return Some(Message { peer, ..Message::of(Kind::Turn) });
            }
            Kind::AskFrame if self.waiting == 0 => return Some(Message::of(Kind::Frame)),
            Kind::AskFrame => {
                self.waiting -= 1;
                self.token += 1;
                let category = u16::from(self.probes(self.token));
                return Some(Message {
                    token: self.token,
                    category,
                    bytes: 1538,
                    ..Message::of(Kind::Frame)
                });
            }
            Kind::AskRates => {
                let (number, bytes) = (self.modes, u32::from(self.probes(said.token)));
                return Some(Message { number, bytes, category: 0b10, ..Message::of(Kind::Rates) });
            }
            Kind::Tried => self.tried.push((said.token, said.bytes, said.number)),
            Kind::Activate => self.is_queued |= said.bytes > 0 || self.waiting > 0,
            Kind::Status => {
                assert!(self.settled.insert(said.token, said.bytes > 0).is_none(), "settled twice");
            }
            Kind::Received => self.received.push(said.token),
            Kind::Lost => self.lost += 1,
            _ => {}
        }
        None
    }

    fn probes(&self, token: u32) -> bool {
        self.probing > 0 && token.is_multiple_of(self.probing)
    }

    /// Executes a call; returns the next deadline.
    fn call(&mut self, line: &mut Line<UnixStream>, call: Message) -> Option<u64> {
        let mut said = line.ask(call)?;
        while said.kind != Kind::Done {
            said = match self.answer(said) {
                Some(answer) => line.ask(answer)?,
                None => line.receive()?,
            };
        }
        Some(said.number)
    }
}

struct Played {
    frames: Frames,
    end_ns: u64,
    tables: Tables,
}

impl Played {
    /// Of UDP data in packets of 1500 bytes.
    fn mbit(&self) -> f64 {
        self.frames.received.len() as f64 * 1472.0 * 8e3 / self.end_ns as f64
    }
}

/// The station sends so many packets, which are all there at the beginning.
fn played(scenario: Scenario, packets: u32) -> Played {
    let frames = Frames { waiting: packets, ..Frames::default() };
    played_by(scenario, frames).unwrap()
}

/// This driver sends what it has.
fn played_by(scenario: Scenario, frames: Frames) -> Result<Played, AirError> {
    let (near, far) = UnixStream::pair().unwrap();
    let air = thread::spawn(move || serve(&scenario, far));
    let mut line = Line::new(near);
    let mut frames = Frames { is_queued: true, ..frames };
    frames.call(&mut line, Message { number: PROTOCOL, ..Message::of(Kind::Hello) }).unwrap();
    let wake = Message { radio: STATION, category: BEST_EFFORT, ..Message::of(Kind::Wake) };
    let (mut deadline, mut end_ns) = (frames.call(&mut line, wake), 0);
    while let Some(due) = deadline.filter(|&due| due != NEVER) {
        end_ns = due;
        let advance = Message { number: due, ..Message::of(Kind::Advance) };
        deadline = frames.call(&mut line, advance);
    }
    drop(line);
    Ok(Played { frames, end_ns, tables: air.join().unwrap()? })
}

/// What the air says to a driver that sends these calls one after the other.
fn refused(calls: &[Message]) -> AirError {
    let (near, far) = UnixStream::pair().unwrap();
    let air = thread::spawn(move || serve(&scenario("", 0), far));
    let mut line = Line::new(near);
    for call in calls {
        line.ask(*call);
    }
    air.join().unwrap().unwrap_err()
}

#[test]
fn a_driver_at_300_mbit_with_32_mpdus_carries_248_mbit_of_udp() {
    let mbit = played(scenario("", 0), 20_000).mbit();
    assert!((247.0..249.5).contains(&mbit), "{mbit}");
}

#[test]
fn with_one_mpdu_in_each_ppdu_it_carries_49_mbit() {
    let mbit = played(scenario(r#""subframes": 1"#, 0), 5_000).mbit();
    assert!((48.9..49.9).contains(&mbit), "{mbit}");
}

#[test]
fn every_frame_is_settled_once_and_received_or_lost() {
    for loss_ppm in [0, 100_000, 950_000] {
        let frames = played(scenario("", loss_ppm), 300).frames;
        assert_eq!(frames.settled.len(), 300, "at a loss of {loss_ppm} ppm");
        let acknowledged = frames.settled.values().filter(|acknowledged| **acknowledged).count();
        assert_eq!(frames.received.len() + frames.lost as usize, 300);
        assert!(frames.received.len() <= acknowledged);
        assert!(frames.received.is_sorted(), "the receiver reorders");
    }
}

#[test]
fn the_same_seed_gives_the_same_table() {
    let tables = [(); 2].map(|()| played(scenario("", 100_000), 500).tables);
    assert_eq!(tables[0], tables[1]);
    assert!(tables[0].get("wifi").unwrap().rows() > 20);
}

/// The modes of 802.11n with two streams, 40 MHz and the short guard interval: MCS and tries of each.
fn modes(of: &[(u64, u64)]) -> u64 {
    of.iter().enumerate().fold(0, |number, (place, (mcs, tries))| {
        number | (tries | mcs << 4 | 1 << 8 | 1 << 11 | 1 << 13) << (16 * place)
    })
}

#[test]
fn a_driver_with_rate_control_is_asked_for_the_modes_of_each_aggregate_and_told_what_became_of_it() {
    let scenario = cell_of("", 0, r#", "rate": "minstrel""#);
    let series = modes(&[(3, 2), (4, 2)]);
    let frames = Frames { waiting: 320, modes: series, ..Frames::default() };
    let Played { frames, end_ns, .. } = played_by(scenario, frames).unwrap();
    assert_eq!(frames.received.len(), 320);
    assert_eq!(frames.tried, [(32, 32, modes(&[(3, 1)])); 10]);
    // 120 Mbit/s take 3.3 ms for 32 frames.
    assert!((33_000_000..36_000_000).contains(&end_ns), "{end_ns}");
}

#[test]
fn a_frame_that_probes_goes_alone() {
    let scenario = cell_of("", 0, r#", "rate": "minstrel""#);
    let frames = Frames { waiting: 25, probing: 10, modes: modes(&[(7, 1), (0, 2)]), ..Frames::default() };
    let frames = played_by(scenario, frames).unwrap().frames;
    assert_eq!(frames.tried.iter().map(|(frames, ..)| *frames).collect::<Vec<_>>(), [9, 1, 9, 1, 5]);
    assert!(frames.received.is_sorted());
}

#[test]
fn a_mode_that_loses_all_is_followed_by_the_next_of_its_series() {
    // 64-QAM in two streams needs 25 dB.
    let scenario = cell_of("", 0, r#", "rate": "minstrel", "snr_cdb": 1500"#);
    let frames = Frames { waiting: 100, modes: modes(&[(7, 2), (5, 1), (0, 3)]), ..Frames::default() };
    let frames = played_by(scenario, frames).unwrap().frames;
    assert_eq!(frames.received.len(), 100);
    assert!(
        frames.tried.iter().all(|tried| tried.2 == modes(&[(7, 2), (5, 1), (0, 1)])),
        "{:?}",
        frames.tried
    );
}

#[test]
fn an_aggregate_without_a_response_is_given_up_after_all_its_tries() {
    let scenario = cell_of(r#""retries": 6"#, 0, r#", "rate": "minstrel", "snr_cdb": 0"#);
    let frames = Frames { waiting: 5, modes: modes(&[(7, 2), (5, 1)]), ..Frames::default() };
    let frames = played_by(scenario, frames).unwrap().frames;
    assert_eq!(frames.tried.len(), 2, "two times three transmissions of each frame");
    assert_eq!((frames.lost, frames.settled.values().filter(|acknowledged| **acknowledged).count()), (5, 0));
}

/// At 248 Mbit/s of data, 421 of the frames fit into 20 ms.
#[test]
fn frames_are_given_up_in_a_fade_and_arrive_again_after_it() {
    let schedule = r#"[{"at_ns": 20000000, "snr_cdb": -2000}, {"at_ns": 90000000, "snr_cdb": 4000}]"#;
    let scenario = cell_of(r#""retries": 6"#, 0, &format!(r#", "snr_cdb": 4000, "schedule": {schedule}"#));
    let Played { frames, end_ns, .. } = played(scenario, 1000);
    let first_lost = (1..).find(|token| !frames.received.contains(token)).unwrap();
    assert!((370..=422).contains(&first_lost), "{first_lost}");
    assert!(frames.lost > 0 && frames.received.last() == Some(&1000), "{} lost", frames.lost);
    assert!(end_ns > 90_000_000, "{end_ns}");
}

#[test]
fn an_answer_without_modes_ends_the_air_with_what_was_said() {
    let scenario = cell_of("", 0, r#", "rate": "minstrel""#);
    let error = played_by(scenario, Frames { waiting: 1, ..Frames::default() }).err().unwrap();
    assert!(error.to_string().contains("which names no modes"), "{error}");
}

#[test]
fn a_driver_of_another_version_is_told_to_be_built_anew() {
    let error = refused(&[Message { number: PROTOCOL + 1, ..Message::of(Kind::Hello) }]);
    assert!(error.to_string().contains("build the kernel anew"), "{error}");
}

#[test]
fn a_radio_that_the_air_does_not_have_is_an_error() {
    let hello = Message { number: PROTOCOL, ..Message::of(Kind::Hello) };
    let wake = Message { radio: 9, ..Message::of(Kind::Wake) };
    assert!(matches!(refused(&[hello, wake]), AirError::Call(call) if call.radio == 9));
}

#[test]
fn cells_on_several_channels_are_refused() {
    let mut two = scenario("", 0);
    two.cells.push(two.cells[0].clone());
    let error = serve(&two, UnixStream::pair().unwrap().0).unwrap_err();
    assert!(error.to_string().contains("several channels"), "{error}");
}
