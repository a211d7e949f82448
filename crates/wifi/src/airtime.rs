//! Airtime fairness of mac80211: selects the station to serve.
//!
//! ```text
//! head of the list:  deficit < 0  →  deficit += 256 µs, to the end, look again
//!                    else         →  serve it; it stays at the head while it has packets
//! after a transmission:  deficit −= its airtime, retries included
//! ```
//! A station is served until its deficit is negative, so slow and fast stations get the same airtime.
//! [linux-6.12 net/mac80211/tx.c ieee80211_next_txq] [atc17 §3.2] Deviation: airtime of received frames is charged to
//! the station as mac80211 does by default, at the end of the PPDU.

use std::collections::VecDeque;

use tailback_units::Span;

/// Increment of the deficit: the default weight, in µs.
const WEIGHT_US: i64 = 256;

/// The stations that have packets for one access category, and their deficits.
#[derive(Debug)]
pub struct AirtimeScheduler {
    fair: bool,
    deficits_us: Vec<i64>,
    /// Stations with packets.
    list: VecDeque<u16>,
    listed: Vec<bool>,
}

impl AirtimeScheduler {
    /// For `stations`; `fair` false: plain round robin.
    pub fn new(stations: usize, fair: bool) -> Self {
        AirtimeScheduler {
            fair,
            deficits_us: vec![0; stations],
            list: VecDeque::new(),
            listed: vec![false; stations],
        }
    }

    /// A station has packets.
    pub fn activate(&mut self, station: u16) {
        let listed = &mut self.listed[usize::from(station)];
        if !*listed {
            *listed = true;
            self.list.push_back(station);
        }
    }

    /// Removes the station to serve from the list; [`served`](Self::served) returns it.
    pub fn take_turn(&mut self) -> Option<u16> {
        loop {
            let station = self.list.pop_front()?;
            let deficit = &mut self.deficits_us[usize::from(station)];
            if !self.fair || *deficit >= 0 {
                self.listed[usize::from(station)] = false;
                return Some(station);
            }
            *deficit += WEIGHT_US;
            self.list.push_back(station);
        }
    }

    /// The station was served and still has packets.
    pub fn served(&mut self, station: u16) {
        self.listed[usize::from(station)] = true;
        if self.fair {
            self.list.push_front(station);
        } else {
            self.list.push_back(station);
        }
    }

    /// A station used the air for `span`.
    pub fn charge(&mut self, station: u16, span: Span) {
        self.deficits_us[usize::from(station)] -= span.as_micros() as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(fair: bool, airtime_us: [u64; 2]) -> [u64; 2] {
        let mut scheduler = AirtimeScheduler::new(2, fair);
        let mut used = [0; 2];
        scheduler.activate(0);
        scheduler.activate(1);
        for _ in 0..10_000 {
            let station = scheduler.take_turn().unwrap();
            let span = airtime_us[usize::from(station)];
            used[usize::from(station)] += span;
            scheduler.charge(station, Span::from_micros(span));
            scheduler.served(station);
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
}
