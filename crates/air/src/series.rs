//! The modes of an aggregate as one number: 16 bits for each, the first mode lowest; no mode after one without tries.
//!
//! ```text
//! bits 0–3 tries, 4–7 MCS within a stream, 8–10 streams − 1, 11–12 width (20, 40, 80, 160 MHz),
//! 13–15 format and guard interval: 802.11n 800, 400 ns, 802.11ac 800, 400 ns, 802.11ax 800, 1600, 3200 ns
//! ```

use tailback_wifi::Mode;
use tailback_wifi::phy::{Format, Guard};
use tailback_wifi::rate::{Chain, MODES, TxRate};

const BITS: usize = 16;
const WIDTHS: [u32; 4] = [20, 40, 80, 160];
const FORMATS: [(Format, Guard); 7] = [
    (Format::Ht, Guard::Ns800),
    (Format::Ht, Guard::Ns400),
    (Format::Vht, Guard::Ns800),
    (Format::Vht, Guard::Ns400),
    (Format::He, Guard::Ns800),
    (Format::He, Guard::Ns1600),
    (Format::He, Guard::Ns3200),
];

/// Modes that were used, and how often each.
pub fn number_of(used: impl Iterator<Item = TxRate>) -> u64 {
    used.enumerate().fold(0, |number, (place, rate)| number | bits_of(&rate) << (BITS * place))
}

fn bits_of(rate: &TxRate) -> u64 {
    let mode = &rate.mode;
    let kind = FORMATS.iter().position(|&of| of == (mode.format(), mode.guard())).unwrap_or(0);
    let width = WIDTHS.iter().position(|&width| width == mode.width()).unwrap_or(0);
    let (mcs, streams) = (u64::from(mode.mcs()), u64::from(mode.streams() - 1));
    u64::from(rate.tries.min(15)) | mcs << 4 | streams << 8 | (width as u64) << 11 | (kind as u64) << 13
}

/// What the modes of a number are tried for; a bit of `announced` for each that is announced by RTS and CTS. `None` if it
/// has no modes, or one that the standard has not.
pub fn chain_of(number: u64, announced: u16, probes: bool) -> Option<Chain> {
    let entries = (0..MODES).map(|place| (place, number >> (BITS * place) & 0xffff));
    let tried = entries.take_while(|(_, bits)| bits & 15 > 0);
    let rates = tried.map(|(place, bits)| {
        let field = |from: u32, bits_of: u32| (bits >> from & ((1 << bits_of) - 1)) as u32;
        let (format, guard) = *FORMATS.get(field(13, 3) as usize)?;
        let mode =
            Mode::new(format, WIDTHS[field(11, 2) as usize], field(8, 3) + 1, field(4, 4), guard).ok()?;
        let announced = announced >> place & 1 > 0;
        Some(TxRate { mode, index: 0, tries: field(0, 4), announced })
    });
    Chain::series(&rates.collect::<Option<Vec<_>>>()?, probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_of_the_standard_is_read_as_it_was_written() {
        let mut count = 0;
        for (format, guard) in FORMATS {
            for width in WIDTHS {
                for (streams, mcs) in (1..=8).flat_map(|streams| (0..12).map(move |mcs| (streams, mcs))) {
                    let Ok(mode) = Mode::new(format, width, streams, mcs, guard) else { continue };
                    let rate = TxRate { mode, index: 0, tries: 3, announced: true };
                    let number = number_of([rate].into_iter());
                    assert_eq!(chain_of(number, 1, true), Chain::series(&[rate], true));
                    count += 1;
                }
            }
        }
        assert!(count > 1_000);
    }

    #[test]
    fn modes_keep_their_order() {
        let rate = |mcs, tries| {
            let mode = Mode::new(Format::Ht, 20, 1, mcs, Guard::Ns800).unwrap();
            TxRate { mode, index: 0, tries, announced: mcs < 7 }
        };
        let rates = [rate(7, 1), rate(3, 4), rate(1, 2), rate(0, 10)];
        let chain = chain_of(number_of(rates.into_iter()), 0b1110, false).unwrap();
        assert_eq!(chain, Chain::series(&rates, false).unwrap());
        assert_eq!((chain.tries(), chain.after(5).mode.mcs(), chain.after(5).announced), (17, 1, true));
    }

    #[test]
    fn what_is_no_mode_is_refused() {
        assert!(chain_of(0, 0, false).is_none(), "none is tried");
        assert!(chain_of(1 | 8 << 4, 0, false).is_none(), "802.11n has no MCS 8 in a stream");
        assert!(chain_of(1 | 7 << 13, 0, false).is_none(), "there is no such format");
    }
}
