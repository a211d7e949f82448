//! The sending half of a socket: its state. The steps that work on it are in files of their own.

use std::collections::VecDeque;

use tailback_cc::{CaState, Control, CwndEvent, Flow, PacingStatus, Window};
use tailback_units::{Rate, Segs, SimTime, Span};

use crate::config::{Agreement, Settings, SmallQueueLimit, SocketOptions};
use crate::ecn::EcnState;
use crate::info::{HeldBy, Note};
use crate::mtu_probe::{MtuSearch, PathMtu};
use crate::output::Agenda;
use crate::queue::{Index, RetransmitQueue};
use crate::rack::Rack;
use crate::rate_sample::DeliveryRate;
use crate::rtt::RttEstimator;
use crate::timers::RetransmitTimer;

/// Initial window in segments. [rfc6928] [linux-6.12 tcp.h TCP_INIT_CWND]
pub(crate) const INITIAL_WINDOW: u32 = 10;
/// Bytes of a TCP segment that are not payload: IPv4 and TCP headers with the timestamp option.
pub(crate) const TCP_HEADER: u32 = 20;
/// Bytes of the timestamp option, aligned. [rfc7323 §3.2]
pub(crate) const TIMESTAMP_OPTION: u32 = 12;
/// `sk_pacing_shift` of a new socket. [linux-6.12 sock.c sock_init_data_uid]
const PACING_SHIFT: u32 = 10;
/// Least send buffer. [linux-6.12 sock.h SOCK_MIN_SNDBUF]
const SNDBUF_MIN: u64 = 4608;
/// Degree of reordering assumed at the start (`net.ipv4.tcp_reordering`).
pub(crate) const INITIAL_REORDERING: u32 = 3;

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
    /// Anything that a pure duplicate ACK has not.
    pub(crate) fn not_duplicate(&self) -> bool {
        self.carries_data || self.window_update || self.data_acked
    }

    /// Anything that loss recovery must look at.
    pub(crate) fn alert(&self) -> bool {
        self.data_sacked || self.ece || self.dsack
    }
}

/// State of the window reduction and of its undo. [linux-6.12 tcp_sock prr_*, undo_*]
#[derive(Clone, Debug, Default)]
pub(crate) struct Reduction {
    pub(crate) high_seq: u64,
    pub(crate) prr_delivered: u32,
    pub(crate) prr_out: u32,
    /// `None` when an undo is not allowed.
    pub(crate) prior_ssthresh: Option<Segs>,
    pub(crate) undo_marker: Option<u64>,
    /// Retransmissions not yet proven needless; `None` before the first.
    pub(crate) undo_retrans: Option<u32>,
    /// When the first retransmission of this episode was sent.
    pub(crate) retrans_stamp: Option<SimTime>,
    /// F-RTO is trying to find out whether the timeout was spurious. [rfc5682]
    pub(crate) frto: bool,
}

/// How much of cwnd was used. [linux-6.12 tcp_output.c tcp_cwnd_validate]
#[derive(Clone, Debug, Default)]
pub(crate) struct CwndUsage {
    pub(crate) limited: bool,
    pub(crate) max_packets_out: u32,
    pub(crate) usage_seq: u64,
    pub(crate) used: u32,
    pub(crate) stamp: SimTime,
}

