//! Benchmarks of all crates, in `benches`. They are in a crate of their own, so that the tests of a crate do not build
//! the dependencies of benchmarks. `make bench` runs them. The program `run-scenario` runs one resolved scenario;
//! `performance` counts its instructions.
