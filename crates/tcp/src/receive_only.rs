//! The sending half of a pure receiver: a socket that never writes and never closes first. It needs no window, no control
//! and no retransmit queue, only what its ACKs say, what limits which segments it takes, and its FIN.
//!
//! ```text
//! FIN    with the ACK of the peer's, when the application has read the end     [linux-6.12 tcp_output.c tcp_send_fin]
//! again  after the PTO, if loss probes are on and SACK is agreed on; then after RTO, 2·RTO, 4·RTO …       (timers.rs)
//! ```
//!
//! A run may have tens of thousands of receivers, so this is small: a tenth of a [`Sender`](crate::Sender).
//!
//! Known deviations: a segment with SACK blocks, which nobody sends to a socket that has sent no data, changes nothing. It
//! saves no metrics ([`crate::metrics`]): a host that does has receivers with a whole sender. Its FIN is repeated without
//! end, `tcp_thin_linear_timeouts` does not change when, and one that the device refuses counts as lost on the way.

use std::sync::Arc;

use tailback_cc::EcnNeed;
use tailback_packet::Segment;
use tailback_units::{SimTime, Span, expiry};

use crate::clock::Deadline;
use crate::config::{Agreement, RTO_MAX, Settings};
use crate::ecn::EcnState;
use crate::input::acknowledges_nothing;
use crate::rtt::{RTO_INITIAL, RttEstimator};
use crate::sender::Sender;
use crate::sending_half::{Opening, SendingHalf};
use crate::state::peer::PeerWindow;
use crate::state::timer::Expired;
use crate::timers::loss_probe_timeout;

/// The sequence number of the first byte, which is never sent: the FIN has it.
const FIRST: u64 = 1;

/// What has become of the FIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fin {
    /// The application has not closed.
    NotAsked,
    /// It is to be sent, after so many times.
    Due(u8),
    /// It was sent so many times.
    Sent(u8),
    /// The peer has it.
    Acknowledged,
}

/// The sending half of a pure receiver.
#[derive(Debug)]
pub struct ReceiveOnly {
    now: SimTime,
    peer: PeerWindow,
    ecn: EcnState,
    /// Smoothed RTT of the handshake (×8, µs); no later segment is a sample.
    srtt_us8: u32,
    /// Retransmission timeout, µs.
    rto_us: u32,
    fin: Fin,
    /// The jiffy in which the FIN is sent again; 0: in none.
    timer: u32,
    agreement: Agreement,
    settings: Arc<Settings>,
}

impl ReceiveOnly {
    pub(crate) fn new(settings: Arc<Settings>, agreement: Agreement, needs_ecn: EcnNeed) -> Self {
        ReceiveOnly {
            now: SimTime::ZERO,
            peer: PeerWindow::new(&settings.stack),
            ecn: EcnState::new(&settings, needs_ecn),
            srtt_us8: 0,
            rto_us: RTO_INITIAL.as_micros() as u32,
            fin: Fin::NotAsked,
            timer: 0,
            agreement,
            settings,
        }
    }

    /// A loss probe is the first that repeats the FIN. [linux-6.12 tcp_output.c tcp_schedule_loss_probe]
    fn probes(&self) -> bool {
        self.settings.tail_loss_probe && self.agreement.sack
    }

    /// How long the FIN, sent so many times, waits for its ACK.
    fn patience(&self, sent: u8) -> Span {
        if sent == 1 && self.probes() {
            return loss_probe_timeout(self.srtt_us8, self.settings.rto_min).min(self.rto());
        }
        let timeouts = u32::from(sent) - 1 - u32::from(self.probes());
        let doublings = timeouts.min(RTO_MAX.as_nanos().ilog2());
        (self.rto() * (1 << doublings)).min(self.settings.rto_max)
    }
}

impl SendingHalf for ReceiveOnly {
    fn as_sender(&self) -> Option<&Sender> {
        None
    }

    fn as_sender_mut(&mut self) -> Option<&mut Sender> {
        None
    }

    fn now(&self) -> SimTime {
        self.now
    }

    fn set_now(&mut self, now: SimTime) {
        self.now = now;
    }

    fn snd_una(&self) -> u64 {
        FIRST + u64::from(self.fin == Fin::Acknowledged)
    }

