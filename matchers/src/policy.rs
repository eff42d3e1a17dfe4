//! What counts when two requests are compared.

use exchange::FieldPath;

/// The default compares method, URL and body, no header, and lets values of a volatile shape differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    pub compare: Compare,
    /// Names of the headers that count, in any case.
    pub headers: Vec<String>,
    /// Fields that do not count, with everything under them.
    pub volatile: Vec<FieldPath>,
    pub shapes: Shapes,
    pub on_repeat: OnRepeat,
}

/// Which parts of a request count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Compare {
    #[default]
    Full,
    /// Method and URL only: an import whose recorder compared nothing else.
    Uri,
}

/// Whether a UUID, a time or an epoch may stand where the recording has another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Shapes {
    #[default]
    Loose,
    Exact,
}

/// What a request gets when every exchange that matches it has been played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnRepeat {
    #[default]
    Miss,
    /// The last one again.
    Last,
    /// All of them again, from the first.
    Cycle,
}
