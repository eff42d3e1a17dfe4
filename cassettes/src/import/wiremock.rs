use yaml::{Node, Problem};

use super::{Beside, desk::Desk};

pub(super) fn read(document: &Node<'_>, beside: Beside<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let _ = (beside, desk);
    Err(Problem::new(document.span, "not read yet"))
}
