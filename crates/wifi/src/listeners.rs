//! Selects the radios that process the events of the medium. In a cell whose radios all hear each other, idle radios do
//! not need to.
//!
//! A radio *rests* if the medium is idle and the radio only counts slots: it has no frame to send and its counters have
//! run down, or they run down together with those of all other resting radios. All resting radios sense the same:
//! whether the medium is busy, from when AIFS counts, and how many slots have passed. This state is kept once, and is
//! copied to a radio when it sends or gets a new frame. The cost of a PPDU therefore does not grow with the number of
//! idle radios, and hardly with that of waiting ones.
//!
//! ```text
//! slots of an idle time for AIFSN n:   (⌊(busy − idle − SIFS) / slot⌋ − n)+
//! ```

use tailback_units::{SimTime, Span};

use crate::contend::Contenders;
use crate::medium::{CarrierSense, Pauses, Sensed};
use crate::phy::Band;
use crate::station::{CATEGORIES, Station};

/// AIFSN is a number of four bits. [ieee80211-2016 §9.4.2.29]
const LONGEST_AIFSN: usize = 15;

/// The radios that follow the medium, and the common state of those that rest.
#[derive(Debug)]
pub(crate) struct Listeners {
    sifs: Span,
    slot: Span,
    /// The radios that follow the medium, in the order of their numbers.
    awake: Vec<u16>,
    /// The state of the medium when each resting radio began to rest.
    resting: Vec<Option<Rest>>,
    /// The access categories of resting radios that count down to send, by AIFSN, the first to send at the end.
    counting: [Vec<Counting>; LONGEST_AIFSN + 1],
    /// Bit n: one with AIFSN n counts down.
    counted: u16,
    /// Bit n: a radio has a category with AIFSN n.
    used: u16,
    /// The carrier sense of a radio that never sends.
    sense: CarrierSense,
    /// When AIFS last began for such a radio.
    idle_from: SimTime,
    /// Number of times that the medium has become idle.
    times_idle: u64,
    /// Slots that have passed before the medium became busy, by AIFSN.
    passed: [u64; LONGEST_AIFSN + 1],
}

/// The state of the medium when a radio began to rest.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    times_idle: u64,
    /// Slots that had passed, by access category, of those that were not idle.
    passed: [u64; CATEGORIES],
}

/// An access category that counts down to send.
#[derive(Clone, Copy, Debug)]
struct Counting {
    radio: u16,
    /// Number of slots that will have passed when it sends.
    sends_after: u64,
}

impl Listeners {
    /// Radios all of which follow an idle medium.
    pub(crate) fn new(stations: &[Station], band: Band) -> Self {
        let categories = |station| (0..CATEGORIES).map(move |category| aifsn_of(station, category));
        let aifsns = stations.iter().map(|station| &station.contenders).flat_map(categories);
        Listeners {
            sifs: band.sifs(),
            slot: band.slot(),
            awake: (0..stations.len() as u16).collect(),
            resting: vec![None; stations.len()],
            counting: Default::default(),
            counted: 0,
            used: aifsns.filter(|&aifsn| aifsn <= LONGEST_AIFSN).fold(0, |used, aifsn| used | 1 << aifsn),
            sense: CarrierSense::default(),
            idle_from: SimTime::ZERO,
            times_idle: 0,
            passed: [0; LONGEST_AIFSN + 1],
        }
    }

