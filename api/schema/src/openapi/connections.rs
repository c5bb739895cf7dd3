//! The paths that lead through the server to another one: logs, streams of containers, and proxies.
//! They have no objects: a log is a text, and all others answer what the other server does.

use super::parameters::Parameter;

/// The methods of a stream.
const STREAM: &[&str] = &["get", "post"];
/// The methods of a proxy.
const PROXY: &[&str] = &["delete", "get", "head", "options", "patch", "post", "put"];

const STREAMS: [Parameter; 5] = [
    ("container", "string", "The container; may be left out where the pod has only one."),
    ("stderr", "boolean", "Whether the stream has the errors of the container."),
    ("stdin", "boolean", "Whether the stream leads to the input of the container."),
    ("stdout", "boolean", "Whether the stream has the output of the container."),
    ("tty", "boolean", "Whether the container has a terminal."),
];
const COMMAND: Parameter = ("command", "string", "A program and its arguments, one each time.");
const PORTS: Parameter = ("ports", "integer", "Ports of the pod; needed with WebSockets.");
const PATH: Parameter = ("path", "string", "The path at the other server.");
const LOG: [Parameter; 9] = [
    ("container", "string", "The container; may be left out where the pod has only one."),
    ("follow", "boolean", "Whether the answer goes on with what is written from now on."),
    (
        "insecureSkipTLSVerifyBackend",
        "boolean",
        "Whether the certificate of the kubelet is left unchecked.",
    ),
    ("limitBytes", "integer", "Most bytes of the answer."),
    ("previous", "boolean", "Whether the log is that of the container before its last restart."),
    ("sinceSeconds", "integer", "Only what is no older than this; not with sinceTime."),
    ("stream", "string", "The stream: All, Stdout or Stderr."),
    ("tailLines", "integer", "Only so many lines from the end."),
    ("timestamps", "boolean", "Whether each line begins with its time."),
];

/// The methods of such a subresource; `None` for one that has objects.
pub(super) fn methods(subresource: &str) -> Option<&'static [&'static str]> {
    match subresource {
        "attach" | "exec" | "portforward" => Some(STREAM),
        "log" => Some(&["get"]),
        "proxy" => Some(PROXY),
        _ => None,
    }
}

/// The query parameters of such a subresource.
pub(super) fn parameters(subresource: &str) -> Vec<Parameter> {
    match subresource {
        "attach" => STREAMS.to_vec(),
        "exec" => [&[COMMAND][..], &STREAMS].concat(),
        "portforward" => vec![PORTS],
        "log" => LOG.to_vec(),
        _ => vec![PATH],
    }
}
