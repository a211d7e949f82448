//! The medium: transmissions in progress, and which radios hear them.
//!
//! ```text
//! exchange = [RTS, CTS], PPDU, response    a radio that hears the sender defers for all of it,
//!                                          one that hears only the receiver from its CTS or response on
//! ```
//! A radio that hears a frame decodes its header and defers to the end of the response (the duration field). A PPDU is
//! lost completely if its receiver hears or sends anything else meanwhile. [ieee80211-2016 §10.3.2]
//!
//! A radio that hears only the receiver may begin to send in the SIFS before its CTS or response. The receiver responds
//! nevertheless, so that this frame is lost, and its sender, which has not heard the CTS, may spoil the PPDU later.
//!
//! Deviations: hearing is mutual, and every frame that is heard can be decoded; no capture effect. Responses are never
//! lost. A radio whose own frame ends within a response does not sense the rest of it.

use tailback_units::{SimTime, Span};

use crate::StationId;
use crate::phy::Band;
use crate::status::Status;

/// From the end of a PPDU until a response that has not begun will not come, beyond SIFS and a slot: the PHY's delay.
const PHY_START: Span = Span::from_micros(20);
/// Bytes of an ACK, a CTS, an RTS, a compressed block ack with a bitmap of 64 bits.
pub(crate) const ACK: u32 = 14;
pub(crate) const CTS: u32 = 14;
pub(crate) const RTS: u32 = 20;
pub(crate) const BLOCK_ACK: u32 = 32;
/// Bytes of a block ack with a bitmap of 256 bits, for more than 64 MPDUs. [ieee80211ax §9.3.1.8]
pub(crate) const LONG_BLOCK_ACK: u32 = 56;
/// Bits per symbol of 24 and of 6 Mbit/s.
pub(crate) const FAST_CONTROL: u32 = 96;
const SLOW_CONTROL: u32 = 24;

/// Which radios hear each other.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    /// Pairs that do not hear each other, the smaller number first, in order.
    hidden: Vec<(u16, u16)>,
}

impl Hearing {
    /// Two radios do not hear each other.
    pub fn hide(&mut self, one: StationId, other: StationId) {
        let pair = (one.0.min(other.0), one.0.max(other.0));
        if let Err(at) = self.hidden.binary_search(&pair) {
            self.hidden.insert(at, pair);
        }
    }

    /// All hear each other.
    #[inline]
    pub(crate) fn is_mutual(&self) -> bool {
        self.hidden.is_empty()
    }

    /// They hear each other.
    #[inline]
    pub fn between(&self, one: usize, other: usize) -> bool {
        self.hidden.is_empty()
            || self.hidden.binary_search(&(one.min(other) as u16, one.max(other) as u16)).is_err()
    }
}

/// The sender: a radio, and the access category or the beacon.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sender {
    pub(crate) station: usize,
    pub(crate) category: usize,
}

/// The phase of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Phase {
    /// RTS.
    #[default]
    Announcing,
    /// SIFS before the CTS, if some radios hear only the receiver.
    BeforeCts,
    /// The PPDU, with the CTS before it if there is one.
    Data,
    /// SIFS before the response, if some radios hear only the receiver.
    BeforeResponse,
    /// The response.
    Answering,
    /// A beacon, which has no response.
    Beacon,
}

/// One use of the medium.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) sender: Sender,
    /// The receiver; `None` for a beacon.
    pub(crate) to: Option<usize>,
    pub(crate) phase: Phase,
    /// When that ends.
    pub(crate) until: SimTime,
    /// When the medium was won.
    pub(crate) won: SimTime,
    /// Radios that the receiver heard at once; 0: this one alone.
    pub(crate) colliders: u32,
    /// How long the response lasts, once the PPDU has arrived.
    pub(crate) response: Span,
    /// The receiver has been heard.
    pub(crate) answered: bool,
    /// Radios that hear only the receiver and defer to it.
    pub(crate) deferring: Vec<u16>,
    pub(crate) status: Status,
}

impl Exchange {
    /// Begins an exchange in the place of one that is over.
    pub(crate) fn begin(&mut self, sender: Sender, to: Option<usize>, phase: Phase) {
        (self.sender, self.to, self.phase) = (sender, to, phase);
        (self.colliders, self.response, self.answered) = (0, Span::ZERO, false);
        self.deferring.clear();
        self.status.clear();
    }

