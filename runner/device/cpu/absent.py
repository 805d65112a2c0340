"""What CUDA has and the CPU device lacks: a kernel that does not compile for it is told so, and what to do."""

from __future__ import annotations

import re

ADVICE = "set gpu_only in the kernel's YAML to run it on GPUs alone"

# What a compiler's message names, in the order of search.
_ABSENT = (
    (
        r"(?:tex[123]D\w*|tex2Dgather|texCubemap\w*|cudaTextureObject_t|cudaTextureType\w*|tex1Dfetch|texture)",
        "textures",
    ),
    (r"(?:surf(?:[123]D|Cubemap)\w*|cudaSurfaceObject_t|surface)", "surfaces"),
    (r"(?:__cluster\w*|cluster_group|this_cluster|__cluster_dims__)", "clusters of blocks"),
    (r"__is(?:Global|Shared|Local|Constant|GridConstant|ClusterShared|CtaShared)", "address spaces"),
    (r"(?:curandState(?:MRG32k3a|Mtgp32|Sobol|Scrambled)\w*|curand_(?:poisson|discrete)\w*)", "this part of cuRAND"),
    (r"(?:bmma_sync|experimental)", "wmma's int4 and single bits"),
    (r"__nv_atomic_\w+|__u128Atomic\w+", "these atomics"),
    (r"cudaGraph\w+|cudaLaunchDevice\w*|cudaStreamFireAndForget|cudaStreamTailLaunch", "launches from a kernel"),
)
_NAMED = [(re.compile(rf"'{name}(?:<[^']*>)?'"), what) for name, what in _ABSENT]
_OF_CUB = re.compile(
    r"'(?P<name>\w+)' (?:is not a member of|in namespace|was not declared).*'(?:::)?cub'|"
    r"no (?:member|template|type) named '(?P<other>\w+)' in namespace 'cub'|'cub::(?P<third>\w+)' has not been declared"
)


def explained(error: str) -> str:
    """What to add to a compiler's error; empty unless it names something that only the CPU device lacks."""
    if found := _OF_CUB.search(error):
        name = found["name"] or found["other"] or found["third"]
        return f" (the CPU device lacks cub::{name}; {ADVICE})"
    what = next((what for pattern, what in _NAMED if pattern.search(error)), None)
    return f" (the CPU device lacks {what}; {ADVICE})" if what else ""
