//! What one end of the connections of a conversation has sent: segments with data, and of these retransmitted.
//!
//! Its sockets stay open until the run ends, so that a connection that begins and ends between two samples is counted at
//! the second of them.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use super::locked;
use crate::failure::{Failure, While};
use crate::tcp_info::{Sample, SocketTables};

/// The sockets of one end.
#[derive(Clone)]
pub struct Sockets {
    /// `client` or `server`.
    end: &'static str,
    counted: Arc<Mutex<Counted>>,
}

#[derive(Default)]
struct Counted {
    sockets: Vec<Arc<OwnedFd>>,
    /// What sockets have sent that send no more.
    before: [u64; 2],
    /// What all had sent at the last row.
    recorded: [u64; 2],
}

impl Sockets {
    /// None yet of this end.
    pub fn of(end: &'static str) -> Self {
        Self { end, counted: Arc::default() }
    }

    /// One more.
    pub fn add(&self, socket: OwnedFd) -> Arc<OwnedFd> {
        let socket = Arc::new(socket);
        locked(&self.counted).sockets.push(socket.clone());
        socket
    }

    /// A row of this moment, if any of them has sent since the last one.
    pub fn sample(&self, t_ns: u64, flow: &str, tables: &mut SocketTables) -> Result<(), Failure> {
        let mut counted = locked(&self.counted);
        let mut sent = counted.before;
        let (mut sending, mut ended) = (Vec::new(), counted.before);
        for socket in std::mem::take(&mut counted.sockets) {
            let sample = Sample::of(&socket).doing(format!("reading TCP_INFO of {flow}"))?;
            let of_socket = [sample.data_segments(), sample.retransmitted()];
            sent = added(sent, of_socket);
            // The socket of one that sends no more closes with its last owner.
            match sample.sends_no_more() {
                true => ended = added(ended, of_socket),
                false => sending.push(socket),
            }
        }
        (counted.sockets, counted.before) = (sending, ended);
        if sent != std::mem::replace(&mut counted.recorded, sent) {
            tables.exchanges.row().cell(t_ns).name(flow).cell(self.end).cell(sent[0]).cell(sent[1]);
        }
        Ok(())
    }
}

fn added(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    [one[0] + other[0], one[1] + other[1]]
}
