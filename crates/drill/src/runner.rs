//! Runs a script: one event after the other, each at its time, in virtual time.
//!
//! ```text
//! arrives, call, command, code:  time passes until the event's time, then it happens
//! leaves:                        time passes until as much has left as the script expects; then it is compared
//! relative times count from the event before, as it really happened
//! ```
//! Between two arrivals relative times count from the scripted time of the first, as packetdrill anchors them; in
//! virtual time that is the same. What leaves and is expected nowhere is found when the next expected segment is
//! compared, as in packetdrill. [packetdrill]

use tailback_cc::CaState;
use tailback_packet::IpVersion;
use tailback_tcp::{Settings, Stack};
use tailback_units::{Rate, SimTime, Span};

use crate::connection::{Departed, NotInjectable, Phase};
use crate::host::Host;
use crate::kernel::{Kernel, Restless, START};
use crate::notation::difference;
use crate::script::{Action, Call, Event, OptionLine, Script, SegmentSpec, Time, Value};
use crate::shell;
use crate::sockets::messages::difference as difference_of_messages;
use crate::sockets::{CallError, Progress, RESULT_AS_NAMED, Returned, Sockets, Waiting};
use crate::{Finding, LineNumber, Report, Snippet, Verdict};

/// How far times may be off if nobody says, microseconds. [packetdrill]
const TOLERANCE_DEFAULT: u64 = 4_000;
/// How long a script waits for a segment at most.
const PATIENCE: Span = Span::from_secs(3_600);
/// Name of the infinite slow-start threshold in `tcp_info`. [linux-6.12 tcp.h TCP_INFINITE_SSTHRESH]
const SSTHRESH_INFINITE: u64 = 0x7fff_ffff;

/// Runs `script` on `stack`.
pub(crate) fn run(script: &Script, stack: Stack, tolerance_usecs: Option<u64>) -> Report {
    let mut host = Host::new(Settings { stack, ..Settings::default() });
    let mut settings =
        RunSettings { tolerance: TOLERANCE_DEFAULT, percent: 0, gso_size: None, strict_segments: false };
    let options = script.options.iter().map(|option| settings.apply(option, &mut host));
    let refused: Vec<Finding> = options.filter_map(Result::err).collect();
    if !refused.is_empty() {
        return Report::before_run(Verdict::Unsupported(refused));
    }
    settings.tolerance = tolerance_usecs.unwrap_or(settings.tolerance);
    let mut kernel = Kernel::new(host);
    kernel.gso_size = settings.gso_size;
    let mut runner = Runner {
        kernel,
        sockets: Sockets::default(),
        blocked: None,
        settings,
        last: 0,
        snippets: Vec::new(),
    };
    let mut events = 0;
    let verdict = runner.all(&script.events, &mut events);
    Report { verdict, snippets: runner.snippets, events }
}

/// What options say.
#[derive(Clone, Copy, Debug)]
struct RunSettings {
    tolerance: u64,
    percent: u64,
    gso_size: Option<u16>,
    /// Each packet is compared for itself.
    strict_segments: bool,
}

/// Options that say where packets come from and go to: nothing here depends on it.
const ADDRESSING: &[&str] = &[
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "speed",
    "send_omit_free",
    "non_fatal",
    "dry_run",
    "verbose",
    "debug",
];

impl RunSettings {
    fn apply(&mut self, option: &OptionLine, host: &mut Host) -> Result<(), Finding> {
        let told = format!("the option --{}={} is not modelled", option.name, option.value);
        let refused = || Finding::new(option.line, &told);
        let number =
            |most: u64| option.value.parse().ok().filter(|value: &u64| *value <= most).ok_or_else(refused);
        match option.name.as_str() {
            "tolerance_usecs" => self.tolerance = number(1_000_000_000)?,
            "tolerance_percent" => self.percent = number(1_000)?,
            "mss" => self.gso_size = Some(number(65_535)? as u16),
            "strict_segments" if option.value.is_empty() => self.strict_segments = true,
            "mtu" => host.tcp.mtu = number(65_535).ok().filter(|mtu| *mtu >= 576).ok_or_else(refused)? as u32,
            "ip_version" if option.value == "ipv4" => {}
            "ip_version" if option.value == "ipv6" => host.tcp.ip = IpVersion::V6,
            // The clock of timestamps that is modelled.
            "tcp_ts_tick_usecs" if matches!(option.value.as_str(), "0" | "1000") => {}
            name if ADDRESSING.contains(&name) => {}
            _ => return Err(refused()),
        }
        Ok(())
    }
}

