//! The validate phase: what the user may write, the rules for every object and for its kind, and
//! the permissions that the write needs.
//!
//! Invariant: the server's own writes need no permission, but the same rules hold for them.

use quorate_meta::{Cause, Status, Value};

use super::pipeline::Write;
use super::refusal::invalid;
use super::{Writer, check, metadata};
use crate::error::Error;
use crate::options::Target;
use crate::{Findings, Notes, Part, Resource, UserInfo, stored_codec};

impl Writer {
    /// The user; `None` for the server itself.
    pub(super) fn user(&self) -> Option<UserInfo<'_>> {
        self.author.as_ref().map(|author| author.user())
    }

    /// Refuses an invalid object, and one that the user lacks a permission for; the answer are
    /// warnings about a valid one.
    pub(super) async fn validate(
        &self,
        write: &Write<'_>,
        object: &Value,
    ) -> Result<Vec<String>, Error> {
        let Write { target, part, old, swaps, .. } = *write;
        let (resource, strategy) = (target.resource, &target.resource.strategy);
        self.authorize(target, old, object).await?;
        let mut causes = Vec::new();
        if let Some(old) = old.filter(|_| !swaps) {
            causes.extend(check::metadata_update(old, object));
        }
        causes.extend(self.problems(resource, object));
        match old {
            Some(old) if !swaps => {
                causes.extend(strategy.validate_update(self.names, part, old, object))
            }
            Some(_) => {}
            None => causes.extend(strategy.validate_create(self.names, object)),
        }
        if !swaps && strategy.has_declared_rules() {
            causes = self.judge_by_rules(resource, old, object, causes)?;
        }
        let Findings { causes: broken, warnings } =
            strategy.evaluate_rules(old.filter(|_| !swaps), object, &causes);
        causes.extend(broken);
        if !causes.is_empty() {
            if let Some(author) = &self.author {
                author.note(Notes { warnings, ..Notes::default() });
            }
            return Err(invalid(resource, target.name, causes));
        }
        self.permit(target, part, old, object).await?;
        Ok(warnings)
    }

    /// Everything that is wrong with an object, whether a user or the server writes it.
    fn problems(&self, resource: &Resource, object: &Value) -> Vec<Cause> {
        let mut causes = check::metadata(self.names, &*resource.strategy, object);
        if resource.strategy.checks_structure() {
            let own = resource.strategy.judges();
            let missing = stored_codec::structure_problems(resource, object);
            causes.extend(missing.into_iter().filter(|cause| !own.contains(&cause.field.as_str())));
        }
        causes.extend(resource.strategy.validate(self.names, object));
        causes
    }

    /// Refuses an object that the user may not write, or that grants rights which the user may not
    /// grant.
    async fn authorize(
        &self,
        target: Target<'_>,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Error> {
        let Some(author) = &self.author else {
            return Ok(());
        };
        author.check_object(target, old, new)?;
        match target.resource.strategy.grant(old, new) {
            Some(grant) => author.check_grant(target, &grant).await,
            None => Ok(()),
        }
    }

    /// Refuses a write that needs a permission of the kind's strategy which the user lacks.
    async fn permit(
        &self,
        target: Target<'_>,
        part: Part,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Error> {
        let Some(author) = &self.author else {
            return Ok(());
        };
        let resource = target.resource;
        let name = metadata::text(new, "name");
        let refuse =
            |why: &str| Err(Status::forbidden(&resource.group_resource(), name, why).into());
        let permission = match resource.strategy.permission(self.names, part, old, new) {
            Ok(None) => return Ok(()),
            Ok(Some(permission)) => permission,
            Err(why) => return refuse(&why),
        };
        for name in &permission.names {
            if author.may(&permission, name).await? {
                return Ok(());
            }
        }
        refuse(&permission.refusal)
    }
}
