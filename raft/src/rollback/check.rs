//! What a member does at its start: it asks the other voters how far it was, and waits at the gate until they have answered.
//!
//! Invariant: an answer is held against how far the member is when the answer has come, so what it has shown in the meantime does not
//! look like something forgotten.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use quorate_env::Fatal;
use quorate_env::disk;
use quorate_store::NodeId;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::Code;

use super::{Shown, marker};
use crate::network::links::Purpose;
use crate::network::wire::decode;
use crate::replica::core::Core;
use crate::types::Peer;

/// How long a start waits for witnesses that cannot be reached.
const LIMIT: Duration = Duration::from_secs(2);
/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two questions to a witness that does not answer.
const PAUSE: Duration = Duration::from_millis(200);

/// Whose past is asked for, and who is told of it.
#[derive(Clone)]
pub(crate) struct Disk {
    pub(crate) disk: Arc<dyn disk::Disk>,
    pub(crate) directory: PathBuf,
    pub(crate) fatal: Fatal,
}

/// Closed until this member may take part.
#[derive(Debug)]
pub(crate) struct Gate {
    open: watch::Sender<bool>,
    /// Why it never opens.
    refusal: OnceLock<String>,
}

impl Gate {
    /// A closed one.
    pub(crate) fn closed() -> Self {
        Self { open: watch::Sender::new(false), refusal: OnceLock::new() }
    }

    /// Waits until it is open. It never closes again.
    pub(crate) async fn passed(&self) {
        self.open.subscribe().wait_for(|open| *open).await.map(drop).expect("self keeps the sender alive");
    }
}

/// Asks the witnesses and opens the gate, or says why this member must not take part. The task asks on, where nobody has answered.
pub(crate) async fn check(core: &Arc<Core>, disk: Disk) -> Result<JoinHandle<()>, String> {
    let mut asking = tokio::spawn(ask_all(core.clone(), disk));
    if timeout(LIMIT, &mut asking).await.is_err() {
        tracing::warn!(
            "not all voters can be asked whether this node's disk is an older copy; it takes part without that"
        );
    }
    if let Some(reason) = core.gate.refusal.get() {
        return Err(reason.clone());
    }
    core.raft.runtime_config().elect(true);
    core.gate.open.send_replace(true);
    Ok(asking)
}

/// Until every other voter has answered, or this member must stop.
async fn ask_all(core: Arc<Core>, disk: Disk) {
    let Some((_, voters)) = core.own().await else { return };
    let mut questions: FuturesUnordered<_> = voters.iter().map(|(node, peer)| core.ask(*node, peer)).collect();
    while let Some(forgotten) = questions.next().await {
        if let Err(forgotten) = forgotten {
            let advice = "remove this member, empty its data folder and let it join again";
            let reason = format!("{forgotten}: it is an older copy of that disk; {advice}");
            if let Err(error) = marker::write(&*disk.disk, &disk.directory, &reason).await {
                tracing::warn!(%error, "a later start of this node does not know that its disk is an older copy");
            }
            core.gate.refusal.set(reason.clone()).ok();
            return disk.fatal.report(reason);
        }
    }
}

/// Why there is no answer.
enum Silent {
    /// The witness remembers nothing, or knows no such question.
    Ignorant,
    /// It cannot be reached.
    Unreachable,
}

impl Core {
    /// What this member has seen of another one.
    pub(crate) async fn shown_by(&self, node: NodeId) -> Option<Shown> {
        let vote = self.raft.with_raft_state(|state| state.vote_ref().leader_id).await.ok();
        let elected = vote.filter(|leader| leader.node_id == node).map(|leader| Shown { leader, last: None });
        self.witness.of(node).max(elected)
    }

    /// How far this member is, and the other voters; `None` once Raft has stopped.
    async fn own(&self) -> Option<(Shown, Vec<(NodeId, Peer)>)> {
        let node = self.node;
        let look = move |state: &openraft::RaftState<crate::types::TypeConfig>| {
            let own = Shown { leader: state.vote_ref().leader_id, last: state.log_ids.last().copied() };
            let members = state.membership_state.effective();
            let others = members.voter_ids().filter(|voter| *voter != node);
            let voters = others.filter_map(|voter| Some((voter, members.get_node(&voter)?.clone()))).collect();
            (own, voters)
        };
        self.raft.with_raft_state(look).await.ok()
    }

    /// Asks one voter until it answers or is one no more. The error says what this member's disk has forgotten.
    async fn ask(&self, node: NodeId, peer: &Peer) -> Result<(), String> {
        loop {
            let asked = timeout(ANSWER_TIMEOUT, self.ask_once(peer)).await.unwrap_or(Err(Silent::Unreachable));
            let Some((own, voters)) = self.own().await else { return Ok(()) };
            match asked {
                Ok(Some(shown)) if own < shown => {
                    return Err(format!("this node had {shown} (says node {node}), and its disk has {own}"));
                }
                Ok(_) | Err(Silent::Ignorant) => return Ok(()),
                Err(Silent::Unreachable) if !voters.iter().any(|(voter, _)| *voter == node) => return Ok(()),
                Err(Silent::Unreachable) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    async fn ask_once(&self, peer: &Peer) -> Result<Option<Shown>, Silent> {
        let link = self.links.link(&peer.address, Purpose::Control);
        let mut connected = link.connected().await.map_err(|error| match error.kind() {
            // No process is there: whatever it had seen is forgotten.
            io::ErrorKind::ConnectionRefused => Silent::Ignorant,
            _ => Silent::Unreachable,
        })?;
        match connected.client.witness(Bytes::new()).await {
            Ok(answer) => decode(answer.get_ref()).map_err(|_| Silent::Ignorant),
            Err(status) if status.code() == Code::Unimplemented => Err(Silent::Ignorant),
            Err(status) => {
                link.refused(&connected, &status).await;
                Err(Silent::Unreachable)
            }
        }
    }
}
