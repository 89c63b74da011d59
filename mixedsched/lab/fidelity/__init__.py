"""Does Chromium do with a site what its manifest says? And does a copy look like its original?"""

from mixedsched.lab.fidelity.compare import Fidelity, Finding, compare
from mixedsched.lab.fidelity.load import check_site
from mixedsched.lab.fidelity.pixels import pixel_difference

__all__ = ["Fidelity", "Finding", "check_site", "compare", "pixel_difference"]
