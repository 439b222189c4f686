# Everything runs in .venv, which `make .venv` makes from the Python found on the path.
# One Python of your own: `make PYTHON=python3.12 .venv`.

PYTHON ?=

# Where the machine says so, each of some hundred processes of a run would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
STAMP := .venv/.made-$(shell { cat pyproject.toml; pwd; } | cksum | tr ' ' '-')

BENCH ?= blur conv2d conv_bn_relu_maxpool harris
SWEEP ?= harris unsharp
# for each of some 24 sizes
SWEEP_SECONDS ?= 0.1
PROGRAMS ?= 100000
COMPILATIONS ?= $(shell expr $(PROGRAMS) / 10)
MOST ?= 2
HOURS ?=
CLUSTER ?=
SECONDS ?= 0.5
SIDE ?= 1200
THREADS ?= 1,2
BASE ?=
SUITE ?= all
KERNELS ?=
ROUNDS ?=
MINUTES ?=
ALL ?=
FUZZ_SECONDS := $(if $(filter command line,$(origin SECONDS)),$(SECONDS),60)
FUZZ_STAMP := build/fuzz/$(notdir $(STAMP))
PEERS_STAMP := build/peers/$(notdir $(STAMP))
TORCH_STAMP := build/torch/$(notdir $(STAMP))
JUPYTER_STAMP := build/jupyter/$(notdir $(STAMP))
SITE_STAMP := build/site/$(notdir $(STAMP))
SITE_PACKAGES := 'sphinx>=9,<9.1' 'myst-nb>=1.4,<1.5' 'furo>=2025.12,<2026' 'sphinx-click>=6.2,<7' \
  'sphinx-copybutton>=0.5.2,<0.6' 'sphinx-design>=0.8,<0.9'
PEERS_PACKAGES := 'halide>=19' 'numba>=0.60' 'opencv-python-headless>=4.9' 'scipy>=1.13' 'threadpoolctl>=3'
AFFINE_PEERS := gcc,clang,graphite,polly,numba,blas
FIELD_PEERS := gcc,clang,numba,opencv,scipy
FIELD_NAMES := from polyopt.bench.suites import FIELD, members; print(*members(FIELD))
AFFINE_FUSIONS := 2mm,gemver,covariance

.PHONY: all help test test-clang test-torch test-browser test-remarks lint format ruff types imports tests demo notebooks
.PHONY: docs docs-links pages recipes coming-from gallery bench compare compile-time model sweep peers peers-affine peers-field peers-nn peers-models peers-int8 peers-winograd peers-attention soak fuzz fuzz-torch fuzz-onnx onnx-cases mutations faults math
.PHONY: wheel clean .venv models
.PHONY: peers-jit throughput test-cluster test-oldest test-newest reproducible sbom

all: test

