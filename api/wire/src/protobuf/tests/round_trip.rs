//! Objects of every kind come back as they were, and equal objects have equal bytes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::protobuf::{decode, decode_message, encode, encode_message};
use crate::random::Random;

/// The types of all kinds and lists that have a protobuf form.
pub(super) fn types(graph: &Graph) -> Vec<TypeId> {
    let ids: BTreeSet<TypeId> =
        graph.kinds().iter().flat_map(|kind| [Some(kind.ty), kind.list_ty]).flatten().collect();
    ids.into_iter()
        .filter(|id| graph.ty(*id).fields.iter().all(|field| field.tag.is_some()))
        .collect()
}

fn check(graph: &Graph, id: TypeId, seed: u64) -> Result<(), TestCaseError> {
    let ty = graph.ty(id).full_name();
    let object = Random::new(graph, seed).object(id);
    let message = encode_message(graph, id, &object)
        .map_err(|error| TestCaseError::fail(format!("{ty}: {error}")))?;
    let back = decode_message(graph, id, &message)
        .map_err(|error| TestCaseError::fail(format!("{ty}: {error}")))?;
    prop_assert_eq!(&back, &object, "{}", ty);
    prop_assert_eq!(encode_message(graph, id, &back), Ok(message), "{}", ty);
    Ok(())
}

#[test]
fn every_kind_has_a_type_with_numbers() {
    let graph = Graph::builtin(Naming::Svc.names());
    let without: Vec<_> = graph
        .types()
        .iter()
        .filter(|ty| ty.fields.iter().any(|field| field.tag.is_none()))
        .collect();
    let without: Vec<_> = without.iter().map(|ty| ty.full_name()).collect();
    let expect = [
        "meta/v1.Table",
        "meta/v1.TableColumnDefinition",
        "meta/v1.TableRow",
        "meta/v1.TableRowCondition",
    ];
    assert_eq!(without, expect);
    assert!(types(&graph).len() > 150, "{}", types(&graph).len());
}

#[test]
fn with_its_envelope() {
    let graph = Graph::builtin(Naming::Svc.names());
    for kind in graph.kinds().iter().filter(|kind| !kind.resource.is_empty()) {
        let mut object = Random::new(&graph, 7).object(kind.ty);
        object.set_at(&["apiVersion"], kind.api_version());
        object.set_at(&["kind"], kind.kind.as_ref());
        let body = encode(&graph, kind.ty, &object).expect("writes");
        assert_eq!(decode(&graph, kind.ty, &body), Ok(object), "{}", kind.kind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_kind(seed: u64) {
        let graph = Graph::builtin(Naming::Svc.names());
        for (number, id) in (0u64..).zip(types(&graph)) {
            check(&graph, id, seed.wrapping_add(number))?;
        }
    }
}
