# packages: tcl, ruby, php-cli
cd "$(mktemp -d)"
cat >a.tcl <<'X'
proc fib n { expr {$n < 2 ? $n : [fib [expr $n-1]] + [fib [expr $n-2]]} }
puts [fib 15]; set d [dict create a 1 b 2]; puts [dict get $d b]; puts [exec echo child | cat]; set f [open f w]; puts $f text; close $f; puts [file size f]
set s [socket -server {apply {{c h p} {puts $c served; close $c}}} 0]; set p [lindex [fconfigure $s -sockname] 2]; set c [socket localhost $p]; fileevent $c readable {set done [gets $c]}; vwait done; puts $done; after 50 {set t 1}; vwait t; puts [regexp -inline {(\d+)} a12b]; exit 2
X
tclsh a.tcl; echo $?
ruby -e 'require "json"; require "socket"; require "digest"; require "tempfile"; require "open3"; puts [1,2,3].map { |x| x*x }.sum, JSON.generate({a: [1,nil]}), Digest::SHA256.hexdigest("x")[0,16]; t = (1..4).map { |i| Thread.new { i*i } }; puts t.map(&:value).sum; puts `echo child`; pid = fork { exit 5 }; Process.wait pid; puts $?.exitstatus; s = TCPServer.new("127.0.0.1",0); Thread.new { c = s.accept; c.puts "tcp"; c.close }; puts TCPSocket.new("127.0.0.1", s.addr[1]).gets; puts Open3.capture2("tr a b", stdin_data: "aaa")[0]; f = Fiber.new { Fiber.yield 1; 2 }; puts f.resume, f.resume; begin; raise "x"; rescue => e; puts e.message; end; r = Ractor.new { 3 } rescue nil; GC.start; puts "é".bytes.size; trap("USR1") { puts "usr1" }; Process.kill("USR1", $$); sleep 0.1; exit 3' 2>/dev/null; echo $?
php -r 'echo array_sum(range(1,100)), " ", json_encode(["a"=>[1,null]]), " ", substr(hash("sha256","x"),0,16), "\n"; file_put_contents("f","t"); echo filesize("f"), shell_exec("echo child"); $a = [3,1,2]; usort($a, fn($x,$y)=>$x<=>$y); echo $a[0]; preg_match("/(\d+)/","a12",$m); echo $m[1], " ", date("Y-m-d",0), " ", str_repeat("x",5), "\n"; $p = proc_open("cat", [["pipe","r"],["pipe","w"]], $q); fwrite($q[0],"through"); fclose($q[0]); echo stream_get_contents($q[1]), "\n"; exit(4);' 2>/dev/null; echo $?
