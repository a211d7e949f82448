//! Observable behaviour of the TCP machine, each test one signature: a set-up and what Linux is seen to do in it.
//! Numbers are derived from the formulas in the heads of the files they test, with one-segment skbs of 1448 bytes.

mod control;
mod pair;
mod script;

mod accounting;
mod lossy_paths;
mod pacing;
mod push;
mod receiver;
mod recovery;
mod small_queue;
mod socket_options;
mod stacks;
mod start_up;
mod timers;
