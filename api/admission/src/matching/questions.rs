//! Questions of expressions to the authorizer.
//!
//! Invariants: each distinct question of a write is asked once; about the server's own writes
//! everything is allowed. The decision is made by the author of the write.

use std::sync::Arc;

use quorate_cel::library::authorizer::{
    Answers, Authorizer, Check, CheckTarget, Decision, ResourceTarget, Subject,
};
use quorate_registry::{AccessCheck, AccessTarget, Author};

/// The questions of one write, and their answers.
pub(crate) struct Questions<'q> {
    author: Option<&'q dyn Author>,
    answers: Arc<Answers>,
}

/// Leaves questions about users to the author.
#[derive(Debug)]
struct OwnWrites {
    has_author: bool,
}

impl Authorizer for OwnWrites {
    fn decide(&self, _check: &Check) -> Option<Decision> {
        (!self.has_author).then(|| Decision { allowed: true, ..Decision::default() })
    }
}

impl<'q> Questions<'q> {
    pub(crate) fn new(author: Option<&'q dyn Author>) -> Self {
        let answers = Arc::new(Answers::of(OwnWrites { has_author: author.is_some() }));
        Self { author, answers }
    }

    pub(crate) fn answers(&self) -> &Arc<Answers> {
        &self.answers
    }

    /// Answers every question that expressions have met.
    pub(crate) async fn answer(&self) {
        for question in self.answers.take_questions() {
            let decision = match self.author {
                Some(author) => author.decide(&check(&question)).await,
                None => return,
            };
            let quorate_registry::AccessDecision { allowed, reason, error } = decision;
            self.answers.insert(question, Decision { allowed, reason, error });
        }
    }
}

fn check(question: &Check) -> AccessCheck {
    let service_account = match &question.subject {
        Subject::Requester => None,
        Subject::ServiceAccount { namespace, name } => Some((namespace.clone(), name.clone())),
    };
    let target = match question.target.clone() {
        CheckTarget::Path(path) => AccessTarget::Path(path),
        CheckTarget::Resource(ResourceTarget {
            group,
            resource,
            subresource,
            namespace,
            name,
            field_selector,
            label_selector,
        }) => AccessTarget::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
            fields: field_selector,
            labels: label_selector,
        },
    };
    AccessCheck { service_account, target, verb: question.verb.clone() }
}
