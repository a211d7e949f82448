//! One flow of a module behind the traits of `tailback_cc`.
#![expect(unsafe_code, reason = "calls of foreign code; each block says why it is sound")]

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use rand_core::Rng;
use tailback_cc::{
    AckPath, AckSample, CaState, CwndEvent, Draws, Flow, GSO_MAX_SIZE, Hooks, LostSegment, ModelControl,
    PacingStatus, RateSample, Window, WindowControl,
};
use tailback_units::{Rate, Segs, SimTime, Span};

use crate::abi::{self, Ack, Facts, Op};
use crate::crash;
use crate::file::{DRAWS, ModuleFile};

const NANOS_PER_MILLI: u64 = 1_000_000;
/// The unit of gains in `struct tcp_bbr_info`.
const INFO_GAIN: f64 = 256.0;

/// The control of one flow.
pub(crate) struct ModuleControl {
    file: ModuleFile,
    /// The `struct tcp_sock` of the flow.
    socket: *mut c_void,
    /// The facts that the last call was told.
    facts: Facts,
    draws: Draws,
    /// Offset of the peer's timestamps. [linux-6.12 net.ipv4.tcp_timestamps = 1]
    peer_offset: u32,
}

// SAFETY: the socket belongs to this control alone, and a run stays in one thread at a time.
unsafe impl Send for ModuleControl {}

impl ModuleControl {
    pub(crate) fn new(file: ModuleFile) -> Self {
        let socket = (file.socket)();
        assert!(!socket.is_null(), "no memory for a socket");
        ModuleControl { file, socket, facts: Facts::default(), draws: Draws::seeded(0), peer_offset: 0 }
    }

    /// Calls `init`; returns what it asks for.
    pub(crate) fn begin(&mut self, flow: &Flow, window: &mut Window) -> u32 {
        self.call(Op::Init, flow, window, ptr::null()).1
    }

    pub(crate) fn sndbuf_expand(&mut self, flow: &Flow, window: &Window) -> u32 {
        self.call(Op::SndbufExpand, flow, &mut window.clone(), ptr::null()).0
    }

    /// Calls a member; returns its result and what it asks for.
    #[inline]
    fn call(&mut self, op: Op, flow: &Flow, window: &mut Window, argument: *const c_void) -> (u32, u32) {
        self.lay(flow);
        DRAWS.store(ptr::from_mut(&mut self.draws), Ordering::Relaxed);
        let mut plain = plain(window);
        crash::begin(op.name(), self.facts.now_ns);
        let found = (self.file.call)(self.socket, op as u32, &self.facts, &mut plain, argument);
        if plain.asks & abi::WROTE_BEYOND_PRIVATE != 0 {
            crash::fail(format_args!(
                "it wrote beyond its private area (icsk_ca_priv of ICSK_CA_PRIV_SIZE bytes)"
            ));
        }
        if plain.cwnd == 0 {
            crash::fail(format_args!("it set cwnd to 0"));
        }
        crash::end();
        DRAWS.store(ptr::null_mut(), Ordering::Relaxed);
        take(&plain, window);
        (found, plain.asks)
    }

    /// Lays the facts of a flow ready for the module.
    #[inline(always)]
    fn lay(&mut self, flow: &Flow) {
        lay_progress(&mut self.facts, flow, self.peer_offset);
        let known = has_settings(&self.facts, flow);
        self.facts.settings_changed = u32::from(!known);
        if !known {
            lay_settings(&mut self.facts, flow);
        }
    }

    fn call_if(&mut self, op: Op, flow: &Flow, window: &mut Window, argument: *const c_void) {
        if self.file.has(op) {
            self.call(op, flow, window, argument);
        }
    }

    /// What `get_info` says, if it says what BBR's does.
    fn info(&self, flow: &Flow) -> Option<abi::Info> {
        if !self.file.has(Op::GetInfo) {
            return None;
        }
        let mut facts = Facts { settings_changed: 1, ..self.facts };
        lay_progress(&mut facts, flow, self.peer_offset);
        lay_settings(&mut facts, flow);
        let mut info = abi::Info::default();
        crash::begin(Op::GetInfo.name(), facts.now_ns);
        (self.file.ask)(self.socket, &facts, &mut info);
        crash::end();
        (info.is_bbr != 0).then_some(info)
    }

    fn ssthresh_of(&mut self, flow: &Flow, window: &Window) -> Segs {
        Segs(self.call(Op::Ssthresh, flow, &mut window.clone(), ptr::null()).0)
    }
}

