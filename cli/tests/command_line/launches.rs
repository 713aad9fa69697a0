//! Launches that nobody wrote: derived once, carried along, resized on demand; and the blocks that they leave out.

use serde_json::{Value, json};

use crate::{file, json as answer, stderr, stdout, warpscope};

/// Reads far ahead for nothing: without that load the kernel needs less of `x`.
const READS_AHEAD: &str = "\
kernel k(n: u32, x: ptr.global, y: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    p = setp.lt.u32 i, n
    br p, body, done
body:
    unused = ld.global.u32 x[i + 100]
    a = ld.global.u32 x[i]
    st.global.u32 y[i], a
    br done
done:
    ret
}
";

/// A kernel whose shared array has room for 32 threads.
const BY_BLOCK: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o)
{
    .reg .b32 t, a, b;
    .reg .b64 p, q;
    .reg .pred high;
    .shared .align 4 .b8 s[128];
    ld.param.u64 p, [o];
    mov.u32 t, %tid.x;
    mul.wide.u32 q, t, 4;
    add.s64 p, p, q;
    shl.b32 a, t, 2;
    mov.u32 b, s;
    add.u32 b, b, a;
    st.shared.u32 [b], t;
    mov.u32 a, 0;
    setp.ge.u32 high, t, 16;
    @high bra DONE;
    ld.shared.u32 a, [b+64];
DONE:
    st.global.u32 [p], a;
    ret;
}
";

fn length(result: &Value, buffer: &str) -> usize {
    result["memory"][buffer].as_array().expect("a buffer").len()
}

fn launch_in(text: &str) -> &str {
    &text[text.find("launch ").expect("a launch")..]
}

#[test]
fn opt_prints_the_launch_of_the_source() {
    let before = stdout(&warpscope(&["opt", "-", "--passes", ""], READS_AHEAD));
    let after = stdout(&warpscope(&["opt", "-", "--passes", "dce"], READS_AHEAD));
    assert!(!after.contains("unused") && before.contains("launch k derived {\n"), "{before}");
    assert_eq!(launch_in(&before), launch_in(&after));
    assert!(after.contains("    x = buffer u32[356] random(0, 255)\n"), "{after}");
    // What is printed is run, not derived again.
    let result = answer(&["sim", "-", "--json", "--dump"], &after);
    assert_eq!(length(&result, "x"), 356);
    assert_eq!(result["result_hash"], answer(&["sim", "-", "--json"], READS_AHEAD)["result_hash"]);
}

#[test]
fn launch_out_writes_what_ptx_cannot_hold() {
    let launch = file("launch-out.wir", "");
    let launch = launch.to_str().expect("a plain path");
    let arguments = ["opt", "-", "--passes", "dce", "--emit", "ptx", "--launch-out", launch];
    let ptx = file("launch-out.ptx", &stdout(&warpscope(&arguments, READS_AHEAD)));
    let ptx = ptx.to_str().expect("a plain path");
    let written = std::fs::read_to_string(launch).expect("it was written");
    assert!(written.starts_with("launch k derived {\n"), "{written}");
    let result = answer(&["sim", ptx, "--launch", launch, "--json"], "");
    assert_eq!(result["result_hash"], answer(&["sim", "-", "--json"], READS_AHEAD)["result_hash"]);
    assert_ne!(result["result_hash"], answer(&["sim", ptx, "--json"], "")["result_hash"], "the buffer is shorter");
}

#[test]
fn equiv_takes_the_launch_that_goes_with_a_program() {
    let source = file("reads-ahead.wir", READS_AHEAD);
    let shorter = file("reads-less.wir", &READS_AHEAD.replace("    unused = ld.global.u32 x[i + 100]\n", ""));
    let printed = file("printed.wir", &stdout(&warpscope(&["opt", "-", "--passes", "dce"], READS_AHEAD)));
    let [source, shorter, printed] = [&source, &shorter, &printed].map(|path| path.to_str().expect("a plain path"));
    for (first, second) in [(source, printed), (printed, source)] {
        assert_eq!(warpscope(&["equiv", first, second], "").status.code(), Some(0));
    }
    // Derived from the one that reads less, the buffer is too short for the other.
    let output = warpscope(&["equiv", shorter, source], "");
    assert!(stdout(&output).contains("out-of-bounds"), "{}", stdout(&output));
}

#[test]
fn lines_left_out_of_a_launch_are_derived_and_marked() {
    let partial = format!("{READS_AHEAD}launch k {{\n    grid 2\n    block 16\n    y = buffer u32[40] const 7\n}}\n");
    let text = stdout(&warpscope(&["opt", "-", "--passes", "dce"], &partial));
    assert_eq!(
        launch_in(&text),
        "launch k {\n    grid 2\n    block 16\n    y = buffer u32[40] const 7\n    n = 32 derived\n    x = buffer \
         u32[132] random(0, 255) derived\n}\n"
    );
    // Marked lines follow the sizes, as far as the text still reads; written ones do not.
    let result = answer(&["sim", "-", "--block", "8", "--json", "--dump"], &text);
    assert_eq!((length(&result, "x"), length(&result, "y")), (16, 40));
}

