//! Deliberately broken variants of the API: each breaks one promise, and the checkers must find it.
//!
//! A server that does something wrong cannot be told, from where its clients are, from one that
//! gets another question or whose answer is changed on the way; so most variants are between the
//! client and its connection. The others are between the server, or its controllers, and the store.
//! Nothing here is reachable without `--broken-api`.

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use clap::ValueEnum;
use quorate_store::{
    Condition, Error, HistoryError, Limits, Operation, Outcome, Past, Revision, Snapshot, State,
    Status, Store, Txn, Watch,
};
use quorate_wire::stored::StoredRef;
use serde_json::{Value, json};

use super::kind::ResourceKind;
use super::request::{ApiReply, ApiRequest, At, Verb, version};

/// A promise that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BrokenApi {
    /// Writes do not look at the `resourceVersion` that they are bound to.
    SkippedPrecondition,
    /// A consistent read is answered from whatever the node has.
    LocalRead,
    /// Later pages of a list show the newest state, under the revision of the first page.
    NewestPage,
    /// A watch that is resumed lacks its first event.
    LostEvent,
    /// A watch that is resumed ends at its first event, as if it were not kept.
    EarlyExpiry,
    /// Bookmarks are a little ahead of the events.
    EarlyBookmark,
    /// Watches do not look at their selector.
    IgnoredSelector,
    /// A dry run is carried out.
    PersistedDryRun,
    /// An object goes at once, whatever its finalizers say.
    IgnoredFinalizer,
    /// Objects can be created in namespaces that are being deleted or have gone.
    OpenNamespace,
    /// A create replaces an object that another client creates at the same time.
    OverwritingCreate,
    /// A Service takes addresses without a look at what others have.
    SharedAddress,
    /// Deletion of a namespace forgets its Secrets.
    ForgottenKind,
    /// Garbage collection takes some objects for gone that are there.
    SkippedOwner,
    /// Nodes take up a changed definition only when they are asked for something unknown.
    FrozenDefinitions,
    /// Deletion of a definition forgets its objects.
    ForgottenObjects,
    /// Custom objects can be created while their definition is being deleted or has gone.
    OpenDefinition,
    /// A watch does not end with the definition of its resource.
    EndlessWatch,
    /// Watches tell no deletion.
    SilentRemoval,
    /// Writes do not look whether policies have changed since they were judged.
    StalePolicies,
}

/// What comes before the objects that stand for addresses.
const ADDRESSES: &[u8] = b"o/networking.svc.io/ipaddresses/";
/// The key that writes are bound to policies by.
const RULES: &[u8] = b"a/rules";
/// What comes before the markers of definitions that take objects.
const MARKERS: &[u8] = b"d/";
/// How far ahead an early bookmark is.
const EARLY_BY: u64 = 3;

/// The request that reaches the server.
pub(super) fn asked(broken: Option<BrokenApi>, ask: &ApiRequest) -> ApiRequest {
    let mut ask = ask.clone();
    match broken {
        Some(BrokenApi::SkippedPrecondition) if ask.verb != Verb::Delete => {
            let metadata = ask
                .body
                .as_mut()
                .and_then(|body| body.get_mut("metadata"))
                .and_then(Value::as_object_mut);
            metadata.and_then(|metadata| metadata.remove("resourceVersion"));
        }
        // A list at any version comes whole, so those in pages stay as they are.
        Some(BrokenApi::LocalRead)
            if !ask.writes() && ask.limit.is_none() && ask.at == At::MostRecent =>
        {
            ask.at = At::Any;
        }
        Some(BrokenApi::NewestPage) if ask.token.is_some() => (ask.token, ask.limit) = (None, None),
        Some(BrokenApi::IgnoredSelector) if ask.verb == Verb::Watch => ask.color = None,
        Some(BrokenApi::PersistedDryRun) => {
            ask.dry_run = false;
            let options = ask.body.as_mut().and_then(Value::as_object_mut);
            options.and_then(|options| options.remove("dryRun"));
        }
        _ => {}
    }
    ask
}

