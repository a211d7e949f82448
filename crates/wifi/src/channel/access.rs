//! Who gets the medium, and when: radios and beacons that contend, and which of them wins.

use rand_core::Rng;
use tailback_units::SimTime;

use super::{BEACON, Channel, Context};
use crate::contend::Attempt;
use crate::medium::Sender;
use crate::station::Station;

impl Channel {
    /// A radio may have got something to send.
    #[inline]
    pub(super) fn contend(&mut self, index: usize, category: usize, context: &mut Context<'_>) {
        if self.stations[index].is_to_contend(category) {
            self.begin_to_contend(index, category, context);
        }
    }

    #[inline(never)]
    pub(super) fn begin_to_contend(&mut self, index: usize, category: usize, context: &mut Context<'_>) {
        let station = &mut self.stations[index];
        self.listeners.wake(index, station);
        let busy = station.sense.is_busy();
        station.contenders.wait(category, context.now, busy, context.draws[index].as_mut());
        if !busy && let Some(access) = station.contenders.access_of(category) {
            self.access = self.access.min(access);
        }
    }

    /// One radio, or several at once, have won the medium.
    pub(super) fn win(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        while let Some(index) = self.listeners.next_due(now) {
            self.listeners.wake(index, &mut self.stations[index]);
        }
        let mut winners = std::mem::take(&mut self.winners);
        for index in self.listeners.awake() {
            let station = &mut self.stations[index];
            if !station.sense.is_busy() && station.access() == now {
                station.sending = won_by(station, now, context.draws[index].as_mut());
                winners.extend(station.sending.map(|category| Sender { station: index, category }));
            }
        }
        for &sender in &winners {
            self.begin(sender, now, now, context);
        }
        winners.clear();
        self.winners = winners;
        self.find_access();
    }

    pub(super) fn find_access(&mut self) {
        self.access = SimTime::NEVER;
        if self.settings.hearing.is_mutual() {
            if self.listeners.is_busy() {
                return;
            }
            self.access = self.listeners.access();
        }
        for index in self.listeners.awake() {
            let station = &self.stations[index];
            if !station.sense.is_busy() {
                self.access = self.access.min(station.access());
            }
        }
    }

    /// Lets due beacons contend.
    pub(super) fn due_beacons(&mut self, context: &mut Context<'_>) {
        for (index, station) in self.stations.iter_mut().enumerate() {
            self.listeners.wake(index, station);
            let busy = station.sense.is_busy();
            if let Some(beacon) = station.beacon.as_mut().filter(|beacon| beacon.due == context.now) {
                beacon.contender.wait(context.now, busy, context.draws[index].as_mut());
                beacon.next();
            }
        }
        self.find_beacon();
        self.find_access();
    }

    pub(super) fn find_beacon(&mut self) {
        let due = self.stations.iter().filter_map(|station| station.beacon.as_ref()).map(|beacon| beacon.due);
        self.beacon = due.min().unwrap_or(SimTime::NEVER);
    }
}

/// Of the categories of a station that won the medium at once, the most urgent; the others behave as after a collision.
fn won_by(station: &mut Station, now: SimTime, draws: &mut (dyn Rng + Send)) -> Option<usize> {
    let beacon = station.beacon.as_ref().is_some_and(|beacon| beacon.contender.access() == Some(now));
    let mut won = beacon.then_some(BEACON);
    for category in station.contenders.due(now) {
        match won {
            None => won = Some(category),
            Some(_) => station.contenders.exchanged(category, Attempt::Failed, Some(now), draws),
        }
    }
    won
}
