//! Captures: what `tcpdump` on a host would write, in time of the run, a pcapng file per host.
//!
//! A sent packet is captured when the discipline passes it to the device, a received one when it leaves the ifb that
//! emulates the link, or comes in where there is none; as in the simulator (`crates/world/src/capture.rs`).
//! [linux-6.12 dev.c dev_queue_xmit_nit, __netif_receive_skb_core]
//!
//! One thread per host moves packets from a ring (`sys/ring.rs`) to the file. In virtual time that takes no time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread::{self, JoinHandle};

use tailback_pcapng::{Passage, Pcapng};

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{self, Job};
use crate::network::Network;
use crate::sys;
use crate::sys::ring::{Frame, Ring};

/// Bytes kept of a packet: the longest headers.
const KEPT: u32 = 128;
/// Bytes that are written at once.
const CHUNK: usize = 1 << 20;

/// The captures of a run.
pub struct Captures(Vec<Capture>);

/// The capture of a host.
struct Capture {
    host: String,
    name: String,
    ring: Ring,
    taps: Taps,
    file: Pcapng,
}

/// The interface of each device, by its number and whether it sends.
type Taps = BTreeMap<(u32, bool), (u32, Passage)>;

/// A capture that is in progress.
pub struct Running(Vec<JoinHandle<Result<(), Failure>>>);

impl Captures {
    /// Opens the sockets.
    pub fn prepare(job: &Job, network: &Network) -> Result<Self, Failure> {
        job.captures
            .iter()
            .map(|wanted| Capture::prepare(wanted, job, network))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Writes into `folder` until the end of the run.
    pub fn start(self, clock: Clock, duration_ns: u64, folder: &Path) -> Result<Running, Failure> {
        let start = |capture: Capture| {
            let name = format!("{}.pcapng", capture.name);
            let file = File::create(folder.join(&name)).doing(format!("making {name}"))?;
            let work = move || capture.run(clock, duration_ns, file);
            thread::Builder::new().name("capture".into()).spawn(work).doing("starting a thread")
        };
        self.0.into_iter().map(start).collect::<Result<_, _>>().map(Running)
    }
}

impl Running {
    /// Waits for the end of the run, when the files are complete.
    pub fn finish(self) -> Result<(), Failure> {
        self.0.into_iter().try_for_each(|thread| {
            thread.join().map_err(|_| Failure::new("a thread that captures packets has panicked"))?
        })
    }
}

impl Capture {
    fn prepare(wanted: &job::Capture, job: &Job, network: &Network) -> Result<Self, Failure> {
        let host = job.hosts[wanted.host].clone();
        let mut file = Pcapng::new(concat!("tailback ", env!("CARGO_PKG_VERSION")), KEPT);
        let opened = network.within(wanted.host, || {
            Ok::<_, std::io::Error>((taps(&wanted.interfaces, &mut file)?, Ring::open(KEPT)?))
        })?;
        let (taps, ring) = opened.doing(format!("opening the capture of {host}"))?;
        Ok(Self { host, name: format!("capture-{}", wanted.host), ring, taps, file })
    }

    fn run(mut self, clock: Clock, duration_ns: u64, mut to: File) -> Result<(), Failure> {
        let zero_ns = clock.on_realtime(0);
        loop {
            let now_ns = clock.now_ns();
            let Self { ring, taps, file, .. } = &mut self;
            ring.take(|frame| note(&frame, zero_ns, taps, file));
            if now_ns >= duration_ns {
                break;
            }
            if self.file.held() >= CHUNK {
                self.write(&mut to)?;
            }
            self.ring.wait(clock.left_ns(duration_ns));
        }
        self.write(&mut to)?;
        to.sync_all().doing(format!("writing {}.pcapng", self.name))?;
        match self.ring.lost().doing("reading the losses of a capture")? {
            0 => Ok(()),
            lost => Err(Failure::new(format!(
                "the capture of {} lost {lost} packets: capture fewer hosts, or lower the rate",
                self.host
            ))),
        }
    }

    fn write(&mut self, to: &mut File) -> Result<(), Failure> {
        to.write_all(&self.file.take()).doing(format!("writing {}.pcapng", self.name))
    }
}

/// The interfaces of a file, and the devices at which their packets are seen.
fn taps(interfaces: &[job::Interface], file: &mut Pcapng) -> std::io::Result<Taps> {
    let mut taps = Taps::new();
    for interface in interfaces {
        let number = file.add_interface(&interface.name);
        taps.insert((sys::interface_index(&interface.device)?, true), (number, Passage::Out));
        // An ifb sends what arrives.
        let through_ifb = interface.arrivals != interface.device;
        taps.insert((sys::interface_index(&interface.arrivals)?, through_ifb), (number, Passage::In));
    }
    Ok(taps)
}

/// Adds a packet of the run to the file; `zero_ns` is the start of the run by the wall clock.
fn note(frame: &Frame<'_>, zero_ns: u64, taps: &Taps, file: &mut Pcapng) {
    let tap = taps.get(&(frame.device, frame.outgoing));
    if let (Some((interface, passage)), Some(t_ns)) = (tap, frame.stamp_ns.checked_sub(zero_ns)) {
        file.packet(*interface, t_ns, *passage, frame.head, frame.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packets_of_the_run_at_the_tapped_devices_are_noted() {
        let taps = Taps::from([((2, true), (0, Passage::Out)), ((3, true), (0, Passage::In))]);
        let mut file = Pcapng::new("test", KEPT);
        file.take();
        let mut noted = |stamp_ns, device, outgoing| {
            note(&Frame { stamp_ns, device, outgoing, length: 60, head: &[1; 60] }, 100, &taps, &mut file);
            !file.take().is_empty()
        };
        assert!(noted(100, 2, true), "the first packet, as it is sent");
        assert!(noted(100, 3, true), "one that arrives through the ifb");
        assert!(!noted(99, 2, true), "one before the start");
        assert!(!noted(100, 2, false), "one that arrives and is still to pass the ifb");
        assert!(!noted(100, 1, true), "one of another device");
    }
}
