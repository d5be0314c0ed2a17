//! Lists that may grow with what a program does: each function fails where there is no memory,
//! instead of ending the program.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;

/// Adds an item.
pub fn push<T>(list: &mut Vec<T>, item: T) -> Result<(), TryReserveError> {
    list.try_reserve(1)?;
    list.push(item);
    Ok(())
}

/// Adds copies of all items.
pub fn append<T: Copy>(list: &mut Vec<T>, items: &[T]) -> Result<(), TryReserveError> {
    list.try_reserve(items.len())?;
    list.extend_from_slice(items);
    Ok(())
}

/// Makes a list of what an iterator gives.
pub fn collect<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>, TryReserveError> {
    let items = items.into_iter();
    let mut list = Vec::new();
    list.try_reserve(items.size_hint().0)?;
    for item in items {
        push(&mut list, item)?;
    }
    Ok(list)
}

/// Makes a list of `count` default values, such as zeros.
pub fn zeros<T: Default + Clone>(count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut list = Vec::new();
    list.try_reserve_exact(count)?;
    list.resize(count, T::default());
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_fit_are_as_ever_and_others_are_refused() {
        let mut list = collect(0..3).unwrap();
        push(&mut list, 3).unwrap();
        append(&mut list, &[4, 5]).unwrap();
        assert_eq!(list, [0, 1, 2, 3, 4, 5]);
        assert_eq!(zeros::<u8>(3).unwrap(), [0; 3]);
        assert!(zeros::<u64>(usize::MAX / 16).is_err());
        assert!(list.len() == 6 && append(&mut list, &[]).is_ok());
    }
}
