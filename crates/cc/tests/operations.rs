//! Property tests of all controls: for any sequence of operations of a sender, at any rate and time, no row of the
//! registry panics, overflows, or violates what senders rely on. `cargo test` draws random sequences; `fuzz/` searches
//! for sequences by coverage.

use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::{
    AckPath, AckSample, CaState, Control, CwndEvent, Flow, LostSegment, PacingStatus, ROWS, RateSample, Row,
    Timestamps, Window, build,
};
use tailback_properties::cases;
use tailback_units::{Parameters, Rate, Segs, SimTime, Span};

const STATES: [CaState; 5] =
    [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];
const EVENTS: [CwndEvent; 4] =
    [CwndEvent::TxStart, CwndEvent::CwndRestart, CwndEvent::CompleteCwr, CwndEvent::Loss];
const PACING: [PacingStatus; 3] = [PacingStatus::None, PacingStatus::Needed, PacingStatus::Fq];

/// One ACK as the network may make it.
#[derive(Clone, Debug)]
struct Ack {
    segments: u32,
    rtt: Option<Span>,
    interval: Option<Span>,
    losses: u32,
    in_flight: u32,
    app_limited: bool,
    delayed: bool,
}

/// An operation of a sender.
#[derive(Clone, Debug)]
enum Operation {
    Ack(Ack),
    Wait(Span),
    State(usize),
    Event(usize),
    Cut,
    Undo,
    Timeout,
    PacingRate(Rate),
    Pacing(usize),
    AppLimited,
    Clamp(u32),
    CwndLimited(bool),
}

fn ack() -> impl Strategy<Value = Ack> {
    // 1 bit/s to beyond 100 Gbit/s: from a segment in hours to many in a microsecond.
    let span =
        || prop_oneof![0u64..10_000, 0u64..100_000_000, 0u64..20_000_000_000_000].prop_map(Span::from_nanos);
    let segments = prop_oneof![4 => 0u32..4, 2 => 0u32..100, 1 => 0u32..2_000_000];
    let count = || prop_oneof![4 => Just(0u32), 2 => 0u32..100, 1 => 0u32..2_000_000];
    (
        segments,
        proptest::option::of(span()),
        proptest::option::of(span()),
        count(),
        count(),
        any::<[bool; 2]>(),
    )
        .prop_map(|(segments, rtt, interval, losses, in_flight, [app_limited, delayed])| Ack {
            segments,
            rtt,
            interval,
            losses,
            in_flight,
            app_limited,
            delayed,
        })
}

fn operation() -> impl Strategy<Value = Operation> {
    let wait = prop_oneof![0u64..100_000, 0u64..1_000_000_000, 0u64..100_000_000_000_000];
    prop_oneof![
        20 => ack().prop_map(Operation::Ack),
        6 => wait.prop_map(|ns| Operation::Wait(Span::from_nanos(ns))),
        3 => any::<usize>().prop_map(Operation::State),
        3 => any::<usize>().prop_map(Operation::Event),
        1 => Just(Operation::Cut),
        1 => Just(Operation::Undo),
        1 => Just(Operation::Timeout),
        1 => (0u64..=100_000_000_000).prop_map(|bits| Operation::PacingRate(Rate::from_bits_per_sec(bits))),
        1 => Just(Operation::PacingRate(Rate::UNLIMITED)),
        1 => any::<usize>().prop_map(Operation::Pacing),
        1 => Just(Operation::AppLimited),
        1 => (1u32..100_000).prop_map(Operation::Clamp),
        1 => any::<bool>().prop_map(Operation::CwndLimited),
    ]
}

/// Values that a row accepts: its defaults and its extremes.
fn parameters(row: &Row, choices: &[usize]) -> Parameters {
    let mut given = Parameters::default();
    for (parameter, choice) in row.parameters.iter().zip(choices) {
        let values = [parameter.default.unwrap_or(parameter.min), parameter.min, parameter.max];
        given.set(parameter.name, values[choice % values.len()]);
    }
    given
}

