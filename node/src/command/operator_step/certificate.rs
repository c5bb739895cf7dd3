//! The serving certificate that another authority has issued, taken from the folder that a Secret is mounted
//! at. A node reads what was replaced by itself.

use crate::cli::Pod;
use crate::data_dir::DataDir;
use crate::error::Error;
use crate::pki::{Identity, names};

/// The names of its files in a Secret of the type `kubernetes.io/tls`, without endings.
const MOUNTED: &str = "tls";

/// Takes the certificate over where it is another one than the node has. Says whether it was.
pub(super) fn take_over(pod: &Pod) -> Result<bool, Error> {
    let Some(folder) = &pod.server_certificate else {
        return Ok(false);
    };
    let given = Identity::read(folder, MOUNTED)?;
    let pki = DataDir::new(&pod.data_dir).pki();
    let own = Identity::read(&pki, names::SERVER)?;
    if given.certificate == own.certificate && given.key == own.key {
        return Ok(false);
    }
    // A Secret that is being replaced may be seen half; the next look takes it.
    if !given.belongs_together() {
        return Err(Error::failed(format_args!(
            "{}: the key does not belong to the certificate",
            folder.display()
        )));
    }
    given.write(&pki, names::SERVER)?;
    Ok(true)
}
