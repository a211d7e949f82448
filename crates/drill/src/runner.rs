//! The `tcp` crate as a TCP under test, in virtual time.

use std::collections::{BTreeMap, VecDeque};

use tailback_cc::CaState;
use tailback_packet::IpVersion;
use tailback_script::player::{self, Left, Returned, TcpUnderTest, Watch, play};
use tailback_script::{Head, Report};
use tailback_tcp::{EcnInfo, Settings, Stack};
use tailback_units::{Rate, Span};

use crate::connection::{ConnectionState, Departed, NotInjectable};
use crate::host::Host;
use crate::kernel::{Kernel, NeverIdle, START, on_script};
use crate::script::{Call, Script, SegmentSpec};
use crate::shell;
use crate::sockets::{self, Progress, Sockets, Waiting};

/// Name of the infinite slow-start threshold in `tcp_info`. [linux-6.12 tcp.h TCP_INFINITE_SSTHRESH]
const SSTHRESH_INFINITE: u64 = 0x7fff_ffff;

/// Maximum lateness of events in nanoseconds: less than the microsecond resolution of scripts.
const LAG_MAX: u64 = 999;

/// How long a call takes. What a timer sends is thus answered sooner than what a call sends before others do, by a few
/// microseconds, as with packetdrill on a kernel.
const CALL: Span = Span::from_micros(1);

/// Octets of the timestamp option, padded.
const TIMESTAMP_OPTION: u64 = 12;

/// Runs `script` on `stack`.
pub(crate) fn run(script: &Script, head: &Head, stack: Stack) -> Report {
    let mut host = Host::new(Settings::of(stack));
    host.tcp.mtu = head.mtu.unwrap_or(host.tcp.mtu);
    host.tcp.ip = match head.ip {
        tailback_script::IpVersion::V4 => IpVersion::V4,
        tailback_script::IpVersion::V6 => IpVersion::V6,
    };
    let mut kernel = Kernel::new(host);
    kernel.gso_size = head.gso_size;
    let mut machines =
        Machines { kernel, sockets: Sockets::default(), waiting: None, begun: 0, opened: None };
    play(script, head.pace, &mut machines)
}

struct Machines {
    kernel: Kernel,
    sockets: Sockets,
    /// The call that waits.
    waiting: Option<(Call, Waiting)>,
    /// Events that were begun.
    begun: u64,
    /// The descriptor that was just opened.
    opened: Option<sockets::Returned>,
}

impl TcpUnderTest for Machines {
    type Departed = Departed;

    fn now(&self) -> i64 {
        on_script(self.kernel.now)
    }

    fn pass_until(&mut self, end: i64, watch: Watch) -> Result<(), String> {
        let end = START + Span::from_micros(end.max(0) as u64);
        let waits = self.waiting.is_some();
        let passed = self.kernel.pass_until(end, |kernel| {
            kernel.ignore_old_conversations();
            waits || (watch == Watch::CallAndWire && !kernel.wire.is_empty())
        });
        passed
            .map_err(|NeverIdle| "the machines do not come to rest: their timers fire without end".to_owned())
    }

    fn wire(&mut self) -> &mut VecDeque<Left<Departed>> {
        self.kernel.ignore_old_conversations();
        &mut self.kernel.wire
    }

    fn expected(&mut self, conversation: usize, spec: &SegmentSpec, departed: &Departed) {
        self.kernel.connections[conversation].expected(spec, departed);
    }

    fn in_script(&self, conversation: usize, departed: &Departed) -> SegmentSpec {
        self.kernel.connections[conversation].in_script(departed)
    }

    fn arrives(&mut self, spec: &SegmentSpec) -> Result<(), String> {
        self.begin_event();
        self.kernel.arrives(spec, self.sockets.listener()).map_err(|NotInjectable(why)| why)
    }

    fn call(&mut self, call: &Call) -> Result<Option<Returned>, player::CallError> {
        self.begin_event();
        let progress = self.sockets.call(call, &mut self.kernel)?;
        self.kernel.now += CALL;
        Ok(self.take(call, progress))
    }

    fn go_on(&mut self) -> Result<Option<Returned>, player::CallError> {
        let Some((call, waiting)) = self.waiting.take() else { return Ok(None) };
        let progress = self.sockets.go_on(&call, waiting, &mut self.kernel)?;
        Ok(self.take(&call, progress))
    }

