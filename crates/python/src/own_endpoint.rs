//! Endpoints of the user: an object of the user's class in Python, or one of a library (`tailback_library`).

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rand_core::{Rng, SeedableRng};
use tailback_library::{End, Event, LibraryEndpoint, LibraryFile, Notes, Setup, past};
use tailback_net::{Ecn, Endpoint, Error, Info, Network, Outgoing, Received, Scenario};
use tailback_world::scenario::{ParametersOfControl, Traffic};

use crate::own_control::Failed;

const NANOS: f64 = 1e9;

/// Makes the endpoints of a run.
pub struct Endpoints<'a> {
    /// A callable: name of the file and setup in; the path of a library or an object out.
    pub make: &'a Py<PyAny>,
    pub failed: &'a Failed,
    pub notes: &'a Notes,
}

impl Endpoints<'_> {
    /// Gives all traffic with a file of the user its endpoints.
    pub fn attach_all(&self, scenario: &Scenario, network: &mut Network) -> Result<(), Error> {
        for entry in &scenario.traffic {
            if let Traffic::Endpoint(keys) = entry
                && let Some(file) = &keys.library
            {
                let asked = Asked { flow: &keys.name, file, options: &keys.options };
                let [first, second] = [End::From, End::To].map(|end| self.endpoint(asked, end, network));
                network.attach(&keys.name, first?, second?)?;
            }
        }
        Ok(())
    }

    fn endpoint(&self, asked: Asked<'_>, end: End, network: &Network) -> Result<Box<dyn Endpoint>, Error> {
        let Asked { flow, file, options } = asked;
        let (start, until) = (network.start(flow)?, network.end());
        let setup = Setup {
            end,
            flow: flow.to_owned(),
            options: options.iter().map(|(name, value)| (name.clone(), word(value))).collect(),
            start,
            until,
            most: network.most(flow)?,
            seed: network.seed(&format!("{}/{}", flow, end.word())),
        };
        let fails = |reason: String| Error::Failed { name: flow.to_owned(), now: start, reason };
        let made = Python::attach(|py| self.made(py, asked, &setup));
        match made.map_err(|error| {
            let reason = error.to_string();
            self.failed.keep(error);
            fails(reason)
        })? {
            Made::Library(path) => {
                let named = |problem: String| fails(format!("{file}: {problem}"));
                let library = LibraryFile::open(&path).map_err(named)?;
                Ok(Box::new(LibraryEndpoint::open(library, &setup, self.notes).map_err(named)?))
            }
            Made::Object(object) => Ok(Box::new(object)),
        }
    }

    fn made(&self, py: Python<'_>, asked: Asked<'_>, setup: &Setup) -> PyResult<Made> {
        let options = serde_json::Value::Object(asked.options.clone()).to_string();
        let told = Py::new(py, EndpointSetup::of(setup, self.notes.clone()))?;
        let found = self.make.bind(py).call1((asked.file, options, told.clone_ref(py)))?;
        if let Ok(path) = found.extract::<String>() {
            return Ok(Made::Library(path));
        }
        Ok(Made::Object(PythonEndpoint::of(&found, told, self.failed.clone())?))
    }
}

/// What an entry of the traffic says.
#[derive(Clone, Copy)]
struct Asked<'a> {
    flow: &'a str,
    file: &'a str,
    options: &'a ParametersOfControl,
}

enum Made {
    Library(String),
    Object(PythonEndpoint),
}

