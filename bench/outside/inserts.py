# 10,000 rows on the disk, in transactions of a hundred.
import sqlite3
connection = sqlite3.connect("/media/rows.db")
connection.execute("create table t (n integer primary key, text)")
for batch in range(100):
    with connection:
        connection.executemany("insert into t values (?, ?)", ((batch * 100 + n, "row %d" % n) for n in range(100)))
assert connection.execute("select count(*) from t").fetchone() == (10000,)
