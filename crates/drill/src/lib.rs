//! Runs packetdrill scripts on the `tcp` crate: injected segments go into an [`Endpoint`](tailback_tcp::Endpoint), and
//! segments that leave it are compared with the script, in virtual time.
//!
//! ```text
//! text --crates/script--> script, played on Machines (runner) --> report
//!                            |
//!              shell (commands set up the host) · sockets (system calls) · kernel (conversations, the device)
//!              connection (script numbers <-> stream offsets) · skbs (packets of several segments)
//!              stamping (time stamps of what is sent)
//! ```
//!
//! A statement that is not modelled is reported as unsupported with its line, and the script is not run; no statement
//! is ignored silently. Snippets of code (`%{ … }%`) are not evaluated here: the report holds each with the variables
//! it may read, as packetdrill evaluates them after the run. [packetdrill]

mod connection;
mod host;
mod kernel;
mod runner;
mod shell;
mod skbs;
mod sockets;
mod stamping;

use tailback_script::script;
pub use tailback_script::{Finding, LineNumber, Report, Snippet, Verdict};
use tailback_tcp::{STACKS, Stack};

/// How to run a script; its own option lines come second to these.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Tolerance of times in microseconds; `None`: that of the script, or 4000.
    pub tolerance_usecs: Option<u64>,
    /// Name of the stack, or `NAME with FIELD of NAME`: with one field of another; `None`: the newest.
    pub stack: Option<String>,
}

/// No stack has that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is not a stack here; there are: {}", known.join(", "))]
pub struct UnknownStack {
    /// The requested name.
    pub name: String,
    /// The valid names.
    pub known: Vec<&'static str>,
}

/// Runs the script `text`.
pub fn drill(text: &str, options: &Options) -> Result<Report, UnknownStack> {
    let stack = stack(options.stack.as_deref())?;
    Ok(match tailback_script::read(text, options.tolerance_usecs) {
        Ok((script, head)) => runner::run(&script, &head, stack),
        Err(report) => report,
    })
}

fn stack(name: Option<&str>) -> Result<Stack, UnknownStack> {
    let Some(name) = name else { return Ok(tailback_tcp::LINUX_6_12) };
    let Some((own, rest)) = name.split_once(" with ") else { return named(name) };
    let Some((field, other)) = rest.split_once(" of ") else { return Err(unknown(name)) };
    named(own)?.with(field, &named(other)?).ok_or_else(|| unknown(name))
}

fn named(name: &str) -> Result<Stack, UnknownStack> {
    STACKS.iter().find(|stack| stack.name == name).copied().ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> UnknownStack {
    UnknownStack { name: name.to_owned(), known: STACKS.iter().map(|stack| stack.name).collect() }
}
