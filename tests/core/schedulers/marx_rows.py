"""The rows of the classification matrix of Marx et al. 2019, each as resources that belong to it.

A row lists resources which all schemes must treat alike: what is added to the first one is a flag that the study's
classifiers do not look at there.
"""

from __future__ import annotations

import pytest

ROWS = {
    "main html": ("document+main", "document+main+critical"),
    "other html": ("document", "document+critical"),
    "css, head": ("stylesheet+in_head", "stylesheet+in_head+critical"),
    "css, critical": ("stylesheet+critical", "stylesheet+critical+late_body"),
    "css, elsewhere": ("stylesheet", "stylesheet+late_body", "stylesheet+after_first_image"),
    "js, head": ("script+in_head", "script+in_head+critical"),
    "js, head, after first image": ("script+in_head+after_first_image", "script+in_head+late_body+after_first_image"),
    "js, body": ("script", "script+late_body"),
    "js, body, critical": ("script+critical",),
    "js, after first image": ("script+after_first_image", "script+late_body+after_first_image"),
    "js, after first image, critical": ("script+after_first_image+critical",),
    "js, delayed, head": (
        "script+async+in_head",
        "script+defer+in_head",
        "script+async+defer+in_head",
        "script+defer+in_head+critical",
        "script+async+in_head+after_first_image",
    ),
    "js, delayed, body": ("script+async", "script+defer", "script+defer+after_first_image", "script+async+critical"),
    "font": ("font", "font+critical", "font+above_fold"),
    "font, preloaded": ("font+preload", "font+preload+critical"),
    "xhr": ("xhr", "feed", "manifest", "xhr+critical"),
    "svg": ("svg", "svg+critical"),
    "svg, seen": ("svg+above_fold", "svg+hero"),
    "image, seen": ("image+above_fold", "image+hero", "image+hero+above_fold+critical"),
    "image, other": ("image", "image+critical", "image+lazy", "image+after_first_image"),
    "video": ("media", "media+hero", "media+critical"),
    "rest": ("other", "other+critical", "other+above_fold"),
}


def every_row(column: dict[str, str]) -> pytest.MarkDecorator:
    """Run a test for each resource and what a scheme's column of the matrix says of it; all rows must be there."""
    assert set(column) == set(ROWS)
    return pytest.mark.parametrize(
        ("resource", "expected"), [(resource, column[row]) for row, resources in ROWS.items() for resource in resources]
    )
