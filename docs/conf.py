"""How Sphinx makes the site: ``make docs`` builds it from these pages into build/docs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

import polyopt
from docs.release import versions

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "polyopt"
author = "polyopt contributors"
version = release = polyopt.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
# quotes and dashes are what was typed: "--json" is an option
smartquotes = False

# Pages are Markdown that reads as well where no Sphinx is: links name files and headings.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# Notebooks are stored without outputs and run when the site is built; a cell that fails ends it.
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
# The explorer's page stands in the notebook: nothing has to be loaded for it from elsewhere.
nb_ipywidgets_js = {}

# Docstrings say what is taken; names of types would only make their signatures long.
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
autosummary_generate = False
add_module_names = False
python_display_short_literal_types = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"polyopt {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_js_files = [("versions.js", {"defer": "defer"})]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html", "sidebar/versions.html", "sidebar/search.html",
        "sidebar/scroll-start.html", "sidebar/navigation.html", "sidebar/scroll-end.html",
    ]
}  # fmt: skip
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#17527d", "color-brand-content": "#17527d"},
    "dark_css_variables": {"color-brand-primary": "#7fc4f5", "color-brand-content": "#7fc4f5"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def setup(app: Sphinx) -> None:
    """Called by Sphinx: what is ours to do."""
    app.connect("config-inited", copy_notebooks)
    app.connect("source-read", redirect_links)
    app.connect("build-finished", write_llms)
    app.connect("build-finished", write_versions)


def copy_notebooks(app: Sphinx, _: object) -> None:
    """Copy the notebooks of the top level beside their page: Sphinx reads one folder alone.

    Copies, not links: an unpacked sdist and every file system have them.
    """
    source, target = Path(app.srcdir).parent / "notebooks", Path(app.srcdir) / "notebooks"
    for old in target.glob("*.ipynb"):
        old.unlink()
    for notebook in source.glob("*.ipynb"):
        shutil.copyfile(notebook, target / notebook.name)


def redirect_links(_: Sphinx, name: str, source: list[str]) -> None:
    """Links between pages and notebooks lead through the top level in a checkout, not here."""
    if name.startswith("notebooks/"):
        source[0] = source[0].replace("](../docs/", "](../")
    else:
        source[0] = re.sub(r"\]\(((?:\.\./)*)\.\./notebooks/", r"](\1notebooks/", source[0])


def write_llms(app: Sphinx, exception: Exception | None) -> None:
    """Write llms.txt, a list for programs that read: each page, its title and first paragraph."""
    if exception or app.builder.name != "html":
        return
    env = app.builder.env
    lines = [f"# {project}", "", f"> {polyopt.__doc__.partition(chr(10))[0]}", ""]
    for name in sorted(env.found_docs):
        first = next(env.get_doctree(name).findall(nodes.paragraph), None)
        said = "" if first is None else ": " + " ".join(first.astext().split())
        lines.append(f"- [{env.titles[name].astext()}]({name}.html){said}")
    (app.outdir / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_versions(app: Sphinx, exception: Exception | None) -> None:
    """Write versions.json, which the list of versions in the sidebar reads (versions.js)."""
    if exception or app.builder.name != "html":
        return
    text = json.dumps(versions(release, Path(app.srcdir).parent), indent=2)
    (app.outdir / "versions.json").write_text(text + "\n", encoding="utf-8")
