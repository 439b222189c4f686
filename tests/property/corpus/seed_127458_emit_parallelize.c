// emit: InternalError: internal-error: isl failed in the C of pipeline: call to isl_set_dim_max failed: unbounded optimum in /project/isl/isl_tab_pip.c:743
// sizes: {}
// form: stages
// move: ["fuse_loops", ["s0.y", "s3.y"], {"depth": 3, "shift": 2}]
// move: ["parallelize", ["s3.x"], {}]

in0 = po.input("in0", "u16", ["H", "W + 2"])
in1 = po.input("in1", "u16", ["H + 1", "W + 2"])
s0 = po.stage("s0", ["H - 2", "W + 2"], lambda y, x: po.cast("u16", po.select(y % 2 == 0, (po.cast("i64", po.padded(in0)[y - 2, x + 2]) * 3 + po.cast("i64", po.mirrored(in0)[y - 1, x])), po.cast("i64", in0[y + 2, x]))))
s3 = po.stage("s3", ["W + 2", "H + 1"], lambda y, x: po.cast("u16", po.select(po.cast("i64", po.clamped(in1)[x + 2, y - 1]) > (po.max(po.cast("i64", in1[x, y]), po.cast("i64", po.clamped(in1)[x, y + 2])) + po.cast("i64", po.clamped(in1)[x, y - 2])), (po.max(po.cast("i64", in1[x, y]), po.cast("i64", po.clamped(in1)[x, y + 2])) + po.cast("i64", po.clamped(in1)[x, y - 2])), po.cast("i64", po.clamped(in1)[x + 2, y - 1]))))
scop = po.pipeline([s0, s3], context=['H >= 6', 'W >= 6'])
