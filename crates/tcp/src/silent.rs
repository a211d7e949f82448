//! The sending half of a pure receiver: a socket that never writes and never closes first. It needs no window, no control
//! and no retransmit queue, only what its ACKs say and what limits which segments it takes.
//!
//! A run may have tens of thousands of receivers, so this is small: a tenth of a [`Sender`](crate::Sender).
//!
//! Known deviations: a segment with SACK blocks, which nobody sends to a socket that has sent no data, changes nothing. It
//! saves no metrics ([`crate::metrics`]): a host that does has receivers with a whole sender.

use std::sync::Arc;

use tailback_packet::{Segment, Timestamp};
use tailback_units::{SimTime, Span};

use crate::clock::Deadline;
use crate::config::{Agreement, Settings};
use crate::ecn::EcnState;
use crate::input::acknowledges_nothing;
use crate::metrics::Ended;
use crate::output::Outgoing;
use crate::receiver::Receiver;
use crate::rtt::{RTO_INITIAL, RttEstimator};
use crate::sending_half::{Opening, SendingHalf};
use crate::state::gate::Transmitted;
use crate::state::peer::PeerWindow;
use crate::state::timer::Expired;

/// The sequence number of the first byte: all that it has ever sent is a SYN-ACK.
const FIRST: u64 = 1;

/// The sending half of a pure receiver.
#[derive(Debug)]
pub struct Silent {
    now: SimTime,
    peer: PeerWindow,
    ecn: EcnState,
    /// Smoothed RTT of the handshake (×8, µs); no later segment is a sample.
    srtt_us8: u32,
    rto: Span,
    agreement: Agreement,
    settings: Arc<Settings>,
}

impl Silent {
    pub(crate) fn new(settings: Arc<Settings>, agreement: Agreement, needs_ecn: bool) -> Self {
        Silent {
            now: SimTime::ZERO,
            peer: PeerWindow::default(),
            ecn: EcnState::new(settings.ecn, needs_ecn),
            srtt_us8: 0,
            rto: RTO_INITIAL,
            agreement,
            settings,
        }
    }
}

impl SendingHalf for Silent {
    #[inline(always)]
    fn now(&self) -> SimTime {
        self.now
    }

    #[inline(always)]
    fn set_now(&mut self, now: SimTime) {
        self.now = now;
    }

    #[inline(always)]
    fn snd_una(&self) -> u64 {
        FIRST
    }

    #[inline(always)]
    fn echoed(&self) -> Timestamp {
        Timestamp::NONE
    }

    #[inline(always)]
    fn snd_nxt(&self) -> u64 {
        FIRST
    }

    #[inline(always)]
    fn peer(&self) -> &PeerWindow {
        &self.peer
    }

    #[inline(always)]
    fn peer_mut(&mut self) -> &mut PeerWindow {
        &mut self.peer
    }

    #[inline(always)]
    fn ecn(&self) -> &EcnState {
        &self.ecn
    }

    #[inline(always)]
    fn ecn_mut(&mut self) -> &mut EcnState {
        &mut self.ecn
    }

    #[inline(always)]
    fn settings(&self) -> &Settings {
        &self.settings
    }

    #[inline(always)]
    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn agree(&mut self, agreement: Agreement) {
        self.agreement = agreement;
    }

    #[inline(always)]
    fn srtt_us8(&self) -> u32 {
        self.srtt_us8
    }

    #[inline(always)]
    fn rto(&self) -> Span {
        self.rto
    }

    #[inline(always)]
    fn takes_shortcuts(&self) -> bool {
        true
    }

    fn open(&mut self, opening: Opening, _: &mut dyn rand_core::Rng) {
        self.peer.open(opening.window);
        let mut estimator = RttEstimator::new();
        match opening.rtt {
            Some(rtt) => estimator.sample(rtt, FIRST, FIRST, &self.settings),
            None => estimator.fall_back(),
        }
        (self.srtt_us8, self.rto) = (estimator.srtt_us8(), estimator.rto());
    }

    fn connected(&mut self) {
        unreachable!("a pure receiver waits for a SYN")
    }

    fn leaves(&self) -> Option<Ended> {
        None
    }

    fn handshake_repeated(&mut self) {}

    fn handshake_dropped(&mut self) {}

    fn abort(&mut self) {
        unreachable!("a pure receiver waits for a SYN")
    }

    #[inline(always)]
    fn is_aborted(&self) -> bool {
        false
    }

    #[inline(always)]
    fn is_predicted(&self, segment: &Segment) -> bool {
        acknowledges_nothing(segment, FIRST)
    }