    fn name(&mut self, number: i64) {
        if let Some(opened) = self.opened.take() {
            self.sockets.name(number, opened);
        }
    }

    fn execute(&mut self, command: &str) -> Result<i64, String> {
        let slept = shell::execute(command, &mut self.kernel.host)?;
        self.kernel.apply_mtu_change();
        self.kernel.apply_ecn_option();
        Ok(slept.as_micros() as i64)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, String> {
        Ok(self.kernel.counted())
    }

    fn readings(&mut self) -> Result<Vec<(&'static str, u64)>, String> {
        let none = || "code needs a conversation: there is no tcp_info before one".to_owned();
        self.kernel.current().map(|index| self.variables(index)).ok_or_else(none)
    }
}

impl Machines {
    /// Each event is a nanosecond later than scripted, so that events 1 ms apart in a script are a little more than 1
    /// ms apart, as with packetdrill on a kernel.
    fn begin_event(&mut self) {
        self.begun += 1;
        let at = START + Span::from_micros(self.now().max(0) as u64);
        self.kernel.now = self.kernel.now.max(at + Span::from_nanos(self.begun.min(LAG_MAX)));
    }

    fn take(&mut self, call: &Call, progress: Progress) -> Option<Returned> {
        match progress {
            Progress::Waits(waiting) => {
                self.waiting = Some((call.clone(), waiting));
                None
            }
            Progress::Returned(returned) => {
                let result = Returned {
                    value: returned.value,
                    errno: returned.errno,
                    opens: returned.is_descriptor(),
                    message: returned.message.as_deref().cloned(),
                };
                self.opened = returned.is_descriptor().then_some(returned);
                Some(result)
            }
        }
    }

