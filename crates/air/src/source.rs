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
        ..Packet::empty()
    }
}

impl<S: Read + Write + Send> FrameSource for Driver<S> {
    fn take_turn(&mut self, category: usize) -> Option<StationId> {
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
