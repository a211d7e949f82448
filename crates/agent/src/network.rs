//! The network of a job: a namespace per host, and the steps that build it.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::failure::{Failure, While};
use crate::job::Step;
use crate::sys;

/// Where `ip -n NAME` looks for namespaces.
const NAMESPACES: &str = "/run/netns";

/// The hosts of a job.
pub struct Network {
    names: Vec<String>,
    namespaces: Vec<File>,
    home: File,
}

impl Network {
    /// Makes a namespace for each name.
    pub fn of(names: &[String]) -> Result<Self, Failure> {
        fs::create_dir_all(NAMESPACES).doing(format!("making {NAMESPACES}"))?;
        let home = current()?;
        let namespaces = names.iter().map(|name| namespace(name)).collect::<Result<_, _>>()?;
        sys::enter_network(&home).doing("going back to the first namespace")?;
        Ok(Self { names: names.to_vec(), namespaces, home })
    }

    /// Does something as a host, in the calling thread.
    pub fn within<T>(&self, host: usize, act: impl FnOnce() -> T) -> Result<T, Failure> {
        sys::enter_network(&self.namespaces[host]).doing(format!("becoming {}", self.names[host]))?;
        let done = act();
        sys::enter_network(&self.home).doing("going back to the first namespace")?;
        Ok(done)
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.names.len()
    }

    /// Takes one step of the construction.
    pub fn take(&self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Run { host, argv } => self.somewhere(*host, || run(argv))?,
            Step::Write { host, path, value } => self.somewhere(*host, || {
                fs::write(path, value).doing(format!("writing {value:?} to {path} of {}", self.name(*host)))
            })?,
            Step::Segment { host, device } => self.within(*host, || {
                let doing = format!("turning off segmentation by {device} of {}", self.names[*host]);
                sys::turn_off_segmentation(device).doing(doing)
            })?,
        }
    }

    fn somewhere<T>(&self, host: Option<usize>, act: impl FnOnce() -> T) -> Result<T, Failure> {
        match host {
            Some(host) => self.within(host, act),
            None => Ok(act()),
        }
    }

    fn name(&self, host: Option<usize>) -> &str {
        host.map_or("the kernel", |host| &self.names[host])
    }
}

fn current() -> Result<File, Failure> {
    File::open("/proc/thread-self/ns/net").doing("opening the namespace")
}

fn namespace(name: &str) -> Result<File, Failure> {
    sys::new_network().doing(format!("making a namespace for {name}"))?;
    let path = format!("{NAMESPACES}/{name}");
    fs::write(&path, "").doing(format!("making {path}"))?;
    sys::bind_mount("/proc/thread-self/ns/net", &path).doing(format!("naming the namespace {name}"))?;
    current()
}

fn run(argv: &[String]) -> Result<(), Failure> {
    said(argv).map(drop)
}

/// What a program writes to its standard output; it must end with status 0.
pub fn said(argv: &[String]) -> Result<String, Failure> {
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
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(Failure::new(format!("`{words}` ended with {}: {}", ended.status, said.trim())))
}
