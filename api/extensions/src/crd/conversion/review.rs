//! ConversionReview: the question to the webhook, and what its answer says.

use quorate_meta::{Names, Value};
use quorate_wire::json;

const KIND: &str = "ConversionReview";

/// A version of ConversionReview that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1Beta1,
}

impl ReviewVersion {
    /// The first of a webhook's versions that the server knows.
    pub(super) fn choose(versions: &[String]) -> Result<Self, String> {
        let known = |version: &String| match version.as_str() {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        };
        let chosen = versions.iter().find_map(known);
        chosen.ok_or_else(|| "no supported conversion review versions".to_owned())
    }

    fn api_version(self, names: &Names) -> String {
        let version = match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        };
        format!("{}/{version}", names.group("apiextensions"))
    }
}

/// The review that asks for objects, each as JSON, in this version.
pub(super) fn request(
    names: &Names,
    version: ReviewVersion,
    uid: &str,
    desired: &str,
    objects: &[Vec<u8>],
) -> Vec<u8> {
    let length: usize = objects.iter().map(|object| object.len() + 1).sum();
    let mut text = Vec::with_capacity(length + 256);
    let mut text_of = |before: &str, value: &str| {
        text.extend_from_slice(before.as_bytes());
        json::write_string(value, &mut text);
    };
    text_of(r#"{"kind":"#, KIND);
    text_of(r#","apiVersion":"#, &version.api_version(names));
    text_of(r#","request":{"uid":"#, uid);
    text_of(r#","desiredAPIVersion":"#, desired);
    text.extend_from_slice(br#","objects":["#);
    text.extend_from_slice(&objects.join(&b','));
    text.extend_from_slice(b"]}}");
    text
}

/// The converted objects in the answer to the review with this uid, unchecked.
///
/// # Errors
/// What the webhook says went wrong, or what is wrong with the answer.
pub(super) fn answer(
    names: &Names,
    version: ReviewVersion,
    uid: &str,
    text: &[u8],
) -> Result<Vec<Value>, String> {
    let unread = |error| format!("couldn't get version/kind; json parse error: {error}");
    let (mut review, _) = json::parse(text).map_err(unread)?;
    let told = |value: &Value, field: &str| {
        value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (api_version, kind) = (told(&review, "apiVersion"), told(&review, "kind"));
    let expected = version.api_version(names);
    if version == ReviewVersion::V1 && (api_version != expected || kind != KIND) {
        return Err(format!(
            "expected webhook response of {expected}, Kind={KIND}, got {}, Kind={kind}",
            if api_version.is_empty() { "/" } else { &api_version }
        ));
    }
    let response = review.get_mut("response").filter(|response| response.as_map().is_some());
    let response = response.ok_or("no response provided")?;
    let answered = told(response, "uid");
    if version == ReviewVersion::V1 && answered != uid {
        return Err(format!("expected response.uid={uid:?}, got {answered:?}"));
    }
    let result = response.get("result").unwrap_or(&Value::Null);
    let (status, message) = (told(result, "status"), told(result, "message"));
    match (status.as_str(), message.as_str()) {
        ("Success", _) => {}
        (_, "") => return Err(format!("response.result.status was '{status}', not 'Success'")),
        _ => return Err(message),
    }
    let objects = response.get_mut("convertedObjects").and_then(Value::as_list_mut);
    Ok(objects.map(std::mem::take).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_question() {
        let objects = [br#"{"a":1}"#.to_vec(), br#"{"b":2}"#.to_vec()];
        let text = request(Naming::Svc.names(), ReviewVersion::V1, "u", "x.example/v2", &objects);
        let review: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
        let request = json!({"uid": "u", "desiredAPIVersion": "x.example/v2", "objects": [{"a": 1}, {"b": 2}]});
        let expect = json!({"apiVersion": "apiextensions.svc.io/v1", "kind": "ConversionReview", "request": request});
        assert_eq!(review, expect);
    }

    #[test]
    fn versions_of_reviews() {
        let check = |versions: &[&str], expect: Option<ReviewVersion>| {
            let versions: Vec<String> =
                versions.iter().map(|&version| version.to_owned()).collect();
            assert_eq!(ReviewVersion::choose(&versions).ok(), expect, "{versions:?}");
        };
        check(&["v2", "v1beta1", "v1"], Some(ReviewVersion::V1Beta1));
        check(&["v1", "v1beta1"], Some(ReviewVersion::V1));
        check(&["v2"], None);
    }

    #[test]
    fn answers() {
        let check = |version: ReviewVersion, text: &str, expect: Result<usize, &str>| {
            let got = answer(Naming::Svc.names(), version, "u", text.as_bytes());
            let got = got.map(|objects| objects.len());
            assert_eq!(got.as_ref().map(|count| *count).map_err(String::as_str), expect, "{text}");
        };
        let with = |response: serde_json::Value| {
            json!({"apiVersion": "apiextensions.svc.io/v1", "kind": "ConversionReview", "response": response}).to_string()
        };
        let v1 = ReviewVersion::V1;
        let ok = json!({"status": "Success"});
        check(v1, &with(json!({"uid": "u", "result": ok, "convertedObjects": [{}, 1]})), Ok(2));
        check(v1, &with(json!({"uid": "u", "result": ok})), Ok(0));
        check(v1, &with(json!({"uid": "u", "result": ok, "convertedObjects": "x"})), Ok(0));
        check(
            v1,
            &with(json!({"uid": "x", "result": ok, "convertedObjects": []})),
            Err(r#"expected response.uid="u", got "x""#),
        );
        check(
            v1,
            &with(
                json!({"uid": "u", "result": {"status": "Failure", "message": "cannot do that"}}),
            ),
            Err("cannot do that"),
        );
        check(
            v1,
            &with(json!({"uid": "u", "convertedObjects": []})),
            Err("response.result.status was '', not 'Success'"),
        );
        check(v1, &with(json!(null)), Err("no response provided"));
        check(v1, &with(json!([])), Err("no response provided"));
        check(
            v1,
            "{}",
            Err(
                "expected webhook response of apiextensions.svc.io/v1, Kind=ConversionReview, got /, Kind=",
            ),
        );
        let loose = json!({"response": {"result": ok, "convertedObjects": [{}]}}).to_string();
        check(ReviewVersion::V1Beta1, &loose, Ok(1));
        let garbage = answer(Naming::Svc.names(), v1, "u", b"hello").expect_err("it is no JSON");
        assert!(garbage.starts_with("couldn't get version/kind; json parse error: "), "{garbage}");
    }
}
