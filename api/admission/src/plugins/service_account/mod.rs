//! Service accounts of pods: a new pod runs as one, and gets a token and the image pull secrets of
//! it. A pod of a service account that enforces mountable secrets names no others.
//!
//! Invariants: a mirror pod, which stands for a static pod of a kubelet, has no service account and
//! is not changed; a pod of a service account that is not there is refused, where its namespace
//! takes new objects at all; the secrets of an ephemeral container are checked like those of other
//! containers. A new pod has no ephemeral containers.
//!
//! Not here: the tokens, which the kubelet requests.

mod mount;
mod secrets;

use bytes::Bytes;
use quorate_meta::{Map, Names, Value, quoted};

use crate::plugin::Plugin;
use crate::snapshot_view::{SnapshotView, forbidden};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Terms};

/// The plural name of service accounts.
const ACCOUNTS: &str = "serviceaccounts";
/// The service account of pods that name none.
const DEFAULT: &str = "default";
/// The annotation of a mirror pod, under the profile's domain.
const MIRROR: &str = "config.mirror";

/// The plugin that sets the service account of pods and its secrets.
pub(super) struct ServiceAccount;

impl Plugin for ServiceAccount {
    /// The default service account, which is made a moment after its namespace.
    fn awaits(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Option<Bytes> {
        let named = object.str_at(&["spec", "serviceAccountName"]).unwrap_or_default();
        if !matches!(named, "" | DEFAULT) || is_mirror(view.names, object) {
            return None;
        }
        let namespace = attributes.target.namespace?;
        let resource = view.resource("", "v1", ACCOUNTS)?;
        let missing = view.entry(resource, Some(namespace), DEFAULT).is_none();
        (missing && view.is_live(namespace)).then(|| resource.key(Some(namespace), DEFAULT))
    }

    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        if is_mirror(view.names, object) {
            return secrets::of_mirror(object).map_err(|why| forbidden(attributes, why));
        }
        let uid = object.str_at(&["metadata", "uid"]).unwrap_or_default().to_owned();
        let Some(spec) = object.get_mut("spec").and_then(Value::as_map_mut) else {
            return Ok(());
        };
        let name = name_account(spec);
        let namespace = attributes.target.namespace.unwrap_or_default();
        let account = match account(view, attributes, name)? {
            Some(account) => account,
            None if view.is_live(namespace) => return Err(missing(attributes, name)),
            // The transaction says what is wrong with the namespace.
            None => Value::default(),
        };
        if mounts_token(&account, spec) {
            mount::add(view.names, &uid, spec);
        }
        take_pull_secrets(&account, spec);
        secrets::check(view.names, &account, object).map_err(|why| forbidden(attributes, &why))
    }

    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        _: &mut Terms,
    ) -> Result<(), Error> {
        let named = new.str_at(&["spec", "serviceAccountName"]).filter(|name| !name.is_empty());
        let name = match named {
            Some(name) => name,
            None if is_mirror(view.names, new) => {
                let pod = format!(
                    "{}/{}",
                    attributes.target.namespace.unwrap_or_default(),
                    attributes.target.name
                );
                return Err(forbidden(
                    attributes,
                    &format!("no service account specified for pod {pod}"),
                ));
            }
            // The pod was created before pods were given a service account.
            None => DEFAULT,
        };
        let account = account(view, attributes, name)?.ok_or_else(|| missing(attributes, name))?;
        secrets::check_guests(view.names, &account, new).map_err(|why| forbidden(attributes, &why))
    }
}

/// Whether a pod is a mirror pod.
fn is_mirror(names: &Names, pod: &Value) -> bool {
    pod.at(&["metadata", "annotations", &names.domain_key(MIRROR)]).is_some()
}

/// The service account that a pod names; sets it in both of its fields.
fn name_account(spec: &mut Map) -> &str {
    if spec.get_str("serviceAccountName").is_none_or(str::is_empty) {
        spec.insert("serviceAccount", DEFAULT);
        spec.insert("serviceAccountName", DEFAULT);
    }
    spec.get_str("serviceAccountName").unwrap_or(DEFAULT)
}

