"""Browser model files, format `mixedsched.browser-model/1`.

A browser model file is TOML: `format`, `name`, `source`, the constants of `browser_model.BrowserModel` under their names, and
perhaps a table `[evidence]` about the loads that it was fitted to, which is not read. A constant that is left out is
none: no work, no limit.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mixedsched.errors import BrowserModelError
from mixedsched.model._toml_text import toml_table, toml_value
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.toml_file import parse_toml, wrong_keys

BROWSER_MODEL_FORMAT = "mixedsched.browser-model/1"

MAX_MS_PER_KB = 100.0  # that is 100 s for a megabyte
MAX_MS = 10_000.0
MAX_REQUESTS = 10_000

_Work = Annotated[float, Field(ge=0.0, le=MAX_MS_PER_KB, allow_inf_nan=False)]
_Limit = Annotated[int, Field(ge=1, le=MAX_REQUESTS, strict=True)]  # with 0, some requests would never leave


class _BrowserModelFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["mixedsched.browser-model/1"]
    name: str = Field(min_length=1)
    source: str
    document_ms_per_kb: _Work = 0.0
    style_ms_per_kb: _Work = 0.0
    script_ms_per_kb: _Work = 0.0
    decode_ms_per_kb: _Work = 0.0
    paint_ms: float = Field(default=0.0, ge=0.0, le=MAX_MS, allow_inf_nan=False)
    ask_ms: float = Field(default=0.0, ge=0.0, le=MAX_MS, allow_inf_nan=False)
    early_low: _Limit | None = None
    early_medium: _Limit | None = None
    low_per_host: _Limit | None = None
    low_per_page: _Limit | None = None
    finds_at_layout: bool = Field(default=False, strict=True)
    evidence: dict[str, Any] = Field(default_factory=dict)


def parse_browser_model(text: str, origin: str) -> BrowserModel:
    """Read a browser model file. origin: what errors call it. Raises BrowserModelError."""
    tables = parse_toml(text, origin, BrowserModelError)
    try:
        file = _BrowserModelFile.model_validate(tables)
    except ValidationError as error:
        raise BrowserModelError(f"{origin} is refused", why=wrong_keys(error)) from error
    return BrowserModel(**file.model_dump(exclude={"format", "evidence"}))


def dump_browser_model(model: BrowserModel, evidence: Mapping[str, Any] | None = None) -> str:
    """The file of a model, which parse_browser_model reads back. evidence: text, numbers, dates, lists and tables of them."""
    lines = [f"format = {toml_value(BROWSER_MODEL_FORMAT)}"]
    lines += [f"{name} = {toml_value(value)}" for name, value in asdict(model).items() if value is not None]
    lines += toml_table("evidence", evidence) if evidence else ()
    return "\n".join(lines) + "\n"
