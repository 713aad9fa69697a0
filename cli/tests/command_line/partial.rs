//! PTX files some of whose kernels cannot be read: what is printed, and how each command ends.

use std::path::PathBuf;
use std::sync::LazyLock;

use super::{file, json, stderr, stdout, warpscope};

const TWO_KERNELS: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry good(.param .u64 good_param_0)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [good_param_0];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 7;
    st.global.u32 [%rd2], %r1;
    ret;
}
.visible .entry bad()
{
    .reg .b32 %r<2>;
    add.u33 %r1, %r1, %r1;
    ret;
}
";

/// Written once: tests that run at the same time read it.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| file("two-kernels.ptx", TWO_KERNELS));

/// How a command ends, what it prints, and whether it says what is wrong with the bad kernel.
fn ends(arguments: &[&str]) -> (Option<i32>, String, bool) {
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|&word| if word == "FILE" { FILE.to_str().expect("a plain path") } else { word })
        .collect();
    let output = warpscope(&arguments, "");
    let tells = stderr(&output).contains("two-kernels.ptx:17:5: error: `.u33` of `add`");
    (output.status.code(), stdout(&output), tells)
}

#[test]
fn what_was_to_work_on_all_of_the_file_prints_the_rest_and_ends_badly() {
    assert_eq!(ends(&["check", "FILE"]), (Some(1), String::new(), true));
    for arguments in [&["fmt", "FILE"][..], &["opt", "FILE", "--passes", "dce"]] {
        let (status, text, tells) = ends(arguments);
        assert_eq!((status, tells), (Some(1), true), "{arguments:?}");
        assert!(text.contains("kernel good(") && !text.contains("bad"), "{text}");
    }
    let (status, lines, tells) = ends(&["trace", "FILE", "--passes", "copy-prop"]);
    assert_eq!((status, tells, lines.lines().count() > 0), (Some(1), true, true));
    let compared = "no difference on 20 launches of the kernels that could be read\n";
    assert_eq!(ends(&["equiv", "FILE", "FILE"]), (Some(1), compared.into(), true));
    let (status, answer, tells) = ends(&["equiv", "FILE", "FILE", "--json"]);
    assert_eq!((status, tells, answer.contains(r#""equivalent":null"#)), (Some(1), true, true), "{answer}");
}

#[test]
fn what_keeps_to_a_good_kernel_ends_well() {
    for arguments in [
        &["sim", "FILE"][..],
        &["sim", "FILE", "--kernel", "good"],
        &["opt", "FILE", "--passes", "dce", "--kernel", "good"],
        &["trace", "FILE", "--passes", "dce", "--kernel", "good"],
        &["equiv", "FILE", "FILE", "--kernel", "good"],
    ] {
        let (status, _, tells) = ends(arguments);
        assert_eq!((status, tells), (Some(0), true), "{arguments:?}");
    }
    assert_eq!(json(&["sim", FILE.to_str().expect("a plain path"), "--json"], "")["kernel"], "good");
}

#[test]
fn asking_for_the_bad_kernel_is_no_slip_of_the_command_line() {
    for command in ["sim", "opt", "trace"] {
        assert_eq!(ends(&[command, "FILE", "--kernel", "bad"]), (Some(1), String::new(), true), "{command}");
    }
}
