//! Packed images of store files: the pages of a file that are not zero, so that a sparse file of megabytes stays small.
//!
//! An image is the file's length (u64) and then, for each 4 KiB page with a nonzero byte, its index (u32) and its bytes,
//! little-endian, ascending. The last page of a file may be shorter.

use std::{fs, path::Path};

const PAGE: usize = 4096;

/// Writes the image of each of `names` in `directory` to `images`, as `NAME.image`.
pub(crate) fn pack(directory: &Path, names: &[&str], images: &Path) {
    for name in names {
        let bytes = fs::read(directory.join(name)).expect("a stored file");
        let mut image = (bytes.len() as u64).to_le_bytes().to_vec();
        for (index, page) in bytes.chunks(PAGE).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
            image.extend_from_slice(&(index as u32).to_le_bytes());
            image.extend_from_slice(page);
        }
        fs::write(images.join(format!("{name}.image")), image).expect("an image");
    }
}

/// Restores the files `names` in `directory` from their images.
pub(crate) fn unpack(images: &Path, names: &[&str], directory: &Path) {
    for name in names {
        let image = fs::read(images.join(format!("{name}.image"))).expect("an image");
        let (len, mut rest) = image.split_first_chunk::<8>().expect("a length");
        let mut bytes = vec![0; u64::from_le_bytes(*len) as usize];
        while let Some((index, tail)) = rest.split_first_chunk::<4>() {
            let page = bytes.chunks_mut(PAGE).nth(u32::from_le_bytes(*index) as usize).expect("a page of the file");
            let (content, tail) = tail.split_at(page.len());
            page.copy_from_slice(content);
            rest = tail;
        }
        fs::write(directory.join(name), bytes).expect("a file");
    }
}