/// The service account of this name.
fn account(
    view: &SnapshotView<'_>,
    attributes: &Attributes<'_>,
    name: &str,
) -> Result<Option<Value>, Error> {
    match view.resource("", "v1", ACCOUNTS) {
        Some(resource) => view.get(resource, attributes.target.namespace, name),
        None => Ok(None),
    }
}

/// 403 for a pod whose service account is not there.
fn missing(attributes: &Attributes<'_>, name: &str) -> Error {
    let namespace = attributes.target.namespace.unwrap_or_default();
    let missing = format!("serviceaccount {} not found", quoted(name));
    forbidden(
        attributes,
        &format!("error looking up service account {namespace}/{name}: {missing}"),
    )
}

/// Whether the pod gets a token: by its own field, else by that of the service account, else it
/// does.
fn mounts_token(account: &Value, spec: &Map) -> bool {
    const FIELD: &str = "automountServiceAccountToken";
    let own = spec.get(FIELD).and_then(Value::as_bool);
    own.or_else(|| account.get(FIELD).and_then(Value::as_bool)).unwrap_or(true)
}

/// Sets the image pull secrets of the service account in a pod that has none.
fn take_pull_secrets(account: &Value, spec: &mut Map) {
    const FIELD: &str = "imagePullSecrets";
    if spec.get(FIELD).is_none_or(Value::is_empty)
        && let Some(secrets) = account.get(FIELD).filter(|secrets| !secrets.is_empty())
    {
        spec.insert(FIELD, secrets.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn accounts_have_names() {
        let check = |spec: Json, expect: &str| {
            let mut spec = Value::from(spec);
            assert_eq!(name_account(spec.as_map_mut().unwrap()), expect);
            assert_eq!(
                spec,
                json!({"serviceAccount": expect, "serviceAccountName": expect}).into()
            );
        };
        check(json!({}), "default");
        check(json!({"serviceAccountName": ""}), "default");
        check(json!({"serviceAccount": "robot", "serviceAccountName": "robot"}), "robot");
    }

    #[test]
    fn who_gets_a_token() {
        let check = |own: Json, of_account: Json, expect: bool| {
            let says = |value: Json| Value::from(json!({"automountServiceAccountToken": value}));
            assert_eq!(mounts_token(&says(of_account), says(own).as_map().unwrap()), expect);
        };
        check(json!(null), json!(null), true);
        check(json!(null), json!(false), false);
        check(json!(true), json!(false), true);
        check(json!(false), json!(true), false);
        assert!(mounts_token(&Value::Null, &Map::new()));
    }

    #[test]
    fn secrets_to_pull_with() {
        let check = |own: Json, of_account: Json, expect: Json| {
            let says = |value: Json| Value::from(json!({"imagePullSecrets": value}));
            let mut spec = says(own);
            take_pull_secrets(&says(of_account), spec.as_map_mut().unwrap());
            assert_eq!(spec, says(expect));
        };
        let of = |name: &str| json!([{"name": name}]);
        check(json!([]), of("a"), of("a"));
        check(json!(null), of("a"), of("a"));
        check(of("p"), of("a"), of("p"));
        check(json!([]), json!(null), json!([]));
    }

    #[test]
    fn pods_of_nodes() {
        let check = |annotations: Json, expect: [bool; 2]| {
            let pod = Value::from(json!({"metadata": {"annotations": annotations}}));
            let found =
                [Naming::Svc, Naming::Kubernetes].map(|naming| is_mirror(naming.names(), &pod));
            assert_eq!(found, expect, "{pod:?}");
        };
        check(json!(null), [false, false]);
        check(json!({"svc.io/config.mirror": "x"}), [true, false]);
        check(json!({"kubernetes.io/config.mirror": ""}), [false, true]);
        check(
            json!({"example.com/config.mirror": "", "svc.io/config.mirrors": ""}),
            [false, false],
        );
    }
}
