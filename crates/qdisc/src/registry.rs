//! The table of disciplines, with a row per file. The experiment file, `tailback list`, `tailback explain`, the
//! property tests and the comparison with a kernel read it.

use tailback_units::{ParameterError, Parameters};
use thiserror::Error;

use crate::{
    Attachment, Inner, Qdisc, Row, bfifo, cake, choke, codel, drr, dualpi2, fq, fq_codel, fq_pie, hhf, htb,
    mq, netem, pfifo, pfifo_fast, pfifo_head_drop, pie, prio, red, sfq, tbf,
};

/// All disciplines, in the order of their names.
pub static ROWS: &[Row] = &[
    bfifo::ROW,
    cake::ROW,
    choke::ROW,
    codel::ROW,
    drr::ROW,
    dualpi2::ROW,
    fq::ROW,
    fq_codel::ROW,
    fq_pie::ROW,
    hhf::ROW,
    htb::ROW,
    mq::ROW,
    netem::ROW,
    pfifo::ROW,
    pfifo_fast::ROW,
    pfifo_head_drop::ROW,
    pie::ROW,
    prio::ROW,
    red::ROW,
    sfq::ROW,
    tbf::ROW,
    #[cfg(test)]
    crate::toy::ROW,
];

/// Why a discipline cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    /// No discipline has that name.
    #[error("`{kind}` is not a qdisc here; there are: {known}")]
    UnknownKind {
        /// The name that was given.
        kind: String,
        /// The names of all disciplines.
        known: String,
    },
    /// It cannot have a child.
    #[error("qdisc `{kind}` holds no child; put it after the `|` of a shaper, not before")]
    NotClassful {
        /// The kind.
        kind: &'static str,
    },
    /// It has no classes.
    #[error("qdisc `{kind}` has no classes; htb, prio, drr and mq have")]
    NoClasses {
        /// The kind.
        kind: &'static str,
    },
    /// A parameter is unknown, or its value is out of range.
    #[error("qdisc `{kind}`: {error}")]
    Parameter {
        /// The kind.
        kind: &'static str,
        /// What is wrong.
        error: ParameterError,
    },
}

/// The row of `name`.
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// All parameters of `kind` on a device: as given, or the default, or derived from the others.
pub fn resolve(kind: &str, given: &Parameters, device: &Attachment) -> Result<Parameters, BuildError> {
    let row = find(kind).ok_or_else(|| unknown(kind))?;
    let named = |error| BuildError::Parameter { kind: row.name, error };
    given.check(row.parameters).map_err(named)?;
    let mut resolved = given.clone();
    resolved.fill(row.parameters);
    (row.derive)(&mut resolved, device).map_err(named)?;
    Ok(resolved)
}

/// Builds the discipline `kind` over one child.
pub fn build(
    kind: &str,
    given: &Parameters,
    device: &Attachment,
    child: Option<Box<dyn Qdisc>>,
) -> Result<Box<dyn Qdisc>, BuildError> {
    build_over(kind, given, device, Inner::child(child))
}

/// Builds the discipline `kind` over a child or classes.
pub fn build_over(
    kind: &str,
    given: &Parameters,
    device: &Attachment,
    mut inner: Inner,
) -> Result<Box<dyn Qdisc>, BuildError> {
    let row = find(kind).ok_or_else(|| unknown(kind))?;
    if inner.child.is_some() && !row.classful {
        return Err(BuildError::NotClassful { kind: row.name });
    }
    let named = |error| BuildError::Parameter { kind: row.name, error };
    complete_classes(row, &mut inner)?;
    let resolved = resolve(kind, given, device)?;
    (row.build)(&resolved, device, inner).map_err(named)
}

