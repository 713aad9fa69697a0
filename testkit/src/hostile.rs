//! Laws for any bytes at all: nothing panics, nothing runs away, and what is accepted is understood.
//!
//! The fuzz targets call these functions, and so do the tests that replay `corpus/`.

use warpscope_core::ir::Module;
use warpscope_core::pass::{PASSES, Step};
use warpscope_core::text::{Parsed, print};
use warpscope_core::{link, ptx, verify};

use crate::laws;

/// Instructions of a program that is put through the passes; larger ones are only read.
const MOST_INSTRUCTIONS: usize = 2_000;

/// A `.wir` text: errors lie inside it; a good program survives printing and every pass.
pub fn wir(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let parsed = verify::check(source);
    let _ = print(&parsed.module);
    let _ = verify::verify(&parsed.module);
    places_are_inside(source, &parsed);
    if !parsed.has_errors() {
        hold(laws::print_then_parse_is_identity(source).map(drop));
        passes_are_sound(&parsed.module);
    }
}

/// A PTX text: errors lie inside it; what was loaded can be printed, and is a good program unless
/// the verifier says that the PTX itself reads what it never wrote.
pub fn ptx(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let imported = ptx::import(source);
    places_are_inside(source, &imported);
    let mut errors = verify::verify(&imported.module);
    errors.retain(|diagnostic| diagnostic.is_error());
    assert!(errors.iter().all(|error| error.code == "unassigned-read"), "{errors:?}");
    if !errors.is_empty() {
        return;
    }
    hold(laws::print_then_parse_is_identity(&print(&imported.module)).map(drop));
    passes_are_sound(&imported.module);
    let _ = ptx::export(&imported.module);
}

/// A link, or what stands inside one.
pub fn link(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let [first, second] = ["v1.d:", "v2."].map(|version| link::decode(&format!("#{version}{text}")));
    let documents = [link::decode(text), first, second, link::from_json(text)];
    for document in documents.into_iter().flatten() {
        match link::encode(&document) {
            Ok(link) => assert_eq!(link::decode(&link), Ok(document)),
            Err(error) => assert_eq!(error, link::LinkError::TooLarge),
        }
    }
}

fn places_are_inside(source: &str, parsed: &Parsed) {
    for diagnostic in &parsed.diagnostics {
        let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
        assert!(start <= end && end <= source.len(), "{diagnostic:?}");
        assert!(!diagnostic.render("input", source).is_empty());
    }
}

fn passes_are_sound(module: &Module) {
    let instructions: usize = module.funcs.values().map(|func| func.inst_count()).sum();
    if instructions > MOST_INSTRUCTIONS {
        return;
    }
    for pass in PASSES {
        let step = Step::new(pass.info.name).expect("the list knows its passes");
        hold(laws::every_step_is_sound(module, &[step], pass.info.needs_fast_math).map(drop));
    }
}

fn hold(law: laws::Law) {
    if let Err(broken) = law {
        panic!("{broken}");
    }
}
