//! One MPDU: a packet with the MAC header, or several as an A-MSDU, and the state of the MAC for it.
//!
//! ```text
//! MPDU   = 26 (QoS header) + 8 (LLC/SNAP) + IP packet + 4 (FCS)   [+ 16 with CCMP]
//! A-MSDU = 26 + Σ (14 + 8 + IP packet, padded to 4 but the last) + 4   [+ 16 with CCMP]
//! ```
//! [ieee80211-2016 §9.2.4, §9.3.2.2, §12.5.3]

use tailback_packet::{Packet, SocketId};
use tailback_units::Span;

/// QoS data header, LLC/SNAP and FCS.
pub const MPDU_OVERHEAD: u32 = 26 + 8 + 4;
/// Header and message integrity code of CCMP.
pub const CCMP: u32 = 16;
/// LLC/SNAP, which every packet of an A-MSDU has.
const LLC: u32 = 8;
/// Addresses and length before each packet of an A-MSDU.
const SUBFRAME_HEADER: u32 = 14;

/// A frame between the queue above the radio and the receiving host.
#[derive(Debug)]
pub struct Mpdu {
    /// The packet of the frame, which is charged to its socket until the status of the frame is known.
    pub packet: Box<Packet>,
    /// Further packets, of an A-MSDU.
    pub more: Vec<Box<Packet>>,
    /// Sequence number within its block-ack session, from the first transmission on.
    pub sequence: u64,
    /// Bytes on the air.
    pub bytes: u32,
    /// Transmissions so far.
    pub tries: u32,
    /// Airtime that the host expects for it, while it is in firmware.
    pub estimate: Span,
    /// The source probes a mode with this frame: it goes alone.
    pub probes: bool,
}

impl Mpdu {
    /// A frame of one packet with `overhead` bytes around it.
    #[inline]
    pub fn new(packet: Box<Packet>, overhead: u32) -> Self {
        let bytes = packet.ip_length + overhead;
        Mpdu { packet, more: Vec::new(), sequence: 0, bytes, tries: 0, estimate: Span::ZERO, probes: false }
    }

    /// Bytes of the frame with `packet` added.
    pub fn bytes_with(&self, packet: &Packet) -> u32 {
        let first = if self.more.is_empty() { SUBFRAME_HEADER } else { 0 };
        self.bytes + first + self.padding() + SUBFRAME_HEADER + LLC + packet.ip_length
    }

    /// Adds `packet`.
    pub fn append(&mut self, packet: Box<Packet>) {
        self.bytes = self.bytes_with(&packet);
        self.more.push(packet);
    }

    /// Packets in it.
    #[inline]
    pub fn packets(&self) -> usize {
        1 + self.more.len()
    }

    /// Its packets.
    pub fn each_packet(&self) -> impl Iterator<Item = &Packet> {
        std::iter::once(&*self.packet).chain(self.more.iter().map(|packet| &**packet))
    }

    /// Bytes of its IP packets.
    #[inline]
    pub fn ip_bytes(&self) -> u32 {
        let more = match self.more.is_empty() {
            true => 0,
            false => self.more.iter().map(|packet| packet.ip_length).sum::<u32>(),
        };
        self.packet.ip_length + more
    }

    /// Ends the charge of its packets to their sockets; appends the credits to `credits`, one entry for adjacent
    /// packets of one socket.
    #[inline]
    pub fn uncharge(&mut self, credits: &mut Vec<(SocketId, u32)>) {
        uncharge(&mut self.packet, credits);
        if !self.more.is_empty() {
            self.more.iter_mut().for_each(|packet| uncharge(packet, credits));
        }
    }

    /// What follows the last packet if another one comes.
    fn padding(&self) -> u32 {
        let last = self.more.last().unwrap_or(&self.packet);
        (SUBFRAME_HEADER + LLC + last.ip_length).next_multiple_of(4)
            - (SUBFRAME_HEADER + LLC + last.ip_length)
    }
}

#[inline]
fn uncharge(packet: &mut Packet, credits: &mut Vec<(SocketId, u32)>) {
    if packet.charged {
        packet.charged = false;
        match credits.last_mut() {
            Some((socket, truesize)) if *socket == packet.from => *truesize += packet.truesize,
            _ => credits.push((packet.from, packet.truesize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::packet;

    #[test]
    fn two_full_packets_are_an_mpdu_of_3076_bytes() {
        let mut frame = Mpdu::new(packet(1500), MPDU_OVERHEAD);
        assert_eq!(frame.bytes, 1538);
        frame.append(packet(1500));
        assert_eq!((frame.bytes, frame.packets(), frame.ip_bytes()), (3076, 2, 3000));
        frame.append(packet(1500));
        assert_eq!(frame.bytes, 3076 + 2 + 1522);
    }
}
