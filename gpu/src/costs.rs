//! Costs of each opcode class on the GPU, in cycles, beside the machine model.
//!
//! ```text
//! latency   one warp, one chain:      clock, x = op x, x = op x, …, clock        (long − short) / steps between
//! issue     32 warps, four chains:    first clock … last clock of the block      (long − short) / scheduler issues
//! ```
//!
//! Each chain is run at two lengths, and only the difference counts, so that reading the clock and
//! starting the chain cancel out. It is run several times over, of which the last counts, so that
//! its instructions are in the cache. Nothing can leave the chain: it begins with a value that
//! hangs on the first clock, and a branch that hangs on its result stands before the second.
//!
//! The operands are parameters, so that the assembler knows nothing of them, and steps alternate
//! between operations that it cannot fuse; [`Probe::ops`] says how many operations of the class a
//! step has, and [`Probe::beside`] what else, which is measured first and taken off.
//!
//! Memory is asked for an address that stands where it points: in shared memory, in a line that
//! stays in the first level, past the first level (`.cg`), and along a chain of lines that no cache
//! holds.
//!
//! A branch is measured in a loop of two sides of [`SIDE`] steps, each of two dependent operations:
//! when all lanes take one side, when all take the other, and when each takes its own. What the
//! third takes beyond both sides is what parting and meeting again cost.
//!
//! Source: the method of Arafa et al. (HPEC 2019) and Abdelkhalik et al. (2022); see [`warpscope_core::machine`].

use std::cell::Cell;
use std::fmt::Write;

use anyhow::{Context, Result};
use warpscope_core::machine::{Machine, OpClass};

use crate::driver::{Failure, Gpu};

/// Steps of the short and of the long chain.
const STEPS: [u32; 2] = [16, 64];

/// Times that a chain is run; the last one counts.
const ROUNDS: u32 = 4;

/// Measurements of each length, of which the least counts.
const REPEATS: usize = 5;

/// Warps of a block when the issue cost is measured, and schedulers of a multiprocessor.
const WARPS: u32 = 32;
const SCHEDULERS: u32 = 4;

/// Chains of a warp then.
const CHAINS: usize = 4;

/// Bytes over which the chain through device memory is spread, and its lines.
const FAR_BYTES: usize = 192 << 20;
const FAR_LINES: usize = 1 << 14;

/// Steps of each side of a branch, more than an assembler would rather do under guards.
const SIDE: usize = 24;

/// Rounds of a loop with a branch in it, few and many.
const LOOPS: [u32; 2] = [64, 320];

/// How to measure.
#[derive(clap::Args)]
pub struct Options {
    /// Only what has this in its name.
    #[arg(long, default_value = "")]
    filter: String,
    /// Print the PTX in place of running it.
    #[arg(long)]
    print: bool,
}

/// A chain of operations of one class.
struct Probe {
    /// For the table; several may belong to one class.
    name: &'static str,
    class: OpClass,
    /// The register type of `x`.
    ty: &'static str,
    /// Its value at the start, and those of `a` and `b`, as PTX writes them.
    start: [&'static str; 3],
    /// Steps, taken in turn: PTX of `{x}`, `{a}`, `{b}`, temporaries `{t}` (32 bits), `{u}` (64 bits), `{q}` (a
    /// predicate).
    steps: &'static [&'static str],
    /// Operations of the class in one step, on average over the turns.
    ops: u32,
    /// Further operation of one step, of that class.
    beside: Option<OpClass>,
}

const fn probe(
    name: &'static str,
    class: OpClass,
    ty: &'static str,
    start: [&'static str; 3],
    steps: &'static [&'static str],
) -> Probe {
    Probe { name, class, ty, start, steps, ops: 1, beside: None }
}

