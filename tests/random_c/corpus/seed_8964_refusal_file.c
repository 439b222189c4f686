// refusal: InternalError: internal-error: isl failed in the lowering of p8964: call to isl_pw_aff_gist_params failed: Assertion "map->p[0]->n_div == map->p[i]->n_div" failed in /project/isl/isl_map.c:6307
// example: {"way": {"form": "file", "options": {"target": "native", "tile": false, "parallel": false, "fuse": "output", "threads": null}, "calls": []}, "build": [], "seed": 8964, "program": {"name": "p8964", "parameters": [{"name": "lgamma_r", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "d3", "key": "i32", "kind": "size", "extents": [], "into": null, "aliases": false, "spelling": ""}, {"name": "M6", "key": "bool", "kind": "array", "extents": [["lgamma_r", 3, 1]], "into": null, "aliases": false, "spelling": "_Bool"}, {"name": "h", "key": "i32", "kind": "array", "extents": [["d3", 0, 1], ["lgamma_r", 0, 1], ["", 3, 1]], "into": null, "aliases": false, "spelling": "signed"}], "file_names": ["res2", "j"], "headers": false, "wild": true, "fixed": {}, "depth": 2}}

void p8964(int lgamma_r, signed d3, _Bool M6[restrict lgamma_r + 3], signed (*restrict h)[lgamma_r][3])
{
    int y;
#pragma scop
    for (int b = 0; b <= d3; b += 4) {
        for (y = lgamma_r - 1; 0 <= y; y = y - 4)
            for (unsigned char optarg = 0; optarg <= 2; ++optarg) {
                if ((b - y) % 3 != 1)
                    h[b][y][optarg] = M6[y] > 0xffffffffu ? M6[y] : 0xffffffffu;
                else {
                    h[b][y][optarg] = optarg * (h[b][y][(b + optarg) % 3] % 255);
                }
            }
    }
#pragma endscop
}
