//! The Secrets that hold a token of a service account (type `service-account-token`): filled, kept
//! complete, and removed with the account.
//!
//! Invariants: a Secret belongs to one account for ever, the one whose uid was written beside its
//! name when the token was made. A missing account is looked up in a current state before its
//! Secrets are removed. A token that verifies is never replaced. One that a client takes out of its
//! Secret, or whose key is removed, is replaced by a new one and is not valid any more.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Reason, Value};
use quorate_store::{Snapshot, WatchBatch};

use super::context::{Context, is_settled};
use crate::retry_queue::RetryQueue;
use quorate_access::authentication::token::{
    BoundObjectReference, Issue, ObjectIdentity, Refusal, ServiceAccountTokens,
};
use quorate_registry::error::Error;
use quorate_registry::write::{DeleteOptions, Preconditions, Target};
use quorate_registry::{Part, stored_codec};

const SECRETS: &str = "secrets";
const ACCOUNTS: &str = "serviceaccounts";

/// A Secret by namespace and name.
type SecretName = (String, String);

/// What Secrets are filled with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contents<'a> {
    /// Issues and checks the tokens.
    pub(super) tokens: &'a ServiceAccountTokens,
    /// The certificate (PEM) of the servers' authority; empty leaves it out.
    pub(super) root_ca: &'a str,
}

/// Fills and removes the Secrets; returns only with an error, after which it is started again.
pub(super) async fn run(context: &Context, contents: Contents<'_>) -> Result<(), Error> {
    let (secrets, accounts) = (&*context.resource(SECRETS)?, &*context.resource(ACCOUNTS)?);
    let tokens = contents.tokens;
    tokens.keys_known().await;
    let mut key_changes = tokens.key_changes();
    let snapshot = context.current().await?;
    let mut secret_changes = context.store.watch(secrets.prefix(None), snapshot.revision())?;
    let mut account_changes = context.store.watch(accounts.prefix(None), snapshot.revision())?;
    let mut retries = RetryQueue::default();
    let all = token_secrets(context, &snapshot, None)?;
    context.work.waits(all.len());
    for secret_name in all {
        let done = context.work.item(reconcile(context, contents, &secret_name)).await;
        retries.record(secret_name, done)?;
    }
    drop(snapshot);
    loop {
        let touched = tokio::select! {
            batch = secret_changes.next() => written_secrets(context, &batch?)?,
            batch = account_changes.next() => secrets_of_changed_accounts(context, &batch?)?,
            Ok(()) = key_changes.changed() => token_secrets(context, &context.store.snapshot(), None)?,
            touched = retries.due() => touched,
        };
        context.work.waits(touched.len());
        for secret_name in touched {
            let done = context.work.item(reconcile(context, contents, &secret_name)).await;
            retries.record(secret_name, done)?;
        }
    }
}

/// Every Secret of the type, in one namespace or all.
fn token_secrets(
    context: &Context,
    snapshot: &Snapshot,
    namespace: Option<&str>,
) -> Result<Vec<SecretName>, Error> {
    let (resource, kind) = (&*context.resource(SECRETS)?, kind(context));
    let mut found = Vec::new();
    for (key, entry) in snapshot.range(&resource.prefix(namespace), None) {
        let Some((Some(namespace), name)) = resource.parse_key(key) else {
            continue;
        };
        // One that cannot be read has no type.
        if stored_codec::header(resource, &entry.value)
            .is_ok_and(|header| header.field("type") == Some(&kind))
        {
            found.push((namespace.to_owned(), name.to_owned()));
        }
    }
    Ok(found)
}

fn written_secrets(context: &Context, batch: &WatchBatch) -> Result<Vec<SecretName>, Error> {
    let resource = &*context.resource(SECRETS)?;
    let written = batch.events().filter(|event| event.current.is_some());
    let keys = written.filter_map(|event| resource.parse_key(&event.key));
    Ok(keys
        .filter_map(|(namespace, name)| Some((namespace?.to_owned(), name.to_owned())))
        .collect())
}