    /// The names that packetdrill defines, as far as they are modelled.
    fn variables(&self, index: usize) -> Vec<(&'static str, u64)> {
        let connection = &self.kernel.connections[index];
        let info = connection.endpoint.tcp_info(self.kernel.now);
        let agreed = &connection.agreement;
        let scaled = u64::from(agreed.window_scaling);
        let options = u64::from(agreed.timestamps)
            | u64::from(agreed.sack) << 1
            | scaled << 2
            | u64::from(connection.endpoint.uses_ecn()) << 3;
        // Both sides count without the option once it is agreed on. [linux-6.12 tcp_input.c tcp_rcv_state_process]
        let timestamp = if agreed.timestamps { TIMESTAMP_OPTION } else { 0 };
        let scale = if agreed.window_scaling { connection.endpoint.window_scale() } else { 0 };
        let rate = |rate: Rate| if rate.is_unlimited() { u64::MAX } else { rate.bytes_per_sec() };
        let mut variables = vec![
            ("SK_MEMINFO_RCVBUF", connection.endpoint.receive_buffer()),
            ("SK_MEMINFO_SNDBUF", self.kernel.sndbuf(index)),
            ("tcpi_state", state_number(connection)),
            ("tcpi_ca_state", ca_number(info.ca_state)),
            ("tcpi_retransmits", u64::from(info.retransmits)),
            ("tcpi_options", options),
            ("tcpi_snd_wscale", u64::from(connection.peer_scale)),
            ("tcpi_rcv_wscale", u64::from(scale)),
            ("tcpi_rto", info.rto.as_micros()),
            ("tcpi_probes", u64::from(info.probes)),
            ("tcpi_backoff", u64::from(info.backoff)),
            ("tcpi_advmss", u64::from(connection.endpoint.advertised_mss()) - timestamp),
            ("tcpi_snd_mss", u64::from(info.snd_mss)),
            ("tcpi_rcv_mss", u64::from(info.rcv_mss)),
            ("tcpi_unacked", u64::from(info.unacked.0)),
            ("tcpi_sacked", u64::from(info.sacked.0)),
            ("tcpi_lost", u64::from(info.lost.0)),
            ("tcpi_retrans", u64::from(info.retrans.0)),
            ("tcpi_fackets", 0),
            ("tcpi_rcv_ssthresh", info.rcv_ssthresh.0),
            ("tcpi_rtt", info.rtt.as_micros()),
            ("tcpi_rttvar", info.rttvar.as_micros()),
            ("tcpi_snd_ssthresh", info.snd_ssthresh.map_or(SSTHRESH_INFINITE, |value| u64::from(value.0))),
            ("tcpi_snd_cwnd", u64::from(info.snd_cwnd.0)),
            ("tcpi_reordering", u64::from(info.reordering.0)),
            ("tcpi_total_retrans", info.total_retrans),
            ("tcpi_pacing_rate", rate(info.pacing_rate)),
            ("tcpi_max_pacing_rate", u64::MAX),
            ("tcpi_bytes_acked", info.bytes_acked.0),
            ("tcpi_bytes_received", connection.endpoint.positions().0.saturating_sub(1)),
            ("tcpi_segs_out", connection.segments.sent),
            ("tcpi_segs_in", connection.segments.received),
            ("tcpi_notsent_bytes", info.notsent_bytes.0),
            ("tcpi_min_rtt", info.min_rtt.map_or(u64::from(u32::MAX), Span::as_micros)),
            ("tcpi_data_segs_in", connection.segments.data_received),
            ("tcpi_data_segs_out", connection.endpoint.data_segments_out()),
            ("tcpi_delivery_rate", rate(info.delivery_rate)),
            ("tcpi_busy_time", info.busy_time.as_micros()),
            ("tcpi_rwnd_limited", info.rwnd_limited.as_micros()),
            ("tcpi_sndbuf_limited", info.sndbuf_limited.as_micros()),
            ("tcpi_delivered", info.delivered),
            ("tcpi_delivered_ce", info.delivered_ce),
            ("tcpi_bytes_sent", info.bytes_sent.0),
            ("tcpi_bytes_retrans", info.bytes_retrans.0),
            ("tcpi_dsack_dups", u64::from(info.dsack_dups)),
            ("tcpi_snd_wnd", info.snd_wnd.0),
            ("tcpi_last_data_sent", info.last_data_sent.as_millis()),
            ("tcpi_last_data_recv", info.last_data_recv.as_millis()),
            ("tcpi_reord_seen", u64::from(info.reord_seen)),
        ];
        variables.extend(connection.endpoint.ecn_info().iter().flat_map(ecn_variables));
        variables
    }
}

/// Accurate ECN in `tcp_info`. [linux-7.3 tcp.h struct tcp_info]
fn ecn_variables(info: &EcnInfo) -> [(&'static str, u64); 10] {
    let [delivered_e1, delivered_ce, delivered_e0] = info.delivered.map(u64::from);
    let [received_e1, received_ce, received_e0] = info.received.map(u64::from);
    [
        ("tcpi_received_ce", u64::from(info.received_ce)),
        ("tcpi_delivered_e1_bytes", delivered_e1),
        ("tcpi_delivered_e0_bytes", delivered_e0),
        ("tcpi_delivered_ce_bytes", delivered_ce),
        ("tcpi_received_e1_bytes", received_e1),
        ("tcpi_received_e0_bytes", received_e0),
        ("tcpi_received_ce_bytes", received_ce),
        ("tcpi_ecn_mode", info.mode as u64),
        ("tcpi_accecn_opt_seen", info.option_seen as u64),
        ("tcpi_accecn_fail_mode", u64::from(info.failures.bits())),
    ]
}

fn ca_number(state: CaState) -> u64 {
    match state {
        CaState::Open => 0,
        CaState::Disorder => 1,
        CaState::Cwr => 2,
        CaState::Recovery => 3,
        CaState::Loss => 4,
    }
}

/// The state of the standard's diagram. [rfc9293 §3.3.2]
fn state_number(connection: &crate::connection::Connection) -> u64 {
    match (connection.state, connection.shut, connection.endpoint.at_end()) {
        (ConnectionState::SynSent, ..) => 2,
        (ConnectionState::SynReceived, ..) => 3,
        (ConnectionState::Reset, ..) => 7,
        (ConnectionState::Established, false, false) => 1,
        (ConnectionState::Established, false, true) => 8,
        (ConnectionState::Established, true, false) => {
            if connection.finished {
                5
            } else {
                4
            }
        }
        (ConnectionState::Established, true, true) => {
            if connection.finished {
                6
            } else {
                9
            }
        }
    }
}
