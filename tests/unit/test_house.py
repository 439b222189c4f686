"""The house: a cheap import, public names, small documented modules, whole packages."""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import polyopt

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "polyopt"
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages([str(PACKAGE)], "polyopt.")
    if not info.name.endswith("__main__")
)
FILES = sorted(str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py"))


def run_python(code, **options):
    """What a fresh interpreter prints for the code."""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_top_level_has_what_a_newcomer_expects():
    """And nothing that a compiler or a trial left behind; an sdist has its own head beside."""
    found = {p.name for p in ROOT.iterdir() if p.is_file() and not p.name.startswith(".")}
    expected = {"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "conftest.py", "pyproject.toml"}
    assert expected <= found <= expected | {"PKG-INFO"}


def test_importing_polyopt_is_cheap():
    heavy = {"islpy", "numpy", "sympy", "matplotlib", "IPython", "pycparser", "rich", "onnx"}
    loaded = run_python("import polyopt, sys; print(*{m.split('.')[0] for m in sys.modules})")
    assert heavy.isdisjoint(loaded.split())


@pytest.mark.parametrize("name", polyopt.__all__)
def test_public_name_resolves(name):
    assert getattr(polyopt, name) is not None
    assert name in dir(polyopt)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'sclop'"):
        polyopt.sclop  # noqa: B018


@pytest.mark.parametrize("init", sorted(PACKAGE.rglob("__init__.py")), ids=lambda p: p.parent.name)
def test_no_module_takes_the_name_of_something_in_its_package(init):
    """Importing a submodule binds its name in the package: whatever came from elsewhere is gone."""
    package = ".".join(init.parent.relative_to(ROOT).parts)
    modules = {p.stem for p in init.parent.glob("*.py")} | {
        p.parent.name for p in init.parent.glob("*/__init__.py")
    }
    tree = ast.parse(init.read_text(encoding="utf-8"))
    bound = {
        alias.asname or alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
    } | {
        node.name: init.parent.name
        for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }  # fmt: skip
    hidden = {
        name for name in bound.keys() & modules if bound[name] not in {package, f"{package}.{name}"}
    }
    assert hidden == set()


def test_type_checkers_see_the_public_names():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    imported = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }  # fmt: skip
    assert set(polyopt.__all__) <= imported


def test_version_is_that_of_the_installed_package():
    assert version("polyopt") == polyopt.__version__


@pytest.mark.parametrize("file", FILES)
def test_modules_and_functions_stay_small(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    long = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 60
    ]
    assert long == []


@pytest.mark.parametrize("folder", sorted({str(Path(file).parent) for file in FILES}))
def test_a_folder_is_read_at_a_glance(folder):
    modules = [path.name for path in (ROOT / folder).glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= 15


@pytest.mark.parametrize(
    "file", [f for f in FILES if re.match("polyopt/(scheduler|transform|explain|ir|analysis)/", f)]
)
def test_an_internal_error_is_never_a_candidate_that_is_illegal(file):
    """Who tries a move catches what users can cause, and no defect of ours."""
    broad = {"PolyoptError", "Exception", "BaseException"}
    caught = [
        getattr(name, "id", "")
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        for name in (node.type.elts if isinstance(node.type, ast.Tuple) else [node.type])
    ]
    assert None not in caught
    assert broad.isdisjoint(caught)


#: what makes text of C, and what knows its words
OF_TEXT = ("polyopt/codegen/printers/", "polyopt/codegen/ast/names.py")


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.startswith("polyopt/codegen/") and not f.startswith(OF_TEXT)]
)
def test_c_is_a_tree_until_it_is_printed(file):
    """Who searches text for what it says could have asked the tree."""
    imported = {
        name
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", ""), *(alias.name for alias in node.names)]
    }
    assert imported.isdisjoint({"re", "regex"})


@pytest.mark.parametrize("file", FILES)
def test_isl_takes_integers_of_any_length(file):
    """What takes or gives a C ``long`` raises ``TypeError``, or gives 0, beyond 64 bits."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    called = [(n, n.func.attr) for n in calls if isinstance(n.func, ast.Attribute)]
    short = [name for _, name in called if name.endswith(("_si", "_ui"))]
    assert short == (["int_from_si"] if file == "polyopt/isl/api.py" else [])
    numbers = [
        ast.unparse(n) for n, name in called
        if name.endswith("_val") and not name.startswith(("dim_", "get_"))  # of a position
        and n.args and is_integer(n.args[-1])
    ]  # fmt: skip
    assert numbers == []


def is_integer(node):
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, int)


@pytest.mark.parametrize("name", MODULES)
def test_public_things_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    undocumented = [
        f"{owner.__name__}.{attribute}"
        for owner in [module, *public_classes(module)]
        for attribute, value in vars(owner).items()
        if not attribute.startswith("_") and is_ours(value, name)
        and not inspect.getdoc(getattr(owner, attribute))
    ]  # fmt: skip
    assert undocumented == []


def public_classes(module):
    return [
        value for attribute, value in vars(module).items()
        if not attribute.startswith("_") and inspect.isclass(value)
        and value.__module__ == module.__name__
    ]  # fmt: skip


def is_ours(value, module):
    if isinstance(value, property):
        return True
    value = getattr(value, "func", getattr(value, "__func__", value))
    return (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module


@pytest.mark.parametrize(
    "target",
    [
        "test",
        "test-torch",
        "demo",
        "notebooks",
        "docs",
        "bench",
        "compare",
        "peers",
        "soak",
        "lint",
        "format",
        "wheel",
    ],
)
def test_make_knows_the_target(target):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "-n", target, "PROGRAMS=10", "HOURS=1"],  # noqa: S607
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, the wheel made from the checkout, and the wheel made from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    (sdist,) = build(ROOT, folder / "sdist", "sdist")
    (wheel,) = build(ROOT, folder / "wheel", "wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (again,) = build(next((folder / "source").iterdir()), folder / "again", "wheel")
    return sdist, wheel, again


def build(source, target, kind):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip
    return list(target.iterdir())


def test_the_wheel_is_whole(built):
    _, wheel, again = built
    files = set(zipfile.ZipFile(wheel).namelist())
    shipped = {
        f"polyopt/{path.relative_to(PACKAGE if top == 'polyopt' else ROOT)}"
        for top in ("polyopt", "kernels", "schedules")
        for path in (ROOT / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped <= files
    assert "polyopt/py.typed" in files
    assert files == set(zipfile.ZipFile(again).namelist())


def test_the_sdist_can_test_itself(built):
    sdist, _, _ = built
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    here = {f"tests/{path.relative_to(ROOT / 'tests')}" for path in (ROOT / "tests").rglob("*.py")}
    assert here <= files
    there = {"Makefile", ".ci/run", "conftest.py", "docs/pages.py", "README.md"}
    assert there | {f"notebooks/{p.name}" for p in (ROOT / "notebooks").iterdir()} <= files


def test_an_installed_wheel_runs_away_from_the_checkout(built, tmp_path):
    _, wheel, _ = built
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "import polyopt; print(polyopt.__file__); print(polyopt.load_kernel('blur').scop.name)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    place, name = run_python(code, cwd=tmp_path, env=environment).splitlines()
    assert Path(place).is_relative_to(tmp_path)
    assert name == "blur"
