//! A thread that makes the calls of a script, one at a time, so that a blocking call does not stop the script.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::RawFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tailback_script::message::Message;
use tailback_script::player::CallError;

use super::system;
use crate::failure::{Failure, While};

/// The result of a call.
#[derive(Debug)]
pub struct Answer {
    pub value: i64,
    pub errno: Option<&'static str>,
    /// A new descriptor.
    pub opened: Option<RawFd>,
    pub message: Option<Message>,
}

/// A call, ready to be made.
pub type Call = Box<dyn FnOnce() -> Result<Answer, CallError> + Send>;

/// The thread, seen from outside.
pub struct Worker {
    calls: Sender<Call>,
    answers: Receiver<Result<Answer, CallError>>,
    arrived: Option<Result<Answer, CallError>>,
    /// Raised when a call has returned.
    pub returned: File,
}

impl Worker {
    /// Starts it.
    pub fn start() -> Result<Self, Failure> {
        let (calls, received) = channel::<Call>();
        let (answered, answers) = channel();
        let returned = system::event().doing("making an event")?;
        let mut raised = returned.try_clone().doing("sharing an event")?;
        let work = move || {
            for call in received {
                let answer = call();
                if answered.send(answer).is_err() || raised.write_all(&1u64.to_ne_bytes()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("calls".into()).spawn(work).doing("starting a thread")?;
        Ok(Worker { calls, answers, arrived: None, returned })
    }

    /// Passes a call to the thread; the previous one must have returned.
    pub fn make(&self, call: Call) -> Result<(), CallError> {
        let gone = |_| CallError::Failed("the thread that makes the calls has ended".to_owned());
        self.calls.send(call).map_err(gone)
    }

    /// Whether the call has returned.
    pub fn has_answered(&mut self) -> bool {
        if self.arrived.is_none() {
            self.arrived = self.answers.try_recv().ok();
        }
        self.arrived.is_some()
    }

    /// The result of the call, if it has returned.
    pub fn answer(&mut self) -> Option<Result<Answer, CallError>> {
        let answered = self.has_answered();
        if answered {
            // Clears the event for the next call; it is no error if it was not raised yet.
            let _ = self.returned.read(&mut [0; 8]);
        }
        self.arrived.take()
    }
}
