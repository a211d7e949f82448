//! Tokens to a script. A statement of packetdrill that is not modelled (UDP, ICMP, IP in IP, fast open …) becomes a
//! finding of its own, with its line; reading goes on at the next statement, so that all of them are told at once.
//!
//! ```text
//! script     = option* event*
//! event      = [time] (segment | call | command | code)
//! time       = * | t | +t | t~t | +t~+t
//! segment    = (< | >) [ecn] [ports] flags seq:end(length) [ack n] [win n] [<options>]
//! call       = [... t] name(arguments) = result [ERRNO (note)]
//! ```
//! [packetdrill]

use crate::lexer::{Kind, Token, tokens};
use crate::script::{
    Action, Call, EcnSpec, Event, Flags, OptionLine, OptionsSpec, Script, SegmentSpec, TcpOption, Time, Value,
};
use crate::{Finding, LineNumber};

/// Nesting of values at most.
const DEPTH_MAX: u32 = 32;

/// Reads a script.
pub(crate) fn parse(text: &str) -> Result<Script, Finding> {
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

/// Ranges and `*` are for what leaves: everything else happens when the script says.
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
        let found = self.kind().map_or_else(|| "the end".to_owned(), |kind| format!("`{}`", shown(kind)));
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
fn shown(kind: &Kind) -> String {
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
                    return self
                        .wrong("a segment that is told in full: `<...>` and [ect01] are for what leaves");
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

/// Segments.
impl Parser {
    fn segment(&mut self) -> Read<SegmentSpec> {
        let ecn = self.ip_information()?;
        self.refuse_other_protocols()?;
        self.ports()?;
        let flags = self.flags()?;
        let (seq, length) = self.sequence()?;
        let ack =
            if self.passed_word("ack") { Some(self.unsigned("an acknowledgement number")?) } else { None };
        let window =
            if self.passed_word("win") { Some(self.octets::<u16>("a window")?.into()) } else { None };
        if self.at_word("urg") {
            return unsupported("urgent data is not modelled");
        }
        let options = self.tcp_options()?;
        if self.at_sign('{') {
            return unsupported("fuzzing of segments is not modelled");
        }
        Ok(SegmentSpec { ecn, flags, seq, length, ack, window, options })
    }

    /// `[ect0]`, `(ce)`.
    fn ip_information(&mut self) -> Read<EcnSpec> {
        let close = match self.kind() {
            Some(Kind::Sign('[')) => ']',
            Some(Kind::Sign('(')) => ')',
            _ => return Ok(EcnSpec::Unchecked),
        };
        self.next += 1;
        let ecn = match self.take() {
            Some(Kind::Word(word)) => match word.as_str() {
                "noecn" => EcnSpec::NotEct,
                "ect0" => EcnSpec::Ect0,
                "ect1" => EcnSpec::Ect1,
                "ect01" => EcnSpec::Ect01,
                "ce" => EcnSpec::Ce,
                "tos" | "ttl" | "flowlabel" => return unsupported(format!("`{word}` of IP is not modelled")),
                _ => {
                    self.next -= 1;
                    return self.wrong("noecn, ect0, ect1, ect01 or ce");
                }
            },
            _ => {
                self.next = self.next.saturating_sub(1);
                return self.wrong("noecn, ect0, ect1, ect01 or ce");
            }
        };
        if self.at_sign(',') {
            return unsupported("flow labels are not modelled");
        }
        self.expect(close)?;
        Ok(ecn)
    }

    fn refuse_other_protocols(&mut self) -> Read<()> {
        for protocol in ["udp", "icmp", "ipv4", "ipv6", "gre", "GREv0", "mpls", "raw"] {
            if self.at_word(protocol) {
                return unsupported(format!("packets of `{protocol}` are not modelled: TCP only"));
            }
        }
        Ok(())
    }

    /// `8080 > 5555`.
    fn ports(&mut self) -> Read<()> {
        let ports = matches!(self.kind(), Some(Kind::Integer(_)))
            && matches!(self.tokens.get(self.next + 1).map(|token| &token.kind), Some(Kind::Sign('>')));
        if ports { unsupported("ports are not modelled: one conversation at a time") } else { Ok(()) }
    }

    /// `S`, `SEW`, `P.`, `.`, `-`.
    fn flags(&mut self) -> Read<Flags> {
        let mut flags = Flags::default();
        match self.kind() {
            Some(Kind::Sign('-')) => {
                self.next += 1;
                return Ok(flags);
            }
            Some(Kind::Decimal(_)) => return unsupported("the ACE counter of accurate ECN is not modelled"),
            Some(Kind::Word(word)) => {
                for letter in word.clone().chars() {
                    flags = flags.with(self.flag(letter)?);
                }
                self.next += 1;
            }
            Some(Kind::Sign('.')) => {}
            _ => return self.wrong("TCP flags"),
        }
        if self.passed('.') {
            flags = flags.with(Flags::ACK);
        } else if matches!(self.peek(), Some(token) if token.adjoins && matches!(token.kind, Kind::Decimal(_)))
        {
            return unsupported("the ACE counter of accurate ECN is not modelled");
        }
        Ok(flags)
    }

    fn flag(&self, letter: char) -> Read<Flags> {
        match Flags::LETTERS.iter().find(|(known, _)| *known == letter) {
            Some((_, flag)) => Ok(*flag),
            None if letter == 'U' => unsupported("urgent data is not modelled"),
            None if letter == 'A' => unsupported("accurate ECN is not modelled"),
            None => self.wrong("TCP flags (F S R P E W and `.`)"),
        }
    }

    fn sequence(&mut self) -> Read<(u32, u32)> {
        let seq = self.unsigned("a sequence number")?;
        self.expect(':')?;
        let end = self.unsigned("the end of the segment")?;
        self.expect('(')?;
        let length: u16 = self.octets("the length of the payload")?;
        if end != seq.wrapping_add(length.into()) {
            let message = format!("{seq}:{end}({length}): the numbers do not fit each other");
            return Err(Finding::new(self.line(), &message).into());
        }
        self.expect(')')?;
        Ok((seq, length.into()))
    }

    fn tcp_options(&mut self) -> Read<OptionsSpec> {
        // `<` also begins the next statement, never without a time before it.
        if !self.passed('<') {
            return Ok(OptionsSpec::Exactly(Vec::new()));
        }
        if self.kind() == Some(&Kind::Ellipsis) {
            self.next += 1;
            self.expect('>')?;
            return Ok(OptionsSpec::Unchecked);
        }
        let mut options = Vec::new();
        loop {
            options.push(self.tcp_option()?);
            if !self.passed(',') {
                break;
            }
        }
        self.expect('>')?;
        Ok(OptionsSpec::Exactly(options))
    }

    fn tcp_option(&mut self) -> Read<TcpOption> {
        let Some(Kind::Word(word)) = self.kind().cloned() else { return self.wrong("a TCP option") };
        self.next += 1;
        match word.as_str() {
            "mss" => Ok(TcpOption::Mss(self.octets("an MSS")?)),
            "wscale" => Ok(TcpOption::WindowScale(self.octets("a window scale")?)),
            "sackOK" => Ok(TcpOption::SackPermitted),
            "sack" => self.sack_blocks(),
            "TS" => self.timestamp(),
            "nop" => Ok(TcpOption::Nop),
            "eol" => Ok(TcpOption::Eol),
            "FO" | "FOEXP" => unsupported("TCP fast open is not modelled"),
            "md5" => unsupported("TCP MD5 signatures are not modelled"),
            _ => unsupported(format!("the TCP option `{word}` is not modelled")),
        }
    }

    fn sack_blocks(&mut self) -> Read<TcpOption> {
        let mut blocks = Vec::new();
        while matches!(self.kind(), Some(Kind::Integer(_))) {
            let start = self.unsigned("the start of a SACK block")?;
            self.expect(':')?;
            blocks.push((start, self.unsigned("the end of a SACK block")?));
        }
        match blocks.len() {
            0 => self.wrong("a SACK block"),
            1..=4 => Ok(TcpOption::Sack(blocks)),
            _ => self.wrong("at most four SACK blocks"),
        }
    }

    fn timestamp(&mut self) -> Read<TcpOption> {
        if !self.passed_word("val") {
            return self.wrong("`val`");
        }
        let val = self.unsigned("a timestamp")?;
        if !self.passed_word("ecr") {
            return self.wrong("`ecr`");
        }
        Ok(TcpOption::Timestamp { val, ecr: self.unsigned("a timestamp")? })
    }
}

/// System calls.
impl Parser {
    fn call(&mut self) -> Read<Call> {
        let mut returns_at = None;
        if self.kind() == Some(&Kind::Ellipsis) {
            self.next += 1;
            returns_at = Some(self.seconds()?);
        }
        let Some(Kind::Word(name)) = self.kind().cloned() else { return self.wrong("a system call") };
        self.next += 1;
        self.expect('(')?;
        let arguments = self.values(')')?;
        self.expect('=')?;
        let result = self.value()?;
        let errno = self.errno();
        if self.at_sign('(') {
            self.note()?;
        }
        Ok(Call { returns_at, name, arguments, result, errno })
    }

    fn errno(&mut self) -> Option<String> {
        let Some(Kind::Word(word)) = self.kind() else { return None };
        let word = word.clone();
        self.next += 1;
        Some(word)
    }

    /// `(Operation now in progress)`: for people.
    fn note(&mut self) -> Read<()> {
        self.expect('(')?;
        while !self.passed(')') {
            if self.take().is_none() {
                return self.wrong("`)`");
            }
        }
        Ok(())
    }

    /// Values up to the closing sign.
    fn values(&mut self, close: char) -> Read<Vec<Value>> {
        let mut found = Vec::new();
        if self.passed(close) {
            return Ok(found);
        }
        loop {
            found.push(self.value()?);
            if self.passed(close) {
                return Ok(found);
            }
            self.expect(',')?;
        }
    }

    fn value(&mut self) -> Read<Value> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.wrong("fewer brackets within each other");
        }
        let mut parts = vec![self.single_value()?];
        while self.passed('|') {
            parts.push(self.single_value()?);
        }
        self.depth -= 1;
        Ok(if parts.len() == 1 { parts.remove(0) } else { Value::Union(parts) })
    }

    fn single_value(&mut self) -> Read<Value> {
        match self.take() {
            Some(Kind::Ellipsis) => Ok(Value::Anything),
            Some(Kind::Integer(value) | Kind::Hexadecimal(value)) => Ok(Value::Integer(value)),
            Some(Kind::Text(text)) => self.text(text),
            Some(Kind::Sign('[')) => Ok(Value::List(self.values(']')?)),
            Some(Kind::Sign('{')) => Ok(Value::Structure(self.fields()?)),
            Some(Kind::Word(word)) => {
                // `htons(8080)`, `inet_addr("…")`: addresses are not modelled.
                if self.passed('(') {
                    self.values(')')?;
                    return Ok(Value::Anything);
                }
                Ok(Value::Word(word))
            }
            Some(_) => {
                self.next -= 1;
                self.wrong("a value")
            }
            None => self.wrong("a value"),
        }
    }

    /// Strings that follow each other are one; `"…"...` is one that may go on.
    fn text(&mut self, mut text: String) -> Read<Value> {
        while let Some(Kind::Text(more)) = self.kind() {
            text.push_str(more);
            self.next += 1;
        }
        if self.kind() == Some(&Kind::Ellipsis) {
            self.next += 1;
        }
        Ok(Value::Text(text))
    }

    /// `fd=4, events=POLLIN`, `msg_iov(1)=[…]`, or values alone.
    fn fields(&mut self) -> Read<Vec<(String, Value)>> {
        let mut found = Vec::new();
        if self.passed('}') {
            return Ok(found);
        }
        loop {
            found.push(self.field()?);
            if self.passed('}') {
                return Ok(found);
            }
            self.expect(',')?;
        }
    }

    fn field(&mut self) -> Read<(String, Value)> {
        let value = match self.kind().cloned() {
            Some(Kind::Word(name)) => {
                self.next += 1;
                if self.passed('(') {
                    self.values(')')?;
                }
                if !self.passed('=') {
                    return Ok((String::new(), Value::Word(name)));
                }
                return Ok((name, self.value()?));
            }
            _ => self.value()?,
        };
        Ok((String::new(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_is_not_modelled_is_told_with_its_line_and_reading_goes_on() {
        let script =
            parse("0 < udp (10)\n+0 < S 0:0(0) win 1 <FO,nop>\n\n+0 close(3) = 0\n").expect("well formed");
        let lines: Vec<u32> = script.unsupported.iter().map(|finding| finding.line.0).collect();
        assert_eq!((lines, script.events.len()), (vec![1, 2], 1));
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_with_their_line() {
        let finding = parse("\n0 < . 1:1001(999) ack 1 win 5").expect_err("1001 - 1 is not 999");
        assert_eq!(finding.line, LineNumber(2));
    }

    #[test]
    fn a_range_is_for_what_leaves() {
        assert!(parse("+0~+.1 close(3) = 0").is_err());
        assert!(parse("* < . 1:1(0) ack 1 win 5").is_err());
    }
}
