//! A script as data: options, and events in the order in which they are to happen.

use crate::LineNumber;

/// A script.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Script {
    pub(crate) options: Vec<OptionLine>,
    pub(crate) events: Vec<Event>,
    /// Statements of the language that are not modelled: nothing is run if there is one.
    pub(crate) unsupported: Vec<crate::Finding>,
}

/// `--name=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OptionLine {
    pub(crate) line: LineNumber,
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Something that happens at a time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Event {
    pub(crate) line: LineNumber,
    pub(crate) time: Time,
    pub(crate) action: Action,
}

/// When; microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    /// `*`: whenever.
    Any,
    /// Since the start of the script.
    Absolute(i64),
    /// Since the event before.
    Relative(i64),
    AbsoluteRange(i64, i64),
    RelativeRange(i64, i64),
}

/// What happens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Action {
    /// `<`: a segment arrives.
    Arrives(SegmentSpec),
    /// `>`: a segment leaves.
    Leaves(SegmentSpec),
    Call(Call),
    Command(String),
    Code(String),
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum EcnSpec {
    #[default]
    Unchecked,
    NotEct,
    Ect0,
    Ect1,
    /// Either.
    Ect01,
    Ce,
}

/// A segment as the script writes it; numbers are the script's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SegmentSpec {
    pub(crate) ecn: EcnSpec,
    /// Flags in the order of packetdrill: some of `FSRPUEW`, and `.` for ACK.
    pub(crate) flags: Flags,
    pub(crate) seq: u32,
    pub(crate) length: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) window: Option<u32>,
    pub(crate) options: OptionsSpec,
}

/// TCP flags as octets on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    pub(crate) const FIN: Flags = Flags(0x01);
    pub(crate) const SYN: Flags = Flags(0x02);
    pub(crate) const RST: Flags = Flags(0x04);
    pub(crate) const PSH: Flags = Flags(0x08);
    pub(crate) const ACK: Flags = Flags(0x10);
    pub(crate) const ECE: Flags = Flags(0x40);
    pub(crate) const CWR: Flags = Flags(0x80);

    /// Letters of the flags, in the order in which they are printed.
    pub(crate) const LETTERS: [(char, Flags); 7] = [
        ('F', Flags::FIN),
        ('S', Flags::SYN),
        ('R', Flags::RST),
        ('P', Flags::PSH),
        ('E', Flags::ECE),
        ('W', Flags::CWR),
        ('.', Flags::ACK),
    ];

    pub(crate) fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 == flag.0
    }

    pub(crate) fn with(self, flag: Flags) -> Flags {
        Flags(self.0 | flag.0)
    }
}

/// The options of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OptionsSpec {
    /// `<...>`.
    Unchecked,
    Exactly(Vec<TcpOption>),
}

/// One TCP option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TcpOption {
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    Sack(Vec<(u32, u32)>),
    Timestamp { val: u32, ecr: u32 },
    Nop,
    Eol,
}

/// `name(arguments) = result errno`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    /// When it returns, if it blocks; on the scale of the event's time.
    pub(crate) returns_at: Option<i64>,
    pub(crate) name: String,
    pub(crate) arguments: Vec<Value>,
    pub(crate) result: Value,
    pub(crate) errno: Option<String>,
}

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    /// `...`.
    Anything,
    Integer(i64),
    Word(String),
    Text(String),
    /// `A|B`.
    Union(Vec<Value>),
    /// `[a, b]`.
    List(Vec<Value>),
    /// `{name=value, …}`; a field without a name has an empty one.
    Structure(Vec<(String, Value)>),
}
