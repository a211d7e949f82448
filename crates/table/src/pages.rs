//! How much room the pages of a column claim, before one is unpacked: `parquet` takes what the head of a page claims, and a
//! head in a file of 8 kB may claim 2 GB.
//!
//! Heads are structs of Thrift's compact protocol. Of each only two numbers are of use here: field 2, the bytes of the page
//! when it is unpacked, and field 3, its bytes in the file. [parquet-format parquet.thrift PageHeader]
//! [thrift-compact-protocol]

/// The longest page of a column when unpacked, as the heads of its pages in `chunk` claim; `None` if they are no heads.
pub(crate) fn longest(mut chunk: &[u8]) -> Option<usize> {
    let mut longest = 0;
    while !chunk.is_empty() {
        let mut sizes = [None; 2];
        read_struct(&mut chunk, 0, &mut |field, value| match field {
            2 | 3 => sizes[usize::from(field) - 2] = usize::try_from(value).ok(),
            _ => (),
        })?;
        let [unpacked, packed] = sizes;
        chunk = chunk.get(packed?..)?;
        longest = longest.max(unpacked?);
    }
    Some(longest)
}

/// How deep structs may be in one another; those of the format are three deep.
const DEEPEST: usize = 8;

/// Reads a struct up to its end, and tells `found` its whole numbers by their fields.
fn read_struct(left: &mut &[u8], depth: usize, found: &mut dyn FnMut(u16, i64)) -> Option<()> {
    let mut field = 0_u16;
    loop {
        let byte = take(left)?;
        let (step, kind) = (byte >> 4, byte & 0xf);
        if kind == 0 {
            return Some(());
        }
        field = match step {
            0 => u16::try_from(signed(left)?).ok()?,
            step => field.checked_add(u16::from(step))?,
        };
        match kind {
            4..=6 => found(field, signed(left)?),
            1 | 2 => (),
            kind => skip(left, kind, depth)?,
        }
    }
}

/// Passes over a value that is of no use here.
fn skip(left: &mut &[u8], kind: u8, depth: usize) -> Option<()> {
    match kind {
        // Elsewhere than in a struct, a truth value has a byte.
        1..=3 => take(left).map(drop),
        4..=6 => number(left).map(drop),
        7 => pass(left, 8),
        8 => {
            let length = usize::try_from(number(left)?).ok()?;
            pass(left, length)
        }
        9 | 10 => {
            let byte = take(left)?;
            let count = if byte >> 4 == 15 { number(left)? } else { u64::from(byte >> 4) };
            (0..count).try_for_each(|_| skip(left, byte & 0xf, depth))
        }
        12 if depth < DEEPEST => read_struct(left, depth + 1, &mut |_, _| ()),
        _ => None,
    }
}

fn pass(left: &mut &[u8], length: usize) -> Option<()> {
    *left = left.get(length..)?;
    Some(())
}

fn take(left: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = left.split_first()?;
    *left = rest;
    Some(first)
}

/// A number in groups of seven bits, the lowest first.
fn number(left: &mut &[u8]) -> Option<u64> {
    let mut bits = 0;
    for place in 0..10 {
        let byte = take(left)?;
        bits |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(bits);
        }
    }
    None
}

/// As [`number`], with the sign in the lowest bit.
fn signed(left: &mut &[u8]) -> Option<i64> {
    let bits = number(left)?;
    Some((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::longest;

    /// Type 0, `unpacked` and `packed` below 64, then fields that are passed over: a struct with text, a list, a
    /// far-away field.
    fn page(unpacked: u8, packed: u8) -> Vec<u8> {
        let head = [
            0x15,
            0,
            0x15,
            2 * unpacked,
            0x15,
            2 * packed,
            0x2c,
            0x18,
            2,
            b'a',
            b'b',
            0,
            0x19,
            0x25,
            2,
            4,
            0x05,
            40,
            1,
            0,
        ];
        [&head[..], &vec![7; usize::from(packed)]].concat()
    }

    #[test]
    fn the_longest_of_several_pages_is_found() {
        assert_eq!(longest(&[page(5, 3), page(60, 20), page(9, 0)].concat()), Some(60));
        assert_eq!(longest(&[]), Some(0));
    }

    #[test]
    fn what_is_cut_is_no_page() {
        let whole = page(60, 20);
        assert!((1..whole.len()).all(|length| longest(&whole[..length]).is_none()));
    }

    #[test]
    fn a_struct_in_a_struct_without_end_is_no_page() {
        assert_eq!(longest(&[0x1c; 1_000_000]), None);
    }
}
