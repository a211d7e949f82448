//! Datagrams of a transport that is not part of the backend: whoever drives the run sends and receives them.
//!
//! Both ends send and receive by a UDP socket each. The simulator gives them to the caller of the crate `net`, which has the
//! endpoints or loads them from the library of the user; tables count what goes from `from` to `to`.

use serde::Deserialize;

use crate::Kind;
use crate::calls::Nothing;
use crate::check::Checked;
use crate::connection::{Carrier, ParametersOfControl};

/// A pair of datagram sockets for endpoints outside.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointTraffic {
    /// The name in tables.
    pub name: String,
    /// Host of the first endpoint.
    pub from: u16,
    /// Host of the second endpoint.
    pub to: u16,
    /// From then on it may send.
    pub start_ns: u64,
    /// The argument of `SO_SNDBUF` of both sockets.
    #[serde(default)]
    pub sndbuf: Option<u64>,
    /// Code point of its packets; 0 unless given.
    #[serde(default)]
    pub dscp: u8,
    /// The file of the user that both endpoints are in; none if the caller has them.
    #[serde(default)]
    pub library: Option<String>,
    /// What it is told.
    #[serde(default)]
    pub options: ParametersOfControl,
}

impl Kind for EndpointTraffic {
    type Client = Nothing;
    type Server = Nothing;

    fn check(&self) -> Checked {
        Ok(())
    }

    fn carrier(&self) -> Carrier<'_> {
        Carrier::Endpoints { sndbuf: self.sndbuf }
    }

    fn client(&self) -> Nothing {
        Nothing
    }

    fn server(&self) -> Nothing {
        Nothing
    }
}
