//! A browser that loads a web page, and its server.
//!
//! Objects become known, and connections are opened and given objects, as in the simulator (crates/world/src/app/page.rs).
//! A thread per connection asks and reads. Requests [say how long their response is](super::fetch), so the server needs to
//! know nothing about the page.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::sent::Sockets;
use super::{Application, Live, TableKind, Tables, bulk, fetch, locked, spawn};
use crate::clock::Clock;
use crate::failure::{Failure, While};
use crate::job::{Multiplexing, Page};
use crate::network::Network;
use crate::tcp_info::SocketTables;

const OBJECTS: TableKind =
    TableKind { name: "objects", columns: &["t_ns", "page", "object", "bytes", "loaded_ns"] };
/// The tables of this kind.
pub const TABLES: &[TableKind] = &[OBJECTS];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Unused,
    Connecting,
    Open,
}

/// A connection of the browser.
struct Wire {
    phase: Phase,
    /// Objects to ask for.
    wanted: Vec<usize>,
    /// Objects that were given to it and have not arrived.
    waiting: usize,
}

/// A page being loaded.
struct State {
    page: Page,
    wires: Vec<Wire>,
    /// Objects that are known and have not been given to a connection, in their order.
    unrequested: Vec<usize>,
    /// When the last byte of each was read.
    loaded_ns: Vec<Option<u64>>,
    failure: Option<String>,
}

impl State {
    fn new(page: &Page) -> Self {
        let unused = || Wire { phase: Phase::Unused, wanted: Vec::new(), waiting: 0 };
        Self {
            wires: (0..page.connections).map(|_| unused()).collect(),
            unrequested: Vec::new(),
            loaded_ns: vec![None; page.objects.len()],
            page: page.clone(),
            failure: None,
        }
    }

    /// Gives known objects to free connections, and opens connections for others.
    fn give(&mut self) {
        let one = self.page.multiplexing == Multiplexing::One;
        for wire in self.wires.iter_mut().filter(|wire| wire.phase == Phase::Open) {
            while !self.unrequested.is_empty() && (!one || wire.waiting == 0) {
                wire.wanted.push(self.unrequested.remove(0));
                wire.waiting += 1;
            }
        }
        let opening = self.wires.iter().filter(|wire| wire.phase == Phase::Connecting).count();
        let more = self.unrequested.len().saturating_sub(opening);
        let unused = self.wires.iter_mut().filter(|wire| wire.phase == Phase::Unused);
        unused.take(more).for_each(|wire| wire.phase = Phase::Connecting);
    }

    /// An object has arrived on a connection: those that it names are known.
    fn arrived(&mut self, number: usize, object: usize, now_ns: u64) {
        self.loaded_ns[object] = Some(now_ns);
        self.wires[number].waiting -= 1;
        let named = self.page.objects.iter().enumerate().filter(|(_, each)| each.after == Some(object));
        self.unrequested.extend(named.map(|(place, _)| place));
        self.unrequested.sort_unstable();
        self.give();
    }
}

/// What the threads of a browser share.
struct Browser {
    state: Mutex<State>,
    changed: Condvar,
}

impl Browser {
    /// Changes the state and tells all threads.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut locked(&self.state));
        self.changed.notify_all();
    }

    /// Waits until the state is as wanted.
    fn wait(&self, wanted: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waiting = self.changed.wait_while(locked(&self.state), |state| !wanted(state));
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page in progress, as far as its ends are here.
pub struct RunningPage {
    page: Arc<Page>,
    sockets: Vec<OwnedFd>,
    listener: Option<OwnedFd>,
    is_browser: bool,
    /// The sockets of the browser and of the server that have begun.
    ends: [Sockets; 2],
    browser: Arc<Browser>,
    bins: Arc<Mutex<Vec<u64>>>,
}

impl RunningPage {
    /// Opens the sockets that are here.
    pub fn prepare(page: &Page, bins: usize, network: &Network) -> Result<Self, Failure> {
        let named = |place: usize| page.objects[place].after.is_some_and(|after| after < place);
        if page.size < fetch::HEADER || page.objects.is_empty() || !(1..page.objects.len()).all(named) {
            return Err(Failure::new(format!(
                "{}: requests have at least {} bytes, and an object follows one before it",
                page.name,
                fetch::HEADER
            )));
        }
        let connection = page.connection();
        let is_browser = network.has(page.from);
        let mut sockets = Vec::new();
        for _ in 0..if is_browser { page.connections } else { 0 } {
            let socket = bulk::open_sender(&connection, network)?;
            fetch::no_delay(&socket).doing(format!("setting socket options of {}", page.name))?;
            sockets.push(socket);
        }
        let listener = network.has(page.to).then(|| bulk::open_receiver(&connection, network)).transpose()?;
        Ok(Self {
            page: Arc::new(page.clone()),
            sockets,
            listener,
            is_browser,
            ends: ["client", "server"].map(Sockets::of),
            browser: Arc::new(Browser { state: Mutex::new(State::new(page)), changed: Condvar::new() }),
            bins: Arc::new(Mutex::new(vec![0; bins])),
        })
    }
}

impl Application for RunningPage {
    fn start(&mut self, clock: Clock, interval_ns: u64) -> Result<(), Failure> {
        if let Some(listener) = self.listener.take() {
            let (page, server) = (self.page.clone(), self.ends[1].clone());
            spawn(move || fetch::serve(&page.connection(), page.size, &listener, &server))?;
        }
        for (number, socket) in self.sockets.drain(..).enumerate() {
            let (page, browser, bins) = (self.page.clone(), self.browser.clone(), self.bins.clone());
            let socket = self.ends[0].add(socket);
            spawn(move || {
                if number == 0 {
                    clock.sleep_until(page.start_ns);
                    browser.change(|state| {
                        state.unrequested.push(0);
                        state.give();
                    });
                }
                let count = |read| bulk::count(read, &bins, clock, interval_ns);
                if let Err(error) = load(&page, &browser, (number, &socket), clock, count) {
                    browser.change(|state| state.failure = Some(error.to_string()));
                }
            })?;
        }
        Ok(())
    }

    fn failure(&self) -> Option<Failure> {
        let state = locked(&self.browser.state);
        state.failure.as_ref().map(|failure| Failure::new(format!("{}: {failure}", self.page.name)))
    }

    fn sample(&self, t_ns: u64, tables: &mut SocketTables) -> Result<(), Failure> {
        self.ends.iter().try_for_each(|end| end.sample(t_ns, &self.page.name, tables))
    }

    fn live(&self, live: &mut Live) {
        if self.is_browser {
            live.bytes.insert(self.page.name.clone(), locked(&self.bins).iter().sum());
        }
    }

    fn measured(&self, interval_ns: u64, tables: &mut Tables) -> Result<(), Failure> {
        if !self.is_browser {
            return Ok(());
        }
        let (name, start_ns) = (&self.page.name, self.page.start_ns);
        for (bin, bytes) in locked(&self.bins).iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let t_ns = (bin as u64 + 1) * interval_ns;
            tables.row_at(&bulk::FLOWS, t_ns).cell(t_ns).name(name).cell(bytes);
        }
        let state = locked(&self.browser.state);
        for (number, (object, loaded_ns)) in self.page.objects.iter().zip(&state.loaded_ns).enumerate() {
            let mut row = tables.row_at(&OBJECTS, start_ns);
            row.cell(start_ns).name(name).cell(number).cell(object.bytes);
            row.maybe(loaded_ns.map(|at_ns| at_ns.saturating_sub(start_ns)));
        }
        Ok(())
    }
}

