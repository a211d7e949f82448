//! The queues above a radio, which the driver has: each question is a message to it.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tailback_packet::{Packet, SocketId};
use tailback_units::Span;
use tailback_wifi::frame::MPDU_OVERHEAD;
use tailback_wifi::{FrameSource, StationId};

use crate::line::Line;
use crate::message::{Kind, Message, NOBODY};

/// The connection, shared by all radios.
pub type SharedLine<S> = Arc<Mutex<Line<S>>>;

/// The queues of one radio.
pub struct Driver<S> {
    radio: u16,
    line: SharedLine<S>,
}

impl<S> Driver<S> {
    /// Those of `radio`.
    pub fn new(radio: StationId, line: SharedLine<S>) -> Self {
        Driver { radio: radio.0, line }
    }

    fn line(&self) -> MutexGuard<'_, Line<S>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn about(&self, kind: Kind, category: usize, peer: StationId) -> Message {
        Message { radio: self.radio, peer: peer.0, category: category as u16, ..Message::of(kind) }
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

    fn next_frame(&mut self, category: usize, to: StationId) -> Option<Box<Packet>> {
        let question = self.about(Kind::AskFrame, category, to);
        let answer = self.line().ask(question)?;
        let is_frame = answer.kind == Kind::Frame && answer.bytes > 0;
        is_frame.then(|| Box::new(packet(answer.token, answer.bytes)))
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
