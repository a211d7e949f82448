//! The drivers as data: the differences between them.
//!
//! | profile | waits in the host | below it | aggregates | airtime fairness |
//! |---|---|---|---|---|
//! | `ath9k` | FQ-CoDel per station | 2 aggregates, formed by the host when one is done | 32 frames, 4.096 ms, 65535 B | yes |
//! | `ath9k_htc` | a qdisc | 246 frames, then the qdisc is stopped | formed by firmware for 2 slots, 20 frames | no |
//! | `ath10k` | FQ-CoDel per station | AQL: 12 ms of air per station, or 5 ms while all stations have 24 ms; 1424 frames | formed by firmware for 1 slot, 64 frames | no |
//! | `ath9k_htc_txq` | FQ-CoDel per station | 246 frames, as above: `ath9k_htc` since Linux 6.2 | as above | no |
//! | `mt76` | FQ-CoDel per station | AQL as above; 2048 frames | formed by firmware for 1 slot, 64 frames (802.11ax: 256) | yes |
//! | `iwlwifi` | FQ-CoDel per station | 256 frames | formed by firmware for 1 slot, 64 frames (802.11ax: 256) | no |
//! | `generic` | FQ-CoDel per station | 1 aggregate, formed by the host when it is done | 64 frames (802.11ax: 256), 5.484 ms, 65535 B (11ac: 1 MiB, 11ax: 4 MiB) | yes |
//!
//! [linux-6.12 drivers/net/wireless: ath/ath9k/ath9k.h, ath/ath9k/hif_usb.h, ath/ath9k/htc.h, ath/ath10k/core.h,
//! mediatek/mt76/mac80211.c, mediatek/mt76/mt7915/init.c, intel/iwlwifi/mvm/sta.c]
//! Firmware forms an aggregate like a host: as soon as a hardware slot is free and a frame is queued, from the queued
//! frames. The first frame of a burst is therefore sent alone.
//! Deviations: the limits of aggregates of `ath10k`, and the number of slots that its firmware fills ahead, are not
//! documented; the frame limit is from measurements, and so is that of `ath9k_htc`. The firmware of the latter, which is
//! public, fills one slot, with 17 frames on AR9271 and 22 on AR7010, and pads MPDUs to 256 B within an aggregate: `slots 1
//! subframes 17 shortest_mpdu 256`. [open-ath9k-htc-firmware if_owl.c ath_tgt_tx_form_aggr, if_athvar.h
//! ATH_AGGR_MIN_QDEPTH, ATH_AGGR_MINPLEN] Of `mt76` (the numbers are those of mt7915) and
//! `iwlwifi` (mvm) the queues of the host are as in Linux, but what their firmware does is not documented: it is modelled
//! as that of `ath10k`, up to the block-ack window. The 256 frames of `iwlwifi` are a queue per station and access category
//! there, and all frames of the device here.
//! Received packets are handed to the host at once. The hardware of `ath9k` interrupts 500 µs after the last of them, at
//! most 2 ms after the first (`rx_quiet`, `rx_longest`; chips before AR9300: 250 and 700 µs).
//! [linux-6.12 ath9k/hw.c ath9k_hw_init_config]
//! What has left is reported at once, too. Chips of `ath9k` can wait (300 µs after the last, at most 750 µs after the
//! first), but the driver leaves that off; the firmware of `ath10k` names up to 255 packets in one report, and when it
//! reports is not documented: `tx_quiet`, `tx_longest`. [linux-6.12 ath9k/hw.c AR_TIMT_LAST, ath10k/htt.h
//! htt_data_tx_completion] They delay the credits of small queues, not the room in firmware.

use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, Span};

use crate::aggregate::Limits;
use crate::contend::CodePoints;
use crate::phy::{Format, LONGEST_PPDU};
use crate::station_queues::QueueLimits;

/// Where packets are held between the queue of the host and the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HardwareQueue {
    /// The host forms aggregates whenever fewer than this many are queued in hardware.
    Slots(u32),
    /// Firmware takes frames and forms aggregates.
    Firmware {
        /// Aggregates it has queued in hardware, the one on the air included.
        slots: u32,
        /// Maximum number of frames in it.
        frames: u32,
        /// Maximum airtime of the frames in it.
        airtime: Option<AirtimeLimits>,
    },
}

