//! Every byte arrives, whatever the path loses, delays or duplicates, at any rate.

use proptest::prelude::*;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tailback_cc::{Control, Flow, Hooks, ModelControl, ROWS, RateSample, Window};
use tailback_properties::cases;
use tailback_tcp::Settings;
use tailback_units::{Rate, Segs, SimTime, Span};

use crate::control::control;
use crate::pair::{Fate, Judge, Pair, Path, Trains};
use crate::script::{MSS, Script, Setup, ms};

/// Bytes of a transfer: 139 segments.
const TRANSFER: u64 = 200_000;
/// A week, which is longer than thirty-odd consecutive timeouts of at most two minutes.
const LIMIT: SimTime = SimTime::from_nanos(7 * 24 * 3600 * 1_000_000_000);

/// The impairments of a path, in per cent of its segments.
#[derive(Clone, Copy, Debug)]
struct Malice {
    loss: u32,
    late: u32,
    twice: u32,
    seed: u64,
}

impl Malice {
    fn judge(self) -> Judge {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        Box::new(move |_, _| {
            let draw = draws.next_u32() % 100;
            match draw {
                _ if draw < self.loss => Fate::Lost,
                _ if draw < self.loss + self.late => Fate::Late(ms(u64::from(draws.next_u32() % 100))),
                _ if draw < self.loss + self.late + self.twice => Fate::Twice,
                _ => Fate::Arrives,
            }
        })
    }
}

fn malice() -> impl Strategy<Value = Malice> {
    (0..=30u32, 0..=20u32, 0..=10u32, any::<u64>()).prop_map(|(loss, late, twice, seed)| Malice {
        loss,
        late,
        twice,
        seed,
    })
}

fn rate() -> impl Strategy<Value = Option<Rate>> {
    prop_oneof![
        Just(None),
        (0..7u32, 1..10u64).prop_map(|(decade, digit)| {
            Some(Rate::from_bits_per_sec(digit * 10_000 * 10u64.pow(decade)))
        })
    ]
}

