//! The world and its main loop.
//!
//! An event of the calendar wakes one component. Everything that it causes at the same time is processed before the
//! next event, in the order of Linux's soft interrupts; processing takes no time:
//!
//! 1. timers of this tick, if that was the event (`timers.rs`);
//! 2. packets received, first come first served over all hosts;
//! 3. sockets whose small queue drained (`tcp_tsq_workfn`);
//! 4. applications that were woken, one at a time;
//!
//! and again from 2 until nothing is left. There is no recursion: a component queues the work that it causes.

use tailback_engine::Streams;
use tailback_packet::{Packet, SocketId};
use tailback_traffic::Event as AppEvent;
use tailback_units::{Bytes, SimTime, Span};

use crate::channel::RadioChannel;
use crate::connection::Planned;
use crate::context::Context;
use crate::conversation::{Barrier, Conversation};
use crate::endpoints::Endpoints;
use crate::event::Received;
use crate::event_count::EventCount;
use crate::network::Network;
use crate::qdisc_stats::qdisc_stats;
use crate::scenario::TcpInfoRows;
use crate::schedule::Change;
use crate::signal::SignalOnDevice;
use crate::socket::Sockets;
use crate::sojourns::Slot;
use crate::steps::Steps;
use crate::timers::Timers;
use crate::turn::Waiting;
use crate::{ConversationId, Cost, Event, Ledger, RunError, TimerId};

/// Whether a run continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proceed {
    /// Continue.
    Continue,
    /// Stop this run, as requested.
    Stop,
    /// Stop this run, which uses more memory than allowed.
    OutOfMemory,
}

/// The progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// Simulated time.
    pub now: SimTime,
    /// Simulated time at which the run ends.
    pub end: SimTime,
    /// Memory that grows with the run: rows, captures, packets on their way.
    pub held: Bytes,
}

/// Receives the progress of a run, and may stop it.
pub trait Watch {
    /// Called at each hundredth of a run, and after every [`EVENTS_BETWEEN_CHECKS`] events.
    fn progress(&self, reached: &Reached) -> Proceed;
}

/// Never stops a run.
impl Watch for () {
    fn progress(&self, _reached: &Reached) -> Proceed {
        Proceed::Continue
    }
}

/// The results of a run.
#[derive(Debug)]
pub struct Outcome {
    /// What the run has recorded.
    pub tables: tailback_record::Tables,
    /// The disciplines at the end, as JSON: see [`crate::qdisc_stats`].
    pub disciplines: String,
    /// The capture of each host that was to have one, as pcapng.
    pub captures: Vec<(String, Vec<u8>)>,
    /// The cost of the run.
    pub cost: Cost,
}

/// What is recorded when a sender has processed an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtAck {
    /// Nothing.
    Nothing,
    /// A row of `tcp_info`, or one of `senders` in the window of the log of packets.
    Rows,
}

/// Hosts, links and applications, ready to run.
pub struct World {
    pub(crate) end: SimTime,
    pub(crate) interval: Span,
    /// Of sojourn times.
    pub(crate) slot: Slot,
    pub(crate) tcp_info_rows: TcpInfoRows,
    pub(crate) at_ack: AtAck,
    pub(crate) network: Network,
    /// What changes in the run; `Event::Change` says which.
    pub(crate) schedule: Vec<Change>,
    /// What stations hear from then on, by the number of the event.
    pub(crate) signals: Vec<SignalOnDevice>,
    pub(crate) sockets: Sockets,
    /// What the endpoints outside of the world have to be told.
    pub(crate) endpoints: Endpoints,
    pub(crate) conversations: Vec<Conversation>,
    /// The connections of all conversations, in their order.
    pub(crate) planned: Vec<Planned>,
    /// The conversations that have begun and are not over; also those without sockets of TCP. [`World::sample`] sorts
    /// them.
    pub(crate) present: Vec<ConversationId>,
    /// The random streams of sockets that are still to be made.
    pub(crate) streams: Streams,
    /// The conversations whose application holds memory that grows with the run.
    pub(crate) growing: Vec<ConversationId>,
    /// Barriers of conversations, in the order of their first names.
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) context: Context,
    pub(crate) waiting: Waiting,
    pub(crate) timers: Timers,
    pub(crate) steps: Steps,
    /// The events so far, and before which of them something else is looked at: timers that are due, a run that stands still,
    /// the watcher.
    pub(crate) events: EventCount,
}

/// A few milliseconds of computing: an interrupt of the user takes effect soon, and the check has no measurable cost.
pub const EVENTS_BETWEEN_CHECKS: u64 = 1 << 14;

impl World {
    /// Runs to the end of the scenario.
    pub fn run(mut self, watch: &dyn Watch) -> Result<Outcome, RunError> {
        self.advance(watch)?;
        Ok(self.finish())
    }

