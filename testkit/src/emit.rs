//! Writes a recipe as `.wir` text.
//!
//! ```text
//! If { condition: !p1, on_true: [Compute …], on_false: [] }
//! ──▶     br !p1, n4, n5
//!     n4:
//!         u2 = add.u32 u0, 1
//!         br n6
//!     n5:
//!         br n6
//!     n6:
//! ```
//!
//! Each type has a pool of registers, all assigned in the entry block, that statements overwrite freely; other results
//! go to registers of their own (`v1`, `v2`, …), which only statements that they dominate read. A thread's part of the
//! writable buffers is [`SLOTS`] elements that begin at the element `g`.

use std::fmt::Write;

use crate::body::Emitter;
use crate::operations::Kind;
use crate::recipe::{LaunchRecipe, Recipe, Statement};
use crate::warps;

/// Elements of each writable buffer that a thread has for itself.
const SLOTS: u32 = 16;
/// Elements of the buffer that is only read.
const INPUT_LEN: u32 = 64;
/// Threads a block: whole warps, parts of one, a single thread.
const BLOCK_SIZES: [u32; 7] = [1, 5, 8, 20, 32, 40, 64];
/// Lanes a warp.
const WARP_SIZES: [u32; 3] = [8, 16, 32];

/// The program as text.
pub fn program(recipe: &Recipe) -> String {
    let mut text = String::from(TABLE);
    text.push_str(&helper(&recipe.helper));
    text.push_str(SPLIT);
    text.push_str(&kernel(recipe));
    launch(&mut text, &recipe.launch);
    text
}

/// A kernel of about `instructions` instructions, with the statements that `next` gives.
pub fn long_program(instructions: usize, mut next: impl FnMut() -> Statement, launch_recipe: &LaunchRecipe) -> String {
    let mut emitter = Emitter::new(false);
    while emitter.instructions() < instructions {
        emitter.statement(&next());
    }
    let mut text = String::from(TABLE);
    text.push_str(&helper(&[]));
    text.push_str(SPLIT);
    text.push_str(&finish_kernel(emitter, 0, u32::MAX));
    launch(&mut text, launch_recipe);
    text
}

const TABLE: &str = "const table: f32[8] = { 1.0, 0.5, -2.0, 0.0, 3.0, -0.0, 1e10, 7.25 }\n\n";

const SPLIT: &str = "\
func split(a: u32) -> u32 {
entry:
    odd = and.b32 a, 1
    p = setp.ne.u32 odd, 0
    half = shr.u32 a, 1
    br p, up, down
up:
    up_value = add.u32 half, 1
    ret.1 up_value
down:
    ret.0 half
}

";

fn helper(statements: &[Statement]) -> String {
    let mut emitter = Emitter::new(true);
    emitter.statements(statements);
    emitter.line("result = add.f32 f0, f1");
    emitter.line("ret result");
    let mut text = String::from("func helper(a: u32, b: f32) -> f32 {\nentry:\n");
    for (kind, first) in
        [(Kind::U32, "a"), (Kind::S32, "a"), (Kind::F32, "b"), (Kind::F64, "1.5"), (Kind::U64, "7"), (Kind::Pred, "")]
    {
        let (prefix, count) = kind.pool();
        for index in 0..count {
            let definition = match (kind, index) {
                (Kind::Pred, _) => format!("setp.gt.u32 a, {index}"),
                (Kind::S32, 0) => "cvt.s32.u32 a".to_string(),
                (_, 0) => format!("mov.{} {first}", kind.type_name()),
                (Kind::F32 | Kind::F64, _) => format!("mov.{} {index}.5", kind.type_name()),
                _ => format!("mov.{} {index}", kind.type_name()),
            };
            let _ = writeln!(text, "    {prefix}{index} = {definition}");
        }
    }
    text + emitter.text() + "}\n\n"
}

