//! A Wi-Fi cell over nl80211: the interface of an access point, and the association of its stations.
//!
//! ```text
//! access point: SET_INTERFACE, START_AP ─ REGISTER_FRAME (authentication, association request)
//! station: CONNECT ─▶ authentication ◀─ FRAME: open system ─▶ association request ◀─ NEW_STATION, FRAME: response
//! ```
//! The agent does for an access point what hostapd does, and as much as an open network needs; stations associate by the
//! kernel's own state machine (cfg80211 and mac80211). There are no keys.
//! [linux-6.12 include/uapi/linux/nl80211.h] [ieee80211-2016 §9.3.3, §9.4.2]

use std::io;
use std::os::fd::OwnedFd;

use crate::failure::{Failure, While};
use crate::job::{Cell, Standard};
use crate::sys;

const CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;
const NETLINK_ADD_MEMBERSHIP: i32 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const DUMP: u16 = 0x300;

const CMD_SET_INTERFACE: u8 = 6;
const CMD_START_AP: u8 = 15;
const CMD_GET_STATION: u8 = 17;
const CMD_NEW_STATION: u8 = 19;
const CMD_CONNECT: u8 = 46;
const CMD_REGISTER_FRAME: u8 = 58;
const CMD_FRAME: u8 = 59;

const IFINDEX: u16 = 3;
const IFTYPE: u16 = 5;
const MAC: u16 = 6;
const BEACON_INTERVAL: u16 = 12;
const DTIM_PERIOD: u16 = 13;
const BEACON_HEAD: u16 = 14;
const BEACON_TAIL: u16 = 15;
const STA_AID: u16 = 16;
const STA_LISTEN_INTERVAL: u16 = 18;
const STA_SUPPORTED_RATES: u16 = 19;
const STA_INFO: u16 = 21;
/// In `STA_INFO`. [nl80211.h nl80211_sta_info]
const TID_STATS: u16 = 31;
/// In each of `TID_STATS`. [nl80211.h nl80211_tid_stats]
const TXQ_STATS: u16 = 6;
/// In `TXQ_STATS`. [nl80211.h nl80211_txq_stats]
const DROPS: u16 = 4;
const ECN_MARKS: u16 = 5;
const OVERLIMIT: u16 = 6;
/// [linux-6.12 include/net/fq_impl.h fq_flow_drop]
const BATCH: u64 = 32;
const HT_CAPABILITY: u16 = 31;
const WIPHY_FREQ: u16 = 38;
const FRAME: u16 = 51;
const SSID: u16 = 52;
const AUTH_TYPE: u16 = 53;
const STA_FLAGS2: u16 = 67;
const STATUS_CODE: u16 = 72;
const FRAME_MATCH: u16 = 91;
const FRAME_TYPE: u16 = 101;
const STA_WME: u16 = 129;
const VHT_CAPABILITY: u16 = 157;
const CHANNEL_WIDTH: u16 = 159;
const CENTER_FREQ1: u16 = 160;

const ACCESS_POINT: u32 = 3;
const OPEN_SYSTEM: u32 = 0;
/// [nl80211.h nl80211_chan_width]
const WIDTH_20: u32 = 1;
const WIDTH_40: u32 = 2;
const WIDTH_80: u32 = 3;
const WIDTH_160: u32 = 5;
/// Authorized, WME, authenticated, associated. [nl80211.h nl80211_sta_flags]
const MEMBER: u32 = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 7;

const ASSOCIATION_REQUEST: u16 = 0x00;
const ASSOCIATION_RESPONSE: u16 = 0x10;
const BEACON: u16 = 0x80;
const AUTHENTICATION: u16 = 0xb0;
/// Bytes of the header of a management frame.
const HEADER: usize = 24;
/// Bytes before the elements of an association request: header, capabilities, listen interval.
const REQUESTED: usize = HEADER + 4;
/// The numbers of these elements.
const HT_CAPABILITIES: u8 = 45;
const HT_OPERATION: u8 = 61;
const VHT_CAPABILITIES: u8 = 191;
const VHT_OPERATION: u8 = 192;
const VENDOR: u8 = 221;

const NAME: &[u8] = b"tailback";
/// 6 to 54 Mbit/s; 6, 12 and 24 are basic.
const RATES: [u8; 8] = [0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c];
/// Time units of 1.024 ms between beacons.
const INTERVAL: u16 = 100;
const ROOM: usize = 1 << 16;
/// Virtual time after which an answer that has not come will not.
const PATIENCE_S: i64 = 5;

