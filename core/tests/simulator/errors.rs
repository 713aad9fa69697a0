//! Errors of launches name the instruction, the thread and the address.

use super::try_run;
use warpscope_core::sim::{ErrorKind, Settings, SimError};

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

/// PTX ISA, `bar`: the number of threads is a multiple of the warp size.
#[test]
fn a_barrier_for_a_part_of_a_warp() {
    let body = "entry:\n    bar.sync 1, n\n    exit\n";
    let fails = |warp: u32, count: u32| {
        let launch = format!("    block 64\n    warp {warp}\n    n = {count}\n");
        try_run(&format!("kernel k(n: u32) {{\n{body}}}\nlaunch k {{\n{launch}}}\n"), &[]).err()
    };
    for (warp, count) in [(32, 48), (32, 0), (16, 24), (8, 63)] {
        let error = fails(warp, count).unwrap_or_else(|| panic!("{count} threads of warps of {warp}"));
        assert_eq!(error.kind, ErrorKind::Barrier);
        let expected = format!("multiple of the warp's {warp} lanes");
        assert!(error.message.contains(&expected) && error.message.contains(&format!("found {count}")), "{error}");
    }
    for (warp, count) in [(32, 64), (16, 48), (8, 56)] {
        // Whoever comes after the barrier was passed waits for others that never come, but for all
        // of them it is passed.
        let error = fails(warp, count);
        assert_eq!(error.is_none(), count == 64, "{error:?}");
    }
}

/// A block of forty threads has two warps; the second counts as a whole one.
#[test]
fn a_warp_with_fewer_threads_counts_as_a_whole_one_at_a_barrier() {
    let source = "kernel k(r: ptr.global) {\nentry:\n    bar.sync 1, 64\n    st.global.u32 r[0], 7\n    exit\n}\n\
                  launch k {\n    block 40\n    r = buffer u32[1] const 0\n}\n";
    let outcome = try_run(source, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.buffer("r"), [7]);
}

#[test]
fn accesses_beside_their_memory_say_how_far() {
    let cases = [
        ("v = ld.global.u32 x[8]", "out-of-bounds load of 4 bytes: byte 32 of `x` (32 bytes)"),
        ("v = ld.global.u32 x[-1]", "byte -4 of `x` (32 bytes)"),
        ("st.global.v4.u32 x[6], {1, 2, 3, 4}", "out-of-bounds store of 16 bytes: byte 24 of `x`"),
        ("v = atom.global.add.u32 x[100], 1", "out-of-bounds atomic of 4 bytes: byte 400 of `x`"),
        ("v = ld.global.u32 [64]", "out-of-bounds"),
        ("st.shared.u32 t[4], 1", "byte 16 of shared memory"),
        ("v = ld.local.u32 own[4]", "out-of-bounds"),
        ("v = ld.param.u32 a[4]", "out-of-bounds"),
        ("p = mov.u64 t\n    v = ld.global.u32 [p]", "out-of-bounds"),
        ("p = add.u64 x, 0\n    v = ld.shared.u32 [p]", "out-of-bounds"),
    ];
    for (access, message) in cases {
        let source = format!(
            "kernel k(x: ptr.global, a: u32[4]) {{\n    shared t: u32[4]\n    local own: u32[4]\nentry:\n    \
             {access}\n    ret\n}}\n\
             launch k {{\n    x = buffer u32[8] iota\n    a = {{ 1 }}\n}}\n"
        );
        let error = try_run(&source, &[]).err().unwrap_or_else(|| panic!("`{access}` ran"));
        assert_eq!(error.kind, ErrorKind::OutOfBounds, "{access}");
        assert!(error.message.contains(message), "{access}: {error}");
        let place = error.place.as_ref().expect("a place");
        assert!(place.address.is_some() && place.thread == Some(([0; 3], [0; 3])), "{access}: {error}");
    }
}