    /// Where the packets are.
    pub fn ledger(&self) -> Ledger {
        let on_air = self.context.channels.iter().map(RadioChannel::packets).sum::<usize>();
        let inside = self.network.packets() + self.context.backlog.len() + on_air;
        Ledger { inside: inside as u64, ..self.context.ledger }
    }

    /// Where the next planned connection will be.
    pub(crate) fn next_planned(&self) -> u32 {
        u32::try_from(self.planned.len()).expect("fewer than four billion connections")
    }

    /// Processes one event after the other until the end.
    pub(crate) fn advance(&mut self, watch: &dyn Watch) -> Result<(), RunError> {
        let Some(last) = self.end.as_nanos().checked_sub(1).map(SimTime::from_nanos) else { return Ok(()) };
        while self.context.calendar.pass_to_next(last) {
            let Some(event) = self.context.calendar.present() else { break };
            self.context.now = self.context.calendar.now();
            // One condition for everything that is rare between two events.
            if self.events.count() {
                self.check_between_events(event, watch)?;
            }
            self.dispatch(event, watch)?;
        }
        self.steps.check()?;
        self.context.now = self.end;
        Ok(())
    }

    /// Before an event: timers that are due expire, unless it is one of them; the run stops if it stands still or the
    /// watcher stops it.
    #[cold]
    #[inline(never)]
    pub(crate) fn check_between_events(&mut self, event: Event, watch: &dyn Watch) -> Result<(), RunError> {
        self.steps.check()?;
        let number = self.events.number();
        if number.is_multiple_of(EVENTS_BETWEEN_CHECKS) {
            self.check_watcher(watch)?;
        }
        if self.timers.is_any_due() && !matches!(event, Event::Timer(_)) {
            self.tick();
        }
        self.events.check_before(match self.timers.is_any_due() {
            true => number + 1,
            false => (number / EVENTS_BETWEEN_CHECKS + 1) * EVENTS_BETWEEN_CHECKS,
        });
        self.steps.check()
    }

    /// Checks with the watcher whether the run continues.
    #[cold]
    fn check_watcher(&self, watch: &dyn Watch) -> Result<(), RunError> {
        let at = self.context.now;
        let reached = Reached { now: at, end: self.end, held: self.held() };
        match watch.progress(&reached) {
            Proceed::Continue => Ok(()),
            Proceed::Stop => Err(RunError::Stopped { at }),
            Proceed::OutOfMemory => Err(RunError::OutOfMemory { at, held: reached.held }),
        }
    }

    /// Memory that grows with the run. Sockets are left out: their buffers have limits of their own.
    fn held(&self) -> Bytes {
        let Context { journal, captures, ledger, .. } = &self.context;
        let inside = ledger.created.saturating_sub(ledger.delivered + ledger.dropped);
        let packets = inside * size_of::<Packet>() as u64;
        let held = |id: &ConversationId| self.conversations[id.0 as usize].machine.as_ref()?.held();
        let applications: usize = self.growing.iter().filter_map(held).sum();
        Bytes((journal.record.held() + captures.held() + applications) as u64 + packets)
    }

