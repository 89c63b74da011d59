"""What the lab talks about, and its file formats: priorities, requests, pages, mappings, schemes, networks, browsers."""
