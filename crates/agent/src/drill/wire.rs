//! Converts segments between the notation of scripts and packets of a TUN device: IPv4, TCP, and the virtio header
//! before them. [virtio-v1.2 §5.1.6]
//!
//! A script has initial sequence numbers of its own for the side under test; the peer's are the script's on the wire
//! too. Timestamps that the script echoes are mapped to what was really sent where it expected them. [packetdrill]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use tailback_script::player;
use tailback_script::script::{EcnSpec, Flags, OptionsSpec, SegmentSpec, TcpOption};

const VIRTIO: usize = 10;
const IPV4: usize = 20;
const TCP: usize = 20;
const PROTOCOL_TCP: u8 = 6;
const VIRTIO_GSO_TCPV4: u8 = 1;

/// The ports of a conversation: of the side under test, and of the script's peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    pub local: u16,
    pub remote: u16,
}

/// Where segments come from and go to.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub local: Ipv4Addr,
    pub remote: Ipv4Addr,
}

/// A segment that left, with the numbers of the wire.
#[derive(Clone, PartialEq, Debug)]
pub struct OnWire {
    flags: Flags,
    seq: u32,
    length: u32,
    ack: u32,
    window: u16,
    ecn: EcnSpec,
    options: Vec<TcpOption>,
}

impl player::Departed for OnWire {
    fn length(&self) -> u32 {
        self.length
    }

    fn continues(&self, before: &Self) -> bool {
        self.length > 0 && before.seq.wrapping_add(before.length) == self.seq
    }

    fn join(&mut self, next: Self) {
        self.length += next.length;
        self.flags = next.flags;
    }
}

impl OnWire {
    /// Whether this segment has SYN and opens a conversation.
    pub fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }

    fn timestamp(&self) -> Option<(u32, u32)> {
        timestamp(&self.options)
    }
}

fn timestamp(options: &[TcpOption]) -> Option<(u32, u32)> {
    options.iter().find_map(|option| match option {
        TcpOption::Timestamp { val, ecr } => Some((*val, *ecr)),
        _ => None,
    })
}

/// Maps the script's sequence numbers of one connection to real ones.
#[derive(Debug, Default)]
pub struct Translation {
    /// Initial sequence number of the side under test: the script's and the real one.
    origin: Option<(u32, u32)>,
    /// Timestamps that were sent, by the script's names.
    sent: BTreeMap<u32, u32>,
    /// The first pair.
    first: Option<(u32, u32)>,
}

impl Translation {
    /// A SYN has left: its number is the real one.
    pub fn departed(&mut self, segment: &OnWire) {
        if segment.is_syn() && self.origin.is_none_or(|(_, real)| real != segment.seq) {
            self.origin = Some((0, segment.seq));
        }
    }

    /// The script expects `segment` to be `spec`.
    pub fn expected(&mut self, spec: &SegmentSpec, segment: &OnWire) {
        if spec.flags.has(Flags::SYN) && segment.is_syn() {
            self.origin = Some((spec.seq, segment.seq));
        }
        if let (OptionsSpec::Exactly(options), Some((real, _))) = (&spec.options, segment.timestamp())
            && let Some((val, _)) = timestamp(options)
        {
            self.first.get_or_insert((val, real));
            self.sent.insert(val, real);
        }
    }

    fn real(&self, number: u32) -> u32 {
        self.origin.map_or(number, |(script, real)| real.wrapping_add(number.wrapping_sub(script)))
    }

    fn script(&self, number: u32) -> u32 {
        self.origin.map_or(number, |(script, real)| script.wrapping_add(number.wrapping_sub(real)))
    }

    /// What was really sent where the script expected `val`; in between, at the script's distance from the first.
    fn real_timestamp(&self, val: u32) -> Option<u32> {
        let near = || self.first.map(|(script, real)| real.wrapping_add(val.wrapping_sub(script)));
        self.sent.get(&val).copied().or_else(near)
    }

