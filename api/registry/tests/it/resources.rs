//! Tests of resources and their catalogue: names, keys, groups.

use quorate_kinds::builtin;
use quorate_meta::{Naming, Value};

use crate::random::Random;

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

/// Rule 2 of the deprecation policy: what a client writes in one version is there when it reads the
/// object in that version again, and so is what is stored.
#[test]
fn objects_lose_nothing_between_versions() {
    let catalogue = builtin::catalogue_of(Naming::Svc.names());
    let mut converted = 0;
    for served in catalogue.iter() {
        let Some(form) = &served.stored_form else { continue };
        let stored = catalogue.iter().find(|one| {
            one.is_stored_form()
                && (&one.group, &one.version, &one.kind)
                    == (&served.storage_group, &served.storage_version, &served.kind)
        });
        let stored = stored.unwrap();
        converted += 1;
        for seed in 0..200 {
            let name = Value::from(serde_json::json!({"name": "a"}));
            let mut object = Random::new(&served.graph(), seed).object(served.ty());
            object.set_at(&["metadata"], name);
            let before = object.clone();
            form.conversion.to_stored(&mut object);
            let kept = object.clone();
            form.conversion.to_served(&mut object);
            let context = format!("{} {}, seed {seed}", served.api_version, served.kind);
            form.conversion.to_stored(&mut object);
            assert_eq!(object, kept, "{context}: {before:?}");
            let unknown = quorate_schema::decode(&stored.graph(), stored.ty(), &mut object);
            assert!(unknown.unwrap().paths.is_empty(), "{context}");
        }
    }
    assert_eq!(converted, 2, "autoscalers and events");
}
