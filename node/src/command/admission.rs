//! `quorate admission`: what decides about writes besides the server's own rules, and the suspension
//! of a part of it.
//!
//! A suspension is an annotation of the policy or configuration. Admission is never asked about
//! these objects, so that a cluster that refuses every write can be mended at any node.

use quorate_env::Env;
use quorate_meta::{Names, Time, Value};
use quorate_registry::suspension;
use serde_json::json;

use super::api_client::ApiClient;
use crate::cli::{Admission, Output, Query};
use crate::error::Error;
use crate::terminal::{print_line, print_table};

/// The user of the command, in audit logs.
const USER: &str = "admission";
/// The neutral name of the group of what can be suspended.
const GROUP: &str = "admissionregistration";
/// Where a node tells of its breakers.
const BREAKERS: &str = "/admission/breakers";
/// What can be suspended: version and plural name. Those that are not served are passed over.
const RESOURCES: [(&str, &str); 4] = [
    ("v1", "validatingadmissionpolicies"),
    ("v1beta1", "mutatingadmissionpolicies"),
    ("v1", "validatingwebhookconfigurations"),
    ("v1", "mutatingwebhookconfigurations"),
];

/// A policy or webhook configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Configured {
    resource: &'static str,
    name: String,
    /// The path of the object.
    path: String,
    suspended_until: Option<Time>,
    /// The webhooks of it that this node does not call at present, and why.
    failures: Vec<String>,
}

/// Carries out the command.
pub(super) async fn run(command: &Admission, env: &Env) -> Result<(), Error> {
    let now = Time::from_ms(env.clock.now_ms());
    match command {
        Admission::Status(query) => status(query, env, now).await,
        Admission::Suspend(options) => {
            let millis = u64::try_from(options.duration.as_millis()).unwrap_or(u64::MAX);
            let until = Time::from_ms(now.ms().saturating_add(millis)).seconds();
            let mut client = ApiClient::connect(&options.target, env, USER).await?;
            let object = find(&mut client, &options.object).await?;
            annotate(&mut client, &object, Some(&until)).await?;
            print_line(format!("{}/{} is suspended until {until}", object.resource, object.name));
            Ok(())
        }
        Admission::Resume(options) => {
            let mut client = ApiClient::connect(&options.target, env, USER).await?;
            let object = find(&mut client, &options.object).await?;
            annotate(&mut client, &object, None).await?;
            print_line(format!("{}/{} is in force", object.resource, object.name));
            Ok(())
        }
    }
}

async fn status(query: &Query, env: &Env, now: Time) -> Result<(), Error> {
    let mut client = ApiClient::connect(&query.target, env, USER).await?;
    let mut all = list(&mut client).await?;
    let breakers = client.get(BREAKERS).await?;
    all.iter_mut().for_each(|object| object.failures = failures(object, &breakers));
    match query.output {
        Output::Json => {
            let all: Vec<_> = all.iter().map(|object| record(object, now)).collect();
            print_line(serde_json::to_string_pretty(&all).map_err(Error::failed)?);
        }
        Output::Table => {
            let rows: Vec<_> = all.iter().map(|object| row(object, now)).collect();
            print_table(["RESOURCE", "NAME", "STATE"], &rows);
        }
    }
    Ok(())
}

/// All policies and webhook configurations, in the order of the resources and names.
async fn list(client: &mut ApiClient) -> Result<Vec<Configured>, Error> {
    let mut all = Vec::new();
    for (version, resource) in RESOURCES {
        let path = format!("/apis/{}/{version}/{resource}", client.names.group(GROUP));
        if let Some(found) = client.find(&path).await? {
            let items = found.get("items").and_then(Value::as_list).unwrap_or_default();
            all.extend(items.iter().map(|item| configured(client.names, resource, &path, item)));
        }
    }
    Ok(all)
}

fn configured(names: &Names, resource: &'static str, path: &str, object: &Value) -> Configured {
    let name = object.str_at(&["metadata", "name"]).unwrap_or_default();
    Configured {
        resource,
        name: name.to_owned(),
        path: format!("{path}/{name}"),
        suspended_until: suspension::until(names, object),
        failures: Vec::new(),
    }
}

/// What the node says of the breakers of a configuration's webhooks.
fn failures(object: &Configured, breakers: &Value) -> Vec<String> {
    let open = breakers.get("breakers").and_then(Value::as_list).unwrap_or_default();
    let text =
        |breaker: &Value, field: &str| breaker.str_at(&[field]).unwrap_or_default().to_owned();
    let is_of = |breaker: &&Value| {
        object.resource == format!("{}webhookconfigurations", text(breaker, "type"))
            && object.name == text(breaker, "configuration")
    };
    let line = |breaker: &Value| {
        let failures = breaker.get("failures").and_then(Value::as_i64).unwrap_or_default();
        let (webhook, last) = (text(breaker, "webhook"), text(breaker, "lastFailure"));
        format!("{webhook} is not called after {failures} failures: {last}")
    };
    open.iter().filter(is_of).map(line).collect()
}