/// The answer that reaches the client. `page` is the page before: its revision and the name that it
/// ended with.
pub(super) fn answered(
    broken: Option<BrokenApi>,
    ask: &ApiRequest,
    page: Option<&(u64, String)>,
    reply: &mut ApiReply,
) {
    let Some((at, last)) =
        page.filter(|_| broken == Some(BrokenApi::NewestPage) && reply.status == 200)
    else {
        return;
    };
    reply.revision = Some(*at);
    reply.body["metadata"]["resourceVersion"] = at.to_string().into();
    let Some(items) = reply.body["items"].as_array_mut() else {
        return;
    };
    items.retain(|item| place(ask.kind, item) > *last);
}

/// Where a page ended, for the one after it.
pub(super) fn page(ask: &ApiRequest, reply: &ApiReply) -> Option<(u64, String)> {
    let last = reply.body["items"].as_array()?.last()?;
    Some((version(&reply.body)?, place(ask.kind, last)))
}

fn place(kind: ResourceKind, item: &Value) -> String {
    let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
    kind.key(text("namespace"), text("name"))
}

/// What is wrong with the lines of one watch.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineFault {
    broken: Option<BrokenApi>,
    /// The next event is replaced by the news that it is not kept.
    expires: bool,
    /// Events that are still to be lost.
    lose: usize,
}

impl LineFault {
    pub(super) fn new(broken: Option<BrokenApi>, ask: &ApiRequest) -> Self {
        let lose = broken == Some(BrokenApi::LostEvent) && matches!(ask.at, At::Exact(_));
        let expires = broken == Some(BrokenApi::EarlyExpiry) && matches!(ask.at, At::Exact(_));
        Self { broken, expires, lose: lose.into() }
    }

    /// Returns when the client is told of the end of the stream.
    pub(super) async fn end(&self) {
        if self.broken == Some(BrokenApi::EndlessWatch) {
            pending().await
        }
    }

    /// The line that the client gets, if it gets one.
    pub(super) fn pass(&mut self, mut line: Value) -> Option<Value> {
        if line["type"] != "BOOKMARK" && self.expires {
            return Some(json!({"type": "ERROR", "object": {"kind": "Status", "code": 410}}));
        }
        if line["type"] == "DELETED" && self.broken == Some(BrokenApi::SilentRemoval) {
            return None;
        }
        if line["type"] != "BOOKMARK" {
            let lost = self.lose > 0;
            self.lose = self.lose.saturating_sub(1);
            return (!lost).then_some(line);
        }
        if self.broken == Some(BrokenApi::EarlyBookmark)
            && let Some(at) = version(&line["object"])
        {
            line["object"]["metadata"]["resourceVersion"] = (at + EARLY_BY).to_string().into();
        }
        Some(line)
    }
}

/// The store that a node's API gets.
pub(super) fn store(broken: Option<BrokenApi>, store: Arc<dyn Store>) -> Arc<dyn Store> {
    use BrokenApi::{
        IgnoredFinalizer, OpenDefinition, OpenNamespace, OverwritingCreate, SharedAddress,
        StalePolicies,
    };
    match broken {
        Some(
            broken @ (IgnoredFinalizer | OpenDefinition | OpenNamespace | OverwritingCreate
            | SharedAddress | StalePolicies),
        ) => Arc::new(BrokenApiStore { store, broken }),
        _ => store,
    }
}

/// The store that a node's controllers get, if it is another one.
pub(super) fn store_of_controllers(
    broken: Option<BrokenApi>,
    store: &Arc<dyn Store>,
) -> Option<Arc<dyn Store>> {
    use BrokenApi::{ForgottenKind, ForgottenObjects, SkippedOwner};
    match broken {
        Some(broken @ (ForgottenKind | ForgottenObjects | SkippedOwner)) => {
            Some(Arc::new(BrokenApiStore { store: store.clone(), broken }))
        }
        _ => None,
    }
}

struct BrokenApiStore {
    store: Arc<dyn Store>,
    broken: BrokenApi,
}