impl HardwareQueue {
    /// Aggregates in the hardware queue.
    pub const fn slots(self) -> u32 {
        match self {
            HardwareQueue::Slots(slots) | HardwareQueue::Firmware { slots, .. } => slots,
        }
    }
}

/// Airtime queue limits (AQL): maximum airtime of the frames in firmware, at the usual rate of each station.
/// [linux-6.12 net/mac80211/tx.c ieee80211_txq_airtime_check]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AirtimeLimits {
    /// For one station and category, independent of the others.
    pub low: Span,
    /// For one station and category while the total is below `device`.
    pub high: Span,
    /// Total.
    pub device: Span,
    /// Whether the stations of a category are also limited together.
    pub together: StationsTogether,
    /// Unit in which the airtime of a packet is counted, rounded down.
    pub step: Span,
}

/// Whether AQL limits the stations of a category together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StationsTogether {
    /// Linux 5.5 to 5.19.
    Unlimited,
    /// Since Linux 6.0: to `high` for one station with packets, and half of `low` for each more. Otherwise the host could
    /// serve all stations, however far in deficit, up to their own limits. [linux-6.12 net/mac80211/tx.c
    /// ieee80211_txq_schedule_airtime_check]
    Limited,
}

impl AirtimeLimits {
    /// True if a station with this airtime pending, of this total, gets no more frames.
    pub fn refuse(&self, pending: Span, all: Span) -> bool {
        pending >= self.low && (all >= self.device || pending >= self.high)
    }

    /// True if a category with this airtime pending, in which so many stations have packets, gets no more frames.
    pub fn refuse_category(&self, pending: Span, stations: usize) -> bool {
        let more = stations.saturating_sub(1) as u64;
        self.together == StationsTogether::Limited
            && pending >= self.high
            && pending.saturating_sub(self.high).as_nanos() >= more * self.low.as_nanos() / 2
    }
}

/// The limits of an A-MSDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amsdu {
    /// Packets in one MPDU; 1: no A-MSDU.
    pub packets: u32,
    /// Bytes of the MPDU.
    pub bytes: u32,
}

/// Where the mode of a PPDU is chosen. Rate control of the host also gives mac80211 the expected throughput of a
/// station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateControlIn {
    /// mac80211.
    Host,
    /// The device.
    Firmware,
}

/// How CoDel in mac80211's queues treats a station with little expected throughput.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowStations {
    /// As any other: since Linux 6.16, and in the stable series of 6.12 since 6.12.35. [linux-6.12
    /// net/mac80211/tx.c ieee80211_txq_setup_flows]
    AsOthers,
    /// With a longer target and interval, and without ECN: from Linux 4.13 on. [linux-6.6 net/mac80211/sta_info.c
    /// sta_update_codel_params]
    LongerTarget,
}

/// The queues in the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostQueues {
    /// mac80211's queues per station and access category.
    StationQueues(QueueLimits),
    /// The qdisc of the device, which is stopped when the driver is full.
    Qdisc,
}

/// A driver with its hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The name that `ethtool -i` prints.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// The queues in the host.
    pub host_queues: HostQueues,
    /// The queues below those.
    pub hardware_queue: HardwareQueue,
    /// The limits of an aggregate.
    pub limits: Limits,
    /// Transmissions of one PPDU without a response before its frames are aggregated again.
    pub hardware_tries: u32,
    /// Transmissions of one frame before it is dropped.
    pub frame_tries: u32,
    /// Which airtime is charged to a station when the host selects a station to serve; 0: round robin.
    /// [linux-6.12 mac80211 debugfs airtime_flags]
    pub airtime_flags: u32,
    /// Where the mode is chosen.
    pub rate_control: RateControlIn,
    /// Firmware puts several packets into one MPDU.
    pub amsdu: Option<Amsdu>,
    /// Longer PSDUs are announced by RTS and CTS.
    pub rts_threshold: Option<u32>,
    /// Received packets are handed to the host when none has come for this long; zero: at once.
    pub rx_quiet: Span,
    /// But no later than this after the first of them.
    pub rx_longest: Span,
    /// Senders learn that packets have left when none has for this long; zero: at once.
    pub tx_quiet: Span,
    /// But no later than this after the first of them.
    pub tx_longest: Span,
    /// How mac80211 above it reads code points.
    pub code_points: CodePoints,
    /// How CoDel of mac80211 above it treats slow stations.
    pub slow_stations: SlowStations,
}

