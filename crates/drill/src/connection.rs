//! One connection of a script: an endpoint, and the translation between its sequence numbers and the script's.
//!
//! The state machine counts bytes of a stream from 0, the SYN; a script has its own initial sequence number for each
//! side. Windows are in bytes in the machine and scaled on the wire. Timestamps of the script's peer are echoed
//! unchanged; those that the script echoes are mapped to the ones that were sent where it expected them. [packetdrill]

use std::collections::BTreeMap;

use tailback_packet::{
    AccEcnOption, Ecn, FieldOrder, HostId, IpVersion, SackBlock, SackBlocks, Segment, SegmentFlags, SocketId,
};
use tailback_script::player;
use tailback_tcp::{Agreement, Endpoint, EndpointConfig, Offers, SmallQueueLimit};
use tailback_units::SimTime;

use crate::host::Host;
use crate::script::{EcnSpec, Flags, OptionsSpec, SegmentSpec, TcpOption};
use crate::skbs::Skbs;
use crate::stamping::Stamping;

/// MSS of a peer that sent no option. [rfc9293 §3.7.1]
const MSS_DEFAULT: u32 = 536;
/// Largest shift of a window. [rfc7323 §2.3]
const SCALE_MAX: u8 = 14;
/// The values of the peer's MSS that a SYN cookie can encode. [linux-6.12 syncookies.c msstab]
const COOKIE_MSS_V4: [u32; 4] = [536, 1300, 1440, 1460];
const COOKIE_MSS_V6: [u32; 4] = [1280 - 60, 1480 - 60, 1500 - 60, 9000 - 60];
/// Bytes of a TCP header without options.
const TCP_HEADER: u32 = 20;
/// Maximum number of segments per skb. [linux-6.12 netdevice.h GSO_MAX_SEGS]
const GSO_MAX_SEGS: u32 = 65_535;
/// Send buffer of the machine, so large that only the buffers of [`Skbs`] limit writes.
const SNDBUF_UNBOUNDED: u64 = 1 << 40;

/// The socket options that an application has set.
#[derive(Clone, Debug, Default)]
pub(crate) struct SocketOptions {
    pub(crate) mss: Option<u32>,
    pub(crate) sndbuf: Option<u64>,
    pub(crate) rcvbuf: Option<u64>,
    pub(crate) congestion_control: Option<String>,
    pub(crate) no_delay: bool,
    /// `TCP_INQ`.
    pub(crate) reports_unread: bool,
    /// `SO_LINGER` with no time: closing resets.
    pub(crate) resets_on_close: bool,
}

/// The state of a conversation as the script sees it; the state machine has the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionState {
    SynSent,
    SynReceived,
    Established,
    /// A RST came or went.
    Reset,
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) endpoint: Endpoint,
    pub(crate) state: ConnectionState,
    pub(crate) skbs: Skbs,
    pub(crate) agreement: Agreement,
    pub(crate) peer_scale: u32,
    pub(crate) sndbuf: Option<u64>,
    /// The application has closed its descriptor.
    pub(crate) orphaned: bool,
    /// The application has closed its sending side.
    pub(crate) shut: bool,
    /// The application has closed its receiving side.
    pub(crate) read_shut: bool,
    pub(crate) accepted: bool,
    /// `TCP_CORK`: short segments wait for more.
    pub(crate) corked: bool,
    /// `TCP_NOTSENT_LOWAT`; 0 if the application has not chosen.
    pub(crate) notsent_lowat: u64,
    /// A write found the send buffer full.
    pub(crate) waits_for_room: bool,
    /// An `epoll` found it full.
    pub(crate) found_full: bool,
    /// How often room became free after a write or an `epoll` had found none.
    pub(crate) room_made: u64,
    /// `TCP_INQ`: `recvmsg` reports how many bytes are left.
    pub(crate) reports_unread: bool,
    /// The last advertised window is 0.
    pub(crate) window_closed: bool,
    /// `SO_TIMESTAMPING`.
    pub(crate) stamping: Stamping,
    /// The next call on this connection fails with this error.
    pub(crate) error: Option<&'static str>,
    pub(crate) segments: Counted,
    /// The peer has acknowledged this side's FIN.
    pub(crate) finished: bool,
    /// The peer had closed when this side did: nothing is left once its FIN is acknowledged.
    pub(crate) closes_last: bool,
    offers: Offers,
    origin: Origin,
    echoes: Echoes,
}

