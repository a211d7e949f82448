//! Benchmarks of all crates, in `benches`, apart from what they measure: so the tests of a crate need not build what
//! benchmarks are made with. `make bench` runs them. The program `run-scenario` runs one resolved scenario; it is what
//! `performance` counts the instructions of.
