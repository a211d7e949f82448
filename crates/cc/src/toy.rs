//! Toy: a constant window. It is only in the registry of the tests.
//!
//! growth:  none: cwnd = `segments`
//! cut:     none: ssthresh = `segments`                                 [linux-6.12 tcp_cong.c tcp_reno_ssthresh]
//!
//! It was added as CONTRIBUTING.md describes, by this file, a row and a `mod` line, and shows that no more is needed.
//! Deviations: no kernel has it.

use tailback_units::{Parameter, ParameterError, ParameterUnit, Parameters, Segs};

use crate::{EcnNeed, Flow, Hooks, Prototype, Row, Window, WindowControl};

/// The registry row.
pub const ROW: Row = Row {
    name: "toy",
    summary: "a window that never changes",
    source: include_str!("toy.rs"),
    parameters: &[Parameter::new(
        "segments",
        ParameterUnit::Number,
        Some(20),
        (2, 10_000),
        "maximum number of segments in flight",
    )],
    sndbuf_factor: 2,
    wants_pacing: false,
    needs_ecn: EcnNeed::No,
    build,
};

fn build(given: &Parameters) -> Result<Prototype, ParameterError> {
    let mut given = given.clone();
    given.fill(ROW.parameters);
    Ok(Prototype::window(Toy { segments: Segs(given.require("segments")? as u32) }))
}

#[derive(Clone, Debug)]
struct Toy {
    segments: Segs,
}

impl Hooks for Toy {}

impl WindowControl for Toy {
    fn cong_avoid(&mut self, _acked: Segs, _flow: &Flow, window: &mut Window) {
        window.cwnd = self.segments;
    }

    fn ssthresh(&mut self, _flow: &Flow, _window: &Window) -> Segs {
        self.segments
    }
}

#[cfg(test)]
mod tests {
    use tailback_units::Span;

    use super::*;
    use crate::{BuildError, Control, build as by_name};

    fn built(segments: u64) -> Result<Control, BuildError> {
        by_name("toy", &Parameters::new([("segments".to_owned(), segments)].into()))
    }

    #[test]
    fn it_is_built_by_its_name_and_acts_on_the_window_of_a_flow() {
        let Ok(Control::Window(mut control)) = built(12) else { panic!("it is a window control") };
        let flow = Flow { cwnd_limited: true, ..Flow::established(1448, Span::from_millis(10)) };
        let mut window = Window::initial(Segs(10));
        for _ in 0..3 {
            control.cong_avoid(Segs(10), &flow, &mut window);
        }
        assert_eq!((window.cwnd, control.ssthresh(&flow, &window)), (Segs(12), Segs(12)));
    }

    #[test]
    fn its_parameter_has_the_bounds_of_its_row() {
        assert!(matches!(built(1), Err(BuildError::Parameter { name: "toy", .. })));
    }
}
