//! Captures: what `tcpdump` on a host would write, as bytes on the wire.
//!
//! Packets are captured at the same places as in Linux: sent ones when the discipline passes them to the driver
//! [linux-6.12 dev.c dev_queue_xmit_nit], received ones on arrival. Sequence numbers in the simulator are stream
//! offsets; in a capture they start at an initial number per socket and wrap. Host h has the address 10.x.y.z with
//! h + 1 in the lower 24 bits, conversation c has the ports 1024 + c mod 64000 and 5201 + c / 64000.
//! [rfc9293 §3.1, rfc791 §3.1, rfc792]
//!
//! Deviations: the payload is zeros, the time to live is 64 at every hop, and the identification is 0, as for packets
//! that must not be fragmented [rfc6864 §4.1]. A capture is in memory until the run ends, about 150 bytes per packet.

use tailback_packet::{
    ETHERNET_HEADER, HostId, IPV4_HEADER, Packet, Payload, Segment, SegmentFlags, SocketId,
};
use tailback_pcapng::{Passage, Pcapng};
use tailback_tcp::Offers;
use tailback_units::SimTime;

use crate::DeviceId;
use crate::packet_log::PacketLog;

/// Bytes kept of a packet: the longest headers.
const SNAP_LENGTH: u32 = 128;
/// Of a packet that is kept whole: the most of `tcpdump`.
const WHOLE: u32 = 262_144;

/// What captures keep of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeps {
    /// Its headers: the data of simulated applications has no content.
    Headers,
    /// All of it: endpoints outside have sent some.
    Content,
}
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const TTL: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

/// A device as an interface of a capture file.
#[derive(Clone, Copy, Debug)]
struct Tap {
    file: usize,
    interface: u32,
}

/// What the packets of a socket do not tell.
#[derive(Debug)]
pub(crate) struct CapturedSocket {
    pub(crate) host: HostId,
    /// The options of its SYN or SYN-ACK.
    pub(crate) syn: Offers,
    /// The options that both use.
    pub(crate) agreed: Offers,
    /// The shift of its windows.
    pub(crate) scale: u8,
}

/// All captures of a run and its log of packets; empty if the scenario has none.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Somebody wants to know of each packet.
    is_on: bool,
    /// Where packets are within a window of time.
    pub(crate) log: Option<Box<PacketLog>>,
    files: Vec<(String, Pcapng)>,
    /// Packets are cut to so many bytes.
    snap_length: u32,
    /// By device.
    taps: Vec<Option<Tap>>,
    /// By socket: the host it is on, and the shift of the windows it advertises.
    sockets: Vec<CapturedSocket>,
}

impl Captures {
    /// A capture without packets, of this many devices and of these sockets.
    pub(crate) fn new(devices: usize, sockets: Vec<CapturedSocket>, keeps: Keeps) -> Self {
        let snap_length = match keeps {
            Keeps::Headers => SNAP_LENGTH,
            Keeps::Content => WHOLE,
        };
        Captures {
            is_on: false,
            log: None,
            files: Vec::new(),
            snap_length,
            taps: vec![None; devices],
            sockets,
        }
    }

    /// Logs packets, too.
    pub(crate) fn with_log(self, log: PacketLog) -> Self {
        Captures { is_on: true, log: Some(Box::new(log)), ..self }
    }

