//! The state of a sender, in parts, each with its own file and operations. The parts do not know the sender; the steps
//! in the files above work on them.

pub(crate) mod buffer;
pub(crate) mod clocks;
pub(crate) mod gate;
pub(crate) mod options;
pub(crate) mod path;
pub(crate) mod peer;
pub(crate) mod prr;
pub(crate) mod rack;
pub(crate) mod rate;
pub(crate) mod recovery;
pub(crate) mod small_queue;
pub(crate) mod stream;
pub(crate) mod timer;
pub(crate) mod usage;
