//! The queues above a radio, which the driver has: each question is a message to it.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tailback_packet::{Packet, SocketId};
use tailback_units::Span;
use tailback_wifi::frame::MPDU_OVERHEAD;
use tailback_wifi::rate::Chain;
use tailback_wifi::{FrameSource, Handed, Room, StationId, Tried};

use crate::line::Line;
use crate::message::{Kind, Message, NOBODY};
use crate::series;

/// The connection, shared by all radios.
pub type SharedLine<S> = Arc<Mutex<Line<S>>>;

/// The queues of one radio.
pub struct Driver<S> {
    radio: u16,
    line: SharedLine<S>,
    /// For the aggregate that is being formed.
    room: Room,
    /// Frames for it that the driver has handed over at once.
    ready: VecDeque<Handed>,
    /// It said that it has no more.
    is_dry: bool,
}

impl<S> Driver<S> {
    /// The driver of `radio`.
    pub fn new(radio: StationId, line: SharedLine<S>) -> Self {
        Driver { radio: radio.0, line, room: Room::default(), ready: VecDeque::new(), is_dry: false }
    }

    fn line(&self) -> MutexGuard<'_, Line<S>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn about(&self, kind: Kind, category: usize, peer: StationId) -> Message {
        Message { radio: self.radio, peer: peer.0, category: category as u16, ..Message::of(kind) }
    }
}

impl<S: Read + Write> Driver<S> {
    /// Asks for one frame, and for as many more as there is room for. The driver says where they end.
    fn ask_frames(&mut self, category: usize, to: StationId) {
        let room = std::mem::take(&mut self.room);
        let (token, bytes, number) = (room.shortest, room.frames, u64::from(room.bytes));
        let question = Message { token, bytes, number, ..self.about(Kind::AskFrame, category, to) };
        let mut answer = self.line().ask(question);
        while let Some(Message { kind: Kind::Frame, token, bytes, category, number: more, .. }) = answer {
            self.is_dry = bytes == 0 && !self.ready.is_empty();
            if bytes > 0 {
                let packet = Box::new(packet(token, bytes));
                self.ready.push_back(Handed { packet, probes: category > 0 });
            }
            answer = if more > 0 { self.line().receive() } else { None };
        }
    }
}

/// A frame of the driver. Its number is that of the socket to which the credit goes: the credit is its status.
fn packet(token: u32, mpdu_bytes: u32) -> Packet {
    Packet {
        from: SocketId(token),
        ip_length: mpdu_bytes.saturating_sub(MPDU_OVERHEAD),
        segments: 1,
        truesize: 1,
        charged: true,
        queue_length: tailback_packet::QueueLength::NONE,
        ..Packet::empty()
    }
}

impl<S: Read + Write + Send> FrameSource for Driver<S> {
    fn take_turn(&mut self, category: usize) -> Option<StationId> {
        if !self.ready.is_empty() {
            let left = self.ready.len();
            self.line().fail(format!("an aggregate has left {left} frames that were asked for it"));
        }
        // What was expected of the last aggregate is not for this station, even if nothing was asked for.
        self.expect(Room::default());
        let question = self.about(Kind::AskTurn, category, StationId(0));
        let answer = self.line().ask(question)?;
        (answer.kind == Kind::Turn && answer.peer != NOBODY).then_some(StationId(answer.peer))
    }

    fn expect(&mut self, room: Room) {
        self.room = room;
        self.is_dry = false;
    }

    fn next_frame(&mut self, category: usize, to: StationId) -> Option<Handed> {
        if self.ready.is_empty() && !std::mem::take(&mut self.is_dry) {
            self.ask_frames(category, to);
        }
        self.ready.pop_front()
    }

    fn rates(&mut self, category: usize, to: StationId, first: &Packet) -> Option<Chain> {
        let question = Message { token: first.from.0, ..self.about(Kind::AskRates, category, to) };
        let answer = self.line().ask(question)?;
        let chain = match answer.kind {
            Kind::Rates => series::chain_of(answer.number, answer.category, answer.bytes > 0),
            _ => None,
        };
        if chain.is_none() {
            self.line().fail(format!("the driver said {answer:?}, which names no modes"));
        }
        chain
    }

    fn tried(&mut self, category: usize, to: StationId, tried: &Tried) {
        let (token, bytes) = (tried.sent, tried.acknowledged);
        let number = series::number_of(tried.chain.used(tried.transmissions));
        self.line().tell(Message { token, bytes, number, ..self.about(Kind::Tried, category, to) });
    }

    fn activate(&mut self, category: usize, to: StationId, again: usize) {
        let message = Message { bytes: again as u32, ..self.about(Kind::Activate, category, to) };
        self.line().tell(message);
    }

    fn sent(&mut self, category: usize, to: StationId, airtime: Span) {
        let message = Message { number: airtime.as_nanos(), ..self.about(Kind::Sent, category, to) };
        self.line().tell(message);
    }

    fn heard(&mut self, category: usize, from: StationId, airtime: Span) {
        let message = Message { number: airtime.as_nanos(), ..self.about(Kind::Heard, category, from) };
        self.line().tell(message);
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Whoever answers each question with a frame, and keeps the questions.
    #[derive(Default)]
    struct Answers(Arc<Mutex<Vec<u8>>>);

    impl Read for Answers {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let frame = Message { token: 1, bytes: 1538, peer: 1, ..Message::of(Kind::Frame) }.to_bytes();
            buffer[..frame.len()].copy_from_slice(&frame);
            Ok(frame.len())
        }
    }

    impl Write for Answers {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_room_is_left_over_for_the_station_of_the_next_turn() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let line = Arc::new(Mutex::new(Line::new(Answers(said.clone()))));
        let mut driver = Driver::new(StationId(0), line);
        driver.expect(Room { frames: 31, bytes: 50_000, shortest: 0 });
        driver.take_turn(2);
        driver.next_frame(2, StationId(2));
        let said = said.lock().unwrap();
        let question = said.chunks_exact(crate::message::LENGTH).last().unwrap();
        let question = Message::from_bytes(question.try_into().unwrap()).unwrap();
        assert_eq!((question.kind, question.peer), (Kind::AskFrame, 2));
        assert_eq!((question.bytes, question.number), (0, 0), "one frame, and no more at once");
    }
}