/// A call that waits while the script goes on.
#[derive(Clone, Debug)]
struct Blocked {
    line: LineNumber,
    call: Call,
    waiting: Waiting,
    /// When the script expects it to return.
    ends_at: i64,
}

struct Runner {
    kernel: Kernel,
    sockets: Sockets,
    blocked: Option<Blocked>,
    settings: RunSettings,
    /// When the event before was to happen, script time in µs.
    last: i64,
    snippets: Vec<Snippet>,
}

/// Why a script did not go on.
enum Stop {
    Failed(Finding),
    Unsupported(Finding),
}

impl Stop {
    fn failed(line: LineNumber, message: impl Into<String>) -> Self {
        Stop::Failed(Finding { line, message: message.into() })
    }

    fn unsupported(line: LineNumber, message: impl Into<String>) -> Self {
        Stop::Unsupported(Finding { line, message: message.into() })
    }
}

type Done<T = ()> = Result<T, Stop>;

/// A time or range of a segment that leaves, script time in µs; `None` = whenever.
type Expected = Option<(i64, i64)>;

impl Runner {
    fn all(&mut self, events: &[Event], done: &mut usize) -> Verdict {
        for event in events {
            match self.one(event) {
                Ok(()) => *done += 1,
                Err(Stop::Failed(finding)) => return Verdict::Failed(finding),
                Err(Stop::Unsupported(finding)) => return Verdict::Unsupported(vec![finding]),
            }
        }
        match self.await_blocked(events.last().map_or(LineNumber(1), |event| event.line)) {
            Ok(()) => Verdict::Passed,
            Err(Stop::Failed(finding)) => Verdict::Failed(finding),
            Err(Stop::Unsupported(finding)) => Verdict::Unsupported(vec![finding]),
        }
    }

    fn one(&mut self, event: &Event) -> Done {
        let line = event.line;
        if let Action::Leaves(spec) = &event.action {
            let expected = self.expected(event.time);
            return self.leaves(line, spec, expected);
        }
        let at = self.expected(event.time).map_or(self.script_now(), |(from, _)| from);
        self.wait_until(line, at)?;
        match &event.action {
            Action::Arrives(spec) => self.arrives(line, spec)?,
            Action::Call(call) => self.call(line, call, event.time)?,
            Action::Command(command) => self.command(line, command)?,
            Action::Code(code) => self.code(line, code)?,
            Action::Leaves(_) => {}
        }
        self.look_at_blocked()
    }
}

/// Time.
impl Runner {
    fn script_now(&self) -> i64 {
        self.on_script(self.kernel.now)
    }

    fn on_script(&self, time: SimTime) -> i64 {
        time.as_nanos().saturating_sub(START.as_nanos()) as i64 / 1_000
    }

    fn expected(&self, time: Time) -> Expected {
        let now = self.script_now();
        match time {
            Time::Any => None,
            Time::Absolute(at) => Some((at, at)),
            Time::Relative(after) => Some((now + after, now + after)),
            Time::AbsoluteRange(from, to) => Some((from, to)),
            Time::RelativeRange(from, to) => Some((now + from, now + to)),
        }
    }

    /// Time passes; a call that waits may return meanwhile.
    fn wait_until(&mut self, line: LineNumber, at: i64) -> Done {
        let now = self.script_now();
        self.check_time(line, "the event", Some((at, at)), now.max(at))?;
        let end = START + Span::from_micros(at.max(0) as u64);
        while self.kernel.now < end {
            let waits = self.blocked.is_some();
            let passed = self.kernel.pass_until(end, |_| waits);
            passed.map_err(|Restless| restless(line))?;
            self.look_at_blocked()?;
        }
        self.last = at;
        Ok(())
    }