fn secrets_of_changed_accounts(
    context: &Context,
    batch: &WatchBatch,
) -> Result<Vec<SecretName>, Error> {
    let resource = &*context.resource(ACCOUNTS)?;
    // An update of an account concerns no Secret; its creation and its deletion do.
    let changed =
        batch.events().filter(|event| event.current.is_none() || event.previous.is_none());
    let mut namespaces: Vec<String> =
        changed.filter_map(|event| Some(resource.parse_key(&event.key)?.0?.to_owned())).collect();
    namespaces.sort();
    namespaces.dedup();
    let snapshot = context.store.snapshot();
    let found =
        namespaces.iter().map(|namespace| token_secrets(context, &snapshot, Some(namespace)));
    Ok(found.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Fills or removes one Secret.
async fn reconcile(
    context: &Context,
    contents: Contents<'_>,
    (namespace, name): &SecretName,
) -> Result<(), Error> {
    let (secrets, accounts) = (&*context.resource(SECRETS)?, &*context.resource(ACCOUNTS)?);
    let target = Target { resource: secrets, namespace: Some(namespace), name };
    let mut snapshot = context.store.snapshot();
    for is_current in [false, true] {
        let Some(entry) = snapshot.get(&target.key()) else {
            return Ok(());
        };
        if stored_codec::header(secrets, &entry.value)?.field("type") != Some(&kind(context)) {
            return Ok(());
        }
        let secret = stored_codec::decode(secrets, entry)?;
        let account = annotation(context, &secret, "service-account.name");
        let stored = snapshot.get(&accounts.key(Some(namespace), account));
        let stored = stored.map(|entry| stored_codec::decode(accounts, entry)).transpose()?;
        let bound_to = annotation(context, &secret, "service-account.uid");
        let owner = stored
            .as_ref()
            .map(identified)
            .filter(|owner| bound_to.is_empty() || owner.uid == bound_to);
        match owner {
            Some(owner) => {
                return fill(context, contents, target, &identified(&secret).uid, &owner).await;
            }
            None if is_current => return remove(context, target, &identified(&secret).uid).await,
            None => snapshot = context.current().await?,
        }
    }
    Ok(())
}

async fn remove(context: &Context, target: Target<'_>, uid: &str) -> Result<(), Error> {
    let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    match context.writer.delete(target, &options).await {
        Err(error) if is_settled(&error) || is_refused(&error) => Ok(()),
        removed => removed.map(drop),
    }
}

/// Gives the Secret what it lacks.
async fn fill(
    context: &Context,
    contents: Contents<'_>,
    target: Target<'_>,
    uid: &str,
    owner: &ObjectIdentity,
) -> Result<(), Error> {
    let options = context.update_options(Part::Main);
    let change = |current: Option<&Value>| {
        let same = current.filter(|secret| identified(secret).uid == uid).cloned();
        let mut secret = same.ok_or_else(|| {
            let status =
                quorate_meta::Status::not_found(&target.resource.group_resource(), target.name);
            Error::from(status)
        })?;
        complete(context, contents, &mut secret, owner)?;
        Ok(secret)
    };
    match context.writer.update(target, options, change).await {
        Err(error) if is_settled(&error) => Ok(()),
        Err(error) if is_refused(&error) => {
            let (namespace, name) = (target.namespace, target.name);
            tracing::warn!(%error, namespace, name, "a secret for a service account token cannot be filled");
            Ok(())
        }
        filled => filled.map(drop),
    }
}

fn complete(
    context: &Context,
    contents: Contents<'_>,
    secret: &mut Value,
    owner: &ObjectIdentity,
) -> Result<(), Error> {
    let Contents { tokens, root_ca } = contents;
    let names = context.names;
    let namespace = secret.str_at(&["metadata", "namespace"]).unwrap_or_default().to_owned();
    let own_uid = names.domain_key("service-account.uid");
    secret.set_at(&["metadata", "annotations", &own_uid], owner.uid.as_str());
    secret.set_at(&["data", "namespace"], STANDARD.encode(&namespace));
    if !root_ca.is_empty() {
        secret.set_at(&["data", "ca.crt"], STANDARD.encode(root_ca));
    }
    let held = secret.str_at(&["data", "token"]).unwrap_or_default();
    if !held.is_empty() && !is_unverifiable(context, tokens, held) {
        return Ok(());
    }
    let issue = Issue {
        namespace,
        account: owner.clone(),
        audiences: tokens.options().audiences.clone(),
        lifetime: None,
        bound: Some(BoundObjectReference::Secret(identified(secret))),
        id: context.uuid(),
    };
    let issued = tokens.issue(issue, context.env.clock.now_ms());
    let issued = issued.map_err(|refusal| Error::internal(refusal.to_string()))?;
    secret.set_at(&["data", "token"], STANDARD.encode(issued.token));
    Ok(())
}

/// Whether no key verifies the token any more, because its key was removed, or it names an issuer
/// or audiences that the cluster does not have any more.
fn is_unverifiable(context: &Context, tokens: &ServiceAccountTokens, held: &str) -> bool {
    let Some(token) = STANDARD.decode(held).ok().and_then(|bytes| String::from_utf8(bytes).ok())
    else {
        return false;
    };
    let now_ms = context.env.clock.now_ms();
    let checked =
        tokens.check(&token, &tokens.options().audiences, &context.store.snapshot(), now_ms);
    matches!(checked, Err(Refusal::Signature | Refusal::Issuer | Refusal::Audience { .. }))
}

/// Whether a further attempt would be refused as well.
fn is_refused(error: &Error) -> bool {
    matches!(error.reason(), Some(Reason::Invalid | Reason::Conflict))
}

fn kind(context: &Context) -> String {
    context.names.domain_key("service-account-token")
}

fn annotation<'v>(context: &Context, secret: &'v Value, name: &str) -> &'v str {
    let key = context.names.domain_key(name);
    secret.str_at(&["metadata", "annotations", &key]).unwrap_or_default()
}

fn identified(object: &Value) -> ObjectIdentity {
    let text = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default().to_owned();
    ObjectIdentity { name: text("name"), uid: text("uid") }
}