/// Makes the cell: its access point first, then each station in turn.
pub fn associate(cell: &Cell, within: &Within<'_>) -> Result<(), Failure> {
    let mut started = None;
    within(cell.access_point.host, &mut || {
        started = Some(AccessPoint::start(cell)?);
        Ok(())
    })?;
    let mut access_point = started.ok_or_else(|| Failure::new("the access point has not started"))?;
    // Sockets of different namespaces have the same port, and cfg80211 forgets what one of them has registered when
    // another one is closed: the frames that the access point is to get. [linux-6.12 nl80211.c nl80211_netlink_notify]
    let mut open = Vec::with_capacity(cell.stations.len());
    for (place, station) in cell.stations.iter().enumerate() {
        let doing = || format!("associating {}, station {} of its cell", station.address, place + 1);
        let mut started = None;
        within(station.host, &mut || {
            started = Some(Joining::start(cell, place).doing(doing())?);
            Ok(())
        })?;
        access_point.admit(place).doing(doing())?;
        if let Some(mut joining) = started {
            joining.wait().doing(doing())?;
            open.push(joining);
        }
    }
    Ok(())
}

/// Calls a function in the namespace of a host.
pub type Within<'a> = dyn Fn(usize, &mut dyn FnMut() -> Result<(), Failure>) -> Result<(), Failure> + 'a;

struct AccessPoint<'a> {
    cell: &'a Cell,
    address: [u8; 6],
    index: u32,
    socket: Nl80211,
}

impl<'a> AccessPoint<'a> {
    fn start(cell: &'a Cell) -> Result<Self, Failure> {
        let device = &cell.access_point.device;
        let doing = || format!("starting the access point {device}");
        let started = Self::started(cell).doing(doing())?;
        Ok(started)
    }

    fn started(cell: &'a Cell) -> io::Result<Self> {
        let index = sys::interface_index(&cell.access_point.device)?;
        let mut socket = Nl80211::open()?;
        let mode = Attributes::default().word(IFINDEX, index).word(IFTYPE, ACCESS_POINT);
        socket.request(CMD_SET_INTERFACE, &mode)?;
        sys::set_up(&cell.access_point.device)?;
        for kind in [AUTHENTICATION, ASSOCIATION_REQUEST] {
            let frames =
                Attributes::default().word(IFINDEX, index).half(FRAME_TYPE, kind).bytes(FRAME_MATCH, &[]);
            socket.request(CMD_REGISTER_FRAME, &frames)?;
        }
        let address = address_of(&cell.access_point.address)?;
        socket.request(CMD_START_AP, &beacon(cell, index, address))?;
        Ok(AccessPoint { cell, address, index, socket })
    }

    /// Answers the frames of the station in this place until it is a member.
    fn admit(&mut self, place: usize) -> io::Result<()> {
        let station = address_of(&self.cell.stations[place].address)?;
        loop {
            let (command, attributes) = self.socket.event()?;
            let Some(frame) = attribute(&attributes, FRAME).filter(|frame| frame.len() >= HEADER) else {
                continue;
            };
            if command != CMD_FRAME || frame[10..16] != station {
                continue;
            }
            match u16::from_le_bytes([frame[0], frame[1]]) & 0xfc {
                // Open system, the second of two, successful.
                AUTHENTICATION => self.send(station, AUTHENTICATION, &[0, 0, 2, 0, 0, 0])?,
                ASSOCIATION_REQUEST => return self.add(place, station, frame),
                _ => {}
            }
        }
    }

