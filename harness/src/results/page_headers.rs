//! Checks the headers of the pages of a Parquet file. Polars trusts them: if a page claims a negative number of values, Polars
//! asks for 2⁶¹ bytes, and a process that gets no memory ends at once.

use std::fs::File;
use std::io::Cursor;

use polars::prelude::{PolarsResult, polars_bail, polars_err};
use polars_io::mmap::ReaderBytes;
use polars_io::parquet::metadata::FileMetadata;
use polars_parquet::parquet::page::CompressedPage;
use polars_parquet::parquet::read::get_page_iterator;

/// Refuses a file in which a page claims more values than its column has in its row group.
///
/// # Complexity
/// Reads the headers alone, one after another: O(pages).
pub(super) fn check_page_headers(mut file: File, metadata: &FileMetadata) -> PolarsResult<()> {
    let ReaderBytes::Owned(bytes) = ReaderBytes::from(&mut file) else {
        polars_bail!(ComputeError: "cannot be mapped into memory");
    };
    for column in metadata.row_groups.iter().flat_map(|group| group.parquet_columns()) {
        let pages = get_page_iterator(column, Cursor::new(bytes.clone()), Vec::new(), usize::MAX);
        for page in pages.map_err(damaged)? {
            if let CompressedPage::Data(page) = page.map_err(damaged)?
                && u64::try_from(column.num_values()).is_ok_and(|all| page.num_values() as u64 > all)
            {
                return Err(damaged("a page claims more values than there are"));
            }
        }
    }
    Ok(())
}

fn damaged(why: impl std::fmt::Display) -> polars::error::PolarsError {
    polars_err!(ComputeError: "damaged, make it again: {why}")
}
