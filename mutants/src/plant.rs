//! Finds the places of mutants in the syntax of a file.

use proc_macro2::{LineColumn, Span};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Listed;
use crate::render::{Mutants, Site, rendered};

/// A file with its mutants.
pub struct Planted<'a> {
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    mutants: Vec<Mutant<'a>>,
    sites: Vec<Site>,
}

/// A mutant, by the bytes that it replaces.
struct Mutant<'a> {
    start: usize,
    end: usize,
    listed: &'a Listed,
}

impl<'a> Planted<'a> {
    pub fn of(text: &'a str, listed: &[&'a Listed]) -> Self {
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        let mut planted = Planted { text, lines, mutants: Vec::new(), sites: Vec::new() };
        for mutant in listed {
            let at =
                |place: &crate::Place| planted.at(LineColumn { line: place.line, column: place.column - 1 });
            let (start, end) = (at(&mutant.span.start), at(&mutant.span.end));
            planted.mutants.push(Mutant { start, end, listed: mutant });
        }
        planted.visit_file(&syn::parse_file(text).expect("the file compiles"));
        planted
    }

    /// The mutant has a place.
    pub fn has(&self, number: u32) -> bool {
        self.sites.iter().any(|site| site.mutants.numbers().contains(&number))
    }

    pub fn text(self) -> String {
        rendered(self.text, self.sites)
    }

    /// Columns count characters.
    fn at(&self, LineColumn { line, column }: LineColumn) -> usize {
        let start = self.lines[line - 1];
        let rest = &self.text[start..];
        start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at)
    }

    fn range(&self, span: Span) -> (usize, usize) {
        (self.at(span.start()), self.at(span.end()))
    }

    fn source(&self, span: Span) -> &'a str {
        let (start, end) = self.range(span);
        &self.text[start..end]
    }

    /// The mutants of a kind that replace just this, with what they put there.
    fn that_replace(&self, (start, end): (usize, usize), genre: &str) -> Vec<(u32, String)> {
        let found = self
            .mutants
            .iter()
            .filter(|one| (one.start, one.end) == (start, end) && one.listed.genre == genre);
        found.map(|one| (one.listed.id, one.listed.replacement.clone())).collect()
    }

    /// The mutants of a kind that begin here; what they delete may end behind a comma.
    fn that_begin(&self, start: usize, genre: &str) -> Vec<u32> {
        let found = self.mutants.iter().filter(|one| one.start == start && one.listed.genre == genre);
        found.map(|one| one.listed.id).collect()
    }

    fn add(&mut self, (start, end): (usize, usize), mutants: Mutants) {
        if !mutants.numbers().is_empty() {
            self.sites.push(Site { start, end, mutants });
        }
    }

    fn body(&mut self, block: &syn::Block) {
        if let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) {
            let range = (self.range(first.span()).0, self.range(last.span()).1);
            self.add(range, Mutants::Return(self.that_replace(range, "FnValue")));
        }
    }

    fn deleted_field(&mut self, of: &syn::ExprStruct, base: &syn::Expr, field: &syn::FieldValue) {
        let deleted = self.that_begin(self.range(field.span()).0, "StructField");
        let (path, base, member) =
            (self.source(of.path.span()), self.source(base.span()), self.source(field.member.span()));
        let of_base = format!("{{ let base = {path} {{ ..{base} }}; base.{member} }}");
        if field.colon_token.is_some() {
            let texts = deleted.into_iter().map(|number| (number, of_base.clone())).collect();
            self.add(self.range(field.expr.span()), Mutants::Expression(texts));
        }
    }
}

/// `if let … && …` is no expression.
fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        syn::Expr::Paren(inner) => has_let(&inner.expr),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Planted<'_> {
    // What is worked out by the compiler cannot depend on the mutant that runs.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() {
            self.body(&item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() {
            self.body(&item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        item.default.iter().for_each(|block| self.body(block));
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, both: &'ast syn::ExprBinary) {
        let ((start, end), operator) = (self.range(both.span()), self.range(both.op.span()));
        if !has_let(&both.left) && !has_let(&both.right) {
            let (left, right) = (&self.text[start..operator.0], &self.text[operator.1..end]);
            let found = self.that_replace(operator, "BinaryOperator").into_iter();
            let texts = found.map(|(number, other)| (number, format!("{left}{other}{right}"))).collect();
            self.add((start, end), Mutants::Expression(texts));
        }
        visit::visit_expr_binary(self, both);
    }

    fn visit_expr_unary(&mut self, one: &'ast syn::ExprUnary) {
        let found = self.that_replace(self.range(one.op.span()), "UnaryOperator").into_iter();
        let without = self.source(one.expr.span());
        let texts = found.map(|(number, _)| (number, without.to_owned())).collect();
        self.add(self.range(one.span()), Mutants::Expression(texts));
        visit::visit_expr_unary(self, one);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let deleted = self.that_begin(self.range(arm.span()).0, "MatchArm");
        match &arm.guard {
            Some((_, guard)) if !has_let(guard) => {
                let range = self.range(guard.span());
                let mut texts = self.that_replace(range, "MatchArmGuard");
                texts.extend(deleted.into_iter().map(|number| (number, "false".to_owned())));
                self.add(range, Mutants::Expression(texts));
            }
            Some(_) => {}
            None => {
                let end = self.range(arm.pat.span()).1;
                self.add((end, end), Mutants::NoMatch(deleted));
            }
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, of: &'ast syn::ExprStruct) {
        if let Some(base) = &of.rest {
            of.fields.iter().for_each(|field| self.deleted_field(of, base, field));
        }
        visit::visit_expr_struct(self, of);
    }
}
