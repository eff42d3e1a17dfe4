use super::{Refusal, desk::Desk};

pub(super) fn looks_like(_bytes: &[u8]) -> bool {
    false
}

pub(super) fn read(_bytes: &[u8], _desk: &mut Desk<'_>) -> Result<(), Refusal> {
    Err(Refusal::Offset { offset: 0, message: "not read yet".into() })
}
