//! Programs of the user: where they run, as whom and within which limits, and how they end.
#![expect(unsafe_code, reason = "system calls; each block says why its pointers are good")]

use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::checked;

/// As whom a program runs, and within which limits.
#[derive(Debug)]
pub struct Confinement {
    /// What is mounted there becomes its root.
    pub root: Option<String>,
    /// User and group; none if the caller has the rights of no other.
    pub user: Option<[u32; 2]>,
    /// Bytes of its address space.
    pub memory: Option<u64>,
    /// Processes and threads of its user.
    pub processes: u64,
    /// Virtual time that each of its system calls takes, and where that is written.
    pub syscall: Option<(File, u32)>,
}

/// Files that a program may have open: what `systemd` gives to services. One that closes all that it may have would
/// close the million of the agent.
const FILES: [u64; 2] = [1024, 524_288];

/// The child of `command` is confined, leads a process group of its own, and ends with the thread that starts it.
pub fn confine(command: &mut Command, confinement: Confinement) -> io::Result<()> {
    let root = confinement.root.as_ref().map(super::text).transpose()?;
    let time = confinement.syscall.as_ref().map_or(String::new(), |(_, time_ns)| time_ns.to_string());
    // SAFETY: system calls only; nothing is allocated between fork and exec.
    unsafe {
        command.pre_exec(move || {
            root.as_deref().map_or(Ok(()), enter_root)?;
            confined(&confinement)?;
            // Last, so that its calls are those of the program.
            confinement.syscall.as_ref().map_or(Ok(()), |(file, _)| (&*file).write_all(time.as_bytes()))
        })
    };
    Ok(())
}

/// The calling process leaves all mounts but one, which becomes its root. Its folder stays the same by name.
fn enter_root(root: &CStr) -> io::Result<()> {
    let here = c".".as_ptr();
    let mut folder = [0; libc::PATH_MAX as usize];
    // SAFETY: room for a path; C strings that outlive the calls.
    unsafe {
        if libc::getcwd(folder.as_mut_ptr(), folder.len()).is_null() {
            return Err(io::Error::last_os_error());
        }
        checked(libc::unshare(libc::CLONE_NEWNS))?;
        checked(libc::chdir(root.as_ptr()))?;
        // The old root lies on top of the new one until it is detached. [pivot_root(2)]
        if libc::syscall(libc::SYS_pivot_root, here, here) < 0 {
            return Err(io::Error::last_os_error());
        }
        checked(libc::umount2(here, libc::MNT_DETACH))?;
        checked(libc::chdir(folder.as_ptr())).map(drop)
    }
}

fn confined(confinement: &Confinement) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::setpgid(0, 0) })?;
    limit(libc::RLIMIT_NOFILE, FILES)?;
    limit(libc::RLIMIT_CORE, [0, 0])?;
    limit(libc::RLIMIT_NPROC, [confinement.processes; 2])?;
    if let Some(memory) = confinement.memory {
        limit(libc::RLIMIT_AS, [memory; 2])?;
    }
    if let Some([user, group]) = confinement.user {
        // SAFETY: no groups, so that the list is not read.
        checked(unsafe { libc::setgroups(0, std::ptr::null()) })?;
        // SAFETY: no pointers.
        checked(unsafe { libc::setresgid(group, group, group) })?;
        // SAFETY: no pointers.
        checked(unsafe { libc::setresuid(user, user, user) })?;
    }
    // A change of the user has reset it.
    super::die_with_parent()
}

/// A limit, the soft and the hard one; no more than what the caller has.
fn limit(resource: libc::__rlimit_resource_t, [soft, hard]: [u64; 2]) -> io::Result<()> {
    // SAFETY: plain numbers.
    let mut now: libc::rlimit = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: a limit to be written.
    checked(unsafe { libc::getrlimit(resource, &mut now) })?;
    let hard = hard.min(now.rlim_max);
    let wanted = libc::rlimit { rlim_cur: soft.min(hard), rlim_max: hard };
    // SAFETY: a limit that is read only.
    checked(unsafe { libc::setrlimit(resource, &wanted) }).map(drop)
}

/// The calling thread has a root and a working folder of its own, so that it can enter a mount namespace.
pub fn own_folders() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_FS) }).map(drop)
}

/// The calling thread, which has folders of its own, enters a mount namespace.
pub fn enter_mounts(namespace: &File) -> io::Result<()> {
    // SAFETY: an open descriptor.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNS) }).map(drop)
}

