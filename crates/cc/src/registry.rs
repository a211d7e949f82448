//! The table of controls. The command line, the docs, the property tests, the benches and the comparison with the
//! kernel walk it. A new control is one file with a `ROW`, its `mod` line in `lib.rs`, and one row here.

use std::fmt;

use tailback_units::{ParameterError, Parameters};

use crate::{
    Control, Row, bbr, bbr_dev, bbr2, bbr3, bbrp, bbrplus, bic, cdg, cubic, dctcp, highspeed, htcp, hybla,
    illinois, lp, newreno, nv, prague, reno, scalable, vegas, veno, westwood, yeah,
};

/// All congestion controls.
pub static ROWS: &[Row] = &[
    reno::ROW,
    cubic::ROW,
    bic::ROW,
    highspeed::ROW,
    htcp::ROW,
    hybla::ROW,
    illinois::ROW,
    scalable::ROW,
    westwood::ROW,
    veno::ROW,
    vegas::ROW,
    nv::ROW,
    yeah::ROW,
    lp::ROW,
    cdg::ROW,
    dctcp::ROW,
    prague::ROW,
    newreno::ROW,
    bbr::ROW,
    bbr_dev::ROW,
    bbr2::ROW,
    bbr3::ROW,
    bbrp::ROW,
    bbrplus::ROW,
    #[cfg(test)]
    crate::toy::ROW,
];

/// Why a control cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// No control has that name.
    #[error("`{name}` is not a congestion control here; there are: {}", known.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names of all controls.
        known: Vec<&'static str>,
    },
    /// A parameter is unknown, or its value is out of range.
    #[error("congestion control `{name}`: {error}")]
    Parameter {
        /// The control.
        name: &'static str,
        /// What is wrong with the value.
        error: ParameterError,
    },
}

/// The row called `name`.
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Builds the control called `name`; an unknown parameter is an error.
pub fn build(name: &str, parameters: &Parameters) -> Result<Control, BuildError> {
    let row = find(name).ok_or_else(|| BuildError::Unknown {
        name: name.to_owned(),
        known: ROWS.iter().map(|row| row.name).collect(),
    })?;
    let refuse = |error| BuildError::Parameter { name: row.name, error };
    parameters.check(row.parameters).map_err(refuse)?;
    (row.build)(parameters).map(|prototype| prototype.control()).map_err(refuse)
}

/// The opening `//!` comment of a source file, without its marks.
pub fn head(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_builds_with_its_defaults_and_opens_with_a_cited_head() {
        for row in ROWS {
            assert!(build(row.name, &Parameters::default()).is_ok(), "{}", row.name);
            let head = head(row.source);
            assert!(
                head.lines().count() >= 5 && (head.contains("Sources: [") || head.contains("[linux-6.12 ")),
                "the file of `{}` must begin with a comment (//!) of at least five lines that has the idea, the \
                 formulas and where they are from: `Sources: [key]` or `[linux-6.12 FILE FUNCTION]`, the key from \
                 references/sources.toml; `tailback explain` prints it. It begins with:\n{head}",
                row.name
            );
        }
    }

    #[test]
    fn names_are_unique() {
        for (i, row) in ROWS.iter().enumerate() {
            assert!(ROWS[i + 1..].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }

    #[test]
    fn every_default_lies_within_its_own_range() {
        for row in ROWS {
            for parameter in row.parameters {
                let default = parameter.default.expect("controls of the kernel have defaults for all");
                assert!(
                    (parameter.min..=parameter.max).contains(&default),
                    "{} {}",
                    row.name,
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn an_unknown_control_names_the_known_ones() {
        let error = build("cubik", &Parameters::default()).unwrap_err();
        let known: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        let told = format!("`cubik` is not a congestion control here; there are: {}", known.join(", "));
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn a_parameter_a_control_does_not_have_is_refused_with_its_name() {
        let mut given = Parameters::default();
        given.set("beta", 512);
        assert!(build("cubic", &given).is_ok());
        let error = build("reno", &given).unwrap_err().to_string();
        assert!(error.starts_with("congestion control `reno`: `beta` is not a parameter here"), "{error}");
    }

    #[test]
    fn a_head_ends_at_the_first_line_that_is_not_part_of_it() {
        assert_eq!(head("//! One.\n//!\n//!   two\n\n//! three\nuse x;\n"), "One.\n\n  two");
    }
}
