//! Tests of documents that are made once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_many_ask_for_is_made_once() {
    const MANY: usize = 8;
    let (cell, made) = (Arc::new(OnceCell::<usize>::new()), Arc::new(AtomicUsize::new(0)));
    let (asks, asked) = mpsc::channel();
    let asked = Arc::new(Mutex::new(asked));
    let tasks = (0..MANY).map(|_| {
        let (cell, made, asks, asked) = (cell.clone(), made.clone(), asks.clone(), asked.clone());
        tokio::spawn(async move {
            asks.send(()).expect("the receiver is alive");
            let make = || {
                let asked = asked.lock();
                (0..MANY).for_each(|_| {
                    asked.recv_timeout(Duration::from_secs(10)).expect("all ask meanwhile")
                });
                Ok(made.fetch_add(1, Ordering::Relaxed))
            };
            once(&cell, make).await.copied().expect("it is made")
        })
    });
    assert_eq!(futures::future::try_join_all(tasks).await.expect("all join"), [0; MANY]);
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_fails_is_tried_again() {
    let cell = OnceCell::<u8>::new();
    assert!(once(&cell, || Err(Error::no_such_path())).await.is_err());
    assert_eq!(once(&cell, || Ok(7)).await.ok(), Some(&7));
    assert_eq!(once(&cell, || Ok(8)).await.ok(), Some(&7));
}
