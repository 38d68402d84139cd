"""A hook of mkdocs: adds the pages at the top of the repository, and the reference of each module."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
TOP_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SAFETY.md", "SECURITY.md")
MODULES = {
    "interlock": "interlock",
    "accelerator": "interlock.accelerator",
    "aio": "interlock.aio",
    "autograd": "interlock.autograd",
    "backends": "interlock.backends",
    "errors": "interlock.errors",
    "memory": "interlock.accelerator.memory",
    "state": "interlock.state",
    "testing": "interlock.testing",
}
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {name: _top_page(name, config) for name in TOP_PAGES}
    pages["index.md"] = _top_page("README.md", config)
    pages |= {f"reference/{name}.md": f"::: {module}\n" for name, module in MODULES.items()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, config: MkDocsConfig, **_: object) -> str:
    """Rewrite links to files outside docs/."""
    return LINK.sub(lambda found: _link(found, config) if found[2].startswith("../") else found[0], markdown)


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
