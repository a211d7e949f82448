//! A pcapng file: one section, an interface per device, packets with nanosecond stamps and direction.
//!
//! Blocks are `type · length · body padded to 4 · length`, little-endian; options `code · length · value padded`, closed
//! by 0 · 0. [pcapng §3.1, §4.1 section header, §4.2 interface description, §4.3 enhanced packet]
//!
//! Only three kinds of block are needed, which takes fewer lines than an adaptor to a crate that writes to a stream.
//! The simulator keeps a file in memory; the agent of the kernel backends takes what is finished and writes it out.

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Options of the section header.
const SHB_USERAPPL: u16 = 4;
/// Options of an interface.
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// Options of a packet.
const EPB_FLAGS: u16 = 2;

const NANOSECONDS: u8 = 9;
const ETHERNET: u16 = 1;

/// Which way a packet passed an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// Received.
    In,
    /// Sent.
    Out,
}

/// A capture file that grows.
#[derive(Debug)]
pub struct Pcapng {
    bytes: Vec<u8>,
    snap_length: u32,
    interfaces: u32,
}

impl Pcapng {
    /// An empty file of `application` whose packets are cut to `snap_length` bytes.
    pub fn new(application: &str, snap_length: u32) -> Self {
        let mut file = Pcapng { bytes: Vec::new(), snap_length, interfaces: 0 };
        let mut body = Vec::new();
        body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend(1u16.to_le_bytes());
        body.extend(0u16.to_le_bytes());
        // The length of the section is not known before its end.
        body.extend(u64::MAX.to_le_bytes());
        option(&mut body, SHB_USERAPPL, application.as_bytes());
        end_of_options(&mut body);
        file.block(SECTION_HEADER, &body);
        file
    }

    /// Adds an Ethernet interface; returns its number.
    pub fn add_interface(&mut self, name: &str) -> u32 {
        let mut body = Vec::new();
        body.extend(ETHERNET.to_le_bytes());
        body.extend(0u16.to_le_bytes());
        body.extend(self.snap_length.to_le_bytes());
        option(&mut body, IF_NAME, name.as_bytes());
        option(&mut body, IF_TSRESOL, &[NANOSECONDS]);
        end_of_options(&mut body);
        self.block(INTERFACE_DESCRIPTION, &body);
        self.interfaces += 1;
        self.interfaces - 1
    }

    /// A frame of `length` bytes that begins with `head` passed `interface` at `nanos`; what follows the head is zeros.
    pub fn packet(&mut self, interface: u32, nanos: u64, passage: Passage, head: &[u8], length: u32) {
        let captured = length.min(self.snap_length);
        let mut body = Vec::with_capacity(captured as usize + 40);
        body.extend(interface.to_le_bytes());
        body.extend(((nanos >> 32) as u32).to_le_bytes());
        body.extend((nanos as u32).to_le_bytes());
        body.extend(captured.to_le_bytes());
        body.extend(length.to_le_bytes());
        let start = body.len();
        body.extend(&head[..head.len().min(captured as usize)]);
        body.resize(start + captured as usize, 0);
        pad(&mut body);
        let direction: u32 = if passage == Passage::In { 1 } else { 2 };
        option(&mut body, EPB_FLAGS, &direction.to_le_bytes());
        end_of_options(&mut body);
        self.block(ENHANCED_PACKET, &body);
    }

    /// Memory it takes by now.
    pub fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// What was added since the last call; the parts make the file.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.extend(length);
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_length_at_both_ends_and_fill_whole_words() {
        let mut file = Pcapng::new("tailback", 96);
        let interface = file.add_interface("client -> router");
        file.packet(interface, 5_000_000_001, Passage::Out, &[1, 2, 3], 1514);
        let bytes = file.into_bytes();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let (mut at, mut kinds) = (0, Vec::new());
        while at < bytes.len() {
            let length = word(at + 4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(at + length - 4) as usize, length);
            kinds.push(word(at));
            at += length;
        }
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET]);
    }

    #[test]
    fn a_packet_is_cut_and_keeps_its_length_and_its_nanoseconds() {
        let mut file = Pcapng::new("tailback", 8);
        let interface = file.add_interface("a");
        file.take();
        file.packet(interface, (7 << 32) + 9, Passage::In, &[255; 60], 1514);
        let words: Vec<u32> =
            file.take().chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(&words[2..9], &[0, 7, 9, 8, 1514, u32::MAX, u32::MAX]);
    }
}
