# packages: nodejs
cd "$(mktemp -d)"
cat >a.js <<'X'
const fs = require('fs'), http = require('http'), cp = require('child_process'), crypto = require('crypto'), zlib = require('zlib'), { Worker, isMainThread, parentPort } = require('worker_threads'), path = require('path'), os = require('os'), net = require('net');
(async () => {
  console.log(process.version.split('.')[0].length > 1, [3, 1, 2].sort().join(), JSON.stringify({ a: [1, { b: 2 }] }), 2n ** 70n);
  console.log(crypto.createHash('sha256').update('x').digest('hex').slice(0, 16), zlib.gunzipSync(zlib.gzipSync(Buffer.alloc(100000, 'a'))).length);
  await fs.promises.writeFile('f', 'text'); console.log((await fs.promises.readFile('f')).toString(), fs.statSync('f').size, fs.existsSync('none'));
  const s = http.createServer((q, r) => r.end('url ' + q.url)); await new Promise(r => s.listen(0, '127.0.0.1', r)); const port = s.address().port;
  const get = u => new Promise(r => http.get({ port, path: u, host: '127.0.0.1' }, a => { let t = ''; a.on('data', d => t += d); a.on('end', () => r(t)); }));
  console.log((await Promise.all([...Array(20).keys()].map(i => get('/' + i)))).join()); s.close();
  console.log(cp.execSync('echo child').toString().trim(), cp.spawnSync('sh', ['-c', 'exit 4']).status);
  const w = new Worker("const {parentPort}=require('worker_threads');let n=0;for(let i=0;i<1e6;i++)n+=i;parentPort.postMessage(n)", { eval: true }); console.log(await new Promise(r => w.on('message', r)));
  const t = Date.now(); await new Promise(r => setTimeout(r, 50)); console.log(Date.now() - t >= 49);
  const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); console.log(fib(25)); console.log(/(\d+)-(?<x>\w+)/.exec('12-ab').groups.x, new Intl.NumberFormat('en').format(1234567));
  const watcher = fs.watch('.', () => { watcher.close(); console.log('watched'); }); setTimeout(() => fs.writeFileSync('g', ''), 50);
  process.on('exit', c => console.log('exit', c)); setTimeout(() => { process.exitCode = 3; }, 200);
})();
X
node a.js; echo $?; echo 'console.log(1+' | node - 2>&1 | grep -c SyntaxError; node -e 'throw new Error("x")' 2>/dev/null; echo $?; echo '1+1' | node -p
