"""The browser's part in a simulated page load: how long it works on arrived resources, and which requests it holds back.

Free constants, fitted to measured loads by `mixedsched calibrate`. A browser model file, format
`mixedsched.browser-model/1`, is TOML: `format`, `name`, `source`, the constants of BrowserModel under their names, and perhaps
a table `[evidence]` about the loads that it was fitted to, which is not read. A constant that is left out means no work or no
limit.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mixedsched.errors import BrowserModelError
from mixedsched.model.toml_file import parse_toml, toml_table, toml_value, wrong_keys

BROWSER_MODEL_FORMAT = "mixedsched.browser-model/1"

MAX_MS_PER_KB = 100.0  # that is 100 s for a megabyte
MAX_MS = 10_000.0
MAX_REQUESTS = 10_000

_Work = Annotated[float, Field(ge=0.0, le=MAX_MS_PER_KB, allow_inf_nan=False)]
_Milliseconds = Annotated[float, Field(ge=0.0, le=MAX_MS, allow_inf_nan=False)]
_Limit = Annotated[int, Field(ge=1, le=MAX_REQUESTS, strict=True)]  # with 0, some requests would never leave


@dataclass(frozen=True, slots=True)
class BrowserModel:
    """Constants of a browser on a machine, for simulated pages.

    The fields `early_low` to `low_per_page` and `finds_at_layout` are about the order of requests; where any of them is
    set, those that are due at the same time are sent in order of priority. Requests of Medium and below are held back while
    too many are in flight; None means no limit. Bounds are those of files.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1)]
    source: str
    """How the model was found: date, machine, browser."""
    document_ms_per_kb: _Work = 0.0
    style_ms_per_kb: _Work = 0.0
    script_ms_per_kb: _Work = 0.0
    """Work of the main thread on each 1000 bytes of body (of documents, style sheets, scripts) before the paint that
    waits for them, or before what they make known is asked for.
    """
    decode_ms_per_kb: _Work = 0.0
    """Decoding of each 1000 bytes of an image."""
    paint_ms: _Milliseconds = 0.0
    """From the last resource that a paint needs to pixels."""
    early_low: _Limit | None = None
    """Until the parser reaches the body, a request leaves only while fewer than so many requests are under way, of whatever
    priority.
    """
    low_per_host: _Limit | None = None
    """A request leaves only while fewer than so many requests to its host are under way, of whatever priority."""
    early_medium: _Limit | None = None
    """One of Medium leaves also while fewer than so many of Medium are under way."""
    low_per_page: _Limit | None = None
    """A request leaves only while fewer than so many of Medium and below are under way. Documents do not count."""
    ask_ms: _Milliseconds = 0.0
    """From knowing of a resource to sending its request."""
    finds_at_layout: Annotated[bool, Field(strict=True)] = False
    """Fonts and images that style sheets name are asked for at the first layout, when nothing blocks it any more, and
    images of the first screen that have not been asked for by then become High.
    """

    @property
    def is_ideal(self) -> bool:
        """Whether it changes nothing, whatever it is called."""
        return replace(self, name=IDEAL.name, source=IDEAL.source) == IDEAL

    @property
    def withholds(self) -> bool:
        """Whether any request is sent later than it is discovered and made."""
        limits = (self.early_low, self.early_medium, self.low_per_host, self.low_per_page)
        return self.finds_at_layout or any(limit is not None for limit in limits)


IDEAL = BrowserModel("ideal", "no browser: whatever has come is used at once, whatever is known is asked for at once")

_MODEL = TypeAdapter(BrowserModel)


class _AboutFile(BaseModel):
    format: Literal["mixedsched.browser-model/1"]
    evidence: dict[str, Any] = Field(default_factory=dict)


def parse_browser_model(text: str, origin: str) -> BrowserModel:
    """Read a browser model file. origin: what errors call it. Raises BrowserModelError."""
    tables = parse_toml(text, origin, BrowserModelError)
    try:
        _AboutFile.model_validate(tables)
        return _MODEL.validate_python(
            {key: value for key, value in tables.items() if key not in _AboutFile.model_fields}
        )
    except ValidationError as error:
        raise BrowserModelError(f"{origin} is refused", why=wrong_keys(error)) from error


def dump_browser_model(model: BrowserModel, evidence: Mapping[str, Any] | None = None) -> str:
    """The file of a model, which parse_browser_model reads back. evidence: text, numbers, dates, lists and tables of them."""
    lines = [f"format = {toml_value(BROWSER_MODEL_FORMAT)}"]
    lines += [f"{name} = {toml_value(value)}" for name, value in asdict(model).items() if value is not None]
    lines += toml_table("evidence", evidence) if evidence else ()
    return "\n".join(lines) + "\n"
