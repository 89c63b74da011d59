"""Does Chromium do with a site what its manifest says? And does a copy look like its original?"""
