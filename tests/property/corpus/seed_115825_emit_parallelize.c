// emit: InternalError: internal-error: isl failed in the C of pipeline: call to isl_set_dim_max failed: unbounded optimum in /project/isl/isl_tab_pip.c:743
// sizes: {}
// form: stages
// move: ["split", ["s0.y", 7], {}]
// move: ["fuse_loops", ["s0.y_tile", "s3.y"], {"depth": 2, "shift": 0}]
// move: ["parallelize", ["s3.x"], {}]

in1 = po.input("in1", "u16", ["H + 1", "W + 1"])
in2 = po.input("in2", "u8", ["W", "H"])
s0 = po.stage("s0", ["W - 1", "H"], lambda y, x: po.cast("u16", po.select(y < x + 1, po.cast("i64", po.wrapped(in2)[y, x - 2]) * 3, po.cast("i64", in2[y + 1, x]) * 3)))
s3 = po.stage("s3", ["H + 1", "W + 1"], lambda y, x: po.cast("u16", po.max((po.cast("i64", in1[y, x]) + po.cast("i64", y)), (po.cast("i64", po.mirrored(in2)[x, y]) + po.cast("i64", y)))))
scop = po.pipeline([s0, s3], context=['H >= 6', 'W >= 6'])
