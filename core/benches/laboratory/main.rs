//! How fast the laboratory is. `cargo xtask bench` runs this program natively and, compiled to WebAssembly with simd128
//! and shrunk as the page is, under Node, and prints both side by side.
//!
//! Each measurement is one line of [`report`]; times are CPU time of this thread, the best of several rounds, because
//! the machine may be busy with other things.

mod ceiling;
mod clock;
mod graphs;
mod inputs;
mod programs;
mod redundancy;
mod report;
mod simulator;

fn main() {
    // What the measuring itself costs.
    if report::turn("clock") {
        report::time("clock", None, "ns/call", 1, None, clock::now);
    }
    graphs::measure();
    programs::measure();
    redundancy::measure();
    simulator::measure();
}