#[test]
fn block_and_grid_resize_derived_buffers() {
    let path = file("by-block.ptx", BY_BLOCK);
    let path = path.to_str().expect("a plain path");
    for threads in [1, 16, 32] {
        let result = answer(&["sim", path, "--block", &threads.to_string(), "--json", "--dump"], "");
        assert_eq!(length(&result, "o"), threads);
    }
    for (options, length_of_y) in [
        (["--block", "128"], 512),
        (["--grid", "9"], 576),
        (["--block", "3,2"], 12),
        // More threads than elements: the launch follows the number.
        (["--set", "n=10"], 10),
    ] {
        let result = answer(&[&["sim", "-", "--json", "--dump"], &options[..]].concat(), READS_AHEAD);
        assert_eq!(length(&result, "y"), length_of_y, "{options:?}");
        assert_eq!(length(&result, "x"), length_of_y + 100, "{options:?}");
    }
}

#[test]
fn an_optimised_program_is_resized_as_its_source() {
    let optimised = stdout(&warpscope(&["opt", "-", "--passes", "dce"], READS_AHEAD));
    for options in [&["--block", "128"][..], &["--grid", "9"], &["--set", "n=10"], &["--block", "8", "--grid", "2"]] {
        let arguments = [&["sim", "-", "--json", "--dump"], options].concat();
        let (before, after) = (answer(&arguments, READS_AHEAD), answer(&arguments, &optimised));
        assert_eq!(before["result_hash"], after["result_hash"], "{options:?}");
        assert_eq!((length(&before, "x"), length(&before, "y")), (length(&after, "x"), length(&after, "y")));
    }
}

#[test]
fn options_of_a_counterexample_reproduce_it() {
    let source = file("counted.wir", READS_AHEAD);
    let wrong =
        READS_AHEAD.replace("    a = ld.global.u32 x[i]\n", "    c = mov.u32 %nctaid\n    a = ld.global.u32 x[c]\n");
    let other = file("counted-wrong.wir", &wrong);
    let [source, other] = [&source, &other].map(|path| path.to_str().expect("a plain path"));
    let verdict = stdout(&warpscope(&["equiv", source, other, "--json"], ""));
    let verdict: Value = serde_json::from_str(&verdict).expect("the output is JSON");
    let found = &verdict["counterexample"];
    let options: Vec<&str> = found["launch"].as_str().expect("options").split_whitespace().collect();
    assert!(options.contains(&"resize=off"), "{found}");
    let printed = file(
        "counted-wrong-launched.wir",
        &format!("{wrong}\n{}", launch_in(&stdout(&warpscope(&["opt", source], "")))),
    );
    let printed = printed.to_str().expect("a plain path");
    let index = found["difference"]["index"].as_u64().expect("an index") as usize;
    for (path, side) in [(source, "a"), (printed, "b")] {
        let result = answer(&[&["sim", path, "--json", "--dump"], &options[..]].concat(), "");
        assert_eq!(result["memory"]["y"][index], found["difference"][side], "{found}");
    }
}

#[test]
fn launches_of_ptx_come_with_the_answer() {
    let ptx = answer(&["opt", "-", "--passes", "dce", "--emit", "ptx", "--json"], READS_AHEAD);
    assert!(ptx["launch"].as_str().is_some_and(|text| text.starts_with("launch k derived {\n")), "{ptx}");
    assert_eq!(answer(&["opt", "-", "--passes", "dce", "--json"], READS_AHEAD)["launch"], Value::Null);
}

#[test]
fn a_written_launch_is_not_resized() {
    let written = format!(
        "{READS_AHEAD}launch k {{\n    block 4\n    n = 4\n    x = buffer u32[104] iota\n    y = buffer u32[4] const \
         0\n}}\n"
    );
    let result = answer(&["sim", "-", "--block", "8", "--json", "--dump"], &written);
    assert_eq!((length(&result, "x"), length(&result, "y")), (104, 4));
    let failed = warpscope(&["sim", "-", "--set", "n=8", "--block", "8"], &written);
    assert!(stderr(&failed).contains("`x` (416 bytes)"), "{}", stderr(&failed));
}

#[test]
fn blocks_that_never_run_are_told() {
    let branches = READS_AHEAD.replace("setp.lt.u32 i, n", "setp.lt.u32 i, 0");
    assert_eq!(answer(&["sim", "-", "--json"], &branches)["unreached"], json!(["body"]));
    assert_eq!(answer(&["sim", "-", "--json"], READS_AHEAD)["unreached"], json!([]));
    let text = stdout(&warpscope(&["sim", "-"], &branches));
    assert!(text.contains("blocks never reached: body\n"), "{text}");
    assert!(!stdout(&warpscope(&["sim", "-"], READS_AHEAD)).contains("never reached"));
    let path = file("unreached.wir", &branches);
    let path = path.to_str().expect("a plain path");
    assert_eq!(answer(&["equiv", path, path, "--json"], "")["unreached"], json!(["body"]));
    let text = stdout(&warpscope(&["equiv", path, path], ""));
    assert!(text.ends_with(&format!("no launch reached these blocks of {path}: body\n")), "{text}");
    // Blocks of functions come with the function's name, in text order, after the kernel's.
    let calls = "\
func f(a: u32) -> u32 {
entry:
    p = setp.eq.u32 a, 7
    br p, seven, other
seven:
    ret 1
other:
    ret 0
}
kernel k(x: ptr.global) {
entry:
    i = mov.u32 %tid
    p = setp.ge.u32 i, 4
    br p, zz, aa
zz:
    exit
aa:
    v = call f(9)
    st.global.u32 x[i], v
    ret
}
launch k {
    block 4
    x = buffer u32[4] const 0
}
";
    assert_eq!(answer(&["sim", "-", "--json"], calls)["unreached"], json!(["zz", "f.seven"]));
}
