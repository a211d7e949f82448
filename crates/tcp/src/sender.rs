//! The sending half of a socket: its state. The steps that change it are in files of their own.

use std::sync::Arc;

use tailback_cc::{CaState, Control, CwndEvent, EcnNeed, Flow, PacingStatus, Window};
use tailback_packet::Timestamp;
use tailback_units::{Rate, Segs};

use crate::config::{Agreement, Settings, SmallQueueLimit, SocketOptions};
use crate::ecn::EcnState;
use crate::info::Note;
use crate::queue::Index;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::stack::QueuedRetransmission;
use crate::state::buffer::SendBuffer;
use crate::state::clocks::BusyClocks;
use crate::state::gate::Gate;
use crate::state::options::SendingOptions;
use crate::state::path::PathMtu;
use crate::state::peer::PeerWindow;
use crate::state::rack::Rack;
use crate::state::rate::DeliveryRate;
use crate::state::recovery::Recovery;
use crate::state::small_queue::SmallQueue;
use crate::state::stream::SendStream;
use crate::state::timer::{RetransmitTimer, TailLossProbe, loss_probe_states};
use crate::state::usage::{CwndUsage, SentTotals};

/// `sk_pacing_shift` of a new socket. [linux-6.12 sock.c sock_init_data_uid]
const PACING_SHIFT: u32 = 10;

/// Which kind of acknowledgement this was; collected while one ACK is processed. [linux-6.12 tcp_input.c FLAG_*]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckFlags {
    pub(crate) carries_data: bool,
    pub(crate) window_update: bool,
    pub(crate) data_acked: bool,
    pub(crate) retrans_data_acked: bool,
    pub(crate) data_sacked: bool,
    pub(crate) ece: bool,
    pub(crate) orig_sack_acked: bool,
    pub(crate) una_advanced: bool,
    pub(crate) dsack: bool,
    pub(crate) dsack_of_probe: bool,
    pub(crate) set_timer: bool,
    pub(crate) lost_retrans: bool,
    pub(crate) sack_reneging: bool,
    pub(crate) maybe_delayed: bool,
}

impl AckFlags {
    /// Any of these shows that the ACK is not a pure duplicate.
    pub(crate) fn not_duplicate(&self) -> bool {
        self.carries_data || self.window_update || self.data_acked
    }

    /// The ACK is a pure duplicate.
    pub(crate) fn is_duplicate(&self) -> bool {
        !(self.una_advanced || self.not_duplicate() || self.dsack)
    }

    /// Any of these must be processed by loss recovery.
    pub(crate) fn alert(&self) -> bool {
        self.data_sacked || self.ece || self.dsack
    }
}

/// The sending half. Each of its parts has a file of its own.
///
/// The parts are laid out in memory in this order, those used by every segment first: of a thousand sockets none
/// is in the cache when its segment arrives, and each line of 64 bytes costs as much as a hundred instructions.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    pub(crate) flow: Flow,
    pub(crate) peer: PeerWindow,
    /// Timestamp echoed by the ACK being processed.
    pub(crate) echoed: Timestamp,
    pub(crate) tlp: TailLossProbe,
    pub(crate) timer: RetransmitTimer,
    pub(crate) gate: Gate,
    pub(crate) notes: Vec<Note>,
    pub(crate) buffer: SendBuffer,
    pub(crate) agreement: Agreement,
    /// The connection was aborted.
    pub(crate) aborted: bool,
    /// [`Sender::finds_routine`] has found so, and nothing since may have ended it.
    pub(crate) routine: bool,
    /// A bit for each [`CaState`] in which a loss probe may be sent (`loss_probe_states`).
    pub(crate) loss_probe_states: u8,
    pub(crate) stream: SendStream,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) below: SmallQueue,

    // Used by ACKs of data in addition.
    pub(crate) window: Window,
    pub(crate) usage: CwndUsage,
    pub(crate) rtt: RttEstimator,
    pub(crate) rack: Rack,
    pub(crate) rate: DeliveryRate,
    pub(crate) recovery: Recovery,
    pub(crate) control: Control,
    pub(crate) ecn: EcnState,
    /// `in_ack_event` of the control does nothing.
    pub(crate) ignores_acks: bool,
    /// State of a model control, to note when it changes.
    pub(crate) control_state: &'static str,

    // Used by transmissions.
    pub(crate) sent: SentTotals,
    pub(crate) clocks: BusyClocks,
    pub(crate) path: PathMtu,
    pub(crate) settings: Arc<Settings>,
    pub(crate) options: SendingOptions,
    #[cfg(test)]
    pub(crate) shortcuts: Shortcuts,
}

/// For tests: whether the shortcuts for common ACKs, data and transmissions are taken.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shortcuts {
    Taken,
    LeftOut,
}

