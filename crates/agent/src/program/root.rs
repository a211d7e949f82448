//! A folder of this machine in place of the root of a program, which sees nothing else of this machine: read only, with
//! what every program needs mounted into it where the folder has a place for it.

use std::fs::{self, File};
use std::path::Path;

use crate::failure::{Failure, While};
use crate::sys::child;
use crate::{kernel_module, sys};

/// Devices that programs expect.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Where the root of a program is, in the mount namespace of its host.
pub fn place_of(number: usize) -> String {
    format!("/run/roots/{number}")
}

/// Mounts the folder. Called before the host gets a `/tmp` of its own, in which the folder may be.
pub fn mount(number: usize, folder: &str) -> Result<(), Failure> {
    let root = place_of(number);
    let doing = || format!("mounting {folder} as the root of a program");
    fs::create_dir_all(&root).doing(doing())?;
    if kernel_module::is_guest() {
        sys::mount("none", &root, "hostfs", folder).doing(doing())?;
    } else {
        sys::bind_mount(folder, &root).doing(doing())?;
    }
    child::make_writable(&root, false).doing(doing())
}

/// Mounts into it what the host has, and the folder of the program.
pub fn fill(number: usize, name: &str, work: &str) -> Result<(), Failure> {
    let root = place_of(number);
    let into = |from: &str, to: &str| {
        sys::bind_mount(from, &format!("{root}{to}"))
            .doing(format!("mounting {to} in the root of the program {name}"))
    };
    into("/tmp", "/tmp")?;
    into(work, &format!("/tmp/{name}"))?;
    let is_there = |path: &str| Path::new(&format!("{root}{path}")).exists();
    for path in ["/proc", "/sys", "/etc/hosts"].into_iter().filter(|path| is_there(path)) {
        into(path, path)?;
    }
    if !is_there("/dev") {
        return Ok(());
    }
    let dev = format!("{root}/dev");
    sys::mount("none", &dev, "tmpfs", "size=64k,mode=755").doing(format!("mounting /dev of {name}"))?;
    for device in DEVICES {
        File::create(format!("{dev}/{device}")).doing(format!("making a device for {name}"))?;
        into(&format!("/dev/{device}"), &format!("/dev/{device}"))?;
    }
    fs::create_dir(format!("{dev}/shm")).doing(format!("making /dev/shm of {name}"))?;
    into("/dev/shm", "/dev/shm")
}
