//! `quorate archive purge`: older versions leave the past for good.
//!
//! Invariant: what is purged is what the server counts; the command decides nothing.

use http::Method;
use quorate_env::Env;
use quorate_meta::Value;

use super::session::{Session, place};
use crate::cli::ArchivePurge;
use crate::error::Error;
use crate::terminal::print_line;

/// Where purges are asked for.
const PATH: &str = "/past/purges";

/// Carries out the command.
pub(in crate::command) async fn run(options: &ArchivePurge, env: &Env) -> Result<(), Error> {
    let mut session = Session::open(&options.cluster, env).await?;
    let (resource, name) = session.named(&options.object)?;
    let namespace = session.namespace(&resource, options.namespace.as_deref());
    let name = match (name, options.all_in_namespace, &namespace) {
        (Some(name), false, _) => name,
        (None, true, Some(_)) => String::new(),
        (Some(_), true, _) => return Err(Error::config("name an object, or --all-in-namespace")),
        (None, true, None) => {
            return Err(Error::config(format_args!("{} are in no namespace", resource.plural)));
        }
        (None, false, _) => {
            return Err(Error::config(format_args!("name an object: {} NAME", resource.plural)));
        }
    };
    let what = match name.as_str() {
        "" => resource.plural.clone(),
        name => resource.object_name(name),
    };
    let body = Value::from([
        ("group", Value::from(resource.group.as_str())),
        ("resource", Value::from(resource.plural.as_str())),
        ("namespace", Value::from(namespace.as_deref().unwrap_or_default())),
        ("name", Value::from(name.as_str())),
        ("reason", Value::from(options.reason.as_str())),
    ]);
    let reply = session.client.write(Method::POST, PATH, &body, options.dry_run).await?;
    print_line(told(&reply.into_body()?, &what, &place(namespace.as_deref()), options.dry_run));
    Ok(())
}

/// What the user is told.
fn told(answer: &Value, what: &str, place: &str, dry_run: bool) -> String {
    let number = |field: &str| answer.get(field).and_then(Value::as_i64);
    let verb = if dry_run { "would be purged" } else { "purged" };
    match (number("versions"), number("objects")) {
        (Some(versions), Some(objects)) => {
            format!("{what}{place}: {verb} (versions: {versions}, objects: {objects})")
        }
        _ => format!("{what}{place}: {verb}; how many versions is not known at present"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_told() {
        let check = |answer: serde_json::Value, dry_run: bool, expect: &str| {
            assert_eq!(told(&answer.into(), "secret/s", " in a", dry_run), expect);
        };
        let counted = json!({"versions": 3, "objects": 1});
        check(counted.clone(), false, "secret/s in a: purged (versions: 3, objects: 1)");
        check(counted, true, "secret/s in a: would be purged (versions: 3, objects: 1)");
        check(json!({}), false, "secret/s in a: purged; how many versions is not known at present");
    }
}
