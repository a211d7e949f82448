//! Reads recorded tables back with Arrow's own reader.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

use super::*;

const CONTRACT: &str = include_str!("../../../docs/contracts.md");

#[test]
fn rows_come_back_in_their_units_and_in_their_order() {
    let flows = read(&small_record(), "flows");
    assert_eq!(flows.column_by_name("t").unwrap().as_primitive::<Float64Type>().values(), &[0.1, 0.2]);
    assert_eq!(flows.column_by_name("bytes").unwrap().as_primitive::<UInt64Type>().values(), &[1_448, 2_896]);
    let names: Vec<_> = flows.column_by_name("flow").unwrap().as_string::<i32>().iter().collect();
    assert_eq!(names, [Some("upload.1"), Some("upload.2")]);
}

#[test]
fn a_missing_value_is_null_and_never_zero() {
    let record = small_record();
    let ping = read(&record, "ping");
    let rtt = ping.column_by_name("rtt_ms").unwrap().as_primitive::<Float64Type>().clone();
    assert_eq!(rtt.iter().collect::<Vec<_>>(), [Some(1.5), None]);
    let socket = read(&record, "tcp_info");
    for absent in ["snd_ssthresh", "min_rtt", "pacing_rate", "held_by", "bbr_bw", "bbr_cwnd_gain"] {
        assert_eq!(socket.column_by_name(absent).unwrap().null_count(), 1, "{absent}");
    }
    assert_eq!(socket.column_by_name("snd_cwnd").unwrap().null_count(), 0);
    let events = read(&record, "events");
    assert!(events.column_by_name("flow").unwrap().is_null(0));
    assert_eq!(events.column_by_name("where").unwrap().as_string::<i32>().value(0), "client -> router");
}

#[test]
fn every_column_carries_its_unit() {
    let socket = read(&small_record(), "tcp_info");
    let unit = |name: &str| socket.schema().field_with_name(name).unwrap().metadata().get("unit").cloned();
    assert_eq!(unit("t").as_deref(), Some("s"));
    assert_eq!(unit("rtt").as_deref(), Some("µs"));
    assert_eq!(unit("snd_cwnd").as_deref(), Some("segments"));
    assert_eq!(unit("pacing_rate").as_deref(), Some("B/s"));
    assert_eq!(unit("sndbuf").as_deref(), Some("B"));
    assert_eq!(unit("ca_state").as_deref(), Some(""));
}

#[test]
fn a_table_without_rows_still_has_its_columns() {
    let record = Record {
        udp: Some(Udp::default()),
        delays: Some(Delays::default()),
        datagrams: Some(Datagrams::default()),
        requests: Some(Requests::default()),
        exchanges: Some(Exchanges::default()),
        sojourns: Some(Sojourns::default()),
        objects: Some(Objects::default()),
        video: Some(Video::default()),
        wifi: Some(Wifi::default()),
        ..Record::default()
    };
    let tables = record.finish();
    assert_eq!(tables.len(), Record::specs().len());
    for (spec, (name, bytes)) in Record::specs().iter().zip(tables) {
        assert_eq!(spec.name, name);
        let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
        let columns: Vec<_> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(columns, spec.columns.iter().map(|column| column.name).collect::<Vec<_>>());
        assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
    }
}

#[test]
fn without_wifi_there_is_no_table_of_the_air() {
    assert!(Record::default().finish().iter().all(|(name, _)| *name != Wifi::NAME));
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    assert_eq!(small_record(), small_record());
}

#[test]
fn the_columns_are_those_of_the_contract_in_its_order() {
    for spec in Record::specs() {
        let row = CONTRACT.lines().find(|line| line.starts_with(&format!("| `{}` |", spec.name))).unwrap();
        let promised: Vec<_> =
            row.split(" | ").nth(2).unwrap().split(" · ").filter_map(first_quoted).collect();
        assert_eq!(
            spec.columns.iter().map(|column| column.name).collect::<Vec<_>>(),
            promised,
            "{}",
            spec.name
        );
    }
}

fn first_quoted(text: &str) -> Option<&str> {
    text.split('`').nth(1)
}

fn read(tables: &[(&'static str, Vec<u8>)], name: &str) -> RecordBatch {
    let (_, bytes) = tables.iter().find(|(table, _)| *table == name).unwrap();
    let mut reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert!(reader.next().is_none(), "one table is one batch");
    batch
}

fn small_record() -> Vec<(&'static str, Vec<u8>)> {
    let mut record = Record::default();
    let (first, second) = (record.names.give("upload.1"), record.names.give("upload.2"));
    let (ping, device) = (record.names.give("ping"), record.names.give("client -> router"));
    let at = |ms: u64| SimTime::from_nanos(ms * 1_000_000);
    record.flows.push(FlowsRow { t: at(100), flow: first, bytes: Bytes(1_448) });
    record.flows.push(FlowsRow { t: at(200), flow: second, bytes: Bytes(2_896) });
    record.ping.push(PingRow { t: at(0), ping, seq: 1, rtt_ms: Some(Span::from_micros(1_500)) });
    record.ping.push(PingRow { t: at(200), ping, seq: 2, rtt_ms: None });
    record.tcp_info.push(fresh_socket(at(100), first));
    record.events.push(EventsRow {
        t: at(150),
        what: "drop",
        r#where: device,
        flow: None,
        reason: Some("tail_full"),
        value: None,
    });
    record.finish()
}

/// A socket that has neither lost nor measured anything.
fn fresh_socket(t: SimTime, flow: Name) -> TcpInfoRow {
    TcpInfoRow {
        t,
        flow,
        ca_state: "open",
        snd_cwnd: Segs(10),
        snd_ssthresh: Segs::INFINITE,
        rtt: None,
        rttvar: None,
        min_rtt: None,
        rto: Span::from_secs(1),
        pacing_rate: Rate::UNLIMITED,
        delivery_rate: Rate::ZERO,
        bytes_acked: Bytes::ZERO,
        bytes_sent: Bytes::ZERO,
        bytes_retrans: Bytes::ZERO,
        total_retrans: 0,
        unacked: Segs::ZERO,
        sacked: Segs::ZERO,
        lost: Segs::ZERO,
        retrans: Segs::ZERO,
        reordering: Segs(3),
        notsent_bytes: Bytes::ZERO,
        snd_wnd: Bytes(65_535),
        delivered: 0,
        busy_time: Span::ZERO,
        rwnd_limited: Span::ZERO,
        sndbuf_limited: Span::ZERO,
        wmem_alloc: Bytes::ZERO,
        wmem_queued: Bytes::ZERO,
        sndbuf: Bytes(87_040),
        held_by: None,
        bbr_bw: None,
        bbr_min_rtt: None,
        bbr_pacing_gain: None,
        bbr_cwnd_gain: None,
        data_segs_out: 0,
        held_cwnd: Span::ZERO,
        held_pacing: Span::ZERO,
        held_rwnd: Span::ZERO,
        held_sndbuf: Span::ZERO,
        held_small_queue: Span::ZERO,
        held_no_data: Span::ZERO,
    }
}