/// Segments of a conversation, for `tcp_info`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) received: u64,
    pub(crate) data_received: u64,
    pub(crate) sent: u64,
}

/// The script's initial sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    local: u32,
    remote: u32,
}

/// Timestamps that were sent, under the names the script has for them.
#[derive(Debug, Default)]
struct Echoes {
    sent: BTreeMap<u32, u32>,
    /// The first pair: script's and real.
    first: Option<(u32, u32)>,
}

/// A segment that left, in the machine's numbers.
#[derive(Clone, Debug)]
pub(crate) struct Departed {
    pub(crate) flags: Flags,
    pub(crate) seq: u64,
    pub(crate) length: u32,
    pub(crate) ack: u64,
    pub(crate) window: u64,
    pub(crate) tsval: Option<SimTime>,
    pub(crate) tsecr: Option<SimTime>,
    pub(crate) sack: Vec<SackBlock>,
    pub(crate) accecn: Option<AccEcnOption>,
    pub(crate) mss: u16,
    pub(crate) ecn: Ecn,
}

impl player::Departed for Departed {
    fn length(&self) -> u32 {
        self.length
    }

    fn continues(&self, before: &Self) -> bool {
        self.length > 0 && before.seq + u64::from(before.length) == self.seq
    }

    fn join(&mut self, next: Self) {
        self.length += next.length;
        self.flags = next.flags;
    }
}

/// Why a segment of the script cannot be injected.
pub(crate) struct NotInjectable(pub(crate) String);

/// Opening.
impl Connection {
    /// The side that connects.
    pub(crate) fn connect(host: &Host, options: &SocketOptions, now: SimTime) -> Self {
        let config = config(host, options);
        let endpoint = Endpoint::connect(config, now);
        Connection::new(endpoint, ConnectionState::SynSent, (host, options))
    }

    /// The side that is connected to; give it the SYN next.
    pub(crate) fn listen(host: &Host, options: &SocketOptions) -> Self {
        let config = config(host, options);
        let mut endpoint = Endpoint::listen(config);
        endpoint.set_accepted(false);
        Connection::new(endpoint, ConnectionState::SynReceived, (host, options))
    }

    fn new(mut endpoint: Endpoint, state: ConnectionState, (host, options): (&Host, &SocketOptions)) -> Self {
        endpoint.set_send_buffer(SNDBUF_UNBOUNDED);
        let offers = host.tcp.offers;
        let Offers { timestamps, sack, window_scaling } = offers;
        let agreement = Agreement { peer_mss: MSS_DEFAULT, timestamps, sack, window_scaling };
        Connection {
            endpoint,
            state,
            skbs: Skbs::new(u64::from(MSS_DEFAULT), host.builds_trains()),
            agreement,
            peer_scale: 0,
            sndbuf: options.sndbuf,
            orphaned: false,
            shut: false,
            read_shut: false,
            accepted: false,
            corked: false,
            notsent_lowat: 0,
            waits_for_room: false,
            found_full: false,
            room_made: 0,
            reports_unread: options.reports_unread,
            window_closed: false,
            stamping: Stamping::default(),
            error: None,
            segments: Counted::default(),
            finished: false,
            closes_last: false,
            offers,
            origin: Origin::default(),
            echoes: Echoes::default(),
        }
    }

    /// The application closes its sending side.
    pub(crate) fn shut_sending(&mut self) {
        self.closes_last |= !self.shut && self.endpoint.at_end();
        self.shut = true;
    }

    /// Reads the options of the peer's SYN or SYN-ACK.
    pub(crate) fn synchronise(&mut self, syn: &SegmentSpec, host: &Host) -> Result<(), NotInjectable> {
        self.origin.remote = syn.seq;
        let options = listed(syn);
        let has = |wanted: fn(&TcpOption) -> bool| options.iter().any(wanted);
        let find = |pick: fn(&TcpOption) -> Option<u32>| options.iter().find_map(pick);
        let scale = find(|option| match option {
            TcpOption::WindowScale(scale) => Some(u32::from(*scale.min(&SCALE_MAX))),
            _ => None,
        });
        let peer_mss = find(|option| match option {
            TcpOption::Mss(mss) => Some(u32::from(*mss)),
            _ => None,
        });
        self.agreement = Agreement {
            peer_mss: peer_mss.filter(|mss| *mss > 0).unwrap_or(MSS_DEFAULT).max(48),
            timestamps: self.offers.timestamps && has(|o| matches!(o, TcpOption::Timestamp { .. })),
            sack: self.offers.sack && has(|option| *option == TcpOption::SackPermitted),
            window_scaling: self.offers.window_scaling && scale.is_some(),
        };
        if host.answers_by_cookie && self.state == ConnectionState::SynReceived {
            self.answer_by_cookie(syn, host)?;
        }
        self.peer_scale = scale.filter(|_| self.agreement.window_scaling).unwrap_or(0);
        self.endpoint.agree(self.agreement);
        let mss = u64::from(self.endpoint.tcp_info(SimTime::ZERO).snd_mss);
        self.skbs = Skbs::new(mss, host.builds_trains());
        Ok(())
    }
}

