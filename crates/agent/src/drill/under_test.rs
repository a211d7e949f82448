//! This kernel's TCP as the TCP under test of scripts: a thread makes the calls, segments pass through a TUN device,
//! and time is the kernel's.
//!
//! In virtual time, processing takes no time: a packet is read at the time it left, and a call that has not returned
//! when time advances is blocked. Reading the clock does advance it a little (user-mode Linux does this so that a loop
//! that polls the clock ends), so the clock is read only after a wait that the timer did not end.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};

use tailback_script::Head;
use tailback_script::player::{CallError, Left, Returned, TcpUnderTest, Watch};
use tailback_script::script::{Call, Flags, SegmentSpec};

use super::calls::{Descriptors, Effect, PORT};
use super::wire::{self, Addresses, OnWire, Ports, Translation};
use super::worker::{Answer, Worker};
use super::{commands, counters, readings, system};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::sys;

/// A script begins a quarter into a jiffy, as packetdrill starts. [packetdrill]
const PHASE_NS: u64 = 250_000;
/// From the last command that sets the host up to the start of the script.
const LEAD_NS: u64 = 10_000_000;
/// The largest packet, with the header of virtio.
const PACKET_MAX: usize = 65_535 + 10;
/// First port of the peer for connections that it opens; each has another port.
const PEER_PORT: u16 = 40_000;

/// By how much a timer is ahead that has not passed yet when it is set. The guest's clock advances by 256 ns when it is
/// read.
const AHEAD_NS: u64 = 1_000;

/// The time to which a timer is set that shall expire as soon as no other thread can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Soonest {
    /// One that has passed: the timer expires at the next interrupt.
    Passed,
    /// The next microsecond: a timer whose time has passed expires within the call that sets it, while others can still
    /// run. [linux-7.3 timerfd.c timerfd_hrtimer_start]
    Ahead,
}

impl Soonest {
    /// Which one this kernel needs.
    fn of(timer: &File) -> io::Result<Self> {
        system::arm(timer, 1)?;
        Ok(if system::is_readable(timer)? { Soonest::Ahead } else { Soonest::Passed })
    }

    /// The time, when CLOCK_MONOTONIC shows `now_ns`.
    fn at_ns(self, now_ns: impl FnOnce() -> u64) -> u64 {
        match self {
            // Zero would turn the timer off.
            Soonest::Passed => 1,
            Soonest::Ahead => now_ns() + AHEAD_NS,
        }
    }
}

/// A connection and the meaning of the script's numbers in it.
struct Connection {
    ports: Ports,
    translation: Translation,
    /// Nothing but SYNs has arrived.
    opening: bool,
}

/// The kernel.
pub struct Kernel {
    device: File,
    timer: File,
    soonest: Soonest,
    worker: Worker,
    descriptors: Descriptors,
    addresses: Addresses,
    gso_size: Option<u16>,
    clock: Option<Clock>,
    /// Script time when the last wait ended.
    now: i64,
    conversations: Vec<Connection>,
    wire: VecDeque<Left<OnWire>>,
    /// A call that has not returned, and what it is to leave behind.
    pending: Option<Effect>,
    /// The descriptor that was just opened.
    opened: Option<i32>,
}

impl Kernel {
    /// With its device, which exists already.
    pub fn new(device: File, addresses: Addresses, head: &Head) -> Result<Self, Failure> {
        let timer = system::timer().doing("making a timer")?;
        Ok(Kernel {
            device,
            soonest: Soonest::of(&timer).doing("trying a timer")?,
            timer,
            worker: Worker::start()?,
            descriptors: Descriptors::new(addresses.remote),
            addresses,
            gso_size: head.gso_size,
            clock: None,
            now: 0,
            conversations: Vec::new(),
            wire: VecDeque::new(),
            pending: None,
            opened: None,
        })
    }

