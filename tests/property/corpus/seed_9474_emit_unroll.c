// emit: RecursionError: maximum recursion depth exceeded while calling a Python object
// sizes: {}
// form: stages
// move: ["inline", ["s1"], {}]
// move: ["tile", ["s2"], {"x": 256}]
// move: ["fuse", ["s1_sum"], {"into": "s2", "at": "s2.x", "storage": "sliding"}]
// move: ["unroll", ["s2.x", 0], {}]

in0 = po.input("in0", "f32", ["W + 1", "H", 3])
s0 = po.stage("s0", ["W + 1", "H", 2], lambda y, x, z: po.cast("f32", ((po.cast("f32", po.padded(in0)[y, x - 1, z]) * 2 + po.cast("f32", po.mirrored(in0)[y, x - 2, 3 - 1 - z]) * 3) - po.cast("f32", in0[y, x, z]))))
s1 = po.stage("s1", ["W + 1", "H - 2", 2], lambda y, x, z: po.cast("f32", po.max(-40, po.min(40, po.sum(lambda k: po.cast("f32", po.wrapped(s0)[y + k - 1, x + 1, z]) * 2, k=2)))))
s2 = po.stage("s2", ["W", "H - 2", 2], lambda y, x, z: po.cast("f32", (po.max((po.cast("f32", s1[y, x, z]) + po.cast("f32", y)), po.floor(po.cast("f32", po.mirrored(s1)[y + 2, x, 2 - 1 - z]) * 0.5)) - po.cast("f32", po.wrapped(s1)[y + 2, x + 1, z]) * 2)))
scop = po.pipeline([s2], context=['H >= 6', 'W >= 6'])
