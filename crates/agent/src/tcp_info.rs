//! What the kernel reports about a socket: `TCP_INFO`, `SO_MEMINFO` and, for BBR, `TCP_CC_INFO`.
//!
//! [linux-6.12 include/uapi/linux/tcp.h struct tcp_info, inet_diag.h struct tcp_bbr_info, sock_diag.h SK_MEMINFO_*]
//! Fields are read by their offset, which the kernel never changes; a kernel that is too old to have a field leaves the
//! cell empty.

use std::io;
use std::os::fd::OwnedFd;

use crate::sys;
use crate::table::Table;

/// Columns of the table, in order.
pub const COLUMNS: [&str; 39] = [
    "t_ns",
    "flow",
    "ca_state",
    "snd_cwnd",
    "snd_ssthresh",
    "rtt",
    "rttvar",
    "min_rtt",
    "rto",
    "pacing_rate",
    "delivery_rate",
    "bytes_acked",
    "bytes_sent",
    "bytes_retrans",
    "total_retrans",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "reordering",
    "notsent_bytes",
    "snd_wnd",
    "delivered",
    "busy_time",
    "rwnd_limited",
    "sndbuf_limited",
    "wmem_alloc",
    "wmem_queued",
    "sndbuf",
    "bbr_bw",
    "bbr_min_rtt",
    "bbr_pacing_gain",
    "bbr_cwnd_gain",
    "data_segs_out",
    "delivered_ce",
    "delivered_e1_bytes",
    "delivered_ce_bytes",
    "delivered_e0_bytes",
    "received_ce",
];

/// Columns of the table of receivers, in order.
pub const RECEIVER_COLUMNS: [&str; 10] = [
    "t_ns",
    "flow",
    "rcv_mss",
    "rcv_rtt",
    "rcv_space",
    "rcv_ssthresh",
    "rcv_wnd",
    "bytes_received",
    "data_segs_in",
    "rcv_ooopack",
];

const EXCHANGES: [&str; 5] = ["t_ns", "flow", "end", "data_segs_out", "total_retrans"];

/// Bytes of `struct tcp_bbr_info`; newer versions of BBR append to it. Those of Vegas and DCTCP have 16.
/// [linux-6.12 inet_diag.h tcp_cc_info]
const BBR_INFO: usize = 20;

/// Where `tcpi_bytes_received` is.
const RECEIVED: usize = 128;

/// `tcpi_ecn_mode` of a connection with accurate ECN. [linux-7.3 uapi tcp.h TCPI_ECN_MODE_ACCECN]
const ACCURATE_ECN: u8 = 2;

const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// States in which the sender has something to do: SYN sent, established, FIN not yet acknowledged.
const SENDING: [u8; 4] = [1, 2, 3, 4];

/// States in which nothing is sent any more: FIN acknowledged, TIME_WAIT, closed.
const ENDED: [u8; 3] = [5, 6, 7];

/// The state of a socket whose other end has sent a FIN, and that has not.
const CLOSE_WAIT: u8 = 8;

/// The answers of the kernel at one moment.
pub struct Sample {
    info: Vec<u8>,
    memory: Vec<u8>,
    bbr: Vec<u8>,
}

/// The tables of samples.
pub struct SocketTables {
    /// Sending sockets.
    pub senders: Table,
    /// Receiving sockets, if they are sampled, too.
    pub receivers: Option<Table>,
    /// The ends of requests, pages and videos.
    pub exchanges: Table,
}

impl SocketTables {
    /// Empty tables, without receivers.
    pub fn of_senders() -> Self {
        let exchanges = Table::new("exchanges", &EXCHANGES);
        Self { senders: Table::new("tcp_info", &COLUMNS), receivers: None, exchanges }
    }

    /// Samples the sockets that receive, too.
    pub fn with_receivers(self) -> Self {
        Self { receivers: Some(Table::new("tcp_info_receiver", &RECEIVER_COLUMNS)), ..self }
    }
}

/// Bytes of data that a socket has received so far, in order. The kernel counts a FIN as a byte.
/// [linux-6.12 tcp_input.c tcp_queue_rcv]
pub fn bytes_received(socket: &OwnedFd) -> io::Result<u64> {
    let mut info = [0; RECEIVED + size_of::<u64>()];
    let info = sys::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    Ok(received(info).saturating_sub(u64::from(info.first() == Some(&CLOSE_WAIT))))
}

fn received(info: &[u8]) -> u64 {
    double(info, RECEIVED).unwrap_or_default()
}

impl Sample {
    /// Reads it from the kernel.
    pub fn of(socket: &OwnedFd) -> io::Result<Self> {
        let ask = |level, name, room: usize| {
            let mut buffer = vec![0; room];
            sys::option(socket, level, name, &mut buffer).map(<[u8]>::to_vec)
        };
        Ok(Self {
            info: ask(libc::IPPROTO_TCP, libc::TCP_INFO, 512)?,
            memory: ask(libc::SOL_SOCKET, sys::SO_MEMINFO, 64)?,
            bbr: bbr_of(ask(libc::IPPROTO_TCP, sys::TCP_CC_INFO, 64)?),
        })
    }

    /// The same, as the kernel lists it of the sockets of others.
    pub fn of_parts(info: Vec<u8>, memory: Vec<u8>, control: Vec<u8>) -> Self {
        Self { info, memory, bbr: bbr_of(control) }
    }

    /// Bytes received so far, in order.
    pub fn bytes_received(&self) -> u64 {
        received(&self.info)
    }

    /// True until all data and the FIN are acknowledged.
    pub fn is_sending(&self) -> bool {
        self.info.first().is_some_and(|state| SENDING.contains(state))
    }