help:
	@echo "make test       lint, types, layers and tests"
	@echo "make test-clang  what the tests do with a second compiler, where clang is installed"
	@echo "make test-torch  the tests that need PyTorch, in an environment of their own"
	@echo "make test-browser  programs' pages and the explorer in headless Chromium (BROWSER=...)"
	@echo "make test-remarks  every loop and pair of every kernel has a remark"
	@echo "make test-cluster  harris on a file by a cluster that loses a worker; SIDE=1200;"
	@echo "                tuning and random programs there give what they give here"
	@echo "make throughput  box by box beside one call, on the same arrays; fails below 0.85"
	@echo "make test-oldest, test-newest  with the oldest and the newest of what we depend on"
	@echo "make demo       blur and conv on a photograph: bill, proof, times, pictures, C"
	@echo "make notebooks  run the notebooks into build/notebooks"
	@echo "make pages      rewrite what the examples of README and docs print, and the error index"
	@echo "make docs       build the site into build/docs, notebooks run, warnings are errors"
	@echo "make recipes    measure the recipes beside NumPy, into docs/recipes.md"
	@echo "make coming-from  the same programs in other systems, measured, into docs/coming-from"
	@echo "make docs-links  whether its links to other sites lead somewhere"
	@echo "make gallery    pictures, plans and costs of the pipelines, into docs/gallery"
	@echo "make bench      measure; BENCH='blur conv2d' chooses kernels"
	@echo "make compare    is the working tree slower than BASE=<commit>? SUITE=images|affine|networks|all,"
	@echo "                KERNELS='blur harris', ROUNDS=20; MINUTES=25 stops, and the next call goes on"
	@echo "make compile-time  measure what compiling takes, beside the paper's figures"
	@echo "make sweep      tile sizes of harris and unsharp, predicted and measured: docs/sweep.*"
	@echo "make model      the time model's predictions beside recorded times: docs/model.md"
	@echo "make peers      measure beside Halide and OpenCV, rewrite docs/peers.* and"
	@echo "                docs/compile-time.*; SECONDS=0.5 is for each variant"
	@echo "make peers-affine  measure beside compilers, Numba and BLAS, rewrite docs/affine.*"
	@echo "make peers-field  measure programs of the field beside libraries, rewrite docs/field.*;"
	@echo "                MINUTES=25 stops, and the next call goes on"
	@echo "make peers-jit  functions under po.jit beside numba, Pythran and JAX: docs/jit-peers.md; NAMES=... CORES=1"
	@echo "make peers-nn  measure networks beside frameworks, rewrite docs/nn.*; PIECES='resnet50'"
	@echo "make peers-winograd  Winograd's convolutions beside direct ones: docs/winograd.md"
	@echo "make peers-attention  attention from 128 to 16,384 tokens: docs/attention.md; CASES='plain-128'"
	@echo "make peers-int8  quantised networks beside ONNX Runtime: docs/quantized.md; MINUTES=60, TIMES=1"
	@echo "make models     forty networks beside PyTorch by three routes: docs/models.md; MODELS='vit gpt'"
	@echo "make soak       random programs of two generators, then crowds; PROGRAMS=100000 HOURS=2 COMPILATIONS=10000"
	@echo "                CLUSTER=tcp://... spreads them over dask workers"
	@echo "                REPORT=docs/soak.md writes what all runs so far have tried"
	@echo "make fuzz       feed the C frontend, ONNX importer and plan loader; SECONDS=60 each"
	@echo "make peers-models  their times beside ONNX Runtime, OpenVINO and Inductor, on the same page"
	@echo "make fuzz-torch  random modules beside PyTorch; SEEDS=0:300"
	@echo "make onnx-cases  all of ONNX's node cases: docs/onnx.md; PART=1/4 tries a part, NAMES='conv pool' some"
	@echo "make fuzz-onnx  random ONNX models beside the reference evaluator, and convolutions; SEEDS=0:300"
	@echo "make mutations  judge wrong plans and wrong code, rewrite docs/mutations.md"
	@echo "make faults     faults, threads, processes, 10,000 compilations; docs/faults.md"
	@echo "make math       errors of math functions over all floats, and their times: docs/math.md"
	@echo "make lint       ruff, pyright and the import layers alone"
	@echo "make format     let ruff format and fix what it can"
	@echo "make wheel      sdist and wheel into dist/"
	@echo "make reproducible  the wheel twice, and whether both are the same bytes"
	@echo "make sbom       what an installation brings along, as CycloneDX, into dist/"
	@echo "make clean      remove what was built, .venv included"

.venv: $(STAMP)

# The stamp's name is a checksum of pyproject.toml and this folder: a change of either mends .venv.
$(STAMP):
	@set -e; \
	if ! { [ -x $(BIN)/python ] && [ "$$(cat .venv/.place 2>/dev/null)" = "$$(pwd)" ] \
	    && $(BIN)/python -m pip --version; } >/dev/null 2>&1; then \
	  found=; \
	  for python in $(PYTHON) $(if $(PYTHON),,python3 python3.13 python3.12 python3.11 python3.14 python); do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	      found=$$python; break; \
	    fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "polyopt needs Python 3.11 or newer; none found (make PYTHON=... names one)" >&2; exit 1; \
	  fi; \
	  echo "making .venv with $$found"; \
	  "$$found" -m venv --clear .venv; \
	  pwd > .venv/.place; \
	fi; \
	rm -f .venv/.made-*; \
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile -e '.[dev]'; \
	touch $@

