//! Authorizers, checks that are being built, and decisions as values.
//!
//! Invariant: none of them equals anything; comparing them is an error.

use std::any::Any;
use std::sync::Arc;

use super::{Answers, Decision, ResourceTarget, Subject};
use crate::eval::EvalError;
use crate::library::names::{self, AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// The type of the variable `authorizer`.
#[must_use]
pub fn authorizer_type() -> Type {
    names::object(AUTHORIZER)
}

/// The type of the variable `authorizer.requestResource`.
#[must_use]
pub fn request_resource_type() -> Type {
    names::object(RESOURCE_CHECK)
}

/// The variable `authorizer`, which asks about the requester.
#[must_use]
pub fn authorizer(answers: Arc<Answers>) -> Value<'static> {
    Value::opaque(AuthorizerValue { answers, subject: Subject::Requester })
}

/// The variable `authorizer.requestResource`, a check of the resource of the request.
#[must_use]
pub fn request_resource(answers: Arc<Answers>, target: ResourceTarget) -> Value<'static> {
    let authorizer = AuthorizerValue { answers, subject: Subject::Requester };
    Value::opaque(ResourceCheck { authorizer, target })
}

/// Who is asked, and about whom.
#[derive(Debug, Clone)]
pub(super) struct AuthorizerValue {
    pub(super) answers: Arc<Answers>,
    pub(super) subject: Subject,
}

/// A check of a path, without a verb.
#[derive(Debug, Clone)]
pub(super) struct PathCheck {
    pub(super) authorizer: AuthorizerValue,
    pub(super) path: String,
}

/// A check of an API group, without a resource.
#[derive(Debug, Clone)]
pub(super) struct GroupCheck {
    pub(super) authorizer: AuthorizerValue,
    pub(super) group: String,
}

/// A check of a resource, without a verb.
#[derive(Debug, Clone)]
pub(super) struct ResourceCheck {
    pub(super) authorizer: AuthorizerValue,
    pub(super) target: ResourceTarget,
}

/// Types that are called only.
trait Receiver: std::fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
}

impl Receiver for AuthorizerValue {
    const NAME: &'static str = AUTHORIZER;
}

impl Receiver for PathCheck {
    const NAME: &'static str = PATH_CHECK;
}

impl Receiver for GroupCheck {
    const NAME: &'static str = GROUP_CHECK;
}

impl Receiver for ResourceCheck {
    const NAME: &'static str = RESOURCE_CHECK;
}

impl Receiver for Decision {
    const NAME: &'static str = DECISION;
}

impl<T: Receiver> Opaque for T {
    fn type_name(&self) -> &str {
        T::NAME
    }

    fn equals(&self, _other: &Value<'_>) -> Result<bool, EvalError> {
        Err(EvalError::no_such_overload())
    }

    fn text(&self) -> String {
        T::NAME.to_owned()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