    fn snd_nxt(&self) -> u64 {
        FIRST + u64::from(!matches!(self.fin, Fin::NotAsked | Fin::Due(0)))
    }

    fn peer(&self) -> &PeerWindow {
        &self.peer
    }

    fn peer_mut(&mut self) -> &mut PeerWindow {
        &mut self.peer
    }

    fn ecn(&self) -> &EcnState {
        &self.ecn
    }

    fn ecn_mut(&mut self) -> &mut EcnState {
        &mut self.ecn
    }

    fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn agree(&mut self, agreement: Agreement) {
        self.agreement = agreement;
    }

    fn srtt_us8(&self) -> u32 {
        self.srtt_us8
    }

    fn rto(&self) -> Span {
        Span::from_micros(u64::from(self.rto_us))
    }

    fn open(&mut self, opening: Opening, _: &mut dyn rand_core::Rng) {
        self.peer.open(opening.window);
        let mut estimator = RttEstimator::new();
        match opening.rtt {
            Some(rtt) => estimator.sample(rtt, FIRST, FIRST, &self.settings),
            None => estimator.fall_back(),
        }
        (self.srtt_us8, self.rto_us) = (estimator.srtt_us8(), estimator.rto().as_micros() as u32);
    }

    fn is_predicted(&self, segment: &Segment) -> bool {
        acknowledges_nothing(segment, self.snd_una())
    }

    fn take_predicted(&mut self, segment: &Segment) {
        self.take_window_of_data(segment);
    }

    fn take_window_of_data(&mut self, segment: &Segment) {
        self.peer.take((segment.seq, segment.window), false);
    }

    /// Unless it acknowledges the FIN, an ACK of the peer can only repeat an earlier one: with other blocks, or with an
    /// older number.
    fn take_ack(&mut self, ack: &Segment, _: &mut dyn rand_core::Rng) {
        if ack.ack > FIRST {
            self.fin = Fin::Acknowledged;
            self.timer = 0;
        }
        if ack.ack >= self.snd_una() {
            self.take_window_of_data(ack);
        }
    }

    fn close(&mut self) {
        self.fin = Fin::Due(0);
    }

    fn has_finished(&self) -> bool {
        matches!(self.fin, Fin::NotAsked | Fin::Acknowledged)
    }

    fn fin_due(&self) -> bool {
        matches!(self.fin, Fin::Due(_))
    }

    #[cold]
    fn fin_written(&mut self) {
        let Fin::Due(before) = self.fin else { return };
        let sent = before.saturating_add(1);
        self.fin = Fin::Sent(sent);
        let rounding = (self.settings.jiffy, self.settings.timer_rounding);
        self.timer = expiry(self.now, self.patience(sent), rounding).ticks(self.settings.jiffy) as u32;
    }

    fn deadline(&self) -> Deadline {
        if self.timer == 0 {
            return Deadline::NONE;
        }
        Deadline::at(SimTime::ZERO + self.settings.jiffy * u64::from(self.timer))
    }

    fn expire(&mut self) -> Expired {
        let Fin::Sent(sent) = self.fin else { return Expired::Another };
        if !self.deadline().is_over(self.now) {
            return Expired::Another;
        }
        self.fin = Fin::Due(sent);
        self.timer = 0;
        if sent == 1 && self.probes() { Expired::Another } else { Expired::Retransmission }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;
    use tailback_cc::Control;
    use tailback_cc::reno::Reno;
    use tailback_packet::{Ecn, HostId, Packet, SackBlocks, SegmentFlags, SocketId, Timestamp};
    use tailback_properties::cases;
    use tailback_units::Bytes;

    use super::*;
    use crate::clock::timestamp;
    use crate::config::EcnUse;
    use crate::{
        Endpoint, EndpointConfig, ReceiverConfig, SmallQueueLimit, SocketOptions, ToSend, Transmitted, Wakeup,
    };

    /// What happens to a socket that waits for a SYN and never writes.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Syn,
        Segment(Arriving),
        /// The application reads, and closes at the end.
        Read,
        Wait(Span),
        Deadline,
    }

    /// A segment of the peer.
    #[derive(Clone, Copy, Debug)]
    struct Arriving {
        /// The number of the first byte, counted from the next one expected.
        seq: i64,
        length: u32,
        ack: u64,
        window: u64,
        flags: SegmentFlags,
        ecn: Ecn,
        /// Age of its timestamp.
        age: Span,
        /// The segment is read in one step, if it can be.
        read_at_once: bool,
    }