/// The sending half.
///
/// The fields lie in memory as they stand here, those that every segment asks for first: of a thousand sockets none
/// is in the cache when its segment arrives, and each line of 64 bytes costs as much as a hundred instructions.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) flow: Flow,
    pub(crate) queue: RetransmitQueue,
    /// One past the last byte the application has written.
    pub(crate) write_seq: u64,
    pub(crate) snd_wnd: u64,
    pub(crate) max_window: u64,
    /// `SND.WL1`.
    pub(crate) window_seq: u64,
    /// Timestamp echoed by the ACK being processed.
    pub(crate) echoed: Option<SimTime>,
    /// A loss probe is out; the value is `snd_nxt` when it was sent.
    pub(crate) tlp_high_seq: Option<u64>,
    pub(crate) timer: RetransmitTimer,
    pub(crate) pacing_timer: Option<SimTime>,
    pub(crate) agenda: Agenda,
    pub(crate) notes: Vec<Note>,
    /// That probe was a retransmission.
    pub(crate) tlp_retrans: bool,
    pub(crate) fin_queued: bool,
    /// The connection was given up.
    pub(crate) aborted: bool,
    /// `TCP_NODELAY`.
    pub(crate) no_delay: bool,
    /// `TCP_CORK`.
    pub(crate) corked: bool,
    pub(crate) app_blocked: bool,
    /// The host tells whether the application waits for room.
    pub(crate) room_kept_elsewhere: bool,
    pub(crate) writable: bool,
    pub(crate) throttled: bool,
    pub(crate) small_queue_scheduled: bool,
    pub(crate) small_queue_idles: bool,
    pub(crate) held_by: HeldBy,
    pub(crate) agreement: Agreement,

    // What an ACK of data asks for beside that.
    pub(crate) sacked_out: u32,
    pub(crate) lost_out: u32,
    pub(crate) retrans_out: u32,
    pub(crate) reordering: u32,
    pub(crate) window: Window,
    pub(crate) usage: CwndUsage,
    pub(crate) rtt: RttEstimator,
    pub(crate) rack: Rack,
    pub(crate) rate: DeliveryRate,
    pub(crate) reduction: Reduction,
    pub(crate) control: Control,
    pub(crate) ecn: EcnState,
    /// State of a model control, to note when it changes.
    pub(crate) control_state: &'static str,
    /// End of the highest SACKed segment.
    pub(crate) highest_sack: u64,
    pub(crate) retransmit_hint: Index,
    pub(crate) queued_bytes: u64,
    pub(crate) retransmits: u32,
    pub(crate) reord_seen: u32,

    // What sending asks for.
    /// Truesize below TCP; the kernel's counter is one more.
    pub(crate) wmem_alloc: u64,
    /// Truesize ever handed down: the number of a transmission is what it was after it.
    pub(crate) transmitted: u64,
    /// Of it, what left the host.
    pub(crate) released: i64,
    /// End of the newest segment shorter than mss that was sent (`snd_sml`).
    pub(crate) small_sent: u64,
    pub(crate) small_queue: SmallQueueLimit,
    pub(crate) data_segs_out: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) clocks: crate::window::BusyClocks,
    /// Ends of the application's writes that are not sent: their segment carries PSH.
    pub(crate) push_marks: VecDeque<u64>,
    pub(crate) pushed_seq: u64,
    /// Ends of the skbs that hold unsent data, with offloads on.
    pub(crate) unsent_skbs: VecDeque<u64>,
    /// Ends of unsent records (`MSG_EOR`): no skb holds bytes of both sides of one.
    pub(crate) record_ends: VecDeque<u64>,
    pub(crate) sndbuf: u64,
    /// The application has chosen it.
    pub(crate) sndbuf_locked: bool,
    pub(crate) path: PathMtu,
    pub(crate) mtu_search: Option<MtuSearch>,
    /// The receiving half has blocks to report.
    pub(crate) reports_sack: bool,
    /// A segment that is longer than the MSS is to be sent again, which is not modelled.
    pub(crate) must_split: bool,
    pub(crate) settings: Settings,
    pub(crate) options: SocketOptions,

    // What losses ask for.
    /// Blocks of the previous ACK, in ascending order: what need not be walked again.
    pub(crate) sack_cache: Vec<tailback_packet::SackBlock>,
    pub(crate) bytes_retrans: u64,
    pub(crate) total_retrans: u64,
    pub(crate) dsack_dups: u32,
    pub(crate) sndbuf_factor: u32,
}