const WORDS: [&str; 3] = ["12345", "77", "1013"];
const SINGLE: [&str; 3] = ["0f3FA00000", "0f3F8CCCCD", "0f3F666666"];
const DOUBLE: [&str; 3] = ["0d3FF4000000000000", "0d3FF1999999999999", "0d3FECCCCCCCCCCCCC"];
const HALF: [&str; 3] = ["0x3D00", "0x3C66", "0x3B33"];

/// Probes. The order is that of the table of costs.
fn probes() -> Vec<Probe> {
    use OpClass as C;
    let two = |mut probe: Probe| {
        probe.ops = 2;
        probe
    };
    let beside = |other: OpClass, mut probe: Probe| {
        probe.beside = Some(other);
        probe
    };
    vec![
        probe("add, xor", C::Integer, "b32", WORDS, &["add.u32 {x}, {x}, {a};", "xor.b32 {x}, {x}, {b};"]),
        probe("shl, xor", C::Integer, "b32", WORDS, &["shl.b32 {x}, {x}, {a};", "xor.b32 {x}, {x}, {b};"]),
        probe("min, xor", C::Integer, "b32", WORDS, &["min.u32 {x}, {x}, {a};", "xor.b32 {x}, {x}, {b};"]),
        two(probe(
            "setp, selp",
            C::Integer,
            "b32",
            WORDS,
            &["setp.gt.u32 {q}, {x}, {b};\n selp.u32 {x}, {a}, {b}, {q};"],
        )),
        probe("add, xor", C::Integer64, "b64", WORDS, &["add.u64 {x}, {x}, {a};", "xor.b64 {x}, {x}, {b};"]),
        probe("mad.lo", C::IntegerMul, "b32", WORDS, &["mad.lo.u32 {x}, {x}, {a}, {b};"]),
        beside(
            C::Integer,
            probe("mul.hi", C::IntegerMul, "b32", WORDS, &["mul.hi.u32 {x}, {x}, {a};\n xor.b32 {x}, {x}, {b};"]),
        ),
        probe("mad.lo", C::IntegerMul64, "b64", WORDS, &["mad.lo.u64 {x}, {x}, {a}, {b};"]),
        beside(
            C::Integer,
            probe("div.u32", C::IntegerDiv, "b32", WORDS, &["div.u32 {x}, {b}, {x};\n or.b32 {x}, {x}, 1;"]),
        ),
        beside(
            C::Integer,
            probe("div.s32", C::IntegerDiv, "b32", WORDS, &["div.s32 {x}, {b}, {x};\n or.b32 {x}, {x}, 1;"]),
        ),
        beside(
            C::Integer,
            probe("rem.s32", C::IntegerRem, "b32", WORDS, &["rem.s32 {x}, {b}, {x};\n or.b32 {x}, {x}, 1;"]),
        ),
        beside(
            C::Integer64,
            probe("div.s64", C::IntegerDiv64, "b64", WORDS, &["div.s64 {x}, {b}, {x};\n or.b64 {x}, {x}, 1;"]),
        ),
        probe("popc", C::BitCount, "b32", WORDS, &["popc.b32 {x}, {x};"]),
        probe("clz", C::BitCount, "b32", WORDS, &["clz.b32 {x}, {x};"]),
        probe("fma", C::Float16, "b16", HALF, &["fma.rn.f16 {x}, {x}, {a}, {b};"]),
        probe("add, mul", C::Float32, "f32", SINGLE, &["add.rn.f32 {x}, {x}, {a};", "mul.rn.f32 {x}, {x}, {b};"]),
        probe("fma", C::Float32, "f32", SINGLE, &["fma.rn.f32 {x}, {x}, {a}, {b};"]),
        probe("add, mul", C::Float64, "f64", DOUBLE, &["add.rn.f64 {x}, {x}, {a};", "mul.rn.f64 {x}, {x}, {b};"]),
        probe("fma", C::Float64, "f64", DOUBLE, &["fma.rn.f64 {x}, {x}, {a}, {b};"]),
        probe("div.rn", C::Div32, "f32", SINGLE, &["div.rn.f32 {x}, {a}, {x};"]),
        probe("div.rn", C::Div64, "f64", DOUBLE, &["div.rn.f64 {x}, {a}, {x};"]),
        probe("div.full", C::DivApprox, "f32", SINGLE, &["div.full.f32 {x}, {a}, {x};"]),
        probe("div.approx", C::DivApprox, "f32", SINGLE, &["div.approx.f32 {x}, {a}, {x};"]),
        probe("sqrt.rn", C::Sqrt32, "f32", SINGLE, &["sqrt.rn.f32 {x}, {x};"]),
        probe("sqrt.rn", C::Sqrt64, "f64", DOUBLE, &["sqrt.rn.f64 {x}, {x};"]),
        probe("rcp.rn", C::Rcp32, "f32", SINGLE, &["rcp.rn.f32 {x}, {x};"]),
        probe("rcp.rn", C::Rcp64, "f64", DOUBLE, &["rcp.rn.f64 {x}, {x};"]),
        probe("ex2.approx", C::Special, "f32", SINGLE, &["ex2.approx.f32 {x}, {x};"]),
        probe("ex2.approx.ftz", C::Special, "f32", SINGLE, &["ex2.approx.ftz.f32 {x}, {x};"]),
        probe("lg2.approx", C::Special, "f32", SINGLE, &["lg2.approx.f32 {x}, {x};"]),
        probe("sin.approx", C::Special, "f32", SINGLE, &["sin.approx.f32 {x}, {x};"]),
        beside(
            C::Float32,
            probe(
                "rcp.approx.ftz",
                C::Special,
                "f32",
                SINGLE,
                &["rcp.approx.ftz.f32 {x}, {x};\n add.rn.f32 {x}, {x}, {a};"],
            ),
        ),
        probe("sqrt.approx", C::Special, "f32", SINGLE, &["sqrt.approx.f32 {x}, {x};"]),
        probe("rsqrt.approx", C::Rsqrt, "f32", SINGLE, &["rsqrt.approx.f32 {x}, {x};"]),
        two(probe(
            "f32 to s32 and back",
            C::Convert,
            "f32",
            SINGLE,
            &["cvt.rzi.s32.f32 {t}, {x};\n cvt.rn.f32.s32 {x}, {t};"],
        )),
        two(probe(
            "f64 to s32 and back",
            C::Convert64,
            "f64",
            DOUBLE,
            &["cvt.rzi.s32.f64 {t}, {x};\n cvt.rn.f64.s32 {x}, {t};"],
        )),
        two(probe(
            "f64 to f32 and back",
            C::Convert64,
            "f64",
            DOUBLE,
            &["cvt.rn.f32.f64 {t}, {x};\n cvt.f64.f32 {x}, {t};"],
        )),
        beside(
            C::Integer,
            probe(
                "ballot",
                C::Vote,
                "b32",
                WORDS,
                &["setp.ne.u32 {q}, {x}, {b};\n vote.sync.ballot.b32 {x}, {q}, 0xffffffff;"],
            ),
        ),
        probe("shfl.idx", C::Shuffle, "b32", WORDS, &["shfl.sync.idx.b32 {x}, {x}, {x}, 31, 0xffffffff;"]),
        probe("match.any", C::Match, "b32", WORDS, &["match.any.sync.b32 {x}, {x}, 0xffffffff;"]),
        probe(
            "match.any.b64",
            C::Match,
            "b64",
            WORDS,
            &["match.any.sync.b64 {t}, {x}, 0xffffffff;\n cvt.u64.u32 {x}, {t};"],
        ),
        beside(
            C::Integer,
            probe(
                "match.all",
                C::Match,
                "b32",
                WORDS,
                &["match.all.sync.b32 {t}|{q}, {x}, 0xffffffff;\n selp.b32 {x}, {t}, {b}, {q};"],
            ),
        ),
        probe("redux.add", C::Reduce, "b32", WORDS, &["redux.sync.add.u32 {x}, {x}, 0xffffffff;"]),
        probe("redux.min.s32", C::Reduce, "b32", WORDS, &["redux.sync.min.s32 {x}, {x}, 0xffffffff;"]),
        probe("redux.xor", C::Reduce, "b32", WORDS, &["redux.sync.xor.b32 {x}, {x}, 0xffffffff;"]),
        probe("ld.global, first level", C::LoadGlobal, "b64", NEAR, &["ld.global.ca.u64 {x}, [{x}];"]),
        probe("ld.global, second level", C::LoadGlobal, "b64", NEAR, &["ld.global.cg.u64 {x}, [{x}];"]),
        probe("ld.global, device memory", C::LoadGlobal, "b64", FAR, &["ld.global.cg.u64 {x}, [{x}];"]),
        probe("ld.shared", C::LoadShared, "b32", SHARED, &["ld.shared.u32 {x}, [{x}];"]),
        beside(
            C::Integer64,
            probe("ld.const", C::LoadConst, "b64", CONST, &["ld.const.u64 {u}, [{x}];\n xor.b64 {x}, {x}, {u};"]),
        ),
        probe("atom.exch", C::Atomic, "b64", NEAR, &["atom.global.exch.b64 {x}, [{x}], {x};"]),
        probe("atom.shared.exch", C::AtomicShared, "b32", SHARED, &["atom.shared.exch.b32 {x}, [{x}], {x};"]),
        probe("bar.sync, one warp", C::Barrier, "b32", WORDS, &["bar.sync 0;"]),
        beside(
            C::Integer,
            probe(
                "bar.red.popc, one warp",
                C::BarrierReduce,
                "b32",
                WORDS,
                &["setp.ne.u32 {q}, {x}, {b};\n bar.red.popc.u32 {x}, 0, {q};"],
            ),
        ),
        beside(
            C::Integer,
            probe(
                "bar.red.and, one warp",
                C::BarrierReduce,
                "b32",
                WORDS,
                &["setp.ne.u32 {q}, {x}, {b};\n bar.red.and.pred {q}, 0, {q};\n selp.b32 {x}, {a}, {b}, {q};"],
            ),
        ),
        probe("membar.cta", C::Fence, "b32", WORDS, &["membar.cta;"]),
        probe("membar.gl", C::Fence, "b32", WORDS, &["membar.gl;"]),
        probe("32 sectors, first level", C::LoadGlobal, "b64", WIDE, &["ld.global.ca.u64 {x}, [{x}];"]),
        probe("32 passes over the banks", C::LoadShared, "b32", BANKS, &["ld.shared.u32 {x}, [{x}];"]),
    ]
}

