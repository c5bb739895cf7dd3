//! Duplicate owner references of an object.
//!
//! Invariant: only entries that are equal in every field are duplicates; entries that share a uid
//! and differ in another field are left to validation.

use std::collections::HashSet;

use quorate_meta::Value;
use quorate_wire::json;

const OWNERS: [&str; 2] = ["metadata", "ownerReferences"];

/// Removes duplicates; returns the warning that names their uids.
pub(super) fn dedup(object: &mut Value) -> Option<String> {
    let owners =
        object.at_mut(&OWNERS).and_then(Value::as_list_mut).filter(|owners| owners.len() > 1)?;
    let (mut seen, mut repeated) = (HashSet::new(), Vec::new());
    owners.retain(|owner| {
        let is_new = seen.insert(json::to_vec(owner));
        let uid = owner.str_at(&["uid"]).unwrap_or_default();
        if !is_new && !repeated.iter().any(|known| known == uid) {
            repeated.push(uid.to_owned());
        }
        is_new
    });
    (!repeated.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such \
             requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn owners_are_named_once() {
        let owner = |uid: &str, name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
        let check = |owners: &[Json], left: &[Json], repeated: Option<&str>| {
            let mut object = json!({"metadata": {"ownerReferences": owners}}).into();
            let told = dedup(&mut object);
            assert_eq!(object, json!({"metadata": {"ownerReferences": left}}).into());
            assert_eq!(told.as_deref().and_then(|told| told.rsplit(": ").next()), repeated);
        };
        let (a, b) = (owner("u", "a"), owner("v", "b"));
        check(&[], &[], None);
        check(&[a.clone(), b.clone()], &[a.clone(), b.clone()], None);
        check(&[a.clone(), owner("u", "other")], &[a.clone(), owner("u", "other")], None);
        check(&[a.clone(), b.clone(), a.clone(), a.clone()], &[a.clone(), b.clone()], Some("u"));
        check(&[b.clone(), a.clone(), b.clone(), a.clone()], &[b, a], Some("v, u"));
    }
}
