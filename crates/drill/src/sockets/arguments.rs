//! The arguments of a call.

use tailback_script::player::CallError;

pub(super) use crate::script::shown;
use crate::script::{Call, Value};

/// Maximum number of bytes of a read or write, more than in any script.
pub(super) const TRANSFER_MAX: i64 = 1 << 32;

/// The arguments of a call.
pub(super) struct Arguments<'a>(pub(super) &'a Call);

impl<'a> Arguments<'a> {
    pub(super) fn get(&self, place: usize) -> Result<&'a Value, CallError> {
        let missing = || {
            CallError::Unsupported(format!(
                "{} with fewer than {} arguments is not modelled",
                self.0.name,
                place + 1
            ))
        };
        self.0.arguments.get(place).ok_or_else(missing)
    }

    pub(super) fn integer(&self, place: usize) -> Result<i64, CallError> {
        match self.get(place)? {
            Value::Integer(value) => Ok(*value),
            other => Err(CallError::Unsupported(format!(
                "{} with `{}` in the place of a number is not modelled",
                self.0.name,
                shown(other)
            ))),
        }
    }

    pub(super) fn length(&self, place: usize) -> Result<u64, CallError> {
        let length = self.integer(place)?;
        match (0..=TRANSFER_MAX).contains(&length) {
            true => Ok(length as u64),
            false => {
                Err(CallError::Unsupported(format!("{}: a length of {length} is not modelled", self.0.name)))
            }
        }
    }

    /// The words of `A|B|C`; a number is one of its own.
    pub(super) fn words(&self, place: usize) -> Result<Vec<String>, CallError> {
        Ok(match self.get(place)? {
            Value::Union(parts) => parts.iter().map(shown).collect(),
            other => vec![shown(other)],
        })
    }

    /// Whether the flags at `place` have one, by its name or its bit.
    pub(super) fn has_flag(&self, place: usize, name: &str, bit: i64) -> Result<bool, CallError> {
        let has = |part: &Value| match part {
            Value::Integer(number) => number & bit != 0,
            part => shown(part) == name,
        };
        Ok(match self.get(place)? {
            Value::Union(parts) => parts.iter().any(has),
            other => has(other),
        })
    }

    /// The number in `[5]`.
    pub(super) fn in_brackets(&self, place: usize) -> Result<Option<i64>, CallError> {
        Ok(match self.get(place)? {
            Value::List(items) => match items.as_slice() {
                [Value::Integer(value)] => Some(*value),
                _ => None,
            },
            Value::Integer(value) => Some(*value),
            _ => None,
        })
    }
}

/// Compares the value that a call writes to an argument with the one in the script.
pub(super) fn expect_value(arguments: &Arguments<'_>, place: usize, actual: i64) -> Result<(), CallError> {
    let wanted = arguments.get(place)?;
    match arguments.in_brackets(place)? {
        // An option is an `int`, of which -1 and 0xffffffff are the same.
        Some(number) if number as i32 == actual as i32 => Ok(()),
        None if *wanted == Value::Anything => Ok(()),
        _ => {
            let (name, wanted) = (&arguments.0.name, shown(wanted));
            Err(CallError::Failed(format!("{name}: expected {wanted}, got [{actual}]")))
        }
    }
}
