use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use parquet::basic::Compression;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

use tailback_record::{EventsRow, PingRow, Record};
use tailback_units::{SimTime, Span};

use crate::parquet::LONG;
use crate::{Column, File, FileError, Table, TableError, Values, of_run};

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, batches[0].schema_ref()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn batch() -> RecordBatch {
    let columns: [(&str, ArrayRef); 5] = [
        ("t", Arc::new(Float64Array::from(vec![Some(0.1), None, Some(f64::INFINITY)]))),
        ("flow", Arc::new(StringArray::from(vec![Some("upload"), None, Some("download")]))),
        ("bytes", Arc::new(UInt64Array::from(vec![0, u64::MAX, 7]))),
        ("offset", Arc::new(Int64Array::from(vec![Some(-1), Some(2), None]))),
        ("up", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn long(rows: usize) -> Table {
    let column: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..rows as u64));
    let batch = RecordBatch::try_from_iter([("seq", column)]).unwrap();
    Table::of_stream(stream(&[batch])).unwrap()
}

fn table() -> Table {
    Table::of_stream(stream(&[batch()])).unwrap()
}

#[test]
fn a_missing_number_is_nan() {
    let table = table();
    assert_eq!(
        (table.rows(), table.names()),
        (3, ["t", "flow", "bytes", "offset", "up"].map(String::from).into())
    );
    let t = table.numbers("t").unwrap();
    assert!(t[0] == 0.1 && t[1].is_nan() && t[2] == f64::INFINITY);
    assert_eq!(table.numbers("bytes").unwrap(), [0.0, u64::MAX as f64, 7.0]);
    assert_eq!(table.numbers("offset").unwrap()[..2], [-1.0, 2.0]);
    assert_eq!(table.numbers("up").unwrap()[0], 1.0);
}

#[test]
fn words_are_in_alphabetical_order_and_a_missing_one_has_no_place() {
    let words = table().words("flow").unwrap();
    assert_eq!(
        (words.codes, words.known),
        (vec![1, -1, 0], vec!["download".to_owned(), "upload".to_owned()])
    );
}

#[test]
fn another_column_or_another_kind_is_an_error() {
    assert!(matches!(table().numbers("rtt"), Err(TableError::NoColumn(name)) if name == "rtt"));
    let wrong = [table().numbers("flow").unwrap_err(), table().words("t").unwrap_err()];
    assert_eq!(
        wrong.map(|error| error.to_string()),
        ["column `flow` contains Utf8, not numbers", "column `t` contains Float64, not text"]
    );
}

#[test]
fn no_other_bytes_are_a_table() {
    let whole = stream(&[batch()]);
    assert!(Table::of_stream(whole[..whole.len() / 2].to_vec()).is_err());
    assert!(Table::of_stream(Vec::new()).is_err());
    assert!(Table::of_stream(b"no table".to_vec()).is_err());
    assert!(Table::of_stream(stream(&[batch(), batch()])).is_err());
}

#[test]
fn a_table_without_rows_has_its_columns() {
    let empty = Table::of_stream(stream(&[batch().slice(0, 0)])).unwrap();
    let file = SerializedFileReader::new(bytes::Bytes::from(empty.to_parquet().unwrap())).unwrap();
    assert_eq!(file.metadata().file_metadata().schema_descr().num_columns(), 5);
    assert_eq!(file.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    assert_eq!(table().to_parquet().unwrap(), table().to_parquet().unwrap());
}

#[test]
fn only_a_long_table_is_compressed_by_zstd_and_has_bounds() {
    for rows in [LONG - 1, LONG] {
        let file = SerializedFileReader::new(bytes::Bytes::from(long(rows).to_parquet().unwrap())).unwrap();
        let column = file.metadata().row_group(0).column(0);
        let is_long = rows == LONG;
        assert_eq!(matches!(column.compression(), Compression::ZSTD(_)), is_long);
        assert_eq!(column.statistics().is_some(), is_long);
    }
}

#[test]
fn a_recorded_table_has_its_units_and_nulls_and_survives_its_stream() {
    let mut record = Record::default();
    let (ping, device) = (record.names.give("ping"), record.names.give("client -> router"));
    let at = SimTime::from_nanos(200_000_000);
    record.ping.push(PingRow { t: at, ping, seq: 1, rtt_ms: Some(Span::from_micros(1_500)) });
    record.ping.push(PingRow { t: at, ping, seq: 2, rtt_ms: None });
    let [what, reason] = ["drop", "tail_full"];
    record.events.push(EventsRow {
        t: at,
        what,
        r#where: device,
        flow: None,
        reason: Some(reason),
        value: None,
    });
    let mut tables = BTreeMap::from_iter(of_run(record.finish()));

    let ping = tables.remove("ping").unwrap();
    assert_eq!((ping.rows(), ping.numbers("t").unwrap()), (2, vec![0.2, 0.2]));
    let rtts = ping.numbers("rtt_ms").unwrap();
    assert!(rtts[0] == 1.5 && rtts[1].is_nan());
    let units = ping.batch.schema_ref().field_with_name("rtt_ms").unwrap().metadata().get("unit");
    assert_eq!(units.map(String::as_str), Some("ms"));
    let events = tables.remove("events").unwrap();
    assert_eq!(events.words("where").unwrap().known, ["client -> router"]);
    assert_eq!(events.words("flow").unwrap().codes, [-1]);
    for table in [ping, events] {
        let again = Table::of_stream(table.to_stream().unwrap()).unwrap();
        assert_eq!(again.batch, table.batch);
        assert_eq!(again.to_parquet().unwrap(), table.to_parquet().unwrap());
    }
}

fn columns() -> Vec<Column> {
    let column = |name: &str, unit: Option<&str>, values, present: Option<&[bool]>| Column {
        name: name.to_owned(),
        unit: unit.map(str::to_owned),
        values,
        present: present.map(<[bool]>::to_vec),
    };
    vec![
        column("t", Some("s"), Values::Float(vec![0.1, f64::NAN, 3.0]), Some(&[true, false, true])),
        column("flow", None, Values::Text(["a", "", "µ"].map(String::from).to_vec()), None),
        column("bytes", Some("B"), Values::Unsigned(vec![u64::MAX, 0, 1]), None),
        column("offset", Some("ns"), Values::Signed(vec![i64::MIN, -1, 0]), Some(&[true, true, false])),
    ]
}

#[test]
fn a_file_gives_back_the_table_that_was_written() {
    for table in
        [table(), Table::of_columns(columns()).unwrap(), Table::of_columns(columns()[..1].to_vec()).unwrap()]
    {
        let file = File::of(table.to_parquet().unwrap()).unwrap();
        assert_eq!(file.rows(), table.rows());
        let back = file.read(None, 100).unwrap();
        assert_eq!(back.batch, table.batch);
        assert_eq!(Table::of_stream(back.to_stream().unwrap()).unwrap().batch, table.batch);
    }
}

#[test]
fn columns_that_are_not_there_are_not_read_and_the_others_keep_the_order_asked_for() {
    let file = File::of(table().to_parquet().unwrap()).unwrap();
    let wanted = ["bytes", "nothing", "t"].map(String::from);
    let some = file.read(Some(&wanted), 0).unwrap();
    assert_eq!((some.names(), some.rows()), (["bytes", "t"].map(String::from).into(), 3));
}

#[test]
fn tables_of_many_groups_of_rows_are_read_whole() {
    let rows = (1 << 20) + 5;
    let file = File::of(long(rows).to_parquet().unwrap()).unwrap();
    let exact = file.read(None, 0).unwrap().exact("seq").unwrap();
    assert_eq!(exact.bytes.len(), 8 * rows);
    assert_eq!(exact.bytes[8 * (rows - 1)..], (rows as u64 - 1).to_ne_bytes());
}

#[test]
fn words_beyond_the_limit_and_files_that_are_cut_are_refused() {
    let whole = table().to_parquet().unwrap();
    let refused = File::of(whole.clone()).unwrap().read(None, 10);
    assert!(matches!(refused, Err(FileError::LongWords { bytes: 14, .. })));
    assert!(File::of(whole[..whole.len() - 9].to_vec()).is_err());
    assert!(File::of(b"PAR1PAR1".to_vec()).is_err());
}

#[test]
fn columns_of_different_lengths_are_no_table() {
    let mut wrong = columns();
    wrong[0].values = Values::Float(vec![0.5]);
    assert!(Table::of_columns(wrong).is_err());
}
