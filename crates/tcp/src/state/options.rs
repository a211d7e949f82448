//! The socket options that the sender reads after its creation.

use tailback_units::{Rate, Span};

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
}