/// Starts that name memory: each of these words stands for an address that [`ptx`] computes.
const NEAR: [&str; 3] = ["near", "0", "0"];
const FAR: [&str; 3] = ["far", "0", "0"];
const SHARED: [&str; 3] = ["shared", "0", "0"];
const CONST: [&str; 3] = ["const", "0", "0"];
const WIDE: [&str; 3] = ["wide", "0", "0"];
const BANKS: [&str; 3] = ["banks", "0", "0"];

/// Cycles of a step of a probe.
#[derive(Clone, Copy)]
struct Measured {
    latency: f64,
    issue: f64,
}

/// Measures everything and prints it beside the model.
pub fn costs(options: &Options) -> Result<()> {
    let probes = probes();
    let chosen = |probe: &&Probe| format!("{} {}", probe.class.name(), probe.name).contains(&options.filter);
    if options.print {
        for probe in probes.iter().filter(chosen) {
            println!("// {}: {}\n{}", probe.class.name(), probe.name, ptx(probe, STEPS[1], 1));
        }
        println!("// branches\n{}", branch_ptx());
        return Ok(());
    }
    let gpu = Gpu::open().context("this machine has no NVIDIA GPU, or no driver for it")?;
    println!("{gpu}");
    println!("cycles; beside them what the model of hopper has\n");
    println!("{:16} {:26} {:>9} {:>9}   {:>9} {:>9}", "class", "what", "latency", "model", "issue", "model");
    let data = Data::new(&gpu)?;
    let references = [OpClass::Integer, OpClass::Integer64, OpClass::Float32].map(|class| {
        let probe = probes.iter().rfind(|probe| probe.class == class && probe.ops == 1 && probe.name != "fma");
        (class, probe.map(|probe| measure(&gpu, &data, probe)))
    });
    let reference = |class: OpClass| {
        let found = references.iter().find(|(known, _)| *known == class);
        found.and_then(|(_, measured)| measured.as_ref()?.as_ref().ok())
    };
    for probe in probes.iter().filter(chosen) {
        let measured = match measure(&gpu, &data, probe) {
            Ok(measured) => measured,
            Err(failure) if failure.is_final() => return Err(failure.into()),
            Err(failure) => {
                println!("{:16} {:26} {failure}", probe.class.name(), probe.name);
                continue;
            }
        };
        let ops = f64::from(probe.ops);
        let beside = probe.beside.and_then(reference).copied().unwrap_or(Measured { latency: 0.0, issue: 0.0 });
        let model = Machine::Hopper.cost(probe.class);
        println!(
            "{:16} {:26} {:9.1} {:>9}   {:9.2} {:>9}",
            probe.class.name(),
            probe.name,
            (measured.latency - beside.latency) / ops,
            model.latency.value,
            (measured.issue - beside.issue) / ops,
            model.issue.value,
        );
    }
    if "branches".contains(&options.filter) {
        branches(&gpu, &data)?;
    }
    Ok(())
}

