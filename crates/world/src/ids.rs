//! Numbers that identify the parts of a world.

/// A device: one end of a wire, or a radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeviceId(pub(crate) u32);

impl DeviceId {
    /// The device at `end` (0 or 1) of the wire `link`.
    pub(crate) fn of_wire(link: usize, end: usize) -> Self {
        DeviceId(u32::try_from(2 * link + end).expect("a world has fewer than two billion links"))
    }

    /// The other device of a wire.
    pub(crate) fn at_other_end(self) -> Self {
        DeviceId(self.0 ^ 1)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A conversation, by the order in which they are built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) struct ConversationId(pub(crate) u32);

/// Which timer of an application expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimerId(pub(crate) u16);

impl TimerId {
    /// The application starts.
    pub(crate) const START: TimerId = TimerId(0);
    /// Its own timer, or that it is to close.
    pub(crate) const OWN: TimerId = TimerId(1);
}
