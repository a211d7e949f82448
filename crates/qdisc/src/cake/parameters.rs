//! The parameters of cake, the derived ones, and the length that a packet is charged for.

use tailback_packet::Packet;
use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, Rate};

use super::ack_filter::AckFilter;
use super::isolation::Isolation;
use super::tins::Sorting;
use crate::{Attachment, framing};

const MS: u64 = 1_000_000;
/// Number of packets for which the default of `memlimit` is enough.
const MAX_PACKETS: u64 = 10_240;
const MIN_MEMORY: u64 = 4 << 20;
const MAX_RATE: u64 = 10_000_000_000_000;
const TINS: &[&str] = &["diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence"];
const ISOLATIONS: &[&str] =
    &["triple-isolate", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost"];

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "bandwidth",
        ParameterUnit::Rate,
        None,
        (8, MAX_RATE),
        "rate of the shaper; default: unlimited",
    ),
    Parameter::new(
        "rtt",
        ParameterUnit::Time,
        Some(100 * MS),
        (1_000, 10_000_000 * MS),
        "RTT that the law is tuned for",
    ),
    Parameter::choice("tins", TINS, "mapping of DSCPs to tins"),
    Parameter::choice("isolation", ISOLATIONS, "fairness between flows, hosts, or both"),
    Parameter::choice(
        "ack_filter",
        &["no-ack-filter", "ack-filter", "ack-filter-aggressive"],
        "drop redundant ACKs",
    ),
    Parameter::flag("ingress", false, "charge dropped packets, since the bottleneck is before this shaper"),
    Parameter::flag("nat", false, "no effect: there is no address translation here"),
    Parameter::flag("wash", false, "clear the code point of each packet after its tin is selected"),
    Parameter::flag(
        "split_gso",
        true,
        "queue the segments of a packet that has several, so that other flows wait less",
    ),
    Parameter::new(
        "fwmark",
        ParameterUnit::Number,
        Some(0),
        (0, u32::MAX as u64),
        "no effect: packets have no firewall marks here",
    ),
    Parameter::new(
        "memlimit",
        ParameterUnit::Bytes,
        None,
        (1, u32::MAX as u64),
        "maximum kernel memory (truesize) in bytes",
    ),
    Parameter::new(
        "overhead",
        ParameterUnit::Number,
        None,
        (0, 256),
        "bytes charged for each packet in addition to its IP length",
    ),
    framing::undercharge("undercharge"),
    Parameter::flag(
        "raw",
        false,
        "charge the length of the frame as in the kernel; the default without `overhead`",
    ),
    Parameter::new("mpu", ParameterUnit::Number, Some(0), (0, 256), "minimum number of bytes charged"),
    Parameter::choice(
        "framing",
        &["noatm", "atm", "ptm"],
        "atm: charge whole cells; ptm: charge 65 bytes for 64",
    ),
];

pub(super) struct Settings {
    pub(super) rate: Rate,
    pub(super) sorting: Sorting,
    pub(super) isolation: Isolation,
    pub(super) ack_filter: AckFilter,
    pub(super) ingress: bool,
    pub(super) memory: u64,
    pub(super) overhead: u32,
    pub(super) undercharge: u32,
    pub(super) wash: bool,
    pub(super) split_gso: bool,
    pub(super) raw: bool,
    pub(super) mpu: u32,
    pub(super) framing: u64,
}

pub(super) fn derive(given: &mut Parameters, device: &Attachment) -> Result<(), ParameterError> {
    if given.given("overhead").is_none() {
        given.set("overhead", 0);
        given.set("raw", u64::from(given.given("undercharge").unwrap_or(0) == 0));
    }
    let max = MAX_PACKETS * u64::from(device.mtu);
    let shaped = given.given("bandwidth").zip(given.given("rtt")).map(|(rate, rtt)| {
        let product = u128::from(rate / 8) * u128::from(rtt) / 1_000_000_000 * 4;
        (product.min(u128::from(u32::MAX)) as u64).max(MIN_MEMORY).min(max)
    });
    given.set_default("memlimit", shaped.unwrap_or(max));
    Ok(())
}

impl Settings {
    pub(super) fn of(given: &Parameters) -> Result<Self, ParameterError> {
        let value = |name| given.require(name);
        let sorting = [Sorting::Three, Sorting::One, Sorting::Four, Sorting::Eight, Sorting::Precedence];
        let ack_filter = [AckFilter::Off, AckFilter::Normal, AckFilter::Aggressive];
        Ok(Settings {
            rate: given.given("bandwidth").map_or(Rate::UNLIMITED, Rate::from_bits_per_sec),
            sorting: sorting[value("tins")? as usize],
            isolation: Isolation::of(value("isolation")?),
            ack_filter: ack_filter[value("ack_filter")? as usize],
            ingress: value("ingress")? == 1,
            memory: value("memlimit")?,
            overhead: value("overhead")? as u32,
            undercharge: value("undercharge")? as u32,
            wash: value("wash")? == 1,
            split_gso: value("split_gso")? == 1,
            raw: value("raw")? == 1,
            mpu: value("mpu")? as u32,
            framing: value("framing")?,
        })
    }

    /// The length of a packet without overhead.
    #[inline]
    pub(super) fn counted(&self, packet: &Packet) -> u32 {
        if self.raw { packet.frame_length() } else { packet.ip_length }
    }

    /// Bytes charged for a packet. [linux-6.12 sch_cake.c cake_calc_overhead]
    pub(super) fn charged(&self, packet: &Packet) -> u32 {
        let length = (self.counted(packet) + self.overhead).saturating_sub(self.undercharge).max(self.mpu);
        match self.framing {
            1 => length.div_ceil(48) * 53,
            2 => length + length.div_ceil(64),
            _ => length,
        }
    }
}
