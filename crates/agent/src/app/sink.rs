//! The reader of bulk data in a guest. To wake a process there for every segment takes more of the processor than the
//! segment does, so it waits in the kernel until there is a mebibyte, and the bytes of a bin are asked of the socket when
//! the bin ends.
//!
//! The kernel takes each segment from the socket when it arrives and answers it as it does for one `recv` after another:
//! with `MSG_WAITALL`, too, it looks whether to acknowledge and to open the window before it waits again.
//! [linux-6.12 tcp.c tcp_recvmsg_locked, tcp_cleanup_rbuf]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use super::locked;
use crate::sys;
use crate::tcp_info;

/// Bytes of a `recv`.
const MOST: usize = 1 << 20;

/// What one socket has received.
#[derive(Default)]
pub struct Sink {
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    /// Bytes that were counted in bins.
    counted: u64,
    /// All bytes, when all were read.
    all: Option<u64>,
}

impl Sink {
    /// Reads until the other end closes, or the connection ends in another way.
    pub fn drain(&self, socket: &OwnedFd) {
        let mut all = 0;
        while let Ok(read @ 1..) = sys::discard_all(socket, MOST) {
            all += read as u64;
        }
        locked(&self.read).all = Some(all);
    }

    /// Bytes that have arrived since the last count.
    pub fn count(&self, socket: &OwnedFd) -> io::Result<u64> {
        let mut read = locked(&self.read);
        let arrived = match read.all {
            Some(all) => all,
            None => tcp_info::bytes_received(socket)?,
        };
        let more = arrived.saturating_sub(read.counted);
        read.counted += more;
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_arrives_is_counted_once_and_to_the_byte() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = OwnedFd::from(listener.accept().unwrap().0);
        let sink = Sink::default();
        client.write_all(&[0; 1000]).unwrap();
        let mut first = 0;
        while first < 1000 {
            first += sink.count(&socket).unwrap();
        }
        assert_eq!(first, 1000);
        client.write_all(&vec![0; 3 * MOST / 2]).unwrap();
        drop(client);
        sink.drain(&socket);
        assert_eq!(sink.count(&socket).unwrap(), 3 * MOST as u64 / 2);
        assert_eq!(sink.count(&socket).unwrap(), 0);
    }
}
