//! Undoes all changes on a real host, the last change first, however the agent ends.
//!
//! ```text
//! controller ──ssh──> serve ──pipe──> guard        serve ends, however it ends: the pipe closes, guard undoes all
//!                       ^───waits for───┘          guard is killed: serve undoes all and ends
//!                                                  both are killed: the next serve finds the journal, and undoes all
//! ```
//!
//! The guard records in its journal how to undo a change before the change is made. It is in `/run`, which a reboot
//! clears like the changes themselves. It is locked while the guard runs, and names its network namespace, so that
//! hosts that share a file system do not undo each other's changes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, While};
use crate::network;
use crate::sys;

/// The folder with the journals of a host.
const BASE: &str = "/run/tailback";

/// How one change is undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Undo {
    /// Runs a program.
    Run {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// Restores the content of a file.
    Write {
        /// The file.
        path: String,
        /// The content that the file had before.
        value: String,
    },
}

/// The requests to a guard, a line of JSON each; the guard replies with a line to each.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Request {
    Add { undo: Undo },
    Drop,
    Restore,
}

#[derive(Serialize, Deserialize)]
struct Journal {
    network: String,
    undo: Vec<Undo>,
}

/// The guard of the calling process.
pub struct Guard {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Guard {
    /// Starts a guard; the process is the one to be waited for.
    pub fn start() -> Result<(Self, Child), Failure> {
        let folder = PathBuf::from(format!("{BASE}/{}-{}", std::process::id(), sys::monotonic_ns()));
        private_folder(Path::new(BASE)).doing(format!("making {BASE}"))?;
        private_folder(&folder).doing(format!("making {}", folder.display()))?;
        let mut child = Command::new("/proc/self/exe")
            .arg("guard")
            .arg(&folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .doing("starting the guard")?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new("the guard has no pipes"));
        };
        let mut guard = Self { to, from: BufReader::new(from), folder };
        guard.answer()?;
        Ok((guard, child))
    }

    /// The folder of its journal.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Records how to undo the next change.
    pub fn add(&mut self, undo: Undo) -> Result<(), Failure> {
        self.send(&Request::Add { undo }).map(drop)
    }

    /// Removes the last entry, because its change was not made.
    pub fn drop_last(&mut self) -> Result<(), Failure> {
        self.send(&Request::Drop).map(drop)
    }

    /// Undoes all changes; returns those that could not be undone.
    pub fn restore(&mut self) -> Result<Vec<String>, Failure> {
        self.send(&Request::Restore)
    }