    /// The radio that sends, or will after a SIFS.
    fn transmitter(&self) -> Option<usize> {
        match self.phase {
            Phase::BeforeCts | Phase::BeforeResponse | Phase::Answering => self.to,
            _ => Some(self.sender.station),
        }
    }

    /// It can still be lost.
    fn is_vulnerable(&self) -> bool {
        matches!(self.phase, Phase::Announcing | Phase::Data)
    }

    /// `other` is heard by the receiver of this one, or the receiver sends.
    fn is_corrupted_by(&self, other: &Exchange, hearing: &Hearing) -> bool {
        let (Some(receiver), Some(transmitter)) = (self.to, other.transmitter()) else { return false };
        self.is_vulnerable() && hearing.between(receiver, transmitter)
    }

    /// Two transmissions overlap.
    pub(crate) fn meet(&mut self, other: &mut Exchange, hearing: &Hearing) {
        let both = [self.is_corrupted_by(other, hearing), other.is_corrupted_by(self, hearing)];
        for (exchange, spoilt) in [self, other].into_iter().zip(both) {
            exchange.colliders = exchange.colliders.max(u32::from(spoilt)) + u32::from(spoilt);
        }
    }
}

/// Times that pass before AIFS begins, after a busy medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    after_noise: Span,
    after_silence: Span,
}

impl Pauses {
    /// The pauses of a band.
    pub(crate) fn of(band: Band) -> Self {
        Pauses {
            after_noise: band.sifs() + band.legacy_frame(ACK, SLOW_CONTROL),
            after_silence: band.sifs() + band.slot() + PHY_START,
        }
    }
}

/// What one radio senses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CarrierSense {
    /// Exchanges it defers to, its own included.
    heard: u32,
    /// The last of them could not be decoded.
    noise: bool,
    /// It waits for a response that will not arrive.
    unanswered: bool,
}

/// The end of an exchange for a radio that sensed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sensed {
    /// As announced.
    Whole,
    /// By a frame that could not be decoded.
    Noise,
    /// Without the response to this radio.
    Silence,
}

impl CarrierSense {
    /// The medium is in use.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.heard > 0
    }

    /// An exchange begins; true if the medium was idle.
    #[inline]
    pub(crate) fn begin(&mut self) -> bool {
        self.heard += 1;
        self.heard == 1
    }

    /// An exchange is over. If the medium is idle now: how long before AIFS begins.
    #[inline]
    pub(crate) fn end(&mut self, sensed: Sensed, pauses: &Pauses) -> Option<Span> {
        self.heard -= 1;
        self.noise = sensed == Sensed::Noise;
        self.unanswered |= sensed == Sensed::Silence;
        if self.heard > 0 {
            return None;
        }
        Some(match (std::mem::take(&mut self.unanswered), std::mem::take(&mut self.noise)) {
            (true, _) => pauses.after_silence,
            (false, true) => pauses.after_noise,
            (false, false) => Span::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_noise_60_us_pass_and_after_silence_45_before_aifs() {
        let after = |sensed| {
            let mut sense = CarrierSense::default();
            assert!(sense.begin());
            sense.end(sensed, &Pauses::of(Band::Ghz5)).map(|extra| extra.as_micros())
        };
        assert_eq!(
            [Sensed::Whole, Sensed::Noise, Sensed::Silence].map(after),
            [Some(0), Some(60), Some(45)],
            "EIFS is 60 + 43 = 103 µs in best effort"
        );
    }

    #[test]
    fn the_medium_is_idle_when_the_last_exchange_is_over() {
        let mut sense = CarrierSense::default();
        assert!(sense.begin());
        assert!(!sense.begin());
        assert_eq!(sense.end(Sensed::Silence, &Pauses::of(Band::Ghz5)), None);
        assert_eq!(sense.end(Sensed::Noise, &Pauses::of(Band::Ghz5)), Some(Span::from_micros(45)));
    }

    #[test]
    fn radios_hear_each_other_unless_hidden() {
        let mut hearing = Hearing::default();
        assert!(hearing.between(1, 2));
        hearing.hide(StationId(2), StationId(1));
        assert!(!hearing.between(1, 2) && !hearing.between(2, 1) && hearing.between(0, 1));
    }
}
