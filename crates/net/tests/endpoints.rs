//! Endpoints in a network: what they send arrives as Linux would deliver it, beside TCP, and the same in each run.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tailback_net::{
    Ecn, Endpoint, Error, Info, Link, Network, Outgoing, Plan, Received, Report, Scenario, SteeredRun, Wifi,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Datagrams of a size at an interval.
struct Steady {
    next: Duration,
    interval: Duration,
    datagram: Outgoing,
    ahead: Duration,
}

impl Steady {
    fn new(interval: Duration, bytes: usize) -> Self {
        Steady {
            next: Duration::ZERO,
            interval,
            datagram: Outgoing::new(vec![7; bytes]),
            ahead: Duration::ZERO,
        }
    }
}

impl Endpoint for Steady {
    fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}

    fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
        if now < self.next {
            return None;
        }
        self.next += self.interval;
        let departure = (self.ahead > Duration::ZERO).then(|| now + self.ahead);
        Some(Outgoing { departure, ..self.datagram.clone() })
    }

    fn timeout(&mut self) -> Option<Duration> {
        Some(self.next)
    }
}

type Arrivals = Rc<RefCell<Vec<(Duration, usize, Ecn)>>>;

/// Notes what arrives; sends it back if it is to.
#[derive(Default)]
struct Notes {
    arrivals: Arrivals,
    echoes: bool,
    waiting: Vec<Vec<u8>>,
}

impl Endpoint for Notes {
    fn receive(&mut self, now: Duration, datagram: Received<'_>) {
        self.arrivals.borrow_mut().push((now, datagram.data.len(), datagram.ecn));
        if self.echoes {
            self.waiting.push(datagram.data.to_vec());
        }
    }

    fn transmit(&mut self, _now: Duration) -> Option<Outgoing> {
        self.waiting.pop().map(Outgoing::new)
    }

    fn timeout(&mut self) -> Option<Duration> {
        None
    }
}

/// client – router – server: the last link is the bottleneck.
fn plan(bottleneck: Link) -> Plan {
    Plan::new(1, 5 * SECOND)
        .host("client")
        .host("router")
        .host("server")
        .link("client", "router", Link::new(1_000_000_000, MS))
        .link("router", "server", bottleneck)
        .endpoints("mine", "client", "server")
}

fn ran(plan: &Plan, sender: impl Endpoint + 'static) -> (Report, Vec<(Duration, usize, Ecn)>) {
    let notes = Notes::default();
    let arrivals = notes.arrivals.clone();
    let mut network = Network::of_plan(plan).unwrap();
    network.attach("mine", sender, notes).unwrap();
    let report = network.finish().unwrap();
    (report, arrivals.take())
}

#[test]
fn a_datagram_arrives_after_its_transmission_and_delay_on_each_link() {
    let (_, arrivals) = ran(&plan(Link::new(10_000_000, 4 * MS)), Steady::new(SECOND, 1_000));
    // 1000 bytes and headers of 8 + 20 (IP) and 24 more on Ethernet, at 1 Gbit/s and at 10 Mbit/s.
    let (ethernet, first) = (f64::from(1_000 + 28 + 24) * 8.0, arrivals[0].0.as_secs_f64());
    let expected = ethernet / 1e9 + ethernet / 1e7 + 0.005;
    assert!((first - expected).abs() < 30e-6, "{first} and not {expected}");
    assert_eq!(arrivals.len(), 5);
}

#[test]
fn the_same_seed_gives_the_same_arrivals_beside_tcp() {
    let crossing =
        || plan(Link::new(10_000_000, 4 * MS).queue("fq_codel")).tcp("cubic", "client", "server", "cubic");
    let (report, first) = ran(&crossing(), Steady::new(MS, 900));
    let (_, second) = ran(&crossing(), Steady::new(MS, 900));
    assert_eq!(first, second);
    // Fair queueing: half of the link is more than the endpoint wants, and TCP has the rest.
    let (mine, cubic) = (SECOND..5 * SECOND, SECOND..5 * SECOND);
    let (mine, cubic) = (report.goodput_bps("mine", mine), report.goodput_bps("cubic", cubic));
    assert!((4.2e6..5.2e6).contains(&mine) && (3.9e6..5.4e6).contains(&cubic), "{mine} {cubic}");
}

