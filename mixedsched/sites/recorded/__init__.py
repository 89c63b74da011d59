"""Recorded exchanges become a site: names, graph, headers, manifest."""
