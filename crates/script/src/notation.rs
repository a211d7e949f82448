//! Segments in the notation of scripts, and the comparison of an expected one with an actual one.

use std::fmt;

use crate::script::{EcnSpec, Flags, OptionsSpec, SegmentSpec, TcpOption, counter_names};

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Flags::default() {
            return f.write_str("-");
        }
        let set = Flags::LETTERS.iter().filter(|(_, flag)| self.has(*flag));
        set.map(|(letter, _)| letter).try_for_each(|letter| write!(f, "{letter}"))
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpOption::Mss(mss) => write!(f, "mss {mss}"),
            TcpOption::WindowScale(scale) => write!(f, "wscale {scale}"),
            TcpOption::SackPermitted => f.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            TcpOption::Timestamp { val, ecr } => write!(f, "TS val {val} ecr {ecr}"),
            TcpOption::AccEcn { kind, fields } => {
                f.write_str("ECN")?;
                let names = counter_names(*kind).into_iter().flatten();
                names.zip(fields).try_for_each(|(name, field)| write!(f, " {name} {field}"))
            }
            TcpOption::Nop => f.write_str("nop"),
            TcpOption::Eol => f.write_str("eol"),
            TcpOption::Unknown { kind, length } => write!(f, "kind {kind} length {length}"),
        }
    }
}

impl fmt::Display for SegmentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = ecn_word(self.ecn) {
            write!(f, "[{ecn}] ")?;
        }
        let end = self.seq.wrapping_add(self.length);
        write!(f, "{} {}:{end}({})", self.flags, self.seq, self.length)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            OptionsSpec::Unchecked => f.write_str(" <...>"),
            OptionsSpec::Exactly(options) if options.is_empty() => Ok(()),
            OptionsSpec::Exactly(options) => {
                let words: Vec<String> = options.iter().map(ToString::to_string).collect();
                write!(f, " <{}>", words.join(","))
            }
        }
    }
}

fn ecn_word(ecn: EcnSpec) -> Option<&'static str> {
    match ecn {
        EcnSpec::Unchecked => None,
        EcnSpec::NotEct => Some("noecn"),
        EcnSpec::Ect0 => Some("ect0"),
        EcnSpec::Ect1 => Some("ect1"),
        EcnSpec::Ect01 => Some("ect01"),
        EcnSpec::Ce => Some("ce"),
    }
}

/// The first field in which `actual` differs from `expected`, if any. For timestamps only their presence counts,
/// because a script has its own clock. [packetdrill]
pub fn difference(expected: &SegmentSpec, actual: &SegmentSpec) -> Option<String> {
    let field = |name: &str, expected: &dyn fmt::Display, actual: &dyn fmt::Display| {
        Some(format!("{name}: expected {expected}, got {actual}"))
    };
    if expected.flags != actual.flags {
        return field("flags", &expected.flags, &actual.flags);
    }
    if expected.seq != actual.seq {
        return field("sequence number", &expected.seq, &actual.seq);
    }
    if expected.length != actual.length {
        return field("payload bytes", &expected.length, &actual.length);
    }
    let (wanted, got) = (expected.ack.unwrap_or(0), actual.ack.unwrap_or(0));
    if wanted != got {
        return field("acknowledgement number", &wanted, &got);
    }
    if let (Some(wanted), Some(got)) = (expected.window, actual.window)
        && wanted != got
    {
        return field("window", &wanted, &got);
    }
    if !ecn_fits(expected.ecn, actual.ecn) {
        return field("ECN", &word(expected.ecn), &word(actual.ecn));
    }
    let (OptionsSpec::Exactly(wanted), OptionsSpec::Exactly(got)) = (&expected.options, &actual.options)
    else {
        return None;
    };
    (!same_options(wanted, got)).then(|| format!("options: expected {}, got {}", list(wanted), list(got)))
}

fn word(ecn: EcnSpec) -> &'static str {
    ecn_word(ecn).unwrap_or("any")
}

fn ecn_fits(expected: EcnSpec, actual: EcnSpec) -> bool {
    match expected {
        EcnSpec::Unchecked => true,
        EcnSpec::Ect01 => matches!(actual, EcnSpec::Ect0 | EcnSpec::Ect1),
        expected => expected == actual,
    }
}

fn same_options(wanted: &[TcpOption], got: &[TcpOption]) -> bool {
    let same = |(wanted, got): (&TcpOption, &TcpOption)| match (wanted, got) {
        (TcpOption::Timestamp { .. }, TcpOption::Timestamp { .. }) => true,
        (wanted, got) => wanted == got,
    };
    wanted.len() == got.len() && wanted.iter().zip(got).all(same)
}

fn list(options: &[TcpOption]) -> String {
    let words: Vec<String> = options.iter().map(ToString::to_string).collect();
    format!("<{}>", words.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> SegmentSpec {
        SegmentSpec {
            ecn: EcnSpec::Unchecked,
            flags: Flags::PSH.with(Flags::ACK),
            seq: 1,
            length: 1000,
            ack: Some(7),
            window: Some(64),
            options: OptionsSpec::Exactly(vec![TcpOption::Nop, TcpOption::Sack(vec![(8, 9), (20, 30)])]),
        }
    }

    #[test]
    fn a_segment_is_written_as_scripts_write_it() {
        assert_eq!(segment().to_string(), "P. 1:1001(1000) ack 7 win 64 <nop,sack 8:9 20:30>");
        let syn = SegmentSpec { flags: Flags::SYN, length: 0, ack: None, window: None, ..segment() };
        let syn = SegmentSpec { options: OptionsSpec::Unchecked, ..syn };
        assert_eq!(syn.to_string(), "S 1:1(0) <...>");
    }

    #[test]
    fn each_field_that_differs_is_named() {
        let (expected, mut actual) = (segment(), segment());
        assert_eq!(difference(&expected, &actual), None);
        actual.ack = Some(8);
        let message = difference(&expected, &actual).expect("the ACK differs");
        assert_eq!(message, "acknowledgement number: expected 7, got 8");
        actual = SegmentSpec { options: OptionsSpec::Exactly(vec![]), ..segment() };
        assert!(difference(&expected, &actual).is_some_and(|message| message.starts_with("options")));
        actual = SegmentSpec { flags: Flags::ACK, ..segment() };
        assert!(difference(&expected, &actual).is_some_and(|message| message.starts_with("flags")));
    }

    #[test]
    fn a_window_that_is_not_written_is_not_compared() {
        let expected = SegmentSpec { window: None, ..segment() };
        assert_eq!(difference(&expected, &segment()), None);
    }
}