/// A value of an option as C reads it.
fn word(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Events as tuples: flow, end, time in ms, name, data as JSON.
pub fn events(py: Python<'_>, noted: Vec<Event>) -> PyResult<Bound<'_, PyList>> {
    let rows = noted
        .into_iter()
        .map(|each| (each.flow, each.end.word(), each.at.as_nanos() as f64 / 1e6, each.name, each.data));
    PyList::new(py, rows.collect::<Vec<_>>())
}

/// What an endpoint in Python is told when it is made, and the services that it may call.
#[pyclass(module = "tailback._core")]
pub struct EndpointSetup {
    setup: Setup,
    notes: Notes,
    now: Duration,
    random: Option<Py<PyAny>>,
}

impl EndpointSetup {
    fn of(setup: &Setup, notes: Notes) -> Self {
        EndpointSetup { setup: setup.clone(), notes, now: setup.start, random: None }
    }
}

#[pymethods]
impl EndpointSetup {
    /// The host that it is at: `from` or `to`.
    #[getter]
    fn end(&self) -> &'static str {
        self.setup.end.word()
    }

    /// The name of the flow.
    #[getter]
    fn flow(&self) -> &str {
        &self.setup.flow
    }

    /// The most bytes of a datagram on this path.
    #[getter]
    fn max_datagram(&self) -> u32 {
        self.setup.most
    }

    /// When it begins, in seconds since the start of the run.
    #[getter]
    fn start(&self) -> f64 {
        self.setup.start.as_secs_f64()
    }

    /// The end of the run.
    #[getter]
    fn until(&self) -> f64 {
        self.setup.until.as_secs_f64()
    }

    /// A `random.Random`, whose seed follows from that of the run, the flow and the end.
    #[getter]
    fn random(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.random.is_none() {
            let seed = rand_xoshiro::Xoshiro256PlusPlus::from_seed(self.setup.seed).next_u64();
            let made = py.import("random")?.getattr("Random")?.call((seed,), None::<&Bound<'_, PyDict>>)?;
            self.random = Some(made.unbind());
        }
        Ok(self.random.as_ref().expect("it was just made").clone_ref(py))
    }

    /// A line for `endpoint.log`.
    fn log(&self, line: &str) {
        let (now, flow, end) = (self.now.as_secs_f64(), &self.setup.flow, self.setup.end.word());
        self.notes.say(&format!("{now:.6} {flow} {end}: {line}"));
    }

    /// An event for the qlog of this end; its data is a dict, or the text of a JSON object.
    fn event(&self, name: String, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = match data.extract::<String>() {
            Ok(text) => text,
            Err(_) => data.py().import("json")?.call_method1("dumps", (data,))?.extract()?,
        };
        let (flow, end, at) = (self.setup.flow.clone(), self.setup.end, self.now);
        self.notes.event(Event { flow, end, at, name, data }).map_err(PyValueError::new_err)
    }
}

/// An object of the user's class.
struct PythonEndpoint {
    receive: Py<PyAny>,
    poll: Py<PyAny>,
    next_timeout: Py<PyAny>,
    info: Option<Py<PyAny>>,
    setup: Py<EndpointSetup>,
    now: Duration,
    /// The time that it wants to be called at, and the number of seconds that it gave.
    asked: Option<(Duration, f64)>,
    failed: Failed,
    reason: Option<String>,
}

impl PythonEndpoint {
    fn of(object: &Bound<'_, PyAny>, setup: Py<EndpointSetup>, failed: Failed) -> PyResult<Self> {
        let method = |name| object.getattr(name).map(Bound::unbind);
        Ok(PythonEndpoint {
            receive: method("receive")?,
            poll: method("poll")?,
            next_timeout: method("next_timeout")?,
            info: object.getattr_opt("info")?.map(Bound::unbind),
            setup,
            now: Duration::ZERO,
            asked: None,
            failed,
            reason: None,
        })
    }

    /// The time in seconds. At the time that it asked for this is the number that it gave: not less by rounding.
    fn seconds(&self, now: Duration) -> f64 {
        self.asked.filter(|&(asked, _)| asked == now).map_or(now.as_secs_f64(), |(_, given)| given)
    }

    /// Calls the user's code, unless it has failed.
    fn call<T>(&mut self, now: Duration, call: impl FnOnce(&Self, Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.reason.is_some() {
            return None;
        }
        self.now = now;
        let found = Python::attach(|py| {
            self.setup.borrow_mut(py).now = now;
            call(self, py)
        });
        found
            .map_err(|error| {
                self.reason = Some(error.to_string());
                self.failed.keep(error);
            })
            .ok()
    }
}

impl Endpoint for PythonEndpoint {
    fn receive(&mut self, now: Duration, datagram: Received<'_>) {
        self.call(now, |this, py| {
            let data = PyBytes::new(py, datagram.data);
            this.receive.bind(py).call1((this.seconds(now), data, word_of(datagram.ecn))).map(drop)
        });
    }

    fn transmit(&mut self, now: Duration) -> Option<Outgoing> {
        self.call(now, |this, py| {
            let given = this.poll.bind(py).call1((this.seconds(now),))?;
            if given.is_none() { Ok(None) } else { outgoing(&given).map(Some) }
        })?
    }

    fn timeout(&mut self) -> Option<Duration> {
        let now = self.now;
        let asked = self.call(now, |this, py| {
            let given = this.next_timeout.bind(py).call0()?;
            if given.is_none() {
                return Ok(None);
            }
            Ok(Some((time(&given, "`next_timeout`")?, number(&given, "`next_timeout`")?)))
        })?;
        self.asked = asked;
        let asked = asked.map(|(asked, _)| asked);
        self.reason = self.reason.take().or_else(|| past(asked, now));
        asked
    }

    fn info(&mut self, now: Duration) -> Option<Info> {
        self.info.as_ref()?;
        self.call(now, |this, py| {
            let Some(info) = &this.info else { return Ok(Info::default()) };
            facts(&info.bind(py).call1((this.seconds(now),))?)
        })
    }

    fn failure(&mut self) -> Option<String> {
        self.reason.clone()
    }
}

/// `bytes`, or a pair of `bytes` and a dict with `ecn`, `departure` and `segment`.
fn outgoing(given: &Bound<'_, PyAny>) -> PyResult<Outgoing> {
    if let Ok(data) = given.extract::<Vec<u8>>() {
        return Ok(Outgoing::new(data));
    }
    let Ok((data, more)) = given.extract::<(Vec<u8>, Bound<'_, PyDict>)>() else {
        return Err(PyTypeError::new_err(
            "`poll` gives the bytes of a datagram, such bytes and a dict of ecn, departure, segment, or None",
        ));
    };
    let mut found = Outgoing::new(data);
    for (name, value) in more {
        match key(&name, "poll")?.as_str() {
            "ecn" => found.ecn = ecn(&as_a::<String>("`ecn` of `poll`", "a word", &value)?)?,
            "departure" => found.departure = Some(time(&value, "`departure` of `poll`")?),
            "segment" => found.segment = Some(as_a("`segment` of `poll`", "a number of bytes", &value)?),
            other => {
                let known = "ecn, departure and segment";
                return Err(PyValueError::new_err(format!("`poll` gives `{other}`; there are {known}")));
            }
        }
    }
    Ok(found)
}

fn facts(given: &Bound<'_, PyAny>) -> PyResult<Info> {
    let dict = given.cast::<PyDict>().map_err(|_| PyTypeError::new_err("`info` gives a dict"))?;
    let mut found = Info::default();
    for (name, value) in dict {
        let name = key(&name, "info")?;
        let what = format!("`{name}` of `info`");
        let value = Some(value).filter(|value| !value.is_none());
        let whole = || value.as_ref().map(|value| whole(value, &what)).transpose();
        let time = || value.as_ref().map(|value| time(value, &what)).transpose();
        match name.as_str() {
            "cwnd_bytes" => found.cwnd = whole()?,
            "datagram_bytes" => found.datagram = whole()?,
            "in_flight_bytes" => found.in_flight = whole()?,
            "rtt" => found.rtt = time()?,
            "min_rtt" => found.min_rtt = time()?,
            "pacing_rate" => found.pacing_bps = whole()?,
            "read_bytes" => found.read = whole()?,
            "lost" => found.lost = whole()?,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "`info` gives `{name}`; there are cwnd_bytes, datagram_bytes, in_flight_bytes, rtt, min_rtt, \
                     pacing_rate, read_bytes and lost"
                )));
            }
        }
    }
    Ok(found)
}

