"""Text of the figures in pages, from the committed records: a function for each block of a page."""

# Each module registers its blocks.
from . import bench, engines, federated, hls, hls_compiler, hls_paper, package, papers, ray, readme, schemes

__all__ = [
    "bench",
    "engines",
    "federated",
    "hls",
    "hls_compiler",
    "hls_paper",
    "package",
    "papers",
    "ray",
    "readme",
    "schemes",
]
