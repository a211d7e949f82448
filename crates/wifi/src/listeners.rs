//! Which radios follow what happens on the medium: in a cell whose radios all hear each other, those that rest need not.
//!
//! A radio rests when the medium is idle, nothing waits in it and its counters have run down: each exchange of others
//! would leave it as it is, but for the instant from which AIFS counts. That instant, and whether the medium is busy, is
//! the same for all who only listen, so it is kept once and given to a radio when it has something to send. The cost of
//! a PPDU therefore does not grow with radios that are idle.

use tailback_units::SimTime;

use crate::medium::{CarrierSense, Sensed};
use crate::phy::Band;
use crate::station::Station;

/// Who follows the medium, and what those sense who do not.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// In the order of their numbers.
    awake: Vec<u16>,
    /// Of each radio that rests: how often the medium had become idle when it began to. Of others: nothing.
    resting: Vec<Option<u64>>,
    /// What a radio senses that never sends.
    sense: CarrierSense,
    /// When AIFS began last for such a radio.
    idle_from: SimTime,
    /// How often the medium has become idle.
    times_idle: u64,
}

impl Listeners {
    /// All of so many radios follow a medium that is idle.
    pub(crate) fn new(radios: usize) -> Self {
        Listeners {
            awake: (0..radios as u16).collect(),
            resting: vec![None; radios],
            sense: CarrierSense::default(),
            idle_from: SimTime::ZERO,
            times_idle: 0,
        }
    }

    /// The radios that follow the medium.
    #[inline]
    pub(crate) fn awake(&self) -> impl Iterator<Item = usize> + '_ {
        self.awake.iter().map(|&index| usize::from(index))
    }

    /// An exchange begins.
    #[inline]
    pub(crate) fn medium_busy(&mut self) {
        self.sense.begin();
    }

    /// An exchange is over.
    #[inline]
    pub(crate) fn medium_idle(&mut self, sensed: Sensed, band: Band, now: SimTime) {
        if let Some(extra) = self.sense.end(sensed, band) {
            self.idle_from = now + extra;
            self.times_idle += 1;
        }
    }

    /// Radios that want nothing of an idle medium rest from now on.
    pub(crate) fn rest(&mut self, stations: &mut [Station]) {
        if self.sense.is_busy() {
            return;
        }
        let Listeners { awake, resting, times_idle, .. } = self;
        awake.retain(|&index| {
            let rests = stations[usize::from(index)].is_at_rest();
            if rests {
                resting[usize::from(index)] = Some(*times_idle);
            }
            !rests
        });
    }

    /// A radio has something to send: it follows the medium from now on, and senses what it would have sensed.
    #[inline]
    pub(crate) fn wake(&mut self, index: usize, station: &mut Station) {
        if let Some(since) = self.resting[index].take() {
            station.sense = self.sense;
            if since < self.times_idle {
                station.medium_idle(self.idle_from);
            }
            let place = self.awake.partition_point(|&other| usize::from(other) < index);
            self.awake.insert(place, index as u16);
        }
    }
}
