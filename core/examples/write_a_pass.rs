//! Writes a pass and runs it: `cargo run --example write_a_pass`.
//!
//! ```text
//! x = mul.u32 a, 8        x = shl.u32 a, 3
//! ```

use warpscope_core::ir::{InstData, Op, Opcode, Operand};
use warpscope_core::pass::{Pass, PassEntry, PassError, PassInfo, Settings, run_pass};
use warpscope_core::trace::{NoTrace, Remark};
use warpscope_core::view::View;
use warpscope_core::{find_kernel, parse, print};

/// Multiplications by a power of two become shifts.
struct ShiftForMultiply;

impl Pass for ShiftForMultiply {
    const INFO: PassInfo = PassInfo {
        name: "shift-for-multiply",
        paper: "Warren, Hacker's Delight, chapter 8",
        summary: "Replaces multiplications by powers of two by shifts.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, _: &Settings) -> Result<(), PassError> {
        let func = view.func();
        let found: Vec<_> = func
            .block_order()
            .flat_map(|block| func.block_insts(block).map(move |inst| (block, inst)))
            .filter_map(|(block, inst)| Some((block, inst, shift_of(&func.insts[inst])?)))
            .collect();
        for (block, inst, data) in found {
            // The reason is built only if somebody keeps it.
            let mut rewrite = view
                .rewrite(|_| Remark::applied("shift", block, "replaced a multiplication by a power of two by a shift"));
            rewrite.replace(inst, data);
        }
        Ok(())
    }
}

/// The shift that does the same as an instruction.
fn shift_of(data: &InstData) -> Option<InstData> {
    let opcode = data.opcode;
    let is_multiplication = opcode.op == Op::Mul && opcode.ty.is_integer() && opcode.ty.bits() == 32;
    let [value, Operand::Const(factor)] = data.args.as_slice() else { return None };
    if !is_multiplication || !factor.is_power_of_two() {
        return None;
    }
    let mut shifted = data.clone();
    shifted.opcode = Opcode { op: Op::Shl, ..opcode };
    shifted.args = [value.clone(), Operand::Const(factor.trailing_zeros().into())].into_iter().collect();
    Some(shifted)
}

fn main() -> Result<(), String> {
    let source = "kernel k(x: ptr.global) {
entry:
    i = mov.u32 %tid
    a = mul.u32 i, 8
    b = mul.u32 a, 3
    st.global.u32 x[i], b
    ret
}
";
    let mut module = parse(source).map_err(|errors| errors[0].message.clone())?;
    let kernel = find_kernel(&module, None).map_err(|error| error.message)?;
    let pass = PassEntry::of::<ShiftForMultiply>();
    let (rewrites, result) = run_pass(&mut module, kernel, &pass, &pass.default_settings(), &mut NoTrace);
    result.map_err(|error| error.message)?;
    println!("{rewrites} rewritten\n{}", print(&module));
    Ok(())
}
