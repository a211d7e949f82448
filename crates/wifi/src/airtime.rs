//! Airtime fairness of mac80211: selects the station to serve.
//!
//! ```text
//! head of the list:  deficit < 0             →  deficit += 256 µs, to the end, look again
//!                    firmware has enough (AQL) →  to the end, look again, until all were looked at
//!                    else                     →  take it off the list and serve it
//! packets for a station that is not on the list, or left after it was served:  it goes to the head
//! without packets:   it goes to the end while its deficit is negative and it was active within 100 ms
//! after a transmission:  deficit −= its airtime, retries included, if it was active within 100 ms
//! ```
//! A station is served until its deficit is negative, so slow and fast stations get the same airtime. A station that
//! sends seldom goes before those that always have packets, unless it is in deficit itself. Deficits begin at 256 µs.
//! [linux-6.12 net/mac80211/tx.c ieee80211_next_txq, __ieee80211_schedule_txq, ieee80211_txq_keep_active; sta_info.c
//! ieee80211_sta_register_airtime] [atc17 §3.2] Deviation: airtime of received frames is charged to the station as
//! mac80211 does by default, at the end of the PPDU.

use std::collections::VecDeque;

use tailback_units::{SimTime, Span};

/// Increment of the deficit: the default weight, in µs.
const WEIGHT_US: i64 = 256;
/// A station that had packets within this time is active. [linux-6.12 ieee80211_i.h ieee80211_sta_keep_active]
const ACTIVE: Span = Span::from_millis(100);

/// The stations that have packets for one access category, and their deficits.
#[derive(Debug)]
pub struct AirtimeScheduler {
    fair: bool,
    stations: Vec<Account>,
    /// Stations with packets, and active ones in deficit.
    list: VecDeque<u16>,
}

/// What is known of a station.
#[derive(Clone, Copy, Debug)]
struct Account {
    deficit_us: i64,
    listed: bool,
    /// When it last came onto the list with packets.
    last_active: Option<SimTime>,
}

impl Account {
    fn is_active(&self, now: SimTime) -> bool {
        self.last_active.is_some_and(|last| now <= last + ACTIVE)
    }
}

impl AirtimeScheduler {
    /// For `stations`; `fair` false: plain round robin.
    pub fn new(stations: usize, fair: bool) -> Self {
        let account = Account { deficit_us: WEIGHT_US, listed: false, last_active: None };
        AirtimeScheduler { fair, stations: vec![account; stations], list: VecDeque::new() }
    }

    /// A station has packets.
    #[inline]
    pub fn activate(&mut self, station: u16, now: SimTime) {
        if !self.stations[usize::from(station)].listed {
            self.list_active(station, now);
        }
    }

    fn list_active(&mut self, station: u16, now: SimTime) {
        let account = &mut self.stations[usize::from(station)];
        (account.listed, account.last_active) = (true, Some(now));
        if self.fair {
            self.list.push_front(station);
        } else {
            self.list.push_back(station);
        }
    }

    /// Stations on the list.
    pub fn listed(&self) -> usize {
        self.list.len()
    }

    /// Removes the station to serve from the list; [`activate`](Self::activate) or [`emptied`](Self::emptied) returns
    /// it. Those that may not send keep their turns.
    pub fn take_turn(&mut self, may_send: impl Fn(u16) -> bool) -> Option<u16> {
        let (mut first, mut found) = (None, false);
        loop {
            let station = *self.list.front()?;
            if first == Some(station) && !std::mem::take(&mut found) {
                return None;
            }
            first.get_or_insert(station);
            let eligible = may_send(station);
            found |= eligible;
            let account = &mut self.stations[usize::from(station)];
            let in_deficit = self.fair && account.deficit_us < 0;
            if eligible && !in_deficit {
                account.listed = false;
                return self.list.pop_front();
            }
            if in_deficit {
                account.deficit_us += WEIGHT_US;
            }
            self.list.rotate_left(1);
        }
    }

    /// A station that is not on the list has no packets left.
    pub fn emptied(&mut self, station: u16, now: SimTime) {
        let account = &mut self.stations[usize::from(station)];
        if self.fair && !account.listed && account.deficit_us < 0 && account.is_active(now) {
            account.listed = true;
            self.list.push_back(station);
        }
    }

