//! The system calls of scripts, on descriptors that may be invalid on purpose, and those of the device.
#![expect(unsafe_code, reason = "system calls; each block says why its pointers are good")]

use std::ffi::{c_int, c_void};
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::sys::address_of;

/// `TUNSETIFF`, `TUNSETOFFLOAD` and the flags of linux/if_tun.h.
const TUNSETIFF: u32 = 0x4004_54ca;
const TUNSETOFFLOAD: u32 = 0x4004_54d0;
const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;
/// Checksums and segmentation of TCP over IPv4, with or without CWR.
const TUN_F_CSUM_TSO4_ECN: libc::c_ulong = 0x01 | 0x02 | 0x08;
/// Device number of /dev/net/tun. [linux-6.12 miscdevice.h TUN_MINOR]
const TUN_NODE: (u32, u32) = (10, 200);

fn checked(result: isize) -> io::Result<i64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i64) }
}

fn checked_int(result: c_int) -> io::Result<i64> {
    checked(result as isize)
}

/// A TUN device called `name`, whose packets are read and written with a virtio header; reading does not wait.
pub fn tun(name: &str) -> io::Result<File> {
    let node = c"/run/tun";
    // SAFETY: a C string that outlives the call.
    checked_int(unsafe {
        libc::mknod(node.as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(TUN_NODE.0, TUN_NODE.1))
    })?;
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/run/tun")?;
    // SAFETY: a request is plain bits.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (place, byte) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    // SAFETY: the request outlives the call.
    checked_int(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as libc::Ioctl, &mut request) })?;
    // SAFETY: the argument is a number.
    checked_int(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD as libc::Ioctl, TUN_F_CSUM_TSO4_ECN) })?;
    Ok(file)
}

/// A counter that one thread raises and another waits for.
pub fn event() -> io::Result<File> {
    // SAFETY: no pointers.
    let descriptor = checked_int(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
    // SAFETY: just opened, with no other owner.
    Ok(unsafe { File::from_raw_fd(descriptor as RawFd) })
}

/// A timer on CLOCK_MONOTONIC. Unlike the time limit of `poll` it has no slack.
pub fn timer() -> io::Result<File> {
    // SAFETY: no pointers.
    let descriptor = checked_int(unsafe {
        libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC)
    })?;
    // SAFETY: just opened, with no other owner.
    Ok(unsafe { File::from_raw_fd(descriptor as RawFd) })
}

/// The timer is due when CLOCK_MONOTONIC shows `at_ns`.
pub fn arm(timer: &File, at_ns: u64) -> io::Result<()> {
    let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let at = libc::timespec {
        tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
    };
    let setting = libc::itimerspec { it_interval: zero, it_value: at };
    // SAFETY: the setting is read only; the old one is not read.
    let set = unsafe {
        libc::timerfd_settime(timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &setting, std::ptr::null_mut())
    };
    checked_int(set).map(drop)
}

/// Waits until one of the files can be read; which of them can.
pub fn wait_for_any(files: &[&File]) -> io::Result<Vec<bool>> {
    let mut entries: Vec<_> = files
        .iter()
        .map(|file| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    poll(&mut entries, -1)?;
    Ok(entries.iter().map(|entry| entry.revents != 0).collect())
}

/// Whether the file can be read now.
pub fn is_readable(file: &File) -> io::Result<bool> {
    let mut entry = [libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
    Ok(poll(&mut entry, 0)? > 0)
}

/// `poll(2)`.
pub fn poll(entries: &mut [libc::pollfd], timeout_ms: c_int) -> io::Result<i64> {
    // SAFETY: `entries` have the given number.
    checked_int(unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, timeout_ms) })
}

/// `epoll_create(2)`.
pub fn epoll_create(size: c_int) -> io::Result<i64> {
    // SAFETY: no pointers.
    checked_int(unsafe { libc::epoll_create(size) })
}

/// `epoll_ctl(2)`.
pub fn epoll_control(
    poll: RawFd,
    operation: c_int,
    descriptor: RawFd,
    event: &mut libc::epoll_event,
) -> io::Result<i64> {
    // SAFETY: the event outlives the call.
    checked_int(unsafe { libc::epoll_ctl(poll, operation, descriptor, event) })
}

