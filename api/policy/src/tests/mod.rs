//! What policies refuse at their creation, and what they find in requests: the recorded answers of
//! a release-1.35 server, text by text where it tells one.

mod compile;
mod evaluate;
mod type_check;

use quorate_meta::Naming;
use serde_json::{Value as Json, json};

use crate::Environments;

fn environments() -> Environments {
    Environments::new(Naming::Svc.names())
}

/// A `spec` with these validations.
fn validations(expressions: &[&str]) -> Json {
    let list: Vec<Json> =
        expressions.iter().map(|expression| json!({"expression": expression})).collect();
    json!({"validations": list})
}
