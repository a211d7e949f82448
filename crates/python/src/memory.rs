//! The allocator of the simulator on Linux: jemalloc, told to ask the kernel for pages of 2 MiB.
//!
//! With thousands of flows each packet and each socket that is touched next lies on another page of 4 KiB, more than the
//! processor knows the addresses of: a segment takes a fifth less time on larger pages (docs/performance.md). The
//! allocator of glibc asks for them only if a tunable says so before the program starts.
//!
//! Only time and memory depend on this. Python keeps its own allocator.
#![expect(unsafe_code, reason = "jemalloc finds its options by the name of a symbol")]

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// A C string, whose address is what jemalloc reads.
#[repr(transparent)]
struct Options(*const u8);

// SAFETY: it points to a constant.
unsafe impl Sync for Options {}

// SAFETY: jemalloc defines no symbol of this name, and looks for one that is a C string.
#[unsafe(export_name = "_rjem_malloc_conf")]
static OPTIONS: Options = Options(c"thp:always".as_ptr().cast());
