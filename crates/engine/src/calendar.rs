//! A calendar queue: events in the order of their times; events of the same time in the order of scheduling.
//!
//! Time is cut into buckets of 2^10 ns, about a microsecond. A *wheel* is a row of 4096 buckets with a bitmap of
//! those that hold something, so that finding the next one costs three bit scans however far away it is. The
//! finest wheel covers the present 4.2 ms; each coarser wheel covers 4096 times as much with buckets 4096 times
//! as wide, and five of them cover all of `SimTime`.
//!
//! An event is filed on the wheel of the highest digit (base 4096) in which its bucket's number differs from that
//! of the bucket being served. When the finest wheel is empty, the first bucket of the next coarser one is opened
//! and its events are filed again, finer. The bucket being served is kept sorted; it is the only place where
//! events are compared. Scheduling and taking an event therefore cost the same for ten pending events as for ten
//! thousand, at any spacing. [brown1988 calendar queues; varghese1987 hierarchical timing wheels]
//!
//! Ties: an instant belongs to one bucket of one wheel at any moment, chains of a bucket keep the order of
//! scheduling, a bucket is refiled as a whole before anything can be filed past it, and the sort is stable. So no
//! sequence numbers are needed.

use tailback_units::SimTime;

/// Width of the finest bucket: 2^10 ns.
const BUCKET_BITS: u32 = 10;
/// Buckets of a wheel: 2^12; a digit of a bucket's number.
const DIGIT_BITS: u32 = 12;
/// Wheels that cover 64 bits of nanoseconds.
const WHEELS: usize = (u64::BITS - BUCKET_BITS).div_ceil(DIGIT_BITS) as usize;
const BUCKETS: usize = 1 << DIGIT_BITS;
/// End of a chain.
const NONE: u32 = u32::MAX;

/// Pending events of type `E`, earliest first.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    now: SimTime,
    len: usize,
    /// Number of the bucket being served; no wheel holds an event of this bucket or an earlier one.
    served: u64,
    serving: Serving<E>,
    wheels: Vec<Wheel>,
    notes: Notes<E>,
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Calendar::new()
    }
}

impl<E: Copy> Calendar<E> {
    /// No events, at the start of the run.
    pub fn new() -> Self {
        Calendar {
            now: SimTime::ZERO,
            len: 0,
            served: 0,
            serving: Serving { entries: Vec::new(), next: 0 },
            wheels: vec![Wheel::new(); WHEELS],
            notes: Notes { entries: Vec::new(), free: NONE },
        }
    }

    /// The instant of the event taken last.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event. Panics if `at` has passed: a run that went on would print wrong figures.
    #[inline]
    pub fn schedule(&mut self, at: SimTime, event: E) {
        assert!(
            at >= self.now,
            "an event at {at} was scheduled at {}, after it should have happened",
            self.now
        );
        self.len += 1;
        let bucket = bucket_of(at);
        if bucket <= self.served {
            self.serving.insert(Entry { at, event });
        } else {
            let note = self.notes.write(Entry { at, event });
            self.file(note, bucket);
        }
    }

