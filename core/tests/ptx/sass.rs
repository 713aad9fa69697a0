//! Lengths of the vendor's code for the CUDA examples: after the pipeline `ptxas` it is no longer than for
//! them as nvcc left them: `ptxas -O1`, and the instructions that `nvdisasm` shows.

use std::path::Path;
use std::process::Command;

use super::assembles::{assemble_with, assembler, exported};
use super::inputs;
use super::redundancy::{EXAMPLES, module, optimised};
use warpscope_core::ptx::import;

/// Examples that have more, with the reason.
const EXCEPTIONS: [(&str, &str, &str); 1] = [(
    "saxpy",
    "O0",
    "`i * 4` in 64 bits, of which nvcc computes one for each address, is shared by two. The machine adds a shifted \
     index \
         to a base in two instructions (`LEA`, `LEA.HI.X`), which with the index's sign makes five; shared, sign and \
         shift \
         are three and each sum two more.",
)];

/// Instructions in machine code at a level of optimisation, without the padding at the end.
fn instructions(ptxas: &Path, level: &str, name: &str, ptx: &str) -> usize {
    let object = assemble_with(ptxas, &[level], name, ptx);
    let nvdisasm = ptxas.with_file_name(format!("nvdisasm{}", std::env::consts::EXE_SUFFIX));
    let run = Command::new(&nvdisasm).arg("-c").arg(&object).output();
    let run = run.unwrap_or_else(|error| panic!("{}: {error}", nvdisasm.display()));
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8_lossy(&run.stdout);
    // `        /*0040*/                   IMAD R0, R0, c[0x0][0x0], R3 ;`
    let found = text.lines().filter_map(|line| line.trim_start().strip_prefix("/*")?.split_once("*/"));
    let count = found.filter(|(_, instruction)| !instruction.trim().starts_with("NOP")).count();
    assert!(count > 5, "{name}: {text}");
    count
}

#[test]
fn machine_code_gets_no_longer() {
    let Some(ptxas) = assembler() else { return };
    let mut wrong = Vec::new();
    for name in EXAMPLES {
        for flavour in ["O0", "O3"] {
            let full = format!("{name}.{flavour}");
            let original = inputs::read(&inputs::examples_folder().join(format!("{full}.ptx")));
            let had = instructions(&ptxas, "-O1", &format!("sass.before.{full}"), &original);
            let ours = exported(&full, &optimised(&module(name, flavour)));
            let has = instructions(&ptxas, "-O1", &format!("sass.after.{full}"), &ours);
            let is_exception = EXCEPTIONS.iter().any(|(of, at, _)| (*of, *at) == (name, flavour));
            if is_exception != (has > had) {
                wrong.push(format!("{full}: {had} before, {has} after, an exception: {is_exception}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Written with no pass in between, the examples are no longer than before, where the assembler
/// optimises and where it does not.
#[test]
fn machine_code_is_no_longer_when_it_is_only_written_again() {
    let Some(ptxas) = assembler() else { return };
    let mut wrong = Vec::new();
    for (name, flavour) in EXAMPLES.into_iter().flat_map(|name| [(name, "O0"), (name, "O3")]) {
        let full = format!("{name}.{flavour}");
        let original = inputs::read(&inputs::examples_folder().join(format!("{full}.ptx")));
        let written = exported(&full, &import(&original).module);
        // Structures are passed to its functions by address here, and by value there.
        let is_exception = full == "lighting.O0";
        for level in ["-O0", "-O3"] {
            let had = instructions(&ptxas, level, &format!("sass.read{level}.{full}"), &original);
            let has = instructions(&ptxas, level, &format!("sass.written{level}.{full}"), &written);
            if is_exception != (has > had) {
                wrong.push(format!("{full} {level}: {had} before, {has} after, an exception: {is_exception}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
