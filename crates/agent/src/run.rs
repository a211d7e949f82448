//! A whole run on any kind of host: the network, the traffic, the samples, the tables, and the mark at its end.
//!
//! The run is good if and only if `done` is in its folder; `failed` has the reason if it is not.

use std::fs;
use std::path::Path;

use crate::app::Traffic;
use crate::capture::Captures;
use crate::clock::Clock;
use crate::connections::Connections;
use crate::failure::{Failure, While};
use crate::job::Job;
use crate::kernel_module;
use crate::network::Network;
use crate::opportunities;
use crate::program::Programs;
use crate::qdisc_stats;
use crate::sample::{self, Sampler};
use crate::shell;
use crate::sys;

/// From the last preparation to the start of the run.
const LEAD_NS: u64 = 100_000_000;
/// The same for programs of the user in a kernel that has just been booted: no machine is used in its first second, and
/// `ping` takes a clock at 0 s for one that it has not read yet.
const BOOTED_NS: u64 = 1_000_000_000;

/// A run whose network is built and whose sockets are open; nothing is sent yet.
pub struct Run {
    job: Job,
    network: Network,
    traffic: Traffic,
    sampler: Sampler,
    captures: Captures,
    programs: Programs,
    connections: Connections,
}

impl Run {
    /// Reads `job.json` in `folder` and builds its network.
    pub fn prepare(folder: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(folder.join("job.json")).doing("reading job.json")?;
        let job = Job::from_json(&text).map_err(|error| Failure::new(format!("job.json: {error}")))?;
        let network = Network::of(&job.hosts)?;
        job.setup.iter().try_for_each(|step| network.take(step))?;
        let traffic = Traffic::prepare(&job, &network)?;
        let sampler = Sampler::prepare(&job, &network)?;
        let captures = Captures::prepare(&job, &network)?;
        let programs = Programs::prepare(&job.programs, &job.names, &network, folder)?;
        let connections = Connections::prepare(&job, &network, &programs)?;
        Ok(Self { job, network, traffic, sampler, captures, programs, connections })
    }

    /// The length of the run, in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        self.job.duration_ns
    }

    /// A clock that shows 0 when the run is to start.
    pub fn clock(&self) -> Clock {
        let meets_programs = self.has_shell() || !self.programs.is_empty();
        let is_new = meets_programs && sys::monotonic_ns() < BOOTED_NS;
        Clock::starting_in(if is_new { BOOTED_NS } else { LEAD_NS })
    }

    /// Runs to the end and leaves the tables in `folder`.
    pub fn run(mut self, clock: Clock, folder: &Path) -> Result<(), Failure> {
        opportunities::load(&self.job, &self.network, clock)?;
        let captures = self.captures.start(clock, self.job.duration_ns, folder)?;
        start_air(&self.job, clock)?;
        self.traffic.start(clock, self.job.interval_ns)?;
        self.programs.start(clock, self.job.duration_ns)?;
        let (job, network, traffic, sampler) = (&self.job, &self.network, &self.traffic, &mut self.sampler);
        let (programs, connections) = (&self.programs, &mut self.connections);
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| make_changes(job, network, clock));
            let each = |t_ns| {
                connections.sample(t_ns, programs).doing("reading the connections of programs")?;
                sampler.sample(t_ns, traffic)?;
                traffic.failure().or_else(|| programs.failure()).map_or(Ok(()), Err)
            };
            sample::run(job, clock, each, |t_ns| {
                // Only for display on the host: a failure to write it does not matter to the run.
                let _ = fs::write(folder.join("progress"), t_ns.to_string());
            })?;
            changes.join().map_err(|_| Failure::new("changing the network in the run failed"))?
        })?;
        self.programs.finish(clock, folder)?;
        captures.finish()?;
        if !self.programs.is_empty() {
            self.connections.write(folder)?;
        }
        self.sampler.write(folder, &self.job, &self.traffic)?;
        if kernel_module::is_guest() {
            kernel_module::keep_state(folder)?;
        } else if self.job.loads_modules() {
            fs::write(folder.join(kernel_module::LOG), kernel_module::log())
                .doing("writing the kernel's log")?;
        }
        qdisc_stats::write(folder, &self.network)
    }
}

impl Run {
    /// The shell of the job, if it has one.
    pub fn has_shell(&self) -> bool {
        self.job.shell.is_some()
    }

    /// Runs until the shell ends, which leaves no tables. What goes on meanwhile ends with this process.
    pub fn shell(self, clock: Clock, folder: &Path) -> Result<(), Failure> {
        let run: &'static mut Self = Box::leak(Box::new(self));
        opportunities::load(&run.job, &run.network, clock)?;
        start_air(&run.job, clock)?;
        run.traffic.start(clock, run.job.interval_ns)?;
        run.programs.start(clock, run.job.duration_ns)?;
        let Self { job, network, programs, .. } = run;
        let (job, network) = (&*job, &*network);
        std::thread::Builder::new()
            .spawn(move || make_changes(job, network, clock))
            .doing("starting a thread")?;
        let Some(wanted) = &job.shell else { return Err(Failure::new("the job has no shell")) };
        let names = job.names.get(&wanted.host).map_or("", String::as_str);
        let place = programs.place_on(wanted.host, names, network)?;
        shell::run(wanted, &place, clock, folder)
    }
}

/// Tells the air when the run starts.
fn start_air(job: &Job, clock: Clock) -> Result<(), Failure> {
    let Some(air) = &job.air else { return Ok(()) };
    fs::write(air, clock.on_monotonic(0).to_string()).doing(format!("connecting the radios by {air}"))
}

/// Executes each step that changes the network when it is due.
fn make_changes(job: &Job, network: &Network, clock: Clock) -> Result<(), Failure> {
    for change in &job.changes {
        clock.sleep_until(change.at_ns);
        change.steps.iter().try_for_each(|step| network.take(step))?;
    }
    Ok(())
}

/// Leaves `done` in `folder`, or `failed` with the reason.
pub fn leave_mark(folder: &Path, ended: &Result<(), Failure>) -> Result<(), Failure> {
    match ended {
        Ok(()) => sys::write_durably(&folder.join("done"), b"done\n").doing("writing done"),
        Err(failure) => sys::write_durably(&folder.join("failed"), failure.to_string().as_bytes())
            .doing("writing why it failed"),
    }
}
