# packages: perl
cd "$(mktemp -d)"
cat >a.pl <<'X'
use strict; use warnings; use POSIX qw(strftime floor :sys_wait_h); use List::Util qw(sum shuffle); use File::Find; use IO::Socket::INET; use IO::Select; use Time::HiRes qw(sleep); use Digest::SHA qw(sha1_hex); use Storable qw(dclone); use threads; use Data::Dumper; use Socket; use IPC::Open3; use File::Temp; use Encode;
print sum(1..100), " ", sha1_hex("x"), " ", strftime("%Y", gmtime(0)), "\n";
my %h = map { $_ => length } qw(one three five); print join(",", map {"$_=$h{$_}"} sort keys %h), "\n";
my @t = map { my $n = $_; threads->create(sub { $n * $n }) } 1..4; print sum(map { $_->join } @t), "\n";
my $pid = fork // die; if (!$pid) { exit 7 } waitpid $pid, 0; print $? >> 8, "\n";
pipe(my $r, my $w); if (!fork) { close $r; print $w "piped\n"; exit } close $w; print <$r>; wait;
my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die; if (!fork) { my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $s->sockport); print $c "tcp\n"; exit } my $c = $s->accept; print <$c>; wait;
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; select undef, undef, undef, 5; }; print $@;
print qx(echo shell), system("exit 3") >> 8, "\n"; (my $x = "a.b.c") =~ s/\./-/g; print "$x\n"; print Encode::encode("UTF-8", "\x{e9}\x{20ac}"), "\n"; printf "%s %b %o %.2e\n", "%", 10, 64, 12345;
mkdir "d"; for my $i (1..3) { open my $f, ">", "d/$i" or die; print $f $i x 10; close $f } find(sub { print "$File::Find::name\n" if -f }, "d") ; local $Data::Dumper::Sortkeys = 1; local $Data::Dumper::Indent = 1; print Dumper({a => [1, {b => 2}]}); print ref dclone([1]), "\n"; my $str = join "", map { chr(65 + $_ % 26) } 0..99999; my $n = () = $str =~ /XYZ/g; print "$n\n"; die "end\n";
X
perl a.pl 2>&1 | sort | uniq -c | sort -k2; perl -ne 'print if /root/' /etc/passwd | head -1; seq 1 5 | perl -pe 's/(\d)/$1*2/e'; perl -MPOSIX -e 'print POSIX::fmod(7,3), "\n"'; perl -V:archname
