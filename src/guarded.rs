//! What C++ files say of their errors: the other side of `guarded.h`.

use std::ffi::{CStr, c_char};

/// The message of a call that has failed.
///
/// # Safety
/// The message is null, or a text that ends with a zero, was allocated by C, and belongs to the caller.
pub(crate) unsafe fn checked(message: *mut c_char) -> Result<(), String> {
    if message.is_null() {
        return Ok(());
    }
    // SAFETY: as the caller says.
    let text = unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        libc::free(message.cast());
        text
    };
    Err(text)
}
