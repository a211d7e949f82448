//! A shell, or one command, on a host of the experiment.
//!
//! Without a terminal its standard input is the file `shell.in` of the folder of the run, and what it prints goes into
//! `shell.out` and `shell.err` as it comes. In a guest a terminal is the second console of the kernel, behind which is
//! who started it; on the host it is the terminal of this process. `shell.status` has the exit status.
//!
//! A guest with a terminal keeps step with whoever is there. Every 10 ms of virtual time it says in `shell.at` where it
//! is, and goes on when `shell.gate` allows it: `TIME ROWS COLUMNS`, the time in ns of the run, and the size of the
//! terminal. If time is to stand still, it waits as long as the shell itself is what reads the terminal.
//! `python/tailback/backends/linux/shell.py` is the other side.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::Shell;
use crate::kernel_module;
use crate::program::{Place, end_descendants, of_stat};
use crate::sys::child::{self, Signal};

/// The second console of a guest. [linux-6.12 Documentation/admin-guide/devices.txt, 4 char]
const CONSOLE: (&str, u32, u32) = ("/run/shell.tty", 4, 1);
/// Between two looks whether time may pass.
const STEP_NS: u64 = 10_000_000;
/// What a shell says of a command that a signal has ended.
const BY_SIGNAL: i32 = 128;

/// Its standard input, and what becomes of the others.
enum Ends {
    Terminal(File),
    Files(File),
}

/// Runs it to its end, when it is due.
pub fn run(shell: &Shell, place: &Place, clock: Clock, folder: &Path) -> Result<(), Failure> {
    clock.sleep_until(shell.at_ns);
    let ends = if shell.terminal { Ends::Terminal(terminal(folder)?) } else { Ends::Files(input(folder)?) };
    let console = match &ends {
        Ends::Terminal(file) => Some(file.try_clone().doing("sharing the terminal")?),
        Ends::Files(_) => None,
    };
    // Only the thread that starts it enters its namespaces, from which the folder of the run is out of sight.
    let status = thread::scope(|scope| {
        let (say, heard) = channel();
        let running = scope.spawn(|| within(shell, place, ends, say));
        let relays = heard.recv().map(|child| attend(shell, child, console, clock, folder));
        let status = running.join().map_err(|_| Failure::new("a thread has panicked"))??;
        end_descendants();
        for relay in relays.ok().transpose()?.into_iter().flatten() {
            relay.join().map_err(|_| Failure::new("a thread has panicked"))??;
        }
        Ok::<_, Failure>(status)
    })?;
    let code = status.code().unwrap_or_else(|| BY_SIGNAL + status.signal().unwrap_or_default());
    fs::write(folder.join("shell.status"), code.to_string()).doing("writing the status of the shell")
}

/// Starts it, says so, and waits for its end.
fn within(shell: &Shell, place: &Place, ends: Ends, say: Sender<Started>) -> Result<ExitStatus, Failure> {
    place.enter()?;
    let Some((first, rest)) = shell.argv.split_first() else { return Err(Failure::new("no command")) };
    let mut command = Command::new(&shell.path);
    command.arg0(first).args(rest).env_clear().envs(&shell.environment).current_dir("/tmp");
    match ends {
        Ends::Terminal(file) => {
            let copy = || file.try_clone().map(Stdio::from).doing("sharing the terminal");
            command.stdin(copy()?).stdout(copy()?).stderr(copy()?);
            child::with_terminal(&mut command);
        }
        Ends::Files(file) => {
            command.stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
            child::ending_with_us(&mut command);
        }
    }
    let mut child = command.spawn().doing(format!("starting `{}`", shell.path))?;
    let started = Started::of(&mut child);
    say.send(started).map_err(|_| Failure::new("nobody attends to the shell"))?;
    child::wait_for_end(child.id()).doing("waiting for the shell")?;
    child::signal_group(child.id(), Signal::Kill);
    child.wait().doing("waiting for the shell")
}

