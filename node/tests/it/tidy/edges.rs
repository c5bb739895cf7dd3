//! Which crate and which module may use which. A new edge is a decision, and its change explains
//! it.
//!
//! Edges are those of production code and of its unit tests. A crate's table is checked against its
//! manifest, a module's against its sources: both are complete and exact.

/// What a crate may use.
pub(super) struct CrateRule {
    pub(super) name: &'static str,
    /// Crates of the workspace.
    pub(super) uses: &'static [&'static str],
    /// For the crates of the API: each module, and the modules that it may use.
    pub(super) modules: Option<&'static [(&'static str, &'static [&'static str])]>,
}

/// Every crate, from those that use nothing on.
pub(super) const CRATES: &[CrateRule] = &[
    CrateRule { name: "quorate-env", uses: &[], modules: None },
    CrateRule { name: "quorate-store", uses: &["quorate-env"], modules: None },
    CrateRule { name: "quorate-raft", uses: &["quorate-env", "quorate-store"], modules: None },
    CrateRule { name: "quorate-meta", uses: &[], modules: Some(META) },
    CrateRule { name: "quorate-schema", uses: &["quorate-meta"], modules: Some(SCHEMA) },
    CrateRule { name: "quorate-wire", uses: &["quorate-meta", "quorate-schema"], modules: Some(WIRE) },
    CrateRule {
        name: "quorate-api",
        uses: &["quorate-env", "quorate-meta", "quorate-schema", "quorate-store", "quorate-wire"],
        modules: Some(API),
    },
    CrateRule {
        name: "quorate",
        uses: &["quorate-api", "quorate-env", "quorate-meta", "quorate-raft", "quorate-schema", "quorate-store"],
        modules: None,
    },
    CrateRule {
        name: "quorate-simulation",
        uses: &[
            "quorate-api",
            "quorate-env",
            "quorate-meta",
            "quorate-raft",
            "quorate-schema",
            "quorate-store",
            "quorate-wire",
        ],
        modules: None,
    },
];

const META: &[(&str, &[&str])] = &[
    ("group", &[]),
    ("name", &["status"]),
    ("naming", &[]),
    ("quantity", &[]),
    ("selector", &["name", "status", "value"]),
    ("status", &["group", "value"]),
    ("time", &[]),
    ("value", &[]),
];
const SCHEMA: &[(&str, &[&str])] = &[
    ("apply", &["decode", "defaults", "fieldset", "graph", "managed", "testing"]),
    ("decode", &["fieldset", "graph", "path", "testing"]),
    ("defaults", &["decode", "graph", "testing"]),
    ("fieldset", &["decode", "graph", "testing"]),
    ("graph", &["idl"]),
    ("idl", &[]),
    ("managed", &["decode", "defaults", "fieldset", "graph", "testing"]),
    ("openapi", &["graph"]),
    ("path", &[]),
    ("strategic", &["graph", "testing"]),
    ("testing", &["graph"]),
    ("validate", &["fieldset", "graph", "path", "testing"]),
];
const WIRE: &[(&str, &[&str])] = &[
    ("cbor", &["json"]),
    ("json", &[]),
    ("protobuf", &["json", "random"]),
    ("random", &[]),
    ("round_trips", &["cbor", "json", "protobuf", "random", "yaml"]),
    ("stored", &["json"]),
    ("yaml", &["json"]),
];
const API: &[(&str, &[&str])] = &[
    ("admission", &["error", "registry"]),
    (
        "api",
        &[
            "admission",
            "audit",
            "authentication",
            "authorization",
            "cache",
            "features",
            "flow_control",
            "handlers",
            "in_flight",
            "lifecycle",
            "negotiation",
            "registry",
        ],
    ),
    ("audit", &["authentication", "body", "encoding", "request"]),
    ("authentication", &["error", "registry"]),
    ("authorization", &["authentication", "error", "registry", "request"]),
    ("body", &[]),
    ("cache", &[]),
    ("controllers", &["admission", "api", "authentication", "authorization", "error", "registry"]),
    ("encoding", &[]),
    ("error", &["freshness", "request"]),
    ("features", &[]),
    (
        "filters",
        &[
            "api",
            "audit",
            "authentication",
            "authorization",
            "body",
            "error",
            "flow_control",
            "handlers",
            "in_flight",
            "lifecycle",
            "negotiation",
            "request",
            "respond",
        ],
    ),
    ("flow_control", &["authentication", "authorization", "registry", "request"]),
    ("freshness", &[]),
    (
        "handlers",
        &[
            "api",
            "authentication",
            "authorization",
            "body",
            "cache",
            "encoding",
            "error",
            "features",
            "freshness",
            "lifecycle",
            "negotiation",
            "patch",
            "registry",
            "request",
            "respond",
            "table",
        ],
    ),
    ("in_flight", &[]),
    ("lifecycle", &[]),
    ("negotiation", &["encoding"]),
    ("patch", &[]),
    ("registry", &["error", "features", "patch"]),
    ("request", &["authentication", "error", "negotiation", "registry"]),
    ("respond", &["body", "error", "negotiation"]),
    ("server", &["api", "authentication", "body", "filters"]),
    ("table", &["error"]),
];
