//! The counters of this kernel, by the names that `nstat` has for them.

use std::collections::BTreeMap;
use std::{fs, io};

/// Files of two lines for each group: names, and below them values.
const FILES: [&str; 2] = ["/proc/net/snmp", "/proc/net/netstat"];

/// All of them.
pub fn read() -> io::Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    for file in FILES {
        found.extend(counters(&fs::read_to_string(file)?));
    }
    Ok(found)
}

fn counters(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let groups = lines.chunks(2).filter_map(|pair| {
        let [names, values] = pair else { return None };
        let (group, names) = names.split_once(':')?;
        let (_, values) = values.split_once(':')?;
        Some((group, names, values))
    });
    let of = |(group, names, values): (&str, &str, &str)| {
        let pairs = names.split_whitespace().zip(values.split_whitespace());
        let known = pairs.filter_map(|(name, value)| Some((format!("{group}{name}"), value.parse().ok()?)));
        known.collect::<Vec<_>>()
    };
    groups.flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_called_by_its_group_and_its_name() {
        let found = counters("Tcp: MaxConn RetransSegs\nTcp: -1 7\nTcpExt: SyncookiesSent\nTcpExt: 2\n");
        assert_eq!(found["TcpRetransSegs"], 7);
        assert_eq!(found["TcpExtSyncookiesSent"], 2);
        assert_eq!(found.get("TcpMaxConn"), None);
    }
}