    fn check_time(&self, line: LineNumber, what: &str, expected: Expected, actual: i64) -> Done {
        let Some((from, to)) = expected else { return Ok(()) };
        let share = (from - self.last).max(0) as u64 * self.settings.percent / 100;
        let tolerance = self.settings.tolerance.max(share) as i64;
        if (from - tolerance..=to + tolerance).contains(&actual) {
            return Ok(());
        }
        let when = if from == to { seconds(from) } else { format!("{}~{}", seconds(from), seconds(to)) };
        let (actual, tolerance) = (seconds(actual), seconds(tolerance));
        Err(Stop::failed(
            line,
            format!(
                "timing error: expected {what} at {when} sec but happened at {actual} sec; tolerance {tolerance} sec"
            ),
        ))
    }
}

fn seconds(micros: i64) -> String {
    format!(
        "{}{}.{:06}",
        if micros < 0 { "-" } else { "" },
        micros.abs() / 1_000_000,
        micros.abs() % 1_000_000
    )
}

fn restless(line: LineNumber) -> Stop {
    Stop::failed(line, "the machines do not come to rest: their timers fire without end")
}

/// Segments.
impl Runner {
    fn arrives(&mut self, line: LineNumber, spec: &SegmentSpec) -> Done {
        let arrived = self.kernel.arrives(spec, self.sockets.listener());
        arrived.map_err(|NotInjectable(why)| Stop::unsupported(line, why))
    }

    /// Waits for a segment, joins those that follow until they are as long as the script's, and compares.
    fn leaves(&mut self, line: LineNumber, spec: &SegmentSpec, expected: Expected) -> Done {
        let told = format!("nothing left; expected {spec}");
        let first = self.next_departed(line, expected, &told)?;
        let (at, index) = (first.0, first.1);
        let mut joined = first.2;
        while joined.length < spec.length && !self.settings.strict_segments {
            let more = format!("only {} of {} bytes left; expected {spec}", joined.length, spec.length);
            let follows = self.kernel.wire.front().is_some_and(|next| {
                next.connection == index
                    && next.departed.length > 0
                    && joined.seq + u64::from(joined.length) == next.departed.seq
            });
            if !follows && !self.kernel.wire.is_empty() {
                break;
            }
            let (_, _, next) = self.next_departed(line, expected, &more)?;
            joined.length += next.length;
            joined.flags = next.flags;
        }
        self.compare(line, spec, index, &joined, at)?;
        let what = "outbound packet";
        self.check_time(line, what, expected, self.on_script(at))
            .map_err(|stop| self.with_dump(stop, spec, index, &joined, at))?;
        self.last = self.on_script(at);
        Ok(())
    }

    fn next_departed(
        &mut self,
        line: LineNumber,
        expected: Expected,
        told: &str,
    ) -> Done<(SimTime, usize, Departed)> {
        let latest = expected.map_or(0, |(_, to)| to.max(0)) as u64;
        let end = self.kernel.now.max(START + Span::from_micros(latest)) + PATIENCE;
        while self.kernel.wire.is_empty() && self.kernel.now < end {
            let before = self.kernel.now;
            let waits = self.blocked.is_some();
            let passed = self.kernel.pass_until(end, |kernel| waits || !kernel.wire.is_empty());
            passed.map_err(|Restless| restless(line))?;
            if self.kernel.wire.is_empty() && self.kernel.now >= end {
                // Nothing is left to happen: the script's clock stays where it was.
                self.kernel.now = before;
                break;
            }
            self.look_at_blocked()?;
        }
        match self.kernel.wire.pop_front() {
            Some(on_wire) => Ok((on_wire.at, on_wire.connection, on_wire.departed)),
            None => Err(Stop::failed(line, told)),
        }
    }

