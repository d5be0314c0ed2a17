//! Tests of images.

use super::*;
use alloc::vec;
use nacre_abi::ObjectType;

fn facts() -> Facts {
    let objects = vec![Object { offset: 64, kind: ObjectType::Mutex, words: vec![1, 2], links: [Place::Nothing; 3] }];
    Facts { command: vec![b"sh".to_vec()], size: 1 << 20, pages: 3, ports: vec![Some(Port::Parent), None], objects, ..Facts::default() }
}

fn image() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(|part: &[u8]| { bytes.extend_from_slice(part); Ok(()) }, &facts()).unwrap();
    writer.pages(&[4096, 8192], &[7; 8192]).unwrap();
    writer.pages(&[0], &[0; 4096]).unwrap();
    writer.end().unwrap();
    bytes
}

fn read(mut bytes: &[u8]) -> Result<(Facts, Vec<u64>), Fault> {
    let mut reader = Reader::new(|into: &mut [u8]| {
        let (now, rest) = bytes.split_at_checked(into.len()).ok_or(Fault::Truncated)?;
        into.copy_from_slice(now);
        bytes = rest;
        Ok(())
    })?;
    let mut all = Vec::new();
    while let Some((distances, bytes)) = reader.pages()? {
        assert_eq!(bytes.len(), 4096 * distances.len());
        all.extend(distances);
    }
    Ok((reader.facts().clone(), all))
}

#[test]
fn an_image_is_read_as_it_was_written() {
    assert_eq!(read(&image()), Ok((facts(), vec![4096, 8192, 0])));
}

#[test]
fn pages_are_as_they_were_in_a_store_alone() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(|part: &[u8]| { bytes.extend_from_slice(part); Ok(()) }, &facts()).unwrap();
    writer.write_raw();
    writer.pages(&[4096, 8192, 0], &[7; 3 * 4096]).unwrap();
    writer.end().unwrap();
    assert_eq!(read(&bytes), Err(Fault::Nonsense));
    let read_raw = |mut left: &[u8]| {
        let mut reader = Reader::new(|into: &mut [u8]| {
            let (now, rest) = left.split_at_checked(into.len()).ok_or(Fault::Truncated)?;
            into.copy_from_slice(now);
            left = rest;
            Ok(())
        })?;
        reader.read_raw();
        let pages = reader.pages()?;
        Ok::<_, Fault>((pages, reader.pages()?))
    };
    assert_eq!(read_raw(&bytes), Ok((Some((vec![4096, 8192, 0], vec![7; 3 * 4096])), None)));
    for size in 0..bytes.len() {
        assert!(read_raw(&bytes[..size]).is_err(), "{size}");
    }
}

#[test]
fn what_was_cut_off_or_altered_is_refused() {
    let whole = image();
    for size in 0..whole.len() {
        let fault = read(&whole[..size]).unwrap_err();
        assert!(matches!(fault, Fault::NoImage | Fault::Truncated), "{size}: {fault:?}");
    }
    for at in 0..whole.len() {
        let mut altered = whole.clone();
        altered[at] ^= 1 << (at % 8);
        assert!(read(&altered).is_err(), "byte {at}");
    }
}

#[test]
fn a_round_has_these_bytes_and_follows_one_image() {
    let (mut bytes, before) = (Vec::new(), [7; HASH]);
    let hash = Writer::round(|part: &[u8]| { bytes.extend_from_slice(part); Ok(()) }, &Facts::default(), &before).and_then(Writer::end).unwrap();
    let read = |mut bytes: &[u8], before: &Hash| {
        let mut reader = Reader::round(|into: &mut [u8]| {
            let (now, rest) = bytes.split_at_checked(into.len()).ok_or(Fault::Truncated)?;
            into.copy_from_slice(now);
            bytes = rest;
            Ok(())
        }, before)?;
        assert_eq!(reader.pages()?, None);
        Ok(reader.hash())
    };
    assert_eq!(read(&bytes, &before), Ok(hash));
    assert_eq!(read(&bytes, &[6; HASH]), Err(Fault::Order));
    assert_eq!(read(&image(), &before), Err(Fault::NoImage));
    assert_eq!(super::tests::read(&bytes), Err(Fault::NoImage));
    let golden = [&b"nacrernd"[..], &VERSION.to_le_bytes(), &before, &FACTS.to_le_bytes()].concat();
    assert_eq!((&bytes[..golden.len()], &bytes[bytes.len() - HASH..]), (&golden[..], &hash[..]));
}

#[test]
fn other_versions_are_named() {
    let mut other = image();
    other[8] = 9;
    assert_eq!(read(&other), Err(Fault::Version(9)));
    assert_eq!(read(b"#!/bin/sh, and more"), Err(Fault::NoImage));
}