impl Sender {
    pub(crate) fn new(config: SenderConfig) -> Self {
        let SenderConfig { settings, small_queue, options, control, needs_ecn, pacing, sndbuf_factor } =
            config;
        let mss = settings.mss(&options);
        let pacing_shift = match small_queue {
            SmallQueueLimit::Shift(shift) | SmallQueueLimit::Time { pacing_shift: shift, .. } => shift,
            _ => PACING_SHIFT,
        };
        let agreement = Agreement::usual(mss);
        Sender {
            flow: Flow {
                pacing_status: pacing,
                pacing_shift,
                gso_max_segs: settings.gso_max_segs,
                ..Flow::established(mss, settings.jiffy)
            },
            window: Window {
                pacing_rate: options.max_pacing_rate.unwrap_or(Rate::UNLIMITED),
                ssthresh: match settings.initial_ssthresh {
                    0 => Segs::INFINITE,
                    segments => Segs(segments),
                },
                ..Window::initial(Segs(settings.stack.initial_window))
            },
            loss_probe_states: loss_probe_states(&settings, &agreement),
            agreement,
            scoreboard: Scoreboard::new(),
            peer: PeerWindow::new(&settings.stack),
            echoed: Timestamp::NONE,
            tlp: TailLossProbe::default(),
            timer: RetransmitTimer::new(settings.timer_rounding),
            gate: Gate::default(),
            notes: Vec::new(),
            buffer: SendBuffer::new(options.sndbuf, settings.wmem[1], sndbuf_factor),
            aborted: false,
            routine: false,
            stream: SendStream::default(),
            below: SmallQueue::new(small_queue),
            usage: CwndUsage::default(),
            rtt: RttEstimator::new(),
            rack: Rack::default(),
            rate: DeliveryRate::default(),
            recovery: Recovery::new(settings.reordering),
            ignores_acks: control.hooks().ignores_acks(),
            control,
            ecn: EcnState::new(&settings, needs_ecn),
            control_state: "",
            sent: SentTotals::default(),
            clocks: BusyClocks::default(),
            path: PathMtu::new(settings.mtu),
            options: SendingOptions::of(&options, &settings),
            settings,
            #[cfg(test)]
            shortcuts: Shortcuts::Taken,
        }
    }

    /// Takes the shortcuts for common ACKs, data and transmissions, or leaves them out; a test compares both.
    pub(crate) fn takes_shortcuts(&self) -> bool {
        #[cfg(test)]
        return self.shortcuts == Shortcuts::Taken;
        #[cfg(not(test))]
        true
    }

    /// Only windows, pacing and the small queue decide what new data is sent, and that in full segments as long as there is
    /// enough: there are no trains, no ends of records or of the data, no other route and no search for an MTU.
    pub(crate) fn sends_routinely(&mut self) -> bool {
        if !self.routine {
            self.routine = self.finds_routine();
        }
        debug_assert_eq!(self.routine, self.finds_routine(), "what ends it clears `routine`");
        self.routine && self.takes_shortcuts()
    }

    #[cold]
    fn finds_routine(&self) -> bool {
        let same_path = self.path.search.is_none() && self.path.route == self.path.of_mss;
        let no_ends = !self.stream.fin_queued && self.stream.record_ends.first().is_none();
        same_path && no_ends && !self.settings.builds_trains()
    }

    /// A packet was sent: looks up an outdated route again.
    pub(crate) fn refresh_route(&mut self) {
        if self.path.refresh_route() {
            self.routine = false;
        }
    }

    /// This side has connected: its application may write. It begins with the small segments of a search for the MTU, the
    /// other side with full ones. [linux-6.12 tcp_input.c tcp_rcv_synsent_state_process, tcp_init_transfer]
    pub(crate) fn connected(&mut self) {
        if self.path.search.is_some() {
            self.synchronise_mss(self.path.of_mss);
        }
        self.buffer.writable = true;
    }

    /// Updates the values that controls read and that belong to other parts.
    pub(crate) fn refresh_flow(&mut self) {
        self.flow.packets_out = Segs(self.scoreboard.packets_out());
        self.flow.in_flight = Segs(self.scoreboard.in_flight());
        self.flow.sacked_out = Segs(self.scoreboard.sacked_out());
        self.refresh_cwnd_limited();
    }

    /// Updates whether the flow is limited by cwnd; nothing but the window or its use has changed since the last
    /// update.
    pub(crate) fn refresh_cwnd_limited(&mut self) {
        self.flow.cwnd_limited = match self.control.is_model() {
            true => self.usage.limited,
            false => self.usage.is_limited_by(&self.window, self.settings.stack.cwnd_use),
        };
    }

    pub(crate) fn unsent(&self) -> u64 {
        self.stream.write_seq - self.flow.snd_nxt.min(self.stream.write_seq)
    }

    /// Unsent data, or a FIN that is not sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.flow.snd_nxt < self.stream.write_seq + u64::from(self.stream.fin_queued)
    }

    pub(crate) fn set_ca_state(&mut self, to: CaState) {
        self.refresh_flow();
        self.control.hooks_mut().set_state(to, &self.flow, &mut self.window);
        if self.flow.ca_state != to {
            self.notes.push(Note::CaState(to));
        }
        self.flow.ca_state = to;
    }

    pub(crate) fn cwnd_event(&mut self, event: CwndEvent) {
        self.refresh_flow();
        self.control.hooks_mut().cwnd_event(event, &self.flow, &mut self.window);
    }

    /// A segment is still in the qdisc or the NIC of this host; since Linux 5.13 the next credit will then run the
    /// small-queue handler.
    pub(crate) fn waits_in_host(&mut self, index: Index) -> bool {
        let throttled = self.below.throttled;
        let waits = self.below.holds(self.scoreboard.get(index).transmission);
        if self.settings.stack.queued_retransmission == QueuedRetransmission::AtNextEvent {
            self.below.throttled = throttled;
        }
        waits
    }
}

/// The arguments from which a sender is created.
pub(crate) struct SenderConfig {
    pub(crate) settings: Arc<Settings>,
    pub(crate) small_queue: SmallQueueLimit,
    pub(crate) options: SocketOptions,
    pub(crate) control: Control,
    pub(crate) needs_ecn: EcnNeed,
    pub(crate) pacing: PacingStatus,
    pub(crate) sndbuf_factor: u32,
}
