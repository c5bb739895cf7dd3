//! What the expressions of one request read.
//!
//! Invariant: data is read in place; an absent object is `null`.

use std::sync::Arc;

use quorate_cel::environment::Environment;
use quorate_cel::eval::Activation;
use quorate_cel::library::authorizer::{Answers, ResourceTarget, authorizer, request_resource};
use quorate_cel::value::{Shape, Value as Read};
use quorate_meta::Value;

use crate::environment::{Environments, slots};

/// The evaluation needs an answer of the authorizer that is not there yet: the questions are in
/// [`Inputs::answers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending;

/// The variables of one request with one parameter object.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// `object`: the object after the request; null for a deletion.
    pub object: &'a Value,
    /// `oldObject`: the object before; null for a creation.
    pub old_object: &'a Value,
    /// `request`: the fields of an AdmissionRequest.
    pub request: &'a Value,
    /// `namespaceObject`: the namespace of the object; null for one without.
    pub namespace: &'a Value,
    /// `params`: the parameter object; null without one.
    pub params: &'a Value,
    /// Answers for `authorizer`.
    pub answers: &'a Arc<Answers>,
    /// `authorizer.requestResource`: what the request is about.
    pub request_resource: &'a ResourceTarget,
}

impl<'a> Inputs<'a> {
    /// Values for the variables of an environment; `declared` names the policy's own variables.
    pub(crate) fn activation(
        &self,
        environments: &'a Environments,
        environment: &'a Environment,
        declared: &'a Value,
    ) -> Activation<'a> {
        let mut activation = Activation::new(environment);
        let mut bind = |slot, value: Read<'a>| activation.bind(slot, value);
        bind(slots::OBJECT, Shape::DYN.read(self.object));
        bind(slots::OLD_OBJECT, Shape::DYN.read(self.old_object));
        bind(slots::REQUEST, environments.request().read(self.request));
        bind(slots::NAMESPACE, environments.namespace().read(self.namespace));
        bind(slots::PARAMS, Shape::DYN.read(self.params));
        bind(slots::AUTHORIZER, authorizer(self.answers.clone()));
        bind(
            slots::REQUEST_RESOURCE,
            request_resource(self.answers.clone(), self.request_resource.clone()),
        );
        bind(slots::VARIABLES, Shape::DYN.read(declared));
        activation
    }
}
