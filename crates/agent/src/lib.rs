//! The agent: one static program with everything that runs on a real kernel.
//!
//! ```text
//! as process 1 of a virtual-time kernel     builds the network of job.json, runs its traffic, writes *.csv, powers off;
//!                                           or plays the packetdrill script of script.json
//! launch CPU PROGRAM ARGUMENT...            on the host: becomes PROGRAM, on one processor, without address-space
//!                                           randomisation, and is killed when its caller dies
//! host PARENT                               on the host: the job.json of the current folder in namespaces, in real time
//! probe                                     on the host: tries the commands on stdin in namespaces
//! serve SILENCE                             on a machine of a testbed: executes requests of its controller over SSH
//! guard FOLDER                              on the same machine: undoes every change when `serve` ends
//! tether AT PROGRAM ARGUMENT...             on the same machine: runs a program that ends with the connection
//! ```

#[cfg(target_os = "linux")]
mod app;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod connections;
#[cfg(target_os = "linux")]
mod drill;
#[cfg(target_os = "linux")]
mod failure;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
mod host;
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "the agent runs on Linux; elsewhere it only compiles")
)]
mod job;
#[cfg(target_os = "linux")]
mod kernel_module;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod opportunities;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod qdisc_stats;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod sample;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod tcp_info;
#[cfg(target_os = "linux")]
mod tether;
#[cfg(target_os = "linux")]
mod wireless;

/// The program.
#[cfg(target_os = "linux")]
pub fn main() -> std::process::ExitCode {
    if std::process::id() == 1 {
        guest::main();
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.split_first() {
        Some((word, rest)) if word == "launch" => launch::main(rest),
        Some((word, rest)) if word == "host" => host::main(rest),
        Some((word, [])) if word == "probe" => probe::main(),
        Some((word, rest)) if word == "serve" => serve::main(rest),
        Some((word, rest)) if word == "guard" => guard::main(rest),
        Some((word, rest)) if word == "tether" => tether::main(rest),
        _ => {
            eprintln!(
                "usage: tailback-agent launch CPU PROGRAM ARGUMENT... | host PARENT | probe | serve SILENCE | \
                 guard FOLDER | tether AT PROGRAM ARGUMENT..."
            );
            std::process::ExitCode::from(2)
        }
    }
}

/// The program.
#[cfg(not(target_os = "linux"))]
pub fn main() -> std::process::ExitCode {
    eprintln!("the agent runs on Linux only");
    std::process::ExitCode::from(2)
}