    /// All packets that have left and were not read yet.
    fn listen(&mut self) -> Result<(), String> {
        let mut packet = vec![0; PACKET_MAX];
        loop {
            match self.device.read(&mut packet) {
                Ok(length) => self.left(&packet[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(format!("reading from the device: {error}")),
            }
        }
    }

    /// Segments are compared with those of the newest conversation only. [packetdrill]
    fn ignore_old_conversations(&mut self) {
        let newest = self.conversations.len().checked_sub(1);
        self.wire.retain(|left| Some(left.conversation) == newest);
    }

    fn left(&mut self, packet: &[u8]) {
        let Some((ports, segment)) = wire::segment(packet) else { return };
        let conversation = self.conversation(ports);
        self.conversations[conversation].translation.departed(&segment);
        self.wire.push_back(Left { at: self.now, conversation, departed: segment });
    }

    fn conversation(&mut self, ports: Ports) -> usize {
        let known = self.conversations.iter().position(|one| one.ports == ports);
        known.unwrap_or_else(|| {
            self.conversations.push(Connection { ports, translation: Translation::default(), opening: true });
            self.conversations.len() - 1
        })
    }

    /// The conversation that an arriving segment belongs to: the newest, or a new one that a SYN opens.
    fn of_arriving(&mut self, spec: &SegmentSpec) -> usize {
        let opens = spec.flags.has(Flags::SYN) && !spec.flags.has(Flags::ACK);
        let newest = self.conversations.len().checked_sub(1);
        match newest {
            Some(index) if !opens || self.conversations[index].opening || !self.descriptors.listens() => {
                index
            }
            _ => {
                let remote = PEER_PORT + self.conversations.len() as u16;
                self.conversation(Ports { local: PORT, remote })
            }
        }
    }

    /// Waits until `end`, or until a packet or the result of a call arrives.
    fn wait(&mut self, end: i64) -> io::Result<()> {
        let Some(clock) = self.clock else { return Ok(()) };
        system::arm(&self.timer, clock.on_monotonic(PHASE_NS + end.max(0) as u64 * 1_000))?;
        let files = [&self.timer, &self.device, &self.worker.returned];
        if system::wait_for_any(&files)? == [true, false, false] {
            self.now = self.now.max(end);
        } else {
            self.read_clock();
        }
        Ok(())
    }

    /// Waits until the kernel has completed its work: it may have woken this process by a packet and left the rest,
    /// such as the handler of the small queue, to its thread for soft interrupts.
    fn wait_until_idle(&mut self) -> Result<(), String> {
        let waited = self.arm_soonest().and_then(|()| system::wait_for_any(&[&self.timer]));
        waited.map(drop).map_err(|error| format!("waiting for the kernel: {error}"))
    }

    /// Continues a call that is no longer blocked: when no other thread can run, it has returned or waits.
    fn run_pending_call(&mut self) -> Result<(), String> {
        if self.pending.is_none() {
            return Ok(());
        }
        let waited =
            self.arm_soonest().and_then(|()| system::wait_for_any(&[&self.timer, &self.worker.returned]));
        waited.map(drop).map_err(|error| format!("waiting for the call: {error}"))
    }

    /// Sets the timer so that it expires as soon as no other thread can run.
    fn arm_soonest(&self) -> io::Result<()> {
        system::arm(&self.timer, self.soonest.at_ns(sys::monotonic_ns))
    }

    fn read_clock(&mut self) {
        if let Some(clock) = self.clock {
            self.now = self.now.max(clock.now_ns().saturating_sub(PHASE_NS) as i64 / 1_000);
        }
    }

    /// Applies the effect of a call that has returned.
    fn take(&mut self, answer: Answer, effect: Effect) -> Returned {
        if answer.errno.is_none() {
            self.descriptors.apply(effect);
        }
        self.opened = answer.opened;
        Returned {
            value: answer.value,
            errno: answer.errno,
            opens: answer.opened.is_some(),
            message: answer.message,
        }
    }
}

impl TcpUnderTest for Kernel {
    type Departed = OnWire;

    fn begin(&mut self) {
        let clock = Clock::starting_in(LEAD_NS);
        clock.sleep_until(PHASE_NS);
        self.clock = Some(clock);
        let ahead_ns = sys::realtime_ns() - sys::monotonic_ns();
        self.descriptors.zero_realtime_ns = ahead_ns + sys::monotonic_ns() - (clock.now_ns() - PHASE_NS);
    }

    fn now(&self) -> i64 {
        self.now
    }

    fn pass_until(&mut self, end: i64, watch: Watch) -> Result<(), String> {
        loop {
            self.listen()?;
            self.ignore_old_conversations();
            let heard = watch == Watch::CallAndWire && !self.wire.is_empty();
            if heard || self.worker.has_answered() || self.now >= end {
                return Ok(());
            }
            self.wait(end).map_err(|error| format!("waiting: {error}"))?;
        }
    }

    fn wire(&mut self) -> &mut VecDeque<Left<OnWire>> {
        self.ignore_old_conversations();
        &mut self.wire
    }

    fn expected(&mut self, conversation: usize, spec: &SegmentSpec, departed: &OnWire) {
        self.conversations[conversation].translation.expected(spec, departed);
    }

    fn in_script(&self, conversation: usize, departed: &OnWire) -> SegmentSpec {
        self.conversations[conversation].translation.in_script(departed)
    }

    fn arrives(&mut self, spec: &SegmentSpec) -> Result<(), String> {
        // Earlier segments have already left.
        self.listen()?;
        let index = self.of_arriving(spec);
        let conversation = &mut self.conversations[index];
        conversation.opening &= spec.flags.has(Flags::SYN) && !spec.flags.has(Flags::ACK);
        let packet =
            conversation.translation.packet(spec, self.addresses, conversation.ports, self.gso_size)?;
        let written = self.device.write(&packet);
        written.map_err(|error| format!("the device does not take this segment: {error}"))?;
        self.run_pending_call()?;
        self.listen()
    }

    fn call(&mut self, call: &Call) -> Result<Option<Returned>, CallError> {
        let (ready, effect) = self.descriptors.prepare(call)?;
        if let Effect::Connects(_) = effect {
            // Code may read it while it connects.
            self.descriptors.apply(effect);
        }
        self.worker.make(ready)?;
        self.pending = Some(effect);
        self.run_pending_call().map_err(CallError::Failed)?;
        self.go_on()
    }

    fn go_on(&mut self) -> Result<Option<Returned>, CallError> {
        let Some(effect) = self.pending else { return Ok(None) };
        let Some(answer) = self.worker.answer() else { return Ok(None) };
        self.pending = None;
        Ok(Some(self.take(answer?, effect)))
    }

    fn name(&mut self, number: i64) {
        if let Some(descriptor) = self.opened.take() {
            self.descriptors.open(number, descriptor);
        }
    }

    fn execute(&mut self, command: &str) -> Result<i64, String> {
        // The command has slept itself: the player must not sleep again.
        commands::execute(command)?;
        self.read_clock();
        Ok(0)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, String> {
        self.wait_until_idle()?;
        counters::read().map_err(|error| format!("the counters of this kernel cannot be read: {error}"))
    }

    fn readings(&mut self) -> Result<Vec<(&'static str, u64)>, String> {
        let none = || {
            "code needs a connection with a descriptor: a kernel tells the tcp_info of no other".to_owned()
        };
        let socket = self.descriptors.current().ok_or_else(none)?;
        self.wait_until_idle()?;
        readings::of(socket).map_err(|error| format!("the kernel does not tell the tcp_info: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_a_kernel_lets_expire_within_the_call_is_set_to_the_next_microsecond() {
        let at = |soonest: Soonest| soonest.at_ns(|| 5_000);
        assert_eq!((at(Soonest::Passed), at(Soonest::Ahead)), (1, 6_000));
    }

    #[test]
    fn whatever_this_kernel_does_the_timer_expires() {
        let timer = system::timer().unwrap();
        let soonest = Soonest::of(&timer).unwrap();
        system::arm(&timer, soonest.at_ns(sys::monotonic_ns)).unwrap();
        assert_eq!(system::wait_for_any(&[&timer]).unwrap(), [true]);
    }
}
