//! The connection to the driver. What needs no answer is kept until somebody waits for one.

use std::io::{self, Read, Write};

use crate::message::{LENGTH, Message};

/// A connection whose failure ends it: all later messages are dropped, and questions have no answer.
pub struct Line<S> {
    stream: S,
    unsent: Vec<u8>,
    /// What has come and is not handled is between the two.
    came: Box<[u8]>,
    handled: usize,
    end: usize,
    failure: Option<io::Error>,
}

/// Bytes that are read at once.
const ROOM: usize = 512 * LENGTH;

impl<S: Read + Write> Line<S> {
    /// A connection over `stream`.
    pub fn new(stream: S) -> Self {
        Line { stream, unsent: Vec::new(), came: vec![0; ROOM].into(), handled: 0, end: 0, failure: None }
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

    /// Ends the connection, because of what the driver said.
    pub fn fail(&mut self, reason: String) {
        self.failure = Some(io::Error::other(reason));
    }

    /// Why the connection has ended, unless the driver closed it.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn exchanged(&mut self) -> io::Result<Option<Message>> {
        if self.end - self.handled < LENGTH {
            self.stream.write_all(&self.unsent)?;
            self.unsent.clear();
            self.came.copy_within(self.handled..self.end, 0);
            (self.handled, self.end) = (0, self.end - self.handled);
            while self.end < LENGTH {
                if !self.read_more()? {
                    return Ok(None);
                }
            }
        }
        let mut bytes = [0; LENGTH];
        bytes.copy_from_slice(&self.came[self.handled..self.handled + LENGTH]);
        self.handled += LENGTH;
        let unknown = || io::Error::other(format!("a message of an unknown kind: {bytes:?}"));
        Message::from_bytes(&bytes).map(Some).ok_or_else(unknown)
    }

    /// Reads what there is, and waits for it; false if the connection has ended between two messages.
    fn read_more(&mut self) -> io::Result<bool> {
        let read = loop {
            match self.stream.read(&mut self.came[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        match (read, self.end) {
            (0, 0) => return Ok(false),
            (0, _) => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => self.end += read,
        }
        Ok(true)
    }
}