/// A key of a dict that `method` gives.
fn key(name: &Bound<'_, PyAny>, method: &str) -> PyResult<String> {
    as_a(&format!("a key that `{method}` gives"), "a word", name)
}

/// What the user's code gives as `what`, if it is of this kind.
fn as_a<'py, T: FromPyObjectOwned<'py>>(what: &str, kind: &str, given: &Bound<'py, PyAny>) -> PyResult<T> {
    given.extract().map_err(|_| match given.repr() {
        Ok(shown) => PyTypeError::new_err(format!("{what} is {kind}, not {shown}")),
        Err(error) => error,
    })
}

fn number(given: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    as_a(what, "a number", given)
}

/// A time in seconds since the start of the run.
fn time(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Duration> {
    let seconds = number(given, what)?;
    if !(0.0..1e9).contains(&seconds) {
        return Err(PyValueError::new_err(format!("{what} cannot be {seconds} s")));
    }
    Ok(Duration::from_nanos((seconds * NANOS).round() as u64))
}

/// A number of bytes, of datagrams, or of bits per second.
fn whole(given: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    let number = number(given, what)?;
    if !(0.0..1e18).contains(&number) {
        return Err(PyValueError::new_err(format!("{what} cannot be {number}")));
    }
    Ok(number.round() as u64)
}

fn word_of(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

fn ecn(word: &str) -> PyResult<Ecn> {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().find(|&ecn| word_of(ecn) == word).ok_or_else(
        || PyValueError::new_err(format!("`ecn` cannot be `{word}`; write not-ect, ect0, ect1 or ce")),
    )
}
