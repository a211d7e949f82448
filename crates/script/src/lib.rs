//! packetdrill scripts: the language, and running a script against a TCP under test.
//!
//! ```text
//! text --lexer, parser--> Script --player--> Report
//!                                    |
//!                                  TcpUnderTest  the TCP machines of the simulator (crates/drill),
//!                                            the TCP of a real kernel (crates/agent)
//! ```
//!
//! A statement that is not modelled is reported as unsupported with its line, and the script is not run; no statement
//! is ignored silently. Snippets of code (`%{ … }%`) are not evaluated here: the report holds each with the variables
//! it may read, as packetdrill evaluates them after the run. [packetdrill]

pub mod command;
pub mod counters;
pub mod errno;
mod head;
mod lexer;
pub mod message;
pub mod notation;
pub mod parser;
pub mod player;
pub mod script;

use std::fmt;

pub use head::{Head, IpVersion, Pace, Packets};

/// A line of a script, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineNumber(pub u32);

/// A message about a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The line that the message is about.
    pub line: LineNumber,
    /// The text of the message.
    pub message: String,
}

impl Finding {
    /// A finding with `message` about `line`.
    pub fn new(line: LineNumber, message: &str) -> Self {
        Finding { line, message: message.to_owned() }
    }
}

/// How a script ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything was as expected, except for the snippets of code, which the caller evaluates.
    Passed,
    /// Something was not as expected.
    Failed(Finding),
    /// It uses a statement that is not modelled.
    Unsupported(Vec<Finding>),
    /// It is malformed.
    Malformed(Finding),
}

/// Code of a script, and the values that it can read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet {
    /// The line it begins in.
    pub line: LineNumber,
    /// The text between `%{` and `}%`.
    pub code: String,
    /// `tcp_info` and constants by name.
    pub variables: Vec<(&'static str, u64)>,
}

/// The result of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// How it ended.
    pub verdict: Verdict,
    /// The snippets that were reached, in order.
    pub snippets: Vec<Snippet>,
    /// Events of the script that were executed.
    pub events: usize,
}

impl Report {
    /// The report of a script that was not run.
    pub fn before_run(verdict: Verdict) -> Self {
        Report { verdict, snippets: Vec::new(), events: 0 }
    }
}

impl Verdict {
    /// The result in one word, and its findings.
    pub fn word_and_findings(self) -> (&'static str, Vec<Finding>) {
        match self {
            Verdict::Passed => ("passed", Vec::new()),
            Verdict::Failed(finding) => ("failed", vec![finding]),
            Verdict::Unsupported(findings) => ("unsupported", findings),
            Verdict::Malformed(finding) => ("malformed", vec![finding]),
        }
    }
}

/// Reads the script `text`; the report of one that cannot be run, if it cannot.
pub fn read(text: &str, tolerance_usecs: Option<u64>) -> Result<(script::Script, Head), Report> {
    let script = parser::parse(text).map_err(|finding| Report::before_run(Verdict::Malformed(finding)))?;
    if !script.unsupported.is_empty() {
        return Err(Report::before_run(Verdict::Unsupported(script.unsupported)));
    }
    let head = Head::of(&script, tolerance_usecs);
    let head = head.map_err(|findings| Report::before_run(Verdict::Unsupported(findings)))?;
    Ok((script, head))
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
