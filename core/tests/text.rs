//! The text: what is printed, parsed and reported.

use warpscope_core::text::print;
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