/// The browser's side of one connection.
fn load(
    page: &Page,
    browser: &Browser,
    (number, socket): (usize, &OwnedFd),
    clock: Clock,
    mut count: impl FnMut(u64),
) -> io::Result<()> {
    drop(browser.wait(|state| state.wires[number].phase == Phase::Connecting));
    bulk::connect(&page.connection(), socket)?;
    browser.change(|state| {
        state.wires[number].phase = Phase::Open;
        state.give();
    });
    let mut waiting = VecDeque::new();
    loop {
        let idle = waiting.is_empty();
        let wanted = {
            let mut state = browser.wait(|state| !idle || !state.wires[number].wanted.is_empty());
            std::mem::take(&mut state.wires[number].wanted)
        };
        if !wanted.is_empty() {
            let requests: Vec<u8> = wanted
                .iter()
                .flat_map(|&object| fetch::request(page.size, page.objects[object].bytes))
                .collect();
            fetch::send(socket, requests.len() as u64, &requests)?;
            waiting.extend(wanted.into_iter().map(|object| (object, page.objects[object].bytes)));
        }
        if let Some((object, left)) = waiting.front_mut() {
            let read = fetch::read(socket, *left)?;
            count(read);
            *left -= read;
            if *left == 0 {
                let object = *object;
                waiting.pop_front();
                browser.change(|state| state.arrived(number, object, clock.now_ns()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PORT, own_address};
    use super::*;
    use crate::sys;
    use crate::table::Ordered;

    fn page(connections: usize, multiplexing: &str) -> Page {
        let address = own_address();
        let job = format!(
            r#"{{"name": "page", "from": 0, "to": 0, "address": "{address}", "port": {PORT}, "start_ns": 0, "size": 400,
                "objects": [{{"bytes": 100, "after": null}}, {{"bytes": 70000, "after": 0}},
                            {{"bytes": 5, "after": 0}}, {{"bytes": 3000000, "after": 2}}],
                "connections": {connections}, "multiplexing": "{multiplexing}",
                "congestion_control": "cubic", "pacing_shift": null, "token": "geheimgeheim"}}"#
        );
        serde_json::from_str(&job).unwrap()
    }

    #[test]
    fn a_page_is_loaded_over_one_connection_or_several() {
        let network = Network::of_machine(&["here".to_owned()], 0).unwrap();
        for page in [page(1, "all"), page(3, "one"), page(1, "one")] {
            let mut running = RunningPage::prepare(&page, 10, &network).unwrap();
            let clock = Clock::starting_at(sys::monotonic_ns());
            running.start(clock, 100_000_000_000).unwrap();
            let loaded = || {
                assert!(running.failure().is_none());
                let mut tables = Tables::empty();
                running.measured(100_000_000_000, &mut tables).unwrap();
                let mut tables = tables.0.into_iter().map(Ordered::finish);
                let text = tables.find(|table| table.name() == "objects").unwrap().take();
                text.lines().skip(1).filter(|line| !line.ends_with(',')).count()
            };
            while loaded() < 4 {
                assert!(clock.now_ns() < 900_000_000_000);
                clock.sleep_until(clock.now_ns() + 1_000_000);
            }
        }
    }
}
