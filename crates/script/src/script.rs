//! A script as data: options, and events in order.

use crate::LineNumber;

/// A script.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// Lines before the first event.
    pub options: Vec<OptionLine>,
    /// In the order in which they are to happen.
    pub events: Vec<Event>,
    /// Statements of the language that are not modelled: with any of them the script is not run.
    pub unsupported: Vec<crate::Finding>,
}

/// `--name=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionLine {
    /// The line of the option in the script.
    pub line: LineNumber,
    /// Without its dashes.
    pub name: String,
    /// What it is set to.
    pub value: String,
}

/// Something that happens at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The line of the event in the script.
    pub line: LineNumber,
    /// When it is to happen.
    pub time: Time,
    /// What is to happen.
    pub action: Action,
}

/// When; microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// `*`: whenever.
    Any,
    /// Since the start of the script.
    Absolute(i64),
    /// Since the event before.
    Relative(i64),
    /// Not before and not after, since the start.
    AbsoluteRange(i64, i64),
    /// Not before and not after, since the event before.
    RelativeRange(i64, i64),
}

/// What happens.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// `<`: a segment arrives.
    Arrives(SegmentSpec),
    /// `>`: a segment leaves.
    Leaves(SegmentSpec),
    /// A system call.
    Call(Call),
    /// A command that sets the host up.
    Command(String),
    /// Code over readings of the connection.
    Code(String),
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnSpec {
    /// The script does not specify it.
    #[default]
    Unchecked,
    /// Not capable.
    NotEct,
    /// Capable, ECT(0).
    Ect0,
    /// Capable, ECT(1).
    Ect1,
    /// Either.
    Ect01,
    /// Congestion experienced.
    Ce,
}

/// A segment as the script writes it; numbers are the script's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentSpec {
    /// The ECN field.
    pub ecn: EcnSpec,
    /// Flags in the order of packetdrill: some of `FSRPEWA`, and `.` for ACK; a digit stands for `EWA` as a number.
    pub flags: Flags,
    /// Number of its first byte.
    pub seq: u32,
    /// Bytes of payload.
    pub length: u32,
    /// What it acknowledges.
    pub ack: Option<u32>,
    /// As on the wire, not scaled.
    pub window: Option<u32>,
    /// The options of the segment.
    pub options: OptionsSpec,
}

/// TCP flags as on the wire: an octet, and AE in the octet before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(
    /// Both octets; the rest of the first is 0.
    pub u16,
);

impl Flags {
    /// `FIN`.
    pub const FIN: Flags = Flags(0x01);
    /// `SYN`.
    pub const SYN: Flags = Flags(0x02);
    /// `RST`.
    pub const RST: Flags = Flags(0x04);
    /// `PSH`.
    pub const PSH: Flags = Flags(0x08);
    /// `ACK`.
    pub const ACK: Flags = Flags(0x10);
    /// `ECE`.
    pub const ECE: Flags = Flags(0x40);
    /// `CWR`.
    pub const CWR: Flags = Flags(0x80);
    /// `AE`, of accurate ECN.
    pub const AE: Flags = Flags(0x100);

    /// Letters of the flags, in the order in which they are printed.
    pub const LETTERS: [(char, Flags); 8] = [
        ('F', Flags::FIN),
        ('S', Flags::SYN),
        ('R', Flags::RST),
        ('P', Flags::PSH),
        ('E', Flags::ECE),
        ('W', Flags::CWR),
        ('A', Flags::AE),
        ('.', Flags::ACK),
    ];

    /// Whether all of `flag` is set.
    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 == flag.0
    }

    /// Both.
    pub fn with(self, flag: Flags) -> Flags {
        Flags(self.0 | flag.0)
    }

    /// The flags whose number is `ace`: AE is its highest bit, ECE its lowest. [rfc9768 §3.2.2]
    pub fn of_ace(ace: u8) -> Flags {
        Flags(u16::from(ace & 7) << 6)
    }
}

/// The options of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionsSpec {
    /// `<...>`.
    Unchecked,
    /// These, in this order.
    Exactly(Vec<TcpOption>),
}

/// One TCP option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TcpOption {
    /// Maximum segment size.
    Mss(u16),
    /// Shift of windows.
    WindowScale(u8),
    /// SACK may be used.
    SackPermitted,
    /// Blocks, start and end.
    Sack(Vec<(u32, u32)>),
    /// A timestamp and its echo.
    Timestamp {
        /// Of the sender.
        val: u32,
        /// The last one it has seen.
        ecr: u32,
    },
    /// The option of accurate ECN: its kind, and its counters. [rfc9768 §3.2.3]
    AccEcn {
        /// 172: bytes with ECT(0) first; 174: with ECT(1) first.
        kind: u8,
        /// Up to three counters of 24 bits.
        fields: Vec<u32>,
    },
    /// Padding.
    Nop,
    /// End of the list.
    Eol,
    /// An option without a name in scripts.
    Unknown {
        /// The number of the option.
        kind: u8,
        /// The length of the option, in octets.
        length: u8,
    },
}

/// The names of the counters in an option of accurate ECN of this kind, if it is one.
pub fn counter_names(kind: u8) -> Option<[&'static str; 3]> {
    match kind {
        172 => Some(["e0b", "ceb", "e1b"]),
        174 => Some(["e1b", "ceb", "e0b"]),
        _ => None,
    }
}

/// `name(arguments) = result errno`.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// When it returns, if it blocks; on the scale of the event's time.
    pub returns_at: Option<i64>,
    /// The name of the call.
    pub name: String,
    /// The arguments of the call.
    pub arguments: Vec<Value>,
    /// What it is to return.
    pub result: Value,
    /// The error it is to end with, by name.
    pub errno: Option<String>,
}

impl Call {
    /// Whether a text has the name of the call, or a name among its arguments.
    pub fn has_word_in(&self, text: &str) -> bool {
        let words: Vec<&str> =
            text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
        words.contains(&self.name.as_str())
            || self.arguments.iter().any(|argument| argument.has_one_of(&words))
    }
}

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `...`.
    Anything,
    /// A number.
    Integer(i64),
    /// A name.
    Word(String),
    /// A string.
    Text(String),
    /// `A|B`.
    Union(Vec<Value>),
    /// `[a, b]`.
    List(Vec<Value>),
    /// `{name=value, …}`; a field without a name has an empty one.
    Structure(Vec<(String, Value)>),
}

impl Value {
    fn has_one_of(&self, words: &[&str]) -> bool {
        match self {
            Value::Anything | Value::Integer(_) => false,
            Value::Word(text) | Value::Text(text) => words.contains(&text.as_str()),
            Value::Union(parts) | Value::List(parts) => parts.iter().any(|part| part.has_one_of(words)),
            Value::Structure(fields) => {
                fields.iter().any(|(name, value)| words.contains(&name.as_str()) || value.has_one_of(words))
            }
        }
    }
}

/// The value as scripts write it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Anything => "...".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Word(text) | Value::Text(text) => text.clone(),
        Value::Union(parts) => parts.iter().map(shown).collect::<Vec<_>>().join("|"),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Structure(fields) => {
            let field = |(name, value): &(String, Value)| format!("{name}={}", shown(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}
