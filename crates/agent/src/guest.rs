//! Process 1 of a virtual-time kernel: from the first mount to power-off.
//!
//! The root of the guest is the host's, read only; the folder of the run is where the kernel was started, and the only
//! place that is written to.

use std::fs;
use std::path::Path;

use crate::clock::Clock;
use crate::drill;
use crate::failure::{Failure, While};
use crate::kernel_module;
use crate::run::{self, Run};
use crate::sys;

const FOLDER: &str = "/tmp/run";

/// The kernel starts with coarse timers; a program that reads the clock's resolution before it has fine ones, as `tc`
/// does for the burst of a shaper, gets the coarse one.
const SETTLE_NS: u64 = 100_000_000;

/// Does the job and powers off.
pub fn main() -> ! {
    kernel_module::be_guest();
    let folder = Path::new(FOLDER);
    let ended = whole(folder);
    let marked = run::leave_mark(folder, &ended);
    for failure in [ended, marked].into_iter().filter_map(Result::err) {
        eprintln!("tailback-agent: {failure}");
    }
    sys::power_off()
}

fn whole(folder: &Path) -> Result<(), Failure> {
    mount_everything()?;
    sys::sleep_precisely().doing("setting the timer slack")?;
    Clock::starting_in(SETTLE_NS).sleep_until(0);
    if drill::is_in(folder) {
        return drill::whole(folder);
    }
    let run = Run::prepare(folder)?;
    let clock = run.clock();
    if run.has_shell() { run.shell(clock, folder) } else { run.run(clock, folder) }
}

fn mount_everything() -> Result<(), Failure> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")] {
        sys::mount("none", target, kind, "").doing(format!("mounting {target}"))?;
    }
    fs::create_dir(FOLDER).doing(format!("making {FOLDER}"))?;
    sys::mount("none", FOLDER, "hostfs", "/proc/self/cwd").doing("mounting the folder of the run")
}
