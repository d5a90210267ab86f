//! Roots in a forest of contracted vertices, kept as an array of parents.

/// The root of a vertex; halves the path there.
#[inline]
pub(super) fn find(parents: &mut [u32], mut vertex: u32) -> u32 {
    loop {
        let parent = parents[vertex as usize];
        if parent == vertex {
            return vertex;
        }
        let grandparent = parents[parent as usize];
        parents[vertex as usize] = grandparent;
        vertex = grandparent;
    }
}
