//! From what a person typed to a program with launches.

use warpscope_core::derive;
use warpscope_core::ir::{Func, Item, Launch, Module, Span};
use warpscope_core::load::{self, Dialect};
use warpscope_core::sim;
use warpscope_core::text::{self, LineIndex};

use crate::message::{Diagnostic, Language};

/// A program as far as it could be read.
pub struct Loaded {
    /// Language of the source.
    pub language: Language,
    /// The program; parts with mistakes are missing.
    pub module: Module,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the program may be used.
    pub is_usable: bool,
    /// Whether nobody wrote the launch.
    pub launch_is_derived: bool,
    /// Whether somebody wrote launches, but for kernels of another program.
    pub launch_is_foreign: bool,
}

/// Reads source and launch. Launches of the second text replace those of the first.
pub fn load(source: &str, launch: &str) -> Loaded {
    let language = language_of(source);
    let loaded = load::load(source, Dialect::of(source));
    let mut diagnostics = describe(&loaded.diagnostics, source, false);
    let (mut module, mut is_usable) = (loaded.module, loaded.is_usable);
    let mut launch_is_foreign = false;
    if !launch.trim().is_empty() {
        let parsed = text::parse(launch);
        let of_launch = describe(&parsed.diagnostics, launch, true);
        is_usable &= of_launch.iter().all(|diagnostic| diagnostic.is_warning);
        diagnostics.extend(of_launch);
        let has_kernel = |launch: &Launch| module.kernels().any(|kernel| module.funcs[kernel].name == launch.kernel);
        let (ours, foreign): (Vec<_>, Vec<_>) =
            sim::launches_for(&module, &parsed.module).into_iter().partition(has_kernel);
        launch_is_foreign = ours.is_empty() && !foreign.is_empty() && module.kernels().next().is_some();
        // A kernel with mistakes may be missing only until they are mended.
        let is_whole = diagnostics.iter().all(|diagnostic| diagnostic.is_warning);
        if let Some(launch) = foreign.first().filter(|_| is_whole) {
            let message = format!("the program has no kernel `{}`, so this launch is not used", launch.kernel);
            diagnostics.push(Diagnostic {
                in_launch: true,
                is_warning: true,
                code: "no-kernel".to_owned(),
                message,
                line: 1,
                column: 1,
                ..Diagnostic::default()
            });
        }
        replace_launches(&mut module, ours);
    }
    let launch_is_derived = is_usable && module.launches.is_empty();
    if is_usable {
        let kernels: Vec<Func> = module.kernels().collect();
        derive::derive_launches(&mut module, &kernels);
    }
    Loaded { language, module, diagnostics, is_usable, launch_is_derived, launch_is_foreign }
}

/// Language of a text.
pub fn language_of(source: &str) -> Language {
    match Dialect::of(source) {
        Dialect::Ptx => Language::Ptx,
        Dialect::Wir => Language::Wir,
    }
}

/// Puts `launches` in the place of the module's own.
pub fn replace_launches(module: &mut Module, launches: Vec<Launch>) {
    module.items.retain(|item| !matches!(item, Item::Launch(_)));
    module.items.extend((0..launches.len()).map(Item::Launch));
    module.launches = launches;
}

/// The text of the launches of a module.
pub fn launch_text(module: &Module) -> String {
    text::print_launches(module.launches.clone())
}

fn describe(diagnostics: &[text::Diagnostic], source: &str, in_launch: bool) -> Vec<Diagnostic> {
    let lines = LineIndex::new(source);
    let describe = |diagnostic: &text::Diagnostic| {
        let Span { start, end } = diagnostic.span;
        let position = lines.position(source, start);
        Diagnostic {
            in_launch,
            is_warning: !diagnostic.is_error(),
            code: diagnostic.code.to_owned(),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone().unwrap_or_default(),
            from: utf16_offset(source, start),
            to: utf16_offset(source, end),
            line: position.line as usize,
            column: position.column as usize,
        }
    };
    diagnostics.iter().map(describe).collect()
}

/// The number of UTF-16 units before a byte: what JavaScript counts.
pub fn utf16_offset(source: &str, byte: u32) -> usize {
    let end = (byte as usize).min(source.len());
    source.char_indices().take_while(|(at, _)| *at < end).map(|(_, character)| character.len_utf16()).sum()
}
