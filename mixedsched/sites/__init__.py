"""Sites: complete pages with all their files.

- `site`: a site as it is served. `documents`: the references in its HTML and CSS. `analysis`: questions to a site.
- `making`: sites built from recipes or taken from folders. `recorded`: sites made of recorded exchanges, which `har` reads
  from HTTP archives and `live` from watched page loads.
- `generate`: random pages. `synth`: files for a page description.
- `opening`: the site that a name means. `pages`: the pages that names mean.
"""
