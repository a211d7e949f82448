//! Reads recorded tables back.

use tailback_units::{Bytes, Rate, Segs, SimTime, Span};

use super::*;

const CONTRACT: &str = include_str!("../../../docs/tables.md");

#[test]
fn rows_come_back_in_their_units_and_in_their_order() {
    let tables = small_record();
    let flows = tables.get("flows").unwrap();
    assert_eq!(flows.rows(), 2);
    assert_eq!(flows.column("t"), Some(&Cells::Float(vec![0.1, 0.2])));
    assert_eq!(flows.column("bytes"), Some(&Cells::Whole(vec![1_448, 2_896])));
    let names = flows.column("flow").unwrap();
    assert_eq!([0, 1].map(|row| tables.text(names, row)), [Some("upload.1"), Some("upload.2")]);
    assert_eq!(names.number(0), None);
}

#[test]
fn a_missing_value_is_null_and_never_zero() {
    let tables = small_record();
    let cells = |table: &str, name: &str| tables.get(table).unwrap().column(name).unwrap();
    assert_eq!(cells("ping", "rtt_ms"), &Cells::MaybeFloat(vec![Some(1.5), None]));
    for absent in ["snd_ssthresh", "min_rtt", "pacing_rate", "held_by", "bbr_bw", "bbr_cwnd_gain"] {
        let column = cells("tcp_info", absent);
        assert_eq!((column.number(0), tables.text(column, 0)), (None, None), "{absent}");
    }
    assert_eq!(cells("tcp_info", "snd_cwnd").number(0), Some(10.0));
    assert_eq!(tables.text(cells("events", "flow"), 0), None);
    assert_eq!(tables.text(cells("events", "where"), 0), Some("client -> router"));
}

#[test]
fn every_column_carries_its_unit() {
    let spec = TcpInfo::spec();
    let unit = |name: &str| spec.columns.iter().find(|column| column.name == name).map(|column| column.unit);
    assert_eq!(unit("t"), Some("s"));
    assert_eq!(unit("rtt"), Some("µs"));
    assert_eq!(unit("snd_cwnd"), Some("segments"));
    assert_eq!(unit("pacing_rate"), Some("B/s"));
    assert_eq!(unit("sndbuf"), Some("B"));
    assert_eq!(unit("ca_state"), Some(""));
}

#[test]
fn a_table_without_rows_still_has_its_columns() {
    let record = Record {
        udp: Some(Udp::default()),
        delays: Some(Delays::default()),
        datagrams: Some(Datagrams::default()),
        endpoints: Some(Endpoints::default()),
        requests: Some(Requests::default()),
        exchanges: Some(Exchanges::default()),
        sojourns: Some(Sojourns::default()),
        objects: Some(Objects::default()),
        video: Some(Video::default()),
        wifi: Some(Wifi::default()),
        packets: Some(Packets::default()),
        mpdus: Some(Mpdus::default()),
        senders: Some(Senders::default()),
        ..Record::default()
    };
    let tables = record.finish().tables;
    assert_eq!(tables.len(), Record::specs().len());
    for (spec, table) in Record::specs().iter().zip(tables) {
        let columns = table.columns.iter().map(|column| column.spec.clone()).collect::<Vec<_>>();
        assert_eq!((spec.name, &spec.columns, 0), (table.name, &columns, table.rows()));
        assert!(table.columns.iter().all(|column| column.cells.is_empty()));
    }
}

#[test]
fn without_wifi_there_is_no_table_of_the_air() {
    assert!(Record::default().finish().get(Wifi::NAME).is_none());
}

#[test]
fn the_columns_are_those_of_the_contract_in_its_order() {
    for spec in Record::specs() {
        let (_, section) = CONTRACT.split_once(&format!("\n## {}\n", spec.name)).unwrap();
        let rows = section.lines().take_while(|line| !line.starts_with("## "));
        let promised: Vec<_> = rows.filter(|line| line.starts_with("| `")).filter_map(first_quoted).collect();
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

fn small_record() -> Tables {
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
        delivered_ce: 0,
        delivered_e1_bytes: None,
        delivered_ce_bytes: None,
        delivered_e0_bytes: None,
        received_ce: None,
    }
}
