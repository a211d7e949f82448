//! System calls that the standard library does not offer. All the `unsafe` of the agent is here, in `sys` and in
//! `drill/system.rs`.
#![expect(unsafe_code, reason = "system calls; each block says why its pointers are good")]

pub mod child;
pub mod ring;

use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr;

/// `TCP_CC_INFO` of linux/tcp.h.
pub const TCP_CC_INFO: c_int = 26;
/// `SO_MEMINFO` of asm-generic/socket.h.
pub const SO_MEMINFO: c_int = 55;

/// `SIOCETHTOOL` of linux/sockios.h, `ETHTOOL_SSG`, `ETHTOOL_STSO`, `ETHTOOL_SGSO` and `ETHTOOL_SGRO` of
/// linux/ethtool.h.
const SIOCETHTOOL: u32 = 0x8946;
const ETHTOOL_SSG: u32 = 0x19;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;

const NANOSECONDS: u64 = 1_000_000_000;

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn text(value: impl AsRef<std::ffi::OsStr>) -> io::Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(value.as_ref().as_bytes()).map_err(io::Error::other)
}

/// CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME.
pub fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec to be written; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec.unsigned_abs() * NANOSECONDS + time.tv_nsec.unsigned_abs()
}

/// Sleeps until CLOCK_MONOTONIC shows `at_ns`.
pub fn sleep_until_monotonic(at_ns: u64) {
    let (seconds, rest) = (at_ns / NANOSECONDS, at_ns % NANOSECONDS);
    let time = libc::timespec { tv_sec: seconds.cast_signed(), tv_nsec: rest.cast_signed() };
    // SAFETY: `time` is read only; the remaining time is not read.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, ptr::null_mut()) }
        == libc::EINTR
    {}
}

/// Sleeps of the calling thread, and of threads it starts, end when they should and not 50 µs later.
pub fn sleep_precisely() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) }).map(drop)
}

/// `mount(2)` without flags.
pub fn mount(source: &str, target: &str, kind: &str, data: &str) -> io::Result<()> {
    let (source, target, kind, data) = (text(source)?, text(target)?, text(kind)?, text(data)?);
    // SAFETY: four C strings that outlive the call.
    let done = unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, data.as_ptr().cast::<c_void>())
    };
    checked(done).map(drop)
}

/// Makes `target` another name of `source`.
pub fn bind_mount(source: &str, target: &str) -> io::Result<()> {
    let (source, target) = (text(source)?, text(target)?);
    // SAFETY: two C strings that outlive the call; a bind mount has no type and no data.
    let done =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), ptr::null(), libc::MS_BIND, ptr::null()) };
    checked(done).map(drop)
}

/// The calling process gets a new mount namespace; it must have one thread.
pub fn new_mounts() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNS) }).map(drop)
}

/// The calling process gets a new user namespace and in it a new mount namespace; it must have one thread.
pub fn new_user_and_mounts() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) }).map(drop)
}

/// Later mounts are not visible in other mount namespaces.
pub fn keep_mounts_private() -> io::Result<()> {
    let root = text("/")?;
    // SAFETY: a C string that outlives the call; a change of propagation has no source, type or data.
    let done = unsafe {
        libc::mount(ptr::null(), root.as_ptr(), ptr::null(), libc::MS_REC | libc::MS_PRIVATE, ptr::null())
    };
    checked(done).map(drop)
}