/// SYN cookies.
impl Connection {
    /// A cookie encodes one of four sizes. The lowest bits of a time stamp hold the other options; without time stamps
    /// they are lost. [linux-6.12 tcp_input.c tcp_conn_request] [linux-6.12 syncookies.c cookie_init_sequence,
    /// cookie_init_timestamp]
    fn answer_by_cookie(&mut self, syn: &SegmentSpec, host: &Host) -> Result<(), NotInjectable> {
        if syn.flags.has(Flags::ECE) && !self.agreement.timestamps {
            return Err(NotInjectable(
                "a SYN cookie that forgets ECN (tcp_syncookies=2 without time stamps) is not modelled"
                    .to_owned(),
            ));
        }
        let table = if host.tcp.ip == IpVersion::V4 { COOKIE_MSS_V4 } else { COOKIE_MSS_V6 };
        let peer_mss =
            table.into_iter().rev().find(|mss| *mss <= self.agreement.peer_mss).unwrap_or(table[0]);
        let Agreement { timestamps, sack, window_scaling, .. } = self.agreement;
        let (sack, window_scaling) = (sack && timestamps, window_scaling && timestamps);
        self.agreement = Agreement { peer_mss, timestamps, sack, window_scaling };
        self.endpoint.answer_by_cookie();
        Ok(())
    }
}

fn config(host: &Host, options: &SocketOptions) -> EndpointConfig {
    let mut settings = host.tcp.clone();
    settings.gso_max_segs = if host.builds_trains() { GSO_MAX_SEGS } else { 1 };
    if let Some(mss) = options.mss {
        settings.mtu = settings.mtu.min(mss + settings.ip.header() + TCP_HEADER);
        settings.advmss = settings.advmss.map(|advmss| advmss.min(mss));
    }
    let name = options.congestion_control.as_deref().unwrap_or(&host.congestion_control);
    let mut parameters = host.parameters.get(name).cloned().unwrap_or_default();
    let row = tailback_cc::registry::find(name).expect("names of controls are checked when they are set");
    host.tcp.stack.adapt(row, &mut parameters);
    let control =
        tailback_cc::registry::build(name, &parameters).expect("parameters are checked when they are set");
    EndpointConfig {
        options: tailback_tcp::SocketOptions {
            // The machine doubles it again.
            rcvbuf: options.rcvbuf.map(|bytes| bytes / 2),
            mss: options.mss,
            ..tailback_tcp::SocketOptions::default()
        },
        socket: SocketId(0),
        peer: SocketId(1),
        peer_host: HostId(1),
        flow_hash: 0,
        settings: settings.into(),
        small_queue: SmallQueueLimit::Shift(10),
        control,
        wants_pacing: row.wants_pacing,
        needs_ecn: row.needs_ecn,
        sndbuf_factor: row.sndbuf_factor,
    }
}

/// Script to machine.
impl Connection {
    /// The segment of a script as it arrives.
    pub(crate) fn arriving(
        &self,
        spec: &SegmentSpec,
        gso_size: Option<u16>,
    ) -> Result<Segment, NotInjectable> {
        let is_syn = spec.flags.has(Flags::SYN);
        let has_ack = spec.flags.has(Flags::ACK);
        let ack = if has_ack { offset(spec.ack.unwrap_or(0), self.origin.local) } else { Ok(0) };
        let window = u64::from(spec.window.unwrap_or(0));
        let timestamp = self.timestamp(spec)?;
        Ok(Segment {
            seq: offset(spec.seq, self.origin.remote)?,
            length: spec.length,
            // An acknowledgement of what was before the SYN acknowledges nothing.
            ack: ack.unwrap_or(0),
            window: if is_syn { window } else { window << self.peer_scale },
            flags: machine_flags(spec.flags),
            mss: gso_size.unwrap_or(u16::MAX).min(spec.length as u16),
            tsval: timestamp.map(|(val, _)| val).into(),
            tsecr: timestamp.map(|(_, ecr)| ecr).into(),
            sack: self.sack_blocks(spec)?,
        })
    }

