//! A TCP flow whose congestion window and pacing rate are set from outside, step by step: for a control that learns.
//!
//! ```text
//! SteeredRun::step(window, rate, interval) ── at the next ACK ──> the flow ── every ACK ──> Step: what happened since
//! ```
//! The flow reacts to nothing by itself: a loss, a mark and a timeout leave the window that was set, from the next ACK on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand_core::Rng;
use tailback_cc::{Control, EcnNeed, Flow, Hooks, ModelControl, RateSample, Window};
use tailback_record::TcpInfoRow;
use tailback_units::{Bytes, Rate, Segs, Span};
use tailback_world::scenario::{ControlSource, ParametersOfControl};
use tailback_world::{OwnControl, OwnControls, Scenario, World};

use crate::Error;

/// The language of the control of such a flow in a scenario.
const LANGUAGE: &str = "steered";
/// What BBR's window is at the start, and Linux's. [rfc6928]
const FIRST_WINDOW: u32 = 10;

/// What a flow has seen since it was asked last.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Seen {
    /// ACKs with a rate sample.
    pub acks: u64,
    /// Segments acknowledged.
    pub acked: u64,
    /// Segments marked lost.
    pub lost: u64,
    /// Segments whose ACK carried a mark.
    pub marked: u64,
    /// Sum of the round-trip times of the ACKs that had one, and how many they are.
    pub rtts: (Span, u64),
}

/// A run in which one flow of TCP is steered: that with the control of the language `steered`.
pub struct SteeredRun {
    world: World,
    steering: Steering,
    flow: String,
    acked: Bytes,
}

/// What a step shows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// The flow at its end; none before it has a socket.
    pub info: Option<TcpInfoRow>,
    /// What was seen in it.
    pub seen: Seen,
    /// Data that was acknowledged in it.
    pub acked: Bytes,
    /// How long it was.
    pub lasted: Duration,
}

impl SteeredRun {
    /// The run of a scenario, before its start.
    pub fn of_scenario(scenario: &Scenario, flow: &str) -> Result<Self, Error> {
        let steering = Steering::default();
        let world = World::build_with(scenario, &steering)?;
        Ok(SteeredRun { world, steering, flow: flow.to_owned(), acked: Bytes::ZERO })
    }

    /// From the next ACK on the flow has this window in segments, at least one, and this pacing rate in bit/s, or none;
    /// so much time passes, or what is left of the run.
    pub fn step(&mut self, cwnd: u32, pacing_bps: Option<u64>, interval: Span) -> Result<Step, Error> {
        self.steering.set(cwnd, pacing_bps);
        let before = self.world.now();
        self.world.advance_to(before + interval)?;
        let info = self.world.tcp_info(&self.flow);
        let acked = info.map_or(Bytes::ZERO, |info| info.bytes_acked);
        let new = acked - std::mem::replace(&mut self.acked, acked);
        let lasted = Duration::from_nanos(self.world.now().since(before).as_nanos());
        Ok(Step { info, seen: self.steering.take(), acked: new, lasted })
    }

    /// The time of the run.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.world.now().as_nanos())
    }

    /// Whether it has reached its end.
    pub fn is_over(&self) -> bool {
        self.world.now() >= self.world.end()
    }
}

/// What is set, and what is seen.
#[derive(Clone, Debug, Default)]
struct Steering(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: u32,
    pacing: Rate,
    seen: Seen,
    delivered_ce: u64,
}

impl Default for State {
    fn default() -> Self {
        State { cwnd: FIRST_WINDOW, pacing: Rate::UNLIMITED, seen: Seen::default(), delivered_ce: 0 }
    }
}

impl Steering {
    fn set(&self, cwnd: u32, pacing_bps: Option<u64>) {
        let mut state = self.state();
        state.cwnd = cwnd.max(1);
        state.pacing = pacing_bps.map_or(Rate::UNLIMITED, Rate::from_bits_per_sec);
    }

    /// Takes what was seen since the last call.
    fn take(&self) -> Seen {
        std::mem::take(&mut self.state().seen)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnControls for Steering {
    fn build(&self, source: &ControlSource, _parameters: &ParametersOfControl) -> Result<OwnControl, String> {
        if source.language != LANGUAGE {
            return Err(format!("a network with steered flows has no interpreter for {}", source.language));
        }
        let control = Control::Model(Box::new(Steered(self.clone())));
        Ok(OwnControl { control, wants_pacing: true, sndbuf_factor: 2, needs_ecn: EcnNeed::No })
    }
}

/// The control of such a flow.
struct Steered(Steering);

impl Hooks for Steered {
    fn init(&mut self, _flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        self.steer(window);
    }
}

impl Steered {
    fn steer(&self, window: &mut Window) {
        let state = self.0.state();
        window.cwnd = Segs(state.cwnd).min(window.cwnd_clamp);
        window.pacing_rate = state.pacing;
    }
}

impl ModelControl for Steered {
    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        let mut state = self.0.state();
        let marked = flow.delivered_ce - std::mem::replace(&mut state.delivered_ce, flow.delivered_ce);
        let seen = &mut state.seen;
        seen.acks += 1;
        seen.acked += u64::from(sample.acked_sacked.0);
        seen.lost += u64::from(sample.losses.0);
        seen.marked += marked;
        if let Some(rtt) = sample.rtt {
            seen.rtts = (seen.rtts.0 + rtt, seen.rtts.1 + 1);
        }
        drop(state);
        self.steer(window);
    }

    fn state(&self) -> &'static str {
        "steered"
    }

    fn ssthresh(&mut self, _flow: &Flow, window: &Window) -> Segs {
        window.cwnd
    }
}
