//! The connection to the driver. What needs no answer is kept until somebody waits for one.

use std::io::{self, Read, Write};

use crate::message::{LENGTH, Message};

/// A connection whose failure ends it: all later messages are dropped, and questions have no answer.
pub struct Line<S> {
    stream: S,
    unsent: Vec<u8>,
    failure: Option<io::Error>,
}

impl<S: Read + Write> Line<S> {
    /// A connection over `stream`.
    pub fn new(stream: S) -> Self {
        Line { stream, unsent: Vec::new(), failure: None }
    }

    /// Says something that needs no answer.
    pub fn tell(&mut self, message: Message) {
        self.unsent.extend(message.to_bytes());
    }

    /// Says something, and waits for the next message; `None` if the connection has ended.
    pub fn ask(&mut self, message: Message) -> Option<Message> {
        self.tell(message);
        self.receive()
    }

    /// The next message; `None` if the connection has ended.
    pub fn receive(&mut self) -> Option<Message> {
        if self.failure.is_some() {
            return None;
        }
        match self.exchanged() {
            Ok(message) => message,
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    /// Why the connection has ended, unless the driver closed it.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn exchanged(&mut self) -> io::Result<Option<Message>> {
        self.stream.write_all(&self.unsent)?;
        self.unsent.clear();
        let mut bytes = [0; LENGTH];
        let mut have = 0;
        while have < LENGTH {
            match self.stream.read(&mut bytes[have..]) {
                Ok(0) if have == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => have += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let unknown = || io::Error::other(format!("a message of an unknown kind: {bytes:?}"));
        Message::from_bytes(&bytes).map(Some).ok_or_else(unknown)
    }
}
