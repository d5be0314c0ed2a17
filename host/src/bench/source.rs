//! A program for compilers, the same each time.

use std::fmt::Write;

/// Returns a C program of 2,000 lines.
pub fn long_source() -> String {
    let mut source = String::from("#include <stdio.h>\n");
    for number in 0..333 {
        let _ = writeln!(
            source,
            "static int f{number}(int *a, int n) {{\n    int s = {number};\n    for (int i = 0; i < n; i++)\n        s += a[i] * {number} ^ (s >> 3);\n    return s;\n}}"
        );
    }
    source.push_str("int main(void) { int a[9] = {0}; return f0(a, 9) + f332(a, 9); }\n");
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_source_has_2_000_lines() {
        assert!((1_990..2_010).contains(&long_source().lines().count()));
    }
}
