# Debian's kernel from its first instruction on.
printf "= begins with interrupts off: %d\n", ($eflags & 0x200) == 0
printf "= in 64-bit code: %#x\n", $cs
set $first = $pc
set $code = *(long *)$first
break *($first + 2)
continue
printf "= two bytes on: %d\n", $pc == $first + 2
# Who reads below a breakpoint does not see it.
printf "= the code is the same: %d\n", *(long *)$first == $code
stepi
printf "= one instruction on: %d\n", $pc != $first + 2
set $old = $r15
set $r15 = 0x123456789
printf "= r15 is %#lx\n", $r15
set $r15 = $old
set $xmm3.v2_int64[1] = 0x1122334455
set $st1 = 2.5
set $mxcsr = 0x9f80
stepi
printf "= xmm3 is %#lx, st1 is %g, and mxcsr %#x\n", $xmm3.v2_int64[1], $st1, $mxcsr
set $mxcsr = 0x1f80
thread 2
printf "= the other processor has not started: %d\n", $pc == 0
thread 1
delete
detach
