//! Delegation: only an APIService that names a service delegates.

use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Value};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use serde_json::{Value as Json, json};

use super::*;

#[tokio::test]
async fn a_version_is_delegated_by_an_api_service_that_names_a_service() {
    let names = Naming::Kubernetes.names();
    let catalogue = builtin::catalogue_of(names);
    let services = catalogue.find(&names.group("apiregistration"), "v1", "apiservices").unwrap();
    let store = MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock));
    let check = async |spec: Json, expect: bool| {
        let metadata = json!({"name": "v1beta1.metrics.example.com", "uid": "u"});
        let object = Value::from(json!({"metadata": metadata, "spec": spec}));
        let value = stored_codec::encode(services, &object).unwrap();
        let operations =
            vec![Operation::Put { key: services.key(None, "v1beta1.metrics.example.com"), value }];
        store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
        let snapshot = store.snapshot();
        let is =
            |version| is_delegated(names, &catalogue, &snapshot, "metrics.example.com", version);
        assert_eq!((is("v1beta1"), is("v1")), (expect, false), "{spec}");
    };
    check(json!({"group": "metrics.example.com", "version": "v1beta1"}), false).await;
    check(json!({"service": {"namespace": "n", "name": "s"}}), true).await;
}
