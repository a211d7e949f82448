//! Process 1 of a virtual-time kernel: the whole of a run, from the first mount to power-off.
//!
//! The root of the guest is the host's, read only; the folder of the run is where the kernel was started, and the only
//! place that is written to. The run is good if and only if `done` is there; `failed` says why not.

use std::fs;
use std::path::Path;

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::Job;
use crate::network::Network;
use crate::sample::{self, Sampler};
use crate::sys;
use crate::traffic::Traffic;

const FOLDER: &str = "/tmp/run";

/// The kernel starts with coarse timers; what reads the clock's resolution before it has fine ones, as `tc` does for
/// the burst of a shaper, is misled.
const SETTLE_NS: u64 = 100_000_000;
/// From the last preparation to the start of the run.
const LEAD_NS: u64 = 100_000_000;

/// Does the job and powers off.
pub fn main() -> ! {
    if let Err(failure) = whole() {
        eprintln!("tailback-agent: {failure}");
        let noted = sys::write_durably(&Path::new(FOLDER).join("failed"), failure.to_string().as_bytes());
        if let Err(error) = noted {
            eprintln!("tailback-agent: writing why: {error}");
        }
    }
    sys::power_off()
}

fn whole() -> Result<(), Failure> {
    mount_everything()?;
    let folder = Path::new(FOLDER);
    let text = fs::read_to_string(folder.join("job.json")).doing("reading job.json")?;
    let job = Job::from_json(&text).map_err(|error| Failure::new(format!("job.json: {error}")))?;
    sys::sleep_precisely().doing("setting the timer slack")?;
    Clock::starting_in(SETTLE_NS).sleep_until(0);
    carry_out(&job, folder)?;
    sys::write_durably(&folder.join("done"), b"done\n").doing("writing done")
}

fn carry_out(job: &Job, folder: &Path) -> Result<(), Failure> {
    let network = Network::of(&job.hosts)?;
    job.setup.iter().try_for_each(|step| network.take(step))?;
    let traffic = Traffic::prepare(job, &network)?;
    let mut sampler = Sampler::prepare(job, &network)?;
    let clock = Clock::starting_in(LEAD_NS);
    traffic.start(clock, job.interval_ns)?;
    sample::run(job, clock, &traffic, &mut sampler, |t_ns| {
        // The host only looks at it: a progress that cannot be written is none of the run's troubles.
        let _ = fs::write(folder.join("progress"), t_ns.to_string());
    })?;
    sampler.write(folder, job, &traffic)
}

fn mount_everything() -> Result<(), Failure> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")] {
        sys::mount("none", target, kind, "").doing(format!("mounting {target}"))?;
    }
    fs::create_dir(FOLDER).doing(format!("making {FOLDER}"))?;
    sys::mount("none", FOLDER, "hostfs", "/proc/self/cwd").doing("mounting the folder of the run")
}
