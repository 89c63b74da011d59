"""The browser's part in a simulated page load: how long it works on what has arrived, and which requests it withholds.

Free constants, fitted to measured loads by `mixedsched calibrate`; `browser_model_file` reads them.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class BrowserModel:
    """Constants of a browser on a machine, for pages that are played instead of loaded.

    The fields `early_low` to `low_per_page` and `finds_at_layout` are about the order of requests; where any of them is
    set, those that are due at once leave in order of priority. Requests of Medium and below are withheld while too much
    is under way; None stands for no limit.
    """

    name: str
    source: str
    """How the model was found: date, machine, browser."""
    document_ms_per_kb: float = 0.0
    style_ms_per_kb: float = 0.0
    script_ms_per_kb: float = 0.0
    """Work of the main thread on each 1000 bytes of body (of documents, style sheets, scripts) before the paint that
    waits for them, or before what they make known is asked for.
    """
    decode_ms_per_kb: float = 0.0
    """Decoding of each 1000 bytes of an image."""
    paint_ms: float = 0.0
    """From the last resource that a paint needs to pixels."""
    early_low: int | None = None
    """Until the parser reaches the body, a request leaves only while fewer than so many requests are under way, of whatever
    priority.
    """
    low_per_host: int | None = None
    """A request leaves only while fewer than so many requests to its host are under way, of whatever priority."""
    early_medium: int | None = None
    """One of Medium leaves also while fewer than so many of Medium are under way."""
    low_per_page: int | None = None
    """A request leaves only while fewer than so many of Medium and below are under way. Documents do not count."""
    ask_ms: float = 0.0
    """From knowing of a resource to sending its request."""
    finds_at_layout: bool = False
    """Fonts and images that style sheets name are asked for at the first layout, when nothing blocks it any more, and
    images of the first screen that have not been asked for by then become High.
    """

    @property
    def is_ideal(self) -> bool:
        """Whether it changes nothing, whatever it is called."""
        return replace(self, name=IDEAL.name, source=IDEAL.source) == IDEAL

    @property
    def withholds(self) -> bool:
        """Whether any request leaves later than it is known and asked for."""
        limits = (self.early_low, self.early_medium, self.low_per_host, self.low_per_page)
        return self.finds_at_layout or any(limit is not None for limit in limits)


IDEAL = BrowserModel("ideal", "no browser: whatever has come is used at once, whatever is known is asked for at once")
