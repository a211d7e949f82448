//! A calendar queue: events in the order of their times; events of the same time in the order of scheduling.
//!
//! Time is cut into buckets of 2^10 ns, about a microsecond. A *wheel* is a row of 4096 buckets with a bitmap of
//! those that hold something, so that finding the next one costs three bit scans however far away it is. The
//! finest wheel covers the present 4.2 ms; each coarser wheel covers 4096 times as much with buckets 4096 times
//! as wide, and five of them cover all of `SimTime`.
//!
//! An event is filed on the wheel of the highest digit (base 4096) in which its bucket's number differs from that
//! of the bucket being served. When the finest wheel is empty, the first bucket of the next coarser one is opened
//! and its events are filed again, finer. [brown1988 calendar queues; varghese1987 hierarchical timing wheels]
//!
//! The earliest events are not on the wheels but in the *front*, a short sorted list; it is the only place where events
//! are compared. What lies before the *horizon*, the instant before which the wheels hold nothing, is inserted there: a
//! few links and shapers that are busy never touch a wheel. If the front grows long, its later half goes to the wheels
//! and the horizon moves towards the present. Scheduling and taking an event therefore cost the same for a hundred
//! pending events as for a million, at any spacing, and less for ten.
//!
//! Ties: an instant belongs to one bucket of one wheel at any moment, chains of a bucket keep the order of
//! scheduling, a bucket is refiled as a whole before anything can be filed past it, and the sort is stable. What leaves
//! the front is put at the head of its chain, because it was scheduled before all events of its instant there. So no
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

/// Events in the front before its later half goes to the wheels.
const FRONT_SLOTS: usize = 16;
/// An empty front is refilled from the finest wheel until it has this many events. A bucket with more of them is fetched
/// only if it is the first: otherwise all events before a tick with a thousand timers would be inserted among these.
const FRONT_REFILL: usize = 8;

