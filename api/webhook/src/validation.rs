//! What is wrong with a `clientConfig`: of conversion webhooks and of admission webhooks.
//!
//! Not here: its `caBundle`, which only definitions of custom resources have checked.

use quorate_meta::{Cause, Path, Value, name};

const ONE_PLACE: &str = "exactly one of url or service is required";
/// What a host may have besides letters and digits (RFC 3986, section 3.2.2).
const HOST: &str = "-._~!$&'()*+,;=:[]%";
const URL_FORM: &str = "; desired format: https://host[/path]";

/// Checks where a `clientConfig` at `path` sends to.
pub fn check_client_config(path: &Path, config: &Value, causes: &mut Vec<Cause>) {
    let set = |field: &str| config.get(field).filter(|value| !value.is_null());
    match (set("url"), set("service")) {
        (Some(_), Some(_)) | (None, None) => causes.push(Cause::required(path, ONE_PLACE)),
        (Some(url), None) => check_url(&path.child("url"), text(url), causes),
        (None, Some(service)) => check_service(&path.child("service"), service, causes),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn check_url(path: &Path, url: &str, causes: &mut Vec<Cause>) {
    let split = |text, at| match str::split_once(text, at) {
        Some((text, rest)) => (text, Some(rest)),
        None => (text, None),
    };
    let (rest, fragment) = split(url, '#');
    let (rest, query) = split(rest, '?');
    let (scheme, rest) = rest.split_once("://").unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if !is_url(url, host) {
        causes.push(Cause::required(path, &format!("url must be a valid URL{URL_FORM}")));
        return;
    }
    let checks = [
        (
            Some(scheme).filter(|scheme| *scheme != "https"),
            "'https' is the only allowed URL scheme",
        ),
        (Some(host).filter(|host| host.is_empty()), "host must be specified"),
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ];
    for (value, why) in checks {
        causes.extend(value.map(|value| Cause::invalid(path, value, &format!("{why}{URL_FORM}"))));
    }
}

/// Whether a text with this host and port can be read as a URL at all.
fn is_url(text: &str, host: &str) -> bool {
    let is_of_host = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || HOST.contains(c);
    let port = host.rsplit_once(']').map_or(host, |(_, after)| after).rsplit_once(':');
    let has_port = port.is_none_or(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    !text.chars().any(|c| c.is_ascii_control()) && host.chars().all(is_of_host) && has_port
}

/// Checks a service reference. A missing name is reported at `namespace` and a missing namespace at
/// `name`, as clients know it from Kubernetes.
fn check_service(path: &Path, service: &Value, causes: &mut Vec<Cause>) {
    for (missing, told_of) in [("name", "namespace"), ("namespace", "name")] {
        if service.get(missing).is_none_or(Value::is_empty) {
            causes.push(Cause::required(path.child(told_of), ""));
        }
    }
    if let Some(inner) = service.get("path").filter(|path| !path.is_null()) {
        check_path(&path.child("path"), text(inner), causes);
    }
    let port = service.get("port").filter(|port| !port.is_null());
    if let Some(port) =
        port.filter(|port| !port.as_i64().is_some_and(|port| (1..=65535).contains(&port)))
    {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(path.child("port"), port.clone(), why));
    }
}

fn check_path(path: &Path, text: &str, causes: &mut Vec<Cause>) {
    let mut invalid = |why: &str| causes.push(Cause::invalid(path, text, why));
    if text == "/" {
        return;
    }
    if !text.starts_with('/') {
        invalid("must start with a '/'");
    }
    // The first character counts as the slash, also where it is another one.
    let inner = text.get(1..).unwrap_or_default();
    for (index, step) in inner.strip_suffix('/').unwrap_or(inner).split('/').enumerate() {
        if step.is_empty() {
            invalid(&format!("segment[{index}] may not be empty"));
            continue;
        }
        for why in name::dns_subdomain(step) {
            invalid(&format!("segment[{index}]: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[track_caller]
    fn check(config: Json, expect: &[&str]) {
        let mut causes = Vec::new();
        check_client_config(&Path::new("c"), &config.clone().into(), &mut causes);
        let got: Vec<String> = causes
            .iter()
            .map(|cause| format!("{} {}", cause.reason.as_str(), cause.field.as_str()))
            .collect();
        assert_eq!(got, expect, "{config}");
    }

    #[test]
    fn places() {
        const REQUIRED: &str = "FieldValueRequired c";
        const URL: &str = "FieldValueInvalid c.url";
        let service = |fields: Json| {
            let mut service = json!({"namespace": "n", "name": "s"});
            service
                .as_object_mut()
                .expect("a map")
                .extend(fields.as_object().expect("a map").clone());
            json!({"service": service})
        };
        check(json!({}), &[REQUIRED]);
        check(json!({"url": null}), &[REQUIRED]);
        check(
            json!({"url": "https://x/", "service": {"namespace": "n", "name": "s"}}),
            &[REQUIRED],
        );
        check(json!({"url": "https://x:1/a"}), &[]);
        for bad in ["http://x/", "https://x/?a=b", "https://x/#f", "https://u@x/", "https:///a"] {
            check(json!({"url": bad}), &[URL]);
        }
        check(json!({"url": "x"}), &[URL, URL]);
        for bad in ["https://a b/", "https://a/\u{7}", "https://a:b/"] {
            check(json!({"url": bad}), &["FieldValueRequired c.url"]);
        }
        check(service(json!({"port": 443, "path": "/a/b/"})), &[]);
        check(service(json!({"name": ""})), &["FieldValueRequired c.service.namespace"]);
        check(service(json!({"namespace": null})), &["FieldValueRequired c.service.name"]);
        for port in [json!(0), json!(65536), json!("1")] {
            check(service(json!({"port": port})), &["FieldValueInvalid c.service.port"]);
        }
        for path in ["//", "/a b"] {
            check(service(json!({"path": path})), &["FieldValueInvalid c.service.path"]);
        }
        let twice = ["FieldValueInvalid c.service.path", "FieldValueInvalid c.service.path"];
        check(service(json!({"path": "a"})), &twice);
    }
}