/// Processes whose parents end become children of this one.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Waits until a child has ended; it keeps its number until it is waited for.
pub fn wait_for_end(process: u32) -> io::Result<()> {
    loop {
        // SAFETY: plain numbers.
        let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: an information to be written.
        let done =
            checked(unsafe { libc::waitid(libc::P_PID, process, &mut info, libc::WEXITED | libc::WNOWAIT) });
        match done {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map(drop),
        }
    }
}

/// Takes children that have ended, so that their numbers are free.
pub fn take_ended() {
    // SAFETY: the status is not asked for.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

/// The child of `command` leads a session, whose terminal is its standard input, and ends with the thread that starts it.
pub fn with_terminal(command: &mut Command) {
    // SAFETY: system calls only; nothing is allocated between fork and exec.
    unsafe {
        command.pre_exec(|| {
            super::new_session();
            checked(libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0))?;
            super::die_with_parent()
        })
    };
}

/// The child of `command` leads a process group, and ends with the thread that starts it.
pub fn ending_with_us(command: &mut Command) {
    command.process_group(0);
    // SAFETY: a system call only; nothing is allocated between fork and exec.
    unsafe { command.pre_exec(super::die_with_parent) };
}

/// Makes the file of a character device.
pub fn make_device(path: &str, major: u32, minor: u32) -> io::Result<()> {
    let path = super::text(path)?;
    // SAFETY: a C string that outlives the call.
    checked(unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o620, libc::makedev(major, minor)) })
        .map(drop)
}

/// The size of a terminal, in characters.
pub fn set_size(terminal: &impl AsRawFd, [rows, columns]: [u16; 2]) -> io::Result<()> {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: a winsize that is read only.
    checked(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &size) }).map(drop)
}

/// Whether what is mounted at a path and below can be written; in the mount namespace of the calling thread.
pub fn make_writable(path: &str, writable: bool) -> io::Result<()> {
    const READ_ONLY: u64 = 1;
    let flags = if writable { [0, READ_ONLY] } else { [READ_ONLY, 0] };
    // `struct mount_attr` of linux/mount.h: flags to set and to clear, propagation, user namespace.
    let attributes: [u64; 4] = [flags[0], flags[1], 0, 0];
    let path = super::text(path)?;
    // SAFETY: a C string and a structure of the given size, which are read only.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets others run that want to.
pub fn yield_now() {
    // SAFETY: no pointers.
    unsafe { libc::sched_yield() };
}

/// A signal.
#[derive(Clone, Copy)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

impl Signal {
    fn number(self) -> c_int {
        match self {
            Signal::Terminate => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
        }
    }
}

/// A signal for a process group.
pub fn signal_group(leader: u32, signal: Signal) {
    // SAFETY: no pointers. A group that has ended needs no signal.
    unsafe { libc::kill(-leader.cast_signed(), signal.number()) };
}

/// A signal for a process.
pub fn signal_one(process: u32, signal: Signal) {
    // SAFETY: no pointers. One that has ended needs no signal.
    unsafe { libc::kill(process.cast_signed(), signal.number()) };
}

/// A netlink socket hears of these groups, a bit each.
pub fn hear_groups(socket: &impl AsRawFd, groups: u32) -> io::Result<()> {
    // SAFETY: plain numbers.
    let mut address: libc::sockaddr_nl = unsafe { MaybeUninit::zeroed().assume_init() };
    address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
    address.nl_groups = groups;
    let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
    // SAFETY: a sockaddr_nl of its length.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

/// `recv(2)` without blocking; `None` if there is nothing.
pub fn receive_at_once(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: `buffer` has the given length.
    let read = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    match usize::try_from(read) {
        Ok(read) => Ok(Some(read)),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        },
    }
}

/// The calling process, which has one thread, waits for a child, the first process of a namespace: returns the status of
/// the child to the parent, and `None` to the child, which ends with its parent.
pub fn first_of_processes() -> io::Result<Option<i32>> {
    // SAFETY: no pointers.
    checked(unsafe { libc::unshare(libc::CLONE_NEWPID) })?;
    // SAFETY: the process has one thread, so that the child may go on as it likes.
    let child = checked(unsafe { libc::fork() })?;
    if child == 0 {
        return super::die_with_parent().map(|()| None);
    }
    let mut status = 0;
    loop {
        // SAFETY: a status to be written.
        match checked(unsafe { libc::waitpid(child, &mut status, 0) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) if libc::WIFEXITED(status) => return Ok(Some(libc::WEXITSTATUS(status))),
            Ok(_) => return Ok(Some(1)),
        }
    }
}
