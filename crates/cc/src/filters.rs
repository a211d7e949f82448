//! Filters that several controls share.

mod windowed;

pub use windowed::{WindowedMax, WindowedMin};
