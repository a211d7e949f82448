//! Path MTU discovery by probes.

use tailback_packet::{Segment, SegmentFlags};
use tailback_tcp::{MtuProbes, MtuProbing, Settings};

use crate::control::window_control;
use crate::script::{Script, Setup, ms};

/// A socket that searches the MTU of its path, with 30 KB to send and a window of 20 segments.
fn searching() -> Script {
    let setup = Setup::new(window_control(20, 10, |cwnd| cwnd / 2), ms(20));
    let settings = Settings { mtu_probing: MtuProbing::Always, ..setup.settings.clone() };
    let mut script = Script::connect(Setup { settings, ..setup });
    script.write_bytes(30_000);
    script
}

fn lengths(script: &mut Script) -> Vec<u32> {
    script.transmissions().iter().map(|sent| sent.segment.length).collect()
}

#[test]
fn a_probe_is_the_middle_of_the_range_and_becomes_the_segment_size_when_it_is_acknowledged() {
    let mut script = searching();
    let sent = lengths(&mut script);
    // Packets of 1076 to 1500 bytes, of which 52 are headers with timestamps.
    assert_eq!((sent[0], &sent[1..]), ((1076 + 1500) / 2 - 52, &[1024; 18][..]));
    script.at(ms(20));
    let ack = script.peer_segment(1, 0, SegmentFlags::ACK);
    script.inject(Segment { ack: 1 + u64::from(sent.iter().sum::<u32>()), ..ack });
    assert_eq!(script.endpoint.mtu_probes(), MtuProbes { passed: 1, lost: 0 });
    let next = lengths(&mut script);
    assert_eq!((next[0], next[1]), ((1288 + 1500) / 2 - 52, 1236));
}
