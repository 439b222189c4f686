// wrong: the loop around both had no end: the hull of what is in it has no bound that both share
// sizes: {}
// form: stages
// move: ["tile", ["s0"], {"y": 1, "x": 7}]
// move: ["unroll_and_jam", ["s0.y_tile", 1], {}]
// move: ["split", ["s0.y_tile", 5], {}]
// move: ["diamond", ["s0.y_tile_jam", "s0.y_tile_tile", 6], {}]
// move: ["fuse_loops", ["s0.y_tile_jam_tile", "s1.y"], {"depth": 2, "shift": 3}]

in0 = po.input("in0", "f64", ["H + 1", "W"])
s0 = po.stage("s0", ["H + 1", "W"], lambda y, x: in0[y, x] + 1)
s1 = po.stage("s1", ["H", "W"], lambda y, x: s0[y, x] * 2)
scop = po.pipeline([s1], context=['H >= 6', 'W >= 6'])
