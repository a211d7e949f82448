//! Loads modules into the kernel, and reads what they print.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crate::failure::{Failure, While};
use crate::sys;

/// Lines of the kernel's log in a message.
const SHOWN: usize = 4;

/// The file with what the kernel and its modules printed.
pub const LOG: &str = "kernel.log";

/// The file with the flags by which the kernel of a guest says what has gone wrong in it.
pub const TAINTED: &str = "tainted";

/// Loads the module in a file, with parameters as for `insmod`.
pub fn load(path: &str, parameters: &str) -> Result<(), Failure> {
    let content = fs::read(path).doing(format!("reading {path}"))?;
    if is_guest() {
        // The log is a ring, which a module that prints for each ACK wraps; the console of a guest is a file.
        sys::show_all_messages().doing("showing the messages of the kernel")?;
    }
    let before = log().len();
    let given = if parameters.is_empty() { String::new() } else { format!(" ({parameters})") };
    sys::load_module(&content, parameters).doing(format!("loading {path}{given}")).map_err(|failure| {
        let log = log();
        let lines: Vec<_> = log.get(before..).unwrap_or_default().lines().map(message_text).collect();
        let last = lines[lines.len().saturating_sub(SHOWN)..].join("; ");
        if last.is_empty() { failure } else { Failure::new(format!("{failure}; the kernel says: {last}")) }
    })
}

/// Set by process 1 of a guest. In a namespace of processes the agent is number 1, too.
static GUEST: OnceLock<()> = OnceLock::new();

/// From now on [`is_guest`]: this is process 1 of a guest.
pub fn be_guest() {
    let _ = GUEST.set(());
}

/// Whether the kernel is that of a guest, which is ours alone.
pub fn is_guest() -> bool {
    GUEST.get().is_some()
}

/// Leaves in `folder` what the kernel of a guest says of itself at the end.
pub fn keep_state(folder: &Path) -> Result<(), Failure> {
    // A kernel without sysctls says nothing of itself.
    let Ok(flags) = fs::read_to_string("/proc/sys/kernel/tainted") else { return Ok(()) };
    if flags.trim() != "0" {
        fs::write(folder.join(LOG), log()).doing("writing the kernel's log")?;
    }
    fs::write(folder.join(TAINTED), flags).doing("writing the state of the kernel")
}

/// The kernel's log; empty if it may not be read.
pub fn log() -> String {
    sys::kernel_log().unwrap_or_default()
}

/// A line of the log without its level and its time: `<4>[    0.1] text`.
fn message_text(line: &str) -> &str {
    let text = line.split_once('>').map_or(line, |(_, text)| text);
    text.split_once("] ").map_or(text, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_shown_without_level_and_time() {
        assert_eq!(
            message_text("<4>[    0.100000] tb0_mine: Unknown symbol x (err -2)"),
            "tb0_mine: Unknown symbol x (err -2)"
        );
        assert_eq!(message_text("plain"), "plain");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let failure = load("/nowhere/tb0_mine.ko", "").unwrap_err();
        assert!(failure.to_string().contains("reading /nowhere/tb0_mine.ko"), "{failure}");
    }
}
