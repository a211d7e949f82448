//! Programs of the user on hosts of the experiment: iperf3, curl, a server.
//!
//! A host with programs has a mount namespace beside its network namespace: the names of the hosts in `/etc/hosts`, the
//! devices of the host in `/sys`, `/tmp` and `/dev/shm` of its own. Each program has a folder of its own, `/tmp/NAME`,
//! in a file system that holds as much as the program may write; what it prints goes there, too, so that nobody needs to
//! read while it runs. Servers are started before time 0 and awaited until they listen; the others start when they are
//! due. One that is to stop gets SIGTERM, and SIGKILL a second later.

mod report;
mod root;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Program, Role};
use crate::network::{self, Network};
use crate::sys::child::{self, Confinement, Signal};
use crate::{kernel_module, sys};

/// The folder with a file system for each program.
const FOLDER: &str = "/run/programs";

/// How long a server may take until it listens, and a program to end after SIGTERM.
const PATIENCE_NS: u64 = 10_000_000_000;
const GRACE_NS: u64 = 1_000_000_000;
/// Between two looks whether a server listens.
const LOOK_NS: u64 = 1_000_000;

/// Where a process of a guest writes how long its system calls take, and those of the processes that it starts
/// (`kernel/patches/0010-um-time-of-system-calls.patch`).
const SYSCALL: &str = "/sys/module/syscall/parameters/time_ns";
/// What they take if the experiment does not say it.
const SYSCALL_NS: u32 = 250;

/// Sizes of the file systems of a host that no program owns.
const TMP: &str = "size=64m,mode=1777";

/// What is known of a program in progress; times are of CLOCK_MONOTONIC.
#[derive(Default)]
struct State {
    process: Option<u32>,
    started_ns: u64,
    ended: Option<(u64, ExitStatus)>,
    /// It was told to stop.
    stopped: bool,
    failure: Option<Failure>,
}

/// A program, and what is known of it.
struct Running {
    number: usize,
    program: Program,
    /// Its file system.
    folder: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

/// The namespaces of a host with programs.
pub struct Place {
    mounts: File,
    network: File,
}

impl Place {
    /// The calling thread enters them.
    pub fn enter(&self) -> Result<(), Failure> {
        child::own_folders().doing("preparing a thread for a program")?;
        child::enter_mounts(&self.mounts).doing("entering the file systems of a host")?;
        sys::enter_network(&self.network).doing("entering the network of a host")
    }
}

/// The programs of a run.
pub struct Programs {
    each: Vec<Arc<Running>>,
    places: BTreeMap<usize, Arc<Place>>,
}

impl Programs {
    /// Makes the places of all programs, and starts the servers; returns when all of them listen.
    pub fn prepare(
        programs: &[Program],
        names: &BTreeMap<usize, String>,
        network: &Network,
        folder: &Path,
    ) -> Result<Self, Failure> {
        if programs.is_empty() {
            return Ok(Self { each: Vec::new(), places: BTreeMap::new() });
        }
        child::adopt_orphans().doing("adopting the orphans of programs")?;
        if kernel_module::is_guest() {
            // Without memory a program is to end, and not the run.
            fs::write("/proc/self/oom_score_adj", "-1000")
                .doing("protecting the agent from want of memory")?;
        }
        let each = programs.iter().enumerate().map(|(number, program)| {
            let folder = file_system_of(number, program, folder)?;
            Ok(Arc::new(Running {
                number,
                program: program.clone(),
                folder,
                state: Mutex::default(),
                changed: Condvar::new(),
            }))
        });
        let each: Vec<_> = each.collect::<Result<_, Failure>>()?;
        let mut places = BTreeMap::new();
        for host in each.iter().map(|running| running.program.host).collect::<BTreeSet<_>>() {
            let theirs: Vec<_> = each.iter().filter(|other| other.program.host == host).cloned().collect();
            let hosts = names.get(&host).map_or("", String::as_str);
            places.insert(host, Arc::new(network.within(host, || place_of(host, hosts, &theirs))??));
        }
        let found = Self { each, places };
        for running in found.each.iter().filter(|running| running.program.role == Role::Server) {
            found.start_server(running)?;
        }
        Ok(found)
    }

