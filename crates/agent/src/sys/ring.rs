//! A packet socket whose packets the kernel copies into a ring of frames in shared memory. [packet(7), linux-6.12
//! Documentation/networking/packet_mmap.rst, TPACKET_V2]
//!
//! A socket without a ring would hold a clone of each packet until it is read. A receiving TCP merges no segment that
//! somebody else holds, so that the capture would change what it records.
#![expect(unsafe_code, reason = "memory shared with the kernel; each block says why its pointers are good")]

use std::ffi::c_int;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{checked, set_option, socket};

/// Bytes of a frame: the kernel's header and address, and what is kept of a packet.
const FRAME: usize = 256;
/// Consecutive memory that the kernel allocates at once.
const BLOCK: usize = 1 << 16;
const BLOCKS: usize = 64;
const FRAMES: usize = BLOCKS * BLOCK / FRAME;

/// Whose a frame is, and the kind of a packet that the device sends. [linux-6.12 include/uapi/linux/if_packet.h]
const OF_KERNEL: u32 = 0;
const OF_USER: u32 = 1;
const OUTGOING: u8 = 4;
/// The instruction of a filter that returns a constant: how many bytes to keep. [linux-6.12 include/uapi/linux/filter.h]
const RETURN: u16 = 6;

/// A packet that passed a device.
pub struct Frame<'a> {
    /// CLOCK_REALTIME.
    pub stamp_ns: u64,
    /// Number of the device.
    pub device: u32,
    /// Whether the device sent it.
    pub outgoing: bool,
    /// Bytes of the packet, with the Ethernet header.
    pub length: u32,
    /// The first bytes of the packet.
    pub head: &'a [u8],
}

/// The packets of all devices of a namespace, in the order in which they pass.
pub struct Ring {
    socket: OwnedFd,
    memory: *mut u8,
    next: usize,
}

// SAFETY: the memory belongs to the ring alone; the kernel hands over each frame by its status.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring in the namespace of the calling thread; `kept`: bytes of each packet.
    pub fn open(kept: u32) -> io::Result<Self> {
        // Without a protocol it receives nothing until it is bound.
        let socket = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        keep(&socket, kept)?;
        set_option(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            libc::tpacket_versions::TPACKET_V2 as c_int,
        )?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: FRAMES as u32,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of the ring, of the length that was just requested.
        let memory = unsafe {
            libc::mmap(ptr::null_mut(), BLOCKS * BLOCK, protection, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ring = Self { socket, memory: memory.cast(), next: 0 };
        // A child that starts a program would have the ring, too, and user-mode Linux miscounts what holds its pages.
        // SAFETY: the mapping that was just made.
        checked(unsafe { libc::madvise(memory, BLOCKS * BLOCK, libc::MADV_DONTFORK) })?;
        ring.listen()?;
        Ok(ring)
    }

    /// All protocols of all devices.
    fn listen(&self) -> io::Result<()> {
        // SAFETY: an address is plain bits; all zero is all devices.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::sa_family_t;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: a sockaddr_ll of its length.
        checked(unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
    }

    /// Waits for a packet, at most this long.
    pub fn wait(&self, at_most_ns: u64) {
        let mut wanted = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let limit = libc::timespec {
            tv_sec: (at_most_ns / super::NANOSECONDS).cast_signed(),
            tv_nsec: (at_most_ns % super::NANOSECONDS).cast_signed(),
        };
        // SAFETY: one pollfd and a time that is read only. A wait that a signal ends early only leads to another one.
        unsafe { libc::ppoll(&mut wanted, 1, &limit, ptr::null()) };
    }

    /// Calls `each` with the packets that are in the ring.
    pub fn take(&mut self, mut each: impl FnMut(Frame<'_>)) {
        loop {
            // SAFETY: `next` is below the number of frames, so that this is a frame within the mapping.
            let frame = unsafe { self.memory.add(self.next * FRAME) };
            // SAFETY: a frame begins with its status, aligned to the length of a frame.
            let status = unsafe { AtomicU32::from_ptr(frame.cast()) };
            if status.load(Ordering::Acquire) & OF_USER == 0 {
                return;
            }
            // SAFETY: a frame of the user, which the kernel does not touch until its status is reset.
            each(unsafe { Self::frame(frame) });
            status.store(OF_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// What is in a frame.
    ///
    /// # Safety
    ///
    /// `frame` must be a frame of a ring whose status is that of the user, as long as the result is used.
    unsafe fn frame<'a>(frame: *const u8) -> Frame<'a> {
        // SAFETY: the kernel writes a header at the start of a frame and an address behind it, both aligned to 16.
        let (header, address) = unsafe {
            let behind = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
            (&*frame.cast::<libc::tpacket2_hdr>(), &*frame.add(behind).cast::<libc::sockaddr_ll>())
        };
        // SAFETY: the kernel writes this many bytes there, all within the frame.
        let head = unsafe {
            std::slice::from_raw_parts(frame.add(usize::from(header.tp_mac)), header.tp_snaplen as usize)
        };
        Frame {
            stamp_ns: u64::from(header.tp_sec) * super::NANOSECONDS + u64::from(header.tp_nsec),
            device: address.sll_ifindex.unsigned_abs(),
            outgoing: address.sll_pkttype == OUTGOING,
            length: header.tp_len,
            head,
        }
    }

    /// Packets for which the ring had no room since the last call.
    pub fn lost(&self) -> io::Result<u32> {
        // Packets, and packets dropped; u32 each.
        let mut buffer = [0; 8];
        super::option(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut buffer)?;
        Ok(u32::from_ne_bytes([buffer[4], buffer[5], buffer[6], buffer[7]]))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made with the ring; nobody has a frame of it any more.
        unsafe { libc::munmap(self.memory.cast(), BLOCKS * BLOCK) };
    }
}

/// A filter that accepts every packet, and of each the first `kept` bytes.
fn keep(socket: &OwnedFd, kept: u32) -> io::Result<()> {
    let mut all = [libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: kept }];
    let program = libc::sock_fprog { len: 1, filter: all.as_mut_ptr() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
}
