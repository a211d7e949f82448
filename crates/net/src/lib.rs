//! A network to test a transport in: Linux hosts, links, queue disciplines and Wi-Fi cells, with Linux's TCP as cross
//! traffic. It has no clock, no thread, no file: time is an argument, and the same seed gives the same datagrams.
//!
//! ```text
//! Plan (code) or an experiment (JSON) ── Network ── attach(name, client, server): two `Endpoint`s
//!                                           └─ run_until(t) … finish() ── Report: tables, goodput, captures
//! ```
//!
//! An [`Endpoint`] takes datagrams, gives datagrams, and says when it wants to be called next: a transport *sans I/O*. It
//! sends by a UDP socket of its host, beside the TCP flows of the same network.
//!
//! ```
//! use std::time::Duration;
//! use tailback_net::{Ecn, Endpoint, Link, Network, Outgoing, Plan, Received};
//!
//! /// Sends a datagram each millisecond.
//! struct Constant(Duration);
//!
//! impl Endpoint for Constant {
//!     fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}
//!
//!     fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
//!         if now < self.0 {
//!             return None;
//!         }
//!         self.0 += Duration::from_millis(1);
//!         Some(Outgoing::new(vec![0; 1000]))
//!     }
//!
//!     fn timeout(&mut self) -> Option<Duration> {
//!         Some(self.0)
//!     }
//! }
//!
//! /// Counts what arrives.
//! #[derive(Default)]
//! struct Sink;
//!
//! impl Endpoint for Sink {
//!     fn receive(&mut self, _now: Duration, datagram: Received<'_>) {
//!         assert_eq!(datagram.ecn, Ecn::NotEct);
//!     }
//!
//!     fn transmit(&mut self, _now: Duration) -> Option<Outgoing> {
//!         None
//!     }
//!
//!     fn timeout(&mut self) -> Option<Duration> {
//!         None
//!     }
//! }
//!
//! let plan = Plan::new(1, Duration::from_secs(10))
//!     .host("client")
//!     .host("router")
//!     .host("server")
//!     .link("client", "router", Link::new(1_000_000_000, Duration::from_millis(1)))
//!     .link("router", "server", Link::new(20_000_000, Duration::from_millis(10)).queue("fq_codel"))
//!     .tcp("cubic", "client", "server", "cubic")
//!     .endpoints("mine", "client", "server");
//! let mut network = Network::of_plan(&plan)?;
//! network.attach("mine", Constant(Duration::ZERO), Sink)?;
//! let report = network.finish()?;
//! let share = report.goodput_bps("mine", Duration::from_secs(2)..Duration::from_secs(10));
//! assert!((7.9e6..8.1e6).contains(&share));
//! # Ok::<(), tailback_net::Error>(())
//! ```
//!
//! Deviations from Linux: a datagram that is longer than a segment of [`Outgoing::segment`] is cut before the device (no
//! UDP GSO below the discipline); a UDP socket has a send buffer, but no receive buffer that could overflow.

mod endpoint;
mod error;
mod network;
mod plan;
mod report;
mod steering;

pub use endpoint::{Endpoint, Info, Outgoing, Received};
pub use error::Error;
pub use network::{Network, Seed};
pub use plan::{Link, Plan, Wifi};
pub use report::Report;
pub use steering::{Seen, SteeredRun, Step};
pub use tailback_packet::Ecn;
pub use tailback_record::TcpInfoRow;
pub use tailback_world::{Outcome, OwnControls, Proceed, Reached, Scenario, Watch};
