//! The agent on a host of a testbed: executes requests from stdin, answers on stdout, and restores the host at the end.
//!
//! A request is a line of JSON, `{"id": 7, "do": "read", "paths": [...]}`, and its answer is another,
//! `{"id": 7, "ok": ...}` or `{"id": 7, "error": "..."}`. Messages without a request are events: `{"event": "rows", ...}`. The process has no
//! other input: access control is that of sshd. It ends when stdin is closed, or after the time without input that is
//! its argument; its guard (`guard.rs`) then undoes every change.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::Traffic;
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::guard::{self, Guard, Undo};
use crate::job::Job;
use crate::network::{self, Network};
use crate::sample::Sampler;
use crate::sys;

/// Version of the protocol between the controller and the agent.
const PROTOCOL: u32 = 1;

/// Between two messages of what has been measured.
const LIVE_NS: u64 = 1_000_000_000;

#[derive(Deserialize)]
struct Request {
    id: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum What {
    /// Identifies the host and the agent.
    Hello,
    /// CLOCK_MONOTONIC, for the offset of the clocks.
    Clock,
    /// The offset of the wall clock from it, for the stamps of captures.
    Ahead,
    /// Runs a program that changes nothing; it may fail.
    Run { argv: Vec<String>, input: Option<String> },
    /// Reads files; one that cannot be read is null.
    Read { paths: Vec<String> },
    /// The names in a folder.
    List { path: String },
    /// Runs a program that changes the host.
    Change { argv: Vec<String>, undo: Option<Vec<String>> },
    /// Writes a file of the kernel; its previous content is restored at the end.
    Set { path: String, value: String },
    /// Opens the sockets of a job that are on this host.
    Prepare { job: Box<Job>, me: usize },
    /// Begins the job when CLOCK_MONOTONIC shows this.
    Start { zero_ns: u64 },
    /// Undoes all changes.
    Restore,
    /// Keeps the connection alive.
    Beat,
}

struct Prepared {
    job: Job,
    traffic: Traffic,
    sampler: Sampler,
}

struct Host {
    guard: Guard,
    left: Vec<String>,
    prepared: Option<Prepared>,
}

/// `serve SILENCE_S`.
pub fn main(words: &[OsString]) -> ExitCode {
    match whole(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            send(&json!({"event": "refused", "error": failure.to_string()}));
            ExitCode::FAILURE
        }
    }
}

fn whole(words: &[OsString]) -> Result<(), Failure> {
    let silence_s: u64 = words
        .first()
        .and_then(|word| word.to_str()?.parse().ok())
        .ok_or_else(|| Failure::new("serve needs the seconds after which a silent controller is gone"))?;
    if sys::user_and_group().0 != 0 {
        return Err(Failure::new("not root: queue disciplines and congestion controls are root's to set"));
    }
    sys::sleep_precisely().doing("setting the timer slack")?;
    let found = guard::recover()?;
    if found.busy {
        return Err(Failure::new("busy: another run is changing this host"));
    }
    let (guard, process) = Guard::start()?;
    replace_if_killed(&guard, process)?;
    let last_input = Arc::new(AtomicU64::new(sys::monotonic_ns()));
    exit_when_silent(last_input.clone(), silence_s)?;
    handle_requests(Host { guard, left: found.left, prepared: None }, &last_input)
}

fn handle_requests(mut host: Host, last_input: &AtomicU64) -> Result<(), Failure> {
    for line in io::stdin().lock().lines() {
        let line = line.doing("reading from the controller")?;
        last_input.store(sys::monotonic_ns(), Ordering::Relaxed);
        let request: Request =
            serde_json::from_str(&line).map_err(|error| Failure::new(format!("a request: {error}")))?;
        match host.handle(request.what) {
            Ok(value) => send(&json!({"id": request.id, "ok": value})),
            Err(failure) => send(&json!({"id": request.id, "error": failure.to_string()})),
        }
    }
    Ok(())
}

/// The guard ends before this process only if it is killed.
fn replace_if_killed(guard: &Guard, mut process: std::process::Child) -> Result<(), Failure> {
    let folder = guard.folder().to_owned();
    let work = move || {
        let _ = process.wait();
        guard::take_over(&folder);
        send(&json!({"event": "failed", "error": "the guard of this host was killed; everything is undone"}));
        std::process::exit(1);
    };
    thread::Builder::new().name("guard".into()).spawn(work).map(drop).doing("starting a thread")
}

/// Ends when no input arrives: a connection may be lost without an error.
fn exit_when_silent(last_input: Arc<AtomicU64>, silence_s: u64) -> Result<(), Failure> {
    let work = move || {
        loop {
            thread::sleep(Duration::from_millis(500));
            let silent_ns = sys::monotonic_ns().saturating_sub(last_input.load(Ordering::Relaxed));
            if silent_ns > silence_s * 1_000_000_000 {
                std::process::exit(1);
            }
        }
    };
    thread::Builder::new().name("silence".into()).spawn(work).map(drop).doing("starting a thread")
}

impl Host {
    fn handle(&mut self, what: What) -> Result<Value, Failure> {
        match what {
            What::Hello => Ok(json!({"protocol": PROTOCOL, "left": self.left})),
            What::Clock => Ok(json!(sys::monotonic_ns())),
            What::Ahead => Ok(json!(sys::realtime_ns().saturating_sub(sys::monotonic_ns()))),
            What::Run { argv, input } => run(&argv, input.unwrap_or_default()),
            What::Read { paths } => Ok(json!(read(paths))),
            What::List { path } => names(&path),
            What::Change { argv, undo } => self.change(&argv, undo),
            What::Set { path, value } => self.set(path, &value),
            What::Prepare { job, me } => self.prepare(*job, me),
            What::Start { zero_ns } => self.start(zero_ns),
            What::Restore => self.guard.restore().map(|failed| json!(failed)),
            What::Beat => Ok(Value::Null),
        }
    }