/// Airtime of transmissions to a station and from it is charged to it. [linux-6.12 ieee80211_i.h]
pub const AIRTIME_USE_TX: u32 = 1;
/// The second.
pub const AIRTIME_USE_RX: u32 = 2;

/// Longest PSDU there is: as a threshold, off. [linux-6.12 include/net/cfg80211.h wiphy rts_threshold]
const RTS_OFF: u32 = 1_048_575;
/// With `rx_quiet`, unless the experiment says otherwise. [linux-6.12 ath9k/hw.c rimt_first]
const RX_LONGEST: Span = Span::from_millis(2);
/// With `tx_quiet`, unless the experiment says otherwise. [linux-6.12 ath9k/hw.c AR_TIMT_FIRST]
const TX_LONGEST: Span = Span::from_micros(750);
/// What mac80211 sets. [linux-6.12 include/net/cfg80211.h IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L, _H,
/// IEEE80211_AQL_THRESHOLD]
const AQL: AirtimeLimits = AirtimeLimits {
    low: Span::from_millis(5),
    high: Span::from_millis(12),
    device: Span::from_millis(24),
    together: StationsTogether::Limited,
    step: AIRTIME_STEP,
};
/// An skb has 10 bits for its airtime. [linux-6.12 include/net/mac80211.h ieee80211_info_set_tx_time_est]
const AIRTIME_STEP: Span = Span::from_micros(4);

const ATH9K: Profile = Profile {
    name: "ath9k",
    summary: "Atheros 802.11n: FQ-CoDel per station, two aggregates in hardware, airtime fairness",
    host_queues: HostQueues::StationQueues(QueueLimits::HT),
    hardware_queue: HardwareQueue::Slots(2),
    limits: Limits { frames: 32, bytes: 65_535, duration: Span::from_micros(4_096), shortest_mpdu: 256 },
    hardware_tries: 10,
    frame_tries: 30,
    airtime_flags: AIRTIME_USE_TX | AIRTIME_USE_RX,
    rate_control: RateControlIn::Host,
    amsdu: None,
    rts_threshold: None,
    rx_quiet: Span::ZERO,
    rx_longest: RX_LONGEST,
    tx_quiet: Span::ZERO,
    tx_longest: TX_LONGEST,
    code_points: CodePoints::ByUse,
    slow_stations: SlowStations::AsOthers,
};

const ATH9K_HTC: Profile = Profile {
    name: "ath9k_htc",
    summary: "Atheros 802.11n on USB: a qdisc above 246 frames in firmware that forms the aggregates",
    host_queues: HostQueues::Qdisc,
    hardware_queue: HardwareQueue::Firmware { slots: 2, frames: 246, airtime: None },
    limits: Limits { frames: 20, bytes: 65_535, duration: Span::from_micros(4_096), shortest_mpdu: 0 },
    airtime_flags: 0,
    rate_control: RateControlIn::Firmware,
    ..ATH9K
};

const ATH10K: Profile = Profile {
    name: "ath10k",
    summary: "Atheros 802.11ac: FQ-CoDel per station above firmware that holds 12 ms of air for each",
    host_queues: HostQueues::StationQueues(QueueLimits::VHT),
    hardware_queue: HardwareQueue::Firmware { slots: 1, frames: 1_424, airtime: Some(AQL) },
    amsdu: Some(Amsdu { packets: 1, bytes: 7_991 }),
    limits: Limits { frames: 64, bytes: 1_048_575, duration: LONGEST_PPDU, shortest_mpdu: 0 },
    airtime_flags: 0,
    rate_control: RateControlIn::Firmware,
    ..ATH9K
};

