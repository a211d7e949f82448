//! What datagrams contain, and by which an application sends them.
//!
//! ```text
//! UDP     first half of the run's token, 8 bytes; when it was sent, ns of the run, 8 bytes; its number, 4 bytes, if it has
//!         room for it; zeros
//! echo    of UDP: [first half of the run's token, 8 bytes] number of the request, 4 bytes, zeros; sent back by a server
//!         of ICMP: the lower half of the number is its sequence number [ping(7) of Linux, rfc792]
//! ```
//! The token is there on machines that others can reach: a datagram without it is not counted and not answered. All
//! machines use the same time base, so that the one-way delay of a datagram is known where it arrives.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tailback_traffic::{Arrived, Carrier, Datagram, EchoProtocol};
use tailback_units::SimTime;

use crate::job::Conversation;
use crate::sys;

/// Bytes of the token of a run in each datagram.
const TOKEN: usize = 8;
/// Least size of a datagram with its time.
const STAMPED: usize = TOKEN + size_of::<u64>();
/// Size of a datagram with its number, too.
const NUMBERED: usize = STAMPED + NUMBER;
/// Bytes of the header of UDP or ICMP, which the size of an echo includes.
const HEADER: usize = 8;
/// Bytes of the number of a datagram.
const NUMBER: usize = 4;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// The first half of a token of a run; zeros behind a short one.
fn half(token: &str) -> [u8; TOKEN] {
    let mut half = [0; TOKEN];
    half.iter_mut().zip(token.bytes()).for_each(|(place, byte)| *place = byte);
    half
}

/// What the datagrams of a conversation contain besides zeros.
#[derive(Clone, Debug)]
pub enum Content {
    /// The token, when it was sent, and its number.
    Stamp([u8; TOKEN]),
    /// The token, if the run has one, and the number of the request.
    Number(Vec<u8>),
    /// A message of ICMP.
    Icmp,
}

impl Content {
    /// Of the datagrams of a conversation.
    pub fn of(conversation: &Conversation) -> Self {
        let token = conversation.token.as_deref();
        match conversation.traffic.carrier() {
            Carrier::Echo { protocol: EchoProtocol::Icmp, .. } => Content::Icmp,
            Carrier::Echo { protocol: EchoProtocol::Udp, .. } => {
                Content::Number(token.map(|token| half(token).to_vec()).unwrap_or_default())
            }
            Carrier::Datagrams { .. } | Carrier::Tcp(_) | Carrier::Endpoints { .. } => {
                Content::Stamp(half(token.unwrap_or_default()))
            }
        }
    }

    /// Bytes of data of a datagram whose size is `size`.
    pub fn length(&self, size: usize) -> usize {
        if matches!(self, Content::Number(_)) { size.saturating_sub(HEADER) } else { size }
    }

    /// Least bytes of data.
    pub fn least(&self) -> usize {
        match self {
            Content::Stamp(_) => STAMPED,
            Content::Number(token) => token.len() + NUMBER,
            Content::Icmp => HEADER,
        }
    }

    fn write(&self, datagram: Datagram, now: SimTime, data: &mut [u8]) {
        match self {
            Content::Stamp(token) => {
                data[..TOKEN].copy_from_slice(token);
                data[TOKEN..STAMPED].copy_from_slice(&now.as_nanos().to_be_bytes());
                if let Some(place) = data.get_mut(STAMPED..NUMBERED) {
                    place.copy_from_slice(&datagram.number.to_be_bytes());
                }
            }
            Content::Number(token) => {
                data[..token.len()].copy_from_slice(token);
                data[token.len()..][..NUMBER].copy_from_slice(&datagram.number.to_be_bytes());
            }
            Content::Icmp => {
                data[0] = ECHO_REQUEST;
                data[6..8].copy_from_slice(&(datagram.number as u16).to_be_bytes());
            }
        }
    }

    /// What a datagram says, if it is one of this conversation. Of ICMP it is the lower half of its number.
    pub fn read(&self, data: &[u8]) -> Option<Arrived> {
        match self {
            Content::Stamp(token) => {
                let (stamp, rest) = data.strip_prefix(token)?.split_first_chunk()?;
                let sent = SimTime::from_nanos(u64::from_be_bytes(*stamp));
                let number = rest.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                Some(Arrived::Data { sent, number })
            }
            Content::Number(token) => {
                let number = data.strip_prefix(token.as_slice())?.first_chunk()?;
                Some(Arrived::Answer(u32::from_be_bytes(*number)))
            }
            Content::Icmp => {
                let is_reply = data.len() >= HEADER && data[0] == ECHO_REPLY;
                is_reply.then(|| Arrived::Answer(u16::from_be_bytes([data[6], data[7]]).into()))
            }
        }
    }
}

