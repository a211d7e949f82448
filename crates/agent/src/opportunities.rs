//! Hands the traces of links to the discipline `opportunities` of our kernel (`kernel/patches`), which `tc` does not
//! know: their times, and the start of the run. Nothing leaves such a device before.
//!
//! A message of rtnetlink with the attributes of the discipline, which are 1: the start in ns of CLOCK_MONOTONIC, u64;
//! 2: times in ms, u32 each, behind those that it has. An attribute has at most 65,535 bytes, so that long traces take
//! several messages.

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Job, Trace};
use crate::netlink::{self, Netlink};
use crate::network::Network;
use crate::sys;

const KIND: &str = "opportunities";
/// The handle that the discipline has as the root of its device (`linux/disciplines.py`).
const HANDLE: u32 = 0x1_0000;
const START_NS: u16 = 1;
const STAMPS_MS: u16 = 2;
/// Times in one message.
const CHUNK: usize = 15_000;

/// All traces of a job, which begin at the start of the run.
pub fn load(job: &Job, network: &Network, clock: Clock) -> Result<(), Failure> {
    job.traces.iter().try_for_each(|trace| {
        network
            .within(trace.host, || hand_over(trace, clock.on_monotonic(0)))?
            .doing(format!("loading the trace of {} of {}", trace.device, job.hosts[trace.host]))
    })
}

fn hand_over(trace: &Trace, zero_ns: u64) -> std::io::Result<()> {
    let interface = sys::interface_index(&trace.device)?;
    let mut netlink = Netlink::open()?;
    messages(&trace.stamps_ms, zero_ns)
        .iter()
        .try_for_each(|options| netlink.change(interface, HANDLE, KIND, options))
}

/// The options of each message: the start comes first, because the discipline works as soon as it has a time.
fn messages(stamps_ms: &[u32], zero_ns: u64) -> Vec<Vec<u8>> {
    let start = netlink::attributed(START_NS, &zero_ns.to_ne_bytes());
    let stamps = stamps_ms.chunks(CHUNK).map(|chunk| {
        let bytes: Vec<u8> = chunk.iter().flat_map(|stamp| stamp.to_ne_bytes()).collect();
        netlink::attributed(STAMPS_MS, &bytes)
    });
    std::iter::once(start).chain(stamps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_trace_takes_several_messages_after_that_of_the_start() {
        let stamps: Vec<u32> = (1..=40_000).collect();
        let found = messages(&stamps, 7);
        assert_eq!(found[0], netlink::attributed(START_NS, &7_u64.to_ne_bytes()));
        assert_eq!(
            found[1..].iter().map(|each| (each.len() - 4) / 4).collect::<Vec<_>>(),
            [15_000, 15_000, 10_000]
        );
    }
}