/// Up to the block-ack window.
const WHOLE_WINDOW: Limits = Limits {
    frames: Format::He.block_ack_window(),
    bytes: Format::He.longest_ampdu(),
    duration: LONGEST_PPDU,
    shortest_mpdu: 0,
};

/// All profiles.
pub const PROFILES: &[Profile] = &[
    ATH9K,
    ATH9K_HTC,
    ATH10K,
    Profile {
        name: "ath9k_htc_txq",
        summary: "Atheros 802.11n on USB since Linux 6.2: FQ-CoDel per station above 246 frames in firmware",
        host_queues: HostQueues::StationQueues(QueueLimits::HT),
        ..ATH9K_HTC
    },
    Profile {
        name: "mt76",
        summary: "MediaTek (as mt7915), 802.11n to ax: FQ-CoDel per station and airtime fairness above firmware limited by AQL",
        hardware_queue: HardwareQueue::Firmware { slots: 1, frames: 2_048, airtime: Some(AQL) },
        limits: WHOLE_WINDOW,
        airtime_flags: AIRTIME_USE_TX | AIRTIME_USE_RX,
        ..ATH10K
    },
    Profile {
        name: "iwlwifi",
        summary: "Intel 802.11n to ax: FQ-CoDel per station above 256 frames in firmware, no AQL",
        hardware_queue: HardwareQueue::Firmware { slots: 1, frames: 256, airtime: None },
        limits: WHOLE_WINDOW,
        ..ATH10K
    },
    Profile {
        name: "generic",
        summary: "aggregates formed by the host, up to the limits of the standard",
        // A second aggregate in hardware would share the block-ack window with the first.
        hardware_queue: HardwareQueue::Slots(1),
        limits: WHOLE_WINDOW,
        ..ATH9K
    },
    // Only in the tests of this crate: shows that a driver needs only its row.
    #[cfg(test)]
    Profile {
        name: "toy",
        summary: "one frame at a time",
        limits: Limits { frames: 1, bytes: 65_535, duration: LONGEST_PPDU, shortest_mpdu: 0 },
        ..ATH9K
    },
];

/// The profile called `name`.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// The head of this file: the profiles and their sources.
pub fn source() -> String {
    tailback_qdisc::registry::head(include_str!("driver.rs"))
}

