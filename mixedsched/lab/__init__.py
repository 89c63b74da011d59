"""Measured and simulated loads.

- `experiment`: the main job, `compare`. `bench`: paired loads of a design, made once and stored, within a budget of time if
  there is one. `plan`, `model`, `engine`: what is decided before the first run, and how it is carried out. `study`: the same
  over many places.
- `_lab`: one load through server, emulated network and browser, of the servers in `_arms`. `_validity`: when it counts.
  `diagnostics`: what disturbed it. `live`: what loads of a live page have in common.
- `analysis`, `comparison`, `gates`: from runs to verdicts. `page_view`, `table`: runs for pictures and for pandas.
- `results`, `underway`, `going_on`: folders of results, and the commands at work in them. `costs`, `machine`: the price of
  loads, and what measured them.
- `play`: simulated loads. `learning`: what `adaptive` learns from. `command`: programs over an emulated network. `doctor`,
  `timers`, `fidelity`, `conform`: proofs that a machine, a site or a server does as it should.
"""
