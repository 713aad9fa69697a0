//! The laws themselves: each finds what breaks it.

use warpscope_core::ir::Module;
use warpscope_testkit::laws::{self, Memory};

/// A kernel that stores what `line` makes of its thread.
fn storing(line: &str) -> Module {
    let source = format!(
        "kernel k(o: ptr.global) {{\nentry:\n    t = mov.u32 %tid\n    {line}\n    st.global.u32 o[t], r\n    ret\n}}\n"
    );
    laws::well_formed(&source).expect("a program")
}

#[test]
fn other_memory_is_found_after_any_number_of_good_programs() {
    let before = storing("r = add.u32 t, 2");
    let mut memory = Memory::of(&before, false);
    assert_eq!(memory.is_the_same_after(&before), Ok(()));
    assert_eq!(memory.is_the_same_after(&storing("r = add.u32 2, t")), Ok(()));
    // The same in the first thread alone.
    let broken = memory.is_the_same_after(&storing("r = or.b32 t, 2")).expect_err("another program");
    assert!(broken.contains("computes something else"), "{broken}");
    assert_eq!(memory.is_the_same_after(&storing("r = sub.u32 t, -2")), Ok(()));
    memory.is_the_same_after(&storing("r = mov.u32 3")).expect_err("another program");
}