impl Profile {
    /// The options, with the values of the profile as defaults.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut found = self.limits.parameters();
        found.push(row("retries", ParameterUnit::Number, u64::from(self.frame_tries), MAX_COUNT, RETRIES));
        found.push(row(
            "slots",
            ParameterUnit::Number,
            u64::from(self.hardware_queue.slots()),
            MAX_COUNT,
            SLOTS,
        ));
        if let HardwareQueue::Firmware { frames, airtime, .. } = self.hardware_queue {
            found.push(row("frames", ParameterUnit::Number, u64::from(frames), MAX_COUNT, FRAMES));
            let of = |limit: fn(&AirtimeLimits) -> Span| airtime.as_ref().map(|own| limit(own).as_nanos());
            let limits = [
                ("airtime", of(|own| own.high), AIRTIME),
                ("airtime_low", of(|own| own.low), AIRTIME_LOW),
                ("airtime_device", of(|own| own.device), AIRTIME_DEVICE),
                ("airtime_step", of(|own| own.step), AIRTIME_STEPS),
            ];
            found.extend(limits.map(|(name, default, meaning)| Parameter {
                default,
                ..row(name, ParameterUnit::Time, 0, SECOND, meaning)
            }));
        }
        if let Some(amsdu) = self.amsdu {
            found.push(row("amsdu", ParameterUnit::Number, u64::from(amsdu.packets), MAX_MSDUS, AMSDU));
        }
        let off = u64::from(RTS_OFF);
        let threshold = self.rts_threshold.map_or(off, u64::from);
        found.push(Parameter { min: 0, ..row("rts", ParameterUnit::Bytes, threshold, off, RTS) });
        for (name, own, meaning) in [
            ("rx_quiet", self.rx_quiet, RX_QUIET),
            ("rx_longest", self.rx_longest, RX_LONGEST_WAIT),
            ("tx_quiet", self.tx_quiet, TX_QUIET),
            ("tx_longest", self.tx_longest, TX_LONGEST_WAIT),
        ] {
            let own = row(name, ParameterUnit::Time, own.as_nanos(), SECOND, meaning);
            found.push(Parameter { min: 0, ..own });
        }
        if let HostQueues::StationQueues(limits) = self.host_queues {
            let flags = u64::from(self.airtime_flags);
            let own = row("airtime_flags", ParameterUnit::Number, flags, 3, AIRTIME_FLAGS);
            found.push(Parameter { min: 0, ..own });
            found.push(row("limit", ParameterUnit::Packets, u64::from(limits.packets), MAX_COUNT, LIMIT));
            found.push(row("memory_limit", ParameterUnit::Bytes, limits.memory, MAX_MEMORY, MEMORY_LIMIT));
        }
        found
    }

    /// In a cell of 802.11ac or later: mac80211 gives the queues the memory that such radios need.
    pub fn of_vht(mut self) -> Profile {
        if let HostQueues::StationQueues(limits) = &mut self.host_queues {
            *limits = QueueLimits::VHT;
        }
        self
    }

    /// As before Linux 5.5: only the number of descriptors limits the frames in firmware.
    pub fn before_aql(mut self) -> Profile {
        if let HardwareQueue::Firmware { airtime, .. } = &mut self.hardware_queue {
            *airtime = None;
        }
        self
    }

    /// As before Linux 6.0: AQL limits each station, but not those of a category together.
    pub fn before_aql_of_categories(mut self) -> Profile {
        if let HardwareQueue::Firmware { airtime: Some(limits), .. } = &mut self.hardware_queue {
            limits.together = StationsTogether::Unlimited;
        }
        self
    }

    /// As before Linux 6.8: three bits of a code point choose the access category.
    pub fn before_uses_of_code_points(mut self) -> Profile {
        self.code_points = CodePoints::ByClass;
        self
    }

    /// As from Linux 4.13 to 6.12.34: CoDel spares slow stations.
    pub fn sparing_slow_stations(mut self) -> Profile {
        self.slow_stations = SlowStations::LongerTarget;
        self
    }

    /// The profile with the given options.
    pub fn with(&self, given: &Parameters) -> Result<Profile, ParameterError> {
        given.check(&self.parameters())?;
        let mut profile = *self;
        let small = |name: &str, value: &mut u32| {
            *value = given.given(name).map_or(*value, |given| given as u32);
        };
        profile.limits.set(given);
        small("retries", &mut profile.frame_tries);
        match &mut profile.hardware_queue {
            HardwareQueue::Slots(slots) => small("slots", slots),
            HardwareQueue::Firmware { slots, frames, airtime } => {
                small("slots", slots);
                small("frames", frames);
                *airtime = given_airtime(*airtime, given);
            }
        }
        if let Some(amsdu) = &mut profile.amsdu {
            small("amsdu", &mut amsdu.packets);
        }
        if let Some(bytes) = given.given("rts") {
            profile.rts_threshold = u32::try_from(bytes).ok().filter(|&bytes| bytes < RTS_OFF);
        }
        let wait = |name: &str, own: &mut Span| *own = given.given(name).map_or(*own, Span::from_nanos);
        wait("rx_quiet", &mut profile.rx_quiet);
        wait("rx_longest", &mut profile.rx_longest);
        wait("tx_quiet", &mut profile.tx_quiet);
        wait("tx_longest", &mut profile.tx_longest);
        if let HostQueues::StationQueues(limits) = &mut profile.host_queues {
            small("airtime_flags", &mut profile.airtime_flags);
            small("limit", &mut limits.packets);
            limits.memory = given.given("memory_limit").unwrap_or(limits.memory);
        }
        Ok(profile)
    }
}

