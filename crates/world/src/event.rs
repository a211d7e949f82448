//! The events of the calendar.

use tailback_packet::SocketId;

use crate::ids::{ConversationId, DeviceId, TimerId};

/// What happens at an instant. A busy component has one of these in the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A frame that somebody waits for has left this device.
    Transmitted(DeviceId),
    /// The discipline of this device wanted to be asked again.
    Watchdog(DeviceId),
    /// The first packet on its way from this device reached the other end.
    Arrived(DeviceId),
    /// The first packet on the path behind this device's wire reached its end.
    Emerged(DeviceId),
    /// Something happens on this channel.
    Air(u16),
    /// A link changes, by the schedule.
    Change(u32),
    /// The alarm of a socket.
    Timer(SocketId),
    /// A timer of an application expires.
    Application(ConversationId, TimerId),
    /// The sampled tables get their rows.
    Sample,
    /// A hundredth of the run is over.
    Progress,
}