#[test]
fn read_only_memory_is_not_written() {
    for (access, kind) in [
        ("p = mov.u64 c\n    st.u32 [p], 1", ErrorKind::ReadOnly),
        ("p = mov.u64 c\n    v = atom.add.u32 [p], 1", ErrorKind::ReadOnly),
        ("p = mov.u64 a\n    st.u32 [p], 1", ErrorKind::ReadOnly),
    ] {
        let source = format!(
            "const c: u32[1] = {{ 1 }}\nkernel k(a: u32[4]) {{\nentry:\n    {access}\n    ret\n}}\nlaunch k {{\n    a \
             = {{ 1 }}\n}}\n"
        );
        let error = try_run(&source, &[]).err().unwrap_or_else(|| panic!("`{access}` ran"));
        assert_eq!(error.kind, kind, "{access}: {error}");
    }
}

/// Lanes that have ended never come; neither do those that wait at another barrier, or on the other side of a branch.
#[test]
fn barriers_that_are_never_passed_name_their_block() {
    let half = "    i = mov.u32 %tid\n    p = setp.lt.u32 i, 16\n    q = setp.lt.u32 i, 32\n";
    let cases = [
        ("    br q, here, there\nhere:\n    bar.sync 1\n    br done\nthere:\n    bar.sync 2\n    br done\n", "here"),
        ("    bar.sync 3, 96\n    br done\n", "entry"),
        ("    @p bar.sync 3, 64\n    br done\n", "entry"),
        ("    br q, again, done\nagain:\n    bar.sync 4, 64\n    br again\n", "again"),
    ];
    for (blocks, label) in cases {
        let error =
            fails(&format!("entry:\n{half}{blocks}done:\n    ret\n"), "    block 64\n    r = buffer u32[4] const 0\n");
        assert_eq!(error.kind, ErrorKind::Barrier, "{blocks}");
        assert!(error.message.contains(&format!("`{label}`")), "{blocks}: {error}");
        assert_eq!(error.place.map(|place| place.label).as_deref(), Some(label), "{blocks}");
    }
    // A barrier in a function names the function's block.
    let error = try_run(
        "func wait() {\ninside:\n    bar.sync 1, 64\n    ret\n}\nkernel k() {\nentry:\n    i = mov.u32 %tid\n    \
         p = setp.lt.u32 i, 5\n    br p, some, done\nsome:\n    call wait()\n    br done\ndone:\n    ret\n}\n\
         launch k {\n    block 32\n}\n",
        &[],
    )
    .err()
    .expect("some lanes never call it");
    assert_eq!(error.place.map(|place| (place.function, place.label)), Some(("wait".into(), "inside".into())));
}

#[test]
fn launches_that_do_not_fit_are_refused_with_the_limit() {
    let refused = |kernel: &str, launch: &str, settings: &[&str]| {
        let source = format!("kernel k({kernel}) {{\nentry:\n    ret\n}}\nlaunch k {{\n{launch}}}\n");
        let error = try_run(&source, settings).err().unwrap_or_else(|| panic!("it ran\n{source}"));
        (error.kind, error.message)
    };
    let cases: [(&str, &str, &[&str], ErrorKind, &str); 6] = [
        ("", "", &["block=1025"], ErrorKind::Launch, "at most 1024 threads, not 1025"),
        ("", "", &["grid=65535,65535,65535", "block=1024"], ErrorKind::Limit, "16777216 threads"),
        ("", "", &["shared=1000000"], ErrorKind::Limit, "bytes of shared memory"),
        ("n: u32", "", &[], ErrorKind::Launch, "has no value for its parameter `n`"),
        (
            "x: ptr, y: ptr",
            "    x = buffer u64[20000000] iota\n    y = buffer u64[20000000] iota\n",
            &[],
            ErrorKind::Limit,
            "at most 256 MiB in all",
        ),
        ("x: f32[20000]", "    x = { 1 }\n", &[], ErrorKind::Limit, "65536 bytes of parameters"),
    ];
    for (kernel, launch, settings, kind, message) in cases {
        let (found, text) = refused(kernel, launch, settings);
        assert!(found == kind && text.contains(message), "{settings:?} {launch}: {found:?}, {text}");
    }
    let globals: String = (0..40).map(|at| format!("global g{at}: u64[32000000]\n")).collect();
    let source = format!("{globals}kernel k() {{\nentry:\n    ret\n}}\nlaunch k {{\n}}\n");
    assert_eq!(try_run(&source, &[]).err().map(|error| error.kind), Some(ErrorKind::Limit), "ten gigabytes of globals");
}