    fn add(&mut self, place: usize, station: [u8; 6], request: &[u8]) -> io::Result<()> {
        let number = place as u16 + 1;
        let capabilities = |kind, name| {
            let missing = || io::Error::other(format!("its association request has no {name} capabilities"));
            find_element(request.get(REQUESTED..).unwrap_or_default(), kind).ok_or_else(missing)
        };
        let mut member = Attributes::default()
            .word(IFINDEX, self.index)
            .bytes(MAC, &station)
            .half(STA_LISTEN_INTERVAL, 1)
            .bytes(STA_SUPPORTED_RATES, &RATES)
            .half(STA_AID, number)
            .bytes(HT_CAPABILITY, capabilities(HT_CAPABILITIES, "HT")?)
            .bytes(STA_FLAGS2, &[MEMBER.to_ne_bytes(), MEMBER.to_ne_bytes()].concat())
            // Without queues for U-APSD.
            .bytes(STA_WME, &Attributes::default().byte(1, 0).byte(2, 0).0);
        if self.cell.standard == Standard::Vht {
            member = member.bytes(VHT_CAPABILITY, capabilities(VHT_CAPABILITIES, "VHT")?);
        }
        self.socket.request(CMD_NEW_STATION, &member)?;
        let fixed = [1, 0, 0, 0].into_iter().chain((0xc000 | number).to_le_bytes());
        let answer: Vec<u8> = fixed.chain(element(1, &RATES)).chain(elements(self.cell)).collect();
        self.send(station, ASSOCIATION_RESPONSE, &answer)
    }

    fn send(&mut self, to: [u8; 6], kind: u16, body: &[u8]) -> io::Result<()> {
        let frame = [&header(kind, to, self.address)[..], body].concat();
        let attributes = Attributes::default()
            .word(IFINDEX, self.index)
            .word(WIPHY_FREQ, self.cell.frequency)
            .bytes(FRAME, &frame);
        self.socket.request(CMD_FRAME, &attributes)
    }
}

/// A station that is associating.
struct Joining {
    socket: Nl80211,
}

impl Joining {
    fn start(cell: &Cell, place: usize) -> io::Result<Self> {
        let station = &cell.stations[place];
        let mut socket = Nl80211::open()?;
        socket.listen("mlme")?;
        sys::set_up(&station.device)?;
        let network = Attributes::default()
            .word(IFINDEX, sys::interface_index(&station.device)?)
            .bytes(SSID, NAME)
            .bytes(MAC, &address_of(&cell.access_point.address)?)
            .word(WIPHY_FREQ, cell.frequency)
            .word(AUTH_TYPE, OPEN_SYSTEM);
        socket.request(CMD_CONNECT, &network)?;
        Ok(Joining { socket })
    }

    fn wait(&mut self) -> io::Result<()> {
        loop {
            let (command, attributes) = self.socket.event()?;
            if command == CMD_CONNECT {
                let status = attribute(&attributes, STATUS_CODE).and_then(|code| code.first_chunk());
                return match status.copied().map(u16::from_ne_bytes) {
                    Some(0) => Ok(()),
                    Some(status) => {
                        Err(io::Error::other(format!("the kernel ended it with the status {status}")))
                    }
                    None => Err(io::Error::other("the kernel ended it without a status")),
                };
            }
        }
    }
}

/// What mac80211 has counted in its queues above a radio, those of all its stations and traffic identifiers together,
/// since the stations associated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueCounts {
    /// Packets that CoDel dropped.
    pub dropped: u64,
    /// Packets that were dropped from the longest queue when there were too many: mac80211 counts how often it did so,
    /// [`BATCH`] at once if that queue has twice as many.
    pub overlimit: u64,
    /// Packets that CoDel marked.
    pub marked: u64,
}

/// Reads the counters of one radio.
pub struct QueueReader {
    socket: Nl80211,
    index: u32,
}

impl QueueReader {
    /// Of the device with this number in the namespace of the calling thread.
    pub fn open(index: u32) -> io::Result<Self> {
        Ok(QueueReader { socket: Nl80211::open()?, index })
    }

    /// The counters now.
    pub fn read(&mut self) -> io::Result<QueueCounts> {
        let stations = self.socket.dump(CMD_GET_STATION, &Attributes::default().word(IFINDEX, self.index))?;
        Ok(stations.iter().map(|station| counted(station)).fold(QueueCounts::default(), |sum, each| {
            QueueCounts {
                dropped: sum.dropped + each.dropped,
                overlimit: sum.overlimit + each.overlimit,
                marked: sum.marked + each.marked,
            }
        }))
    }
}

/// The counters of the queues for one station.
fn counted(station: &[u8]) -> QueueCounts {
    let info = attribute(station, STA_INFO).unwrap_or_default();
    let mut counts = QueueCounts::default();
    for (_, category) in each(attribute(info, TID_STATS).unwrap_or_default()) {
        let queue = attribute(category, TXQ_STATS).unwrap_or_default();
        let number = |kind| {
            let value = attribute(queue, kind).and_then(|value| value.first_chunk());
            u64::from(value.map_or(0, |value| u32::from_ne_bytes(*value)))
        };
        counts.dropped += number(DROPS);
        counts.overlimit += number(OVERLIMIT) * BATCH;
        counts.marked += number(ECN_MARKS);
    }
    counts
}