    /// The radios that follow the medium.
    #[inline]
    pub(crate) fn awake(&self) -> impl Iterator<Item = usize> + '_ {
        self.awake.iter().map(|&index| usize::from(index))
    }

    /// A radio that hears all others senses an exchange.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.sense.is_busy()
    }

    /// An exchange begins.
    pub(crate) fn medium_busy(&mut self, now: SimTime) {
        if self.sense.begin() {
            let slots = now.since(self.idle_from + self.sifs).as_nanos() / self.slot.as_nanos();
            for aifsn in bits(self.used) {
                self.passed[aifsn] += slots.saturating_sub(aifsn as u64);
            }
        }
    }

    /// An exchange is over.
    #[inline]
    pub(crate) fn medium_idle(&mut self, sensed: Sensed, pauses: &Pauses, now: SimTime) {
        if let Some(extra) = self.sense.end(sensed, pauses) {
            self.idle_from = now + extra;
            self.times_idle += 1;
        }
    }

    /// The time at which the first resting radio sends, if the medium stays idle.
    pub(crate) fn access(&self) -> SimTime {
        self.slots_to_access().map_or(SimTime::NEVER, |slots| self.idle_from + self.sifs + self.slot * slots)
    }

    /// Slots from the end of SIFS until the first resting radio sends, if the medium stays idle.
    #[inline]
    fn slots_to_access(&self) -> Option<u64> {
        bits(self.counted).filter_map(|aifsn| self.slots_to_first(aifsn)).min()
    }

    /// Slots until the first resting radio with this AIFSN sends, if the medium stays idle; `None` if there is none.
    #[inline]
    fn slots_to_first(&self, aifsn: usize) -> Option<u64> {
        let first = self.counting[aifsn].last()?;
        Some(aifsn as u64 + first.sends_after - self.passed[aifsn])
    }

    /// A resting radio that sends at `now`, the time of [`access`](Self::access).
    pub(crate) fn next_due(&self, now: SimTime) -> Option<usize> {
        let slots = self.slots_to_access()?;
        if self.idle_from + self.sifs + self.slot * slots != now {
            return None;
        }
        let aifsn = bits(self.counted).find(|&aifsn| self.slots_to_first(aifsn) == Some(slots))?;
        self.counting[aifsn].last().map(|counting| usize::from(counting.radio))
    }

    /// Radios that only count slots of an idle medium rest from now on.
    pub(crate) fn rest(&mut self, stations: &mut [Station]) {
        if self.sense.is_busy() {
            return;
        }
        let Listeners { awake, resting, counting, counted, passed, times_idle, idle_from, .. } = self;
        awake.retain(|&radio| {
            let station = &stations[usize::from(radio)];
            let aifsn_fits = |category| aifsn_of(&station.contenders, category) <= LONGEST_AIFSN;
            let rests = station.beacon.is_none()
                && station.contenders.only_count_from(*idle_from)
                && station.contenders.active().all(aifsn_fits);
            if rests {
                for (category, slots) in station.contenders.counting() {
                    let aifsn = aifsn_of(&station.contenders, category);
                    let sends_after = passed[aifsn] + u64::from(slots);
                    let place = counting[aifsn].partition_point(|other| other.sends_after > sends_after);
                    counting[aifsn].insert(place, Counting { radio, sends_after });
                    *counted |= 1 << aifsn;
                }
                let mut rest = Rest { times_idle: *times_idle, ..Rest::default() };
                for category in station.contenders.active() {
                    rest.passed[category] = passed[aifsn_of(&station.contenders, category)];
                }
                resting[usize::from(radio)] = Some(rest);
            }
            !rests
        });
    }

    /// A radio follows the medium from now on, with the state that it would have if it had always done so.
    #[inline]
    pub(crate) fn wake(&mut self, index: usize, station: &mut Station) {
        if let Some(rest) = self.resting[index].take() {
            self.resume(index, station, &rest);
        }
    }

    fn resume(&mut self, index: usize, station: &mut Station, rest: &Rest) {
        station.sense = self.sense;
        for (category, _) in station.contenders.counting() {
            self.forget(index, aifsn_of(&station.contenders, category));
        }
        for category in station.contenders.active() {
            let passed = self.passed[aifsn_of(&station.contenders, category)] - rest.passed[category];
            station.contenders.pass(category, passed);
        }
        if rest.times_idle < self.times_idle {
            station.medium_idle(self.idle_from);
        }
        let place = self.awake.partition_point(|&other| usize::from(other) < index);
        self.awake.insert(place, index as u16);
    }

    /// Removes an access category of a radio from those that count down.
    fn forget(&mut self, index: usize, aifsn: usize) {
        let list = &mut self.counting[aifsn];
        // Nearly always it is the first to send.
        if let Some(place) = list.iter().rposition(|counting| usize::from(counting.radio) == index) {
            list.remove(place);
        }
        if list.is_empty() {
            self.counted &= !(1 << aifsn);
        }
    }
}

/// The numbers of the bits that are set.
#[inline]
fn bits(mut left: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (left != 0).then_some(left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(bit)
    })
}

#[inline]
fn aifsn_of(contenders: &Contenders, category: usize) -> usize {
    contenders.edca(category).aifsn as usize
}
