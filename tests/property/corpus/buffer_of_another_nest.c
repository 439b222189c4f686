// wrong: ended with status -11, for {'H': 7, 'W': 9} on 1 thread(s)
// sizes: {}
// form: stages
// build: gcc -O3 -march=native -fopenmp
// move: ["fuse", ["s2"], {"into": "s3", "storage": "scratch"}]
// move: ["store", ["s2_sum"], {"at": "s2.y", "fold": {"0": 2}}]

in2 = po.input("in2", "u16", ["W", "H + 2"])
s2 = po.stage("s2", ["W - 2", "H + 2"], lambda y, x: po.cast("u16", po.sum(lambda k: po.cast("i64", po.wrapped(in2)[y + k - 1, x]), k=2)))
s3 = po.stage("s3", ["W - 2", "H + 2"], lambda y, x: po.cast("u16", po.max(po.cast("i64", s2[y, x]), (po.cast("i64", po.wrapped(s2)[y - 2, x - 1]) % 7))))
scop = po.pipeline([s2, s3], context=['H >= 6', 'W >= 6'])
