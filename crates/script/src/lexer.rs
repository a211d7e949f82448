//! Text to tokens, each with its line. White space and comments (`// …`, `/* … */`) only separate tokens, so a
//! statement may extend over several lines.
//!
//! The tokens are those of packetdrill: `.1` is a number, `...` an ellipsis, `.` a flag; `%{ … }%` is code, `` `…` `` a
//! command, `--name=value` an option. [packetdrill]

use crate::{Finding, LineNumber};

/// What a token is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Letters, digits and underscores that begin with a letter.
    Word(String),
    /// Digits, perhaps with a sign.
    Integer(i64),
    /// `0x…`.
    Hexadecimal(i64),
    /// Digits with a decimal point; in millionths.
    Decimal(i64),
    /// `"…"`.
    Text(String),
    /// `` `…` ``.
    Command(String),
    /// `%{ … }%`.
    Code(String),
    /// `--name` or `--name=value`.
    Option(String),
    /// `...`.
    Ellipsis,
    /// Any other character.
    Sign(char),
}

/// A token and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: LineNumber,
    /// It is the first of its line.
    pub(crate) opens_line: bool,
    /// Nothing separates it from the token before.
    pub(crate) adjoins: bool,
}

/// The tokens of a script.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Finding> {
    let mut lexer =
        Lexer { remaining: text, line: LineNumber(1), tokens: Vec::new(), fresh_line: true, separated: true };
    while lexer.step()? {}
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    remaining: &'a str,
    line: LineNumber,
    tokens: Vec<Token>,
    fresh_line: bool,
    separated: bool,
}

impl Lexer<'_> {
    /// One token or one separator; false at the end.
    fn step(&mut self) -> Result<bool, Finding> {
        let Some(first) = self.remaining.chars().next() else { return Ok(false) };
        if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else if self.remaining.starts_with("//") {
            self.skip(self.remaining.find('\n').unwrap_or(self.remaining.len()));
        } else if self.remaining.starts_with("/*") {
            let end = self.closing("*/", "a comment")?;
            self.skip(end + 2);
        } else {
            self.token(first)?;
        }
        Ok(true)
    }

    fn token(&mut self, first: char) -> Result<(), Finding> {
        if let Some(length) = self.number_length() {
            let kind =
                number(&self.remaining[..length]).ok_or_else(|| self.wrong("the number is too large"))?;
            self.push(kind, length);
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let length = self.length_of(|c| c.is_ascii_alphanumeric() || c == '_');
            self.push(word(&self.remaining[..length]), length);
        } else if self.remaining.starts_with("--")
            && self.remaining[2..].starts_with(|c: char| c.is_ascii_alphabetic())
        {
            let length = self.length_of(|c| !c.is_whitespace());
            self.push(Kind::Option(self.remaining[2..length].to_owned()), length);
        } else {
            self.enclosed_or_sign(first)?;
        }
        Ok(())
    }

    fn enclosed_or_sign(&mut self, first: char) -> Result<(), Finding> {
        if self.remaining.starts_with("%{") {
            let end = self.closing("}%", "code")?;
            self.push(Kind::Code(self.remaining[2..end].to_owned()), end + 2);
        } else if first == '"' {
            let end = self.quoted('"', "a string")?;
            self.push(Kind::Text(self.remaining[1..end].to_owned()), end + 1);
        } else if first == '`' {
            let end = self.quoted('`', "a command")?;
            self.push(Kind::Command(self.remaining[1..end].to_owned()), end + 1);
        } else if self.remaining.starts_with("...") {
            self.push(Kind::Ellipsis, 3);
        } else {
            self.push(Kind::Sign(first), first.len_utf8());
        }
        Ok(())
    }

    /// Length of the number that begins here: `12`, `.5`, `-1`, `0x1f`; not `...` and not `12ab`.
    fn number_length(&self) -> Option<usize> {
        let unsigned = self.remaining.strip_prefix('-').unwrap_or(self.remaining);
        let sign = self.remaining.len() - unsigned.len();
        let whole = unsigned.len() - unsigned.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let fraction = unsigned[whole..].strip_prefix('.').map_or(0, |rest| {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits > 0 { digits + 1 } else { 0 }
        });
        let length = whole + fraction;
        let continues = unsigned[length..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        (length > 0 && !(continues && fraction == 0)).then_some(sign + length)
    }

    fn length_of(&self, belongs: impl Fn(char) -> bool) -> usize {
        self.remaining.find(|c| !belongs(c)).unwrap_or(self.remaining.len())
    }

    fn closing(&self, mark: &str, what: &str) -> Result<usize, Finding> {
        let end = self.remaining[2..].find(mark).map(|at| at + 2);
        end.ok_or_else(|| self.wrong(&format!("{what} begins here and never ends; close it with `{mark}`")))
    }

    /// Where the closing quote is; a backslash hides one.
    fn quoted(&self, quote: char, what: &str) -> Result<usize, Finding> {
        let mut hidden = false;
        for (at, c) in self.remaining.char_indices().skip(1) {
            if c == quote && !hidden {
                return Ok(at);
            }
            hidden = c == '\\' && !hidden;
        }
        Err(self.wrong(&format!("{what} begins here and never ends; close it with {quote}")))
    }

    fn wrong(&self, message: &str) -> Finding {
        Finding::new(self.line, message)
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let (opens_line, adjoins) = (self.fresh_line, !self.separated);
        self.tokens.push(Token { kind, line: self.line, opens_line, adjoins });
        self.skip(length);
        self.fresh_line = false;
        self.separated = false;
    }

    fn skip(&mut self, length: usize) {
        let (passed, rest) = self.remaining.split_at(length);
        let lines = passed.matches('\n').count() as u32;
        self.line.0 += lines;
        self.fresh_line |= lines > 0;
        self.separated = true;
        self.remaining = rest;
    }
}

