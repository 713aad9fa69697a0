//! Calls that lanes may not come back from, and the parts into which they divide blocks.
//!
//! ```text
//! func f: …  exit  …          k:  x = add a, b     part 0
//!                                 call f()         lanes end in f
//!                                 y = add a, b     part 1
//! ```
//!
//! 1. A function may end lanes if it has an `exit`, or calls a function that may.
//! 2. A call of such a function divides its block.
//!
//! Sound: lanes end at an `exit` only, and a call names its callee.
//!
//! Cost: O(program) for a function with calls, O(function) otherwise.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use crate::ir::{Block, Func, Function, Inst, Module, Op};

/// A call in whose callee lanes may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndingCall {
    /// Its place in its block.
    pub place: u32,
    /// The instruction.
    pub inst: Inst,
}

/// The calls of a function in whose callees lanes may end.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EndingCalls {
    /// Those of each block that has any, in order.
    blocks: BTreeMap<Block, Vec<EndingCall>>,
}

impl EndingCalls {
    /// The calls of a function.
    pub fn compute(module: &Module, func: &Function) -> EndingCalls {
        let calls = func.block_order().flat_map(|block| {
            let calls =
                func.block_insts(block).zip(0..).filter_map(|(inst, place)| Some((callee(func, inst)?, inst, place)));
            calls.map(move |(callee, inst, place)| (block, callee, EndingCall { place, inst })).collect::<Vec<_>>()
        });
        let calls: Vec<(Block, Func, EndingCall)> = calls.collect();
        let mut result = EndingCalls::default();
        if !calls.is_empty() {
            let ending = ending_functions(module);
            for (block, _, call) in calls.into_iter().filter(|&(_, callee, _)| ending[callee]) {
                result.blocks.entry(block).or_default().push(call);
            }
        }
        result
    }

    /// The blocks that have such calls, and these in order.
    pub fn blocks(&self) -> impl Iterator<Item = (Block, &[EndingCall])> {
        self.blocks.iter().map(|(&block, calls)| (block, calls.as_slice()))
    }

    /// The calls of a block, in order.
    pub fn of_block(&self, block: Block) -> &[EndingCall] {
        self.blocks.get(&block).map_or(&[], Vec::as_slice)
    }

    /// The part of a block that a place is in: the number of calls before it.
    pub fn part(&self, block: Block, place: u32) -> u32 {
        self.of_block(block).partition_point(|call| call.place < place) as u32
    }
}

/// The function that an instruction calls.
fn callee(func: &Function, inst: Inst) -> Option<Func> {
    func.insts[inst].callee().map(|callee| callee.func)
}

/// The functions in which lanes may end.
fn ending_functions(module: &Module) -> SecondaryMap<Func, bool> {
    let mut ending: SecondaryMap<Func, bool> = SecondaryMap::new();
    let mut callers: SecondaryMap<Func, Vec<Func>> = SecondaryMap::new();
    let mut work = Vec::new();
    for (id, func) in module.funcs.iter() {
        for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
            if func.insts[inst].opcode.op == Op::Exit {
                work.push(id);
            }
            callee(func, inst).into_iter().for_each(|callee| callers[callee].push(id));
        }
    }
    while let Some(func) = work.pop() {
        if !core::mem::replace(&mut ending[func], true) {
            work.extend(&callers[func]);
        }
    }
    ending
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::text::parse;

    /// The places of the ending calls of each function, in the order of the text.
    fn places(source: &str) -> Vec<Vec<u32>> {
        let module = parse(source).module;
        let of = |func: &Function| {
            let calls = EndingCalls::compute(&module, func);
            calls.blocks().flat_map(|(_, calls)| calls.iter().map(|call| call.place)).collect()
        };
        module.funcs.values().map(of).collect()
    }

    #[test]
    fn finds_exits_through_callees_and_recursion() {
        let source = "func leaf() {\na:\n    exit\n}
func middle() {\na:\n    call plain()\n    call leaf()\n    call middle()\n    ret\n}
func plain() {\na:\n    call plain()\n    ret\n}
kernel k() {\na:\n    call plain()\n    call middle()\n    exit\n}
";
        assert_eq!(places(source), [vec![], vec![1, 2], vec![], vec![1]]);
    }

    #[test]
    fn divides_blocks_after_calls() {
        let source = "func f() {\na:\n    exit\n}\nkernel k() {\na:\n    call f()\n    call f()\n    ret\n}\n";
        let module = parse(source).module;
        let kernel = &module.funcs[module.kernels().next().expect("a kernel")];
        let calls = EndingCalls::compute(&module, kernel);
        let block = kernel.block_order().next().expect("a block");
        assert_eq!([0, 1, 2, u32::MAX].map(|place| calls.part(block, place)), [0, 1, 2, 2]);
    }
}
