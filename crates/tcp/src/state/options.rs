//! The socket options that the sender reads after its creation.

use tailback_cc::Window;
use tailback_units::{Rate, SimTime, Span};

use crate::clock::timestamp;
use crate::config::{Settings, SocketOptions};
use crate::one_word::OneWord;

/// What [`SocketOptions`] say about sending, without those that only determine the initial state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendingOptions {
    /// `Rate::UNLIMITED` unless it was set.
    pub(crate) max_pacing_rate: Rate,
    /// The sysctl of the host unless the socket option was set; in bytes.
    pub(crate) notsent_lowat: u64,
    pub(crate) user_timeout: OneWord<Span>,
    pub(crate) mss: Option<u32>,
}

impl SendingOptions {
    pub(crate) fn of(options: &SocketOptions, settings: &Settings) -> Self {
        SendingOptions {
            max_pacing_rate: options.max_pacing_rate.unwrap_or(Rate::UNLIMITED),
            notsent_lowat: options.notsent_lowat.unwrap_or(settings.notsent_lowat),
            user_timeout: options.user_timeout.into(),
            mss: options.mss,
        }
    }

    /// The time that remains of `TCP_USER_TIMEOUT`, if it is set and began at `since`; no timer expires later.
    /// [linux-6.12 tcp_timer.c tcp_clamp_rto_to_user_timeout, tcp_clamp_probe0_to_user_timeout]
    pub(crate) fn user_timeout_left(&self, since: Option<SimTime>, now: SimTime) -> Option<Span> {
        let (timeout, since) = (self.user_timeout.get()?, since?);
        let passed = timestamp(now).since(since);
        Some(if passed < timeout { timeout - passed } else { Span::ZERO })
    }

    /// `SO_MAX_PACING_RATE` holds for every control. [linux-6.12 sock.c sk_setsockopt, sk_max_pacing_rate]
    pub(crate) fn cap_pacing_rate(&self, window: &mut Window) {
        window.pacing_rate = window.pacing_rate.min(self.max_pacing_rate);
    }
}
