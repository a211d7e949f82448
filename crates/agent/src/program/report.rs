//! What programs have left at the end of a run: `programs.json`, what they printed, and the files in their folders.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::{Running, locked};
use crate::clock::Clock;
use crate::failure::{Failure, While};

/// A program that has ended; times are of the run, and those before its start are 0.
#[derive(Serialize)]
struct Ended {
    started_ns: u64,
    ended_ns: u64,
    /// Its status; null if it was ended by a signal.
    exit: Option<i32>,
    signal: Option<i32>,
    /// It was told to stop.
    stopped: bool,
    /// Regular files in its folder, by the names under which they are in that of the run.
    files: Vec<(String, String)>,
}

/// Leaves it in the folder of the run.
pub fn write(programs: &[Arc<Running>], clock: Clock, folder: &Path) -> Result<(), Failure> {
    let each = programs.iter().enumerate().map(|(number, running)| {
        let copy = |from: &Path, to: &str| {
            fs::copy(from, folder.join(to))
                .doing(format!("copying what {} has written", running.program.name))
        };
        copy(&running.printed("out"), &format!("program.{number}.out"))?;
        copy(&running.printed("err"), &format!("program.{number}.err"))?;
        let mut files = Vec::new();
        let brought: Vec<_> = running.program.files.values().collect();
        for name in regular_files(&running.folder.join("work")).doing("looking what programs have written")? {
            if !brought.contains(&&name) {
                let to = format!("program.{number}.file.{}", files.len());
                copy(&running.folder.join("work").join(&name), &to)?;
                files.push((name, to));
            }
        }
        Ok(ended(running, clock, files))
    });
    let each = each.collect::<Result<Vec<_>, Failure>>()?;
    let text = serde_json::to_vec(&each).map_err(|error| Failure::new(format!("programs.json: {error}")))?;
    fs::write(folder.join("programs.json"), text).doing("writing programs.json")
}

fn ended(running: &Running, clock: Clock, files: Vec<(String, String)>) -> Ended {
    let state = locked(&running.state);
    let of_run = |at_ns: u64| at_ns.saturating_sub(clock.on_monotonic(0));
    let (ended_ns, status) = state.ended.map_or((0, None), |(at_ns, status)| (of_run(at_ns), Some(status)));
    Ended {
        started_ns: of_run(state.started_ns),
        ended_ns,
        exit: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        stopped: state.stopped,
        files,
    }
}

/// The names of the regular files of a folder, in the order of the alphabet; a symbolic link is none.
fn regular_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && File::open(entry.path()).is_ok() {
            found.extend(entry.file_name().into_string());
        }
    }
    found.sort();
    Ok(found)
}
