//! Congestion controls of the user. In Python: an object of the user's class behind the traits of `tailback_cc`. In C:
//! a compiled kernel module (`tailback_module`).
//!
//! Every call of a control takes the interpreter's lock. The first exception of the user's code ends the run: from
//! then on no control is called, the watcher stops the run, and the exception goes back to Python.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand_core::Rng;
use tailback_cc::{
    AckSample, CaState, Control, CwndEvent, EcnNeed, Flow, Hooks, ModelControl, RateSample, Window,
    WindowControl,
};
use tailback_module::ModuleFile;
use tailback_units::{Rate, Segs, Span};
use tailback_world::scenario::{ControlSource, ParametersOfControl};
use tailback_world::{OwnControl, OwnControls, Proceed, Reached, Watch};

/// The languages of kernel modules and of BPF programs, which are compiled as such.
const COMPILED: [&str; 2] = ["c", "bpf"];

/// Builds controls by a callable of Python: name of the file and parameters as JSON in; an object out, or a list with
/// the path of a compiled module and its parameters as pairs of words.
pub struct PythonControls {
    build: Option<Py<PyAny>>,
    failed: Failed,
    modules: Modules,
    opened: Mutex<BTreeMap<(String, String), ModuleFile>>,
}

/// What happens with kernel modules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Modules {
    /// They are loaded: this process may crash.
    Load,
    /// Reno stands in for them.
    StandIn,
}

/// The first exception of the user's code.
#[derive(Clone, Default)]
pub struct Failed(Arc<Mutex<Option<PyErr>>>);

impl Failed {
    pub fn keep(&self, error: PyErr) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    pub fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl PythonControls {
    pub fn new(build: Option<Py<PyAny>>, modules: Modules) -> Self {
        PythonControls { build, failed: Failed::default(), modules, opened: Mutex::default() }
    }

    /// What the modules of the run printed.
    pub fn module_log(&self) -> Vec<String> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.values().next().map(ModuleFile::take_log).unwrap_or_default()
    }

    /// The module of a source: flows with the same parameters share it, as they do in a kernel.
    fn module(&self, source: &ControlSource, asked: &ParametersOfControl) -> Result<ModuleFile, String> {
        let parameters = serde_json::Value::Object(asked.clone()).to_string();
        let key = (source.name.clone(), parameters);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = opened.get(&key) {
            return Ok(file.clone());
        }
        let found = Python::attach(|py| -> PyResult<(String, Vec<(String, String)>)> {
            let Some(build) = &self.build else {
                return Err(PyValueError::new_err("nothing to compile the controls of the user with"));
            };
            build.bind(py).call1((&key.0, &key.1))?.extract()
        });
        let (path, words) = found.map_err(|error| {
            self.failed.keep(error);
            format!("{} failed", source.name)
        })?;
        let file =
            ModuleFile::open(&path, &words).map_err(|problem| format!("{}: {problem}", source.name))?;
        opened.insert(key, file.clone());
        Ok(file)
    }

    fn module_control(
        &self,
        source: &ControlSource,
        asked: &ParametersOfControl,
    ) -> Result<OwnControl, String> {
        if self.modules == Modules::StandIn {
            let control =
                tailback_cc::build("reno", &Default::default()).map_err(|error| error.to_string())?;
            return Ok(OwnControl { control, wants_pacing: false, sndbuf_factor: 2, needs_ecn: EcnNeed::No });
        }
        let file = self.module(source, asked)?;
        let facts = file.facts();
        Ok(OwnControl {
            control: file.control(),
            wants_pacing: facts.wants_pacing,
            sndbuf_factor: facts.sndbuf_factor,
            needs_ecn: facts.needs_ecn,
        })
    }

    /// The exception of the user's code that ended the run, if one did.
    pub fn take_failure(&self) -> Option<PyErr> {
        self.failed.take()
    }

    fn object(
        &self,
        py: Python<'_>,
        source: &ControlSource,
        asked: &ParametersOfControl,
    ) -> PyResult<OwnControl> {
        let Some(build) = &self.build else {
            return Err(PyValueError::new_err("nothing to build the controls of the user with"));
        };
        let parameters = serde_json::Value::Object(asked.clone()).to_string();
        let object = build.bind(py).call1((&source.name, parameters))?;
        let method = |name: &str| object.getattr_opt(name).map(|found| found.map(Bound::unbind));
        let control = PythonControl {
            on_start: method("on_start")?,
            on_ack: method("on_ack")?,
            cong_control: method("cong_control")?,
            on_loss: method("on_loss")?,
            on_timeout: method("on_timeout")?,
            on_undo: method("on_undo")?,
            flow: Py::new(py, FlowView::new())?,
            rtt: None,
            failed: self.failed.clone(),
        };
        let wants_pacing = control.cong_control.is_some();
        let control = match wants_pacing {
            true => Control::Model(Box::new(control)),
            false => Control::Window(Box::new(control)),
        };
        // Linux's send buffer of two windows, as of all but BBR. [linux-6.12 tcp_input.c tcp_sndbuf_expand]
        Ok(OwnControl { control, wants_pacing, sndbuf_factor: 2, needs_ecn: EcnNeed::No })
    }
}