    /// The present event of the calendar happens; it leaves the calendar, or is repeated.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self, event: Event, watch: &dyn Watch) -> Result<(), RunError> {
        // Nearly all events are arrivals, and most others wake-ups of disciplines, by their watchdog or by room in the ring.
        match event {
            Event::Arrived(device) => {
                if self.receive_from(device) == Received::ByHost {
                    self.settle();
                    return Ok(());
                }
            }
            Event::Watchdog(device) => self.network.devices[device.index()].watchdog_fired(&mut self.context),
            Event::Transmitted(device) => self.network.devices[device.index()].transmitted(&mut self.context),
            _ => {
                self.context.calendar.take();
                return self.dispatch_rare(event, watch);
            }
        }
        // A device has sent: nothing was left before, and of all that may be left a device leaves only these.
        if self.context.effects.credits.len() | self.context.backlog.len() > 0 {
            self.settle_some();
        } else {
            debug_assert!(self.waiting.is_settled(&self.context));
        }
        Ok(())
    }

    /// An event that is neither an arrival, as most are, nor a wake-up of a discipline. All others are here so
    /// that the main loop is short.
    #[inline(never)]
    fn dispatch_rare(&mut self, event: Event, watch: &dyn Watch) -> Result<(), RunError> {
        match event {
            Event::Timer(socket) => {
                self.timer_event(socket);
                return Ok(());
            }
            Event::Progress => return self.check_watcher(watch),
            Event::Arrived(_) | Event::Watchdog(_) | Event::Transmitted(_) | Event::Pause => {}
            Event::PathDelivers(device) => {
                self.network.devices[device.index()].path_delivers(&mut self.context)
            }
            Event::Poll(device) => self.network.devices[device.index()].poll(&mut self.context),
            Event::Air(channel) => self.network.on_air(channel, &mut self.context),
            Event::Interrupt(channel, station) => self.context.interrupt(channel, station),
            Event::Completions(channel, station) => self.context.report_completions(channel, station),
            Event::Change(number) => {
                self.schedule[number as usize].clone().apply(&mut self.network.devices, &mut self.context);
            }
            Event::Signal(number) => self.signals[number as usize].apply(&mut self.context),
            Event::Application(conversation, timer) => self.application_timer(conversation, timer),
            Event::Sample => self.sample(),
            Event::Slot => self.end_slot(),
        }
        self.settle();
        Ok(())
    }

    /// A timer is due: all timers of its tick run before any of their consequences. Nearly always it is the only one.
    #[inline(never)]
    fn timer_event(&mut self, socket: SocketId) {
        let is_due = self.sockets.timer_fired(socket, &mut self.context);
        let is_last = self.context.calendar.peek_time() != Some(self.context.now);
        if is_due && is_last && !self.timers.is_any_due() {
            self.expire_only_timer(socket);
            return self.settle();
        }
        if is_due {
            // It expires with the other timers of this tick.
            self.timers.ran_out(socket, self.sockets.timer(socket));
            self.events.check_soon();
        }
        if is_last {
            self.tick();
        }
    }

    fn tick(&mut self) {
        self.expire_timers();
        self.settle();
    }

    /// Processes everything that is caused at this time.
    pub(crate) fn settle(&mut self) {
        if !self.waiting.is_settled(&self.context) {
            self.settle_some();
        }
    }

    /// Often that is only data to be read.
    #[inline(never)]
    fn settle_some(&mut self) {
        if !self.context.effects.credits.is_empty() {
            self.return_all_credits();
        }
        if let Some(socket) = self.waiting.reader
            && self.waiting.nothing_precedes_reader(&self.context)
        {
            self.read_in_turn(socket);
        }
        if !self.waiting.is_settled(&self.context) {
            self.settle_all();
        }
    }

    #[inline(never)]
    fn settle_all(&mut self) {
        self.steps.begin(self.context.now);
        while !self.steps.never_end() {
            self.return_credits();
            self.steps.count();
            if let Some((host, packet)) = self.context.backlog.pop_front() {
                self.receive(host, packet);
            } else if !self.waiting.small_queues.is_empty() {
                self.run_small_queues();
            } else if let Some(socket) = self.waiting.reader {
                self.read_in_turn(socket);
            } else if let Some(socket) = self.waiting.runnable.pop_front() {
                self.run_application(socket);
            }
            if self.waiting.is_at_rest(&self.context) {
                return;
            }
        }
        self.events.check_soon();
    }

    /// Runs the sockets that are queued now, the last one first, since each was inserted at the head of the list;
    /// sockets queued meanwhile wait for the next round. [linux-6.12 tcp_output.c tcp_wfree, tcp_tsq_workfn]
    fn run_small_queues(&mut self) {
        let mut queued = std::mem::take(&mut self.waiting.small_queues);
        while let Some(socket) = queued.pop() {
            self.sockets.tcp(socket).endpoint.small_queue_ran(self.context.now);
            self.drain(socket);
        }
        if self.waiting.small_queues.is_empty() {
            // The list keeps its memory.
            self.waiting.small_queues = queued;
        }
    }

    fn application_timer(&mut self, conversation: ConversationId, timer: TimerId) {
        let event = if timer == TimerId::START { AppEvent::Started } else { AppEvent::Timer };
        if event == AppEvent::Started {
            self.open(conversation);
            let starts = &self.conversations[conversation.0 as usize];
            starts.set_no_delay(&mut self.sockets, self.context.now);
        } else if self.conversations[conversation.0 as usize].machine.is_none() {
            // It is over: a time to stop comes too late.
            return;
        }
        let [client, _] = self.conversations[conversation.0 as usize].first_pair;
        self.call(client, |called| called.on(event));
    }

    /// Records what is still to be recorded, and gives the results.
    pub fn finish(mut self) -> Outcome {
        self.context.cost.events = self.events.number();
        self.context.cost.sim_ns = self.context.now.as_nanos();
        self.sample_last();
        self.network.record_sojourns(&mut self.slot, &mut self.context);
        let disciplines = qdisc_stats(&self.network.devices, &self.context.journal);
        // The last that is done with the network: it empties the queues.
        let ledger = self.ledger();
        self.network.refuse_leaks(&ledger, &self.context);
        // Whoever writes the tables does it where the network was.
        drop((self.sockets, self.conversations, self.planned, self.network));
        let Context { mut journal, mut captures, cost, .. } = self.context;
        if let Some(log) = captures.log.take() {
            log.finish(&mut journal.record);
        }
        Outcome { tables: journal.record.finish(), disciplines, captures: captures.finish(), cost }
    }
}

#[cfg(test)]
mod kind_tests;
#[cfg(test)]
mod packet_tests;
#[cfg(test)]
mod past_tests;
#[cfg(test)]
mod path_tests;
#[cfg(test)]
mod radio_tests;
#[cfg(test)]
mod tests;
