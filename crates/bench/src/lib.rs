//! The benchmarks of all crates stand in `benches`, apart from what they measure, so that the tests of a crate need not
//! build what benchmarks are made with. `make bench` runs them.
