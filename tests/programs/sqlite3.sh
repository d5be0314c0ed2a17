# packages: sqlite3
cd "$(mktemp -d)"
sqlite3 a.db "create table t(id integer primary key, n int, s text); with recursive c(x) as (select 1 union all select x+1 from c where x<10000) insert into t(n,s) select x*7%1000, 'row '||x from c; create index i on t(n); select count(*), sum(n), max(s) from t; select * from t where n=21 order by id limit 2; explain query plan select * from t where n=5;"
sqlite3 a.db "pragma journal_mode=wal; begin; delete from t where n<500; rollback; select count(*) from t; begin; delete from t where n<500; commit; vacuum; pragma integrity_check; select count(*) from t;"
sqlite3 a.db .dump | sha256sum
for i in 1 2 3 4; do (for j in 1 2 3 4 5; do sqlite3 -cmd '.timeout 10000' a.db "insert into t(n,s) values($i,'p')"; done) & done; wait; sqlite3 a.db "select count(*) from t where s='p'; select n, count(*) from t where s='p' group by n;"; sqlite3 -json a.db "select 1 as a, 'x' as b"; printf 'a,b\n1,2\n' >c.csv; sqlite3 b.db '.import --csv c.csv c' 'select a+b from c'; sqlite3 :memory: "select json_extract('{\"a\":[1,2]}','\$.a[1]'), upper('x'), round(3.14159,2), date('2024-02-29','+1 year')"; echo "select nonesuch();" | sqlite3 a.db 2>&1 | head -1
