# packages: nginx-light, curl
up() { until (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; do sleep 0.1; done; }
cd "$(mktemp -d)"; chmod 755 .; mkdir www logs; head -c 200000 /dev/zero | tr '\0' y >www/y; echo page >www/index.html
cat >conf <<X
user root; worker_processes 2; pid $PWD/pid; error_log $PWD/logs/error;
events { worker_connections 128; }
http { access_log $PWD/logs/access; client_body_temp_path $PWD/b; proxy_temp_path $PWD/p; fastcgi_temp_path $PWD/f; uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s; sendfile on; gzip on; gzip_types text/plain; gzip_min_length 10;
 server { listen 127.0.0.1:8126; root $PWD/www; location /up { proxy_pass http://127.0.0.1:8127/; } location /list { autoindex on; alias $PWD/www; } }
 server { listen 127.0.0.1:8127; location / { return 200 "behind\n"; } } }
X
nginx -t -q -c $PWD/conf 2>&1; nginx -c $PWD/conf; up 8126; curl -s http://127.0.0.1:8126/; curl -s http://127.0.0.1:8126/y | sha256sum; curl -s http://127.0.0.1:8126/up; curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8126/none; curl -sI --compressed http://127.0.0.1:8126/ | grep -ci server
for i in $(seq 1 40); do curl -s http://127.0.0.1:8126/y -o o.$i & done; wait $(jobs -p) 2>/dev/null; cat o.* | wc -c; curl -s -r 10-19 http://127.0.0.1:8126/y; echo; nginx -c $PWD/conf -s reload; sleep 2; curl -s http://127.0.0.1:8126/; nginx -c $PWD/conf -s quit; while [ -e pid ]; do sleep 0.1; done; curl -s --max-time 2 http://127.0.0.1:8126/; echo $?; wc -l <logs/access; ls pid 2>/dev/null
