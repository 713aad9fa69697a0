//! Registers that may be read before anything has been assigned to them.
//!
//! ```text
//! entry: br p, a, b                             mov.u32 %x, 0;
//! a:     x = mov.u32 7 ; br b        →      $entry: …
//! b:     st.global.u32 [o], x
//! ```
//!
//! The text IR reads such a register as 0 where no assignment has come by; on a GPU it holds
//! whatever another value left there. So each of them is assigned 0 at the top of the function.
//!
//! A read does not count where each lane that reads has assigned before in the same block: under the guard of the read,
//! also as what `selp` takes under its predicate, or under a guard and its complement.
//!
//! A register that some block reads before it assigns it is followed from the entry on, over blocks
//! that do not assign it, 64 registers at once: a word for each block, the bits of the registers
//! that some path from the entry brings there unassigned. Most are assigned in the entry and
//! followed nowhere. At worst O(64 · edges) word operations for each 64 registers.
//!
//! Source: language of the text IR, section on meaning.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::compact_sort::CompactSort;
use crate::ir::{Block, Function, Guard, InstData, Op, Operand, Reg};

/// The registers, in rising order, without parameters.
pub fn may_be_read_unassigned(func: &Function) -> Vec<Reg> {
    let Some(entry) = func.entry_block() else { return Vec::new() };
    let mut exposures = Exposures::new(func);
    func.block_order().for_each(|block| exposures.block(func, block));
    let Exposures { mut reads, mut assigned_in, .. } = exposures;
    reads.compact_sort();
    assigned_in.compact_sort();
    let mut regs: Vec<Reg> = reads.iter().map(|(reg, _)| *reg).collect();
    regs.dedup();
    let mut search = Search { func, assigned: vec![0; func.blocks.len()], unassigned: vec![0; func.blocks.len()] };
    let (mut reads, mut assigned_in) = (&reads[..], &assigned_in[..]);
    let mut found = Vec::new();
    for batch in regs.chunks(64) {
        let read = take_up_to(&mut reads, batch[batch.len() - 1]);
        let assigned = take_up_to(&mut assigned_in, batch[batch.len() - 1]);
        found.extend(search.found(entry, batch, read, assigned));
    }
    found
}

/// The pairs with registers up to one, which are the first ones.
fn take_up_to<'a>(pairs: &mut &'a [(Reg, Block)], last: Reg) -> &'a [(Reg, Block)] {
    let (taken, rest) = pairs.split_at(pairs.partition_point(|(reg, _)| *reg <= last));
    *pairs = rest;
    taken
}

/// A search from the entry for up to 64 registers.
struct Search<'f> {
    func: &'f Function,
    /// Registers that are assigned in all lanes, a bit for each in each block. All zero between searches.
    assigned: Vec<u64>,
    /// Registers that some path from the entry leaves unassigned, by block. All zero between searches.
    unassigned: Vec<u64>,
}

impl Search<'_> {
    /// Registers of a batch that are unassigned where a block reads them first.
    fn found(&mut self, entry: Block, batch: &[Reg], reads: &[(Reg, Block)], assigned: &[(Reg, Block)]) -> Vec<Reg> {
        let bit = |reg: Reg| batch.binary_search(&reg).ok().map_or(0, |place| 1_u64 << place);
        assigned.iter().for_each(|&(reg, block)| self.assigned[block.index()] |= bit(reg));
        let mut visited = Vec::new();
        let mut work = vec![(entry, u64::MAX >> (64 - batch.len()))];
        while let Some((block, bits)) = work.pop() {
            let known = &mut self.unassigned[block.index()];
            let new = bits & !*known;
            if new == 0 {
                continue;
            }
            if *known == 0 {
                visited.push(block);
            }
            *known |= new;
            let passed = new & !self.assigned[block.index()];
            let last = self.func.block_insts(block).next_back().filter(|_| passed != 0);
            let targets = last.map_or(&[][..], |last| self.func.insts[last].targets());
            work.extend(targets.iter().map(|&target| (target, passed)));
        }
        let mut bits = 0;
        for &(reg, block) in reads {
            bits |= bit(reg) & self.unassigned[block.index()];
        }
        visited.into_iter().for_each(|block| self.unassigned[block.index()] = 0);
        assigned.iter().for_each(|&(_, block)| self.assigned[block.index()] = 0);
        batch.iter().copied().filter(|&reg| bits & bit(reg) != 0).collect()
    }
}

/// Which blocks read a register before they assign it.
struct Exposures {
    params: Vec<bool>,
    /// Register and block, in the order of the text.
    reads: Vec<(Reg, Block)>,
    /// Which blocks assign a register in all lanes, in rising order.
    assigned_in: Vec<(Reg, Block)>,
    /// State of each register in the current block.
    states: SecondaryMap<Reg, State>,
}

/// A register in a block, up to an instruction. What is said in another block does not count.
#[derive(Clone, Default)]
struct State {
    block: Option<Block>,
    /// How often it has been written, which tells a guard's value from an older one.
    writes: u32,
    assigned: Assigned,
    is_exposed: bool,
}

/// In which lanes a register has been assigned.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Assigned {
    #[default]
    Nowhere,
    /// Lanes where a guard held whose register had been written so often.
    Where(Guard, u32),
    Everywhere,
}

impl Exposures {
    fn new(func: &Function) -> Exposures {
        let mut params = vec![false; func.regs.len()];
        func.params.iter().filter_map(|param| param.reg).for_each(|reg| params[reg.index()] = true);
        Exposures { params, reads: Vec::new(), assigned_in: Vec::new(), states: SecondaryMap::new() }
    }

