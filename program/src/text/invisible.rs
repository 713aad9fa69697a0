//! Names of the characters that nobody sees: spaces that are not ASCII, zero-width characters, controls.
//!
//! Word processors, chat programs and web pages put them into a copied program or link. In a program, spaces are read
//! as such, with a warning; the others are errors, as the words around them may be meant as one.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::diagnostic::{Diagnostic, Diagnostics, LineIndex};
use crate::ir::Span;

/// The name of a character without a visible shape, as `no-break space`; None for ASCII white space and everything
/// visible.
///
/// Source: Unicode 16, the properties White_Space, Default_Ignorable_Code_Point and General_Category=Cc.
pub fn invisible_name(character: char) -> Option<&'static str> {
    Some(match character {
        '\t' | '\n' | '\r' | ' ' | '\u{B}' | '\u{C}' => return None,
        '\0' => "null",
        '\u{1B}' => "escape",
        '\u{7F}' => "delete",
        '\u{85}' => "next line",
        '\0'..='\u{1F}' | '\u{80}'..='\u{9F}' => "control character",
        '\u{A0}' => "no-break space",
        '\u{AD}' => "soft hyphen",
        '\u{34F}' => "combining grapheme joiner",
        '\u{61C}' => "Arabic letter mark",
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => "Hangul filler",
        '\u{1680}' => "Ogham space mark",
        '\u{17B4}' | '\u{17B5}' => "Khmer inherent vowel",
        '\u{180B}'..='\u{180F}' => "Mongolian variation selector",
        '\u{2000}' => "en quad",
        '\u{2001}' => "em quad",
        '\u{2002}' => "en space",
        '\u{2003}' => "em space",
        '\u{2004}' => "three-per-em space",
        '\u{2005}' => "four-per-em space",
        '\u{2006}' => "six-per-em space",
        '\u{2007}' => "figure space",
        '\u{2008}' => "punctuation space",
        '\u{2009}' => "thin space",
        '\u{200A}' => "hair space",
        '\u{200B}' => "zero-width space",
        '\u{200C}' => "zero-width non-joiner",
        '\u{200D}' => "zero-width joiner",
        '\u{200E}' => "left-to-right mark",
        '\u{200F}' => "right-to-left mark",
        '\u{2028}' => "line separator",
        '\u{2029}' => "paragraph separator",
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => "text direction control",
        '\u{202F}' => "narrow no-break space",
        '\u{205F}' => "medium mathematical space",
        '\u{2060}' => "word joiner",
        '\u{2061}'..='\u{2064}' => "invisible operator",
        '\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{FFF0}'..='\u{FFF8}' => "ignorable character",
        '\u{3000}' => "ideographic space",
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => "variation selector",
        '\u{FEFF}' => "byte order mark",
        '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' => "format control",
        '\u{E0000}'..='\u{E00FF}' | '\u{E01F0}'..='\u{E0FFF}' => "tag character",
        _ => return None,
    })
}

/// Reports the invisible characters at `places`, each kind once, at the first.
pub fn report_invisible(source: &str, places: &[Span], diagnostics: &mut Diagnostics) {
    let mut kinds: BTreeMap<char, (Span, usize)> = BTreeMap::new();
    for &place in places {
        if let Some(character) = character_at(source, place) {
            kinds.entry(character).or_insert((place, 0)).1 += 1;
        }
    }
    for (character, (span, count)) in kinds {
        let name = invisible_name(character).unwrap_or_default();
        let more = if count > 1 { format!(", and {} more", count - 1) } else { Default::default() };
        let message = format!("invisible character U+{:04X} {name}{more}", u32::from(character));
        diagnostics.push(match is_space(character) {
            true => Diagnostic::warning("invisible-character", span, message).with_hint("it is read as a space"),
            false => Diagnostic::error("invisible-character", span, message).with_hint("remove it"),
        });
    }
}

/// Removes errors from lines with an invisible character that is itself an error: most follow from it.
pub fn remove_consequences(source: &str, places: &[Span], list: &mut Vec<Diagnostic>) {
    let errors = places.iter().filter(|&&place| !character_at(source, place).is_some_and(is_space));
    let lines = LineIndex::new(source);
    let line_of = |span: Span| lines.position(source, span.start).line;
    let lines_of_errors: Vec<u32> = errors.map(|&place| line_of(place)).collect();
    list.retain(|found| {
        found.code == "invisible-character" || lines_of_errors.binary_search(&line_of(found.span)).is_err()
    });
}

fn character_at(source: &str, place: Span) -> Option<char> {
    source.get(place.start as usize..)?.chars().next()
}

/// Is it a space between words? Line breaks beyond ASCII are none, as no line ends there.
fn is_space(character: char) -> bool {
    character.is_whitespace() && !matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_invisible_characters_have_names() {
        for visible in ['a', '·', 'é', '—', '“', '→', '大', '🧵', ' ', '\t', '\n', '\r'] {
            assert_eq!(invisible_name(visible), None, "{visible:?}");
        }
        let is_space = |character: char| character.is_whitespace() && !character.is_ascii();
        for character in (0..=0x10FFFF).filter_map(char::from_u32).filter(|&c| is_space(c) || c.is_control()) {
            let is_blank = character.is_ascii_whitespace() || character == '\u{B}';
            assert_eq!(invisible_name(character).is_none(), is_blank, "{character:?}");
        }
    }
}
