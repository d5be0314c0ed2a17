//! A bounded queue of bytes, as plain data.

/// Queue of at most `N` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteQueue<const N: usize> {
    /// Bytes. The queue begins at `first` and goes on at the array's start.
    pub bytes: [u8; N],
    /// Index of the oldest byte.
    pub first: u32,
    /// Number of bytes in the queue.
    pub count: u32,
}

impl<const N: usize> ByteQueue<N> {
    /// Makes an empty queue.
    pub const fn new() -> Self {
        ByteQueue { bytes: [0; N], first: 0, count: 0 }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns true if no byte fits any more.
    pub fn is_full(&self) -> bool {
        self.len() >= N
    }

    /// Returns true if the numbers are those of a queue. Only a restored state can fail this.
    pub fn is_valid(&self) -> bool {
        (self.first as usize) < N && self.len() <= N
    }

    /// Appends a byte. Returns false if the queue is full.
    pub fn push(&mut self, byte: u8) -> bool {
        if self.is_full() {
            return false;
        }
        let at = (self.first as usize + self.len()) % N;
        self.bytes[at] = byte;
        self.count += 1;
        true
    }

    /// Removes the oldest byte.
    pub fn pop(&mut self) -> Option<u8> {
        if self.is_empty() {
            return None;
        }
        let byte = self.bytes[self.first as usize];
        self.first = (self.first + 1) % N as u32;
        self.count -= 1;
        Some(byte)
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

impl<const N: usize> Default for ByteQueue<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order_across_the_end_of_the_array() {
        let mut queue = ByteQueue::<3>::new();
        assert!([1, 2, 3].iter().all(|byte| queue.push(*byte)) && !queue.push(4));
        assert_eq!((queue.pop(), queue.push(4)), (Some(1), true));
        let rest = [0; 4].map(|_: u8| queue.pop());
        assert_eq!(rest, [Some(2), Some(3), Some(4), None]);
    }
}
