"""Letters from templates, in a sandbox: a template sees texts and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from attain.core.errors import AttainError, MissingExtraError
from attain.letters.languages import LANGUAGES

if TYPE_CHECKING:
    from jinja2 import Template

PAGE: Final = "page.html"


def builtin_templates() -> dict[str, str]:
    """The templates that come with the package, by the name of their file: one for each language, and the page."""
    folder = files("attain.letters").joinpath("templates")
    names = [*(f"letter.{code}.txt" for code in LANGUAGES), PAGE]
    return {name: folder.joinpath(name).read_text(encoding="utf-8") for name in names}


def rendered(template: str, title: str, values: Mapping[str, Any], *, escape: bool) -> str:
    """The template with these values; `title` is what messages call it."""
    try:
        from jinja2 import TemplateError
    except ImportError:
        raise MissingExtraError("letters need Jinja2, which is not installed: pip install 'attain[report]'") from None
    try:
        text: str = _compiled(template, escape).render(values)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        line = getattr(error, "lineno", None)
        raise AttainError(f"{title}{f', line {line}' if line else ''}: {error}") from None
    return text


@lru_cache(maxsize=8)
def _compiled(template: str, escape: bool) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        autoescape=escape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(template)
