//! Observable behaviour of the TCP state machine. Each test is one signature: a set-up, and the behaviour of Linux in
//! it.

mod control;
mod pair;
mod script;

mod accounting;
mod lossy_paths;
mod pacing;
mod path_mtu;
mod push;
mod receiver;
mod recovery;
mod saved_metrics;
mod small_queue;
mod socket_options;
mod stacks;
mod start_up;
mod timers;
mod trains;
mod versions;