    #[inline(always)]
    fn is_silent(&self) -> bool {
        true
    }

    #[inline(always)]
    fn take_predicted(&mut self, segment: &Segment) {
        self.take_window_of_data(segment);
    }

    #[inline(always)]
    fn take_window_of_data(&mut self, segment: &Segment) {
        self.peer.take((segment.seq, segment.window), false);
    }

    /// An ACK of the peer can only repeat an earlier one: with other blocks, or with an older number.
    fn take_ack(&mut self, ack: &Segment, _: &mut dyn rand_core::Rng) {
        if ack.ack >= FIRST {
            self.take_window_of_data(ack);
        }
    }

    #[inline(always)]
    fn after_segment(&mut self) {}

    #[inline(always)]
    fn check_space(&mut self) {}

    #[inline(always)]
    fn is_writable(&self) -> bool {
        false
    }

    #[inline(always)]
    fn take_writable(&mut self) -> bool {
        false
    }

    #[inline(always)]
    fn is_busy_with_application(&self) -> bool {
        false
    }

    fn has_finished(&self) -> bool {
        true
    }

    #[inline(always)]
    fn has_notes(&self) -> bool {
        false
    }

    #[inline(always)]
    fn has_pass(&self) -> bool {
        false
    }

    #[inline(always)]
    fn has_work(&self) -> bool {
        false
    }

    #[inline(always)]
    fn next_data(&mut self, _: &Receiver) -> Option<Outgoing> {
        None
    }

    #[inline(always)]
    fn pauses(&self) -> bool {
        false
    }

    #[inline(always)]
    fn probe_due(&self) -> bool {
        false
    }

    fn probe_written(&mut self) {}

    #[inline(always)]
    fn after_handing_over(&mut self, _: Transmitted) {}

    #[inline(always)]
    fn refresh_route(&mut self) {}

    #[inline(always)]
    fn awaits_credit(&self) -> bool {
        false
    }

    #[inline(always)]
    fn deadline(&self) -> Deadline {
        Deadline::NONE
    }

    fn expire(&mut self) -> Expired {
        Expired::Another
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
    use crate::sender::Sender;
    use crate::{Endpoint, EndpointConfig, ReceiverConfig, SmallQueueLimit, SocketOptions, ToSend, Wakeup};

    /// What happens to a socket that waits for a SYN and never writes.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Syn,
        Segment(Arriving),
        /// The application reads.
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
        fn new(endpoint: Endpoint<S>) -> Self {
            let (now, draws) = (SimTime::from_nanos(1_000_000_000), Xoshiro256PlusPlus::seed_from_u64(1));
            Observed { endpoint, now, draws, log: Vec::new() }
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
                    self.log.push(Seen::Read(bytes));
                }
                Event::Wait(span) => self.now += span,
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
            if read_at_once && let Some(sends) = self.endpoint.take_to_read(&segment, truesize, self.now) {
                self.log.push(Seen::ReadAtOnce);
                self.write_if_only_ack(sends);
                self.endpoint.read_taken(length, self.now);
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
                self.log.push(Seen::Sent(packet));
            }
        }

        fn drain(&mut self) {
            while let Some(packet) = self.endpoint.next_packet(self.now) {
                self.log.push(Seen::Sent(Box::new(packet)));
                self.endpoint.handed_over(Transmitted::Queued, self.now);
            }
            if self.endpoint.has_pending_events() {
                let wakeup = self.endpoint.wakeup();
                self.log.push(Seen::Woken(wakeup));
            }
        }
    }

    fn silent(settings: &Arc<Settings>) -> Endpoint<Silent> {
        Endpoint::pure_receiver(ReceiverConfig {
            socket: SocketId(1),
            peer: SocketId(0),
            peer_host: HostId(0),
            flow_hash: 7,
            settings: Arc::clone(settings),
            options: SocketOptions::default(),
            needs_ecn: false,
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
            needs_ecn: false,
            sndbuf_factor: 2,
        })
    }

    fn seen<S: SendingHalf>(endpoint: Endpoint<S>, events: &[Event]) -> Vec<Seen> {
        let mut observed = Observed::new(endpoint);
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
            prop_assert_eq!(seen(silent(&settings), &events), seen(able(&settings), &events));
        }
    }

    #[test]
    fn a_pure_receiver_is_a_small_part_of_a_socket_that_could_write() {
        assert!(size_of::<Endpoint<Silent>>() * 2 < size_of::<Endpoint<Sender>>());
    }
}
