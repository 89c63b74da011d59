"""Studies: sites x links x arms x repeats on one rung, made once and stored, by one process or many.

- `definition`: the study file. `places`: the sites over the links that it stands for.
- `session`: begins a study or goes on with it. `work`: leases blocks, plays or loads them, and stores every load at once.
- `gates`: what a study is to decide, and how many blocks a place gets until that is decided.
- `results`: what its loads show, by place and over sites. `papers`: the same the papers' way. `export`: every load as a row.
  `lean`: all of it as one small file, and the study again from that.
"""