# Types are checked beside the tests: the one takes a core for half a minute, and the others come
# from as many processes as there are cores.
test: ruff imports
	@$(MAKE) --no-print-directory --jobs=2 --keep-going types tests

lint: ruff types imports

ruff: $(STAMP)
	@echo "== ruff check"
	@$(BIN)/ruff check --quiet
	@echo "== ruff format"
	@$(BIN)/ruff format --check --quiet || { echo "run: make format" >&2; exit 1; }

types: $(STAMP)
	@echo "== pyright"
	@$(BIN)/pyright

imports: $(STAMP)
	@echo "== import layers"
	@$(BIN)/lint-imports --no-cache --no-logo

# Tests of one group, or else of one file, run in one process and share what they make. In the order
# of their names: by their number, which is pytest-xdist's, single long ones would come last.
tests: $(STAMP)
	@echo "== pytest"
	@$(BIN)/python -m pytest -q -n auto --dist loadgroup --no-loadscope-reorder

# The tests with the machine's own compiler hold the same: this is the second one alone, and some of
# what runs kernels with whatever compiler there is.
test-clang: $(STAMP)
	@if command -v clang >/dev/null; then \
	  echo "== pytest, with clang"; \
	  $(BIN)/python -m pytest -q -n auto --dist loadgroup -m clang && \
	  POLYOPT_CC=clang $(BIN)/python -m pytest -q -n auto --dist loadgroup tests/oracle/test_kernels.py \
	    tests/property/test_plans.py -k 'test_what_failed_once or test_compiled_kernels'; \
	else echo "no clang here: nothing to test with it"; fi

# PyTorch lives in an environment of its own: the tests are about a machine without it. From PyPI
# this version is built for the CPU on Linux.
$(TORCH_STAMP): $(STAMP)
	@echo "installing torch into build/torch"
	@$(BIN)/python -m venv --clear build/torch
	@$(BIN)/python docs/release.py testing > build/torch/testing.txt
	@build/torch/bin/python -m pip install -qq --disable-pip-version-check -e '.[nn]' \
	  -r build/torch/testing.txt torch==2.13.0
	@touch $@

# A file for each model in build/models: those that are there are left out until it is removed.
models: $(TORCH_STAMP)
	@build/torch/bin/python -m pip install -q onnxscript  # what PyTorch exports by
	@build/torch/bin/python -m tests.torch.page $(if $(MINUTES),--minutes $(MINUTES)) $(MODELS)

fuzz-torch: $(TORCH_STAMP)
	@build/torch/bin/python -m tests.fuzz.modules --seeds $(or $(SEEDS),0:300)

# A line for each case in build/onnx: those that are there are left out until it is removed.
onnx-cases: $(STAMP)
	@$(BIN)/python -m tests.oracle.onnx_cases $(if $(PART),--part $(PART)) $(if $(MINUTES),--minutes $(MINUTES)) $(NAMES)

fuzz-onnx: $(STAMP)
	@failed=0; for part in graphs convolutions; do \
	  $(BIN)/python -m tests.fuzz.$$part --seeds $(or $(SEEDS),0:300) || failed=$$?; \
	done; exit $$failed

test-torch: $(TORCH_STAMP)
	@echo "== pytest, with torch"
	@build/torch/bin/python -m pytest -q -n auto tests/torch

# The pages of programs in a real browser, and the explorer in JupyterLab, which is driven there:
# apart from the tests, which need none of it.
$(JUPYTER_STAMP): $(STAMP)
	@echo "installing jupyterlab and playwright into build/jupyter"
	@$(BIN)/python -m venv --clear build/jupyter
	@build/jupyter/bin/python -m pip install -qq --disable-pip-version-check -e '.[jupyter,nn]' \
	  jupyterlab nbconvert playwright
	@touch $@

test-browser: $(JUPYTER_STAMP)
	@$(BIN)/python -m tests.browser.check $(BROWSER)
	@build/jupyter/bin/python -m tests.browser.explorer $(BROWSER)

