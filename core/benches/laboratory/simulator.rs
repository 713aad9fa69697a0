//! The simulator: warp instructions a second against the ceiling, and steps of a divergent loop a second.

use std::hint::black_box;

use warpscope_core::ir::{Launch, Module};
use warpscope_core::machine::Machine;
use warpscope_core::ptx;
use warpscope_core::sim::{Settings, Simulation};
use warpscope_core::text::parse;

use crate::ceiling;
use crate::report::{Asked, print, rate, turn};

/// Arithmetic in full warps: a loop of ten operations, the same that [`ceiling`] has.
const ARITHMETIC: &str = "
kernel arithmetic(n: u32, x: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    a = cvt.f32.u32 i
    s = mov.f32 1.0
    k = mov.u32 0
    br loop
loop:
    t = mul.f32 a, 0.25
    u = mul.f32 t, 0.5
    s = add.f32 u, t
    w = min.f32 s, 4.0
    m = xor.b32 i, k
    q = and.b32 m, 255
    a = sub.f32 1.5, w
    k = add.u32 k, 1
    p = setp.lt.u32 k, n
    br p, loop, done
done:
    st.global.f32 x[i], s
    j = add.u32 i, 2048
    st.global.u32 x[j], q
    ret
}
launch arithmetic {
    grid 8
    block 256
    n = 1000
    x = buffer f32[4096] const 0.0
}
";

const THREADS: u32 = 2048;
const ROUNDS: u32 = 1000;

/// The launch of the divergent loop: so many threads, each with the number after its own.
const COLLATZ_LAUNCH: &str = "
launch collatz {
    grid 512
    block 256
    #0 = 131072
    #1 = 1
    #2 = buffer u32[131072] const 0
}
";

const COLLATZ_THREADS: u32 = 131_072;

/// Share of the ceiling's rate that is asked.
const ASKED_OF_CEILING: f64 = 0.6;

/// Takes the measurements that the command line selects.
pub fn measure() {
    if turn("simulator, full warps") {
        full_warps();
    }
    if turn("simulator, collatz") {
        collatz();
    }
}

fn full_warps() {
    let arithmetic = Subject::new(parse(ARITHMETIC).module, None);
    arithmetic.agrees_with_the_ceiling();
    let reached = rate("simulator, full warps", "M warp instructions/s", arithmetic.issued() as usize, || {
        black_box(arithmetic.run().issued())
    });
    let issued: u64 = warps().map(|first| ceiling::run(first, ROUNDS).issued).sum();
    let ceiling = rate("ceiling, full warps", "M warp instructions/s", issued as usize, || {
        warps().map(|first| black_box(ceiling::run(first, ROUNDS)).issued).sum::<u64>()
    });
    print("simulator / ceiling", None, reached / ceiling, "", Some(Asked::AtLeast(ASKED_OF_CEILING)));
}

fn collatz() {
    let collatz = ptx::import(include_str!("../../../www/examples/cuda/collatz.O3.ptx")).module;
    let launch = parse(COLLATZ_LAUNCH).module.launches.remove(0);
    let collatz = Subject::new(collatz, Some(launch));
    rate("simulator, collatz", "M warp instructions/s", collatz.issued() as usize, || {
        black_box(collatz.run().issued())
    });
    let steps: u64 = (1..=COLLATZ_THREADS).map(collatz_steps).sum();
    rate("simulator, collatz steps", "M steps/s", steps as usize, || black_box(collatz.run().issued()));
}

/// The first thread of each warp.
fn warps() -> impl Iterator<Item = u32> {
    (0..THREADS).step_by(32)
}

/// How many steps a number takes to reach 1.
fn collatz_steps(number: u32) -> u64 {
    let mut value = u64::from(number);
    let mut steps = 0;
    while value > 1 {
        value = if value % 2 == 1 { 3 * value + 1 } else { value / 2 };
        steps += 1;
    }
    steps
}

/// A kernel with its launch.
struct Subject {
    module: Module,
    launch: Launch,
}

impl Subject {
    /// The first kernel of `module`, and its own launch unless there is another.
    fn new(module: Module, launch: Option<Launch>) -> Subject {
        let kernel = &module.funcs[module.kernels().next().expect("a kernel")];
        let launch = launch.or_else(|| module.launch_of(&kernel.name).cloned()).expect("a launch");
        Subject { module, launch }
    }

    fn run(&self) -> Simulation {
        let kernel = self.module.kernels().next().expect("a kernel");
        let mut simulation = Simulation::new(&self.module, kernel, &self.launch, &Settings::default(), Machine::Ampere)
            .expect("it fits the machine");
        simulation.run(u64::MAX).expect("it ends");
        simulation
    }

    fn issued(&self) -> u64 {
        self.run().issued()
    }

    /// A ceiling that did less would be no ceiling.
    fn agrees_with_the_ceiling(&self) {
        let simulation = self.run();
        let bytes = &simulation.memory().regions[0].bytes;
        let word = |at: u32| {
            let start = 4 * at as usize;
            u32::from_le_bytes(bytes[start..start + 4].try_into().expect("four bytes"))
        };
        for first in warps() {
            let reached = ceiling::run(first, ROUNDS);
            for lane in 0..32 {
                let thread = first + lane as u32;
                assert_eq!(reached.s[lane], word(thread), "s of thread {thread}");
                assert_eq!(reached.q[lane], word(THREADS + thread), "q of thread {thread}");
            }
        }
    }
}
