//! The return of one object: a look at what is there, a create or a replacement, and the uid that it has now.
//!
//! Invariant: an object is written once at most, but for what the server says is taken.

use http::{Method, StatusCode};
use quorate_meta::Value;

use super::owners::Owners;
use super::report::{Done, Told, UndeleteReport};
use super::restored::{replaced, restored};
use super::{Candidate, allocated, moment};
use crate::cli::Undelete;
use crate::cluster_client::Reply;
use crate::command::past::session::Session;
use crate::error::Error;

/// How often an object is sent again without what the server has said is taken.
const TRIES: usize = 3;

/// What objects are brought back with.
pub(super) struct Restorer {
    pub(super) session: Session,
    pub(super) report: UndeleteReport,
    owners: Owners,
    replace: bool,
    with_status: bool,
    pub(super) dry_run: bool,
    /// In a dry run: what it lies in does not exist, so that the server cannot check it.
    pub(super) is_unchecked: bool,
}

impl Restorer {
    pub(super) fn new(session: Session, options: &Undelete) -> Self {
        Self {
            session,
            report: UndeleteReport::new(options.dry_run),
            owners: Owners::default(),
            replace: options.replace,
            with_status: options.with_status,
            dry_run: options.dry_run,
            is_unchecked: false,
        }
    }

    /// Brings an object back.
    pub(super) async fn bring_back(&mut self, candidate: Candidate) -> Told {
        let mut notes = Vec::new();
        let done = self.try_to(&candidate, &mut notes).await;
        let done = done.unwrap_or_else(|error| Done::Failed(error.to_string()));
        Told { title: candidate.title(), done, notes }
    }

    async fn try_to(
        &mut self,
        candidate: &Candidate,
        notes: &mut Vec<String>,
    ) -> Result<Done, Error> {
        let mut object = restored(candidate);
        let namespace = candidate.namespace.as_deref();
        notes.extend(self.owners.settle(&mut self.session, &mut object, namespace).await);
        if self.replace
            && let Some(present) = self.present(candidate).await?
        {
            return self.put_back(candidate, &present, &object).await;
        }
        notes.extend(allocated::check(&mut self.session, candidate, &mut object).await);
        if self.is_unchecked {
            self.owners.add(candidate.uid(), candidate.uid());
            return Ok(Done::Created);
        }
        let reply = self.create(candidate, &mut object, notes).await?;
        // Quotas and policies may refuse what is there already before the server sees that.
        if !reply.status.is_success() && self.present(candidate).await?.is_some() {
            notes.clear();
            return Ok(Done::Present);
        }
        let created = reply.into_body()?;
        self.owners.add(candidate.uid(), uid(&created));
        if let Err(error) = self.restore_status(candidate, created).await {
            notes.push(format!("its status was not written: {error}"));
        }
        Ok(Done::Created)
    }

    /// What is there under the object's name; its dependents go on under its uid.
    async fn present(&mut self, candidate: &Candidate) -> Result<Option<Value>, Error> {
        let present = self.session.client.find(&candidate.path()).await?;
        if let Some(present) = &present {
            if moment::is_being_deleted(present) {
                return Err(Error::failed("what is there is still being deleted"));
            }
            self.owners.add(candidate.uid(), uid(present));
        }
        Ok(present)
    }

    /// Creates an object, without what is taken where the first try says so.
    async fn create(
        &mut self,
        candidate: &Candidate,
        object: &mut Value,
        notes: &mut Vec<String>,
    ) -> Result<Reply, Error> {
        let path = candidate.resource.collection(candidate.namespace.as_deref());
        let mut reply =
            self.session.client.write(Method::POST, &path, object, self.dry_run).await?;
        for _ in 1..TRIES {
            if reply.status != StatusCode::UNPROCESSABLE_ENTITY {
                break;
            }
            let dropped = allocated::drop_taken(candidate, object, &reply.fields_at_fault());
            if dropped.is_empty() {
                break;
            }
            notes.extend(dropped);
            reply = self.session.client.write(Method::POST, &path, object, self.dry_run).await?;
        }
        Ok(reply)
    }

    /// Puts an object that is there back as it was.
    async fn put_back(
        &mut self,
        candidate: &Candidate,
        present: &Value,
        restored: &Value,
    ) -> Result<Done, Error> {
        let wanted = replaced(present, restored);
        if wanted == *present {
            return Ok(Done::Unchanged);
        }
        let path = candidate.path();
        let reply = self.session.client.write(Method::PUT, &path, &wanted, self.dry_run).await?;
        let written = reply.into_body()?;
        self.restore_status(candidate, written).await?;
        Ok(Done::Replaced)
    }

    /// Writes the status that an object had, if that is asked for and the kind has one to write.
    async fn restore_status(&mut self, candidate: &Candidate, mut now: Value) -> Result<(), Error> {
        let status = candidate.past.get("status").filter(|status| !status.is_empty());
        let Some(status) = status.filter(|_| self.with_status && !self.dry_run) else {
            return Ok(());
        };
        if !candidate.resource.has_subresource("status") {
            return Ok(());
        }
        now.set_at(&["status"], status.clone());
        let path = format!("{}/status", candidate.path());
        self.session.client.write(Method::PUT, &path, &now, false).await?.into_body().map(drop)
    }
}

fn uid(object: &Value) -> &str {
    object.str_at(&["metadata", "uid"]).unwrap_or_default()
}