/// `epoll_wait(2)` for one event.
pub fn epoll_wait(poll: RawFd, event: &mut libc::epoll_event, timeout_ms: c_int) -> io::Result<i64> {
    // SAFETY: there is room for one event.
    checked_int(unsafe { libc::epoll_wait(poll, event, 1, timeout_ms) })
}

/// `socket(2)`.
pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<i64> {
    // SAFETY: no pointers.
    checked_int(unsafe { libc::socket(domain, kind, protocol) })
}

const ADDRESS_LENGTH: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// `bind(2)`.
pub fn bind(socket: RawFd, address: SocketAddrV4) -> io::Result<i64> {
    let address = address_of(address);
    // SAFETY: a sockaddr_in of its length.
    checked_int(unsafe { libc::bind(socket, (&raw const address).cast(), ADDRESS_LENGTH) })
}

/// `connect(2)`.
pub fn connect(socket: RawFd, address: SocketAddrV4) -> io::Result<i64> {
    let address = address_of(address);
    // SAFETY: a sockaddr_in of its length.
    checked_int(unsafe { libc::connect(socket, (&raw const address).cast(), ADDRESS_LENGTH) })
}

/// `listen(2)`.
pub fn listen(socket: RawFd, backlog: c_int) -> io::Result<i64> {
    // SAFETY: no pointers.
    checked_int(unsafe { libc::listen(socket, backlog) })
}

/// `accept4(2)`.
pub fn accept(socket: RawFd, flags: c_int) -> io::Result<i64> {
    // SAFETY: the address of the peer is not read.
    checked_int(unsafe { libc::accept4(socket, std::ptr::null_mut(), std::ptr::null_mut(), flags) })
}

/// `close(2)`.
pub fn close(descriptor: RawFd) -> io::Result<i64> {
    // SAFETY: no pointers; the descriptor is the script's alone.
    checked_int(unsafe { libc::close(descriptor) })
}

/// `shutdown(2)`.
pub fn shutdown(socket: RawFd, how: c_int) -> io::Result<i64> {
    // SAFETY: no pointers.
    checked_int(unsafe { libc::shutdown(socket, how) })
}

/// `fcntl(2)` with a number.
pub fn fcntl(descriptor: RawFd, command: c_int, argument: c_int) -> io::Result<i64> {
    // SAFETY: the commands that scripts may give take a number or nothing.
    checked_int(unsafe { libc::fcntl(descriptor, command, argument) })
}

/// `ioctl(2)` that writes an int; it, after the result.
pub fn ioctl(descriptor: RawFd, request: u32) -> io::Result<(i64, i32)> {
    let mut value: c_int = 0;
    // SAFETY: the requests that scripts may make write one int.
    let result = unsafe { libc::ioctl(descriptor, request as libc::Ioctl, &mut value) };
    Ok((checked_int(result)?, value))
}

/// The memory of a part of a message; `None` is a null pointer of that length.
#[derive(Debug)]
pub enum Part {
    /// Bytes.
    Bytes(Vec<u8>),
    /// A pointer to nothing.
    Null(usize),
}

impl Part {
    fn vector(&mut self) -> libc::iovec {
        match self {
            Part::Bytes(bytes) => libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() },
            Part::Null(length) => libc::iovec { iov_base: std::ptr::null_mut(), iov_len: *length },
        }
    }
}

/// `write(2)`.
pub fn write(descriptor: RawFd, part: &mut Part) -> io::Result<i64> {
    let vector = part.vector();
    // SAFETY: bytes of the given length, or a null pointer that the kernel refuses.
    checked(unsafe { libc::write(descriptor, vector.iov_base, vector.iov_len) })
}

/// `read(2)`.
pub fn read(descriptor: RawFd, part: &mut Part) -> io::Result<i64> {
    let vector = part.vector();
    // SAFETY: bytes of the given length, or a null pointer that the kernel refuses.
    checked(unsafe { libc::read(descriptor, vector.iov_base, vector.iov_len) })
}