impl Sender {
    pub(crate) fn new(config: SenderConfig) -> Self {
        let SenderConfig { settings, small_queue, options, control, needs_ecn, pacing, sndbuf_factor } =
            config;
        let mss = settings.mss(&options);
        let sndbuf = options.sndbuf.map_or(settings.wmem[1], |asked| (2 * asked).max(SNDBUF_MIN));
        let pacing_shift = match small_queue {
            SmallQueueLimit::Shift(shift) => shift,
            _ => PACING_SHIFT,
        };
        let ecn = EcnState::new(settings.ecn, needs_ecn);
        Sender {
            flow: Flow {
                now: SimTime::ZERO,
                mss,
                srtt_us8: 0,
                min_rtt: None,
                packets_out: Segs::ZERO,
                sacked_out: Segs::ZERO,
                in_flight: Segs::ZERO,
                snd_una: 0,
                snd_nxt: 0,
                delivered: 0,
                delivered_ce: 0,
                delivered_at: SimTime::ZERO,
                lost: 0,
                app_limited: 0,
                ca_state: CaState::Open,
                cwnd_limited: false,
                ecn_ok: false,
                timestamps: None,
                pacing_status: pacing,
                departure: SimTime::ZERO,
                last_sent: SimTime::ZERO,
                pacing_shift,
                gso_max_segs: settings.gso_max_segs,
                jiffy: settings.jiffy,
            },
            window: Window {
                cwnd: Segs(settings.stack.initial_window),
                ssthresh: Segs::INFINITE,
                cwnd_cnt: 0,
                prior_cwnd: Segs::ZERO,
                cwnd_clamp: Segs(u32::MAX),
                pacing_rate: options.max_pacing_rate.unwrap_or(Rate::UNLIMITED),
                mark_app_limited: false,
                enter_cwr: false,
            },
            agreement: Agreement {
                peer_mss: mss + TIMESTAMP_OPTION,
                timestamps: true,
                sack: true,
                window_scaling: true,
            },
            path: PathMtu::new(settings.mtu),
            mtu_search: None,
            reports_sack: false,
            must_split: false,
            settings,
            small_queue,
            options,
            sndbuf_factor,
            control,
            ecn,
            queue: RetransmitQueue::new(),
            write_seq: 0,
            push_marks: VecDeque::new(),
            pushed_seq: 0,
            unsent_skbs: VecDeque::new(),
            record_ends: VecDeque::new(),
            fin_queued: false,
            aborted: false,
            no_delay: false,
            corked: false,
            app_blocked: false,
            room_kept_elsewhere: false,
            writable: false,
            sndbuf,
            sndbuf_locked: options.sndbuf.is_some(),
            queued_bytes: 0,
            snd_wnd: 0,
            max_window: 0,
            window_seq: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            reordering: INITIAL_REORDERING,
            reord_seen: 0,
            highest_sack: 0,
            sack_cache: Vec::new(),
            retransmit_hint: 0,
            dsack_dups: 0,
            rtt: RttEstimator::new(),
            rack: Rack::default(),
            rate: DeliveryRate::default(),
            reduction: Reduction::default(),
            echoed: None,
            usage: CwndUsage::default(),
            timer: RetransmitTimer::default(),
            tlp_high_seq: None,
            tlp_retrans: false,
            retransmits: 0,
            wmem_alloc: 0,
            throttled: false,
            small_queue_scheduled: false,
            small_queue_idles: false,
            transmitted: 0,
            released: 0,
            pacing_timer: None,
            small_sent: 0,
            data_segs_out: 0,
            bytes_sent: 0,
            bytes_retrans: 0,
            total_retrans: 0,
            held_by: HeldBy::NoData,
            clocks: crate::window::BusyClocks::default(),
            control_state: "",
            agenda: Agenda::default(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn mss(&self) -> u32 {
        self.flow.mss
    }

    /// `packets_out - (sacked + lost) + retrans`. [linux-6.12 tcp.h tcp_packets_in_flight]
    pub(crate) fn in_flight(&self) -> u32 {
        self.flow.packets_out.0 + self.retrans_out - (self.sacked_out + self.lost_out)
    }

    /// Refreshes the facts that controls read and that are sums of others.
    pub(crate) fn refresh_flow(&mut self) {
        self.flow.in_flight = Segs(self.in_flight());
        self.flow.sacked_out = Segs(self.sacked_out);
        self.flow.cwnd_limited = if self.is_model() { self.usage.limited } else { self.is_cwnd_limited() };
    }

    pub(crate) fn in_cwnd_reduction(&self) -> bool {
        matches!(self.flow.ca_state, CaState::Cwr | CaState::Recovery)
    }

    pub(crate) fn is_model(&self) -> bool {
        matches!(self.control, Control::Model(_))
    }

    pub(crate) fn unsent(&self) -> u64 {
        self.write_seq - self.flow.snd_nxt.min(self.write_seq)
    }

    /// Unsent data, or a FIN that is not sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.flow.snd_nxt < self.write_seq + u64::from(self.fin_queued)
    }

    pub(crate) fn set_ca_state(&mut self, to: CaState) {
        self.refresh_flow();
        self.control.moments().set_state(to, &self.flow, &mut self.window);
        if self.flow.ca_state != to {
            self.notes.push(Note::CaState(to));
        }
        self.flow.ca_state = to;
    }

    pub(crate) fn cwnd_event(&mut self, event: CwndEvent) {
        self.refresh_flow();
        self.control.moments().cwnd_event(event, &self.flow, &mut self.window);
    }

    /// Asks the control for the ssthresh of a reduction that starts now.
    pub(crate) fn control_ssthresh(&mut self) -> Segs {
        self.refresh_flow();
        match &mut self.control {
            Control::Window(control) => control.ssthresh(&self.flow, &self.window),
            Control::Model(control) => control.ssthresh(&self.flow, &self.window),
        }
    }

    pub(crate) fn control_undo_cwnd(&mut self) -> Segs {
        self.refresh_flow();
        match &mut self.control {
            Control::Window(control) => control.undo_cwnd(&self.flow, &self.window),
            Control::Model(control) => control.undo_cwnd(&self.flow, &mut self.window),
        }
    }

    /// Three quarters of cwnd, or ssthresh if higher: where slow start may go back to.
    /// [linux-6.12 tcp.h tcp_current_ssthresh]
    pub(crate) fn current_ssthresh(&self) -> Segs {
        if self.in_cwnd_reduction() {
            return self.window.ssthresh;
        }
        let cwnd = self.window.cwnd.0;
        self.window.ssthresh.max(Segs((cwnd >> 1) + (cwnd >> 2)))
    }

    /// A segment is still in the qdisc or the NIC of this host; the next credit will then run the small-queue handler.
    /// [linux-6.12 tcp_output.c skb_still_in_host_queue]
    pub(crate) fn waits_in_host(&mut self, index: Index) -> bool {
        let waits = self.queue.get(index).transmission as i64 > self.released;
        self.throttled |= waits;
        waits
    }

    pub(crate) fn rto(&self) -> Span {
        self.rtt.rto()
    }
}

/// What a sender is made from.
pub(crate) struct SenderConfig {
    pub(crate) settings: Settings,
    pub(crate) small_queue: SmallQueueLimit,
    pub(crate) options: SocketOptions,
    pub(crate) control: Control,
    pub(crate) needs_ecn: bool,
    pub(crate) pacing: PacingStatus,
    pub(crate) sndbuf_factor: u32,
}