fn beacon(cell: &Cell, index: u32, address: [u8; 6]) -> Attributes {
    // The time stamp is filled in by the driver; it is an access point.
    let fixed = [0; 8].into_iter().chain(INTERVAL.to_le_bytes()).chain([1, 0]);
    let head = header(BEACON, [0xff; 6], address).into_iter().chain(fixed);
    let head: Vec<u8> = head.chain(element(0, NAME)).chain(element(1, &RATES)).collect();
    let width = match cell.width {
        160 => WIDTH_160,
        80 => WIDTH_80,
        40 => WIDTH_40,
        _ => WIDTH_20,
    };
    Attributes::default()
        .word(IFINDEX, index)
        .bytes(BEACON_HEAD, &head)
        .bytes(BEACON_TAIL, &elements(cell))
        .word(BEACON_INTERVAL, u32::from(INTERVAL))
        .word(DTIM_PERIOD, 2)
        .bytes(SSID, NAME)
        .word(AUTH_TYPE, OPEN_SYSTEM)
        .word(WIPHY_FREQ, cell.frequency)
        .word(CHANNEL_WIDTH, width)
        .word(CENTER_FREQ1, center(cell.frequency, cell.width))
}

/// The middle of so many MHz whose lowest 20 MHz are at this frequency.
fn center(lowest: u32, width: u32) -> u32 {
    lowest + (width - 20) / 2
}

/// The number of a channel at this frequency.
fn channel(frequency: u32) -> u8 {
    ((frequency - 5000) / 5) as u8
}

fn header(kind: u16, to: [u8; 6], access_point: [u8; 6]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &[0; 2], &to, &access_point, &access_point, &[0; 2]].concat()
}

fn element(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number, content.len() as u8], content].concat()
}

/// The content of an element of a management frame.
fn find_element(mut elements: &[u8], wanted: u8) -> Option<&[u8]> {
    while let [number, length, rest @ ..] = elements {
        let (content, others) = rest.split_at_checked(usize::from(*length))?;
        if *number == wanted {
            return Some(content);
        }
        elements = others;
    }
    None
}

/// HT capabilities: 40 MHz, no power save, both guard intervals, 64 KiB per aggregate, four streams. The radio of each end
/// has less, and mac80211 takes what both have.
fn ht_capabilities() -> Vec<u8> {
    let mut content = vec![0; 26];
    content[..7].copy_from_slice(&[0x6e, 0x00, 0x03, 0xff, 0xff, 0xff, 0xff]);
    content[15] = 1;
    content
}

/// VHT capabilities: 160 MHz, both guard intervals, 1 MiB per aggregate, MCS 0 to 9 of eight streams in each direction.
/// The radio of each end has less, as above.
fn vht_capabilities() -> Vec<u8> {
    vec![0x64, 0x00, 0x80, 0x03, 0xaa, 0xaa, 0, 0, 0xaa, 0xaa, 0, 0]
}

/// The channel of a cell beyond 40 MHz: that of 80 MHz, and of 160 MHz if it has so many. Every station has MCS 0 to 7 of
/// one stream.
fn vht_operation(cell: &Cell) -> Vec<u8> {
    let middle = |width| if cell.width >= width { channel(center(cell.frequency, width)) } else { 0 };
    vec![u8::from(cell.width >= 80), middle(80), middle(160), 0xfc, 0xff]
}

/// The elements of 802.11n and of WMM, and of 802.11ac in cells of it.
fn elements(cell: &Cell) -> Vec<u8> {
    let mut operation = [0; 22];
    operation[0] = channel(cell.frequency);
    // The second 20 MHz are above.
    operation[1] = if cell.width >= 40 { 5 } else { 0 };
    // The contention of the air is its own; these are the parameters of the standard.
    let wmm = [
        0x00, 0x50, 0xf2, 2, 1, 1, 0, 0, 0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 0x5e, 0, 0x62, 0x32,
        0x2f, 0,
    ];
    let mut all = [element(HT_CAPABILITIES, &ht_capabilities()), element(HT_OPERATION, &operation)].concat();
    if cell.standard == Standard::Vht {
        all.extend(element(VHT_CAPABILITIES, &vht_capabilities()));
        all.extend(element(VHT_OPERATION, &vht_operation(cell)));
    }
    all.extend(element(VENDOR, &wmm));
    all
}