impl BrokenApiStore {
    /// What a transaction turns into; `None` when it is only said to be done.
    fn change(&self, mut txn: Txn) -> Option<Txn> {
        match self.broken {
            BrokenApi::IgnoredFinalizer => txn.operations.iter_mut().for_each(hurry),
            BrokenApi::OpenNamespace => {
                txn.conditions.retain(|condition| !condition.key().starts_with(b"n/"));
            }
            BrokenApi::OpenDefinition => {
                txn.conditions.retain(|condition| !condition.key().starts_with(MARKERS));
                txn.operations.retain(|operation| !is_closing(operation));
            }
            BrokenApi::StalePolicies => txn.conditions.retain(|condition| condition.key() != RULES),
            BrokenApi::SharedAddress => txn.conditions.retain(|condition| !is_holding(condition.key())),
            BrokenApi::OverwritingCreate => txn.conditions.retain(|condition| {
                let free = matches!(condition, Condition::Modified { revision, .. } if *revision == Revision::ZERO);
                !free || !condition.key().starts_with(b"o/")
            }),
            BrokenApi::SkippedOwner if txn.operations.iter().any(|operation| self.is_skipped(operation)) => {
                return None;
            }
            _ => {}
        }
        Some(txn)
    }

    /// Whether it removes an object that others own and that is one of the unlucky half.
    fn is_skipped(&self, operation: &Operation) -> bool {
        let Operation::Delete { key } = operation else {
            return false;
        };
        let snapshot = self.store.snapshot();
        let Some(entry) = snapshot.get(key) else {
            return false;
        };
        let owned = StoredRef::parse(&entry.value)
            .is_ok_and(|object| object.owner_references().next().is_some());
        owned && key.iter().map(|byte| u32::from(*byte)).sum::<u32>().is_multiple_of(2)
    }
}

/// Whether it makes a definition take no more objects.
fn is_closing(operation: &Operation) -> bool {
    matches!(operation, Operation::Delete { key } if key.starts_with(MARKERS))
}

/// Whether it stands there by whom something is taken.
fn is_holding(key: &Bytes) -> bool {
    key.starts_with(b"h/") || key.starts_with(ADDRESSES)
}

/// Makes a removal of what begins a deletion.
fn hurry(operation: &mut Operation) {
    let Operation::Put { key, value } = operation else {
        return;
    };
    let terminates =
        StoredRef::parse(value).is_ok_and(|object| object.deletion_timestamp().is_some());
    if terminates && key.starts_with(b"o/core/configmaps/") {
        *operation = Operation::Delete { key: key.clone() };
    }
}

#[async_trait]
impl Store for BrokenApiStore {
    async fn read_index(&self) -> Result<Revision, Error> {
        self.store.read_index().await
    }

    fn snapshot(&self) -> Snapshot {
        let snapshot = self.store.snapshot();
        let secrets = ResourceKind::Secrets.key("", "");
        let custom = ResourceKind::CUSTOM.map(|kind| kind.key("", ""));
        let is_hidden = |key: &Bytes| match self.broken {
            BrokenApi::SharedAddress => is_holding(key),
            BrokenApi::ForgottenObjects => {
                custom.iter().any(|prefix| key.starts_with(prefix.as_bytes()))
            }
            _ => key.starts_with(secrets.as_bytes()),
        };
        if !matches!(
            self.broken,
            BrokenApi::ForgottenKind | BrokenApi::ForgottenObjects | BrokenApi::SharedAddress
        ) {
            return snapshot;
        }
        let shown = snapshot.range(b"", None).filter(|(key, _)| !is_hidden(key));
        let shown: Vec<_> = shown.map(|(key, entry)| (key.clone(), entry.clone())).collect();
        State::restore(snapshot.revision(), 0, shown).snapshot()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.store.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.store.applied(at).await;
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let asked = txn.conditions.clone();
        let Some(txn) = self.change(txn) else {
            return Ok(Outcome::Committed { revision: self.store.snapshot().revision() });
        };
        let left = txn.conditions.clone();
        Ok(match self.store.txn(txn).await? {
            // The caller counts the dropped conditions as well.
            Outcome::Conflict { condition, current, revision } => {
                let condition =
                    asked.iter().position(|asked| *asked == left[condition]).unwrap_or(condition);
                Outcome::Conflict { condition, current, revision }
            }
            committed @ Outcome::Committed { .. } => committed,
        })
    }

    fn limits(&self) -> Limits {
        self.store.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.store.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        self.store.past()
    }

    fn status(&self) -> Status {
        self.store.status()
    }
}