# Every kernel's automatic and unfused plan; the tests take some of them.
test-remarks: $(STAMP)
	@$(BIN)/python -m tests.remarks.check

test-cluster: $(STAMP)
	@echo "== harris by a cluster"
	@$(BIN)/python -m tests.cluster.check --side $(SIDE)
	@echo "== tuning and random programs by a cluster"
	@$(BIN)/python -m tests.cluster.work

throughput: $(STAMP)
	@$(BIN)/python -m tests.cluster.speed

# The ends of the ranges in pyproject.toml, each in an environment of its own. What rests on isl alone
# is tested where isl is another than that of `make test`: with the same it would run once more.
ENDS := tests/unit/isl tests/unit/ir tests/unit/frontend tests/unit/runtime tests/unit/codegen/test_manners.py \
  tests/unit/codegen/test_python.py
OF_ISL := tests/unit/analysis tests/unit/transform tests/unit/codegen
ISL_VERSION := -c 'from importlib.metadata import version; print(version("islpy"))'
# of an environment: the tests that its versions may break
ends = $(ENDS) $$([ "$$($(1)/bin/python $(ISL_VERSION))" = "$$($(BIN)/python $(ISL_VERSION))" ] || echo $(OF_ISL))
test-oldest: $(STAMP)
	@mkdir -p build
	@$(BIN)/python docs/release.py oldest > build/oldest.txt
	@$(BIN)/python -m venv --clear build/oldest
	@$(BIN)/python docs/release.py testing > build/oldest/testing.txt
	@build/oldest/bin/python -m pip install -qq --disable-pip-version-check -e . -r build/oldest.txt
	@build/oldest/bin/python -m pip install -qq --disable-pip-version-check -r build/oldest/testing.txt
	@echo "== pytest, with the oldest of what we depend on"
	@build/oldest/bin/python -m pytest -q -n auto --dist loadgroup $(call ends,build/oldest)

test-newest: $(STAMP)
	@mkdir -p build
	@$(BIN)/python docs/release.py newest > build/newest.txt
	@$(BIN)/python -m venv --clear build/newest
	@build/newest/bin/python -m pip install -qq --disable-pip-version-check --upgrade -r build/newest.txt
	@build/newest/bin/python -m pip install -qq --disable-pip-version-check --no-deps -e .
	@$(BIN)/python docs/release.py testing > build/newest/testing.txt
	@build/newest/bin/python -m pip install -qq --disable-pip-version-check -r build/newest/testing.txt
	@echo "== pytest, with the newest of what we depend on"
	@build/newest/bin/python -m pytest -q -n auto --dist loadgroup $(call ends,build/newest)

reproducible: $(STAMP)
	@$(BIN)/python docs/release.py reproducible

sbom: $(STAMP)
	@$(BIN)/python -m venv --clear build/sbom
	@build/sbom/bin/python -m pip install -qq --disable-pip-version-check .
	@$(BIN)/python -m venv --clear build/cyclonedx
	@build/cyclonedx/bin/python -m pip install -qq --disable-pip-version-check 'cyclonedx-bom>=4'
	@mkdir -p dist
	@build/cyclonedx/bin/cyclonedx-py environment build/sbom/bin/python --pyproject pyproject.toml \
	  --output-reproducible -o dist/polyopt.cdx.json
	@echo "wrote dist/polyopt.cdx.json"

format: $(STAMP)
	@$(BIN)/ruff check --quiet --fix || true
	@$(BIN)/ruff format

demo: $(STAMP)
	@$(BIN)/polyopt demo

notebooks: $(STAMP)
	@$(BIN)/python docs/pages.py notebooks

# Sphinx lives in an environment of its own: neither polyopt nor its tests need it. Warnings are
# errors, so new versions of what makes the site come in on purpose.
$(SITE_STAMP): $(STAMP)
	@echo "installing sphinx into build/site"
	@$(BIN)/python -m venv --clear build/site
	@build/site/bin/python -m pip install -qq --disable-pip-version-check -e '.[jupyter,nn]' \
	  $(SITE_PACKAGES)
	@touch $@

