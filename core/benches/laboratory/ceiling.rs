//! Upper bound for a warp interpreter: the arithmetic kernel of [`crate::simulator`] as a loop over a match, written by
//! hand for these ten operations, with a scoreboard and nothing else. No guards, no masks, no other warps to choose
//! from, no counts, no memory: an interpreter that does the work can only come near it.

use std::hint::black_box;

/// The lanes of one register, as bits.
pub type Lanes = [u32; 32];

#[derive(Clone, Copy)]
enum Op {
    Mul,
    AddFloat,
    Min,
    Xor,
    And,
    SubFloat,
    Add,
    SetLess,
    BranchIf,
    Return,
}

#[derive(Clone, Copy)]
struct Inst {
    op: Op,
    d: u8,
    a: u8,
    b: u8,
    c: u8,
    latency: u8,
}

const fn inst(op: Op, [d, a, b, c]: [u8; 4]) -> Inst {
    Inst { op, d, a, b, c, latency: 4 }
}

// Registers, then constants.
const A: u8 = 0;
const S: u8 = 1;
const T: u8 = 2;
const U: u8 = 3;
const W: u8 = 4;
const I: u8 = 5;
const K: u8 = 6;
const M: u8 = 7;
const Q: u8 = 8;
const P: u8 = 9;
const N: u8 = 10;
const QUARTER: u8 = 11;
const FOUR: u8 = 12;
const BYTE: u8 = 13;
const ONE: u8 = 14;
const HALF: u8 = 15;
const LIMIT: u8 = 16;
const REGISTERS: usize = 17;

const PROGRAM: [Inst; 11] = [
    inst(Op::Mul, [T, A, QUARTER, QUARTER]),
    inst(Op::Mul, [U, T, HALF, HALF]),
    inst(Op::AddFloat, [S, U, T, T]),
    inst(Op::Min, [W, S, FOUR, FOUR]),
    inst(Op::Xor, [M, I, K, K]),
    inst(Op::And, [Q, M, BYTE, BYTE]),
    inst(Op::SubFloat, [A, LIMIT, W, W]),
    inst(Op::Add, [K, K, ONE, ONE]),
    inst(Op::SetLess, [P, K, N, N]),
    inst(Op::BranchIf, [P, P, P, P]),
    inst(Op::Return, [0; 4]),
];

/// Counts of one warp.
pub struct Reached {
    /// The register `s`.
    pub s: Lanes,
    /// The register `q`.
    pub q: Lanes,
    /// Instructions.
    pub issued: u64,
}

/// Runs the loop of the kernel for one warp whose first thread has the number `first`.
pub fn run(first: u32, rounds: u32) -> Reached {
    let mut file = [[0u32; 32]; REGISTERS];
    let mut clocks = [0u64; REGISTERS];
    let number: Lanes = core::array::from_fn(|lane| first + lane as u32);
    file[I as usize] = number;
    file[A as usize] = number.map(|value| (value as f32).to_bits());
    for (register, value) in [(S, 1.0f32), (LIMIT, 1.5), (HALF, 0.5), (QUARTER, 0.25), (FOUR, 4.0)] {
        file[register as usize] = [value.to_bits(); 32];
    }
    for (register, value) in [(N, rounds), (BYTE, 255), (ONE, 1)] {
        file[register as usize] = [value; 32];
    }
    let program = black_box(&PROGRAM);
    let (mut pc, mut cycle, mut issued, mut predicate) = (0, 0, 0, 0u32);
    loop {
        let inst = program[pc];
        let [d, a, b, c] = [inst.d, inst.a, inst.b, inst.c].map(usize::from);
        cycle = clocks[a].max(clocks[b]).max(clocks[c]).max(clocks[d]).max(cycle + 1);
        clocks[d] = cycle + u64::from(inst.latency);
        issued += 1;
        pc += 1;
        match inst.op {
            Op::Mul => floats(&mut file, d, a, b, |a, b| a * b),
            Op::AddFloat => floats(&mut file, d, a, b, |a, b| a + b),
            Op::Min => floats(&mut file, d, a, b, |a, b| if a < b { a } else { b }),
            Op::SubFloat => floats(&mut file, d, a, b, |a, b| a - b),
            Op::Xor => words(&mut file, d, a, b, |a, b| a ^ b),
            Op::And => words(&mut file, d, a, b, |a, b| a & b),
            Op::Add => words(&mut file, d, a, b, |a, b| a.wrapping_add(b)),
            Op::SetLess => {
                predicate = (0..32).fold(0, |all, lane| all | u32::from(file[a][lane] < file[b][lane]) << lane);
            }
            Op::BranchIf => pc = if predicate == !0 { 0 } else { pc },
            Op::Return => {
                // The scoreboard's result counts too.
                black_box(cycle);
                return Reached { s: file[S as usize], q: file[Q as usize], issued };
            }
        }
    }
}

#[inline(always)]
fn words(file: &mut [Lanes; REGISTERS], d: usize, a: usize, b: usize, op: impl Fn(u32, u32) -> u32) {
    let (a, b) = (file[a], file[b]);
    file[d] = core::array::from_fn(|lane| op(a[lane], b[lane]));
}

#[inline(always)]
fn floats(file: &mut [Lanes; REGISTERS], d: usize, a: usize, b: usize, op: impl Fn(f32, f32) -> f32) {
    words(file, d, a, b, |a, b| op(f32::from_bits(a), f32::from_bits(b)).to_bits());
}
