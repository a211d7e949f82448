//! Parameters of an algorithm: name, unit, default, meaning. A registry row lists its parameters once; the experiment
//! file, `tailback list`, `tailback explain` and the docs all read them from there.

use std::collections::BTreeMap;
use std::fmt;

/// What a parameter's number counts; decides how it is written in an experiment file and printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterUnit {
    /// A plain whole number.
    Number,
    /// A number of packets.
    Packets,
    /// Bytes, in `tc`'s size units (`k` = 1024).
    Bytes,
    /// Nanoseconds, written with a unit (`5ms`).
    Time,
    /// bit/s, in `tc`'s rate units (`k` = 1000).
    Rate,
    /// 0 or 1, written `NAME` / `noNAME` in `tc`'s words.
    Flag,
    /// A share of 2³² − 1, written in per cent (`1%`).
    Percent,
    /// A share of 2³² − 1, written as a number from 0 to 1 (`0.02`).
    Fraction,
    /// 1/256 Hz, written in Hz (`0.16`).
    Gain,
    /// The number of one of these words.
    Choice(&'static [&'static str]),
}

/// One settable number.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name of the parameter in `tc` or as a module parameter.
    pub name: &'static str,
    /// What it counts.
    pub unit: ParameterUnit,
    /// Value when not given; `None`: it is required, or derived from others as `meaning` says.
    pub default: Option<u64>,
    /// It must be given; what builds the algorithm refuses to do without.
    pub required: bool,
    /// The smallest value accepted.
    pub min: u64,
    /// The largest value accepted.
    pub max: u64,
    /// One sentence.
    pub meaning: &'static str,
}

impl Parameter {
    /// A row of a table; `range` holds the smallest and the largest value accepted.
    pub const fn new(
        name: &'static str,
        unit: ParameterUnit,
        default: Option<u64>,
        range: (u64, u64),
        meaning: &'static str,
    ) -> Self {
        Parameter { name, unit, default, required: false, min: range.0, max: range.1, meaning }
    }

    /// A parameter that must be given.
    pub const fn required(
        name: &'static str,
        unit: ParameterUnit,
        range: (u64, u64),
        meaning: &'static str,
    ) -> Self {
        Parameter { required: true, ..Parameter::new(name, unit, None, range, meaning) }
    }

    /// 0 or 1.
    pub const fn flag(name: &'static str, default: bool, meaning: &'static str) -> Self {
        Parameter::new(name, ParameterUnit::Flag, Some(default as u64), (0, 1), meaning)
    }

    /// One of `words`, the first unless given.
    pub const fn choice(name: &'static str, words: &'static [&'static str], meaning: &'static str) -> Self {
        let last = words.len() as u64 - 1;
        Parameter::new(name, ParameterUnit::Choice(words), Some(0), (0, last), meaning)
    }
}

/// Values given for an algorithm's parameters, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parameters(BTreeMap<String, u64>);

/// A value that an algorithm does not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParameterError {
    /// No such parameter; the valid names.
    Unknown(String, Vec<&'static str>),
    /// The value is outside its range.
    OutOfRange {
        /// The parameter's name.
        name: String,
        /// What was given.
        value: u64,
        /// The smallest accepted.
        min: u64,
        /// The largest accepted.
        max: u64,
    },
    /// A required parameter was not given.
    Missing(&'static str),
    /// Values that contradict each other.
    Conflict {
        /// The name of one of the parameters.
        name: &'static str,
        /// Why it does not fit the others.
        why: String,
    },
}

impl Parameters {
    /// Values by name.
    pub fn new(values: BTreeMap<String, u64>) -> Self {
        Parameters(values)
    }

    /// All values by name.
    pub fn into_values(self) -> BTreeMap<String, u64> {
        self.0
    }

    /// The value given for `name`, if any.
    pub fn given(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Sets `name`.
    pub fn set(&mut self, name: &str, value: u64) {
        self.0.insert(name.to_owned(), value);
    }

    /// The value of `name`: as given, else the default in `table`.
    pub fn get(&self, name: &'static str, table: &[Parameter]) -> Result<u64, ParameterError> {
        let row = table.iter().find(|row| row.name == name);
        self.given(name).or_else(|| row.and_then(|row| row.default)).ok_or(ParameterError::Missing(name))
    }

    /// Sets `name` unless it was given.
    pub fn set_default(&mut self, name: &str, value: u64) {
        if self.given(name).is_none() {
            self.set(name, value);
        }
    }

    /// Sets what was not given to the defaults of `table`.
    pub fn fill(&mut self, table: &[Parameter]) {
        for row in table {
            if let Some(default) = row.default {
                self.set_default(row.name, default);
            }
        }
    }

    /// The value of `name`, which must have been given or filled in.
    pub fn require(&self, name: &'static str) -> Result<u64, ParameterError> {
        self.given(name).ok_or(ParameterError::Missing(name))
    }

    /// Every given name is in `table` and within its range.
    pub fn check(&self, table: &[Parameter]) -> Result<(), ParameterError> {
        for (name, &value) in &self.0 {
            let Some(row) = table.iter().find(|row| row.name == name) else {
                return Err(ParameterError::Unknown(
                    name.clone(),
                    table.iter().map(|row| row.name).collect(),
                ));
            };
            if value < row.min || value > row.max {
                let (min, max) = (row.min, row.max);
                return Err(ParameterError::OutOfRange { name: name.clone(), value, min, max });
            }
        }
        Ok(())
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Unknown(name, known) => {
                write!(f, "`{name}` is not a parameter here; there are: {}", known.join(", "))
            }
            ParameterError::OutOfRange { name, value, min, max } => {
                write!(f, "`{name}` is {value}; it must lie between {min} and {max}")
            }
            ParameterError::Missing(name) => write!(f, "`{name}` must be given"),
            ParameterError::Conflict { name, why } => write!(f, "`{name}` {why}"),
        }
    }
}

impl std::error::Error for ParameterError {}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Parameter] =
        &[Parameter::new("limit", ParameterUnit::Packets, Some(1000), (1, 100_000), "packets held at most")];

    #[test]
    fn a_parameter_not_given_has_its_default() {
        assert_eq!(Parameters::default().get("limit", TABLE), Ok(1000));
    }

    #[test]
    fn an_unknown_parameter_names_the_known_ones() {
        let mut given = Parameters::default();
        given.set("limits", 3);
        assert_eq!(
            given.check(TABLE).unwrap_err().to_string(),
            "`limits` is not a parameter here; there are: limit"
        );
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        let mut given = Parameters::default();
        given.set("limit", 0);
        assert!(given.check(TABLE).unwrap_err().to_string().contains("between 1 and 100000"));
    }
}
