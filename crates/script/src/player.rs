//! Runs a script: one event after the other, each at its time.
//!
//! ```text
//! incoming segment, call, command, code:  wait until the time of the event, then execute it
//! outgoing segment:                       wait until as much was sent as the script expects, then compare
//! relative times count from the actual time of the previous event
//! ```
//! Between two incoming segments, relative times count from the scripted time of the first, as in packetdrill; in
//! virtual time this makes no difference. An outgoing segment that no statement expects is found when the next expected
//! one is compared, as in packetdrill. Times are microseconds since the start of the script. [packetdrill]

use std::collections::{BTreeMap, VecDeque};

use crate::command;
use crate::counters::{self, Counters, Unequal};
use crate::errno;
use crate::head::{Pace, Packets};
use crate::message::{self, Message};
use crate::notation::difference;
use crate::script::{Action, Call, Event, Script, SegmentSpec, Time, Value, shown};
use crate::{Finding, LineNumber, Report, Snippet, Verdict};

/// Maximum time that a script waits for a segment.
const SEGMENT_TIMEOUT: i64 = 3_600_000_000;

/// A TCP that a script can test: sockets to call, a device for injecting and receiving, a clock.
pub trait TcpUnderTest {
    /// A segment as the implementation sent it; the next expectation of the script determines how its numbers are read.
    type Departed: Departed;

    /// The commands at the head of the script have been executed: its time begins.
    fn begin(&mut self) {}

    /// The time.
    fn now(&self) -> i64;

    /// Advances time to `end`, or until an event that is watched for may have happened. Fails if time cannot advance.
    fn pass_until(&mut self, end: i64, watch: Watch) -> Result<(), String>;

    /// Segments that have left and that the player has not compared yet.
    fn wire(&mut self) -> &mut VecDeque<Left<Self::Departed>>;

    /// The script expects `departed` to be `spec`: it may name initial sequence numbers and timestamps.
    fn expected(&mut self, conversation: usize, spec: &SegmentSpec, departed: &Self::Departed);

    /// The segment in the script's numbers.
    fn in_script(&self, conversation: usize, departed: &Self::Departed) -> SegmentSpec;

    /// A segment arrives. Fails with the reason if that is not supported.
    fn arrives(&mut self, spec: &SegmentSpec) -> Result<(), String>;

    /// A call begins; `None` if it waits.
    fn call(&mut self, call: &Call) -> Result<Option<Returned>, CallError>;

    /// The call that waits, if it has returned meanwhile.
    fn go_on(&mut self) -> Result<Option<Returned>, CallError>;

    /// The script's number of the descriptor that was just opened.
    fn name(&mut self, number: i64);

    /// A command sets the host up; returns how long it sleeps. Fails with the reason if that is not supported.
    fn execute(&mut self, command: &str) -> Result<i64, String>;

    /// The counters of the host, by the names that `nstat` has for them. An error states why there are none.
    fn counters(&mut self) -> Result<BTreeMap<String, u64>, String>;

    /// What code may read now. Fails with the reason if there is nothing to read.
    fn readings(&mut self) -> Result<Vec<(&'static str, u64)>, String>;
}

/// The events that end a wait early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watch {
    /// The call that waits may have returned.
    Call,
    /// That, or a segment has left.
    CallAndWire,
}

/// A segment that left.
pub trait Departed {
    /// Bytes of payload.
    fn length(&self) -> u32;

    /// Whether this segment is data that follows `before`.
    fn continues(&self, before: &Self) -> bool;

    /// Joins `next`, which continues it: the flags are those of the last.
    fn join(&mut self, next: Self);
}

/// A segment that left, where and when.
#[derive(Debug)]
pub struct Left<D> {
    /// When.
    pub at: i64,
    /// The conversation it belongs to.
    pub conversation: usize,
    /// What.
    pub departed: D,
}

/// The result of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Returned {
    /// The result.
    pub value: i64,
    /// The error, by name.
    pub errno: Option<&'static str>,
    /// It opened a descriptor, whose number the script chooses.
    pub opens: bool,
    /// What came with the data of a `recvmsg`.
    pub message: Option<Message>,
}

