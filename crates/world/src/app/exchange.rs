//! What applications have in common that exchange messages over TCP: sending the rest, and counting what was read.

use tailback_packet::SocketId;
use tailback_record::FlowsRow;
use tailback_units::Bytes;

use crate::syscalls::Syscalls;

/// Hands what is left of the message of each end to its socket; `writable` follows if one has no room.
pub(super) fn send_rest(sockets: [SocketId; 2], unsent: &mut [u64; 2], calls: &mut Syscalls) {
    for (socket, left) in sockets.into_iter().zip(unsent) {
        while *left > 0 {
            let sent = calls.send(socket, *left);
            *left -= sent.taken;
            if sent.blocked || sent.taken == 0 {
                break;
            }
        }
    }
}

/// Records the bytes that were read since the last sample, and begins to count anew.
pub(super) fn record_read(read: &mut Bytes, calls: &mut Syscalls) {
    let bytes = std::mem::take(read);
    if bytes > Bytes::ZERO {
        let row = FlowsRow { t: calls.now(), flow: calls.name(), bytes };
        calls.record().flows.push(row);
    }
}