impl OwnControls for PythonControls {
    fn build(&self, source: &ControlSource, asked: &ParametersOfControl) -> Result<OwnControl, String> {
        if COMPILED.contains(&source.language.as_str()) {
            return self.module_control(source, asked);
        }
        Python::attach(|py| self.object(py, source, asked)).map_err(|error| {
            self.failed.keep(error);
            format!("{} failed", source.name)
        })
    }

    fn needs_ecn(&self, source: &ControlSource, asked: &ParametersOfControl) -> Result<EcnNeed, String> {
        match COMPILED.contains(&source.language.as_str()) && self.modules == Modules::Load {
            true => Ok(self.module(source, asked)?.facts().needs_ecn),
            false => Ok(EcnNeed::No),
        }
    }
}

/// Stops a run whose controls failed.
pub struct UntilFailure<'a> {
    pub watch: &'a (dyn Watch + Sync),
    pub controls: &'a PythonControls,
}

impl Watch for UntilFailure<'_> {
    fn progress(&self, reached: &Reached) -> Proceed {
        match self.controls.failed.is_set() {
            true => Proceed::Stop,
            false => self.watch.progress(reached),
        }
    }
}

/// The control of one flow.
struct PythonControl {
    on_start: Option<Py<PyAny>>,
    on_ack: Option<Py<PyAny>>,
    cong_control: Option<Py<PyAny>>,
    on_loss: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
    flow: Py<FlowView>,
    /// RTT of the ACK that is being processed.
    rtt: Option<Span>,
    failed: Failed,
}

/// What a call may set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sets {
    /// cwnd and ssthresh.
    Window,
    /// cwnd, ssthresh and the pacing rate.
    WindowAndRate,
    /// ssthresh.
    Threshold,
}

impl PythonControl {
    /// Calls a method of the user, which may set values of `window`; false if it raised an exception.
    fn call(
        &self,
        method: &Py<PyAny>,
        sample: Option<Sample>,
        sets: Sets,
        (flow, window): (&Flow, &mut Window),
    ) -> bool {
        if self.failed.is_set() {
            return false;
        }
        let called = Python::attach(|py| -> PyResult<()> {
            let view = self.flow.bind(py);
            view.borrow_mut().load(flow, window, sets);
            match sample {
                Some(sample) => method.bind(py).call1((view, sample))?,
                None => method.bind(py).call1((view,))?,
            };
            view.borrow().store(window);
            Ok(())
        });
        called.map_err(|error| self.failed.keep(error)).is_ok()
    }

    fn sets_everything(&self) -> Sets {
        if self.cong_control.is_some() { Sets::WindowAndRate } else { Sets::Window }
    }

    fn threshold(&self, flow: &Flow, window: &Window) -> Segs {
        let mut copy = window.clone();
        if let Some(on_loss) = &self.on_loss {
            self.call(on_loss, None, Sets::Threshold, (flow, &mut copy));
        }
        copy.ssthresh
    }

    fn undone(&self, plain: Segs, flow: &Flow, window: &Window) -> Segs {
        let mut copy = window.clone();
        match &self.on_undo {
            Some(on_undo) if self.call(on_undo, None, Sets::Window, (flow, &mut copy)) => copy.cwnd,
            _ => plain,
        }
    }
}

impl Hooks for PythonControl {
    fn init(&mut self, flow: &Flow, window: &mut Window, draws: &mut dyn Rng) {
        let seed = draws.next_u64();
        Python::attach(|py| self.flow.borrow_mut(py).seed = seed);
        if let Some(on_start) = &self.on_start {
            self.call(on_start, None, self.sets_everything(), (flow, window));
        }
    }

    fn pkts_acked(&mut self, sample: &AckSample, _flow: &Flow, _window: &mut Window) {
        self.rtt = sample.rtt;
    }

    fn cwnd_event(&mut self, event: CwndEvent, flow: &Flow, window: &mut Window) {
        if let (CwndEvent::Loss, Some(on_timeout)) = (event, &self.on_timeout) {
            self.call(on_timeout, None, Sets::Threshold, (flow, window));
        }
    }
}

impl WindowControl for PythonControl {
    fn cong_avoid(&mut self, acked: Segs, flow: &Flow, window: &mut Window) {
        if let Some(on_ack) = &self.on_ack {
            let sample = Sample { acked: acked.0, rtt: self.rtt.map(Span::as_secs_f64), rate: None };
            self.call(on_ack, Some(sample), Sets::Window, (flow, window));
        }
    }

    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs {
        self.threshold(flow, window)
    }