    /// A station used the air for `span`.
    pub fn charge(&mut self, station: u16, span: Span, now: SimTime) {
        let account = &mut self.stations[usize::from(station)];
        if account.is_active(now) {
            account.deficit_us -= span.as_micros() as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SimTime = SimTime::ZERO;

    fn shares(fair: bool, airtime_us: [u64; 2]) -> [u64; 2] {
        let mut scheduler = AirtimeScheduler::new(2, fair);
        let mut used = [0; 2];
        scheduler.activate(0, NOW);
        scheduler.activate(1, NOW);
        for _ in 0..10_000 {
            let station = scheduler.take_turn(|_| true).unwrap();
            let span = airtime_us[usize::from(station)];
            used[usize::from(station)] += span;
            scheduler.charge(station, Span::from_micros(span), NOW);
            scheduler.activate(station, NOW);
        }
        used
    }

    #[test]
    fn a_slow_and_a_fast_station_get_the_same_airtime() {
        let [slow, fast] = shares(true, [2_000, 200]);
        assert!(slow.abs_diff(fast) < 4_000, "{slow} and {fast} µs");
    }

    #[test]
    fn without_fairness_they_get_the_same_number_of_turns() {
        assert_eq!(shares(false, [2_000, 200]), [10_000_000, 1_000_000]);
    }

    #[test]
    fn a_station_that_sends_seldom_goes_before_those_that_wait() {
        let mut scheduler = AirtimeScheduler::new(3, true);
        scheduler.activate(0, NOW);
        scheduler.activate(1, NOW);
        scheduler.activate(2, NOW);
        assert_eq!(scheduler.take_turn(|_| true), Some(2));
        // In deficit it goes to the end, with 256 µs more.
        scheduler.charge(2, Span::from_micros(300), NOW);
        scheduler.activate(2, NOW);
        assert_eq!(scheduler.take_turn(|_| true), Some(1));
        assert_eq!(scheduler.take_turn(|_| true), Some(0));
        assert_eq!(scheduler.take_turn(|_| true), Some(2));
    }

    #[test]
    fn a_station_that_may_not_send_keeps_its_place_behind_the_one_that_was_served() {
        let mut scheduler = AirtimeScheduler::new(2, true);
        scheduler.activate(0, NOW);
        scheduler.activate(1, NOW);
        assert_eq!(scheduler.take_turn(|station| station == 0), Some(0));
        scheduler.activate(0, NOW);
        assert_eq!(scheduler.take_turn(|_| false), None);
        assert_eq!((scheduler.take_turn(|_| true), scheduler.take_turn(|_| true)), (Some(0), Some(1)));
    }

    #[test]
    fn a_station_without_packets_for_100_ms_is_not_charged() {
        let at = |ms| NOW + Span::from_millis(ms);
        let mut scheduler = AirtimeScheduler::new(2, true);
        scheduler.charge(0, Span::from_millis(1), at(0));
        scheduler.activate(0, at(0));
        assert_eq!(scheduler.take_turn(|_| true), Some(0));
        scheduler.charge(0, Span::from_millis(1), at(101));
        scheduler.activate(1, at(101));
        scheduler.activate(0, at(101));
        assert_eq!(scheduler.take_turn(|_| true), Some(0), "neither millisecond was charged");
    }

    #[test]
    fn an_active_station_in_deficit_stays_on_the_list_and_gets_its_share_of_turns() {
        let served_first = |emptied_ms: u64| {
            let mut scheduler = AirtimeScheduler::new(2, true);
            scheduler.activate(0, NOW);
            scheduler.take_turn(|_| true);
            scheduler.charge(0, Span::from_micros(700), NOW);
            scheduler.emptied(0, NOW + Span::from_millis(emptied_ms));
            // Before station 1 has its turn, station 0 is looked at twice, if it is on the list.
            scheduler.activate(1, NOW);
            scheduler.charge(1, Span::from_micros(768), NOW);
            while scheduler.take_turn(|_| true) != Some(1) {}
            scheduler.activate(1, NOW);
            scheduler.charge(1, Span::from_micros(256), NOW);
            scheduler.activate(0, NOW);
            scheduler.take_turn(|_| true)
        };
        assert_eq!(served_first(50), Some(0));
        assert_eq!(served_first(150), Some(1), "its deficit is still negative");
    }
}
