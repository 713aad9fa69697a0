//! The worker that the page starts with: everything that the first view needs.

fn main() {
    warpscope_engine::worker::serve(None);
}
