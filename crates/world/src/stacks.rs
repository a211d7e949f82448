//! The stacks that a host may have, and what each has where they differ, in words.

use std::collections::BTreeMap;

use tailback_tcp::STACKS;

use crate::radio::STACKS_WITHOUT_AQL;

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
