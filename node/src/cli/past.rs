//! Options of the commands that read the past and bring it back.

use clap::{Args, ValueEnum};

use super::cluster::{ClusterFlags, NamespaceFlags};
use super::moment::Moment;

/// `quorate get`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate get pods -n shop --as-of 10m              what kubectl get pods showed ten minutes ago
  quorate get deploy/web -n shop --as-of 1234 -o yaml
  quorate get configmaps,secrets -A --as-of 2026-11-28T11:05:50Z -l app=web -o name")]
pub(crate) struct Get {
    /// TYPE, TYPE,TYPE or TYPE/NAME, and names of objects of the type.
    #[arg(value_name = "TYPE [NAME]", required = true)]
    pub(crate) objects: Vec<String>,
    /// The moment: a time (RFC 3339), a resourceVersion, or an age such as 10m, 2h, 3d [default: now].
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<Moment>,
    /// Objects with these labels only.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Objects with these fields only.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,
    /// How the answer looks.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: ObjectOutput,
    /// Show managed fields too, in JSON and YAML.
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
    #[command(flatten)]
    pub(crate) namespaces: NamespaceFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// How objects look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectOutput {
    /// The columns that kubectl shows.
    #[default]
    Table,
    /// All columns.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// TYPE/NAME, a line each.
    Name,
}

/// `quorate history`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate history deploy web -n shop                newest first: when, what, who, which fields
  quorate history configmap/settings --limit 5 -o wide
  quorate history ns shop -o json                   with every version of the object, a line each

Deletions and re-creations are changes like others. '(older)' is a version from before the archive begins.")]
pub(crate) struct History {
    /// TYPE NAME or TYPE/NAME.
    #[arg(value_name = "TYPE NAME", required = true, num_args = 1..=2)]
    pub(crate) object: Vec<String>,
    /// Changes that are shown at most [default: all that are kept].
    #[arg(long, value_name = "CHANGES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// How the answer looks; JSON is a change a line.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: ChangeOutput,
    /// Namespace [default: that of the context].
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// How changes look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChangeOutput {
    /// A table for people.
    #[default]
    Table,
    /// The same with client and request.
    Wide,
    /// A JSON object a line, as the server tells it.
    Json,
}

/// `quorate diff`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate diff deploy web -n shop --from 1h         what has changed within the hour
  quorate diff deploy web -n shop --from 1200 --to 1300
  quorate diff deployments -n shop --from 1h        every deployment that came, went or changed
  quorate diff -n shop --from 1h                    everything in the namespace (without events)

metadata.resourceVersion and metadata.managedFields are left out unless --show-managed-fields is given.")]
pub(crate) struct Diff {
    /// TYPE NAME, TYPE/NAME, TYPE for all its objects, or nothing for all of a namespace.
    #[arg(value_name = "TYPE [NAME]", num_args = 0..=2)]
    pub(crate) objects: Vec<String>,
    /// The older moment: a time, a resourceVersion or an age.
    #[arg(long, value_name = "WHEN")]
    pub(crate) from: Moment,
    /// The newer moment [default: now].
    #[arg(long, value_name = "WHEN")]
    pub(crate) to: Option<Moment>,
    /// Objects with these labels only.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Compare managed fields and resourceVersion too.
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
    #[command(flatten)]
    pub(crate) namespaces: NamespaceFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// `quorate blame`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate blame deploy web -n shop                  each line of the object: when it came, who, by which manager, verb
  quorate blame deploy web -n shop --as-of 2h -o wide
  quorate blame deploy web -n shop -o json

Lines without a change are older than the archive, or no field of the object's own.")]
pub(crate) struct Blame {
    /// TYPE NAME or TYPE/NAME.
    #[arg(value_name = "TYPE NAME", required = true, num_args = 1..=2)]
    pub(crate) object: Vec<String>,
    /// The moment: a time, a resourceVersion or an age [default: now].
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<Moment>,
    /// How the answer looks; wide has the revision and the request's id besides.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: ChangeOutput,
    /// Namespace [default: that of the context].
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// `quorate changes`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate changes --since 1h                        what happened in the cluster, newest first
  quorate changes --since 1h -n shop --type deploy --user ann
  quorate changes --since 2h --until 1h --verb delete -o json | jq .name
  quorate changes --refused                         writes that the server refused, counted, with examples

Changes that only renew a lease, as servers, nodes and leaders make them all the time, are left out and counted, unless --all or
--type leases is given.")]
pub(crate) struct ClusterChanges {
    /// Changes after this moment: a time, a resourceVersion or an age [default: all that is kept].
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<Moment>,
    /// Changes up to this moment [default: now].
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<Moment>,
    /// Changes in this namespace only [default: everywhere].
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    /// Changes of objects of this type only.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) resource: Option<String>,
    /// Changes of objects of this name only.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Changes by this user only.
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Changes by this field manager only.
    #[arg(long)]
    pub(crate) manager: Option<String>,
    /// Changes by this verb only: create, update, patch, apply, delete, deletecollection.
    #[arg(long)]
    pub(crate) verb: Option<String>,
    /// The oldest change first.
    #[arg(long)]
    pub(crate) oldest_first: bool,
    /// Changes that are shown at most [default: all].
    #[arg(long, value_name = "CHANGES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Show changes that only renew a lease too: those of servers, nodes and leaders.
    #[arg(long)]
    pub(crate) all: bool,
    /// Writes that the server refused, in place of changes: those that the node which answers remembers.
    #[arg(long, conflicts_with_all = ["since", "until", "manager", "oldest_first", "all"])]
    pub(crate) refused: bool,
    /// How the answer looks; JSON is a change a line.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: ChangeOutput,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// `quorate undelete`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate undelete configmap settings -n shop       as it was before it was deleted
  quorate undelete namespace shop --dry-run         what would come back
  quorate undelete namespace shop                   the namespace and all that was in it when its deletion began
  quorate undelete crd widgets.example.com          the definition, and its objects once it is served
  quorate undelete deployments -n shop --as-of 1h --replace     a whole type as it was, also what has changed since

What comes back: the object with its labels, annotations, finalizers and spec. It gets a new uid. Its status is made anew by who makes
it; --with-status writes the old one where the kind has that subresource. Owners that are gone are dropped; references to owners that
are there under another uid follow them. Addresses, node ports, nodes and volumes are kept where they are free, dropped otherwise,
with a note. Left out of namespaces: what controllers make by themselves (a plain default ServiceAccount, root certificates, slices of
endpoints, events, tokens). What is there already is left alone, unless --replace is given. One that fails does not stop the others;
the exit code says so.")]
pub(crate) struct Undelete {
    /// TYPE NAME or TYPE/NAME; with --as-of also TYPE alone, for all its objects.
    #[arg(value_name = "TYPE [NAME]", required = true, num_args = 1..=2)]
    pub(crate) object: Vec<String>,
    /// As it was at this moment: a time, a resourceVersion or an age [default: before its last deletion began].
    #[arg(long, value_name = "WHEN")]
    pub(crate) as_of: Option<Moment>,
    /// Objects with these labels only.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Put objects that are there, and differ, back too.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Write the status back too.
    #[arg(long)]
    pub(crate) with_status: bool,
    /// Say what would be done; the server checks it where that can be.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) namespaces: NamespaceFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}
