//! The informers of official client libraries against a cluster whose leadership changes all the
//! time: what they believe at the end is what is there, and each object's history reached them
//! whole and in order.

mod disturb;
mod history;
mod informer;
mod kube_rs;
mod python;
mod writers;

use disturb::disturb;
pub(crate) use informer::Informer;
use writers::{Writers, Written};

use crate::load::collection;
use crate::support::Cluster;

/// Each informer believes what is there, and was told everything in order; each has listed once
/// only, because its versions stayed good all the time.
async fn check(cluster: &mut Cluster, informers: Vec<Informer>, written: &Written) {
    println!(
        "{} changes and {} deletions acknowledged",
        written.changed.len(),
        written.deleted.len()
    );
    assert!(!written.changed.is_empty() && !written.deleted.is_empty());
    let mut client = cluster.client(2);
    for mut informer in informers {
        informer.agrees(&mut client, &collection("load")).await;
        let (name, selects) = (informer.name.clone(), !informer.selector.is_empty());
        assert_eq!(informer.lists(), 1, "{name} had to list again");
        let history = informer.finish().await;
        println!("{name}: {} changes", history.len());
        history.check_order(&name, selects);
        if !selects {
            history.check_complete(&name, written);
        }
    }
}