/// Pending events of type `E`, earliest first.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    now: SimTime,
    front: Front<E>,
    /// The wheels hold no event before this instant, the front none after it.
    horizon: SimTime,
    /// Number of the last bucket that was served; no wheel holds an event of this bucket or an earlier one.
    served: u64,
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
            front: Front { entries: Vec::with_capacity(2 * FRONT_SLOTS) },
            horizon: SimTime::NEVER,
            served: 0,
            wheels: vec![Wheel::new(); WHEELS],
            notes: Notes { entries: Vec::new(), free: NONE, len: 0 },
        }
    }

    /// The instant of the event taken last.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.front.len() + self.notes.len
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event. Panics if `at` has passed: a run that continued would give wrong results.
    #[inline]
    pub fn schedule(&mut self, at: SimTime, event: E) {
        if at < self.now {
            self.refuse(at);
        }
        // What is rare is in functions of its own, so that this one needs no stack.
        if at >= self.horizon {
            return self.file_last(at, event);
        }
        if self.front.len() >= FRONT_SLOTS {
            return self.schedule_in_crowd(at, event);
        }
        self.front.insert_among_few(at, event);
    }

    #[cold]
    fn refuse(&self, at: SimTime) -> ! {
        panic!("an event at {at} was scheduled at {}, after it should have happened", self.now)
    }

    /// Adds an event that lies before the horizon while the front is long.
    #[inline(never)]
    fn schedule_in_crowd(&mut self, at: SimTime, event: E) {
        if self.make_room(at) { self.front.insert(at, event) } else { self.file_last(at, event) }
    }

    /// Takes the earliest event; the time is then its instant.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_until(SimTime::NEVER)
    }

    /// Takes the earliest event if it lies before `limit`, which itself is excluded.
    #[cfg(test)]
    pub(crate) fn pop_before(&mut self, limit: SimTime) -> Option<(SimTime, E)> {
        self.pop_until(SimTime::from_nanos(limit.as_nanos().checked_sub(1)?))
    }

    /// The instant of the earliest event.
    #[inline]
    pub fn peek_time(&self) -> Option<SimTime> {
        match self.front.first() {
            Some(entry) => Some(entry.at),
            None => self.earliest_on_wheels(),
        }
    }

    /// The time becomes `at`, as if the earliest event had been there. False and nothing if an event lies at `at` or
    /// before.
    #[inline]
    pub fn pass_to(&mut self, at: SimTime) -> bool {
        let passes = self.peek_time().is_none_or(|next| next > at);
        if passes {
            debug_assert!(at >= self.now, "time does not go back");
            self.now = at;
        }
        passes
    }

    /// Takes the earliest event unless it lies after `last`.
    #[inline]
    pub fn pop_until(&mut self, last: SimTime) -> Option<(SimTime, E)> {
        if self.pass_to_next(last) { self.take().map(|event| (self.now, event)) } else { None }
    }

    /// The time becomes that of the earliest event, which [`Calendar::take`] takes. False and nothing if it lies after
    /// `last`.
    #[inline(always)]
    pub fn pass_to_next(&mut self, last: SimTime) -> bool {
        if self.front.is_empty() && !self.fill_front(last) {
            return false;
        }
        match self.front.first() {
            Some(entry) if entry.at <= last => {
                self.now = entry.at;
                true
            }
            _ => false,
        }
    }

    /// The event to which the time has passed.
    pub fn present(&self) -> Option<E> {
        self.front.first().map(|entry| entry.event)
    }

    /// Instead of taking the event to which the time has passed: it happens again at `at`, as if it was taken and scheduled.
    /// At [`SimTime::NEVER`] it does not.
    pub fn repeat(&mut self, at: SimTime) {
        debug_assert!(self.front.first().is_some_and(|entry| entry.at == self.now && at >= self.now));
        if at >= self.horizon { self.repeat_late(at) } else { self.front.move_first(at) }
    }

    /// The event to which the time has passed happens again at `at`, which is not before the horizon of the front.
    #[inline(never)]
    fn repeat_late(&mut self, at: SimTime) {
        if let Some(event) = self.take()
            && at < SimTime::NEVER
        {
            self.file_last(at, event);
        }
    }

    /// Takes the event to which the time has passed.
    pub fn take(&mut self) -> Option<E> {
        debug_assert!(self.front.first().is_some_and(|entry| entry.at == self.now), "time has passed to it");
        self.front.entries.pop().map(|entry| entry.event)
    }

    /// Gets events up to `last` from the wheels, if there are any, while the front is empty.
    #[cold]
    fn fill_front(&mut self, last: SimTime) -> bool {
        // Turning no further than the bucket of `last` keeps later events out of the front: they would slow down
        // whatever is scheduled before them.
        self.turn(bucket_of(last))
    }

    /// Gets the first events from the wheels, unless their bucket has a number above `limit`.
    ///
    /// Some more of the finest wheel come with them: what they cause often lies between them and later events.
    #[inline]
    fn turn(&mut self, limit: u64) -> bool {
        while let Some((level, bucket)) = self.first_bucket()
            && bucket <= limit
        {
            let digit = self.wheels[level].first();
            let refills = level == 0 && self.front.len() < FRONT_REFILL;
            let fetched = self.front.is_empty() || (refills && !self.is_crowded(digit));
            if !fetched {
                break;
            }
            self.served = bucket;
            let chain = self.wheels[level].clear(digit);
            if level == 0 { self.serve(chain) } else { self.refile(chain) }
        }
        // The buckets were fetched earliest first.
        self.front.entries.reverse();
        self.horizon = self.first_bucket().map_or(SimTime::NEVER, |(_, bucket)| start_of(bucket));
        !self.front.is_empty()
    }

    /// The first bucket in use: its wheel, and the number of the first of the finest buckets that it covers.
    #[inline]
    fn first_bucket(&self) -> Option<(usize, u64)> {
        let level = self.wheels.iter().position(|wheel| !wheel.is_empty())?;
        Some((level, first_bucket(self.served, level, self.wheels[level].first())))
    }

    #[cold]
    fn earliest_on_wheels(&self) -> Option<SimTime> {
        let wheel = self.wheels.iter().find(|wheel| !wheel.is_empty())?;
        self.notes.earliest(wheel.chains[wheel.first()])
    }

    /// A bucket of the finest wheel holds more events than the front shall get with those of other buckets.
    fn is_crowded(&self, digit: usize) -> bool {
        self.notes.is_longer(self.wheels[0].chains[digit], FRONT_REFILL)
    }

    /// Makes room in the front: its later half goes to the wheels, except for events of the bucket being served. False
    /// if an event at `at` belongs there too.
    #[cold]
    fn make_room(&mut self, at: SimTime) -> bool {
        let entries = &self.front.entries;
        let later = entries.len() - FRONT_SLOTS / 2;
        let moved = entries[..later].iter().take_while(|entry| bucket_of(entry.at) > self.served).count();
        for place in 0..moved {
            let entry = self.front.entries[place];
            self.horizon = entry.at;
            let note = self.notes.write(entry);
            let (level, digit) = self.chain_of(bucket_of(entry.at));
            let wheel = &mut self.wheels[level];
            wheel.mark(digit);
            self.notes.prepend(&mut wheel.chains[digit], note);
        }
        self.front.entries.drain(..moved);
        if at >= self.horizon {
            return false;
        }
        // Many events of one bucket are still to be taken, as in a tick of a thousand timers: moving all of them for
        // each later event would take quadratic time.
        let is_last = self.front.entries.first().is_none_or(|latest| latest.at <= at);
        let crowded = self.front.len() >= FRONT_SLOTS;
        if crowded && is_last && bucket_of(at) > self.served {
            self.horizon = at;
            return false;
        }
        true
    }

    /// Appends `chain`, of the bucket being served, to what was fetched.
    fn serve(&mut self, chain: Chain) {
        let others = self.front.entries.len();
        let mut note = chain.first;
        while note != NONE {
            let Note { entry, next } = self.notes.entries[note as usize];
            self.front.entries.push(entry);
            note = next;
        }
        self.notes.erase(chain, self.front.entries.len() - others);
        self.front.sort_from(others);
    }

    /// Moves the events of a coarse bucket to the finer wheels, in the order of its chain. Events of the bucket that is
    /// being served go to the front, which is empty.
    fn refile(&mut self, chain: Chain) {
        let mut note = chain.first;
        while note != NONE {
            let Note { entry, next } = self.notes.entries[note as usize];
            let bucket = bucket_of(entry.at);
            if bucket == self.served {
                self.front.entries.push(entry);
                self.notes.erase(Chain { first: note, last: note }, 1);
            } else {
                self.file(note, bucket);
            }
            note = next;
        }
        self.front.sort_from(0);
    }

    /// Appends an event that is not before the horizon to its chain. At the end of time there may be no later bucket.
    #[inline(never)]
    fn file_last(&mut self, at: SimTime, event: E) {
        let bucket = bucket_of(at);
        if bucket <= self.served {
            return self.front.insert(at, event);
        }
        self.horizon = self.horizon.min(at);
        let note = self.notes.write(Entry { at, event });
        self.file(note, bucket);
    }

    /// Appends a note to the chain of `bucket`, which is later than the bucket served last.
    #[inline]
    fn file(&mut self, note: u32, bucket: u64) {
        let (level, digit) = self.chain_of(bucket);
        let wheel = &mut self.wheels[level];
        wheel.mark(digit);
        self.notes.append(&mut wheel.chains[digit], note);
    }

    /// Wheel and place on it of a bucket that is later than the bucket served last.
    #[inline]
    fn chain_of(&self, bucket: u64) -> (usize, usize) {
        let level = (bucket ^ self.served).ilog2() / DIGIT_BITS;
        (level as usize, (bucket >> (level * DIGIT_BITS)) as usize % BUCKETS)
    }
}

