//! Reads the counters of queue disciplines over rtnetlink: what `tc -s qdisc` prints, without a process per sample.
//!
//! [linux-6.12 include/uapi/linux/rtnetlink.h, pkt_sched.h, gen_stats.h]
//! A message is a header of 16 bytes, a `tcmsg` of 20, and attributes (length u16, type u16, value, aligned to 4).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};

use crate::sys;

const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Flags of a request for all there are.
pub const REQUEST_AND_DUMP: u16 = 0x301;
const REQUEST_AND_ACKNOWLEDGE: u16 = 5;
const HEADER: usize = 16;
const TCMSG: usize = 20;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// The attribute holds others, which newer disciplines want to be told. [linux-7.3 netlink.h nla_parse_nested]
const NESTED: u16 = 0x8000;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const TCA_CAKE_STATS_TIN_STATS: u16 = 10;
const TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS: u16 = 8;

/// No parent: the handle alone finds a discipline. [linux-6.12 sch_api.c tc_modify_qdisc]
const NO_PARENT: u32 = 0;
/// Parent of a root discipline.
pub const ROOT: u32 = u32::MAX;

/// Largest answer of one `recv`; the kernel cuts dumps at 32 KiB.
const ROOM: usize = 1 << 16;

/// One discipline and its counters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Discipline {
    /// Number of its device.
    pub interface: u32,
    /// The handle of this discipline; the upper half names it.
    pub handle: u32,
    /// The handle of its parent class; `ROOT` for the root discipline.
    pub parent: u32,
    /// As `tc` calls it.
    pub kind: String,
    /// Frame bytes that left.
    pub sent_bytes: u64,
    /// Packets that left.
    pub sent_packets: u32,
    /// Packets held.
    pub backlog_packets: u32,
    /// Frame bytes held.
    pub backlog_bytes: u32,
    /// Packets dropped.
    pub dropped: u32,
    /// Packets put back.
    pub requeues: u32,
    /// Times a shaper had a packet but no tokens.
    pub overlimits: u32,
    /// Packets marked CE; `None` if the kind does not report them.
    pub marked: Option<u32>,
}

/// What a discipline says of itself that only those know who know its kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OwnWords {
    /// Number of its device.
    #[serde(skip)]
    pub interface: u32,
    /// The handle of this discipline.
    pub handle: u32,
    /// As `tc` calls it.
    pub kind: String,
    /// The content of `TCA_OPTIONS`.
    pub options: Vec<u8>,
    /// The content of `TCA_STATS_APP` of `TCA_STATS2`.
    pub statistics: Vec<u8>,
}

/// For each kind, where its counters of packets marked CE are. A missing kind does not report marks.
pub type Marks = BTreeMap<String, MarkCounters>;

/// Counters of 32 bits each; empty if the kind never marks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkCounters {
    /// The attribute that contains them.
    #[serde(rename = "in")]
    pub attribute: Attribute,
    /// The offset of each in the attribute.
    pub at: Vec<usize>,
}

/// An attribute of a discipline whose content depends on the kind.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attribute {
    /// `TCA_STATS_APP` of `TCA_STATS2`.
    Statistics,
    /// `TCA_OPTIONS`.
    Options,
    /// One attribute for each tin of CAKE in `TCA_STATS_APP`; the place of its counter is always the same.
    Tins,
}

/// A socket that reads the disciplines of one network namespace.
pub struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Netlink {
    /// A socket in the namespace of the calling thread.
    pub fn open() -> io::Result<Self> {
        let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        Ok(Self { socket, buffer: vec![0; ROOM] })
    }

    /// Changes a discipline of a device, wherever it is attached; `options` are its attributes.
    pub fn change(&mut self, interface: u32, handle: u32, kind: &str, options: &[u8]) -> io::Result<()> {
        let place = [0, interface, handle, NO_PARENT, 0].map(u32::to_ne_bytes).concat();
        let kind = attributed(TCA_KIND, &[kind.as_bytes(), &[0]].concat());
        let body = [place, kind, attributed(TCA_OPTIONS | NESTED, options)].concat();
        sys::send(&self.socket, &message(RTM_NEWQDISC, REQUEST_AND_ACKNOWLEDGE, &body))?;
        let length = sys::receive(&self.socket, &mut self.buffer)?;
        match u32_at(&self.buffer[..length], HEADER).cast_signed() {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error.abs())),
        }
    }

    /// All disciplines of the namespace.
    pub fn disciplines(&mut self, marks: &Marks) -> io::Result<Vec<Discipline>> {
        let mut found = Vec::new();
        self.dump(&mut |message| found.extend(discipline(message, marks)))?;
        Ok(found)
    }

    /// What the disciplines of the namespace say of themselves, in bytes that depend on their kinds.
    pub fn own_words(&mut self) -> io::Result<Vec<OwnWords>> {
        let mut found = Vec::new();
        self.dump(&mut |message| found.extend(own_words(message)))?;
        Ok(found)
    }

    fn dump(&mut self, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        sys::send(&self.socket, &request())?;
        loop {
            let length = sys::receive(&self.socket, &mut self.buffer)?;
            if read(&self.buffer[..length], visit)? == Dump::Ended {
                return Ok(());
            }
        }
    }
}

