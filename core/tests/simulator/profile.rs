//! Profiles of runs small enough to count by hand.

use warpscope_core::machine::Machine;
use warpscope_core::profile::{Collector, Count};
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::verify::check;

#[test]
fn edges_paths_and_zeros_of_a_divergent_loop() {
    // Lane i goes round i + 1 times; two warps.
    let source = "kernel k() {\nentry:\n    i = mov.u32 %laneid\n    n = mov.u32 0\n    br head\nhead:\n    \
                  z = and.b32 n, 1\n    n = add.u32 n, 1\n    p = setp.le.u32 n, i\n    br p, head, done\ndone:\n    \
                  ret\n}\nlaunch k {\n    block 64\n    warp 8\n}\n";
    let module = check(source).module;
    let kernel = module.func_by_name("k").expect("the kernel");
    let settings = Settings { block: Some([16, 1, 1]), ..Settings::default() };
    let mut run: Simulation =
        Simulation::new(&module, kernel, &module.launches[0], &settings, Machine::Unit).expect("a launch");
    let mut collector = Collector::new(&module, run.program());
    assert_eq!(run.run_watched(u64::MAX, &mut collector), Ok(Progress::Done));
    let profile = &collector.profile()[&kernel];
    let body = &module.funcs[kernel];
    let block = |name: &str| body.block_order().find(|&block| body.blocks[block].name == name).expect("a block");
    let (entry, head, done) = (block("entry"), block("head"), block("done"));
    let count = |lanes, warps| Count { lanes, warps };
    assert_eq!(profile.edges[&(entry, head)], count(16, 2));
    assert_eq!(profile.edges[&(head, head)], count(2 * 28, 2 * 7));
    assert_eq!(profile.edges[&(head, done)], count(16, 2 * 8));
    // Lane 0 ends with its first path; the others' first paths end at the back edge.
    assert_eq!(profile.paths[&vec![entry, head, done]], count(2, 2));
    assert_eq!(profile.paths[&vec![entry, head]], count(14, 2));
    assert_eq!(profile.paths[&vec![head]], count(2 * (28 - 7), 2 * 6));
    // All lanes but the first end together behind the loop.
    assert_eq!(profile.paths[&vec![head, done]], count(14, 2));
    let zeros = |name: &str| {
        let (_, count) = profile
            .zeros
            .iter()
            .find(|(write, _)| write.block == head && body.regs[write.reg].name == name)
            .expect("the write");
        *count
    };
    // n is 0, 2, 4, 6 in the first, third, … round, of 8, 6, 4 and 2 lanes.
    assert_eq!((zeros("z").all, zeros("z").zero), (count(2 * 36, 2 * 8), count(2 * 20, 2 * 4)));
    assert_eq!((zeros("n").zero, zeros("n").lane_probability()), (count(0, 0), 0.0));
    assert_eq!(zeros("z").warp_probability(), 0.5);
}
