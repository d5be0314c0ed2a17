//! Writes the reference page of the protocols to standard output.

fn main() {
    print!("{}", nacre_proto::page::text());
}