#[test]
fn datagrams_that_are_sent_in_a_fade_over_wifi_are_lost_or_late() {
    let path = |cell| {
        let hosts = Plan::new(1, 5 * SECOND).host("client").host("router").host("server");
        let wired = hosts.link("router", "server", Link::new(100_000_000, MS));
        wired.wifi("router", "client", cell).endpoints("mine", "client", "server")
    };
    let arrived = |cell: Wifi| -> Vec<Duration> {
        let (_, arrivals) = ran(&path(cell), Steady::new(MS, 900));
        arrivals.into_iter().map(|(at, ..)| at).collect()
    };
    let within = |arrivals: &[Duration], ms: std::ops::Range<u32>| {
        arrivals.iter().filter(|&&at| at > ms.start * MS && at < ms.end * MS).count()
    };
    let steady = arrived(Wifi::new(40, 1));
    assert!(within(&steady, 1_000..5_000) > 3_990);
    let faded = arrived(Wifi::new(40, 1).snr_from(2 * SECOND, -10.0).snr_from(3 * SECOND, 30.0));
    assert_eq!(within(&faded, 2_005..3_000), 0);
    assert!(within(&faded, 1_000..2_000) > 990 && within(&faded, 4_000..5_000) > 990);
}

#[test]
fn a_full_queue_marks_a_datagram_that_can_be_marked() {
    let too_fast = |ecn| {
        let datagram = Outgoing::new(vec![0; 1_200]).with_ecn(ecn);
        Steady { datagram, ..Steady::new(MS / 2, 1_200) }
    };
    let shaped = plan(Link::new(10_000_000, 4 * MS).queue("fq_codel"));
    let (report, arrivals) = ran(&shaped, too_fast(Ecn::Ect0));
    let marked = arrivals.iter().filter(|(_, _, ecn)| *ecn == Ecn::Ce).count();
    // Some of those that were marked are still on their way at the end.
    let all = report.count("mark", "mine", Duration::ZERO..5 * SECOND);
    assert!(marked > 100 && (marked..marked + 100).contains(&all), "{marked} of {all}");
    let (report, arrivals) = ran(&shaped, too_fast(Ecn::NotEct));
    assert!(arrivals.iter().all(|(_, _, ecn)| *ecn == Ecn::NotEct));
    assert!(report.count("drop", "mine", Duration::ZERO..5 * SECOND) > 100);
}

#[test]
fn fq_keeps_the_departure_of_a_datagram_and_a_fifo_does_not() {
    let ahead = |queue: &str| {
        let plan = Plan::new(1, SECOND)
            .host("client")
            .host("server")
            .link("client", "server", Link::new(1_000_000_000, MS).queue(queue))
            .endpoints("mine", "client", "server");
        ran(&plan, Steady { ahead: 3 * MS, ..Steady::new(100 * MS, 500) }).1[0].0
    };
    assert!((4 * MS..4 * MS + MS / 10).contains(&ahead("fq")), "{:?}", ahead("fq"));
    assert!(ahead("pfifo") < MS + MS / 10);
}

#[test]
fn segments_of_one_buffer_are_datagrams_of_their_own() {
    let datagram = Outgoing { segment: Some(1_200), ..Outgoing::new(vec![0; 3_000]) };
    let (_, arrivals) =
        ran(&plan(Link::new(10_000_000, MS)), Steady { datagram, ..Steady::new(10 * SECOND, 0) });
    assert_eq!(arrivals.iter().map(|&(_, bytes, _)| bytes).collect::<Vec<_>>(), [1_200, 1_200, 600]);
}

#[test]
fn a_full_send_buffer_refuses_and_takes_again_and_nothing_is_lost() {
    let plan = Plan::new(1, 5 * SECOND)
        .host("client")
        .host("server")
        .link("client", "server", Link::new(10_000_000, MS).queue_with("pfifo", &[("limit", 1_000)]))
        .endpoints("mine", "client", "server");
    let burst = Outgoing { segment: Some(1_000), ..Outgoing::new(vec![0; 400_000]) };
    let (report, arrivals) = ran(&plan, Steady { datagram: burst, ..Steady::new(10 * SECOND, 0) });
    assert_eq!(arrivals.len(), 400);
    assert_eq!(report.count("drop", "mine", Duration::ZERO..5 * SECOND), 0);
}

#[test]
fn both_ends_send() {
    let notes = Notes { echoes: true, ..Notes::default() };
    let mut network = Network::of_plan(&plan(Link::new(10_000_000, 4 * MS))).unwrap();
    let back = Notes::default();
    let arrivals = back.arrivals.clone();
    struct Both(Steady, Notes);
    impl Endpoint for Both {
        fn receive(&mut self, now: Duration, datagram: Received<'_>) {
            self.1.receive(now, datagram);
        }
        fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
            self.0.transmit(now)
        }
        fn timeout(&mut self) -> Option<Duration> {
            self.0.timeout()
        }
    }
    network.attach("mine", Both(Steady::new(SECOND, 100), back), notes).unwrap();
    network.run_until(SECOND / 2).unwrap();
    assert_eq!(network.now(), SECOND / 2);
    assert_eq!(arrivals.borrow().len(), 1, "one round trip is over");
    network.finish().unwrap();
    assert_eq!(arrivals.borrow().len(), 5);
}