/// The object that a command names.
async fn find(client: &mut ApiClient, named: &str) -> Result<Configured, Error> {
    choose(list(client).await?, named).map_err(Error::failed)
}

/// The object of a name, `NAME` or `RESOURCE/NAME`.
fn choose(all: Vec<Configured>, named: &str) -> Result<Configured, String> {
    let (resource, name) = named.split_once('/').unwrap_or(("", named));
    let is_meant = |object: &Configured| {
        object.name == name && (resource.is_empty() || object.resource == resource)
    };
    let mut found: Vec<Configured> = all.into_iter().filter(is_meant).collect();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(format!("there is no policy or webhook configuration {named:?}")),
        _ => {
            let all: Vec<String> =
                found.iter().map(|object| format!("{}/{name}", object.resource)).collect();
            Err(format!("{named:?} is the name of several: say which of {}", all.join(", ")))
        }
    }
}

async fn annotate(
    client: &mut ApiClient,
    object: &Configured,
    until: Option<&str>,
) -> Result<(), Error> {
    let annotations = json!({ suspension::annotation(client.names): until });
    let patch = json!({ "metadata": { "annotations": annotations } });
    client.merge(&object.path, &patch.into()).await?;
    Ok(())
}

/// Until when an object is suspended, if it is at this moment.
fn suspended_until(object: &Configured, now: Time) -> Option<String> {
    object.suspended_until.filter(|until| now < *until).map(Time::seconds)
}

fn record(object: &Configured, now: Time) -> serde_json::Value {
    let Configured { resource, name, .. } = object;
    let suspended_until = suspended_until(object, now);
    json!({
        "resource": resource, "name": name, "suspendedUntil": suspended_until,
        "openBreakers": object.failures,
    })
}

fn row(object: &Configured, now: Time) -> [String; 3] {
    let state = suspended_until(object, now)
        .map_or_else(|| "in force".to_owned(), |until| format!("suspended until {until}"));
    let state = std::iter::once(state).chain(object.failures.iter().cloned());
    [object.resource.to_owned(), object.name.clone(), state.collect::<Vec<_>>().join("; ")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;

    fn object(resource: &'static str, name: &str, until: Option<&str>) -> Configured {
        let annotations = json!({"svc.io/admission-suspended-until": until});
        let object = json!({"metadata": {"name": name, "annotations": annotations}});
        configured(Naming::Svc.names(), resource, "/x", &object.into())
    }

    #[test]
    fn objects_are_found_by_name() {
        let check = |named: &str, expect: Result<&str, &str>| {
            let all = vec![
                object("validatingadmissionpolicies", "a", None),
                object("validatingwebhookconfigurations", "a", None),
                object("validatingwebhookconfigurations", "b", None),
            ];
            let found = choose(all, named).map(|object| object.resource);
            assert_eq!(
                found.as_deref().map_err(String::as_str),
                expect.as_ref().map(|s| *s).map_err(|s| *s)
            );
        };
        check("b", Ok("validatingwebhookconfigurations"));
        check("validatingadmissionpolicies/a", Ok("validatingadmissionpolicies"));
        check("c", Err("there is no policy or webhook configuration \"c\""));
        check("pods/a", Err("there is no policy or webhook configuration \"pods/a\""));
        let both = "\"a\" is the name of several: say which of validatingadmissionpolicies/a, validatingwebhookconfigurations/a";
        check("a", Err(both));
    }

    #[test]
    fn open_breakers_are_of_a_configuration() {
        let breaker = |configuration: &str| {
            json!({
                "type": "mutating", "configuration": configuration, "webhook": "a.example.com",
                "failures": 20, "lastFailure": "EOF",
            })
        };
        let breakers = json!({"breakers": [breaker("one"), breaker("two")]}).into();
        let check = |resource: &'static str, expect: &[&str]| {
            assert_eq!(failures(&object(resource, "one", None), &breakers), expect);
        };
        let told = "a.example.com is not called after 20 failures: EOF";
        check("mutatingwebhookconfigurations", &[told]);
        check("validatingwebhookconfigurations", &[]);
    }

    #[test]
    fn suspensions_that_have_passed_are_none() {
        let check = |until: Option<&str>, state: &str| {
            let now = Time::parse("2026-01-01T00:00:00Z").unwrap();
            let object = object("mutatingwebhookconfigurations", "one", until);
            assert_eq!(row(&object, now), ["mutatingwebhookconfigurations", "one", state]);
            let told = state.strip_prefix("suspended until ");
            assert_eq!(record(&object, now)["suspendedUntil"], json!(told));
        };
        check(None, "in force");
        check(Some("2026-01-01T00:10:00Z"), "suspended until 2026-01-01T00:10:00Z");
        check(Some("2025-12-31T23:59:59Z"), "in force");
        check(Some("2026-01-01T00:00:00Z"), "in force");
    }
}