    fn sack_blocks(&self, spec: &SegmentSpec) -> Result<SackBlocks, NotInjectable> {
        let block = |&(start, end): &(u32, u32)| {
            let (start, end) = (offset(start, self.origin.local)?, offset(end, self.origin.local)?);
            Ok(SackBlock { start, end })
        };
        let sacks = listed(spec).iter().find_map(|option| match option {
            TcpOption::Sack(blocks) if self.agreement.sack => Some(blocks),
            _ => None,
        });
        let blocks = sacks.into_iter().flatten().map(block).collect::<Result<Vec<_>, _>>()?;
        let count = blocks.len();
        let sacks = SackBlocks::new(blocks);
        Ok(match listed(spec).iter().find_map(accecn_of) {
            Some(option) => sacks.with_accecn(count, option),
            None => sacks,
        })
    }

    fn timestamp(&self, spec: &SegmentSpec) -> Result<Option<(SimTime, SimTime)>, NotInjectable> {
        let found = listed(spec).iter().find_map(|option| match option {
            TcpOption::Timestamp { val, ecr } => Some((*val, *ecr)),
            _ => None,
        });
        let Some((val, ecr)) = found.filter(|_| self.agreement.timestamps) else { return Ok(None) };
        let echo = if spec.flags.has(Flags::ACK) { self.echoes.real(ecr) } else { Some(0) };
        let unknown =
            || NotInjectable(format!("TS ecr {ecr} echoes no timestamp that the script has expected"));
        Ok(Some((millis(val), millis(echo.ok_or_else(unknown)?))))
    }
}

impl Echoes {
    /// What was really sent where the script expected `val`; in between, at the script's distance from the first.
    fn real(&self, val: u32) -> Option<u32> {
        let near = || self.first.map(|(script, real)| real.wrapping_add(val.wrapping_sub(script)));
        self.sent.get(&val).copied().or_else(near)
    }
}

fn millis(value: u32) -> SimTime {
    SimTime::from_nanos(u64::from(value) * 1_000_000)
}

fn ticks(time: SimTime) -> u32 {
    (time.as_nanos() / 1_000_000) as u32
}

/// Distance from an initial sequence number; up to 2^31 after it.
fn offset(number: u32, origin: u32) -> Result<u64, NotInjectable> {
    let distance = number.wrapping_sub(origin);
    match distance.cast_signed() < 0 {
        true => Err(NotInjectable(format!("sequence number {number} lies before the SYN ({origin})"))),
        false => Ok(u64::from(distance)),
    }
}

fn machine_flags(flags: Flags) -> SegmentFlags {
    let pairs = [
        (Flags::FIN, SegmentFlags::FIN),
        (Flags::SYN, SegmentFlags::SYN),
        (Flags::RST, SegmentFlags::RST),
        (Flags::PSH, SegmentFlags::PSH),
        (Flags::ACK, SegmentFlags::ACK),
        (Flags::ECE, SegmentFlags::ECE),
        (Flags::CWR, SegmentFlags::CWR),
        (Flags::AE, SegmentFlags::AE),
    ];
    let set = pairs.iter().filter(|(script, _)| flags.has(*script));
    set.fold(SegmentFlags::NONE, |all, (_, flag)| all.with(*flag))
}

/// The option of accurate ECN, if this is one.
fn accecn_of(option: &TcpOption) -> Option<AccEcnOption> {
    let TcpOption::AccEcn { kind, fields } = option else { return None };
    FieldOrder::of_kind(*kind).map(|order| AccEcnOption::new(order, fields))
}

fn listed(spec: &SegmentSpec) -> &[TcpOption] {
    match &spec.options {
        OptionsSpec::Exactly(options) => options,
        OptionsSpec::Unchecked => &[],
    }
}

fn nops(count: u32) -> impl Iterator<Item = TcpOption> {
    (0..count).map(|_| TcpOption::Nop)
}

