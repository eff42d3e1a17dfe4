//! How a command ends: exit codes, and errors that say what happened, where, and what to do.

use std::{io, path::Path, process::ExitCode};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use cassettes::store::StoreError;
use yaml::Problem;

use crate::style::{self, tame, tame_in_place};

/// How a command ended when nothing went wrong with the command itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine,
    /// A miss, an unplayed exchange under `--strict`, a difference.
    Failed,
    /// Files were refused, each of which was told.
    Refused,
    /// What the child process ended with.
    Child(u8),
}

/// What went wrong, by who can put it right.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A file that a person wrote, with the place in it.
    #[error("{}", problem.message)]
    File { name: String, text: String, problem: Box<Problem> },
    /// Bad configuration or arguments.
    #[error("{message}")]
    Input { message: String, help: Option<String> },
    /// A file that is not there.
    #[error("{message}")]
    Missing { message: String, help: String },
    /// Everything else.
    #[error(transparent)]
    Runtime(#[from] anyhow::Error),
}

impl Failure {
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input { message: message.into(), help: None }
    }

    pub(crate) fn with_help(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Input { message: message.into(), help: Some(help.into()) }
    }

    pub(crate) fn in_file(path: &Path, text: &str, problem: Problem) -> Self {
        Self::File { name: path.display().to_string(), text: text.to_owned(), problem: Box::new(problem) }
    }

    fn code(&self) -> u8 {
        match self {
            Self::File { .. } | Self::Input { .. } | Self::Missing { .. } => 2,
            Self::Runtime(_) => 3,
        }
    }

    /// The words for it, ending in a line feed.
    pub(crate) fn report(&self) -> String {
        match self {
            Self::File { name, text, problem } => in_context(name, text, problem),
            Self::Input { message, help } => {
                format!("{}{}\n{}", style::error(), tame(message), help_line(help.as_deref()))
            }
            Self::Missing { message, help } => {
                format!("{}{}\n{}", style::error(), tame(message), help_line(Some(help)))
            }
            Self::Runtime(error) => format!("{}{}\n", style::error(), tame(&causes(error.as_ref()))),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Invalid { file, source_text, problem } => {
                Self::in_file(&file, &source_text, *problem)
            }
            StoreError::Locked { .. } => Self::with_help(
                error.to_string(),
                "wait for it to end, or record into another cassette with -c",
            ),
            StoreError::Io { ref source, .. } if source.kind() == io::ErrorKind::NotFound => Self::Missing {
                message: causes(&error),
                help: "record it first with `wiretape record -- CMD`, or name another with -c".to_owned(),
            },
            StoreError::Io { action: "read", .. } => Self::input(causes(&error)),
            StoreError::Io { .. } => Self::Runtime(anyhow::Error::new(error)),
            other => Self::input(causes(&other)),
        }
    }
}

impl From<certs::CertError> for Failure {
    fn from(error: certs::CertError) -> Self {
        match error {
            certs::CertError::File { .. } | certs::CertError::NoRandomness => {
                Self::Runtime(anyhow::Error::new(error))
            }
            other => Self::input(causes(&other)),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Refused => 2,
            Exit::Child(code) => code,
        })
    }
}

pub(crate) fn exit_code(result: &Result<Exit, Failure>) -> ExitCode {
    match result {
        Ok(exit) => (*exit).into(),
        Err(failure) => failure.code().into(),
    }
}

/// An error with its causes on one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(current) = cause {
        let words = current.to_string();
        // Some errors tell their cause themselves.
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        cause = current.source();
    }
    text
}

fn help_line(help: Option<&str>) -> String {
    help.map(|help| format!("{}{}\n", style::help(), tame(help))).unwrap_or_default()
}

fn in_context(name: &str, text: &str, problem: &Problem) -> String {
    // Both come from a file that may be hostile. In the text every place must stay where it was.
    let (name, text) = (&*tame(name), &*tame_in_place(text));
    let (message, help) = (tame(&problem.message), problem.help.as_deref().map(tame));
    // A huge line would be printed whole: such files get the place and the words, without the picture.
    let position = problem.span.position(text);
    let line = text.lines().nth(position.line.saturating_sub(1)).unwrap_or("");
    if line.len() > LONGEST_LINE {
        let place = format!("{name}:{}:{}", position.line, position.column);
        return format!("{}{}\n  --> {place}\n{}", style::error(), message, help_line(help.as_deref()));
    }
    let span = |span: yaml::Span| span.start.min(text.len())..span.end.clamp(span.start, text.len());
    let mut snippet =
        Snippet::source(text).path(name).annotation(AnnotationKind::Primary.span(span(problem.span)));
    if let Some((at, label)) = &problem.related {
        snippet = snippet.annotation(AnnotationKind::Context.span(span(*at)).label(label));
    }
    let mut group: Group<'_> = Level::ERROR.primary_title(message.as_str()).element(snippet);
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let renderer = if style::is_colored() { Renderer::styled() } else { Renderer::plain() };
    format!("{}\n", renderer.render(&[group]))
}

const LONGEST_LINE: usize = 400;
