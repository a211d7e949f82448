//! What a socket is configured with: addresses, sysctls, socket options.

use tailback_cc::Control;
use tailback_packet::{HostId, SocketId};
use tailback_units::Span;

use crate::stack::{LINUX_6_12, Stack};

/// How much of a socket's data may sit below TCP (in the qdisc, the driver and the NIC).
/// [linux-6.12 tcp_output.c tcp_small_queue_check]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SmallQueueLimit {
    /// `max(2 · truesize, pacing_rate >> shift)`: 2^(10 − shift) ms of the pacing rate. 10 is the kernel's default.
    Shift(u32),
    /// The check with shift 0 and without the byte cap: one second of the pacing rate.
    Off,
    /// As `Off`, capped at so many bytes of truesize (`net.ipv4.tcp_limit_output_bytes`).
    Bytes(u64),
    /// So many skbs.
    Packets(u32),
}

/// The sysctls and constants of a host's TCP.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The generation of the stack.
    pub stack: Stack,
    /// Bytes of an IP packet at most.
    pub mtu: u32,
    /// Length of a jiffy: 1/HZ.
    pub jiffy: Span,
    /// `net.ipv4.tcp_pacing_ss_ratio`, percent.
    pub pacing_ss_ratio: u32,
    /// `net.ipv4.tcp_pacing_ca_ratio`, percent.
    pub pacing_ca_ratio: u32,
    /// `net.ipv4.tcp_limit_output_bytes`; applies to [`SmallQueueLimit::Shift`] only.
    pub limit_output_bytes: u64,
    /// `net.ipv4.tcp_rmem`: least, default and largest receive buffer.
    pub rmem: [u64; 3],
    /// `net.ipv4.tcp_wmem`: least, default and largest send buffer.
    pub wmem: [u64; 3],
    /// `net.ipv4.tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// Tail loss probes are sent (`net.ipv4.tcp_early_retrans` is not 0).
    pub tail_loss_probe: bool,
    /// Most segments of one skb: 1 with offloads off.
    pub gso_max_segs: u32,
}

impl Default for Settings {
    /// Linux 6.12, HZ 1000, Ethernet, offloads off.
    fn default() -> Self {
        Settings {
            stack: LINUX_6_12,
            mtu: 1500,
            jiffy: Span::from_millis(1),
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
            limit_output_bytes: 1_048_576,
            rmem: [4096, 131_072, 6_291_456],
            wmem: [4096, 16_384, 4_194_304],
            slow_start_after_idle: true,
            tail_loss_probe: true,
            gso_max_segs: 1,
        }
    }
}

/// What the options of the two SYNs agreed on. A socket that is not told supposes all of them, and a peer with its
/// own MTU. [rfc9293 §3.7.1] [rfc7323] [rfc2018]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The MSS option of the peer: payload of an IP packet without options.
    pub peer_mss: u32,
    /// Both sides sent the timestamp option.
    pub timestamps: bool,
    /// Both sides permitted SACK.
    pub sack: bool,
    /// Both sides scale their windows.
    pub window_scaling: bool,
}

/// What one socket is made from.
#[derive(Debug)]
pub struct EndpointConfig {
    /// This socket.
    pub socket: SocketId,
    /// The socket at the other end.
    pub peer: SocketId,
    /// The host at the other end.
    pub peer_host: HostId,
    /// Hash of this direction's addresses and ports.
    pub flow_hash: u32,
    /// Sysctls of the host.
    pub settings: Settings,
    /// Limit of the small queue.
    pub small_queue: SmallQueueLimit,
    /// Congestion control.
    pub control: Control,
    /// The control asks TCP to pace.
    pub wants_pacing: bool,
    /// Send-buffer factor of the control.
    pub sndbuf_factor: u32,
}