    fn arriving() -> impl Strategy<Value = Arriving> {
        let seq = prop_oneof![6 => Just(0i64), 2 => 1..40_000i64, 1 => -5000..0i64];
        let length = prop_oneof![6 => Just(1448u32), 1 => 0..1448u32];
        let ack = prop_oneof![10 => Just(1u64), 1 => 0..3u64];
        let window = prop_oneof![4 => Just(65_160u64), 1 => 0..100_000u64];
        let flags = prop_oneof![
            12 => Just(SegmentFlags::ACK),
            3 => Just(SegmentFlags::ACK.with(SegmentFlags::PSH)),
            1 => Just(SegmentFlags::ACK.with(SegmentFlags::CWR)),
            1 => Just(SegmentFlags::ACK.with(SegmentFlags::FIN)),
        ];
        let ecn = prop_oneof![4 => Just(Ecn::Ect0), 1 => Just(Ecn::Ce), 1 => Just(Ecn::NotEct)];
        let age = prop_oneof![8 => Just(0u64), 1 => 0..300u64].prop_map(Span::from_millis);
        (seq, length, ack, window, flags, ecn, age, any::<bool>()).prop_map(
            |(seq, length, ack, window, flags, ecn, age, read_at_once)| Arriving {
                seq,
                length,
                ack,
                window,
                flags,
                ecn,
                age,
                read_at_once,
            },
        )
    }

    fn event() -> impl Strategy<Value = Event> {
        let span = prop_oneof![4 => 0..2_000_000u64, 1 => 0..500_000_000u64].prop_map(Span::from_nanos);
        prop_oneof![
            1 => Just(Event::Syn),
            20 => arriving().prop_map(Event::Segment),
            4 => Just(Event::Read),
            6 => span.prop_map(Event::Wait),
            4 => Just(Event::Deadline),
        ]
    }

    /// A receiver, and all that can be seen of it.
    struct Observed<S> {
        endpoint: Endpoint<S>,
        now: SimTime,
        draws: Xoshiro256PlusPlus,
        log: Vec<Seen>,
        /// A packet of so much memory has left the host.
        leave: fn(&mut Endpoint<S>, u32),
    }

    #[derive(PartialEq, Debug)]
    enum Seen {
        Sent(Box<Packet>),
        Woken(Wakeup),
        Read(Bytes),
        Deadline(Option<SimTime>),
        ReadAtOnce,
    }

    impl<S: SendingHalf> Observed<S> {
        fn new(endpoint: Endpoint<S>, leave: fn(&mut Endpoint<S>, u32)) -> Self {
            let (now, draws) = (SimTime::from_nanos(1_000_000_000), Xoshiro256PlusPlus::seed_from_u64(1));
            Observed { endpoint, now, draws, log: Vec::new(), leave }
        }

        fn apply(&mut self, event: Event) {
            match event {
                Event::Syn => {
                    let flags = SegmentFlags::SYN.with(SegmentFlags::ECE).with(SegmentFlags::CWR);
                    let syn = Segment { seq: 0, ack: 0, flags, ..self.segment() };
                    self.take(&syn, Ecn::NotEct);
                }
                Event::Segment(arriving) => self.receive(arriving),
                Event::Read => {
                    let bytes = self.endpoint.read(self.now);
                    if self.endpoint.at_end() {
                        self.endpoint.close_at_end();
                    }
                    self.log.push(Seen::Read(bytes));
                }
                Event::Wait(span) => self.now += span,
                // Then a socket that could write gives up, which a pure receiver does not.
                Event::Deadline if self.now > SimTime::from_nanos(600_000_000_000) => {}
                Event::Deadline => {
                    self.now = self.endpoint.deadline().unwrap_or(self.now).max(self.now);
                    self.endpoint.expire(self.now);
                }
            }
            self.drain();
            self.log.push(Seen::Deadline(self.endpoint.deadline()));
        }

        fn segment(&self) -> Segment {
            Segment {
                seq: self.endpoint.positions().0,
                length: 0,
                ack: 1,
                window: 65_160,
                flags: SegmentFlags::ACK,
                mss: 1448,
                tsval: Timestamp::at(timestamp(self.now)),
                tsecr: Timestamp::at(timestamp(self.now)),
                sack: SackBlocks::NONE,
            }
        }