# Pages are read anew each time: what they say comes from docstrings and runs, not from them alone.
docs: $(SITE_STAMP)
	@build/site/bin/sphinx-build -q -E -W --keep-going -d build/doctrees docs build/docs
	@echo "written: build/docs/index.html"

# Links to other sites; those between pages are checked by all builds and by the tests.
docs-links: $(SITE_STAMP)
	@build/site/bin/sphinx-build -q -E -D nb_execution_mode=off -d build/doctrees-links \
	  -b linkcheck docs build/docs-links

# Programs on pages, beside NumPy and beside what people come from, which lives in an environment
# of its own.
COMING_FROM := halide tvm numba jax taichi exo devito
COMING_STAMP := build/coming/$(notdir $(STAMP))
$(COMING_STAMP): $(STAMP)
	@echo "installing halide, tvm, numba, jax, taichi, exo and devito into build/coming"
	@$(BIN)/python -m venv --clear build/coming
	@build/coming/bin/python -m pip install -qq --disable-pip-version-check -e . \
	  'halide>=19' 'apache-tvm>=0.27' 'numba>=0.60' 'jax>=0.5' 'taichi>=1.7' 'exo-lang>=1.0' 'devito>=4.8'
	@touch $@

recipes: $(STAMP)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/beside.py docs/recipes.md

# Each in a process of its own: two such systems in one do not get along.
coming-from: $(COMING_STAMP)
	@failed=0; for page in $(COMING_FROM); do \
	  OPENBLAS_NUM_THREADS=1 build/coming/bin/python docs/beside.py docs/coming-from/$$page.md \
	    || failed=$$?; \
	done; exit $$failed

pages: $(STAMP)
	@$(BIN)/python docs/pages.py update

gallery: $(STAMP)
	@$(BIN)/python docs/gallery.py

bench: $(STAMP)
	@$(BIN)/polyopt bench $(BENCH)

# Two versions in turns; fails where the working tree is slower, fails, or has other results.
compare: $(STAMP)
	@$(BIN)/python -m tests.compare $(BASE) --suite '$(SUITE)' --kernels '$(KERNELS)' \
	  --threads '$(THREADS)' $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(ALL),--all)

compile-time: $(STAMP)
	@$(BIN)/polyopt bench --compile-time

# Predictions beside the timings that are checked in: python -m tests.ranking.record makes them anew.
model: $(STAMP)
	@$(BIN)/python -m tests.ranking.page

sweep: $(STAMP)
	@$(BIN)/polyopt bench $(SWEEP) --sweep --threads $(THREADS) --seconds $(SWEEP_SECONDS) --json \
	  > build/sweep.json
	@$(BIN)/polyopt report build/sweep.json -o docs/sweep.md

# The peers live in an environment of their own: the tests are about a machine without them. Where
# they cannot be installed, the page says so.
$(PEERS_STAMP): $(STAMP)
	@echo "installing halide, numba, opencv and scipy into build/peers"
	@$(BIN)/python -m venv --clear build/peers
	@build/peers/bin/python -m pip install -qq --disable-pip-version-check -e .
	@build/peers/bin/python -m pip install -qq --disable-pip-version-check $(PEERS_PACKAGES) \
	  || echo "not all peers could be installed" >&2
	@touch $@

# Both pages are written also where results differ; make fails in the end.
peers: $(PEERS_STAMP)
	@failed=0; \
	build/peers/bin/polyopt bench --suite images --peers halide,opencv --installed \
	  --threads $(THREADS) --seconds $(SECONDS) --json > build/peers.json || failed=$$?; \
	$(BIN)/polyopt report build/peers.json -o docs/peers.md || failed=$$?; \
	$(BIN)/polyopt bench --compile-time --json > build/compile-time.json || failed=$$?; \
	$(BIN)/polyopt report build/compile-time.json -o docs/compile-time.md || failed=$$?; \
	exit $$failed

