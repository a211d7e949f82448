//! A congestion control module of the Linux kernel as a control of the simulator.
//!
//! ```text
//! tcp_mine.c ─┐
//!             ├─ gcc, headers of a kernel ─→ tcp_mine.so ─ dlopen ─→ ModuleFile ─ control() ─→ Control
//! kernel/module/glue.c ─┘                       (tailback.kernel.module)
//! ```
//! The file is foreign code that runs without protection: it may crash or never return. A program that opens one has
//! to be a process of its own for that run; [`watch_over`] ends it with a report on standard error.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod abi;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod control;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod crash;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod file;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod library;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use {crash::watch_over, file::ModuleFile, library::Library};

#[cfg(any(test, not(all(target_os = "linux", target_arch = "x86_64"))))]
mod elsewhere;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{ModuleFile, watch_over};

use tailback_cc::EcnNeed;

/// What the sender needs to know of a control before a connection exists.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// It asks for pacing by TCP.
    pub wants_pacing: bool,
    /// The ECN that it uses regardless of the sysctl.
    pub needs_ecn: EcnNeed,
    /// Send-buffer factor.
    pub sndbuf_factor: u32,
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use tailback_cc::Control;

    use super::{Facts, ModuleFile, elsewhere};

    fn is_kept_by_runs<File: Clone + Debug + Send + 'static>() {}

    macro_rules! used_as_a_module {
        ($file:ty) => {{
            is_kept_by_runs::<$file>();
            let _: fn(&str, &[(String, String)]) -> Result<$file, String> = <$file>::open;
            let _: fn(&$file) -> Facts = <$file>::facts;
            let _: fn(&$file) -> Control = <$file>::control;
            let _: fn(&$file) -> Vec<String> = <$file>::take_log;
        }};
    }

    /// No machine here compiles it otherwise.
    #[test]
    fn what_stands_for_a_module_on_other_machines_is_used_as_one() {
        used_as_a_module!(ModuleFile);
        used_as_a_module!(elsewhere::ModuleFile);
        let _: [fn(); 2] = [super::watch_over, elsewhere::watch_over];
        assert!(elsewhere::ModuleFile::open("tcp_mine.so", &[]).is_err());
    }
}
