//! The stacks that a host can have, and their differences as text: those of TCP, and those of Wi-Fi below it.

use std::collections::BTreeMap;

use tailback_tcp::{STACKS, Stack};

/// Since Linux 5.5 what firmware holds is bounded by its air. [linux-5.5 net/mac80211/tx.c]
const AQL: (u32, u32) = (5, 5);
/// Since Linux 6.0 also by category, not by station and in all alone.
/// [linux-6.0 net/mac80211/tx.c ieee80211_txq_schedule_airtime_check]
const AQL_OF_CATEGORIES: (u32, u32) = (6, 0);
/// Since Linux 6.8 mac80211 knows the uses of code points. [linux-6.8 net/wireless/util.c cfg80211_classify8021d]
const CODE_POINTS_BY_USE: (u32, u32) = (6, 8);
/// From Linux 4.13 to 6.12.34 CoDel spares slow stations. [linux-6.6 net/mac80211/sta_info.c sta_update_codel_params]
const SLOW_STATIONS_SPARED: ((u32, u32), (u32, u32)) = ((4, 13), (6, 12));

/// What mac80211 of a host does. A host that is no Linux is as the newest one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mac80211 {
    pub(crate) bounds_air: bool,
    pub(crate) bounds_air_of_categories: bool,
    pub(crate) knows_uses_of_code_points: bool,
    pub(crate) spares_slow_stations: bool,
}

impl Mac80211 {
    /// That of the stack with this name.
    pub(crate) fn of(name: &str) -> Self {
        let stack = STACKS.iter().find(|stack| stack.name == name);
        let older = |version| stack.and_then(Stack::linux).is_some_and(|own| own < version);
        let (from, until) = SLOW_STATIONS_SPARED;
        Mac80211 {
            bounds_air: !older(AQL),
            bounds_air_of_categories: !older(AQL_OF_CATEGORIES),
            knows_uses_of_code_points: stack.is_some_and(|stack| stack.is_since(CODE_POINTS_BY_USE)),
            spares_slow_stations: !older(from) && older(until),
        }
    }
}

/// What a stack has, by the keys of `references/stacks.toml`.
pub type Values = BTreeMap<&'static str, String>;

/// The stacks by name, the one that is modelled first: what TCP has, and what radios do below it.
pub fn stacks() -> Vec<(&'static str, Values)> {
    let row = |name, mut values: Values| {
        let radio = Mac80211::of(name);
        values.insert("airtime_queue_limit", radio.bounds_air.to_string());
        values.insert("airtime_queue_limit_of_categories", radio.bounds_air_of_categories.to_string());
        let by_use = radio.knows_uses_of_code_points;
        values.insert("code_points", if by_use { "ByUse" } else { "ByClass" }.to_owned());
        let spared = radio.spares_slow_stations;
        values.insert("codel_of_slow_stations", if spared { "LongerTarget" } else { "AsOthers" }.to_owned());
        (name, values)
    };
    STACKS.iter().map(|stack| row(stack.name, stack.values().into_iter().collect())).collect()
}
