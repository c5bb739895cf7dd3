//! The converter of the objects of one definition.

use std::fmt;
use std::sync::Arc;

use quorate_env::Entropy;
use quorate_meta::{Names, Value};
use quorate_wire::json;
use tokio::time::Instant;

use super::batch::batches;
use super::check::{Wrong, restore};
use super::metrics::{ConversionMetrics, ConversionResult, UncountedConversions};
use super::review::{self, ReviewVersion};
use super::sender::ReviewSender;

/// Objects that could not be converted, in the words of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionError {
    text: String,
    failure: ConversionFailure,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversionFailure {
    /// The webhook could not be called, or has refused.
    Call,
    /// Its answer is no review.
    MalformedAnswer,
    /// It has returned nothing.
    NoObjects,
    /// It has returned another number of objects.
    PartialAnswer,
    /// It has returned an object that is not the one that was sent.
    InvalidObject,
}

impl ConversionFailure {
    /// The label `failure_type` of its metrics.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Call => "conversion_webhook_call_failure",
            Self::MalformedAnswer => "conversion_webhook_malformed_response_failure",
            Self::NoObjects => "conversion_webhook_no_objects_returned_failure",
            Self::PartialAnswer => "conversion_webhook_partial_response_failure",
            Self::InvalidObject => "conversion_webhook_invalid_converted_object_failure",
        }
    }
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ConversionError {}

/// Converts objects by a webhook.
#[derive(Debug)]
pub struct Converter {
    names: &'static Names,
    entropy: Arc<dyn Entropy>,
    review_versions: Vec<String>,
    sender: Arc<dyn ReviewSender>,
    definition: String,
    metrics: Arc<dyn ConversionMetrics>,
}

impl Converter {
    /// A converter that sends reviews, in the first of these versions that the server knows.
    #[must_use]
    pub fn new(
        names: &'static Names,
        entropy: Arc<dyn Entropy>,
        review_versions: &[String],
        sender: Arc<dyn ReviewSender>,
    ) -> Self {
        let (review_versions, definition) = (review_versions.to_vec(), String::new());
        let metrics = Arc::new(UncountedConversions);
        Self { names, entropy, review_versions, sender, definition, metrics }
    }

    /// The same, counted under the name of a definition.
    #[must_use]
    pub fn counted(self, definition: &str, metrics: Arc<dyn ConversionMetrics>) -> Self {
        Self { definition: definition.to_owned(), metrics, ..self }
    }

    /// Turns objects into the version `desired`, a whole `apiVersion`. Each has `apiVersion` and
    /// `kind`; those that are in that version stay as they are.
    ///
    /// # Errors
    /// Why one or more could not be converted; none of the objects may be used then.
    pub async fn convert(
        &self,
        desired: &str,
        objects: &mut [Value],
    ) -> Result<(), ConversionError> {
        let mut other: Vec<&mut Value> = objects
            .iter_mut()
            .filter(|object| object.str_at(&["apiVersion"]) != Some(desired))
            .collect();
        let Some(first) = other.first() else { return Ok(()) };
        let from = first.str_at(&["apiVersion"]).unwrap_or_default().to_owned();
        let begin = Instant::now();
        let converted = self.convert_all(desired, &mut other).await;
        self.metrics.converted(&ConversionResult {
            definition: &self.definition,
            from: &from,
            to: desired,
            failure: converted.as_ref().err().map(|error| error.failure),
            took: begin.elapsed(),
        });
        converted
    }

    /// Converts objects, all of which have another version.
    async fn convert_all(
        &self,
        desired: &str,
        other: &mut [&mut Value],
    ) -> Result<(), ConversionError> {
        let texts: Vec<Vec<u8>> = other.iter().map(|object| json::to_vec(object)).collect();
        let sizes: Vec<usize> = texts.iter().map(Vec::len).collect();
        for range in batches(&sizes) {
            self.review(desired, &texts[range.clone()], &mut other[range]).await?;
        }
        Ok(())
    }

    /// Converts by one review; `texts` are the same objects.
    async fn review(
        &self,
        desired: &str,
        texts: &[Vec<u8>],
        objects: &mut [&mut Value],
    ) -> Result<(), ConversionError> {
        let subject = objects.first().map(|object| subject(object)).unwrap_or_default();
        let told = |failure: ConversionFailure, what: &str| ConversionError {
            text: format!("conversion webhook for {subject} {what}"),
            failure,
        };
        let failed = |failure: ConversionFailure| {
            let told = &told;
            move |why: String| told(failure, &format!("failed: {why}"))
        };
        let version = ReviewVersion::choose(&self.review_versions)
            .map_err(|text| ConversionError { text, failure: ConversionFailure::Call })?;
        let uid = self.new_uid();
        let request = review::request(self.names, version, &uid, desired, texts);
        let answer = self.sender.send(request.into()).await;
        let answer = answer.map_err(failed(ConversionFailure::Call))?;
        let converted = review::answer(self.names, version, &uid, &answer)
            .map_err(failed(ConversionFailure::MalformedAnswer))?;
        if converted.len() != objects.len() {
            let (got, expected) = (converted.len(), objects.len());
            let failure = match got {
                0 => ConversionFailure::NoObjects,
                _ => ConversionFailure::PartialAnswer,
            };
            return Err(told(failure, &format!("returned {got} objects, expected {expected}")));
        }
        let is_list = objects.len() > 1;
        for (index, (object, mut converted)) in objects.iter_mut().zip(converted).enumerate() {
            let original = std::mem::take(&mut **object);
            restore(original, desired, &mut converted).map_err(|wrong| {
                told(ConversionFailure::InvalidObject, &returned(&wrong, index, is_list))
            })?;
            **object = converted;
        }
        Ok(())
    }

    /// A random uid (UUID version 4, RFC 9562).
    fn new_uid(&self) -> String {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

/// What an object is, in messages.
fn subject(object: &Value) -> String {
    let text = |field: &str| object.str_at(&[field]).unwrap_or_default();
    format!("{}, Kind={}", text("apiVersion"), text("kind"))
}

/// What is wrong with the object at this place of an answer.
fn returned(wrong: &Wrong, index: usize, is_list: bool) -> String {
    match (wrong, is_list) {
        (Wrong::Object(why), true) => {
            format!("returned invalid converted object at index {index}: {why}")
        }
        (Wrong::Object(why), false) => format!("returned invalid object at index 0: {why}"),
        (Wrong::Metadata(why), true) => {
            format!("returned invalid metadata in object at index {index}: {why}")
        }
        (Wrong::Metadata(why), false) => format!("returned invalid metadata: {why}"),
    }
}
