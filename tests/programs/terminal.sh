# packages: expect, vim-tiny, tmux, less, nano, procps, bash
cd "$(mktemp -d)"; export TERM=xterm; seq 1 100 >n
cat >x <<'X'
set timeout 20
log_user 0
set stty_init "rows 40 columns 120"
proc want {what} { expect -re $what {} timeout { puts "no $what"; exit 1 } eof { puts "ended before $what"; exit 1 } }
spawn bash --norc -i
send "PS1='ready> '\r"; want {ready> $}
send "echo \$((6*7))\r"; want "42"; send "sleep 50\r"; sleep 1; send "\003"; want {ready> }; send "echo \$?\r"; want "130"
send "sleep 50\r"; sleep 1; send "\032"; want "Stopped"; send "jobs\r"; want "sleep 50"; send "bg; kill %1; wait\r"; want {ready> }
send "stty size; stty -a | head -1\r"; want "speed"; send "ls -l --color n\r"; want "n"; send "echo abc\002\002X\r"; want "aXbc"; send "\020\r"; want "aXbc"; send "exit 4\r"; expect eof; puts "bash [lindex [wait] 3]"
spawn vi n
sleep 1; send ":5d\r"; send "Gonew line\033"; send ":%s/^9/nine/\r"; send ":wq\r"; expect eof; puts "vi [lindex [wait] 3]"
spawn less n
sleep 1; send "G"; want "new line"; send "/nine7\r"; want "nine7"; send "q"; expect eof; puts less
spawn nano --ignorercfiles out
sleep 1; send "typed\r"; send "\017"; sleep 1; send "\r"; sleep 1; send "\030"; expect eof; puts nano
spawn top -b -n 1
want "PID"; expect eof; puts top
spawn tmux -L t -f /dev/null new-session "echo inside; exec sh"
want "inside"; send "echo \$((7*8))\r"; want "56"; sleep 1; send "\002"; sleep 0.5; send "%"; sleep 2; send "echo \$((9*9))\r"; want "81"; sleep 1; send "\002"; sleep 0.5; send "d"; want "detached"; expect eof
puts [exec tmux -L t list-panes -a | wc -l]; exec tmux -L t kill-server; puts tmux
X
expect x; tail -2 n; grep -c nine n; wc -l n; cat out; script -qc 'echo scripted; tty >/dev/null && echo terminal' log | tr -d '\r'; setsid -w sh -c 'tty' </dev/null; stty 2>&1 </dev/null | head -1 | cut -c1-30