    fn compare(
        &mut self,
        line: LineNumber,
        spec: &SegmentSpec,
        index: usize,
        joined: &Departed,
        at: SimTime,
    ) -> Done {
        let connection = &mut self.kernel.connections[index];
        connection.expected(spec, joined);
        let actual = connection.in_script(joined);
        match difference(spec, &actual) {
            None => Ok(()),
            Some(field) => {
                let message = format!("error handling packet: {field}");
                Err(self.with_dump(Stop::failed(line, message), spec, index, joined, at))
            }
        }
    }

    fn with_dump(
        &self,
        stop: Stop,
        spec: &SegmentSpec,
        index: usize,
        joined: &Departed,
        at: SimTime,
    ) -> Stop {
        let Stop::Failed(mut finding) = stop else { return stop };
        let actual = self.kernel.connections[index].in_script(joined);
        let at = seconds(self.on_script(at));
        finding.message += &format!("\nscript packet: {spec}\nactual packet: {actual} at {at}");
        Stop::Failed(finding)
    }
}

/// Calls.
impl Runner {
    fn call(&mut self, line: LineNumber, call: &Call, time: Time) -> Done {
        self.await_blocked(line)?;
        let begun = self.script_now();
        let progress = self.sockets.call(call, &mut self.kernel).map_err(|error| match error {
            CallError::Unsupported(why) => Stop::unsupported(line, why),
            CallError::Failed(why) => Stop::failed(line, why),
        })?;
        match (progress, call.returns_at) {
            (Progress::Returned(returned), None) => self.returned(line, call, returned),
            (Progress::Returned(returned), Some(end)) => {
                let end = end_of(end, time, begun);
                self.check_time(line, "system call return", Some((end, end)), begun)?;
                self.returned(line, call, returned)
            }
            (Progress::Waits(waiting), Some(end)) => {
                let ends_at = end_of(end, time, begun);
                self.blocked = Some(Blocked { line, call: call.clone(), waiting, ends_at });
                Ok(())
            }
            (Progress::Waits(waiting), None) => {
                // packetdrill itself stands still in such a call, and nothing arrives meanwhile.
                self.blocked = Some(Blocked { line, call: call.clone(), waiting, ends_at: begun });
                self.await_blocked(line)
            }
        }
    }

    /// A call that waits tries again after something has happened.
    fn look_at_blocked(&mut self) -> Done {
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        match self.sockets.go_on(blocked.waiting, &mut self.kernel) {
            Progress::Waits(waiting) => {
                self.blocked = Some(Blocked { waiting, ..blocked });
                Ok(())
            }
            Progress::Returned(returned) => {
                let (line, end) = (blocked.line, blocked.ends_at);
                self.check_time(line, "system call return", Some((end, end)), self.script_now())?;
                self.returned(line, &blocked.call, returned)
            }
        }
    }

    /// Nothing else happens until the call that waits has returned.
    fn await_blocked(&mut self, line: LineNumber) -> Done {
        while let Some(blocked) = &self.blocked {
            let latest = blocked.ends_at + self.settings.tolerance as i64 + 1;
            let end =
                (START + Span::from_micros(latest.max(0) as u64)).max(self.kernel.now + Span::from_micros(1));
            let (name, begun) = (blocked.call.name.clone(), blocked.line);
            let over = self.script_now() > latest;
            if over {
                return Err(Stop::failed(
                    begun,
                    format!("the system call {name} has not returned at {}", seconds(self.script_now())),
                ));
            }
            self.kernel.pass_until(end, |_| true).map_err(|Restless| restless(line))?;
            self.look_at_blocked()?;
        }
        Ok(())
    }

    fn returned(&mut self, line: LineNumber, call: &Call, returned: Returned) -> Done {
        let name = &call.name;
        let wanted = match &call.result {
            Value::Integer(wanted) => *wanted,
            _ if returned.value == RESULT_AS_NAMED => return Ok(()),
            other => return Err(Stop::failed(line, format!("{name}: the result {other:?} is not a number"))),
        };
        if returned.is_descriptor() && wanted >= 0 {
            self.sockets.name(wanted, returned);
            return Ok(());
        }
        let told = |value: i64, errno: Option<&str>| match errno {
            Some(errno) => format!("{value} {errno}"),
            None => value.to_string(),
        };
        let errno = call.errno.as_deref();
        if wanted == returned.value && errno.is_none_or(|errno| Some(errno) == returned.errno) {
            return self.received(line, call, &returned);
        }
        let (wanted, got) = (told(wanted, errno), told(returned.value, returned.errno));
        Err(Stop::failed(
            line,
            format!("runtime error in {name} call: expected result {wanted} but got {got}"),
        ))
    }

