//! The table of controllers: the name of each, what it runs, and the health checks named after it.
//!
//! Invariants: a name occurs once; it is the field manager of what the controller writes and its
//! name in logs. Not here: when controllers run and how a failed one is restarted, which is the
//! service's part.

use futures::future::BoxFuture;
use quorate_registry::error::Error;

use crate::certificates;
use crate::context::Context;
use crate::namespace_objects::{self, NamespaceObject};
use crate::options::ControllersOptions;
use crate::token_secrets::{self, Contents};
use crate::{
    api_endpoints, api_services, bootstrap, definitions, event_expiry, flow_schemas, garbage,
    namespaces, policy_types, quotas, roles, service_cidrs,
};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Controller {
    /// The field manager of what it writes, and its name in logs.
    pub(crate) name: &'static str,
    /// What it runs, side by side.
    pub(crate) parts: &'static [Part],
    /// The post-start hooks, as health checks name them, that stand for its first success.
    pub(crate) hooks: &'static [&'static str],
}

/// What runs by itself within a controller.
#[derive(Debug)]
pub(crate) enum Part {
    /// Each step in turn until it succeeds; done after the last one. Runs once for each leader.
    Once(&'static [Step]),
    /// Runs again whenever it returns, after a success as well.
    Always(Step),
}

/// A run of a controller; an error has it run again.
pub(crate) type Step = for<'a> fn(&'a Input<'a>) -> BoxFuture<'a, Result<(), Error>>;

/// What the steps of one controller are given.
pub(crate) struct Input<'o> {
    /// The cluster, under the controller's name.
    pub(crate) context: Context,
    /// What the node has given.
    pub(crate) options: &'o ControllersOptions,
}

/// Every controller, in the order in which they start. Those after the first make room where the
/// store is too full for the objects of the first.
pub(crate) const CONTROLLERS: &[Controller] = &[
    Controller {
        name: "bootstrap",
        parts: &[
            Part::Once(&[
                |with| Box::pin(bootstrap::objects(&with.context)),
                |with| Box::pin(roles::reconcile::run(&with.context)),
                |with| Box::pin(bootstrap::api_service(&with.context, with.options.api_port)),
            ]),
            Part::Always(|with| Box::pin(bootstrap::maintain_flow_control(&with.context))),
        ],
        hooks: &[
            "bootstrap-controller",
            "scheduling/bootstrap-system-priority-classes",
            "kube-apiserver-autoregistration",
        ],
    },
    Controller {
        name: "namespace-controller",
        parts: &[Part::Always(|with| Box::pin(namespaces::run(&with.context)))],
        hooks: &[],
    },
    Controller {
        name: "clusterrole-aggregation-controller",
        parts: &[Part::Always(|with| Box::pin(roles::aggregate::run(&with.context)))],
        hooks: &[],
    },
    Controller {
        name: definitions::NAME,
        parts: &[
            Part::Always(|with| Box::pin(definitions::run(&with.context))),
            Part::Always(|with| Box::pin(definitions::migration::run(&with.context))),
        ],
        hooks: &[],
    },
    Controller {
        name: "generic-garbage-collector",
        parts: &[Part::Always(|with| Box::pin(garbage::run(&with.context)))],
        hooks: &[],
    },
    Controller {
        name: "service-account-controller",
        parts: &[Part::Always(|with| {
            Box::pin(namespace_objects::run(
                &with.context,
                Some(NamespaceObject::default_account()),
            ))
        })],
        hooks: &[],
    },
    Controller {
        name: "service-account-token-controller",
        parts: &[Part::Always(|with| {
            let (tokens, root_ca) = (&with.options.cluster.service_accounts, &with.options.root_ca);
            Box::pin(token_secrets::run(&with.context, Contents { tokens, root_ca }))
        })],
        hooks: &[],
    },
    Controller {
        name: "certificate-controller",
        parts: &[
            Part::Always(|with| Box::pin(certificates::clean(&with.context))),
            Part::Always(|with| {
                let (authorizer, signing) =
                    (&with.options.cluster.authorizer, with.options.signing.as_ref());
                Box::pin(certificates::sign(&with.context, authorizer, signing))
            }),
        ],
        hooks: &[],
    },
    Controller {
        name: "service-cidr-controller",
        parts: &[Part::Always(|with| Box::pin(service_cidrs::run(&with.context)))],
        hooks: &[],
    },
    Controller {
        name: "apiservice-availability-controller",
        parts: &[Part::Always(|with| Box::pin(api_services::run(&with.context)))],
        hooks: &["apiservice-status-available-controller"],
    },
    Controller {
        name: "api-endpoints-controller",
        parts: &[Part::Always(|with| {
            Box::pin(api_endpoints::run(&with.context, &*with.options.api_servers))
        })],
        hooks: &[],
    },
    Controller {
        name: "resourcequota-controller",
        parts: &[Part::Always(|with| {
            Box::pin(quotas::run(&with.context, &with.options.cluster.quota_locks))
        })],
        hooks: &[],
    },
    Controller {
        name: "flow-schema-controller",
        parts: &[Part::Always(|with| Box::pin(flow_schemas::run(&with.context)))],
        hooks: &[],
    },
    Controller {
        name: "validatingadmissionpolicy-status-controller",
        parts: &[Part::Always(|with| Box::pin(policy_types::run(&with.context)))],
        hooks: &[],
    },
    Controller {
        name: "root-ca-publisher",
        parts: &[
            Part::Always(|with| {
                let certificate =
                    NamespaceObject::root_ca(with.context.names, &with.options.root_ca);
                Box::pin(namespace_objects::run(&with.context, certificate))
            }),
            Part::Always(|with| {
                Box::pin(certificates::publish(&with.context, &with.options.root_ca))
            }),
        ],
        hooks: &[],
    },
    Controller {
        name: "event-ttl-controller",
        parts: &[Part::Always(|with| {
            Box::pin(event_expiry::run(&with.context, with.options.event_lifetime))
        })],
        hooks: &[],
    },
];

/// The post-start hooks of all controllers, in the order of the table. A health check of this name
/// passes while [`Controllers::run`](crate::Controllers::run) runs, whatever its controller has
/// done: it does not fail before the first success.
pub fn health_hooks() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().flat_map(|controller| controller.hooks).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_hooks_occur_once() {
        let names: BTreeSet<_> = CONTROLLERS.iter().map(|controller| controller.name).collect();
        assert_eq!(names.len(), CONTROLLERS.len(), "{names:?}");
        let hooks: BTreeSet<_> = health_hooks().collect();
        assert_eq!(hooks.len(), health_hooks().count(), "{hooks:?}");
    }

    #[test]
    fn hooks_are_those_that_clients_know() {
        let expect = [
            "bootstrap-controller",
            "scheduling/bootstrap-system-priority-classes",
            "kube-apiserver-autoregistration",
            "apiservice-status-available-controller",
        ];
        assert!(health_hooks().eq(expect), "{:?}", health_hooks().collect::<Vec<_>>());
    }
}
