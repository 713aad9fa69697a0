//! The worker that the page starts with the first question that somebody's hand or a link asks.

fn main() {
    warpscope_engine::worker::serve();
}
