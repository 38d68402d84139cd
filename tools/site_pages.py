"""A hook of mkdocs: adds the top pages of the repository and the reference of each module; labels tables."""

import itertools
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
TOP_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SAFETY.md", "SECURITY.md")
LAST_IN_SEARCH = (
    *TOP_PAGES,
    *("compatibility.md", "differences.md", "pytorch_issues.md", "roadmap.md", "stability.md"),
)
MODULES = {
    "interlock": "interlock",
    "accelerator": "interlock.accelerator",
    "aio": "interlock.aio",
    "autograd": "interlock.autograd",
    "backends": "interlock.backends",
    "dispatch": "interlock.dispatch",
    "errors": "interlock.errors",
    "fft": "interlock.fft",
    "functional": "interlock.nn.functional",
    "linalg": "interlock.linalg",
    "nn": "interlock.nn",
    "integrations": "interlock.integrations",
    "memory": "interlock.accelerator.memory",
    "quantized": "interlock.nn.quantized.functional",
    "random": "interlock.accelerator.random",
    "settings": "interlock.settings",
    "state": "interlock.state",
    "testing": "interlock.testing",
    "threads": "interlock.threads",
}
# The page of errors shows the base classes, which decide what an `except` clause catches.
ERRORS = """
    options:
      members_order: source
      show_bases: true
      summary: true
"""
CODE = re.compile("<code>[^<]{12,}</code>")
BREAK = re.compile("(?<=[a-zA-Z0-9])([._/]+|\\[\\]\\.|::)(?=[a-zA-Z0-9])")
TABLE = re.compile("<table>.*?</table>", re.DOTALL)
ERROR_NAMES = re.findall('^    "(\\w+)",$', (ROOT / "python/interlock/errors.py").read_text(), re.MULTILINE)
# A class in the section `Raises:` that mkdocstrings cannot link, because its module does not import the name.
RAISED = re.compile(rf'(field-body">\s*<code>)({"|".join(ERROR_NAMES)})(?=</code>)')
# A word for pytest in the docstring of the package.
FOR_PYTEST = re.compile("<p>PYTEST_DONT_REWRITE:.*?</p>", re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {name: _top_page(name, config) for name in TOP_PAGES}
    pages["index.md"] = _top_page("README.md", config)
    pages |= {f"reference/{name}.md": f"::: {module}\n" for name, module in MODULES.items()}
    pages["reference/errors.md"] += ERRORS.lstrip("\n")
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Rewrite links to files outside docs/; let the search list guides first."""
    path = page.file.src_uri
    if path in LAST_IN_SEARCH or path.startswith("reference/"):
        page.meta["search"] = {"boost": 0.1}
    elif path == "install.md":
        # The word "I" of a question is found at the beginning of its title.
        page.meta["search"] = {"boost": 0.5}
    return LINK.sub(lambda found: _link(found, config) if found[2].startswith("../") else found[0], markdown)


def on_page_content(html: str, **_: object) -> str:
    """Link the classes that functions raise to the page of errors; leave out what only programs read."""
    linked = RAISED.sub(r'\1<autoref identifier="interlock.errors.\2">\2</autoref>', html)
    return FOR_PYTEST.sub("", linked)


def on_post_page(output: str, **_: object) -> str:
    """Let names in tables break, and label the cells, because narrow screens show wide tables row by row."""
    # After the search has indexed the page: a mark would divide a name into several words.
    return TABLE.sub(_narrow, output)


def _narrow(found: re.Match[str]) -> str:
    table = CODE.sub(lambda code: BREAK.sub(r"\1<wbr>", code[0]), found[0])
    headings = re.findall("<th[^>]*>(.*?)</th>", table)
    columns = [re.sub("<[^>]*>", "", heading).replace('"', "&quot;") for heading in headings]
    if len(columns) < 3:
        return table
    cells = itertools.cycle(columns)
    labelled = re.sub("<td", lambda _: f'<td data-label="{next(cells)}"', table)
    return labelled.replace("<table", "<table data-rows", 1)


def _top_page(name: str, config: MkDocsConfig) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    return LINK.sub(lambda found: _link(found, config), text).replace('src="docs/', 'src="')


def _link(found: re.Match[str], config: MkDocsConfig) -> str:
    """Return a link to a page of the site, else to the file in the public repository, else only the text."""
    text, target, anchor = found[1], found[2], found[3] or ""
    target = target.removeprefix("../").removeprefix("docs/")
    if target in TOP_PAGES or (ROOT / "docs" / target).is_file():
        return f"[{text}]({target}{anchor})"
    if config.repo_url and (ROOT / target).exists():
        return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{target}{anchor})"
    return text
