//! Tokens to a script. A statement of packetdrill that is not modelled (UDP, ICMP, IP in IP, fast open …) becomes a
//! finding with its line, and reading continues at the next statement, so that all such statements are reported at
//! once.
//!
//! ```text
//! script     = option* event*
//! event      = [time] (segment | call | command | code)
//! time       = * | t | +t | t~t | +t~+t
//! segment    = (< | >) [ecn] [ports] flags seq:end(length) [ack n] [win n] [<options>]
//! call       = [... t] name(arguments) = result [ERRNO (note)]
//! ```
//! [packetdrill]

mod calls;
mod segments;

use crate::lexer::{Kind, Token, tokens};
use crate::script::{Action, EcnSpec, Event, OptionLine, OptionsSpec, Script, Time};
use crate::{Finding, LineNumber};

/// Reads a script.
pub fn parse(text: &str) -> Result<Script, Finding> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0 };
    let mut script = Script { options: parser.options(), ..Script::default() };
    while let Some(token) = parser.peek() {
        let line = token.line;
        match parser.event() {
            Ok(event) => script.events.push(event),
            Err(Stop::Malformed(finding)) => return Err(finding),
            Err(Stop::Unsupported(message)) => {
                script.unsupported.push(Finding::new(line, &message));
                parser.skip_statement(line);
            }
        }
    }
    check_times(&script)?;
    Ok(script)
}

/// Ranges and `*` are allowed only for outgoing segments; all other events happen at a given time.
fn check_times(script: &Script) -> Result<(), Finding> {
    for event in &script.events {
        let leaves = matches!(event.action, Action::Leaves(_));
        let exact = matches!(event.time, Time::Absolute(_) | Time::Relative(_));
        if !exact && !leaves {
            return Err(Finding::new(
                event.line,
                "a time range or `*` is for segments that leave (`>`) only",
            ));
        }
        if let Time::AbsoluteRange(from, to) | Time::RelativeRange(from, to) = event.time
            && to < from
        {
            return Err(Finding::new(event.line, "the time range is backwards"));
        }
    }
    Ok(())
}

/// Why a statement was not read.
enum Stop {
    Malformed(Finding),
    Unsupported(String),
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Stop {
        Stop::Malformed(finding)
    }
}

type Read<T> = Result<T, Stop>;

fn unsupported<T>(what: impl Into<String>) -> Read<T> {
    Err(Stop::Unsupported(what.into()))
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
}

/// Reading tokens.
impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn kind(&self) -> Option<&Kind> {
        self.peek().map(|token| &token.kind)
    }

    fn take(&mut self) -> Option<Kind> {
        let kind = self.kind().cloned();
        self.next += usize::from(kind.is_some());
        kind
    }

    /// The line of the next token, or of the last one.
    fn line(&self) -> LineNumber {
        self.peek().or(self.tokens.last()).map_or(LineNumber(1), |token| token.line)
    }

    fn wrong<T>(&self, expected: &str) -> Read<T> {
        let found =
            self.kind().map_or_else(|| "the end".to_owned(), |kind| format!("`{}`", token_text(kind)));
        Err(Finding::new(self.line(), &format!("syntax error: expected {expected}, found {found}")).into())
    }

    fn at_sign(&self, sign: char) -> bool {
        self.kind() == Some(&Kind::Sign(sign))
    }

    /// Takes a sign if it is next.
    fn passed(&mut self, sign: char) -> bool {
        let there = self.at_sign(sign);
        self.next += usize::from(there);
        there
    }

    fn expect(&mut self, sign: char) -> Read<()> {
        if self.passed(sign) { Ok(()) } else { self.wrong(&format!("`{sign}`")) }
    }

    fn at_word(&self, word: &str) -> bool {
        matches!(self.kind(), Some(Kind::Word(found)) if found == word)
    }

    fn passed_word(&mut self, word: &str) -> bool {
        let there = self.at_word(word);
        self.next += usize::from(there);
        there
    }

    fn unsigned(&mut self, what: &str) -> Read<u32> {
        match self.kind() {
            Some(&Kind::Integer(value)) if u32::try_from(value).is_ok() => {
                self.next += 1;
                Ok(value as u32)
            }
            _ => self.wrong(what),
        }
    }

    fn octets<T: TryFrom<u32>>(&mut self, what: &str) -> Read<T> {
        let line = self.line();
        let value = self.unsigned(what)?;
        T::try_from(value).map_err(|_| Finding::new(line, &format!("{what}: {value} is out of range")).into())
    }

    /// Goes to the first token of a later line that can begin a statement.
    fn skip_statement(&mut self, begun: LineNumber) {
        while let Some(token) = self.peek() {
            let opens = token.opens_line && token.line > begun && can_begin(&token.kind);
            if opens {
                return;
            }
            self.next += 1;
        }
    }
}

fn can_begin(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Sign('+' | '*') | Kind::Integer(_) | Kind::Decimal(_) | Kind::Command(_) | Kind::Code(_)
    )
}

