//! What is done in any case.

/// Calls its function when it is dropped, which it is also when what runs until then fails or panics.
pub struct Finally<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
