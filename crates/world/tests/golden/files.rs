//! The files of the golden tables.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What ends the tables of a run.
const END: char = '\x0c';

/// As small as it gets: they are in the repository.
const LEVEL: i32 = 19;

/// The runs of one experiment file.
pub struct Experiment {
    /// The name of the file, without its suffix.
    pub name: String,
    runs: Vec<Run>,
}

/// One run.
pub struct Run {
    /// The experiment, and the run's labels.
    pub name: String,
    /// The resolved scenario, as JSON.
    pub scenario: String,
}

/// All experiments, by name.
pub fn experiments() -> Vec<Experiment> {
    let listed = fs::read_dir(folder()).expect("the folder of the golden runs");
    let mut names: Vec<String> = listed
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "jsonl"))
        .map(|path| path.file_stem().expect("a name").to_str().expect("UTF-8").to_owned())
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no golden runs in {}", folder().display());
    names.into_iter().map(Experiment::read).collect()
}

impl Experiment {
    fn read(name: String) -> Self {
        let lines = fs::read_to_string(folder().join(format!("{name}.jsonl"))).expect("the runs");
        let runs = lines.lines().map(|line| Run::read(&name, line)).collect();
        Experiment { name, runs }
    }

    /// The runs.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The recorded tables of each run.
    pub fn golden(&self) -> Vec<String> {
        let Ok(packed) = fs::read(self.tables()) else { return Vec::new() };
        let bytes = zstd::decode_all(&packed[..]).expect("what `make golden` wrote");
        let text = String::from_utf8(bytes).expect("UTF-8");
        text.split_terminator(END).map(str::to_owned).collect()
    }

    /// Records the tables of each run.
    pub fn write(&self, tables: &[String]) {
        let text: String = tables.iter().map(|run| format!("{run}{END}")).collect();
        let packed = zstd::encode_all(text.as_bytes(), LEVEL).expect("memory");
        fs::write(self.tables(), packed).expect("the golden tables can be written");
    }

    fn tables(&self) -> PathBuf {
        folder().join(format!("{}.tables.zst", self.name))
    }
}

impl Run {
    fn read(experiment: &str, line: &str) -> Self {
        let read: Value = serde_json::from_str(line).expect("JSON");
        let labels = read["run"].as_str().expect("the labels of the run");
        Run {
            name: format!("{experiment} {labels}").trim_end().to_owned(),
            scenario: read["scenario"].to_string(),
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/runs")
}
