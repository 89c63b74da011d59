"""Does Chromium do with a site what its manifest says? And does a copy look like its original?"""

from mixedsched.fidelity.compare import Fidelity, Finding, compare
from mixedsched.fidelity.load import check_site
from mixedsched.fidelity.pixels import pixel_difference

__all__ = ["Fidelity", "Finding", "check_site", "compare", "pixel_difference"]
