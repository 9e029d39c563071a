//! Work on many files by as many threads as there are processors, told in the order of the files.
//!
//! Memory stays as it would be with one thread: results wait for their turn only within a small
//! window, and a large file is read while no other is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, RwLock};
use std::thread;

/// How far a thread may be ahead of the result that is told next, per thread.
const WINDOW: usize = 4;
/// A file of more bytes than this is read alone.
const LARGE: u64 = 32 << 20;

/// The place of the result that is told next; past all places once the work is to end.
struct Turn {
    next: Mutex<usize>,
    changed: Condvar,
}

impl Turn {
    /// Waits until `place` is within the window.
    fn wait_for(&self, place: usize, window: usize) {
        let next = self.next.lock().expect("no thread panics while it holds the lock");
        let too_early = |next: &mut usize| place >= next.saturating_add(window);
        drop(self.changed.wait_while(next, too_early).expect("as above"));
    }

    fn set(&self, place: usize) {
        *self.next.lock().expect("as above") = place;
        self.changed.notify_all();
    }
}

/// Does `work` for each file and calls `each` with the results in the order of the files. The
/// first failure of `each` ends the work.
pub(crate) fn in_order<P: AsRef<Path> + Sync, T: Send, E>(
    files: &[P],
    work: impl Fn(usize, &Path) -> T + Sync,
    each: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    in_order_with(files, |(), place, path| work(place, path), each)
}

/// The same for work that has memory, one for each thread.
pub(crate) fn in_order_with<P: AsRef<Path> + Sync, M: Default, T: Send, E>(
    files: &[P],
    work: impl Fn(&mut M, usize, &Path) -> T + Sync,
    mut each: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let taken = AtomicUsize::new(0);
    let turn = Turn { next: Mutex::new(0), changed: Condvar::new() };
    let alone = RwLock::new(());
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (work, taken, turn, alone) = (&work, &taken, &turn, &alone);
            scope.spawn(move || {
                let mut memory = M::default();
                loop {
                    let place = taken.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = files.get(place).map(AsRef::as_ref) else {
                        return;
                    };
                    turn.wait_for(place, threads * WINDOW);
                    let size = path.metadata().map_or(0, |file| file.len());
                    let result = if size > LARGE {
                        let _alone = alone.write();
                        work(&mut memory, place, path)
                    } else {
                        let _beside_others = alone.read();
                        work(&mut memory, place, path)
                    };
                    // Nobody receives any more once `each` has failed.
                    if sender.send((place, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        // The receiver ends with the loop, so that a failure ends the threads.
        for (place, result) in receiver {
            early.insert(place, result);
            while let Some(result) = early.remove(&expected) {
                if let Err(error) = each(expected, result) {
                    // No thread finds more work, and those that wait for their turn go on to see it.
                    taken.store(files.len(), Ordering::Relaxed);
                    turn.set(usize::MAX);
                    return Err(error);
                }
                expected += 1;
                turn.set(expected);
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_a_failure_ends_the_work() {
        let files: Vec<String> = (0..1000).map(|n| format!("/nowhere/{n}")).collect();
        let work = |place: usize, path: &Path| (place, path.to_owned());
        let mut seen = 0;
        let all: Result<(), ()> = in_order(&files, work, |place, (own, path)| {
            assert_eq!((place, own, path.to_str()), (seen, seen, Some(&*files[seen])));
            seen += 1;
            Ok(())
        });
        assert_eq!((all, seen), (Ok(()), 1000));
        let done = AtomicUsize::new(0);
        let work = |_: usize, _: &Path| done.fetch_add(1, Ordering::Relaxed);
        let stop = |place, _| if place == 10 { Err("stop") } else { Ok(()) };
        assert_eq!(in_order(&files, work, stop), Err("stop"));
        assert!(done.into_inner() < 1000, "threads stay within the window");
        assert_eq!(in_order(&[] as &[String], |_, _| (), |_, ()| Err(())), Ok(()));
    }
}
