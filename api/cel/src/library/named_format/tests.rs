//! What each named format takes and refuses.

use super::*;

#[test]
fn texts_that_fit() {
    let check = |name: &str, texts: &[&str]| {
        for text in texts {
            assert_eq!(
                NamedFormat::named(name).unwrap().validate(text),
                Vec::<String>::new(),
                "{name} {text:?}"
            );
        }
    };
    check("dns1123Label", &["a", "a-b", "1", &"a".repeat(63)]);
    check("dns1123Subdomain", &["a-b.c1", &"a".repeat(253)]);
    check("dns1035Label", &["a1"]);
    check("qualifiedName", &["a.b/c", "A_b-c.1"]);
    check("dns1123LabelPrefix", &["a--", "a-", &format!("{}-", "a".repeat(63))]);
    check("labelValue", &["", "a.B_c"]);
    check("uri", &["/a", "http://a/b", "urn:x:y"]);
    check("uuid", &["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"]);
    check("byte", &["YQ==", "+/+/", "YWI=", "YR=="]);
    check("date", &["2020-02-29", "0000-01-01"]);
    check(
        "datetime",
        &["2021-01-01t00:00:00z", "2021-01-01T00:00:00.5+01:00", "2021-01-01T00:00:00Ztail"],
    );
    check("datetime", &["2021-01-01T00:00:00é5Z", "2021-01-01T23:59:59+99:99"]);
}

#[test]
fn texts_that_do_not_fit() {
    let check = |name: &str, text: &str, beginnings: &[&str]| {
        let wrong = NamedFormat::named(name).unwrap().validate(text);
        let same = wrong.iter().zip(beginnings).all(|(message, start)| message.starts_with(start));
        assert!(wrong.len() == beginnings.len() && same, "{name} {text:?}: {wrong:?}");
    };
    check("dns1123Label", "-a", &["a lowercase RFC 1123 label must"]);
    check("dns1123Label", "a.b", &["must not contain dots"]);
    check("dns1123Label", &"a".repeat(64), &["must be no more than 63 characters"]);
    check(
        "dns1123Label",
        &"a.".repeat(40),
        &["must be no more than 63 characters", "a lowercase RFC 1123 label must"],
    );
    check("dns1123SubdomainPrefix", "-", &["a lowercase RFC 1123 subdomain"]);
    check("dns1123LabelPrefix", "é-", &["a lowercase RFC 1123 label"]);
    check("labelValue", &"a".repeat(64), &["must be no more than 63 bytes"]);
    check(
        "qualifiedName",
        &format!("{}/a", "a".repeat(254)),
        &["prefix part must be no more than 253 bytes"],
    );
    check("uri", "://x", &["parse \"://x\": missing protocol scheme"]);
    for text in [
        "",
        "x",
        "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
        "123e4567-e89b-12d3-a456-42661417400",
    ] {
        check("uuid", text, &["does not match the UUID format"]);
    }
    for text in ["", "aGVsbG8", "aGVs bG8=", "YQ=", "aGVs\n", "=", "====", "Y==="] {
        check("byte", text, &["invalid base64"]);
    }
    for text in [
        "",
        "2021-1-1",
        "2021-02-29",
        "2021-01-01T00:00:00Z",
        "2021-01-01 ",
        "10000-01-01",
        "é000-01-0",
    ] {
        check("date", text, &["invalid date"]);
    }
    let times =
        ["", "2021-01-01", "2021-01-01T00:00:00", "2021-01-01T25:00:00Z", "2021-01-01T00:00Z"];
    for text in times.into_iter().chain([
        "2021-13-01T00:00:00Z",
        "2021-01-01T00:00:00.Z",
        "2021-01-01T00:00:00+1:00",
    ]) {
        check("datetime", text, &["invalid datetime"]);
    }
}

#[test]
fn names() {
    assert_eq!(NamedFormat::named("email"), None);
    assert_eq!(NamedFormat::Uri.name(), "URI");
    assert_eq!(NamedFormat::Uri.pattern_length(), 1103);
}