/// Wants to be called at a time that has passed, and does nothing then.
struct Past;

impl Endpoint for Past {
    fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}

    fn transmit(&mut self, _now: Duration) -> Option<Outgoing> {
        None
    }

    fn timeout(&mut self) -> Option<Duration> {
        Some(MS)
    }
}

#[test]
fn an_endpoint_that_asks_for_the_past_ends_the_run_with_its_name() {
    let mut network = Network::of_plan(&plan(Link::new(10_000_000, MS))).unwrap();
    network.attach("mine", Past, Notes::default()).unwrap();
    let error = network.finish().unwrap_err();
    assert!(matches!(&error, Error::StandsStill { name, .. } if name == "mine"), "{error}");
}

#[test]
fn a_datagram_that_does_not_fit_is_an_error_with_the_most_that_fits() {
    let mut network = Network::of_plan(&plan(Link::new(10_000_000, MS))).unwrap();
    network.attach("mine", Steady::new(SECOND, 1_473), Notes::default()).unwrap();
    let error = network.finish().unwrap_err();
    assert!(matches!(error, Error::TooLong { bytes: 1_473, most: 1_472, .. }), "{error}");
}

#[test]
fn names_that_are_not_there_are_refused_with_those_that_are() {
    let mut network = Network::of_plan(&plan(Link::new(10_000_000, MS))).unwrap();
    let error = network.attach("yours", Past, Past).unwrap_err().to_string();
    assert!(error.contains("`yours`") && error.contains("mine"), "{error}");
    network.attach("mine", Notes::default(), Notes::default()).unwrap();
    assert!(network.attach("mine", Past, Past).is_err(), "they are there already");
    let nowhere = plan(Link::new(10_000_000, MS)).tcp("flow", "client", "nobody", "cubic");
    assert!(Network::of_plan(&nowhere).is_err());
}

#[test]
fn a_capture_has_the_content_of_datagrams() {
    let (report, _) = ran(&plan(Link::new(10_000_000, MS)).capture("server"), Steady::new(SECOND, 333));
    let (host, file) = &report.captures()[0];
    assert_eq!(host, "server");
    assert!(file.windows(333).any(|part| part == [7; 333]));
}

#[test]
fn seeds_depend_on_the_run_and_the_name() {
    let network = |seed| Network::of_plan(&Plan::new(seed, SECOND).host("a")).unwrap();
    assert_eq!(network(1).seed("quic/client"), network(1).seed("quic/client"));
    assert_ne!(network(1).seed("quic/client"), network(2).seed("quic/client"));
    assert_ne!(network(1).seed("quic/client"), network(1).seed("quic/server"));
}

/// Counts its calls, says what it knows of itself, and gives up at a time.
struct GivesUp {
    at: Duration,
    calls: Rc<RefCell<u32>>,
}

impl Endpoint for GivesUp {
    fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}

    fn transmit(&mut self, _now: Duration) -> Option<Outgoing> {
        *self.calls.borrow_mut() += 1;
        None
    }

    fn timeout(&mut self) -> Option<Duration> {
        Some(self.at)
    }

    fn info(&mut self, _now: Duration) -> Option<Info> {
        Some(Info { cwnd: Some(12_000), rtt: Some(7 * MS), ..Info::default() })
    }

    fn failure(&mut self) -> Option<String> {
        (*self.calls.borrow() > 1).then(|| "it has no more to say".to_owned())
    }
}

#[test]
fn an_endpoint_that_cannot_go_on_ends_the_run_with_its_reason() {
    let mut network = Network::of_plan(&plan(Link::new(10_000_000, MS))).unwrap();
    network.attach("mine", GivesUp { at: 2 * SECOND, calls: Rc::default() }, Notes::default()).unwrap();
    let error = network.run_until(5 * SECOND).unwrap_err();
    assert_eq!(error.to_string(), "endpoints `mine` at 2 s: it has no more to say");
}

