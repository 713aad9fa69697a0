//! Prints the k-th generated program, to see what tests are made of: `cargo run -p
//! warpscope-testkit --example generate 7`.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use warpscope_testkit::{emit, recipe};

fn main() {
    let number = std::env::args().nth(1).map_or(1, |text| text.parse().expect("the number of a program"));
    let mut runner = TestRunner::deterministic();
    let recipes = std::iter::repeat_with(|| recipe::recipe().new_tree(&mut runner).expect("nothing is rejected"));
    let chosen = recipes.into_iter().nth(number).expect("they never end");
    print!("{}", emit::program(&chosen.current()));
}