#[inline]
fn bucket_of(at: SimTime) -> u64 {
    at.as_nanos() >> BUCKET_BITS
}

#[inline]
fn start_of(bucket: u64) -> SimTime {
    SimTime::from_nanos(bucket << BUCKET_BITS)
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

/// The earliest events, sorted, the first one at the end of the list, where it is removed without moving the others.
#[derive(Clone, Debug)]
struct Front<E> {
    entries: Vec<Entry<E>>,
}

impl<E: Copy> Front<E> {
    #[inline]
    fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    fn first(&self) -> Option<&Entry<E>> {
        self.entries.last()
    }

    /// Inserts an event so that it is taken after all that are not later.
    #[inline(never)]
    fn insert(&mut self, at: SimTime, event: E) {
        let place = self.entries.partition_point(|other| other.at > at);
        self.entries.insert(place, Entry { at, event });
    }

    /// Inserts an event so that it is taken after all that are not later, while there are fewer than [`FRONT_SLOTS`].
    /// Usually few events are earlier: moving each costs less than a search and a call of `memmove`.
    #[inline]
    fn insert_among_few(&mut self, at: SimTime, event: E) {
        if self.entries.len() == self.entries.capacity() {
            // Never, since the front has room for twice as many. It tells the compiler that `push` allocates nothing.
            return self.insert(at, event);
        }
        self.entries.push(Entry { at, event });
        let mut entries = self.entries.iter_mut().rev();
        let Some(mut free) = entries.next() else { return };
        for earlier in entries {
            if earlier.at > at {
                break;
            }
            *free = *earlier;
            free = earlier;
        }
        *free = Entry { at, event };
    }

    /// The first event happens at `at`, after all that are not later.
    fn move_first(&mut self, at: SimTime) {
        match self.entries.as_mut_slice() {
            [.., second, _] if second.at <= at => self.move_behind_second(at),
            [.., first] => first.at = at,
            [] => {}
        }
    }

    /// The first event happens at `at`, after all that are not later, and the second is not. Where a few links are busy,
    /// it often moves behind four others.
    #[inline(always)]
    fn move_behind_second(&mut self, at: SimTime) {
        let Some(&Entry { event, .. }) = self.entries.last() else { return };
        let mut places = self.entries.as_mut_slice();
        if let [rest @ .., fifth, fourth, third, second, first] = places
            && fifth.at <= at
        {
            (*first, *second, *third, *fourth) = (*second, *third, *fourth, *fifth);
            if rest.last().is_none_or(|sixth| sixth.at > at) {
                *fifth = Entry { at, event };
                return;
            }
            let left = rest.len() + 1;
            places = &mut places[..left];
        }
        let mut entries = places.iter_mut().rev();
        let Some(mut free) = entries.next() else { return };
        for earlier in entries {
            if earlier.at > at {
                break;
            }
            *free = *earlier;
            free = earlier;
        }
        *free = Entry { at, event };
    }

    /// Sorts the entries from `first` on.
    #[inline]
    fn sort_from(&mut self, first: usize) {
        let entries = &mut self.entries[first..];
        if entries.len() > 1 {
            entries.sort_by_key(|entry| entry.at);
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
    /// Notes in use.
    len: usize,
}

impl<E: Copy> Notes<E> {
    #[inline]
    fn write(&mut self, entry: Entry<E>) -> u32 {
        self.len += 1;
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

    fn prepend(&mut self, chain: &mut Chain, note: u32) {
        self.entries[note as usize].next = chain.first;
        if chain.last == NONE {
            chain.last = note;
        }
        chain.first = note;
    }

    /// Frees a chain of this many notes, at least one.
    #[inline]
    fn erase(&mut self, chain: Chain, notes: usize) {
        self.len -= notes;
        self.entries[chain.last as usize].next = self.free;
        self.free = chain.first;
    }

    /// Whether a chain that is not empty has more than `most` notes.
    fn is_longer(&self, chain: Chain, most: usize) -> bool {
        let mut note = chain.first;
        for _ in 1..=most {
            note = self.entries[note as usize].next;
            if note == NONE {
                return false;
            }
        }
        true
    }

    fn earliest(&self, chain: Chain) -> Option<SimTime> {
        let next = |note: &u32| Some(self.entries[*note as usize].next).filter(|next| *next != NONE);
        std::iter::successors(Some(chain.first), next).map(|note| self.entries[note as usize].entry.at).min()
    }
}

#[cfg(test)]
mod tests;
