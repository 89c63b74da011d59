"""Does Chromium do with a site what its manifest says?"""

from mixedsched.lab.fidelity.compare import Deviation, Fidelity, compare
from mixedsched.lab.fidelity.load import check_site

__all__ = ["Deviation", "Fidelity", "check_site", "compare"]
