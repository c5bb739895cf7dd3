//! One rule of a place: its expression and that of its message, checked against what the place is
//! declared to hold.
//!
//! Invariant: whatever is wrong with an expression is a text, never a panic; texts have the names of
//! the naming profile.
//!
//! Not here: which places have rules, what rules may cost, what their results mean.

use std::collections::HashSet;
use std::sync::Arc;

use quorate_cel::checker::{self, Checked, Reference};
use quorate_cel::declarations::SchemaDeclarations;
use quorate_cel::environment::{Environment, Library, Release};
use quorate_cel::naming::in_profile;
use quorate_cel::parser;
use quorate_cel::program::{CompileError, Program};
use quorate_cel::types::Type;
use quorate_meta::Naming;
use quorate_schema::structural::{NodeId, Rule, Structural};

/// The variables of a rule, by slot: the value, and the value that it replaces.
pub(super) const VARIABLES: [&str; 2] = ["self", "oldSelf"];
/// Functions of later releases are refused in new expressions, so that the release before this one
/// can still read them.
const NEW_EXPRESSIONS: Release = Release(34);

/// Compiles the rules of one schema.
#[derive(Debug)]
pub(super) struct RuleCompiler<'a> {
    declarations: SchemaDeclarations,
    stored: Arc<Library>,
    new: NewExpressions<'a>,
    naming: Naming,
}

/// Which expressions are new.
#[derive(Debug)]
enum NewExpressions<'a> {
    None,
    AllBut { known: &'a HashSet<&'a str>, library: Arc<Library> },
}

/// An expression without faults.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) checked: Checked,
    pub(super) program: Program,
}

/// A rule whose expressions were compiled; a text is why one does not compile.
#[derive(Debug)]
pub(super) struct CheckedRule {
    pub(super) rule: Result<Expression, String>,
    pub(super) message: Option<Result<Expression, String>>,
}

/// What an expression has to result in, and the words of its errors.
struct Wanted {
    result: Type,
    what: &'static str,
    failed: &'static str,
    planned: &'static str,
}

const fn rule() -> Wanted {
    Wanted {
        result: Type::Bool,
        what: "cel expression must evaluate to a bool",
        failed: "compilation failed",
        planned: "program instantiation failed",
    }
}

const fn message() -> Wanted {
    Wanted {
        result: Type::String,
        what: "messageExpression must evaluate to a string",
        failed: "messageExpression compilation failed",
        planned: "messageExpression instantiation failed",
    }
}

impl<'a> RuleCompiler<'a> {
    /// For rules that are stored.
    pub(super) fn stored(schema: &Structural) -> Self {
        Self {
            declarations: SchemaDeclarations::new(schema),
            stored: Arc::new(Library::stored()),
            new: NewExpressions::None,
            naming: schema.graph().names().naming,
        }
    }

    /// For rules that a client writes; the `known` expressions were stored before.
    pub(super) fn written(schema: &Structural, known: &'a HashSet<&'a str>) -> Self {
        let library = Arc::new(Library::at(NEW_EXPRESSIONS));
        Self { new: NewExpressions::AllBut { known, library }, ..Self::stored(schema) }
    }

    /// What expressions see of the schema.
    pub(super) fn declarations(&self) -> &SchemaDeclarations {
        &self.declarations
    }

    /// Compiles a rule of a place; `None` when expressions do not see the place.
    pub(super) fn compile(&self, place: NodeId, written: &Rule) -> Option<CheckedRule> {
        let own = self.declarations.shape(place)?.to_type();
        let compile = |source: &str, wanted: Wanted| {
            let old = match written.optional_old_self {
                Some(true) => Type::Optional(Arc::new(own.clone())),
                _ => own.clone(),
            };
            let environment = self
                .declarations
                .environment(self.library(source))
                .with_variable(VARIABLES[0], own.clone())
                .with_variable(VARIABLES[1], old);
            expression(&environment, source, &wanted)
                .map_err(|text| in_profile(self.naming, &text).into_owned())
        };
        let source = written.message_expression.as_str();
        Some(CheckedRule {
            rule: compile(&written.rule, rule()),
            message: (!source.is_empty()).then(|| compile(source, message())),
        })
    }

    fn library(&self, source: &str) -> Arc<Library> {
        match &self.new {
            NewExpressions::AllBut { known, library } if !known.contains(source) => library.clone(),
            _ => self.stored.clone(),
        }
    }
}

fn expression(
    environment: &Environment,
    source: &str,
    wanted: &Wanted,
) -> Result<Expression, String> {
    let failed = |issues| format!("{}: {issues}", wanted.failed);
    let ast = parser::parse_with(source, environment.library().macros()).map_err(failed)?;
    let checked = checker::check(environment, ast).map_err(failed)?;
    if *checked.result_type() != wanted.result {
        return Err(wanted.what.to_owned());
    }
    let planned = |error: CompileError| format!("{}: {error}", wanted.planned);
    let program = Program::plan(environment, &checked).map_err(planned)?;
    Ok(Expression { checked, program })
}

impl CheckedRule {
    /// Whether the rule is about a change. One that does not compile is not.
    pub(super) fn uses_old_self(&self) -> bool {
        let is_old = |reference: &Option<Reference>| match reference {
            Some(Reference::Variable(name)) => **name == *VARIABLES[1],
            _ => false,
        };
        self.rule.as_ref().is_ok_and(|rule| rule.checked.references.iter().any(is_old))
    }
}
