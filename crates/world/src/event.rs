//! The events of the calendar.

use tailback_packet::SocketId;
use tailback_wifi::StationId;

use crate::ids::{ConversationId, DeviceId, TimerId};

/// An event. A busy component has one in the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The first packet on its way from this device reached the other end.
    Arrived(DeviceId),
    /// A frame that something waits for has left this device.
    Transmitted(DeviceId),
    /// The watchdog of the discipline of this device expires.
    Watchdog(DeviceId),
    /// The first packet on the path behind this device's wire reached its end.
    PathDelivers(DeviceId),
    /// The NIC that receives from this device interrupts its host.
    Poll(DeviceId),
    /// The next event of this channel.
    Air(u16),
    /// The interrupt of a radio on this channel for what it has received.
    Interrupt(u16, StationId),
    /// A link changes by its schedule.
    Change(u32),
    /// The signal of a station changes by its schedule.
    Signal(u32),
    /// A radio on this channel reports what has left it.
    Completions(u16, StationId),
    /// The alarm of a socket.
    Timer(SocketId),
    /// A timer of an application expires.
    Application(ConversationId, TimerId),
    /// The sampled tables get their rows.
    Sample,
    /// A slot of sojourn times is over.
    Slot,
    /// A hundredth of the run is over.
    Progress,
    /// Nothing: whoever drives the world wants to be asked then.
    Pause,
}

/// What arrives is received by a host, or passed on to its next device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Received {
    ByHost,
    ByDevice,
}
