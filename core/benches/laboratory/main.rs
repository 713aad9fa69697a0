//! How fast the laboratory is. `cargo xtask bench` runs this program natively and, compiled to WebAssembly with simd128
//! and shrunk as the page is, under Node, and prints both side by side.
//!
//! Each measurement is one line of [`report`]; times are CPU time of this thread, the best of several rounds, because
//! the machine may be busy with other things.

mod ceiling;
mod clock;
mod examples;
mod graphs;
mod inputs;
mod networks;
mod programs;
mod redundancy;
mod report;
mod simulator;
mod value_names;

/// Bytes of memory that the process has for itself.
const KEPT_MEMORY: usize = 31 << 20;

fn main() {
    keep_memory();
    // What the measuring itself costs.
    if report::turn("clock") {
        report::time("clock", None, "ns/call", 1, None, clock::now);
    }
    graphs::measure();
    networks::measure();
    programs::measure();
    value_names::measure();
    examples::measure();
    redundancy::measure();
    simulator::measure();
}

/// Lets the allocator keep the memory that it has got. WebAssembly never gives any back; glibc maps
/// large pieces from the system and unmaps them, each time anew, until a larger one has been freed,
/// and then a small analysis of a large graph would be measured by the pages that it touches first.
fn keep_memory() {
    drop(std::hint::black_box(vec![1_u8; KEPT_MEMORY]));
}