/// Whether a dump goes on after some messages.
#[derive(PartialEq, Eq)]
pub enum Dump {
    /// There are more.
    GoesOn,
    /// These were the last.
    Ended,
}

fn request() -> Vec<u8> {
    message(RTM_GETQDISC, REQUEST_AND_DUMP, &[0; TCMSG])
}

/// A message with its header.
pub fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = (HEADER + body.len()) as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend([kind.to_ne_bytes(), flags.to_ne_bytes()].concat());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// An attribute with its header, padded to whole words.
pub fn attributed(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [(value.len() as u16 + 4).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn read(messages: &[u8], visit: &mut dyn FnMut(&[u8])) -> io::Result<Dump> {
    read_as(RTM_NEWQDISC, messages, visit)
}

/// Visits the bodies of the messages of a kind.
pub fn read_as(wanted: u16, mut messages: &[u8], visit: &mut dyn FnMut(&[u8])) -> io::Result<Dump> {
    while messages.len() >= HEADER {
        let length = (u32_at(messages, 0) as usize).clamp(HEADER, messages.len());
        match u16_at(messages, 4) {
            NLMSG_DONE => return Ok(Dump::Ended),
            NLMSG_ERROR => {
                return Err(io::Error::from_raw_os_error((u32_at(messages, HEADER).cast_signed()).abs()));
            }
            kind if kind == wanted => visit(&messages[HEADER..length]),
            _ => {}
        }
        messages = &messages[length.next_multiple_of(4).min(messages.len())..];
    }
    Ok(Dump::GoesOn)
}

fn discipline(message: &[u8], marks: &Marks) -> Option<Discipline> {
    let attributes = message.get(TCMSG..)?;
    let kind = attribute(attributes, TCA_KIND)?;
    let statistics = attribute(attributes, TCA_STATS2)?;
    let kind = String::from_utf8_lossy(kind).trim_end_matches('\0').to_owned();
    let basic = attribute(statistics, TCA_STATS_BASIC).filter(|basic| basic.len() >= 12)?;
    let queue = attribute(statistics, TCA_STATS_QUEUE).filter(|queue| queue.len() >= 20)?;
    Some(Discipline {
        interface: u32_at(message, 4),
        handle: u32_at(message, 8),
        parent: u32_at(message, 12),
        marked: marks.get(&kind).and_then(|counters| {
            let own = attribute(statistics, TCA_STATS_APP);
            match counters.attribute {
                Attribute::Statistics => counters.sum(own.unwrap_or_default()),
                Attribute::Options => counters.sum(attribute(attributes, TCA_OPTIONS).unwrap_or_default()),
                Attribute::Tins => marks_of_tins(own.unwrap_or_default()),
            }
        }),
        kind,
        sent_bytes: u64::from(u32_at(basic, 0)) | u64::from(u32_at(basic, 4)) << 32,
        sent_packets: u32_at(basic, 8),
        backlog_packets: u32_at(queue, 0),
        backlog_bytes: u32_at(queue, 4),
        dropped: u32_at(queue, 8),
        requeues: u32_at(queue, 12),
        overlimits: u32_at(queue, 16),
    })
}

fn own_words(message: &[u8]) -> Option<OwnWords> {
    let attributes = message.get(TCMSG..)?;
    let kind = String::from_utf8_lossy(attribute(attributes, TCA_KIND)?).trim_end_matches('\0').to_owned();
    let statistics = attribute(attributes, TCA_STATS2).and_then(|found| attribute(found, TCA_STATS_APP));
    Some(OwnWords {
        interface: u32_at(message, 4),
        handle: u32_at(message, 8),
        kind,
        options: attribute(attributes, TCA_OPTIONS).unwrap_or_default().to_vec(),
        statistics: statistics.unwrap_or_default().to_vec(),
    })
}

impl MarkCounters {
    fn sum(&self, own: &[u8]) -> Option<u32> {
        self.at.iter().map(|&place| (own.len() >= place + 4).then(|| u32_at(own, place))).sum()
    }
}

/// The sum over all tins of CAKE; `None` if there are no tins.
fn marks_of_tins(own: &[u8]) -> Option<u32> {
    let tins = attribute(own, TCA_CAKE_STATS_TIN_STATS)?;
    each_attribute(tins)
        .map(|(_, tin)| {
            let marked = attribute(tin, TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS)?;
            (marked.len() >= 4).then(|| u32_at(marked, 0))
        })
        .sum()
}

/// The value of the first attribute of a kind.
pub fn attribute(attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    each_attribute(attributes).find_map(|(kind, value)| (kind == wanted).then_some(value))
}

/// The attributes with their types, without the flags for nesting and byte order.
fn each_attribute(mut attributes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        if attributes.len() < 4 {
            return None;
        }
        let length = usize::from(u16_at(attributes, 0)).clamp(4, attributes.len());
        let found = (u16_at(attributes, 2) & 0x3fff, &attributes[4..length]);
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
        Some(found)
    })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        super::message(kind, 0, body)
    }

    fn marks() -> Marks {
        let counters = |attribute, at: &[usize]| MarkCounters { attribute, at: at.to_vec() };
        Marks::from([
            ("pfifo".into(), counters(Attribute::Statistics, &[])),
            ("fq_codel".into(), counters(Attribute::Statistics, &[12, 28])),
            ("among_options".into(), counters(Attribute::Options, &[4, 12])),
            ("cake".into(), counters(Attribute::Tins, &[])),
        ])
    }

    #[test]
    fn counters_are_read_from_a_dump() {
        let mut statistics = attributed(TCA_STATS_BASIC, &words(&[3000, 1, 2, 0]));
        statistics.extend(attributed(TCA_STATS_QUEUE, &words(&[4, 6056, 7, 8, 9])));
        statistics.extend(attributed(TCA_STATS_APP, &words(&[0, 1514, 0, 5, 0, 0, 0, 6, 0, 0])));
        let mut body = words(&[0, 2, 0x2_0000, 0x1_0001, 1]);
        body.extend(attributed(TCA_KIND, b"fq_codel\0"));
        body.extend(attributed(TCA_STATS2, &statistics));
        let mut dump = message(RTM_NEWQDISC, &body);
        dump.extend(message(NLMSG_DONE, &[0; 4]));
        let mut found = Vec::new();
        let visited = read(&dump, &mut |message| found.extend(discipline(message, &marks()))).unwrap();
        assert!(visited == Dump::Ended);
        let expected = Discipline {
            interface: 2,
            handle: 0x2_0000,
            parent: 0x1_0001,
            kind: "fq_codel".into(),
            sent_bytes: (1 << 32) + 3000,
            sent_packets: 2,
            backlog_packets: 4,
            backlog_bytes: 6056,
            dropped: 7,
            requeues: 8,
            overlimits: 9,
            marked: Some(11),
        };
        assert_eq!(found, [expected]);
    }

    /// The marks of a discipline with these options and statistics of its own.
    fn marked(kind: &str, options: &[u8], own: &[u8]) -> Option<u32> {
        let mut statistics = attributed(TCA_STATS_BASIC, &words(&[0; 4]));
        statistics.extend(attributed(TCA_STATS_QUEUE, &words(&[0; 5])));
        statistics.extend(attributed(TCA_STATS_APP, own));
        let mut body = words(&[0, 2, 0x2_0000, ROOT, 1]);
        body.extend(attributed(TCA_KIND, format!("{kind}\0").as_bytes()));
        body.extend(attributed(TCA_OPTIONS, options));
        body.extend(attributed(TCA_STATS2, &statistics));
        discipline(&body, &marks()).unwrap().marked
    }

    #[test]
    fn a_kind_that_does_not_count_marks_has_no_value_instead_of_zero() {
        assert_eq!(marked("netem", &[], &[0; 64]), None);
        assert_eq!(marked("pfifo", &[], &[]), Some(0));
        assert_eq!(marked("fq_codel", &[], &[0; 8]), None);
    }

    #[test]
    fn marks_that_a_kind_counts_among_its_options_are_read_there() {
        assert_eq!(marked("among_options", &words(&[9, 5, 9, 6]), &words(&[1; 4])), Some(11));
    }

    #[test]
    fn the_marks_of_cake_are_those_of_all_tins() {
        let tin = |number, marks| {
            let sent = attributed(2, &words(&[99]));
            let marked = attributed(TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS, &words(&[marks]));
            attributed(number, &[sent, marked].concat())
        };
        let tins = attributed(TCA_CAKE_STATS_TIN_STATS, &[tin(1, 5), tin(2, 6)].concat());
        assert_eq!(marked("cake", &[], &[attributed(3, &words(&[7])), tins].concat()), Some(11));
        assert_eq!(marked("cake", &[], &attributed(3, &words(&[7]))), None);
    }

    #[test]
    fn an_error_of_the_kernel_is_an_error() {
        let refused = message(NLMSG_ERROR, &(-1_i32).to_ne_bytes());
        assert_eq!(read(&refused, &mut |_| {}).err().unwrap().raw_os_error(), Some(1));
    }

    #[test]
    fn what_a_discipline_says_of_itself_is_passed_on_as_it_is() {
        let mut body = words(&[0, 2, 0x2_0000, 0x1_0001, 1]);
        body.extend(attributed(TCA_KIND, b"of_tomorrow\0"));
        body.extend(attributed(TCA_OPTIONS, &[1, 2, 3]));
        body.extend(attributed(TCA_STATS2, &attributed(TCA_STATS_APP, &[4, 5])));
        let (kind, options, statistics) = ("of_tomorrow".into(), vec![1, 2, 3], vec![4, 5]);
        let expected = OwnWords { interface: 2, handle: 0x2_0000, kind, options, statistics };
        assert_eq!(own_words(&body), Some(expected));
    }
}