/// A result that the script writes as names, and that was as expected.
pub const RESULT_AS_NAMED: i64 = i64::MAX;

/// Why a call was not made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError {
    /// It is not supported.
    Unsupported(String),
    /// The result of the call differs from the script, or the call cannot be made.
    Failed(String),
}

impl CallError {
    /// What is unsupported, with the name of the call unless it names a word of it.
    pub fn naming(self, call: &Call) -> Self {
        match self {
            CallError::Unsupported(why) if !call.has_word_in(&why) => {
                CallError::Unsupported(format!("{}: {why}", call.name))
            }
            other => other,
        }
    }
}

/// Plays `script` against `under_test`.
pub fn play<S: TcpUnderTest>(script: &Script, pace: Pace, under_test: &mut S) -> Report {
    let mut player = Player {
        under_test,
        blocked: None,
        pace,
        last: 0,
        snippets: Vec::new(),
        counters: Counters::default(),
    };
    let mut events = 0;
    let verdict = player.all(&script.events, &mut events);
    Report { verdict, snippets: player.snippets, events }
}

/// A blocked call while the script continues.
#[derive(Clone, Debug)]
struct Blocked {
    line: LineNumber,
    call: Call,
    /// When the script expects it to return.
    ends_at: i64,
}

struct Player<'a, S> {
    under_test: &'a mut S,
    blocked: Option<Blocked>,
    pace: Pace,
    /// When the event before was to happen.
    last: i64,
    snippets: Vec<Snippet>,
    counters: Counters,
}

/// Why a script stopped.
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

    fn of_counter(line: LineNumber, unequal: Unequal) -> Self {
        match unequal {
            Unequal::Unknown(why) => Stop::unsupported(line, why),
            Unequal::Grown(why) => Stop::failed(line, why),
        }
    }

    fn of_call(line: LineNumber, call: &Call, error: CallError) -> Self {
        match error.naming(call) {
            CallError::Unsupported(why) => Stop::unsupported(line, why),
            CallError::Failed(why) => Stop::failed(line, why),
        }
    }
}

type Done<T = ()> = Result<T, Stop>;

/// A time or range of a segment that leaves; `None` = whenever.
type Expected = Option<(i64, i64)>;

impl<S: TcpUnderTest> Player<'_, S> {
    fn all(&mut self, events: &[Event], done: &mut usize) -> Verdict {
        let head = events.iter().take_while(|event| matches!(event.action, Action::Command(_))).count();
        for (place, event) in events.iter().enumerate() {
            if place == head {
                self.under_test.begin();
            }
            match self.play_event(event) {
                Ok(()) => *done += 1,
                Err(Stop::Failed(finding)) => return Verdict::Failed(finding),
                Err(Stop::Unsupported(finding)) => return Verdict::Unsupported(vec![finding]),
            }
        }
        match self.await_blocked() {
            Ok(()) => Verdict::Passed,
            Err(Stop::Failed(finding)) => Verdict::Failed(finding),
            Err(Stop::Unsupported(finding)) => Verdict::Unsupported(vec![finding]),
        }
    }

    fn play_event(&mut self, event: &Event) -> Done {
        let line = event.line;
        if let Action::Leaves(spec) = &event.action {
            let expected = self.expected(event.time);
            return self.leaves(line, spec, expected);
        }
        let at = self.expected(event.time).map_or(self.under_test.now(), |(from, _)| from);
        self.wait_until(line, at)?;
        match &event.action {
            Action::Arrives(spec) => {
                self.under_test.arrives(spec).map_err(|why| Stop::unsupported(line, why))?
            }
            Action::Call(call) => self.call(line, call, event.time)?,
            Action::Command(command) => self.command(line, command)?,
            Action::Code(code) => self.code(line, code)?,
            Action::Leaves(_) => {}
        }
        self.look_at_blocked()
    }
}

