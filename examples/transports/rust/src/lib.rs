//! An example in Rust for `tailback_endpoint.h`: a window that follows the delay, as that of LEDBAT. [rfc6817]
//!
//! ```text
//! queueing delay = rtt − least rtt        cwnd += gain · (target − queueing delay) / target / cwnd, per acknowledgement
//! ```
//! The first end sends numbered datagrams and repeats none; the second acknowledges each. `cargo build --release` makes
//! `target/release/libdelay.so`. Option: `target_ms`, the queueing delay that it aims at.

#[allow(dead_code, reason = "the whole header")]
mod abi;

use std::collections::{BTreeMap, VecDeque};

use abi::{Info, NEVER, Outgoing, Setup, Transport};

const SIZE: usize = 1200;
const HEAD: usize = 16;
const GAIN: f64 = 1.0;
const REORDERING: u64 = 3;
const SILENCE_NS: u64 = 1_000_000_000;

struct Delay {
    sends: bool,
    target_ns: f64,
    cwnd: f64,
    next: u64,
    /// The window is halved once for all datagrams before.
    recovery: u64,
    /// By number, when each was sent.
    in_flight: BTreeMap<u64, u64>,
    rtt_ns: Option<u64>,
    min_rtt_ns: u64,
    lost: u64,
    heard_ns: u64,
    owed: VecDeque<[u8; HEAD]>,
    read: u64,
}

impl Delay {
    fn acknowledged(&mut self, now_ns: u64, number: u64) {
        self.heard_ns = now_ns;
        let Some(sent_ns) = self.in_flight.remove(&number) else { return };
        let rtt = now_ns - sent_ns;
        self.min_rtt_ns = self.min_rtt_ns.min(rtt);
        self.rtt_ns = Some(self.rtt_ns.map_or(rtt, |smooth| smooth - smooth / 8 + rtt / 8));
        let queue = (rtt - self.min_rtt_ns) as f64;
        let step = GAIN * (self.target_ns - queue) / self.target_ns / self.cwnd;
        self.cwnd = (self.cwnd + step).max(2.0);
        self.lose_before(number.saturating_sub(REORDERING));
    }

    fn lose_before(&mut self, number: u64) {
        let kept = self.in_flight.split_off(&number);
        for lost in std::mem::replace(&mut self.in_flight, kept).into_keys() {
            self.lost += 1;
            if lost >= self.recovery {
                self.recovery = self.next;
                self.cwnd = (self.cwnd / 2.0).max(2.0);
            }
        }
    }
}

impl Transport for Delay {
    fn open(setup: &'static Setup) -> Result<Self, String> {
        let mut target_ms = 25.0;
        for (name, value) in setup.options() {
            match name {
                "target_ms" => target_ms = value.parse().map_err(|_| format!("`target_ms` cannot be {value}"))?,
                _ => return Err(format!("it has no option `{name}`; it has target_ms")),
            }
        }
        Ok(Delay {
            sends: setup.end == 0,
            target_ns: target_ms * 1e6,
            cwnd: 10.0,
            next: 0,
            recovery: 0,
            in_flight: BTreeMap::new(),
            rtt_ns: None,
            min_rtt_ns: u64::MAX,
            lost: 0,
            heard_ns: setup.start_ns,
            owed: VecDeque::new(),
            read: 0,
        })
    }

    fn receive(&mut self, now_ns: u64, data: &[u8], _ecn: u32) {
        let Some(head) = data.first_chunk::<HEAD>() else { return };
        if self.sends {
            let number = u64::from_le_bytes(*head.first_chunk().expect("it is longer"));
            return self.acknowledged(now_ns, number);
        }
        self.read += data.len() as u64;
        self.owed.push_back(*head);
    }

    fn expired(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
        self.lose_before(self.next);
        self.cwnd = 2.0;
    }

    fn transmit(&mut self, now_ns: u64, datagram: &mut Outgoing) -> bool {
        if !self.sends {
            let owed = self.owed.pop_front();
            return owed.map(|head| datagram.write(&head)).is_some();
        }
        if self.in_flight.len() as f64 + 1.0 > self.cwnd {
            return false;
        }
        if self.in_flight.is_empty() {
            self.heard_ns = now_ns;
        }
        let mut content = [0; SIZE];
        content[..8].copy_from_slice(&self.next.to_le_bytes());
        datagram.write(&content);
        self.in_flight.insert(self.next, now_ns);
        self.next += 1;
        true
    }

    fn timeout(&mut self) -> u64 {
        if self.sends && !self.in_flight.is_empty() { self.heard_ns + SILENCE_NS } else { NEVER }
    }

    fn info(&mut self, _now_ns: u64, info: &mut Info) {
        if !self.sends {
            info.read_bytes = self.read;
            return;
        }
        info.cwnd_bytes = (self.cwnd * SIZE as f64) as u64;
        info.datagram_bytes = SIZE as u64;
        info.in_flight_bytes = (self.in_flight.len() * SIZE) as u64;
        info.lost = self.lost;
        if let Some(rtt) = self.rtt_ns {
            (info.rtt_ns, info.min_rtt_ns) = (rtt, self.min_rtt_ns);
        }
    }
}

export!(Delay);
