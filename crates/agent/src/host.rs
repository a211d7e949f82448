//! Executes the run of the current folder on the host's own kernel, in real time, in namespaces that end with this
//! process.
//!
//! Everything that it creates is in anonymous namespaces of this process: a mount namespace with its own `/run`, in
//! which the network namespaces have their names, invisible to other processes. When the process ends, in whatever way,
//! the kernel removes mounts, network namespaces, devices, disciplines, sockets and the sysctls of the namespaces. The
//! process is killed when the thread that started it dies. It writes to no file outside, so the host
//! needs no restoring. [namespaces(7), pr_set_pdeathsig(2const)]
//!
//! Without the rights of an administrator it makes a user namespace first, in which it has them. [user_namespaces(7)]

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use crate::failure::{Failure, While};
use crate::job::Job;
use crate::lateness::Lateness;
use crate::run::{self, Run};
use crate::sys;

/// Exit status of a process that cannot create namespaces.
pub const NO_NAMESPACES: u8 = 3;

/// `host PARENT`: does the job of the current folder.
pub fn main(words: &[OsString]) -> ExitCode {
    let folder = Path::new(".");
    let ended = whole(words, folder);
    let marked = run::leave_mark(folder, &ended);
    let failures: Vec<_> = [ended, marked].into_iter().filter_map(Result::err).collect();
    for failure in &failures {
        eprintln!("tailback-agent: {failure}");
    }
    ExitCode::from(u8::from(!failures.is_empty()))
}

fn whole(words: &[OsString], folder: &Path) -> Result<(), Failure> {
    isolate()?;
    end_with_caller(words)?;
    if let Some(status) = in_own_processes(folder)? {
        std::process::exit(status);
    }
    sys::sleep_precisely().doing("setting the timer slack")?;
    let run = Run::prepare(folder)?;
    let clock = run.clock();
    if run.has_shell() {
        return run.shell(clock, folder);
    }
    let lateness = Lateness::watch(clock, run.duration_ns())?;
    run.run(clock, folder)?;
    lateness.write(folder)
}

/// Leaves the namespaces of the caller.
pub fn isolate() -> Result<(), Failure> {
    match sys::new_mounts() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => become_administrator()?,
        other => other.doing("making a mount namespace")?,
    }
    sys::keep_mounts_private().doing("keeping mounts private")?;
    sys::mount("none", "/run", "tmpfs", "").doing("mounting a /run of its own")?;
    // A namespace to return to from those of the hosts: a process in a user namespace cannot enter that of the caller.
    sys::new_network().doing("making a network namespace")
}

/// A job with programs is done by the first process of a namespace of processes, with which all others end. Returns the
/// status of that process to the one that made it.
fn in_own_processes(folder: &Path) -> Result<Option<i32>, Failure> {
    let text = fs::read_to_string(folder.join("job.json")).doing("reading job.json")?;
    let job = Job::from_json(&text).map_err(|error| Failure::new(format!("job.json: {error}")))?;
    if job.programs.is_empty() && job.shell.is_none() {
        return Ok(None);
    }
    if let Some(status) = sys::child::first_of_processes().doing("making a namespace of processes")? {
        return Ok(Some(status));
    }
    sys::mount("none", "/proc", "proc", "").doing("mounting a /proc of its own, which programs need")?;
    Ok(None)
}

/// Enters a user namespace in which the caller is root.
fn become_administrator() -> Result<(), Failure> {
    let (user, group) = sys::user_and_group();
    sys::new_user_and_mounts().doing("making a user namespace")?;
    let write = |name: &str, text: String| {
        fs::write(format!("/proc/self/{name}"), text).doing(format!("writing /proc/self/{name}"))
    };
    write("setgroups", "deny".into())?;
    write("uid_map", format!("0 {user} 1"))?;
    write("gid_map", format!("0 {group} 1"))
}

/// Ends this process with its caller, even if the caller ended before this call. Creating a user namespace may reset
/// the setting, so this is called afterwards.
fn end_with_caller(words: &[OsString]) -> Result<(), Failure> {
    let parent = words.first().and_then(|word| word.to_str()).and_then(|word| word.parse::<i32>().ok());
    let parent = parent.ok_or_else(|| Failure::new("host needs the number of its parent process"))?;
    sys::die_with_parent().doing("dying with the parent")?;
    if sys::parent() == parent { Ok(()) } else { Err(Failure::new("whoever started this run is gone")) }
}