/// Transfers, and fails unless every byte arrives and the sender forgets all of them. After a quarter of an hour in
/// which every retransmission is lost, Linux gives up, and so may the sender.
fn arrives_whole(pair: &mut Pair) -> Result<(), TestCaseError> {
    pair.transfer(TRANSFER);
    let ended = pair.run_to_end(LIMIT);
    if pair.client.endpoint.is_aborted() {
        return Ok(());
    }
    prop_assert!(ended, "{:?}", pair.info());
    prop_assert_eq!(pair.server.received, TRANSFER);
    let info = pair.info();
    prop_assert_eq!(info.bytes_acked.0, TRANSFER + 2, "SYN and FIN count");
    prop_assert_eq!((info.sacked, info.lost, info.retrans), (Segs::ZERO, Segs::ZERO, Segs::ZERO));
    prop_assert_eq!(info.wmem_queued.0, 0);
    Ok(())
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_transfer_ends_over_a_path_that_loses_up_to_a_third_in_both_directions(
        row in 0..ROWS.len(),
        out in malice(),
        back in malice(),
        rate in rate(),
        limit in prop_oneof![Just(usize::MAX), 2..60usize],
        delay in 0..200u64,
    ) {
        let row = &ROWS[row];
        let path = Path { rate, limit, judge: out.judge(), ..Path::new(ms(delay)) };
        let other = Path { judge: back.judge(), ..Path::new(ms(delay)) };
        let mut pair = Pair::new(control(row.name), row.wants_pacing, path, other);
        arrives_whole(&mut pair)?;
    }

    #[test]
    fn a_transfer_in_trains_ends_over_such_a_path_whole_or_cut(
        row in 0..ROWS.len(),
        out in malice(),
        back in malice(),
        rate in rate(),
        cut: bool,
        delay in 0..50u64,
    ) {
        let row = &ROWS[row];
        let trains = if cut { Trains::AreCut } else { Trains::Stay };
        let path = Path { rate, trains, judge: out.judge(), ..Path::new(ms(delay)) };
        let other = Path { judge: back.judge(), ..Path::new(ms(delay)) };
        let settings = Settings { gso_max_segs: 65_535, ..Settings::default() };
        let mut pair = Pair::with_settings(control(row.name), row.wants_pacing, path, other, settings);
        arrives_whole(&mut pair)?;
    }

    #[test]
    fn the_same_seed_gives_the_same_segments(row in 0..ROWS.len(), out in malice(), back in malice()) {
        let row = &ROWS[row];
        let run = || {
            let path = Path { judge: out.judge(), rate: Some(Rate::from_bits_per_sec(5_000_000)), ..Path::new(ms(5)) };
            let other = Path { judge: back.judge(), ..Path::new(ms(5)) };
            let mut pair = Pair::new(control(row.name), row.wants_pacing, path, other);
            pair.transfer(TRANSFER);
            pair.run_to_end(LIMIT);
            pair.client.trace.iter().map(|sent| (sent.at, sent.segment.clone(), sent.fate)).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}

/// A model that wants one pacing rate.
struct FixedRate(Rate);

impl Hooks for FixedRate {
    fn init(&mut self, _: &Flow, window: &mut Window, _: &mut dyn Rng) {
        window.cwnd = Segs(100);
        window.pacing_rate = self.0;
    }
}

impl ModelControl for FixedRate {
    fn cong_control(&mut self, _: &RateSample, _: &Flow, window: &mut Window, _: &mut dyn Rng) {
        window.pacing_rate = self.0;
    }

    fn ssthresh(&mut self, _: &Flow, window: &Window) -> Segs {
        window.ssthresh
    }

    fn state(&self) -> &'static str {
        "fixed"
    }
}

#[test]
fn a_byte_per_second_and_a_hundred_gigabit_are_paced_exactly() {
    for (rate, gap) in [(8, Span::from_secs(MSS)), (100_000_000_000, Span::from_nanos(MSS * 8 / 100))] {
        let control = Control::Model(Box::new(FixedRate(Rate::from_bits_per_sec(rate))));
        let mut script = Script::connect(Setup { wants_pacing: true, ..Setup::new(control, ms(100)) });
        script.write(12);
        script.at(gap + Span::from_nanos(gap.as_nanos() / 2));
        let sent = script.transmissions();
        let eleventh = sent.iter().find(|sent| sent.number == 10).expect("one gap has passed");
        assert_eq!(eleventh.departure, gap);
        assert!(!sent.iter().any(|sent| sent.number == 11));
    }
}

#[test]
fn a_link_of_a_hundred_bits_per_second_delivers_everything() {
    let rate = Some(Rate::from_bits_per_sec(100));
    for row in ROWS {
        let path = Path { rate, ..Path::new(ms(1)) };
        let mut pair = Pair::new(control(row.name), row.wants_pacing, path, Path::new(ms(1)));
        pair.transfer(20 * MSS);
        assert!(pair.run_to_end(LIMIT), "{}", row.name);
        assert_eq!(pair.server.received, 20 * MSS);
    }
}

#[test]
fn a_window_that_closes_until_the_reader_wakes_loses_nothing() {
    let mut pair = Pair::new(control("cubic"), false, Path::new(ms(5)), Path::new(ms(5)));
    pair.server.reads = false;
    pair.transfer(TRANSFER);
    pair.run_until(SimTime::ZERO + ms(5000));
    let info = pair.info();
    assert!(info.snd_wnd.0 < MSS && info.notsent_bytes.0 > 0, "{info:?}");
    let closed = pair.server.trace.len();
    pair.run_until(SimTime::ZERO + ms(10_000));
    assert!(pair.server.trace.len() > closed, "probes are answered");
    pair.server.reads = true;
    pair.read_at_server();
    assert!(pair.run_to_end(SimTime::ZERO + ms(11_000)));
    assert_eq!(pair.server.received, TRANSFER);
}
