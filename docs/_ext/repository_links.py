"""Links out of `docs/`: on the site, a link to another file or folder of the repository leads to the forge."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class RepositoryLinks(SphinxTransform):
    """Replaces each relative link that leaves the pages by a link to the forge."""

    # Before Sphinx collects the files to download.
    default_priority = 1

    def apply(self, **kwargs: Any) -> None:
        for node in [
            *self.document.findall(addnodes.download_reference),
            *self.document.findall(addnodes.pending_xref),
        ]:
            if node.get("reftype") == "myst" and (path := self._outside(node)):
                kind = "tree" if path.is_dir() else "blob"
                anchor = f"#{node['reftargetid']}" if node.get("reftargetid") else ""
                place = path.relative_to(Path(self.env.srcdir).parent).as_posix()
                uri = f"{self.config.repository_url}/{kind}/main/{place}{anchor}"
                node.replace_self(nodes.reference("", "", *node.children, refuri=uri))

    def _outside(self, node: nodes.Element) -> Path | None:
        """The file or folder that a link names, unless it is a part of the site."""
        pages = Path(self.env.srcdir)
        if node.get("refdomain") == "doc":
            # MyST names a page by its path without the suffix, below `docs/` or absolute.
            path = pages / f"{node['reftarget']}.md"
        elif node.get("refdomain") is None:
            path = Path(self.env.doc2path(self.env.docname)).parent / node["reftarget"]
        else:
            return None
        path = Path(os.path.normpath(path))
        is_part = path.is_relative_to(pages) and not path.is_dir()
        return path if path.exists() and not is_part else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("repository_url", "", "env", str)
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
