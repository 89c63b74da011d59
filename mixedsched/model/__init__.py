"""The lab's vocabulary and its file formats: priorities, requests, pages, mappings, schemes, networks, browsers."""
