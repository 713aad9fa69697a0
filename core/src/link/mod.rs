//! Permalinks: a whole laboratory bench in the fragment of an address.
//!
//! ```text
//! Document ──serde_json──▶ JSON ──wire──▶ #v2.3q2-7w…
//! ```
//!
//! The JSON, every field optional, nothing written that has its default value:
//!
//! ```text
//! { "source":   the program's text,
//!   "dialect":  "wir" | "ptx",
//!   "launch":   the text of the launch tab, for a program without launches,
//!   "pipeline": [ { "pass": "gvn-cse" or "@ptxas", "knobs": { name: value }, "off": true, "phase": "49" }
//!                 or just "gvn-cse", … ],
//!   "fast_math": true if passes may assume what IEEE arithmetic does not promise,
//!   "position": { "pass": the entry of the pipeline, from 1; 0 is the source,
//!                 "event": how many rewrites of that entry are done, those that led here included },
//!   "run":      { "kernel", "machine", "seed", "grid": [x, y, z], "block": [x, y, z], "warp", "fuel",
//!                 "set": { "input.true": "0.3", … } },
//!   "view":     { name: value } }
//! ```
//!
//! A link is an attack until it is read: the payload has a length limit before and after decompression, JSON nests at
//! most 128 deep, and whatever is wrong is a [`LinkError`]. Links outlive versions: unknown fields are ignored, missing
//! ones take their defaults, and `tests/golden/links.jsonl` keeps every shape that was ever written readable. A link
//! that was damaged on its way opens the same document or none.

mod wire;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

pub use crate::load::Dialect;

/// Largest JSON text that a link may hold, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Content of a link: enough to open exactly this bench again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// The program.
    #[serde(skip_serializing_if = "is_default")]
    pub source: String,
    /// Format of the program.
    #[serde(skip_serializing_if = "is_default")]
    pub dialect: Dialect,
    /// Launches that stand beside the program, as `.wir` text.
    #[serde(skip_serializing_if = "is_default")]
    pub launch: String,
    /// The passes in order, those switched off included.
    #[serde(skip_serializing_if = "is_default")]
    pub pipeline: Vec<Stage>,
    /// May passes assume what IEEE arithmetic does not promise, such as `x * 0 = 0`?
    #[serde(skip_serializing_if = "is_default")]
    pub fast_math: bool,
    /// Position of the transport; the end if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub position: Option<Position>,
    /// How the kernel is run.
    #[serde(skip_serializing_if = "is_default")]
    pub run: RunSettings,
    /// View of the page: its own small names and values.
    #[serde(skip_serializing_if = "is_default")]
    pub view: BTreeMap<String, String>,
}

/// One entry of the pipeline.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, from = "StageText")]
pub struct Stage {
    /// A pass, or a pipeline such as `@ptxas`.
    pub pass: String,
    /// Its knobs that differ from their defaults.
    #[serde(skip_serializing_if = "is_default")]
    pub knobs: BTreeMap<String, String>,
    /// Is it kept in the list but not run?
    #[serde(skip_serializing_if = "is_default")]
    pub off: bool,
    /// Its number in the compiler that the pipeline follows, as in `82/83`; nothing for an entry without one.
    #[serde(skip_serializing_if = "is_default")]
    pub phase: String,
}

/// A stop of the transport: behind one rewrite of one entry of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// The entry of the pipeline, from 1, entries that are switched off counted; 0 is the source.
    pub pass: u32,
    /// Rewrites of that entry that are done. Whoever steps through an entry that rewrites something meets 1 first; 0 is
    /// the stop of an entry that rewrites nothing.
    #[serde(skip_serializing_if = "is_default")]
    pub event: u32,
}

/// How the kernel is run where that differs from what the launch says.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// The kernel; the first one if nothing is said.
    #[serde(skip_serializing_if = "is_default")]
    pub kernel: Option<String>,
    /// The machine model's name.
    #[serde(skip_serializing_if = "is_default")]
    pub machine: Option<String>,
    /// Seed of everything random.
    #[serde(skip_serializing_if = "is_default")]
    pub seed: Option<u64>,
    /// Blocks along x, y, z.
    #[serde(skip_serializing_if = "is_default")]
    pub grid: Option<[u32; 3]>,
    /// Threads a block along x, y, z.
    #[serde(skip_serializing_if = "is_default")]
    pub block: Option<[u32; 3]>,
    /// Lanes a warp.
    #[serde(skip_serializing_if = "is_default")]
    pub warp: Option<u32>,
    /// Warp instructions after which the run is stopped.
    #[serde(skip_serializing_if = "is_default")]
    pub fuel: Option<u64>,
    /// Sliders, by the names and in the spelling of the command line's `--set`: `x.zero` to `0.5`.
    #[serde(skip_serializing_if = "is_default")]
    pub set: BTreeMap<String, String>,
}

