//! The stacks that a host can have, and their differences as text.

use std::collections::BTreeMap;

use tailback_tcp::STACKS;

/// Linux before 5.5 does not bound what firmware holds by its air. [linux-5.5 net/mac80211/tx.c]
pub(crate) const STACKS_WITHOUT_AQL: [&str; 4] = ["linux-3.10", "linux-4.14", "linux-5.0", "linux-5.4"];

/// What a stack has, by the keys of `references/stacks.toml`.
pub type Values = BTreeMap<&'static str, String>;

/// The stacks by name, the one that is modelled first: what TCP has, and what radios do below it.
pub fn stacks() -> Vec<(&'static str, Values)> {
    let row = |name, mut values: Values| {
        let bounded = !STACKS_WITHOUT_AQL.contains(&name);
        values.insert("airtime_queue_limit", bounded.to_string());
        (name, values)
    };
    STACKS.iter().map(|stack| row(stack.name, stack.values().into_iter().collect())).collect()
}
