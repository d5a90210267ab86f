//! Opens an Arrow IPC file, and decodes it batch by batch.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use placebench_base::process::{NotEnoughMemory, check_memory};

use crate::format::{FormatError, compressed, contain};

/// How many times its bytes a compressed buffer can hold: a block of zstd makes 128 KiB of 4 bytes.
const LARGEST_RATIO: u64 = 1 << 15;

/// The bytes after the footer: its length and the format's sign.
const TRAILER: usize = 10;

/// The bytes before a message: the sign that one begins, and its length.
const PREFIX: usize = 8;

/// An open file.
pub(super) struct Container<'a> {
    path: &'a Path,
    bytes: Buffer,
    pub(super) schema: SchemaRef,
    decoder: FileDecoder,
    blocks: Vec<Block>,
}

impl<'a> Container<'a> {
    /// Reads the whole file into memory: arrays that are not compressed stay in it.
    pub(super) fn open(path: &'a Path) -> Result<Self, FormatError> {
        let bytes = Buffer::from_vec(compressed::read(path)?);
        decoded(path, || {
            let trailer = bytes.len().checked_sub(TRAILER).ok_or("it is too short")?;
            let sign = bytes[trailer..].try_into().map_err(|_| "it is too short")?;
            let length = read_footer_length(sign).map_err(text)?;
            let start = trailer.checked_sub(length).ok_or("its footer is longer than the file")?;
            let footer = root_as_footer(&bytes[start..trailer]).map_err(text)?;
            let schema = footer.schema().ok_or("it has no schema")?;
            if !schema.endianness().equals_to_target_endianness() {
                return Err("its bytes are in another order than this machine's".into());
            }
            let schema = Arc::new(try_fb_to_schema(schema).map_err(text)?);
            let mut decoder = FileDecoder::new(schema.clone(), footer.version());
            for block in footer.dictionaries().into_iter().flatten() {
                decoder.read_dictionary(block, &content(&bytes, block)?).map_err(text)?;
            }
            let blocks = footer.recordBatches().into_iter().flatten().copied().collect();
            Ok(Self { path, bytes: bytes.clone(), schema, decoder, blocks })
        })
    }

    /// Calls `take` with each batch of rows in turn.
    pub(super) fn for_each_batch(
        &self,
        mut take: impl FnMut(&RecordBatch) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        for block in &self.blocks {
            let batch = decoded(self.path, || {
                Ok(self.decoder.read_record_batch(block, &content(&self.bytes, block)?).map_err(text)?)
            })?;
            batch.as_ref().map_or(Ok(()), &mut take)?;
        }
        Ok(())
    }
}

/// The bytes of a block: a message, and the buffers that it describes.
fn content(bytes: &Buffer, block: &Block) -> Result<Buffer, Fault> {
    let number = |value: i64| usize::try_from(value).ok();
    let [start, head, body] = [block.offset(), block.metaDataLength().into(), block.bodyLength()].map(number);
    let range = start.zip(head).zip(body).and_then(|((start, head), body)| {
        let end = start.checked_add(head)?.checked_add(body)?;
        (head >= PREFIX && end <= bytes.len()).then_some((start, head, end))
    });
    let (start, head, end) = range.ok_or("a part lies outside the file")?;
    let whole = bytes.slice_with_length(start, end - start);
    check_sizes(&whole[PREFIX..head], &whole[head..])?;
    Ok(whole)
}

/// Refuses compressed buffers that claim to hold more than they can, or than there is memory for.
fn check_sizes(message: &[u8], body: &[u8]) -> Result<(), Fault> {
    let message = root_as_message(message).map_err(text)?;
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else { return Ok(()) };
    if batch.compression().is_none() {
        return Ok(());
    }
    let mut all = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let length = usize::try_from(buffer.length()).unwrap_or(usize::MAX);
        let bytes = start.checked_add(length).and_then(|end| body.get(start..end)).ok_or("a buffer is cut off")?;
        let Some(claimed) = bytes.first_chunk() else { continue };
        let claimed = u64::try_from(i64::from_le_bytes(*claimed)).unwrap_or(0);
        if claimed > bytes.len() as u64 * LARGEST_RATIO {
            return Err(format!("a buffer of {} bytes claims to hold {claimed}", bytes.len()).into());
        }
        all = all.saturating_add(claimed);
    }
    Ok(check_memory(&[(all, 1)], || "a batch of its rows, unpacked,".to_owned())?)
}

/// Why a file is not decoded.
enum Fault {
    /// What is wrong with it.
    Corrupt(String),
    Memory(NotEnoughMemory),
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::Corrupt(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::Corrupt(message.to_owned())
    }
}

impl From<NotEnoughMemory> for Fault {
    fn from(error: NotEnoughMemory) -> Self {
        Self::Memory(error)
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// Runs a decoder; its errors and panics become errors of the file.
fn decoded<T>(path: &Path, decode: impl FnOnce() -> Result<T, Fault>) -> Result<T, FormatError> {
    let corrupt = |message: &str| {
        FormatError::file(path, format!("is no readable Arrow IPC file ({message})"))
            .remedy("restore it, or write it again in the file format, not as a stream")
    };
    match contain(decode) {
        Ok(Ok(decoded)) => Ok(decoded),
        Ok(Err(Fault::Corrupt(message))) => Err(corrupt(&message)),
        Ok(Err(Fault::Memory(error))) => Err(FormatError::file(path, error)),
        Err(panic) => Err(panic.in_file(path, corrupt)),
    }
}
