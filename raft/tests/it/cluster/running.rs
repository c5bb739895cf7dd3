//! The running members of a test cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quorate_env::{Network, SystemEnv, VanishingNetwork};
use quorate_raft::admin::{AdminAnswer, AdminRequest, JoinRequest, JoinToken, join};
use quorate_raft::replica::{
    ArchiveSettings, BackfillOptions, Compaction, MemberOptions, ReplicaOpenError, ReplicaOptions,
    Timing,
};
use quorate_raft::state_machine;
use quorate_raft::types::Peer;
use quorate_raft::{ClusterId, Credentials, PeerTls, Replica, Role};
use quorate_store::{Limits, NodeId, Retention, Revision, Store};
use tempfile::TempDir;

use super::far::{Distance, FarNetwork};
use super::pki::CSR;
use super::slow::{SlowDisk, SyncDelay};
use super::{Authority, TestSigner, eventually, within};

/// How long tokens live in tests, milliseconds.
const TOKEN_MS: u64 = 60_000;

/// What tests change of the usual settings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tuning {
    pub(crate) limits: Limits,
    pub(crate) retention: Retention,
    pub(crate) compaction: Compaction,
    /// What the log may take on disk; with small segments.
    pub(crate) log_bytes: Option<u64>,
    /// What a segment of the journal may take on disk, and after how many bytes a checkpoint is made.
    pub(crate) journal_segment_bytes: Option<u64>,
    /// How often they beat.
    pub(crate) timing: Timing,
    /// How far the members are from each other; without it they are on one machine.
    pub(crate) distance: Option<Distance>,
    /// Whether they keep an archive.
    pub(crate) archive: bool,
}

/// Members of one cluster, by number.
pub(crate) struct Cluster {
    pub(crate) id: ClusterId,
    pub(crate) authority: Arc<Authority>,
    tuning: Tuning,
    directory: TempDir,
    addresses: BTreeMap<NodeId, String>,
    running: BTreeMap<NodeId, Replica>,
    networks: BTreeMap<NodeId, Arc<VanishingNetwork>>,
    delays: BTreeMap<NodeId, Arc<SyncDelay>>,
}

impl Cluster {
    /// A cluster of this many voters that has a leader.
    pub(crate) async fn start(voters: u64) -> Self {
        Self::tuned(voters, Tuning::default()).await
    }

    /// The same with other settings.
    pub(crate) async fn tuned(voters: u64, tuning: Tuning) -> Self {
        let mut cluster = Self {
            id: ClusterId::generate(&SystemEnv),
            authority: Arc::new(Authority::new()),
            tuning,
            directory: tempfile::tempdir().unwrap(),
            addresses: BTreeMap::new(),
            running: BTreeMap::new(),
            networks: BTreeMap::new(),
            delays: BTreeMap::new(),
        };
        for node in 1..=voters {
            let credentials = cluster.authority.member(cluster.id, node);
            cluster.open_as(node, &credentials).await;
        }
        let members =
            cluster.addresses.iter().map(|(node, address)| (*node, peer(address))).collect();
        cluster.replica(1).initialize(members).await.unwrap();
        for node in 1..=voters {
            within("every member recovers", cluster.replica(node).recovered()).await;
        }
        cluster
    }

    /// A running member.
    pub(crate) fn replica(&self, node: NodeId) -> Replica {
        self.running[&node].clone()
    }

    /// The same as a store.
    pub(crate) fn store(&self, node: NodeId) -> Arc<dyn Store> {
        Arc::new(self.replica(node))
    }

    /// The numbers of the running members.
    pub(crate) fn nodes(&self) -> Vec<NodeId> {
        self.running.keys().copied().collect()
    }

    /// Where a member listens.
    pub(crate) fn address(&self, node: NodeId) -> &str {
        &self.addresses[&node]
    }

    /// The leader, once all running members agree.
    pub(crate) async fn leader(&self) -> NodeId {
        eventually("the members agree on a leader that runs", async || {
            let mut leaders = self.running.values().map(|replica| replica.status().leader);
            let first = leaders.next()??;
            (self.running.contains_key(&first) && leaders.all(|leader| leader == Some(first)))
                .then_some(first)
        })
        .await
    }

    /// A running voter that does not lead.
    pub(crate) async fn follower(&self) -> NodeId {
        let leader = self.leader().await;
        self.nodes().into_iter().find(|node| *node != leader).unwrap()
    }

    /// Ends a member without any farewell.
    pub(crate) async fn halt(&mut self, node: NodeId) {
        self.running.remove(&node).unwrap().halt().await;
    }

    /// Ends a member in good order.
    pub(crate) async fn stop(&mut self, node: NodeId) {
        self.running.remove(&node).unwrap().stop().await;
    }

    /// Opens a member again, or a new one, on the port that it had.
    pub(crate) async fn open(&mut self, node: NodeId) {
        let credentials = self.authority.member(self.id, node);
        self.open_as(node, &credentials).await;
    }

