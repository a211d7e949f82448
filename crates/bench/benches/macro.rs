//! Cost of a whole run: CPU time per TCP data segment, events per second, peak memory.
//!
//! `cargo bench -p tailback-bench --bench macro [-- FILTER]`
//!
//! Each case runs in its own process, because peak memory is counted per process. CPU time is that of the child,
//! including building the world and writing the tables. The goal is 500 ns per segment end to end (client, router,
//! server and the ACKs), independent of the number of flows.

use std::process::Command;

use tailback_world::{Scenario, World};

/// Marks the child process that runs one case.
const CHILD: &str = "--case";

/// One line of the table.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    flows: u32,
    rate_bps: u64,
    seconds: u64,
    offloads: &'static str,
}

const CASES: &[Case] = &[
    Case { name: "4 flows, 100 Mbit/s", flows: 4, rate_bps: 100_000_000, seconds: 30, offloads: "off" },
    Case { name: "4 flows, 1 Gbit/s", flows: 4, rate_bps: 1_000_000_000, seconds: 30, offloads: "off" },
    Case {
        name: "4 flows, 1 Gbit/s, trains",
        flows: 4,
        rate_bps: 1_000_000_000,
        seconds: 30,
        offloads: "on",
    },
    Case { name: "1 flow, 1 Gbit/s", flows: 1, rate_bps: 1_000_000_000, seconds: 10, offloads: "off" },
    Case { name: "10 flows, 1 Gbit/s", flows: 10, rate_bps: 1_000_000_000, seconds: 10, offloads: "off" },
    Case { name: "100 flows, 1 Gbit/s", flows: 100, rate_bps: 1_000_000_000, seconds: 10, offloads: "off" },
    Case {
        name: "1000 flows, 1 Gbit/s",
        flows: 1_000,
        rate_bps: 1_000_000_000,
        seconds: 10,
        offloads: "off",
    },
    Case {
        name: "10000 flows, 1 Gbit/s",
        flows: 10_000,
        rate_bps: 1_000_000_000,
        seconds: 10,
        offloads: "off",
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.first().is_some_and(|first| first == CHILD) {
        measure(&CASES[arguments[1].parse::<usize>().expect("the parent passes a number")]);
        return;
    }
    let wanted = arguments.first().map_or("", String::as_str);
    println!("CUBIC over htb | fq_codel at a router; CPU of the whole process");
    println!(
        "{:<24} {:>10} {:>10} {:>8} {:>9} {:>11} {:>9}",
        "case", "segments", "events", "cpu s", "ns/seg", "events/s", "peak MiB"
    );
    for (index, case) in CASES.iter().enumerate().filter(|(_, case)| case.name.contains(wanted)) {
        let this = std::env::current_exe().expect("a running program has a path");
        let status = Command::new(this).args([CHILD, &index.to_string()]).status().expect("the child starts");
        assert!(status.success(), "{} failed", case.name);
    }
}

/// Runs a case and prints its line.
fn measure(case: &Case) {
    let scenario = Scenario::from_json(&scenario(case)).expect("the case is a scenario");
    let outcome = World::build(&scenario).expect("the case can be built").run(&()).expect("nobody stops it");
    let cpu = cpu_seconds();
    let (events, segments) = (outcome.cost.events, outcome.cost.segments);
    println!(
        "{:<24} {segments:>10} {events:>10} {cpu:>8.3} {:>9.1} {:>11.0} {:>9.1}",
        case.name,
        cpu * 1e9 / segments as f64,
        events as f64 / cpu,
        peak_kib() as f64 / 1024.0,
    );
}

/// client – router – server; the router shapes towards the server.
fn scenario(case: &Case) -> String {
    let Case { flows, rate_bps, seconds, offloads, .. } = *case;
    let duration = seconds * 1_000_000_000;
    let flow = |index: u32| {
        format!(
            r#"{{"kind": "tcp", "name": "upload.{index}", "from": 0, "to": 2, "start_ns": 0, "stop_ns": {duration},
                "bytes": null, "cc": {{"name": "cubic", "options": {{}}}}, "tsq": {{"kind": "time", "shift": 10}},
                "socket": {{"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null, "mss": null}}}}"#
        )
    };
    let traffic = (1..=flows).map(flow).collect::<Vec<_>>().join(",");
    let line = 10 * rate_bps;
    format!(
        r#"{{
            "title": "{}", "seed": 1, "duration_ns": {duration},
            "hosts": [
                {{"name": "client", "stack": "linux-6.12", "sysctl": {{}}, "offloads": "{offloads}"}},
                {{"name": "router", "stack": "linux-6.12", "sysctl": {{}}, "offloads": "{offloads}"}},
                {{"name": "server", "stack": "linux-6.12", "sysctl": {{}}, "offloads": "{offloads}"}}
            ],
            "links": [
                {{"ends": [0, 1], "rate_bps": {line}, "delay_ns": [1000000, 1000000], "mtu": 1500, "ring": 256, "bql": true}},
                {{"ends": [1, 2], "rate_bps": {line}, "delay_ns": [1000000, 1000000], "mtu": 1500, "ring": 256, "bql": true}}
            ],
            "qdiscs": [
                {{"host": 1, "link": 1, "root": {{"kind": "htb", "options": {{"rate": {rate_bps}}},
                  "child": {{"kind": "fq_codel", "options": {{}}}}}}}}
            ],
            "traffic": [{traffic}],
            "record": {{"interval_ns": 1000000000, "tcp_info": "interval", "events": true}}
        }}"#,
        case.name
    )
}

/// CPU time of this process, in ticks of 10 ms, or exact if the scheduler's statistics are available.
fn cpu_seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = schedstat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.filter(|nanos| *nanos > 0.0).map_or_else(cpu_seconds_in_ticks, |nanos| nanos / 1e9)
}

/// Fields 14 and 15 of `/proc/self/stat`, in ticks of 10 ms.
fn cpu_seconds_in_ticks() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells a process its times");
    let (_, after_name) = stat.rsplit_once(") ").expect("the name is in brackets");
    let ticks: u64 =
        after_name.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks")).sum();
    ticks as f64 / 100.0
}

/// Largest resident set.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells a process its memory");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it tells the peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("in KiB")
}