/// The limits with the given options; a limit that neither has is off.
fn given_airtime(own: Option<AirtimeLimits>, given: &Parameters) -> Option<AirtimeLimits> {
    let names = ["airtime", "airtime_low", "airtime_device", "airtime_step"];
    let [high, low, device, step] = names.map(|name| given.given(name).map(Span::from_nanos));
    if own.is_none() && [high, low, device, step].iter().all(Option::is_none) {
        return None;
    }
    let unlimited = AirtimeLimits { low: Span::ZERO, high: Span::MAX, device: Span::MAX, ..AQL };
    let own = own.unwrap_or(unlimited);
    Some(AirtimeLimits {
        low: low.unwrap_or(own.low),
        high: high.unwrap_or(own.high),
        device: device.unwrap_or(own.device),
        together: own.together,
        step: step.unwrap_or(own.step),
    })
}

impl Limits {
    fn parameters(&self) -> Vec<Parameter> {
        let [frames, bytes] = [self.frames, self.bytes].map(u64::from);
        let shortest = Parameter {
            min: 0,
            ..row("shortest_mpdu", ParameterUnit::Bytes, u64::from(self.shortest_mpdu), 4095, SHORTEST_MPDU)
        };
        let longest = LONGEST_PPDU.as_nanos();
        vec![
            row("subframes", ParameterUnit::Number, frames, MAX_SUBFRAMES, SUBFRAMES),
            row("bytes", ParameterUnit::Bytes, bytes, MAX_BYTES, BYTES),
            row("duration", ParameterUnit::Time, self.duration.as_nanos(), longest, DURATION),
            shortest,
        ]
    }

    fn set(&mut self, given: &Parameters) {
        let small = |name: &str, own: u32| given.given(name).map_or(own, |value| value as u32);
        self.frames = small("subframes", self.frames);
        self.bytes = small("bytes", self.bytes);
        self.shortest_mpdu = small("shortest_mpdu", self.shortest_mpdu);
        self.duration = given.given("duration").map_or(self.duration, Span::from_nanos);
    }
}

const MAX_COUNT: u64 = 100_000;
const MAX_MSDUS: u64 = 5;
const MAX_SUBFRAMES: u64 = Format::He.block_ack_window() as u64;
const MAX_BYTES: u64 = Format::He.longest_ampdu() as u64;
const SECOND: u64 = 1_000_000_000;
const MAX_MEMORY: u64 = 1 << 30;

const SUBFRAMES: &str =
    "maximum number of MPDUs in an aggregate; 1: no aggregation; before 802.11ax at most 64";
const BYTES: &str = "maximum number of bytes in an aggregate; at most 65535 with 802.11n, 1048575 with 11ac, 4194303 with 11ax";
const DURATION: &str = "maximum duration of an aggregate";
const SHORTEST_MPDU: &str = "shorter MPDUs are padded to this length within an aggregate";
const RETRIES: &str = "transmissions of a frame before it is dropped";
const SLOTS: &str = "aggregates in the hardware queue";
const FRAMES: &str = "maximum number of frames in firmware";
const AIRTIME_FLAGS: &str = "airtime that is charged to stations: 1 of transmissions to them, 2 from them, 3 both, 0 round robin instead";
const AIRTIME: &str =
    "maximum airtime of the frames of one station in firmware while the total is below airtime_device";
const AIRTIME_LOW: &str = "maximum airtime of the frames of one station in firmware otherwise";
const AIRTIME_DEVICE: &str =
    "airtime of the frames of all stations in firmware from which airtime_low applies";
const AIRTIME_STEPS: &str = "unit in which the expected airtime of a packet is counted, rounded down";
const AMSDU: &str = "maximum number of packets in one MPDU; 1: no A-MSDU";
const RTS: &str = "longer PSDUs are protected by RTS and CTS";
const RX_QUIET: &str = "received packets are handed to the host when none has come for this long; 0: at once";
const RX_LONGEST_WAIT: &str =
    "with rx_quiet, received packets are handed over no later than this after the first";
const TX_QUIET: &str =
    "TCP learns that packets have left when none has left for this long (late completions); 0: at once";
