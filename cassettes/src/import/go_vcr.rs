use yaml::{Node, Problem};

use super::desk::Desk;

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let _ = desk;
    Err(Problem::new(document.span, "not read yet"))
}