fn address_of(text: &str) -> io::Result<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let wrong = || io::Error::other(format!("`{text}` is no hardware address"));
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(wrong)
}

/// Attributes of a message.
#[derive(Default)]
struct Attributes(Vec<u8>);

impl Attributes {
    fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend((value.len() as u16 + 4).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn byte(self, kind: u16, value: u8) -> Self {
        self.bytes(kind, &[value])
    }

    fn half(self, kind: u16, value: u16) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }

    fn word(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_ne_bytes())
    }
}

/// A generic netlink socket to nl80211, in the namespace of the thread that opened it.
struct Nl80211 {
    socket: OwnedFd,
    family: u16,
    groups: Vec<u8>,
    /// Events that came while an answer was awaited.
    waiting: std::collections::VecDeque<(u8, Vec<u8>)>,
}

impl Nl80211 {
    fn open() -> io::Result<Self> {
        let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_GENERIC)?;
        sys::limit_waiting(&socket, PATIENCE_S)?;
        let mut opened = Self { socket, family: CTRL, groups: Vec::new(), waiting: Default::default() };
        opened
            .request(CTRL_CMD_GETFAMILY, &Attributes::default().bytes(CTRL_ATTR_FAMILY_NAME, b"nl80211\0"))?;
        let missing = || io::Error::other("the kernel has no nl80211");
        let (_, family) = opened.waiting.pop_front().ok_or_else(missing)?;
        let number = attribute(&family, CTRL_ATTR_FAMILY_ID).and_then(|number| number.first_chunk());
        opened.family = u16::from_ne_bytes(*number.ok_or_else(missing)?);
        opened.groups = attribute(&family, CTRL_ATTR_MCAST_GROUPS).unwrap_or_default().to_vec();
        Ok(opened)
    }

    /// Receives the events of a group.
    fn listen(&mut self, group: &str) -> io::Result<()> {
        let found = each(&self.groups).find_map(|(_, one)| {
            let name = attribute(one, CTRL_ATTR_MCAST_GRP_NAME)?;
            let number = attribute(one, CTRL_ATTR_MCAST_GRP_ID)?;
            (name.strip_suffix(&[0]) == Some(group.as_bytes())).then(|| number.first_chunk().copied())?
        });
        let number = found.ok_or_else(|| io::Error::other(format!("nl80211 has no group {group}")))?;
        sys::set_option(&self.socket, libc::SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, u32::from_ne_bytes(number))
    }

    /// Sends a request, and waits until the kernel has executed it.
    fn request(&mut self, command: u8, attributes: &Attributes) -> io::Result<()> {
        self.send(command, REQUEST | ACKNOWLEDGE, attributes)?;
        while !self.receive()? {}
        Ok(())
    }

    /// The attributes of each of several answers.
    fn dump(&mut self, command: u8, attributes: &Attributes) -> io::Result<Vec<Vec<u8>>> {
        self.send(command, REQUEST | DUMP, attributes)?;
        while !self.receive()? {}
        Ok(self.waiting.drain(..).map(|(_, attributes)| attributes).collect())
    }

    fn send(&mut self, command: u8, flags: u16, attributes: &Attributes) -> io::Result<()> {
        let length = 20 + attributes.0.len() as u32;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(self.family.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]);
        message.extend([command, 1, 0, 0]);
        message.extend(&attributes.0);
        sys::send(&self.socket, &message).map(drop)
    }

    /// The next event: its command and its attributes.
    fn event(&mut self) -> io::Result<(u8, Vec<u8>)> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(event);
            }
            self.receive()?;
        }
    }

    /// Reads what has come; true if there was an acknowledgement, or the end of a dump.
    fn receive(&mut self) -> io::Result<bool> {
        let mut buffer = vec![0; ROOM];
        let length = sys::receive(&self.socket, &mut buffer)?;
        let mut messages = &buffer[..length];
        let mut acknowledged = false;
        while messages.len() >= 20 {
            let length = u32::from_ne_bytes([messages[0], messages[1], messages[2], messages[3]]) as usize;
            let length = length.clamp(20, messages.len());
            let kind = u16::from_ne_bytes([messages[4], messages[5]]);
            if kind == NLMSG_ERROR || kind == NLMSG_DONE {
                let code = i32::from_ne_bytes([messages[16], messages[17], messages[18], messages[19]]);
                if code != 0 {
                    return Err(io::Error::from_raw_os_error(-code));
                }
                acknowledged = true;
            } else {
                self.waiting.push_back((messages[16], messages[20..length].to_vec()));
            }
            messages = &messages[length.next_multiple_of(4).min(messages.len())..];
        }
        Ok(acknowledged)
    }
}

