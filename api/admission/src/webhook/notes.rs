//! What is told of the calls of one write besides the decision: warnings, audit annotations, and the
//! time that each call took.
//!
//! Invariant: the first value of an annotation stays; what a webhook annotates is under its name.

use std::time::Duration;

use quorate_meta::{Map, Names, Value, name};
use quorate_registry::{AdmissionWait, Author, Notes};

use super::index::StoredWebhook;
use super::response::Response;

/// Bytes of a patch in an annotation, at most; a larger one is left out.
const MAX_PATCH_BYTES: usize = 64 << 10;

/// The notes of one write.
#[derive(Debug)]
pub(super) struct CallNotes {
    names: &'static Names,
    notes: Notes,
}

impl CallNotes {
    pub(super) fn new(names: &'static Names) -> Self {
        Self { names, notes: Notes::default() }
    }

    /// What a webhook has said.
    pub(super) fn said(&mut self, webhook: &StoredWebhook, verdict: &mut Response) {
        let annotations = std::mem::take(&mut verdict.annotations);
        for (key, value) in annotations {
            let key = format!("{}/{key}", webhook.name);
            if name::qualified_name(&key).is_empty() {
                self.annotate(key, value);
            }
        }
        let warnings = std::mem::take(&mut verdict.warnings);
        self.notes.add(Notes { warnings, ..Notes::default() });
    }

    /// A call has taken this long.
    pub(super) fn took(&mut self, webhook: &StoredWebhook, took: Duration) {
        self.notes.waits.push(AdmissionWait {
            part: "webhook",
            name: format!("{}/{}", webhook.configuration, webhook.name),
            took,
        });
    }

    /// A validating webhook has failed, and its failure policy lets the write through.
    pub(super) fn validation_failed_open(&mut self, webhook: &StoredWebhook, index: usize) {
        let key = format!("failed-open.{}", self.key("validating", 0, index));
        self.annotate(key, webhook.name.clone());
    }

    /// The same of a mutating webhook.
    pub(super) fn mutation_failed_open(
        &mut self,
        webhook: &StoredWebhook,
        (round, index): (usize, usize),
    ) {
        let key = format!("failed-open.{}", self.key("mutation", round, index));
        self.annotate(key, webhook.name.clone());
    }

    /// Whether a mutating webhook has changed the object.
    pub(super) fn mutated(
        &mut self,
        webhook: &StoredWebhook,
        (round, index): (usize, usize),
        mutated: bool,
    ) {
        let key = self.key("mutation", round, index);
        let mut fields = of(webhook);
        fields.insert("mutated", mutated);
        self.annotate(key, text(fields));
    }

    /// The patch of a mutating webhook.
    pub(super) fn patched(
        &mut self,
        webhook: &StoredWebhook,
        (round, index): (usize, usize),
        patch: Value,
    ) {
        let mut fields = of(webhook);
        fields.insert("patch", patch);
        fields.insert("patchType", "JSONPatch");
        let text = text(fields);
        if text.len() <= MAX_PATCH_BYTES {
            let key = self.key("patch", round, index);
            self.notes.request_annotations.entry(key).or_insert(text);
        }
    }

    /// Tells the author of the write, if there is one.
    pub(super) fn tell(self, author: Option<&dyn Author>) {
        if let Some(author) = author.filter(|_| self.notes != Notes::default()) {
            author.note(self.notes);
        }
    }

    fn key(&self, what: &str, round: usize, index: usize) -> String {
        format!("{what}.webhook.{}/round_{round}_index_{index}", self.names.group("admission"))
    }

    fn annotate(&mut self, key: String, value: String) {
        self.notes.annotations.entry(key).or_insert(value);
    }
}

fn of(webhook: &StoredWebhook) -> Map {
    Map::from([
        ("configuration", Value::from(webhook.configuration.as_str())),
        ("webhook", Value::from(webhook.name.as_str())),
    ])
}

fn text(fields: Map) -> String {
    serde_json::to_string(&Value::Map(fields)).unwrap_or_default()
}