/// The part of a sender that a control sees.
struct Sender {
    control: Control,
    flow: Flow,
    window: Window,
    draws: Xoshiro256PlusPlus,
}

impl Sender {
    fn new(row: &Row, given: &Parameters, mss: u32, jiffy: Span) -> Self {
        let control = build(row.name, given).expect("the values are in range");
        let (flow, window) =
            (Flow { ecn_ok: true, ..Flow::established(mss, jiffy) }, Window::initial(Segs(10)));
        let mut sender = Sender { control, flow, window, draws: Xoshiro256PlusPlus::seed_from_u64(7) };
        sender.control.hooks_mut().init(&sender.flow, &mut sender.window, &mut sender.draws);
        sender
    }

    fn perform(&mut self, operation: &Operation) {
        match operation {
            Operation::Ack(ack) => self.ack(ack),
            Operation::Wait(span) => self.flow.now += *span,
            Operation::State(index) => self.set_state(STATES[index % STATES.len()]),
            Operation::Event(index) => {
                self.control.hooks_mut().cwnd_event(
                    EVENTS[index % EVENTS.len()],
                    &self.flow,
                    &mut self.window,
                );
                self.flow.last_sent = self.flow.now;
            }
            Operation::Cut => self.cut(),
            Operation::Undo => self.undo(),
            Operation::Timeout => self.time_out(),
            Operation::PacingRate(rate) => self.window.pacing_rate = *rate,
            Operation::Pacing(index) => self.flow.pacing_status = PACING[index % PACING.len()],
            Operation::AppLimited => self.flow.app_limited = self.flow.delivered.max(1),
            Operation::Clamp(segments) => self.window.cwnd_clamp = Segs(*segments),
            Operation::CwndLimited(limited) => self.flow.cwnd_limited = *limited,
        }
        // Every sender does this after a control has set the window. [linux-6.12 tcp.h tcp_snd_cwnd_set]
        self.window.cwnd = self.window.cwnd.max(Segs::ONE).min(self.window.cwnd_clamp);
    }

    fn ack(&mut self, ack: &Ack) {
        let prior_in_flight = self.flow.in_flight;
        let prior_delivered = self.flow.delivered.saturating_sub(u64::from(self.window.cwnd.0));
        self.flow.snd_una += u64::from(ack.segments) * u64::from(self.flow.mss);
        self.flow.snd_nxt = self.flow.snd_una + u64::from(ack.in_flight) * u64::from(self.flow.mss);
        self.flow.delivered += u64::from(ack.segments);
        self.flow.delivered_at = self.flow.now;
        self.flow.delivered_ce += u64::from(ack.losses.min(ack.segments));
        self.flow.lost += u64::from(ack.losses);
        self.flow.sacked_out = Segs(ack.losses);
        let echo = SimTime::from_nanos(self.flow.now.as_nanos() / 2);
        self.flow.timestamps = Some(Timestamps { value: self.flow.now, echo });
        self.flow.in_flight = Segs(ack.in_flight);
        if let Some(rtt) = ack.rtt {
            self.flow.srtt_us8 = u32::try_from(rtt.as_micros() * 8).unwrap_or(u32::MAX);
        }
        let sample = AckSample {
            packets_acked: Segs(ack.segments),
            rtt: ack.rtt,
            in_flight: u64::from(ack.in_flight),
        };
        let before = format!("{:?}", self.window);
        self.control.hooks_mut().in_ack_event(AckPath::Slow, &self.flow, &mut self.window);
        if self.control.hooks().ignores_acks() {
            assert_eq!(before, format!("{:?}", self.window), "it said that it ignores ACKs");
        }
        self.control.hooks_mut().pkts_acked(&sample, &self.flow, &mut self.window);
        let rate = RateSample {
            prior_delivered,
            delivered: Some(self.flow.delivered - prior_delivered),
            interval: ack.interval,
            rtt: ack.rtt,
            losses: Segs(ack.losses),
            acked_sacked: Segs(ack.segments),
            tx_in_flight: Segs(ack.in_flight),
            lost: u64::from(ack.losses),
            prior_in_flight,
            is_app_limited: ack.app_limited,
            is_retrans: false,
            is_ack_delayed: ack.delayed,
        };
        let in_flight = Segs(ack.in_flight);
        let segment =
            LostSegment { tx_in_flight: in_flight, lost: u64::from(ack.losses), is_app_limited: false };
        for _ in 0..ack.losses.min(3) {
            self.control.hooks_mut().segment_lost(&segment, &self.flow, &mut self.window);
        }
        match &mut self.control {
            Control::Window(control) => {
                control.cong_avoid(Segs(ack.segments), &self.flow, &mut self.window);
            }
            Control::Model(control) => {
                control.cong_control(&rate, &self.flow, &mut self.window, &mut self.draws);
            }
        }
    }

