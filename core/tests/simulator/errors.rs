//! What ends a launch names the instruction, the thread and the address.

use super::try_run;
use warpscope_core::sim::{ErrorKind, SimError};

fn fails(body: &str, launch: &str) -> SimError {
    let source = format!("kernel k(r: ptr.global) {{\n{body}}}\nlaunch k {{\n{launch}}}\n");
    try_run(&source, &[]).err().unwrap_or_else(|| panic!("it ran\n{source}"))
}

#[test]
fn a_store_outside_names_thread_and_address() {
    let error = fails(
        "entry:\n    i = mad.u32 %ctaid, %ntid, %tid\n    br body\nbody:\n    st.global.u32 r[i], i\n    ret\n",
        "    grid 2\n    block 32\n    r = buffer u32[40] const 0\n",
    );
    assert_eq!(error.kind, ErrorKind::OutOfBounds);
    let place = error.place.as_ref().expect("a place");
    assert_eq!((place.label.as_str(), place.opcode.as_str()), ("body", "st.global.u32"));
    assert_eq!(place.thread, Some(([8, 0, 0], [1, 0, 0])), "the first lane that is outside");
    let address = place.address.expect("an address");
    let text = error.to_string();
    assert!(text.contains(&format!("{address:#x}")) && text.contains("thread (8, 0, 0)"), "{text}");
}

#[test]
fn an_address_that_is_no_multiple_of_the_size() {
    let error = fails(
        "entry:\n    v = ld.global.u32 [r + 2]\n    st.global.u32 r[0], v\n    ret\n",
        "    block 1\n    r = buffer u32[4] const 0\n",
    );
    assert_eq!(error.kind, ErrorKind::Misaligned);
}

#[test]
fn a_barrier_that_half_a_warp_reaches() {
    let error = fails(
        "entry:\n    i = mov.u32 %tid\n    p = setp.lt.u32 i, 16\n    br p, meet, done\nmeet:\n    bar.sync 0\n    br done\n\
         done:\n    ret\n",
        "    block 32\n    r = buffer u32[4] const 0\n",
    );
    assert_eq!(error.kind, ErrorKind::Barrier);
    assert!(error.message.contains("`meet`"), "{error}");
}

#[test]
fn a_barrier_that_one_of_two_warps_reaches() {
    let error = fails(
        "entry:\n    i = mov.u32 %tid\n    p = setp.lt.u32 i, 32\n    br p, meet, done\nmeet:\n    bar.sync 0\n    br done\n\
         done:\n    ret\n",
        "    block 64\n    r = buffer u32[4] const 0\n",
    );
    assert_eq!(error.kind, ErrorKind::Barrier);
    assert!(error.message.contains("`meet`"), "{error}");
}
