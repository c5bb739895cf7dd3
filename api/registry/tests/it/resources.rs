//! Tests of resources and their catalogue: names, keys, groups.

use quorate_kinds::builtin;
use quorate_meta::Naming;

#[test]
fn keys_and_prefixes_agree() {
    let catalogue = builtin::catalogue_of(Naming::Svc.names());
    let maps = catalogue.find("", "v1", "configmaps").unwrap();
    let key = maps.key(Some("a"), "b");
    assert_eq!(key, "o/core/configmaps/a/b".as_bytes());
    assert!(key.starts_with(&maps.prefix(Some("a"))) && key.starts_with(&maps.prefix(None)));
    assert_eq!(maps.parse_key(&key), Some((Some("a"), "b")));
    let namespaces = catalogue.find("", "v1", "namespaces").unwrap();
    assert_eq!(namespaces.key(Some("ignored"), "a"), "o/core/namespaces/a".as_bytes());
    assert_eq!(namespaces.prefix(Some("a")), namespaces.prefix(None));
    assert_eq!(namespaces.parse_key(&key), None);
}

#[test]
fn messages_about_an_object_name_the_group_that_it_is_stored_in() {
    let catalogue = builtin::catalogue_of(Naming::Svc.names());
    let check = |group: &str, plural: &str, expect: &str| {
        assert_eq!(
            catalogue.find(group, "v1", plural).unwrap().group_kind().group,
            expect,
            "{plural}"
        );
    };
    check("apps", "deployments", "apps");
    check("events.svc.io", "events", "");
    check("authorization.svc.io", "subjectaccessreviews", "authorization.svc.io");
}

#[test]
fn resources_are_found_by_group_version_and_name() {
    let catalogue = builtin::catalogue_of(Naming::Svc.names());
    assert_eq!(catalogue.find("", "v1", "configmaps").unwrap().kind, "ConfigMap");
    assert_eq!(catalogue.find_kind("", "v1", "Secret").unwrap().plural, "secrets");
    for (group, version, plural) in
        [("", "v2", "configmaps"), ("apps", "v1", "configmaps"), ("", "v1", "nothing")]
    {
        assert!(catalogue.find(group, version, plural).is_none(), "{group}/{version} {plural}");
    }
    assert!(catalogue.serves("", "v1") && !catalogue.serves("apps", "v2"));
    let secrets = catalogue.of_key(b"o/core/secrets/a/b").unwrap();
    assert_eq!((secrets.group.as_str(), secrets.plural.as_str()), ("", "secrets"));
    assert!(
        [&b"o/apps/secrets/a/b"[..], b"n/a", b"x"]
            .iter()
            .all(|key| catalogue.of_key(key).is_none())
    );
    assert_eq!(catalogue.group_versions()[0], ("", "v1"));
}
