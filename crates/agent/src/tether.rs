//! Runs a program for as long as stdin is open, so that a program started over a connection ends with it.
//!
//! It is used for `tcpdump` and `iperf3`; their output is passed through.

use std::ffi::OsString;
use std::io::{self, Read};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use crate::failure::{Failure, While};
use crate::sys;

/// `tether AT PROGRAM ARGUMENT...`: started when CLOCK_MONOTONIC shows `AT` ns, 0 for at once.
pub fn main(words: &[OsString]) -> ExitCode {
    match tether(words) {
        Ok(status) => status,
        Err(failure) => {
            eprintln!("tailback-agent: {failure}");
            ExitCode::from(126)
        }
    }
}

fn tether(words: &[OsString]) -> Result<ExitCode, Failure> {
    let [at, program, arguments @ ..] = words else {
        return Err(Failure::new("tether needs a time and a program"));
    };
    let at_ns = at.to_str().and_then(|word| word.parse().ok());
    sys::sleep_until_monotonic(at_ns.ok_or_else(|| Failure::new("tether needs a time in ns"))?);
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .spawn()
        .doing(format!("starting {}", program.display()))?;
    let number = child.id().cast_signed();
    thread::spawn(move || {
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        // SIGINT first, so that a capture is complete; then SIGKILL.
        sys::interrupt(number);
        thread::sleep(std::time::Duration::from_secs(2));
        sys::kill(number);
    });
    let status = child.wait().doing(format!("waiting for {}", program.display()))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
