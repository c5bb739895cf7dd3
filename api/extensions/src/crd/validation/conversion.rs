//! Conversion between versions: the strategy, and the webhook that it may ask.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Cause, name};
use quorate_wire::pem_text;

use super::tolerance::Tolerance;
use crate::crd::field::Field;

/// Versions of ConversionReview that the server knows.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
const NO_WEBHOOK: &str = "should not be set when strategy is not set to Webhook";

/// Checks `spec.conversion`; field errors name its fields as `v1beta1` had them.
pub(super) fn check(spec: &Field<'_>, tolerance: &Tolerance<'_>, causes: &mut Vec<Cause>) {
    let conversion = spec.get("conversion");
    if !conversion.is_set() {
        return;
    }
    let (strategy, webhook) = (conversion.get("strategy"), conversion.get("webhook"));
    if strategy.text() != "None" && spec.get("preserveUnknownFields").is_true() {
        let why = "must be None if spec.preserveUnknownFields is true";
        causes.push(Cause::invalid(strategy.path(), strategy.text(), why));
    }
    strategy.one_of(&["None", "Webhook"], causes);
    let place = |field: &str| conversion.path().child(field);
    let client = webhook.get("clientConfig").moved(place("webhookClientConfig"));
    let reviews = webhook.get("conversionReviewVersions").moved(place("conversionReviewVersions"));
    if strategy.text() == "Webhook" {
        check_client(&client, tolerance, causes);
        check_reviews(&reviews, tolerance, causes);
        return;
    }
    if client.is_set() {
        causes.push(Cause::forbidden(client.path(), NO_WEBHOOK));
    }
    if !reviews.is_empty() {
        causes.push(Cause::forbidden(reviews.path(), NO_WEBHOOK));
    }
}

/// Whether one of the versions is known to the server.
pub(super) fn has_known_review(reviews: &Field<'_>) -> bool {
    reviews.items().any(|review| REVIEWS.contains(&review.text()))
}

fn check_reviews(reviews: &Field<'_>, tolerance: &Tolerance<'_>, causes: &mut Vec<Cause>) {
    if reviews.is_empty() {
        causes.push(reviews.required(""));
        return;
    }
    let mut seen = HashSet::new();
    for review in reviews.items() {
        if !seen.insert(review.text()) {
            causes.push(review.invalid("duplicate version"));
            continue;
        }
        let wrong = name::dns_1035_label(review.text());
        causes.extend(wrong.iter().map(|why| review.invalid(why)));
    }
    if !tolerance.unknown_reviews && !has_known_review(reviews) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        causes.push(reviews.invalid(&why));
    }
}

fn check_client(client: &Field<'_>, tolerance: &Tolerance<'_>, causes: &mut Vec<Cause>) {
    if !client.is_set() {
        causes.push(client.required("required when strategy is set to Webhook"));
        return;
    }
    let (url, service) = (client.get("url"), client.get("service"));
    match (url.is_set(), service.is_set()) {
        (true, true) | (false, false) => {
            causes.push(client.required("exactly one of url or service is required"));
        }
        (true, false) => check_url(&url, causes),
        (false, true) => check_service(&service, causes),
    }
    let bundle = client.get("caBundle");
    if bundle.is_empty() || tolerance.bad_bundle {
        return;
    }
    causes.extend(bundle_problem(bundle.text()).map(|why| bundle.invalid(&why)));
}

/// Why a bundle in base64 has no certificates in PEM.
pub(super) fn bundle_problem(bundle: &str) -> Option<String> {
    let pem = STANDARD.decode(bundle).unwrap_or_default();
    let blocks = pem_text::blocks(&pem).unwrap_or_default();
    let mut certificates =
        blocks.iter().filter(|block| block.label == pem_text::CERTIFICATE && !block.has_headers);
    match certificates.next() {
        None => Some("data does not contain any valid RSA or ECDSA certificates".to_owned()),
        Some(first) => std::iter::once(first)
            .chain(certificates)
            .any(|block| pem_text::certificate(block).is_none())
            .then(|| "x509: malformed certificate".to_owned()),
    }
}

fn check_url(field: &Field<'_>, causes: &mut Vec<Cause>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let split = |text, at| match str::split_once(text, at) {
        Some((text, rest)) => (text, Some(rest)),
        None => (text, None),
    };
    let (text, fragment) = split(field.text(), '#');
    let (text, query) = split(text, '?');
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
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
        let cause = |value| Cause::invalid(field.path(), value, &format!("{why}{FORM}"));
        causes.extend(value.map(cause));
    }
}

/// Checks a service reference. A missing name is reported at `namespace` and a missing namespace at
/// `name`, as clients know it from Kubernetes.
fn check_service(service: &Field<'_>, causes: &mut Vec<Cause>) {
    for (missing, told_of) in [("name", "namespace"), ("namespace", "name")] {
        if service.get(missing).is_empty() {
            causes.push(service.get(told_of).required(""));
        }
    }
    let path = service.get("path");
    if path.is_set() {
        check_path(&path, causes);
    }
    let port = service.get("port");
    if port.is_set() && !port.value().as_i64().is_some_and(|port| (1..=65535).contains(&port)) {
        causes.push(port.invalid("port is not valid: must be between 1 and 65535, inclusive"));
    }
}

fn check_path(path: &Field<'_>, causes: &mut Vec<Cause>) {
    let text = path.text();
    if text == "/" {
        return;
    }
    if !text.starts_with('/') {
        causes.push(path.invalid("must start with a '/'"));
    }
    let inner = text.strip_prefix('/').unwrap_or(text);
    for (index, step) in inner.strip_suffix('/').unwrap_or(inner).split('/').enumerate() {
        if step.is_empty() {
            causes.push(path.invalid(&format!("segment[{index}] may not be empty")));
            continue;
        }
        let wrong = name::dns_subdomain(step);
        causes.extend(wrong.iter().map(|why| path.invalid(&format!("segment[{index}]: {why}"))));
    }
}