fn attribute(attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    each(attributes).find_map(|(kind, value)| (kind == wanted).then_some(value))
}

fn each(mut attributes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head: [u8; 4] = *attributes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]])).clamp(4, attributes.len());
        let found = (u16::from_ne_bytes([head[2], head[3]]) & 0x3fff, &attributes[4..length]);
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::WirelessDevice;

    #[test]
    fn attributes_are_read_as_they_were_written() {
        let written = Attributes::default().half(STA_AID, 7).bytes(SSID, NAME).word(IFINDEX, 3);
        assert_eq!(attribute(&written.0, STA_AID), Some(&7_u16.to_ne_bytes()[..]));
        assert_eq!(attribute(&written.0, SSID), Some(NAME));
        assert_eq!(attribute(&written.0, IFINDEX), Some(&3_u32.to_ne_bytes()[..]));
        assert_eq!(attribute(&written.0, MAC), None);
    }

    #[test]
    fn the_counters_of_a_station_are_the_sum_of_those_of_its_queues() {
        let queue = |dropped, marked| {
            let counts =
                Attributes::default().word(DROPS, dropped).word(OVERLIMIT, 1).word(ECN_MARKS, marked);
            Attributes::default().bytes(TXQ_STATS, &counts.0)
        };
        let queues = Attributes::default().bytes(1, &queue(3, 5).0).bytes(2, &queue(4, 0).0);
        let info = Attributes::default().bytes(TID_STATS, &queues.0);
        let station = Attributes::default().word(IFINDEX, 2).bytes(STA_INFO, &info.0);
        assert_eq!(counted(&station.0), QueueCounts { dropped: 7, overlimit: 2 * BATCH, marked: 5 });
        assert_eq!(counted(&[]), QueueCounts::default());
    }

    #[test]
    fn elements_of_a_frame_have_the_lengths_of_the_standard() {
        assert_eq!(ht_capabilities().len(), 26);
        assert_eq!(header(BEACON, [0xff; 6], [2; 6]).len(), HEADER);
        assert_eq!(element(0, NAME)[..2], [0, 8]);
    }

    #[test]
    fn only_a_cell_of_802_11ac_has_its_elements_and_they_name_the_channel() {
        let device = || WirelessDevice { host: 0, device: "w0".into(), address: "02:00:01:00:00:00".into() };
        let cell = |standard, width| Cell {
            access_point: device(),
            stations: vec![device()],
            standard,
            frequency: 5180,
            width,
        };
        let narrow = elements(&cell(Standard::Ht, 40));
        assert_eq!(find_element(&narrow, VHT_CAPABILITIES), None);
        assert_eq!(find_element(&narrow, HT_OPERATION).unwrap()[..2], [36, 5]);
        for (width, of_80, of_160) in [(20, 0, 0), (40, 0, 0), (80, 42, 0), (160, 42, 50)] {
            let wide = elements(&cell(Standard::Vht, width));
            assert_eq!(find_element(&wide, VHT_CAPABILITIES).unwrap().len(), 12);
            let beyond_40 = u8::from(width >= 80);
            assert_eq!(find_element(&wide, VHT_OPERATION).unwrap()[..3], [beyond_40, of_80, of_160]);
        }
    }

    #[test]
    fn an_element_is_found_behind_others() {
        let elements = [element(0, NAME), element(1, &RATES), element(HT_CAPABILITIES, &[7, 8])].concat();
        assert_eq!(find_element(&elements, HT_CAPABILITIES), Some(&[7, 8][..]));
        assert_eq!(find_element(&elements, 61), None);
        assert_eq!(find_element(&elements[..elements.len() - 1], HT_CAPABILITIES), None, "it is cut off");
    }

    #[test]
    fn an_address_has_six_bytes() {
        assert_eq!(address_of("02:00:00:00:01:fe").unwrap(), [2, 0, 0, 0, 1, 0xfe]);
        assert!(address_of("02:00").is_err());
    }
}
