//! Which rows of the registries the golden runs run.

use std::collections::BTreeSet;

use serde_json::Value;
use tailback_world::scenario::Traffic;

use crate::files::{Run, experiments};
use crate::text;

/// The words under the key `word` of each object that stands under one of the keys `under`, in all scenarios.
fn words(under: &[&str], word: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for experiment in experiments() {
        for run in experiment.runs() {
            let scenario: Value = serde_json::from_str(&run.scenario).expect("JSON");
            collect(&scenario, false, under, word, &mut found);
        }
    }
    found
}

fn collect(value: &Value, wanted: bool, under: &[&str], word: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if wanted && let Some(name) = object.get(word).and_then(Value::as_str) {
                found.insert(name.to_owned());
            }
            for (key, inner) in object {
                collect(inner, under.contains(&key.as_str()), under, word, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, wanted, under, word, found)),
        _ => {}
    }
}

fn assert_all_run(what: &str, rows: impl IntoIterator<Item = String>, run: &BTreeSet<String>) {
    let missing: Vec<String> = rows.into_iter().filter(|row| !run.contains(row)).collect();
    assert!(
        missing.is_empty(),
        "no golden run has the {what} {}: add one to tests/golden/runs, then `make golden`",
        missing.join(", ")
    );
}

#[test]
fn a_golden_run_has_each_congestion_control() {
    let rows = tailback_cc::ROWS.iter().map(|row| row.name.to_owned());
    assert_all_run("congestion controls", rows, &words(&["cc"], "name"));
}

#[test]
fn a_golden_run_has_each_queue_discipline() {
    let rows = tailback_qdisc::registry::ROWS.iter().map(|row| row.name.to_owned());
    assert_all_run("queue disciplines", rows, &words(&["root", "child", "list"], "kind"));
}

#[test]
fn a_golden_run_has_each_driver_on_the_air() {
    let rows = tailback_wifi::driver::PROFILES.iter().map(|row| row.name.to_owned());
    assert_all_run("Wi-Fi drivers", rows, &words(&["driver"], "name"));
}

#[test]
fn a_golden_run_has_each_kind_of_traffic() {
    // Without the example of CONTRIBUTING.md, which only tests have, and endpoints, which no experiment file has: the tests
    // of the crate `net` drive them.
    let others = ["toy", "endpoint"];
    let rows = Traffic::KINDS.iter().map(|kind| kind.to_lowercase());
    let rows = rows.filter(|kind| !others.contains(&kind.as_str()));
    assert_all_run("kinds of traffic", rows, &words(&["traffic"], "kind"));
}

#[test]
fn a_golden_run_has_each_network_stack() {
    let rows = tailback_world::stacks().into_iter().map(|(name, _)| name.to_owned());
    assert_all_run("network stacks", rows, &words(&["hosts"], "stack"));
}

/// The columns `what` and `reason` of the table of events.
fn events() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for run in experiments().iter().flat_map(|experiment| experiment.golden()) {
        let Some((_, events)) = run.split_once("# events\n") else { continue };
        for row in events.lines().skip(1).take_while(|line| !line.starts_with("# ")) {
            let cells: Vec<&str> = row.split('\t').collect();
            found.insert(format!("{} {}", cells[1], cells[4]));
        }
    }
    found
}

#[test]
fn loss_recovery_comes_into_each_state_and_does_all_that_it_can() {
    let states = ["disorder", "cwr", "recovery", "loss", "open"].map(|state| format!("ca_state {state}"));
    let acts = ["rto –", "tlp –", "undo –", "abort –", "mark –"].map(str::to_owned);
    assert_all_run("events of loss recovery", states.into_iter().chain(acts), &events());
}

/// A mechanism that a sysctl switches off is one that golden runs would miss, if and only if a run changes without it.
#[test]
fn each_mechanism_of_recovery_changes_a_golden_run() {
    let experiment = experiments().into_iter().find(|one| one.name == "recovery").expect("recovery.yaml");
    let runs: Vec<(&Run, String)> = experiment.runs().iter().zip(experiment.golden()).collect();
    let unseen: Vec<&str> = MECHANISMS
        .iter()
        .filter(|(sysctl, value)| !runs.iter().any(|(run, golden)| changes(run, golden, sysctl, *value)))
        .map(|(sysctl, _)| *sysctl)
        .collect();
    assert_eq!(unseen, [""; 0], "no golden run of recovery.yaml changes when these are set otherwise");
}

/// Sysctls of loss recovery, and a value that is not the default.
const MECHANISMS: &[(&str, u64)] = &[
    ("net.ipv4.tcp_sack", 0),
    ("net.ipv4.tcp_dsack", 0),
    ("net.ipv4.tcp_timestamps", 0),
    ("net.ipv4.tcp_early_retrans", 0),
    ("net.ipv4.tcp_frto", 0),
    ("net.ipv4.tcp_recovery", 3),
    ("net.ipv4.tcp_reordering", 10),
    ("net.ipv4.tcp_retries2", 3),
    ("net.ipv4.tcp_rto_min_us", 300000),
];

fn changes(run: &Run, golden: &str, sysctl: &str, value: u64) -> bool {
    let mut scenario: Value = serde_json::from_str(&run.scenario).expect("JSON");
    for host in scenario["hosts"].as_array_mut().expect("hosts") {
        host["sysctl"][sysctl] = Value::from(value);
    }
    text::of(&Run { name: run.name.clone(), scenario: scenario.to_string() }) != golden
}