        fn receive(&mut self, arriving: Arriving) {
            let Arriving { seq, length, ack, window, flags, ecn, age, read_at_once } = arriving;
            let mut segment = self.segment();
            segment.seq = segment.seq.saturating_add_signed(seq);
            segment.tsval = Timestamp::at(timestamp(self.now - age));
            (segment.length, segment.ack, segment.window, segment.flags) = (length, ack, window, flags);
            let truesize = 960 + length;
            if read_at_once && let Some(taken) = self.endpoint.take_to_read(&segment, truesize, self.now) {
                self.log.push(Seen::ReadAtOnce);
                self.write_if_only_ack(taken.sends());
                self.endpoint.read_taken(taken, self.now);
            } else {
                self.take(&segment, ecn);
            }
        }

        fn take(&mut self, segment: &Segment, ecn: Ecn) {
            let sends = self.endpoint.take(segment, ecn, 960 + segment.length, self.now, &mut self.draws);
            self.write_if_only_ack(sends);
        }

        fn write_if_only_ack(&mut self, sends: ToSend) {
            if sends == ToSend::Ack {
                let mut packet = Box::new(Packet::empty());
                self.endpoint.write_only_ack(&mut packet);
                packet.truesize = 0;
                self.log.push(Seen::Sent(packet));
            }
        }

        fn drain(&mut self) {
            while let Some(mut packet) = self.endpoint.next_packet(self.now) {
                self.endpoint.handed_over(Transmitted::Queued, self.now);
                if packet.charged {
                    (self.leave)(&mut self.endpoint, packet.truesize);
                }
                // A pure receiver is charged for nothing, because it has no small queue.
                (packet.charged, packet.truesize) = (false, 0);
                self.log.push(Seen::Sent(Box::new(packet)));
            }
            if self.endpoint.has_pending_events() {
                let wakeup = self.endpoint.wakeup();
                self.log.push(Seen::Woken(wakeup));
            }
        }
    }

    fn silent(settings: &Arc<Settings>) -> Endpoint<ReceiveOnly> {
        Endpoint::pure_receiver(ReceiverConfig {
            socket: SocketId(1),
            peer: SocketId(0),
            peer_host: HostId(0),
            flow_hash: 7,
            settings: Arc::clone(settings),
            options: SocketOptions::default(),
            needs_ecn: EcnNeed::No,
        })
    }

    /// A socket that could write.
    fn able(settings: &Arc<Settings>) -> Endpoint<Sender> {
        Endpoint::listen(EndpointConfig {
            socket: SocketId(1),
            peer: SocketId(0),
            peer_host: HostId(0),
            flow_hash: 7,
            settings: Arc::clone(settings),
            small_queue: SmallQueueLimit::Shift(10),
            options: SocketOptions::default(),
            control: Control::Window(Box::new(Reno)),
            wants_pacing: false,
            needs_ecn: EcnNeed::No,
            sndbuf_factor: 2,
        })
    }

    fn seen<S: SendingHalf>(mut observed: Observed<S>, events: &[Event]) -> Vec<Seen> {
        observed.apply(Event::Syn);
        events.iter().for_each(|&event| observed.apply(event));
        observed.log
    }

    proptest! {
        #![proptest_config(cases(400))]

        #[test]
        fn a_pure_receiver_does_what_a_socket_does_that_could_write(
            ecn in prop_oneof![Just(EcnUse::Never), Just(EcnUse::Always)],
            events in vec(event(), 1..120),
        ) {
            let settings = Arc::new(Settings { ecn, ..Settings::default() });
            let pure = Observed::new(silent(&settings), |_, _| unreachable!("it is charged for nothing"));
            let able = Observed::new(able(&settings), |endpoint, truesize| {
                endpoint.credit(truesize);
            });
            prop_assert_eq!(seen(pure, &events), seen(able, &events));
        }
    }

    #[test]
    fn a_pure_receiver_is_a_small_part_of_a_socket_that_could_write() {
        assert!(size_of::<Endpoint<ReceiveOnly>>() * 2 < size_of::<Endpoint<Sender>>());
    }
}