/// Cycles of a branch per round: both sides alone, and the extra cost of diverged lanes over the two together.
fn branches(gpu: &Gpu, data: &Data<'_>) -> Result<(), Failure> {
    let module = gpu.load(&branch_ptx())?;
    // Lanes that take the first side.
    let round = |mask: u32, empty: u32| -> Result<f64, Failure> {
        let mut least = [f64::MAX; 2];
        for (least, rounds) in least.iter_mut().zip(LOOPS) {
            for _ in 0..REPEATS {
                let mut params = vec![data.clocks.address.to_le_bytes().to_vec()];
                params.extend([mask, empty, rounds, 0].map(|word: u32| word.to_le_bytes().to_vec()));
                module.launch("probe", [1; 3], [32, 1, 1], 0, &params)?;
                let bytes = gpu.read(data.clocks.address, 8)?;
                let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
                *least = least.min(f64::from(word(4).wrapping_sub(word(0))));
            }
        }
        Ok((least[1] - least[0]) / f64::from(LOOPS[1] - LOOPS[0]))
    };
    let (first, second, both, none) = (round(!0, 0)?, round(0, 0)?, round(0x5555_5555, 0)?, round(0, 1)?);
    println!("\na round of a loop with a branch in it");
    println!("{:44} {none:9.1}", "the loop alone");
    println!("{:44} {first:9.1}", "all lanes take the first side");
    println!("{:44} {second:9.1}", "all lanes take the second side");
    println!("{:44} {both:9.1}", "lanes take both sides");
    println!("{:44} {:9.1}", "parting and meeting again", both - first - second + none);
    Ok(())
}

