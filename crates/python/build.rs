//! What the wheel carries beside the extension, for `--backend uml`: our changes to the kernel, and the agent as a
//! static program. maturin takes them out of `OUT_DIR` (pyproject.toml). Where a release is not built for Linux, or
//! cannot be, the wheel has no agent and the package says so when it is asked for; a clone builds its own.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() -> io::Result<()> {
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let origin = PathBuf::from(variable("OUT_DIR")).join("origin");
    for part in ["kernel", "crates/agent"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    if origin.exists() {
        fs::remove_dir_all(&origin)?;
    }
    copy(&root.join("kernel"), &origin.join("kernel"))?;
    if variable("PROFILE") == "release" && variable("TARGET") == TARGET {
        add_agent(&root, &origin)?;
    }
    Ok(())
}

/// What cargo tells a build script it tells by its environment.
#[expect(clippy::disallowed_methods, reason = "no run depends on how the wheel was packed")]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
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

/// In a target folder of its own, for cargo holds the lock of this one.
fn add_agent(root: &Path, origin: &Path) -> io::Result<()> {
    let folder = PathBuf::from(variable("OUT_DIR")).join("agent");
    let built = Command::new(variable("CARGO"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--release",
            "--package",
            "tailback-agent",
            "--target",
            TARGET,
        ])
        .args(["--config", "profile.release.debug=false", "--config", "profile.release.strip=true"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", &folder)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()?;
    if built.success() {
        fs::copy(folder.join(TARGET).join("release/tailback-agent"), origin.join("tailback-agent"))?;
    } else {
        println!(
            "cargo::warning=the agent of `--backend uml` could not be built as a static program: left out"
        );
    }
    Ok(())
}