    /// A file for a host; `interfaces`: its devices, and what each sends towards.
    pub(crate) fn add<'a>(&mut self, host: &str, interfaces: impl Iterator<Item = (DeviceId, &'a str)>) {
        let application = concat!("tailback ", env!("CARGO_PKG_VERSION"));
        let mut file = Pcapng::new(application, self.snap_length);
        for (device, towards) in interfaces {
            let interface = file.add_interface(&format!("{host} -> {towards}"));
            self.taps[device.index()] = Some(Tap { file: self.files.len(), interface });
        }
        self.files.push((host.to_owned(), file));
        self.is_on = true;
    }

    /// True if no host is captured and no packets are logged.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        !self.is_on
    }

    /// `packet` is handed to the driver of the first device, which sends it to the second.
    #[cold]
    pub(crate) fn sent(&mut self, devices: (DeviceId, DeviceId), packet: &Packet, now: SimTime) {
        self.note(devices.0, devices, packet, (now, Passage::Out));
    }

    /// `packet` has come from the first device to the second.
    #[cold]
    pub(crate) fn received(&mut self, devices: (DeviceId, DeviceId), packet: &Packet, now: SimTime) {
        self.note(devices.1, devices, packet, (now, Passage::In));
    }

    /// Memory of all files, and of the log.
    pub(crate) fn held(&self) -> usize {
        let log = self.log.as_ref().map_or(0, |log| log.held());
        self.files.iter().map(|(_, file)| file.held()).sum::<usize>() + log
    }

    /// The files, by the name of their host.
    pub(crate) fn finish(self) -> Vec<(String, Vec<u8>)> {
        self.files.into_iter().map(|(name, file)| (name, file.into_bytes())).collect()
    }

    fn note(
        &mut self,
        tapped: DeviceId,
        devices: (DeviceId, DeviceId),
        packet: &Packet,
        passed: (SimTime, Passage),
    ) {
        let Some(tap) = self.taps[tapped.index()] else { return };
        let frame = self.frame(devices, packet);
        let length = frame.len() as u32 + payload_length(packet);
        self.files[tap.file].1.packet(tap.interface, passed.0.as_nanos(), passed.1, &frame, length);
    }

    /// The headers of a packet; its payload is left out.
    fn frame(&self, (sender, receiver): (DeviceId, DeviceId), packet: &Packet) -> Vec<u8> {
        let addresses = [self.sockets[packet.from.0 as usize].host, packet.destination].map(address);
        let above = match &packet.payload {
            Payload::Tcp(segment) => self.tcp(packet, segment, &addresses),
            Payload::EchoRequest { seq } => icmp(8, packet, *seq),
            Payload::EchoReply { seq } => icmp(0, packet, *seq),
            Payload::Datagram { .. } => udp(packet),
            Payload::Content { data, .. } => [udp(packet), data.to_vec()].concat(),
            // The payload is unknown: the capture ends with the IP header.
            Payload::Damaged => Vec::new(),
        };
        let mut frame = Vec::with_capacity((ETHERNET_HEADER + IPV4_HEADER) as usize + above.len());
        frame.extend(hardware_address(receiver));
        frame.extend(hardware_address(sender));
        frame.extend(0x0800u16.to_be_bytes());
        frame.extend(ipv4(packet, above.len() as u32, &addresses));
        frame.extend(above);
        frame
    }

    fn tcp(&self, packet: &Packet, segment: &Segment, addresses: &[[u8; 4]; 2]) -> Vec<u8> {
        let syn = segment.flags.contains(SegmentFlags::SYN);
        let socket = &self.sockets[packet.from.0 as usize];
        let shift = if socket.agreed.window_scaling { socket.scale } else { 0 };
        let options = if syn { syn_options(segment, socket) } else { options(segment, first(packet.to)) };
        let (source, target) = ports(packet.from, packet.to);
        let window = if syn { segment.window } else { segment.window >> shift };
        let acknowledges = segment.flags.contains(SegmentFlags::ACK);
        let mut header = Vec::with_capacity(20 + options.len());
        header.extend(source.to_be_bytes());
        header.extend(target.to_be_bytes());
        header.extend(wire_number(segment.seq, first(packet.from)).to_be_bytes());
        let ack = if acknowledges { wire_number(segment.ack, first(packet.to)) } else { 0 };
        header.extend(ack.to_be_bytes());
        let [high, low] = segment.flags.bits().to_be_bytes();
        header.extend([(((20 + options.len()) as u8 / 4) << 4) | high, low]);
        header.extend((window.min(65535) as u16).to_be_bytes());
        header.extend([0; 4]);
        header.extend(options);
        let length = (header.len() as u32 + segment.length) as u16;
        let [from, to] = addresses;
        let pseudo = [from.as_slice(), to, &[0, TCP], &length.to_be_bytes()].concat();
        // Zeros of the payload add nothing to the sum.
        let sum = checksum(&[&pseudo, &header]);
        header[16..18].copy_from_slice(&sum.to_be_bytes());
        header
    }
}

