//! A run in steps, with a TCP flow whose window and pacing rate Python sets (`python/tailback/gym`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tailback_net::{Scenario, SteeredRun, Step};
use tailback_units::{Segs, Span};

use crate::failure::{guarded, unbuildable, without_outcome};

/// The numbers of an observation, in their order.
pub const OBSERVED: [&str; 12] = [
    "goodput_mbps",
    "rtt_ms",
    "mean_rtt_ms",
    "min_rtt_ms",
    "cwnd",
    "in_flight",
    "pacing_mbps",
    "delivery_mbps",
    "loss",
    "marks",
    "acks",
    "time_s",
];

/// A run in progress.
#[pyclass(frozen, module = "tailback._core")]
pub struct Steps(Mutex<SteeredRun>);

#[pymethods]
impl Steps {
    /// The run of a scenario in which `flow` has a control of the language `steered`.
    #[new]
    fn new(py: Python<'_>, scenario_json: &str, flow: &str) -> PyResult<Self> {
        let build = || {
            let scenario = Scenario::from_json(scenario_json).map_err(|error| unbuildable(&error))?;
            SteeredRun::of_scenario(&scenario, flow).map_err(|error| without_outcome(&error))
        };
        Ok(Steps(Mutex::new(py.detach(|| guarded(build))??)))
    }

    /// The names of the numbers of an observation.
    #[classattr]
    const OBSERVED: [&'static str; 12] = OBSERVED;

    /// Sets window and pacing rate (bit/s; 0 for none), and lets `interval_ns` pass; the observation as float64.
    fn step<'py>(
        &self,
        py: Python<'py>,
        cwnd: f64,
        pacing_bps: f64,
        interval_ns: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let numbers = py.detach(|| guarded(|| self.pass(cwnd, pacing_bps, interval_ns)))??;
        Ok(PyBytes::new(py, &bytes(&numbers)))
    }

    /// Whether the run is over.
    #[getter]
    fn is_over(&self) -> bool {
        self.run().is_over()
    }

    /// The time of the run in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.run().now().as_secs_f64()
    }
}

impl Steps {
    fn run(&self) -> MutexGuard<'_, SteeredRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, cwnd: f64, pacing_bps: f64, interval_ns: u64) -> PyResult<[f64; 12]> {
        let mut run = self.run();
        let pacing = (pacing_bps > 0.0).then_some(pacing_bps as u64);
        let step = run.step(cwnd as u32, pacing, Span::from_nanos(interval_ns));
        Ok(observed(&step.map_err(|error| without_outcome(&error))?, run.now().as_secs_f64()))
    }
}

fn observed(step: &Step, now: f64) -> [f64; 12] {
    let (Some(info), seen) = (step.info, step.seen) else { return [0.0; 12] };
    let millis = |span: Option<Span>| span.map_or(0.0, |span| span.as_secs_f64() * 1e3);
    let segs = |segs: Segs| f64::from(segs.get());
    let all = (seen.acked + seen.lost).max(1) as f64;
    let seconds = step.lasted.as_secs_f64();
    let (sum, count) = seen.rtts;
    let pacing = info.pacing_rate;
    [
        if seconds > 0.0 { step.acked.get() as f64 * 8e-6 / seconds } else { 0.0 },
        millis(info.rtt),
        if count > 0 { sum.as_secs_f64() * 1e3 / count as f64 } else { 0.0 },
        millis(info.min_rtt),
        segs(info.snd_cwnd),
        segs(info.unacked) - segs(info.sacked) - segs(info.lost) + segs(info.retrans),
        if pacing.is_unlimited() { 0.0 } else { pacing.bits_per_sec() as f64 / 1e6 },
        info.delivery_rate.bits_per_sec() as f64 / 1e6,
        seen.lost as f64 / all,
        seen.marked as f64 / all,
        seen.acks as f64,
        now,
    ]
}

/// Steps all of several runs, on several threads; one window and one pacing rate for each; their observations as float64.
#[pyfunction]
pub fn step_all<'py>(
    py: Python<'py>,
    runs: Vec<Bound<'py, Steps>>,
    actions: Vec<(f64, f64)>,
    interval_ns: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    if runs.len() != actions.len() {
        return Err(PyValueError::new_err(format!("{} runs and {} actions", runs.len(), actions.len())));
    }
    let steps = runs.iter().map(Bound::get).zip(actions).collect::<Vec<(&Steps, _)>>();
    let each = steps.len().div_ceil(threads.max(1)).max(1);
    let found = py.detach(|| guarded(|| in_parts(&steps, each, interval_ns)))?;
    let mut all = Vec::new();
    for part in found {
        part?.iter().for_each(|numbers| all.extend(bytes(numbers)));
    }
    Ok(PyBytes::new(py, &all))
}

/// Steps runs in parts of `each`: the first part here, as a thread costs more than some steps, and the others beside it.
fn in_parts(steps: &[(&Steps, (f64, f64))], each: usize, interval_ns: u64) -> Vec<PyResult<Vec<[f64; 12]>>> {
    let pass = |part: &[(&Steps, (f64, f64))]| {
        part.iter().map(|(run, (cwnd, pacing))| run.pass(*cwnd, *pacing, interval_ns)).collect()
    };
    let (first, others) = steps.split_at(each.min(steps.len()));
    std::thread::scope(|scope| {
        let beside: Vec<_> = others.chunks(each).map(|part| scope.spawn(move || pass(part))).collect();
        let here = pass(first);
        let joined = beside
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(here).chain(joined).collect()
    })
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}