    /// What a `recvmsg` got beside data is as the script has it.
    fn received(&self, line: LineNumber, call: &Call, returned: &Returned) -> Done {
        let message = returned.message.as_ref().filter(|_| call.name == "recvmsg");
        let differs =
            message.and_then(|message| difference_of_messages(call, message, self.settings.tolerance));
        match differs {
            Some(told) => Err(Stop::failed(line, format!("bad message header of {}: {told}", call.name))),
            None => Ok(()),
        }
    }

    fn command(&mut self, line: LineNumber, command: &str) -> Done {
        let slept = shell::execute(command, &mut self.kernel.host);
        let slept = slept.map_err(|why| Stop::unsupported(line, why))?;
        if !slept.is_zero() {
            let at = self.script_now() + slept.as_micros() as i64;
            self.wait_until(line, at)?;
        }
        Ok(())
    }
}

fn end_of(end: i64, time: Time, begun: i64) -> i64 {
    if matches!(time, Time::Relative(_)) {
        // The end counts from the event before, like the beginning.
        let Time::Relative(after) = time else { return end };
        return begun - after + end;
    }
    end
}

/// Code.
impl Runner {
    fn code(&mut self, line: LineNumber, code: &str) -> Done {
        let Some(index) = self.kernel.current() else {
            return Err(Stop::failed(line, "code needs a conversation: there is no tcp_info before one"));
        };
        let variables = self.variables(index);
        self.snippets.push(Snippet { line, code: code.to_owned(), variables });
        Ok(())
    }

    /// The names that packetdrill defines, as far as the machines know them.
    fn variables(&self, index: usize) -> Vec<(&'static str, u64)> {
        let connection = &self.kernel.connections[index];
        let info = connection.endpoint.tcp_info(self.kernel.now);
        let agreed = &connection.agreement;
        let scaled = u64::from(agreed.window_scaling);
        let options = u64::from(agreed.timestamps)
            | u64::from(agreed.sack) << 1
            | scaled << 2
            | u64::from(connection.endpoint.uses_ecn()) << 3;
        let scale = if agreed.window_scaling { connection.endpoint.window_scale() } else { 0 };
        let rate = |rate: Rate| if rate.is_unlimited() { u64::MAX } else { rate.bytes_per_sec() };
        let mut found = CONSTANTS.to_vec();
        found.extend([
            ("tcpi_state", state_number(connection)),
            ("tcpi_ca_state", ca_number(info.ca_state)),
            ("tcpi_retransmits", u64::from(info.retransmits)),
            ("tcpi_options", options),
            ("tcpi_snd_wscale", u64::from(connection.peer_scale)),
            ("tcpi_rcv_wscale", u64::from(scale)),
            ("tcpi_rto", info.rto.as_micros()),
            ("tcpi_probes", u64::from(info.probes)),
            ("tcpi_backoff", u64::from(info.backoff)),
            ("tcpi_advmss", u64::from(connection.endpoint.advertised_mss())),
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
        ]);
        found
    }
}

/// Symbols that scripts compare with. [linux-6.12 tcp.h]
const CONSTANTS: &[(&str, u64)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_SYN_DATA", 32),
];

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
    match (connection.phase, connection.shut, connection.endpoint.at_end()) {
        (Phase::SynSent, ..) => 2,
        (Phase::SynReceived, ..) => 3,
        (Phase::Reset, ..) => 7,
        (Phase::Established, false, false) => 1,
        (Phase::Established, false, true) => 8,
        (Phase::Established, true, false) => {
            if connection.finished {
                5
            } else {
                4
            }
        }
        (Phase::Established, true, true) => {
            if connection.finished {
                6
            } else {
                9
            }
        }
    }
}
