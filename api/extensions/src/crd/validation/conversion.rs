//! Conversion between versions: the strategy, and the webhook that it may ask.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Cause, name};
use quorate_webhook::check_client_config;
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
    check_client_config(client.path(), client.value(), causes);
    let bundle = client.get("caBundle");
    if bundle.is_empty() || tolerance.bad_bundle {
        return;
    }
    causes.extend(bundle_problem(bundle.text()).map(|why| bundle.invalid(&why)));
}

/// Why a bundle in base64 has no certificates in PEM.
pub(in crate::crd) fn bundle_problem(bundle: &str) -> Option<String> {
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