    fn block(&mut self, func: &Function, block: Block) {
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            if let Some(guard) = data.guard {
                self.read(guard.reg, [None; 2], block);
            }
            self.reads_of(data, block);
            for &dst in &data.dsts {
                self.write(dst, data.guard, block);
            }
        }
    }

    /// Registers that an instruction reads besides its guard.
    fn reads_of(&mut self, data: &InstData, block: Block) {
        for (place, arg) in data.args.iter().enumerate() {
            let taken = match (data.opcode.op, data.args.get(2)) {
                (Op::Selp, Some(Operand::Reg(reg))) if place < 2 => Some(Guard { reg: *reg, negated: place == 1 }),
                _ => None,
            };
            let mut regs: Vec<Reg> = Vec::new();
            arg.for_each_reg(&mut |reg| regs.push(reg));
            regs.into_iter().for_each(|reg| self.read(reg, [data.guard, taken], block));
        }
    }

    /// A read that counts only where all of the guards hold.
    fn read(&mut self, reg: Reg, guards: [Option<Guard>; 2], block: Block) {
        if self.params[reg.index()] {
            return;
        }
        let assigned = self.state(reg, block).assigned;
        let is_good = match assigned {
            Assigned::Everywhere => true,
            Assigned::Nowhere => false,
            Assigned::Where(guard, writes) => {
                guards.contains(&Some(guard)) && self.state(guard.reg, block).writes == writes
            }
        };
        let state = self.state(reg, block);
        if !is_good && !core::mem::replace(&mut state.is_exposed, true) {
            self.reads.push((reg, block));
        }
    }

    fn write(&mut self, reg: Reg, guard: Option<Guard>, block: Block) {
        let before = self.state(reg, block).assigned;
        let after = match guard {
            None => Assigned::Everywhere,
            Some(guard) => {
                let now = Assigned::Where(guard, self.state(guard.reg, block).writes);
                let complement = Guard { negated: !guard.negated, ..guard };
                let other = Assigned::Where(complement, self.state(guard.reg, block).writes);
                if before == Assigned::Everywhere || before == other { Assigned::Everywhere } else { now }
            }
        };
        let state = self.state(reg, block);
        state.writes += 1;
        state.assigned = after;
        if after == Assigned::Everywhere && before != after {
            self.assigned_in.push((reg, block));
        }
    }

    fn state(&mut self, reg: Reg, block: Block) -> &mut State {
        let state = &mut self.states[reg];
        if state.block != Some(block) {
            *state = State { block: Some(block), ..State::default() };
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    fn found(body: &str) -> Vec<String> {
        let module = crate::text::parse(&format!("kernel k(n: u32, o: ptr.global) {{\n{body}}}\n")).module;
        let func = module.funcs.values().next().expect("a kernel");
        may_be_read_unassigned(func).into_iter().map(|reg| func.regs[reg].name.clone()).collect()
    }

    #[test]
    fn a_register_is_found_that_some_path_leaves_out() {
        let body = |first: &str| {
            format!(
                "entry:\n    {first}p = setp.eq.u32 n, 0\n    br p, a, b\na:\n    x = mov.u32 7\n    br b\nb:\n    \
                 st.global.u32 o[0], x\n    ret\n"
            )
        };
        assert_eq!(found(&body("")), ["x"]);
        assert!(found(&body("x = mov.u32 1\n    ")).is_empty());
    }

    #[test]
    fn many_registers_are_found_each_for_itself() {
        let each = |line: &dyn Fn(usize) -> String| (0..200).map(line).collect::<String>();
        let body = format!(
            "entry:\n{}    p = setp.eq.u32 n, 0\n    br p, a, b\na:\n{}    br b\nb:\n{}    ret\n",
            each(&|at| if at % 3 == 0 { format!("    x{at} = mov.u32 1\n") } else { String::new() }),
            each(&|at| format!("    x{at} = mov.u32 2\n")),
            each(&|at| format!("    st.global.u32 o[{at}], x{at}\n")),
        );
        let expected: Vec<String> = (0..200).filter(|at| at % 3 != 0).map(|at| format!("x{at}")).collect();
        let mut names = found(&body);
        names.compact_sort_by_key(|name| name[1..].parse::<usize>().expect("a number"));
        assert_eq!(names, expected);
    }

    #[test]
    fn a_loop_that_carries_a_value_begins_with_none() {
        let body = "entry:\n    br again\nagain:\n    x = add.u32 x, n\n    p = setp.lt.u32 x, 9\n    br p, again, \
                    out\n\
                    out:\n    ret\n";
        assert_eq!(found(body), ["x"]);
    }

    #[test]
    fn lanes_that_read_under_the_guard_of_the_assignment_have_assigned() {
        let body =
            |rest: &str| format!("entry:\n    p = setp.eq.u32 n, 0\n    @p x = mov.u32 7\n    {rest}\n    ret\n");
        assert!(found(&body("@p st.global.u32 o[0], x")).is_empty());
        assert!(found(&body("y = selp.u32 x, 1, p")).is_empty());
        assert!(found(&body("@!p x = mov.u32 8\n    st.global.u32 o[0], x")).is_empty());
        assert_eq!(found(&body("st.global.u32 o[0], x")), ["x"]);
        assert_eq!(found(&body("y = selp.u32 1, x, p")), ["x"]);
        assert_eq!(found(&body("p = setp.eq.u32 n, 1\n    @p st.global.u32 o[0], x")), ["x"]);
    }
}
