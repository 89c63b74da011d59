"""Measured and simulated loads.

- `experiment`: the main job, `compare`. `bench`: paired loads of a design, made once and stored, within a budget of time if
  there is one. `plan`, `model`, `engine`: what is decided before the first run, and how it is carried out.
- `lab`: one load through server, emulated network and browser. `validity`: when it counts. `diagnostics`: what disturbed it.
- `analysis`, `comparison`: from runs to verdicts. `page_view`, `table`: runs for pictures and for pandas.
- `results`, `costs`, `machine`: folders of results, the price of loads, and what measured them.
- `play`, `simulation`: simulated loads. `command`: programs over an emulated network. `doctor`, `fidelity`: proofs.
"""