impl Drop for ModuleControl {
    fn drop(&mut self) {
        if self.file.has(Op::Release) {
            let mut window = plain(&Window::initial(Segs::ONE));
            crash::begin(Op::Release.name(), self.facts.now_ns);
            (self.file.call)(self.socket, Op::Release as u32, &self.facts, &mut window, ptr::null());
            crash::end();
        }
    }
}

impl Hooks for ModuleControl {
    fn init(&mut self, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        if flow.hz() != self.file.hz() {
            crash::begin(Op::Init.name(), flow.now.as_nanos());
            let (own, ours) = (self.file.hz(), flow.hz());
            crash::fail(format_args!("its headers have HZ {own}, and the host of this flow {ours}"));
        }
        match self.file.has(Op::CongControl) {
            true => self.draws.draw_ahead(draws),
            false => self.draws = Draws::seeded(draws.next_u64()),
        }
        self.peer_offset = self.draws.peek_rest();
        self.begin(flow, window);
    }

    fn set_state(&mut self, to: CaState, flow: &Flow, window: &mut Window) {
        let state = to as u32;
        self.call_if(Op::SetState, flow, window, ptr::from_ref(&state).cast());
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        let event = event as u32;
        self.call_if(Op::CwndEvent, flow, window, ptr::from_ref(&event).cast());
    }

    fn in_ack_event(&mut self, path: AckPath, flow: &Flow, window: &mut Window) {
        let slow = u32::from(path == AckPath::Slow);
        self.call_if(Op::InAckEvent, flow, window, ptr::from_ref(&slow).cast());
    }

    fn pkts_acked(&mut self, sample: &AckSample, flow: &Flow, window: &mut Window) {
        let ack = Ack {
            acked: sample.packets_acked.0,
            rtt_us: sample.rtt.map_or(-1, |rtt| rtt.as_micros() as i32),
            in_flight: sample.in_flight as u32,
        };
        self.call_if(Op::PktsAcked, flow, window, ptr::from_ref(&ack).cast());
    }

    fn segment_lost(&mut self, segment: &LostSegment, flow: &Flow, window: &mut Window) {
        let lost = abi::Lost {
            tx_in_flight: segment.tx_in_flight.0,
            lost: segment.lost as u32,
            is_app_limited: segment.is_app_limited.into(),
        };
        self.call_if(Op::SkbMarkedLost, flow, window, ptr::from_ref(&lost).cast());
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        self.file.has(Op::MinTsoSegs).then(|| {
            let mut window = plain(window);
            crash::begin(Op::MinTsoSegs.name(), self.facts.now_ns);
            let call = self.file.call;
            let found = call(self.socket, Op::MinTsoSegs as u32, &self.facts, &mut window, ptr::null());
            crash::end();
            found
        })
    }

    fn gauges(&self, flow: &Flow, show: &mut dyn FnMut(&'static str, f64)) {
        let Some(info) = self.info(flow) else { return };
        show("bbr_bw", info.bandwidth as f64);
        if info.min_rtt_us != u32::MAX {
            show("bbr_min_rtt", info.min_rtt_us.into());
        }
        show("bbr_pacing_gain", f64::from(info.pacing_gain) / INFO_GAIN);
        show("bbr_cwnd_gain", f64::from(info.cwnd_gain) / INFO_GAIN);
    }
}

impl WindowControl for ModuleControl {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        let (_, asks) = self.call(Op::CongAvoid, flow, window, ptr::from_ref(&acked.0).cast());
        window.enter_cwr |= asks & abi::ENTER_CWR != 0;
    }

    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs {
        self.ssthresh_of(flow, window)
    }

    fn undo_cwnd(&mut self, flow: &Flow, window: &Window) -> Segs {
        Segs(self.call(Op::UndoCwnd, flow, &mut window.clone(), ptr::null()).0)
    }
}

impl ModelControl for ModuleControl {
    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        let micros = |span: Option<Span>| span.map_or(-1, |span| span.as_micros() as i64);
        let rate = abi::Rate {
            prior_delivered: sample.prior_delivered,
            delivered: sample.delivered.map_or(-1, |delivered| delivered as i64),
            interval_us: if sample.delivered.is_some() { micros(sample.interval) } else { -1 },
            rtt_us: micros(sample.rtt),
            losses: sample.losses.0,
            acked_sacked: sample.acked_sacked.0,
            prior_in_flight: sample.prior_in_flight.0,
            is_app_limited: sample.is_app_limited.into(),
            is_retrans: sample.is_retrans.into(),
            is_ack_delayed: sample.is_ack_delayed.into(),
            tx_in_flight: sample.tx_in_flight.0,
            lost: sample.lost as u32,
        };
        self.draws.draw_ahead(draws);
        let (_, asks) = self.call(Op::CongControl, flow, window, ptr::from_ref(&rate).cast());
        window.mark_app_limited |= asks & abi::MARK_APP_LIMITED != 0;
    }

    fn state(&self) -> &'static str {
        "module"
    }

    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs {
        self.ssthresh_of(flow, window)
    }

    fn undo_cwnd(&mut self, flow: &Flow, window: &mut Window) -> Segs {
        Segs(self.call(Op::UndoCwnd, flow, window, ptr::null()).0)
    }
}