    /// `segment` in the script's numbers.
    pub fn in_script(&self, segment: &OnWire) -> SegmentSpec {
        // A RST of a host without a socket begins at 0, not at a number of the connection. [rfc9293 §3.10.7.1]
        let stateless = segment.flags.has(Flags::RST) && segment.seq == 0;
        let options = segment.options.iter().map(|option| match option {
            TcpOption::Timestamp { val, ecr } => {
                let val =
                    self.first.map_or(*val, |(script, real)| script.wrapping_add(val.wrapping_sub(real)));
                TcpOption::Timestamp { val, ecr: *ecr }
            }
            other => other.clone(),
        });
        SegmentSpec {
            ecn: segment.ecn,
            flags: segment.flags,
            seq: if stateless { 0 } else { self.script(segment.seq) },
            length: segment.length,
            ack: segment.flags.has(Flags::ACK).then_some(segment.ack),
            window: Some(segment.window.into()),
            options: OptionsSpec::Exactly(options.collect()),
        }
    }

    /// The packet of a segment that arrives.
    pub fn packet(
        &self,
        spec: &SegmentSpec,
        addresses: Addresses,
        ports: Ports,
        gso_size: Option<u16>,
    ) -> Result<Vec<u8>, String> {
        let options = self.option_octets(spec)?;
        let header = TCP + options.len();
        if header > 60 {
            return Err("the options of this segment take more than 40 octets".to_owned());
        }
        let total = IPV4 + header + spec.length as usize;
        let total = u16::try_from(total).map_err(|_| "a packet has 65535 octets at most".to_owned())?;
        let gso_size = gso_size.filter(|size| spec.length > u32::from(*size));
        let mut packet = virtio(gso_size);
        packet.extend(ipv4(total, ecn_bits(spec.ecn), addresses));
        let mut tcp = self.tcp(spec, ports, header);
        tcp.extend(options);
        tcp.resize(header + spec.length as usize, 0);
        let pseudo = pseudo_header(addresses, tcp.len() as u16);
        let sum = checksum(&pseudo, &tcp);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        packet.extend(tcp);
        Ok(packet)
    }