    fn cut(&mut self) {
        self.window.prior_cwnd = self.window.cwnd;
        match &mut self.control {
            Control::Window(control) => {
                let ssthresh = control.ssthresh(&self.flow, &self.window);
                assert!(ssthresh >= Segs(2), "a cut leaves {ssthresh}");
                (self.window.ssthresh, self.window.cwnd) = (ssthresh, ssthresh);
            }
            Control::Model(control) => {
                self.window.ssthresh = control.ssthresh(&self.flow, &self.window);
            }
        }
    }

    fn undo(&mut self) {
        self.window.cwnd = match &mut self.control {
            Control::Window(control) => control.undo_cwnd(&self.flow, &self.window),
            Control::Model(control) => control.undo_cwnd(&self.flow, &mut self.window),
        };
    }

    fn time_out(&mut self) {
        self.cut();
        self.control.hooks_mut().cwnd_event(CwndEvent::Loss, &self.flow, &mut self.window);
        self.window.cwnd = self.flow.in_flight + Segs::ONE;
        self.set_state(CaState::Loss);
    }

    fn set_state(&mut self, to: CaState) {
        self.control.hooks_mut().set_state(to, &self.flow, &mut self.window);
        self.flow.ca_state = to;
    }

    fn check(&self, row: &Row) {
        assert!(self.window.cwnd >= Segs::ONE && self.window.cwnd <= self.window.cwnd_clamp, "{}", row.name);
        if matches!(self.control, Control::Window(_)) {
            // A cut leaves two segments; Vegas and Westwood set ssthresh to a window of one.
            assert!(self.window.ssthresh >= Segs::ONE, "{}: ssthresh {}", row.name, self.window.ssthresh);
        }
        assert!(self.control.hooks().min_tso_segs(&self.window) != Some(0), "{}", row.name);
        self.control.hooks().gauges(&self.flow, &mut |name, value| {
            assert!(value.is_finite() && value >= 0.0, "{}: {name} is {value}", row.name);
        });
    }
}

/// A sender and its operations.
#[derive(Clone, Debug)]
struct Case {
    choices: Vec<usize>,
    mss: u32,
    hz: u64,
    operations: Vec<Operation>,
}

fn case() -> impl Strategy<Value = Case> {
    let choices = proptest::collection::vec(any::<usize>(), 16);
    let hz = prop_oneof![Just(100u64), Just(250), Just(1_000)];
    let operations = proptest::collection::vec(operation(), 1..300);
    (choices, 1u32..9_000, hz, operations).prop_map(|(choices, mss, hz, operations)| Case {
        choices,
        mss,
        hz,
        operations,
    })
}

fn play(case: &Case) {
    for row in ROWS {
        let jiffy = Span::from_nanos(1_000_000_000 / case.hz);
        let mut sender = Sender::new(row, &parameters(row, &case.choices), case.mss, jiffy);
        sender.flow.now = SimTime::ZERO + Span::from_millis(3);
        for operation in &case.operations {
            sender.perform(operation);
            sender.check(row);
        }
    }
}