    /// Takes the earliest event; the time is then its instant.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_until(SimTime::NEVER)
    }

    /// Takes the earliest event if it lies before `limit`, which itself is excluded.
    #[inline]
    pub fn pop_before(&mut self, limit: SimTime) -> Option<(SimTime, E)> {
        self.pop_until(SimTime::from_nanos(limit.as_nanos().checked_sub(1)?))
    }

    /// The instant of the earliest event.
    pub fn peek_time(&self) -> Option<SimTime> {
        if let Some(entry) = self.serving.first() {
            return Some(entry.at);
        }
        let wheel = self.wheels.iter().find(|wheel| !wheel.is_empty())?;
        self.notes.earliest(wheel.chains[wheel.first()])
    }

    /// Takes the earliest event unless it lies after `last`.
    #[inline]
    fn pop_until(&mut self, last: SimTime) -> Option<(SimTime, E)> {
        if self.serving.is_empty() {
            if let Some(entry) = self.take_lone(last) {
                return Some(self.reach(entry));
            }
            // Turning no further than the bucket of `last` keeps later events out of the sorted bucket: they would
            // slow down whatever is scheduled before them.
            if !self.turn(bucket_of(last)) {
                return None;
            }
        }
        if self.serving.first()?.at > last {
            return None;
        }
        let entry = self.serving.take();
        Some(self.reach(entry))
    }

    #[inline]
    fn reach(&mut self, entry: Entry<E>) -> (SimTime, E) {
        self.now = entry.at;
        self.len -= 1;
        (entry.at, entry.event)
    }

    /// The common case when events are sparse: one event in the next of the finest buckets needs no sorting.
    #[inline]
    fn take_lone(&mut self, last: SimTime) -> Option<Entry<E>> {
        let wheel = self.wheels.first_mut().filter(|wheel| !wheel.is_empty())?;
        let digit = wheel.first();
        let chain = wheel.chains[digit];
        let entry = self.notes.entries[chain.first as usize].entry;
        if chain.first != chain.last || entry.at > last {
            return None;
        }
        self.served = bucket_of(entry.at);
        wheel.clear(digit);
        self.notes.erase(chain);
        Some(entry)
    }

    /// Serves the next bucket that holds something, if its number is at most `limit`.
    fn turn(&mut self, limit: u64) -> bool {
        while self.serving.is_empty() {
            let Some(level) = self.wheels.iter().position(|wheel| !wheel.is_empty()) else { return false };
            let digit = self.wheels[level].first();
            let bucket = first_bucket(self.served, level, digit);
            if bucket > limit {
                return false;
            }
            self.served = bucket;
            let chain = self.wheels[level].clear(digit);
            if level == 0 { self.serve(chain) } else { self.refile(chain) }
        }
        true
    }

    /// Makes `chain` the sorted bucket.
    fn serve(&mut self, chain: Chain) {
        let mut note = chain.first;
        while note != NONE {
            let Note { entry, next } = self.notes.entries[note as usize];
            self.serving.entries.push(entry);
            note = next;
        }
        self.notes.erase(chain);
        self.serving.sort();
    }

    /// Spreads a coarse bucket over the finer wheels, in the order of its chain.
    fn refile(&mut self, chain: Chain) {
        let mut note = chain.first;
        while note != NONE {
            let Note { entry, next } = self.notes.entries[note as usize];
            let bucket = bucket_of(entry.at);
            if bucket == self.served {
                self.serving.entries.push(entry);
                self.notes.erase(Chain { first: note, last: note });
            } else {
                self.file(note, bucket);
            }
            note = next;
        }
        self.serving.sort();
    }

    /// Appends a note to the chain of `bucket`, which is later than the bucket being served.
    #[inline]
    fn file(&mut self, note: u32, bucket: u64) {
        let level = (bucket ^ self.served).ilog2() / DIGIT_BITS;
        let digit = (bucket >> (level * DIGIT_BITS)) as usize % BUCKETS;
        let wheel = &mut self.wheels[level as usize];
        wheel.mark(digit);
        self.notes.append(&mut wheel.chains[digit], note);
    }
}

#[inline]
fn bucket_of(at: SimTime) -> u64 {
    at.as_nanos() >> BUCKET_BITS
}

/// The first of the finest buckets that `digit` of wheel `level` covers, seen from bucket `served`.
fn first_bucket(served: u64, level: usize, digit: usize) -> u64 {
    let low = level as u32 * DIGIT_BITS;
    let coarser = served.checked_shr(low + DIGIT_BITS).unwrap_or(0).checked_shl(DIGIT_BITS).unwrap_or(0);
    (coarser | digit as u64) << low
}

/// An event and its instant.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: SimTime,
    event: E,
}

/// The bucket being served: sorted, taken from the front.
#[derive(Clone, Debug)]
struct Serving<E> {
    entries: Vec<Entry<E>>,
    next: usize,
}

impl<E: Copy> Serving<E> {
    #[inline]
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    fn first(&self) -> Option<&Entry<E>> {
        self.entries.get(self.next)
    }