fn complete_classes(row: &'static Row, inner: &mut Inner) -> Result<(), BuildError> {
    let Some(table) = row.classes else {
        return if inner.classes.is_empty() { Ok(()) } else { Err(BuildError::NoClasses { kind: row.name }) };
    };
    for class in &mut inner.classes {
        let named = |error| BuildError::Parameter { kind: row.name, error };
        class.parameters.check(table).map_err(named)?;
        class.parameters.fill(table);
    }
    Ok(())
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
    use crate::testing::required;

    fn refusal(kind: &str, given: &[(&str, u64)], child: Option<Box<dyn Qdisc>>) -> String {
        let values = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        match build(kind, &Parameters::new(values), &Attachment::default(), child) {
            Ok(_) => panic!("it was not refused"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn rows_are_in_the_order_of_their_names_and_cite_their_sources() {
        let wrong = ROWS.windows(2).find(|pair| pair[0].name >= pair[1].name).map(|pair| pair[1].name);
        assert_eq!(wrong, None, "its row stands after a later name, or a second time");
        for row in ROWS {
            let head = head(row.source);
            assert!(
                head.starts_with(&format!("`{}`", row.name)),
                "the file of `{0}` must begin with a comment (//!) whose first word is `{0}` in backquotes. It begins \
                 with:\n{head}",
                row.name
            );
            assert!(
                ["6.12", "6.17", "7.3"]
                    .iter()
                    .any(|version| head.contains(&format!("[linux-{version} sch_"))),
                "the comment (//!) at the head of `{}` names no source: [linux-6.12 sch_FILE.c]",
                row.name
            );
        }
    }

    #[test]
    fn packets_bypass_the_disciplines_that_linux_flags_and_no_other() {
        let bypassed = |row: &&Row| {
            let built = build(row.name, &required(row), &Attachment::default(), None).expect(row.name);
            built.can_bypass()
        };
        let names: Vec<_> = ROWS.iter().filter(bypassed).map(|row| row.name).collect();
        let flagged = ["bfifo", "codel", "fq_codel", "pfifo", "pfifo_fast", "pfifo_head_drop", "sfq"];
        assert_eq!(names, flagged, "[linux-6.12 TCQ_F_CAN_BYPASS]");
    }

    #[test]
    fn every_row_builds_with_its_required_parameters_and_has_its_name() {
        for row in ROWS {
            let built = build(row.name, &required(row), &Attachment::default(), None).expect(row.name);
            let mut children = 0;
            built.visit_children(&mut |_| children += 1);
            assert_eq!(built.kind(), row.name);
            assert!(children <= usize::from(row.classful) || row.classes.is_some(), "{}", row.name);
        }
    }

    #[test]
    fn every_row_refuses_to_build_without_a_required_parameter() {
        let mut count = 0;
        // Without its rate, htb is a tree without classes.
        for row in ROWS.iter().filter(|row| row.classes.is_none()) {
            let given = required(row).into_values();
            for parameter in row.parameters.iter().filter(|parameter| parameter.required) {
                let others: Vec<(&str, u64)> = given
                    .iter()
                    .filter(|(name, _)| *name != parameter.name)
                    .map(|(name, value)| (name.as_str(), *value))
                    .collect();
                let expected = format!("qdisc `{}`: `{}` must be given", row.name, parameter.name);
                assert_eq!(refusal(row.name, &others, None), expected);
                count += 1;
            }
        }
        assert_eq!(count, 6, "of choke, red and tbf");
    }

    #[test]
    fn the_head_of_a_file_ends_where_its_comment_ends() {
        assert_eq!(head("//! one\n//!\n//!   two\n\nuse std;\n//! no\n"), "one\n\n  two");
    }

    #[test]
    fn an_unknown_kind_names_the_known_ones() {
        let message = refusal("fifo", &[], None);
        assert!(message.starts_with("`fifo` is not a qdisc here; there are: bfifo, "), "{message}");
    }

    #[test]
    fn a_parameter_out_of_range_is_refused_with_the_name_of_the_kind() {
        let message = refusal("fq_codel", &[("flows", 0)], None);
        assert_eq!(message, "qdisc `fq_codel`: `flows` is 0; it must lie between 1 and 65536");
    }

    #[test]
    fn a_classless_discipline_refuses_a_child() {
        let child = build("pfifo", &Parameters::default(), &Attachment::default(), None).ok();
        assert!(refusal("bfifo", &[], child).contains("holds no child"));
    }
}
