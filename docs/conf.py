"""Sphinx settings of the documentation: `make docs` builds it, with warnings as errors."""

import re

import tacit

project = "tacit"
author = "The tacit maintainers"
copyright = author
version = release = tacit.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"tacit {release}"
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike", "Floats": "Floats", "Integers": "Integers"}
python_maximum_signature_line_length = 88


def as_restructured_text(app, what, name, obj, options, lines):
    """Docstrings write `code` in single backticks and |S| for a size; reStructuredText reads both otherwise."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            literal = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
            lines[i] = literal.replace("|", r"\|")


def with_short_types(app, what, name, obj, options, signature, returns):
    """Array types under the names that the source gives them."""
    return tuple(
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)|\bnpt?\.(\w+)", r"\1\2", text)
        for text in (signature, returns)
    )


def setup(app):
    app.connect("autodoc-process-docstring", as_restructured_text)
    app.connect("autodoc-process-signature", with_short_types)
