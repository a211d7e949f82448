//! Conversations of each kind on this machine.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::AtomicU8;

use super::*;

/// At each of those addresses.
const PORT: u16 = 15_201;
/// A quarter of an hour: on a busy machine threads may wake late.
const LONG_NS: u64 = 900_000_000_000;
const TCP: &str = r#""cc": {"name": "cubic", "options": {}}, "tsq": {"kind": "time", "shift": 10}, "socket": {
    "max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1, "notsent_lowat": null, "mss": null}"#;

/// An address of this machine that no other test uses. A free port of a shared address may be taken by others before it is
/// used.
fn own_address() -> Ipv4Addr {
    static GIVEN: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high, low, GIVEN.fetch_add(1, Ordering::Relaxed))
}

/// A conversation from this machine to itself.
fn conversation(keys: &str) -> Conversation {
    let traffic = format!(r#"{{"name": "it", "from": 0, "to": 0, "start_ns": 0, {keys}}}"#);
    let address = own_address();
    let json = format!(
        r#"{{"traffic": {traffic}, "address": "{address}", "port": {PORT}, "token": "geheimgeheim"}}"#
    );
    serde_json::from_str(&json).unwrap()
}

fn request(answers: &str) -> Conversation {
    conversation(&format!(
        r#""kind": "request", "stop_ns": {LONG_NS}, "size": 300, "answers": {answers}, "pauses_ns": [1000000],
            "count": 4, {TCP}"#
    ))
}

fn page(connections: u32, multiplexing: &str) -> Conversation {
    conversation(&format!(
        r#""kind": "page", "size": 400, "connections": {connections}, "multiplexing": "{multiplexing}", "objects": [
            {{"bytes": 100, "after": null}}, {{"bytes": 70000, "after": 0}}, {{"bytes": 5, "after": 0}},
            {{"bytes": 3000000, "after": 2}}], {TCP}"#
    ))
}

fn video(size: u32, ladder: &str) -> Conversation {
    conversation(&format!(
        r#""kind": "video", "stop_ns": {LONG_NS}, "size": {size}, "ladder_bps": {ladder}, "segment_ns": 10000000,
            "buffer_ns": 100000000, "startup_ns": 10000000, "rule": "rate", {TCP}"#
    ))
}

fn ping(size: u32) -> Conversation {
    conversation(&format!(
        r#""kind": "ping", "stop_ns": 5000000, "interval_ns": 1000000, "size": {size}, "dscp": 46, "protocol": "udp""#
    ))
}

fn prepared(conversation: &Conversation) -> Result<Running, Failure> {
    let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
    Running::prepare(conversation, LONG_NS, 90_000, &network).map(Option::unwrap)
}

/// A conversation that runs.
struct Run {
    running: Running,
    time: Time,
}

impl Run {
    fn of(conversation: &Conversation) -> Self {
        let mut running = prepared(conversation).unwrap();
        let time = Time { clock: Clock::starting_at(sys::monotonic_ns()), interval_ns: 10_000_000 };
        running.start(time, LONG_NS).unwrap();
        Self { running, time }
    }

    /// The rows of a table, without its heading.
    fn rows(&self, table: &str) -> Vec<Vec<String>> {
        assert!(self.running.failure().is_none());
        let mut tables = Tables::empty();
        self.running.measured(LONG_NS, self.time.interval_ns, &mut tables).unwrap();
        let mut tables = tables.0.into_iter().map(Ordered::finish);
        let text = tables.find(|each| each.name() == table).unwrap().take();
        text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }

    /// Waits until `rows` of a table are as wanted.
    fn wait_for(&self, table: &str, wanted: impl Fn(&[Vec<String>]) -> bool) -> Vec<Vec<String>> {
        loop {
            let rows = self.rows(table);
            if wanted(&rows) {
                return rows;
            }
            assert!(self.time.clock.now_ns() < LONG_NS, "{rows:?}");
            self.time.clock.sleep_until(self.time.clock.now_ns() + 1_000_000);
        }
    }
}

/// Rows with a value in their last column.
fn complete(rows: &[Vec<String>]) -> usize {
    rows.iter().filter(|row| !row.last().unwrap().is_empty()).count()
}

/// The sum of a column.
fn sum(rows: &[Vec<String>], column: usize) -> u64 {
    rows.iter().map(|row| row[column].parse::<u64>().unwrap()).sum()
}

#[test]
fn tests_have_addresses_of_their_own() {
    let sockets = [(); 3].map(|()| sys::bound(0, SocketAddrV4::new(own_address(), PORT)));
    assert!(sockets.iter().all(Result::is_ok));
}