/// Adds the option of accurate ECN, and padding. Returns how much of the padding, `next` bytes, of what follows is left.
fn add_accecn(options: &mut Vec<TcpOption>, option: Option<AccEcnOption>, next: u32) -> u32 {
    let Some(option) = option else { return next };
    let (after, left) = option.padding(next);
    options.push(TcpOption::AccEcn { kind: option.order().kind(), fields: option.fields().to_vec() });
    options.extend(nops(after));
    left
}

/// Machine to script.
impl Connection {
    /// The script expects this segment next: it may name this side's initial sequence number, and timestamps.
    pub(crate) fn expected(&mut self, spec: &SegmentSpec, departed: &Departed) {
        if spec.flags.has(Flags::SYN) && departed.flags.has(Flags::SYN) {
            self.origin.local = spec.seq;
        }
        let named = listed(spec).iter().find_map(|option| match option {
            TcpOption::Timestamp { val, .. } => Some(*val),
            _ => None,
        });
        if let (Some(val), Some(real)) = (named, departed.tsval) {
            self.echoes.first.get_or_insert((val, ticks(real)));
            self.echoes.sent.insert(val, ticks(real));
        }
    }

    /// The segment in the script's numbers.
    pub(crate) fn in_script(&self, departed: &Departed) -> SegmentSpec {
        let is_syn = departed.flags.has(Flags::SYN);
        let scale = if is_syn || !self.agreement.window_scaling { 0 } else { self.endpoint.window_scale() };
        SegmentSpec {
            ecn: match departed.ecn {
                Ecn::NotEct => EcnSpec::NotEct,
                Ecn::Ect0 => EcnSpec::Ect0,
                Ecn::Ect1 => EcnSpec::Ect1,
                Ecn::Ce => EcnSpec::Ce,
            },
            flags: departed.flags,
            seq: self.origin.local.wrapping_add(departed.seq as u32),
            length: departed.length,
            ack: departed.flags.has(Flags::ACK).then(|| self.origin.remote.wrapping_add(departed.ack as u32)),
            window: Some((departed.window >> scale).min(65_535) as u32),
            options: OptionsSpec::Exactly(if is_syn {
                self.syn_options(departed)
            } else {
                self.options(departed)
            }),
        }
    }

    /// In the kernel's order. [linux-6.12 tcp_output.c tcp_options_write]
    fn syn_options(&self, departed: &Departed) -> Vec<TcpOption> {
        let agreed = &self.agreement;
        let mut options = vec![TcpOption::Mss(departed.mss)];
        match (agreed.timestamps, agreed.sack) {
            (true, true) => options.extend([TcpOption::SackPermitted, self.stamp(departed)]),
            (true, false) => options.extend([TcpOption::Nop, TcpOption::Nop, self.stamp(departed)]),
            (false, _) => {}
        }
        let sack_alone = agreed.sack && !agreed.timestamps;
        let scaling = u32::from(agreed.window_scaling);
        let next = add_accecn(&mut options, departed.accecn, if sack_alone { 2 } else { scaling });
        if sack_alone {
            options.extend(nops(next).chain([TcpOption::SackPermitted]));
        }
        if agreed.window_scaling {
            let scale = TcpOption::WindowScale(self.endpoint.window_scale() as u8);
            options.extend(nops(if sack_alone { 1 } else { next }).chain([scale]));
        }
        options
    }

    fn options(&self, departed: &Departed) -> Vec<TcpOption> {
        let mut options = Vec::new();
        if departed.tsval.is_some() {
            options.extend([TcpOption::Nop, TcpOption::Nop, self.stamp(departed)]);
        }
        let has_blocks = !departed.sack.is_empty();
        let next = add_accecn(&mut options, departed.accecn, if has_blocks { 2 } else { 0 });
        if has_blocks {
            let wire = |at: u64| self.origin.remote.wrapping_add(at as u32);
            let blocks = departed.sack.iter().map(|block| (wire(block.start), wire(block.end))).collect();
            options.extend(nops(next).chain([TcpOption::Sack(blocks)]));
        }
        options
    }

    /// The timestamp on the clock of the script, which is set by the first timestamp that the script expects.
    fn stamp(&self, departed: &Departed) -> TcpOption {
        let real = departed.tsval.map_or(0, ticks);
        let val =
            self.echoes.first.map_or(real, |(script, first)| script.wrapping_add(real.wrapping_sub(first)));
        TcpOption::Timestamp { val, ecr: departed.tsecr.map_or(0, ticks) }
    }
}