/// A loop with a branch: where clocks go, which lanes take the first side, whether both are left out, rounds, a zero.
fn branch_ptx() -> String {
    let mut text = String::from(
        ".version 7.0\n.target sm_80\n.address_size 64\n\
         .visible .entry probe(.param .u64 p0, .param .u32 p1, .param .u32 p2, .param .u32 p3, .param .u32 p4)\n{\n \
         .reg .b64 %clocks;\n .reg .b32 %mask, %empty, %rounds, %zero, %lane, %x, %begin, %end, %a;\n \
         .reg .pred %mine, %none, %more;\n ld.param.u64 %clocks, [p0];\n ld.param.u32 %mask, [p1];\n \
         ld.param.u32 %empty, [p2];\n ld.param.u32 %rounds, [p3];\n ld.param.u32 %zero, [p4];\n \
         mov.u32 %lane, %tid.x;\n shr.u32 %mask, %mask, %lane;\n and.b32 %mask, %mask, 1;\n \
         setp.ne.u32 %mine, %mask, 0;\n setp.ne.u32 %none, %empty, 0;\n add.u32 %a, %zero, 77;\n \
         add.u32 %x, %lane, %zero;\n mov.u32 %begin, %clock;\nagain:\n @%none bra met;\n @%mine bra one;\n",
    );
    for (label, operation) in [("other", "xor.b32"), ("one", "or.b32")] {
        let _ = writeln!(text, "{label}:");
        for _ in 0..SIDE {
            let _ = writeln!(text, " {operation} %x, %x, %a;\n mad.lo.u32 %x, %x, %a, %x;");
        }
        text += " bra met;\n";
    }
    text + "met:\n sub.u32 %rounds, %rounds, 1;\n setp.ne.u32 %more, %rounds, 0;\n @%more bra again;\n \
            setp.eq.u32 %more, %x, 0xABC;\n @%more bra out;\n mov.u32 %end, %clock;\n \
            st.global.u32 [%clocks], %begin;\n st.global.u32 [%clocks + 4], %end;\nout:\n \
            st.global.u32 [%clocks + 8], %x;\n ret;\n}\n"
}

