//! `quorate kubeconfig`: a client certificate for a user, and the file that says how to use it, on
//! standard output.
//!
//! The key is made here and never leaves the file; the cluster signs the certificate.

use quorate_env::Env;
use quorate_raft::admin::{AdminAnswer, AdminRequest};

use crate::admin::{Admin, unexpected};
use crate::cli::Kubeconfig;
use crate::error::Error;
use crate::files::read_text;
use crate::join_protocol::UserSigningRequest;
use crate::kubeconfig;
use crate::pki::{Identity, names};
use crate::terminal::print_line;

/// Asks for the certificate and prints the file.
pub(crate) async fn run(options: &Kubeconfig, env: &Env) -> Result<(), Error> {
    let group = Some(options.group.as_str()).filter(|group| !group.is_empty());
    let mut admin = Admin::connect(&options.target, env).await?;
    let identity = certify(&mut admin, &options.user, group).await?;
    let authority = read_text(&admin.dir.pki().join(names::AUTHORITY_CERTIFICATE))?;
    let server =
        options.server.clone().unwrap_or_else(|| format!("https://{}", admin.config.api.advertise));
    print_line(kubeconfig::text(&server, &authority, &options.user, &identity).trim_end());
    Ok(())
}

/// A new key, and the certificate that the cluster signs for it.
pub(super) async fn certify(
    admin: &mut Admin,
    user: &str,
    group: Option<&str>,
) -> Result<Identity, Error> {
    let (request, key) = UserSigningRequest::new(user, group)?;
    let certificate = match admin.ask(AdminRequest::Certify(request.to_bytes()?)).await? {
        AdminAnswer::Certified(certificate) => {
            String::from_utf8(certificate.into()).map_err(Error::failed)?
        }
        other => return Err(unexpected(&other)),
    };
    Ok(Identity { certificate, key })
}
