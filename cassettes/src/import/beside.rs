//! Files that a recording names, and the names that are not followed.

use bytes::Bytes;
use yaml::{Node, Problem};

use super::Beside;

/// The content of a file that `node` names.
pub(super) fn fetch(node: &Node<'_>, beside: Beside<'_>) -> Result<Bytes, Problem> {
    let name = node.text("the name of the file")?;
    if !is_plain(name) {
        return Err(Problem::new(node.span, "this name leads out of the recording's own folder")
            .with_help("only files beside the recording are read"));
    }
    match beside(name) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Problem::new(node.span, format!("the file {name:?} that this names is not there"))),
        Err(error) => Err(Problem::new(node.span, format!("the file {name:?} cannot be read: {error}"))),
    }
}

/// Whether a name is a relative path that goes only down.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(['\\', '\0'])
        && !name.contains(':')
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_goes_down_is_followed() {
        for name in ["a.json", "deep/er/a.json", "…/a"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "/etc/passwd", "../a", "a/../../b", "a//b", "./a", "c:\\a", "a\\b", "a\0b"] {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
