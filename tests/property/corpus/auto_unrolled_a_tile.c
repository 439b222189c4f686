// emit: TooLargeError: too-large: the C would have more than 128 loops and conditions in each other
// sizes: {}
// form: stages
// move: ["auto", [], {"target": "native", "tile": true}]

in0 = po.input("in0", "f32", ["W + 1"])
in1 = po.input("in1", "f32", ["W + 2"])
in2 = po.input("in2", "f32", ["H"])
table = po.input("table", "f32", 6)
s0 = po.stage("s0", ["W"], lambda y: po.cast("f32", po.select(y < y + 1, ((po.cast("f32", po.clamped(in0)[y + 2]) + po.cast("f32", table[2]) * 2) + abs(po.cast("f32", po.wrapped(in0)[y + 1]))), (po.cast("f32", po.padded(in0)[y - 2]) + po.cast("f32", y)))))
s1 = po.stage("s1", ["W"], lambda y: po.cast("f32", po.select(y % 2 == 0, po.max(po.cast("f32", s0[y]), po.cast("f32", table[3]) * 2), po.floor(po.cast("f32", s0[y]) * 0.5))))
s2 = po.stage("s2", ["W", "H"], lambda y, x: po.cast("f32", po.select(po.cast("f32", s1[y]) > (abs(po.cast("f32", po.clamped(s1)[y + 2])) - abs(po.cast("f32", s0[y]))), (abs(po.cast("f32", po.clamped(s1)[y + 2])) - abs(po.cast("f32", s0[y]))), po.cast("f32", s1[y]))))
s3 = po.stage("s3", ["W - 2", "H - 1"], lambda y, x: po.cast("f32", po.min(abs(po.cast("f32", s2[y, x + 1])), po.floor(po.cast("f32", po.wrapped(s2)[y, x - 1]) * 0.5))))
scop = po.pipeline([s0, s3], context=['H >= 6', 'W >= 6'])
