//! Finds out what the host's kernel supports, by trying it in temporary namespaces.
//!
//! Requests are JSON on stdin, results JSON on stdout: null for what works, otherwise the error message.

use std::io;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, While};
use crate::host;
use crate::job::Step;
use crate::network::Network;
use crate::sys;

/// What is to be tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Questions {
    /// Each in a network namespace of its own, the host of its position.
    trials: Vec<Vec<Step>>,
    /// Congestion controls.
    controls: Vec<String>,
}

/// The results, in the order of the requests.
#[derive(Serialize)]
struct Answers {
    trials: Vec<Option<String>>,
    controls: Vec<Option<String>>,
}

/// Tries the steps that it reads from stdin.
pub fn main() -> ExitCode {
    if let Err(failure) = host::isolate() {
        eprintln!("{failure}");
        return ExitCode::from(host::NO_NAMESPACES);
    }
    match whole() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn whole() -> Result<(), Failure> {
    let questions: Questions = serde_json::from_reader(io::stdin().lock())
        .map_err(|error| Failure::new(format!("the questions: {error}")))?;
    let names: Vec<_> = (0..questions.trials.len().max(1)).map(|number| format!("h{number}")).collect();
    let network = Network::of(&names)?;
    let answers = Answers {
        trials: questions.trials.iter().map(|steps| refusal(&network, steps)).collect(),
        controls: questions
            .controls
            .iter()
            .map(|name| network.within(0, || control(name)))
            .collect::<Result<_, _>>()?,
    };
    serde_json::to_writer(io::stdout(), &answers).map_err(io::Error::from).doing("answering")
}

fn refusal(network: &Network, steps: &[Step]) -> Option<String> {
    steps.iter().try_for_each(|step| network.take(step)).err().map(|failure| failure.to_string())
}

/// A control may be a module that the kernel loads at its first use.
fn control(name: &str) -> Option<String> {
    let socket = sys::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
    let given = socket.and_then(|socket| sys::set_congestion_control(&socket, name));
    given.err().map(|error| error.to_string())
}