/// Loads a module from its content. [init_module(2)]
pub fn load_module(content: &[u8], parameters: &str) -> io::Result<()> {
    let parameters = text(parameters)?;
    // SAFETY: a buffer with its length, and a C string; both outlive the call, which copies them.
    let done =
        unsafe { libc::syscall(libc::SYS_init_module, content.as_ptr(), content.len(), parameters.as_ptr()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The whole log of the kernel. [syslog(2)]
pub fn kernel_log() -> io::Result<String> {
    const SYSLOG_ACTION_READ_ALL: c_int = 3;
    const SYSLOG_ACTION_SIZE_BUFFER: c_int = 10;
    // SAFETY: this action uses no buffer.
    let size = checked(unsafe { libc::klogctl(SYSLOG_ACTION_SIZE_BUFFER, ptr::null_mut(), 0) })?;
    let mut buffer = vec![0_u8; usize::try_from(size).map_err(io::Error::other)?];
    // SAFETY: a buffer of that size.
    let read = checked(unsafe { libc::klogctl(SYSLOG_ACTION_READ_ALL, buffer.as_mut_ptr().cast(), size) })?;
    buffer.truncate(usize::try_from(read).map_err(io::Error::other)?);
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

/// Lets the kernel print all of its messages on its console.
pub fn show_all_messages() -> io::Result<()> {
    const SYSLOG_ACTION_CONSOLE_LEVEL: c_int = 8;
    const ALL: c_int = 8;
    // SAFETY: this action uses no buffer.
    checked(unsafe { libc::klogctl(SYSLOG_ACTION_CONSOLE_LEVEL, ptr::null_mut(), ALL) }).map(drop)
}

/// Effective user and group of the calling process.
pub fn user_and_group() -> (u32, u32) {
    // SAFETY: no pointers; they cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// The process that is the parent of this one.
pub fn parent() -> i32 {
    // SAFETY: no pointers; it cannot fail.
    unsafe { libc::getppid() }
}

/// The calling thread gets a new network namespace.
pub fn new_network() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// The calling thread enters a network namespace.
pub fn enter_network(namespace: &File) -> io::Result<()> {
    // SAFETY: an open descriptor.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Writes everything out and stops the machine; only process 1 of a guest may call it.
pub fn power_off() -> ! {
    // SAFETY: no pointers.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    std::process::abort()
}

/// Raises the limit of open files of this process to a million as root, else to the largest that it may have.
pub fn allow_many_files() -> io::Result<()> {
    const MANY: libc::rlim_t = 1 << 20;
    let many = libc::rlimit { rlim_cur: MANY, rlim_max: MANY };
    // SAFETY: an rlimit that is read only.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &many) } == 0 {
        return Ok(());
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: an rlimit to be written.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: an rlimit that is read only.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }).map(drop)
}

/// A socket that is closed with its owner.
pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let descriptor = checked(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: just opened, with no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets the congestion control of a socket.
pub fn set_congestion_control(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let length = libc::socklen_t::try_from(name.len()).map_err(io::Error::other)?;
    // SAFETY: `name` has the given length.
    let done = unsafe {
        let value = name.as_ptr().cast::<c_void>();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, value, length)
    };
    checked(done).map(drop)
}

/// Sets a socket option that is a number, in the kernel's own width.
pub fn set_option<T: Copy>(socket: &OwnedFd, level: c_int, name: c_int, value: T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: `value` is a plain number of the given length.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast::<c_void>(), length)
    };
    checked(done).map(drop)
}

/// As the kernel has it.
pub fn address_of(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

const ADDRESS_LENGTH: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;
const ADDRESS6_LENGTH: libc::socklen_t = size_of::<libc::sockaddr_in6>() as libc::socklen_t;

fn address6_of(address: SocketAddrV6) -> libc::sockaddr_in6 {
    libc::sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: address.port().to_be(),
        sin6_flowinfo: 0,
        sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
        sin6_scope_id: 0,
    }
}

/// The family of sockets of an address.
pub fn family_of(address: IpAddr) -> c_int {
    match address {
        IpAddr::V4(_) => libc::AF_INET,
        IpAddr::V6(_) => libc::AF_INET6,
    }
}

/// `connect(2)`.
pub fn connect(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let done = match address {
        SocketAddr::V4(address) => {
            let address = address_of(address);
            // SAFETY: a sockaddr_in of its length.
            unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), ADDRESS_LENGTH) }
        }
        SocketAddr::V6(address) => {
            let address = address6_of(address);
            // SAFETY: a sockaddr_in6 of its length.
            unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), ADDRESS6_LENGTH) }
        }
    };
    checked(done).map(drop)
}

fn bind(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let done = match address {
        SocketAddr::V4(address) => {
            let address = address_of(address);
            // SAFETY: a sockaddr_in of its length.
            unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), ADDRESS_LENGTH) }
        }
        SocketAddr::V6(address) => {
            let address = address6_of(address);
            // SAFETY: a sockaddr_in6 of its length.
            unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), ADDRESS6_LENGTH) }
        }
    };
    checked(done).map(drop)
}

/// Whether the kernel may still hold earlier connections of a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// In a kernel or namespace of one's own there are none.
    Fresh,
    /// There may be some, and they do not prevent listening.
    Reused,
}

/// Connections that may wait to be accepted; a browser opens several at once.
const WAITING: c_int = 128;

/// Listens at an address.
pub fn listen(address: SocketAddr, port: Port) -> io::Result<OwnedFd> {
    listen_with(address, port, WAITING)
}

/// Listens at an address with room for `waiting` connections, and one more, that wait to be accepted.
pub fn listen_with(address: SocketAddr, port: Port, waiting: c_int) -> io::Result<OwnedFd> {
    let listener = socket(family_of(address.ip()), libc::SOCK_STREAM, 0)?;
    if port == Port::Reused {
        set_option(&listener, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1 as c_int)?;
    }
    bind(&listener, address)?;
    // SAFETY: no pointers.
    checked(unsafe { libc::listen(listener.as_raw_fd(), waiting) })?;
    Ok(listener)
}