/// Time.
impl<S: TcpUnderTest> Player<'_, S> {
    fn expected(&self, time: Time) -> Expected {
        let now = self.under_test.now();
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
        let now = self.under_test.now();
        self.check_time(line, "the event", Some((at, at)), now.max(at))?;
        while self.under_test.now() < at {
            self.under_test.pass_until(at, Watch::Call).map_err(|why| Stop::failed(line, why))?;
            self.look_at_blocked()?;
        }
        self.last = at;
        Ok(())
    }

    fn check_time(&self, line: LineNumber, what: &str, expected: Expected, actual: i64) -> Done {
        let Some((from, to)) = expected else { return Ok(()) };
        let share = (from - self.last).max(0) as u64 * self.pace.percent / 100;
        let tolerance = self.pace.tolerance.max(share) as i64;
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

/// Segments.
impl<S: TcpUnderTest> Player<'_, S> {
    /// Waits for a segment, joins those that follow until they are as long as the script's, and compares.
    fn leaves(&mut self, line: LineNumber, spec: &SegmentSpec, expected: Expected) -> Done {
        let message = format!("nothing left; expected {spec}");
        let mut joined = self.next_departed(line, expected, &message)?;
        while joined.departed.length() < spec.length && self.pace.packets == Packets::Joined {
            let more =
                format!("only {} of {} bytes left; expected {spec}", joined.departed.length(), spec.length);
            let conversation = joined.conversation;
            let before = &joined.departed;
            let follows = self
                .under_test
                .wire()
                .front()
                .map(|next| next.conversation == conversation && next.departed.continues(before));
            if follows == Some(false) {
                break;
            }
            let next = self.next_departed(line, expected, &more)?;
            joined.departed.join(next.departed);
        }
        self.compare(line, spec, &joined)?;
        self.check_time(line, "outbound packet", expected, joined.at)
            .map_err(|stop| self.with_dump(stop, spec, &joined))?;
        self.last = joined.at;
        Ok(())
    }

    fn next_departed(
        &mut self,
        line: LineNumber,
        expected: Expected,
        message: &str,
    ) -> Done<Left<S::Departed>> {
        let latest = expected.map_or(0, |(_, to)| to.max(0));
        let end = self.under_test.now().max(latest) + SEGMENT_TIMEOUT;
        while self.under_test.wire().is_empty() && self.under_test.now() < end {
            let passed = self.under_test.pass_until(end, Watch::CallAndWire);
            passed.map_err(|why| Stop::failed(line, why))?;
            self.look_at_blocked()?;
        }
        self.under_test.wire().pop_front().ok_or_else(|| Stop::failed(line, message))
    }

    fn compare(&mut self, line: LineNumber, spec: &SegmentSpec, joined: &Left<S::Departed>) -> Done {
        self.under_test.expected(joined.conversation, spec, &joined.departed);
        let actual = self.under_test.in_script(joined.conversation, &joined.departed);
        match difference(spec, &actual) {
            None => Ok(()),
            Some(field) => {
                let message = format!("error handling packet: {field}");
                Err(self.with_dump(Stop::failed(line, message), spec, joined))
            }
        }
    }

    fn with_dump(&self, stop: Stop, spec: &SegmentSpec, joined: &Left<S::Departed>) -> Stop {
        let Stop::Failed(mut finding) = stop else { return stop };
        let actual = self.under_test.in_script(joined.conversation, &joined.departed);
        let at = seconds(joined.at);
        finding.message += &format!("\nscript packet: {spec}\nactual packet: {actual} at {at}");
        Stop::Failed(finding)
    }
}