    fn undo_cwnd(&mut self, flow: &Flow, window: &Window) -> Segs {
        self.undone(window.cwnd.max(window.prior_cwnd), flow, window)
    }
}

impl ModelControl for PythonControl {
    fn cong_control(&mut self, sample: &RateSample, flow: &Flow, window: &mut Window, _draws: &mut dyn Rng) {
        if let Some(cong_control) = &self.cong_control {
            let sample = Sample {
                acked: sample.acked_sacked.0,
                rtt: sample.rtt.map(Span::as_secs_f64),
                rate: Some((*sample, flow.mss)),
            };
            self.call(cong_control, Some(sample), Sets::WindowAndRate, (flow, window));
        }
    }

    fn state(&self) -> &'static str {
        "python"
    }

    fn ssthresh(&mut self, flow: &Flow, window: &Window) -> Segs {
        self.threshold(flow, window)
    }

    fn undo_cwnd(&mut self, flow: &Flow, window: &mut Window) -> Segs {
        self.undone(window.cwnd, flow, window)
    }
}

/// What a control learns from one ACK.
#[pyclass(frozen, module = "tailback._core")]
pub struct Sample {
    /// Segments newly acknowledged or SACKed.
    #[pyo3(get)]
    acked: u32,
    /// RTT in seconds; `None` if the ACK gave none.
    #[pyo3(get)]
    rtt: Option<f64>,
    /// The rate sample and the MSS; of `cong_control` alone.
    rate: Option<(RateSample, u32)>,
}

#[pymethods]
impl Sample {
    /// Segments marked lost by this ACK.
    #[getter]
    fn losses(&self) -> PyResult<u32> {
        Ok(self.rate_sample()?.0.losses.0)
    }

    /// Delivery rate in bit/s; `None` if the sample is not valid.
    #[getter]
    fn delivery_rate(&self) -> PyResult<Option<f64>> {
        let (rate, mss) = self.rate_sample()?;
        let (Some(delivered), Some(interval)) = (rate.delivered, rate.interval) else { return Ok(None) };
        let bits = delivered as f64 * f64::from(*mss) * 8.0;
        Ok((!interval.is_zero()).then(|| bits / interval.as_secs_f64()))
    }

    /// Segments in flight before this ACK.
    #[getter]
    fn prior_in_flight(&self) -> PyResult<u32> {
        Ok(self.rate_sample()?.0.prior_in_flight.0)
    }

    /// The application, not the network, limited the delivery rate.
    #[getter]
    fn app_limited(&self) -> PyResult<bool> {
        Ok(self.rate_sample()?.0.is_app_limited)
    }

    fn __repr__(&self) -> String {
        let rtt = self.rtt.map_or("None".to_owned(), |rtt| rtt.to_string());
        format!("Sample(acked={}, rtt={rtt})", self.acked)
    }
}

impl Sample {
    fn rate_sample(&self) -> PyResult<&(RateSample, u32)> {
        self.rate.as_ref().ok_or_else(|| {
            PyAttributeError::new_err(
                "only the sample of `cong_control` has this; that of `on_ack` has `acked` and `rtt`",
            )
        })
    }
}

/// The flow as the user's code sees it, and what it sets.
#[pyclass(name = "Flow", module = "tailback._core")]
pub struct FlowView {
    flow: Flow,
    window: Window,
    /// cwnd with the fraction that the user gave it.
    cwnd: f64,
    sets: Sets,
    seed: u64,
    random: Option<Py<PyAny>>,
}

impl FlowView {
    fn new() -> Self {
        let flow = Flow::established(0, Span::from_millis(1));
        let window = Window::initial(Segs::ONE);
        FlowView { flow, window, cwnd: 1.0, sets: Sets::Window, seed: 0, random: None }
    }

    /// Takes over the state of the sender. A fraction of cwnd remains unless the sender changed cwnd.
    fn load(&mut self, flow: &Flow, window: &Window, sets: Sets) {
        self.flow.clone_from(flow);
        self.window.clone_from(window);
        self.sets = sets;
        if self.cwnd as u32 != window.cwnd.0 {
            self.cwnd = f64::from(window.cwnd.0);
        }
    }

    fn store(&self, window: &mut Window) {
        window.cwnd = self.window.cwnd;
        window.ssthresh = self.window.ssthresh;
        window.pacing_rate = self.window.pacing_rate;
    }
}

/// A number of segments that a control sets: at least one, a fraction allowed.
fn segments(what: &str, value: f64) -> PyResult<f64> {
    match value >= 1.0 {
        true => Ok(value.min(f64::from(Segs::INFINITE.0))),
        false => Err(PyValueError::new_err(format!("{what} cannot be {value}: it is at least 1 segment"))),
    }
}

