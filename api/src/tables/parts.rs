//! What the cells of a kind read of its objects, so that a row parses that and nothing else.
//!
//! Paths of columns say it themselves; what cells with a function of their own read stands here.
//! Invariant: a cell says the same of these parts as of the whole object.

use quorate_wire::json::Parts;

/// What columns of every kind may read.
const COMMON: &[&str] = &["metadata.name", "metadata.namespace", "metadata.creationTimestamp"];

/// What the functions of a kind read: cells, conditions and rank. `.*` are the keys of a map or
/// the number of items of a list.
const BY_KIND: &[(&str, &[&str])] = &[
    ("APIService", &["spec.service", "status.conditions"]),
    ("CSIDriver", &["spec.tokenRequests.audience", "spec.volumeLifecycleModes"]),
    (
        "CertificateSigningRequest",
        &["spec.expirationSeconds", "status.certificate", "status.conditions.type"],
    ),
    ("ClusterRoleBinding", &["roleRef", "subjects"]),
    ("RoleBinding", &["roleRef", "subjects"]),
    ("ComponentStatus", &["conditions"]),
    ("ControllerRevision", &["metadata.ownerReferences"]),
    ("CronJob", &["spec.suspend"]),
    ("Deployment", &["spec.replicas", "status.readyReplicas"]),
    ("StatefulSet", &["spec.replicas", "status.readyReplicas"]),
    ("EndpointSlice", &["endpoints.addresses", "ports"]),
    ("Endpoints", &["subsets"]),
    (
        "Event",
        &[
            "count",
            "deprecatedCount",
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
            "deprecatedSource",
            "eventTime",
            "firstTimestamp",
            "involvedObject",
            "lastTimestamp",
            "message",
            "note",
            "regarding",
            "reportingComponent",
            "reportingController",
            "reportingInstance",
            "series",
            "source",
        ],
    ),
    ("FlowSchema", &["spec.matchingPrecedence", "status.conditions"]),
    ("HorizontalPodAutoscaler", &["spec.metrics", "spec.scaleTargetRef", "status.currentMetrics"]),
    ("IPAddress", &["spec.parentRef"]),
    ("Ingress", &["spec.rules.host", "spec.tls.*", "status.loadBalancer"]),
    ("IngressClass", &["spec.parameters"]),
    (
        "Job",
        &[
            "metadata.deletionTimestamp",
            "spec.completions",
            "spec.parallelism",
            "status.completionTime",
            "status.conditions",
            "status.startTime",
            "status.succeeded",
        ],
    ),
    ("NetworkPolicy", &["spec.podSelector"]),
    (
        "Node",
        &[
            "metadata.labels",
            "spec.unschedulable",
            "status.addresses",
            "status.conditions.status",
            "status.conditions.type",
        ],
    ),
    (
        "PersistentVolume",
        &[
            "metadata.annotations",
            "metadata.deletionTimestamp",
            "spec.accessModes",
            "spec.claimRef",
            "spec.storageClassName",
            "spec.volumeName",
            "status.accessModes",
            "status.capacity.storage",
            "status.phase",
        ],
    ),
    (
        "PersistentVolumeClaim",
        &[
            "metadata.annotations",
            "metadata.deletionTimestamp",
            "spec.accessModes",
            "spec.claimRef",
            "spec.storageClassName",
            "spec.volumeName",
            "status.accessModes",
            "status.capacity.storage",
            "status.phase",
        ],
    ),
    ("Pod", POD),
    ("PriorityLevelConfiguration", &["spec.limited"]),
    (
        "ResourceClaim",
        &["metadata.deletionTimestamp", "status.allocation.*", "status.reservedFor.*"],
    ),
    ("ResourceQuota", &["status.hard", "status.used"]),
    (
        "Service",
        &[
            "spec.clusterIPs",
            "spec.externalIPs",
            "spec.externalName",
            "spec.ports",
            "spec.selector",
            "spec.type",
            "status.loadBalancer",
        ],
    ),
    ("ServiceCIDR", &["spec.cidrs"]),
    ("StorageClass", &["metadata.annotations"]),
    ("ValidatingAdmissionPolicy", &["spec.paramKind"]),
    ("ValidatingAdmissionPolicyBinding", &["spec.paramRef"]),
];

const POD: &[&str] = &[
    "metadata.deletionTimestamp",
    "spec.containers.*",
    "spec.initContainers.name",
    "spec.initContainers.restartPolicy",
    "spec.readinessGates",
    "status.conditions.reason",
    "status.conditions.status",
    "status.conditions.type",
    "status.containerStatuses.lastState",
    "status.containerStatuses.name",
    "status.containerStatuses.ready",
    "status.containerStatuses.restartCount",
    "status.containerStatuses.started",
    "status.containerStatuses.state",
    "status.initContainerStatuses.lastState",
    "status.initContainerStatuses.name",
    "status.initContainerStatuses.ready",
    "status.initContainerStatuses.restartCount",
    "status.initContainerStatuses.started",
    "status.initContainerStatuses.state",
    "status.phase",
    "status.podIPs",
    "status.reason",
];

