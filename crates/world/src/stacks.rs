//! The stacks that a host can have, and their differences as text.

use std::collections::BTreeMap;

use tailback_tcp::STACKS;

/// Linux before 5.5 does not bound what firmware holds by its air. [linux-5.5 net/mac80211/tx.c]
pub(crate) const STACKS_WITHOUT_AQL: [&str; 4] = ["linux-3.10", "linux-4.14", "linux-5.0", "linux-5.4"];

/// Linux before 6.0 bounds the air that firmware holds by station and by device, but not by category.
/// [linux-6.0 net/mac80211/tx.c ieee80211_txq_schedule_airtime_check]
pub(crate) const STACKS_WITHOUT_AQL_OF_CATEGORIES: [&str; 5] =
    ["linux-3.10", "linux-4.14", "linux-5.0", "linux-5.4", "linux-5.10"];

/// Since Linux 6.8 mac80211 knows the uses of code points. [linux-6.8 net/wireless/util.c cfg80211_classify8021d]
pub(crate) const STACKS_WITH_CODE_POINTS_BY_USE: [&str; 1] = ["linux-6.12"];

/// From Linux 4.13 to 6.12.34 CoDel spares slow stations. [linux-6.6 net/mac80211/sta_info.c sta_update_codel_params]
pub(crate) const STACKS_THAT_SPARE_SLOW_STATIONS: [&str; 5] =
    ["linux-4.14", "linux-5.0", "linux-5.4", "linux-5.10", "linux-6.6"];

/// What a stack has, by the keys of `references/stacks.toml`.
pub type Values = BTreeMap<&'static str, String>;

/// The stacks by name, the one that is modelled first: what TCP has, and what radios do below it.
pub fn stacks() -> Vec<(&'static str, Values)> {
    let row = |name, mut values: Values| {
        let bounded = !STACKS_WITHOUT_AQL.contains(&name);
        values.insert("airtime_queue_limit", bounded.to_string());
        let together = !STACKS_WITHOUT_AQL_OF_CATEGORIES.contains(&name);
        values.insert("airtime_queue_limit_of_categories", together.to_string());
        let by_use = STACKS_WITH_CODE_POINTS_BY_USE.contains(&name);
        values.insert("code_points", if by_use { "ByUse" } else { "ByClass" }.to_owned());
        let spared = STACKS_THAT_SPARE_SLOW_STATIONS.contains(&name);
        values.insert("codel_of_slow_stations", if spared { "Spared" } else { "AsOthers" }.to_owned());
        (name, values)
    };
    STACKS.iter().map(|stack| row(stack.name, stack.values().into_iter().collect())).collect()
}