    fn start_server(&self, running: &Arc<Running>) -> Result<(), Failure> {
        let place = Arc::clone(&self.places[&running.program.host]);
        let name = &running.program.name;
        let before = listening(&place).doing(format!("looking where {name} listens"))?;
        run_in_thread(Arc::clone(running), Arc::clone(&place), None)?;
        let (begun_ns, mut waited_ns) = (sys::monotonic_ns(), 0);
        while waited_ns < PATIENCE_NS {
            // Often at first, since most listen at once.
            waited_ns = LOOK_NS.max(waited_ns + waited_ns / 4);
            sys::sleep_until_monotonic(begun_ns + waited_ns);
            let mut state = locked(&running.state);
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if let Some((_, status)) = state.ended {
                return Err(running.ended_badly(status, "before it listened"));
            }
            drop(state);
            if listening(&place).doing(format!("looking where {name} listens"))? > before {
                return Ok(());
            }
        }
        let seconds = PATIENCE_NS / 1_000_000_000;
        Err(Failure::new(format!(
            "the program {name} listens on no port within {seconds} s{}",
            running.last_lines()
        )))
    }

    /// The namespaces of a host, which are made if it has no programs; for a shell there.
    pub fn place_on(&self, host: usize, names: &str, network: &Network) -> Result<Arc<Place>, Failure> {
        match self.places.get(&host) {
            Some(place) => Ok(Arc::clone(place)),
            None => Ok(Arc::new(network.within(host, || place_of(host, names, &[]))??)),
        }
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Starts the clients, which wait for their time, and what stops programs.
    pub fn start(&self, clock: Clock, duration_ns: u64) -> Result<(), Failure> {
        for running in &self.each {
            if running.program.role == Role::Client {
                let place = Arc::clone(&self.places[&running.program.host]);
                run_in_thread(
                    Arc::clone(running),
                    place,
                    Some(clock.on_monotonic(running.program.start_ns)),
                )?;
            }
            let stop_ns = running.program.stop_ns.unwrap_or(duration_ns).min(duration_ns);
            let running = Arc::clone(running);
            in_thread(move || running.stop_at(clock.on_monotonic(stop_ns)))?;
        }
        Ok(())
    }

    /// The first program that has not ended as it must.
    pub fn failure(&self) -> Option<Failure> {
        self.each.iter().find_map(|running| running.failure())
    }

    /// Waits until all have ended, at the end of the run; leaves what they have written in `folder`.
    pub fn finish(&self, clock: Clock, folder: &Path) -> Result<(), Failure> {
        for running in &self.each {
            let mut state = locked(&running.state);
            let is_late = running.program.stop_ns.is_none() && (state.ended.is_none() || state.stopped);
            while state.ended.is_none() && state.failure.is_none() {
                state = running.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            drop(state);
            if is_late {
                return Err(running.too_late());
            }
        }
        end_descendants();
        self.failure().map_or(Ok(()), Err)?;
        if self.is_empty() { Ok(()) } else { report::write(&self.each, clock, folder) }
    }

    /// The hosts of all programs, in their order.
    pub fn hosts(&self) -> Vec<(usize, Role)> {
        self.each.iter().map(|running| (running.program.host, running.program.role)).collect()
    }

    /// The programs in progress: their number, and the group of their processes.
    pub fn groups(&self) -> Vec<(usize, u32)> {
        let each = self.each.iter().enumerate();
        each.filter_map(|(number, running)| Some((number, locked(&running.state).process?))).collect()
    }
}

impl Running {
    /// Starts it and waits until it has ended.
    fn run(&self, place: &Place, at_ns: Option<u64>) -> Result<(), Failure> {
        let name = &self.program.name;
        place.enter()?;
        let mut command = self.command()?;
        if let Some(at_ns) = at_ns {
            sys::sleep_until_monotonic(at_ns);
        }
        let mut child = {
            let mut state = locked(&self.state);
            // Not after the start: the calls of the program take time before this thread goes on.
            state.started_ns = sys::monotonic_ns();
            let child =
                command.spawn().doing(format!("starting the program {name} (`{}`)", self.program.path))?;
            state.process = Some(child.id());
            child
        };
        if kernel_module::is_guest() {
            // It may be gone already.
            let _ = fs::write(format!("/proc/{}/oom_score_adj", child.id()), "0");
        }
        child::wait_for_end(child.id()).doing(format!("waiting for {name}"))?;
        self.note_end(&mut child).doing(format!("waiting for {name}"))
    }

    /// What it has started ends with it. As long as it is not waited for, nobody else can have its number.
    fn note_end(&self, child: &mut Child) -> std::io::Result<()> {
        let mut state = locked(&self.state);
        child::signal_group(child.id(), Signal::Kill);
        state.ended = Some((sys::monotonic_ns(), child.wait()?));
        state.process = None;
        self.changed.notify_all();
        Ok(())
    }

    fn command(&self) -> Result<Command, Failure> {
        let Program { name, path, argv, environment, input, .. } = &self.program;
        let file =
            |file: &str| File::create(self.printed(file)).doing(format!("making the file {file} of {name}"));
        let input = match input {
            Some(text) => {
                let path = self.folder.join("in");
                fs::write(&path, text).doing(format!("writing the input of {name}"))?;
                Stdio::from(File::open(&path).doing(format!("reading the input of {name}"))?)
            }
            None => Stdio::null(),
        };
        use std::os::unix::process::CommandExt;
        let (first, rest) = argv.split_first().ok_or_else(|| Failure::new(format!("{name} has no words")))?;
        let mut command = Command::new(path);
        command.arg0(first).args(rest).env_clear().envs(environment).current_dir(format!("/tmp/{name}"));
        command.stdin(input).stdout(file("out")?).stderr(file("err")?);
        let Program { user, memory, processes, .. } = self.program;
        let root = self.program.root.is_some().then(|| root::place_of(self.number));
        let user = users().then_some(user);
        child::confine(&mut command, Confinement { root, user, memory, processes, syscall: self.syscall()? })
            .doing(format!("confining {name}"))?;
        Ok(command)
    }

    /// How long its system calls take. A kernel that was built before there was such a time has none.
    fn syscall(&self) -> Result<Option<(File, u32)>, Failure> {
        let time_ns = self.program.syscall_ns;
        if !kernel_module::is_guest() || (time_ns.is_none() && !Path::new(SYSCALL).exists()) {
            return Ok(None);
        }
        let file = File::options().write(true).open(SYSCALL).doing(format!(
            "setting the time of a system call of {}; if there is no such file, the kernel is an old one: \
             tailback kernel build",
            self.program.name
        ))?;
        Ok(Some((file, time_ns.unwrap_or(SYSCALL_NS))))
    }

    fn stop_at(&self, at_ns: u64) {
        for (at_ns, signal) in [(at_ns, Signal::Terminate), (at_ns + GRACE_NS, Signal::Kill)] {
            sys::sleep_until_monotonic(at_ns);
            let mut state = locked(&self.state);
            if state.ended.is_some() {
                return;
            }
            if let Some(process) = state.process {
                state.stopped = true;
                child::signal_group(process, signal);
            }
        }
    }

    fn failure(&self) -> Option<Failure> {
        let mut state = locked(&self.state);
        if let Some(failure) = state.failure.take() {
            return Some(failure);
        }
        let (_, status) = state.ended.filter(|_| !state.stopped)?;
        let wanted = self.program.exit?;
        (status.code() != Some(wanted)).then(|| self.ended_badly(status, &format!("and not with {wanted}")))
    }

    fn ended_badly(&self, status: ExitStatus, more: &str) -> Failure {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with status {code}"),
            (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
        };
        let full = if self.is_full() {
            format!("; it has written all of the {} MB that it may (`output`)", self.program.output >> 20)
        } else {
            String::new()
        };
        Failure::new(format!("the program {} {how}, {more}{full}{}", self.program.name, self.last_lines()))
    }

    fn too_late(&self) -> Failure {
        let what = format!("the program {} had not ended at the end of the run", self.program.name);
        Failure::new(format!("{what}: give it a `stop`, or make `duration` longer{}", self.last_lines()))
    }

    /// What it prints, on `out` or `err`.
    fn printed(&self, stream: &str) -> PathBuf {
        self.folder.join(stream).join("text")
    }

    fn is_full(&self) -> bool {
        /// A file system is full before its last page is.
        const PAGE: u64 = 4096;
        let size = |folder: &str| {
            let written = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
            written.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum::<u64>()
        };
        ["out", "err", "work"].into_iter().any(|folder| size(folder) + PAGE > self.program.output)
    }

    /// The last lines that it has printed, for a message.
    fn last_lines(&self) -> String {
        const LINES: usize = 5;
        const LONGEST: usize = 300;
        let printed = |file: &str| {
            let content = fs::read(self.printed(file)).unwrap_or_default();
            let end = content.len().saturating_sub(LINES * LONGEST);
            String::from_utf8_lossy(&content[end..]).trim().to_owned()
        };
        let text = Some(printed("err")).filter(|text| !text.is_empty()).unwrap_or_else(|| printed("out"));
        let lines: Vec<_> = text.lines().map(|line| line.chars().take(LONGEST).collect::<String>()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n  | ");
        if last.is_empty() {
            "; it has printed nothing".into()
        } else {
            format!("; it has printed\n  | {last}")
        }
    }
}

/// A thread that runs a program; its error is that of the program.
fn run_in_thread(running: Arc<Running>, place: Arc<Place>, at_ns: Option<u64>) -> Result<(), Failure> {
    in_thread(move || {
        if let Err(failure) = running.run(&place, at_ns) {
            locked(&running.state).failure = Some(failure);
            running.changed.notify_all();
        }
    })
}

fn in_thread(work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    thread::Builder::new().spawn(work).map(drop).doing("starting a thread")
}

/// The file system of a program, with its folder and the files for it.
fn file_system_of(number: usize, program: &Program, run: &Path) -> Result<PathBuf, Failure> {
    let name = &program.name;
    let folder = PathBuf::from(format!("{FOLDER}/{number}"));
    let work = folder.join("work");
    // One of its own for each: where the disk is full, the message that says so has room.
    for part in ["out", "err", "work"] {
        let place = folder.join(part);
        fs::create_dir_all(&place).doing(format!("making a folder for {name}"))?;
        let size = format!("size={},mode=755", program.output);
        sys::mount("none", &place.to_string_lossy(), "tmpfs", &size)
            .doing(format!("making a file system for {name}"))?;
    }
    let [user, group] = program.user.map(Some);
    let own = |path: &Path| if users() { chown(path, user, group) } else { Ok(()) };
    own(&work).doing(format!("giving {name} its folder"))?;
    for (from, to) in &program.files {
        let to = work.join(to);
        fs::copy(run.join(from), &to).doing(format!("copying {} for {name}", to.display()))?;
        own(&to).doing(format!("giving {name} its files"))?;
        fs::set_permissions(&to, Permissions::from_mode(0o755)).doing(format!("giving {name} its files"))?;
    }
    Ok(folder)
}

/// The namespaces of a host, made by a thread of the host.
fn place_of(host: usize, names: &str, programs: &[Arc<Running>]) -> Result<Place, Failure> {
    let hosts = format!("/run/hosts.{host}");
    fs::write(&hosts, names).doing("writing the names of the hosts")?;
    if kernel_module::is_guest() {
        network::switch_ipv6("lo", true).doing("giving a host the address ::1")?;
    }
    let network = File::open("/proc/thread-self/ns/net").doing("opening the namespace of a host")?;
    let made = thread::scope(|scope| {
        scope.spawn(|| mounted(&hosts, programs)).join().map_err(|_| Failure::new("a thread has panicked"))?
    });
    Ok(Place { mounts: made?, network })
}

/// The mount namespace of a host.
fn mounted(hosts: &str, programs: &[Arc<Running>]) -> Result<File, Failure> {
    sys::new_mounts().doing("making a mount namespace for a host")?;
    sys::keep_mounts_private().doing("keeping mounts private")?;
    if !kernel_module::is_guest() {
        // The root of a guest is read only already. `/run` is the agent's, with the folders of the programs.
        child::make_writable("/", false).doing("protecting the files of this machine")?;
        child::make_writable("/run", true).doing("keeping /run")?;
    }
    for running in programs {
        if let Some(folder) = &running.program.root {
            root::mount(running.number, folder)?;
        }
    }
    sys::bind_mount(hosts, "/etc/hosts").doing("mounting the names of the hosts at /etc/hosts")?;
    sys::mount("none", "/sys", "sysfs", "").doing("mounting /sys of a host")?;
    for target in ["/tmp", "/dev/shm"] {
        sys::mount("none", target, "tmpfs", TMP).doing(format!("mounting {target} of a host"))?;
    }
    // For programs that open terminals; a kernel may have none.
    let _ = sys::mount("none", "/dev/pts", "devpts", "newinstance,ptmxmode=666,mode=620");
    for running in programs {
        let folder = format!("/tmp/{}", running.program.name);
        fs::create_dir(&folder).doing(format!("making {folder}"))?;
        let work = running.folder.join("work");
        sys::bind_mount(&work.to_string_lossy(), &folder).doing(format!("mounting {folder}"))?;
        if running.program.root.is_some() {
            root::fill(running.number, &running.program.name, &work.to_string_lossy())?;
        }
    }
    File::open("/proc/thread-self/ns/mnt").doing("opening the mount namespace of a host")
}

/// How many sockets of a host listen, or wait for datagrams.
fn listening(place: &Place) -> std::io::Result<usize> {
    const LISTEN: &str = "0A";
    const UNCONNECTED: &str = "07";
    thread::scope(|scope| {
        let found = scope.spawn(|| {
            sys::enter_network(&place.network)?;
            let mut count = 0;
            for (file, state) in
                [("tcp", LISTEN), ("tcp6", LISTEN), ("udp", UNCONNECTED), ("udp6", UNCONNECTED)]
            {
                // Without IPv6 there are no such files.
                let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
                count +=
                    text.lines().skip(1).filter(|line| line.split_whitespace().nth(3) == Some(state)).count();
            }
            Ok(count)
        });
        found.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread has panicked")))
    })
}

/// Whether there are other users: not in a user namespace with one.
fn users() -> bool {
    const ALL: u64 = 1 << 16;
    // A kernel without user namespaces has no such file.
    let Ok(map) = fs::read_to_string("/proc/self/uid_map") else { return sys::user_and_group().0 == 0 };
    let counts = map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    sys::user_and_group().0 == 0 && counts.sum::<u64>() >= ALL
}

/// Ends what programs have left: children of children that lead groups of their own.
pub fn end_descendants() {
    const ROUNDS: usize = 1000;
    let me = std::process::id();
    for _ in 0..ROUNDS {
        child::take_ended();
        let left = children_of(me);
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(|process| child::signal_one(process, Signal::Kill));
        sys::sleep_until_monotonic(sys::monotonic_ns() + LOOK_NS);
    }
}

/// The processes with this parent, by `/proc`.
fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|&process| of_stat(process, 1) == Some(parent)).collect()
}

/// A number of `/proc/PROCESS/stat` by its place behind the state. [proc(5)]
pub fn of_stat(process: u32, place: usize) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(place)?.parse().ok()
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_this_process_is_in_proc() {
        let parent = sys::parent().unsigned_abs();
        assert_eq!(of_stat(std::process::id(), 1), Some(parent));
        assert!(children_of(parent).contains(&std::process::id()));
        assert_eq!(of_stat(u32::MAX, 1), None);
    }
}
