//! The disciplines at the end of a run as `tc -s -d -j` shows them: `qdiscs-N.json` of host N; and `unknown-N.json` with
//! what those say of themselves that this `tc` does not know.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::failure::{Failure, While};
use crate::netlink::{Netlink, OwnWords};
use crate::network::{self, Network};
use crate::sys;

const TC: &str = "/sbin/tc";

/// What `tc` prints in the place of the options of a discipline that it does not know.
const UNKNOWN: &str = "[Unknown qdisc";

/// A discipline with the name of its device.
#[derive(Serialize)]
struct Named {
    dev: String,
    #[serde(flatten)]
    words: OwnWords,
}

/// Runs `tc` in every namespace.
pub fn write(folder: &Path, network: &Network) -> Result<(), Failure> {
    for host in 0..network.hosts() {
        let qdiscs = network.within(host, || ask(&["-s", "-d", "-j", "qdisc", "show"]))??;
        if qdiscs.contains(UNKNOWN) {
            let words = network.within(host, own_words)?.doing("reading the disciplines")?;
            let text = serde_json::to_string(&words).map_err(|error| Failure::new(error.to_string()))?;
            keep(folder, &format!("unknown-{host}.json"), &text)?;
        }
        keep(folder, &format!("qdiscs-{host}.json"), &qdiscs)?;
    }
    Ok(())
}

fn own_words() -> std::io::Result<Vec<Named>> {
    let found = Netlink::open()?.own_words()?;
    found.into_iter().map(|words| Ok(Named { dev: sys::interface_name(words.interface)?, words })).collect()
}

fn ask(words: &[&str]) -> Result<String, Failure> {
    let argv: Vec<String> = std::iter::once(TC).chain(words.iter().copied()).map(str::to_owned).collect();
    network::output_of(&argv)
}

fn keep(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    fs::write(folder.join(name), text).doing(format!("writing {name}"))
}
