//! Options of commands that speak to a cluster by a kubeconfig: which cluster, as which user, in which namespace.
//!
//! They are named as kubectl names them.

use std::path::PathBuf;

use clap::Args;

/// The cluster that a command speaks to.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterFlags {
    /// Kubeconfig [default: the files of KUBECONFIG, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current one].
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Server to ask in place of the one of the context, https://host:port.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Authority (PEM) of the server's certificate.
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate_authority: Option<PathBuf>,
    /// Bearer token to show in place of the user's credentials.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// User to act for.
    #[arg(long = "as", value_name = "USER")]
    pub(crate) impersonate: Option<String>,
    /// Group to act for; may be given several times.
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate")]
    pub(crate) impersonate_group: Vec<String>,
}

/// The namespaces that a command looks at.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NamespaceFlags {
    /// Namespace [default: that of the context].
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    /// All namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
}
