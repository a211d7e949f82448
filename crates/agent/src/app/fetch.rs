//! Responses that are fetched over TCP: the first 8 bytes of a request are the size of its response. Pages and videos use
//! it; their server needs to know nothing else about them.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::sent::Sockets;
use super::{bulk, spawn};
use crate::job::Flow;
use crate::sys;

/// Bytes of a request that say the size of the response.
pub const HEADER: usize = 8;
/// Bytes of a `recv` and, at most, of a `send`.
const MOST: usize = 1 << 20;

/// A request of `size` bytes for a response of `bytes`.
pub fn request(size: usize, bytes: u64) -> Vec<u8> {
    let mut data = vec![0; size];
    data[..HEADER].copy_from_slice(&bytes.to_be_bytes());
    data
}

/// Short messages do not wait for acknowledgements.
pub fn no_delay(socket: &OwnedFd) -> io::Result<()> {
    sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1 as libc::c_int)
}

/// The server of requests of `size` bytes: a thread for each connection, whose socket is added to `sockets` and stays open
/// for samples.
pub fn serve(connection: &Flow, size: usize, listener: &OwnedFd, sockets: &Sockets) {
    let token = Arc::new(connection.token.clone());
    while let Ok(socket) = sys::accept(listener) {
        let (token, sockets) = (token.clone(), sockets.clone());
        // A connection that breaks is reported by its client.
        let _ = spawn(move || {
            let known =
                token.as_ref().as_ref().is_none_or(|token| bulk::has_token(&socket, token.as_bytes()));
            if known && no_delay(&socket).is_ok() {
                let socket = sockets.add(socket);
                let _ = answer(size, &socket);
                sys::shut_down_sending(&socket);
            }
        });
    }
}

/// Answers the requests of one connection until it is closed.
fn answer(size: usize, socket: &OwnedFd) -> io::Result<()> {
    let data = vec![0; MOST];
    let mut message = vec![0; size];
    loop {
        let mut filled = 0;
        while filled < message.len() {
            match sys::receive(socket, &mut message[filled..])? {
                0 => return Ok(()),
                read => filled += read,
            }
        }
        let mut bytes = [0; HEADER];
        bytes.copy_from_slice(&message[..HEADER]);
        send(socket, u64::from_be_bytes(bytes), &data)?;
    }
}

/// Sends so many bytes of `data`, again and again.
pub fn send(socket: &OwnedFd, mut bytes: u64, data: &[u8]) -> io::Result<()> {
    while bytes > 0 {
        let next = usize::try_from(bytes).unwrap_or(usize::MAX).min(data.len());
        bytes -= sys::send(socket, &data[..next])? as u64;
    }
    Ok(())
}

/// Reads what is available of `bytes`, at least one byte.
pub fn read(socket: &OwnedFd, bytes: u64) -> io::Result<u64> {
    match sys::discard(socket, usize::try_from(bytes).unwrap_or(MOST).min(MOST))? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        read => Ok(read as u64),
    }
}
