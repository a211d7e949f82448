//! The network of a job: a namespace per host and the steps that build it; on a testbed, one real host.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Failure, While};
use crate::job::Step;
use crate::kernel_module;
use crate::netlink::Netlink;
use crate::{sys, wireless};

/// The folder in which `ip -n NAME` finds namespaces.
const NAMESPACES: &str = "/run/netns";

/// The hosts of a job.
pub struct Network {
    names: Vec<String>,
    hosts: Hosts,
}

enum Hosts {
    /// All of them are on this machine, each in a namespace.
    Namespaces { each: Vec<File>, home: File },
    /// One of them is this machine; the others are elsewhere.
    Machine { number: usize },
}

impl Network {
    /// Makes a namespace for each name.
    pub fn of(names: &[String]) -> Result<Self, Failure> {
        fs::create_dir_all(NAMESPACES).doing(format!("making {NAMESPACES}"))?;
        let home = current()?;
        let namespaces = names.iter().map(|name| namespace(name)).collect::<Result<_, _>>()?;
        sys::enter_network(&home).doing("going back to the first namespace")?;
        Ok(Self { names: names.to_vec(), hosts: Hosts::Namespaces { each: namespaces, home } })
    }

    /// This machine is the host of that number, and nothing is made.
    pub fn of_machine(names: &[String], number: usize) -> Result<Self, Failure> {
        if number >= names.len() {
            return Err(Failure::new(format!("there is no host {number} among {}", names.len())));
        }
        Ok(Self { names: names.to_vec(), hosts: Hosts::Machine { number } })
    }

    /// Whether that host is here.
    pub fn has(&self, host: usize) -> bool {
        match &self.hosts {
            Hosts::Namespaces { each, .. } => host < each.len(),
            Hosts::Machine { number } => host == *number,
        }
    }

    /// Calls a function in the namespace of a host of this machine, in the calling thread.
    pub fn within<T>(&self, host: usize, act: impl FnOnce() -> T) -> Result<T, Failure> {
        let (each, home) = match &self.hosts {
            Hosts::Namespaces { each, home } => (each, home),
            Hosts::Machine { number } if *number == host => return Ok(act()),
            Hosts::Machine { .. } => {
                return Err(Failure::new(format!("{} is another machine", self.names[host])));
            }
        };
        sys::enter_network(&each[host]).doing(format!("becoming {}", self.names[host]))?;
        let done = act();
        sys::enter_network(home).doing("going back to the first namespace")?;
        Ok(done)
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.names.len()
    }

    /// Executes one step of the construction.
    pub fn take(&self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Run { host, argv } => self.run_in(*host, || run(argv))?,
            Step::Write { host, path, value } => self.run_in(*host, || {
                fs::write(path, value).doing(format!("writing {value:?} to {path} of {}", self.name(*host)))
            })?,
            Step::Segment { host, device } => self.within(*host, || {
                let doing = format!("turning off segmentation by {device} of {}", self.names[*host]);
                sys::turn_off_segmentation(device).doing(doing)
            })?,
            Step::Linearize { host, device } => self.within(*host, || {
                let doing = format!("turning off scatter-gather of {device} of {}", self.names[*host]);
                sys::set_feature(device, sys::Feature::ScatterGather, false).doing(doing)
            })?,
            Step::Configure { host, device, handle, discipline, options } => self.within(*host, || {
                let doing = format!("giving {discipline} {:x}: of {device} its options", handle >> 16);
                configure(device, *handle, discipline, options).doing(doing)
            })?,
            Step::Load { path, parameters } => kernel_module::load(path, parameters),
            Step::Associate { cell } => wireless::associate(cell, &|host, act| self.within(host, act)?),
        }
    }

    fn run_in<T>(&self, host: Option<usize>, act: impl FnOnce() -> T) -> Result<T, Failure> {
        match host {
            Some(host) => self.within(host, act),
            None => Ok(act()),
        }
    }

    fn name(&self, host: Option<usize>) -> &str {
        host.map_or("the kernel", |host| &self.names[host])
    }
}

/// Lets a device of the present namespace, or all that come later (`default`), have IPv6 or not. A kernel without IPv6
/// has nothing to switch.
pub fn switch_ipv6(device: &str, is_on: bool) -> io::Result<()> {
    let switch = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
    if Path::new(&switch).exists() { fs::write(switch, if is_on { "0" } else { "1" }) } else { Ok(()) }
}

fn configure(device: &str, handle: u32, kind: &str, options: &[u8]) -> io::Result<()> {
    Netlink::open()?.change(sys::interface_index(device)?, handle, kind, options)
}

fn current() -> Result<File, Failure> {
    File::open("/proc/thread-self/ns/net").doing("opening the namespace")
}

fn namespace(name: &str) -> Result<File, Failure> {
    sys::new_network().doing(format!("making a namespace for {name}"))?;
    if kernel_module::is_guest() {
        // Devices without IPv6 addresses would send packets to find some.
        switch_ipv6("default", false).doing(format!("turning off IPv6 of {name}"))?;
    }
    let path = format!("{NAMESPACES}/{name}");
    fs::write(&path, "").doing(format!("making {path}"))?;
    sys::bind_mount("/proc/thread-self/ns/net", &path).doing(format!("naming the namespace {name}"))?;
    current()
}

/// Runs a program, which must end with status 0.
pub fn run(argv: &[String]) -> Result<(), Failure> {
    output_of(argv).map(drop)
}

/// The standard output of a program, which must end with status 0.
pub fn output_of(argv: &[String]) -> Result<String, Failure> {
    let words = argv.join(" ");
    let (program, arguments) = argv.split_first().ok_or_else(|| Failure::new("a step without a program"))?;
    let ended = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .doing(format!("starting `{words}`"))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&ended.stderr);
    Err(Failure::new(format!("`{words}` ended with {}: {}", ended.status, message.trim())))
}