fn kernel(recipe: &Recipe) -> String {
    let mut emitter = Emitter::new(false);
    emitter.statements(&recipe.body);
    finish_kernel(emitter, recipe.restrict, recipe.observed)
}

/// Stores the observed registers and puts the opening around the body.
fn finish_kernel(mut emitter: Emitter, restrict: u8, observed: u32) -> String {
    let mut slot = 0;
    for kind in Kind::ALL {
        let (prefix, count) = kind.pool();
        for index in 0..count {
            if observed >> slot & 1 == 1 {
                emitter.observe(kind, &format!("{prefix}{index}"), slot);
            }
            slot += 1;
        }
    }
    emitter.line("ret");
    let pointer = |bit: u8| if restrict >> bit & 1 == 1 { "ptr.global restrict" } else { "ptr.global" };
    let mut text = format!(
        "kernel k(n: u32, m: s32, z: f32, params: f32[4], x: {}, a: {}, b: {}, c: ptr.global, o: ptr.global) {{\n",
        pointer(0),
        pointer(1),
        pointer(2)
    );
    text.push_str(
        "    input coin: pred
    input level: u32 uniform
    input noise: f32
    shared board: u32[64]
    local own: f32[16]
entry:
    tid = mov.u32 %tid
    thread = mad.u32 %ctaid, %ntid, %tid
    g = shl.b32 thread, 4
    go = shl.b32 thread, 5
    ga = mad.wide.u32 g, 4, a
    gb = mad.wide.u32 g, 4, b
    u0 = mov.u32 n
    u1 = mov.u32 %tid
    u2 = ld.global.u32 b[g]
    u3 = mov.u32 0
    u4 = mov.u32 thread
    s0 = mov.s32 m
    s1 = cvt.s32.u32 thread
    s2 = mov.s32 -1
    i0 = and.b32 thread, 63
    f0 = mov.f32 z
    f1 = ld.global.f32 x[i0]
    f2 = ld.global.f32 x[i0]
    f3 = mov.f32 0.0
    f4 = mov.f32 1.0
    d0 = cvt.f64.f32 z
    d1 = mov.f64 0.1
    w0 = cvt.u64.u32 n
    w1 = mul.wide.u32 thread, 3
    p0 = setp.lt.u32 thread, n
    p1 = setp.gt.f32 f1, 0.0
    p2 = setp.eq.u32 n, 7
    p3 = in.pred coin
    gs = selp.b64 ga, gb, p1
",
    );
    // A third of the programs has no profile.
    let profile = if observed.is_multiple_of(3) { String::new() } else { warps::profile(emitter.text(), observed) };
    text + emitter.text() + &profile + "}\n\n"
}

fn launch(text: &mut String, recipe: &LaunchRecipe) {
    let block = BLOCK_SIZES[usize::from(recipe.block) % BLOCK_SIZES.len()];
    let grid = u32::from(recipe.grid).max(1);
    let threads = grid * block;
    let warp = WARP_SIZES[usize::from(recipe.warp) % WARP_SIZES.len()];
    let statistics = format!("zero 0.{} coherence 0.{}", recipe.zero.min(9), recipe.coherence.min(9));
    let _ = write!(
        text,
        "launch k {{
    grid {grid}
    block {block}
    warp {warp}
    seed {seed}
    n = {n}
    m = -3
    z = 0.75
    params = {{ 1.0, -2.5, 0.0, 4.0 }}
    x = buffer f32[{INPUT_LEN}] random(-1, 1) {statistics}
    a = buffer f32[{len}] random(-2, 2) {statistics}
    b = buffer u32[{len}] random(0, 100) {statistics}
    c = buffer u32[8] const 0
    o = buffer u32[{outputs}] const 0
    coin = draws true 0.5 {statistics}
    level = draws random(0, 3)
    noise = draws random(-1, 1) {statistics}
}}
",
        seed = recipe.seed,
        n = u32::from(recipe.seed % 11) + 3,
        len = threads * SLOTS,
        outputs = threads * 32,
    );
}