#[test]
fn local_memory_has_a_limit_and_so_have_calls_that_use_it() {
    let source = |elements: u32, depth: u32| {
        format!(
            "func deep(n: u32) -> u32 {{\n    local own: u32[{elements}]\nentry:\n    st.local.u32 own[1], n\n    \
             p = setp.eq.u32 n, 0\n    br p, end, more\nend:\n    ret n\nmore:\n    m = sub.u32 n, 1\n    s = call \
             deep(m)\n    \
             v = ld.local.u32 own[1]\n    v = add.u32 v, s\n    ret v\n}}\n\
             kernel k(r: ptr.global) {{\nentry:\n    v = call deep({depth})\n    st.global.u32 r[0], v\n    ret\n}}\n\
             launch k {{\n    r = buffer u32[1] const 0\n}}\n"
        )
    };
    // Each call has its own arrays.
    let sum = try_run(&source(4, 20), &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sum.buffer("r"), [210]);
    let error = try_run(&source(1024, 20), &[]).err().expect("20 calls of 4 KiB each");
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(error.message.contains("local memory"), "{error}");
    assert_eq!(try_run(&source(1024, 10), &[]).map(|run| run.buffer("r").to_vec()), Ok(vec![55]));
    let error = try_run(
        "kernel k() {\n    local own: u32[20000]\nentry:\n    st.local.u32 own[0], 1\n    ret\n}\nlaunch k {\n}\n",
        &[],
    )
    .err()
    .expect("80 KB");
    assert!(error.kind == ErrorKind::Limit && error.message.contains("65536 bytes of local memory"), "{error}");
}

/// The allowance counts warp instructions over all warps, and the error says where the run stood.
#[test]
fn fuel_ends_loops_and_recursion_alike() {
    let error =
        fails("entry:\n    br around\naround:\n    br around\n", "    block 64\n    r = buffer u32[1] const 0\n");
    assert_eq!(error.kind, ErrorKind::Fuel);
    assert!(error.message.contains("1000000 warp instructions"), "{error}");
    assert_eq!(error.place.map(|place| place.label).as_deref(), Some("around"));
}

#[test]
fn settings_say_what_they_take() {
    let cases = [
        ("grid=0", "one to three sizes"),
        ("block=4,x", "one to three sizes"),
        ("warp=12", "8, 16 or 32"),
        ("l1=maybe", "`on` or `off`"),
        ("seed=-1", "an integer"),
        ("fuel=many", "an integer"),
        ("x.zero=1.5", "a probability between 0 and 1"),
        ("x.coherence=nan", "a probability between 0 and 1"),
        ("x.other=1", "`true`, `zero` and `coherence`"),
        ("n=five", "a number"),
        ("n", "name=value"),
    ];
    for (text, expected) in cases {
        let error = Settings::default().set(text).expect_err(text);
        assert!(error.contains(expected), "`{text}`: {error}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn a_report_shows_a_limited_amount_of_memory() {
    use warpscope_core::machine::Machine;
    use warpscope_core::report::{Wanted, simulate};
    let source = "kernel k(x: ptr.global) {\nentry:\n    ret\n}\nlaunch k {\n    x = buffer u8[5000000] const 1\n}\n";
    let module = warpscope_core::verify::check(source).module;
    let kernel = module.func_by_name("k").expect("the kernel");
    let run = |dump| {
        let wanted = Wanted { dump, profile: false };
        simulate(&module, kernel, &Settings::default(), Machine::Unit, wanted)
    };
    assert!(run(false).is_ok());
    let error = run(true).expect_err("five million elements");
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(error.message.contains("4194304"), "{error}");
}
