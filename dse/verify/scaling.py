"""Smaller versions of a layer that exercise the same hardware, for simulations of bounded length."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from dse.engine import Convolution, EngineParameters, compute_cycles, fit_tiling, phase_nest

__all__ = ["estimated_cycles", "scaled"]


def estimated_cycles(hw: EngineParameters, conv: Convolution, phases: tuple[str, ...]) -> int:
    """The lanes' cycles of the longest of ``phases``."""
    nests = [phase_nest(conv, phase, hw.channel_block) for phase in phases]
    return max(compute_cycles(hw, nest, fit_tiling(hw, nest)) for nest in nests)


@lru_cache(maxsize=256)
def scaled(hw: EngineParameters, conv: Convolution, phases: tuple[str, ...], max_cycles: int) -> Convolution:
    """``conv`` with smaller maps, then a smaller batch, then fewer channels, until no phase takes more cycles.

    Kernel, stride, padding and whether there are groups stay. Where a kernel covers the whole map, it stays so.
    """
    while estimated_cycles(hw, conv, phases) > max_cycles:
        smaller = _smaller_map(conv) or _smaller_batch(conv) or _fewer_channels(conv)
        if smaller is None:
            return conv
        conv = smaller
    return conv


def _smaller_map(conv: Convolution) -> Convolution | None:
    """About three quarters of the rows and columns; at least two outputs along each where there were so many."""
    window = conv.window
    least = [
        min(size, kernel + stride - before - after)
        for size, kernel, stride, before, after in zip(
            conv.size, window.kernel, window.stride, window.padding[:2], window.padding[2:], strict=True
        )
    ]
    size = tuple(max(low, 3 * old // 4, 1) for low, old in zip(least, conv.size, strict=True))
    return replace(conv, size=(size[0], size[1])) if size != conv.size else None


def _smaller_batch(conv: Convolution) -> Convolution | None:
    return replace(conv, batch=max(conv.batch * 2 // 3, 1)) if conv.batch > 1 else None


def _fewer_channels(conv: Convolution) -> Convolution | None:
    """Two thirds of the wider side's channels; of the groups, where each has one channel on a side."""
    groups, m, n = conv.window.groups, conv.group_m, conv.group_n
    if max(m, n) > 1:
        m, n = (max(m * 2 // 3, 1), n) if m >= n else (m, max(n * 2 // 3, 1))
    elif groups > 2:
        groups = max(groups * 2 // 3, 2)
    else:
        return None
    return replace(conv, m=m * groups, n=n * groups, window=replace(conv.window, groups=groups))