/// Calls.
impl<S: TcpUnderTest> Player<'_, S> {
    fn call(&mut self, line: LineNumber, call: &Call, time: Time) -> Done {
        self.await_blocked()?;
        let begun = self.under_test.now();
        let returned = self.under_test.call(call).map_err(|error| Stop::of_call(line, call, error))?;
        match (returned, call.returns_at) {
            (Some(returned), None) => self.returned(line, call, returned),
            (Some(returned), Some(end)) => {
                let end = end_of(end, time, begun);
                self.check_time(line, "system call return", Some((end, end)), begun)?;
                self.returned(line, call, returned)
            }
            (None, Some(end)) => {
                let ends_at = end_of(end, time, begun);
                self.blocked = Some(Blocked { line, call: call.clone(), ends_at });
                Ok(())
            }
            (None, None) => {
                // packetdrill itself is blocked in such a call, and no segment arrives meanwhile.
                self.blocked = Some(Blocked { line, call: call.clone(), ends_at: begun });
                self.await_blocked()
            }
        }
    }

    /// A call that waits tries again after something has happened.
    fn look_at_blocked(&mut self) -> Done {
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        let line = blocked.line;
        match self.under_test.go_on().map_err(|error| Stop::of_call(line, &blocked.call, error))? {
            None => {
                self.blocked = Some(blocked);
                Ok(())
            }
            Some(returned) => {
                let end = blocked.ends_at;
                self.check_time(line, "system call return", Some((end, end)), self.under_test.now())?;
                self.returned(line, &blocked.call, returned)
            }
        }
    }

    /// Waits until the blocked call has returned.
    fn await_blocked(&mut self) -> Done {
        while let Some(blocked) = &self.blocked {
            let latest = blocked.ends_at + self.pace.tolerance as i64 + 1;
            let (name, begun) = (blocked.call.name.clone(), blocked.line);
            if self.under_test.now() > latest {
                return Err(Stop::failed(
                    begun,
                    format!("the system call {name} has not returned at {}", seconds(self.under_test.now())),
                ));
            }
            let end = latest.max(self.under_test.now() + 1);
            self.under_test.pass_until(end, Watch::Call).map_err(|why| Stop::failed(begun, why))?;
            self.look_at_blocked()?;
        }
        Ok(())
    }

    fn returned(&mut self, line: LineNumber, call: &Call, returned: Returned) -> Done {
        let name = &call.name;
        let wanted = match &call.result {
            Value::Integer(wanted) => *wanted,
            _ if returned.value == RESULT_AS_NAMED => return Ok(()),
            other => {
                let what =
                    format!("the result `{}` of {name} is not a number, and is not modelled", shown(other));
                return Err(Stop::unsupported(line, what));
            }
        };
        if returned.opens && wanted >= 0 {
            self.under_test.name(wanted);
            return Ok(());
        }
        let text = |value: i64, errno: Option<&str>| match errno {
            Some(errno) => format!("{value} {errno}"),
            None => value.to_string(),
        };
        let errno = call.errno.as_deref();
        // An error may have two names.
        let number = |errno: Option<&str>| errno.and_then(errno::number);
        if wanted == returned.value && (errno.is_none() || number(errno) == number(returned.errno)) {
            return self.received(line, call, &returned);
        }
        let (wanted, got) = (text(wanted, errno), text(returned.value, returned.errno));
        Err(Stop::failed(
            line,
            format!("runtime error in {name} call: expected result {wanted} but got {got}"),
        ))
    }

    /// Compares what a `recvmsg` returned in addition to data with the script.
    fn received(&self, line: LineNumber, call: &Call, returned: &Returned) -> Done {
        let got = returned.message.as_ref().filter(|_| call.name == "recvmsg");
        match got.and_then(|got| message::difference(call, got, self.pace.tolerance)) {
            Some(message) => {
                Err(Stop::failed(line, format!("bad message header of {}: {message}", call.name)))
            }
            None => Ok(()),
        }
    }

    fn command(&mut self, line: LineNumber, command: &str) -> Done {
        let refused = |why| Stop::unsupported(line, why);
        for simple in command::simple(command) {
            if let Some(request) = counters::request(&simple).map_err(refused)? {
                let now = self.under_test.counters().map_err(refused)?;
                self.counters.answer(&request, now).map_err(|unequal| Stop::of_counter(line, unequal))?;
                continue;
            }
            let slept = self.under_test.execute(&simple).map_err(refused)?;
            if slept > 0 {
                self.wait_until(line, self.under_test.now() + slept)?;
            }
        }
        Ok(())
    }

    fn code(&mut self, line: LineNumber, code: &str) -> Done {
        let variables = self.under_test.readings().map_err(|why| Stop::unsupported(line, why))?;
        let variables = SYMBOLS.iter().copied().chain(variables).collect();
        self.snippets.push(Snippet { line, code: code.to_owned(), variables });
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

/// Symbols that scripts compare with. [linux-6.12 tcp.h]
pub const SYMBOLS: &[(&str, u64)] = &[
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