/// What is read of every object of a kind, without the paths of its columns.
pub(super) fn of(kind: &str) -> Parts {
    let mut parts = Parts::default();
    let own = BY_KIND.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, paths)| paths);
    for path in COMMON.iter().chain(own) {
        match path.strip_suffix(".*") {
            Some(path) => parts.add_keys(path.split('.')),
            None => parts.add(path.split('.')),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use quorate_meta::{Map, Naming, Value};
    use quorate_schema::{Graph, Scalar, Shape, TypeId};
    use quorate_wire::json;

    use crate::tables::Layout;

    /// Objects of each kind.
    const OBJECTS: usize = 40;
    /// Values of each field of an object, about.
    const VALUES: usize = 150;
    const NOW_MS: u64 = 1_767_323_045_000;

    /// Makes objects of texts that cells ask for.
    struct Maker<'g> {
        graph: &'g Graph,
        state: u64,
        /// Values that are still to be made.
        left: usize,
    }

    impl Maker<'_> {
        fn below(&mut self, end: usize) -> usize {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(self.state >> 33).unwrap_or_default() % end
        }

        fn message(&mut self, id: TypeId, depth: usize) -> Value {
            let ty = self.graph.ty(id);
            let mut map = Map::new();
            let start = self.below(ty.properties.len().max(1));
            for field in ty.properties[start..].iter().chain(&ty.properties[..start]) {
                if depth == 0 {
                    self.left = VALUES;
                }
                if self.left > 0 && self.below(6) > 0 {
                    self.left -= 1;
                    let value = self.shape(&field.shape, depth + 1);
                    map.insert(field.name.as_ref(), value);
                }
            }
            Value::Map(map)
        }

        fn shape(&mut self, shape: &Shape, depth: usize) -> Value {
            match shape {
                Shape::Scalar(kind) => self.scalar(*kind),
                Shape::Message(id) => self.message(*id, depth),
                Shape::List(inner) => {
                    let count = self.below(4);
                    Value::List((0..count).map(|_| self.shape(inner, depth)).collect())
                }
                Shape::Map(inner) => {
                    let count = self.below(4);
                    Value::Map(
                        (0..count).map(|_| (self.text(), self.shape(inner, depth))).collect(),
                    )
                }
            }
        }

        fn scalar(&mut self, kind: Scalar) -> Value {
            match kind {
                Scalar::Bool => Value::from(self.below(2) == 0),
                Scalar::Int32 | Scalar::Int64 => Value::from(self.below(4) as i64),
                Scalar::Double => Value::Float(0.5),
                Scalar::Time | Scalar::MicroTime => {
                    Value::from(["2026-01-02T03:04:05Z", "2025-12-31T00:00:00Z"][self.below(2)])
                }
                _ => Value::from(self.text()),
            }
        }

        fn text(&mut self) -> String {
            const TEXTS: [&str; 24] = [
                "",
                "a",
                "b\"]}",
                "Ready",
                "True",
                "False",
                "Always",
                "Available",
                "Complete",
                "Completed",
                "Failed",
                "Succeeded",
                "Running",
                "Initialized",
                "PodScheduled",
                "SchedulingGated",
                "NodeLost",
                "InternalIP",
                "LoadBalancer",
                "User",
                "In",
                "Resource",
                "Healthy",
                "storageclass.svc.io/is-default-class",
            ];
            TEXTS[self.below(TEXTS.len())].to_owned()
        }
    }

    #[test]
    fn rows_say_the_same_of_parts_as_of_whole_objects() {
        let graph = Graph::builtin(Naming::Svc.names());
        let mut maker = Maker { graph: &graph, state: 7, left: 0 };
        for def in graph.kinds() {
            let layout = Layout::of_kind(graph.names(), def);
            let row = |object: &Value| {
                let mut cells = Vec::new();
                layout.cells(object, NOW_MS, &mut cells);
                let cells = String::from_utf8(cells).expect("JSON is UTF-8");
                (cells, layout.conditions(object), layout.rank(object))
            };
            for _ in 0..OBJECTS {
                let object = maker.message(def.ty, 0);
                let text = json::to_vec(&object);
                let parts = json::parse_parts(&text, layout.parts()).expect("it is JSON");
                assert_eq!(row(&parts), row(&object), "{}: {object:?}", def.kind);
            }
        }
    }
}
