"""A live page becomes a site: several watched loads, fused and written."""