/// Memory that chains go through.
struct Data<'g> {
    near: crate::driver::Memory<'g>,
    far: crate::driver::Memory<'g>,
    /// Starts of the lines of the far memory, in the order of the chain.
    lines: Vec<u64>,
    /// Lines that launches have seen.
    seen: Cell<usize>,
    clocks: crate::driver::Memory<'g>,
}

impl<'g> Data<'g> {
    fn new(gpu: &'g Gpu) -> Result<Data<'g>, Failure> {
        let mut data = Data {
            near: gpu.allocate(1 << 16)?,
            far: gpu.allocate(FAR_BYTES)?,
            lines: Vec::new(),
            seen: Cell::new(0),
            clocks: gpu.allocate(1 << 16)?,
        };
        // Every word of the near memory points to itself.
        let own: Vec<u8> = (0..1 << 13).flat_map(|word: u64| (data.near.address + 8 * word).to_le_bytes()).collect();
        gpu.write(data.near.address, &own)?;
        // Lines of the far memory in an order that no prefetcher guesses, in one ring.
        let line = FAR_BYTES / FAR_LINES;
        let mut order: Vec<usize> = (0..FAR_LINES).collect();
        let mut state = 88_172_645_463_325_252_u64;
        for at in (1..FAR_LINES).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(at, (state % (at as u64 + 1)) as usize);
        }
        let mut bytes = vec![0_u8; FAR_BYTES];
        for (at, &from) in order.iter().enumerate() {
            let to = order[(at + 1) % FAR_LINES];
            let place = from * line;
            bytes[place..place + 8].copy_from_slice(&(data.far.address + (to * line) as u64).to_le_bytes());
        }
        gpu.write(data.far.address, &bytes)?;
        data.lines = order.iter().map(|&at| data.far.address + (at * line) as u64).collect();
        // What has been written last lies in the second level: let it be something else.
        let other = gpu.allocate(FAR_BYTES)?;
        gpu.write(other.address, &vec![0; FAR_BYTES])?;
        Ok(data)
    }
}

impl Data<'_> {
    /// A line of the far memory from which on nothing has been read, and marks as read what one launch reads.
    fn fresh_line(&self) -> u64 {
        let at = self.seen.get();
        self.seen.set(at + (ROUNDS * STEPS[1]) as usize);
        self.lines[at % self.lines.len()]
    }
}