/// A socket for datagrams to this address; for `IPPROTO_ICMP`, the port is the identifier of echo requests.
pub fn bound(protocol: c_int, address: SocketAddrV4) -> io::Result<OwnedFd> {
    let bound = socket(libc::AF_INET, libc::SOCK_DGRAM, protocol)?;
    bind(&bound, address.into())?;
    Ok(bound)
}

/// Waits for a connection.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: the address of the peer is not read.
    let descriptor = checked(unsafe {
        libc::accept4(listener.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), libc::SOCK_CLOEXEC)
    })?;
    // SAFETY: just opened, with no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// `send(2)`, blocking; without a signal when the connection is gone.
pub fn send(socket: &OwnedFd, data: &[u8]) -> io::Result<usize> {
    // SAFETY: `data` has the given length.
    let sent =
        unsafe { libc::send(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// `send(2)` without blocking: `WouldBlock` if the socket has no room.
pub fn send_at_once(socket: &OwnedFd, data: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: `data` has the given length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), data.as_ptr().cast(), data.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Waits until the kernel wakes writers of the socket: half of its send buffer is free.
pub fn wait_for_room(socket: &OwnedFd) {
    let mut wanted = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one pollfd. A wait that a signal ends early only leads to another one.
    unsafe { libc::poll(&mut wanted, 1, -1) };
}

/// Waits until one of these descriptors can be read; which of them can.
pub fn wait_for_any<const N: usize>(of: [Option<&OwnedFd>; N]) -> io::Result<[bool; N]> {
    // A negative descriptor is left out. [poll(2)]
    let mut wanted = of.map(|each| libc::pollfd {
        fd: each.map_or(-1, AsRawFd::as_raw_fd),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: an array of its length.
    match checked(unsafe { libc::poll(wanted.as_mut_ptr(), N as libc::nfds_t, -1) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(wanted.map(|each| each.revents != 0)),
    }
}

/// A descriptor by which one thread wakes another. [eventfd(2)]
pub fn event() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let descriptor = checked(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: just opened, with no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Wakes the thread that waits for an [`event`].
pub fn signal(event: &OwnedFd) {
    let one = 1_u64;
    // SAFETY: eight bytes. It fails only if the thread was woken already.
    unsafe { libc::write(event.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
}

/// The thread was woken by an [`event`]: it waits for the next.
pub fn take_signal(event: &OwnedFd) {
    let mut count = 0_u64;
    // SAFETY: eight bytes.
    unsafe { libc::read(event.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
}

/// A descriptor that can be read at a time. [timerfd_create(2)]
pub fn timer() -> io::Result<OwnedFd> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: no pointers.
    let descriptor = checked(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
    // SAFETY: just opened, with no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets a [`timer`] to when CLOCK_MONOTONIC shows `at_ns`; a time that is past is now.
pub fn set_timer(timer: &OwnedFd, at_ns: u64) -> io::Result<()> {
    // Zero would turn it off.
    let at_ns = at_ns.max(1);
    let (seconds, rest) = (at_ns / NANOSECONDS, at_ns % NANOSECONDS);
    let at = libc::timespec { tv_sec: seconds.cast_signed(), tv_nsec: rest.cast_signed() };
    let once = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
    // SAFETY: an itimerspec that is read only; the old one is not asked for.
    checked(unsafe {
        libc::timerfd_settime(timer.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &once, ptr::null_mut())
    })
    .map(drop)
}

/// `recv(2)`, blocking.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `buffer` has the given length.
    let read = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Reads at most `max` bytes of a TCP stream and discards them; blocks until there are some.
pub fn discard(socket: &OwnedFd, max: usize) -> io::Result<usize> {
    discard_with(socket, max, 0)
}

/// The same, but blocks until there are `max` bytes, or there will be no more.
pub fn discard_all(socket: &OwnedFd, max: usize) -> io::Result<usize> {
    discard_with(socket, max, libc::MSG_WAITALL)
}

fn discard_with(socket: &OwnedFd, max: usize, flags: c_int) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket copies nothing and does not access the buffer [tcp(7)].
    let read = unsafe { libc::recv(socket.as_raw_fd(), ptr::null_mut(), max, libc::MSG_TRUNC | flags) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// No more is sent on this socket.
pub fn shut_down_sending(socket: &OwnedFd) {
    // SAFETY: no pointers. A connection that is already gone is shut down enough.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) };
}

/// Sets the number of seconds without data after which a read fails; 0 = never.
pub fn limit_waiting(socket: &OwnedFd, seconds: i64) -> io::Result<()> {
    let limit = libc::timeval { tv_sec: seconds as libc::time_t, tv_usec: 0 };
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, limit)
}

/// `getsockopt(2)`; the part of `buffer` that was filled.
pub fn option<'a>(socket: &OwnedFd, level: c_int, name: c_int, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let mut length = libc::socklen_t::try_from(buffer.len()).map_err(io::Error::other)?;
    // SAFETY: `buffer` has the given length; the kernel shortens `length` and never lengthens it.
    let done =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, buffer.as_mut_ptr().cast(), &mut length) };
    checked(done)?;
    Ok(&buffer[..length as usize])
}

/// Number of an interface in the namespace of the calling thread.
pub fn interface_index(name: &str) -> io::Result<u32> {
    let name = text(name)?;
    // SAFETY: a C string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// The name of a device.
pub fn interface_name(index: u32) -> io::Result<String> {
    let mut room = [0_u8; libc::IF_NAMESIZE];
    // SAFETY: room for the longest name.
    let found = unsafe { libc::if_indextoname(index, room.as_mut_ptr().cast()) };
    if found.is_null() {
        return Err(io::Error::last_os_error());
    }
    Ok(String::from_utf8_lossy(&room).trim_end_matches('\0').to_owned())
}

/// The offloads of a device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// The device takes skbs in several pieces (scatter-gather).
    ScatterGather,
    /// The device segments large skbs (TSO).
    Tso,
    /// The kernel segments them for the device (GSO).
    Gso,
    /// Received segments are merged (GRO).
    Gro,
}

/// Sets a device up. [linux-6.12 net/core/dev_ioctl.c SIOCSIFFLAGS]
pub fn set_up(device: &str) -> io::Result<()> {
    let any = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut request = about(device);
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request outlives the call.
    checked(unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS as libc::Ioctl, &mut request) })
        .map(drop)
}

/// A request about a device.
fn about(device: &str) -> libc::ifreq {
    // SAFETY: a request is plain bits.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (place, byte) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

/// A device of the namespace of the calling thread gets or loses a feature.
pub fn set_feature(device: &str, feature: Feature, on: bool) -> io::Result<()> {
    let command = match feature {
        Feature::ScatterGather => ETHTOOL_SSG,
        Feature::Tso => ETHTOOL_STSO,
        Feature::Gso => ETHTOOL_SGSO,
        Feature::Gro => ETHTOOL_SGRO,
    };
    let any = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut value = [command, u32::from(on)];
    let mut request = about(device);
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: the request and the `struct ethtool_value` it points to outlive the call.
    checked(unsafe { libc::ioctl(any.as_raw_fd(), SIOCETHTOOL as libc::Ioctl, &mut request) }).map(drop)
}

/// A device of the namespace of the calling thread takes no skb of several segments: they are cut before it.
pub fn turn_off_segmentation(device: &str) -> io::Result<()> {
    set_feature(device, Feature::Tso, false)?;
    set_feature(device, Feature::Gso, false)
}

/// The calling process leads a session of its own.
pub fn new_session() {
    // SAFETY: no pointers. A process that leads one already stays as it is.
    unsafe { libc::setsid() };
}

/// Locks an open file against other processes; false if one of them has it.
pub fn lock(file: &File) -> io::Result<bool> {
    // SAFETY: an open descriptor.
    match checked(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// SIGINT for a child.
pub fn interrupt(process: i32) {
    // SAFETY: no pointers. One that has ended needs no signal.
    unsafe { libc::kill(process, libc::SIGINT) };
}

/// SIGKILL for a child.
pub fn kill(process: i32) {
    // SAFETY: no pointers. One that has ended needs no signal.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// SIGKILL for the calling process when the thread that started it ends.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// Addresses of the calling process and its heirs are the same in every run.
pub fn fix_addresses() -> io::Result<()> {
    // SAFETY: no pointers.
    let now = checked(unsafe { libc::personality(0xffff_ffff) })?;
    let wanted = now.unsigned_abs() | libc::ADDR_NO_RANDOMIZE.unsigned_abs();
    // SAFETY: no pointers.
    checked(unsafe { libc::personality(libc::c_ulong::from(wanted)) }).map(drop)
}

/// The calling process and its heirs run on one processor.
pub fn pin_to(processor: usize) -> io::Result<()> {
    // SAFETY: a set of processors is plain bits; all zero is the empty one.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: `set` is a set; CPU_SET checks its bounds.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: `set` has the given length; 0 is the calling process.
    checked(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) }).map(drop)
}

/// Makes a file and writes it out to the disk: what cannot be written must be known before the machine stops.
pub fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}
