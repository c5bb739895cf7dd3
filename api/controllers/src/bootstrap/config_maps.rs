//! The ConfigMaps of the system namespace that other components of a cluster read: since when the
//! use of token Secrets is tracked, and by which authority clients are known.
//!
//! Invariants: only the keys that the cluster owns are written; what others have put beside them
//! stays. The day on which tracking began does not change while it can be read.

use quorate_meta::{Map, Time, Value};

use crate::context::{Context, skip_failed_object};
use quorate_registry::error::Error;
use quorate_registry::stored_codec;
use quorate_registry::write::Target;

/// Read by the cleaner of token Secrets that are not used.
const TOKEN_TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";
/// The day (UTC) from which on each use of such a Secret has left a mark on it.
const SINCE: &str = "since";
/// Read by components that serve requests of their own, and know clients as this server does.
const AUTHENTICATION: &str = "extension-apiserver-authentication";
/// The authority (PEM) whose certificates name clients.
const CLIENT_AUTHORITY: &str = "client-ca-file";
/// The bytes of a day in a time: `2026-01-31`.
const DAY_LEN: usize = 10;

/// Makes what is missing of the ConfigMaps. One that a client has made immutable stays as it is.
pub(super) async fn reconcile(context: &Context, authority: &str) -> Result<(), Error> {
    let mut today = Time::from_ms(context.env.clock.now_ms()).seconds();
    today.truncate(DAY_LEN);
    ensure_key(context, TOKEN_TRACKING, SINCE, &today, is_day).await?;
    if authority.is_empty() {
        return Ok(());
    }
    ensure_key(context, AUTHENTICATION, CLIENT_AUTHORITY, authority, |old| old == authority).await
}

/// Makes a ConfigMap have a value under a key, unless the one that it has will do.
async fn ensure_key(
    context: &Context,
    name: &str,
    key: &str,
    value: &str,
    will_do: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    let resource = &*context.resource("configmaps")?;
    let target = Target { resource, namespace: Some(context.names.namespace_system), name };
    let snapshot = context.current().await?;
    let done = match snapshot.get(&target.key()) {
        None => {
            let data = Map::from([("data", Map::from([(key, value)]))]);
            context.ensure("configmaps", target.namespace, name, data).await
        }
        Some(entry) => {
            let object = stored_codec::decode(resource, entry)?;
            if object.str_at(&["data", key]).is_some_and(will_do) {
                return Ok(());
            }
            let change = |current: Option<&Value>| {
                let mut object = current.cloned().unwrap_or_default();
                object.set_at(&["data", key], value);
                Ok(object)
            };
            context.update_at(target, entry.modified, change).await
        }
    };
    skip_failed_object(done, target)
}

fn is_day(text: &str) -> bool {
    text.len() == DAY_LEN && Time::parse(&format!("{text}T00:00:00Z")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_day_is() {
        let check = |text: &str, expect: bool| assert_eq!(is_day(text), expect, "{text}");
        check("2026-01-31", true);
        check("2024-02-29", true);
        check("2023-02-29", false);
        check("2026-1-31", false);
        check("26-01-2031", false);
        check("2026-01-31T00:00:00Z", false);
        check("", false);
    }
}
