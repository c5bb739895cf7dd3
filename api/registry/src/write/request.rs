//! Requests on subresources that do not write the object itself (`token`, `eviction`), and
//! connections: their body passes mutating and validating admission.
//!
//! Invariant: the body itself is not stored, so no quota counts the request.
//!
//! Not here: what the request does, which is its handler's.

use quorate_meta::Value;
use quorate_schema::{Graph, TypeId};

use super::Writer;
use crate::error::Error;
use crate::options::{Target, WriteOptions};
use crate::{AdmissionOperation, Attributes, BodyType};

/// A request on a subresource with a body of its own.
#[derive(Clone, Copy)]
pub struct SubresourceRequest<'a> {
    /// `Create` for a POST, `Connect` for a connection.
    pub operation: AdmissionOperation,
    /// The object whose subresource it is.
    pub target: Target<'a>,
    /// The subresource.
    pub subresource: &'a str,
    /// Dry run and field manager.
    pub options: WriteOptions<'a>,
    /// The schema of the body.
    pub graph: &'a Graph,
    /// The type of the body.
    pub ty: TypeId,
}

impl std::fmt::Debug for SubresourceRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { operation, subresource, .. } = self;
        f.debug_struct("SubresourceRequest")
            .field("operation", operation)
            .field("subresource", subresource)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Admits a request on a subresource, applies the changes of mutating admission to its body,
    /// and returns warnings for the client. Nothing is stored for it, so no quota counts it and no
    /// terms bind it.
    ///
    /// # Errors
    /// Any refusal of admission.
    pub async fn admit_request(
        &self,
        request: SubresourceRequest<'_>,
        body: &mut Value,
    ) -> Result<Vec<String>, Error> {
        let Some(admission) = &self.admission else {
            return Ok(Vec::new());
        };
        // No transaction binds the request to what it is decided by.
        self.store.read_index().await?;
        let SubresourceRequest { operation, target, subresource, options, graph, ty } = request;
        let attributes = Attributes {
            operation,
            target,
            subresource,
            part: None,
            body: Some(BodyType { graph, ty }),
            old: None,
            new: None,
            dry_run: options.dry_run,
            revision: None,
            given: options.given,
            delete_options: None,
            user: self.user(),
            author: self.author.as_deref(),
        };
        admission.mutate(&attributes, body).await?;
        Ok(admission.validate(&Attributes { new: Some(body), ..attributes }).await?.warnings)
    }
}
