//! Windowed maximum and minimum in constant space: the best, second best and third best of the last `window` units
//! of time, each no older than the one before (Kathleen Nichols' filter). [linux-6.12 lib/win_minmax.c]
//!
//! The result is exact while values keep rising (for a maximum) or falling (for a minimum). Otherwise it is the best
//! value of a slightly shorter window, because only three candidates are stored. The second and the third are
//! replaced when a quarter and a half of the window have passed without a better value, so that the candidates are
//! spread over the window when the best one expires.
//!
//! Time is any count that never decreases: rounds, jiffies, microseconds.

/// The maximum of recent values.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax(Three);

/// The minimum of recent values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowedMin(Three);

impl WindowedMax {
    /// Restarts from `value`, measured at `time`.
    pub fn reset(&mut self, time: u64, value: u64) {
        self.0 = Three::all(Sample { time, value });
    }

    /// Adds `value`, measured at `time`; returns the maximum over the last `window`.
    pub fn update(&mut self, window: u64, time: u64, value: u64) -> u64 {
        self.0.update(window, Sample { time, value }, |new, old| new >= old)
    }

    /// The maximum as of the last update.
    pub fn get(&self) -> u64 {
        self.0.best().value
    }
}

impl WindowedMin {
    /// Starts from `value`, measured at `time`.
    pub fn new(time: u64, value: u64) -> Self {
        WindowedMin(Three::all(Sample { time, value }))
    }

    /// Adds `value`, measured at `time`; returns the minimum over the last `window`.
    pub fn update(&mut self, window: u64, time: u64, value: u64) -> u64 {
        self.0.update(window, Sample { time, value }, |new, old| new <= old)
    }

    /// The minimum as of the last update.
    pub fn get(&self) -> u64 {
        self.0.best().value
    }

    /// A value above this changes nothing until [`WindowedMin::settled_until`].
    #[inline]
    pub fn worst(&self) -> u64 {
        self.0.0[2].value
    }

    /// The last time at which no candidate is replaced because of its age.
    pub fn settled_until(&self, window: u64) -> u64 {
        self.0.best().time + window / 4
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sample {
    time: u64,
    value: u64,
}

impl Sample {
    fn older_than(&self, age: u64, now: u64) -> bool {
        now.saturating_sub(self.time) > age
    }
}

/// Best, second best, third best.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Three([Sample; 3]);

impl Three {
    fn all(sample: Sample) -> Self {
        Three([sample; 3])
    }

    fn best(&self) -> Sample {
        self.0[0]
    }

    fn update(&mut self, window: u64, new: Sample, as_good: impl Fn(u64, u64) -> bool) -> u64 {
        let [best, second, third] = self.0;
        if as_good(new.value, best.value) || third.older_than(window, new.time) {
            *self = Three::all(new);
            return new.value;
        }
        if as_good(new.value, second.value) {
            self.0 = [best, new, new];
        } else if as_good(new.value, third.value) {
            self.0[2] = new;
        }
        self.age(window, new);
        self.best().value
    }

    /// Removes a value that has left the window, or replaces a candidate that is as old as the one before it.
    fn age(&mut self, window: u64, new: Sample) {
        let [best, second, third] = self.0;
        if best.older_than(window, new.time) {
            self.0 = [second, third, new];
            if second.older_than(window, new.time) {
                self.0 = [third, new, new];
            }
        } else if second.time == best.time && best.older_than(window / 4, new.time) {
            self.0 = [best, new, new];
        } else if third.time == second.time && best.older_than(window / 2, new.time) {
            self.0[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maxima over 10 units after each of the values, which arrive one per unit.
    fn maxima(values: &[u64]) -> Vec<u64> {
        let mut filter = WindowedMax::default();
        values.iter().zip(0..).map(|(&value, time)| filter.update(10, time, value)).collect()
    }

    #[test]
    fn a_rising_value_is_its_own_maximum() {
        assert_eq!(maxima(&[1, 2, 3, 3, 5]), [1, 2, 3, 3, 5]);
    }

    #[test]
    fn a_maximum_expires_after_the_window() {
        let mut values = vec![100];
        values.extend([50; 12]);
        let mut expected = vec![100; 11];
        expected.extend([50, 50]);
        assert_eq!(maxima(&values), expected);
    }

    #[test]
    fn a_falling_value_is_followed_with_a_delay_of_one_window() {
        let values: Vec<u64> = (0..30).map(|i| 100 - i).collect();
        let exact = |now: usize| values[now.saturating_sub(10)];
        for (now, &found) in maxima(&values).iter().enumerate() {
            assert!(found <= exact(now) && found >= exact(now).saturating_sub(5), "at {now}: {found}");
        }
    }

    #[test]
    fn after_a_long_silence_only_the_new_value_counts() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100);
        assert_eq!(filter.update(10, 11, 7), 7);
    }

    #[test]
    fn an_equal_value_renews_the_maximum() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100);
        filter.update(10, 8, 100);
        assert_eq!(filter.update(10, 18, 50), 100);
        assert_eq!(filter.update(10, 19, 50), 50);
    }

    #[test]
    fn the_second_replaces_the_best_and_the_third_the_second() {
        let mut filter = WindowedMax::default();
        filter.reset(0, 100);
        for (time, value, expected) in [(3, 90, 100), (6, 80, 100), (11, 10, 90), (14, 10, 80), (17, 10, 10)]
        {
            assert_eq!(filter.update(10, time, value), expected, "at {time}");
        }
    }

    #[test]
    fn a_minimum_is_the_maximum_of_the_negated_values() {
        let mut min = WindowedMin::new(0, 1000);
        for (time, value) in [(0u64, 70u64), (3, 90), (5, 75), (9, 80), (12, 99), (16, 200), (27, 300)] {
            let found = min.update(10, time, value);
            let exact = [(0u64, 70u64), (3, 90), (5, 75), (9, 80), (12, 99), (16, 200), (27, 300)]
                .iter()
                .filter(|&&(seen, _)| seen <= time && time - seen <= 10)
                .map(|&(_, value)| value)
                .min();
            assert_eq!(Some(found), exact, "at {time}");
        }
        assert_eq!(min.get(), 300);
    }
}