fn measure(gpu: &Gpu, data: &Data<'_>, probe: &Probe) -> Result<Measured, Failure> {
    let mut latency = [f64::MAX; 2];
    let mut issue = [f64::MAX; 2];
    for (at, steps) in STEPS.into_iter().enumerate() {
        for (warps, chains, least) in [(1, 1, &mut latency[at]), (WARPS, CHAINS, &mut issue[at])] {
            let module = gpu.load(&ptx(probe, steps, chains))?;
            for _ in 0..REPEATS {
                let params = [
                    data.clocks.address,
                    data.near.address,
                    if probe.start[0] == "far" { data.fresh_line() } else { 0 },
                ]
                .map(u64::to_le_bytes);
                let mut params: Vec<Vec<u8>> = params.iter().map(|bytes| bytes.to_vec()).collect();
                params.push(0_u32.to_le_bytes().to_vec());
                params.push(ROUNDS.to_le_bytes().to_vec());
                module.launch("probe", [1; 3], [32 * warps, 1, 1], 0, &params)?;
                let bytes = gpu.read(data.clocks.address, 8 * warps as usize)?;
                let word = |at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().expect("four bytes"));
                let begin = (0..warps as usize).map(|warp| word(2 * warp));
                let end = (0..warps as usize).map(|warp| word(2 * warp + 1));
                // The clock wraps at 32 bits; all of a block's readings lie close together.
                let base = word(0);
                let first = begin.map(|clock| clock.wrapping_sub(base).cast_signed()).min().unwrap_or(0);
                let last = end.map(|clock| clock.wrapping_sub(base).cast_signed()).max().unwrap_or(0);
                *least = least.min(f64::from(last - first));
            }
        }
    }
    let between = f64::from(STEPS[1] - STEPS[0]);
    let issued = f64::from(WARPS / SCHEDULERS) * CHAINS as f64 * between;
    Ok(Measured { latency: (latency[1] - latency[0]) / between, issue: (issue[1] - issue[0]) / issued })
}

