//! The text of a file with its mutants.

use std::cmp::Reverse;

/// A range of the text that differs between mutants.
pub struct Site {
    pub start: usize,
    pub end: usize,
    pub mutants: Mutants,
}

/// What the mutants of a site put in its place, by their numbers.
pub enum Mutants {
    /// Another expression.
    Expression(Vec<(u32, String)>),
    /// The function returns this value at once; the site is its body.
    Return(Vec<(u32, String)>),
    /// The arm of a `match`, which has no guard, does not match; the site is empty.
    NoMatch(Vec<u32>),
}

impl Mutants {
    pub fn numbers(&self) -> Vec<u32> {
        match self {
            Mutants::Expression(all) | Mutants::Return(all) => {
                all.iter().map(|(number, _)| *number).collect()
            }
            Mutants::NoMatch(all) => all.clone(),
        }
    }
}

/// The text with its sites, of which one may be within another. Only one mutant runs at a time, so that what a mutant puts
/// there has no other mutants in it, and the text does not grow with their depth. Each begins with `/*Mnumber*/`, by which an
/// error of the compiler is known to be its own.
pub fn rendered(text: &str, mut sites: Vec<Site>) -> String {
    // Stable: of two with the same range the outer one was found first.
    sites.sort_by_key(|site| (site.start, Reverse(site.end)));
    within(text, 0, text.len(), &sites)
}

fn within(text: &str, start: usize, end: usize, sites: &[Site]) -> String {
    let mut out = String::new();
    let (mut at, mut next) = (start, 0);
    while let Some(site) = sites.get(next) {
        let inner = sites[next + 1..].iter().take_while(|inner| inner.start < site.end).count();
        out.push_str(&text[at..site.start]);
        let unchanged = within(text, site.start, site.end, &sites[next + 1..=next + inner]);
        out.push_str(&chosen(&site.mutants, &unchanged));
        (at, next) = (site.end, next + 1 + inner);
    }
    out + &text[at..end]
}

const CHOSEN: &str = "::tailback_units::mutant()";

fn chosen(mutants: &Mutants, unchanged: &str) -> String {
    match mutants {
        Mutants::Expression(all) => {
            let arm = |(number, text): &(u32, String)| {
                // In one line, as its errors are.
                format!("/*M{number}*/ {number}u32 => {{ {} }} ", text.replace('\n', " "))
            };
            format!(
                "(match {CHOSEN} {{ {}_ => {{ {unchanged} }} }})",
                all.iter().map(arm).collect::<String>()
            )
        }
        Mutants::Return(all) => {
            let arm =
                |(number, value): &(u32, String)| format!("/*M{number}*/ {number}u32 => return {value}, ");
            format!("match {CHOSEN} {{ {}_ => {{}} }} {unchanged}", all.iter().map(arm).collect::<String>())
        }
        Mutants::NoMatch(all) => {
            let test = |number: &u32| format!("/*M{number}*/ {CHOSEN} != {number}u32");
            format!(" if {} ", all.iter().map(test).collect::<Vec<_>>().join(" && "))
        }
    }
}
