//! A compiled policy: the expressions of a ValidatingAdmissionPolicy's `spec`.
//!
//! Invariant: every validation and annotation is there, also one that does not compile.

mod evaluate;

use quorate_meta::{Path, Reason, Value};

use crate::compiler::{Compiler, Expression, FailurePolicy, PolicyFrame, items};
use crate::environment::{Environments, Uses};
use crate::expression::{Expected, Problem};

pub use evaluate::{AnnotationValue, Denial, Findings};

/// A compiled policy.
#[derive(Debug)]
pub struct Policy {
    pub(crate) frame: PolicyFrame,
    pub(crate) validations: Vec<Validation>,
    pub(crate) annotations: Vec<AuditAnnotation>,
}

#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    /// Without spaces around it; empty for none.
    pub(crate) message: String,
    pub(crate) message_expression: Option<Expression>,
    pub(crate) reason: Reason,
}

#[derive(Debug)]
pub(crate) struct AuditAnnotation {
    pub(crate) key: String,
    pub(crate) value: Expression,
}

impl Policy {
    /// Compiles the `spec` of a policy, and tells what is wrong with its expressions, in the order
    /// in which the fields are checked. The expressions that `old` has already, a `spec` too, may
    /// use every library version; empty ones are no problem here.
    #[must_use]
    pub fn compile(
        environments: &Environments,
        spec: &Value,
        old: Option<&Value>,
    ) -> (Self, Vec<Problem>) {
        let (mut compiler, frame) = Compiler::new(environments, spec, old);
        let validations = compile_validations(&mut compiler, items(spec, "validations"));
        let annotations = compile_annotations(&mut compiler, items(spec, "auditAnnotations"));
        (Self { frame, validations, annotations }, compiler.into_problems())
    }

    /// What becomes of errors.
    #[must_use]
    pub const fn failure_policy(&self) -> FailurePolicy {
        self.frame.failure_policy
    }
}

fn compile_validations(compiler: &mut Compiler<'_>, list: &[Value]) -> Vec<Validation> {
    let (full, messages) = (compiler.by_age(Uses::ALL), compiler.by_age(Uses::WITHOUT_AUTHORIZER));
    let mut validations = Vec::with_capacity(list.len());
    for (index, validation) in list.iter().enumerate() {
        let text = |field: &str| validation.str_at(&[field]).unwrap_or_default();
        let path = |field: &str| Path::new("spec").child("validations").index(index).child(field);
        let source = text("expression");
        let environment = full.of(compiler.age(source));
        let expression =
            compiler.expression(environment, source, Expected::Bool, || path("expression"));
        let source = text("messageExpression");
        let environment = messages.of(compiler.age(source));
        let message_expression = (!source.trim().is_empty()).then(|| {
            compiler.expression(environment, source, Expected::Text, || path("messageExpression"))
        });
        validations.push(Validation {
            expression,
            message: text("message").trim().to_owned(),
            message_expression,
            reason: reason(text("reason")),
        });
    }
    validations
}

fn compile_annotations(compiler: &mut Compiler<'_>, list: &[Value]) -> Vec<AuditAnnotation> {
    let environments = compiler.by_age(Uses::WITHOUT_AUTHORIZER);
    let mut annotations = Vec::with_capacity(list.len());
    for (index, annotation) in list.iter().enumerate() {
        let text = |field: &str| annotation.str_at(&[field]).unwrap_or_default();
        let path =
            || Path::new("spec").child("auditAnnotations").index(index).child("valueExpression");
        let source = text("valueExpression");
        let environment = environments.of(compiler.age(source));
        let value = compiler.expression(environment, source, Expected::TextOrNull, path);
        annotations.push(AuditAnnotation { key: text("key").to_owned(), value });
    }
    annotations
}

/// The reason of a refusal, as clients name it.
fn reason(text: &str) -> Reason {
    match text {
        "Unauthorized" => Reason::Unauthorized,
        "Forbidden" => Reason::Forbidden,
        "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
        _ => Reason::Invalid,
    }
}
