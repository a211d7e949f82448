//! What a sender remembers, each part with its own file and its own operations. Nothing here knows the sender: the steps
//! in the files beside work on these parts.

pub(crate) mod buffer;
pub(crate) mod clocks;
pub(crate) mod gate;
pub(crate) mod path;
pub(crate) mod peer;
pub(crate) mod rack;
pub(crate) mod rate;
pub(crate) mod recovery;
pub(crate) mod small_queue;
pub(crate) mod stream;
pub(crate) mod timer;
pub(crate) mod usage;