/// By which an application sends datagrams.
pub struct Outlet {
    socket: Arc<OwnedFd>,
    content: Content,
    data: Vec<u8>,
    /// The number of the newest.
    newest: u32,
}

impl Outlet {
    /// Sends on `socket`.
    pub fn new(socket: Arc<OwnedFd>, content: Content) -> Self {
        Self { socket, content, data: Vec::new(), newest: 0 }
    }

    /// Sends a datagram; false if the socket has no room for it. An echo request is then lost like any other.
    pub fn send(&mut self, datagram: Datagram, now: SimTime) -> bool {
        self.newest = datagram.number;
        let length = self.content.length(datagram.size as usize).max(self.content.least());
        self.data.resize(length, 0);
        self.content.write(datagram, now, &mut self.data);
        let sent = sys::send_at_once(&self.socket, &self.data);
        // Any other error is that of an earlier datagram; this one is lost like any other.
        let has_no_room = sent.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        !has_no_room || !matches!(self.content, Content::Stamp(_))
    }

    /// The whole number of an answer: of ICMP, that of the newest request with this lower half.
    pub fn whole(&self, arrived: Arrived) -> Option<Arrived> {
        match (arrived, &self.content) {
            (Arrived::Answer(low), Content::Icmp) => {
                newest_with(low as u16, self.newest).map(Arrived::Answer)
            }
            _ => Some(arrived),
        }
    }
}

/// The newest number up to `newest` whose lower half is `low`.
fn newest_with(low: u16, newest: u32) -> Option<u32> {
    newest.checked_sub(u32::from((newest as u16).wrapping_sub(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(content: &Content, number: u32, size: u32) -> Vec<u8> {
        let mut data = vec![0; content.length(size as usize)];
        content.write(Datagram { number, size }, SimTime::from_nanos(0x102), &mut data);
        data
    }

    #[test]
    fn a_reply_belongs_to_the_newest_request_of_its_sequence_number() {
        assert_eq!(newest_with(0, 65_536), Some(65_536));
        assert_eq!(newest_with(1, 65_536), Some(1));
        assert_eq!(newest_with(0xffff, 0x2_0003), Some(0x1_ffff));
        assert_eq!(newest_with(5, 3), None);
    }

    #[test]
    fn an_echo_request_of_icmp_has_its_size_and_number() {
        let message = written(&Content::Icmp, 0x1_0203, 64);
        assert_eq!((message.len(), message[0], message[6], message[7]), (64, 8, 2, 3));
    }

    #[test]
    fn an_echo_request_of_udp_has_its_size_without_the_header() {
        let bare = written(&Content::Number(Vec::new()), 0x102, 64);
        assert_eq!((bare.len(), &bare[..4]), (56, &[0, 0, 1, 2][..]));
        let token = Content::Number(half("geheimgeheim").to_vec());
        assert_eq!(written(&token, 7, 64)[..12], *b"geheimge\0\0\0\x07");
        assert_eq!(token.read(&written(&token, 7, 64)), Some(Arrived::Answer(7)));
        assert_eq!(token.read(b"xxxxxxxx\0\0\0\x07"), None);
    }

    #[test]
    fn a_datagram_says_when_it_was_sent_and_its_number_if_there_is_room() {
        let content = Content::Stamp(half("geheimgeheim"));
        let data = written(&content, 0x304, 20);
        assert_eq!(data, *b"geheimge\0\0\0\0\0\0\x01\x02\0\0\x03\x04");
        let sent = SimTime::from_nanos(0x102);
        assert_eq!(content.read(&data), Some(Arrived::Data { sent, number: 0x304 }));
        assert_eq!(written(&content, 7, 19)[..16], data[..16]);
        assert_eq!(content.read(&data[..19]), Some(Arrived::Data { sent, number: 0 }));
        assert_eq!(content.read(&data[..15]), None);
    }
}