    fn tcp(&self, spec: &SegmentSpec, ports: Ports, header: usize) -> Vec<u8> {
        let ack = if spec.flags.has(Flags::ACK) { self.real(spec.ack.unwrap_or(0)) } else { 0 };
        let window = spec.window.unwrap_or(0).min(65_535) as u16;
        let mut tcp = Vec::with_capacity(header);
        tcp.extend(ports.remote.to_be_bytes());
        tcp.extend(ports.local.to_be_bytes());
        tcp.extend(spec.seq.to_be_bytes());
        tcp.extend(ack.to_be_bytes());
        let [high, low] = spec.flags.0.to_be_bytes();
        tcp.extend([((header as u8 / 4) << 4) | high, low]);
        tcp.extend(window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp
    }

    fn option_octets(&self, spec: &SegmentSpec) -> Result<Vec<u8>, String> {
        let OptionsSpec::Exactly(options) = &spec.options else {
            return Err("a segment that arrives needs its options".to_owned());
        };
        let mut octets = Vec::new();
        for option in options {
            match option {
                TcpOption::Eol => octets.push(0),
                TcpOption::Nop => octets.push(1),
                TcpOption::Mss(mss) => {
                    octets.extend([2, 4]);
                    octets.extend(mss.to_be_bytes());
                }
                TcpOption::WindowScale(scale) => octets.extend([3, 3, *scale]),
                TcpOption::SackPermitted => octets.extend([4, 2]),
                TcpOption::Sack(blocks) => {
                    octets.extend([5, 2 + 8 * blocks.len() as u8]);
                    let edges = blocks.iter().flat_map(|(start, end)| [*start, *end]);
                    edges.for_each(|edge| octets.extend(self.real(edge).to_be_bytes()));
                }
                TcpOption::Timestamp { val, ecr } => {
                    octets.extend([8, 10]);
                    octets.extend(val.to_be_bytes());
                    octets.extend(self.echo(spec, *ecr)?.to_be_bytes());
                }
                TcpOption::AccEcn { kind, fields } => {
                    octets.extend([*kind, 2 + 3 * fields.len() as u8]);
                    fields.iter().for_each(|field| octets.extend(&field.to_be_bytes()[1..]));
                }
                TcpOption::Unknown { kind, .. } => {
                    return Err(format!("the TCP option {kind} cannot be injected"));
                }
            }
        }
        octets.resize(octets.len().next_multiple_of(4), 0);
        Ok(octets)
    }

    fn echo(&self, spec: &SegmentSpec, ecr: u32) -> Result<u32, String> {
        if !spec.flags.has(Flags::ACK) {
            return Ok(0);
        }
        let unknown = || format!("TS ecr {ecr} echoes no timestamp that the script has expected");
        self.real_timestamp(ecr).ok_or_else(unknown)
    }
}

/// Neither the length of the headers nor a partial checksum is given: `tun` would then store the payload in separate
/// pages, and windows would differ from those that packetdrill scripts expect.
fn virtio(gso_size: Option<u16>) -> Vec<u8> {
    let mut header = vec![0; VIRTIO];
    if let Some(size) = gso_size {
        header[1] = VIRTIO_GSO_TCPV4;
        header[4..6].copy_from_slice(&size.to_ne_bytes());
    }
    header
}

fn ipv4(total: u16, ecn: u8, addresses: Addresses) -> Vec<u8> {
    let mut header = vec![0x45, ecn];
    header.extend(total.to_be_bytes());
    // No identification; not to be fragmented; 255 hops.
    header.extend([0, 0, 0x40, 0, 255, PROTOCOL_TCP, 0, 0]);
    header.extend(addresses.remote.octets());
    header.extend(addresses.local.octets());
    let sum = checksum(&header, &[]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

fn pseudo_header(addresses: Addresses, length: u16) -> Vec<u8> {
    let mut header = addresses.remote.octets().to_vec();
    header.extend(addresses.local.octets());
    header.extend([0, PROTOCOL_TCP]);
    header.extend(length.to_be_bytes());
    header
}

/// The checksum of the Internet over two pieces, the first of an even length. [rfc1071]
fn checksum(first: &[u8], second: &[u8]) -> u16 {
    let words = first.chunks(2).chain(second.chunks(2));
    let sum: u64 =
        words.map(|word| u64::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]))).sum();
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

fn ecn_bits(ecn: EcnSpec) -> u8 {
    match ecn {
        EcnSpec::Unchecked | EcnSpec::NotEct => 0,
        EcnSpec::Ect1 => 1,
        EcnSpec::Ect0 | EcnSpec::Ect01 => 2,
        EcnSpec::Ce => 3,
    }
}

/// The TCP segment in a packet of the device, with its ports; `None` if it is something else.
pub fn segment(packet: &[u8]) -> Option<(Ports, OnWire)> {
    let ip = packet.get(VIRTIO..)?;
    if ip.len() < IPV4 || ip[0] >> 4 != 4 || ip[9] != PROTOCOL_TCP {
        return None;
    }
    let tcp = ip.get(usize::from(ip[0] & 15) * 4..)?;
    let header = usize::from(tcp.get(12)? >> 4) * 4;
    let payload = tcp.len().checked_sub(header).filter(|_| header >= TCP)?;
    let short = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    let long = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
    let ecn = match ip[1] & 3 {
        0 => EcnSpec::NotEct,
        1 => EcnSpec::Ect1,
        2 => EcnSpec::Ect0,
        _ => EcnSpec::Ce,
    };
    let segment = OnWire {
        flags: Flags(u16::from_be_bytes([tcp[12] & 1, tcp[13]])),
        seq: long(4),
        length: payload as u32,
        ack: long(8),
        window: short(14),
        ecn,
        options: options(&tcp[TCP..header])?,
    };
    Some((Ports { local: short(0), remote: short(2) }, segment))
}

fn options(mut octets: &[u8]) -> Option<Vec<TcpOption>> {
    let mut found = Vec::new();
    while let Some(&kind) = octets.first() {
        if kind < 2 {
            found.push(if kind == 0 { TcpOption::Eol } else { TcpOption::Nop });
            octets = &octets[1..];
            continue;
        }
        let length = usize::from(*octets.get(1)?);
        let value = octets.get(2..length)?;
        let long = |at: usize| Some(u32::from_be_bytes(value.get(at..at + 4)?.try_into().ok()?));
        found.push(match kind {
            2 => TcpOption::Mss(u16::from_be_bytes(value.try_into().ok()?)),
            3 => TcpOption::WindowScale(*value.first()?),
            4 => TcpOption::SackPermitted,
            5 => {
                let blocks = (0..value.len() / 8).map(|block| Some((long(block * 8)?, long(block * 8 + 4)?)));
                TcpOption::Sack(blocks.collect::<Option<_>>()?)
            }
            8 => TcpOption::Timestamp { val: long(0)?, ecr: long(4)? },
            172 | 174 => {
                let counters = value.chunks_exact(3);
                let number = |octets: &[u8]| u32::from_be_bytes([0, octets[0], octets[1], octets[2]]);
                TcpOption::AccEcn { kind, fields: counters.map(number).collect() }
            }
            kind => TcpOption::Unknown { kind, length: length as u8 },
        });
        octets = &octets[length..];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESSES: Addresses =
        Addresses { local: Ipv4Addr::new(192, 168, 0, 1), remote: Ipv4Addr::new(192, 0, 2, 1) };
    const PORTS: Ports = Ports { local: 8080, remote: 5000 };

    fn spec(flags: Flags, options: Vec<TcpOption>) -> SegmentSpec {
        SegmentSpec {
            ecn: EcnSpec::Ect0,
            flags,
            seq: 1,
            length: 1000,
            ack: Some(1001),
            window: Some(64),
            options: OptionsSpec::Exactly(options),
        }
    }

    fn syn(seq: u32, stamp: u32) -> OnWire {
        OnWire {
            flags: Flags::SYN,
            seq,
            length: 0,
            ack: 0,
            window: 0,
            ecn: EcnSpec::NotEct,
            options: vec![TcpOption::Timestamp { val: stamp, ecr: 0 }],
        }
    }

    /// The ports and the segment of a packet as if the side under test had sent it.
    fn turned(packet: &[u8]) -> (Ports, OnWire) {
        let (ports, segment) = segment(packet).expect("it is a segment of TCP");
        (Ports { local: ports.remote, remote: ports.local }, segment)
    }

    #[test]
    fn a_segment_is_written_with_good_checksums_and_read_back() {
        let options = vec![TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(vec![(8, 9)])];
        let spec = spec(Flags::PSH.with(Flags::ACK), options);
        let packet = Translation::default().packet(&spec, ADDRESSES, PORTS, None).expect("it fits");
        assert_eq!(checksum(&packet[VIRTIO..VIRTIO + IPV4], &[]), 0);
        let tcp = &packet[VIRTIO + IPV4..];
        assert_eq!(checksum(&pseudo_header(ADDRESSES, tcp.len() as u16), tcp), 0);
        let (ports, found) = turned(&packet);
        assert_eq!((ports, Translation::default().in_script(&found)), (PORTS, spec));
    }

    #[test]
    fn numbers_of_the_side_under_test_are_translated_both_ways() {
        let mut translation = Translation::default();
        translation.departed(&syn(4_000_000_000, 77));
        let expected =
            SegmentSpec { seq: 0, ..spec(Flags::SYN, vec![TcpOption::Timestamp { val: 100, ecr: 0 }]) };
        translation.expected(&expected, &syn(4_000_000_000, 77));
        let sack = TcpOption::Sack(vec![(2001, 3001)]);
        let arriving = spec(Flags::ACK, vec![TcpOption::Timestamp { val: 5, ecr: 103 }, sack]);
        let packet = translation.packet(&arriving, ADDRESSES, PORTS, None).expect("it fits");
        let (_, found) = turned(&packet);
        assert_eq!(found.ack, 4_000_001_001);
        assert_eq!(found.timestamp(), Some((5, 80)));
        assert!(found.options.contains(&TcpOption::Sack(vec![(4_000_002_001, 4_000_003_001)])));
        let left = OnWire { seq: 4_000_001_001, ..syn(0, 90) };
        assert_eq!(translation.in_script(&left).seq, 1001);
    }

    #[test]
    fn a_segment_longer_than_the_given_mss_arrives_as_several_joined() {
        let packet = Translation::default()
            .packet(&spec(Flags::ACK, Vec::new()), ADDRESSES, PORTS, Some(500))
            .expect("it fits");
        assert_eq!(packet[..2], [0, VIRTIO_GSO_TCPV4]);
        assert_eq!(u16::from_ne_bytes([packet[4], packet[5]]), 500);
    }

    #[test]
    fn a_packet_that_is_not_tcp_is_ignored() {
        assert_eq!(segment(&[0; 5]), None);
        let mut packet = Translation::default()
            .packet(&spec(Flags::ACK, Vec::new()), ADDRESSES, PORTS, None)
            .expect("it fits");
        packet[VIRTIO + 9] = 17;
        assert_eq!(segment(&packet), None);
    }
}
