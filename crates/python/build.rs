//! Files that the wheel contains beside the extension: the ready experiments, the simulator for pages of the lab, and for
//! `--backend uml` our changes to the kernel and the agent as a static program. maturin takes them from `OUT_DIR` (pyproject.toml). If a release is
//! not built for Linux, or the agent cannot be built, the wheel has no agent, and the package reports that when it
//! needs it; a clone builds its own.
//!
//! And the engine version: a digest of the sources of all crates that a run goes through and of the locked versions of
//! what they stand on. The same sources give the same bytes whoever compiled them and for whichever machine, so results
//! are known by it (docs/sweeps.md).

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For which machines a wheel carries the agent: user-mode kernels are built for no others.
const WITH_AGENT: [&str; 2] = ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"];

/// Where this names a static agent, a wheel of any profile carries that one: the tests make a wheel of what is compiled.
const BUILT: &str = "TAILBACK_AGENT";

/// The crates that a run goes through: not the agent, which other kernels run, nor the packetdrill scripts. A test
/// compares them with what this crate depends on (tests/python/architecture).
const ENGINE: [&str; 17] = [
    "air", "cc", "engine", "library", "module", "net", "packet", "pcapng", "python", "qdisc", "record",
    "table", "tcp", "traffic", "units", "wifi", "world",
];

/// What kernel modules are compiled with.
const GLUE: [&str; 2] = ["kernel/module/abi.h", "kernel/module/glue.c"];

fn main() -> io::Result<()> {
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(variable("OUT_DIR"));
    let (origin, experiments) = (out.join("origin"), out.join("experiments"));
    for part in ["kernel", "experiments", "crates/agent", "crates/script", "crates/pcapng"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    println!("cargo::rustc-env=TAILBACK_ENGINE={:032x}", engine_version(&root)?);
    for folder in [&origin, &experiments] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    copy(&root.join("kernel"), &origin.join("kernel"))?;
    copy(&root.join("experiments"), &experiments)?;
    if is_for_a_wheel(&origin) {
        add_page_simulator(&root, &out.join("lab"))?;
    }
    println!("cargo::rerun-if-env-changed={BUILT}");
    match variable(BUILT) {
        agent if !agent.is_empty() => fs::copy(agent, origin.join("tailback-agent")).map(|_| ()),
        _ if is_for_a_wheel(&origin) && has_agent("TARGET") && has_agent("HOST") => add_agent(&root, &origin),
        _ => Ok(()),
    }
}

/// Wheels are of the profile `release`; an installation in a clone is of another, and builds its agent when one is wanted.
/// The profile's name is that of the folder: `PROFILE` says `release` of all that inherit from it.
fn is_for_a_wheel(below: &Path) -> bool {
    below.components().any(|part| part.as_os_str() == "release")
}

/// What cargo tells a build script it tells by its environment; no run depends on it.
fn variable(name: &str) -> String {
    env::var_os(name).and_then(|value| value.into_string().ok()).unwrap_or_default()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn has_agent(kind: &str) -> bool {
    WITH_AGENT.contains(&variable(kind).as_str())
}

/// The module for WebAssembly that a saved page of the lab carries, if the target is installed.
fn add_page_simulator(root: &Path, to: &Path) -> io::Result<()> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let folder = PathBuf::from(variable("OUT_DIR")).join("page");
    let mut cargo = Command::new(variable("CARGO"));
    leave_zig(&mut cargo);
    let built = cargo
        .args(["build", "--quiet", "--locked", "--profile", "page", "--package", "tailback-browser"])
        .args(["--target", TARGET])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", &folder)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()?;
    fs::create_dir_all(to)?;
    if built.success() {
        fs::copy(folder.join(TARGET).join("page/tailback_browser.wasm"), to.join("simulator.wasm"))?;
    } else {
        println!("cargo::warning=pages of the lab cannot simulate by themselves: rustup target add {TARGET}");
    }
    Ok(())
}

/// What cargo-zigbuild tells to the extension's build only.
fn leave_zig(cargo: &mut Command) {
    for (name, value) in env::vars_os() {
        if value.to_string_lossy().contains("cargo-zigbuild") && name != "PATH" {
            cargo.env_remove(name);
        }
    }
}

/// In a target folder of its own, for cargo holds the lock of this one. Linked by the compiler of this machine, also
/// where zig links the extension: zig links glibc only dynamically, and a guest has no libraries.
fn add_agent(root: &Path, origin: &Path) -> io::Result<()> {
    let folder = PathBuf::from(variable("OUT_DIR")).join("agent");
    let host = variable("HOST");
    let mut cargo = Command::new(variable("CARGO"));
    leave_zig(&mut cargo);
    let built = cargo
        .args(["build", "--quiet", "--locked", "--profile", "agent", "--package", "tailback-agent"])
        .args(["--target", &host])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", &folder)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()?;
    if built.success() {
        fs::copy(folder.join(host).join("agent/tailback-agent"), origin.join("tailback-agent"))?;
    } else {
        println!(
            "cargo::warning=the agent of `--backend uml` could not be built as a static program: left out"
        );
    }
    Ok(())
}

/// FNV-1a of 128 bits over path and content of every source, in the order of their paths. It tells builds apart; it
/// guards against nobody. [draft-eastlake-fnv §2, §5]
fn engine_version(root: &Path) -> io::Result<u128> {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    let mut sources = vec![root.join("Cargo.lock")];
    sources.extend(GLUE.map(|file| root.join(file)));
    for name in ENGINE {
        let folder = root.join("crates").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        add_sources(&folder, &mut sources)?;
    }
    println!("cargo::rerun-if-changed={}", sources[0].display());
    let mut digest = OFFSET;
    for source in sources {
        let path = source.strip_prefix(root).unwrap_or(&source).to_string_lossy().replace('\\', "/");
        let content = fs::read(&source)?;
        let size = content.len().to_le_bytes();
        for byte in path.bytes().chain(size).chain(content) {
            digest = (digest ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
    Ok(digest)
}

/// The Rust files below `folder`, in the order of their names.
fn add_sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            add_sources(&entry, found)?;
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            found.push(entry);
        }
    }
    Ok(())
}
