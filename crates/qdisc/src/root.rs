//! The root discipline of a device. Most devices have the kernel's default, which is called without a table of functions.

use std::ops::{Deref, DerefMut};

use rand_core::Rng;
use tailback_packet::Packet;
use tailback_units::SimTime;

use crate::pfifo_fast::{self, PfifoFast};
use crate::{Attachment, Bypassed, Effects, Enqueued, Qdisc};

/// A root discipline.
pub enum Root {
    /// The kernel's default.
    Default(Box<PfifoFast>),
    /// A discipline that is not the kernel's default.
    Other(Box<dyn Qdisc>),
}

impl Root {
    /// `built` for the device of `attachment`, to which nothing was given yet.
    pub fn new(built: Box<dyn Qdisc>, attachment: &Attachment) -> Self {
        match built.kind() == pfifo_fast::ROW.name && !built.has_size_table() {
            true => Root::Default(Box::new(PfifoFast::on(attachment))),
            false => Root::Other(built),
        }
    }

    /// As [`Qdisc::enqueue`].
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        packet: Box<Packet>,
        now: SimTime,
        effects: &mut Effects,
        draws: &mut dyn Rng,
    ) -> Enqueued {
        match self {
            Root::Default(root) => root.put(packet, now, effects),
            Root::Other(root) => root.enqueue(packet, &mut effects.context(now, draws)),
        }
    }

    /// As [`Qdisc::enqueue`] for a copy that a discipline has made.
    pub fn enqueue_copy(
        &mut self,
        copy: Box<Packet>,
        now: SimTime,
        effects: &mut Effects,
        draws: &mut dyn Rng,
    ) -> Enqueued {
        match self {
            Root::Default(root) => root.put(copy, now, effects),
            Root::Other(root) => root.enqueue(copy, &mut effects.context(now, draws).of_copy()),
        }
    }

    /// As [`Qdisc::count_bypassed`].
    pub fn count_bypassed(&mut self, bypassed: Bypassed) {
        match self {
            Root::Default(root) => root.count_bypassed(bypassed),
            Root::Other(root) => root.count_bypassed(bypassed),
        }
    }

    /// Packets are queued.
    pub fn has_backlog(&self) -> bool {
        match self {
            Root::Default(root) => !root.is_empty(),
            Root::Other(root) => root.backlog().packets > 0,
        }
    }
}

impl Deref for Root {
    type Target = dyn Qdisc;

    fn deref(&self) -> &Self::Target {
        match self {
            Root::Default(root) => root.as_ref(),
            Root::Other(root) => root.as_ref(),
        }
    }
}

impl DerefMut for Root {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Root::Default(root) => root.as_mut(),
            Root::Other(root) => root.as_mut(),
        }
    }
}