#[pymethods]
impl FlowView {
    /// The time in seconds since the run began.
    #[getter]
    fn now(&self) -> f64 {
        self.flow.now.as_secs_f64()
    }

    /// Payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.flow.mss
    }

    /// Congestion window in segments.
    #[getter]
    fn cwnd<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.cwnd.fract() == 0.0 {
            true => Ok(self.window.cwnd.0.into_pyobject(py)?.into_any()),
            false => Ok(self.cwnd.into_pyobject(py)?.into_any()),
        }
    }

    #[setter]
    fn set_cwnd(&mut self, segs: f64) -> PyResult<()> {
        if self.sets == Sets::Threshold {
            return Err(PyValueError::new_err(
                "here only ssthresh can be set; after it the sender itself brings cwnd down",
            ));
        }
        let cwnd = segments("cwnd", segs)?;
        self.window.cwnd = Segs(cwnd as u32).min(self.window.cwnd_clamp);
        self.cwnd =
            if f64::from(self.window.cwnd.0) + 1.0 > cwnd { cwnd } else { f64::from(self.window.cwnd.0) };
        Ok(())
    }

    /// Slow-start threshold in segments; 2147483647 before any loss.
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.window.ssthresh.0
    }

    #[setter]
    fn set_ssthresh(&mut self, segs: f64) -> PyResult<()> {
        self.window.ssthresh = Segs(segments("ssthresh", segs)? as u32);
        Ok(())
    }

    /// Pacing rate in bit/s; infinite if there is none.
    #[getter]
    fn pacing_rate(&self) -> f64 {
        let rate = self.window.pacing_rate;
        if rate.is_unlimited() { f64::INFINITY } else { rate.bits_per_sec() as f64 }
    }

    #[setter]
    fn set_pacing_rate(&mut self, bits_per_sec: f64) -> PyResult<()> {
        if self.sets != Sets::WindowAndRate {
            return Err(PyValueError::new_err(
                "only a class with `cong_control` sets pacing_rate; the sender derives that of a class with `on_ack` \
                 from cwnd and srtt",
            ));
        }
        if bits_per_sec.is_nan() || bits_per_sec < 8.0 {
            return Err(PyValueError::new_err(format!("pacing_rate cannot be {bits_per_sec} bit/s")));
        }
        self.window.pacing_rate = match bits_per_sec.is_infinite() {
            true => Rate::UNLIMITED,
            false => Rate::from_bits_per_sec(bits_per_sec as u64),
        };
        Ok(())
    }

    /// cwnd is below ssthresh.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    /// cwnd before the last reduction.
    #[getter]
    fn prior_cwnd(&self) -> u32 {
        self.window.prior_cwnd.0
    }

    /// cwnd, not the application, limited the flow in the last window.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.flow.cwnd_limited
    }

    /// Smoothed RTT in seconds; `None` before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        (self.flow.srtt_us8 > 0).then(|| f64::from(self.flow.srtt_us8) / 8e6)
    }

    /// Minimum RTT of the last five minutes in seconds; `None` before the first sample.
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        self.flow.min_rtt.map(Span::as_secs_f64)
    }

    /// Segments in the network.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.flow.in_flight.0
    }

    /// Segments sent and not cumulatively acknowledged.
    #[getter]
    fn packets_out(&self) -> u32 {
        self.flow.packets_out.0
    }

    /// Segments delivered since the start.
    #[getter]
    fn delivered(&self) -> u64 {
        self.flow.delivered
    }

    /// Of them, segments whose ACK carried ECE.
    #[getter]
    fn delivered_ce(&self) -> u64 {
        self.flow.delivered_ce
    }

    /// Segments marked lost since the start.
    #[getter]
    fn lost(&self) -> u64 {
        self.flow.lost
    }

    /// First byte that is not acknowledged, counted from the start.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.flow.snd_una
    }

    /// Next new byte to send.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.flow.snd_nxt
    }

    /// State of loss recovery: open, disorder, cwr, recovery or loss.
    #[getter]
    fn ca_state(&self) -> &'static str {
        match self.flow.ca_state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }

    /// ECN was negotiated.
    #[getter]
    fn ecn_ok(&self) -> bool {
        self.flow.ecn_ok
    }

    /// A `random.Random` of this flow, whose seed follows from that of the run.
    #[getter]
    fn random(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.random.is_none() {
            let made =
                py.import("random")?.getattr("Random")?.call((self.seed,), None::<&Bound<'_, PyDict>>)?;
            self.random = Some(made.unbind());
        }
        Ok(self.random.as_ref().expect("it was just made").clone_ref(py))
    }
}
