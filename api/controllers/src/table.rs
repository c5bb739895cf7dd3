//! The table of controllers: the name of each, and what it runs.
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
    api_endpoints, api_services, bootstrap, custom_api_services, definitions, event_expiry,
    flow_schemas, garbage, identity_leases, namespaces, policy_types, quotas, roles, service_cidrs,
};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Controller {
    /// The field manager of what it writes, and its name in logs.
    pub(crate) name: &'static str,
    /// What it runs, side by side.
    pub(crate) parts: &'static [Part],
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
                |with| Box::pin(bootstrap::config_maps(&with.context, &with.options.root_ca)),
                |with| Box::pin(bootstrap::api_service(&with.context, with.options.api_port)),
            ]),
            Part::Always(|with| {
                Box::pin(bootstrap::maintain(&with.context, &with.options.root_ca))
            }),
        ],
    },
    Controller {
        name: "namespace-controller",
        parts: &[Part::Always(|with| Box::pin(namespaces::run(&with.context)))],
    },
    Controller {
        name: "clusterrole-aggregation-controller",
        parts: &[Part::Always(|with| Box::pin(roles::aggregate::run(&with.context)))],
    },
    Controller {
        name: definitions::NAME,
        parts: &[
            Part::Always(|with| Box::pin(definitions::run(&with.context))),
            Part::Always(|with| Box::pin(definitions::migration::run(&with.context))),
        ],
    },
    Controller {
        name: "generic-garbage-collector",
        parts: &[Part::Always(|with| Box::pin(garbage::run(&with.context)))],
    },
    Controller {
        name: "service-account-controller",
        parts: &[Part::Always(|with| {
            Box::pin(namespace_objects::run(
                &with.context,
                Some(NamespaceObject::default_account()),
            ))
        })],
    },
    Controller {
        name: "service-account-token-controller",
        parts: &[Part::Always(|with| {
            let (tokens, root_ca) = (&with.options.cluster.service_accounts, &with.options.root_ca);
            Box::pin(token_secrets::run(&with.context, Contents { tokens, root_ca }))
        })],
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
    },
    Controller {
        name: "service-cidr-controller",
        parts: &[Part::Always(|with| Box::pin(service_cidrs::run(&with.context)))],
    },
    Controller {
        name: "apiservice-availability-controller",
        parts: &[Part::Always(|with| Box::pin(api_services::run(&with.context)))],
    },
    Controller {
        name: "apiservice-registration-controller",
        parts: &[Part::Always(|with| Box::pin(custom_api_services::run(&with.context)))],
    },
    Controller {
        name: "api-endpoints-controller",
        parts: &[Part::Always(|with| {
            Box::pin(api_endpoints::run(&with.context, &*with.options.api_servers))
        })],
    },
    Controller {
        name: "resourcequota-controller",
        parts: &[Part::Always(|with| {
            Box::pin(quotas::run(&with.context, &with.options.cluster.quota_locks))
        })],
    },
    Controller {
        name: "flow-schema-controller",
        parts: &[Part::Always(|with| Box::pin(flow_schemas::run(&with.context)))],
    },
    Controller {
        name: "validatingadmissionpolicy-status-controller",
        parts: &[Part::Always(|with| Box::pin(policy_types::run(&with.context)))],
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
    },
    Controller {
        name: "event-ttl-controller",
        parts: &[Part::Always(|with| {
            Box::pin(event_expiry::run(&with.context, with.options.event_lifetime))
        })],
    },
    Controller {
        name: "apiserver-lease-garbage-collector",
        parts: &[Part::Always(|with| Box::pin(identity_leases::run(&with.context)))],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_occur_once() {
        let names: BTreeSet<_> = CONTROLLERS.iter().map(|controller| controller.name).collect();
        assert_eq!(names.len(), CONTROLLERS.len(), "{names:?}");
    }
}