/// Why a text is no link, or a document does not fit into one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkError {
    /// The text has no `#v2.` or `#v1.`.
    NotALink,
    /// Another version made the link; the text is its name, such as `v9`.
    UnknownVersion(String),
    /// The payload is too long to be read.
    PayloadTooLong,
    /// The end of the payload is missing.
    Cut {
        /// The characters of the address up to there.
        after: usize,
        /// The characters that are missing, if the link tells.
        missing: Option<usize>,
        /// The character at which the payload ends.
        found: Option<char>,
    },
    /// The payload was changed: it does not decompress, or not to what its checksum says.
    Damaged,
    /// The link holds more than [`MAX_TEXT_BYTES`] of text.
    TooLarge,
    /// The text inside is no document; the message says where and why.
    NotADocument(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::NotALink => write!(f, "not a warpscope link: it has no `#v2.`"),
            LinkError::UnknownVersion(version) => {
                write!(f, "the link has version `{version}`; this warpscope reads `v1` and `v2`")
            }
            LinkError::PayloadTooLong => {
                write!(f, "the link is longer than {} characters", grouped(wire::MAX_PAYLOAD_CHARS))
            }
            LinkError::Cut { after, missing, found } => {
                write!(f, "the link is cut off after {} characters", grouped(*after))?;
                if let Some(found) = found.filter(|found| !matches!(found, '.' | '…')) {
                    write!(f, ", at `{found}`")?;
                }
                f.write_str(": the sender's program shortened it")?;
                missing.map_or(Ok(()), |missing| write!(f, " by {}", grouped(missing)))
            }
            LinkError::Damaged => f.write_str("the link is damaged: copy it again, or ask for a file instead"),
            LinkError::TooLarge => {
                write!(f, "the link holds more than {} KiB: save a file instead", MAX_TEXT_BYTES / 1024)
            }
            LinkError::NotADocument(why) => write!(f, "the content of the link is not a document: {why}"),
        }
    }
}

impl core::error::Error for LinkError {}

/// The number with a comma before each group of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().fold(String::new(), |text, (at, digit)| format!("{text}{}{digit}", comma(at)))
}

/// The fragment of the address, `#` included. Fails only for a document that is too large.
pub fn encode(document: &Document) -> Result<String, LinkError> {
    let json = to_json(document)?;
    if json.len() > MAX_TEXT_BYTES { Err(LinkError::TooLarge) } else { Ok(wire::write(&json)) }
}

/// The document of a link: a whole address, its fragment, or the fragment without `#`, with text around it.
pub fn decode(link: &str) -> Result<Document, LinkError> {
    from_json(&wire::read(link)?)
}

/// The document as one line of JSON.
pub fn to_json(document: &Document) -> Result<String, LinkError> {
    serde_json::to_string(document).map_err(|error| LinkError::NotADocument(error.to_string()))
}

