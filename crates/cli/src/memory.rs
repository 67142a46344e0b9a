//! Freed memory is kept for the next tensor.

/// glibc's settings for that, by the names that they have in the environment of a process.
const SETTINGS: [(&str, i32); 2] = [
    // No mapping of its own for any block, however large, but a place in a heap …
    ("MALLOC_MMAP_MAX_", 0),
    // … whose end is not given back before it is 2 GiB.
    ("MALLOC_TRIM_THRESHOLD_", i32::MAX),
];

/// What another program has to find in its environment to keep its memory as [`keep`] does.
pub fn environment() -> impl Iterator<Item = (&'static str, String)> {
    SETTINGS
        .map(|(name, value)| (name, value.to_string()))
        .into_iter()
}

/// Has the allocator keep what is freed, all of it, instead of giving it back to the system.
///
/// A forward pass frees and takes the same few tensors again and again. glibc gives the large ones back
/// each time, and then every page of the next one is a fault, which costs more than what is computed
/// on it: 4096 rows of 2048 are normalised in a fifth of the time without. It holds for all levels alike.
///
/// Other allocators are left as they are.
pub fn keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (option, (_, value)) in [libc::M_MMAP_MAX, libc::M_TRIM_THRESHOLD]
        .into_iter()
        .zip(SETTINGS)
    {
        // SAFETY: it sets a number of the allocator, which the allocator guards itself. A value that it
        // does not take, it leaves.
        unsafe { libc::mallopt(option, value) };
    }
}