    #[inline]
    fn take(&mut self) -> Entry<E> {
        let entry = self.entries[self.next];
        self.next += 1;
        if self.next == self.entries.len() {
            self.entries.clear();
            self.next = 0;
        }
        entry
    }

    /// Behind everything that is not later.
    fn insert(&mut self, entry: Entry<E>) {
        let waiting = &self.entries[self.next..];
        match waiting.last() {
            Some(last) if last.at > entry.at => {
                let place = self.next + waiting.partition_point(|other| other.at <= entry.at);
                self.entries.insert(place, entry);
            }
            _ => self.entries.push(entry),
        }
    }

    fn sort(&mut self) {
        if self.entries.len() > 1 {
            self.entries.sort_by_key(|entry| entry.at);
        }
    }
}

/// 4096 buckets and a bitmap of those in use, with a bitmap of its words above.
#[derive(Clone, Debug)]
struct Wheel {
    used_words: u64,
    used: [u64; BUCKETS / 64],
    chains: Vec<Chain>,
}

impl Wheel {
    fn new() -> Self {
        Wheel { used_words: 0, used: [0; BUCKETS / 64], chains: vec![Chain::EMPTY; BUCKETS] }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.used_words == 0
    }

    /// The first bucket in use of a wheel that is not empty.
    #[inline]
    fn first(&self) -> usize {
        let word = self.used_words.trailing_zeros() as usize;
        word * 64 + self.used[word].trailing_zeros() as usize
    }

    #[inline]
    fn mark(&mut self, digit: usize) {
        self.used[digit / 64] |= 1 << (digit % 64);
        self.used_words |= 1 << (digit / 64);
    }

    /// Takes the whole chain of a bucket.
    #[inline]
    fn clear(&mut self, digit: usize) -> Chain {
        self.used[digit / 64] &= !(1 << (digit % 64));
        if self.used[digit / 64] == 0 {
            self.used_words &= !(1 << (digit / 64));
        }
        std::mem::replace(&mut self.chains[digit], Chain::EMPTY)
    }
}

/// The notes of one bucket, in the order of scheduling.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    const EMPTY: Chain = Chain { first: NONE, last: NONE };
}

/// An entry on a wheel, linked to the next of its bucket.
#[derive(Clone, Copy, Debug)]
struct Note<E> {
    entry: Entry<E>,
    next: u32,
}

/// All notes, in one vector; those erased are linked for reuse, latest first, while they are still in the cache.
#[derive(Clone, Debug)]
struct Notes<E> {
    entries: Vec<Note<E>>,
    free: u32,
}

impl<E: Copy> Notes<E> {
    #[inline]
    fn write(&mut self, entry: Entry<E>) -> u32 {
        let note = self.free;
        if let Some(slot) = self.entries.get_mut(note as usize) {
            self.free = slot.next;
            *slot = Note { entry, next: NONE };
            return note;
        }
        self.grow(entry)
    }

    fn grow(&mut self, entry: Entry<E>) -> u32 {
        let note = self.entries.len();
        assert!(note < NONE as usize, "a calendar holds at most four billion events");
        self.entries.push(Note { entry, next: NONE });
        note as u32
    }

    #[inline]
    fn append(&mut self, chain: &mut Chain, note: u32) {
        self.entries[note as usize].next = NONE;
        match chain.last {
            NONE => chain.first = note,
            last => self.entries[last as usize].next = note,
        }
        chain.last = note;
    }

    /// Frees a chain that is not empty.
    #[inline]
    fn erase(&mut self, chain: Chain) {
        self.entries[chain.last as usize].next = self.free;
        self.free = chain.first;
    }

    fn earliest(&self, chain: Chain) -> Option<SimTime> {
        let next = |note: &u32| Some(self.entries[*note as usize].next).filter(|next| *next != NONE);
        std::iter::successors(Some(chain.first), next).map(|note| self.entries[note as usize].entry.at).min()
    }
}

#[cfg(test)]
mod tests;
