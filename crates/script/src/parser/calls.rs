//! System calls: `write(4, ..., 1000) = 1000`.

use crate::errno;
use crate::lexer::Kind;
use crate::parser::{Parser, Read, unsupported};
use crate::script::{Call, Value};

/// Maximum nesting of values.
const DEPTH_MAX: u32 = 32;

/// The calls that a TCP under test has.
const CALLS: [&str; 26] = [
    "accept",
    "accept4",
    "bind",
    "close",
    "connect",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
    "fcntl",
    "getsockopt",
    "ioctl",
    "listen",
    "poll",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socket",
    "write",
    "writev",
];

impl Parser {
    pub(super) fn call(&mut self) -> Read<Call> {
        let mut returns_at = None;
        if self.kind() == Some(&Kind::Ellipsis) {
            self.next += 1;
            returns_at = Some(self.seconds()?);
        }
        let Some(Kind::Word(name)) = self.kind().cloned() else { return self.wrong("a system call") };
        self.next += 1;
        self.expect('(')?;
        if !CALLS.contains(&name.as_str()) {
            return unsupported(format!("the system call `{name}` is not modelled"));
        }
        let arguments = self.values(')')?;
        if let Some(word) = arguments.iter().find_map(fast_open) {
            return unsupported(format!("TCP fast open is not modelled (`{word}`)"));
        }
        self.expect('=')?;
        let result = self.value()?;
        let errno = self.errno();
        if let Some(word) = errno.as_deref().filter(|word| errno::number(word).is_none()) {
            return unsupported(format!("`{word}` is not an error that is known"));
        }
        if self.at_sign('(') {
            self.note()?;
        }
        Ok(Call { returns_at, name, arguments, result, errno })
    }

    /// The name of an error after a result.
    fn errno(&mut self) -> Option<String> {
        let Some(Kind::Word(word)) = self.kind() else { return None };
        let word = word.clone();
        self.next += 1;
        Some(word)
    }

    /// `(Operation now in progress)`: a note that is ignored.
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

    /// Strings that follow each other are one; `"…"...` is one that may continue.
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

/// The word by which an argument asks for TCP fast open: `MSG_FASTOPEN`, `TCP_FASTOPEN_CONNECT`.
fn fast_open(argument: &Value) -> Option<&str> {
    match argument {
        Value::Word(word) => word.contains("FASTOPEN").then_some(word),
        Value::Union(values) | Value::List(values) => values.iter().find_map(fast_open),
        Value::Structure(fields) => fields.iter().find_map(|(_, value)| fast_open(value)),
        Value::Anything | Value::Integer(_) | Value::Text(_) => None,
    }
}