    /// A running member becomes known by this number.
    async fn open_as(&mut self, node: NodeId, credentials: &Credentials) {
        let network = VanishingNetwork::over(SystemEnv::env().network);
        self.networks.insert(node, Arc::new(network));
        self.delays.entry(node).or_default();
        let options = self.options(node, credentials);
        let replica =
            eventually("the data is free", async || match Replica::open(options.clone()).await {
                Ok(replica) => Some(replica),
                Err(
                    ReplicaOpenError::State(state_machine::StateOpenError::Locked { .. })
                    | ReplicaOpenError::Listen { .. },
                ) => None,
                Err(error) => panic!("{error}"),
            })
            .await;
        self.addresses.insert(node, replica.address().to_owned());
        self.running.insert(node, replica);
    }

    /// What a member is opened with.
    pub(crate) fn options(&self, node: NodeId, credentials: &Credentials) -> ReplicaOptions {
        let mut env = SystemEnv::env();
        if let Some(network) = self.networks.get(&node) {
            env.network = network.clone();
        }
        if let Some(distance) = self.tuning.distance {
            env.network = Arc::new(FarNetwork { near: env.network, distance });
        }
        let member = MemberOptions {
            node,
            cluster: self.id,
            naming: "svc".to_owned(),
            listen: self.addresses.get(&node).map_or("127.0.0.1:0", String::as_str).to_owned(),
            env,
            tls: Arc::new(PeerTls::new(credentials).unwrap()),
            signer: Arc::new(TestSigner { authority: self.authority.clone(), cluster: self.id }),
        };
        let mut options = ReplicaOptions::new(member, self.disk(node), &self.folder(node));
        options.limits = self.tuning.limits;
        options.compaction = self.tuning.compaction;
        options.timing = self.tuning.timing;
        if let Some(bytes) = self.tuning.log_bytes {
            options.log.max_bytes = bytes;
            (options.log.first_segment_bytes, options.log.segment_bytes) = (bytes / 8, bytes / 8);
        }
        options.state.retention = self.tuning.retention;
        if let Some(bytes) = self.tuning.journal_segment_bytes {
            options.state.segment_bytes = bytes;
            options.state.checkpoint_bytes = bytes;
        }
        options.archive = self.tuning.archive.then(|| ArchiveSettings {
            bulk_wait: Duration::ZERO,
            backfill: BackfillOptions {
                look: Duration::from_millis(50),
                retry: Duration::from_millis(200),
                ..BackfillOptions::default()
            },
            ..ArchiveSettings::new(self.folder(node).join("archive"))
        });
        options
    }

    fn disk(&self, node: NodeId) -> Arc<SlowDisk> {
        Arc::new(SlowDisk(self.delays.get(&node).cloned().unwrap_or_default()))
    }

    /// Every sync of a file takes a member this much longer from now on, those under way too.
    pub(crate) fn slow_down(&self, node: NodeId, by: Duration) {
        self.delays[&node].set(by);
    }

    /// The connections of a member vanish; the others are not told.
    pub(crate) fn vanish(&self, node: NodeId) {
        self.networks[&node].vanish();
    }

    /// Where a member keeps its data.
    pub(crate) fn folder(&self, node: NodeId) -> PathBuf {
        self.directory.path().join(format!("node-{node}"))
    }

    /// Asks a member as its operator does.
    pub(crate) async fn ask(&self, node: NodeId, request: AdminRequest) -> AdminAnswer {
        within("an administrative request", self.replica(node).ask(request)).await.unwrap()
    }

    /// A token from this member.
    pub(crate) async fn token(&self, node: NodeId) -> JoinToken {
        let request =
            AdminRequest::CreateToken { description: "a test".to_owned(), ttl_ms: TOKEN_MS };
        match self.ask(node, request).await {
            AdminAnswer::Token(token) => token,
            other => panic!("{other:?}"),
        }
    }

    /// Lets a new node join through a member, and runs it. Gives its number.
    pub(crate) async fn join(&mut self, through: NodeId) -> NodeId {
        let token = self.token(through).await;
        let address = SystemEnv.listen("127.0.0.1:0").await.unwrap().address();
        let request = JoinRequest { token, peer: peer(&address), csr: Bytes::from_static(CSR) };
        let joining =
            join(SystemEnv::env().network, self.address(through), self.authority.hash(), &request);
        let answer = within("a join", joining).await.unwrap();
        assert_eq!(answer.cluster, self.id);
        self.addresses.insert(answer.node, address);
        let credentials = self.authority.joined(&answer.identity);
        self.open_as(answer.node, &credentials).await;
        within("the new member recovers", self.replica(answer.node).recovered()).await;
        answer.node
    }

    /// What a member is to the quorum, as the leader sees it.
    pub(crate) async fn role(&self, node: NodeId) -> Option<Role> {
        let leader = self.leader().await;
        self.replica(leader)
            .members()
            .into_iter()
            .find(|member| member.node == node)
            .map(|member| member.role)
    }

    /// Waits until every running member has applied this, then checks that they hold the same.
    pub(crate) async fn converge(&self, revision: Revision) {
        let mut digests = vec![];
        for node in self.nodes() {
            let store = self.store(node);
            within("every member applies", store.applied(revision)).await;
            digests.push(store.snapshot_at(revision).unwrap().digest());
        }
        assert!(
            digests.iter().all(|digest| *digest == digests[0]),
            "members differ at {revision}: {digests:?}"
        );
    }
}

fn peer(address: &str) -> Peer {
    Peer { address: address.to_owned(), api: String::new() }
}
