//! Literals that can never be right: aggregates of several types, and constant arguments that their functions refuse.
//!
//! Invariant: looked for only in trees without type errors. Not here: what the functions do with them (their libraries).

use super::Checked;
use super::assign::is_exact;
use crate::ast::{Comprehension, Entry, Expr, ExprId, ExprKind, Literal};
use crate::error::{Issue, Place};
use crate::library::regex;
use crate::library::strings::check_format;
use crate::types::Type;
use crate::value::Value;

/// Function whose arguments may be of several types.
const FORMAT: &str = "format";

/// All that is wrong with the literals of a tree.
pub(super) fn issues(checked: &Checked) -> Vec<Issue> {
    let mut search = Search { checked, issues: Vec::new() };
    search.visit(&checked.ast.root, false);
    search.issues
}

struct Search<'c> {
    checked: &'c Checked,
    issues: Vec<Issue>,
}

impl<'c> Search<'c> {
    fn report(&mut self, at: ExprId, message: String) {
        let ast = &self.checked.ast;
        let position = ast.positions.get(at as usize).map_or(0, |position| *position as usize);
        self.issues.push(Issue { place: Place::of(&ast.source, position), message });
    }

    /// Looks at an expression and its parts; `formatted` says that it is a part of an argument of `format`.
    fn visit(&mut self, expr: &Expr, formatted: bool) {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Ident(_) => {}
            ExprKind::Select { operand, .. } => self.visit(operand, formatted),
            ExprKind::Call { function, target, arguments } => {
                self.call(expr.id, function, target.as_deref(), arguments);
                let formatted = formatted || &**function == FORMAT;
                target.iter().for_each(|target| self.visit(target, formatted));
                arguments.iter().for_each(|argument| self.visit(argument, formatted));
            }
            ExprKind::List { elements, optional } => {
                if !formatted {
                    self.list(elements, optional);
                }
                elements.iter().for_each(|element| self.visit(element, formatted));
            }
            ExprKind::Map(entries) => {
                if !formatted {
                    self.map(entries);
                }
                for entry in entries {
                    self.visit(&entry.key, formatted);
                    self.visit(&entry.value, formatted);
                }
            }
            ExprKind::Message { fields, .. } => {
                fields.iter().for_each(|field| self.visit(&field.value, formatted))
            }
            ExprKind::Comprehension(fold) => self.comprehension(fold, formatted),
        }
    }

    fn comprehension(&mut self, fold: &Comprehension, formatted: bool) {
        for part in [&fold.range, &fold.initial, &fold.condition, &fold.step, &fold.result] {
            self.visit(part, formatted);
        }
    }

    fn list(&mut self, elements: &[Expr], optional: &[u32]) {
        let mut of: Option<&Type> = None;
        for (index, element) in elements.iter().enumerate() {
            let found = self.held(element, optional.contains(&(index as u32)));
            match of {
                None => of = Some(found),
                Some(first) if is_exact(first, found) => {}
                Some(first) => return self.mismatch(element.id, first, found),
            }
        }
    }

    fn map(&mut self, entries: &[Entry]) {
        let mut of: Option<(&Type, &Type)> = None;
        for Entry { key, value, optional, .. } in entries {
            let (key_type, value_type) = (self.held(key, false), self.held(value, *optional));
            let Some((keys, values)) = of else {
                of = Some((key_type, value_type));
                continue;
            };
            if !is_exact(keys, key_type) {
                self.mismatch(key.id, keys, key_type);
            }
            if !is_exact(values, value_type) {
                self.mismatch(value.id, values, value_type);
            }
        }
    }

    fn mismatch(&mut self, at: ExprId, expected: &Type, found: &Type) {
        self.report(
            at,
            format!("expected type '{}' but found '{}'", expected.short(), found.short()),
        );
    }

    fn call(&mut self, id: ExprId, function: &str, target: Option<&Expr>, arguments: &[Expr]) {
        if let (FORMAT, Some(format), [Expr { kind: ExprKind::List { elements, .. }, .. }]) =
            (function, target.and_then(text), arguments)
        {
            return self.format(id, format, elements);
        }
        let Some(argument @ Expr { kind: ExprKind::Literal(literal), .. }) = arguments.first()
        else {
            return;
        };
        let refused = match function {
            "duration" | "timestamp" => self.is_refused(id, literal),
            "matches" if target.is_some() => {
                text(argument).is_some_and(|pattern| regex::check(pattern).is_err())
            }
            _ => false,
        };
        if refused {
            self.report(argument.id, format!("invalid {function} argument"));
        }
    }

    fn format(&mut self, call: ExprId, format: &str, arguments: &[Expr]) {
        let checked = self.checked;
        if let Err(fault) = check_format(format, arguments, &|id| checked.type_of(id)) {
            self.report(fault.at.unwrap_or(call), fault.text);
        }
    }

    /// Whether the function that is called fails on a constant.
    fn is_refused(&self, call: ExprId, literal: &Literal) -> bool {
        let argument = Value::from(literal);
        self.checked
            .overloads(call)
            .first()
            .is_some_and(|overload| (overload.call)(&[argument]).is_err())
    }

    /// The type of an element; of what it holds, when it is marked with `?`.
    fn held(&self, expr: &Expr, optional: bool) -> &'c Type {
        match self.checked.type_of(expr.id) {
            Type::Optional(inner) if optional => inner,
            other => other,
        }
    }
}

/// The text of a string literal.
fn text(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}
