//! Admission with the time of its two phases measured.

use std::sync::Arc;

use async_trait::async_trait;
use quorate_meta::Value;
use quorate_metrics::{Histogram, Registry};
use quorate_registry::error::Error;
use quorate_registry::{Admission, Attributes, Terms};
use tokio::time::Instant;

/// Admission that is measured.
#[derive(Debug)]
pub(crate) struct MeasuredAdmission {
    admission: Arc<dyn Admission>,
    steps: Histogram<3>,
}

impl MeasuredAdmission {
    /// The same admission, measured.
    pub(crate) fn new(admission: Arc<dyn Admission>, registry: &Registry) -> Arc<Self> {
        let steps = registry.histogram("apiserver_admission_step_admission_duration_seconds");
        Arc::new(Self { admission, steps })
    }

    fn ended(&self, step: &str, attributes: &Attributes<'_>, is_rejected: bool, begin: Instant) {
        let is_rejected = if is_rejected { "true" } else { "false" };
        let labels = [step, attributes.operation.name(), is_rejected];
        self.steps.observe_duration(labels, begin.elapsed());
    }
}

#[async_trait]
impl Admission for MeasuredAdmission {
    async fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Error> {
        let begin = Instant::now();
        let mutated = self.admission.mutate(attributes, object).await;
        self.ended("admit", attributes, mutated.is_err(), begin);
        mutated
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        let begin = Instant::now();
        let terms = self.admission.validate(attributes).await;
        self.ended("validate", attributes, terms.is_err(), begin);
        terms
    }

    fn is_counted(&self, attributes: &Attributes<'_>) -> bool {
        self.admission.is_counted(attributes)
    }

    async fn charge(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        self.admission.charge(attributes).await
    }
}
