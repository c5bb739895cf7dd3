//! What is counted of plugins and policies, and the seam to what exports it.

use std::fmt::Debug;
use std::time::Duration;

use quorate_registry::AdmissionOperation;

/// What a plugin has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginResult<'p> {
    /// The plugin.
    pub plugin: &'p str,
    /// Whether its mutating part was asked; else its validating one.
    pub mutates: bool,
    /// The operation of the write.
    pub operation: AdmissionOperation,
    /// Whether it refuses the write.
    pub refuses: bool,
    /// How long it took.
    pub took: Duration,
}

/// What one of the two steps of admission has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepResult {
    /// Whether it is the mutating step; else the validating one.
    pub mutates: bool,
    /// The operation of the write.
    pub operation: AdmissionOperation,
    /// Whether the write is refused.
    pub refuses: bool,
    /// How long it took.
    pub took: Duration,
}

/// What follows from the evaluation of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyAction {
    /// Nothing: the write is as the policy wants it.
    Allow,
    /// The write is refused.
    Deny,
    /// The audit trail has it.
    Audit,
    /// The client is warned.
    Warn,
    /// The object was changed, or could have been.
    Mutate,
}

/// What a policy has come to for one binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyResult<'p> {
    /// The policy.
    pub policy: &'p str,
    /// The binding.
    pub binding: &'p str,
    /// What follows.
    pub action: PolicyAction,
    /// Whether an expression could not be evaluated.
    pub has_failed: bool,
    /// How long its expressions took.
    pub took: Duration,
}

/// The evaluation of the Pod Security Standards for one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodSecurityResult<'p> {
    /// `enforce` or `warn`.
    pub mode: &'static str,
    /// The level, such as `baseline`.
    pub level: &'static str,
    /// The version, such as `latest`.
    pub version: &'p str,
    /// Whether what is written is as the level wants it.
    pub allows: bool,
    /// What is written.
    pub target: PodSecurityTarget<'p>,
}

/// What a write is about whose Pod Security is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodSecurityTarget<'p> {
    /// `create` or `update`.
    pub operation: &'static str,
    /// `pod`, `controller` or `namespace`.
    pub resource: &'static str,
    /// The subresource.
    pub subresource: &'p str,
}

/// Counts what plugins and policies do.
pub trait AdmissionMetrics: Debug + Send + Sync {
    /// A step has ended.
    fn step_ended(&self, result: &StepResult);
    /// A plugin was asked.
    fn plugin_asked(&self, result: &PluginResult<'_>);
    /// A policy was evaluated.
    fn policy_evaluated(&self, result: &PolicyResult<'_>);
    /// The expressions of a policy were compiled.
    fn policy_compiled(&self, took: Duration);
    /// The Pod Security Standards were evaluated.
    fn pod_security_evaluated(&self, result: &PodSecurityResult<'_>);
    /// The Pod Security Standards could not be evaluated, and what is written is refused or not.
    fn pod_security_failed(&self, target: &PodSecurityTarget<'_>, is_refused: bool);
}

/// Counts nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UncountedAdmission;

impl AdmissionMetrics for UncountedAdmission {
    fn step_ended(&self, _: &StepResult) {}

    fn plugin_asked(&self, _: &PluginResult<'_>) {}

    fn policy_evaluated(&self, _: &PolicyResult<'_>) {}

    fn policy_compiled(&self, _: Duration) {}

    fn pod_security_evaluated(&self, _: &PodSecurityResult<'_>) {}

    fn pod_security_failed(&self, _: &PodSecurityTarget<'_>, _: bool) {}
}

impl PolicyAction {
    /// The label `enforcement_action` of its metrics.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Audit => "audit",
            Self::Warn => "warn",
            Self::Mutate => "mutate",
        }
    }
}
