//! Counters of the host, as scripts read them by `nstat`. [packetdrill]
//!
//! ```text
//! nstat -n                                  resets the counters
//! nstat | grep NAME | grep -q " N "         checks that NAME has grown by N since the counters were last read
//! ```

use std::collections::BTreeMap;

use crate::command;

/// How a script uses the counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Reads them, for a later comparison.
    Forget,
    /// Expects that a counter has grown by a number.
    Compare {
        /// As `nstat` calls it.
        name: String,
        /// By how much.
        times: u64,
    },
}

/// Why a comparison does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unequal {
    /// There is no such counter.
    Unknown(String),
    /// It has grown by another number.
    Grown(String),
}

/// The values of the last reading.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    seen: BTreeMap<String, u64>,
}

/// How a simple command uses the counters; `None` if it does not; an error if the use is not supported.
pub fn request(simple: &str) -> Result<Option<Request>, String> {
    if !simple.starts_with("nstat") {
        return Ok(None);
    }
    let words = command::words(simple)?;
    let words: Vec<&str> = words.iter().map(|word| word.trim()).collect();
    match words.as_slice() {
        ["nstat", "-n"] => Ok(Some(Request::Forget)),
        ["nstat", "|", "grep", name, "|", "grep", "-q", times] => {
            let times = times.parse().map_err(|_| format!("`{simple}`: `{times}` is not a number"))?;
            Ok(Some(Request::Compare { name: (*name).to_owned(), times }))
        }
        _ => Err(format!("the command `{simple}` is not modelled: `nstat | grep NAME | grep -q \" N \"` is")),
    }
}

impl Counters {
    /// Executes `request`; `now` holds the present values of the counters.
    pub fn answer(&mut self, request: &Request, now: BTreeMap<String, u64>) -> Result<(), Unequal> {
        let seen = std::mem::replace(&mut self.seen, now);
        let Request::Compare { name, times } = request else { return Ok(()) };
        let Some(value) = self.seen.get(name) else {
            return Err(Unequal::Unknown(format!("there is no counter `{name}` here")));
        };
        let grown = value - seen.get(name).copied().unwrap_or(0).min(*value);
        match grown == *times {
            true => Ok(()),
            false => Err(Unequal::Grown(format!("nstat: expected {name} {times}, got {grown}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: u64) -> BTreeMap<String, u64> {
        [("TcpExtA".to_owned(), value)].into()
    }

    #[test]
    fn a_counter_is_compared_with_what_it_has_grown_by_since_it_was_read() {
        let mut counters = Counters::default();
        let grown =
            |times| request(&format!("nstat | grep TcpExtA | grep -q \" {times} \"")).unwrap().unwrap();
        assert_eq!(counters.answer(&grown(3), at(3)), Ok(()));
        assert_eq!(counters.answer(&grown(2), at(5)), Ok(()));
        let wrong = Unequal::Grown("nstat: expected TcpExtA 2, got 1".to_owned());
        assert_eq!(counters.answer(&grown(2), at(6)), Err(wrong));
        assert_eq!(counters.answer(&Request::Forget, at(9)), Ok(()));
        assert_eq!(counters.answer(&grown(1), at(10)), Ok(()));
    }

    #[test]
    fn other_options_of_nstat_are_refused() {
        assert_eq!(request("sysctl -q a=1"), Ok(None));
        assert_eq!(request("nstat -n"), Ok(Some(Request::Forget)));
        for other in ["nstat -az", "nstat > x", "nstat | grep A | grep -q x", "nstat | sh", "nstat"] {
            assert!(request(other).is_err(), "{other}");
        }
    }
}
