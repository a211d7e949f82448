//! Plants mutants into a copy of the crates, so that one build has them all: `tailback-mutants LIST FROM TO`.
//!
//! `LIST` has the mutants as `cargo mutants --list --json` prints them, each with a number `id`. The files of the checkout
//! `FROM` that have some are written below `TO`. Prints the numbers of those that have no place: in constants, and in
//! functions that run when they are compiled.

mod plant;
mod render;

use std::collections::BTreeMap;
use std::fs;

use plant::Planted;
use serde::Deserialize;

/// A mutant of the list.
#[derive(Deserialize)]
struct Listed {
    id: u32,
    file: String,
    genre: String,
    replacement: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Both count from one.
#[derive(Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, list, from, to] = &arguments[..] else { panic!("usage: tailback-mutants LIST FROM TO") };
    let read = |path: &str| fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let listed: Vec<Listed> =
        serde_json::from_str(&read(list)).expect("what `cargo mutants --list --json` prints");
    let mut files: BTreeMap<&str, Vec<&Listed>> = BTreeMap::new();
    for mutant in &listed {
        files.entry(&mutant.file).or_default().push(mutant);
    }
    for (file, mutants) in files {
        let text = read(&format!("{from}/{file}"));
        let planted = Planted::of(&text, &mutants);
        for mutant in mutants.iter().filter(|mutant| !planted.has(mutant.id)) {
            println!("{}", mutant.id);
        }
        fs::write(format!("{to}/{file}"), planted.text()).expect("the copy can be written");
    }
}