/// The document that a JSON text describes.
pub fn from_json(json: &str) -> Result<Document, LinkError> {
    let mut document: Document =
        serde_json::from_str(json).map_err(|error| LinkError::NotADocument(error.to_string()))?;
    // The first links of the page kept the licence among what it shows.
    if document.view.remove("fast-math").is_some_and(|value| value == "on") {
        document.fast_math = true;
    }
    Ok(document)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The two ways to write a [`Stage`].
#[derive(Deserialize)]
#[serde(untagged)]
enum StageText {
    Name(String),
    Fields {
        #[serde(default)]
        pass: String,
        #[serde(default)]
        knobs: BTreeMap<String, String>,
        #[serde(default)]
        off: bool,
        #[serde(default)]
        phase: String,
    },
}

impl From<StageText> for Stage {
    fn from(text: StageText) -> Stage {
        match text {
            StageText::Name(pass) => Stage { pass, ..Stage::default() },
            StageText::Fields { pass, knobs, off, phase } => Stage { pass, knobs, off, phase },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> Document {
        Document {
            source: "kernel k() {\nentry:\n    ret\n}\n".to_string(),
            pipeline: ["copy-prop", "dce"].map(|pass| Stage { pass: pass.to_string(), ..Stage::default() }).to_vec(),
            position: Some(Position { pass: 1, event: 0 }),
            ..Document::default()
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let document = bench();
        let link = encode(&document).unwrap();
        assert!(link.starts_with("#v2."));
        assert!(link["#v2.".len()..].chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        assert_eq!(decode(&link).as_ref(), Ok(&document));
        assert_eq!(decode(&link[1..]).as_ref(), Ok(&document));
        assert_eq!(decode(&format!("https://example.org/?x=1{link}\n")).as_ref(), Ok(&document));
    }

    #[test]
    fn unknown_fields_are_ignored_and_missing_ones_have_defaults() {
        let document = from_json(r#"{"source":"x","colour":{"a":[1,2]},"pipeline":["dce",{"pass":"azp"}]}"#).unwrap();
        assert_eq!(document.source, "x");
        assert_eq!(document.pipeline.len(), 2);
        assert_eq!(document.run, RunSettings::default());
        assert_eq!(decode(&encode(&Document::default()).unwrap()), Ok(Document::default()));
    }

    #[test]
    fn the_licence_is_found_where_the_first_links_kept_it() {
        let document = from_json(r#"{"view":{"fast-math":"on","scope":"pass"}}"#).unwrap();
        assert!(document.fast_math);
        assert_eq!(document.view.len(), 1);
        assert!(!from_json(r#"{"view":{"scope":"pass"}}"#).unwrap().fast_math);
    }

    #[test]
    fn every_error_says_what_is_wrong() {
        let link = encode(&bench()).unwrap();
        for no_link in ["", "#", "hello", "#hello", "#v.AAAA", "#v2", "v2x.AAAA", "https://v2.example.org/"] {
            assert_eq!(decode(no_link), Err(LinkError::NotALink), "{no_link}");
        }
        assert_eq!(decode("#v9.z:AAAA"), Err(LinkError::UnknownVersion("v9".to_string())));
        for end in "#v2.".len()..link.len() {
            let error = decode(&link[..end]).unwrap_err();
            let missing = link.len() - end;
            assert!(matches!(error, LinkError::Cut { after, .. } if after == end), "cut at {end}: {error}");
            assert!(end < 16 || error.to_string().ends_with(&format!("shortened it by {missing}")), "{error}");
        }
        assert_eq!(
            decode(&format!("#v1.d:{}", "A".repeat(wire::MAX_PAYLOAD_CHARS + 1))),
            Err(LinkError::PayloadTooLong)
        );
        assert!(matches!(decode(&wire::write("[1]")), Err(LinkError::NotADocument(why)) if why.contains("column")));
    }

    #[test]
    fn cut_links_tell_where_and_how_much() {
        let cut = |after, missing, found| LinkError::Cut { after, missing, found }.to_string();
        assert_eq!(
            cut(2000, Some(1345), None),
            "the link is cut off after 2,000 characters: the sender's program shortened it by 1,345"
        );
        assert_eq!(
            cut(999, None, Some('…')),
            "the link is cut off after 999 characters: the sender's program shortened it"
        );
        assert_eq!(
            cut(1_000_000, None, Some('~')),
            "the link is cut off after 1,000,000 characters, at `~`: the sender's program shortened it"
        );
    }

    #[test]
    fn a_small_payload_cannot_grow_beyond_the_limit() {
        let bomb = wire::write(&" ".repeat(64 * MAX_TEXT_BYTES));
        assert!(bomb.len() < MAX_TEXT_BYTES);
        assert_eq!(decode(&bomb), Err(LinkError::Damaged), "no laboratory wrote it");
        let large = Document { source: "x".repeat(MAX_TEXT_BYTES), ..Document::default() };
        assert_eq!(encode(&large), Err(LinkError::TooLarge));
    }

    #[test]
    fn deeply_nested_json_is_an_error_and_no_overflow() {
        let deep = format!(r#"{{"view":{}"#, "[".repeat(100_000));
        assert!(matches!(from_json(&deep), Err(LinkError::NotADocument(_))));
    }
}