/// `sendto(2)`, without a destination if there is no address.
pub fn send(socket: RawFd, part: &mut Part, flags: c_int) -> io::Result<i64> {
    let vector = part.vector();
    // SAFETY: bytes of the given length, or a null pointer that the kernel refuses.
    checked(unsafe { libc::send(socket, vector.iov_base, vector.iov_len, flags) })
}

/// `recv(2)`.
pub fn receive(socket: RawFd, part: &mut Part, flags: c_int) -> io::Result<i64> {
    let vector = part.vector();
    // SAFETY: bytes of the given length, or a null pointer that the kernel refuses.
    checked(unsafe { libc::recv(socket, vector.iov_base, vector.iov_len, flags) })
}

/// `writev(2)`.
pub fn write_vector(descriptor: RawFd, parts: &mut [Part]) -> io::Result<i64> {
    let vectors: Vec<_> = parts.iter_mut().map(Part::vector).collect();
    // SAFETY: vectors of the parts, of the given number.
    checked(unsafe { libc::writev(descriptor, vectors.as_ptr(), vectors.len() as c_int) })
}

/// `readv(2)`.
pub fn read_vector(descriptor: RawFd, parts: &mut [Part]) -> io::Result<i64> {
    let vectors: Vec<_> = parts.iter_mut().map(Part::vector).collect();
    // SAFETY: vectors of the parts, of the given number.
    checked(unsafe { libc::readv(descriptor, vectors.as_ptr(), vectors.len() as c_int) })
}

/// A message that was received.
#[derive(Debug)]
pub struct Received {
    /// The result.
    pub result: i64,
    /// `msg_flags`.
    pub flags: c_int,
    /// Control messages: level, type, data.
    pub control: Vec<(c_int, c_int, Vec<u8>)>,
}

fn header(vectors: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: a header is plain bits; all zero is an empty one.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = vectors.as_mut_ptr();
    header.msg_iovlen = vectors.len();
    header
}

/// `sendmsg(2)` without control messages.
pub fn send_message(socket: RawFd, parts: &mut [Part], flags: c_int) -> io::Result<i64> {
    let mut vectors: Vec<_> = parts.iter_mut().map(Part::vector).collect();
    let header = header(&mut vectors);
    // SAFETY: the header points to vectors that outlive the call.
    checked(unsafe { libc::sendmsg(socket, &header, flags) })
}

/// `recvmsg(2)`.
pub fn receive_message(socket: RawFd, parts: &mut [Part], flags: c_int) -> io::Result<Received> {
    let mut vectors: Vec<_> = parts.iter_mut().map(Part::vector).collect();
    let mut header = header(&mut vectors);
    // In words, for they are aligned as control messages must be.
    let mut control = [0u64; 64];
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control);
    // SAFETY: the header points to vectors and room that outlive the call.
    let result = checked(unsafe { libc::recvmsg(socket, &mut header, flags) })?;
    let mut found = Vec::new();
    // SAFETY: the kernel has filled the header; its messages lie within `control`.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&header);
        while let Some(one) = message.as_ref() {
            let length = one.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            let data = std::slice::from_raw_parts(libc::CMSG_DATA(message), length).to_vec();
            found.push((one.cmsg_level, one.cmsg_type, data));
            message = libc::CMSG_NXTHDR(&header, message);
        }
    }
    Ok(Received { result, flags: header.msg_flags, control: found })
}

/// `setsockopt(2)`.
pub fn set_option(socket: RawFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<i64> {
    // SAFETY: `value` has the given length.
    checked_int(unsafe {
        let pointer = value.as_ptr().cast::<c_void>();
        libc::setsockopt(socket, level, name, pointer, value.len() as libc::socklen_t)
    })
}

/// `getsockopt(2)`; returns what it has written.
pub fn option(socket: RawFd, level: c_int, name: c_int) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 512];
    let mut length = buffer.len() as libc::socklen_t;
    // SAFETY: `buffer` has the given length; the kernel shortens `length` and never lengthens it.
    checked_int(unsafe { libc::getsockopt(socket, level, name, buffer.as_mut_ptr().cast(), &mut length) })?;
    buffer.truncate(length as usize);
    Ok(buffer)
}
