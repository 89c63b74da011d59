"""Experiments: the plan (pure), the engine that carries it out, and what its runs show."""
