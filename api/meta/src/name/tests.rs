//! Valid and invalid names, with the messages of Kubernetes 1.35.

use super::*;
use crate::{Cause, Path};

fn check(validate: fn(&str) -> Vec<String>, good: &[&str], bad: &[&str]) {
    for text in good {
        assert_eq!(validate(text), Vec::<String>::new(), "{text:?} must be fine");
    }
    for text in bad {
        assert!(!validate(text).is_empty(), "{text:?} must be refused");
    }
}

#[test]
fn subdomains() {
    let (longest, too_long) = ("x".repeat(253), "x".repeat(254));
    let bad = [
        "Upper",
        "under_score",
        "-dash",
        "dash-",
        "a..b",
        ".a",
        "a.",
        "a/b",
        "a b",
        "é",
        "",
        "a.-b",
        &too_long,
    ];
    check(dns_subdomain, &["a.b", "1", "9-a.0", "a--b", &longest], &bad);
    assert_eq!(dns_subdomain(&too_long), ["must be no more than 253 characters"]);
}

#[test]
fn dns_labels() {
    let (longest, too_long) = ("a".repeat(63), "a".repeat(64));
    check(
        dns_label,
        &["a", "0", "a-b", &longest],
        &["Upper", "a.b", "a_b", "a b", "-a", "a-", "-", "", &too_long],
    );
    check(dns_1035_label, &["a", "a1"], &["1a", "", "-a", "a.b"]);
}

#[test]
fn path_segments() {
    check(
        path_segment,
        &["system:odd:One", "With Space", "UP_per", "..."],
        &[".", "..", "a/b", "a%b"],
    );
    assert_eq!(path_segment("a/b%"), ["may not contain '/'", "may not contain '%'"]);
}

#[test]
fn keys_and_values() {
    let long = "a".repeat(64);
    let good = ["a", "A_b.c-9", "example.com/Key_1.x", "1/2"];
    check(
        qualified_name,
        &good,
        &["", "-x", "x-", "/n", "Example.com/n", "a/", "a/b/c", "*", "a b", "é", &long],
    );
    check(label_value, &["", "a", "A_v.1"], &["-a", "a-", "a/b", "a b", &long]);
    assert_eq!(qualified_name("/n"), ["prefix part must be non-empty"]);
    assert_eq!(label_value(&long), ["must be no more than 63 bytes"]);
}

#[test]
fn metadata_causes() {
    let path = Path::new("metadata.labels");
    let causes = labels(&path, [("ok", "fine"), ("-", "also bad-")].into_iter());
    let texts: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    assert_eq!(texts, ["metadata.labels", "metadata.labels"]);
    let half = "v".repeat(MAX_ANNOTATIONS_BYTES / 2);
    let path = Path::new("metadata.annotations");
    assert!(annotations(&path, [("Example.com/A", &half[1..])].into_iter()).is_empty());
    let causes = annotations(&path, [("a", half.as_str()), ("b", half.as_str())].into_iter());
    assert_eq!(causes, [Cause::too_long(&path, 262_144)]);
    assert_eq!(finalizer(&Path::new("metadata.finalizers").index(0), "a/b/c").len(), 1);
}

#[test]
fn generated_names() {
    let check = |prefix_len: usize, len: usize| {
        let name = generate(&"p".repeat(prefix_len), [7, 1, 2, 3, 4, 5, 6, 255]);
        assert_eq!(name.len(), len);
        assert!(
            name[len - 5..].chars().all(|char| "bcdfghjklmnpqrstvwxz2456789".contains(char)),
            "{name}"
        );
    };
    check(4, 9);
    check(57, 62);
    check(58, 63);
    check(59, 63);
    check(80, 63);
    assert_eq!(generate(&"é".repeat(40), [0; 8]).len(), 63);
    assert_ne!(generate("a", [0; 8]), generate("a", [1; 8]));
}