/// A token as it stood in the script, more or less.
fn token_text(kind: &Kind) -> String {
    match kind {
        Kind::Word(text) => text.clone(),
        Kind::Integer(value) | Kind::Hexadecimal(value) => value.to_string(),
        Kind::Decimal(value) => format!("{}", *value as f64 / 1e6),
        Kind::Text(text) => format!("\"{text}\""),
        Kind::Command(_) => "a command in backquotes".to_owned(),
        Kind::Code(_) => "%{".to_owned(),
        Kind::Option(text) => format!("--{text}"),
        Kind::Ellipsis => "...".to_owned(),
        Kind::Sign(sign) => sign.to_string(),
    }
}

/// Events and their times.
impl Parser {
    fn options(&mut self) -> Vec<OptionLine> {
        let mut found = Vec::new();
        while let Some(Kind::Option(text)) = self.kind() {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let line = self.line();
            let value = value.trim_matches('"').to_owned();
            found.push(OptionLine { line, name: name.to_owned(), value });
            self.next += 1;
        }
        found
    }

    fn event(&mut self) -> Read<Event> {
        let line = self.line();
        let time = match self.kind() {
            // The first and the last command of a script have no time.
            Some(Kind::Command(_)) => Time::Relative(0),
            Some(Kind::Option(_)) => return self.wrong("an event; options stand before all events"),
            _ => self.time()?,
        };
        Ok(Event { line, time, action: self.action()? })
    }

    fn time(&mut self) -> Read<Time> {
        if self.passed('*') {
            return Ok(Time::Any);
        }
        let relative = self.passed('+');
        let from = self.seconds()?;
        if !self.passed('~') {
            return Ok(if relative { Time::Relative(from) } else { Time::Absolute(from) });
        }
        if relative {
            self.expect('+')?;
        }
        let to = self.seconds()?;
        Ok(if relative { Time::RelativeRange(from, to) } else { Time::AbsoluteRange(from, to) })
    }

    /// Seconds in the script, microseconds here.
    fn seconds(&mut self) -> Read<i64> {
        let micros = match self.kind() {
            Some(&Kind::Integer(whole)) => whole.checked_mul(1_000_000),
            Some(&Kind::Decimal(millionths)) => Some(millionths),
            _ => return self.wrong("a time in seconds"),
        };
        match micros {
            Some(micros) if (0..=TIME_MAX).contains(&micros) => {
                self.next += 1;
                Ok(micros)
            }
            _ => self.wrong("a time from 0 to a million seconds"),
        }
    }

    fn action(&mut self) -> Read<Action> {
        match self.kind() {
            Some(Kind::Command(text)) => {
                let text = text.clone();
                self.next += 1;
                Ok(Action::Command(text))
            }
            Some(Kind::Code(text)) => {
                let text = text.clone();
                self.next += 1;
                Ok(Action::Code(text))
            }
            Some(Kind::Sign('<')) => {
                self.next += 1;
                let segment = self.segment()?;
                if segment.options == OptionsSpec::Unchecked || segment.ecn == EcnSpec::Ect01 {
                    return self.wrong(
                        "a segment with all its fields: `<...>` and [ect01] are for outgoing segments only",
                    );
                }
                Ok(Action::Arrives(segment))
            }
            Some(Kind::Sign('>')) => {
                self.next += 1;
                Ok(Action::Leaves(self.segment()?))
            }
            Some(Kind::Ellipsis | Kind::Word(_)) => Ok(Action::Call(self.call()?)),
            _ => self.wrong("`<`, `>`, a system call, a command or code"),
        }
    }
}

