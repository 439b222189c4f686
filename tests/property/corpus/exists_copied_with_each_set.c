// auto: ended after 90 s of processor
// sizes: {"H": 9, "W": 7}
// form: stages
// move: ["auto", [], {"target": "native", "tile": true}]

in0 = po.input("in0", "i32", ["H + 1"])
s1 = po.stage("s1", ["H + 1"], lambda y: po.cast("i16", po.max(lambda k: po.cast("i64", in0[y] + in0[y]), k=2)))
s2 = po.stage("s2", ["H + 1"], lambda y: po.cast("i16", po.select(y % 2 == 0, po.cast("i64", po.wrapped(s1)[y]), po.cast("i64", po.padded(s1)[y + 2]) % 7)))
s3 = po.stage("s3", ["H + 1"], lambda y: po.cast("i16", po.cast("i64", po.clamped(s2)[y + 1]) + po.cast("i64", po.clamped(s2)[y]) % 7))
scop = po.pipeline([s3], context=['H >= 6'])
