// compiler: compiler-failed: the C compiler failed
// sizes: {}
// form: stages
// build: gcc -O2 -march=native -fopenmp
// move: ["fuse", ["s0"], {"into": "s1", "at": "s1.y", "storage": "full", "keep": true}]
// move: ["pack", ["s0"], {"at": "s1.y"}]
// move: ["distribute", ["s1.y"], {"at": "s1"}]

in1 = po.input("in1", "i16", ["H + 2", "W + 1"])
in2 = po.input("in2", "i16", ["H + 1"])
s0 = po.stage("s0", ["H + 1"], lambda y: po.cast("i32", po.min(po.max(po.cast("i64", po.padded(in2)[y]), po.cast("i64", po.padded(in2)[y - 2]) * 2), po.cast("i64", po.mirrored(in2)[y + 1]) // 3)))
s1 = po.stage("s1", ["H + 1"], lambda y: po.cast("i16", po.select(y < y + 1, (((po.cast("i64", s0[y]) % 7) + po.cast("i64", po.clamped(s0)[y - 1])) + po.cast("i64", po.clamped(s0)[y]) // 5), po.cast("i64", po.padded(s0)[y - 1]) // 5)))
s2 = po.stage("s2", ["H"], lambda y: po.cast("i16", po.min(po.cast("i64", s1[y + 1]), po.cast("i64", po.clamped(s1)[y]) // 3)))
s3 = po.stage("s3", ["H"], lambda y: po.cast("i32", po.sum(lambda k: (po.cast("i64", po.mirrored(s2)[y + k - 2]) + po.cast("i64", y)), k=3)))
s4 = po.stage("s4", ["H"], lambda y: po.cast("i16", (po.cast("i64", s3[y]) // 3 + po.cast("i64", s3[y]))))
s5 = po.stage("s5", ["H"], lambda y: po.cast("i16", po.cast("i64", po.padded(s4)[y - 2]) * 3))
scop = po.pipeline([s4, s5], context=['H >= 6', 'W >= 6'])
