"""Does Chromium do with a site what its manifest says?"""

from mixedsched.lab.fidelity._compare import Fidelity, Mismatch, compare
from mixedsched.lab.fidelity._load import check_site

__all__ = ["Mismatch", "Fidelity", "check_site", "compare"]