#[test]
fn a_flow_with_a_number_of_bytes_arrives_whole_and_is_complete() {
    let run = Run::of(&conversation(&format!(r#""kind": "tcp", "stop_ns": null, "bytes": 200000, {TCP}"#)));
    let rows = run.wait_for("completions", |rows| complete(rows) == 1);
    assert_eq!(rows.len(), 1);
    assert_eq!(sum(&run.rows("flows"), 2), 200_000);
}

#[test]
fn a_flow_whose_application_pauses_arrives_whole_and_no_sooner_than_it_has_data() {
    let writes = r#""writes": {"message": 1000, "rate_bps": 8000000, "on_ns": 2000000, "off_ns": 5000000}"#;
    let flow = conversation(&format!(r#""kind": "tcp", "stop_ns": null, "bytes": 10000, {writes}, {TCP}"#));
    let run = Run::of(&flow);
    let rows = run.wait_for("completions", |rows| complete(rows) == 1);
    assert_eq!(sum(&run.rows("flows"), 2), 10_000);
    // Two messages in each cycle of 7 ms: the tenth is due in the fifth.
    let taken_ns: u64 = rows[0].last().unwrap().parse().unwrap();
    assert!(taken_ns >= 29_000_000, "{taken_ns}");
}

#[test]
fn a_flow_that_stops_before_it_is_connected_has_not_failed() {
    // A listener whose queue is full ignores SYNs.
    let address = own_address();
    let at = SocketAddrV4::new(address, PORT);
    let _listener = sys::listen_with(at.into(), sys::Port::Fresh, 0).unwrap();
    let _first = std::net::TcpStream::connect(at).unwrap();
    let stopped = conversation(&format!(r#""kind": "tcp", "stop_ns": 1000000, "bytes": null, {TCP}"#));
    let mut running = prepared(&stopped).unwrap();
    let mut aimed = Conversation::clone(&running.conversation);
    aimed.address = address.into();
    running.conversation = Arc::new(aimed);
    let time = Time { clock: Clock::starting_at(sys::monotonic_ns()), interval_ns: 10_000_000 };
    running.start(time, LONG_NS).unwrap();
    let Opened::Tcp(Tcp { sampled: Sampled::Bulk { sender: Some(sender), .. }, .. }) = &running.sockets
    else {
        panic!("it is a flow with a sender")
    };
    // Until only its server waits, which nobody connects to. On a busy machine it may stop before it connects, which leaves
    // the socket open: then it is shut down again, but not before the thread that stops it has ended.
    while Arc::strong_count(&running.shared) > 2 {
        assert!(time.clock.now_ns() < LONG_NS);
        time.clock.sleep_until(time.clock.now_ns() + 1_000_000);
        if Arc::strong_count(&running.shared) == 3 {
            sys::shut_down_sending(sender);
        }
    }
    assert_eq!(running.failure().map(|failure| failure.to_string()), None);
}

#[test]
fn each_request_gets_its_answer_and_has_a_latency() {
    let run = Run::of(&request("[70000, 5]"));
    let rows = run.wait_for("requests", |rows| complete(rows) == 4);
    assert_eq!(rows.iter().map(|row| row[3].as_str()).collect::<Vec<_>>(), ["70000", "5", "70000", "5"]);
    // The connection was over before it was first sampled.
    let mut sockets = SocketTables::of_senders();
    run.running.sample(1, &mut sockets).unwrap();
    let rows = sockets.exchanges.take();
    let sent =
        |end: &str| rows.lines().find_map(|row| row.split_once(&format!("{end},"))?.1.split(',').next());
    assert!(["client", "server"].into_iter().all(|end| sent(end).unwrap() != "0"), "{rows}");
}

#[test]
fn a_page_is_loaded_over_one_connection_or_several() {
    for page in [page(1, "all"), page(3, "one"), page(1, "one")] {
        let rows = Run::of(&page).wait_for("objects", |rows| complete(rows) == 4);
        assert_eq!(sum(&rows, 3), 100 + 70_000 + 5 + 3_000_000);
    }
}

#[test]
fn segments_are_fetched_on_the_rung_that_the_rule_chooses() {
    let run = Run::of(&video(300, "[400000, 800000]"));
    let rows = run.wait_for("video", |rows| rows.iter().filter(|row| !row[6].is_empty()).count() >= 2);
    // The first segment is on the lowest rung, whatever the speed of this machine.
    assert_eq!(rows[0][2..5], ["0", "400000", "500"]);
    assert_eq!(rows[1][2], "1");
}

#[test]
fn echo_requests_with_the_token_are_answered_and_others_are_not() {
    let ping = ping(64);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let run = Run::of(&ping);
    stranger.send_to(&[b'x'; 50], (ping.address, PORT)).unwrap();
    run.wait_for("ping", |rows| complete(rows) == 5);
    stranger.set_nonblocking(true).unwrap();
    assert!(stranger.recv_from(&mut [0; 64]).is_err());
}

#[test]
fn datagrams_are_sent_at_their_rate_and_those_without_the_token_are_not_counted() {
    for (media, arrivals) in [("null", 0), (r#"{"codec": "game"}"#, 100)] {
        let flow = conversation(&format!(
            r#""kind": "udp", "stop_ns": 100000000, "rate_bps": 800000, "size": 100, "sndbuf": null, "dscp": 46,
                "media": {media}"#
        ));
        let run = Run::of(&flow);
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(&[b'x'; 50], (flow.address, PORT)).unwrap();
        // 100 bytes each millisecond for a tenth of a second.
        let rows = run.wait_for("datagrams", |rows| sum(rows, 2) == 100 && sum(rows, 3) == 100);
        assert!(rows.iter().all(|row| !row[5].is_empty() || row[3] == "0"));
        assert_eq!(sum(&run.rows("flows"), 2), 10_000);
        assert_eq!(run.rows("arrivals").len(), arrivals);
        let alike = sum(&run.rows("delays"), 2);
        assert_eq!(alike, 100 - arrivals as u64);
        assert_eq!(sum(&run.rows("delays"), 2), alike, "a second time");
    }
}

#[test]
fn the_example_of_contributing_runs_too() {
    let run = Run::of(&conversation(r#""kind": "toy", "datagrams": 7"#));
    run.wait_for("flows", |rows| !rows.is_empty() && sum(rows, 2) == 7_000);
}

#[test]
fn values_that_no_application_can_have_are_refused() {
    let refused = [request("[0]"), video(300, "[2, 1]"), video(7, "[1, 2]"), ping(19)];
    for conversation in refused {
        assert!(prepared(&conversation).is_err(), "{conversation:?}");
    }
}
