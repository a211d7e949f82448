//! The disciplines at the end of a run as `tc -s -d -j` shows them: `qdiscs-N.json` of host N.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, While};
use crate::network::{self, Network};

const TC: &str = "/sbin/tc";

/// Runs `tc` in every namespace.
pub fn write(folder: &Path, network: &Network) -> Result<(), Failure> {
    for host in 0..network.hosts() {
        let qdiscs = network.within(host, || ask(&["-s", "-d", "-j", "qdisc", "show"]))??;
        keep(folder, &format!("qdiscs-{host}.json"), &qdiscs)?;
    }
    Ok(())
}

fn ask(words: &[&str]) -> Result<String, Failure> {
    let argv: Vec<String> = std::iter::once(TC).chain(words.iter().copied()).map(str::to_owned).collect();
    network::output_of(&argv)
}

fn keep(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    fs::write(folder.join(name), text).doing(format!("writing {name}"))
}
