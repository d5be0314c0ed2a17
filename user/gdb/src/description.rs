//! The description of the registers, in XML, that gdb asks for.

use alloc::format;
use alloc::string::String;

const GENERAL: [&str; 16] =
    ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
const HALVES: [&str; 7] = ["eflags", "cs", "ss", "ds", "es", "fs", "gs"];
const CONTROL: [&str; 8] = ["fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop"];

/// Types that the features use: the flags, and ways to look at a vector register.
const FLAGS: &str = r#"<flags id="i386_eflags" size="4">
<field name="CF" start="0" end="0"/><field name="PF" start="2" end="2"/><field name="AF" start="4" end="4"/>
<field name="ZF" start="6" end="6"/><field name="SF" start="7" end="7"/><field name="TF" start="8" end="8"/>
<field name="IF" start="9" end="9"/><field name="DF" start="10" end="10"/><field name="OF" start="11" end="11"/>
</flags>
"#;
const VECTORS: &str = r#"<vector id="v4f" type="ieee_single" count="4"/><vector id="v2d" type="ieee_double" count="2"/>
<vector id="v16i8" type="int8" count="16"/><vector id="v8i16" type="int16" count="8"/>
<vector id="v4i32" type="int32" count="4"/><vector id="v2i64" type="int64" count="2"/>
<union id="vec128"><field name="v4_float" type="v4f"/><field name="v2_double" type="v2d"/>
<field name="v16_int8" type="v16i8"/><field name="v8_int16" type="v8i16"/><field name="v4_int32" type="v4i32"/>
<field name="v2_int64" type="v2i64"/><field name="uint128" type="uint128"/></union>
"#;

/// Collects registers, which are numbered in order.
struct Writer {
    text: String,
    next: usize,
}

impl Writer {
    fn register(&mut self, name: &str, bits: u32, kind: &str) {
        self.text.push_str(&format!("<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\" regnum=\"{}\"/>\n", self.next));
        self.next += 1;
    }

    fn feature(&mut self, name: &str, types: &str, registers: impl FnOnce(&mut Writer)) {
        self.text.push_str(&format!("<feature name=\"org.gnu.gdb.i386.{name}\">\n{types}"));
        registers(self);
        self.text.push_str("</feature>\n");
    }
}

/// Returns the description.
pub fn target() -> String {
    let text = String::from("<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n<target>\n<architecture>i386:x86-64</architecture>\n<osabi>GNU/Linux</osabi>\n");
    let mut writer = Writer { text, next: 0 };
    writer.feature("core", FLAGS, |writer| {
        for name in GENERAL {
            let kind = if ["rbp", "rsp"].contains(&name) { "data_ptr" } else { "int64" };
            writer.register(name, 64, kind);
        }
        writer.register("rip", 64, "code_ptr");
        HALVES.iter().for_each(|name| writer.register(name, 32, if *name == "eflags" { "i386_eflags" } else { "int32" }));
        (0..8).for_each(|number| writer.register(&format!("st{number}"), 80, "i387_ext"));
        CONTROL.iter().for_each(|name| writer.register(name, 32, "int"));
    });
    writer.feature("sse", VECTORS, |writer| {
        (0..16).for_each(|number| writer.register(&format!("xmm{number}"), 128, "vec128"));
        writer.register("mxcsr", 32, "int");
    });
    writer.feature("linux", "", |writer| writer.register("orig_rax", 64, "int"));
    writer.feature("segments", "", |writer| ["fs_base", "gs_base"].iter().for_each(|name| writer.register(name, 64, "int")));
    writer.text.push_str("</target>\n");
    writer.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::place;

    #[test]
    fn each_register_has_the_size_of_its_place() {
        let text = target();
        let sizes: alloc::vec::Vec<usize> =
            text.split("bitsize=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse::<usize>().unwrap() / 8).collect();
        assert_eq!(sizes.len(), 60);
        for (number, size) in sizes.iter().enumerate() {
            assert_eq!(place(number).unwrap().len(), *size, "register {number}");
        }
    }
}