/// A shell that has been started: its number, and the pipes from it with their files.
struct Started {
    process: u32,
    pipes: Vec<(Box<dyn Read + Send>, &'static str)>,
}

impl Started {
    fn of(child: &mut Child) -> Self {
        let out = child.stdout.take().map(|pipe| (Box::new(pipe) as Box<dyn Read + Send>, "shell.out"));
        let err = child.stderr.take().map(|pipe| (Box::new(pipe) as Box<dyn Read + Send>, "shell.err"));
        Self { process: child.id(), pipes: out.into_iter().chain(err).collect() }
    }
}

type Relay = thread::JoinHandle<Result<(), Failure>>;

/// Starts what goes on beside it: relays of what it prints, and the gate of time.
fn attend(
    shell: &Shell,
    started: Started,
    console: Option<File>,
    clock: Clock,
    folder: &Path,
) -> Result<Vec<Relay>, Failure> {
    if let Some(console) = console.filter(|_| kernel_module::is_guest()) {
        let folder = folder.to_owned();
        let gate = Gate { process: started.process, still: shell.still, clock, console, folder };
        thread::Builder::new().spawn(move || gate.keep()).doing("starting a thread")?;
    }
    let relays = started.pipes.into_iter().map(|(pipe, name)| {
        let file = folder.join(name);
        fs::write(&file, "").doing(format!("making {name}"))?;
        thread::Builder::new().spawn(move || relay(pipe, &file)).doing("starting a thread")
    });
    relays.collect()
}

/// Appends to a file what comes, at once: the host sees what is written when a guest closes the file.
fn relay(mut pipe: impl Read, file: &Path) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = pipe.read(&mut buffer).doing("reading what the shell prints")?;
        if read == 0 {
            return Ok(());
        }
        let mut open =
            OpenOptions::new().append(true).open(file).doing("opening the file of what it prints")?;
        open.write_all(&buffer[..read]).doing("writing what the shell prints")?;
    }
}

fn input(folder: &Path) -> Result<File, Failure> {
    File::open(folder.join("shell.in")).doing("opening the input of the shell")
}

fn terminal(folder: &Path) -> Result<File, Failure> {
    let open = |path| OpenOptions::new().read(true).write(true).open(path).doing("opening the terminal");
    if !kernel_module::is_guest() {
        return open("/proc/self/fd/0");
    }
    let (path, major, minor) = CONSOLE;
    child::make_device(path, major, minor).doing("making the console of the shell")?;
    let console = open(path)?;
    child::set_size(&console, gate(folder).1).doing("giving the terminal its size")?;
    Ok(console)
}

/// Until when time may pass, and the size of the terminal.
fn gate(folder: &Path) -> (u64, [u16; 2]) {
    let text = fs::read_to_string(folder.join("shell.gate")).unwrap_or_default();
    read_gate(&text).unwrap_or_default()
}

/// What lets time pass.
struct Gate {
    process: u32,
    still: bool,
    clock: Clock,
    console: File,
    folder: PathBuf,
}

impl Gate {
    fn keep(&self) {
        let mut size = [0; 2];
        let mut due_ns = self.clock.now_ns();
        loop {
            let mut said = String::new();
            loop {
                let waits = self.still && self.waits_for_command();
                let says = format!("{due_ns} {}", if waits { "still" } else { "passes" });
                if says != said {
                    // The host looks again: a failure to write it now does not matter.
                    let _ = fs::write(self.folder.join("shell.at"), &says);
                    said = says;
                }
                let (allowed_ns, wanted) = gate(&self.folder);
                if wanted != size && wanted != [0; 2] && child::set_size(&self.console, wanted).is_ok() {
                    size = wanted;
                }
                if !waits && allowed_ns >= due_ns {
                    break;
                }
                child::yield_now();
            }
            due_ns += STEP_NS;
            self.clock.sleep_until(due_ns);
        }
    }

    /// Whether the shell itself reads the terminal, and no command that it has started.
    fn waits_for_command(&self) -> bool {
        /// Places behind the state: the group of a process, and that of its terminal. [proc(5)]
        const GROUP: usize = 2;
        const IN_FRONT: usize = 5;
        of_stat(self.process, GROUP) == of_stat(self.process, IN_FRONT)
    }
}

fn read_gate(text: &str) -> Option<(u64, [u16; 2])> {
    let mut words = text.split_whitespace();
    let allowed_ns = words.next()?.parse().ok()?;
    Some((allowed_ns, [words.next()?.parse().ok()?, words.next()?.parse().ok()?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_says_until_when_time_passes_and_how_large_the_terminal_is() {
        assert_eq!(read_gate("20000000 24 80"), Some((20_000_000, [24, 80])));
        assert_eq!(read_gate("20000000 24"), None);
        assert_eq!(read_gate(""), None);
    }

    #[test]
    fn what_comes_through_a_pipe_is_appended_to_its_file() {
        let file = std::env::temp_dir().join(format!("tailback-relay-{}", std::process::id()));
        fs::write(&file, "before ").unwrap();
        relay(&b"after"[..], &file).unwrap();
        let found = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(found, "before after");
    }
}
