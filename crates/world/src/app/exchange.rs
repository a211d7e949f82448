//! What applications have in common that exchange messages over TCP: sending the rest, and counting what was read and sent.

use tailback_packet::SocketId;
use tailback_record::{ExchangesRow, FlowsRow};
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

/// Segments with data that each end of a conversation has sent, and of these retransmitted, at its last row: those of the
/// client, then of the server.
pub(super) type SegmentsSent = [[u64; 2]; 2];

/// Records what both ends have sent on all connections of a conversation, each if it has sent anything since its last row.
/// Connections that live shorter than an interval so have their row at its end.
pub(super) fn record_sent(
    connections: impl Iterator<Item = [SocketId; 2]> + Clone,
    before: &mut SegmentsSent,
    calls: &mut Syscalls,
) {
    for (place, end) in ["client", "server"].into_iter().enumerate() {
        let mut sent = [0, 0];
        for sockets in connections.clone() {
            let [segments, again] = calls.segments_sent(sockets[place]);
            sent = [sent[0] + segments, sent[1] + again];
        }
        if std::mem::replace(&mut before[place], sent) != sent {
            let (t, flow) = (calls.now(), calls.name());
            let row = ExchangesRow { t, flow, end, data_segs_out: sent[0], total_retrans: sent[1] };
            calls.record().exchanges.get_or_insert_default().push(row);
        }
    }
}
