//! What happens when foreign code crashes or never returns: one line on standard error, and the process ends.
#![expect(unsafe_code, reason = "signal handlers; each block says why it is sound")]

use std::ffi::{c_int, c_void};
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The status with which the process ends.
const STATUS: c_int = 86;
/// The head of the report.
const MARK: &str = "tailback-module-failed";
/// Interval of CPU time at which calls are looked at, in µs, and how many of them a call may last: 2 s.
const LOOK_US: i64 = 250_000;
const MOST_LOOKS: u32 = 8;
/// `si_code` of a signal for which the processor has no address. [linux-6.12 asm-generic/siginfo.h]
const SI_KERNEL: c_int = 0x80;
/// The code of a library is smaller than this.
const MOST_BYTES: usize = 64 << 20;

/// The call that is in progress.
struct Call {
    /// Its name; null outside of a call.
    name: AtomicPtr<&'static str>,
    now_ns: AtomicU64,
    count: AtomicU64,
}

static CALL: Call =
    Call { name: AtomicPtr::new(ptr::null_mut()), now_ns: AtomicU64::new(0), count: AtomicU64::new(0) };
static FILES: [OnceLock<(usize, String)>; 64] = [const { OnceLock::new() }; 64];
static SEEN: AtomicU64 = AtomicU64::new(0);
static LOOKS: AtomicU32 = AtomicU32::new(0);
static THREAD: AtomicUsize = AtomicUsize::new(0);

/// A call begins; `name` is that of the function.
#[inline]
pub fn begin(name: &'static &'static str, now_ns: u64) {
    CALL.now_ns.store(now_ns, Ordering::Relaxed);
    CALL.count.store(CALL.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    CALL.name.store(ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
}

/// The call is over.
#[inline]
pub fn end() {
    CALL.name.store(ptr::null_mut(), Ordering::Relaxed);
}

/// A file was loaded at this address.
pub(crate) fn loaded(base: usize, path: &str) {
    for place in &FILES {
        if place.set((base, path.to_owned())).is_ok() {
            return;
        }
    }
}

/// Reports `what` about the present call and ends the process.
pub(crate) fn fail(what: fmt::Arguments<'_>) -> ! {
    report(what, 0)
}

fn report(what: fmt::Arguments<'_>, place: usize) -> ! {
    let mut line = Line { bytes: [0; 2048], length: 0 };
    // SAFETY: null, or the static string that `begin` was given.
    let member = unsafe { CALL.name.load(Ordering::Relaxed).as_ref() }.copied().unwrap_or("");
    let now = CALL.now_ns.load(Ordering::Relaxed);
    let file = FILES.iter().filter_map(OnceLock::get);
    let within = file.filter(|(base, _)| (*base..*base + MOST_BYTES).contains(&place)).max();
    let (base, path) = within.map_or((place, ""), |(base, path)| (*base, path.as_str()));
    let _ = writeln!(line, "{MARK}\t{what}\t{member}\t{now}\t{path}\t{:#x}", place - base);
    // SAFETY: `write` reads `length` bytes that exist; both calls may be made in a signal handler.
    unsafe {
        libc::write(2, line.bytes.as_ptr().cast(), line.length);
        libc::_exit(STATUS)
    }
}

/// A line that needs no memory.
struct Line {
    bytes: [u8; 2048],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.length;
        let part = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
        self.length += part.len();
        Ok(())
    }
}

/// From now on a crash inside foreign code, and a call of it that does not return within 2 s of CPU time, end the process
/// with a report. To be called by the thread that runs the simulation.
pub fn watch_over() {
    // SAFETY: the handlers touch atomics and the stack alone, and the alternative stack lives for ever.
    unsafe {
        THREAD.store(libc::syscall(libc::SYS_gettid) as usize, Ordering::Relaxed);
        let stack = Box::leak(vec![0u8; 1 << 16].into_boxed_slice());
        let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        libc::sigaltstack(&stack, ptr::null_mut());
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT]
        {
            install(signal, crashed);
        }
        install(libc::SIGVTALRM, looked);
        let interval = libc::timeval { tv_sec: 0, tv_usec: LOOK_US };
        let timer = libc::itimerval { it_interval: interval, it_value: interval };
        libc::setitimer(libc::ITIMER_VIRTUAL, &timer, ptr::null_mut());
    }
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn install(signal: c_int, handler: Handler) {
    // SAFETY: an all-zero `sigaction` is valid, and the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// The instruction at which the signal came. After a jump to an address that is no code, the caller.
fn place(context: *mut c_void) -> usize {
    // SAFETY: the kernel passes a valid context, whose stack pointer is that of the interrupted code; after a call of
    // a bad address the return address lies there.
    unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let instruction = registers[libc::REG_RIP as usize] as usize;
        let stack = registers[libc::REG_RSP as usize] as usize;
        match instruction < 4096 && stack > 4096 {
            true => ptr::read_unaligned(stack as *const usize).saturating_sub(1),
            false => instruction,
        }
    }
}

/// The pointer of an access to what is no address, if one register alone can have held it.
fn wild(context: *mut c_void) -> Option<u64> {
    // SAFETY: the kernel passes a valid context.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let general = &registers[libc::REG_R8 as usize..=libc::REG_RSP as usize];
    let mut found = general.iter().map(|&value| value as u64).filter(|&value| !is_canonical(value));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Whether the upper bits of an address are all equal to the highest that is used, with four levels of tables.
fn is_canonical(address: u64) -> bool {
    let upper = address.cast_signed() >> 47;
    upper == 0 || upper == -1
}

extern "C" fn crashed(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if CALL.name.load(Ordering::Relaxed).is_null() {
        // Not that of foreign code: the default action ends the process when the instruction is repeated.
        // SAFETY: restores the default.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
        return;
    }
    let place = place(context);
    // SAFETY: the kernel passes a valid `siginfo_t`.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    match signal {
        libc::SIGABRT => report(format_args!("it called abort()"), place),
        libc::SIGFPE => report(format_args!("a division by zero"), place),
        libc::SIGILL | libc::SIGTRAP => {
            report(format_args!("BUG() or an instruction that does not exist"), place)
        }
        // The processor tells no address if it is none: its upper bits differ.
        libc::SIGSEGV if code == SI_KERNEL => match wild(context) {
            Some(pointer) => report(format_args!("an access through a wild pointer ({pointer:#x})"), place),
            None => report(format_args!("an access through a wild pointer"), place),
        },
        _ if address < 4096 => report(format_args!("an access through a null pointer ({address:#x})"), place),
        _ => report(format_args!("an access to memory that is not its own ({address:#x})"), place),
    }
}

extern "C" fn looked(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: system calls without pointers.
    let (own, thread) = unsafe { (libc::syscall(libc::SYS_gettid) as usize, THREAD.load(Ordering::Relaxed)) };
    if own != thread {
        // SAFETY: the same.
        unsafe {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal);
        }
        return;
    }
    let count = CALL.count.load(Ordering::Relaxed);
    let same = !CALL.name.load(Ordering::Relaxed).is_null() && SEEN.swap(count, Ordering::Relaxed) == count;
    let looks = if same { LOOKS.load(Ordering::Relaxed) + 1 } else { 0 };
    LOOKS.store(looks, Ordering::Relaxed);
    if looks >= MOST_LOOKS {
        let seconds = i64::from(MOST_LOOKS) * LOOK_US / 1_000_000;
        report(format_args!("it did not return within {seconds} s of CPU time"), place(context));
    }
}
