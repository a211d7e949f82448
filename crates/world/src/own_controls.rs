//! Congestion controls that a user wrote. The world does not know their language: whoever starts a run builds them.

use serde::Deserialize;
use tailback_cc::{Control, EcnNeed};
use tailback_traffic::ParametersOfControl;

/// A congestion control that the user wrote.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlSource {
    /// The name of its file.
    pub name: String,
    /// The language that it is written in.
    pub language: String,
    /// Digest of the content of its file, as results show it.
    pub sha256: String,
    /// The content of its file.
    pub text: String,
}

/// A control of the user, and the facts that a registry row has of the built-in ones.
pub struct OwnControl {
    /// The control.
    pub control: Control,
    /// It needs pacing by TCP (`sk_pacing_status` becomes NEEDED).
    pub wants_pacing: bool,
    /// Send-buffer factor (`sndbuf_expand`).
    pub sndbuf_factor: u32,
    /// The ECN that it enables regardless of the sysctl.
    pub needs_ecn: EcnNeed,
}

/// Builds the controls of the user.
pub trait OwnControls {
    /// The control of one flow, from its source and with its parameters; the error is the problem, in a few words.
    fn build(&self, source: &ControlSource, parameters: &ParametersOfControl) -> Result<OwnControl, String>;

    /// The ECN that the receiver, too, has to use regardless of the sysctl.
    fn needs_ecn(
        &self,
        _source: &ControlSource,
        _parameters: &ParametersOfControl,
    ) -> Result<EcnNeed, String> {
        Ok(EcnNeed::No)
    }
}

/// Builds none.
impl OwnControls for () {
    fn build(&self, source: &ControlSource, _parameters: &ParametersOfControl) -> Result<OwnControl, String> {
        Err(format!("this program has no interpreter for {}", source.language))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::World;
    use crate::example::chain;
    use crate::scenario::Scenario;

    /// Reno under the name of a user's file, and the parameters that it was asked for.
    #[derive(Default)]
    struct Renos(RefCell<Vec<String>>);

    impl OwnControls for Renos {
        fn build(
            &self,
            source: &ControlSource,
            parameters: &ParametersOfControl,
        ) -> Result<OwnControl, String> {
            self.0.borrow_mut().push(format!("{} {parameters:?}", source.text));
            let control =
                tailback_cc::build("reno", &Default::default()).map_err(|error| error.to_string())?;
            Ok(OwnControl { control, wants_pacing: false, sndbuf_factor: 2, needs_ecn: EcnNeed::No })
        }
    }

    /// A flow by a control of the user.
    fn scenario() -> Scenario {
        let mut scenario = chain(
            r#"{"kind": "tcp", "name": "upload", "from": 0, "to": 2, "start_ns": 0, "stop_ns": null, "bytes": null,
                "cc": {"name": "mine.py", "options": {}}, "tsq": {"kind": "time", "shift": 10},
                "socket": {"max_pacing_rate_bps": null, "sndbuf": null, "rcvbuf": null, "rcvlowat": 1,
                           "notsent_lowat": null, "mss": null}}"#,
        );
        let [name, language, text] = ["mine.py", "python", "pass"].map(str::to_owned);
        scenario.controls.push(ControlSource { name, language, sha256: String::new(), text });
        scenario
    }

    #[test]
    fn the_sender_alone_has_the_control_of_the_user() {
        let renos = Renos::default();
        assert!(World::build_with(&scenario(), &renos).is_ok());
        assert_eq!(*renos.0.borrow(), ["pass {}"]);
    }

    #[test]
    fn without_an_interpreter_it_is_refused_by_the_name_of_its_language() {
        let error = World::build(&scenario()).err().unwrap();
        assert_eq!(error.problem, "this program has no interpreter for python");
        assert!(error.path.ends_with(".cc"), "{}", error.path);
    }
}
