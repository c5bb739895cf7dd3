//! The allocator of the process: mimalloc, with large blocks that begin at varying offsets within a
//! page.
//!
//! mimalloc begins blocks of some sizes where a page of memory begins. Then a buffer and what is
//! copied into it behind a short head (five bytes for a record of TLS, as many for a message of
//! gRPC) lie almost a multiple of 4 KiB apart, and such a copy is up to 25 times slower: `rep
//! movsb`, with which C libraries copy a few kilobytes and more, takes the bytes that it reads for
//! those that it has just written (seen on Zen 4 with glibc 2.36: 3.5 GB/s in place of 40). The
//! places also keep large blocks from all wanting the same lines of a cache.
//!
//! mimalloc gives freed memory back to the system while it is busy, so that an idle process would
//! keep what its last busy second has freed: [`return_memory`] asks for it.

#![expect(
    unsafe_code,
    reason = "allocators are unsafe; this one only chooses which function of mimalloc is called"
)]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use libmimalloc_sys::{mi_collect, mi_malloc_aligned_at};
use mimalloc::MiMalloc;

/// Bytes of blocks that begin at changing places. What is smaller is copied without `rep movsb`, or
/// costs too much room; copies of what is larger take their time in memory anyway.
const LARGE: std::ops::RangeInclusive<usize> = 4 << 10..=1 << 20;
/// How far places are from each other: a line of a cache, so that the heads of two buffers do not
/// overlap.
const STEP: usize = 64;
/// The part of a block's size over which its places are spread, and so the room that this costs.
const SPREAD: usize = 8;
/// Places repeat after half a page.
const MAX_SPREAD_BYTES: usize = 2 << 10;

/// How long freed memory may stay with an idle process: what takes turns on all threads reaches
/// each of them after some turns.
const RETURN_INTERVAL: Duration = Duration::from_secs(5);

/// Gives freed memory back to the system from time to time, without an end. What was freed within
/// the last second stays for what comes next.
pub(crate) async fn return_memory() {
    loop {
        tokio::time::sleep(RETURN_INTERVAL).await;
        // SAFETY: it may be called at any time, and frees nothing that is in use.
        unsafe { mi_collect(false) };
    }
}

/// mimalloc with varying offsets for large blocks.
pub(crate) struct Allocator {
    /// Bytes by which the next large block is moved; it wraps.
    next: AtomicUsize,
}

impl Allocator {
    pub(crate) const fn new() -> Self {
        Self { next: AtomicUsize::new(0) }
    }
}

/// Whether a block begins at a changing place. It cannot where its alignment asks for more than
/// that of a step.
fn is_moved(layout: Layout) -> bool {
    LARGE.contains(&layout.size()) && layout.align() <= STEP
}

// SAFETY: each block comes from mimalloc with at least the size and the alignment of its layout:
// moved blocks are `STEP` bytes aligned, because the spread is a multiple of it (a power of two
// from 512 on), as is the place. And each goes back to mimalloc, which takes and resizes them
// whichever of its functions they came from.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_moved(layout) {
            // SAFETY: what this function demands, that one does.
            return unsafe { MiMalloc.alloc(layout) };
        }
        let spread = (layout.size() / SPREAD).min(MAX_SPREAD_BYTES);
        let spread = 1 << spread.ilog2();
        let place = self.next.fetch_add(STEP, Ordering::Relaxed) % spread;
        // SAFETY: the spread is a power of two, and the place within it.
        unsafe { mi_malloc_aligned_at(layout.size(), spread, place) }.cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what this function demands, that one does. It knows which pages are zero already.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is mimalloc's.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the size fits a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if size <= layout.size() || !is_moved(wanted) {
            // SAFETY: the block is mimalloc's.
            return unsafe { MiMalloc.realloc(block, layout, size) };
        }
        // SAFETY: the new block is larger than the old one, which goes back once and only if there
        // is a new one.
        unsafe {
            let larger = self.alloc(wanted);
            if !larger.is_null() {
                larger.copy_from_nonoverlapping(block, layout.size());
                self.dealloc(block, layout);
            }
            larger
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Where the blocks of a layout begin, in their page.
    fn places(layout: Layout) -> BTreeSet<usize> {
        let allocator = Allocator::new();
        let place = |_| {
            // SAFETY: the layout has a size, and each block is given back once, with the layout
            // that it has then.
            unsafe {
                let block = allocator.alloc(layout);
                block.write_bytes(1, layout.size());
                let grown = Layout::from_size_align(2 * layout.size(), layout.align()).unwrap();
                let block_grown = allocator.realloc(block, layout, grown.size());
                assert_eq!((*block_grown, *block_grown.add(layout.size() - 1)), (1, 1));
                allocator.dealloc(block_grown, grown);
                let block = allocator.alloc(layout);
                allocator.dealloc(block, layout);
                assert!((block as usize).is_multiple_of(layout.align()));
                block as usize % 4096
            }
        };
        (0..1000).map(place).collect()
    }

    #[test]
    fn large_blocks_begin_at_changing_places() {
        let check = |size, align, expect: std::ops::RangeInclusive<usize>| {
            let found = places(Layout::from_size_align(size, align).unwrap()).len();
            assert!(expect.contains(&found), "{size} {align}: {found}");
        };
        check(16 << 10, 4096, 1..=1);
        for align in [1, 16, STEP] {
            check(4 << 10, align, 4..=64);
            check((16 << 10) + 22, align, 16..=64);
            check(1 << 20, align, 16..=64);
        }
    }
}
