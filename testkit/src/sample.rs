//! Programs of a wanted size, always the same ones: for measurements.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::emit;
use crate::recipe;

/// How deep statements nest.
const DEPTH: u32 = 3;

/// Different programs, each with a kernel of about `instructions` instructions, as `.wir` text. Fewer of them are the
/// first ones of more.
pub fn programs(instructions: usize, count: usize) -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let statements = recipe::statement(DEPTH, false);
    let one = |_| {
        let launch = draw(&recipe::launch(), &mut runner);
        emit::long_program(instructions, || draw(&statements, &mut runner), &launch)
    };
    (0..count).map(one).collect()
}

fn draw<S: Strategy>(strategy: &S, runner: &mut TestRunner) -> S::Value {
    let tree = strategy.new_tree(runner);
    tree.expect("the strategies reject nothing").current()
}