/// What may differ from ACK to ACK.
#[inline(always)]
fn lay_progress(facts: &mut Facts, flow: &Flow, peer_offset: u32) {
    let millis = |time: SimTime| (time.as_nanos() / NANOS_PER_MILLI) as u32;
    facts.now_ns = flow.now.as_nanos();
    facts.app_limited = flow.app_limited;
    facts.departure_ns = flow.departure.as_nanos();
    facts.delivered_ns = flow.delivered_at.as_nanos();
    facts.last_sent_ns = flow.last_sent.as_nanos();
    facts.snd_una = flow.snd_una;
    facts.snd_nxt = flow.snd_nxt;
    facts.delivered = flow.delivered;
    facts.delivered_ce = flow.delivered_ce;
    facts.lost = flow.lost;
    facts.srtt_us8 = flow.srtt_us8;
    facts.min_rtt_us = flow.min_rtt.map_or(u32::MAX, |rtt| rtt.as_micros() as u32);
    facts.packets_out = flow.packets_out.0;
    facts.sacked_out = flow.sacked_out.0;
    facts.in_flight = flow.in_flight.0;
    facts.is_cwnd_limited = flow.cwnd_limited.into();
    facts.tsval = flow.timestamps.map_or(0, |stamps| millis(stamps.value).wrapping_add(peer_offset));
    facts.tsecr = flow.timestamps.map_or(0, |stamps| millis(stamps.echo));
}

/// What hardly ever differs.
fn lay_settings(facts: &mut Facts, flow: &Flow) {
    facts.mss = flow.mss;
    facts.mtu = flow.mtu;
    facts.ca_state = flow.ca_state as u32;
    facts.ecn_ok = flow.ecn_ok.into();
    facts.pacing_status = status(flow.pacing_status);
    facts.pacing_shift = flow.pacing_shift;
    facts.gso_max_size = GSO_MAX_SIZE;
    facts.gso_max_segs = flow.gso_max_segs;
}

/// The value of `sk_pacing_status`.
fn status(paced: PacingStatus) -> u32 {
    match paced {
        PacingStatus::None => 0,
        PacingStatus::Needed => 1,
        PacingStatus::Fq => 2,
    }
}

/// Whether they were laid with the settings of this flow. Before the first call `mss` is 0, which no flow has.
#[inline(always)]
fn has_settings(facts: &Facts, flow: &Flow) -> bool {
    facts.mss == flow.mss
        && facts.mtu == flow.mtu
        && facts.ca_state == flow.ca_state as u32
        && facts.ecn_ok == u32::from(flow.ecn_ok)
        && facts.pacing_status == status(flow.pacing_status)
        && facts.pacing_shift == flow.pacing_shift
        && facts.gso_max_segs == flow.gso_max_segs
}

fn plain(window: &Window) -> abi::Window {
    let rate = window.pacing_rate;
    abi::Window {
        pacing_rate: if rate.is_unlimited() { u64::MAX } else { rate.bytes_per_sec() },
        cwnd: window.cwnd.0,
        ssthresh: window.ssthresh.0,
        cwnd_cnt: window.cwnd_cnt,
        prior_cwnd: window.prior_cwnd.0,
        cwnd_clamp: window.cwnd_clamp.0,
        asks: 0,
    }
}

/// A value that the module wrote alone is read alone: a processor that reads several of them as one vector waits until
/// all of them have left its store buffer.
#[inline(always)]
fn alone(value: &u32) -> u32 {
    // SAFETY: a reference is valid for reads.
    unsafe { ptr::from_ref(value).read_volatile() }
}

fn take(found: &abi::Window, window: &mut Window) {
    // A rate that the module left alone may have a fraction of a byte.
    if found.pacing_rate != plain(window).pacing_rate {
        window.pacing_rate = match found.pacing_rate {
            u64::MAX => Rate::UNLIMITED,
            bytes => Rate::from_bytes_per_sec(bytes),
        };
    }
    window.cwnd = Segs(alone(&found.cwnd));
    window.ssthresh = Segs(alone(&found.ssthresh));
    window.cwnd_cnt = alone(&found.cwnd_cnt);
    window.prior_cwnd = Segs(alone(&found.prior_cwnd));
    window.cwnd_clamp = Segs(alone(&found.cwnd_clamp));
}