    /// Segments with payload sent so far.
    pub fn data_segments(&self) -> u64 {
        word(&self.info, 156).map_or(0, u64::from)
    }

    /// Segments retransmitted so far.
    pub fn retransmitted(&self) -> u64 {
        word(&self.info, 100).map_or(0, u64::from)
    }

    /// True if it has sent data and a FIN, and both are acknowledged; or the connection is gone.
    pub fn sends_no_more(&self) -> bool {
        self.data_segments() > 0 && self.info.first().is_some_and(|state| ENDED.contains(state))
    }

    /// Appends the row of this moment.
    pub fn row(&self, t_ns: u64, flow: &str, table: &mut Table) {
        let small = |offset| word(&self.info, offset);
        let large = |offset| double(&self.info, offset);
        let measured = small(68).filter(|&rtt| rtt > 0);
        let mut row = table.row();
        row.cell(t_ns).name(flow).maybe(self.ca_state()).maybe(small(80));
        row.maybe(small(76).filter(|&ssthresh| ssthresh < INFINITE_SSTHRESH));
        row.maybe(measured).maybe(measured.and(small(72)));
        row.maybe(small(148).filter(|&rtt| rtt != u32::MAX)).maybe(small(8));
        row.maybe(large(104).filter(|&rate| rate != u64::MAX)).maybe(large(160));
        row.maybe(large(120)).maybe(large(200)).maybe(large(208)).maybe(small(100));
        for offset in [24, 28, 32, 36, 88, 144, 228, 192] {
            row.maybe(small(offset));
        }
        for offset in [168, 176, 184] {
            row.maybe(large(offset));
        }
        for offset in [8, 20, 12] {
            row.maybe(word(&self.memory, offset));
        }
        row.maybe(double(&self.bbr, 0)).maybe(word(&self.bbr, 8));
        row.maybe(gain(&self.bbr, 12)).maybe(gain(&self.bbr, 16));
        row.cell(self.data_segments()).maybe(small(196));
        let accurate = self.info.get(276).is_some_and(|modes| modes & 3 == ACCURATE_ECN);
        for offset in [252, 260, 256, 248] {
            row.maybe(small(offset).filter(|_| accurate));
        }
    }

    /// Appends the row of this moment as the receiver sees it.
    pub fn receiver_row(&self, t_ns: u64, flow: &str, table: &mut Table) {
        let small = |offset| word(&self.info, offset);
        let mut row = table.row();
        row.cell(t_ns).name(flow).maybe(small(20));
        row.maybe(small(92).filter(|&rtt| rtt > 0)).maybe(small(96)).maybe(small(64)).maybe(small(232));
        row.maybe(double(&self.info, RECEIVED)).maybe(small(152)).maybe(small(224));
    }

    fn ca_state(&self) -> Option<&'static str> {
        let names = ["open", "disorder", "cwr", "recovery", "loss"];
        self.info.get(1).and_then(|&state| names.get(usize::from(state)).copied())
    }
}

/// What a control says of itself, if it is long enough for `struct tcp_bbr_info`, which only BBR's is; else nothing.
fn bbr_of(control: Vec<u8>) -> Vec<u8> {
    if control.len() >= BBR_INFO { control } else { Vec::new() }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

fn double(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(offset..offset + 8)?.try_into().ok()?))
}

/// A gain of BBR, which the kernel counts in 1/256.
fn gain(bytes: &[u8], offset: usize) -> Option<f64> {
    Some(f64::from(word(bytes, offset)?) / 256.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vegas_says_of_itself_is_not_taken_for_bbr() {
        assert!(bbr_of(vec![1; 16]).is_empty());
        assert_eq!(bbr_of(vec![1; 20]).len(), 20);
    }

    #[test]
    fn a_row_has_a_cell_for_every_column() {
        let mut table = Table::new("tcp_info", &COLUMNS);
        let sample = Sample { info: vec![0; 232], memory: vec![0; 36], bbr: vec![0; 20] };
        sample.row(0, "f", &mut table);
        let mut receivers = Table::new("receivers", &RECEIVER_COLUMNS);
        sample.receiver_row(0, "f", &mut receivers);
        let cells: Vec<_> = receivers.take().lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells, [RECEIVER_COLUMNS.len(); 2]);
        let folder = std::env::temp_dir().join(format!("tailback-agent-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        table.write(&folder).unwrap();
        let text = std::fs::read_to_string(folder.join("tcp_info.csv")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let cells: Vec<_> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells, [COLUMNS.len(), COLUMNS.len()]);
    }

    #[test]
    fn counts_of_accurate_ecn_are_there_if_the_connection_has_it() {
        let row = |modes: u8| {
            let mut info = vec![0; 280];
            for (offset, value) in [(196, 5), (248, 1), (252, 2), (256, 3), (260, 4)] {
                info[offset] = value;
            }
            info[276] = modes;
            let mut table = Table::new("tcp_info", &COLUMNS);
            Sample { info, memory: vec![0; 36], bbr: Vec::new() }.row(0, "f", &mut table);
            table.take().lines().last().unwrap().to_owned()
        };
        assert!(row(0b1110).ends_with(",5,2,4,3,1"), "{}", row(0b1110));
        assert!(row(0b1101).ends_with(",5,,,,"), "{}", row(0b1101));
    }

    #[test]
    fn fields_that_an_old_kernel_lacks_are_empty() {
        assert_eq!(word(&[0; 104], 228), None);
        assert_eq!(double(&[1; 8], 0), Some(0x0101_0101_0101_0101));
    }
}
