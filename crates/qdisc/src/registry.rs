//! The disciplines there are: a row per file. The experiment file, `tailback list`, `tailback explain`, the property
//! tests and the comparison with a kernel all walk this table.

use tailback_units::{ParameterError, Parameters};
use thiserror::Error;

use crate::{Attachment, Qdisc, Row, bfifo, fq_codel, htb, pfifo, pfifo_fast};

/// Every discipline, by name.
pub static ROWS: &[Row] = &[bfifo::ROW, fq_codel::ROW, htb::ROW, pfifo::ROW, pfifo_fast::ROW];

/// Why a discipline cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    /// No such kind.
    #[error("`{kind}` is not a qdisc here; there are: {known}")]
    UnknownKind {
        /// What was asked for.
        kind: String,
        /// The kinds there are.
        known: String,
    },
    /// It cannot hold another discipline.
    #[error("qdisc `{kind}` holds no child; put it after the `|` of a shaper, not before")]
    NotClassful {
        /// The kind.
        kind: &'static str,
    },
    /// A parameter it does not take.
    #[error("qdisc `{kind}`: {error}")]
    Parameter {
        /// The kind.
        kind: &'static str,
        /// What is wrong with it.
        error: ParameterError,
    },
}

/// The row of `name`.
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Builds the discipline `kind` for a device once its parameters are found to be in its table.
pub fn build(
    kind: &str,
    given: &Parameters,
    device: &Attachment,
    child: Option<Box<dyn Qdisc>>,
) -> Result<Box<dyn Qdisc>, BuildError> {
    let row = find(kind).ok_or_else(|| unknown(kind))?;
    if child.is_some() && !row.classful {
        return Err(BuildError::NotClassful { kind: row.name });
    }
    let built = given.check(row.parameters).and_then(|()| (row.build)(given, device, child));
    built.map_err(|error| BuildError::Parameter { kind: row.name, error })
}

/// The head of a file of this crate: its leading `//!` comment without the slashes.
pub fn head(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

fn unknown(kind: &str) -> BuildError {
    let known = ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    BuildError::UnknownKind { kind: kind.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(kind: &str, given: &[(&str, u64)], child: Option<Box<dyn Qdisc>>) -> String {
        let values = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        match build(kind, &Parameters::new(values), &Attachment::default(), child) {
            Ok(_) => panic!("it was built"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn rows_are_in_the_order_of_their_names_and_say_where_they_come_from() {
        assert!(ROWS.is_sorted_by(|a, b| a.name < b.name));
        for row in ROWS {
            let head = head(row.source);
            assert!(head.starts_with(&format!("`{}`", row.name)), "{head}");
            assert!(head.contains("[linux-6.12 sch_"), "{} names no source", row.name);
        }
    }

    #[test]
    fn every_row_builds_with_what_it_requires_and_knows_its_name() {
        for row in ROWS {
            let values =
                if row.name == "htb" { [("rate".to_owned(), 1_000_000)].into() } else { Default::default() };
            let built =
                build(row.name, &Parameters::new(values), &Attachment::default(), None).expect(row.name);
            assert_eq!((built.kind(), built.child().is_some()), (row.name, row.classful));
        }
    }

    #[test]
    fn the_head_of_a_file_ends_where_its_comment_ends() {
        assert_eq!(head("//! one\n//!\n//!   two\n\nuse std;\n//! no\n"), "one\n\n  two");
    }

    #[test]
    fn an_unknown_kind_names_the_known_ones() {
        let known = "bfifo, fq_codel, htb, pfifo, pfifo_fast";
        assert_eq!(refusal("fifo", &[], None), format!("`fifo` is not a qdisc here; there are: {known}"));
    }

    #[test]
    fn a_parameter_out_of_range_is_refused_with_the_name_of_the_kind() {
        let told = refusal("fq_codel", &[("flows", 0)], None);
        assert_eq!(told, "qdisc `fq_codel`: `flows` is 0; it must lie between 1 and 65536");
    }

    #[test]
    fn a_discipline_without_classes_takes_no_child() {
        let child = build("pfifo", &Parameters::default(), &Attachment::default(), None).ok();
        assert!(refusal("bfifo", &[], child).contains("holds no child"));
    }
}
