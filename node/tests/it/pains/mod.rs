//! The pains that operators of etcd, k3s and kube-apiserver have reported most, each with a test that
//! would show it here.
//!
//! | Report | Test |
//! |---|---|
//! | etcd#9222, #9992: defragmentation, NOSPACE | `full_store` here, `space_comes_back_without_a_chore_and_nothing_stops_meanwhile` in `raft/tests/it`, limits in `raft/store` |
//! | kubernetes#96082: lists exhaust the memory | `memory` here |
//! | kubernetes#142062: caches of five times the bytes | `memory` here |
//! | etcd#16028: a restore rewinds revisions | `restored` here |
//! | k3s#2329: learners that are stuck | `learners` here |
//! | k3s#1621: certificates that end unseen | `certificates` here, `QuorateCertificateExpires` in `deploy/alerts` |
//! | kubernetes#48610: connections to what is gone | `standstill` here, `who_has_vanished_is_found_out` in `api/tests/it/tls`, `a_server_that_vanished_is_left_for_another_connection` in `api/webhook`, `connections_are_probed` in `raft/env`, `silence` in `raft/tests/it` |
//! | kubernetes#121635: 403 after a restart | `rights` here |
//! | etcd#15247: elections and revoked leases by one slow fsync | `slow_disks` in `raft/tests/it`, `standstill` here, `a_lease_that_was_renewed_elsewhere_is_not_revoked` in `api/tests/it/deposed.rs` |

mod certificates;
mod full_store;
mod learners;
mod memory;
mod restored;
mod rights;
mod standstill;
