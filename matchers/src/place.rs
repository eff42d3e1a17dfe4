//! Where a walk through a request stands.

use exchange::{FieldPath, Segment};

/// A place and the places above it. It lives on the stack of the walk, so a path is only written down where
/// there is something to say about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    above: Option<&'a Place<'a>>,
    step: Step<'a>,
}

/// One step down.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    /// A key whose case does not count.
    Header(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    pub(crate) fn root(name: &'a str) -> Self {
        Self { above: None, step: Step::Key(name) }
    }

    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        self.down(Step::Key(key))
    }

    pub(crate) fn index(&'a self, index: usize) -> Self {
        self.down(Step::Index(index))
    }

    pub(crate) fn path(&self) -> FieldPath {
        let mut segments = Vec::new();
        let mut here = Some(self);
        while let Some(place) = here {
            segments.push(match place.step {
                Step::Key(key) | Step::Header(key) => Segment::Key(key.to_owned()),
                Step::Index(index) => Segment::Index(index),
            });
            here = place.above;
        }
        segments.reverse();
        FieldPath(segments)
    }

    fn down(&'a self, step: Step<'a>) -> Self {
        Self { above: Some(self), step }
    }
}

impl Step<'_> {
    /// Whether a segment of a volatile path names this step.
    pub(crate) fn is_named_by(self, segment: &Segment) -> bool {
        match (segment, self) {
            (Segment::Any, _) => true,
            (Segment::Key(name), Step::Key(key)) => name == key,
            (Segment::Key(name), Step::Header(key)) => name.eq_ignore_ascii_case(key),
            (Segment::Index(index), Step::Index(here)) => *index == here,
            (Segment::Key(_), Step::Index(_)) | (Segment::Index(_), Step::Key(_) | Step::Header(_)) => false,
        }
    }
}
