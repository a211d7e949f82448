//! What one driver does differently from another: data.
//!
//! | profile | waits in the host | below it | aggregates | airtime fairness |
//! |---|---|---|---|---|
//! | `ath9k` | FQ-CoDel per station | 2 aggregates, formed by the host when one is done | 32 frames, 4.096 ms, 65535 B | yes |
//! | `ath9k_htc` | a qdisc | 246 frames, then the qdisc is stopped | formed by firmware, 20 frames | no |
//! | `ath10k` | FQ-CoDel per station | 12 ms of air per station (AQL) | formed by firmware, 64 frames | no |
//! | `generic` | FQ-CoDel per station | as `ath9k` | 64 frames, 5.484 ms, 65535 B | yes |
//!
//! [linux-6.12 drivers/net/wireless/ath: ath9k/ath9k.h, ath9k/hif_usb.h, ath9k/htc.h, ath10k/core.h]
//! Deviations: firmware that forms aggregates does so when it has won the medium; how long those of `ath9k_htc` and
//! `ath10k` may be is not documented, the frame limits are those of their measurements.

use tailback_units::Span;

use crate::aggregate::Limits;
use crate::phy::LONGEST_PPDU;
use crate::station_queues::QueueLimits;

/// What holds packets between the host's queue and the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Below {
    /// The host forms aggregates, as soon as fewer than so many are queued in hardware.
    Slots(u32),
    /// Firmware takes frames and forms aggregates when it may send.
    Firmware {
        /// Frames it takes before it refuses.
        frames: u32,
        /// Air that the frames of one station may need, at its rate.
        airtime: Option<Span>,
    },
}

/// What waits in the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Above {
    /// mac80211's queues per station and access category.
    StationQueues(QueueLimits),
    /// The qdisc of the device, which is stopped when the driver takes no more.
    Qdisc,
}

/// A driver with its hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// As `ethtool -i` prints it.
    pub name: &'static str,
    /// What waits in the host.
    pub above: Above,
    /// What holds packets between that and the air.
    pub below: Below,
    /// What bounds an aggregate.
    pub limits: Limits,
    /// Unanswered transmissions of one PPDU before its frames go back to be aggregated anew.
    pub hardware_tries: u32,
    /// Transmissions of one frame before it is given up.
    pub frame_tries: u32,
    /// The host schedules stations by the air they used.
    pub airtime_fair: bool,
}

const ATH9K: Profile = Profile {
    name: "ath9k",
    above: Above::StationQueues(QueueLimits::HT),
    below: Below::Slots(2),
    limits: Limits { frames: 32, bytes: 65_535, duration: Span::from_micros(4_096), shortest_mpdu: 256 },
    hardware_tries: 10,
    frame_tries: 30,
    airtime_fair: true,
};

/// All profiles.
pub const PROFILES: &[Profile] = &[
    ATH9K,
    Profile {
        name: "ath9k_htc",
        above: Above::Qdisc,
        below: Below::Firmware { frames: 246, airtime: None },
        limits: Limits { frames: 20, bytes: 65_535, duration: Span::from_micros(4_096), shortest_mpdu: 0 },
        airtime_fair: false,
        ..ATH9K
    },
    Profile {
        name: "ath10k",
        above: Above::StationQueues(QueueLimits::VHT),
        below: Below::Firmware { frames: 1_424, airtime: Some(Span::from_millis(12)) },
        limits: Limits { frames: 64, bytes: 1_048_575, duration: LONGEST_PPDU, shortest_mpdu: 0 },
        airtime_fair: false,
        ..ATH9K
    },
    Profile {
        name: "generic",
        limits: Limits { frames: 64, bytes: 65_535, duration: LONGEST_PPDU, shortest_mpdu: 0 },
        ..ATH9K
    },
];

/// The profile called `name`.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}
