//! Panics of a run, also those in tasks of tokio, which swallows them.

use std::sync::Arc;

use parking_lot::Mutex;

/// Notes every panic from now on: each is a violation.
pub(crate) fn note() -> Arc<Mutex<Vec<String>>> {
    let panics = Arc::new(Mutex::new(Vec::new()));
    let noted = panics.clone();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        noted.lock().push(format!("panic: {}", panic.to_string().replace('\n', " ")));
        usual(panic);
    }));
    panics
}