const TX_LONGEST_WAIT: &str = "with tx_quiet, TCP learns it no later than this after the first has left";
const LIMIT: &str = "maximum number of packets in all queues above the radio";
const MEMORY_LIMIT: &str = "maximum kernel memory of the packets in all queues above the radio; with 802.11ac and 11ax 16 MiB, if not given";

fn row(name: &'static str, unit: ParameterUnit, default: u64, max: u64, meaning: &'static str) -> Parameter {
    Parameter::new(name, unit, Some(default), (1, max), meaning)
}

#[cfg(test)]
mod tests {
    use tailback_qdisc::Effects;
    use tailback_units::SimTime;

    use super::*;
    use crate::phy::{Format, Guard};
    use crate::testing::{packet, random};
    use crate::{AccessCategory, Band, Edca, Link, Loss, Mode, RateControl, Station, StationId};

    fn given(name: &str, value: u64) -> Parameters {
        let mut given = Parameters::default();
        given.set(name, value);
        given
    }

    #[test]
    fn the_stations_of_a_category_share_a_limit_that_grows_with_their_number() {
        let us = Span::from_micros;
        for (stations, limit) in [(1, 12_000), (2, 14_500), (5, 22_000)] {
            assert!(
                !AQL.refuse_category(us(limit - 1), stations) && AQL.refuse_category(us(limit), stations)
            );
        }
        let before = AirtimeLimits { together: StationsTogether::Unlimited, ..AQL };
        assert!(!before.refuse_category(Span::from_secs(1), 2));
    }

    #[test]
    fn every_default_is_within_its_range_and_changes_nothing() {
        for profile in PROFILES {
            for row in profile.parameters() {
                let Some(default) = row.default else { continue };
                assert_eq!(
                    profile.with(&given(row.name, default)),
                    Ok(*profile),
                    "{} {}",
                    profile.name,
                    row.name
                );
            }
        }
    }

    #[test]
    fn every_option_changes_the_profile() {
        for profile in PROFILES {
            for row in profile.parameters() {
                let other = if row.default == Some(row.max) { row.min } else { row.max };
                assert_ne!(
                    profile.with(&given(row.name, other)),
                    Ok(*profile),
                    "{} {}",
                    profile.name,
                    row.name
                );
            }
        }
    }

    #[test]
    fn a_radio_of_the_toy_driver_sends_one_frame_at_a_time() {
        let mode = Mode::new(Format::Ht, 20, 1, 7, Guard::Ns800).unwrap();
        let link = Link { rates: RateControl::Fixed(mode), loss: Loss::new(0, None) };
        let edca = AccessCategory::ALL.map(Edca::station);
        let toy = *find("toy").unwrap();
        let mut radio = Station::new(toy, Band::Ghz5, 38, edca, vec![Some(link), None]);
        let (mut effects, mut draws) = (Effects::default(), random(1));
        for _ in 0..5 {
            radio.transmit(StationId(0), packet(1500), &mut effects.context(SimTime::ZERO, &mut draws));
        }
        let best_effort = AccessCategory::BestEffort.index();
        assert_eq!(radio.head(best_effort).map(|aggregate| aggregate.frames.len()), Some(1));
    }

    #[test]
    fn an_option_of_another_driver_is_refused() {
        assert!(find("ath9k_htc").unwrap().with(&given("frames", 100)).is_ok());
        let refused = find("ath9k").unwrap().with(&given("frames", 100)).unwrap_err();
        assert!(refused.to_string().contains("there are: subframes"), "{refused}");
    }

    #[test]
    fn a_driver_without_airtime_limits_has_the_one_that_is_given_and_no_other() {
        let ms = Span::from_millis;
        let own = |name, limit| given_airtime(None, &given(name, limit)).expect("a limit is given");
        let high = own("airtime", ms(3).as_nanos());
        assert!(high.refuse(ms(3), ms(3)) && !high.refuse(ms(2), Span::from_secs(1)));
        let device = own("airtime_device", ms(3).as_nanos());
        assert!(device.refuse(ms(1), ms(3)) && !device.refuse(Span::from_secs(1), ms(2)));
        assert_eq!(given_airtime(None, &Parameters::default()), None);
    }
}
