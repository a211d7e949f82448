//! packetdrill scripts over the TCP machines: what a script injects goes into an
//! [`Endpoint`](tailback_tcp::Endpoint), what leaves it is held against what the script expects, in virtual time.
//!
//! ```text
//! text --lexer, parser--> script --runner--> report
//!                            |
//!              shell (commands set up the host) · kernel (sockets, system calls, the device)
//!              connection (script numbers <-> stream offsets) · skbs (packets of several segments)
//!              stamping (time stamps of what is sent)
//! ```
//!
//! A statement that is not modelled is reported as unsupported with its line, and then nothing is run; nothing is
//! passed over silently. Snippets of code (`%{ … }%`) are not evaluated here: the report holds each with the variables
//! it may read, as packetdrill evaluates them after the run. [packetdrill]

mod connection;
mod host;
mod kernel;
mod lexer;
mod notation;
mod parser;
mod runner;
mod script;
mod shell;
mod skbs;
mod sockets;
mod stamping;

use std::fmt;

use tailback_tcp::{STACKS, Stack};

/// A line of a script, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineNumber(pub u32);

/// Something to tell of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Where.
    pub line: LineNumber,
    /// What.
    pub message: String,
}

impl Finding {
    fn new(line: LineNumber, message: &str) -> Self {
        Finding { line, message: message.to_owned() }
    }
}

/// How a script ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything was as expected, as far as this crate can tell: the snippets are left to check.
    Passed,
    /// Something was not as expected.
    Failed(Finding),
    /// It uses what is not modelled.
    Unsupported(Vec<Finding>),
    /// It is not a script.
    Malformed(Finding),
}

/// Code of a script, and what it may read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet {
    /// The line it begins in.
    pub line: LineNumber,
    /// The text between `%{` and `}%`.
    pub code: String,
    /// `tcp_info` and constants by name.
    pub variables: Vec<(&'static str, u64)>,
}

/// What came of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// How it ended.
    pub verdict: Verdict,
    /// The snippets that were reached, in order.
    pub snippets: Vec<Snippet>,
    /// Events of the script that were carried out.
    pub events: usize,
}

/// How to run a script; its own option lines come second to these.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How far times may be off, microseconds; the script's own or 4000 if not given.
    pub tolerance_usecs: Option<u64>,
    /// Name of the stack; the newest if not given.
    pub stack: Option<String>,
}

/// No stack has that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is not a stack here; there are: {}", known.join(", "))]
pub struct UnknownStack {
    /// What was asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<&'static str>,
}

/// Runs the script `text`.
pub fn drill(text: &str, options: &Options) -> Result<Report, UnknownStack> {
    let stack = stack(options.stack.as_deref())?;
    let script = match parser::parse(text) {
        Ok(script) => script,
        Err(finding) => return Ok(Report::before_run(Verdict::Malformed(finding))),
    };
    if !script.unsupported.is_empty() {
        return Ok(Report::before_run(Verdict::Unsupported(script.unsupported)));
    }
    Ok(runner::run(&script, stack, options.tolerance_usecs))
}

fn stack(name: Option<&str>) -> Result<Stack, UnknownStack> {
    let Some(name) = name else { return Ok(tailback_tcp::LINUX_6_12) };
    let known = || STACKS.iter().map(|stack| stack.name).collect();
    let found = STACKS.iter().find(|stack| stack.name == name).copied();
    found.ok_or_else(|| UnknownStack { name: name.to_owned(), known: known() })
}

impl Report {
    fn before_run(verdict: Verdict) -> Self {
        Report { verdict, snippets: Vec::new(), events: 0 }
    }
}

impl fmt::Display for LineNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}
