//! What kinds have in common that exchange messages over TCP: sending the rest of a message, and the server.
//!
//! ```text
//! a request has a number of bytes that both ends know; its answer follows when its last byte was read
//! how long the answer is, the server knows (`request`), or the head of the request says (`page`, `video`)
//! ```

use std::collections::VecDeque;

use crate::calls::{Application, Calls, Event, Socket};

/// Hands what is left of a message to its socket; [`Event::Writable`] follows if it has no room.
pub(crate) fn send_rest<C: Calls>(socket: Socket, unsent: &mut u64, calls: &mut C) {
    while *unsent > 0 {
        let sent = calls.send(socket, *unsent);
        *unsent -= sent.taken;
        if sent.blocked || sent.taken == 0 {
            break;
        }
    }
}

/// How long the answers are.
#[derive(Clone, Debug)]
pub(crate) enum Answers {
    /// As the heads of their requests say.
    Told,
    /// These, one after the other, again and again.
    InTurn(VecDeque<u64>),
}

/// The server of one connection.
#[derive(Clone, Debug)]
pub struct Server {
    /// Bytes of a request.
    size: u64,
    answers: Answers,
    /// Bytes of the present request that were not read.
    unread: u64,
    /// Bytes of answers that the socket has not accepted.
    unsent: u64,
}

impl Server {
    pub(crate) fn new(size: u64, answers: Answers) -> Self {
        Server { size, answers, unread: size, unsent: 0 }
    }

    /// Reads so many bytes of requests.
    fn take<C: Calls>(&mut self, mut bytes: u64, calls: &mut C) {
        while bytes > 0 {
            let read = bytes.min(self.unread);
            (self.unread, bytes) = (self.unread - read, bytes - read);
            if self.unread == 0 {
                self.unread = self.size;
                self.unsent += self.answer(calls);
            }
        }
    }

    /// Bytes of the answer to the request that was read.
    fn answer<C: Calls>(&mut self, calls: &mut C) -> u64 {
        match &mut self.answers {
            Answers::Told => calls.told(Socket::FIRST).unwrap_or(0),
            Answers::InTurn(answers) => {
                answers.rotate_left(1);
                answers.back().copied().unwrap_or(0)
            }
        }
    }
}

impl Application for Server {
    fn on<C: Calls>(&mut self, event: Event, socket: Socket, calls: &mut C) {
        if event == Event::Readable {
            let bytes = calls.read(socket);
            self.take(bytes.get(), calls);
        }
        if matches!(event, Event::Readable | Event::Writable) {
            send_rest(socket, &mut self.unsent, calls);
        }
    }
}
