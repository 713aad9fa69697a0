//! The page's program for the browser.

fn main() {
    warpscope_web::start();
}
