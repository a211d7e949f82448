//! Golden tables: what the runs of `tests/golden/runs` record, compared to the byte.
//!
//! `make golden` resolves the experiments (`NAME.yaml`) into `NAME.jsonl`, a run in each line, and writes their tables
//! anew (`NAME.tables.zst`; `zstdcat` shows them). A failure says which table, row and column differs first.

mod coverage;
mod difference;
mod files;
mod text;

use difference::first_difference;
use files::{Run, experiments};

#[test]
fn every_run_records_its_golden_tables() {
    let mut differing = Vec::new();
    for experiment in experiments() {
        let golden = experiment.golden();
        for (run, number) in experiment.runs().iter().zip(0..) {
            let before = golden.get(number).map_or("", String::as_str);
            differing.extend(
                first_difference(before, &text::of(run))
                    .map(|difference| format!("{}: {difference}", run.name)),
            );
        }
    }
    assert!(
        differing.is_empty(),
        "{} runs differ; if that is meant, run `make golden`, commit the difference with the change and say in \
         CHANGELOG.md what moved and why\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn every_golden_run_is_one_that_is_made() {
    for experiment in experiments() {
        assert_eq!(
            experiment.golden().len(),
            experiment.runs().len(),
            "{}: run `make golden`",
            experiment.name
        );
    }
}

/// A run that differs from no other of its axis would not see whether its own row of a registry is run.
#[test]
fn two_runs_of_one_experiment_record_the_same_only_where_they_may() {
    let mut alike = Vec::new();
    for experiment in experiments() {
        let golden = experiment.golden();
        for (number, run) in experiment.runs().iter().enumerate() {
            let same = golden[..number].iter().position(|earlier| *earlier == golden[number]);
            alike.extend(same.map(|same| format!("{} as {}", run.name, experiment.runs()[same].name)));
        }
    }
    assert_eq!(alike, ALIKE);
}

/// 5.4 and 5.10 differ in what these runs have not: large receive buffers, jumbo frames, trains of ACKs. The rule
/// `hybrid` chooses as `rate` does while the buffer is short.
const ALIKE: &[&str] = &[
    "stacks hosts.client.stack=linux-5.4 as stacks hosts.client.stack=linux-5.10",
    "traffic kind=video by both as traffic kind=video by rate",
];

#[test]
#[ignore = "writes the golden tables anew: `make golden`"]
fn write_the_golden_tables() {
    for experiment in experiments() {
        experiment.write(&experiment.runs().iter().map(text::of).collect::<Vec<_>>());
    }
}

impl Run {
    /// What it gives.
    fn outcome(&self) -> tailback_world::Outcome {
        let scenario = tailback_world::Scenario::from_json(&self.scenario)
            .unwrap_or_else(|error| panic!("{}: {error}; run `make golden`", self.name));
        tailback_world::run(scenario, &()).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}
