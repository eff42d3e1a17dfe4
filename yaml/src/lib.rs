//! The one YAML layer for every file a person writes or reads: cassettes, overlays, suites, configuration.
//!
//! It owns syntax only: text to a tree with positions ([`parse`]), a tree to text ([`to_string`],
//! [`write_item`]), and the small steps every strict reader needs ([`Fields`], the methods of [`Node`]).
//! It must not know what a cassette or a suite is, and touches no file, clock or environment variable.
//!
//! # Reading
//!
//! ```
//! use wiretape_yaml::{Fields, Limits, parse};
//!
//! let source = "retries: 3\ndelay: 250ms\n";
//! let document = parse(source, &Limits::small())?;
//! let mut fields = Fields::of(&document, "the settings")?;
//! let retries: u32 = fields.required("retries")?.integer("retries", 0..=10)?;
//! let delay = fields.optional("delay").map(|node| node.duration("delay")).transpose()?;
//! fields.finish()?;
//! assert_eq!((retries, delay), (3, Some(std::time::Duration::from_millis(250))));
//! # Ok::<(), wiretape_yaml::Problem>(())
//! ```
//!
//! A file may come from a stranger, so the language is a small part of YAML 1.2: one document of mappings,
//! sequences and scalars. Anchors, aliases, tags, merge keys, keys that are not scalars and repeated keys are
//! refused, size, depth and number of nodes are bounded ([`Limits`]). Scalars stay text: no value changes its
//! meaning because it looks like a date or like `no`; the reader asks for what it expects. Every refusal is a
//! [`Problem`]: what, where, and what to do.
//!
//! ```
//! use wiretape_yaml::{Fields, Limits, parse};
//!
//! let source = "staus: 200\n";
//! let document = parse(source, &Limits::small())?;
//! let mut fields = Fields::of(&document, "the response")?;
//! fields.optional("status");
//! let problem = fields.finish().unwrap_err();
//! assert_eq!(problem.to_string(), "unknown key `staus` in the response");
//! assert_eq!(problem.help.as_deref(), Some("did you mean `status`?"));
//! assert_eq!(problem.span.position(source).to_string(), "1:1");
//! # Ok::<(), wiretape_yaml::Problem>(())
//! ```
//!
//! # Writing
//!
//! ```
//! use wiretape_yaml::{Out, to_string};
//!
//! let out = Out::mapping([
//!     ("status", Out::plain(200)),
//!     ("text", Out::text("data: [DONE]")),
//!     ("country", Out::text("no")),
//!     ("body", Out::text("one\ntwo\n")),
//! ]);
//! assert_eq!(
//!     to_string(&out),
//!     "status: 200\ntext: 'data: [DONE]'\ncountry: 'no'\nbody: |\n  one\n  two\n"
//! );
//! ```
//!
//! The same tree always gives the same bytes. A text comes back as exactly that text, here and in YAML 1.1 and
//! 1.2 readers elsewhere: it stands plain only where no reader could take it for something else.
//!
//! # Speed
//!
//! General YAML readers manage some 30 MB/s, too slow for a cassette of 100,000 exchanges. [`parse`] therefore
//! first tries a single pass over the subset that the emitter here writes; at the first byte outside of it the
//! general parser starts over and decides alone. Both give the same tree, which a property test holds.

mod decode;
mod duration;
mod fields;
mod limits;
mod node;
mod out;
mod parse;
mod problem;
mod span;
mod suggest;

pub use duration::{format_duration, parse_duration};
pub use fields::Fields;
pub use limits::Limits;
pub use node::{Node, Scalar, ScalarKind, ScalarStyle, Value};
pub use out::{Out, to_string, write_item};
pub use parse::{mend_indentation, parse, parse_foreign, parse_json};
pub use problem::Problem;
pub use span::{Position, Span};