/// A million seconds: no timer of TCP is as long.
const TIME_MAX: i64 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Flags, OptionsSpec, SegmentSpec, TcpOption, Value};

    fn only(text: &str) -> Event {
        let script = parse(text).expect("it is well formed");
        assert_eq!((script.events.len(), script.unsupported.len()), (1, 0), "{text}");
        script.events.into_iter().next().expect("there is one")
    }

    fn segment(text: &str) -> SegmentSpec {
        match only(text).action {
            Action::Arrives(segment) | Action::Leaves(segment) => segment,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn times_are_absolute_relative_ranges_or_any() {
        let of = |time: &str| only(&format!("{time} > . 1:1(0) ack 1")).time;
        assert_eq!(of("0.5"), Time::Absolute(500_000));
        assert_eq!(of("+.002"), Time::Relative(2_000));
        assert_eq!(of("1~1.5"), Time::AbsoluteRange(1_000_000, 1_500_000));
        assert_eq!(of("+0~+.04"), Time::RelativeRange(0, 40_000));
        assert_eq!(of("*"), Time::Any);
    }

    #[test]
    fn a_segment_has_flags_numbers_and_options() {
        let syn = segment("+0 < [ect0] SEW 5:5(0) win 100 <mss 1000,nop,wscale 7,sackOK,TS val 1 ecr 2>");
        assert_eq!((syn.ecn, syn.seq, syn.length), (EcnSpec::Ect0, 5, 0));
        assert!(syn.flags.has(Flags::SYN) && syn.flags.has(Flags::CWR) && !syn.flags.has(Flags::ACK));
        let ack = segment("+0 > P. 1:1001(1000) ack 7 <nop,nop,sack 2:3 5:9>");
        assert!(ack.flags.has(Flags::PSH) && ack.flags.has(Flags::ACK));
        let sack = TcpOption::Sack(vec![(2, 3), (5, 9)]);
        assert_eq!(ack.options, OptionsSpec::Exactly(vec![TcpOption::Nop, TcpOption::Nop, sack]));
        assert_eq!(segment("+0 > . 1:1(0) ack 1 <...>").options, OptionsSpec::Unchecked);
    }

    #[test]
    fn a_call_has_arguments_a_result_and_perhaps_an_end_and_an_error() {
        let text =
            "+.1...0.2 poll([{fd=4, events=POLLIN|POLLOUT}], 1, 0) = -1 EAGAIN (Resource (x) unavailable";
        assert!(parse(text).is_err(), "the note is open");
        let Action::Call(call) =
            only("+.1...0.2 poll([{fd=4, events=POLLIN|POLLOUT}], 1, 0) = -1 EAGAIN (try again)").action
        else {
            panic!("a call")
        };
        assert_eq!((call.returns_at, call.errno.as_deref()), (Some(200_000), Some("EAGAIN")));
        assert_eq!((call.arguments.len(), &call.result), (3, &Value::Integer(-1)));
    }

    #[test]
    fn unsupported_events_are_reported_with_their_line_and_parsing_continues() {
        let script =
            parse("0 < udp (10)\n+0 < S 0:0(0) win 1 <FO,nop>\n\n+0 close(3) = 0\n").expect("well formed");
        let lines: Vec<u32> = script.unsupported.iter().map(|finding| finding.line.0).collect();
        assert_eq!((lines, script.events.len()), (vec![1, 2], 1));
    }

    #[test]
    fn a_system_call_that_is_not_modelled_is_reported_beside_other_statements() {
        let script = parse("0 sendfile(3, 4, 0, 10) = 10\n+0 < U 0:0(0) win 1\n+0 close(3) = 0\n");
        let found: Vec<String> =
            script.expect("well formed").unsupported.iter().map(|one| one.to_string()).collect();
        assert_eq!(
            found,
            ["1: the system call `sendfile` is not modelled", "2: urgent data is not modelled"]
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_with_their_line() {
        let finding = parse("\n0 < . 1:1001(999) ack 1 win 5").expect_err("1001 - 1 is not 999");
        assert_eq!(finding.line, LineNumber(2));
    }

    #[test]
    fn ace_is_three_flags_or_their_number() {
        let ack = Flags::ACK;
        let rows = [
            ("P5.", ack.with(Flags::PSH).with(Flags::AE).with(Flags::ECE)),
            (".6", ack.with(Flags::AE).with(Flags::CWR)),
            ("F.7", ack.with(Flags::FIN).with(Flags::of_ace(7))),
            ("SEWA", Flags::SYN.with(Flags::of_ace(7))),
            ("S3", Flags::SYN.with(Flags::CWR).with(Flags::ECE)),
            (".0", ack),
        ];
        for (written, flags) in rows {
            assert_eq!(segment(&format!("0 > {written} 1:1(0) ack 1")).flags, flags, "{written}");
        }
        for wrong in ["P8.", "E5.", "EW.2", ".75", "P .5"] {
            assert!(parse(&format!("0 > {wrong} 1:1(0) ack 1")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_option_of_accurate_ecn_has_its_counters_in_either_order() {
        for (written, kind, fields) in [
            ("ECN e1b 1 ceb 0 e0b 1001", 174, vec![1, 0, 1001]),
            ("ECN e0b 1 ceb 20", 172, vec![1, 20]),
            ("ECN e1b 7", 174, vec![7]),
            ("ECN", 174, vec![]),
        ] {
            let OptionsSpec::Exactly(options) =
                segment(&format!("0 > .5 1:1(0) ack 1 <{written},nop>")).options
            else {
                panic!("they are listed")
            };
            assert_eq!(options[0], TcpOption::AccEcn { kind, fields }, "{written}");
            assert_eq!(options[0].to_string(), written);
        }
        assert!(parse("0 > .5 1:1(0) ack 1 <ECN e0b 16777216>").is_err(), "24 bits");
        assert!(parse("0 > .5 1:1(0) ack 1 <ECN ceb 1 e0b 1>").is_err());
    }

    #[test]
    fn a_time_range_is_accepted_only_for_outgoing_segments() {
        assert!(parse("+0~+.1 close(3) = 0").is_err());
        assert!(parse("* < . 1:1(0) ack 1 win 5").is_err());
    }
}