/// The kernel of a probe: parameters are where clocks go, near and far memory, a zero, and how many rounds.
fn ptx(probe: &Probe, steps: u32, chains: usize) -> String {
    let ty = probe.ty;
    let mut text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .const .align 16 .b8 constants[64];\n\
         .visible .entry probe(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u32 p3, .param .u32 p4)\n{{\n \
         .reg .b64 %clocks, %data, %far, %u<4>, %address;\n .reg .b32 %zero, %rounds, %t<4>, %begin, %end, %lane, \
         %warp, %hang, %part;\n .reg .pred %q, %more;\n .reg .{ty} %x<4>, %a, %b, %last;\n \
         .shared .align 16 .b32 tile[1024];\n \
         ld.param.u64 %clocks, [p0];\n ld.param.u64 %data, [p1];\n ld.param.u64 %far, [p2];\n \
         ld.param.u32 %zero, [p3];\n ld.param.u32 %rounds, [p4];\n mov.u32 %lane, %tid.x;\n \
         shr.u32 %warp, %lane, 5;\n and.b32 %lane, %lane, 31;\n \
         mul.lo.u32 %part, %lane, %zero;\n"
    );
    // Operands are values that the assembler cannot know, nor that all lanes have the same: a zero hangs on the lane.
    let hidden = |register: &str, value: &str| match ty {
        "b16" => format!(" cvt.u16.u32 {register}, %part;\n xor.b16 {register}, {register}, {value};\n"),
        "b32" => format!(" xor.b32 {register}, %part, {value};\n"),
        "b64" => format!(" cvt.u64.u32 {register}, %part;\n xor.b64 {register}, {register}, {value};\n"),
        "f32" => format!(" cvt.rn.f32.u32 {register}, %part;\n add.rn.f32 {register}, {register}, {value};\n"),
        _ => format!(" cvt.rn.f64.u32 {register}, %part;\n add.rn.f64 {register}, {register}, {value};\n"),
    };
    text += &hidden("%a", probe.start[1]);
    text += &hidden("%b", probe.start[2]);
    let start = |register: &str| match probe.start[0] {
        "near" => format!(" mov.b64 {register}, %data;\n"),
        "far" => format!(" mov.b64 {register}, %far;\n"),
        // Each lane has a sector of its own.
        "wide" => format!(" mad.wide.u32 {register}, %lane, 32, %data;\n"),
        "const" => format!(" mov.u64 {register}, constants;\n"),
        "shared" => format!(" mov.u32 {register}, tile;\n st.shared.u32 [{register}], {register};\n"),
        // Each lane has the same bank.
        "banks" => format!(
            " mov.u32 {register}, tile;\n mad.lo.u32 {register}, %lane, 128, {register};\n \
             st.shared.u32 [{register}], {register};\n"
        ),
        value => hidden(register, value),
    };
    (0..chains).for_each(|chain| text += &start(&format!("%x{chain}")));
    text += "again:\n bar.sync 0;\n mov.u32 %begin, %clock;\n and.b32 %hang, %begin, %zero;\n";
    for chain in 0..chains {
        // The chain hangs on the first clock.
        let _ = match ty {
            "b16" => {
                writeln!(text, " {{\n .reg .b16 %h;\n cvt.u16.u32 %h, %hang;\n xor.b16 %x{chain}, %x{chain}, %h;\n }}")
            }
            "b32" => writeln!(text, " xor.b32 %x{chain}, %x{chain}, %hang;"),
            "b64" => writeln!(text, " cvt.u64.u32 %address, %hang;\n xor.b64 %x{chain}, %x{chain}, %address;"),
            "f32" => writeln!(
                text,
                " {{\n .reg .b32 %h;\n mov.b32 %h, %x{chain};\n xor.b32 %h, %h, %hang;\n mov.b32 %x{chain}, %h;\n }}"
            ),
            _ => writeln!(
                text,
                " {{\n .reg .b64 %h, %g;\n mov.b64 %h, %x{chain};\n cvt.u64.u32 %g, %hang;\n xor.b64 %h, %h, %g;\n \
                 mov.b64 %x{chain}, %h;\n }}"
            ),
        };
    }
    for step in 0..steps {
        for chain in 0..chains {
            let line = probe.steps[step as usize % probe.steps.len()]
                .replace("{x}", &format!("%x{chain}"))
                .replace("{a}", "%a")
                .replace("{b}", "%b")
                .replace("{t}", &format!("%t{chain}"))
                .replace("{u}", &format!("%u{chain}"))
                .replace("{q}", "%q");
            let _ = writeln!(text, " {line}");
        }
    }
    // The second clock stands behind a branch that hangs on all chains.
    let other = if ty == "b16" { "b16" } else { ty };
    for chain in 0..chains {
        let _ = match ty {
            "f32" | "f64" => writeln!(text, " setp.eq.{ty} %q, %x{chain}, 0{}\n @%q bra out;", zero(ty)),
            _ => writeln!(text, " setp.eq.{other} %q, %x{chain}, 0xABC;\n @%q bra out;"),
        };
    }
    text +=
        " mov.u32 %end, %clock;\n sub.u32 %rounds, %rounds, 1;\n setp.ne.u32 %more, %rounds, 0;\n @%more bra again;\n";
    text += "out:\n mad.wide.u32 %address, %warp, 8, %clocks;\n st.global.u32 [%address], %begin;\n \
             st.global.u32 [%address + 4], %end;\n";
    // Results that nobody reads would be computed by nobody.
    for chain in 0..chains {
        let _ = writeln!(text, " st.global.{ty} [%clocks + {}], %x{chain};", 32768 + 8 * chain);
    }
    text + " ret;\n}\n"
}

/// The number nothing of a chain becomes, as PTX writes it after a zero.
fn zero(ty: &str) -> &'static str {
    if ty == "f32" { "fC2280000;" } else { "dC045000000000000;" }
}
