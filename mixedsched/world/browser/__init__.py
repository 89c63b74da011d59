"""Loads a page in a real Chromium, scores it with Lighthouse, and reads what the browser saw on the wire."""