    fn change(&mut self, argv: &[String], undo: Option<Vec<String>>) -> Result<Value, Failure> {
        let undoable = undo.is_some();
        if let Some(argv) = undo {
            self.guard.add(Undo::Run { argv })?;
        }
        let done = network::run(argv);
        if done.is_err() && undoable {
            self.guard.drop_last()?;
        }
        done.map(|()| Value::Null)
    }

    /// Writes a file; returns its previous content, for the record of the run.
    fn set(&mut self, path: String, value: &str) -> Result<Value, Failure> {
        let held = fs::read_to_string(&path).doing(format!("reading {path}"))?;
        let held = held.trim_end_matches('\n').to_owned();
        self.guard.add(Undo::Write { path: path.clone(), value: held.clone() })?;
        let done = fs::write(&path, value).doing(format!("writing {value:?} to {path}"));
        if done.is_err() {
            self.guard.drop_last()?;
        }
        done.map(|()| json!(held))
    }

    fn prepare(&mut self, job: Job, me: usize) -> Result<Value, Failure> {
        let network = Network::of_machine(&job.hosts, me)?;
        let traffic = Traffic::prepare(&job, &network)?;
        let sampler = Sampler::prepare(&job, &network)?.with_receivers();
        self.prepared = Some(Prepared { job, traffic, sampler });
        Ok(Value::Null)
    }

    fn start(&mut self, zero_ns: u64) -> Result<Value, Failure> {
        let mut prepared = self.prepared.take().ok_or_else(|| Failure::new("start comes before prepare"))?;
        let clock = Clock::starting_at(zero_ns);
        prepared.traffic.start(clock, prepared.job.interval_ns)?;
        let work = move || match measure(prepared, clock) {
            Ok(()) => send(&json!({"event": "ended"})),
            Err(failure) => send(&json!({"event": "failed", "error": failure.to_string()})),
        };
        thread::Builder::new().name("samples".into()).spawn(work).map(drop).doing("starting a thread")?;
        Ok(Value::Null)
    }
}

fn run(argv: &[String], input: String) -> Result<Value, Failure> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| Failure::new("a request without a program"))?;
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().doing(format!("starting `{program}`"))?;
    if let Some(mut to) = child.stdin.take() {
        // The program may end without reading its input; its own output then states why.
        thread::spawn(move || to.write_all(input.as_bytes()));
    }
    let ended = child.wait_with_output().doing(format!("waiting for `{program}`"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(json!({
        "status": ended.status.code().unwrap_or(-1),
        "stdout": text(&ended.stdout),
        "stderr": text(&ended.stderr),
    }))
}

fn read(paths: Vec<String>) -> BTreeMap<String, Option<String>> {
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).ok())).collect()
}

fn names(path: &str) -> Result<Value, Failure> {
    let entries = fs::read_dir(path).doing(format!("listing {path}"))?;
    let mut found: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    found.sort();
    Ok(json!(found))
}

/// Runs to the end of the job; samples are sent during the run, the tables of the applications at its end.
fn measure(prepared: Prepared, clock: Clock) -> Result<(), Failure> {
    let Prepared { job, traffic, mut sampler } = prepared;
    let mut told_ns = 0;
    for t_ns in (1..=job.duration_ns / job.interval_ns).map(|number| number * job.interval_ns) {
        clock.sleep_until(t_ns);
        sampler.sample(t_ns, &traffic)?;
        traffic.failure().map_or(Ok(()), Err)?;
        if t_ns - told_ns >= LIVE_NS {
            send_rows(&mut sampler);
            send(&live(t_ns, &traffic));
            told_ns = t_ns;
        }
    }
    clock.sleep_until(job.duration_ns);
    send_rows(&mut sampler);
    for mut table in traffic.measured(job.interval_ns)? {
        send(&json!({"event": "rows", "table": table.name(), "text": table.take()}));
    }
    Ok(())
}

fn send_rows(sampler: &mut Sampler) {
    for (table, text) in sampler.take() {
        send(&json!({"event": "rows", "table": table, "text": text}));
    }
}

/// Bytes received so far per flow, and the newest RTT of each ping.
fn live(t_ns: u64, traffic: &Traffic) -> Value {
    let live = traffic.live();
    json!({"event": "live", "t_ns": t_ns, "bytes": live.bytes, "rtt_ns": live.rtt_ns})
}

static SPEAKING: Mutex<()> = Mutex::new(());

/// Writes a line to the controller. If that fails, the connection is lost, and the guard undoes the changes.
fn send(message: &Value) {
    let _turn = SPEAKING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut out = io::stdout().lock();
    if writeln!(out, "{message}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_unknown_ones_are_refused() {
        let read = |line: &str| serde_json::from_str::<Request>(line);
        assert!(matches!(read(r#"{"id": 1, "do": "clock"}"#).unwrap().what, What::Clock));
        let change = read(r#"{"id": 2, "do": "change", "argv": ["/sbin/tc"], "undo": null}"#).unwrap();
        assert!(matches!(change.what, What::Change { undo: None, .. }));
        assert!(read(r#"{"id": 3, "do": "shell", "words": "rm"}"#).is_err());
        assert!(read(r#"{"do": "clock"}"#).is_err());
    }

    #[test]
    fn a_program_is_given_its_arguments_as_they_are() {
        let output = run(&["/bin/echo".into(), "a b; touch /nowhere $(id)".into()], String::new()).unwrap();
        assert_eq!(output["stdout"], "a b; touch /nowhere $(id)\n");
    }
}