# OpenBLAS's threads sleep soon after a call, so that whoever is timed next has all cores.
peers-affine: $(PEERS_STAMP)
	@failed=0; \
	OPENBLAS_THREAD_TIMEOUT=14 build/peers/bin/polyopt bench --suite affine --installed \
	  --peers $(AFFINE_PEERS) --threads $(THREADS) --fusions $(AFFINE_FUSIONS) --reassociate --repeat 5 --json \
	  > build/affine.json || failed=$$?; \
	$(BIN)/polyopt report build/affine.json -o docs/affine.md || failed=$$?; \
	exit $$failed

peers-jit: $(STAMP)
	@test -x build/peers-jit/bin/python || $(BIN)/python -m venv build/peers-jit
	@build/peers-jit/bin/python -m pip install -qq --disable-pip-version-check -e . numba 'jax[cpu]' pythran
	@build/peers-jit/bin/python -m tests.jit_peers.page --threads $(or $(CORES),1) --seconds $(SECONDS) \
	  $(if $(NAMES),$(NAMES),-o docs/jit-peers.md)

# A file for each ten programs: those that are there are left out until build/field is removed.
peers-field: $(PEERS_STAMP)
	@mkdir -p build/field; failed=0; start=$$(date +%s); \
	for group in $$($(BIN)/python -c "$(FIELD_NAMES)" | xargs -n 10 | tr ' ' ,); do \
	  file=build/field/$${group%%,*}.json; \
	  [ ! -s $$file ] || continue; \
	  [ -z "$(MINUTES)" ] || [ $$(($$(date +%s) - start)) -lt $$((60 * $(or $(MINUTES),0))) ] || break; \
	  build/peers/bin/polyopt bench --suite field $$(echo $$group | tr , ' ') --peers $(FIELD_PEERS) \
	    --installed --threads $(THREADS) --seconds $(SECONDS) --json > $$file.new || failed=$$?; \
	  [ ! -s $$file.new ] || mv $$file.new $$file; \
	done; \
	[ -n "$$(ls build/field/*.json 2>/dev/null)" ] || { echo "nothing measured yet"; exit $$failed; }; \
	$(BIN)/polyopt report build/field/*.json -o docs/field.md || failed=$$?; \
	exit $$failed

# Frameworks in an environment of their own; where one cannot be installed, the run says so.
NN_STAMP := build/nn/$(notdir $(STAMP))
NN_PACKAGES := onnxruntime openvino torch==2.13.0

$(NN_STAMP): $(STAMP)
	@echo "installing onnxruntime, openvino and torch into build/nn"
	@$(BIN)/python -m venv --clear build/nn
	@build/nn/bin/python -m pip install -qq --disable-pip-version-check -e '.[nn]'
	@for package in $(NN_PACKAGES); do \
	  build/nn/bin/python -m pip install -qq --disable-pip-version-check $$package \
	    || echo "$$package could not be installed" >&2; \
	done
	@touch $@

# Networks are measured in pieces of some minutes, which the page tells of together; PIECES chooses
# those that are measured (again), and ALONE may be a command that keeps the machine quiet.
NN_PIECES := windows:conv_*_7_2,conv_*_3_? large:conv_*_56_1_?,conv_*_28_1_? \
  small:conv_*_14_1_?,conv_*_7_1_1 depthwise:depthwise_* separable:separable_* \
  blocks:bottleneck_* pools:*_pool resnet50:resnet50 batch8:resnet50_batch8
PIECES ?= $(foreach piece,$(NN_PIECES),$(firstword $(subst :, ,$(piece))))
ALONE ?=
peers-nn: $(NN_STAMP)
	@set -f; failed=0; all=; \
	for piece in $(NN_PIECES); do \
	  name=$${piece%%:*}; file=build/nn-$$name.json; all="$$all $$file"; \
	  case ' $(PIECES) ' in *" $$name "*) ;; *) continue ;; esac; \
	  $(ALONE) build/nn/bin/polyopt bench --suite nn $$(echo "$${piece#*:}" | tr , ' ') \
	    --peers onnxruntime,openvino,torch,inductor --installed \
	    --threads $(THREADS) --seconds $(SECONDS) --json > "$$file.new" || failed=$$?; \
	  [ ! -s "$$file.new" ] || mv "$$file.new" "$$file"; \
	done; \
	$(BIN)/polyopt report $$all -o docs/nn.md || failed=$$?; \
	exit $$failed

# Times of the models, in an environment with the frameworks: a file for each model and batch in
# build/model-times. ALONE may be a command that keeps the machine quiet; first make COMPILE=1.
peers-models: $(NN_STAMP)
	@build/nn/bin/python -m pip install -q onnxscript  # what PyTorch exports by
	@$(ALONE) build/nn/bin/python -m tests.torch.times $(if $(COMPILE),--compile) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(MODELS)

# A file for each kind of quantisation in build/int8-results: those that are there are left out
# until it is removed. Fails where a layer is more than one step off.
INT8_STAMP := build/int8/$(notdir $(STAMP))
$(INT8_STAMP): $(STAMP)
	@echo "installing onnxruntime into build/int8"
	@$(BIN)/python -m venv --clear build/int8
	@build/int8/bin/python -m pip install -qq --disable-pip-version-check -e '.[nn]' onnxruntime
	@touch $@

peers-int8: $(INT8_STAMP)
	@$(if $(TIMES),$(ALONE) build/int8/bin/python -m tests.int8.times,\
	  build/int8/bin/python -m tests.int8.page $(if $(MINUTES),--minutes $(MINUTES)) $(KINDS))

# ONNX Runtime is that of the page before. Fails where an error is beyond its bound.
peers-winograd: $(INT8_STAMP)
	@build/int8/bin/python -m tests.winograd.page $(if $(LAYERS),--layers $(LAYERS))

# ONNX Runtime is that of the page before the last. A file for each case in build/attention: those
# that are there are left out until it is removed. Fails where an error is too large, or memory.
peers-attention: $(INT8_STAMP)
	@$(ALONE) build/int8/bin/python -m tests.attention.page $(if $(COMPILE),--compile) $(CASES)

# All parts run, and make fails in the end where one did.
soak: $(STAMP)
	@failed=0; \
	$(BIN)/python -m tests.property.soak --programs $(PROGRAMS) $(if $(HOURS),--hours $(HOURS)) \
	  $(if $(CLUSTER),--cluster $(CLUSTER)) $(if $(REPORT),--page $(REPORT)) || failed=$$?; \
	$(BIN)/python -m tests.random_c.soak --programs $(PROGRAMS) $(if $(HOURS),--hours $(HOURS)) \
	  $(if $(CLUSTER),--cluster $(CLUSTER)) $(if $(REPORT),--page $(REPORT)) || failed=$$?; \
	$(BIN)/python -m tests.faults.crowds --compilations $(COMPILATIONS) || failed=$$?; \
	exit $$failed

# atheris lives in an environment of its own: it has no wheels for the newest Pythons.
$(FUZZ_STAMP): $(STAMP)
	@echo "installing atheris into build/fuzz/venv"
	@$(BIN)/python -m venv --clear build/fuzz/venv
	@build/fuzz/venv/bin/python -m pip install -qq --disable-pip-version-check -e '.[nn]' 'atheris>=3'
	@touch $@

# Each part gets the seconds; all run, and make fails in the end where one did.
fuzz: $(FUZZ_STAMP)
	@failed=0; for part in c onnx plan; do \
	  build/fuzz/venv/bin/python -m tests.fuzz.fuzz $$part --seconds $(FUZZ_SECONDS) || failed=$$?; \
	done; exit $$failed

mutations: $(STAMP)
	@$(BIN)/python -m tests.mutants.table --most $(MOST) -o docs/mutations.md

math: $(STAMP)
	@$(BIN)/python -m polyopt.bench.math_errors --every 1 -o docs/math.md

faults: $(STAMP)
	@$(BIN)/python -m tests.faults.table -o docs/faults.md

wheel: $(STAMP)
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist .

clean:
	rm -rf .venv build dist .hypothesis .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
