"""Studies of papers: what a claim is taken to say, the word that it gets by docs/reproductions.md, tables and pictures.

- `verdicts`: statements over sites, claims, and the four words.
- `figures`: distributions over sites, values site by site, ours beside what was published.
- `markdown`: tables and numbers for documents.
- `script`: how scripts play studies, say how far they are, and end.
"""
