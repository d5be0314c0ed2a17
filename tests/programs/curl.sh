# packages: curl, wget, python3, openssl
up() { until (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; do sleep 0.1; done; }
cd "$(mktemp -d)"; mkdir s; head -c 3000000 /dev/zero | tr '\0' x >s/large; echo small >s/small; mkdir s/dir; echo deep >s/dir/f
(cd s && exec python3 -m http.server 8124 --bind 127.0.0.1 >/dev/null 2>&1) & up 8124
curl -s http://127.0.0.1:8124/small; curl -s http://127.0.0.1:8124/large | sha256sum; curl -s -o x -w '%{http_code} %{size_download}\n' http://localhost:8124/none; curl -s -r 2-4 file://$PWD/s/small; curl -sI http://127.0.0.1:8124/small | grep -i length; curl -s --parallel http://127.0.0.1:8124/small http://127.0.0.1:8124/dir/f | sort
wget -q -O- http://127.0.0.1:8124/small; wget -q -r -nH -P m http://127.0.0.1:8124/ && find m -type f | sort; curl -s --max-time 1 http://127.0.0.1:9 ; echo $?; kill %1
openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 3 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null; openssl s_server -accept 127.0.0.1:8125 -key k -cert c -www -quiet >/dev/null 2>&1 & up 8125; curl -s --cacert c https://localhost:8125/ | grep -c 'Ciphers supported'; curl -s https://localhost:8125/ ; echo $?; kill %2