fn ipv4(packet: &Packet, above: u32, addresses: &[[u8; 4]; 2]) -> Vec<u8> {
    let length = IPV4_HEADER + above + payload_length(packet);
    let protocol = match packet.payload {
        Payload::Tcp(_) => TCP,
        Payload::Datagram { .. } | Payload::Content { .. } => UDP,
        _ => ICMP,
    };
    let mut header = vec![0x45, packet.ds_octet()];
    header.extend((length.min(65535) as u16).to_be_bytes());
    header.extend([0, 0]);
    header.extend(DONT_FRAGMENT.to_be_bytes());
    header.extend([TTL, protocol, 0, 0]);
    header.extend(addresses.concat());
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// Without a checksum, as IPv4 allows. [rfc768]
fn udp(packet: &Packet) -> Vec<u8> {
    let (source, target) = ports(packet.from, packet.to);
    let length = (packet.ip_length - IPV4_HEADER) as u16;
    [source.to_be_bytes(), target.to_be_bytes(), length.to_be_bytes(), [0, 0]].concat()
}

fn icmp(kind: u8, packet: &Packet, seq: u32) -> Vec<u8> {
    let conversation = (packet.from.0 / 2) as u16;
    let mut header = vec![kind, 0, 0, 0];
    header.extend((conversation + 1).to_be_bytes());
    header.extend((seq as u16).to_be_bytes());
    let sum = checksum(&[&header]);
    header[2..4].copy_from_slice(&sum.to_be_bytes());
    header
}

/// Bytes after the headers.
fn payload_length(packet: &Packet) -> u32 {
    match &packet.payload {
        Payload::Tcp(segment) => segment.length,
        Payload::EchoRequest { .. } | Payload::EchoReply { .. } | Payload::Datagram { .. } => {
            packet.ip_length - IPV4_HEADER - 8
        }
        // It is in the frame.
        Payload::Content { .. } => 0,
        Payload::Damaged => packet.ip_length - IPV4_HEADER,
    }
}

/// MSS, SACK permitted, timestamps, window scale, aligned as in Linux. [rfc9293 §3.2, rfc2018 §2, rfc7323 §2.2, §3.2]
/// [linux-6.12 tcp_output.c tcp_options_write]
fn syn_options(segment: &Segment, socket: &CapturedSocket) -> Vec<u8> {
    let mut options = vec![2, 4];
    options.extend(segment.mss.to_be_bytes());
    let stamps = timestamps(segment);
    match socket.syn.sack {
        true => options.extend([4, 2]),
        false if stamps.is_some() => options.extend([1, 1]),
        false => {}
    }
    match stamps {
        Some(stamps) => options.extend(stamps),
        None if socket.syn.sack => options.extend([1, 1]),
        None => {}
    }
    add_accecn(&mut options, segment, 0);
    if socket.syn.window_scaling {
        options.extend([1, 3, 3, socket.scale]);
    }
    options
}

/// Adds the option of accurate ECN, if the segment has it, and padding. Returns how much of the padding, `next` bytes, of
/// what follows is left. [linux-7.3 tcp_output.c tcp_options_write]
fn add_accecn(options: &mut Vec<u8>, segment: &Segment, next: u32) -> u32 {
    let Some(option) = segment.sack.accecn() else { return next };
    let (after, left) = option.padding(next);
    options.extend(option.octets());
    options.resize(options.len() + after as usize, 1);
    left
}

/// Timestamps, the option of accurate ECN and SACK blocks, each with its padding. `base` is the first number of the other direction.
fn options(segment: &Segment, base: u32) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(stamps) = timestamps(segment) {
        options.extend([1, 1]);
        options.extend(stamps);
    }
    let blocks = segment.sack.as_slice();
    let padding = add_accecn(&mut options, segment, if blocks.is_empty() { 0 } else { 2 });
    if !blocks.is_empty() {
        options.resize(options.len() + padding as usize, 1);
        options.extend([5, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            options.extend(wire_number(block.start, base).to_be_bytes());
            options.extend(wire_number(block.end, base).to_be_bytes());
        }
    }
    options
}

/// In milliseconds, as Linux's clock of timestamps ticks. An echo of nothing is 0.
fn timestamps(segment: &Segment) -> Option<[u8; 10]> {
    let value = milliseconds(segment.tsval.time()?);
    let echo = segment.tsecr.time().map_or(0, milliseconds);
    let mut option = [8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    option[2..6].copy_from_slice(&value.to_be_bytes());
    option[6..10].copy_from_slice(&echo.to_be_bytes());
    Some(option)
}

/// The clock plus one, since 0 would mean "none".
fn milliseconds(at: SimTime) -> u32 {
    (at.as_nanos() / 1_000_000) as u32 + 1
}

/// Initial sequence number of a socket: different for each, and not near a wrap. [rfc9293 §3.4.1]
fn first(socket: SocketId) -> u32 {
    socket.0.wrapping_mul(0x9e37_79b9) & 0x7fff_ffff
}

fn wire_number(offset: u64, first: u32) -> u32 {
    first.wrapping_add(offset as u32)
}

/// Of the sender of a packet and of its receiver.
fn ports(from: SocketId, to: SocketId) -> (u16, u16) {
    (port(from), port(to))
}

/// Sockets with even numbers began the conversation.
fn port(socket: SocketId) -> u16 {
    let conversation = socket.0 / 2;
    let port =
        if socket.0.is_multiple_of(2) { 1024 + conversation % 64_000 } else { 5201 + conversation / 64_000 };
    port as u16
}

fn address(host: HostId) -> [u8; 4] {
    let number = u32::from(host.0) + 1;
    [10, (number >> 16) as u8, (number >> 8) as u8, number as u8]
}

/// Locally administered, with the number of the device. [ieee802 §8.4]
fn hardware_address(device: DeviceId) -> [u8; 6] {
    let [a, b, c, d] = device.0.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// [rfc1071 §1]
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(((folded & 0xffff) + (folded >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;
    use crate::example;

    #[test]
    fn a_checksum_is_that_of_the_rfc() {
        // The example of [rfc1071 §3]: the sum is ddf2.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    }

    #[test]
    fn a_run_without_captures_gives_none_and_one_with_gives_a_file_per_host() {
        let traffic = r#"{"kind": "ping", "name": "ping", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 2000000000,
            "interval_ns": 500000000, "size": 64}"#;
        let mut scenario = example::chain(traffic);
        assert!(World::build(&scenario).unwrap().run(&()).unwrap().captures.is_empty());
        scenario.record.pcap = vec![0, 1];
        let captures = World::build(&scenario).unwrap().run(&()).unwrap().captures;
        assert_eq!(captures.iter().map(|(host, _)| host.as_str()).collect::<Vec<_>>(), ["client", "router"]);
        // Four requests and four replies, and each of them twice at the router.
        let packets =
            |bytes: &[u8]| bytes.windows(4).filter(|word| *word == [0x08, 0x00, 0x45, 0x00]).count();
        assert_eq!(captures.iter().map(|(_, bytes)| packets(bytes)).collect::<Vec<_>>(), [8, 16]);
    }
}
