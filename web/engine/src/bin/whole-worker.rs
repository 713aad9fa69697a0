//! The worker that the page starts when there is PTX to read, a launch to guess, or a link to make or open.

fn main() {
    warpscope_engine::worker::serve(Some(warpscope_engine::EXCHANGE));
}