/// A word; `0x…` is a number and not a word.
fn word(text: &str) -> Kind {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.is_empty());
    match digits.and_then(|digits| i64::from_str_radix(digits, 16).ok()) {
        Some(value) => Kind::Hexadecimal(value),
        None => Kind::Word(text.to_owned()),
    }
}

fn number(text: &str) -> Option<Kind> {
    let Some((whole, fraction)) = text.split_once('.') else { return text.parse().ok().map(Kind::Integer) };
    let negative = whole.starts_with('-');
    let whole = whole.trim_start_matches('-');
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Digits beyond the microsecond are cut off.
    let millionths: i64 = format!("{fraction:0<6}")[..6].parse().ok()?;
    let value = whole.checked_mul(1_000_000)?.checked_add(millionths)?;
    Some(Kind::Decimal(if negative { -value } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).expect("it is well formed").into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn a_point_is_part_of_a_number_a_flag_or_an_ellipsis() {
        let expected = [
            Kind::Sign('+'),
            Kind::Decimal(100_000),
            Kind::Ellipsis,
            Kind::Decimal(200_000),
            Kind::Word("P".into()),
            Kind::Sign('.'),
            Kind::Integer(0),
            Kind::Ellipsis,
            Kind::Decimal(300_000),
        ];
        assert_eq!(kinds("+.1...0.200 P. 0...0.300"), expected);
    }

    #[test]
    fn comments_separate_tokens_and_lines_are_counted() {
        let found = tokens("a // b\n/* c\nd */ e\n`x\ny` z").expect("it is well formed");
        let lines: Vec<u32> = found.iter().map(|token| token.line.0).collect();
        assert_eq!(lines, [1, 3, 4, 5]);
        assert!(found[1].opens_line, "a comment opens no line");
    }

    #[test]
    fn an_unterminated_token_is_reported_with_the_line_where_it_begins() {
        assert_eq!(tokens("\n%{ assert").expect_err("it is open").line, LineNumber(2));
        assert_eq!(tokens("\n\n`sysctl").expect_err("it is open").line, LineNumber(3));
    }
}
