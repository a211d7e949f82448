//! On the host: becomes the guest's kernel, on one processor, at fixed addresses; it ends with its caller.
//!
//! Addresses that differ from run to run would make the run differ; an instance that moves between processors is three
//! times slower.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::failure::{Failure, While};
use crate::sys;

/// `launch CPU PROGRAM ARGUMENT...`; returns only if it fails.
pub fn main(words: &[OsString]) -> ExitCode {
    let Err(failure) = launch(words);
    eprintln!("tailback-agent: {failure}");
    ExitCode::from(126)
}

fn launch(words: &[OsString]) -> Result<std::convert::Infallible, Failure> {
    let [processor, program, arguments @ ..] = words else {
        return Err(Failure::new("launch needs a processor and a program"));
    };
    let processor = processor.to_str().and_then(|word| word.parse().ok());
    let processor = processor.ok_or_else(|| Failure::new("launch needs the number of a processor"))?;
    sys::die_with_parent().doing("dying with the parent")?;
    sys::fix_addresses().doing("fixing the addresses")?;
    sys::pin_to(processor).doing(format!("staying on processor {processor}"))?;
    let error = Command::new(program).args(arguments).exec();
    Err(error).doing(format!("starting {}", program.display()))
}
