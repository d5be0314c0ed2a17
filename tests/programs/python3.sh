# packages: python3
up() { until (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; do sleep 0.1; done; }
cd "$(mktemp -d)"
cat >a.py <<'X'
import asyncio, collections, concurrent.futures, csv, ctypes, datetime, decimal, fcntl, glob, hashlib, io, json, math, mmap, multiprocessing, os, pathlib, pickle, queue, random, re, select, shutil, signal, socket, sqlite3, struct, subprocess, sys, tempfile, threading, time, zlib
def square(n): return n * n
def main():
    print(sys.version_info[:2], json.dumps({"a": [1, 2.5, None, True]}, sort_keys=True), decimal.Decimal(1) / 7)
    print(hashlib.sha256(b"x" * 1000).hexdigest()[:16], zlib.crc32(b"hello"), math.factorial(25), random.Random(7).randint(0, 10**9))
    with concurrent.futures.ThreadPoolExecutor(8) as p: print(sum(p.map(square, range(100))))
    with multiprocessing.Pool(3) as p: print(sum(p.map(square, range(100))))
    with concurrent.futures.ProcessPoolExecutor(2) as p: print(list(p.map(square, [3, 4])))
    print(subprocess.run(["sh", "-c", "cat; exit 3"], input=b"in", capture_output=True).returncode)
    a, b = socket.socketpair(); a.sendall(b"pair"); print(b.recv(10))
    s = socket.create_server(("127.0.0.1", 0)); t = threading.Thread(target=lambda: socket.create_connection(s.getsockname()).sendall(b"tcp")); t.start(); c, _ = s.accept(); t.join(); print(c.recv(10))
    async def tick(n): await asyncio.sleep(0.01 * n); return n
    async def all(): 
        p = await asyncio.create_subprocess_exec("echo", "async", stdout=subprocess.PIPE); out, _ = await p.communicate()
        return await asyncio.gather(*(tick(i) for i in range(5))), out
    print(asyncio.run(all()))
    d = sqlite3.connect("db"); d.execute("create table t(a,b)"); d.executemany("insert into t values(?,?)", [(i, str(i)) for i in range(1000)]); d.commit(); print(d.execute("select sum(a), max(b) from t").fetchone())
    with open("m", "w+b") as f: f.truncate(8192); m = mmap.mmap(f.fileno(), 8192); m[5000:5003] = b"map"; m.flush(); f.seek(5000); print(f.read(3))
    with open("l", "w") as f: fcntl.flock(f, fcntl.LOCK_EX); print(os.fork() == 0 and os._exit(0) or os.wait()[1])
    q = queue.Queue(); th = [threading.Thread(target=lambda: q.put(threading.get_ident() != 0)) for _ in range(20)]; [x.start() for x in th]; [x.join() for x in th]; print(q.qsize())
    signal.signal(signal.SIGALRM, lambda *_: print("alarm")); signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(0.2)
    r, w = os.pipe(); e = select.epoll(); e.register(r, select.EPOLLIN); os.write(w, b"x"); print(e.poll(1)[0][1])
    print(ctypes.CDLL(None).abs(-5), struct.pack(">I", 258), pickle.loads(pickle.dumps({1: (2, 3)})), re.findall(r"\d+", "a1b22"), datetime.date(2024, 2, 29).isoformat())
    with tempfile.TemporaryDirectory() as t: pathlib.Path(t, "x").write_text("y"); shutil.make_archive("arch", "gztar", t); print(os.path.exists("arch.tar.gz"))
    x = [list(range(1000)) for _ in range(2000)]; print(sum(map(len, x)))
    def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
    print(deep(900))
    try: deep(10**6)
    except RecursionError: print("recursion")
if __name__ == "__main__": main()
X
python3 a.py; echo $?; python3 -c 'import sys; sys.exit("wrong")' 2>&1; python3 -m venv --without-pip v && v/bin/python -c 'print("venv")'; python3 -m compileall -q a.py && ls __pycache__ | wc -l; echo 'print(input())' >i.py; echo typed | python3 i.py; python3 -m timeit -n 1 -r 1 pass | wc -l; printf 'import time, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\ntry:\n open("k.up","w")\n time.sleep(99)\nexcept KeyboardInterrupt: print("interrupted")\n' >k.py; python3 k.py & until [ -e k.up ]; do sleep 0.1; done; kill -INT $!; wait $!; python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & p=$!; up 8123; python3 -c 'import urllib.request; print(len(urllib.request.urlopen("http://127.0.0.1:8123/i.py").read()))'; kill $p
