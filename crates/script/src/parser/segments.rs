//! Segments: `P. 1:1001(1000) ack 1 win 5 <nop,nop,TS val 1 ecr 2>`.

use crate::Finding;
use crate::lexer::Kind;
use crate::parser::{Parser, Read, unsupported};
use crate::script::{EcnSpec, Flags, OptionsSpec, SegmentSpec, TcpOption, counter_names};

/// How packets begin that do not carry TCP over IP alone.
const OTHER_PROTOCOLS: [&str; 9] = ["udp", "icmp", "ipv4", "ipv6", "gre", "GREv0", "mpls", "raw", "encap"];

impl Parser {
    pub(super) fn segment(&mut self) -> Read<SegmentSpec> {
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
        let other = |kind: Option<&Kind>| match kind {
            Some(Kind::Word(word)) => OTHER_PROTOCOLS.iter().find(|known| *known == word),
            _ => None,
        };
        let Some(outermost) = other(self.kind()) else { return Ok(()) };
        // Encapsulated ones follow in the same line.
        let line = self.line();
        let inner = self.tokens[self.next + 1..].iter().take_while(|token| token.line == line);
        let inner = inner.filter_map(|token| other(Some(&token.kind)));
        let names: Vec<String> =
            std::iter::once(outermost).chain(inner).map(|name| format!("`{name}`")).collect();
        unsupported(format!("packets of {} are not modelled: TCP only", names.join(" and ")))
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
            Some(Kind::Word(word)) => {
                flags = self.letters(&word.clone())?;
                self.next += 1;
            }
            Some(Kind::Sign('.') | Kind::Decimal(_)) => {}
            _ => return self.wrong("TCP flags"),
        }
        let adjoins = flags == Flags::default() || self.peek().is_some_and(|token| token.adjoins);
        match self.kind() {
            Some(Kind::Sign('.')) => {
                self.next += 1;
                flags = flags.with(Flags::ACK);
            }
            // `.5`: ACK, and ACE as a number.
            Some(&Kind::Decimal(millionths)) if adjoins => {
                let ace = (0..=7).find(|ace| i64::from(*ace) * 100_000 == millionths);
                let Some(ace) = ace else { return self.wrong("ACE as a digit from 0 to 7") };
                self.next += 1;
                flags = self.with_ace(flags, ace)?.with(Flags::ACK);
            }
            _ => {}
        }
        Ok(flags)
    }

    /// Letters of flags, and perhaps ACE as a digit.
    fn letters(&self, word: &str) -> Read<Flags> {
        let mut flags = Flags::default();
        for letter in word.chars() {
            flags = match letter.to_digit(8) {
                Some(ace) => self.with_ace(flags, ace as u8)?,
                None => flags.with(self.flag(letter)?),
            };
        }
        Ok(flags)
    }

    fn with_ace(&self, flags: Flags, ace: u8) -> Read<Flags> {
        if flags.0 & Flags::of_ace(7).0 != 0 {
            return self.wrong("either the flags E, W and A or their number, not both");
        }
        Ok(flags.with(Flags::of_ace(ace)))
    }

    fn flag(&self, letter: char) -> Read<Flags> {
        match Flags::LETTERS.iter().find(|(known, _)| *known == letter) {
            Some((_, flag)) => Ok(*flag),
            None if letter == 'U' => unsupported("urgent data is not modelled"),
            None => self.wrong("TCP flags (F S R P E W A, a digit from 0 to 7 for E, W and A, and `.`)"),
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
        if matches!(word.as_str(), "mss" | "wscale")
            && let Some(Kind::Word(macro_)) = self.kind()
        {
            return unsupported(format!(
                "`{word} {macro_}`: a name in the place of a number is not modelled"
            ));
        }
        match word.as_str() {
            "mss" => Ok(TcpOption::Mss(self.octets("an MSS")?)),
            "wscale" => Ok(TcpOption::WindowScale(self.octets("a window scale")?)),
            "sackOK" => Ok(TcpOption::SackPermitted),
            "sack" => self.sack_blocks(),
            "TS" => self.timestamp(),
            "ECN" => self.accecn(),
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

    /// `ECN e1b 1 ceb 0 e0b 1`; counters may be missing at the end.
    fn accecn(&mut self) -> Read<TcpOption> {
        let kind = if self.at_word("e0b") { 172 } else { 174 };
        let mut fields = Vec::new();
        for name in counter_names(kind).into_iter().flatten() {
            if !self.passed_word(name) {
                break;
            }
            let counter = self.unsigned("a counter")?;
            if counter >= 1 << 24 {
                return self.wrong("a counter of 24 bits");
            }
            fields.push(counter);
        }
        Ok(TcpOption::AccEcn { kind, fields })
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