/// Numbers read from bytes; zeros after their end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    /// A number up to `max`, read from as many bytes as `max` has.
    fn up_to(&mut self, max: u64) -> u64 {
        let bytes = (8 - max.leading_zeros() as usize / 8).min(self.0.len());
        let (own, rest) = self.0.split_at(bytes);
        self.0 = rest;
        own.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)) % (max + 1)
    }

    fn span(&mut self) -> Span {
        let max = [10_000, 100_000_000, 20_000_000_000_000][self.up_to(2) as usize];
        Span::from_nanos(self.up_to(max))
    }

    fn count(&mut self) -> u32 {
        let max = [3, 99, 1_999_999][self.up_to(2) as usize];
        self.up_to(max) as u32
    }

    fn operation(&mut self) -> Operation {
        match self.up_to(15) {
            0 => Operation::Wait(self.span()),
            1 => Operation::State(self.up_to(4) as usize),
            2 => Operation::Event(self.up_to(3) as usize),
            3 => Operation::Cut,
            4 => Operation::Undo,
            5 => Operation::Timeout,
            6 => Operation::PacingRate(Rate::from_bits_per_sec(self.up_to(100_000_000_000))),
            7 => Operation::Pacing(self.up_to(2) as usize),
            8 => Operation::AppLimited,
            9 => Operation::Clamp(1 + self.up_to(100_000) as u32),
            10 => Operation::CwndLimited(self.up_to(1) == 1),
            11 => Operation::PacingRate(Rate::UNLIMITED),
            _ => Operation::Ack(self.ack()),
        }
    }

    fn ack(&mut self) -> Ack {
        Ack {
            segments: self.count(),
            rtt: (self.up_to(3) > 0).then(|| self.span()),
            interval: (self.up_to(3) > 0).then(|| self.span()),
            losses: self.count(),
            in_flight: self.count(),
            app_limited: self.up_to(1) == 1,
            delayed: self.up_to(1) == 1,
        }
    }
}

/// Performs the operations that `bytes` encode, on the control that the first byte selects.
pub fn fuzz(bytes: &[u8]) {
    let mut numbers = Numbers(bytes);
    let row = &ROWS[numbers.up_to(ROWS.len() as u64 - 1) as usize];
    let choices: Vec<usize> = (0..16).map(|_| numbers.up_to(2) as usize).collect();
    let jiffy = Span::from_millis([1, 4, 10][numbers.up_to(2) as usize]);
    let mss = 1 + numbers.up_to(9_000) as u32;
    let mut sender = Sender::new(row, &parameters(row, &choices), mss, jiffy);
    sender.flow.now = SimTime::ZERO + Span::from_millis(3);
    while !numbers.0.is_empty() {
        sender.perform(&numbers.operation());
        sender.check(row);
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn no_sequence_of_operations_breaks_a_control(case in case()) {
        play(&case);
    }

    #[test]
    fn any_bytes_are_a_sequence_of_operations(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz(&bytes);
    }

    #[test]
    fn the_same_operations_give_the_same_windows(operations in proptest::collection::vec(operation(), 1..100)) {
        for row in ROWS {
            let windows = || {
                let mut sender = Sender::new(row, &Parameters::default(), 1448, Span::from_millis(1));
                let step = |operation| {
                    sender.perform(operation);
                    (sender.window.cwnd, sender.window.ssthresh, sender.window.pacing_rate)
                };
                operations.iter().map(step).collect::<Vec<_>>()
            };
            prop_assert_eq!(windows(), windows(), "{}", row.name);
        }
    }

    #[test]
    fn a_window_control_does_not_grow_while_the_window_is_not_the_limit(acks in proptest::collection::vec(ack(), 1..50)) {
        // Vegas does not check this. [linux-6.12 tcp_vegas.c tcp_vegas_cong_avoid]
        for row in ROWS.iter().filter(|row| row.name != "vegas") {
            let mut sender = Sender::new(row, &Parameters::default(), 1448, Span::from_millis(1));
            sender.flow.cwnd_limited = false;
            let first = sender.window.cwnd;
            let is_window = matches!(sender.control, Control::Window(_));
            for ack in acks.iter().filter(|_| is_window) {
                sender.ack(ack);
                prop_assert!(sender.window.cwnd <= first, "{}", row.name);
            }
        }
    }
}
