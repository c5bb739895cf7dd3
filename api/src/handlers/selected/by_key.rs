//! What the name or the namespace in a field selector says of keys.

use bytes::Bytes;
use quorate_registry::Resource;
use quorate_store::{Entry, Snapshot};

use crate::handlers::converted::Part;
use crate::handlers::options::{NAMESPACE, Selection};

/// Objects that a namespace has at least, on the average, where a name is looked for in each
/// namespace.
const OBJECTS_PER_NAMESPACE: usize = 8;
/// Namespaces looked at in one go before other requests get a turn.
const NAMESPACES: usize = 1024;

/// What the keys of everything that is selected begin with.
pub(super) fn prefix(resource: &Resource, asked: &[u8], selection: &Selection) -> Bytes {
    let whole = &resource.prefix;
    match selection.fields.requires_exact(NAMESPACE) {
        Some(namespace) if asked == &whole[..] => resource.prefix(Some(namespace)),
        _ => Bytes::copy_from_slice(asked),
    }
}

/// The objects of a name in a part of the state: one, or one in each namespace. `None` where there
/// are so many namespaces that the objects themselves are looked at.
pub(super) async fn named(
    resource: &Resource,
    snapshot: &Snapshot,
    part: Part<'_>,
    name: &str,
) -> Option<Vec<(Bytes, Entry)>> {
    let held =
        |key: Bytes| Some((snapshot.get(&key)?.clone(), key)).map(|(entry, key)| (key, entry));
    let is_later = |key: &Bytes| part.after.is_none_or(|after| &key[..] > after);
    if !resource.namespaced || part.prefix != &resource.prefix[..] {
        let key = Bytes::from([part.prefix, name.as_bytes()].concat());
        return Some(Some(key).filter(is_later).and_then(held).into_iter().collect());
    }
    let most = snapshot.count(part.prefix, part.after) / OBJECTS_PER_NAMESPACE;
    let (mut found, mut after) = (Vec::new(), part.after.map(Bytes::copy_from_slice));
    for step in 0..=most {
        if step % NAMESPACES == NAMESPACES - 1 {
            tokio::task::yield_now().await;
        }
        let next = snapshot.range(part.prefix, after.as_deref()).next();
        let Some((next, _)) = next else { return Some(found) };
        let (namespace, _) = resource.parse_key(next)?;
        let own = resource.key(namespace, name);
        // The byte after the slash, which ends the namespace.
        after = Some([part.prefix, namespace?.as_bytes(), b"0"].concat().into());
        found.extend(Some(own).filter(is_later).and_then(held));
    }
    None
}

#[cfg(test)]
mod tests {
    use quorate_kinds::builtin;
    use quorate_meta::{FieldSelector, LabelSelector, Naming};
    use quorate_store::Revision;

    use super::*;

    fn resource(name: &str) -> std::sync::Arc<Resource> {
        let catalogue = builtin::catalogue_of(Naming::Svc.names());
        catalogue.find("", "v1", name).expect("a built-in resource").clone()
    }

    #[test]
    fn a_namespace_narrows_what_is_across_all() {
        let check = |name: &str, asked: Option<&str>, fields: &str, expect: Option<&str>| {
            let resource = resource(name);
            let fields = FieldSelector::parse(fields).expect(fields);
            let selection = Selection { labels: LabelSelector::default(), fields, custom: None };
            let found = prefix(&resource, &resource.prefix(asked), &selection);
            assert_eq!(found, resource.prefix(expect), "{name} {asked:?} {:?}", selection.fields);
        };
        check("configmaps", None, "metadata.namespace=a", Some("a"));
        check("configmaps", None, "metadata.namespace!=a", None);
        check("configmaps", None, "metadata.namespace=", None);
        check("configmaps", None, "metadata.name=a", None);
        check("configmaps", Some("b"), "metadata.namespace=a", Some("b"));
        check("nodes", None, "metadata.namespace=a", None);
    }

    #[tokio::test]
    async fn a_name_is_found_in_every_namespace() {
        let maps = resource("configmaps");
        // Some sort before the slash, some after it.
        let namespaces = ["a", "a-b", "a.b", "a0", "ab", "b"];
        let names = ["x", "x-1", "y"].map(str::to_owned).into_iter();
        let names: Vec<String> =
            names.chain((0..20).map(|number| format!("z{number:02}"))).collect();
        let entry =
            Entry { value: Bytes::new(), created: Revision::ZERO, modified: Revision::ZERO };
        let keys = namespaces.iter().flat_map(|namespace| {
            names.iter().map(|name| maps.key(Some(namespace), name)).collect::<Vec<_>>()
        });
        // Of what lies beside the collection nothing is given.
        let beside = ["o/core/configmap/a/x", "o/core/configmaps0/a/x"].map(Bytes::from);
        let lonely = [maps.key(Some("c"), "x")];
        let keys: Vec<Bytes> = keys.chain(beside).chain(lonely).collect();
        let state =
            Snapshot::of(Revision::ZERO, keys.iter().map(|key| (key.clone(), entry.clone())));
        let check = async |prefix: &Bytes, after: Option<&Bytes>, name: &str| {
            let part = Part { prefix, after: after.map(|after| &after[..]), stop: None };
            let found = named(&maps, &state, part, name).await;
            assert!(found.is_some() || after.is_some(), "there are few namespaces");
            let Some(found) = found else { return 0 };
            let found: Vec<Bytes> = found.into_iter().map(|(key, _)| key).collect();
            let expect = state.range(prefix, part.after).map(|(key, _)| key);
            let expect: Vec<_> = expect
                .filter(|key| maps.parse_key(key).is_some_and(|(_, own)| own == name))
                .collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expect, "{after:?} {name}");
            found.len()
        };
        let mut seen = 0;
        for name in ["x", "y", "z07", "none", "a/x", ""] {
            seen += check(&maps.prefix, None, name).await;
            for after in &keys {
                seen += check(&maps.prefix, Some(after), name).await;
                seen += check(&maps.prefix(Some("a")), Some(after), name).await;
            }
        }
        assert!(seen > 500, "{seen}");
    }

    #[tokio::test]
    async fn a_name_is_not_looked_for_in_more_namespaces_than_it_is_worth() {
        let maps = resource("configmaps");
        let entry =
            Entry { value: Bytes::new(), created: Revision::ZERO, modified: Revision::ZERO };
        let keys = (0..100).map(|number| maps.key(Some(&format!("n{number:03}")), "x"));
        let state = Snapshot::of(Revision::ZERO, keys.map(|key| (key, entry.clone())));
        let part = Part { prefix: &maps.prefix, after: None, stop: None };
        assert_eq!(named(&maps, &state, part, "x").await, None);
    }
}
