//! Structural schemas: rules, the engine on their graphs, values, declarations for CEL, hostile and real definitions.

mod cel;
mod engine;
mod hostile;
mod real;
mod rules;
mod values;
mod verdicts;

use std::sync::Arc;

use quorate_meta::{Cause, Naming, Path, Value};

use super::{Matcher, Options, Structural, compile};
use crate::graph::Graph;
use crate::testing::json;

/// Where release 1.35 says that the schema of a definition with one version stands.
const AT: &str = "spec.validation.openAPIV3Schema";

/// Patterns of these tests: a text that must be found, at the beginning after `^`.
#[derive(Debug)]
struct Plain(String);

impl Matcher for Plain {
    fn is_match(&self, text: &str) -> bool {
        self.0
            .strip_prefix('^')
            .map_or_else(|| text.contains(&self.0), |start| text.starts_with(start))
    }
}

fn plain(pattern: &str) -> Result<Arc<dyn Matcher>, String> {
    match pattern.contains('(') && !pattern.contains(')') {
        true => Err(format!("error parsing regexp: missing closing ): `{pattern}`")),
        false => Ok(Arc::new(Plain(pattern.to_owned()))),
    }
}

fn base(naming: Naming) -> Arc<Graph> {
    Arc::new(Graph::builtin(naming.names()))
}

fn try_compile(
    base: &Arc<Graph>,
    schema: &Value,
    has_status: bool,
) -> Result<Structural, Vec<Cause>> {
    compile(schema, &Path::new(AT), Options { base, patterns: &plain, has_status })
}

/// Compiles a schema whose `spec` has these properties.
fn of_spec(properties: &str) -> Structural {
    let text = format!(
        r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{properties}}}}}}}"#
    );
    try_compile(&base(Naming::Svc), &json(&text), false)
        .unwrap_or_else(|causes| panic!("{properties}: {causes:?}"))
}

/// Causes as clients see them, those of fields below the schema without its place.
fn shown(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| cause.text().replace(AT, "~")).collect()
}
