//! Type checking of a stored policy: what its expressions get wrong of the kinds that it names.
//!
//! Invariant: the findings are warnings in the status of the policy; they never refuse anything.

use std::sync::Arc;

use quorate_cel::declarations::{TypeDeclarations, pattern};
use quorate_cel::naming::in_profile;
use quorate_cel::program::{CompileError, Program};
use quorate_cel::types::Type;
use quorate_meta::{GroupVersionKind, Naming, Path, Value};
use quorate_schema::{Graph, TypeId, structural};

use crate::compiler::MAX_VARIABLES;
use crate::environment::{Age, Environments, ObjectTypes, OwnVariable, Uses};

/// A kind that a policy is about, with the fields of its objects.
#[derive(Debug)]
pub struct CheckedKind {
    kind: GroupVersionKind,
    declarations: TypeDeclarations,
}

impl CheckedKind {
    /// A built-in kind, whose objects have a type of a graph.
    #[must_use]
    pub fn new(kind: GroupVersionKind, graph: &Graph, ty: TypeId) -> Self {
        let declarations = TypeDeclarations::new(graph, ty, &kind.kind);
        Self { kind, declarations }
    }

    /// A custom kind with the schema of its definition; `None` when that does not compile.
    #[must_use]
    pub fn custom(kind: GroupVersionKind, schema: &Value, base: &Arc<Graph>) -> Option<Self> {
        let options = structural::Options { base, patterns: &pattern, has_status: false };
        let schema = structural::compile(schema, &Path::new("openAPIV3Schema"), options).ok()?;
        let declarations = TypeDeclarations::of_schema(&schema, base, &kind.kind);
        Some(Self { kind, declarations })
    }
}

/// A warning about an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionWarning {
    /// The path of the expression.
    pub field: String,
    /// A text for each kind that it does not fit, in their order.
    pub warning: String,
}

/// What is wrong with the validations of a policy's `spec` and their messages for these kinds;
/// `params` is the kind of its parameters, where it is known.
#[must_use]
pub fn type_check(
    environments: &Environments,
    spec: &Value,
    kinds: &[CheckedKind],
    params: Option<&CheckedKind>,
) -> Vec<ExpressionWarning> {
    let params = params.map(|params| &params.declarations);
    let items = |field: &str| spec.get(field).and_then(Value::as_list).unwrap_or_default();
    let validations = items("validations");
    let has_params = spec.get("paramKind").is_some_and(|kind| !kind.is_null());
    let uses = Uses { params: has_params, ..Uses::ALL };
    // The issues of each kind, by validation: those of the expression and of its message.
    let by_kind: Vec<Vec<[Option<String>; 2]>> = kinds
        .iter()
        .map(|kind| {
            let types = ObjectTypes { object: Some(&kind.declarations), params };
            let own = variables(environments, items("variables"), uses, types);
            let environment = environments.environment(Age::Stored, uses, &own, types);
            let naming = environments.names().naming;
            let issues = |validation: &Value, field: &str| {
                let source = validation.str_at(&[field]).unwrap_or_default().trim();
                let compiled = (!source.is_empty()).then(|| Program::compile(&environment, source));
                compiled.and_then(Result::err).map(|error| text(&kind.kind, &error, naming))
            };
            let of = |validation| {
                ["expression", "messageExpression"].map(|field| issues(validation, field))
            };
            validations.iter().map(of).collect()
        })
        .collect();
    let mut warnings = Vec::new();
    for index in 0..validations.len() {
        for (place, field) in ["expression", "messageExpression"].into_iter().enumerate() {
            let texts: Vec<&str> =
                by_kind.iter().filter_map(|issues| issues[index][place].as_deref()).collect();
            if !texts.is_empty() {
                let path = Path::new("spec").child("validations").index(index).child(field);
                let warning = texts.join("\n");
                warnings.push(ExpressionWarning { field: path.into_text(), warning });
            }
        }
    }
    warnings
}

/// The variables, with the types that they have for one kind.
fn variables(
    environments: &Environments,
    list: &[Value],
    uses: Uses,
    types: ObjectTypes<'_>,
) -> Vec<OwnVariable> {
    let mut own = Vec::new();
    for variable in list.iter().take(MAX_VARIABLES) {
        let text = |field: &str| variable.str_at(&[field]).unwrap_or_default();
        let environment = environments.environment(Age::Stored, uses, &own, types);
        let program = Program::compile(&environment, text("expression").trim());
        let value_type = program.map_or(Type::Dyn, |program| program.result_type().clone());
        own.push(OwnVariable { name: text("name").to_owned(), value_type });
    }
    own
}

/// A warning for one kind; it ends with a line break.
fn text(kind: &GroupVersionKind, error: &CompileError, naming: Naming) -> String {
    let GroupVersionKind { group, version, kind } = kind;
    let error = error.to_string();
    format!("{group}/{version}, Kind={kind}: {}\n", in_profile(naming, &error))
}
