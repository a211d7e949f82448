//! One message between the driver and the air: 24 bytes in the byte order of the machine.
//!
//! ```text
//! kind u16, radio u16, peer u16, category u16, token u32, bytes u32, number u64
//! ```
//! The fields that a kind does not use are 0. Times are in ns from the start of the run.

/// Version of the protocol.
pub const PROTOCOL: u64 = 3;
/// Bytes of a message.
pub const LENGTH: usize = 24;
/// As a peer: no station.
pub const NOBODY: u16 = 0xffff;
/// As a deadline: none.
pub const NEVER: u64 = u64::MAX;

/// What a message says: below 16 the driver to the air, from 16 on the air to the driver. `peer` is a station, or
/// [`NOBODY`]; `token` the driver's number of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum Kind {
    /// A call, the first: `number` is the version of the protocol.
    Hello = 1,
    /// A call: at the time `number`, the queues above `radio` have got frames of `category`.
    Wake = 2,
    /// A call: it is the time `number`.
    Advance = 3,
    /// The answer to `AskTurn`: `peer` is to be served, or `NOBODY`.
    Turn = 4,
    /// The answer to `AskFrame`: the frame `token`, whose MPDU has so many `bytes` with its FCS; 0: there is none. Another
    /// one follows if `number` is 1. It is sent alone, in a mode that is probed, if `category` is 1.
    Frame = 5,
    /// The answer to `AskRates`: `number` has the modes with the tries of each, see [`crate::series`]; those of the bits in
    /// `category` are announced by RTS and CTS. The frame is sent alone if `bytes` is 1.
    Rates = 6,
    /// Which peer of `radio` is to be served next in `category`? The driver does not name it again before `Activate`.
    AskTurn = 16,
    /// The next frame of `radio` for `peer` in `category`? And as many more, one after the other, as are sure to fit: in
    /// all at most `bytes` frames and `number` bytes, each counted as at least `token` bytes, and 7 more for what is around
    /// it. The longest MPDU has 2360 bytes.
    AskFrame = 17,
    /// `peer` of `radio` has been served in `category`; so many (`bytes`) of its frames wait to be sent again.
    Activate = 18,
    /// Transmissions of `radio` to `peer` in `category` took `number` ns.
    Sent = 19,
    /// A transmission from `peer` to `radio` in `category` took `number` ns, if the driver charges the station for it.
    Heard = 20,
    /// The frame `token` is settled for its sender: acknowledged if `bytes` is 1, given up if it is 0.
    Status = 21,
    /// The host of `radio` gets the frame `token`.
    Received = 22,
    /// Nobody gets the frame `token`.
    Lost = 23,
    /// The end of a call; `number` is the next deadline.
    Done = 24,
    /// In which modes is an aggregate of `radio` for `peer` in `category` sent whose first frame is `token`? Asked if the
    /// experiment has rate control and the driver leaves it to the host.
    AskRates = 25,
    /// An aggregate of `radio` for `peer` in `category`, of `token` frames, had the transmissions in `number`; `bytes` of
    /// the frames were acknowledged. Sent if the modes are not fixed; the status of the frames that are settled follows.
    Tried = 26,
}

impl Kind {
    const ALL: [Kind; 17] = [
        Kind::Hello,
        Kind::Wake,
        Kind::Advance,
        Kind::Turn,
        Kind::Frame,
        Kind::Rates,
        Kind::AskTurn,
        Kind::AskFrame,
        Kind::Activate,
        Kind::Sent,
        Kind::Heard,
        Kind::Status,
        Kind::Received,
        Kind::Lost,
        Kind::Done,
        Kind::AskRates,
        Kind::Tried,
    ];
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// What it says.
    pub kind: Kind,
    /// A radio.
    pub radio: u16,
    /// The other radio.
    pub peer: u16,
    /// An access category, voice first.
    pub category: u16,
    /// The driver's number of a frame.
    pub token: u32,
    /// Bytes, or another small number.
    pub bytes: u32,
    /// A time or a version.
    pub number: u64,
}

impl Message {
    /// A message of which all fields are 0.
    pub fn of(kind: Kind) -> Self {
        Message { kind, radio: 0, peer: 0, category: 0, token: 0, bytes: 0, number: 0 }
    }

    /// As it is sent.
    pub fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        for (place, half) in [self.kind as u16, self.radio, self.peer, self.category].into_iter().enumerate()
        {
            bytes[2 * place..2 * place + 2].copy_from_slice(&half.to_ne_bytes());
        }
        bytes[8..12].copy_from_slice(&self.token.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.bytes.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.number.to_ne_bytes());
        bytes
    }

    /// As it was sent; `None` if its kind is unknown.
    pub fn from_bytes(bytes: &[u8; LENGTH]) -> Option<Self> {
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u16 == half(0))?;
        let mut number = [0; 8];
        number.copy_from_slice(&bytes[16..]);
        Some(Message {
            kind,
            radio: half(2),
            peer: half(4),
            category: half(6),
            token: word(8),
            bytes: word(12),
            number: u64::from_ne_bytes(number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_as_it_was_written() {
        for kind in Kind::ALL {
            let (radio, peer, category, token, bytes) = (1, NOBODY, 3, 4_000_000_000, 5);
            let message = Message { kind, radio, peer, category, token, bytes, number: NEVER };
            assert_eq!(Message::from_bytes(&message.to_bytes()), Some(message));
        }
    }

    #[test]
    fn a_kind_that_nobody_knows_is_no_message() {
        assert_eq!(Message::from_bytes(&[9; LENGTH]), None);
    }

    #[test]
    fn the_driver_has_the_same_numbers() {
        let header = include_str!("../../../kernel/driver/air.h");
        let number_of = |name: &str| {
            let line = header.lines().find(|line| line.trim_start().starts_with(&format!("{name} =")));
            let value = line.and_then(|line| line.split_once('=')).map(|(_, value)| value.trim());
            value.and_then(|value| value.split([',', ' ']).next()?.parse::<u16>().ok())
        };
        for kind in Kind::ALL {
            let name = format!("{kind:?}").chars().fold(String::from("AIR"), |mut name, letter| {
                if letter.is_uppercase() {
                    name.push('_');
                }
                name.push(letter.to_ascii_uppercase());
                name
            });
            assert_eq!(number_of(&name), Some(kind as u16), "{name}");
        }
    }
}