    fn send(&mut self, request: &Request) -> Result<Vec<String>, Failure> {
        let line = serde_json::to_string(request).map_err(io::Error::from).doing("sending to the guard")?;
        writeln!(self.to, "{line}").doing("sending to the guard")?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Vec<String>, Failure> {
        let mut line = String::new();
        self.from.read_line(&mut line).doing("reading from the guard")?;
        let answer: Result<Vec<String>, String> =
            serde_json::from_str(&line).map_err(|_| Failure::new("the guard has ended"))?;
        answer.map_err(Failure::new)
    }
}

/// `guard FOLDER`: keeps the journal in `FOLDER` until stdin ends, and then undoes what is in it.
pub fn main(words: &[std::ffi::OsString]) -> ExitCode {
    let [folder] = words else { return ExitCode::from(2) };
    // It must not receive the signals of the controller's terminal or session.
    sys::new_session();
    match keep(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep(folder: &Path) -> Result<(), Failure> {
    let locked = lock(folder)?.ok_or_else(|| Failure::new("the journal is another's"))?;
    let mut journal = Journal { network: network_of_process()?, undo: Vec::new() };
    write(folder, &journal)?;
    answer(&Ok(Vec::new()));
    for line in io::stdin().lock().lines() {
        let Some(request) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { break };
        answer(&apply(folder, &mut journal, request).map_err(|failure| failure.to_string()));
    }
    undo_all(folder, &mut journal);
    drop(locked);
    remove(folder).doing("removing the journal")
}

fn apply(folder: &Path, journal: &mut Journal, request: Request) -> Result<Vec<String>, Failure> {
    match request {
        Request::Add { undo } => journal.undo.push(undo),
        Request::Drop => drop(journal.undo.pop()),
        Request::Restore => return Ok(undo_all(folder, journal)),
    }
    write(folder, journal).map(|()| Vec::new())
}

/// Records failures and still undoes the rest.
fn undo_all(folder: &Path, journal: &mut Journal) -> Vec<String> {
    let mut failed = Vec::new();
    while let Some(undo) = journal.undo.pop() {
        failed.extend(undone(&undo).err().map(|failure| failure.to_string()));
        // The rest must be undone even if the write to disk fails.
        let _ = write(folder, journal);
    }
    failed
}

fn undone(undo: &Undo) -> Result<(), Failure> {
    match undo {
        Undo::Run { argv } => network::run(argv),
        Undo::Write { path, value } => fs::write(path, value).doing(format!("writing {value:?} to {path}")),
    }
}

fn answer(result: &Result<Vec<String>, String>) {
    if let Ok(line) = serde_json::to_string(result) {
        // An error is ignored: the caller may have ended, and the guard then still restores the host.
        let _ = writeln!(io::stdout(), "{line}");
    }
}

/// The state of a host before any change.
#[derive(Default)]
pub struct Found {
    /// Another controller uses this host.
    pub busy: bool,
    /// Changes of processes that were killed were undone now; holds those that could not be.
    pub left: Vec<String>,
}

/// Undoes what others have left behind.
pub fn recover() -> Result<Found, Failure> {
    let mut found = Found::default();
    let here = network_of_process()?;
    for folder in folders() {
        let Some(mut journal) = read(&folder).filter(|journal| journal.network == here) else { continue };
        let Some(locked) = lock(&folder)? else {
            found.busy = true;
            continue;
        };
        found.left.push(format!("{} changes of a run that was killed were undone", journal.undo.len()));
        found.left.extend(undo_all(&folder, &mut journal));
        drop(locked);
        remove(&folder).doing("removing a journal")?;
    }
    Ok(found)
}

/// Undoes what is in the journal of a guard that has been killed.
pub fn take_over(folder: &Path) {
    if let Some(mut journal) = read(folder) {
        undo_all(folder, &mut journal);
        // A file that cannot be removed is empty, and is found the next time.
        let _ = remove(folder);
    }
}

fn folders() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(BASE) else { return Vec::new() };
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn network_of_process() -> Result<String, Failure> {
    let link = fs::read_link("/proc/self/ns/net").doing("reading /proc/self/ns/net")?;
    Ok(link.display().to_string())
}

/// `None` if another process holds it.
fn lock(folder: &Path) -> Result<Option<File>, Failure> {
    let file = File::create(folder.join("lock")).doing("opening the lock of a journal")?;
    sys::lock(&file).doing("locking a journal").map(|got| got.then_some(file))
}

fn read(folder: &Path) -> Option<Journal> {
    serde_json::from_str(&fs::read_to_string(folder.join("journal")).ok()?).ok()
}

fn write(folder: &Path, journal: &Journal) -> Result<(), Failure> {
    let text = serde_json::to_string(journal).map_err(io::Error::from).doing("writing the journal")?;
    let partial = folder.join("journal.new");
    fs::write(&partial, text).doing("writing the journal")?;
    fs::rename(&partial, folder.join("journal")).doing("writing the journal")
}

fn remove(folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_undone_in_reverse_order_even_if_one_fails() {
        let folder = std::env::temp_dir().join(format!("tailback-guard-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("value").display().to_string();
        let write = |value: &str| Undo::Write { path: file.clone(), value: value.into() };
        let fails = Undo::Run { argv: vec!["/bin/false".into()] };
        let mut journal =
            Journal { network: String::new(), undo: vec![write("first"), fails, write("second")] };
        let failed = undo_all(&folder, &mut journal);
        assert_eq!(fs::read_to_string(&file).unwrap(), "first");
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(read(&folder).unwrap().undo.is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_one_process_can_lock_a_journal() {
        let folder = std::env::temp_dir().join(format!("tailback-lock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let held = lock(&folder).unwrap();
        assert!(held.is_some());
        assert!(lock(&folder).unwrap().is_none());
        fs::remove_dir_all(&folder).unwrap();
    }
}