#[test]
fn endpoints_are_not_called_before_their_traffic_starts() {
    let json = r#"{"title": "", "seed": 1, "duration_ns": 3000000000, "qdiscs": [],
        "hosts": [{"name": "a", "stack": "linux-6.12", "sysctl": {}, "offloads": "off"},
                  {"name": "b", "stack": "linux-6.12", "sysctl": {}, "offloads": "off"}],
        "links": [{"ends": [0, 1], "rate_bps": 10000000, "delay_ns": [0, 0], "mtu": 1500, "ring": 256, "bql": true}],
        "traffic": [{"kind": "endpoint", "name": "mine", "from": 0, "to": 1, "start_ns": 1500000000}],
        "record": {"interval_ns": 100000000, "tcp_info": "interval", "events": false}}"#;
    let mut network = Network::of_json(json).unwrap();
    let calls = Rc::<RefCell<u32>>::default();
    network.attach("mine", GivesUp { at: 9 * SECOND, calls: calls.clone() }, Notes::default()).unwrap();
    network.run_until(1499 * MS).unwrap();
    assert_eq!(*calls.borrow(), 0);
    network.run_until(1501 * MS).unwrap();
    assert_eq!(*calls.borrow(), 1);
}

#[test]
fn what_endpoints_report_is_recorded_at_each_interval_if_it_is_asked_for() {
    let asked = |records: bool| {
        let mut network = Network::of_plan(&plan(Link::new(10_000_000, MS))).unwrap();
        network.attach("mine", GivesUp { at: 9 * SECOND, calls: Rc::default() }, Notes::default()).unwrap();
        if records {
            network.record_info();
        }
        network.finish().unwrap()
    };
    let report = asked(true);
    assert_eq!(report.number("endpoints", "cwnd_bytes", 49), Some(12_000.0));
    assert_eq!(report.number("endpoints", "rtt", 0), Some(7_000.0));
    assert_eq!(report.number("endpoints", "min_rtt", 0), None);
    assert_eq!(report.text("endpoints", "end", 0), Some("from"));
    assert_eq!(asked(false).number("endpoints", "cwnd_bytes", 0), None);
}

#[test]
fn a_steered_flow_has_the_window_that_was_set_and_keeps_it_after_a_loss() {
    let json = r#"{"title": "", "seed": 1, "duration_ns": 4000000000, "qdiscs": [],
        "hosts": [{"name": "a", "stack": "linux-6.12", "sysctl": {}, "offloads": "off"},
                  {"name": "b", "stack": "linux-6.12", "sysctl": {}, "offloads": "off"}],
        "links": [{"ends": [0, 1], "rate_bps": 10000000, "delay_ns": [10000000, 10000000], "mtu": 1500, "ring": 256,
                   "bql": true, "netem": [{"loss": 43000000}, {}]}],
        "controls": [{"name": "mine", "language": "steered", "sha256": "", "text": ""}],
        "traffic": [{"kind": "tcp", "name": "upload", "from": 0, "to": 1, "start_ns": 0, "stop_ns": null, "bytes": null,
                     "cc": {"name": "mine", "options": {}}, "tsq": {"kind": "time", "shift": 10},
                     "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                                "notsent_lowat": null, "mss": null}}],
        "record": {"interval_ns": 100000000, "tcp_info": "interval", "events": false}}"#;
    let mut run = SteeredRun::of_scenario(&Scenario::from_json(json).unwrap(), "upload").unwrap();
    let second = tailback_units::Span::from_secs(1);
    let first = run.step(5, None, second).unwrap();
    assert_eq!((first.lasted, first.info.unwrap().snd_cwnd.get()), (SECOND, 5));
    let later = run.step(12, None, second).unwrap();
    assert!(later.seen.lost > 0 && later.seen.acks > 100, "{later:?}");
    assert_eq!(later.info.unwrap().snd_cwnd.get(), 12);
    assert!(later.acked > first.acked);
    run.step(12, None, second).unwrap();
    assert!(!run.is_over());
    run.step(12, None, second).unwrap();
    assert!(run.is_over());
}

#[test]
fn the_buffer_of_a_datagram_comes_back_to_its_sender_when_it_has_arrived() {
    /// Sends one datagram.
    struct One {
        buffer: Option<Vec<u8>>,
        came_back: Rc<RefCell<Vec<Vec<u8>>>>,
    }
    impl Endpoint for One {
        fn receive(&mut self, _now: Duration, _datagram: Received<'_>) {}
        fn transmit(&mut self, _now: Duration) -> Option<Outgoing> {
            self.buffer.take().map(Outgoing::new)
        }
        fn returned(&mut self, buffer: Vec<u8>) {
            self.came_back.borrow_mut().push(buffer);
        }
        fn timeout(&mut self) -> Option<Duration> {
            None
        }
    }
    let came_back = Rc::default();
    let sender = One { buffer: Some(vec![3; 700]), came_back: Rc::clone(&came_back) };
    let (_, arrivals) = ran(&plan(Link::new(10_000_000, 4 * MS)), sender);
    assert_eq!((arrivals.len(), came_back.take()), (1, vec![vec![3; 700]]));
}
