//! Where two runs differ first.

use crate::text::{BETWEEN, TABLE};

/// The first difference of the tables of a run: which table, which row, which column.
pub fn first_difference(before: &str, now: &str) -> Option<String> {
    if before == now {
        return None;
    }
    let (before, now) = (tables(before), tables(now));
    let differs = before.iter().zip(&now).find(|(before, now)| before != now);
    Some(match differs {
        Some((before, now)) if before[0] == now[0] => of_table(before, now),
        Some((before, now)) => format!("table `{}` stands where `{}` did", now[0], before[0]),
        None if before.is_empty() => "it has no golden tables".to_owned(),
        None => format!("it has {} tables, and had {}", now.len(), before.len()),
    })
}

/// The lines of each table, the first of which is its name.
fn tables(run: &str) -> Vec<Vec<&str>> {
    run.split(TABLE).filter(|table| !table.is_empty()).map(|table| table.lines().collect()).collect()
}

fn of_table(before: &[&str], now: &[&str]) -> String {
    let name = before[0];
    if before[1] != now[1] {
        return format!("table `{name}`: the columns are `{}`, and were `{}`", now[1], before[1]);
    }
    let (columns, before, now) = (before[1], &before[2..], &now[2..]);
    match before.iter().zip(now).position(|(before, now)| before != now) {
        Some(row) => format!("table `{name}`, row {}, {}", row + 1, of_row(columns, before[row], now[row])),
        None => format!("table `{name}` has {} rows, and had {}", now.len(), before.len()),
    }
}

fn of_row(columns: &str, before: &str, now: &str) -> String {
    let mut cells = columns.split(BETWEEN).zip(before.split(BETWEEN).zip(now.split(BETWEEN)));
    let (column, (before_it, now_it)) =
        cells.find(|(_, (before, now))| before != now).expect("rows that differ");
    format!(
        "column `{column}`: {} instead of {}; the row was `{}`",
        shortened(now_it),
        shortened(before_it),
        shortened(&before.replace(BETWEEN, " "))
    )
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    let cut: String = text.chars().take(LONGEST).collect();
    if cut == text { cut } else { cut + "…" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "# flows\nt s\tflow\tbytes B\n0.1\tup\t5\n0.2\tup\t7\n# ping\nt s\n1\n";

    fn difference(now: &str) -> String {
        first_difference(RUN, now).expect("a difference")
    }

    #[test]
    fn a_cell_that_differs_is_told_by_table_row_and_column() {
        let now = difference(&RUN.replace('7', "8"));
        assert_eq!(now, "table `flows`, row 2, column `bytes B`: 8 instead of 7; the row was `0.2 up 7`");
    }

    #[test]
    fn rows_and_tables_that_are_missing_or_new_are_told() {
        assert_eq!(difference(&RUN.replace("0.2\tup\t7\n", "")), "table `flows` has 1 rows, and had 2");
        assert_eq!(
            difference(&RUN.replace("bytes B", "bytes")),
            "table `flows`: the columns are `t s\tflow\tbytes`, and were `t s\tflow\tbytes B`"
        );
        assert_eq!(difference(&RUN.replace("# ping", "# pong")), "table `pong` stands where `ping` did");
        assert_eq!(difference(&(RUN.to_owned() + "# udp\nt s\n")), "it has 3 tables, and had 2");
        assert_eq!(first_difference("", RUN).as_deref(), Some("it has no golden tables"));
        assert_eq!(first_difference(RUN, RUN), None);
    }
}
