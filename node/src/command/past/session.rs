//! What the commands on the past share: a client, what the cluster serves, and the moment of the call.

use std::borrow::Cow;

use quorate_env::Env;

use crate::cli::{ClusterFlags, Moment, NamespaceFlags};
use crate::cluster_client::{
    ApiResource, ClusterClient, Resources, as_stored, check_past, of_gone_definition,
};
use crate::error::Error;

/// The state of a call.
pub(super) struct Session {
    pub(super) client: ClusterClient,
    pub(super) resources: Resources,
    pub(super) now_ms: u64,
}

impl Session {
    /// Reads the kubeconfig, and asks the server whether it has a past and what it serves.
    pub(super) async fn open(flags: &ClusterFlags, env: &Env) -> Result<Self, Error> {
        let mut client = ClusterClient::new(flags, env).await?;
        check_past(&mut client).await?;
        let resources = Resources::discover(&mut client).await?;
        Ok(Self { client, resources, now_ms: env.clock.now_ms() })
    }

    /// A moment as the server reads it.
    pub(super) fn query(&self, moment: Moment) -> String {
        moment.query(self.now_ms)
    }

    /// Looks for the types of a target that are named PLURAL.GROUP and are not served: a definition that is gone may have
    /// described them.
    pub(super) async fn learn_types(&mut self, words: &[String]) {
        let targets = words.iter().enumerate().filter(|(at, word)| *at == 0 || word.contains('/'));
        let kinds = targets.flat_map(|(_, word)| word.split('/').next().unwrap_or(word).split(','));
        for kind in kinds.filter(|kind| kind.contains('.')) {
            if self.resources.resolve(kind).is_ok() {
                continue;
            }
            let kind = kind.to_lowercase();
            let found = of_gone_definition(&mut self.client, &self.resources, &kind).await;
            found.into_iter().for_each(|found| self.resources.learn(found));
        }
    }

    /// The type and the name that `TYPE NAME` or `TYPE/NAME` means; the name may be missing.
    pub(super) fn named(&self, words: &[String]) -> Result<(ApiResource, Option<String>), Error> {
        let (kind, name) = split(words)?;
        let resource = self.resources.resolve(kind)?.clone();
        Ok((resource, name.map(str::to_owned)))
    }

    /// The same for one object.
    pub(super) fn object(&self, words: &[String]) -> Result<(ApiResource, String), Error> {
        let (resource, name) = self.named(words)?;
        let name = name.ok_or_else(|| {
            Error::config(format_args!("name an object: {} NAME", resource.plural))
        })?;
        Ok((resource, name))
    }

    /// A resource in the version that its objects are stored in.
    pub(super) async fn as_stored(&mut self, resource: ApiResource) -> ApiResource {
        as_stored(&mut self.client, &self.resources, resource).await
    }

    /// The namespace of a type's objects: the one that is given, else that of the context; none for types of the whole
    /// cluster.
    pub(super) fn namespace(&self, resource: &ApiResource, given: Option<&str>) -> Option<String> {
        let namespace = given.unwrap_or_else(|| self.client.default_namespace());
        resource.namespaced.then(|| namespace.to_owned())
    }

    /// The same where all namespaces may be meant.
    pub(super) fn scope(&self, resource: &ApiResource, flags: &NamespaceFlags) -> Option<String> {
        if flags.all_namespaces {
            None
        } else {
            self.namespace(resource, flags.namespace.as_deref())
        }
    }
}

/// The words of a target: a type, and a name if there is one.
pub(super) fn split(words: &[String]) -> Result<(&str, Option<&str>), Error> {
    match words {
        [both] => match both.split_once('/') {
            Some((kind, name)) if !name.is_empty() && !name.contains('/') => Ok((kind, Some(name))),
            Some(_) => Err(Error::config(format_args!("'{both}' is not TYPE/NAME"))),
            None => Ok((both, None)),
        },
        [kind, name] if !kind.contains('/') => Ok((kind, Some(name))),
        _ => Err(Error::config("name an object as TYPE NAME or TYPE/NAME")),
    }
}

/// The name of a namespace in what is said of an object.
pub(super) fn place(namespace: Option<&str>) -> Cow<'static, str> {
    namespace.map_or(Cow::Borrowed(""), |namespace| format!(" in {namespace}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_split() {
        let check = |words: &[&str], expect: Option<(&str, Option<&str>)>| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(split(&words).ok(), expect, "{words:?}");
        };
        check(&["deploy", "web"], Some(("deploy", Some("web"))));
        check(&["deploy/web"], Some(("deploy", Some("web"))));
        check(&["deploy"], Some(("deploy", None)));
        check(&["deploy/"], None);
        check(&["deploy/a/b"], None);
        check(&["deploy/web", "b"], None);
    }
}
