//! The text: what is printed, parsed and reported.

use warpscope_core::ptx;
use warpscope_core::text::{MAX_NAME_BYTES, MAX_SOURCE_BYTES, print};
use warpscope_core::verify::check;

const SAXPY: &str = "\
// y = a*x + y, guarded
kernel saxpy(n: u32, a: f32, x: ptr.global, y: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    p = setp.lt.u32 i, n
    br p, body, done
body:
    xi = ld.global.f32 x[i]
    yi = ld.global.f32 y[i]
    r = fma.f32 a, xi, yi
    st.global.f32 y[i], r
    br done
done:
    ret
}

launch saxpy {
    grid 4
    block 64
    n = 250
    a = 2.0
    x = buffer f32[256] random(-1, 1) zero 0.5 coherence 0.9
    y = buffer f32[256] iota
}
";

/// Every construct of the language, in canonical form.
const EVERYTHING: &str = include_str!("text/everything.wir");

#[track_caller]
fn canonical(source: &str) -> String {
    let parsed = check(source);
    assert!(parsed.diagnostics.is_empty(), "{}", rendered(source));
    print(&parsed.module)
}

fn rendered(source: &str) -> String {
    check(source).diagnostics.iter().map(|diagnostic| diagnostic.render("t.wir", source)).collect()
}

#[track_caller]
fn assert_fixed_point(source: &str) {
    similar(&canonical(source), source);
}

#[track_caller]
fn similar(found: &str, expected: &str) {
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", number + 1);
    }
    assert_eq!(found.len(), expected.len(), "one text goes on:\n{found}");
}

#[test]
fn saxpy_is_a_fixed_point() {
    assert_fixed_point(SAXPY);
}

#[test]
fn every_construct_is_a_fixed_point() {
    assert_fixed_point(EVERYTHING);
}

#[test]
fn imported_kernels_print_and_parse() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../www/examples/cuda");
    for entry in std::fs::read_dir(folder).expect("the examples are there") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let source = std::fs::read_to_string(&path).expect("readable");
            let module = warpscope_core::ptx::import(&source).module;
            let text = print(&module);
            let checked = check(&text);
            assert!(!checked.has_errors(), "{}:\n{}", path.display(), rendered(&text));
            assert_eq!(print(&checked.module), text, "{}", path.display());
        }
    }
}

#[test]
fn names_and_texts_have_a_longest_length() {
    let codes = |source: &str| check(source).diagnostics.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>();
    let kernel = |name: &str| format!("kernel k() {{\nentry:\n    {name} = mov.u32 1\n    ret\n}}\n");
    assert!(codes(&kernel(&"a".repeat(MAX_NAME_BYTES))).is_empty());
    assert_eq!(codes(&kernel(&"a".repeat(MAX_NAME_BYTES + 1))), ["name-too-long"]);
    let padded = |bytes: usize| SAXPY.to_string() + &" ".repeat(bytes - SAXPY.len());
    assert!(codes(&padded(MAX_SOURCE_BYTES)).is_empty());
    assert_eq!(codes(&padded(MAX_SOURCE_BYTES + 1)), ["text-too-long"]);
    assert_eq!(ptx::import(&padded(MAX_SOURCE_BYTES + 1)).diagnostics[0].code, "text-too-long");
}

/// A guarded barrier is waited for by the threads whose guard holds.
#[test]
fn any_instruction_but_a_terminator_may_be_guarded() {
    for line in
        ["bar.sync 1, 32", "membar.gl", "call f()", "red.global.add.u32 x[0], 1", "v = in.u32 d", "bar.warp.sync 1"]
    {
        let source = format!(
            "kernel k(x: ptr.global) {{\n    input d: u32\nentry:\n    p = setp.lt.u32 %laneid, 3\n    @!p {line}\n    \
             ret\n}}\n\nfunc f() {{\nentry:\n    ret\n}}\n"
        );
        assert!(check(&source).diagnostics.is_empty(), "{}", rendered(&source));
    }
}
