//! One endpoint of a library.

use std::ffi::{CString, c_void};
use std::ptr;
use std::time::Duration;

use tailback_module::crash;
use tailback_net::{Ecn, Endpoint, Info, Outgoing, Received};

use crate::file::LibraryFile;
use crate::host::{HOST, Host};
use crate::{End, Notes, Setup, abi, past};

/// Bytes that an endpoint may give at a time: the most of a datagram of UDP, with which Linux takes segments, too.
const CAPACITY: usize = 65_507;

/// An endpoint behind the functions of the header.
pub struct LibraryEndpoint {
    file: LibraryFile,
    own: *mut c_void,
    host: Box<Host>,
    end: End,
    buffer: Vec<u8>,
    /// What it was told: it may look at it as long as it is open.
    _setup: Box<abi::Setup>,
    _told: Told,
}

/// The words of a setup.
struct Told {
    flow: CString,
    words: Vec<[CString; 2]>,
    options: Vec<abi::Opt>,
}

impl Told {
    fn of(setup: &Setup) -> Result<Self, String> {
        let word = |text: &str| CString::new(text).map_err(|_| format!("`{text}` has a zero byte"));
        let pairs = setup.options.iter().map(|(name, value)| Ok([word(name)?, word(value)?]));
        let words = pairs.collect::<Result<Vec<[CString; 2]>, String>>()?;
        let options =
            words.iter().map(|[name, value]| abi::Opt { name: name.as_ptr(), value: value.as_ptr() });
        Ok(Told { flow: word(&setup.flow)?, options: options.collect(), words })
    }
}

impl LibraryEndpoint {
    /// The endpoint of a setup; the error is the problem.
    pub fn open(file: LibraryFile, setup: &Setup, notes: &Notes) -> Result<Self, String> {
        let (host, told) = (Box::new(Host::new(setup, notes)), Told::of(setup)?);
        debug_assert_eq!(told.words.len(), told.options.len());
        let told_in_c = Box::new(abi::Setup {
            host: &HOST,
            token: ptr::from_ref::<Host>(&host).cast_mut().cast(),
            flow: told.flow.as_ptr(),
            options: told.options.as_ptr(),
            option_count: told.options.len(),
            start_ns: nanos(setup.start),
            end_ns: nanos(setup.until),
            end: setup.end.number(),
            max_datagram: setup.most,
        });
        crash::begin(&"tailback_endpoint_open", nanos(setup.start));
        let own = (file.open)(&*told_in_c);
        crash::end();
        if let Some(reason) = host.failure() {
            return Err(reason);
        }
        if own.is_null() {
            return Err("its tailback_endpoint_open gives NULL, without a reason".to_owned());
        }
        let buffer = vec![0; CAPACITY];
        Ok(LibraryEndpoint { file, own, host, end: setup.end, buffer, _setup: told_in_c, _told: told })
    }

    /// Calls a function of the library, unless the endpoint has failed.
    fn call<T>(
        &mut self,
        name: &'static &'static str,
        now: Duration,
        call: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        if self.host.has_failed() {
            return None;
        }
        self.host.now.set(now);
        crash::begin(name, nanos(now));
        let found = call(self);
        crash::end();
        Some(found)
    }

    /// The datagrams that it has given.
    fn taken(&self, given: &abi::Outgoing) -> Result<Outgoing, String> {
        let abi::Outgoing { size, segment, departure_ns, to, ecn, .. } = *given;
        if size > CAPACITY {
            return Err(format!("its transmit gives {size} bytes, and there is room for {CAPACITY}"));
        }
        if to != self.end.other().number() {
            let other = self.end.other().number();
            return Err(format!(
                "it sends to end {to}, which is nobody it can reach; the other end is {other}"
            ));
        }
        Ok(Outgoing {
            data: self.buffer[..size].to_vec(),
            ecn: ecn_of(ecn).ok_or_else(|| format!("its ECN bits are {ecn}; write 0 to 3"))?,
            departure: (departure_ns > 0).then(|| Duration::from_nanos(departure_ns)),
            segment: (segment > 0).then_some(segment),
        })
    }
}

impl Drop for LibraryEndpoint {
    fn drop(&mut self) {
        crash::begin(&"tailback_endpoint_close", nanos(self.host.now.get()));
        (self.file.close)(self.own);
        crash::end();
    }
}

impl Endpoint for LibraryEndpoint {
    fn receive(&mut self, now: Duration, datagram: Received<'_>) {
        let received = abi::Received {
            data: datagram.data.as_ptr(),
            size: datagram.data.len(),
            from: self.end.other().number(),
            ecn: bits(datagram.ecn),
        };
        let call = |this: &mut Self| (this.file.receive)(this.own, nanos(now), &received);
        self.call(&"tailback_endpoint_receive", now, call);
    }

    fn expired(&mut self, now: Duration) {
        self.call(&"tailback_endpoint_expired", now, |this| (this.file.expired)(this.own, nanos(now)));
    }

    fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
        let mut given = abi::Outgoing {
            data: self.buffer.as_mut_ptr(),
            capacity: CAPACITY,
            size: 0,
            segment: 0,
            departure_ns: 0,
            to: self.end.other().number(),
            ecn: 0,
        };
        let call = |this: &mut Self| (this.file.transmit)(this.own, nanos(now), &mut given);
        self.call(&"tailback_endpoint_transmit", now, call).filter(|&gave| gave != 0)?;
        self.taken(&given).map_err(|problem| self.host.fail(problem)).ok()
    }

    fn timeout(&mut self) -> Option<Duration> {
        let now = self.host.now.get();
        let asked = self.call(&"tailback_endpoint_timeout", now, |this| (this.file.timeout)(this.own))?;
        let asked = (asked != abi::NEVER).then(|| Duration::from_nanos(asked));
        if let Some(problem) = past(asked, now) {
            self.host.fail(problem);
        }
        asked
    }

    fn info(&mut self, now: Duration) -> Option<Info> {
        let ask = self.file.ask?;
        let mut told = abi::Info::NOTHING;
        self.call(&"tailback_endpoint_info", now, |this| ask(this.own, nanos(now), &mut told))?;
        Some(info(&told))
    }

    fn failure(&mut self) -> Option<String> {
        self.host.failure()
    }
}

fn info(told: &abi::Info) -> Info {
    let known = |value: u64| (value != abi::UNKNOWN).then_some(value);
    let span = |value: u64| known(value).map(Duration::from_nanos);
    Info {
        cwnd: known(told.cwnd_bytes),
        datagram: known(told.datagram_bytes),
        in_flight: known(told.in_flight_bytes),
        rtt: span(told.rtt_ns),
        min_rtt: span(told.min_rtt_ns),
        pacing_bps: known(told.pacing_bps),
        read: known(told.read_bytes),
        lost: known(told.lost),
    }
}

fn nanos(at: Duration) -> u64 {
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)
}

fn bits(ecn: Ecn) -> u32 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

fn ecn_of(bits: u32) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].get(bits as usize).copied()
}
