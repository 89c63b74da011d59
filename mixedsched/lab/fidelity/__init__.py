"""Does Chromium do with a site what its manifest says?"""

from mixedsched.lab.fidelity.compare import Fidelity, Mismatch, compare
from mixedsched.lab.fidelity.load import check_site

__all__ = ["Mismatch", "Fidelity", "check_site", "compare"]
