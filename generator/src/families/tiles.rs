//! Tiles of matrices of doubles: their sizes and the flops of kernels on them.

/// What the parameter `tiles` means.
pub(super) const TILES: &str = "tiles along a side of the matrix";
/// What the parameter `tile` means.
pub(super) const TILE: &str = "rows and columns of a tile, of doubles of 8 bytes";

/// Bytes of a tile with `side` rows and columns.
pub(super) fn bytes(side: u32) -> u64 {
    8 * u64::from(side).pow(2)
}

/// Flops of a Cholesky factorisation of an n × n matrix (LAPACK Working Note 41).
pub(super) fn potrf(n: f64) -> f64 {
    n * n * n / 3.0 + n * n / 2.0 + n / 6.0
}

/// Flops of an LU factorisation of an n × n matrix without pivoting: column k needs n − k divisions, and a
/// multiplication and a subtraction for each of (n − k)² elements; 2n³/3 − n²/2 − n/6 in all.
pub(super) fn getrf(n: f64) -> f64 {
    n * (n - 1.0) / 2.0 + (n - 1.0) * n * (2.0 * n - 1.0) / 3.0
}
