//! Effect of the pipeline `ptxas` on the CUDA examples: nothing that repeats within a block is left, fewer
//! instructions run on what nvcc left unoptimised, and never more on what it optimised.

use std::collections::{BTreeMap, BTreeSet};

use super::{inputs, oracle};
use warpscope_core::ir::{Block, Function, Launch, Module, Operand, Reg};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::ptx::import;
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::text;

/// The CUDA examples, each as nvcc prints it without (`O0`) and with (`O3`) optimisation.
pub const EXAMPLES: [&str; 8] = ["bfs", "bilateral", "collatz", "histogram", "lighting", "reduce", "saxpy", "stencil"];

/// An example in one of the two flavours.
pub fn module(name: &str, flavour: &str) -> Module {
    let source = inputs::read(&inputs::examples_folder().join(format!("{name}.{flavour}.ptx")));
    import(&source).module
}

/// Optimises by the pipeline.
pub fn optimised(module: &Module) -> Module {
    optimised_by(module, "infer-space,@ptxas")
}

fn optimised_by(module: &Module, pipeline: &str) -> Module {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0).module().clone()
}

/// Instructions that active lanes executed.
fn thread_instructions(name: &str, module: &Module) -> u64 {
    simulate(name, module).0
}

/// Optimises, and returns the memory that the launch leaves.
fn simulate(name: &str, module: &Module) -> (u64, u64) {
    let launch = inputs::read(&inputs::examples_folder().join(format!("{name}.launch.wir")));
    let launch: Launch = text::parse(&launch).module.launches.remove(0);
    let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
    let (launch, settings) = (oracle::written_out(&launch), Settings::default());
    let mut run: Simulation =
        Simulation::new(module, kernel, &launch, &settings, Machine::Ampere).expect("a launch that fits");
    assert_eq!(run.run(u64::MAX), Ok(Progress::Done), "{name}");
    (run.result().thread_instructions, run.result_hash())
}

/// The pure instructions of a block that repeat one before them with the same operands, as they are written: a register
/// counts as the same while nothing in the block writes it.
fn repetitions(func: &Function, block: Block) -> Vec<String> {
    let mut writes: BTreeMap<Reg, u32> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for inst in func.block_insts(block) {
        let data = &func.insts[inst];
        if data.opcode.op.is_pure() && !data.dsts.is_empty() {
            let mut versions = Vec::new();
            data.for_each_use(|reg| versions.push(writes.get(&reg).copied().unwrap_or(0)));
            let args: Vec<Operand> = data.args.to_vec();
            if !seen.insert((data.opcode, args, data.guard.map(|guard| (guard.reg, guard.negated)), versions)) {
                found.push(format!("{} in `{}`", data.opcode, func.blocks[block].name));
            }
        }
        for &dst in &data.dsts {
            *writes.entry(dst).or_default() += 1;
        }
    }
    found
}

#[test]
fn nothing_that_repeats_within_a_block_is_left() {
    for name in EXAMPLES {
        let after = optimised(&module(name, "O0"));
        for func in after.funcs.values() {
            let found: Vec<_> = func.block_order().flat_map(|block| repetitions(func, block)).collect();
            assert!(found.is_empty(), "{name}: {found:?}\n{}", text::print(&after));
        }
    }
}

#[test]
fn unoptimised_examples_execute_fewer_instructions_and_optimised_ones_no_more() {
    for name in EXAMPLES {
        for (flavour, must_be_fewer) in [("O0", true), ("O3", false)] {
            let before = module(name, flavour);
            let (had, has) = (thread_instructions(name, &before), thread_instructions(name, &optimised(&before)));
            assert!(has < had || (!must_be_fewer && has == had), "{name} {flavour}: {had} before, {has} after");
        }
    }
}

#[test]
fn kernels_without_races_may_have_their_stores_forwarded() {
    let forwarding = "infer-space,general-optimize,gvn-cse[forward_stores=true],general-optimize";
    for name in EXAMPLES {
        for flavour in ["O0", "O3"] {
            let before = module(name, flavour);
            let plain = forwarding.replace("[forward_stores=true]", "");
            let (had, memory) = simulate(name, &optimised_by(&before, &plain));
            let (has, same) = simulate(name, &optimised_by(&before, forwarding));
            assert_eq!(memory, same, "{name} {flavour}");
            assert!(has <= had, "{name} {flavour}: {had} without, {has} with");
        }
    }
}

#[test]
fn the_counter_counts() {
    let source = "kernel k(a: u32, o: ptr.global) {\nentry:\n    x = add.u32 a, 1\n    y = add.u32 a, 1\n    \
                  z = add.u32 x, 1\n    x = mov.u32 3\n    w = add.u32 x, 1\n    st.global.u32 o[0], y\n    \
                  st.global.u32 o[1], z\n    st.global.u32 o[2], w\n    ret\n}\n";
    let module = text::parse(source).module;
    let func = module.funcs.values().next().expect("a kernel");
    assert_eq!(func.block_order().flat_map(|block| repetitions(func, block)).count(), 1);
}
