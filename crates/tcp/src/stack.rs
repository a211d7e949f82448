//! Generations of Linux's TCP that can be chosen, and what tells them apart here.
//!
//! | | 5.10 | 6.12 |
//! |---|---|---|
//! | memory of an skb beside its payload | 1280 B | 960 B: small-head cache [linux-6.3 skbuff.c] |
//! | small queue lets through | with nothing unacknowledged | with at most one segment unacknowledged [linux-6.7 tcp_output.c] |
//! | cwnd counts as used | by the largest flight of the window, in slow start | also by the limit it was in the window [linux-6.1 tcp.h] |
//! | PRR grows by one more | when a retransmission was acknowledged | when una advanced without a new loss [linux-6.6 tcp_input.c] |
//! | payload per receive memory | one half (`tcp_adv_win_scale` 1) | as measured [linux-6.6 tcp_input.c] |
//! | full segment with PSH | is delayed | is acknowledged once read [linux-6.6 tcp_input.c] |
//! | timestamp echoed within its tick | is a receiver's RTT of one tick | is no sample [linux-6.12 tcp_input.c] |
//!
//! What else changed between them (HyStart's rounds, offloads, autotuning past 6.12) is not told apart.

/// Which flight the small queue never holds back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlwaysSends {
    /// Nothing is unacknowledged.
    Nothing,
    /// At most one segment is.
    AtMostOne,
}

/// How the use of cwnd is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CwndUse {
    /// By the largest flight of the window; a later flight that was not limited clears the mark.
    LargestFlight,
    /// By whether cwnd was the limit in this window.
    Limit,
}

/// When PRR sends one segment more than was delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrProgress {
    /// A retransmission was acknowledged and none was found lost.
    RetransmissionAcked,
    /// `snd_una` advanced and nothing was found lost.
    UnaAdvanced,
}

/// How receive memory is turned into a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveRatio {
    /// Half of it.
    Half,
    /// By the measured ratio of payload to truesize.
    Measured,
}

/// What a full segment with PSH does to the delayed ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PushedSegment {
    /// Nothing.
    Delayed,
    /// The ACK leaves once the application has read everything.
    AckedWhenRead,
}

/// What the receiver's RTT learns from a timestamp that is echoed within its own tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SameTickEcho {
    /// One tick.
    OneTick,
    /// Nothing.
    NoSample,
}

/// One generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The name in an experiment file.
    pub name: &'static str,
    /// Memory charged for an skb beside its payload, bytes.
    pub skb_overhead: u32,
    /// What the small queue never holds back.
    pub always_sends: AlwaysSends,
    /// How the use of cwnd is remembered.
    pub cwnd_use: CwndUse,
    /// When PRR sends one segment more.
    pub prr_progress: PrrProgress,
    /// How receive memory is turned into a window.
    pub receive_ratio: ReceiveRatio,
    /// What a full segment with PSH does.
    pub pushed_segment: PushedSegment,
    /// What the receiver makes of a round trip shorter than the clock of timestamps can tell.
    pub same_tick_echo: SameTickEcho,
}

/// The Linux that is modelled.
pub const LINUX_6_12: Stack = Stack {
    name: "linux-6.12",
    skb_overhead: 960,
    always_sends: AlwaysSends::AtMostOne,
    cwnd_use: CwndUse::Limit,
    prr_progress: PrrProgress::UnaAdvanced,
    receive_ratio: ReceiveRatio::Measured,
    pushed_segment: PushedSegment::AckedWhenRead,
    same_tick_echo: SameTickEcho::NoSample,
};

/// The Linux of the `access21` paper.
pub const LINUX_5_10: Stack = Stack {
    name: "linux-5.10",
    skb_overhead: 1280,
    always_sends: AlwaysSends::Nothing,
    cwnd_use: CwndUse::LargestFlight,
    prr_progress: PrrProgress::RetransmissionAcked,
    receive_ratio: ReceiveRatio::Half,
    pushed_segment: PushedSegment::Delayed,
    same_tick_echo: SameTickEcho::OneTick,
};

/// Every stack that an experiment may name.
pub const STACKS: &[Stack] = &[LINUX_6_12, LINUX_5_10];
